/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every map, and the accessors that hide them: handlers never touch a map helper.
 *
 * The numbers live in plain arrays, mapped by the reader. Where hypervisor calls are traced, the
 * loader drops BPF_F_MMAPABLE from the two that interrupts write (cpus, icalls): on powerpc's hash
 * MMU the pages of a mappable array are themselves faulted in by hypervisor calls. Sizes are set by
 * the loader; the 1 here is a placeholder. A record's owner is told by utilbpf.h.
 */
#ifndef MAPS_BPF_H
#define MAPS_BPF_H

#include "acct.h"
#include "sel.h"

#define ARRAY(name_, type_, flags_)                                                                \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(max_entries, 1);                                                            \
		__uint(map_flags, flags_);                                                         \
		__type(key, __u32);                                                                \
		__type(value, type_);                                                              \
	} name_ SEC(".maps")
#define INDEX(name_)                                                                               \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(max_entries, 1);                                                            \
		__type(key, struct acct_index_key);                                                \
		__type(value, __u32);                                                              \
	} name_ SEC(".maps")
#define STACK(name_)                                                                               \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_STACK);                                                  \
		__uint(max_entries, 1);                                                            \
		__type(value, __u32);                                                              \
	} name_ SEC(".maps")

ARRAY(cpus, struct acct_cpu, BPF_F_MMAPABLE); /* of one record, unused, where cpus_near */
ARRAY(tasks, struct acct_task, BPF_F_MMAPABLE);
ARRAY(calls, struct acct_call, BPF_F_MMAPABLE);
ARRAY(rows, struct acct_row, BPF_F_MMAPABLE);
ARRAY(icalls, struct acct_call, BPF_F_MMAPABLE);
ARRAY(hctl, struct acct_ctl, 0); /* ctl again, for hypervisor call programs, see above */
INDEX(call_index);		 /* (slot, call) -> calls, (slot, cpu) -> rows */
INDEX(icall_index);		 /* (slot, call) -> icalls: interrupts only */
STACK(free_tasks);		 /* slots */
STACK(free_calls);		 /* first record of a free chunk; the same for the others */
STACK(free_rows);
STACK(free_icalls);

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct acct_link);
} links SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct acct_link);
} links_hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct acct_link);
} link_init SEC(".maps"); /* zero but for the owner */

/* ---- the selection, and the groups; see sel.h ---- */

struct sel_id {
	__u32 kind; /* SELK_PID, SELK_TID or SELK_UID */
	__u32 id;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct sel_id);
	__type(value, __u8);
} sel_ids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* preallocated: before 6.1 kernels warn of others in raw_tp */
	__type(key, __u64);	/* ids of the groups that are selected */
	__type(value, __u8);
} sel_groups SEC(".maps");

ARRAY(sel_globs, struct sel_glob, 0); /* those of names, then those of groups */

/* The last moves between groups: a task finds the time of its own at its next event. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64); /* tid, or tgid | MOVE_ALL */
	__type(value, struct acct_move);
} moves SEC(".maps");

/* Paths of the groups that were made last: for those that are gone when somebody asks. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct acct_path);
} group_paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct acct_path);
} path_buffer SEC(".maps");

const volatile __u32 sel_kinds = 0; /* SELK_* */
const volatile __u32 sel_comms = 0; /* globs of names */
const volatile __u32 sel_paths = 0; /* globs of groups */
const volatile __u32 self_tgid = 0; /* utilbpf's own process */
const volatile __u64 sel_began = 0; /* processes that began later are not those of -p */
const volatile struct sel_calls sel_calls = {};
/* The hierarchy that groups are of: 0 the unified one, else that of a controller. */
const volatile __u32 group_v1 = 0;

/* Of a resident instance only; one entry each otherwise. */
#define QUEUE(name_)                                                                               \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_QUEUE);                                                  \
		__uint(max_entries, 1);                                                            \
		__type(value, __u32);                                                              \
	} name_ SEC(".maps")

QUEUE(ended_even); /* slots of tasks that ended in an even window, the oldest first */
QUEUE(ended_odd);

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* to slots */
	__uint(max_entries, 1);
	__type(key, struct acct_fold_key);
	__type(value, __u32);
} folds SEC(".maps");

STACK(fold_lock); /* who gets the only element may fold */
ARRAY(icall_lists, struct acct_icall_list, 0);

/* In .bss, mapped by the loader. All events read the first, forks write to the second. */
struct acct_ctl ctl __attribute__((aligned(64)));
struct acct_keep keep __attribute__((aligned(64)));
/*
 * The CPUs' records, where programs find them without a look-up: all of them, or none, and then
 * they are in the map.
 */
struct acct_cpu near_cpus[CPUS_NEAR] __attribute__((aligned(64)));
const volatile bool cpus_near = false;
/* From a task's stack to where its user's registers are saved; learned from the first system call.
 */
