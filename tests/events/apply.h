/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Applies one event of a script to the tables, with flow.h: the same text on the host and in BPF.
 *
 * It stands in for maps.bpf.h, over plain arrays, and for what utilbpf.bpf.c reads of the kernel:
 * a task is the number of a person. Who includes it defines ST, the address of the tables.
 */
#ifndef APPLY_H
#define APPLY_H

#ifndef __bpf__
#include <stdbool.h>
#endif

#include "../../bpf/acct.h"
#include "script.h"

typedef __u32 flow_who;
#define FLOW_NCPUS SC_CPUS
#include "../../bpf/flow.h"

acct_inline struct acct_cpu *cpu_get(__u32 cpu)
{
	return &ST->cpus[cpu & (SC_CPUS - 1)];
}

acct_inline struct acct_task *task_at(__u32 slot)
{
	acct_opaque(slot);
	return &ST->tasks[slot & (SC_SLOTS - 1)];
}

acct_inline struct acct_link *link_of(__u32 who)
{
	acct_opaque(who);
	return &ST->links[who & (SC_PEOPLE - 1)];
}

acct_inline struct script_person *person_at(__u32 who)
{
	acct_opaque(who);
	return &ST->people[who & (SC_PEOPLE - 1)];
}

/* ---- links ---- */

acct_inline struct acct_link *link_find(__u32 who, const bool btf)
{
	(void)btf;
	return link_of(who);
}

acct_inline struct acct_link *link_make(__u32 who, __u32 owner, const bool btf)
{
	struct acct_link *l = link_of(who);

	(void)btf;
	if (!l->owner)
		l->owner = owner;
	return l;
}

acct_inline void link_drop(__u32 who, const bool btf)
{
	(void)btf;
	__builtin_memset(link_of(who), 0, sizeof(struct acct_link));
}

/* ---- records of calls and rows ---- */

/* The record of (slot, key) in calls or icalls; 0: none yet. */
acct_cold int call_find(__u32 slot, __u32 key, __u32 interrupts)
{
	for (__u32 i = 1; i < SC_CALLS; i++) {
		const struct acct_call *call = &ST->calls[i];

		if (interrupts)
			call = &ST->icalls[i & (SC_ICALLS - 1)];
		if (call->slot == slot && call->key == key)
			return interrupts ? i & (SC_ICALLS - 1) : i;
	}
	return 0;
}

acct_cold int row_find(__u32 slot, __u32 cpu)
{
	for (__u32 i = 1; i < SC_ROWS; i++)
		if (ST->rows[i].slot == slot && ST->rows[i].cpu == cpu)
			return i;
	return 0;
}

/* A fresh record of a table, 0: it is full. */
acct_inline __u32 record_take(enum script_table table)
{
	__u32 i = ST->used[table];

	if (i >= ST->max[table])
		return 0;
	ST->used[table] = i + 1;
	return i;
}

acct_inline __u32 cpu_number(const struct acct_cpu *c)
{
	for (__u32 i = 0; i < SC_CPUS; i++)
		if (c == &ST->cpus[i])
			return i;
	return 0;
}

acct_inline struct acct_call *acct_env_call_again(struct acct_cpu *c, struct acct_task *t,
						  __u32 key)
{
	__u32 idx = call_find(c->slot, key, 0);

	(void)t;
	return idx ? &ST->calls[idx & (SC_CALLS - 1)] : (struct acct_call *)0;
}

acct_inline struct acct_call *acct_env_call(struct acct_cpu *c, struct acct_task *t, __u32 key,
					    __u64 *tag)
{
	__u32 idx = call_find(c->slot, key, 0), fresh = 0;
	struct acct_call *call;

	if (!idx) {
		idx = record_take(TABLE_CALLS);
		fresh = idx;
	}
	if (!idx) {
		c->dropped_calls++;
		idx = CALL_OTHER(cpu_number(c));
		*tag = GEN_FIXED | (__u32)*tag;
	}
	acct_opaque(idx);
	call = &ST->calls[idx & (SC_CALLS - 1)];
	if (fresh) {
		call->slot = c->slot;
		call->key = key;
		call->next = t->calls;
		t->calls = fresh;
	}
	return call;
}

