// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events into accounts, in user space: see feed.h. What an event does is told by bpf/flow.h; here
 * is what only a recording needs: that it begins in the middle of things, that it may have holes,
 * and that it may lack kinds of events.
 */
#include <errno.h>
#include <stdlib.h>

#include "../bpf/acct.h"
#include "collect.h"
#include "feed.h"

struct utask;
typedef struct utask *flow_who;
#define FLOW_NCPUS (F->ncpus)
#include "feed_env.h"
#include "../bpf/flow.h"

#define unlikely(x) acct_unlikely(x)

/* Address space for so many records: what is used of it is what takes memory. */
#define MAX_TASKS  (1U << 20)
#define MAX_CALLS  (1U << 22)
#define MAX_ROWS   (1U << 21)
#define MAX_ICALLS (1U << 20)

#define EVER                                                                                       \
	1 /* a time before any window: what a task is by what it turns out to have been always */

#define REAP_AT 64 /* ended tasks, at least, that are worth a walk */

/* ---- slots ---- */

/* As far as they are used now. */
static void show_tables(struct feed *f)
{
	f->t.ntasks = f->tasks.n;
	f->t.ncalls = f->calls.n;
	f->t.nrows = f->rows.n;
	f->t.nicalls = f->icalls.n;
}

/* Takes in the tasks that have ended, when there are so many; their slots are free then. */
static void reap(struct feed *f, uint64_t least)
{
	uint64_t exited = 0;

	for (uint32_t i = 0; i < f->ncpus; i++)
		exited += f->cpus[i].exited;
	if (exited - f->reaped < least || f->win.epoch == ACCT_WARMUP)
		return;
	f->reaped = exited;
	show_tables(f);
	if (collect__reap(f->collect, &f->t, &f->win))
		f->err = -ENOMEM;
}

static inline uint32_t slot_take(void)
{
	uint32_t slot = F->nfree ? F->free[--F->nfree] : region__take(&F->tasks);

	if (unlikely(slot == UINT32_MAX)) {
		reap(F, 1);
		slot = F->nfree ? F->free[--F->nfree] : 0;
	}
	return slot;
}

/* reap() frees it. */
static inline void slot_ended(struct acct_cpu *c, uint32_t slot)
{
	(void)c, (void)slot;
}

/* ---- tasks ---- */

static struct utask *on_cpu(const struct acct_cpu *c)
{
	return c->task > 1 ? who_at(c->task) : NULL;
}

static struct acct_task *task_of(const struct utask *u)
{
	return u->link.slot ? task_at(u->link.slot) : NULL;
}

/* Where its time goes: in its record, or in its link. */
static struct acct_state *state_of(struct utask *u)
{
	return u->link.slot ? &task_at(u->link.slot)->st : &u->link.st;
}

/* It has turned out whose thread u is. */
static __attribute__((noinline)) void set_tgid(struct utask *u, uint32_t tgid)
{
	struct utask *leader = tid_find(tgid);
	struct acct_task *t = task_of(u);

	u->tgid = tgid;
	u->leader_start = u->start;
	if (leader != u)
		u->leader_start = leader ? leader->leader_start : 0;
	if ((F->kinds & (SELK_PID | SELK_NOSELF)) && link_usable(&u->link)) {
		u->link.changed = EVER;
		flow_bump();
	}
	if (!t)
		return;
	t->id.tgid = tgid;
	t->id.leader_start = u->leader_start;
}

static void tell_tgid(struct utask *u, uint32_t tgid)
{
	if (unlikely(u->tgid != tgid) && tgid && tgid != FEED_NOTID && u->tid)
		set_tgid(u, tgid);
}

static __attribute__((noinline)) void rename_task(struct utask *u, const char *comm,
						  const struct acct_now *n)
{
	char clean[ACCT_COMM_LEN] = {0};
	bool named = u->comm[0];
	char *to = NULL;

	memcpy(clean, comm, strnlen(comm, ACCT_COMM_LEN));
	if (!memcmp(clean, u->comm, sizeof(clean)))
		return;
	memcpy(u->comm, clean, sizeof(clean));
	u->renamed |= named;
	if (u->link.slot && named)
		to = flow_rename(&u->link, n);
	else if (u->link.slot) /* it was called so before, too */
		to = task_of(u)->id.comm;
	if (to)
		memcpy(to, clean, sizeof(clean));
	if ((F->kinds & SELK_COMM) && link_usable(&u->link)) {
		u->link.changed = named ? n->now : EVER;
		flow_unsettle(u, &u->link, &F->cpus[n->cpu], n);
	}
}

static void tell_comm(struct utask *u, const char *comm, const struct acct_now *n)
{
	if (comm[0] && u->tid && unlikely(memcmp(u->comm, comm, ACCT_COMM_LEN)))
		rename_task(u, comm, n);
}

