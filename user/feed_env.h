/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What flow.h and acct.h ask of their includer, over tables in user memory: maps.bpf.h's part, and
 * that of the kernel's task_struct. Included by feed.c alone.
 *
 * Those functions get no context, so the feed in work is a variable, set at each entry.
 */
#ifndef FEED_ENV_H
#define FEED_ENV_H

#include <string.h>

#include "feed.h"
#include "hash.h"
#include "region.h"

/* What a task_struct is to the kernel. Its address stays, and it is used again after its death. */
struct utask {
	uint32_t tid, tgid, uid;
	uint32_t parent; /* of those that were there before the first event */
	uint32_t next;	 /* free ones are linked */
	bool kthread;
	bool dead;		/* by its last switch; free once its account has ended, too */
	bool renamed;		/* since its first name was told */
	uint64_t start;		/* 0: not known */
	uint64_t leader_start;	/* of its process */
	uint64_t cgroup, moved; /* since then it is in that; 0: no event has told */
	uint64_t sure;		/* since then every event of it was seen */
	char comm[ACCT_COMM_LEN];
	struct acct_link link;
};

struct feed {
	struct acct_ctl ctl;
	uint32_t ncpus;
	uint32_t command;
	uint32_t kinds;		     /* SELK_* */
	uint32_t self;		     /* tgid of utilbpf itself, 0: it is not in the events */
	const struct selection *sel; /* NULL: none */
	struct names *names;
	bool own_online; /* nobody has told which CPUs are online: those that events come from */
	bool calls_told; /* both ends of system calls are recorded */
	struct feed_caps caps;
	struct window win;
	uint64_t start, now, count;
	uint64_t lost_last; /* time of the last hole on any CPU */
	struct rep_quality before, q;
	struct tables t;
	struct region tasks, calls, rows, icalls, utasks, tids;
	struct hash
		index; /* (slot, call) -> calls, (slot, interrupt) -> icalls, (slot, CPU) -> rows */
	uint32_t *free; /* slots */
	size_t nfree, cap_free;
	uint32_t free_utask; /* first of the linked ones, 0: none */
	uint64_t reaped;     /* acct_cpu.exited that have been taken in */
	struct collect *collect;
	/* by CPU */
	struct acct_cpu *cpus;
	uint64_t *from;	   /* when it came or went last; 0: never */
	uint64_t *lost_at; /* time of the last hole there */
	bool *present;	   /* online now */
	bool *whole;	   /* online for all of the window */
	int err;
};

static __thread struct feed *F;

/* include/linux/threads.h: PID_MAX_LIMIT on 64 bit */
#define TID_MAX (4U << 20)

/* ---- records by number ---- */

static __always_inline struct acct_cpu *cpu_get(uint32_t cpu)
{
	return &F->cpus[cpu];
}

static __always_inline struct acct_task *task_at(uint32_t slot)
{
	return (struct acct_task *)F->tasks.mem + slot;
}

static __always_inline struct acct_call *call_at(struct region *r, uint32_t i)
{
	return (struct acct_call *)r->mem + i;
}

static __always_inline const struct acct_ctl *windows(void)
{
	return &F->ctl;
}

/*
 * The record of (slot, key) in r. *fresh: it was made just now. 0: r is full. A record stays with
 * its slot, so nothing is ever taken out of the index.
 */
static __always_inline uint32_t record(struct region *r, uint32_t slot, uint32_t key, bool *fresh)
{
	uint32_t i = hash__get(&F->index, slot, key, r->n);

	*fresh = false;
	if (i < r->n)
		return i;
	*fresh = i != HASH_NONE && i == r->n && region__take(r) != UINT32_MAX;
	return *fresh ? i : 0;
}

static __attribute__((noinline)) struct acct_call *
call_make(struct acct_cpu *c, struct acct_task *t, uint32_t key, __u64 *tag)
{
	uint32_t h = CACHE_AT(key);
	struct acct_call *call;
	bool fresh;
	uint32_t i = record(&F->calls, c->slot, key, &fresh);

	if (!i) {
		c->dropped_calls++;
		*tag = GEN_FIXED | (uint32_t)*tag;
		return call_at(&F->calls, CALL_OTHER(c - F->cpus));
	}
	call = call_at(&F->calls, i);
	if (fresh) {
		call->slot = c->slot;
		call->key = key;
		call->next = t->calls;
		t->calls = i;
	}
	t->cache[h].key = key;
	t->cache[h].idx = i;
	return call;
}

static __always_inline struct acct_call *acct_env_call_again(struct acct_cpu *c,
							     struct acct_task *t, __u32 key)
{
	uint32_t h = CACHE_AT(key);

	(void)c;
	return t->cache[h].key == key && t->cache[h].idx ? call_at(&F->calls, t->cache[h].idx)
							 : NULL;
}