acct_inline struct acct_row *acct_env_row(struct acct_cpu *c, struct acct_task *t, __u32 slot,
					  __u32 cpu, __u64 *tag)
{
	__u32 idx = row_find(slot, cpu), fresh = 0;
	struct acct_row *row;

	if (!idx) {
		idx = record_take(TABLE_ROWS);
		fresh = idx;
	}
	if (!idx) {
		c->dropped_tasks++;
		idx = ROW_OTHER(cpu);
		*tag = GEN_FIXED | (__u32)*tag;
	}
	acct_opaque(idx);
	row = &ST->rows[idx & (SC_ROWS - 1)];
	if (fresh) {
		row->slot = slot;
		row->cpu = cpu;
		row->next = t->rows;
		t->rows = fresh;
	}
	return row;
}

acct_inline struct acct_call *icall_get(struct acct_cpu *c, const struct acct_now *n, __u32 cls,
					__u32 key, __u64 *tag)
{
	__u32 idx = call_find(c->slot, key, 1), fresh = 0;
	struct acct_call *call;

	*tag = ((__u64)c->gen << 32) | n->epoch;
	if (!idx) {
		idx = record_take(TABLE_ICALLS);
		fresh = idx;
	}
	if (!idx) {
		c->irq_dropped++;
		idx = ICALL_OTHER(n->cpu, cls);
		*tag = GEN_FIXED | n->epoch;
	}
	acct_opaque(idx);
	call = &ST->icalls[idx & (SC_ICALLS - 1)];
	if (fresh) {
		call->slot = c->slot;
		call->key = key;
	}
	return call;
}

acct_inline __u32 slot_take(void)
{
	__u32 i = ST->nfree;

	acct_opaque(i);
	if (!i || i > SC_SLOTS)
		return 0;
	ST->nfree = i - 1;
	return ST->free[(i - 1) & (SC_SLOTS - 1)];
}

/* The reader frees it. */
acct_inline void slot_ended(struct acct_cpu *c, __u32 slot)
{
	(void)c, (void)slot;
}

acct_inline const struct acct_ctl *windows(void)
{
	return &ST->ctl;
}

/* ---- what the kernel knows of a task ---- */

acct_inline __u64 who_address(__u32 who)
{
	return (__u64)who + 2; /* 0 and 1 are nobody's */
}

acct_inline __u64 who_mark(__u32 who, const bool btf)
{
	(void)btf;
	return ((__u64)who + 1) * 4;
}

acct_inline void who_learn(__u32 who, __u32 slot, const bool btf)
{
	(void)btf;
	ST->recent[who & 1] = slot;
}

acct_inline struct acct_task *who_recent(__u32 who, __u32 cpu, const bool btf)
{
	(void)btf;
	return task_at(who == SC_IDLE ? SLOT_IDLE(cpu, SC_CPUS) : ST->recent[who & 1]);
}

acct_inline __u32 who_at(__u64 address)
{
	return (__u32)address - 2;
}

acct_inline bool who_is_idle(__u32 who, const bool btf)
{
	(void)btf;
	return who == SC_IDLE;
}

acct_inline bool who_is_thread(__u32 who, const bool btf)
{
	(void)btf;
	return person_at(who)->tid != person_at(who)->tgid;
}

acct_inline bool who_is_kernel(__u32 who, const bool btf)
{
	(void)btf;
	return person_at(who)->kthread;
}

acct_inline __u64 who_born(__u32 who, const bool btf)
{
	(void)btf;
	return person_at(who)->born;
}

/* The count itself is not played: when a task has left, a script says. */
acct_inline __u64 who_ran(__u32 who, const bool btf)
{
	(void)who, (void)btf;
	return 0;
}

