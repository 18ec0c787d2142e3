/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reuse of ended tasks' records where nobody reads for long: a resident instance only. What goes
 * back from a slot when records are few is the same for a loader that reads all the time: its
 * free_slot() (utilbpf.bpf.c) uses it.
 *
 * Ended tasks queue up. When free records get few, those that have waited longest go, each under
 * one of two rules:
 *
 * - Its window has been read (keep.told): nothing of it is wanted any more.
 * - It is of the open window, and has nothing in one that has ended and is still to be read: its
 *   sums and calls are added to a record of its process, or, when it was its process's last, of its
 *   group. Where there is none yet, it becomes that record itself and queues up again. In its turn
 *   a process's record that nothing was added to since goes to its group; one of a group only goes
 *   to the system's, which is always there, when nothing else helps.
 *
 * What has ended in a window that somebody is just reading stays as it is; so there are two queues,
 * by the parity of the window. Under fold_lock each record has one writer, though the slots of
 * ended tasks belong to nobody.
 */
#ifndef FOLD_BPF_H
#define FOLD_BPF_H

#include "maps.bpf.h"

#define FOLD_TRIES 8   /* of one fold_some() */
#define FOLD_AIM   2   /* slots that it wants to free */
#define FOLD_UP	   4   /* from this try on, when records are very few, all goes to the system */
#define FOLD_CALLS 640 /* more than there are system calls */
#define FOLD_ROWS  512
#define FOLD_IRQS  128

/* What does not fit on the stack of five functions; whoever has fold_lock uses it. */
struct {
	struct acct_now now;
	struct acct_fold_key key, old;
	struct acct_chunk rows; /* interrupts, which go on meanwhile, take from the CPU's own */
} fold_scratch;

/* ---- one record each; the result is the next one of the list ---- */

/*
 * Keeps the record for the slot's next owner, or frees it when records are few: another slot's tag
 * may be the same, so what is freed has none.
 */
static __always_inline void call_put(struct acct_task *d, struct acct_call *call, __u32 idx)
{
	struct acct_index_key k = {.slot = call->slot, .key = call->key};
	__u32 one = idx | FREE_ONE;

	if (keep.calls < reserve.calls && !bpf_map_delete_elem(&call_index, &k)) {
		call->bank[0].tag = 0;
		call->bank[1].tag = 0;
		if (!bpf_map_push_elem(&free_calls, &one, BPF_ANY)) {
			__sync_fetch_and_add(&keep.calls, 1);
			return;
		}
	}
	call->next = d->calls;
	d->calls = idx;
}

__noinline __u32 fold_call(struct acct_cpu *c, struct acct_task *d, struct acct_task *t, __u32 slot,
			   __u32 idx)
{
	struct acct_call *call, *to;
	struct acct_call_bank *b;
	__u32 next;
	__u64 tag;

	call = bpf_map_lookup_elem(&calls, &idx);
	if (!c || !d || !call)
		return 0;
	next = call->next;
	b = &call->bank[d->tag & 1];
	if (t && b->tag == d->tag) {
		tag = t->tag;
		to = call_get(c, t, slot, call->key, &tag);
		if (to)
			acct_call_add(acct_call_bank(to, tag), b);
	}
	call_put(d, call, idx);
	return next;
}

/* keeps: its sums are wanted still. */
static __always_inline void row_put(struct acct_task *d, struct acct_row *row, __u32 idx,
				    bool keeps)
{
	struct acct_index_key k = {.slot = row->slot, .key = KEY_ROW(row->cpu)};
	__u32 one = idx | FREE_ONE;

	if (!keeps && keep.rows < reserve.rows && !bpf_map_delete_elem(&call_index, &k)) {
		row->bank[0].tag = 0;
		row->bank[1].tag = 0;
		if (!bpf_map_push_elem(&free_rows, &one, BPF_ANY)) {
			__sync_fetch_and_add(&keep.rows, 1);
			return;
		}
	}
	row->next = d->rows;
	d->rows = idx;
}

