/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where kernels differ: one getter each, with the change that made the difference. Features are
 * probed (CO-RE, or the loader's look into BTF), never versions.
 */
#ifndef COMPAT_BPF_H
#define COMPAT_BPF_H

#include <bpf/bpf_core_read.h>

/* Set by the loader before the programs are verified: what is off is dead code to the verifier. */
enum arch {
	ARCH_OTHER,
	ARCH_X86,
	ARCH_ARM64,
	ARCH_PPC,
};
const volatile __u32 machine = ARCH_OTHER;
/* sched_switch has prev_state as its fourth argument: 5.18, fa2c3254d7cf ("sched/tracing: Don't
 * re-read p->state") */
const volatile bool have_prev_state = false;
/* task local storage can be made; else a hash keyed by the task's address stands in: before 5.11,
 * a10787e6d58c */
const volatile bool have_storage = true;

/* System calls are watched: what a task does on a CPU is told. */
const volatile bool calls_told = true;

/* bpf_probe_read_kernel is allowed; lockdown=confidentiality refuses it */
const volatile bool have_probe_read = true;

/* A field of a task: a plain load where the verifier knows the type, a checked read in raw_tp. */
#define GET(btf, p, field) ((btf) ? (p)->field : BPF_CORE_READ(p, field))

/*
 * What a pointer of a task, or a group, leads to. By checked reads where those are allowed: for
 * each plain load of a pointer the verifier looks its type up by name, from the first of the
 * kernel's types to the last (btf_find_by_name_kind()), which was more than half the time that
 * loading took.
 */
#define FOLLOW(btf, p, pointer, field)                                                             \
	((btf) && !have_probe_read ? (p)->pointer->field : BPF_CORE_READ(p, pointer, field))

#define PF_KTHREAD   0x00200000
#define PF_IO_WORKER 0x00000010

/* Tasks that never leave the kernel: threads of the kernel, and io_uring's workers. */
static __always_inline bool task_is_kernel(struct task_struct *p, const bool btf)
{
	return GET(btf, p, flags) & (PF_KTHREAD | PF_IO_WORKER);
}

/* 5.14, 2f064a59a11f ("sched: Change task_struct::state"): state became __state, an int */
static __always_inline __u32 task_state(struct task_struct *p, const bool btf)
{
	struct task_struct___old *old = (void *)p;

	if (bpf_core_field_exists(p->__state))
		return GET(btf, p, __state);
	return BPF_CORE_READ(old, state);
}

/* 5.16, bcf9033e5449 ("sched: move CPU field back into thread_info if THREAD_INFO_IN_TASK=y") */
static __always_inline __u32 task_cpu_of(struct task_struct *p)
{
	struct task_struct___cpu *old = (void *)p;

	if (bpf_core_field_exists(p->thread_info.cpu))
		return p->thread_info.cpu;
	return old->cpu;
}

/* Which controller's hierarchy `v1` (enum acct_hierarchy) is; the numbers depend on the kernel's
 * configuration. -1: it has none such. */
static __always_inline int group_controller(__u32 v1)
{
	if (v1 == GROUPS_CPU && bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		return bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id);
	if (v1 == GROUPS_CPUACCT &&
	    bpf_core_enum_value_exists(enum cgroup_subsys_id, cpuacct_cgrp_id))
		return bpf_core_enum_value(enum cgroup_subsys_id, cpuacct_cgrp_id);
	return -1;
}

/* The id of p's group in the hierarchy v1. */
static __always_inline __u64 task_group(struct task_struct *p, __u32 v1, const bool btf)
{
	struct cgroup_subsys_state *css;
	int controller = group_controller(v1);
	char *set;

	if (!v1 || controller < 0) {
		if (btf && !have_probe_read)
			return p->cgroups->dfl_cgrp->kn->id;
		return BPF_CORE_READ(p, cgroups, dfl_cgrp, kn, id);
	}
	if (!have_probe_read)
		return 0;
	set = (char *)BPF_CORE_READ(p, cgroups) + bpf_core_field_offset(struct css_set, subsys);
	if (bpf_probe_read_kernel(&css, sizeof(css), set + controller * sizeof(css)))
		return 0;
	return BPF_CORE_READ(css, cgroup, kn, id);
}

/* Whether g is a group of the hierarchy v1. */
static __always_inline bool group_is_ours(struct cgroup *g, __u32 v1, const bool btf)
{
	int controller = group_controller(v1);

	if (!v1 || controller < 0)
		return !FOLLOW(btf, g, root, hierarchy_id);
	return FOLLOW(btf, g, root, subsys_mask) & (1U << controller);
}

#define TASK_WAKING 0x0200 /* only seen when the state is read too late: it is runnable again */

static __always_inline __u32 switch_state(__u64 *ctx, struct task_struct *prev, const bool btf)
{
	__u32 state;

	if (btf && have_prev_state)
		return (__u32)ctx[3];
	state = task_state(prev, btf);
	return state & TASK_WAKING ? 0 : state;
}

static __always_inline bool task_in_iowait(struct task_struct *task, const bool btf)
{
	if (btf)
		return BPF_CORE_READ_BITFIELD(task, in_iowait);
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait);
}

