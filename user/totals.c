// SPDX-License-Identifier: GPL-2.0-only
/* See totals.h. Every figure of a report is summed here and nowhere else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ACCT_READER
#include "../bpf/acct.h"
#include "totals.h"

struct bag_call {
	uint32_t entity;
	struct rep_call call;
};

static void *grow(struct totals *tot, void *v, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap : 16;
	void *p;

	if (need <= *cap)
		return v;
	while (n < need)
		n *= 2;
	p = realloc(v, n * size);
	if (!p) {
		tot->err = -ENOMEM;
		return NULL;
	}
	memset((char *)p + *cap * size, 0, (n - *cap) * size);
	*cap = n;
	return p;
}

/* Makes room for one more element of an array and zeroes it; NULL: no memory, and tot->err is set.
 */
#define GROW(tot, v, n, cap)                                                                       \
	({                                                                                         \
		void *p_ = grow(tot, v, &(cap), (n) + 1, sizeof(*(v)));                            \
		if (p_) {                                                                          \
			(v) = p_;                                                                  \
			memset(&(v)[n], 0, sizeof(*(v)));                                          \
		}                                                                                  \
		p_ ? &(v)[(n)++] : NULL;                                                           \
	})

static void bag_free(struct bag *b)
{
	hash__free(&b->hash);
	free(b->v);
	memset(b, 0, sizeof(*b));
}

/* ---- adding up ---- */

/* The entity's call of that key, made where there is none. NULL: no memory, and tot->err is set. */
static struct rep_call *bag_call(struct totals *tot, struct bag *b, uint32_t entity, uint32_t key)
{
	uint32_t i = hash__get(&b->hash, entity, key, b->n);

	if (i == HASH_NONE) {
		tot->err = -ENOMEM;
		return NULL;
	}
	if (i == b->n) {
		struct bag_call *fresh = GROW(tot, b->v, b->n, b->cap);

		if (!fresh)
			return NULL;
		fresh->entity = entity;
		fresh->call.key = key;
		fresh->call.min_ns = UINT64_MAX;
	}
	return &b->v[i].call;
}

static void bag_add(struct totals *tot, struct bag *b, uint32_t entity, const struct rep_call *call)
{
	struct rep_call *to = bag_call(tot, b, entity, call->key);

	if (!to)
		return;
	report__add_call(to, call);
}

void totals__call(struct totals *tot, const struct who *w, const struct rep_call *call)
{
	bag_add(tot, &tot->sys_bag, 0, call);
	if (w->cpu_only)
		return;
	if (tot->selected && w->counted)
		bag_add(tot, &tot->sel_bag, 0, call);
	if (w->group != HASH_NONE)
		bag_add(tot, &tot->group_bag, w->group, call);
	if (w->proc != HASH_NONE)
		bag_add(tot, &tot->proc_bag, w->proc, call);
	if (w->task != HASH_NONE)
		bag_add(tot, &tot->task_bag, w->task, call);
}

static void held_add(struct totals *tot, uint32_t proc)
{
	struct held *h = &tot->held[proc];
	struct who w = {.counted = 1, .group = h->group, .proc = proc, .task = HASH_NONE};

	if (h->call.open)
		totals__call(tot, &w, &h->call);
	h->call.open = 0;
}

void totals__open(struct totals *tot, const struct who *w, const struct rep_call *call)
{
	struct held *h;

	if (w->cpu_only || w->proc >= tot->cap_held || w->task != HASH_NONE) {
		totals__call(tot, w, call);
		return;
	}
	h = &tot->held[w->proc];
	if (h->call.open && h->call.key == call->key && h->group == w->group) {
		h->call.open += call->open;
		h->call.pending_ns += call->pending_ns;
		h->call.open_ns += call->open_ns;
		h->call.open_all_ns += call->open_all_ns;
		return;
	}
	held_add(tot, w->proc);
	h->group = w->group;
	h->call = *call;
}

static void sums_add(uint64_t *to, const uint64_t *ns)
{
	for (int i = 0; i < AC_NR; i++)
		to[i] += ns[i];
}

