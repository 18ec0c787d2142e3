/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each event does: which records it concerns, and which edge of acct.h each of them takes.
 *
 * The BPF programs, the event scripts and the engines without BPF all run this text; what they
 * extract from a tracepoint, a line or a recording is theirs. Who includes it defines, before:
 *
 *   flow_who    what stands for a task where events come from: an address, a number
 *   FLOW_NCPUS  possible CPUs: the fixed slots are laid out for them
 *
 * and, before or after, the functions that are declared first below. `btf` is for BPF alone: in
 * which flavour of its programs it is. It is a constant at every call, so that no code of the other
 * flavour is left.
 *
 * A task has a link, made when the task is first heard of, which leads to its slot. Its owner names
 * the context that made it: of two that come at once only that one fills it in. A task for which
 * there is no slot is one of the surplus: its state is in the link while it is off the CPU, in the
 * CPU's surplus record while it runs.
 *
 * Each CPU knows who runs there: the chain of switches. Some switches happen without an event;
 * flow_resync() mends the chain as soon as another task is seen there.
 */
#ifndef FLOW_H
#define FLOW_H

#include "acct.h"

/* A cold path that tells the flavours apart: the verifier walks it with its callers' knowledge. */
#define flow_cold static __attribute__((noinline, unused))

/* ---- what the includer defines ---- */

/* Records by number. NULL: there is none, which only the verifier doubts. */
static __always_inline struct acct_cpu *cpu_get(__u32 cpu);
static __always_inline struct acct_task *task_at(__u32 slot);
/* A free slot, 0: the table is full. And one whose task has ended: it may be used again later. */
static __always_inline __u32 slot_take(void);
static __always_inline void slot_ended(struct acct_cpu *c, __u32 slot);
/* p's link. find: NULL when there is none; make: NULL when there is no memory for one. */
static __always_inline struct acct_link *link_find(flow_who p, const bool btf);
static __always_inline struct acct_link *link_make(flow_who p, __u32 owner, const bool btf);
/* p will not run again. */
static __always_inline void link_drop(flow_who p, const bool btf);
/* The record of an interrupt, softirq or hypervisor call of the task on c, and its tag. */
static __always_inline struct acct_call *icall_get(struct acct_cpu *c, const struct acct_now *n,
						   __u32 cls, __u32 key, __u64 *tag);
/* The published windows. */
static __always_inline const struct acct_ctl *windows(void);

/* What acct_cpu.task holds while p runs: never 0 nor 1. And who that stands for. */
static __always_inline __u64 who_address(flow_who p);
static __always_inline flow_who who_at(__u64 address);
/* A CPU's idle task; a thread that never leaves the kernel. */
static __always_inline bool who_is_idle(flow_who p, const bool btf);
static __always_inline bool who_is_kernel(flow_who p, const bool btf);
/* When it was made, and how long it has run by the scheduler's count; ns. */
static __always_inline __u64 who_born(flow_who p, const bool btf);
static __always_inline __u64 who_ran(flow_who p, const struct acct_now *n, const bool btf);
/*
 * When the task that c believes in has left, as far as that can be told, at most now; *cls: for
 * which off-CPU class, AC_NONE when it is dead.
 */
static __always_inline __u64 who_left(const struct acct_cpu *c, const struct acct_task *old,
				      const struct acct_now *n, __u8 *cls);
/* Fills in who p is, and `sel`. */
static __always_inline void who_ident(struct acct_ident *id, flow_who p, const bool btf);

/* ---- windows ---- */

acct_inline void flow_roll(struct acct_task *t, struct acct_cpu *c, struct acct_now *n)
{
	if (acct_unlikely(acct_is_old(t, n))) {
		n->prev_start = acct_prev_start(windows(), n->epoch);
		acct_roll(t, c, n);
	}
}

/* The record of slot, in the event's window. NULL: no such record. */
acct_inline struct acct_task *flow_task(__u32 slot, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_task *t = slot ? task_at(slot) : (struct acct_task *)0;

	if (t)
		flow_roll(t, c, n);
	return t;
}

/* ---- a new record ---- */

acct_inline bool link_usable(const struct acct_link *l)
{
	return l && (l->slot || (l->owner & OWNER_SURPLUS));
}

/* Publishes a link that this context owns: from here on other CPUs may use it. */
acct_inline void link_publish(struct acct_link *l, __u32 slot)
{
	acct_barrier();
	if (slot)
		l->slot = slot;
	else
		l->owner |= OWNER_SURPLUS;
}

