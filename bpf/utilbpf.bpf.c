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

/* The record of the CPU that the event happens on. False: nothing to do. */
static __always_inline bool event_cpu(struct acct_now *n, struct acct_cpu **c)
{
	if (!acct_epoch(&ctl)) /* off is off before the clock is read */
		return false;
	/* What needs no time comes before the clock: reading it waits for what the kernel has begun
	 * anyway. */
	n->cpu = bpf_get_smp_processor_id();
	*c = cpu_get(n->cpu);
	return *c;
}

/* And its time. */
static __always_inline bool event(struct acct_now *n, struct acct_cpu **c)
{
	if (!event_cpu(n, c))
		return false;
	acct_time(n, &ctl, bpf_ktime_get_ns());
	return true;
}

/*
 * The same for what changes two records: the reader of a window does not look until such a program
 * has done both, however long a hypervisor holds its CPU up after the clock was read. Ends with
 * event_done().
 */
static __always_inline void event_of_two_begins(struct acct_now *n, struct acct_cpu *c)
{
	*(volatile __u32 *)&c->within = 1;
	n->now = bpf_ktime_get_ns();
}

static __always_inline bool event_of_two(struct acct_now *n, struct acct_cpu **c)
{
	if (!event_cpu(n, c))
		return false;
	event_of_two_begins(n, *c);
	acct_time(n, &ctl, n->now);
	return true;
}

static __always_inline void event_done(struct acct_cpu *c)
{
	acct_opaque(c); /* or its field's address is kept over all: there is no register for it */
	acct_barrier();
	*(volatile __u32 *)&c->within = 0;
}

/* An argument, read again wherever it is used: kept over the way that most events take, it would
 * be kept in memory. */
#define TASK(ctx, i) ((struct task_struct *)*(volatile __u64 *)&(ctx)[i])

/* ---- what flow.h asks of a task ---- */

static __always_inline const struct acct_ctl *windows(void)
{
	return &ctl;
}

static __always_inline void flow_bump(void)
{
	__sync_fetch_and_add(&ctl.moves, 1);
}

static __always_inline __u64 who_address(struct task_struct *p)
{
	return (__u64)p;
}

/* Where its user's registers are saved. */
static __always_inline __u64 who_mark(struct task_struct *p, const bool btf)
{
	return btf ? (__u64)p->stack + regs_at : 0;
}

static __always_inline void who_learn(struct task_struct *p, __u32 slot, const bool btf)
{
	if (btf)
		recent[p->pid & (RECENT - 1)] = slot;
}

static __always_inline struct acct_task *who_recent(struct task_struct *p, __u32 cpu,
						    const bool btf)
{
	__u32 idle = SLOT_IDLE(cpu, ncpus);

	return bpf_map_lookup_elem(&tasks, p->pid ? &recent[p->pid & (RECENT - 1)] : &idle);
}

static __always_inline struct task_struct *who_at(__u64 address)
{
	return (struct task_struct *)address;
}

static __always_inline bool who_is_idle(struct task_struct *p, const bool btf)
{
	return !GET(btf, p, pid);
}

static __always_inline bool who_is_thread(struct task_struct *p, const bool btf)
{
	return GET(btf, p, pid) != GET(btf, p, tgid);
}

static __always_inline bool who_is_kernel(struct task_struct *p, const bool btf)
{
	return task_is_kernel(p, btf);
}

static __always_inline __u64 who_born(struct task_struct *p, const bool btf)
{
	return GET(btf, p, start_time);
}

static __always_inline __u64 who_ran(struct task_struct *p, const bool btf)
{
	return GET(btf, p, se.sum_exec_runtime);
}

static __always_inline __u32 who_switches(struct task_struct *p, const bool btf)
{
	return GET(btf, p, nvcsw) + GET(btf, p, nivcsw);
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
	id->leader_start = FOLLOW(btf, p, group_leader, start_time);
	id->uid = who_uid(p, btf);
	id->cgroup = who_group(p, btf);
	copy_comm(id->comm, p, btf);
}

/* ---- who is selected ---- */