static struct rep_cpu *cpu_row(struct totals *tot, uint32_t cpu)
{
	return cpu < tot->r.nr_cpus ? &tot->r.cpus[cpu] : NULL;
}

static void task_cpu_add(struct totals *tot, uint32_t task, uint32_t cpu, const uint64_t *ns)
{
	struct rep_task *t = &tot->r.tasks[task];
	struct rep_task_cpu *tc = NULL;

	for (size_t i = 0; i < t->nr_cpus; i++)
		if (tot->task_cpus[tot->first_cpu[task] + i].cpu == cpu)
			tc = &tot->task_cpus[tot->first_cpu[task] + i];
	if (!tc) {
		tc = GROW(tot, tot->task_cpus, tot->nr_task_cpus, tot->cap_task_cpus);
		if (!tc)
			return;
		tc->cpu = cpu;
		t->nr_cpus++;
	}
	sums_add(tc->ns, ns);
}

void totals__sums(struct totals *tot, const struct who *w, uint32_t cpu, const struct acct_sums *s)
{
	struct rep_cpu *row = cpu_row(tot, cpu);
	uint64_t ns[AC_NR], any = 0;

	for (int i = 0; i < AC_NR; i++)
		any |= ns[i] = s->ns[i];
	tot->charged += report__oncpu(ns) + report__offcpu(ns);
	if (cpu < tot->nskip && tot->skip[cpu])
		return;
	if (row) {
		for (int i = 0; i < AC_ONCPU_NR; i++)
			row->ns[i] += ns[i];
		row->ns[AC_IDLE] += ns[AC_IDLE];
		row->switches += s->voluntary + s->involuntary;
	}
	tot->r.sys_switches += s->voluntary + s->involuntary;
	if (w->cpu_only)
		return;
	sums_add(tot->r.sys_ns, ns);
	if (w->group != HASH_NONE) {
		struct rep_group *g = &tot->r.groups[w->group];

		sums_add(g->ns, ns);
		g->voluntary += s->voluntary;
		g->involuntary += s->involuntary;
	}
	if (w->proc != HASH_NONE) {
		struct rep_proc *p = &tot->r.procs[w->proc];

		sums_add(p->ns, ns);
		p->voluntary += s->voluntary;
		p->involuntary += s->involuntary;
	}
	if (w->task != HASH_NONE) {
		struct rep_task *t = &tot->r.tasks[w->task];

		sums_add(t->ns, ns);
		t->voluntary += s->voluntary;
		t->involuntary += s->involuntary;
		if (any)
			task_cpu_add(tot, w->task, cpu, ns);
	}
}

void totals__off(struct totals *tot, const struct who *w, uint32_t cpu, uint8_t cls, uint64_t ns)
{
	if (cpu < tot->nskip && tot->skip[cpu])
		return;
	tot->r.sys_ns[cls] += ns;
	if (w->group != HASH_NONE)
		tot->r.groups[w->group].ns[cls] += ns;
	if (w->proc != HASH_NONE)
		tot->r.procs[w->proc].ns[cls] += ns;
	if (w->task != HASH_NONE) {
		uint64_t all[AC_NR] = {[0] = 0};

		all[cls] = ns;
		tot->r.tasks[w->task].ns[cls] += ns;
		if (ns)
			task_cpu_add(tot, w->task, cpu, all);
	}
}

/* ---- entities ---- */

static uint32_t group_find(struct totals *tot, uint64_t cgroup)
{
	uint64_t key;
	const char *path = names__cgroup_fold(tot->names, cgroup, tot->depth, &key);
	uint32_t i = hash__get(&tot->groups, key, 0, tot->r.nr_groups);
	struct rep_group *g;

	if (i == HASH_NONE) {
		tot->err = -ENOMEM;
		return i;
	}
	if (i < tot->r.nr_groups) {
		/* The group itself, among those that are added up in it. */
		if (key != cgroup && !tot->r.groups[i].id &&
		    !strcmp(names__cgroup(tot->names, cgroup), path))
			tot->r.groups[i].id = cgroup;
		return i;
	}
	g = GROW(tot, tot->r.groups, tot->r.nr_groups, tot->cap_groups);
	if (!g)
		return HASH_NONE;
	g->path = path;
	if (key == cgroup || !strcmp(names__cgroup(tot->names, cgroup), path))
		g->id = cgroup;
	return i;
}