/* Whom the chain has there does not run on c: who does since then is not known. */
static __attribute__((noinline)) void unseat(struct acct_cpu *c, uint32_t cpu)
{
	struct acct_task *t = task_at(c->slot);

	if (flow_shared(c->slot, cpu))
		t->st.cls = AC_NONE;
	flow_nobody(c, cpu, t->st.since);
}

/*
 * The chain has u on c by another record than it has by now: it has been seen elsewhere since, and
 * came to be selected there, or ceased to.
 */
static inline bool stale(const struct utask *u, const struct acct_cpu *c)
{
	if (!flow_selects() || !u->tid)
		return false;
	return u->link.slot ? c->slot != u->link.slot : !flow_shared(c->slot, c - F->cpus);
}

/* No CPU runs u any more: one of the surplus may have been seen on several. */
static void leave_cpus(const struct utask *u)
{
	for (uint32_t i = 0; i < F->ncpus; i++)
		if (unlikely(on_cpu(&F->cpus[i]) == u))
			unseat(&F->cpus[i], i);
}

/* After an event that may have ended it. */
static void maybe_free(struct utask *u)
{
	if (!unlikely(u->dead) || link_usable(&u->link))
		return;
	leave_cpus(u);
	tid_free(u);
}

/* Another task has u's tid now: u must have died unseen. */
static void gone(struct utask *u, struct acct_cpu *c, struct acct_now *n)
{
	flow_gone(u, c, n, true);
	leave_cpus(u);
	tid_free(u);
}

/* ---- what is not known ---- */

/* Nothing of u is sure before `since`: its mode is not known, its open call cannot be timed. */
static void doubt(struct utask *u, struct acct_state *st, const struct acct_now *n, uint64_t since)
{
	u->sure = since;
	if (!(st->flags & AS_KTHREAD))
		st->mode = AC_BUSY;
	if (!(st->flags & AS_CALL))
		return;
	st->flags |= AS_NOBEGIN;
	if (acct_before(st->begin, n->start))
		st->begin = n->start;
}

/* u is about to be touched for the first time since it left its CPU: it may have run in a hole. */
static void doubt_sleeper(struct utask *u, const struct acct_now *n)
{
	struct acct_task *t = task_of(u);
	uint64_t hole = t ? F->lost_at[t->cpu] : F->lost_last;
	struct acct_state *st = state_of(u);

	if (hole && link_usable(&u->link) && !acct_on_cpu(st) && acct_before(st->since, hole))
		doubt(u, st, n, hole);
}

static void before_touch(struct utask *u, const struct acct_now *n)
{
	if (unlikely(F->lost_last) && u->tid)
		doubt_sleeper(u, n);
}

/*
 * The first event on a CPU tells who has been running there until now: since the window's start, or
 * since the CPU is online; unless that task is known to have been elsewhere.
 */
static __attribute__((noinline)) void first_event(struct acct_cpu *c, const struct acct_now *n,
						  struct utask *u)
{
	struct acct_now then = *n;
	const struct acct_state *st = state_of(u);
	uint32_t cpu = n->cpu;

	if (!F->present[cpu]) {
		F->present[cpu] = true;
		F->whole[cpu] = F->own_online && !F->from[cpu];
		if (!F->whole[cpu])
			F->from[cpu] = n->now;
	}
	then.now = acct_before(F->from[cpu], n->start) ? n->start : F->from[cpu];
	if (!u->tid || !link_usable(&u->link) ||
	    (!acct_on_cpu(st) && !acct_before(then.now, st->since)))
		flow_resync(u, c, &then, true);
	else
		flow_nobody(c, cpu, then.now);
}

/* The thread u runs under its leader's tid by now: it is in the middle of its exec. */
static bool takes_over(const struct utask *u, uint32_t tid)
{
	return u && u->tid && u->tgid == tid && u->tid != tid && !tid_find(tid);
}

static __attribute__((noinline)) struct utask *find_current(struct acct_cpu *c, struct acct_now *n,
							    uint32_t tid, uint32_t tgid)
{
	struct utask *u = on_cpu(c);

	if (u && stale(u, c)) {
		unseat(c, n->cpu);
		u = NULL;
	}
	if (tid == FEED_NOTID)
		return u;
	if (tid < TID_MAX && takes_over(u, tid))
		tid_move(u, tid);
	else
		u = tid_get(tid);
	if (!u)
		return NULL;
	tell_tgid(u, tgid);
	if (!c->task)
		first_event(c, n, u);
	before_touch(u, n);
	return u;
}

/* The task that the event happened in, maybe not yet where the chain of switches has it. NULL: not
 * known. */
static inline struct utask *current_of(struct acct_cpu *c, struct acct_now *n,
				       const struct feed_event *ev)
{
	struct utask *u = on_cpu(c);

	if (unlikely(!u || u->tid != ev->tid || stale(u, c)))
		return find_current(c, n, ev->tid, ev->tgid);
	tell_tgid(u, ev->tgid);
	return u;
}