static __always_inline bool flow_selects(void)
{
	return sel_kinds & (SELK_TASKS | SELK_CPU);
}

static __always_inline bool flow_selects_cpus(void)
{
	return sel_kinds & SELK_CPU;
}

static __always_inline bool flow_selects_users(void)
{
	return sel_kinds & SELK_UID;
}

static __always_inline bool flow_calls_told(void)
{
	return calls_told;
}

static __always_inline bool flow_follows(void)
{
	return sel_kinds & SELK_FOLLOW;
}

static __always_inline __u32 who_uid(struct task_struct *p, const bool btf)
{
	return FOLLOW(btf, p, cred, uid.val);
}

static __always_inline __u64 who_group(struct task_struct *p, const bool btf)
{
	return task_group(p, group_v1, btf);
}

/* The later of its own move and of one of all threads of its process, into this group. */
static __always_inline __u64 who_moved(struct task_struct *p, __u64 group, const bool btf)
{
	__u64 key = GET(btf, p, pid), when = 0;
	struct acct_move *m = bpf_map_lookup_elem(&moves, &key);

	if (m && m->cgroup == group)
		when = m->time;
	key = GET(btf, p, tgid) | MOVE_ALL;
	m = bpf_map_lookup_elem(&moves, &key);
	if (m && m->cgroup == group && (!when || acct_before(when, m->time)))
		when = m->time;
	return when;
}

static __always_inline bool id_selected(__u32 kind, __u32 id)
{
	struct sel_id key = {.kind = kind, .id = id};

	return bpf_map_lookup_elem(&sel_ids, &key);
}

/* What the tests ask of a task. */
struct facts {
	__u64 start, process_start;
	__u64 group;
	__u32 tid, tgid, uid;
	__u32 kernel;
	__u32 descent;
	char comm[ACCT_COMM_LEN];
};

static __always_inline __u32 comm_selected(const char *comm)
{
	for (__u32 i = 0; i < sel_comms && i < SEL_GLOBS; i++) {
		__u32 key = i; /* in memory a verifier before 6.8 would lose count */
		const struct sel_glob *g = bpf_map_lookup_elem(&sel_globs, &key);

		if (g && sel_comm_matches(g, comm))
			return SELK_COMM;
	}
	return 0;
}

/*
 * Whether a task is selected. A function of its own: its many branches are walked once by the
 * verifier, not once for each event that may ask. Ids that were given are those of their bearers
 * then: a process that has the same id later is another.
 */
__noinline int selected(const struct facts *f)
{
	__u64 group;
	__u32 in = 0;

	if (!f)
		return 0;
	group = f->group;
	if ((sel_kinds & SELK_PID) && acct_before(f->process_start, sel_began) &&
	    id_selected(SELK_PID, f->tgid))
		in |= SELK_PID;
	if ((sel_kinds & SELK_TID) && acct_before(f->start, sel_began) &&
	    id_selected(SELK_TID, f->tid))
		in |= SELK_TID;
	if ((sel_kinds & SELK_UID) && id_selected(SELK_UID, f->uid))
		in |= SELK_UID;
	if (sel_kinds & SELK_COMM)
		in |= comm_selected(f->comm);
	/* Before 6.2 a key must not lie in what a function was given. */
	if ((sel_kinds & SELK_CGROUP) && bpf_map_lookup_elem(&sel_groups, &group))
		in |= SELK_CGROUP;
	if (f->tgid == self_tgid)
		in |= SELK_NOSELF;
	if (f->kernel)
		in |= SELK_NOKERNEL;
	return sel_decide(sel_kinds, in, f->descent);
}

static __noinline bool task_selected(struct task_struct *p, __u32 descent, const bool btf)
{
	struct facts f = {
		.start = GET(btf, p, start_time),
		.process_start = FOLLOW(btf, p, group_leader, start_time),
		.tid = GET(btf, p, pid),
		.tgid = GET(btf, p, tgid),
		.kernel = GET(btf, p, flags) & PF_KTHREAD,
		.uid = who_uid(p, btf),
		.descent = descent,
	};

	if (sel_kinds & SELK_CGROUP)
		f.group = who_group(p, btf);
	if (sel_kinds & SELK_COMM)
		copy_comm(f.comm, p, btf);
	return selected(&f);
}

