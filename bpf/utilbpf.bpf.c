// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs: one per tracepoint, in two flavours. tp_btf is the usual one; raw_tp serves kernels
 * without BTF for it, program by program. Each stamps the event, finds the records that it is about
 * and calls acct.h, which knows everything about time. What the loader does not ask for is not
 * loaded.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "acct.h"
#include "compat.bpf.h"
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PROGRAM(tp)                                                                                \
	SEC("?tp_btf/" #tp)                                                                        \
	int btf_##tp(__u64 *ctx)                                                                   \
	{                                                                                          \
		return on_##tp(ctx, true);                                                         \
	}                                                                                          \
	SEC("?raw_tp/" #tp)                                                                        \
	int raw_##tp(__u64 *ctx)                                                                   \
	{                                                                                          \
		return on_##tp(ctx, false);                                                        \
	}

/* ---- what every program begins with ---- */

/* The time of the event and the record of the CPU that it happens on. False: nothing to do. */
static __always_inline bool event(struct acct_now *n, struct acct_cpu **c)
{
	__u32 e = acct_epoch(&ctl);

	if (!e) /* off is off before the clock is read */
		return false;
	/* The clock first: reading it waits for all that was begun before it, and nothing after it.
	 */
	acct_time(n, &ctl, e, bpf_ktime_get_ns());
	n->cpu = bpf_get_smp_processor_id();
	*c = cpu_get(n->cpu);
	return *c;
}

static __always_inline void roll(struct acct_task *t, struct acct_cpu *c, struct acct_now *n)
{
	if (acct_unlikely(acct_is_old(t, n))) {
		n->prev_start = acct_prev_start(&ctl, n->epoch);
		acct_roll(t, c, n);
	}
}

/* The record of slot, in the event's window. NULL: no such record. */
static __always_inline struct acct_task *task_now(__u32 slot, struct acct_cpu *c,
						  struct acct_now *n)
{
	struct acct_task *t = slot ? task_at(slot) : NULL;

	if (t)
		roll(t, c, n);
	return t;
}

/* ---- a new record ---- */

static __always_inline void copy_comm(char *to, struct task_struct *p, const bool btf)
{
	if (!btf) {
		BPF_CORE_READ_STR_INTO((char(*)[ACCT_COMM_LEN])to, p, comm);
		return;
	}
	for (int i = 0; i < ACCT_COMM_LEN; i++)
		to[i] = p->comm[i];
}

static __always_inline void ident(struct acct_ident *id, struct task_struct *p, const bool btf)
{
	id->tid = GET(btf, p, pid);
	id->tgid = GET(btf, p, tgid);
	id->start = GET(btf, p, start_time);
	if (btf) {
		id->leader_start = p->group_leader->start_time;
		id->uid = p->cred->uid.val;
		id->cgroup = p->cgroups->dfl_cgrp->kn->id;
	} else {
		id->leader_start = BPF_CORE_READ(p, group_leader, start_time);
		id->uid = BPF_CORE_READ(p, cred, uid.val);
		id->cgroup = BPF_CORE_READ(p, cgroups, dfl_cgrp, kn, id);
	}
	copy_comm(id->comm, p, btf);
}

/*
 * A slot for p, emptied and named, its class AC_NONE. 0: the table is full, and p is a surplus task
 * from now on.
 */
static __always_inline __u32 task_make(struct task_struct *p, struct acct_cpu *c,
				       const struct acct_now *n, const bool btf)
{
	struct acct_task *t;
	__u32 slot;

	if (bpf_map_pop_elem(&free_tasks, &slot))
		goto full;
	t = task_at(slot);
	if (!t)
		goto full;
	acct_task_init(t, n, n->cpu);
	ident(&t->id, p, btf);
	if (command_pid && t->id.tgid == command_pid)
		t->id.sel = SEL_ARMED;
	if (task_is_kernel(p, btf)) {
		t->st.flags = AS_KTHREAD;
		t->st.mode = AC_SYS;
	}
	return slot;
full:
	__sync_fetch_and_add(&c->dropped_tasks, 1);
	return 0;
}

/* Publishes a link that this context owns: from here on other CPUs may use it. */
static __always_inline void link_publish(struct acct_link *l, __u32 slot)
{
	acct_barrier();
	if (slot)
		l->slot = slot;
	else
		l->owner |= OWNER_SURPLUS;
}

/* ---- scheduler ---- */

/*
 * A task that no event or seeding has told of (a kernel may hide some from the iterator): nobody
 * saw it run, so it has been sleeping in this window, and its mode is unknown.
 */
static __always_inline void unknown_state(struct acct_state *st, __u64 born,
					  const struct acct_now *n)
{
	st->since = acct_before(born, n->start) ? n->start : born;
	st->cls = AC_SLEEP;
	st->mode = AC_BUSY;
	st->flags |= AS_RAN;
	if (st->flags & AS_KTHREAD)
		st->mode = AC_SYS;
}

static __noinline int link_unknown(struct task_struct *p, struct acct_cpu *c,
				   const struct acct_now *n, const bool btf)
{
	struct acct_now then;
	struct acct_link *l;
	struct acct_task *t;
	__u32 slot, owner;

	if (!p || !c || !n)
		return 0;
	then = *n;
	owner = n->cpu + 1;
	l = link_make(p, owner, btf);
	if (!l || link_usable(l) || l->owner != owner) /* somebody else is just filling it in */
		return 0;
	if (task_is_kernel(p, btf))
		l->st.flags = AS_KTHREAD;
	unknown_state(&l->st, GET(btf, p, start_time), n);
	slot = task_make(p, c, n, btf);
	t = slot ? task_at(slot) : NULL;
	if (t) {
		t->st = l->st;
	} else {
		then.now = l->st.since;
		acct_pop_enter(c, &then, AC_SLEEP);
	}
	link_publish(l, slot);
	return 0;
}

/* A surplus task comes onto the CPU: its state is put into the CPU's surplus record. */
__noinline int surplus_arrive(struct acct_task *t, struct acct_link *l, struct acct_cpu *c,
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
static __always_inline struct acct_task *task_arrive(struct task_struct *p, struct acct_cpu *c,
						     struct acct_now *n, __u32 *slot,
						     const bool btf)
{
	struct acct_link *l;
	struct acct_task *t;

	if (!GET(btf, p, pid)) {
		*slot = SLOT_IDLE(n->cpu, ncpus);
		return task_now(*slot, c, n);
	}
	l = link_find(p, btf);
	if (acct_unlikely(!link_usable(l))) {
		link_unknown(p, c, n, btf);
		l = link_find(p, btf);
	}
	if (link_usable(l) && l->slot) {
		*slot = l->slot;
		return task_now(*slot, c, n);
	}
	*slot = SLOT_OTHER(n->cpu, ncpus);
	t = task_now(*slot, c, n);
	if (t)
		surplus_arrive(t, l, c, n);
	return t;
}

/* A surplus task has left the CPU for cls: its state goes back to its link, its time to the
 * population. */
static __always_inline void surplus_leave(struct task_struct *p, struct acct_task *t,
					  struct acct_cpu *c, const struct acct_now *n,
					  const bool btf)
{
	struct acct_link *l = link_find(p, btf);

	if (link_usable(l)) {
		l->st = t->st;
		acct_pop_enter(c, n, t->st.cls);
	}
	t->st.cls = AC_NONE;
	t->st.flags = 0;
	t->id.end = 0;
}

static __always_inline void seat(struct acct_cpu *c, struct task_struct *p, __u32 slot,
				 struct acct_task *t, const struct acct_now *n, const bool btf)
{
	c->task = (__u64)p;
	c->slot = slot;
	c->gen = t->tag >> 32;
	c->seated = n->now;
	c->ran = GET(btf, p, se.sum_exec_runtime);
}

/*
 * t arrives on a CPU, but the chain has it running on another still: its switch out there was
 * missed. The time since is off-CPU time of t, and nobody's on that CPU: busy time of its surplus
 * task until the next event there tells.
 */
__noinline int evict(struct acct_task *t, __u32 slot)
{
	struct acct_cpu *c = t ? cpu_get(t->cpu) : NULL;
	struct acct_task *other;
	__u32 o;

	if (!c || c->slot != slot)
		goto out;
	o = SLOT_OTHER(t->cpu, ncpus);
	other = task_at(o);
	if (!other)
		goto out;
	other->st.since = t->st.since;
	other->st.mode = AC_BUSY;
	other->st.cls = AC_BUSY;
	other->st.flags = AS_RAN;
	c->task = 1; /* nobody's address: the next event there finds a mismatch */
	c->gen = 1;
	c->slot = o;
out:
	if (t)
		t->st.cls = AC_WAIT;
	return 0;
}

/* When the task that c believes in has left, by the scheduler's own count of its run time; at most
 * now. */
static __always_inline __u64 left_at(const struct acct_cpu *c, const struct acct_task *old,
				     const struct acct_now *n, __u8 *cls)
{
	struct task_struct *p = (void *)c->task;
	__u64 t;

	*cls = AC_WAIT;
	if (!have_probe_read || (__u32)BPF_CORE_READ(p, pid) != old->id.tid)
		return n->now;
	*cls = acct_off_class(task_state(p, false), 0);
	t = c->seated + BPF_CORE_READ(p, se.sum_exec_runtime) - c->ran;
	return acct_before(t, n->now) ? t : n->now;
}

/*
 * The task that runs on c is not the one that the chain of switches has told. Ends the old one's
 * time when it left, as far as that is known, and puts p there from then.
 */
static __noinline int resync(struct task_struct *p, struct acct_cpu *c, struct acct_now *n,
			     const bool btf)
{
	struct acct_task *t, *old;
	struct acct_now then;
	__u8 cls = AC_NONE;
	__u32 slot, was;

	if (!p || !c || !n)
		return 0;
	then = *n;
	was = c->slot;
	old = c->task ? task_now(was, c, n) : NULL;
	if (old && was == SLOT_OTHER(n->cpu, ncpus)) {
		/* p may be a surplus task too, whose state is put in the place of this one's. */
		acct_charge(old, c, n);
		old->st.cls = AC_NONE;
	}

	t = task_arrive(p, c, n, &slot, btf);
	if (!t)
		return 0;
	if (acct_on_cpu(&t->st) && slot != was)
		evict(t, slot);
	c->unmatched += old != NULL;
	if (old && slot != was) {
		if (was >= SLOT_FIRST(ncpus))
			then.now = left_at(c, old, n, &cls);
		if (acct_before(then.now, old->st.since))
			then.now = old->st.since;
		if (acct_before(then.now, t->st.since))
			then.now = t->st.since;
		acct_charge(old, c, &then);
		old->st.cls = cls;
		if (cls == AC_NONE && was >= SLOT_FIRST(ncpus)) {
			acct_last(old, c, &then);
			c->exited++;
			link_drop((struct task_struct *)c->task, btf);
		}
	}
	acct_switch_in(t, c, &then, slot);
	seat(c, p, slot, t, &then, btf);
	return 0;
}

/*
 * The record of the current task. Some switches happen without an event: then the first event of
 * the task that runs here puts it there.
 */
static __always_inline struct acct_task *task_current(struct task_struct *p, struct acct_cpu *c,
						      struct acct_now *n, const bool btf)
{
	if (acct_unlikely(c->task != (__u64)p))
		resync(p, c, n, btf);
	return c->task == (__u64)p ? task_now(c->slot, c, n) : NULL;
}

static __always_inline void leave(__u64 *ctx, struct task_struct *prev, struct acct_cpu *c,
				  struct acct_now *n, const bool btf)
{
	struct acct_task *t;
	bool preempt = ctx[0];
	__u8 cls = AC_WAIT;

	if (acct_unlikely(c->task != (__u64)prev))
		resync(prev, c, n, btf);
	t = task_now(c->slot, c, n);
	if (!t)
		return;
	if (!preempt) {
		__u32 state = switch_state(ctx, prev, btf);
		bool io = (state & ACCT_TASK_UNINTERRUPTIBLE) && task_in_iowait(prev, btf);

		cls = acct_off_class(state, io);
	}
	if (c->slot == SLOT_IDLE(n->cpu, ncpus)) {
		acct_switch_out(t, c, n, AC_WAIT, 1);
		t->st.cls = AC_NONE;
		return;
	}
	acct_switch_out(t, c, n, cls, cls != AC_WAIT);
	if (acct_unlikely(c->slot == SLOT_OTHER(n->cpu, ncpus)))
		surplus_leave(prev, t, c, n, btf);
	if (acct_unlikely(cls == AC_NONE)) {
		c->exited++;
		link_drop(prev, btf);
	}
}

static __always_inline int on_sched_switch(__u64 *ctx, const bool btf)
{
	struct task_struct *next = (void *)ctx[2];
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;
	__u32 slot;

	if (!event(&n, &c))
		return 0;
	c->events++;
	leave(ctx, (void *)ctx[1], c, &n, btf);
	t = task_arrive(next, c, &n, &slot, btf);
	if (!t) {
		c->task = 0;
		c->slot = 0;
		return 0;
	}
	if (acct_unlikely(acct_on_cpu(&t->st))) {
		c->unmatched++;
		evict(t, slot);
	}
	acct_switch_in(t, c, &n, slot);
	seat(c, next, slot, t, &n, btf);
	/* No frame outlives a switch: exits that were lost end here. */
	c->depth = 0;
	return 0;
}
PROGRAM(sched_switch)

/* A task becomes runnable; on the way it may have been seen on the CPU still. */
static __always_inline int on_sched_wakeup(__u64 *ctx, const bool btf)
{
	struct task_struct *p = (void *)ctx[0];
	struct acct_link *l;
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;

	if (!event(&n, &c))
		return 0;
	l = link_find(p, btf);
	if (!link_usable(l))
		return 0;
	c->events++;
	if (acct_unlikely(!l->slot)) {
		if (l->st.cls >= AC_SLEEP && l->st.cls <= AC_STOPPED) {
			acct_pop_leave(c, &n, l->st.cls);
			acct_surplus_charge(&l->st, n.now);
			l->st.cls = AC_WAIT;
			acct_pop_enter(c, &n, AC_WAIT);
		}
		return 0;
	}
	t = task_at(l->slot);
	if (t && t->st.cls >= AC_SLEEP && t->st.cls <= AC_STOPPED) {
		roll(t, c, &n);
		acct_wakeup(t, c, &n);
	}
	return 0;
}
PROGRAM(sched_wakeup)

static __always_inline int on_sched_migrate_task(__u64 *ctx, const bool btf)
{
	struct acct_link *l = link_find((void *)ctx[0], btf);
	__u32 cpu = (__u32)ctx[1];
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;

	if (!link_usable(l) || !l->slot || !event(&n, &c))
		return 0;
	c->events++;
	t = task_now(l->slot, c, &n);
	if (t && !acct_on_cpu(&t->st))
		acct_move(t, c, &n, l->slot, cpu);
	return 0;
}
PROGRAM(sched_migrate_task)

/* The generations of images: a thread starts anew, and knows its leader's, whose tid it may take
 * over. */
static __always_inline void fork_generation(struct acct_task *t, const struct acct_task *parent)
{
	if (t->id.tgid == parent->id.tgid)
		t->id.lead_exec = parent->id.lead_exec;
}

static __always_inline int on_sched_process_fork(__u64 *ctx, const bool btf)
{
	struct task_struct *child = (void *)ctx[1];
	struct acct_task *t, *parent;
	struct acct_link *l;
	struct acct_now n;
	struct acct_cpu *c;
	__u32 slot, owner;
	int kernel;

	if (!event(&n, &c))
		return 0;
	c->events++;
	parent = task_current((void *)ctx[0], c, &n, btf);
	owner = n.cpu + 1;
	l = link_make(child, owner, btf);
	if (!parent || !l || l->owner != owner || link_usable(l))
		return 0;
	kernel = task_is_kernel(child, btf);
	slot = task_make(child, c, &n, btf);
	t = slot ? task_at(slot) : NULL;
	acct_fork(&l->st, &parent->st, n.now, kernel);
	if (t) {
		t->st = l->st;
		t->id.start = n.now;
		if (t->id.tid == t->id.tgid)
			t->id.leader_start = n.now;
		else
			t->id.leader_start = parent->id.leader_start;
		fork_generation(t, parent);
		t->id.sel = parent->id.sel & SEL_IN;
	} else {
		acct_pop_enter(c, &n, AC_WAIT);
	}
	link_publish(l, slot);
	return 0;
}
PROGRAM(sched_process_fork)

static __always_inline int on_sched_process_exec(__u64 *ctx, const bool btf)
{
	struct task_struct *p = (void *)ctx[0];
	struct acct_task *t, *nt;
	struct acct_link *l;
	struct acct_now n;
	struct acct_cpu *c;
	__u32 slot;

	if (!event(&n, &c))
		return 0;
	c->events++;
	t = task_current(p, c, &n, btf);
	l = link_find(p, btf);
	if (!t || !link_usable(l) || !l->slot)
		return 0; /* a surplus task's images are not told apart */
	slot = task_make(p, c, &n, btf);
	nt = slot ? task_at(slot) : NULL;
	if (!nt)
		return 0; /* goes on under its old name; counted */
	acct_exec(t, nt, c, &n);
	nt->id.exec = ((__u32)ctx[1] != nt->id.tid ? t->id.lead_exec : t->id.exec) + 1;
	nt->id.lead_exec = nt->id.exec;
	nt->id.start = n.now;
	nt->id.sel = t->id.sel ? SEL_IN : 0;
	c->exited++;
	nt->id.leader_start = t->id.leader_start;
	/* The renaming came before this event, within the same call. */
	if (t->id.renamed && acct_before(nt->st.begin, t->id.renamed))
		__builtin_memcpy(t->id.comm, t->id.old_comm, ACCT_COMM_LEN);
	l->slot = slot;
	seat(c, p, slot, nt, &n, btf);
	return 0;
}
PROGRAM(sched_process_exec)

static __always_inline int on_sched_process_exit(__u64 *ctx, const bool btf)
{
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;

	if (!event(&n, &c))
		return 0;
	c->events++;
	t = task_current((void *)ctx[0], c, &n, btf);
	if (t)
		acct_exit(t, c, &n);
	return 0;
}
PROGRAM(sched_process_exit)

/* prctl(PR_SET_NAME), a write to /proc/PID/comm, exec: any of them can name another task than
 * current. */
static __always_inline int on_task_rename(__u64 *ctx, const bool btf)
{
	struct acct_link *l = link_find((void *)ctx[0], btf);
	const char *name = (const char *)ctx[1];
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;

	if (!link_usable(l) || !l->slot || !event(&n, &c))
		return 0;
	t = task_at(l->slot);
	if (!t)
		return 0;
	__builtin_memcpy(t->id.old_comm, t->id.comm, ACCT_COMM_LEN);
	bpf_probe_read_kernel_str(t->id.comm, ACCT_COMM_LEN, name);
	t->id.renamed = n.now;
	return 0;
}
PROGRAM(task_rename)

/* ---- system calls ---- */

static __always_inline struct task_struct *current_task(const bool btf)
{
	return btf ? bpf_get_current_task_btf() : (struct task_struct *)bpf_get_current_task();
}

/*
 * The time and records of a system call's event: event() and task_now() with fewer steps. A record
 * that is in the last published window already has had an event past its start, so this one is too.
 * NULL: accounting is off, or the chain of switches has not told who runs here.
 */
static __always_inline struct acct_task *call_event(struct acct_now *n, struct acct_cpu **cpu,
						    struct task_struct **p, const bool btf)
{
	__u32 e = acct_epoch(&ctl);
	struct acct_task *t;
	struct acct_cpu *c;

	if (!e)
		return NULL;
	n->now = bpf_ktime_get_ns();
	n->cpu = bpf_get_smp_processor_id();
	*cpu = c = cpu_get(n->cpu);
	*p = current_task(btf);
	if (!c)
		return NULL;
	if (acct_unlikely(c->task != (__u64)*p)) {
		acct_time(n, &ctl, e, n->now);
		resync(*p, c, n, btf);
		if (c->task != (__u64)*p)
			return NULL;
	}
	t = task_at(c->slot);
	if (t && acct_unlikely((__u32)t->tag != e)) {
		acct_time(n, &ctl, e, n->now);
		roll(t, c, n);
	}
	return t;
}

static __always_inline int on_sys_enter(__u64 *ctx, const bool btf)
{
	long nr = (long)ctx[1];
	struct task_struct *p;
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;

	t = call_event(&n, &c, &p, btf);
	if (t)
		acct_sys_enter(t, c, &n, CALL_KEY(CALL_SYSCALL, syscall_abi(p, nr, btf), nr));
	return 0;
}
PROGRAM(sys_enter)

#define MAX_ERRNO 4095

static __always_inline int on_sys_exit(__u64 *ctx, const bool btf)
{
	struct task_struct *p;
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;

	t = call_event(&n, &c, &p, btf);
	if (t)
		acct_sys_exit(t, c, &n, ctx[1] >= (__u64)-MAX_ERRNO);
	return 0;
}
PROGRAM(sys_exit)

/* ---- interrupts and hypervisor calls ---- */

static __always_inline void enter(struct acct_cpu *c, struct acct_now *n, const struct acct_ctl *w,
				  __u32 cls, __u32 key)
{
	n->prev_start = acct_prev_start(w, n->epoch);
	acct_irq_enter(c, n, n->prev_start, cls, key);
}

static __always_inline void leave_frame(struct acct_cpu *c, struct acct_now *n,
					const struct acct_ctl *w, __u32 cls, __u32 key)
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

static __always_inline int frame_in(__u32 cls, __u32 key)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (event(&n, &c))
		enter(c, &n, &ctl, cls, key);
	return 0;
}

static __always_inline int frame_out(__u32 cls, __u32 key)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (event(&n, &c))
		leave_frame(c, &n, &ctl, cls, key);
	return 0;
}

static __always_inline int on_irq_handler_entry(__u64 *ctx, const bool btf)
{
	return frame_in(0, CALL_KEY(CALL_IRQ, 0, (int)ctx[0]));
}
PROGRAM(irq_handler_entry)

static __always_inline int on_irq_handler_exit(__u64 *ctx, const bool btf)
{
	return frame_out(0, CALL_KEY(CALL_IRQ, 0, (int)ctx[0]));
}
PROGRAM(irq_handler_exit)

static __always_inline int on_softirq_entry(__u64 *ctx, const bool btf)
{
	return frame_in(1, CALL_KEY(CALL_SOFTIRQ, 0, (__u32)ctx[0]));
}
PROGRAM(softirq_entry)

static __always_inline int on_softirq_exit(__u64 *ctx, const bool btf)
{
	return frame_out(1, CALL_KEY(CALL_SOFTIRQ, 0, (__u32)ctx[0]));
}
PROGRAM(softirq_exit)

/* Hypervisor call programs touch no mappable array, .bss included: see maps.bpf.h. */
static __always_inline struct acct_ctl *hcall_event(struct acct_now *n, struct acct_cpu **c)
{
	__u32 zero = 0;
	struct acct_ctl *w = bpf_map_lookup_elem(&hctl, &zero);

	n->cpu = bpf_get_smp_processor_id();
	*c = cpu_get(n->cpu);
	if (!w || !*c || !acct_epoch(w))
		return NULL;
	acct_time(n, w, acct_epoch(w), bpf_ktime_get_ns());
	return w;
}

static __always_inline int on_hcall_entry(__u64 *ctx, const bool btf)
{
	struct acct_now n;
	struct acct_cpu *c;
	struct acct_ctl *w = hcall_event(&n, &c);

	if (w)
		enter(c, &n, w, 2, CALL_KEY(CALL_HCALL, 0, ctx[0]));
	return 0;
}
PROGRAM(hcall_entry)

static __always_inline int on_hcall_exit(__u64 *ctx, const bool btf)
{
	struct acct_now n;
	struct acct_cpu *c;
	struct acct_ctl *w = hcall_event(&n, &c);

	if (w)
		leave_frame(c, &n, w, 2, CALL_KEY(CALL_HCALL, 0, ctx[0]));
	return 0;
}
PROGRAM(hcall_exit)

/* ---- seeding: see engine_bpf.c for the order ---- */

/* The state of a task that is off the CPU, from what the scheduler and its saved registers say. */
static __always_inline void seed_state(struct acct_state *st, struct task_struct *p,
				       const struct acct_now *n)
{
	long nr = st->flags & AS_KTHREAD ? -1 : task_syscall(p);
	__u32 state = task_state(p, true);

	st->since = n->now;
	if (!(st->flags & AS_KTHREAD))
		st->mode = nr >= 0 ? AC_SYS : AC_USER;
	if (nr >= 0) {
		st->flags |= AS_CALL | AS_NOBEGIN;
		st->key = CALL_KEY(CALL_SYSCALL, syscall_abi(p, nr, true), nr);
		st->begin = n->now;
	}
	st->flags |= AS_RAN;
	st->cls = acct_off_class(state & TASK_WAKING ? 0 : state, task_in_iowait(p, true));
}

SEC("?iter/task")
int seed_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct acct_link *l;
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;
	__u32 slot;

	if (!p || !p->pid || (task_state(p, true) & ACCT_TASK_DEAD) || !event(&n, &c))
		return 0;
	l = link_make(p, OWNER_ITER, true);
	if (!l || l->owner != OWNER_ITER)
		return 0;
	if (l->slot) { /* the second visit: it ran at the first, and left its CPU without an event
			*/
		t = task_at(l->slot);
		if (t && t->st.cls == AC_NONE && !p->on_cpu)
			seed_state(&t->st, p, &n);
		return 0;
	}
	slot = task_make(p, c, &n, true);
	t = slot ? task_at(slot) : NULL;
	l->st.cls = AC_NONE;
	l->st.mode = AC_BUSY;
	if (task_is_kernel(p, true)) {
		l->st.flags = AS_KTHREAD;
		l->st.mode = AC_SYS;
	}
	/* One that runs is put on its CPU by its next switch, or by seed_cpu. */
	if (!p->on_cpu)
		seed_state(&l->st, p, &n);
	if (t) {
		t->st = l->st;
		t->cpu = task_cpu_of(p);
		t->bank[0].cpu = t->cpu;
		t->bank[1].cpu = t->cpu;
	} else {
		acct_pop_enter(c, &n, l->st.cls);
	}
	link_publish(l, slot);
	return 0;
}