/* Sums that were made on `cpu` go to t's record of that CPU. */
__noinline int fold_sums(struct acct_cpu *c, struct acct_task *t, __u32 slot, __u32 cpu,
			 const struct acct_sums *s)
{
	struct acct_row_bank *r;
	struct acct_row *row;
	__u64 tag;

	if (!c || !t || !s)
		return 0;
	tag = t->tag;
	row = row_get(&fold_scratch.rows, c, t, slot, cpu, &tag);
	if (!row)
		return 0;
	r = &row->bank[tag & 1];
	if (!row->slot) { /* the table is full: the CPU's "(other)" */
		acct_spill_other(&r->s, s);
		return 0;
	}
	if (r->tag != tag) {
		acct_sums_clear(&r->s);
		r->tag = tag;
	}
	acct_sums_add(&r->s, s);
	return 0;
}

/* t NULL: nothing is folded, but its `busy` is told; and with a slot, d's own, it stays d's. */
__noinline __u32 fold_row(struct acct_cpu *c, struct acct_task *d, struct acct_task *t, __u32 slot,
			  __u32 idx)
{
	struct acct_row_bank *b;
	struct acct_row *row;
	__u32 next;

	row = bpf_map_lookup_elem(&rows, &idx);
	if (!c || !d || !row)
		return 0;
	next = row->next;
	b = &row->bank[d->tag & 1];
	if (b->tag == d->tag) {
		acct_busy_told(&b->s, d->bank[d->tag & 1].busy_as);
		if (t)
			fold_sums(c, t, slot, row->cpu, &b->s);
	}
	row_put(d, row, idx, !t && slot);
	return next;
}

/* The record that slot has for the interrupt's call, in the end call itself. NULL: `call` is it. */
static __always_inline struct acct_call *icall_of(struct acct_call *call, __u32 idx, __u32 slot)
{
	struct acct_index_key k = {.slot = slot, .key = call->key}, old = k;
	__u32 i, *found = bpf_map_lookup_elem(&icall_index, &k);

	if (found) {
		i = *found;
		return bpf_map_lookup_elem(&icalls, &i);
	}
	old.slot = call->slot;
	bpf_map_delete_elem(&icall_index, &old);
	/* Where even that has no room, the caller counts it. */
	return bpf_map_update_elem(&icall_index, &k, &idx, BPF_ANY) ? call : NULL;
}

__noinline __u32 fold_icall(struct acct_cpu *c, struct acct_task *d, struct acct_task *t,
			    __u32 slot, __u32 idx)
{
	struct acct_index_key k;
	struct acct_call *call, *to;
	struct acct_icall_list *l;
	struct acct_call_bank *b;
	__u32 next, owner, one = idx | FREE_ONE, cls;

	call = bpf_map_lookup_elem(&icalls, &idx);
	if (!c || !d || !call)
		return 0;
	next = call->next;
	owner = call->slot;
	b = &call->bank[d->tag & 1];
	if (t && b->tag == d->tag) {
		to = icall_of(call, idx, slot);
		if (!to) { /* it has changed hands */
			b->tag = t->tag;
			call->bank[(d->tag & 1) ^ 1].tag = 0;
			call->slot = owner = slot;
			goto link;
		}
		if (to == call)
			c->dropped_calls++;
		else
			acct_call_add(acct_call_bank(to, t->tag), b);
	}
	k.slot = owner;
	k.key = call->key;
	if (keep.icalls < reserve.icalls && !bpf_map_delete_elem(&icall_index, &k)) {
		call->bank[0].tag = 0;
		call->bank[1].tag = 0;
		if (!bpf_map_push_elem(&free_icalls, &one, BPF_ANY)) {
			__sync_fetch_and_add(&keep.icalls, 1);
			return next;
		}
	}
link:
	l = bpf_map_lookup_elem(&icall_lists, &owner);
	cls = KEY_CLASS(call->key) - CALL_IRQ;
	acct_opaque(cls);
	if (l && cls < AC_STEAL_NR) {
		call->next = l->first[cls];
		l->first[cls] = idx;
	}
	return next;
}

/* ---- all of a slot ---- */

/*
 * Walks d's records; with t adds what is of d's last window to t, whose slot is `slot`. Without t
 * the records are done with, but for rows where slot is d's own.
 */
__noinline int fold_calls(struct acct_cpu *c, struct acct_task *d, struct acct_task *t, __u32 slot)
{
	__u32 idx;

	if (!c || !d)
		return 0;
	idx = d->calls;
	d->calls = 0;
	for (int i = 0; i < FOLD_CALLS && idx; i++)
		idx = fold_call(c, d, t, slot, idx);
	c->dropped_calls += idx != 0;
	for (int i = 0; i < ACCT_CACHE; i++)
		d->cache[i].idx = 0;
	return 0;
}

