// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs: one per tracepoint, in two flavours. tp_btf is the usual one; raw_tp serves kernels
 * without BTF for it, program by program. Each stamps the event, takes out its arguments and calls
 * flow.h, which knows what it does, and acct.h, which knows everything about time. What the loader
 * does not ask for is not loaded.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "acct.h"
#include "compat.bpf.h"
#include "maps.bpf.h"

typedef struct task_struct *flow_who;
#define FLOW_NCPUS ncpus
#include "flow.h"
#include "fold.bpf.h"

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
	/* What needs no time comes before the clock: reading it waits for what the kernel has begun
	 * anyway. */
	n->cpu = bpf_get_smp_processor_id();
	*c = cpu_get(n->cpu);
	acct_time(n, &ctl, e, bpf_ktime_get_ns());
	return *c;
}

/* ---- what flow.h asks of a task ---- */

static __always_inline const struct acct_ctl *windows(void)
{
	return &ctl;
}

static __always_inline __u64 who_address(struct task_struct *p)
{
	return (__u64)p;
}

static __always_inline struct task_struct *who_at(__u64 address)
{
	return (struct task_struct *)address;
}

static __always_inline bool who_is_idle(struct task_struct *p, const bool btf)
{
	return !GET(btf, p, pid);
}

static __always_inline bool who_is_kernel(struct task_struct *p, const bool btf)
{
	return task_is_kernel(p, btf);
}

static __always_inline __u64 who_born(struct task_struct *p, const bool btf)
{
	return GET(btf, p, start_time);
}

static __always_inline __u64 who_ran(struct task_struct *p, const struct acct_now *n,
				     const bool btf)
{
	return GET(btf, p, se.sum_exec_runtime);
}

/* By the scheduler's own count of its run time. */
static __always_inline __u64 who_left(const struct acct_cpu *c, const struct acct_task *old,
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

static __always_inline void copy_comm(char *to, struct task_struct *p, const bool btf)
{
	if (!btf) {
		BPF_CORE_READ_STR_INTO((char(*)[ACCT_COMM_LEN])to, p, comm);
		return;
	}
	for (int i = 0; i < ACCT_COMM_LEN; i++)
		to[i] = p->comm[i];
}

static __always_inline void who_ident(struct acct_ident *id, struct task_struct *p, const bool btf)
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
	if (command_pid && id->tgid == command_pid)
		id->sel = SEL_ARMED;
}

/* ---- scheduler ---- */

/* For which off-CPU class prev leaves the CPU. */
static __always_inline __u8 leave_class(__u64 *ctx, struct task_struct *prev, const bool btf)
{
	bool preempt = ctx[0], io;
	__u32 state;

	if (preempt)
		return AC_WAIT;
	state = switch_state(ctx, prev, btf);
	io = (state & ACCT_TASK_UNINTERRUPTIBLE) && task_in_iowait(prev, btf);
	return acct_off_class(state, io);
}

static __always_inline int on_sched_switch(__u64 *ctx, const bool btf)
{
	struct task_struct *prev = (void *)ctx[1];
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;

	if (!event(&n, &c))
		return 0;
	c->events++;
	t = flow_current(prev, c, &n, btf);
	if (t)
		flow_leave(prev, t, leave_class(ctx, prev, btf), c, &n, btf);
	flow_enter((void *)ctx[2], c, &n, btf);
	return 0;
}
PROGRAM(sched_switch)

static __always_inline int on_sched_wakeup(__u64 *ctx, const bool btf)
{
	struct acct_link *l;
	struct acct_now n;
	struct acct_cpu *c;

	if (!event(&n, &c))
		return 0;
	l = link_find((void *)ctx[0], btf);
	if (!link_usable(l))
		return 0;
	c->events++;
	flow_wakeup(l, c, &n);
	return 0;
}
PROGRAM(sched_wakeup)

static __always_inline int on_sched_migrate_task(__u64 *ctx, const bool btf)
{
	struct acct_link *l = link_find((void *)ctx[0], btf);
	struct acct_now n;
	struct acct_cpu *c;

	if (!link_usable(l) || !l->slot || !event(&n, &c))
		return 0;
	c->events++;
	flow_migrate(l->slot, (__u32)ctx[1], c, &n);
	return 0;
}
PROGRAM(sched_migrate_task)

static __always_inline int on_sched_process_fork(__u64 *ctx, const bool btf)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (!event(&n, &c))
		return 0;
	c->events++;
	fold_before(c, &n);
	flow_fork((void *)ctx[0], (void *)ctx[1], c, &n, btf);
	return 0;
}
PROGRAM(sched_process_fork)

static __always_inline int on_sched_process_exec(__u64 *ctx, const bool btf)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (!event(&n, &c))
		return 0;
	c->events++;
	fold_before(c, &n);
	flow_exec((void *)ctx[0], (__u32)ctx[1], c, &n, btf);
	return 0;
}
PROGRAM(sched_process_exec)

static __always_inline int on_sched_process_exit(__u64 *ctx, const bool btf)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (!event(&n, &c))
		return 0;
	c->events++;
	flow_exit((void *)ctx[0], c, &n, btf);
	return 0;
}
PROGRAM(sched_process_exit)

/* prctl(PR_SET_NAME), a write to /proc/PID/comm, exec: any of them can name another task than
 * current. */