#define ABSENT_NS 20000000ULL

/*
 * p runs here, as the chain of switches has it, but nothing has told of it for long: it may have
 * left and come back unseen. When the scheduler has counted much less run time than has passed (its
 * count lags by a tick, and leaves interrupts out), the CPU was idle in between.
 */
static __always_inline void absent(struct task_struct *p, struct acct_cpu *c, struct acct_now *n)
{
	__u64 left = c->seated + p->se.sum_exec_runtime - c->ran, away = n->now - left;
	struct acct_task *t = task_now(c->slot, c, n);
	struct acct_task *idle = task_now(SLOT_IDLE(n->cpu, ncpus), c, n);
	struct acct_now then = *n;

	if (!t || !idle || t->st.cls != AC_BUSY || c->slot < SLOT_FIRST(ncpus))
		return;
	if ((__s64)away < (__s64)ABSENT_NS || away < (n->now - c->seated) / 4)
		return;
	c->unmatched++;
	then.now = acct_before(left, t->st.since) ? t->st.since : left;
	acct_charge(t, c, &then);
	t->st.cls = AC_SLEEP;
	acct_switch_in(idle, c, &then, SLOT_IDLE(n->cpu, ncpus));
	acct_charge(idle, c, n);
	idle->st.cls = AC_NONE;
	acct_switch_in(t, c, n, c->slot);
	seat(c, p, c->slot, t, n, true);
}

/*
 * Run on a CPU by the loader: whoever runs there without the chain of switches knowing is put
 * there. It comes as an interrupt, so never in the middle of a switch.
 */
SEC("?raw_tp")
int seed_cpu(__u64 *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct acct_now n;
	struct acct_cpu *c;

	if (!event(&n, &c))
		return 0;
	if (c->task != (__u64)p)
		resync(p, c, &n, true);
	else if (p->pid)
		absent(p, c, &n);
	return 0;
}