__noinline int fold_rows(struct acct_cpu *c, struct acct_task *d, struct acct_task *t, __u32 slot)
{
	__u32 idx;

	if (!c || !d)
		return 0;
	idx = d->rows;
	d->rows = 0;
	for (int i = 0; i < FOLD_ROWS && idx; i++)
		idx = fold_row(c, d, t, slot, idx);
	c->dropped_tasks += idx != 0;
	return 0;
}

__noinline int fold_icalls(struct acct_cpu *c, struct acct_task *d, __u32 owner,
			   struct acct_task *t, __u32 slot)
{
	struct acct_icall_list *l = bpf_map_lookup_elem(&icall_lists, &owner);

	if (!c || !d || !l)
		return 0;
	for (__u32 cls = 0; cls < AC_STEAL_NR; cls++) {
		__u32 idx = l->first[cls];

		l->first[cls] = 0;
		for (int i = 0; i < FOLD_IRQS && idx; i++)
			idx = fold_icall(c, d, t, slot, idx);
		c->dropped_calls += idx != 0;
	}
	return 0;
}

/* ---- who into whom ---- */

/* What d is: enum acct_fold. */
static __always_inline __u32 fold_kind(const struct acct_task *d)
{
	if (!(d->id.sel & SEL_FOLD))
		return FOLD_TASK;
	return d->id.tgid ? FOLD_PROCESS : FOLD_GROUP;
}

static __always_inline void fold_key(struct acct_fold_key *k, const struct acct_task *d, __u32 kind)
{
	k->kind = kind;
	k->tgid = kind == FOLD_PROCESS ? d->id.tgid : 0;
	k->id = kind == FOLD_PROCESS ? d->id.leader_start : kind == FOLD_GROUP ? d->id.cgroup : 0;
}

static __always_inline bool keep_very_few(void)
{
	return keep.tasks < reserve.tasks / 2 || keep.calls < reserve.calls / 2 ||
	       keep.rows < reserve.rows / 2 || keep.icalls < reserve.icalls / 2;
}

/*
 * What d goes into; its own kind: it stays what it is for another turn. A leader that has exited
 * was, as a rule, the last of its process.
 */
static __always_inline __u32 fold_into(struct acct_task *d, __u32 kind, __u32 try)
{
	__u32 fresh = d->id.exec;

	if (try >= FOLD_UP && keep_very_few())
		return FOLD_SYSTEM;
	if (kind == FOLD_GROUP)
		return FOLD_GROUP;
	if (kind == FOLD_PROCESS) {
		d->id.exec = 0;
		return fresh ? FOLD_PROCESS : FOLD_GROUP;
	}
	if (d->id.tid != d->id.tgid || !(d->st.flags & AS_EXITING))
		return FOLD_PROCESS;
	return FOLD_GROUP;
}

/* d's window is open. True when d has been added to another record: its slot is free. */
static __always_inline bool fold_open(struct acct_cpu *c, const struct acct_now *n,
				      struct acct_task *d, __u32 slot, __u32 try)
{
	__u32 kind = fold_kind(d), up = fold_into(d, kind, try), to, *found;
	struct acct_fold_key *k = &fold_scratch.key, *old = &fold_scratch.old;
	struct acct_task *t;

	if (up == kind) {
		ended_push(slot, n->epoch);
		return false;
	}
	fold_key(old, d, kind);
	fold_key(k, d, up);
	c->folded += kind == FOLD_TASK;
	found = bpf_map_lookup_elem(&folds, k);
	if (found && up == FOLD_PROCESS) { /* which is of the group of the first that ended */
		t = task_at(*found);
		if (t && t->id.cgroup != d->id.cgroup) {
			fold_key(k, d, FOLD_GROUP);
			found = bpf_map_lookup_elem(&folds, k);
		}
	}
	if (!found && !bpf_map_update_elem(&folds, k, &slot, BPF_NOEXIST)) {
		fold_rows(c, d, NULL, slot);
		d->bank[d->tag & 1].busy_as = 0xff;
		if (kind != FOLD_TASK)
			bpf_map_delete_elem(&folds, old);
		acct_fold_begin(d, k);
		ended_push(slot, n->epoch);
		return false;
	}
	to = found ? *found : SLOT_FOLD(ncpus); /* no room in the index: the system's */
	t = task_at(to);
	if (!t || to == slot)
		return false;
	fold_scratch.now = *n;
	fold_scratch.now.prev_start = acct_prev_start(&ctl, n->epoch);
	acct_fold(t, d, c, &fold_scratch.now);
	fold_sums(c, t, to, d->bank[d->tag & 1].cpu, &d->bank[d->tag & 1].s);
	fold_rows(c, d, t, to);
	fold_calls(c, d, t, to);
	fold_icalls(c, d, slot, t, to);
	if (kind != FOLD_TASK)
		bpf_map_delete_elem(&folds, old);
	return true;
}