static __always_inline bool who_selected(struct task_struct *p, __u32 descent, const bool btf)
{
	return task_selected(p, descent, btf);
}

#define GENERATIONS 32 /* that are looked at */

/* With --follow: whether an ancestor is selected. Where the type is not known nobody asks. */
static __noinline __u32 ancestor_selected(struct task_struct *p, const bool btf)
{
	struct task_struct *up = p;

	for (int i = 0; btf && i < GENERATIONS; i++) {
		up = up->real_parent;
		if (!up || !up->pid)
			break;
		if (task_selected(up, 0, btf))
			return SEL_FOLLOWED;
	}
	return 0;
}

static __always_inline __u32 who_descent(struct task_struct *p, const bool btf)
{
	if (command_pid && (__u32)GET(btf, p, tgid) == command_pid)
		return SEL_ARMED;
	return sel_kinds & SELK_FOLLOW ? ancestor_selected(p, btf) : 0;
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

/* Of values: of what comes after, the verifier walks one state then, not one for each way out. */
static __always_inline bool switch_quick(__u64 *ctx, struct acct_cpu *c, __u32 cpu, __u64 now)
{
	struct acct_task *t = task_of(c), *nt = who_recent(TASK(ctx, 2), cpu, true);

	return t && nt &&
	       flow_switch_quick(TASK(ctx, 1), t, leave_class(ctx, TASK(ctx, 1), true),
				 TASK(ctx, 2), nt, c, now, true);
}

static __always_inline int on_sched_switch(__u64 *ctx, const bool btf)
{
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;

	if (!event_cpu(&n, &c))
		return 0;
	event_of_two_begins(&n, c);
	c->events++;
	if (btf && switch_quick(ctx, c, n.cpu, n.now)) {
		event_done(c);
		return 0;
	}
	acct_time(&n, &ctl, n.now);
	t = flow_current(TASK(ctx, 1), c, &n, btf);
	if (t)
		flow_leave(TASK(ctx, 1), t, leave_class(ctx, TASK(ctx, 1), btf), c, &n, btf);
	flow_enter(TASK(ctx, 2), c, &n, btf);
	event_done(c);
	return 0;
}
PROGRAM(sched_switch)

static __always_inline int on_sched_wakeup(__u64 *ctx, const bool btf)
{
	struct acct_link *l;
	struct acct_now n;
	struct acct_cpu *c;

	if (!event_cpu(&n, &c))
		return 0;
	n.now = bpf_ktime_get_ns();
	if (btf && flow_wakeup_quick(TASK(ctx, 0), n.now, n.cpu, true)) {
		c->events++;
		return 0;
	}
	l = link_find(TASK(ctx, 0), btf);
	if (!link_usable(l))
		return 0;
	acct_time(&n, &ctl, n.now);
	c->events++;
	flow_wakeup(TASK(ctx, 0), l, c, &n, btf);
	return 0;
}
PROGRAM(sched_wakeup)

static __always_inline int on_sched_migrate_task(__u64 *ctx, const bool btf)
{
	struct task_struct *p = (void *)ctx[0];
	struct acct_link *l = link_find(p, btf);
	struct acct_now n;
	struct acct_cpu *c;

	if (!link_usable(l) || !l->slot || !event(&n, &c))
		return 0;
	c->events++;
	flow_migrate(p, l, (__u32)ctx[1], c, &n, btf);
	return 0;
}
PROGRAM(sched_migrate_task)

static __always_inline int on_sched_process_fork(__u64 *ctx, const bool btf)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (!event_of_two(&n, &c))
		return 0;
	__sync_fetch_and_add(&c->events, 1); /* a wakeup may interrupt */
	fold_before(c, &n);
	flow_fork((void *)ctx[0], (void *)ctx[1], c, &n, btf);
	event_done(c);
	return 0;
}
PROGRAM(sched_process_fork)