static __always_inline struct acct_call *acct_env_call(struct acct_cpu *c, struct acct_task *t,
						       __u32 key, __u64 *tag)
{
	struct acct_call *call;

	if (acct_unlikely(F->kinds & SELK_CALL) && !sel__call(F->sel, key))
		return NULL;
	call = acct_env_call_again(c, t, key);
	return call ? call : call_make(c, t, key, tag);
}

static __always_inline struct acct_row *acct_env_row(struct acct_cpu *c, struct acct_task *t,
						     __u32 slot, __u32 cpu, __u64 *tag)
{
	struct acct_row *rows = F->rows.mem;
	bool fresh;
	uint32_t i = record(&F->rows, slot, KEY_ROW(cpu), &fresh);

	if (!i) {
		c->dropped_tasks++;
		*tag = GEN_FIXED | (uint32_t)*tag;
		return &rows[ROW_OTHER(cpu)];
	}
	if (fresh) {
		rows[i].slot = slot;
		rows[i].cpu = cpu;
		rows[i].next = t->rows;
		t->rows = i;
	}
	return &rows[i];
}

static __always_inline struct acct_call *icall_get(struct acct_cpu *c, const struct acct_now *n,
						   __u32 cls, __u32 key, __u64 *tag)
{
	struct acct_call *call;
	bool fresh;
	uint32_t i = record(&F->icalls, c->slot, key, &fresh);

	*tag = ((uint64_t)c->gen << 32) | n->epoch;
	if (!i) {
		c->irq_dropped++;
		*tag = GEN_FIXED | n->epoch;
		return call_at(&F->icalls, ICALL_OTHER(n->cpu, cls));
	}
	call = call_at(&F->icalls, i);
	if (fresh) {
		call->slot = c->slot;
		call->key = key;
	}
	return call;
}

/* ---- links ---- */

static __always_inline struct acct_link *link_find(struct utask *u, const bool btf)
{
	(void)btf;
	return &u->link;
}

static __always_inline struct acct_link *link_make(struct utask *u, __u32 owner, const bool btf)
{
	(void)btf;
	u->dead = false;
	if (!u->link.owner)
		u->link.owner = owner;
	return &u->link;
}

static __always_inline void link_drop(struct utask *u, const bool btf)
{
	(void)btf;
	memset(&u->link, 0, sizeof(u->link));
	u->dead = true;
}

/* ---- what is known of a task ---- */

static __always_inline __u64 who_address(struct utask *u)
{
	return (uintptr_t)u;
}

static __always_inline __u64 who_mark(struct utask *u, const bool btf)
{
	(void)btf;
	return (uintptr_t)u;
}

static __always_inline struct utask *who_at(__u64 address)
{
	return (struct utask *)(uintptr_t)address;
}

static __always_inline bool who_is_idle(struct utask *u, const bool btf)
{
	(void)btf;
	return !u->tid;
}

static __always_inline bool who_is_thread(struct utask *u, const bool btf)
{
	(void)btf;
	return u->tid != u->tgid;
}

static __always_inline bool who_is_kernel(struct utask *u, const bool btf)
{
	(void)btf;
	return u->kthread;
}

static __always_inline __u64 who_born(struct utask *u, const bool btf)
{
	(void)btf;
	return u->start;
}

/* Nobody tells, in a recording, how long the scheduler says it has run. */
static __always_inline __u64 who_ran(struct utask *u, const bool btf)
{
	(void)u, (void)btf;
	return 0;
}

static __always_inline __u32 who_switches(struct utask *u, const bool btf)
{
	(void)u, (void)btf;
	return 0;
}

/* Its exit was seen: so what was missed is its last switch. */
static __always_inline __u64 who_left(const struct acct_cpu *c, const struct acct_task *old,
				      const struct acct_now *n, __u8 *cls)
{
	(void)c;
	*cls = old->st.flags & AS_EXITING ? AC_NONE : AC_WAIT;
	return n->now;
}

static __always_inline void who_ident(struct acct_ident *id, struct utask *u, const bool btf)
{
	(void)btf;
	id->tid = u->tid;
	id->tgid = u->tgid;
	id->uid = u->uid;
	id->start = u->start;
	id->leader_start = u->leader_start;
	id->cgroup = u->cgroup;
	memcpy(id->comm, u->comm, ACCT_COMM_LEN);
}

/* ---- who is selected ---- */

static __always_inline bool flow_selects(void)
{
	return F->kinds & (SELK_TASKS | SELK_CPU);
}

static __always_inline bool flow_selects_cpus(void)
{
	return F->kinds & SELK_CPU;
}

/* No event tells of another user. */
static __always_inline bool flow_selects_users(void)
{
	return false;
}

static __always_inline bool flow_calls_told(void)
{
	return F->calls_told;
}

static __always_inline bool flow_follows(void)
{
	return F->kinds & SELK_FOLLOW;
}

static __always_inline void flow_bump(void)
{
	F->ctl.moves++;
}