/*
 * A slot for p, emptied and named, its class AC_NONE. 0: the table is full, and p is a surplus task
 * from now on.
 */
acct_inline __u32 flow_make(flow_who p, struct acct_cpu *c, const struct acct_now *n,
			    const bool btf)
{
	__u32 slot = slot_take();
	struct acct_task *t = slot ? task_at(slot) : (struct acct_task *)0;

	if (!t) {
		__sync_fetch_and_add(&c->dropped_tasks, 1);
		return 0;
	}
	acct_task_init(t, n, n->cpu);
	who_ident(&t->id, p, btf);
	if (who_is_kernel(p, btf)) {
		t->st.flags = AS_KTHREAD;
		t->st.mode = AC_SYS;
	}
	return slot;
}

/*
 * A task that no event or seeding has told of (a kernel may hide some from the iterator): nobody
 * saw it run, so it has been sleeping in this window, and its mode is unknown.
 */
acct_inline void flow_unknown_state(struct acct_state *st, __u64 born, const struct acct_now *n)
{
	st->since = acct_before(born, n->start) ? n->start : born;
	st->cls = AC_SLEEP;
	st->mode = AC_BUSY;
	st->flags |= AS_RAN;
	if (st->flags & AS_KTHREAD)
		st->mode = AC_SYS;
}

flow_cold int flow_unknown(flow_who p, struct acct_cpu *c, const struct acct_now *n, const bool btf)
{
	struct acct_now then;
	struct acct_link *l;
	struct acct_task *t;
	__u32 slot, owner;

	then = *n;
	owner = n->cpu + 1;
	l = link_make(p, owner, btf);
	if (!l || link_usable(l) || l->owner != owner) /* somebody else is just filling it in */
		return 0;
	if (who_is_kernel(p, btf))
		l->st.flags = AS_KTHREAD;
	flow_unknown_state(&l->st, who_born(p, btf), n);
	slot = flow_make(p, c, n, btf);
	t = slot ? task_at(slot) : (struct acct_task *)0;
	if (t) {
		t->st = l->st;
		acct_task_born(t);
	} else {
		then.now = l->st.since;
		acct_pop_enter(c, &then, AC_SLEEP);
	}
	link_publish(l, slot);
	return 0;
}

/* ---- onto a CPU and off it ---- */

/* A surplus task comes onto the CPU: its state is put into the CPU's surplus record. */
acct_cold int flow_surplus_arrive(struct acct_task *t, struct acct_link *l, struct acct_cpu *c,
				  const struct acct_now *n)
{
	if (!t || !c || !n)
		return 0;
	if (l && (l->owner & OWNER_SURPLUS)) {
		acct_pop_leave(c, n, l->st.cls);
		acct_surplus_charge(&l->st, n->now);
		t->st = l->st;
		l->st.cls = AC_NONE; /* it has left the population */
	} else { /* no memory for a link: where its time went until now is not known */
		c->lost_tasks++;
		t->st.flags = 0;
		t->st.mode = AC_BUSY;
		acct_split_clear(&t->st);
	}
	t->st.cls = AC_NONE;
	return 0;
}

/*
 * The record that p uses on the CPU of n, in n's window: its own, the CPU's idle task's, or for a
 * surplus task the CPU's surplus record, with p's state put into it.
 */
acct_inline struct acct_task *flow_arrive(flow_who p, struct acct_cpu *c, struct acct_now *n,
					  __u32 *slot, const bool btf)
{
	struct acct_link *l;
	struct acct_task *t;

	if (who_is_idle(p, btf)) {
		*slot = SLOT_IDLE(n->cpu, FLOW_NCPUS);
		return flow_task(*slot, c, n);
	}
	l = link_find(p, btf);
	if (acct_unlikely(!link_usable(l))) {
		flow_unknown(p, c, n, btf);
		l = link_find(p, btf);
	}
	if (link_usable(l) && l->slot) {
		*slot = l->slot;
		return flow_task(*slot, c, n);
	}
	*slot = SLOT_OTHER(n->cpu, FLOW_NCPUS);
	t = flow_task(*slot, c, n);
	if (t)
		flow_surplus_arrive(t, l, c, n);
	return t;
}

/* A surplus task has left the CPU for cls: its state goes back to its link, its time to the
 * population. */