static uint32_t group_of(struct totals *tot, uint64_t cgroup)
{
	if (tot->last_group == HASH_NONE || tot->last_cgroup != cgroup) {
		tot->last_group = group_find(tot, cgroup);
		tot->last_cgroup = cgroup;
	}
	return tot->last_group;
}

static void comm_copy(char *to, const char *from)
{
	memcpy(to, from, ACCT_COMM_LEN);
	to[ACCT_COMM_LEN] = 0;
}

/*
 * True when the task of id is met for the first time in this window, in this group (0: in any). One
 * that was moved, or not selected all the time, has several accounts.
 */
static bool first_seen(struct totals *tot, const struct acct_ident *id, uint64_t group)
{
	uint64_t task = (uint64_t)id->tid << 32 | id->exec;
	uint32_t next = tot->seen.used, at;

	if (!(id->sel & (SEL_CAME | SEL_LEFT)))
		return true;
	at = hash__get(&tot->seen, task, id->start ^ group * 0x9e3779b97f4a7c15ULL, next);
	if (at == HASH_NONE)
		tot->err = -ENOMEM;
	return at == next;
}

/* Below LEVEL_PROCESS they are only counted: a window may see millions. */
static uint32_t proc_of(struct totals *tot, const struct acct_ident *id, bool other, bool kthread)
{
	bool told = tot->level >= LEVEL_PROCESS;
	uint32_t i = hash__get(&tot->procs, id->tgid, id->leader_start,
			       told ? tot->r.nr_procs : tot->procs.used);
	struct rep_proc *p;

	if (i == HASH_NONE)
		tot->err = -ENOMEM;
	if (i == HASH_NONE || !told)
		return HASH_NONE;
	if (i == tot->r.nr_procs) {
		struct held *held = grow(tot, tot->held, &tot->cap_held, i + 1, sizeof(*held));

		if (!held)
			return HASH_NONE;
		tot->held = held;
		p = GROW(tot, tot->r.procs, tot->r.nr_procs, tot->cap_procs);
		if (!p)
			return HASH_NONE;
		p->pid = id->tgid;
		p->start_ns = id->leader_start;
		p->uid = id->uid;
		p->other = other;
		p->kthread = kthread;
		p->cgroup_id = id->cgroup;
		p->cgroup = names__cgroup(tot->names, id->cgroup);
		comm_copy(p->comm, id->comm);
	} else {
		p = &tot->r.procs[i];
	}
	/* The leader names the process, in the last image that it ran. */
	if (id->tid == id->tgid && id->exec >= p->exec) {
		p->exec = id->exec;
		comm_copy(p->comm, id->comm);
		p->cgroup_id = id->cgroup;
		p->cgroup = names__cgroup(tot->names, id->cgroup);
	}
	return i;
}

const char *totals__state(uint8_t cls)
{
	static const char *const off[] = {"wait", "sleep", "blocked", "iowait", "stopped"};

	if (cls == AC_NONE)
		return "exited";
	return cls >= AC_WAIT && cls <= AC_STOPPED ? off[cls - AC_WAIT] : "running";
}

static uint32_t task_new(struct totals *tot, const struct acct_ident *id,
			 const struct acct_state *st)
{
	uint32_t i = tot->r.nr_tasks;
	struct rep_task *t = GROW(tot, tot->r.tasks, tot->r.nr_tasks, tot->cap_tasks);
	size_t *first;

	if (!t)
		return HASH_NONE;
	first = grow(tot, tot->first_cpu, &tot->cap_first_cpu, i + 1, sizeof(*tot->first_cpu));
	if (!first)
		return HASH_NONE;
	tot->first_cpu = first;
	first[i] = tot->nr_task_cpus;
	t->tid = id->tid;
	t->pid = id->tgid;
	t->exec = id->exec;
	comm_copy(t->comm, id->comm);
	t->cgroup_id = id->cgroup;
	t->cgroup = names__cgroup(tot->names, id->cgroup);
	t->kthread = st->flags & AS_KTHREAD;
	t->uid = id->uid;
	t->start_ns = id->start;
	t->exited = id->end && !(id->sel & SEL_LEFT);
	t->end_ns = t->exited ? id->end : 0;
	t->part = id->sel & (SEL_CAME | SEL_LEFT);
	t->from_ns = id->from;
	return i;
}