acct_inline __u32 who_switches(__u32 who, const bool btf)
{
	(void)who, (void)btf;
	return 0;
}

acct_inline __u64 who_left(const struct acct_cpu *c, const struct acct_task *old,
			   const struct acct_now *n, __u8 *cls)
{
	__u64 left = ST->left[n->cpu & (SC_CPUS - 1)];

	(void)c, (void)old;
	*cls = AC_WAIT;
	if (!left)
		return n->now;
	*cls = ST->left_as[n->cpu & (SC_CPUS - 1)];
	return acct_before(left, n->now) ? left : n->now;
}

/* ---- who is selected ---- */

acct_inline bool flow_selects(void)
{
	return ST->selects;
}

acct_inline bool flow_selects_cpus(void)
{
	return ST->selects & SC_SKIP;
}

acct_inline bool flow_selects_users(void)
{
	return false;
}

acct_inline bool flow_calls_told(void)
{
	return true;
}

acct_inline bool flow_follows(void)
{
	return ST->selects & SC_FOLLOW;
}

acct_inline void flow_bump(void)
{
	ST->ctl.moves++;
}

acct_inline __u32 who_uid(__u32 who, const bool btf)
{
	(void)who, (void)btf;
	return 0;
}

acct_inline __u32 who_descent(__u32 who, const bool btf)
{
	(void)who, (void)btf;
	return 0;
}

acct_inline bool who_selected(__u32 who, __u32 descent, const bool btf)
{
	(void)btf;
	return !person_at(who)->out || (descent & SEL_FOLLOWED);
}

acct_inline __u64 who_group(__u32 who, const bool btf)
{
	(void)btf;
	return who | (__u64)person_at(who)->group << 8;
}

acct_inline __u64 who_moved(__u32 who, __u64 group, const bool btf)
{
	(void)group, (void)btf;
	return person_at(who)->moved;
}

/* The name of a person goes into its cgroup's id: so a report's tasks are told apart for certain.
 */
acct_inline void who_ident(struct acct_ident *id, __u32 who, const bool btf)
{
	const struct script_person *p = person_at(who);

	(void)btf;
	id->tid = p->tid;
	id->tgid = p->tgid;
	id->start = p->born;
	id->leader_start = 0;
	id->uid = 0;
	id->cgroup = who_group(who, btf);
	for (int i = 0; i < ACCT_COMM_LEN; i++)
		id->comm[i] = i < 8 ? (char)(p->comm >> (8 * i)) : 0;
}

/* ---- events ---- */

acct_inline __u32 running_on(__u32 cpu)
{
	return ST->running[cpu & (SC_CPUS - 1)];
}

flow_cold int on_switch(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_task *t;
	__u8 cls = AC_WAIT;

	c->events++;
	if (!(ev->arg & SW_PREEMPT))
		cls = acct_off_class(ev->arg & ~SW_IOWAIT, !!(ev->arg & SW_IOWAIT));
	ST->running[n->cpu & (SC_CPUS - 1)] = ev->to;
	if (flow_switch_known(ev->who, cls, ev->to, c, n, true))
		return 0;
	t = flow_current(ev->who, c, n, true);
	if (t)
		flow_leave(ev->who, t, cls, c, n, true);
	flow_enter(ev->to, c, n, true);
	return 0;
}

flow_cold int on_wakeup(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_link *l = link_of(ev->who);

	if (!link_usable(l))
		return 0;
	c->events++;
	if (!flow_wakeup_quick(ev->who, n->now, n->cpu, true))
		flow_wakeup(ev->who, l, c, n, true);
	return 0;
}

flow_cold int on_migrate(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_link *l = link_of(ev->who);

	if (!link_usable(l) || !l->slot)
		return 0;
	c->events++;
	flow_migrate(ev->who, l, ev->to, c, n, true);
	return 0;
}

