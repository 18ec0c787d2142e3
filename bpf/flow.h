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
#ifdef __bpf__
/* used: or clang drops results that nobody reads, and the verifier refuses what is then in r0. */
#define flow_cold static __attribute__((noinline, used))
#else
#define flow_cold static __attribute__((noinline, unused))
#endif

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
/* The published windows. And acct_ctl.moves grows: all tasks are looked at again. */
static __always_inline const struct acct_ctl *windows(void);
static __always_inline void flow_bump(void);

/* What acct_cpu.task holds while p runs: never 0 nor 1. And who that stands for. */
static __always_inline __u64 who_address(flow_who p);
static __always_inline flow_who who_at(__u64 address);
/*
 * What a system call's event shows of the task that makes it: no other living task shows it, and no
 * step is needed to find it. 0: not known.
 */
static __always_inline __u64 who_mark(flow_who p, const bool btf);
/*
 * Remembers which slot p, not an idle task, came onto a CPU with; and finds that record again in a
 * few steps, the idle task's of `cpu` included. It may have become another's, see flow_learn().
 * NULL: not known.
 */
static __always_inline void who_learn(flow_who p, __u32 slot, const bool btf);
static __always_inline struct acct_task *who_recent(flow_who p, __u32 cpu, const bool btf);
/* A CPU's idle task; a thread that is not its process's leader; one that never leaves the kernel.
 */
static __always_inline bool who_is_idle(flow_who p, const bool btf);
static __always_inline bool who_is_thread(flow_who p, const bool btf);
static __always_inline bool who_is_kernel(flow_who p, const bool btf);
/* When it was made, and how long it has run by the scheduler's count; ns. */
static __always_inline __u64 who_born(flow_who p, const bool btf);
static __always_inline __u64 who_ran(flow_who p, const bool btf);
/* How often it has left a CPU by the scheduler's count, as far as that goes. */
static __always_inline __u32 who_switches(flow_who p, const bool btf);
/*
 * When the task that c believes in has left, as far as that can be told, at most now; *cls: for
 * which off-CPU class, AC_NONE when it is dead.
 */
static __always_inline __u64 who_left(const struct acct_cpu *c, const struct acct_task *old,
				      const struct acct_now *n, __u8 *cls);
/* Fills in who p is; `sel` is not its business. */
static __always_inline void who_ident(struct acct_ident *id, flow_who p, const bool btf);

/* Whether tasks are selected at all, by CPU, by user: constants, so that without it nothing is
 * left. */
static __always_inline bool flow_selects(void);
static __always_inline bool flow_selects_cpus(void);
static __always_inline bool flow_selects_users(void);
/* Whether system calls are watched: nothing else tells what a task does on a CPU. */
static __always_inline bool flow_calls_told(void);
/* Whether descendants of a selected task are selected. */
static __always_inline bool flow_follows(void);
/* SEL_DESCENT of a task that was there before the first event, by its ancestors. */
static __always_inline __u32 who_descent(flow_who p, const bool btf);
/* Whether p is accounted one by one, by what it is now; descent: SEL_DESCENT. The CPU aside. */
static __always_inline bool who_selected(flow_who p, __u32 descent, const bool btf);
static __always_inline __u32 who_uid(flow_who p, const bool btf);
/* Its group's id, and when it was put there, as far as that was noted: 0. */
static __always_inline __u64 who_group(flow_who p, const bool btf);
static __always_inline __u64 who_moved(flow_who p, __u64 group, const bool btf);

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
	return l && (l->slot || (l->owner & (OWNER_SURPLUS | OWNER_REST)));
}

/* Which population a task without a slot is in. */
acct_inline struct acct_pop *link_pop(const struct acct_link *l, struct acct_cpu *c)
{
	return flow_selects() && (l->owner & OWNER_REST) ? &c->rest_pop : &c->pop;
}

/*
 * Publishes a link that this context owns: from here on other CPUs may use it. in: its task is
 * selected, so without a slot it is one of the surplus.
 */
acct_inline void link_publish(struct acct_link *l, __u32 slot, bool in)
{
	acct_barrier();
	if (slot)
		l->slot = slot;
	else
		l->owner |= in ? OWNER_SURPLUS : OWNER_REST;
}

/*
 * Whether p is accounted one by one on `cpu`, by what it is now; its link learns what makes it so.
 * One that is selected but for the CPU is the rest's while it is there.
 */