/*
 * Whom an event speaks of, beside the task that it happened in. NULL where only some tasks are
 * watched and this is none of them: nothing else would tell of it, so it has no account.
 */
static inline struct utask *spoken_of(const struct feed_event *ev)
{
	if (acct_likely(F->caps.everyone) || ev->next_tid == ev->tid)
		return tid_get(ev->next_tid);
	return tid_find(ev->next_tid);
}

/* The task that an event is about, known from here on. NULL: F->err says why, or it is nobody. */
static struct utask *about(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct utask *u = spoken_of(ev);

	if (!u || !u->tid)
		return NULL;
	tell_tgid(u, ev->next_tgid);
	tell_comm(u, ev->next_comm, n);
	if (!link_usable(&u->link))
		flow_unknown(u, c, n, true);
	before_touch(u, n);
	return u;
}

/* ---- scheduler ---- */

/*
 * u, which runs on c, is to exec COMMAND. Should that event be lost, its new name tells. Only where
 * events are lost: else the exec itself is still to come, which gives the name a little earlier.
 */
static void begun_unseen(struct utask *u, struct acct_cpu *c, struct acct_now *n)
{
	if (u->renamed && (u->link.sel & SEL_ARMED) && on_cpu(c) == u)
		flow_exec(u, u->tid, c, n, true);
}

static void on_switch(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	uint32_t tgid = ev->tid == ev->prev_tid ? ev->tgid : 0;
	struct utask *prev = on_cpu(c), *next;
	struct acct_task *t;
	uint8_t cls = AC_WAIT;

	if (!prev || prev->tid != ev->prev_tid || stale(prev, c))
		prev = find_current(c, n, ev->prev_tid, tgid);
	next = prev ? spoken_of(ev) : NULL;
	if (!next && !F->caps.everyone && !F->err)
		next = tid_find(0); /* as good as idle */
	if (!prev || !next)
		return;
	tell_tgid(prev, tgid);
	tell_comm(prev, ev->prev_comm, n);
	tell_comm(next, ev->next_comm, n);
	if (unlikely(F->lost_last))
		begun_unseen(prev, c, n);
	if (!(ev->flags & FE_PREEMPT))
		cls = acct_off_class(ev->state, !!(ev->flags & FE_IOWAIT));
	c->events++;
	before_touch(next, n);
	if (flow_switch_known(prev, cls, next, c, n, true))
		return;
	t = flow_current(prev, c, n, true);
	if (t)
		flow_leave(prev, t, cls, c, n, true);
	flow_enter(next, c, n, true);
	maybe_free(prev);
}

static void on_wakeup(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct utask *u = about(ev, c, n);

	if (!u)
		return;
	c->events++;
	if (!flow_wakeup_quick(u, n->now, n->cpu, true))
		flow_wakeup(u, &u->link, c, n, true);
}

static void on_migrate(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct utask *u;

	if (ev->to >= F->ncpus) {
		F->err = -EINVAL;
		return;
	}
	u = about(ev, c, n);
	if (!u || !u->link.slot)
		return;
	c->events++;
	flow_migrate(u, &u->link, ev->to, c, n, true);
}

/* Which class it is off the CPU in is told when it is over: of all its time since it left. */
static void on_state(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_state *st;
	struct utask *u;

	if (ev->cls < AC_WAIT || ev->cls > AC_STOPPED) {
		F->err = -EINVAL;
		return;
	}
	u = about(ev, c, n);
	if (!u)
		return;
	st = state_of(u);
	if (acct_on_cpu(st) || st->cls == ev->cls || st->cls >= AC_IDLE)
		return;
	if (!u->link.slot) {
		acct_pop_leave(link_pop(&u->link, c), n, st->cls);
		acct_surplus_charge(st, n->now);
		acct_pop_enter(link_pop(&u->link, c), n, ev->cls);
	}
	st->cls = ev->cls;
}

/* ---- groups ---- */

/* Who runs on another CPU finds out at the next event there, or when the window ends. */
static void move_one(struct utask *u, uint64_t cgroup, struct acct_cpu *c, struct acct_now *n)
{
	if (u->cgroup == cgroup)
		return;
	before_touch(u, n);
	u->cgroup = cgroup;
	u->moved = n->now;
	if (!link_usable(&u->link))
		return;
	if (on_cpu(c) == u && stale(u, c))
		unseat(c, n->cpu);
	flow_settle(u, c, n, true);
}

/*
 * The event names one task, and not whether its process moved as a whole, as it does by a write to
 * cgroup.procs: that of a leader is taken for one.
 */
static void on_move(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct utask *u = about(ev, c, n), *all = F->utasks.mem;

	if (!u)
		return;
	c->events++;
	flow_bump(); /* groups may be what is selected by */
	n->moves = F->ctl.moves;
	move_one(u, ev->cgroup, c, n);
	if (u->tid != u->tgid)
		return;
	for (uint32_t i = 1; i < F->utasks.n; i++)
		if (all[i].tgid == u->tid && all[i].tid != UINT32_MAX && !all[i].dead)
			move_one(&all[i], ev->cgroup, c, n);
}