flow_cold int on_exec(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct script_person *p = person_at(ev->who);
	__u32 old_tid = p->tid;

	c->events++;
	p->tid = p->tgid; /* a thread that execs has its leader's by now */
	flow_exec(ev->who, old_tid, c, n, true);
	return 0;
}

flow_cold int on_rename(const struct script_event *ev, const struct acct_now *n)
{
	struct acct_link *l = link_of(ev->who);
	char *comm;

	person_at(ev->who)->comm = ev->x;
	if (!link_usable(l))
		return 0;
	comm = flow_rename(l, n);
	for (int i = 0; comm && i < ACCT_COMM_LEN; i++)
		comm[i] = i < 8 ? (char)(ev->x >> (8 * i)) : 0;
	return 0;
}

/* What a selection by name is told by task_rename. */
flow_cold int on_pick(const struct script_event *ev, struct acct_cpu *c, const struct acct_now *n)
{
	struct acct_link *l = link_of(ev->who);

	person_at(ev->who)->out = !ev->x;
	if (!link_usable(l))
		return 0;
	l->changed = n->now;
	flow_unsettle(ev->who, l, c, n);
	return 0;
}

flow_cold int on_group(const struct script_event *ev)
{
	__u32 tgid = person_at(ev->who)->tgid;

	for (__u32 i = 1; i < SC_PEOPLE; i++) {
		struct script_person *p = &ST->people[i];

		if (i != ev->who && !(ev->arg2 && p->tgid == tgid))
			continue;
		p->group = ev->arg;
		p->moved = ev->time;
	}
	flow_bump();
	return 0;
}

flow_cold int on_call(const struct script_event *ev, struct acct_cpu *c)
{
	struct acct_now n = {.now = ev->time, .cpu = ev->cpu & (SC_CPUS - 1)};
	__u32 who = running_on(n.cpu);
	struct acct_task *t = task_at(c->slot);

	if (t && (c->mark != who_mark(who, true) || !flow_current_still(c, t)))
		t = flow_caller(who, c, &n, who_mark(who, true), true);
	if (t && ev->op == OP_SYS_ENTER)
		acct_sys_enter(t, c, n.now, ev->arg);
	else if (t)
		acct_sys_exit(t, c, n.now, !!ev->arg);
	return 0;
}

flow_cold int on_seed(const struct script_event *ev, struct acct_cpu *c, const struct acct_now *n)
{
	struct acct_link *l = link_of(ev->who);
	__u32 slot;
	bool in;

	link_drop(ev->who, true);
	slot = flow_seed_begin(ev->who, l, n->cpu, c, n, &in, true);
	flow_seed_state(&l->st, n, ev->arg, ev->arg2);
	flow_seed_end(l, slot, n->cpu, in, c, n);
	return 0;
}

flow_cold int on_seat(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	if (c->task != who_address(ev->who))
		flow_resync(ev->who, c, n, true);
	ST->running[n->cpu & (SC_CPUS - 1)] = ev->who;
	return 0;
}

acct_inline void on_person(const struct script_event *ev)
{
	struct script_person *p = person_at(ev->who);

	p->tid = ev->arg;
	p->tgid = ev->arg2;
	p->kthread = (__u32)ev->x & 1;
	p->out = (__u32)ev->x >> 1;
	p->group = ev->to;
	p->born = ev->time;
}

acct_inline void on_unseen(const struct script_event *ev)
{
	__u32 cpu = ev->cpu & (SC_CPUS - 1);

	if (!ST->left[cpu]) {
		ST->left[cpu] = ev->time;
		ST->left_as[cpu] = acct_off_class(ev->arg & ~(SW_IOWAIT | SW_PREEMPT), 0);
	}
	ST->running[cpu] = ev->who;
}

/* ---- the tables' own events ---- */

/* The lowest n slots only: the reader wants what is in use to be dense. */
acct_inline void limit_slots(__u32 n)
{
	for (__u32 i = 0; i < SC_SLOTS; i++)
		ST->free[i] = i < n ? SLOT_FIRST(SC_CPUS) + n - 1 - i : 0;
	ST->nfree = n;
}

