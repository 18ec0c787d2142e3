/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types, as far as utilbpf reads them: written by hand, architecture-neutral, no
 * kernel BTF needed to build. CO-RE finds the real offsets when the programs are loaded, so only
 * names and types of the fields matter here. A suffix after ___ marks a flavour of the same type
 * as another kernel or architecture has it.
 */
#ifndef VMLINUX_H
#define VMLINUX_H

#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef int pid_t;

/* arch/x86/include/asm/thread_info.h: status has TS_COMPAT; arm64, powerpc: flags has TIF_32BIT */
struct thread_info {
	unsigned long flags;
	__u32 status;
	__u32 cpu;
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	unsigned int subsys_mask;
	int hierarchy_id; /* 0: the unified one */
};

/* before 5.5 the id was a union; utilbpf's programs need later features anyway */
struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

enum cgroup_subsys_id {
	cpu_cgrp_id,
	cpuacct_cgrp_id,
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state; /* 5.14: 2f064a59a11f ("sched: Change task_struct::state") */
	void *stack;
	unsigned int flags;
	int on_cpu;
	struct sched_entity se;
	pid_t pid;
	pid_t tgid;
	unsigned int in_iowait : 1;
	struct task_struct *group_leader;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_time;
	struct task_struct *real_parent;
	const struct cred *cred;
	struct css_set *cgroups;
	char comm[16];
};

struct task_struct___old {
	volatile long state;
};

struct task_struct___cpu {
	unsigned int cpu;
};

/* x86 */
struct pt_regs___x86 {
	unsigned long r11;
	unsigned long cx;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long flags;
};

/* arm64 */
struct pt_regs___arm64 {
	__s32 syscallno;
};

/* powerpc */
struct pt_regs___ppc {
	unsigned long gpr[32];
	unsigned long trap;
};

struct pt_regs;

/* include/linux/cpuhotplug.h; the values are the kernel's own */
enum cpuhp_state {
	CPUHP_BRINGUP_CPU = 1,
	CPUHP_TEARDOWN_CPU = 2,
};

struct bpf_iter_meta {
	void *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* include/uapi/linux/bpf.h, which bpf_helpers.h needs by name only */
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
};

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_F_NO_PREALLOC = 1U << 0,
	BPF_F_MMAPABLE = 1U << 10,
};

enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1U << 0,
};

#endif /* VMLINUX_H */