struct who totals__who(struct totals *tot, const struct acct_ident *id, const struct acct_state *st,
		       bool other, uint32_t n)
{
	struct who w = {.group = HASH_NONE, .proc = HASH_NONE, .task = HASH_NONE};
	bool first = first_seen(tot, id, 0);

	if (tot->selected && !other && (id->sel & SEL_ARMED))
		return w;
	tot->r.sys_tasks += first ? n : 0;
	w.group = group_of(tot, id->cgroup);
	if (w.group != HASH_NONE)
		tot->r.groups[w.group].tasks += first_seen(tot, id, id->cgroup + 1) ? n : 0;
	w.counted = 1;
	w.proc = proc_of(tot, id, other && !id->tgid, st->flags & AS_KTHREAD);
	if (w.proc != HASH_NONE)
		tot->r.procs[w.proc].tasks += first ? n : 0;
	if (tot->level >= LEVEL_TASK)
		w.task = task_new(tot, id, st);
	if (w.task != HASH_NONE) {
		tot->r.tasks[w.task].proc = w.proc;
		tot->r.tasks[w.task].other = other;
	}
	return w;
}

void totals__alive(struct totals *tot, const struct who *w)
{
	if (!w->counted)
		return;
	tot->r.sys_alive++;
	if (w->proc != HASH_NONE)
		tot->r.procs[w->proc].alive++;
	if (w->group != HASH_NONE)
		tot->r.groups[w->group].alive++;
}

void totals__residual(struct totals *tot, int64_t d)
{
	if (!tot->loose)
		report__residual(&tot->r, d);
}

/* ---- the end of a window ---- */

static int call_cmp(const void *a, const void *b)
{
	const struct bag_call *x = a, *y = b;

	if (x->entity != y->entity)
		return x->entity < y->entity ? -1 : 1;
	return report__call_cmp(&x->call, &y->call);
}

/* Hands the calls of a bag to their entities; each gets an array of its own. */
static void bag_give(struct totals *tot, struct bag *b, void *first, size_t stride)
{
	if (b->n)
		qsort(b->v, b->n, sizeof(*b->v), call_cmp);
	for (size_t i = 0, j; i < b->n; i = j) {
		struct rep_calls *to = (void *)((char *)first + b->v[i].entity * stride);

		for (j = i; j < b->n && b->v[j].entity == b->v[i].entity; j++)
			;
		to->v = calloc(j - i, sizeof(*to->v));
		if (!to->v) {
			tot->err = -ENOMEM;
			return;
		}
		to->n = j - i;
		for (size_t k = 0; k < to->n; k++)
			to->v[k] = b->v[i + k].call;
	}
}

static void give_all(struct totals *tot)
{
	struct report *r = &tot->r;

	bag_give(tot, &tot->sys_bag, &r->sys_calls, 0);
	bag_give(tot, &tot->sel_bag, &r->sel_calls, 0);
	if (r->nr_groups)
		bag_give(tot, &tot->group_bag, &r->groups[0].calls, sizeof(*r->groups));
	if (r->nr_procs)
		bag_give(tot, &tot->proc_bag, &r->procs[0].calls, sizeof(*r->procs));
	if (r->nr_tasks)
		bag_give(tot, &tot->task_bag, &r->tasks[0].calls, sizeof(*r->tasks));
	for (size_t i = 0; i < r->nr_tasks && !tot->err; i++) {
		struct rep_task *t = &r->tasks[i];

		t->cpus = calloc(t->nr_cpus + 1, sizeof(*t->cpus));
		if (!t->cpus)
			tot->err = -ENOMEM;
		else if (t->nr_cpus)
			memcpy(t->cpus, &tot->task_cpus[tot->first_cpu[i]],
			       t->nr_cpus * sizeof(*t->cpus));
	}
	if (!tot->err)
		tot->err = report__sort_tasks(r);
}