static __always_inline int on_sched_process_exec(__u64 *ctx, const bool btf)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (!event_of_two(&n, &c))
		return 0;
	__sync_fetch_and_add(&c->events, 1); /* a wakeup may interrupt */
	fold_before(c, &n);
	flow_exec((void *)ctx[0], (__u32)ctx[1], c, &n, btf);
	event_done(c);
	return 0;
}
PROGRAM(sched_process_exec)

static __always_inline int on_sched_process_exit(__u64 *ctx, const bool btf)
{
	struct acct_now n;
	struct acct_cpu *c;

	if (!event(&n, &c))
		return 0;
	__sync_fetch_and_add(&c->events, 1); /* a wakeup may interrupt */
	flow_exit((void *)ctx[0], c, &n, btf);
	return 0;
}
PROGRAM(sched_process_exit)

/* prctl(PR_SET_NAME), a write to /proc/PID/comm, exec: any of them can name another task than
 * current. */
static __always_inline int on_task_rename(__u64 *ctx, const bool btf)
{
	struct task_struct *p = (void *)ctx[0];
	struct acct_link *l = link_find(p, btf);
	struct acct_now n;
	struct acct_cpu *c;
	char *comm;

	if (!link_usable(l) || !event(&n, &c))
		return 0;
	comm = flow_rename(l, &n);
	if (comm)
		bpf_probe_read_kernel_str(comm, ACCT_COMM_LEN, (const char *)ctx[1]);
	if (sel_kinds & SELK_COMM)
		flow_unsettle(p, l, c, &n);
	return 0;
}
PROGRAM(task_rename)

/* ---- groups ---- */

/* A task, or all threads of its process, was put into group g. Each finds out at its next event. */
static __always_inline int moved(struct cgroup *g, struct task_struct *p, bool all, const bool btf)
{
	struct acct_move m = {.time = bpf_ktime_get_ns()};
	__u64 key = all ? GET(btf, p, tgid) | MOVE_ALL : GET(btf, p, pid);

	if (!acct_epoch(&ctl) || !group_is_ours(g, group_v1, btf))
		return 0;
	m.cgroup = FOLLOW(btf, g, kn, id);
	bpf_map_update_elem(&moves, &key, &m, BPF_ANY);
	flow_bump();
	return 0;
}

static __always_inline int on_cgroup_attach_task(__u64 *ctx, const bool btf)
{
	struct acct_now n;
	struct acct_cpu *c;

	/* Its account ends, and another one is born. */
	if (resident && event(&n, &c))
		fold_before(c, &n);
	return moved((void *)ctx[0], (void *)ctx[2], (bool)ctx[3], btf);
}
PROGRAM(cgroup_attach_task)

static __always_inline int on_cgroup_transfer_tasks(__u64 *ctx, const bool btf)
{
	return moved((void *)ctx[0], (void *)ctx[2], (bool)ctx[3], btf);
}
PROGRAM(cgroup_transfer_tasks)

/* Whether glob i takes that path. A function of its own: the verifier walks it once. */
__noinline int path_matches(__u32 i, const struct acct_path *path)
{
	const struct sel_glob *g = sel_paths ? bpf_map_lookup_elem(&sel_globs, &i) : NULL;

	return g && path && sel_path_matches(g, path->s, ACCT_PATH_LEN);
}

/* A group is made: keeps its name, and whether -G means it, from its first moment on. */
static __always_inline int on_cgroup_mkdir(__u64 *ctx, const bool btf)
{
	struct cgroup *g = (void *)ctx[0];
	__u32 zero = 0;
	struct acct_path *path = bpf_map_lookup_elem(&path_buffer, &zero);
	struct acct_cpu *c;
	__u8 one = 1, lost = 0;
	__u64 id;

	if (!path || !have_probe_read || !group_is_ours(g, group_v1, btf))
		return 0;
	id = BPF_CORE_READ(g, kn, id);
	if (bpf_probe_read_kernel_str(path->s, sizeof(path->s), (const char *)ctx[1]) <= 0)
		return 0;
	bpf_map_update_elem(&group_paths, &id, path, BPF_ANY);
	for (__u32 i = 0; i < sel_paths && i < SEL_GLOBS; i++)
		if (path_matches(sel_comms + i, path) &&
		    bpf_map_update_elem(&sel_groups, &id, &one, BPF_ANY))
			lost = 1;
	c = lost ? cpu_get(bpf_get_smp_processor_id()) : NULL;
	if (c) /* its tasks will count as not selected */
		__sync_fetch_and_add(&c->lost_tasks, 1);
	return 0;
}
PROGRAM(cgroup_mkdir)

