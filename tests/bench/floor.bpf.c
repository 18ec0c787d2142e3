// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor: what no tool that stamps both ends of something can go below. For each tracepoint a
 * program that reads the clock and does nothing with it, and one that does nothing at all. And for
 * system calls one that also finds the records that a sum per task is kept in: the CPU's, which
 * says who runs there, and the task's, in a table that is mapped and grows with the machine.
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

/* As many and as large as utilbpf's. */
#define CPUS	   128
#define CPU_BYTES  832
#define TASKS	   4096
#define TASK_BYTES 592

struct cpu_record {
	__u64 mark;
	__u32 slot, moves;
};

struct task_record {
	__u64 window;
	char rest[TASK_BYTES - 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TASKS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct task_record);
} tasks SEC(".maps");

char cpus[CPUS][CPU_BYTES] __attribute__((aligned(64)));
volatile __u32 window, moves; /* published */

/* The task is told by its registers' place; the clock comes in between, as in utilbpf. */
static __always_inline int find(const __u64 *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct task_record *t;
	struct cpu_record *c;
	__u64 now;

	if (cpu >= CPUS)
		return 0;
	c = (struct cpu_record *)cpus[cpu];
	if (c->mark != ctx[0]) {
		c->mark = ctx[0];
		c->slot = cpu;
	}
	t = bpf_map_lookup_elem(&tasks, &c->slot);
	now = bpf_ktime_get_ns();
	if (t && ((__u32)t->window != window || c->moves != moves))
		t->window = now;
	__asm__ volatile("" ::"r"(now));
	return 0;
}

SEC("?tp_btf/sys_enter")
int find_sys_enter(__u64 *ctx)
{
	return find(ctx);
}

SEC("?tp_btf/sys_exit")
int find_sys_exit(__u64 *ctx)
{
	return find(ctx);
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