/* As the reader has seed_cpu do before a boundary. */
acct_cold int settle_all(__u64 now)
{
	struct acct_now n;

	for (__u32 i = 0; i < SC_CPUS; i++) {
		struct acct_cpu *c = cpu_get(i);

		if (c->task != who_address(running_on(i)))
			continue;
		acct_time(&n, &ST->ctl, now);
		n.cpu = i;
		flow_settle_current(running_on(i), c, &n, true);
	}
	return 0;
}

/* Those that are no tracepoint's; false: it is one. */
flow_cold int apply_setup(const struct script_event *ev)
{
	__u32 e = ST->ctl.epoch + 1, table = ev->arg;

	switch (ev->op) {
	case OP_PERSON:
		on_person(ev);
		return 1;
	case OP_SELECT:
		ST->selects |= SC_SELECT | ev->arg;
		if (ev->arg & SC_SKIP)
			cpu_get(ev->to)->skip = 1;
		return 1;
	case OP_LIMIT:
		acct_opaque(table);
		if (table == TABLE_SLOTS)
			limit_slots(ev->arg2);
		else if (table < TABLE_NR)
			ST->max[table] = ST->used[table] + ev->arg2;
		return 1;
	case OP_WINDOW:
		settle_all(ev->time - 1);
		ST->ctl.start[e & 3] = ev->time;
		ST->ctl.epoch = e;
		return 1;
	case OP_UNSEEN:
		on_unseen(ev);
		return 1;
	case OP_REPORT:
	case OP_REAP:
		return 1;
	}
	return 0;
}

flow_cold int on_fork(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	c->events++;
	flow_fork(running_on(n->cpu), ev->to, c, n, true);
	return 0;
}

flow_cold int on_frame(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	if (ev->op == OP_FRAME_ENTER)
		flow_frame_enter(c, n, &ST->ctl, ev->arg2, ev->arg);
	else
		flow_frame_exit(c, n, &ST->ctl, ev->arg2, ev->arg);
	return 0;
}

acct_inline int apply_sched(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	switch (ev->op) {
	case OP_SEAT:
		on_seat(ev, c, n);
		break;
	case OP_SEED:
		on_seed(ev, c, n);
		break;
	case OP_SWITCH:
		on_switch(ev, c, n);
		break;
	case OP_WAKEUP:
		on_wakeup(ev, c, n);
		break;
	case OP_MIGRATE:
		on_migrate(ev, c, n);
		break;
	case OP_FORK:
		on_fork(ev, c, n);
		break;
	case OP_EXEC:
		on_exec(ev, c, n);
		break;
	case OP_EXIT:
		c->events++;
		flow_exit(ev->who, c, n, true);
		break;
	case OP_RENAME:
		on_rename(ev, n);
		break;
	case OP_PICK:
		on_pick(ev, c, n);
		break;
	case OP_GROUP:
		on_group(ev);
		break;
	}
	return 0;
}

/* The one function: event ev happens. */
acct_inline void apply(const struct script_event *ev)
{
	struct acct_cpu *c = cpu_get(ev->cpu);
	struct acct_now n = {.cpu = ev->cpu & (SC_CPUS - 1)};

	if (apply_setup(ev))
		return;
	acct_time(&n, &ST->ctl, ev->time);
	switch (ev->op) {
	case OP_SYS_ENTER:
	case OP_SYS_EXIT:
		on_call(ev, c);
		break;
	case OP_FRAME_ENTER:
	case OP_FRAME_EXIT:
		on_frame(ev, c, &n);
		break;
	default:
		apply_sched(ev, c, &n);
	}
	/* The chain has heard of it: that somebody left without an event is past. */
	if (c->task == who_address(running_on(ev->cpu)))
		ST->left[ev->cpu & (SC_CPUS - 1)] = 0;
}

#endif /* APPLY_H */
