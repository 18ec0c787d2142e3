// SPDX-License-Identifier: GPL-2.0-only
/*
 * A report as bytes: see report_pack.h. Each function goes through the fields of one struct, for
 * both directions, so that the two cannot differ.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report_pack.h"

/* A field of any unsigned type. */
#define NUMBER(p, field)                                                                           \
	do {                                                                                       \
		uint64_t v_ = (uint64_t)(field);                                                   \
		pack__number(p, &v_);                                                              \
		(field) = (__typeof__(field))v_;                                                   \
	} while (0)
#define NUMBERS(p, array)                                                                          \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < sizeof(array) / sizeof(*(array)); i_++)                   \
			NUMBER(p, (array)[i_]);                                                    \
	} while (0)

static void put(struct pack *p, const void *v, size_t len)
{
	size_t cap = p->cap ? p->cap : 4096;
	char *bigger;

	while (cap < p->len + len)
		cap *= 2;
	if (cap != p->cap) {
		bigger = realloc(p->p, cap);
		if (!bigger) {
			p->err = -ENOMEM;
			return;
		}
		p->p = bigger;
		p->cap = cap;
	}
	memcpy(p->p + p->len, v, len);
	p->len += len;
}

/* Seven bits a byte, the low ones first; the top bit says that more follow. */
void pack__number(struct pack *p, uint64_t *v)
{
	unsigned char bytes[10];
	unsigned int shift = 0;
	uint64_t left = *v;
	size_t n = 0;

	if (p->err)
		return;
	if (!p->reads) {
		for (; left >= 128; left >>= 7)
			bytes[n++] = (unsigned char)(left | 128);
		bytes[n++] = (unsigned char)left;
		put(p, bytes, n);
		return;
	}
	*v = 0;
	do {
		if (p->at >= p->len || shift > 63) {
			p->err = -EPROTO;
			return;
		}
		*v |= (uint64_t)(p->p[p->at] & 127) << shift;
		shift += 7;
	} while (p->p[p->at++] & 128);
}

static void pack_signed(struct pack *p, int64_t *v)
{
	uint64_t u = (uint64_t)*v << 1 ^ (uint64_t)(*v >> 63);

	pack__number(p, &u);
	*v = (int64_t)(u >> 1 ^ -(u & 1));
}

static void pack_bytes(struct pack *p, void *v, size_t len)
{
	if (p->err)
		return;
	if (!p->reads) {
		put(p, v, len);
	} else if (p->len - p->at < len) {
		p->err = -EPROTO;
	} else {
		memcpy(v, p->p + p->at, len);
		p->at += len;
	}
}

/* Its length and one, 0 for NULL, then the text with its NUL. */
void pack__text(struct pack *p, const char **v)
{
	uint64_t len = *v && !p->reads ? strlen(*v) + 1 : 0;

	pack__number(p, &len);
	if (p->reads)
		*v = NULL;
	if (p->err || !len)
		return;
	if (!p->reads) {
		put(p, *v, len);
		return;
	}
	if (p->len - p->at < len || p->p[p->at + len - 1]) {
		p->err = -EPROTO;
		return;
	}
	*v = p->p + p->at;
	p->at += len;
}

/* A text in an array of its own. */
static void pack_chars(struct pack *p, char *v, size_t size)
{
	pack_bytes(p, v, size);
	v[size - 1] = '\0';
}

/* How many of `size` bytes follow; when they are read, room for them. NULL with *n 0 or p->err. */
static void *pack_array(struct pack *p, void *v, size_t *n, size_t size)
{
	uint64_t nr = *n;

	pack__number(p, &nr);
	if (!p->reads)
		return v;
	*n = 0;
	if (p->err || !nr)
		return NULL;
	if (nr > p->len - p->at) { /* each takes a byte at least */
		p->err = -EPROTO;
		return NULL;
	}
	v = calloc(nr, size);
	if (v)
		*n = nr;
	else
		p->err = -ENOMEM;
	return v;
}

