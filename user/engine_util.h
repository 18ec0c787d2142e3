/* SPDX-License-Identifier: GPL-2.0-only */
/* What every live engine tells of the host and of itself; knows no engine. */
#ifndef ENGINE_UTIL_H
#define ENGINE_UTIL_H

#include "report.h"

/*
 * "0-3,7" as /sys/devices/system/cpu/online has it, into online[n]; without that file all CPUs
 * count as online.
 */
void engine__online(bool *online, uint32_t n);
/* The same of CPUs that are there, and could be put online. */
void engine__present(bool *present, uint32_t n);

/* Name, kernel and CPUs of this machine; online[possible] as from engine__online(). */
void engine__host(struct report *r, uint32_t possible, const bool *online);

/* Whether the kernel is locked down to confidentiality: neither perf nor BPF may look into it. */
bool engine__locked_down(void);
/* Whether a machine of that architecture (as uname -m has it; NULL: this one) has hypervisor calls
 * that a tracepoint tells of. */
bool engine__has_hcalls(const char *arch);

/*
 * Whether process ids of this process are those of the kernel's own, initial pid namespace: what
 * events and accounts tell is by those.
 */
bool engine__initial_pids(void);

/* The loader's own memory, and its CPU time since *cpu_before (ns), which moves on. */
void engine__cost(struct report *r, uint64_t *cpu_before);

/*
 * Of the calling thread, as far as it is permitted. Niceness is not enough where groups of tasks
 * share the CPUs, autogroups among them: a group that has little to run on a CPU waits there for
 * seconds (calc_group_shares() in kernel/sched/fair.c gives it next to no weight), while tables
 * and rings fill up. So with `on` it comes before every ordinary task: SCHED_RR, which what it
 * forks does not inherit.
 */
void engine__realtime(bool on);

/*
 * For tests: UTILBPF_WITHOUT=tp_btf,task_storage,global_functions,probe_read does without what this
 * kernel has, as on one that lacks it; punctuality: as on a machine that holds us up.
 */
bool engine__without(const char *what);

/* The growth of a counter since the last call with *before. */
static inline uint64_t since_last(uint64_t *before, uint64_t now)
{
	uint64_t d = now - *before;

	*before = now;
	return d;
}

#endif /* ENGINE_UTIL_H */