/* ---- the life of a task ---- */

/* The tracepoint and perf's own record may both tell of a fork: the second finds it done. */
static bool is_fresh(const struct utask *child)
{
	const struct acct_task *t = task_of(child);

	return t && child->start && !(t->st.flags & AS_RAN) && t->st.cls == AC_WAIT;
}

static void child_ident(struct utask *child, const struct utask *parent,
			const struct feed_event *ev, const struct acct_now *n)
{
	child->kthread = ev->flags & FE_KTHREAD;
	child->start = child->sure = n->now;
	child->uid = parent->uid;
	child->cgroup = parent->cgroup;
	child->tgid = child->tid;
	child->leader_start = n->now;
	if (ev->next_tgid && ev->next_tgid != child->tid) {
		child->tgid = ev->next_tgid;
		child->leader_start = parent->leader_start;
	}
	if (!child->comm[0])
		memcpy(child->comm, parent->comm, ACCT_COMM_LEN);
}

static void on_fork(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct utask *parent = current_of(c, n, ev), *child;

	if (F->err || !parent || !parent->tid || !ev->next_tid)
		return; /* idle tasks are forked by idle tasks, before there is anything to see */
	child = tid_find(ev->next_tid);
	if (child == parent)
		return;
	if (child && is_fresh(child)) {
		tell_tgid(child, ev->next_tgid);
		tell_comm(child, ev->next_comm, n);
		return;
	}
	if (child && link_usable(&child->link))
		gone(child, c, n);
	child = tid_get(ev->next_tid);
	if (!child)
		return;
	tell_comm(child, ev->next_comm, n);
	child_ident(child, parent, ev, n);
	c->events++;
	flow_fork(parent, child, c, n, true);
}

/* A thread that execs has its leader's tid by now; which it had is told. */
static void exec_tid(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct utask *old, *leader;

	if (!ev->tid || ev->tid >= TID_MAX || ev->old_tid == ev->tid)
		return;
	old = tid_find(ev->old_tid);
	leader = tid_find(ev->tid);
	if (!old || !old->tid || old == leader)
		return;
	if (on_cpu(c) == old) {
		if (leader)
			gone(leader, c, n);
		tid_move(old, ev->tid);
	} else if (leader) { /* it was taken for its leader already */
		gone(old, c, n);
	}
}

static void on_exec(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	uint32_t old_tid = ev->old_tid;
	struct utask *u;

	exec_tid(ev, c, n);
	u = current_of(c, n, ev);
	if (!u || !u->tid)
		return;
	if (!old_tid || old_tid >= TID_MAX)
		old_tid = u->tid;
	u->kthread = false;
	tell_tgid(u, u->tid);
	c->events++;
	flow_exec(u, old_tid, c, n, true);
}

static void on_task_exit(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct utask *u = current_of(c, n, ev);

	if (!u || !u->tid)
		return;
	c->events++;
	flow_exit(u, c, n, true);
}

static void on_name(const struct feed_event *ev, struct acct_now *n)
{
	struct utask *u = tid_get(ev->next_tid);

	if (!u || !u->tid)
		return;
	tell_tgid(u, ev->next_tgid);
	tell_comm(u, ev->next_comm, n);
}

/* ---- system calls ---- */

/* The end of a call of a task that was never seen to do anything else: it has been in it since it
 * is watched. */
static void first_exit(struct utask *u, struct acct_task *t, const struct acct_now *n, uint32_t key)
{
	struct acct_state *st = &t->st;

	if (st->mode != AC_BUSY || (st->flags & AS_CALL) || key == KEY_NO_CALL)
		return;
	st->flags |= AS_CALL | AS_NOBEGIN;
	st->key = key;
	st->begin = acct_before(u->sure, n->start) ? n->start : u->sure;
}

/*
 * The end of another call than the open one, whose own end and the other's begin were not recorded
 * (perf switches the CPUs' events on and off one after the other). 0 tells nothing: powerpc's
 * execve gives it.
 */
static void other_exit(struct acct_task *t, struct acct_cpu *c, const struct acct_now *n,
		       uint32_t key)
{
	struct acct_state *st = &t->st;

	if (!(st->flags & AS_CALL) || key == KEY_NO_CALL || !KEY_NR(key))
		return;
	c->unmatched++;
	st->flags |= AS_NOBEGIN;
	if (acct_before(st->begin, n->start))
		st->begin = n->start;
}