flow_cold int flow_surplus_leave(flow_who p, struct acct_task *t, struct acct_cpu *c,
				 const struct acct_now *n, const bool btf)
{
	struct acct_link *l = link_find(p, btf);

	if (link_usable(l)) {
		l->st = t->st;
		acct_pop_enter(c, n, t->st.cls);
	}
	t->st.cls = AC_NONE;
	t->st.flags = 0;
	t->id.end = 0;
	return 0;
}

acct_inline void flow_seat(struct acct_cpu *c, flow_who p, __u32 slot, struct acct_task *t,
			   const struct acct_now *n, const bool btf)
{
	c->task = who_address(p);
	c->slot = slot;
	c->gen = t->tag >> 32;
	c->seated = n->now;
	c->ran = who_ran(p, n, btf);
}

/* Nobody knows who runs on c, CPU `cpu`, since then: it is busy time of the CPU's surplus task. */
acct_inline void flow_nobody(struct acct_cpu *c, __u32 cpu, __u64 since)
{
	__u32 o = SLOT_OTHER(cpu, FLOW_NCPUS);
	struct acct_task *other = task_at(o);

	if (!other)
		return;
	other->st.since = since;
	other->st.mode = AC_BUSY;
	other->st.cls = AC_BUSY;
	other->st.flags = AS_RAN;
	c->task = 1; /* nobody's address: the next event there finds a mismatch */
	c->gen = 1;
	c->slot = o;
}

/*
 * t arrives on a CPU, but the chain has it running on another still: its switch out there was
 * missed. The time since is off-CPU time of t, and nobody's on that CPU, until the next event there
 * tells.
 *
 * The one place that writes another CPU's records. That CPU may be mending its chain at this very
 * moment: it looks at t->cpu before it touches t, and what it seats stays; the reader believes a
 * CPU's surplus record only while the CPU says that it runs.
 */
acct_cold int flow_evict(struct acct_task *t, __u32 slot)
{
	struct acct_cpu *c = t ? cpu_get(t->cpu) : (struct acct_cpu *)0;

	if (c && c->slot == slot)
		flow_nobody(c, t->cpu, t->st.since);
	if (t)
		t->st.cls = AC_WAIT;
	return 0;
}

/*
 * The task that runs on c is not the one that the chain of switches has told. Ends the old one's
 * time when it left, as far as that is known, and puts p there from then.
 */
flow_cold int flow_resync(flow_who p, struct acct_cpu *c, struct acct_now *n, const bool btf)
{
	struct acct_task *t, *old;
	struct acct_now then;
	__u8 cls = AC_NONE;
	__u32 slot, was, ended = 0;

	then = *n;
	was = c->slot;
	old = c->task ? flow_task(was, c, n) : (struct acct_task *)0;
	if (old && was == SLOT_OTHER(n->cpu, FLOW_NCPUS)) {
		/* p may be a surplus task too, whose state is put in the place of this one's. */
		acct_charge(old, c, n);
		old->st.cls = AC_NONE;
	}

	t = flow_arrive(p, c, n, &slot, btf);
	if (!t)
		return 0;
	if (acct_on_cpu(&t->st) && slot != was)
		flow_evict(t, slot);
	c->unmatched += old != (struct acct_task *)0;
	/* Another CPU may just have taken it, flow_evict(): then it is charged there. */
	if (old && slot != was && old->cpu == n->cpu) {
		if (was >= SLOT_FIRST(FLOW_NCPUS))
			then.now = who_left(c, old, n, &cls);
		if (acct_before(then.now, old->st.since))
			then.now = old->st.since;
		if (acct_before(then.now, t->st.since))
			then.now = t->st.since;
		acct_charge(old, c, &then);
		if (cls == AC_NONE && was >= SLOT_FIRST(FLOW_NCPUS)) {
			acct_last(old, c, &then);
			c->exited++;
			ended = was;
			link_drop(who_at(c->task), btf);
		} else {
			old->st.cls = cls;
		}
	}
	acct_switch_in(t, c, &then, slot);
	flow_seat(c, p, slot, t, &then, btf);
	/* Not before: an interrupt counts for whoever is seated. */
	if (ended)
		slot_ended(c, ended);
	return 0;
}

/*
 * The record of p, which runs on c. Some switches happen without an event: then the first event of
 * the task that runs here puts it there.
 */