static __always_inline __u32 who_uid(struct utask *u, const bool btf)
{
	(void)btf;
	return u->uid;
}

static __attribute__((noinline)) bool task_selected(const struct utask *u, __u32 descent)
{
	char comm[ACCT_COMM_LEN + 1] = "";
	const struct sel_subject t = {
		.pid = u->tgid,
		.tid = u->tid,
		.uid = u->uid,
		.comm = comm,
		.cgroup = u->cgroup && F->names ? names__cgroup(F->names, u->cgroup) : NULL,
		.kthread = u->kthread,
		.self = u->tgid == F->self,
		.flags = descent,
	};

	memcpy(comm, u->comm, ACCT_COMM_LEN);
	if (F->sel && !sel__task(F->sel, &t))
		return false;
	return !F->command || (descent & (SEL_ARMED | SEL_IN));
}

static struct utask *tid_find(uint32_t tid);

/* As many as the kernel's programs look at. */
#define GENERATIONS 32

static __attribute__((noinline)) bool ancestor_selected(const struct utask *u)
{
	for (int i = 0; i < GENERATIONS; i++) {
		u = u->parent ? tid_find(u->parent) : NULL;
		if (!u)
			return false;
		if (task_selected(u, 0))
			return true;
	}
	return false;
}

static __always_inline __u32 who_descent(struct utask *u, const bool btf)
{
	(void)btf;
	if (F->command && u->tgid == F->command)
		return SEL_ARMED;
	return (F->kinds & SELK_FOLLOW) && ancestor_selected(u) ? SEL_FOLLOWED : 0;
}

static __always_inline bool who_selected(struct utask *u, __u32 descent, const bool btf)
{
	(void)btf;
	return task_selected(u, descent);
}

static __always_inline __u64 who_group(struct utask *u, const bool btf)
{
	(void)btf;
	return u->cgroup;
}

static __always_inline void who_learn(struct utask *u, __u32 slot, const bool btf)
{
	(void)u, (void)slot, (void)btf;
}

static __always_inline struct acct_task *who_recent(struct utask *u, __u32 cpu, const bool btf)
{
	(void)btf;
	return task_at(u->tid ? u->link.slot : SLOT_IDLE(cpu, FLOW_NCPUS));
}

static __always_inline __u64 who_moved(struct utask *u, __u64 group, const bool btf)
{
	(void)group, (void)btf;
	return u->moved;
}

/* ---- tids ---- */

static __always_inline uint32_t *tid_entry(uint32_t tid)
{
	return (uint32_t *)F->tids.mem + tid;
}

/* The task of that tid, 0 being every CPU's idle task; NULL: it was never heard of. */
static __always_inline struct utask *tid_find(uint32_t tid)
{
	struct utask *all = F->utasks.mem;
	uint32_t i;

	if (!tid || tid >= TID_MAX)
		return tid ? NULL : all;
	i = *tid_entry(tid);
	return i ? &all[i] : NULL;
}

/* The same, made where there is none. NULL: there is no such tid, or no memory; F->err says. */
static __attribute__((noinline)) struct utask *tid_make(uint32_t tid)
{
	struct utask *all = F->utasks.mem, *u;
	uint32_t i = F->free_utask;

	F->err = -EINVAL;
	if (tid >= TID_MAX)
		return NULL;
	if (i)
		F->free_utask = all[i].next;
	else
		i = region__take(&F->utasks);
	F->err = -ENOMEM;
	if (i == UINT32_MAX)
		return NULL;
	F->err = 0;
	u = &all[i];
	memset(u, 0, sizeof(*u));
	u->tid = u->tgid = tid;
	u->sure = F->win.start;
	*tid_entry(tid) = i;
	return u;
}

/* Its account has ended, and no CPU runs it: the tid and the record are free again. */
static __always_inline void tid_free(struct utask *u)
{
	*tid_entry(u->tid) = 0;
	u->next = F->free_utask;
	F->free_utask = u - (struct utask *)F->utasks.mem;
	u->dead = false;
	u->tid = UINT32_MAX; /* nobody's, until it is made anew */
}

/* No CPU runs u. */
static void leave_cpus(const struct utask *u);

/* The task of that tid, made where there is none: who had it before, and has ended, is another. */
static __always_inline struct utask *tid_get(uint32_t tid)
{
	struct utask *u = tid_find(tid);

	if (u && acct_unlikely(u->dead)) {
		leave_cpus(u);
		tid_free(u);
		u = NULL;
	}
	return u ? u : tid_make(tid);
}

/* u, a thread, goes on under its leader's tid. */
static __always_inline void tid_move(struct utask *u, uint32_t tid)
{
	*tid_entry(u->tid) = 0;
	u->tid = tid;
	*tid_entry(tid) = u - (struct utask *)F->utasks.mem;
}

#endif /* FEED_ENV_H */
