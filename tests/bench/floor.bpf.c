// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor: what no tool that stamps both ends of something can go below. For each tracepoint a
 * program that reads the clock and does nothing with it, and one that does nothing at all.
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

#define PAIR(tp)                                                                                   \
	SEC("?tp_btf/" #tp)                                                                        \
	int clock_##tp(__u64 *ctx)                                                                 \
	{                                                                                          \
		return stamp();                                                                    \
	}                                                                                          \
	SEC("?tp_btf/" #tp)                                                                        \
	int empty_##tp(__u64 *ctx)                                                                 \
	{                                                                                          \
		return 0;                                                                          \
	}

PAIR(sys_enter)
PAIR(sys_exit)
PAIR(sched_switch)
PAIR(sched_wakeup)
PAIR(sched_process_fork)
PAIR(sched_process_exec)
PAIR(sched_process_exit)
PAIR(irq_handler_entry)
PAIR(irq_handler_exit)
PAIR(softirq_entry)
PAIR(softirq_exit)