acct_inline struct acct_task *flow_current(flow_who p, struct acct_cpu *c, struct acct_now *n,
					   const bool btf)
{
	if (acct_unlikely(c->task != who_address(p)))
		flow_resync(p, c, n, btf);
	return c->task == who_address(p) ? flow_task(c->slot, c, n) : (struct acct_task *)0;
}

/*
 * The same for a system call's event, with fewer steps: n has only `now` and `cpu` yet. A record
 * that is in the last published window e already has had an event past its start, so this one is
 * too. NULL: the chain of switches has not told who runs here.
 */
acct_inline struct acct_task *flow_caller(flow_who p, struct acct_cpu *c, struct acct_now *n,
					  __u32 e, const bool btf)
{
	struct acct_task *t;

	if (acct_unlikely(c->task != who_address(p))) {
		acct_time(n, windows(), e, n->now);
		flow_resync(p, c, n, btf);
		if (c->task != who_address(p))
			return (struct acct_task *)0;
	}
	t = task_at(c->slot);
	if (t && acct_unlikely((__u32)t->tag != e)) {
		acct_time(n, windows(), e, n->now);
		flow_roll(t, c, n);
	}
	return t;
}

/* ---- scheduler ---- */

/*
 * prev, whose record is t, leaves the CPU of n for cls: AC_WAIT when it was preempted or is
 * runnable still, AC_NONE for ever. The record is flow_current()'s, so that the class can be looked
 * up after.
 */
acct_inline void flow_leave(flow_who prev, struct acct_task *t, __u8 cls, struct acct_cpu *c,
			    struct acct_now *n, const bool btf)
{
	if (c->slot == SLOT_IDLE(n->cpu, FLOW_NCPUS)) {
		acct_switch_out(t, c, n, AC_WAIT, 1);
		t->st.cls = AC_NONE;
		return;
	}
	acct_switch_out(t, c, n, cls, cls != AC_WAIT);
	if (acct_unlikely(c->slot == SLOT_OTHER(n->cpu, FLOW_NCPUS)))
		flow_surplus_leave(prev, t, c, n, btf);
	if (acct_unlikely(cls == AC_NONE)) {
		c->exited++;
		link_drop(prev, btf);
		if (c->slot >= SLOT_FIRST(FLOW_NCPUS))
			slot_ended(c, c->slot);
	}
}

/* After flow_leave(): next gets the CPU of n. */
acct_inline void flow_enter(flow_who next, struct acct_cpu *c, struct acct_now *n, const bool btf)
{
	struct acct_task *t;
	__u32 slot;

	t = flow_arrive(next, c, n, &slot, btf);
	if (!t) {
		c->task = 0;
		c->slot = 0;
		return;
	}
	if (acct_unlikely(acct_on_cpu(&t->st))) {
		c->unmatched++;
		flow_evict(t, slot);
	}
	acct_switch_in(t, c, n, slot);
	flow_seat(c, next, slot, t, n, btf);
	/* No frame outlives a switch: exits that were lost end here. */
	c->depth = 0;
}

/* The task of l becomes runnable; on the way it may have been seen on the CPU still. */
acct_inline void flow_wakeup(struct acct_link *l, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_task *t;

	if (acct_unlikely(!l->slot)) {
		if (l->st.cls >= AC_SLEEP && l->st.cls <= AC_STOPPED) {
			acct_pop_leave(c, n, l->st.cls);
			acct_surplus_charge(&l->st, n->now);
			l->st.cls = AC_WAIT;
			acct_pop_enter(c, n, AC_WAIT);
		}
		return;
	}
	t = task_at(l->slot);
	if (t && t->st.cls >= AC_SLEEP && t->st.cls <= AC_STOPPED) {
		flow_roll(t, c, n);
		acct_wakeup(t, n);
	}
}

/* The task of slot, which is off the CPU, is put on `cpu`. */
acct_inline void flow_migrate(__u32 slot, __u32 cpu, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_task *t = flow_task(slot, c, n);

	if (t && !acct_on_cpu(&t->st))
		acct_move(t, c, n, slot, cpu);
}

/* ---- the life of a task ---- */

/* The generations of images: a thread starts anew, and knows its leader's, whose tid it may take
 * over. */
acct_inline void flow_generation(struct acct_task *t, const struct acct_task *parent)
{
	if (t->id.tgid == parent->id.tgid)
		t->id.lead_exec = parent->id.lead_exec;
}

