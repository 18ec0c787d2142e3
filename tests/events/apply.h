/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Applies one event of a script to the tables, with acct.h: the same text on the host and in BPF.
 *
 * It stands in for utilbpf.bpf.c and maps.bpf.h: every function here mirrors the one of the same
 * name there, call by call, over plain arrays. Who includes it defines ST, the address of the
 * tables.
 */
#ifndef APPLY_H
#define APPLY_H

#include "../../bpf/acct.h"
#include "script.h"

#define ADDRESS(person) ((__u64)(person) + 2) /* 0 and 1 are nobody's */

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

acct_inline int link_usable(const struct acct_link *l)
{
	return l->slot || (l->owner & OWNER_SURPLUS);
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

/* ---- what every program begins with ---- */

acct_inline void roll(struct acct_task *t, struct acct_cpu *c, struct acct_now *n)
{
	if (acct_is_old(t, n)) {
		n->prev_start = acct_prev_start(&ST->ctl, n->epoch);
		acct_roll(t, c, n);
	}
}

acct_inline struct acct_task *task_now(__u32 slot, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_task *t = task_at(slot);

	if (!slot)
		return (struct acct_task *)0;
	roll(t, c, n);
	return t;
}

/* ---- a new record ---- */

/* The name of a person goes into its cgroup's id: so a report's tasks are told apart for certain.
 */
acct_inline void ident(struct acct_ident *id, __u32 who)
{
	const struct script_person *p = person_at(who);

	id->tid = p->tid;
	id->tgid = p->tgid;
	id->start = p->born;
	id->leader_start = 0;
	id->uid = 0;
	id->cgroup = who;
	for (int i = 0; i < ACCT_COMM_LEN; i++)
		id->comm[i] = i < 8 ? (char)(p->comm >> (8 * i)) : 0;
}

acct_inline __u32 task_make(__u32 who, struct acct_cpu *c, const struct acct_now *n)
{
	__u32 i = ST->nfree, slot;
	struct acct_task *t;

	acct_opaque(i);
	if (!i || i > SC_SLOTS) {
		c->dropped_tasks++;
		return 0;
	}
	slot = ST->free[(i - 1) & (SC_SLOTS - 1)];
	ST->nfree = i - 1;
	t = task_at(slot);
	acct_task_init(t, n, n->cpu);
	ident(&t->id, who);
	if (person_at(who)->kthread) {
		t->st.flags = AS_KTHREAD;
		t->st.mode = AC_SYS;
	}
	return slot;
}

acct_inline void link_publish(struct acct_link *l, __u32 slot)
{
	if (slot)
		l->slot = slot;
	else
		l->owner |= OWNER_SURPLUS;
}

acct_inline void link_clear(struct acct_link *l)
{
	l->owner = 1;
	l->slot = 0;
	__builtin_memset(&l->st, 0, sizeof(l->st));
}

/* ---- scheduler ---- */

acct_inline void unknown_state(struct acct_state *st, __u64 born, const struct acct_now *n)
{
	st->since = acct_before(born, n->start) ? n->start : born;
	st->cls = AC_SLEEP;
	st->mode = st->flags & AS_KTHREAD ? AC_SYS : AC_BUSY;
	st->flags |= AS_RAN;
}

acct_cold int link_unknown(__u32 who, struct acct_cpu *c, const struct acct_now *n)
{
	struct acct_link *l = link_of(who);
	struct acct_now then;
	__u32 slot;

	if (!c || !n)
		return 0;
	then = *n;
	link_clear(l);
	if (person_at(who)->kthread)
		l->st.flags = AS_KTHREAD;
	unknown_state(&l->st, person_at(who)->born, n);
	slot = task_make(who, c, n);
	if (slot) {
		task_at(slot)->st = l->st;
	} else {
		then.now = l->st.since;
		acct_pop_enter(c, &then, AC_SLEEP);
	}
	link_publish(l, slot);
	return 0;
}

acct_inline void surplus_arrive(struct acct_task *t, struct acct_link *l, struct acct_cpu *c,
				const struct acct_now *n)
{
	acct_pop_leave(c, n, l->st.cls);
	acct_surplus_charge(&l->st, n->now);
	t->st = l->st;
	t->st.cls = AC_NONE;
}

/* The slot that who uses on n's CPU; its record is in n's window. */
acct_cold int task_arrive(__u32 who, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_link *l = link_of(who);
	struct acct_task *t;
	__u32 slot;

	if (!c || !n)
		return 0;
	if (who == SC_IDLE) {
		slot = SLOT_IDLE(n->cpu, SC_CPUS);
		task_now(slot, c, n);
		return slot;
	}
	if (!link_usable(l))
		link_unknown(who, c, n);
	if (l->slot) {
		slot = l->slot;
		task_now(slot, c, n);
		return slot;
	}
	slot = SLOT_OTHER(n->cpu, SC_CPUS);
	t = task_now(slot, c, n);
	if (t)
		surplus_arrive(t, l, c, n);
	return slot;
}

acct_inline void surplus_leave(__u32 who, struct acct_task *t, struct acct_cpu *c,
			       const struct acct_now *n)
{
	struct acct_link *l = link_of(who);

	if (link_usable(l)) {
		l->st = t->st;
		acct_pop_enter(c, n, t->st.cls);
	}
	t->st.cls = AC_NONE;
	t->st.flags = 0;
	t->id.end = 0;
}

acct_inline void seat(struct acct_cpu *c, __u32 who, __u32 slot, struct acct_task *t,
		      const struct acct_now *n)
{
	c->task = ADDRESS(who);
	c->slot = slot;
	c->gen = t->tag >> 32;
	c->seated = n->now;
	c->ran = 0;
	ST->running[n->cpu & (SC_CPUS - 1)] = who;
	ST->left[n->cpu & (SC_CPUS - 1)] = 0;
}

acct_cold int evict(__u32 slot)
{
	struct acct_task *t = task_at(slot), *other;
	struct acct_cpu *c = cpu_get(t->cpu);
	__u32 o = SLOT_OTHER(t->cpu, SC_CPUS);

	if (c->slot == slot) {
		other = task_at(o);
		other->st.since = t->st.since;
		other->st.mode = AC_BUSY;
		other->st.cls = AC_BUSY;
		other->st.flags = AS_RAN;
		c->task = 1;
		c->gen = 1;
		c->slot = o;
	}
	t->st.cls = AC_WAIT;
	return 0;
}

acct_inline __u64 left_at(const struct acct_now *n, __u8 *cls)
{
	__u64 left = ST->left[n->cpu & (SC_CPUS - 1)];

	*cls = AC_WAIT;
	if (!left)
		return n->now;
	*cls = ST->left_as[n->cpu & (SC_CPUS - 1)];
	return acct_before(left, n->now) ? left : n->now;
}

acct_cold int resync(__u32 who, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_task *t, *old;
	struct acct_now then;
	__u8 cls = AC_NONE;
	__u32 slot, was;

	if (!c || !n)
		return 0;
	then = *n;
	was = c->slot;
	old = c->task ? task_now(was, c, n) : (struct acct_task *)0;
	slot = task_arrive(who, c, n);
	t = task_at(slot);
	if (acct_on_cpu(&t->st) && slot != was)
		evict(slot);
	if (old && slot != was) {
		c->unmatched++;
		if (was >= SLOT_FIRST(SC_CPUS))
			then.now = left_at(n, &cls);
		if (acct_before(then.now, old->st.since))
			then.now = old->st.since;
		if (acct_before(then.now, t->st.since))
			then.now = t->st.since;
		acct_charge(old, c, &then);
		old->st.cls = cls;
		if (cls == AC_NONE && was >= SLOT_FIRST(SC_CPUS)) {
			acct_last(old, c, &then);
			c->exited++;
			link_clear(link_of((__u32)c->task - 2));
		}
	}
	acct_switch_in(t, c, &then, slot);
	seat(c, who, slot, t, &then);
	return 0;
}

acct_inline void leave(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_task *t;
	__u8 cls = AC_WAIT;

	if (c->task != ADDRESS(ev->who))
		resync(ev->who, c, n);
	t = task_now(c->slot, c, n);
	if (!t)
		return;
	if (!(ev->arg & SW_PREEMPT))
		cls = acct_off_class(ev->arg & ~SW_IOWAIT, !!(ev->arg & SW_IOWAIT));
	if (c->slot == SLOT_IDLE(n->cpu, SC_CPUS)) {
		acct_switch_out(t, c, n, AC_WAIT, 1);
		t->st.cls = AC_NONE;
		return;
	}
	acct_switch_out(t, c, n, cls, cls != AC_WAIT);
	if (c->slot == SLOT_OTHER(n->cpu, SC_CPUS))
		surplus_leave(ev->who, t, c, n);
	if (cls == AC_NONE) {
		c->exited++;
		link_clear(link_of(ev->who));
	}
}

acct_inline void on_switch(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_task *t;
	__u32 slot;

	c->events++;
	leave(ev, c, n);
	slot = task_arrive(ev->to, c, n);
	t = task_at(slot);
	if (acct_on_cpu(&t->st)) {
		c->unmatched++;
		evict(slot);
	}
	acct_switch_in(t, c, n, slot);
	seat(c, ev->to, slot, t, n);
	c->depth = 0;
}

acct_inline void on_wakeup(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_link *l = link_of(ev->who);
	struct acct_task *t;

	if (!link_usable(l))
		return;
	c->events++;
	if (!l->slot) {
		if (l->st.cls >= AC_SLEEP && l->st.cls <= AC_STOPPED) {
			acct_pop_leave(c, n, l->st.cls);
			acct_surplus_charge(&l->st, n->now);
			l->st.cls = AC_WAIT;
			acct_pop_enter(c, n, AC_WAIT);
		}
		return;
	}
	t = task_at(l->slot);
	if (t->st.cls >= AC_SLEEP && t->st.cls <= AC_STOPPED) {
		roll(t, c, n);
		acct_wakeup(t, c, n);
	}
}

acct_inline void on_migrate(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_link *l = link_of(ev->who);
	struct acct_task *t;

	if (!link_usable(l) || !l->slot)
		return;
	c->events++;
	t = task_now(l->slot, c, n);
	if (t && !acct_on_cpu(&t->st))
		acct_move(t, c, n, l->slot, ev->to);
}

acct_inline void on_fork(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_link *l = link_of(ev->to);
	struct acct_task *t, *parent;
	__u32 slot;

	c->events++;
	parent = task_now(c->slot, c, n);
	if (!parent || link_usable(l))
		return;
	link_clear(l);
	slot = task_make(ev->to, c, n);
	acct_fork(&l->st, &parent->st, n->now, person_at(ev->to)->kthread);
	if (slot) {
		t = task_at(slot);
		t->st = l->st;
		t->id.start = n->now;
		t->id.leader_start = n->now;
		if (t->id.tid != t->id.tgid)
			t->id.leader_start = parent->id.leader_start;
		if (t->id.tgid == parent->id.tgid)
			t->id.lead_exec = parent->id.lead_exec;
	} else {
		acct_pop_enter(c, n, AC_WAIT);
	}
	link_publish(l, slot);
}

acct_inline void on_exec(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_link *l = link_of(ev->who);
	struct acct_task *t, *nt;
	__u32 slot;

	c->events++;
	t = task_now(c->slot, c, n);
	if (!t || !l->slot)
		return;
	/* A thread that execs has its leader's tid by now. */
	if (person_at(ev->who)->tid != person_at(ev->who)->tgid)
		person_at(ev->who)->tid = person_at(ev->who)->tgid;
	slot = task_make(ev->who, c, n);
	if (!slot)
		return;
	nt = task_at(slot);
	acct_exec(t, nt, c, n);
	nt->id.exec = (t->id.tid != nt->id.tid ? t->id.lead_exec : t->id.exec) + 1;
	nt->id.lead_exec = nt->id.exec;
	nt->id.start = n->now;
	c->exited++;
	nt->id.leader_start = t->id.leader_start;
	if (t->id.renamed && acct_before(nt->st.begin, t->id.renamed))
		for (int i = 0; i < ACCT_COMM_LEN; i++)
			t->id.comm[i] = t->id.old_comm[i];
	l->slot = slot;
	seat(c, ev->who, slot, nt, n);
}

acct_inline void on_task_exit(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	struct acct_task *t;

	c->events++;
	t = task_now(c->slot, c, n);
	if (t && c->task == ADDRESS(ev->who))
		acct_exit(t, c, n);
}

acct_inline void on_rename(const struct script_event *ev, struct acct_now *n)
{
	struct acct_link *l = link_of(ev->who);
	struct acct_task *t = task_at(l->slot);

	person_at(ev->who)->comm = ev->x;
	if (!link_usable(l) || !l->slot)
		return;
	for (int i = 0; i < ACCT_COMM_LEN; i++) {
		t->id.old_comm[i] = t->id.comm[i];
		t->id.comm[i] = i < 8 ? (char)(ev->x >> (8 * i)) : 0;
	}
	t->id.renamed = n->now;
}

/* ---- system calls ---- */

acct_inline void on_call(const struct script_event *ev, struct acct_cpu *c)
{
	__u32 e = acct_epoch(&ST->ctl);
	struct acct_now n = {.now = ev->time, .cpu = ev->cpu};
	struct acct_task *t;

	if (c->task != ADDRESS(ST->running[ev->cpu & (SC_CPUS - 1)]))
		return;
	t = task_at(c->slot);
	if ((__u32)t->tag != e) {
		acct_time(&n, &ST->ctl, e, n.now);
		roll(t, c, &n);
	}
	if (ev->op == OP_SYS_ENTER)
		acct_sys_enter(t, c, &n, ev->arg);
	else
		acct_sys_exit(t, c, &n, !!ev->arg);
}

/* ---- interrupts and hypervisor calls ---- */

acct_inline void on_frame_enter(const struct script_event *ev, struct acct_cpu *c,
				struct acct_now *n)
{
	n->prev_start = acct_prev_start(&ST->ctl, n->epoch);
	acct_irq_enter(c, n, n->prev_start, ev->arg2, ev->arg);
}

acct_inline void on_frame_exit(const struct script_event *ev, struct acct_cpu *c,
			       struct acct_now *n)
{
	struct acct_call *call;
	struct acct_frame f;
	__u64 tag;

	n->prev_start = acct_prev_start(&ST->ctl, n->epoch);
	if (!acct_irq_exit(c, n, n->prev_start, ev->arg, &f) || !c->slot)
		return;
	call = icall_get(c, n, ev->arg2, ev->arg, &tag);
	acct_frame_end(call, &f, tag, n->now);
}

/* ---- seeding ---- */

acct_inline void on_seed(const struct script_event *ev, struct acct_cpu *c,
			 const struct acct_now *n)
{
	struct acct_link *l = link_of(ev->who);
	__u32 slot = task_make(ev->who, c, n);
	struct acct_task *t = task_at(slot);

	link_clear(l);
	if (person_at(ev->who)->kthread)
		l->st.flags = AS_KTHREAD;
	l->st.since = n->now;
	l->st.mode = ev->arg2 != KEY_NO_CALL || l->st.flags ? AC_SYS : AC_USER;
	l->st.key = ev->arg2;
	if (ev->arg2 != KEY_NO_CALL) {
		l->st.flags |= AS_CALL | AS_NOBEGIN;
		l->st.begin = n->now;
	}
	l->st.flags |= AS_RAN;
	l->st.cls = ev->arg;
	if (slot) {
		t->st = l->st;
		t->cpu = ev->cpu;
		t->bank[0].cpu = ev->cpu;
		t->bank[1].cpu = ev->cpu;
	} else {
		acct_pop_enter(c, n, l->st.cls);
	}
	link_publish(l, slot);
}

acct_inline void on_person(const struct script_event *ev)
{
	struct script_person *p = person_at(ev->who);

	p->tid = ev->arg;
	p->tgid = ev->arg2;
	p->kthread = (__u32)ev->x;
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

/* Those that are no tracepoint's; false: it is one. */
acct_inline int apply_setup(const struct script_event *ev)
{
	__u32 e = ST->ctl.epoch + 1, table = ev->arg;

	switch (ev->op) {
	case OP_PERSON:
		on_person(ev);
		return 1;
	case OP_LIMIT:
		acct_opaque(table);
		if (table == TABLE_SLOTS)
			limit_slots(ev->arg2);
		else if (table < TABLE_NR)
			ST->max[table] = ST->used[table] + ev->arg2;
		return 1;
	case OP_WINDOW:
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

acct_inline void apply_sched(const struct script_event *ev, struct acct_cpu *c, struct acct_now *n)
{
	switch (ev->op) {
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
		on_task_exit(ev, c, n);
		break;
	case OP_RENAME:
		on_rename(ev, n);
		break;
	}
}

/* The one function: event ev happens. */
acct_inline void apply(const struct script_event *ev)
{
	struct acct_cpu *c = cpu_get(ev->cpu);
	struct acct_now n = {.cpu = ev->cpu & (SC_CPUS - 1)};

	if (apply_setup(ev))
		return;
	acct_time(&n, &ST->ctl, acct_epoch(&ST->ctl), ev->time);
	switch (ev->op) {
	case OP_SEAT:
		if (c->task != ADDRESS(ev->who))
			resync(ev->who, c, &n);
		break;
	case OP_SYS_ENTER:
	case OP_SYS_EXIT:
		on_call(ev, c);
		break;
	case OP_FRAME_ENTER:
		on_frame_enter(ev, c, &n);
		break;
	case OP_FRAME_EXIT:
		on_frame_exit(ev, c, &n);
		break;
	default:
		apply_sched(ev, c, &n);
	}
}

#endif /* APPLY_H */
