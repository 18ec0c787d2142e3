// SPDX-License-Identifier: GPL-2.0-only
/* Which rings there are: see perf_mode.h. It opens nothing. */
#include <string.h>

#include "perf_mode.h"

/* More than that many threads take more descriptors and rings than those of all CPUs do. */
#define THREADS_MOST 32

void perf_mode__choose(struct perf_mode *m, const struct opts *o, pid_t command)
{
	uint32_t kinds = o->sel.kinds;

	memset(m, 0, sizeof(*m));
	m->machine = o->events;
	m->sel = &o->sel;
	m->command = command;
	if (o->record) /* a recording is of everything, for questions that nobody has yet */
		return;
	if (kinds & SELK_CPU)
		m->rings = RINGS_CPUS;
	else if (!(o->events & EV_SYSCALLS))
		return;
	else if (command > 0)
		m->rings = RINGS_TREE;
	/* Descendants that are there already would need rings of their own. */
	else if ((kinds & SELK_TID) && !(kinds & SELK_FOLLOW) && o->sel.tids.n <= THREADS_MOST)
		m->rings = RINGS_THREADS;
	if (m->rings == RINGS_TREE || m->rings == RINGS_THREADS) {
		m->tasks = EV_SYSCALLS;
		m->machine &= ~EV_SYSCALLS;
	}
}

uint32_t perf_mode__on_cpu(const struct perf_mode *m, uint32_t cpu)
{
	if (m->rings == RINGS_CPUS && !sel__cpu(m->sel, cpu))
		return EV_SCHED;
	return m->machine;
}

const char *perf_mode__name(const struct perf_mode *m)
{
	static const char *const names[] = {
		[RINGS_SYSTEM] = "system wide",
		[RINGS_CPUS] = "of the selected CPUs",
		[RINGS_THREADS] = "of the selected threads",
		[RINGS_TREE] = "of COMMAND, inherited",
	};

	return names[m->rings];
}