#define TS_COMPAT	0x0002	   /* arch/x86/include/asm/thread_info.h */
#define X32_SYSCALL_BIT 0x40000000 /* arch/x86/include/uapi/asm/unistd.h */
#define ARM64_TIF_32BIT (1UL << 22)
#define PPC_TIF_32BIT	(1UL << 4)

static __always_inline struct task_struct *current_task(const bool btf)
{
	return btf ? bpf_get_current_task_btf() : (struct task_struct *)bpf_get_current_task();
}

/* The key of system call nr of p, which is in it; ABI: 0 native, 1 32 bit, 2 x32. */
static __always_inline __u32 syscall_key(struct task_struct *p, long nr, const bool btf)
{
	__u32 abi = 0;

	if (machine == ARCH_X86 && (GET(btf, p, thread_info.status) & TS_COMPAT))
		abi = 1;
	else if (machine == ARCH_X86)
		abi = nr > 0 && (nr & X32_SYSCALL_BIT) ? 2 : 0;
	if (machine == ARCH_ARM64)
		abi = GET(btf, p, thread_info.flags) & ARM64_TIF_32BIT ? 1 : 0;
	if (machine == ARCH_PPC)
		abi = GET(btf, p, thread_info.flags) & PPC_TIF_32BIT ? 1 : 0;
	return CALL_KEY(CALL_SYSCALL, abi, nr);
}

/*
 * The same of the running task, for an event of sys_enter. On x86 nearly all can be told without
 * the task: the `syscall` instruction, which 32-bit calls do not come by, leaves the user's address
 * in rcx and his flags in r11 (Intel SDM, volume 2, SYSCALL).
 */
static __always_inline __u32 syscall_key_here(const __u64 *ctx, const bool btf)
{
	const struct pt_regs___x86 *regs = (const void *)ctx[0];

	if (machine == ARCH_X86 && btf && acct_likely(regs->cx == regs->ip) &&
	    acct_likely(regs->r11 == regs->flags) && acct_likely(ctx[1] <= KEY_NR_MASK))
		return CALL_KEY(CALL_SYSCALL, 0, 0) | (__u32)ctx[1];
	return syscall_key(current_task(btf), (long)ctx[1], btf);
}

/* 5.15, dd6e10fbd9fb ("bpf: Add bpf_task_pt_regs() helper") */
enum bpf_func_id___pt_regs {
	BPF_FUNC_task_pt_regs___pt_regs = 175,
};

/*
 * The number of the system call that an off-CPU task sits in, from its saved registers, or -1.
 * Traps and interrupts leave -1 in orig_ax (x86) and syscallno (arm64), another vector than 0xc00
 * or 0x3000 in trap (powerpc).
 */
static __always_inline long task_syscall(struct task_struct *p)
{
	void *regs;

	if (!bpf_core_enum_value_exists(enum bpf_func_id___pt_regs,
					BPF_FUNC_task_pt_regs___pt_regs))
		return -1;
	regs = (void *)bpf_task_pt_regs(p);
	if (machine == ARCH_X86)
		return ((struct pt_regs___x86 *)regs)->orig_ax;
	if (machine == ARCH_ARM64)
		return ((struct pt_regs___arm64 *)regs)->syscallno;
	if (machine == ARCH_PPC) {
		unsigned long trap = ((struct pt_regs___ppc *)regs)->trap & ~0xfUL;

		return trap == 0xc00 || trap == 0x3000
			       ? (long)((struct pt_regs___ppc *)regs)->gpr[0]
			       : -1;
	}
	return -1;
}

#endif /* COMPAT_BPF_H */