static inline void on_call(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct utask *u = current_of(c, n, ev);
	struct acct_task *t;

	if (!F->calls_told)
		return; /* one end alone tells nothing */
	if (!u || !u->tid) {
		c->unmatched++;
		return;
	}
	t = task_at(c->slot);
	if (c->mark != who_mark(u, true) || !flow_current_still(c, t))
		t = flow_caller(u, c, n, who_mark(u, true), true);
	if (!t)
		return;
	if (ev->op == FEED_SYS_ENTER) {
		acct_sys_enter(t, c, n->now, ev->key);
		return;
	}
	if (unlikely(t->st.mode == AC_BUSY))
		first_exit(u, t, n, ev->key);
	else if (unlikely(t->st.key != ev->key))
		other_exit(t, c, n, ev->key);
	acct_sys_exit(t, c, n->now, ev->flags & FE_ERROR);
}

/* ---- interrupts and hypervisor calls ---- */

static void on_frame(const struct feed_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	uint32_t cls = KEY_CLASS(ev->key) - CALL_IRQ;
	struct utask *u;

	if (cls >= AC_STEAL_NR) {
		F->err = -EINVAL;
		return;
	}
	u = current_of(c, n, ev);
	/* On top of another frame the chain was looked at already. */
	if (u && unlikely(c->task != who_address(u)) && !c->depth)
		flow_resync(u, c, n, true);
	if (ev->op == FEED_FRAME_ENTER)
		flow_frame_enter(c, n, &F->ctl, cls, ev->key);
	else
		flow_frame_exit(c, n, &F->ctl, cls, ev->key);
}

/* ---- events ---- */

static void rare_event(struct feed *f, const struct feed_event *ev, struct acct_cpu *c,
		       struct acct_now *n)
{
	switch (ev->op) {
	case FEED_WAKEUP:
		on_wakeup(ev, c, n);
		break;
	case FEED_MIGRATE:
		on_migrate(ev, c, n);
		break;
	case FEED_FORK:
		on_fork(ev, c, n);
		break;
	case FEED_EXEC:
		on_exec(ev, c, n);
		break;
	case FEED_EXIT:
		on_task_exit(ev, c, n);
		/* A walk goes through all slots: it is paid for by those that have ended since. */
		reap(f, REAP_AT + f->tasks.n / 4);
		break;
	case FEED_NAME:
		on_name(ev, n);
		break;
	case FEED_STATE:
		on_state(ev, c, n);
		break;
	case FEED_MOVE:
		on_move(ev, c, n);
		reap(f, REAP_AT + f->tasks.n / 4); /* a move ends an account, too */
		break;
	}
}

/* More than that after the start is no time: such differences are taken for negative ones. */
#define TIME_MAX (1ULL << 62)

/* The time at which something is accounted that is said to happen at `time`. */
static void now_at(struct feed *f, struct acct_now *n, uint32_t cpu, uint64_t time)
{
	if (acct_before(f->now, time))
		f->now = time;
	n->now = f->now;
	n->start = f->win.start;
	n->epoch = f->win.epoch;
	n->moves = f->ctl.moves;
	n->cpu = cpu;
	F = f;
	f->err = 0;
}

int feed__event(struct feed *f, const struct feed_event *ev)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (ev->cpu >= f->ncpus || ev->time >= TIME_MAX)
		return -EINVAL;
	if (unlikely(ev->time < f->now))
		f->q.out_of_order++;
	now_at(f, &n, ev->cpu, ev->time);
	c = &f->cpus[ev->cpu];
	f->count++;
	switch (ev->op) {
	case FEED_SYS_ENTER:
	case FEED_SYS_EXIT:
		on_call(ev, c, &n);
		break;
	case FEED_SWITCH:
		on_switch(ev, c, &n);
		break;
	case FEED_FRAME_ENTER:
	case FEED_FRAME_EXIT:
		on_frame(ev, c, &n);
		break;
	default:
		if (ev->op >= FEED_OP_NR)
			return -EINVAL;
		rare_event(f, ev, c, &n);
	}
	return f->err;
}

int feed__seed(struct feed *f, const struct feed_seed *s)
{
	bool known = s->cpu != FEED_NOTID;
	uint32_t slot, cpu = known ? s->cpu : 0;
	struct acct_link *l;
	struct acct_now n;
	struct utask *u;
	bool in;

	if (cpu >= f->ncpus || !s->tid)
		return -EINVAL;
	now_at(f, &n, cpu, f->now);
	u = tid_get(s->tid);
	if (!u || link_usable(&u->link))
		return f->err; /* the first word counts */
	u->tgid = s->tgid ? s->tgid : s->tid;
	u->uid = s->uid;
	u->parent = s->parent;
	u->cgroup = s->cgroup;
	u->kthread = s->kthread;
	u->start = acct_before(n.now, s->start) ? n.now : s->start;
	n.now = acct_before(u->start, n.start) ? n.start : u->start;
	set_tgid(u, u->tgid);
	memcpy(u->comm, s->comm, strnlen(s->comm, ACCT_COMM_LEN));
	l = link_make(u, 1, true);
	slot = flow_seed_begin(u, l, cpu, &f->cpus[cpu], &n, &in, true);
	if (known && s->cls >= AC_WAIT && s->cls <= AC_STOPPED) {
		flow_seed_state(&l->st, &n, s->cls, s->kthread ? KEY_NO_CALL : s->key);
	} else /* until an event tells where it runs */
		flow_unknown_state(&l->st, n.now, &n);
	if (!known) /* so that its first CPU is no migration */
		l->st.flags &= ~AS_RAN;
	flow_seed_end(l, slot, cpu, in, &f->cpus[cpu], &n);
	n.now = f->now;
	if (known && s->cls == AC_BUSY && !f->cpus[cpu].task)
		first_event(&f->cpus[cpu], &n, u);
	return f->err;
}

