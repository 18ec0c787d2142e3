// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor: what no tool that stamps both ends of a system call can go below. Two programs that
 * read the clock and do nothing with it, and two that do nothing at all.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

static __always_inline int stamp(void)
{
	__u64 now = bpf_ktime_get_ns();

	/* the time counts as used: the call stays */
	__asm__ volatile("" ::"r"(now));
	return 0;
}

SEC("?tp_btf/sys_enter")
int floor_enter(__u64 *ctx)
{
	return stamp();
}

SEC("?tp_btf/sys_exit")
int floor_exit(__u64 *ctx)
{
	return stamp();
}

SEC("?tp_btf/sched_switch")
int floor_switch(__u64 *ctx)
{
	return stamp();
}

SEC("?tp_btf/sched_wakeup")
int floor_wakeup(__u64 *ctx)
{
	return stamp();
}

SEC("?tp_btf/sys_enter")
int empty_enter(__u64 *ctx)
{
	return 0;
}

SEC("?tp_btf/sys_exit")
int empty_exit(__u64 *ctx)
{
	return 0;
}