int totals__cpus(struct totals *tot, uint32_t n)
{
	if (!tot->skip)
		tot->skip = calloc(n, sizeof(*tot->skip));
	if (!tot->skip)
		return -ENOMEM;
	tot->nskip = n;
	if (tot->r.cpus)
		return 0;
	tot->r.cpus = calloc(n, sizeof(*tot->r.cpus));
	if (!tot->r.cpus)
		return -ENOMEM;
	tot->r.nr_cpus = n;
	for (uint32_t i = 0; i < n; i++)
		tot->r.cpus[i].cpu = i;
	return 0;
}

void totals__finish(struct totals *tot, const bool *online, uint64_t elapsed)
{
	struct report *r = &tot->r;
	size_t n = 0;

	for (size_t i = 0; i < r->nr_procs && i < tot->cap_held; i++)
		held_add(tot, i);
	for (size_t i = 0; i < r->nr_cpus; i++) {
		struct rep_cpu row = r->cpus[i];
		uint64_t sum = report__oncpu(row.ns) + row.ns[AC_IDLE];

		if (tot->skip[i] || (!online[i] && !sum))
			continue;
		row.online_ns = online[i] ? elapsed : sum;
		totals__residual(tot, sum - row.online_ns);
		sums_add(r->sys_cpu_ns, row.ns);
		r->cpus[n++] = row;
	}
	r->nr_cpus = n;
	r->sys_ns[AC_IDLE] = r->sys_cpu_ns[AC_IDLE];
	r->sys_procs = tot->procs.used;
	r->sys_groups = r->nr_groups;
	for (size_t i = 0; i < r->nr_groups; i++) {
		const char *name =
			names__group_container(tot->names, r->groups[i].id, r->groups[i].path);

		r->groups[i].container = name ? strdup(name) : NULL;
	}
	give_all(tot);
}

void totals__give(struct totals *tot, struct report *r)
{
	struct rep_quality q = tot->r.quality;

	tot->r.level = tot->level;
	tot->r.selected = tot->selected;
	tot->r.host = r->host;
	tot->r.engine = r->engine;
	tot->r.reason = r->reason;
	tot->r.selection = r->selection;
	tot->r.absent = r->absent;
	tot->r.index = r->index;
	tot->r.start_ns = r->start_ns;
	tot->r.end_ns = r->end_ns;
	tot->r.start_wall = r->start_wall;
	tot->r.cost = r->cost;
	tot->r.quality = r->quality;
	tot->r.quality.residual_ns = q.residual_ns;
	tot->r.quality.unknown_ns = q.unknown_ns;
	memcpy(tot->r.notes, r->notes, sizeof(r->notes));
	*r = tot->r;
	memset(&tot->r, 0, sizeof(tot->r));
}

void totals__reset(struct totals *tot)
{
	report__free(&tot->r);
	memset(&tot->r, 0, sizeof(tot->r));
	tot->last_group = HASH_NONE;
	free(tot->held);
	tot->held = NULL;
	tot->cap_held = 0;
	tot->cap_groups = tot->cap_procs = tot->cap_tasks = 0;
	hash__clear(&tot->groups);
	hash__clear(&tot->procs);
	hash__clear(&tot->seen);
	bag_free(&tot->sys_bag);
	bag_free(&tot->sel_bag);
	bag_free(&tot->group_bag);
	bag_free(&tot->proc_bag);
	bag_free(&tot->task_bag);
	free(tot->task_cpus);
	tot->task_cpus = NULL;
	tot->nr_task_cpus = tot->cap_task_cpus = 0;
}

void totals__free(struct totals *tot)
{
	totals__reset(tot);
	hash__free(&tot->groups);
	hash__free(&tot->procs);
	hash__free(&tot->seen);
	free(tot->first_cpu);
	free(tot->skip);
}