acct_inline bool flow_select(flow_who p, struct acct_link *l, __u32 cpu, const struct acct_now *n,
			     const bool btf)
{
	const struct acct_cpu *c;

	l->moves = n->moves;
	if (!flow_selects())
		return true;
	l->sel &= ~(SEL_AWAY | SEL_OUT);
	if (!who_selected(p, l->sel, btf)) {
		l->sel |= SEL_OUT;
	} else if (flow_selects_cpus()) {
		c = cpu_get(cpu);
		if (c && c->skip)
			l->sel |= SEL_AWAY | SEL_OUT;
	}
	return !(l->sel & SEL_OUT);
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

/* Nobody watches the calls of the rest: what a task of it does on a CPU is not known. */
acct_inline void flow_forget_mode(struct acct_state *st)
{
	acct_split_clear(st);
	st->flags &= AS_KTHREAD | AS_RAN | AS_EXITING;
	st->mode = st->flags & (AS_KTHREAD | AS_EXITING) ? AC_SYS : AC_BUSY;
	st->flags |= AS_UNWATCHED;
	if (acct_on_cpu(st))
		st->cls = st->mode;
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
	struct acct_link *l;
	struct acct_task *t;
	__u32 slot;
	bool in;

	l = link_make(p, n->cpu + 1, btf);
	/* somebody else is just filling it in */
	if (!l || link_usable(l) || l->owner != n->cpu + 1)
		return 0;
	if (who_is_kernel(p, btf))
		l->st.flags = AS_KTHREAD;
	flow_unknown_state(&l->st, who_born(p, btf), n);
	l->sel = who_descent(p, btf);
	in = flow_select(p, l, n->cpu, n, btf);
	if (!in)
		flow_forget_mode(&l->st);
	slot = in ? flow_make(p, c, n, btf) : 0;
	t = slot ? task_at(slot) : (struct acct_task *)0;
	if (t) {
		t->st = l->st;
		t->id.sel = l->sel & SEL_DESCENT;
		acct_task_born(t);
	} else {
		acct_pop_enter_at(in ? &c->pop : &c->rest_pop, n->epoch, l->st.since, AC_SLEEP);
	}
	link_publish(l, slot, in);
	return 0;
}

/* ---- onto a CPU and off it ---- */

/* A task without a slot comes onto the CPU: its state is put into the CPU's record of them. */
acct_cold int flow_surplus_arrive(struct acct_task *t, struct acct_link *l, struct acct_cpu *c,
				  const struct acct_now *n)
{
	if (!t || !c || !n)
		return 0;
	if (link_usable(l)) {
		acct_pop_leave(link_pop(l, c), n, l->st.cls);
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
 * What acct_cpu.mark is while the running task, on record `slot`, shows that one: another one where
 * its system calls' events have to look at more than their record.
 */
acct_inline __u64 flow_mark(__u64 mark, __u32 slot, __u32 cpu)
{
	if (flow_selects() && slot == SLOT_REST(cpu, FLOW_NCPUS))
		return mark + MARK_REST;
	return flow_selects_users() ? mark + MARK_USER : mark;
}

/* p, whose record is t, runs on c from then on. */
acct_inline void flow_seated(struct acct_cpu *c, flow_who p, const struct acct_task *t, __u64 now,
			     const bool btf)
{
	c->gen = t->tag >> 32;
	c->seated = now;
	c->ran = who_ran(p, btf);
	if (acct_unlikely(t->st.mode == AC_BUSY))
		c->switches = who_switches(p, btf); /* see flow_absent() */
}

acct_inline void flow_seat(struct acct_cpu *c, flow_who p, __u32 slot, struct acct_task *t,
			   const struct acct_now *n, const bool btf)
{
	c->task = who_address(p);
	c->slot = slot;
	c->mark = flow_mark(who_mark(p, btf), slot, n->cpu);
	flow_seated(c, p, t, n->now, btf);
	c->moves = n->moves;
	if (flow_selects_users())
		c->uid = who_uid(p, btf);
}

/* True when slot is a record of the CPU for tasks that have none of their own. */
acct_inline bool flow_shared(__u32 slot, __u32 cpu)
{
	return slot == SLOT_OTHER(cpu, FLOW_NCPUS) ||
	       (flow_selects() && slot == SLOT_REST(cpu, FLOW_NCPUS));
}

/* ---- another group, or selected now and not before ---- */

/* t's account ends at n, while the task goes on: what is known of it goes to its link. */
acct_inline void flow_close(struct acct_task *t, struct acct_link *l, const struct acct_now *n)
{
	l->exec = t->id.exec;
	l->lead_exec = t->id.lead_exec;
	l->start = t->id.start;
	l->leader_start = t->id.leader_start;
	t->id.end = n->now;
	t->id.sel |= SEL_LEFT | (__u32)t->st.cls << SEL_CLS_SHIFT;
	t->st.flags &= ~(AS_CALL | AS_NOBEGIN);
}

/*
 * The task of l is charged up to n, and its state goes to l: from record t, its own or the one of
 * its CPU, or without one from the population.
 */
acct_cold int flow_stop(struct acct_task *t, struct acct_link *l, struct acct_cpu *c,
			const struct acct_now *n)
{
	if (!l || !c || !n)
		return 0;
	if (!t) {
		acct_pop_leave(link_pop(l, c), n, l->st.cls);
		acct_surplus_charge(&l->st, n->now);
		/* Where it was is not known: no move from there is one. */
		l->st.flags &= ~AS_RAN;
		return 0;
	}
	acct_charge(t, c, n);
	l->st = t->st;
	if (l->slot) {
		flow_close(t, l, n);
	} else {
		t->st.cls = AC_NONE;
		t->st.flags = AS_RAN;
	}
	return 0;
}

/* The new account t of the task of l goes on at n where the last one ended. */
acct_cold int flow_reopen(struct acct_task *t, const struct acct_link *l, const struct acct_now *n,
			  __u32 cpu)
{
	if (!t || !l || !n)
		return 0;
	t->st = l->st;
	t->cpu = cpu;
	t->bank[0].cpu = cpu;
	t->bank[1].cpu = cpu;
	t->id.exec = l->exec;
	t->id.lead_exec = l->lead_exec;
	if (l->start) {
		t->id.start = l->start;
		t->id.leader_start = l->leader_start;
	}
	t->id.from = n->now;
	t->id.sel = (l->sel & SEL_DESCENT) | SEL_CAME;
	acct_task_born(t);
	return 0;
}

/* When it became what it is, as far as that was noted: within its current slice. */
acct_inline __u64 flow_when(__u64 noted, __u64 since, const struct acct_now *n)
{
	if (!noted || acct_before(n->now, noted))
		return n->now;
	if (acct_before(noted, n->start))
		noted = n->start;
	return acct_before(noted, since) ? since : noted;
}

/*
 * Makes *then, the time of an event, the moment of a change that was noted, for the record t, or
 * none. A move that came before the window's start is split in the window before, which may not
 * have been read yet; otherwise the reader has seen to that.
 */
acct_cold int flow_change_time(struct acct_now *then, __u64 noted, struct acct_task *t,
			       const struct acct_link *l, struct acct_cpu *c)
{
	__u64 before;

	if (!then || !l || !c)
		return 0;
	before = acct_prev_start(windows(), then->epoch);
	if (t && l->slot && !(l->sel & SEL_OUT) && noted && acct_is_old(t, then) &&
	    acct_before(noted, then->start) && !acct_before(noted, before)) {
		then->epoch--;
		then->start = before;
		flow_roll(t, c, then);
		then->now = acct_before(noted, t->st.since) ? t->st.since : noted;
		return 0;
	}
	if (t)
		flow_roll(t, c, then);
	then->now = flow_when(noted, t ? t->st.since : l->st.since, then);
	return 0;
}

/* p, which runs on c, goes on there with record slot, or with the CPU's for those that have none.
 */
acct_inline void flow_reseat(flow_who p, struct acct_link *l, __u32 slot, struct acct_cpu *c,
			     struct acct_now *n, bool in, const bool btf)
{
	struct acct_task *t;

	if (slot) {
		t = task_at(slot);
	} else {
		slot = in ? SLOT_OTHER(n->cpu, FLOW_NCPUS) : SLOT_REST(n->cpu, FLOW_NCPUS);
		t = flow_task(slot, c, n);
		if (t)
			t->st = l->st;
		l->st.cls = AC_NONE;
	}
	if (t)
		flow_seat(c, p, slot, t, n, btf);
}

/* The same as flow_make(), not within a function that needs its stack for more. */
flow_cold __u32 flow_make_apart(flow_who p, struct acct_cpu *c, const struct acct_now *n,
				const bool btf)
{
	return flow_make(p, c, n, btf);
}

/*
 * p's account ends at `noted`, or now, and another begins: with a slot when it is selected by now.
 * p, whose link is there, is off the CPU, or it runs on c.
 */
flow_cold int flow_recount(flow_who p, struct acct_cpu *c, struct acct_now *n, __u64 noted,
			   const bool btf)
{
	struct acct_link *l = link_find(p, btf);
	bool running = c->task == who_address(p), was_rest, in;
	struct acct_task *t, *old = (struct acct_task *)0;
	__u64 now = n->now, start = n->start;
	__u32 slot, was, cpu = n->cpu, epoch = n->epoch;

	if (!l)
		return 0;
	was = l->slot;
	t = task_at(running ? c->slot : was);
	was_rest = l->owner & OWNER_REST;
	in = !(l->sel & SEL_OUT);
	if (!running && !l->slot)
		t = (struct acct_task *)0;
	flow_change_time(n, noted, t, l, c);
	if (t) {
		cpu = t->cpu;
		if (l->slot)
			old = t;
	}
	flow_stop(t, l, c, n);
	if (!in || was_rest)
		flow_forget_mode(&l->st);
	slot = in ? flow_make_apart(p, c, n, btf) : 0;
	t = slot ? task_at(slot) : (struct acct_task *)0;
	if (t)
		flow_reopen(t, l, n, cpu);
	l->slot = slot;
	l->old_comm[0] = 0; /* the new one begins with its name */
	l->owner &= ~(OWNER_SURPLUS | OWNER_REST);
	link_publish(l, slot, in);
	if (!running && !slot)
		acct_pop_enter(link_pop(l, c), n, l->st.cls);
	n->now = now;
	n->start = start;
	n->epoch = epoch;
	if (t)
		flow_roll(t, c, n);
	if (running)
		flow_reseat(p, l, slot, c, n, in, btf);
	if (old) { /* interrupts have charged it until now */
		acct_dead(old);
		c->exited++;
		slot_ended(c, was);
	}
	return 0;
}

#define FLOW_SETTLED (~0ULL)

/*
 * Something has changed since p's group and selection were looked at: looks again. FLOW_SETTLED:
 * its account fits. Else since when it does not, by what was noted of the change; 0: nothing was.
 */
flow_cold __u64 flow_look(flow_who p, struct acct_cpu *c, struct acct_now *n, const bool btf)
{
	struct acct_link *l = link_find(p, btf);
	bool running = c->task == who_address(p), in;
	__u64 group, noted = 0;
	struct acct_task *t;
	__u32 cpu;

	if (!link_usable(l))
		return FLOW_SETTLED;
	t = l->slot ? task_at(l->slot) : (struct acct_task *)0;
	/* The chain of switches has it on another CPU still: that one settles it. */
	if (!running && (t ? acct_on_cpu(&t->st) : l->st.cls == AC_NONE))
		return FLOW_SETTLED;
	group = who_group(p, btf);
	cpu = n->cpu;
	if (t && !running) {
		acct_opaque(t); /* or the compiler chooses between the addresses, t's unchecked */
		cpu = t->cpu;
	}
	in = flow_select(p, l, cpu, n, btf);
	if (running)
		c->moves = n->moves;
	if (t && flow_selects_users())
		t->id.uid = who_uid(p, btf);
	if (in == !(l->owner & OWNER_REST) && (!t || t->id.cgroup == group))
		return FLOW_SETTLED;
	noted = who_moved(p, group, btf);
	if (!noted || acct_before(noted, l->changed))
		noted = l->changed;
	return noted;
}

/*
 * Looks again, and ends p's account where it does not fit any more. p is off the CPU, or it runs on
 * c. One after the other, not one within the other: of the stack, a chain of calls has 512 bytes.
 */
flow_cold int flow_settle(flow_who p, struct acct_cpu *c, struct acct_now *n, const bool btf)
{
	__u64 noted = flow_look(p, c, n, btf);

	return noted == FLOW_SETTLED ? 0 : flow_recount(p, c, n, noted, btf);
}

/* The same of the task that runs on c, when anything has changed since it was looked at. */
acct_inline void flow_settle_current(flow_who p, struct acct_cpu *c, struct acct_now *n,
				     const bool btf)
{
	if (acct_likely(c->moves == n->moves))
		return;
	c->moves = n->moves;
	if (!who_is_idle(p, btf))
		flow_settle(p, c, n, btf);
}

/*
 * p's name or user is another one, which it is selected by: looks at that at its next event. p need
 * not be who runs on c.
 */
acct_inline void flow_unsettle(flow_who p, struct acct_link *l, struct acct_cpu *c,
			       const struct acct_now *n)
{
	l->moves = n->moves - 1;
	if (c->task == who_address(p))
		c->moves = n->moves - 1;
	else /* it may run elsewhere */
		flow_bump();
}

/* p comes to a CPU: whether that is one that is selected may change what is accounted of it. */
acct_inline void flow_settle_arrival(flow_who p, struct acct_link *l, struct acct_cpu *c,
				     struct acct_now *n, const bool btf)
{
	if (acct_unlikely(l->moves != n->moves))
		flow_settle(p, c, n, btf);
	if (!flow_selects_cpus())
		return;
	if (c->skip ? l->slot || (l->owner & OWNER_SURPLUS) : l->sel & SEL_AWAY) {
		struct acct_task *t = l->slot ? task_at(l->slot) : (struct acct_task *)0;

		if (t && acct_on_cpu(&t->st)) /* missed its leaving another CPU */
			return;
		l->sel ^= SEL_AWAY | SEL_OUT;
		flow_recount(p, c, n, 0, btf);
	}
}

/* ---- onto a CPU and off it, again ---- */

/*
 * The record that p uses on the CPU of n, in n's window: its own, the CPU's idle task's, or for a
 * task without a slot the CPU's record of those, with p's state put into it. settle: its group and
 * selection are looked at before.
 */
acct_inline struct acct_task *flow_arrive(flow_who p, struct acct_cpu *c, struct acct_now *n,
					  __u32 *slot, const bool settle, const bool btf)
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
	if (link_usable(l)) {
		if (settle)
			flow_settle_arrival(p, l, c, n, btf);
		if (l->slot) {
			*slot = l->slot;
			return flow_task(*slot, c, n);
		}
	}
	*slot = SLOT_OTHER(n->cpu, FLOW_NCPUS);
	if (flow_selects() && l && (l->owner & OWNER_REST))
		*slot = SLOT_REST(n->cpu, FLOW_NCPUS);
	t = flow_task(*slot, c, n);
	if (t)
		flow_surplus_arrive(t, l, c, n);
	return t;
}

/* A task without a slot has left the CPU for cls: its state goes back to its link, its time to the
 * population. */
flow_cold int flow_surplus_leave(flow_who p, struct acct_task *t, struct acct_cpu *c,
				 const struct acct_now *n, const bool btf)
{
	struct acct_link *l = link_find(p, btf);

	/* One that was given a slot while it ran has its own account, and is no surplus any more.
	 */
	if (link_usable(l) && !l->slot) {
		l->st = t->st;
		acct_pop_enter(link_pop(l, c), n, t->st.cls);
	}
	t->st.cls = AC_NONE;
	t->st.flags = 0;
	t->id.end = 0;
	return 0;
}

/*
 * Nobody knows who runs on c, CPU `cpu`, since then: it is busy time of the CPU's surplus task.
 * Where tasks are selected it is the rest's: nothing tells that it was one of those.
 */
acct_inline void flow_nobody(struct acct_cpu *c, __u32 cpu, __u64 since)
{
	__u32 o = flow_selects() ? SLOT_REST(cpu, FLOW_NCPUS) : SLOT_OTHER(cpu, FLOW_NCPUS);
	struct acct_task *other = task_at(o);

	if (!other)
		return;
	other->st.since = since;
	other->st.mode = AC_BUSY;
	other->st.cls = AC_BUSY;
	other->st.flags = AS_RAN;
	c->mark = 0;
	c->task = TASK_NOBODY; /* the next event there finds a mismatch */
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
	__u8 cls = AC_NONE;
	__u32 slot, was, ended = 0;
	__u64 now = n->now; /* n is put back: the stack has no room for another one */

	was = c->slot;
	old = c->task ? flow_task(was, c, n) : (struct acct_task *)0;
	if (old && flow_shared(was, n->cpu)) {
		/* p may be such a task too, whose state is put in the place of this one's. */
		acct_charge(old, c, n);
		old->st.cls = AC_NONE;
	}

	t = flow_arrive(p, c, n, &slot, false, btf);
	if (!t)
		return 0;
	if (acct_on_cpu(&t->st) && slot != was)
		flow_evict(t, slot);
	c->unmatched += old != (struct acct_task *)0;
	/* Another CPU may just have taken it, flow_evict(): then it is charged there. */
	if (old && slot != was && old->cpu == n->cpu) {
		if (was >= SLOT_FIRST(FLOW_NCPUS))
			n->now = who_left(c, old, n, &cls);
		if (acct_before(n->now, old->st.since))
			n->now = old->st.since;
		if (acct_before(n->now, t->st.since))
			n->now = t->st.since;
		acct_charge(old, c, n);
		if (cls == AC_NONE && was >= SLOT_FIRST(FLOW_NCPUS)) {
			acct_last(old, c, n);
			c->exited++;
			ended = was;
			link_drop(who_at(c->task), btf);
		} else {
			old->st.cls = cls;
		}
	}
	acct_switch_in(t, c, n, slot);
	flow_seat(c, p, slot, t, n, btf);
	n->now = now;
	/* Not before: an interrupt counts for whoever is seated. */
	if (ended)
		slot_ended(c, ended);
	c->moves = n->moves - 1; /* whether it is selected here is looked at next */
	return 0;
}

/*
 * The CPU of n was not online for all of its window. gone: it is not any more, as another one tells
 * (from an offline CPU there are no events, see TP_CONDITION of include/linux/tracepoint.h).
 * Whoever was the last to run there is taken off when it has left, and nobody is charged until the
 * first event after the CPU's return. Nobody else writes to its records meanwhile.
 */
acct_inline void flow_cpu_partial(struct acct_cpu *c, struct acct_now *n, bool gone)
{
	struct acct_now then = *n;
	struct acct_task *t;
	__u8 cls = AC_NONE;

	c->partial[n->epoch & 1] = n->epoch;
	if (!gone)
		return;
	t = c->task ? flow_task(c->slot, c, n) : (struct acct_task *)0;
	if (t && t->cpu == n->cpu && acct_on_cpu(&t->st)) {
		if (c->slot >= SLOT_FIRST(FLOW_NCPUS)) {
			then.now = who_left(c, t, n, &cls);
			if (cls == AC_NONE)
				cls = AC_WAIT;
		}
		if (acct_before(then.now, t->st.since))
			then.now = t->st.since;
		acct_charge(t, c, &then);
		t->st.cls = cls;
	}
	c->mark = 0;
	c->task = 0;
	c->slot = 0;
	c->depth = 0;
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
	flow_settle_current(p, c, n, btf);
	return c->task == who_address(p) ? flow_task(c->slot, c, n) : (struct acct_task *)0;
}

/*
 * t is the record of who runs on c, who makes a system call. True: nothing has changed since an
 * event last looked, so t is in the window of this event: one that is in the last published window
 * already has had an event past its start. To be asked after the clock was read, as acct_time() is.
 */
acct_inline bool flow_current_still(const struct acct_cpu *c, const struct acct_task *t)
{
	const struct acct_ctl *w = windows();

	return acct_likely((__u32)t->tag == acct_epoch(w) &&
			   c->moves == *(const volatile __u32 *)&w->moves);
}

/*
 * The record of p, which makes a system call on c and shows that mark; n has only `now` and `cpu`
 * yet. NULL: accounting is off, the chain of switches has not told who runs here, or p is not
 * selected.
 */
acct_inline struct acct_task *flow_caller(flow_who p, struct acct_cpu *c, struct acct_now *n,
					  __u64 mark, const bool btf)
{
	struct acct_task *t;

	acct_time(n, windows(), n->now);
	if (!n->epoch)
		return (struct acct_task *)0;
	t = flow_current(p, c, n, btf);
	if (!t)
		return t;
	c->mark = flow_mark(mark, c->slot, n->cpu);
	return c->mark == mark + MARK_REST ? (struct acct_task *)0 : t;
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
	if (acct_unlikely(flow_shared(c->slot, n->cpu)))
		flow_surplus_leave(prev, t, c, n, btf);
	if (acct_unlikely(cls == AC_NONE)) {
		if (!flow_shared(c->slot, n->cpu)) /* the others have no record to be taken in */
			c->exited++;
		else if (flow_selects() && c->slot == SLOT_REST(n->cpu, FLOW_NCPUS))
			c->rest_exited++;
		link_drop(prev, btf);
		if (c->slot >= SLOT_FIRST(FLOW_NCPUS))
			slot_ended(c, c->slot);
	}
}

/*
 * From here on p, which comes onto a CPU, and its record t, which is in `slot`, are known to belong
 * together by a look at t, until that ends (acct_dead()).
 */
acct_inline void flow_learn(struct acct_task *t, flow_who p, __u32 slot, const struct acct_now *n,
			    const bool btf)
{
	t->task = who_address(p);
	t->slot = slot;
	t->moves = n->moves;
	if (!who_is_idle(p, btf))
		who_learn(p, slot, btf);
}

/* After flow_leave(): next gets the CPU of n. */
acct_inline void flow_enter(flow_who next, struct acct_cpu *c, struct acct_now *n, const bool btf)
{
	struct acct_task *t;
	__u32 slot;

	t = flow_arrive(next, c, n, &slot, true, btf);
	if (!t) {
		c->mark = 0;
		c->task = 0;
		c->slot = 0;
		return;
	}
	if (acct_unlikely(acct_on_cpu(&t->st))) {
		c->unmatched++;
		flow_evict(t, slot);
		n->moves--; /* its group and selection were not looked at, see flow_settle() */
	}
	acct_switch_in(t, c, n, slot);
	flow_seat(c, next, slot, t, n, btf);
	if (!flow_shared(slot, n->cpu))
		flow_learn(t, next, slot, n, btf);
	/* No frame outlives a switch: exits that were lost end here. */
	c->depth = 0;
}

/*
 * Nearly every switch is one of two tasks that are known by their records, see flow_learn(), in a
 * window that they have been in: a few steps. False: it is not, and nothing was changed. To be
 * asked after the clock was read, see flow_current_still().
 */
acct_inline bool flow_switch_quick(flow_who prev, struct acct_task *t, __u8 cls, flow_who next,
				   struct acct_task *nt, struct acct_cpu *c, __u64 now,
				   const bool btf)
{
	if (acct_unlikely(t->task != who_address(prev) || nt->task != who_address(next) ||
			  nt->moves != c->moves || (__u32)nt->tag != (__u32)t->tag ||
			  !flow_current_still(c, t)))
		return false;
	if (who_is_idle(prev, btf))
		cls = AC_NONE;
	else if (acct_unlikely(cls == AC_NONE))
		return false;
	if (!acct_switch_quick(t, nt, c, now, cls))
		return false;
	c->task = who_address(next);
	c->slot = nt->slot;
	c->mark = who_mark(next, btf);
	flow_seated(c, next, nt, now, btf);
	if (flow_selects_users()) {
		c->mark += MARK_USER;
		c->uid = who_uid(next, btf);
	}
	c->depth = 0;
	return true;
}

/* The same where the records are not at hand. */
acct_inline bool flow_switch_known(flow_who prev, __u8 cls, flow_who next, struct acct_cpu *c,
				   const struct acct_now *n, const bool btf)
{
	struct acct_task *t = task_at(c->slot), *nt = who_recent(next, n->cpu, btf);

	return t && nt && flow_switch_quick(prev, t, cls, next, nt, c, n->now, btf);
}

/* Whether the task of l is off the CPU, and not for want of one: then only events like a wakeup
 * touch its record. */
acct_inline bool flow_asleep(const struct acct_link *l)
{
	const struct acct_task *t = l->slot ? task_at(l->slot) : (struct acct_task *)0;
	__u8 cls = t ? t->st.cls : l->st.cls;

	return cls >= AC_SLEEP && cls <= AC_STOPPED;
}

/* p, whose link is l, becomes runnable; on the way it may have been seen on the CPU still. */
acct_inline void flow_wakeup(flow_who p, struct acct_link *l, struct acct_cpu *c,
			     struct acct_now *n, const bool btf)
{
	struct acct_task *t;

	if (acct_unlikely(l->moves != n->moves) && flow_asleep(l))
		flow_settle(p, c, n, btf);
	if (acct_unlikely(!l->slot)) {
		if (l->st.cls >= AC_SLEEP && l->st.cls <= AC_STOPPED) {
			acct_pop_leave(link_pop(l, c), n, l->st.cls);
			acct_surplus_charge(&l->st, n->now);
			l->st.cls = AC_WAIT;
			acct_pop_enter(link_pop(l, c), n, AC_WAIT);
		}
		return;
	}
	t = task_at(l->slot);
	if (t && t->st.cls >= AC_SLEEP && t->st.cls <= AC_STOPPED) {
		flow_roll(t, c, n);
		acct_wakeup(t, n);
	}
}

/* The same of a task that is known, see flow_switch_quick(). */
acct_inline bool flow_wakeup_quick(flow_who p, __u64 now, __u32 cpu, const bool btf)
{
	struct acct_task *t = who_recent(p, cpu, btf);
	const struct acct_ctl *w = windows();

	return t &&
	       acct_likely(t->task == who_address(p) && (__u32)t->tag == acct_epoch(w) &&
			   t->moves == *(const volatile __u32 *)&w->moves) &&
	       acct_wakeup_quick(t, now);
}

/* p, whose link is l, is off the CPU and put on `cpu`. */
acct_inline void flow_migrate(flow_who p, struct acct_link *l, __u32 cpu, struct acct_cpu *c,
			      struct acct_now *n, const bool btf)
{
	struct acct_task *t;

	if (acct_unlikely(l->moves != n->moves) && flow_asleep(l))
		flow_settle(p, c, n, btf);
	t = flow_task(l->slot, c, n);
	if (t && !acct_on_cpu(&t->st))
		acct_move(t, c, n, l->slot, cpu);
}

/* ---- the life of a task ---- */

/*
 * Who a child is by its parent, which has record t or none: generations of images (a thread starts
 * anew, and knows its leader's, whose tid it may take over), and the start of its process.
 */
acct_inline void flow_kin(struct acct_link *l, const struct acct_link *parent,
			  const struct acct_task *t, bool thread, __u64 now)
{
	bool own = t && parent->slot;

	l->start = now;
	l->leader_start = now;
	if (!thread)
		return;
	l->lead_exec = own ? t->id.lead_exec : parent->lead_exec;
	l->leader_start = own ? t->id.leader_start : parent->leader_start;
}

/* SEL_DESCENT of a child. */
acct_inline __u32 flow_descent(const struct acct_link *parent)
{
	__u32 sel = parent->sel & (SEL_IN | SEL_FOLLOWED);

	/* The parent is selected, if for its CPU or not. */
	if (flow_follows() && (!(parent->owner & OWNER_REST) || (parent->sel & SEL_AWAY)))
		sel |= SEL_FOLLOWED;
	return sel;
}

acct_inline void flow_fork(flow_who from, flow_who child, struct acct_cpu *c, struct acct_now *n,
			   const bool btf)
{
	struct acct_task *t, *parent;
	struct acct_link *l, *kin;
	__u32 slot, owner;
	bool in;

	/* Before the child has a link: one that stays unfilled keeps others from filling it in. */
	parent = flow_current(from, c, n, btf);
	if (!parent)
		return;
	kin = link_find(from, btf);
	owner = n->cpu + 1;
	l = link_make(child, owner, btf);
	if (!l || l->owner != owner || link_usable(l))
		return;
	if (kin)
		l->sel = flow_descent(kin);
	in = flow_select(child, l, n->cpu, n, btf);
	slot = in ? flow_make(child, c, n, btf) : 0;
	t = slot ? task_at(slot) : (struct acct_task *)0;
	acct_fork(&l->st, &parent->st, n->now, who_is_kernel(child, btf));
	if (!in)
		flow_forget_mode(&l->st);
	if (t) {
		t->st = l->st;
		if (kin)
			flow_kin(l, kin, parent, t->id.tid != t->id.tgid, n->now);
		t->id.start = n->now;
		t->id.lead_exec = l->lead_exec;
		if (t->id.tid == t->id.tgid || l->leader_start)
			t->id.leader_start = l->leader_start ? l->leader_start : n->now;
		t->id.sel = l->sel & SEL_DESCENT;
		acct_task_born(t);
	} else {
		if (kin)
			flow_kin(l, kin, parent, who_is_thread(child, btf), n->now);
		acct_pop_enter(in ? &c->pop : &c->rest_pop, n, AC_WAIT);
	}
	link_publish(l, slot, in);
}

/* p execs, and is the rest's: before, from here on, or both. */
flow_cold int flow_exec_select(flow_who p, __u32 old_tid, struct acct_cpu *c, struct acct_now *n,
			       const bool btf)
{
	struct acct_link *l = link_find(p, btf);
	struct acct_task *t;

	if (!l)
		return 0;
	t = l->slot ? task_at(l->slot) : (struct acct_task *)0;
	if (!(l->sel & SEL_OUT) != !(l->owner & OWNER_REST))
		flow_recount(p, c, n, 0, btf);
	if (t) /* that image has ended for good */
		t->id.sel &= ~SEL_LEFT;
	t = l->slot ? task_at(l->slot) : (struct acct_task *)0;
	if (!t) {
		l->exec++;
		l->lead_exec = l->exec;
		l->start = n->now;
		return 0;
	}
	t->id.exec = (old_tid != t->id.tid ? t->id.lead_exec : t->id.exec) + 1;
	t->id.lead_exec = t->id.exec;
	t->id.start = n->now;
	t->id.sel &= ~SEL_CAME;
	/* within execve(), whose begin was not watched */
	t->st.mode = flow_calls_told() ? AC_SYS : AC_BUSY;
	t->st.cls = t->st.mode;
	return 0;
}

/* old_tid: the one that p had before, when it was not its leader. */
acct_inline void flow_exec(flow_who p, __u32 old_tid, struct acct_cpu *c, struct acct_now *n,
			   const bool btf)
{
	struct acct_task *t, *nt;
	struct acct_link *l;
	__u32 slot, old;
	bool in;

	if (acct_unlikely(c->task != who_address(p)))
		flow_resync(p, c, n, btf);
	/* What was to be settled is settled here: its new name came before this event. */
	c->moves = n->moves;
	t = c->task == who_address(p) ? flow_task(c->slot, c, n) : (struct acct_task *)0;
	l = link_find(p, btf);
	if (!t || !link_usable(l))
		return;
	if (l->sel & SEL_ARMED)
		l->sel = (l->sel & ~SEL_ARMED) | SEL_IN;
	/*
	 * Its new name came before this event, within the same call. An account that begins with
	 * that name has no other.
	 */
	if (l->slot && l->changed && l->old_comm[0] && acct_before(t->st.begin, l->changed))
		__builtin_memcpy(t->id.comm, l->old_comm, ACCT_COMM_LEN);
	in = flow_select(p, l, n->cpu, n, btf);
	if (flow_selects() && (!in || (l->owner & OWNER_REST))) {
		flow_exec_select(p, old_tid, c, n, btf);
		return;
	}
	if (!l->slot)
		return; /* a surplus task's images are not told apart */
	slot = flow_make(p, c, n, btf);
	nt = slot ? task_at(slot) : (struct acct_task *)0;
	if (!nt)
		return; /* goes on under its old name; counted */
	acct_exec(t, nt, c, n);
	nt->id.exec = (old_tid != nt->id.tid ? t->id.lead_exec : t->id.exec) + 1;
	nt->id.lead_exec = nt->id.exec;
	nt->id.start = n->now;
	nt->id.sel = l->sel & SEL_DESCENT;
	nt->id.leader_start = t->id.leader_start;
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
		acct_pop_leave(link_pop(l, c), n, l->st.cls);
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

/* The task of l gets another name: keeps the old one, and returns where the new one goes, if
 * anywhere. */
acct_inline char *flow_rename(struct acct_link *l, const struct acct_now *n)
{
	struct acct_task *t = l->slot ? task_at(l->slot) : (struct acct_task *)0;

	l->changed = n->now;
	l->old_comm[0] = 0;
	if (!t)
		return (char *)0;
	__builtin_memcpy(l->old_comm, t->id.comm, ACCT_COMM_LEN);
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
	if (!flow_calls_told()) /* nor will anything tell when the call is over */
		flow_forget_mode(st);
}

/*
 * p, whose fresh link l is this context's, is found on `cpu` (or was there last), maybe running:
 * then its next switch, or who is told to look at that CPU, puts it there. *in: it is selected. Its
 * slot, for flow_seed_end(); in between, when it is off the CPU, comes flow_seed_state() on l->st.
 */
acct_inline __u32 flow_seed_begin(flow_who p, struct acct_link *l, __u32 cpu, struct acct_cpu *c,
				  const struct acct_now *n, bool *in, const bool btf)
{
	l->sel = who_descent(p, btf);
	*in = flow_select(p, l, cpu, n, btf);
	l->st.cls = AC_NONE;
	l->st.mode = AC_BUSY;
	l->st.key = KEY_NO_CALL;
	if (who_is_kernel(p, btf)) {
		l->st.flags = AS_KTHREAD;
		l->st.mode = AC_SYS;
	}
	return *in ? flow_make(p, c, n, btf) : 0;
}

/* slot, cpu, in: as flow_seed_begin() has taken and given them. */
acct_inline void flow_seed_end(struct acct_link *l, __u32 slot, __u32 cpu, bool in,
			       struct acct_cpu *c, const struct acct_now *n)
{
	struct acct_task *t = slot ? task_at(slot) : (struct acct_task *)0;

	if (t) {
		t->st = l->st;
		t->id.sel = l->sel & SEL_DESCENT;
		t->cpu = cpu;
		t->bank[0].cpu = cpu;
		t->bank[1].cpu = cpu;
		acct_task_born(t);
	} else {
		if (!in)
			flow_forget_mode(&l->st);
		acct_pop_enter(in ? &c->pop : &c->rest_pop, n, l->st.cls);
	}
	link_publish(l, slot, in);
}

#define ABSENT_NS 20000000ULL

/*
 * p runs here, as the chain of switches has it, but nothing has told of it for long. When it has
 * left a CPU since, it did that and came back unseen; and when the scheduler has counted much less
 * run time than has passed (its count lags by a tick, and leaves interrupts out), the CPU was idle
 * in between. The count of time alone would not do: what a hypervisor takes is not in it.
 */
acct_inline void flow_absent(flow_who p, struct acct_cpu *c, struct acct_now *n, const bool btf)
{
	__u64 left = c->seated + who_ran(p, btf) - c->ran, away = n->now - left;
	struct acct_task *t = flow_task(c->slot, c, n);
	struct acct_task *idle = flow_task(SLOT_IDLE(n->cpu, FLOW_NCPUS), c, n);
	__u64 now = n->now;

	if (!t || !idle || t->st.cls != AC_BUSY || c->slot < SLOT_FIRST(FLOW_NCPUS))
		return;
	if (c->switches == who_switches(p, btf))
		return;
	if ((__s64)away < (__s64)ABSENT_NS || away < (n->now - c->seated) / 4)
		return;
	c->unmatched++;
	n->now = acct_before(left, t->st.since) ? t->st.since : left;
	acct_charge(t, c, n);
	t->st.cls = AC_SLEEP;
	acct_switch_in(idle, c, n, SLOT_IDLE(n->cpu, FLOW_NCPUS));
	n->now = now;
	acct_charge(idle, c, n);
	idle->st.cls = AC_NONE;
	acct_switch_in(t, c, n, c->slot);
	flow_seat(c, p, c->slot, t, n, btf);
}

#endif /* FLOW_H */
