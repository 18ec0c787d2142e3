// SPDX-License-Identifier: GPL-2.0-only
/* Ownership of a report: what collect.c allocates is freed here. */
#include <stdlib.h>

#include "report.h"

void report__free(struct report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr_groups; i++) {
		free((char *)r->groups[i].container);
		free(r->groups[i].calls.v);
	}
	for (size_t i = 0; i < r->nr_procs; i++)
		free(r->procs[i].calls.v);
	for (size_t i = 0; i < r->nr_tasks; i++) {
		free(r->tasks[i].calls.v);
		free(r->tasks[i].cpus);
	}
	free(r->sys_calls.v);
	free(r->sel_calls.v);
	free(r->cpus);
	free(r->groups);
	free(r->procs);
	free(r->tasks);
}