__u64 regs_at;
/* Slots of the tasks that came onto a CPU last, by tid; of two that share a place the later one. */
#define RECENT 16384
__u32 recent[RECENT];
const volatile bool resident = false;
const volatile struct acct_keep reserve = {}; /* of `keep`: less is few */
const volatile __u32 ncpus = 1;
const volatile __u32 command_pid = 0; /* the process that will exec COMMAND */

/* ---- records by number ---- */

static __always_inline struct acct_cpu *cpu_get(__u32 cpu)
{
	__u32 key;

	if (cpus_near)
		return &near_cpus[acct_below(cpu, CPUS_NEAR)];
	key = cpu; /* goes to the stack only here */
	return bpf_map_lookup_elem(&cpus, &key);
}

static __always_inline struct acct_task *task_at(__u32 slot)
{
	return bpf_map_lookup_elem(&tasks, &slot);
}

/* The same of a number that lies in a record: its place serves as the key. */
static __always_inline struct acct_task *task_of(const struct acct_cpu *c)
{
	return bpf_map_lookup_elem(&tasks, &c->slot);
}

/* A free slot of the task table, 0: it is full. */
static __always_inline __u32 slot_take(void)
{
	__u32 slot;

	if (bpf_map_pop_elem(&free_tasks, &slot))
		return 0;
	if (resident)
		__sync_fetch_and_add(&keep.tasks, -1);
	return slot;
}

/* To the back of its queue. */
static __always_inline void ended_push(__u32 slot, __u32 epoch)
{
	if (epoch & 1)
		bpf_map_push_elem(&ended_odd, &slot, BPF_ANY);
	else
		bpf_map_push_elem(&ended_even, &slot, BPF_ANY);
}

static __always_inline void slot_ended(struct acct_cpu *c, __u32 slot)
{
	struct acct_task *t = resident ? task_at(slot) : NULL;

	if (t)
		ended_push(slot, t->tag);
}

/* ---- from a task to its link ---- */

#define OWNER_ITER 0x40000000U

/* The link of p, or NULL. A link whose owner has not filled it in yet has slot 0 and no
 * OWNER_SURPLUS. */
static __always_inline struct acct_link *link_find(struct task_struct *p, const bool btf)
{
	__u64 key = (__u64)p;

	if (btf && have_storage)
		return bpf_task_storage_get(&links, p, 0, 0);
	return bpf_map_lookup_elem(&links_hash, &key);
}

/*
 * The same, made when it is missing: `owner` names the context, so that of two that come at once
 * just one finds its own name there and fills it in. NULL: no memory. What a link begins as is in a
 * map: the stack, of which a chain of calls has 512 bytes, would be too small for it. The iterator
 * can be preempted there, and has one of its own; all others of a CPU write the same.
 */
static __always_inline struct acct_link *link_make(struct task_struct *p, __u32 owner,
						   const bool btf)
{
	__u32 i = owner == OWNER_ITER;
	struct acct_link *init = bpf_map_lookup_elem(&link_init, &i);
	__u64 key = (__u64)p;

	if (!init)
		return NULL;
	init->owner = owner;
	if (btf && have_storage)
		return bpf_task_storage_get(&links, p, init, BPF_LOCAL_STORAGE_GET_F_CREATE);
	bpf_map_update_elem(&links_hash, &key, init, BPF_NOEXIST);
	return bpf_map_lookup_elem(&links_hash, &key);
}

/* p will not run again. Task storage goes with the task; the hash has to be told. */
static __always_inline void link_drop(struct task_struct *p, const bool btf)
{
	__u64 key = (__u64)p;

	if (!(btf && have_storage))
		bpf_map_delete_elem(&links_hash, &key);
}

/* ---- records of a task's slot ---- */

/* Takes a record from the CPU's chunk of a table, or a new chunk. 0: the table is full. */
static __always_inline __u32 chunk_take(struct acct_chunk *chunk, void *free, __u32 *left)
{
	__u32 first, i = chunk->next;

	if (i == chunk->end) {
		if (bpf_map_pop_elem(free, &first))
			return 0;
		i = first & ~FREE_ONE;
		chunk->end = i + (first & FREE_ONE ? 1 : CHUNK);
		__sync_fetch_and_add(left, i - chunk->end);
	}
	chunk->next = i + 1;
	return i;
}

__noinline __u32 call_make(struct acct_cpu *c, struct acct_task *t, __u32 slot, __u32 key)
{
	struct acct_index_key k;
	struct acct_call *call;
	__u32 idx, *found;

	if (!c || !t)
		return 0;
	k.slot = slot;
	k.key = key;
	found = bpf_map_lookup_elem(&call_index, &k);
	if (found)
		return *found;
	idx = chunk_take(&c->calls, &free_calls, &keep.calls);
	if (!idx)
		return 0;
	call = bpf_map_lookup_elem(&calls, &idx);
	if (!call || bpf_map_update_elem(&call_index, &k, &idx, BPF_ANY)) {
		c->calls.next--; /* the next one may find room in the index */
		return 0;
	}
	call->slot = slot;
	call->key = key;
	call->next = t->calls;
	t->calls = idx;
	return idx;
}

