// SPDX-License-Identifier: GPL-2.0-only
/* Ownership of a report: what collect.c allocates is freed here, and merged where it must be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static int merge_cpus(struct rep_task *to, const struct rep_task *from)
{
	struct rep_task_cpu *v = realloc(to->cpus, (to->nr_cpus + from->nr_cpus + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	to->cpus = v;
	for (size_t i = 0, k; i < from->nr_cpus; i++) {
		for (k = 0; k < to->nr_cpus && v[k].cpu != from->cpus[i].cpu; k++)
			;
		if (k == to->nr_cpus) {
			v[to->nr_cpus++] = from->cpus[i];
			continue;
		}
		for (int a = 0; a < AC_NR; a++)
			v[k].ns[a] += from->cpus[i].ns[a];
	}
	return 0;
}

void report__add_call(struct rep_call *to, const struct rep_call *call)
{
	to->open += call->open;
	to->count += call->count;
	to->errors += call->errors;
	to->elapsed_ns += call->elapsed_ns;
	to->pending_ns += call->pending_ns;
	to->oncpu_ns += call->oncpu_ns;
	to->stolen_ns += call->stolen_ns;
	if (call->count && call->min_ns < to->min_ns)
		to->min_ns = call->min_ns;
	if (call->count && call->max_ns > to->max_ns)
		to->max_ns = call->max_ns;
	for (int k = 0; k < AC_OFF_NR; k++)
		to->off_ns[k] += call->off_ns[k];
}

int report__call_cmp(const void *a, const void *b)
{
	const struct rep_call *x = a, *y = b;
	uint64_t tx = x->elapsed_ns + x->pending_ns, ty = y->elapsed_ns + y->pending_ns;

	if (tx != ty)
		return tx > ty ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int merge_calls(struct rep_calls *to, const struct rep_calls *from)
{
	struct rep_call *v = realloc(to->v, (to->n + from->n + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	to->v = v;
	for (size_t i = 0, k; i < from->n; i++) {
		for (k = 0; k < to->n && v[k].key != from->v[i].key; k++)
			;
		if (k == to->n)
			v[to->n++] = from->v[i];
		else
			report__add_call(&v[k], &from->v[i]);
	}
	qsort(v, to->n, sizeof(*v), report__call_cmp);
	return 0;
}

int report__merge_task(struct rep_task *to, struct rep_task *from)
{
	int err = merge_cpus(to, from);

	if (!err)
		err = merge_calls(&to->calls, &from->calls);
	for (int a = 0; a < AC_NR; a++)
		to->ns[a] += from->ns[a];
	to->migrations += from->migrations;
	to->voluntary += from->voluntary;
	to->involuntary += from->involuntary;
	to->state = from->state;
	to->exited = from->exited;
	to->end_ns = from->end_ns;
	memcpy(to->comm, from->comm, sizeof(to->comm));
	free(from->cpus);
	free(from->calls.v);
	return err;
}