static void pack_call(struct pack *p, struct rep_call *c)
{
	NUMBER(p, c->key);
	NUMBER(p, c->open);
	NUMBER(p, c->count);
	NUMBER(p, c->errors);
	NUMBER(p, c->elapsed_ns);
	NUMBER(p, c->pending_ns);
	NUMBER(p, c->open_ns);
	NUMBER(p, c->open_all_ns);
	NUMBER(p, c->oncpu_ns);
	NUMBER(p, c->stolen_ns);
	NUMBERS(p, c->off_ns);
	if (c->count) {
		NUMBER(p, c->min_ns);
		NUMBER(p, c->max_ns);
	} else {
		c->min_ns = UINT64_MAX;
		c->max_ns = 0;
	}
}

static void pack_calls(struct pack *p, struct rep_calls *c)
{
	c->v = pack_array(p, c->v, &c->n, sizeof(*c->v));
	for (size_t i = 0; i < c->n && !p->err; i++)
		pack_call(p, &c->v[i]);
}

static void pack_cpu(struct pack *p, struct rep_cpu *c)
{
	NUMBER(p, c->cpu);
	NUMBERS(p, c->ns);
	NUMBER(p, c->switches);
	NUMBER(p, c->online_ns);
}

static void pack_group(struct pack *p, struct rep_group *g)
{
	const char *container = p->reads ? NULL : g->container;

	NUMBER(p, g->id);
	pack__text(p, &g->path);
	pack__text(p, &container);
	if (p->reads) {
		g->container = container ? strdup(container) : NULL;
		if (!g->path)
			p->err = p->err ? p->err : -EPROTO;
	}
	NUMBERS(p, g->ns);
	NUMBER(p, g->tasks);
	NUMBER(p, g->alive);
	NUMBER(p, g->migrations);
	NUMBER(p, g->voluntary);
	NUMBER(p, g->involuntary);
	pack_calls(p, &g->calls);
}

static void pack_proc(struct pack *p, struct rep_proc *v)
{
	NUMBER(p, v->pid);
	NUMBER(p, v->exec);
	NUMBER(p, v->start_ns);
	pack_chars(p, v->comm, sizeof(v->comm));
	NUMBER(p, v->uid);
	NUMBER(p, v->other);
	NUMBER(p, v->kthread);
	NUMBER(p, v->cgroup_id);
	pack__text(p, &v->cgroup);
	NUMBERS(p, v->ns);
	NUMBER(p, v->tasks);
	NUMBER(p, v->alive);
	NUMBER(p, v->migrations);
	NUMBER(p, v->voluntary);
	NUMBER(p, v->involuntary);
	pack_calls(p, &v->calls);
	NUMBER(p, v->first_task);
	NUMBER(p, v->nr_tasks);
}

static void pack_task(struct pack *p, struct rep_task *t)
{
	NUMBER(p, t->tid);
	NUMBER(p, t->pid);
	NUMBER(p, t->exec);
	pack_chars(p, t->comm, sizeof(t->comm));
	NUMBER(p, t->cgroup_id);
	pack__text(p, &t->cgroup);
	NUMBER(p, t->kthread);
	NUMBER(p, t->other);
	NUMBER(p, t->exited);
	NUMBER(p, t->part);
	NUMBER(p, t->uid);
	NUMBER(p, t->start_ns);
	NUMBER(p, t->end_ns);
	NUMBER(p, t->from_ns);
	pack__text(p, &t->state);
	NUMBERS(p, t->ns);
	NUMBER(p, t->migrations);
	NUMBER(p, t->voluntary);
	NUMBER(p, t->involuntary);
	t->cpus = pack_array(p, t->cpus, &t->nr_cpus, sizeof(*t->cpus));
	for (size_t i = 0; i < t->nr_cpus && !p->err; i++) {
		NUMBER(p, t->cpus[i].cpu);
		NUMBERS(p, t->cpus[i].ns);
	}
	pack_calls(p, &t->calls);
	NUMBER(p, t->proc);
}