acct_inline void flow_fork(flow_who from, flow_who child, struct acct_cpu *c, struct acct_now *n,
			   const bool btf)
{
	struct acct_task *t, *parent;
	struct acct_link *l;
	__u32 slot, owner;
	int kernel;

	parent = flow_current(from, c, n, btf);
	owner = n->cpu + 1;
	l = link_make(child, owner, btf);
	if (!parent || !l || l->owner != owner || link_usable(l))
		return;
	kernel = who_is_kernel(child, btf);
	slot = flow_make(child, c, n, btf);
	t = slot ? task_at(slot) : (struct acct_task *)0;
	acct_fork(&l->st, &parent->st, n->now, kernel);
	if (t) {
		t->st = l->st;
		t->id.start = n->now;
		if (t->id.tid == t->id.tgid)
			t->id.leader_start = n->now;
		else
			t->id.leader_start = parent->id.leader_start;
		flow_generation(t, parent);
		t->id.sel = parent->id.sel & SEL_IN;
		acct_task_born(t);
	} else {
		acct_pop_enter(c, n, AC_WAIT);
	}
	link_publish(l, slot);
}

/* old_tid: the one that p had before, when it was not its leader. */
acct_inline void flow_exec(flow_who p, __u32 old_tid, struct acct_cpu *c, struct acct_now *n,
			   const bool btf)
{
	struct acct_task *t, *nt;
	struct acct_link *l;
	__u32 slot, old;

	t = flow_current(p, c, n, btf);
	l = link_find(p, btf);
	if (!t || !link_usable(l) || !l->slot)
		return; /* a surplus task's images are not told apart */
	slot = flow_make(p, c, n, btf);
	nt = slot ? task_at(slot) : (struct acct_task *)0;
	if (!nt)
		return; /* goes on under its old name; counted */
	acct_exec(t, nt, c, n);
	nt->id.exec = (old_tid != nt->id.tid ? t->id.lead_exec : t->id.exec) + 1;
	nt->id.lead_exec = nt->id.exec;
	nt->id.start = n->now;
	nt->id.sel = t->id.sel ? SEL_IN : 0;
	nt->id.leader_start = t->id.leader_start;
	/* The renaming came before this event, within the same call. */
	if (t->id.renamed && acct_before(nt->st.begin, t->id.renamed))
		__builtin_memcpy(t->id.comm, t->id.old_comm, ACCT_COMM_LEN);
	acct_task_born(nt);
	old = l->slot;
	l->slot = slot;
	flow_seat(c, p, slot, nt, n, btf);
	/* Interrupts have charged the old image until it was unseated. */
	acct_dead(t);
	c->exited++;
	slot_ended(c, old);
}

acct_inline void flow_exit(flow_who p, struct acct_cpu *c, struct acct_now *n, const bool btf)
{
	struct acct_task *t = flow_current(p, c, n, btf);

	if (t)
		acct_exit(t, c, n);
}

/* p has died, though no event has told: its account ends where its last event has left it. */
acct_inline void flow_gone(flow_who p, struct acct_cpu *c, struct acct_now *n, const bool btf)
{
	struct acct_link *l = link_find(p, btf);
	struct acct_task *t;

	if (!link_usable(l))
		return;
	if (!l->slot) {
		acct_pop_leave(c, n, l->st.cls);
		link_drop(p, btf);
		return;
	}
	t = task_at(l->slot);
	if (!t)
		return;
	if (acct_on_cpu(&t->st))
		flow_evict(t, l->slot);
	flow_roll(t, c, n);
	t->st.cls = AC_NONE;
	t->st.flags &= ~(AS_CALL | AS_NOBEGIN);
	t->id.end = t->st.since;
	c->exited++;
	link_drop(p, btf);
}

/* The task of slot gets another name: keeps the old one, and returns where the new one goes. */
acct_inline char *flow_rename(__u32 slot, const struct acct_now *n)
{
	struct acct_task *t = task_at(slot);

	if (!t)
		return (char *)0;
	__builtin_memcpy(t->id.old_comm, t->id.comm, ACCT_COMM_LEN);
	t->id.renamed = n->now;
	return t->id.comm;
}

/* ---- interrupts and hypervisor calls; cls: 0 irq, 1 softirq, 2 hv ---- */