/* ---- holes, and CPUs that come and go ---- */

static void lost_on(struct feed *f, uint32_t cpu, uint64_t time)
{
	struct acct_cpu *c = &f->cpus[cpu];
	struct acct_task *t;
	struct acct_now n;
	struct utask *u;

	now_at(f, &n, cpu, time);
	f->lost_at[cpu] = f->lost_last = n.now;
	c->depth = 0;
	u = on_cpu(c);
	t = u && u->tid ? flow_task(c->slot, c, &n) : NULL;
	if (!t)
		return;
	doubt(u, &t->st, &n, n.now);
	t->st.cls = t->st.mode;
}

void feed__lost(struct feed *f, uint32_t cpu, uint64_t time, uint64_t n)
{
	f->q.lost_events += n;
	time = time < TIME_MAX ? time : f->now;
	if (cpu < f->ncpus)
		lost_on(f, cpu, time);
	for (uint32_t i = 0; cpu == FEED_NOTID && i < f->ncpus; i++)
		lost_on(f, i, time);
}

/* Whoever runs there is taken off, and nobody is charged until the CPU comes back. */
static void cpu_gone(struct acct_cpu *c, struct acct_now *n)
{
	struct acct_task *t;
	struct utask *u;

	if (!c->task)
		first_event(c, n, tid_find(0));
	u = on_cpu(c);
	if (u && stale(u, c)) {
		unseat(c, n->cpu);
		u = NULL;
	}
	t = flow_task(c->slot, c, n);
	if (u && t && flow_shared(c->slot, n->cpu)) {
		acct_charge(t, c, n);
		t->st.cls = AC_WAIT;
		flow_surplus_leave(u, t, c, n, true);
	}
	flow_cpu_partial(c, n, true);
}

void feed__cpu(struct feed *f, uint32_t cpu, bool online, uint64_t time)
{
	struct acct_now n;

	if (cpu >= f->ncpus || time >= TIME_MAX)
		return;
	now_at(f, &n, cpu, time);
	if (!online && (f->present[cpu] || f->cpus[cpu].task))
		cpu_gone(&f->cpus[cpu], &n);
	if (online != f->present[cpu])
		f->from[cpu] = n.now;
	if (online != f->present[cpu] || !online)
		f->whole[cpu] = false;
	f->present[cpu] = online;
}

/* ---- windows ---- */

static void fill_quality(struct feed *f, struct rep_quality *out)
{
	struct rep_quality q = f->q, *b = &f->before;

	for (uint32_t i = 0; i < f->ncpus; i++) {
		const struct acct_cpu *c = &f->cpus[i];

		q.unmatched += c->unmatched + c->irq_unmatched;
		q.dropped_tasks += c->dropped_tasks + c->lost_tasks;
		q.dropped_calls += c->dropped_calls + c->irq_dropped;
	}
	out->lost_events = q.lost_events - b->lost_events;
	out->out_of_order = q.out_of_order - b->out_of_order;
	out->unmatched = q.unmatched - b->unmatched;
	out->dropped_tasks = q.dropped_tasks - b->dropped_tasks;
	out->dropped_calls = q.dropped_calls - b->dropped_calls;
	*b = q;
}

static void fill_notes(const struct feed *f, struct report *r)
{
	const struct feed_caps *c = &f->caps;
	const struct {
		bool told;
		const char *note;
	} notes[] = {
		{c->switches, "sched_switch was not recorded: off-CPU time is not known, and who "
			      "ran is only known at events"},
		{(c->syscall_enter && c->syscall_exit) || c->calls_unasked,
		 "system calls were not recorded from both ends: there are none in this report, "
		 "and user and sys time are not told apart (busy)"},
		{c->wakeups, "wakeups were not recorded: waiting for a CPU after a sleep counts as "
			     "sleep"},
		{c->irqs || c->irqs_unasked,
		 "interrupts were not recorded: their time is the interrupted tasks'"},
		{c->softirqs || c->softirqs_unasked,
		 "softirqs were not recorded: their time is the interrupted tasks'"},
		{c->forks, "forks were not recorded: when tasks began is not known"},
		{c->comms, "names of tasks were not recorded"},
		{c->machine, "users and cgroups are not recorded"},
		{!c->reasons || c->iowaits,
		 "blocked holds iowait: the events do not tell what a task waits for"},
	};
	size_t n = 0;

	while (n < sizeof(r->notes) / sizeof(r->notes[0]) - 1 && r->notes[n])
		n++;
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (!notes[i].told && n < sizeof(r->notes) / sizeof(r->notes[0]) - 1)
			r->notes[n++] = notes[i].note;
}

