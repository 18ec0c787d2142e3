/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which rings the perf engine opens: the four modes of the kernel's documentation
 * (Documentation/userspace-api/perf_ring_buffer.rst), chosen by what is selected.
 *
 * What differs is whose system calls are recorded, which are by far the most events. The
 * scheduler's events are always recorded on all CPUs, and interrupts on those whose rows are told:
 * without them nobody knows when a task was woken, by whom it was interrupted, where else it ran,
 * nor what the CPUs' rows are. So no mode makes a report less than it would be.
 */
#ifndef PERF_MODE_H
#define PERF_MODE_H

#include <stdint.h>
#include <sys/types.h>

#include "opts.h"

enum rings {
	RINGS_SYSTEM,  /* system wide: everything on every CPU */
	RINGS_CPUS,    /* -C: everything on these CPUs, the scheduler's events on the others */
	RINGS_THREADS, /* -t: system calls from a ring of each thread */
	RINGS_TREE,    /* COMMAND: system calls of it and of all that it forks, by inheritance */
};

struct perf_mode {
	enum rings rings;
	uint32_t machine; /* EV_* that are recorded on a CPU, whoever runs there */
	uint32_t tasks;	  /* EV_* that are recorded of chosen tasks only */
	const struct selection *sel;
	pid_t command;
};

/* command: the process that will exec COMMAND; 0: none. o must outlive m. */
void perf_mode__choose(struct perf_mode *m, const struct opts *o, pid_t command);
/* EV_* that are recorded on that CPU, whoever runs there. */
uint32_t perf_mode__on_cpu(const struct perf_mode *m, uint32_t cpu);
/* In a word or two, for -v. */
const char *perf_mode__name(const struct perf_mode *m);

#endif /* PERF_MODE_H */