static __always_inline int on_task_rename(__u64 *ctx, const bool btf)
{
	struct acct_link *l = link_find((void *)ctx[0], btf);
	struct acct_now n;
	struct acct_cpu *c;
	char *comm;

	if (!link_usable(l) || !l->slot || !event(&n, &c))
		return 0;
	comm = flow_rename(l->slot, &n);
	if (comm)
		bpf_probe_read_kernel_str(comm, ACCT_COMM_LEN, (const char *)ctx[1]);
	return 0;
}
PROGRAM(task_rename)

/* ---- system calls ---- */

static __always_inline struct task_struct *current_task(const bool btf)
{
	return btf ? bpf_get_current_task_btf() : (struct task_struct *)bpf_get_current_task();
}

/* event() for a system call, with its task's record. NULL: accounting is off, or nobody is known to
 * run here. */
static __always_inline struct acct_task *call_event(struct acct_now *n, struct acct_cpu **cpu,
						    struct task_struct **p, const bool btf)
{
	__u32 e = acct_epoch(&ctl);

	if (!e)
		return NULL;
	/* What needs no time comes before the clock: reading it waits for the kernel's entry
	 * anyway. */
	n->cpu = bpf_get_smp_processor_id();
	*cpu = cpu_get(n->cpu);
	*p = current_task(btf);
	n->now = bpf_ktime_get_ns();
	return *cpu ? flow_caller(*p, *cpu, n, e, btf) : NULL;
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

static __always_inline int frame_in(__u32 cls, __u32 key)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (event(&n, &c))
		flow_frame_enter(c, &n, &ctl, cls, key);
	return 0;
}

static __always_inline int frame_out(__u32 cls, __u32 key)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (event(&n, &c))
		flow_frame_exit(c, &n, &ctl, cls, key);
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
		flow_frame_enter(c, &n, w, 2, CALL_KEY(CALL_HCALL, 0, ctx[0]));
	return 0;
}
PROGRAM(hcall_entry)

static __always_inline int on_hcall_exit(__u64 *ctx, const bool btf)
{
	struct acct_now n;
	struct acct_cpu *c;
	struct acct_ctl *w = hcall_event(&n, &c);

	if (w)
		flow_frame_exit(c, &n, w, 2, CALL_KEY(CALL_HCALL, 0, ctx[0]));
	return 0;
}
PROGRAM(hcall_exit)

/* ---- seeding: see engine_bpf.c for the order ---- */

/* p is off the CPU: for what, the scheduler says, and its saved registers in which system call. */
static __always_inline void seed_off(struct acct_state *st, struct task_struct *p,
				     const struct acct_now *n)
{
	long nr = st->flags & AS_KTHREAD ? -1 : task_syscall(p);
	__u32 key = nr < 0 ? KEY_NO_CALL : CALL_KEY(CALL_SYSCALL, syscall_abi(p, nr, true), nr);
	__u32 state = task_state(p, true);

	flow_seed_state(st, n,
			acct_off_class(state & TASK_WAKING ? 0 : state, task_in_iowait(p, true)),
			key);
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
			seed_off(&t->st, p, &n);
		return 0;
	}
	slot = flow_seed_begin(p, l, c, &n, true);
	if (!p->on_cpu)
		seed_off(&l->st, p, &n);
	flow_seed_end(l, slot, task_cpu_of(p), c, &n);
	return 0;
}

/*
 * Run on a CPU by the loader: whoever runs there without the chain of switches knowing is put
 * there. It comes as an interrupt, so never in the middle of a switch.
 */
static __always_inline int on_seed_cpu(const bool btf)
{
	struct task_struct *p = current_task(btf);
	struct acct_now n;
	struct acct_cpu *c;

	if (!event(&n, &c))
		return 0;
	if (c->task != (__u64)p)
		flow_resync(p, c, &n, btf);
	else if (GET(btf, p, pid))
		flow_absent(p, c, &n, btf);
	return 0;
}

SEC("?raw_tp")
int btf_seed_cpu(void *ctx)
{
	return on_seed_cpu(true);
}

SEC("?raw_tp")
int raw_seed_cpu(void *ctx)
{
	return on_seed_cpu(false);
}

static __always_inline long free_push(__u32 which, __u32 v)
{
	switch (which) {
	case FILL_TASKS:
		return bpf_map_push_elem(&free_tasks, &v, BPF_ANY);
	case FILL_CALLS:
		return bpf_map_push_elem(&free_calls, &v, BPF_ANY);
	case FILL_ROWS:
		return bpf_map_push_elem(&free_rows, &v, BPF_ANY);
	}
	return bpf_map_push_elem(&free_icalls, &v, BPF_ANY);
}

/*
 * Run by the loader before anything is attached: the free records of a table, from ctx[1] down in
 * steps of ctx[2], ctx[3] of them and at most FILL_MAX. One system call each would take longer than
 * everything else at the start.
 */
SEC("?raw_tp")
int fill_free(__u64 *ctx)
{
	__u32 which = ctx[0], v = ctx[1], step = ctx[2], n = ctx[3];

	for (__u32 i = 0; i < FILL_MAX && i < n; i++) {
		v -= step;
		if (free_push(which, v))
			return 1;
	}
	return 0;
}