/* The record of a call of t, which has that slot. */
acct_inline struct acct_call *call_get(struct acct_cpu *c, struct acct_task *t, __u32 slot,
				       __u32 key, __u64 *tag)
{
	__u32 h = CACHE_AT(key);
	__u32 idx = t->cache[h].idx;

	if ((sel_kinds & SELK_CALL) && !sel_call(&sel_calls, key))
		return NULL;
	if (acct_unlikely(t->cache[h].key != key || !idx)) {
		idx = call_make(c, t, slot, key);
		if (idx) {
			t->cache[h].key = key;
			t->cache[h].idx = idx;
		} else {
			c->dropped_calls++;
			idx = CALL_OTHER(bpf_get_smp_processor_id());
			*tag = GEN_FIXED | (__u32)*tag;
		}
	}
	return bpf_map_lookup_elem(&calls, &idx);
}

acct_inline struct acct_call *acct_env_call(struct acct_cpu *c, struct acct_task *t, __u32 key,
					    __u64 *tag)
{
	return call_get(c, t, c->slot, key, tag);
}

/* Calls that are not selected never come into the cache; 0, which no call has, is in what is free.
 */
acct_inline struct acct_call *acct_env_call_again(struct acct_cpu *c, struct acct_task *t,
						  __u32 key)
{
	__u32 h = CACHE_AT(key);

	return t->cache[h].key == key ? bpf_map_lookup_elem(&calls, &t->cache[h].idx) : NULL;
}

/* The record of the task in slot on `cpu`; a new one comes from `chunk`, which is the caller's. */
static __always_inline struct acct_row *row_get(struct acct_chunk *chunk, struct acct_cpu *c,
						struct acct_task *t, __u32 slot, __u32 cpu,
						__u64 *tag)
{
	struct acct_index_key k = {.slot = slot, .key = KEY_ROW(cpu)};
	__u32 idx = 0, *found = bpf_map_lookup_elem(&call_index, &k);
	struct acct_row *row;

	if (found)
		idx = *found;
	else
		idx = chunk_take(chunk, &free_rows, &keep.rows);
	row = idx ? bpf_map_lookup_elem(&rows, &idx) : NULL;
	if (row && !found) {
		if (bpf_map_update_elem(&call_index, &k, &idx, BPF_ANY)) {
			chunk->next--;
			row = NULL;
		} else {
			row->slot = slot;
			row->cpu = cpu;
			row->next = t->rows;
			t->rows = idx;
		}
	}
	if (!row) {
		c->dropped_tasks++;
		idx = ROW_OTHER(cpu);
		*tag = GEN_FIXED | (__u32)*tag;
		row = bpf_map_lookup_elem(&rows, &idx);
	}
	return row;
}

/* Interrupts are off: at a switch, or a migration. */
acct_inline struct acct_row *acct_env_row(struct acct_cpu *c, struct acct_task *t, __u32 slot,
					  __u32 cpu, __u64 *tag)
{
	return row_get(&c->rows, c, t, slot, cpu, tag);
}

/* Handlers of one class do not nest: each class has a list of its own. */
static __always_inline void icall_link(struct acct_call *call, __u32 idx, __u32 cls)
{
	__u32 slot = call->slot;
	struct acct_icall_list *l = bpf_map_lookup_elem(&icall_lists, &slot);

	acct_opaque(cls);
	if (!l || cls >= AC_STEAL_NR)
		return;
	call->next = l->first[cls];
	l->first[cls] = idx;
}

/* The record of an interrupt, softirq or hypervisor call of the task on c, and its tag. */
static __always_inline struct acct_call *icall_get(struct acct_cpu *c, const struct acct_now *n,
						   __u32 cls, __u32 key, __u64 *tag)
{
	struct acct_index_key k = {.slot = c->slot, .key = key};
	__u32 idx, *found = bpf_map_lookup_elem(&icall_index, &k);
	struct acct_call *call;

	*tag = ((__u64)c->gen << 32) | n->epoch;
	if (found) {
		idx = *found;
		return bpf_map_lookup_elem(&icalls, &idx);
	}
	idx = cls < AC_STEAL_NR ? chunk_take(&c->icalls[cls], &free_icalls, &keep.icalls) : 0;
	call = idx ? bpf_map_lookup_elem(&icalls, &idx) : NULL;
	if (call && !bpf_map_update_elem(&icall_index, &k, &idx, BPF_ANY)) {
		call->slot = k.slot;
		call->key = key;
		icall_link(call, idx, cls);
		return call;
	}
	c->irq_dropped++;
	idx = ICALL_OTHER(n->cpu, cls);
	*tag = GEN_FIXED | n->epoch;
	return bpf_map_lookup_elem(&icalls, &idx);
}

#endif /* MAPS_BPF_H */