static void pack_head(struct pack *p, struct report *r)
{
	NUMBER(p, r->level);
	pack__text(p, &r->engine);
	pack__text(p, &r->reason);
	pack__text(p, &r->selection);
	pack_chars(p, r->host.name, sizeof(r->host.name));
	pack_chars(p, r->host.kernel, sizeof(r->host.kernel));
	pack_chars(p, r->host.arch, sizeof(r->host.arch));
	NUMBER(p, r->host.cpus_online);
	NUMBER(p, r->host.cpus_possible);
	NUMBER(p, r->index);
	NUMBER(p, r->start_ns);
	NUMBER(p, r->end_ns);
	NUMBER(p, r->start_wall.tv_sec);
	NUMBER(p, r->start_wall.tv_nsec);
	NUMBER(p, r->absent);
	NUMBER(p, r->selected);
	for (size_t i = 0; i < sizeof(r->notes) / sizeof(*r->notes); i++)
		pack__text(p, &r->notes[i]);
}

static void pack_quality(struct pack *p, struct report *r)
{
	NUMBER(p, r->quality.lost_events);
	NUMBER(p, r->quality.missed_runs);
	NUMBER(p, r->quality.dropped_tasks);
	NUMBER(p, r->quality.dropped_calls);
	NUMBER(p, r->quality.out_of_order);
	NUMBER(p, r->quality.unmatched);
	NUMBER(p, r->quality.folded_tasks);
	pack_signed(p, &r->quality.residual_ns);
	NUMBER(p, r->quality.unknown_ns);
	NUMBER(p, r->cost.loader_cpu_ns);
	NUMBER(p, r->cost.loader_rss_bytes);
	NUMBER(p, r->cost.map_bytes);
	NUMBER(p, r->cost.bpf_runs);
	NUMBER(p, r->cost.have_run_ns);
	NUMBER(p, r->cost.bpf_run_ns);
}

static void pack_system(struct pack *p, struct report *r)
{
	NUMBERS(p, r->sys_ns);
	NUMBERS(p, r->sys_cpu_ns);
	NUMBER(p, r->sys_tasks);
	NUMBER(p, r->sys_procs);
	NUMBER(p, r->sys_groups);
	NUMBER(p, r->sys_switches);
	NUMBER(p, r->sys_alive);
	pack_calls(p, &r->sys_calls);
	pack_calls(p, &r->sel_calls);
}

/* What of the numbers leads into the arrays must do so. */
static void check(struct pack *p, const struct report *r)
{
	for (size_t i = 0; i < r->nr_procs && !p->err; i++)
		if (r->procs[i].first_task > r->nr_tasks ||
		    r->procs[i].nr_tasks > r->nr_tasks - r->procs[i].first_task)
			p->err = -EPROTO;
	for (size_t i = 0; i < r->nr_tasks && !p->err; i++)
		if (r->tasks[i].proc >= r->nr_procs || !r->tasks[i].state || !r->tasks[i].cgroup)
			p->err = -EPROTO;
	for (size_t i = 0; i < r->nr_procs && !p->err; i++)
		if (!r->procs[i].cgroup)
			p->err = -EPROTO;
	if (!p->err && (r->level > LEVEL_TASK || (r->end_ns != r->start_ns && !r->engine)))
		p->err = -EPROTO;
}

void pack__report(struct pack *p, struct report *r)
{
	if (p->reads)
		memset(r, 0, sizeof(*r));
	pack_head(p, r);
	pack_quality(p, r);
	pack_system(p, r);
	r->cpus = pack_array(p, r->cpus, &r->nr_cpus, sizeof(*r->cpus));
	for (size_t i = 0; i < r->nr_cpus && !p->err; i++)
		pack_cpu(p, &r->cpus[i]);
	r->groups = pack_array(p, r->groups, &r->nr_groups, sizeof(*r->groups));
	for (size_t i = 0; i < r->nr_groups && !p->err; i++)
		pack_group(p, &r->groups[i]);
	r->procs = pack_array(p, r->procs, &r->nr_procs, sizeof(*r->procs));
	for (size_t i = 0; i < r->nr_procs && !p->err; i++)
		pack_proc(p, &r->procs[i]);
	r->tasks = pack_array(p, r->tasks, &r->nr_tasks, sizeof(*r->tasks));
	for (size_t i = 0; i < r->nr_tasks && !p->err; i++)
		pack_task(p, &r->tasks[i]);
	if (p->reads)
		check(p, r);
}
