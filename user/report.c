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

void report__residual(struct report *r, int64_t d)
{
	int64_t have = r->quality.residual_ns;

	if ((d < 0 ? -d : d) > (have < 0 ? -have : have))
		r->quality.residual_ns = d;
}

void report__residual_of_cpus(struct report *r)
{
	for (size_t i = 0; i < r->nr_cpus; i++)
		report__residual(r, report__oncpu(r->cpus[i].ns) + r->cpus[i].ns[AC_IDLE] -
					    r->cpus[i].online_ns);
}

void report__add_call(struct rep_call *to, const struct rep_call *call)
{
	to->open += call->open;
	to->count += call->count;
	to->errors += call->errors;
	to->elapsed_ns += call->elapsed_ns;
	to->pending_ns += call->pending_ns;
	to->open_ns += call->open_ns;
	to->open_all_ns += call->open_all_ns;
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

static int task_cmp(const void *a, const void *b)
{
	const struct rep_task *x = a, *y = b;

	if (x->proc != y->proc)
		return x->proc < y->proc ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->exec != y->exec)
		return x->exec < y->exec ? -1 : 1;
	if (x->cgroup_id != y->cgroup_id)
		return x->cgroup_id < y->cgroup_id ? -1 : 1;
	if (!x->tid && strcmp(x->comm, y->comm)) /* "(ended)", "(other)" */
		return strcmp(x->comm, y->comm);
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static bool same_task(const struct rep_task *a, const struct rep_task *b)
{
	if (a->proc != b->proc || a->tid != b->tid || a->exec != b->exec ||
	    a->cgroup_id != b->cgroup_id)
		return false;
	if (!a->tid)
		return !strcmp(a->comm, b->comm);
	return a->part && b->part && a->start_ns == b->start_ns;
}

/* The accounts of a task in one group, if there are several, become one. */
static int merge_tasks(struct report *r)
{
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < r->nr_tasks; i++) {
		struct rep_task *t = &r->tasks[i], *last = n ? &r->tasks[n - 1] : NULL;

		if (last && !err && same_task(last, t))
			err = report__merge_task(last, t);
		else if (n++ != i)
			r->tasks[n - 1] = *t;
	}
	r->nr_tasks = n;
	return err;
}

int report__sort_tasks(struct report *r)
{
	int err;

	if (r->nr_tasks)
		qsort(r->tasks, r->nr_tasks, sizeof(*r->tasks), task_cmp);
	err = merge_tasks(r);
	for (size_t i = 0; i < r->nr_tasks; i++) {
		struct rep_proc *p = &r->procs[r->tasks[i].proc];

		if (!p->nr_tasks++)
			p->first_task = i;
	}
	return err;
}