static __always_inline int on_cgroup_rmdir(__u64 *ctx, const bool btf)
{
	struct cgroup *g = (void *)ctx[0];
	__u64 id = FOLLOW(btf, g, kn, id);

	bpf_map_delete_elem(&sel_groups, &id);
	return 0;
}
PROGRAM(cgroup_rmdir)

/* ---- CPUs that go and come ---- */

#define IS_STEP(step, state)                                                                       \
	(bpf_core_enum_value_exists(enum cpuhp_state, state) &&                                    \
	 (step) == bpf_core_enum_value(enum cpuhp_state, state))

/* One CPU has done a step for another: with these, that one has gone, or is back. */
static __always_inline int on_cpuhp_exit(__u64 *ctx, const bool btf)
{
	__u32 cpu = ctx[0], step = ctx[2];
	bool gone = IS_STEP(step, CPUHP_TEARDOWN_CPU);
	struct acct_now n;
	struct acct_cpu *c;

	if ((int)ctx[3] || (!gone && !IS_STEP(step, CPUHP_BRINGUP_CPU)) || !event(&n, &c))
		return 0;
	n.cpu = cpu;
	c = cpu_get(cpu);
	if (c)
		flow_cpu_partial(c, &n, gone);
	return 0;
}
PROGRAM(cpuhp_exit)

/* ---- system calls ---- */

static __noinline int user_changed(struct task_struct *p, struct acct_cpu *c, const bool btf)
{
	struct acct_link *l = link_find(p, btf);
	struct acct_now n;

	c->uid = who_uid(p, btf);
	if (!link_usable(l))
		return 0;
	acct_time(&n, &ctl, bpf_ktime_get_ns());
	n.cpu = bpf_get_smp_processor_id();
	l->changed = n.now;
	flow_unsettle(p, l, c, &n);
	return 0;
}

#define MAX_ERRNO 4095

static __always_inline int failed(const __u64 *ctx)
{
	return ctx[1] >= (__u64)-MAX_ERRNO;
}

/*
 * True when the running task is not selected: its calls are nothing to us, before the clock is
 * read. At the end of a call it may have become another user.
 */
static __always_inline bool call_skip(struct acct_cpu *c, __u64 regs, const bool exits,
				      const bool btf)
{
	struct task_struct *p = exits && flow_selects_users() ? current_task(btf) : NULL;

	if (p && c->task == (__u64)p && c->uid != who_uid(p, btf))
		user_changed(p, c, btf);
	if (c->mark != regs + MARK_REST || c->moves != *(volatile __u32 *)&ctl.moves)
		return false;
	c->skipped++;
	return true;
}

/*
 * An event of a system call, whatever has come before: its time and its task's record. NULL: there
 * is nothing to charge.
 */
static __always_inline struct acct_task *call_event(__u64 *ctx, struct acct_now *n,
						    struct acct_cpu **cpu, const bool btf)
{
	struct task_struct *p = current_task(btf);
	struct acct_task *t;
	struct acct_cpu *c;
	__u64 at;

	n->cpu = bpf_get_smp_processor_id();
	c = cpu_get(n->cpu);
	*cpu = c;
	if (!c)
		return NULL;
	n->now = bpf_ktime_get_ns();
	t = flow_caller(p, c, n, ctx[0], btf);
	if (!t || !btf)
		return t;
	/* From the record it is a number, of which a verifier before 6.8 lets others be taken. */
	at = (*(volatile __u64 *)&c->mark & ~(MARK_REST | MARK_USER)) - (__u64)p->stack;
	if (regs_at != at)
		regs_at = at;
	return t;
}