/* w: the published windows; hypervisor call programs have a copy of their own. */
acct_inline void flow_frame_enter(struct acct_cpu *c, struct acct_now *n, const struct acct_ctl *w,
				  __u32 cls, __u32 key)
{
	n->prev_start = acct_prev_start(w, n->epoch);
	acct_irq_enter(c, n, n->prev_start, cls, key);
}

acct_inline void flow_frame_exit(struct acct_cpu *c, struct acct_now *n, const struct acct_ctl *w,
				 __u32 cls, __u32 key)
{
	struct acct_frame f;
	struct acct_call *call;
	__u64 tag;

	n->prev_start = acct_prev_start(w, n->epoch);
	if (!acct_irq_exit(c, n, n->prev_start, key, &f) || !c->slot)
		return;
	call = icall_get(c, n, cls, key, &tag);
	if (call)
		acct_frame_end(call, &f, tag, n->now);
}

/* ---- seeding ---- */

/* A task is found off the CPU in class cls, in the system call `key`, KEY_NO_CALL: in none. */
acct_inline void flow_seed_state(struct acct_state *st, const struct acct_now *n, __u8 cls,
				 __u32 key)
{
	st->since = n->now;
	if (!(st->flags & AS_KTHREAD))
		st->mode = key != KEY_NO_CALL ? AC_SYS : AC_USER;
	if (key != KEY_NO_CALL) {
		st->flags |= AS_CALL | AS_NOBEGIN;
		st->key = key;
		st->begin = n->now;
	}
	st->flags |= AS_RAN;
	st->cls = cls;
}

/*
 * p, whose fresh link l is this context's, is found, maybe running: then its next switch, or who is
 * told to look at that CPU, puts it there. Its slot, for flow_seed_end(); in between, when it is
 * off the CPU, comes flow_seed_state() on l->st.
 */
acct_inline __u32 flow_seed_begin(flow_who p, struct acct_link *l, struct acct_cpu *c,
				  const struct acct_now *n, const bool btf)
{
	l->st.cls = AC_NONE;
	l->st.mode = AC_BUSY;
	l->st.key = KEY_NO_CALL;
	if (who_is_kernel(p, btf)) {
		l->st.flags = AS_KTHREAD;
		l->st.mode = AC_SYS;
	}
	return flow_make(p, c, n, btf);
}

/* cpu: it is there, or was last. */
acct_inline void flow_seed_end(struct acct_link *l, __u32 slot, __u32 cpu, struct acct_cpu *c,
			       const struct acct_now *n)
{
	struct acct_task *t = slot ? task_at(slot) : (struct acct_task *)0;

	if (t) {
		t->st = l->st;
		t->cpu = cpu;
		t->bank[0].cpu = cpu;
		t->bank[1].cpu = cpu;
		acct_task_born(t);
	} else {
		acct_pop_enter(c, n, l->st.cls);
	}
	link_publish(l, slot);
}

#define ABSENT_NS 20000000ULL

/*
 * p runs here, as the chain of switches has it, but nothing has told of it for long: it may have
 * left and come back unseen. When the scheduler has counted much less run time than has passed (its
 * count lags by a tick, and leaves interrupts out), the CPU was idle in between.
 */
acct_inline void flow_absent(flow_who p, struct acct_cpu *c, struct acct_now *n, const bool btf)
{
	__u64 left = c->seated + who_ran(p, n, btf) - c->ran, away = n->now - left;
	struct acct_task *t = flow_task(c->slot, c, n);
	struct acct_task *idle = flow_task(SLOT_IDLE(n->cpu, FLOW_NCPUS), c, n);
	struct acct_now then = *n;

	if (!t || !idle || t->st.cls != AC_BUSY || c->slot < SLOT_FIRST(FLOW_NCPUS))
		return;
	if ((__s64)away < (__s64)ABSENT_NS || away < (n->now - c->seated) / 4)
		return;
	c->unmatched++;
	then.now = acct_before(left, t->st.since) ? t->st.since : left;
	acct_charge(t, c, &then);
	t->st.cls = AC_SLEEP;
	acct_switch_in(idle, c, &then, SLOT_IDLE(n->cpu, FLOW_NCPUS));
	acct_charge(idle, c, n);
	idle->st.cls = AC_NONE;
	acct_switch_in(t, c, n, c->slot);
	flow_seat(c, p, c->slot, t, n, btf);
}

#endif /* FLOW_H */