/*
 * Whether all of d is of n's window, which is open: nobody is to read of it what is before. One
 * that was born in it has nothing there; but when the reader was late with its start, it may have
 * been born with the number of the window before, and closed that.
 */
static __always_inline bool fold_may(const struct acct_task *d, const struct acct_now *n,
				     __u32 told)
{
	const struct acct_bank *b = &d->bank[(n->epoch - 1) & 1];

	if ((__u32)d->tag != n->epoch)
		return false;
	if (n->epoch == told + 1)
		return true;
	return n->epoch == told + 2 && !acct_before(d->id.start, n->start) &&
	       b->end_cls == AC_NONE && !b->open_begin;
}

/* One of those that have ended. True: its slot is free again. */
__noinline int fold_one(struct acct_cpu *c, const struct acct_now *n, __u32 slot, __u32 try)
{
	struct acct_task *d = task_at(slot);
	__u32 told = keep.told;

	if (!c || !n || !d)
		return 0;
	if ((__s32)((__u32)d->tag - told) > 0) {
		if (!fold_may(d, n, told)) {
			ended_push(slot, d->tag);
			return 0;
		}
		if (!fold_open(c, n, d, slot, try))
			return 0;
	} else {
		if (d->id.sel & SEL_FOLD) {
			fold_key(&fold_scratch.key, d, fold_kind(d));
			bpf_map_delete_elem(&folds, &fold_scratch.key);
		}
		fold_rows(c, d, NULL, 0);
		fold_calls(c, d, NULL, 0);
		fold_icalls(c, d, slot, NULL, 0);
	}
	d->id.tid = 0;
	d->id.sel = 0;
	d->id.end = 0;
	if (!bpf_map_push_elem(&free_tasks, &slot, BPF_ANY))
		__sync_fetch_and_add(&keep.tasks, 1);
	return 1;
}

static __always_inline long ended_pop(__u32 *slot, __u32 epoch)
{
	if (epoch & 1)
		return bpf_map_pop_elem(&ended_odd, slot);
	return bpf_map_pop_elem(&ended_even, slot);
}

/*
 * Takes from the queue of the window that was told last: while another one is being read, who ends
 * in the open window stands there too. What is begun under the lock before a boundary is finished
 * before the reader begins, which waits for the lock; so the time is taken again under it.
 */
__noinline int fold_some(struct acct_cpu *c, const struct acct_now *n)
{
	__u32 token, slot, freed = 0, told = keep.told;
	struct acct_now *now = &fold_scratch.now;

	if (!c || !n || bpf_map_pop_elem(&fold_lock, &token))
		return 0;
	acct_time(now, &ctl, bpf_ktime_get_ns());
	if (now->epoch != n->epoch)
		goto out;
	for (__u32 i = 0; i < FOLD_TRIES && freed < FOLD_AIM; i++) {
		if (ended_pop(&slot, told) && (n->epoch != told + 1 || ended_pop(&slot, told + 1)))
			break;
		freed += fold_one(c, n, slot, i) > 0;
	}
out:
	bpf_map_push_elem(&fold_lock, &token, BPF_ANY);
	return 0;
}

/* Of what belongs to slots. */
static __always_inline bool keep_few(void)
{
	return keep.calls < reserve.calls || keep.rows < reserve.rows ||
	       keep.icalls < reserve.icalls;
}

/* Before a task, or an image, is born. */
static __always_inline void fold_before(struct acct_cpu *c, const struct acct_now *n)
{
	if (resident && (keep.tasks < reserve.tasks || keep_few()))
		fold_some(c, n);
}

#endif /* FOLD_BPF_H */