static __always_inline int enter_long(__u64 *ctx, const bool btf)
{
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;

	t = call_event(ctx, &n, &c, btf);
	if (t)
		acct_enter_cold(t, c, n.now, syscall_key_here(ctx, btf));
	return 0;
}

static __always_inline int exit_long(__u64 *ctx, const bool btf)
{
	struct acct_task *t;
	struct acct_now n;
	struct acct_cpu *c;

	t = call_event(ctx, &n, &c, btf);
	if (t)
		acct_exit_cold(t, c, n.now, failed(ctx));
	return 0;
}

/*
 * Nearly every event of a system call is one of a task that is known to run here, in a window that
 * it has been in: a few steps, of which those that need no time come before the clock, since
 * reading it waits for what the kernel has begun anyway. NULL: it goes the long way, from its
 * beginning.
 */
static __always_inline struct acct_task *call_event_quick(__u64 *ctx, struct acct_cpu **cpu,
							  __u64 *now)
{
	struct acct_cpu *c = cpu_get(bpf_get_smp_processor_id());
	struct acct_task *t;

	*cpu = c;
	if (!c || acct_unlikely(c->mark != ctx[0]))
		return NULL;
	t = task_of(c);
	*now = bpf_ktime_get_ns();
	return t && flow_current_still(c, t) ? t : NULL;
}

static __always_inline int on_sys_enter(__u64 *ctx, const bool btf)
{
	struct acct_task *t;
	struct acct_cpu *c;
	__u64 now;

	t = call_event_quick(ctx, &c, &now);
	if (t && acct_enter_quick(t, c, now, syscall_key_here(ctx, btf)))
		return 0;
	if (flow_selects() && c && call_skip(c, ctx[0], false, btf))
		return 0;
	return enter_long(ctx, btf);
}
PROGRAM(sys_enter)

static __always_inline int on_sys_exit(__u64 *ctx, const bool btf)
{
	struct acct_task *t;
	struct acct_cpu *c;
	__u64 now;

	t = call_event_quick(ctx, &c, &now);
	if (t && acct_exit_quick(t, c, now, failed(ctx)))
		return 0;
	if (flow_selects() && c && call_skip(c, ctx[0], true, btf))
		return 0;
	return exit_long(ctx, btf);
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
	acct_time(n, w, bpf_ktime_get_ns());
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
	__u32 key = nr < 0 ? KEY_NO_CALL : syscall_key(p, nr, true);
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
	bool in;

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
	slot = flow_seed_begin(p, l, task_cpu_of(p), c, &n, &in, true);
	if (!p->on_cpu)
		seed_off(&l->st, p, &n);
	flow_seed_end(l, slot, task_cpu_of(p), in, c, &n);
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
	if (c->task != (__u64)p) {
		flow_resync(p, c, &n, btf);
		return 0;
	}
	flow_settle_current(p, c, &n, btf);
	if (GET(btf, p, pid))
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

/* Global: the verifier walks it once, not each time around a loop. */
__noinline int free_push(__u32 which, __u32 v)
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

/*
 * Run by the loader, which has read the ended task of slot ctx[0]: the slot is free. Where records
 * are few, those that would stay with it go back, too: after a burst of forks they lie in slots
 * that nobody needs any more. Not in a resident instance, see fold.bpf.h. Returns 0; 1: it is not
 * free, and never will be.
 */
SEC("?raw_tp")
int free_slot(__u64 *ctx)
{
	struct acct_cpu *c = cpu_get(bpf_get_smp_processor_id());
	__u32 slot = ctx[0];
	struct acct_task *d = task_at(slot);

	if (c && d && keep_few()) {
		fold_rows(c, d, NULL, 0);
		fold_calls(c, d, NULL, 0);
		fold_icalls(c, d, slot, NULL, 0);
	}
	return free_push(FILL_TASKS, slot) != 0;
}