/* Who runs is in its group, and what it is selected by, when the window ends, though it has had no
 * event since. */
static void settle_all(struct feed *f, uint64_t time)
{
	struct acct_now n;

	for (uint32_t i = 0; i < f->ncpus; i++) {
		struct utask *u = on_cpu(&f->cpus[i]);

		now_at(f, &n, i, time);
		if (u && stale(u, &f->cpus[i]))
			unseat(&f->cpus[i], i);
		else if (u)
			flow_settle_current(u, &f->cpus[i], &n, true);
	}
}

/* Publishes the next window's start; the one that ends is complete then. */
static void publish(struct feed *f, uint64_t end)
{
	uint32_t e = f->win.epoch + 1;
	struct acct_now n;

	end = end < TIME_MAX ? end : f->now;
	F = f;
	if (flow_selects() || f->ctl.moves)
		settle_all(f, end ? end - 1 : 0);
	now_at(f, &n, 0, end);
	for (uint32_t i = 0; i < f->ncpus; i++) {
		n.cpu = i;
		if (f->present[i] && !f->cpus[i].task) /* nothing has happened there: it is idle */
			first_event(&f->cpus[i], &n, tid_find(0));
	}
	f->ctl.start[e & 3] = f->now;
	f->ctl.epoch = e;
	f->win.end = f->now;
	show_tables(f);
}

static void next_window(struct feed *f)
{
	f->win = (struct window){.epoch = f->win.epoch + 1, .start = f->win.end};
	memcpy(f->whole, f->present, f->ncpus * sizeof(*f->whole));
}

/* The classes that nothing in the source could have told of. */
static uint32_t absent(const struct feed_caps *c)
{
	const struct {
		bool told;
		uint32_t classes;
	} what[] = {
		{c->irqs, 1U << AC_IRQ},
		{c->softirqs, 1U << AC_SOFTIRQ},
		{c->hcalls, 1U << AC_HV},
		{c->syscall_enter && c->syscall_exit, 1U << AC_USER | 1U << AC_SYS},
		{c->switches, 1U << AC_WAIT | 1U << AC_SLEEP | 1U << AC_BLOCKED | 1U << AC_IOWAIT |
				      1U << AC_STOPPED | 1U << AC_IDLE | LACK_SWITCHES},
		{c->wakeups, 1U << AC_WAIT},
		{c->reasons, 1U << AC_BLOCKED | 1U << AC_IOWAIT | 1U << AC_STOPPED},
		{c->iowaits, 1U << AC_IOWAIT},
		{c->machine, LACK_USERS | LACK_GROUPS | LACK_STARTS},
		{c->everyone, LACK_SYSTEM},
	};
	uint32_t mask = 0;

	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		mask |= what[i].told ? 0 : what[i].classes;
	return mask;
}

/*
 * What is left of the CPUs' rows are those who were watched: that is no row of a CPU. The system's
 * is the sum of the tasks, as ever; LACK_SYSTEM tells that these are not all that there were.
 */
static void forget_others(struct report *r)
{
	memset(r->sys_cpu_ns, 0, sizeof(r->sys_cpu_ns));
	r->sys_ns[AC_IDLE] = 0;
	r->nr_cpus = 0;
}

int feed__window(struct feed *f, uint64_t end, struct report *r)
{
	int err;

	publish(f, end);
	err = collect__window(f->collect, &f->t, &f->win, r);
	next_window(f);
	fill_quality(f, &r->quality);
	fill_notes(f, r);
	r->absent = absent(&f->caps);
	if (!f->caps.everyone)
		forget_others(r);
	return err;
}

void feed__warmup(struct feed *f)
{
	f->ctl.start[ACCT_WARMUP & 3] = f->win.start;
	f->ctl.epoch = ACCT_WARMUP;
	f->win.epoch = ACCT_WARMUP;
}

int feed__start(struct feed *f, uint64_t start)
{
	struct rep_quality q;
	int err;

	if (f->win.epoch != ACCT_WARMUP)
		return 0;
	publish(f, start);
	err = collect__start(f->collect, &f->t, f->win.end);
	next_window(f);
	fill_quality(f, &q);
	return err;
}

/* ---- */

uint64_t feed__time(const struct feed *f)
{
	return f->now;
}

uint64_t feed__count(const struct feed *f)
{
	return f->count;
}

void feed__caps(struct feed *f, const struct feed_caps *caps)
{
	f->caps = *caps;
	f->calls_told = caps->syscall_enter && caps->syscall_exit;
}

void feed__command(struct feed *f, uint32_t pid)
{
	f->command = pid;
	f->kinds |= SELK_COMMAND;
}

static uint32_t limited(const struct region *r, uint32_t more)
{
	return more < r->space - r->n ? r->n + more : r->space;
}

void feed__limit(struct feed *f, const struct feed_limits *l)
{
	f->tasks.max = limited(&f->tasks, l->tasks);
	f->calls.max = limited(&f->calls, l->calls);
	f->rows.max = limited(&f->rows, l->rows);
	f->icalls.max = limited(&f->icalls, l->icalls);
}

static void free_slot(void *ctx, uint32_t slot)
{
	struct feed *f = ctx;
	uint32_t *v;

	if (f->nfree == f->cap_free) {
		size_t cap = f->cap_free ? 2 * f->cap_free : 64;

		v = realloc(f->free, cap * sizeof(*v));
		if (!v)
			return; /* the slot is not used again: that costs its memory only */
		f->free = v;
		f->cap_free = cap;
	}
	f->free[f->nfree++] = slot;
}

/* Takes a table's fixed records. 0 or -errno. */
static int open_table(struct region *r, size_t value, uint32_t max, uint32_t fixed)
{
	int err = region__open(r, value, max + fixed);

	if (!err)
		err = region__reach(r, fixed);
	r->n = fixed;
	return err;
}

static int open_tables(struct feed *f)
{
	uint32_t n = f->ncpus;
	int err = open_table(&f->tasks, sizeof(struct acct_task), MAX_TASKS, SLOT_FIRST(n));

	if (!err)
		err = open_table(&f->calls, sizeof(struct acct_call), MAX_CALLS, CALL_OTHER(n));
	if (!err)
		err = open_table(&f->rows, sizeof(struct acct_row), MAX_ROWS, ROW_OTHER(n));
	if (!err)
		err = open_table(&f->icalls, sizeof(struct acct_call), MAX_ICALLS,
				 ICALL_OTHER(n, 0));
	if (!err)
		err = open_table(&f->utasks, sizeof(struct utask), 2 * MAX_TASKS, 1);
	if (!err)
		err = open_table(&f->tids, sizeof(uint32_t), 0, TID_MAX);
	if (err)
		return err;
	acct_fixed_slots(f->tasks.mem, n);
	f->t = (struct tables){.ncpus = n,
			       .online = f->whole,
			       .cpus = f->cpus,
			       .tasks = f->tasks.mem,
			       .ntasks = f->tasks.n,
			       .calls = f->calls.mem,
			       .ncalls = f->calls.n,
			       .rows = f->rows.mem,
			       .nrows = f->rows.n,
			       .icalls = f->icalls.mem,
			       .nicalls = f->icalls.n};
	return 0;
}

struct feed *feed__new(uint32_t ncpus, const bool *online, enum report_level level, bool selected,
		       struct names *names, uint64_t start)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->ncpus = ncpus;
	f->own_online = !online;
	memset(&f->caps, 1, sizeof(f->caps));
	f->calls_told = true;
	f->names = names;
	f->start = f->now = start;
	f->win = (struct window){.epoch = ACCT_FIRST, .start = start};
	f->ctl.epoch = ACCT_FIRST;
	f->ctl.start[ACCT_FIRST & 3] = start;
	f->cpus = calloc(ncpus, sizeof(*f->cpus));
	f->from = calloc(ncpus, sizeof(*f->from));
	f->lost_at = calloc(ncpus, sizeof(*f->lost_at));
	f->present = calloc(ncpus, sizeof(*f->present));
	f->whole = calloc(ncpus, sizeof(*f->whole));
	f->collect = collect__new(level, selected, names, free_slot, f);
	if (!f->cpus || !f->from || !f->lost_at || !f->present || !f->whole || !f->collect ||
	    open_tables(f) || collect__start(f->collect, &f->t, start)) {
		feed__free(f);
		return NULL;
	}
	for (uint32_t i = 0; online && i < ncpus; i++)
		f->present[i] = f->whole[i] = online[i];
	return f;
}

void feed__depth(struct feed *f, unsigned int depth)
{
	collect__set_depth(f->collect, depth);
}

void feed__select(struct feed *f, const struct selection *sel, uint32_t self)
{
	f->sel = sel;
	f->self = self;
	f->kinds = (f->kinds & SELK_COMMAND) | sel->kinds;
	if (sel->kinds & SELK_CALL)
		collect__set_calls(f->collect, &sel->call_bits);
	for (uint32_t i = 0; i < f->ncpus; i++)
		f->cpus[i].skip = !sel__cpu(sel, i);
}

void feed__free(struct feed *f)
{
	if (!f)
		return;
	collect__free(f->collect);
	region__close(&f->tasks);
	region__close(&f->calls);
	region__close(&f->rows);
	region__close(&f->icalls);
	region__close(&f->utasks);
	region__close(&f->tids);
	hash__free(&f->index);
	free(f->free);
	free(f->cpus);
	free(f->from);
	free(f->lost_at);
	free(f->present);
	free(f->whole);
	free(f);
}
