// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports of windows that follow each other, added up: see report_add.h.
 *
 * Most figures are sums. What was open or alive at the end of the earlier one is told again by the
 * later one, so it is taken out before: calls_reopen() and its like.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "report_add.h"

#define ENDED "(ended)"
#define GONE  "(gone)"

/* One more, all zeroes, at the end of an array that has room up to the next power of two. NULL: no
 * memory. */
#define MORE(v, n)                                                                                 \
	({                                                                                         \
		void *p_ = !((n) & ((n)-1)) ? realloc(v, ((n) ? (n)*2 : 1) * sizeof(*(v))) : (v);  \
		if (p_) {                                                                          \
			(v) = p_;                                                                  \
			memset(&(v)[n], 0, sizeof(*(v)));                                          \
		}                                                                                  \
		p_ ? &(v)[(n)++] : NULL;                                                           \
	})

/* Gives an array that room. 0 or -ENOMEM. */
#define ROOM(v, n)                                                                                 \
	({                                                                                         \
		size_t most_ = 1;                                                                  \
		void *p_;                                                                          \
		while (most_ < (n))                                                                \
			most_ *= 2;                                                                \
		p_ = realloc(v, most_ * sizeof(*(v)));                                             \
		if (p_)                                                                            \
			(v) = p_;                                                                  \
		p_ ? 0 : -ENOMEM;                                                                  \
	})

static void ns_add(uint64_t *to, const uint64_t *from)
{
	for (int i = 0; i < AC_NR; i++)
		to[i] += from[i];
}

/* ---- calls ---- */

static void calls_reopen(struct rep_calls *c)
{
	for (size_t i = 0; i < c->n; i++) {
		c->v[i].pending_ns -= c->v[i].open_ns;
		c->v[i].open = 0;
		c->v[i].open_ns = c->v[i].open_all_ns = 0;
	}
}

/* Calls that were nothing but open, elsewhere by now, are not told. */
static void calls_tidy(struct rep_calls *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].count || c->v[i].pending_ns || c->v[i].open)
			c->v[n++] = c->v[i];
	c->n = n;
	if (n)
		qsort(c->v, n, sizeof(*c->v), report__call_cmp);
}

static int calls_add(struct rep_calls *to, const struct rep_calls *from, bool whole)
{
	struct rep_call *v = realloc(to->v, (to->n + from->n + 1) * sizeof(*v));
	size_t before = to->n, k;

	if (!v)
		return -ENOMEM;
	to->v = v;
	for (size_t i = 0; i < from->n; i++) {
		struct rep_call call = from->v[i];

		if (whole) {
			call.pending_ns += call.open_all_ns - call.open_ns;
			call.open_ns = call.open_all_ns;
		}
		for (k = 0; k < before && v[k].key != call.key; k++)
			;
		if (k < before)
			report__add_call(&v[k], &call);
		else
			v[to->n++] = call;
	}
	calls_tidy(to);
	return 0;
}

/* ---- CPUs ---- */

static int cpus_add(struct report *to, const struct report *from)
{
	for (size_t i = 0, k; i < from->nr_cpus; i++) {
		const struct rep_cpu *cpu = &from->cpus[i];
		struct rep_cpu *row;

		for (k = 0; k < to->nr_cpus && to->cpus[k].cpu != cpu->cpu; k++)
			;
		row = k < to->nr_cpus ? &to->cpus[k] : MORE(to->cpus, to->nr_cpus);
		if (!row)
			return -ENOMEM;
		row->cpu = cpu->cpu;
		ns_add(row->ns, cpu->ns);
		row->switches += cpu->switches;
		row->online_ns += cpu->online_ns;
	}
	return 0;
}

/* ---- groups ---- */

static int group_add(struct rep_group *to, const struct rep_group *from, bool whole)
{
	if (!to->container && from->container)
		to->container = strdup(from->container);
	ns_add(to->ns, from->ns);
	to->tasks += from->tasks;
	to->alive += from->alive;
	to->migrations += from->migrations;
	to->voluntary += from->voluntary;
	to->involuntary += from->involuntary;
	return calls_add(&to->calls, &from->calls, whole);
}

/* The group of r with that id and path, made when there is none. NULL: no memory. */
static struct rep_group *group_of(struct report *r, struct hash *h, uint64_t id, const char *path)
{
	uint64_t text = id ? 0 : hash__text(path, strlen(path)); /* those without an id by it */
	uint32_t i = hash__get(h, id, text, r->nr_groups);
	struct rep_group *g;

	if (i == HASH_NONE)
		return NULL;
	if (i < r->nr_groups)
		return &r->groups[i];
	g = MORE(r->groups, r->nr_groups);
	if (g) {
		g->id = id;
		g->path = path;
	}
	return g;
}

static int groups_add(struct report *to, const struct report *from, bool whole)
{
	struct hash h = {0};
	int err = 0;

	for (size_t i = 0; i < to->nr_groups && !err; i++) {
		const struct rep_group *g = &to->groups[i];

		if (hash__get(&h, g->id, g->id ? 0 : hash__text(g->path, strlen(g->path)), i) ==
		    HASH_NONE)
			err = -ENOMEM;
	}
	for (size_t i = 0; i < from->nr_groups && !err; i++) {
		size_t had = to->nr_groups;
		struct rep_group *g = group_of(to, &h, from->groups[i].id, from->groups[i].path);

		to->sys_groups += to->nr_groups - had;
		err = g ? group_add(g, &from->groups[i], whole) : -ENOMEM;
	}
	hash__free(&h);
	return err;
}

/* ---- processes ---- */

/* Those that are no process, "(other)" and "(ended)", differ by name and group. */
static uint32_t proc_index(struct hash *h, const struct rep_proc *p, uint32_t next)
{
	uint64_t name = hash__text(p->comm, strlen(p->comm));

	return p->pid ? hash__get(h, p->pid, p->start_ns, next)
		      : hash__get(h, name | 1ULL << 63, p->cgroup_id, next);
}

static int proc_add(struct rep_proc *to, const struct rep_proc *from, bool whole)
{
	if (from->exec >= to->exec) {
		to->exec = from->exec;
		memcpy(to->comm, from->comm, sizeof(to->comm));
	}
	to->pid = from->pid;
	to->start_ns = from->start_ns;
	to->uid = from->uid;
	to->other = from->other;
	to->kthread = from->kthread;
	to->cgroup_id = from->cgroup_id;
	to->cgroup = from->cgroup;
	ns_add(to->ns, from->ns);
	to->tasks += from->tasks;
	to->alive += from->alive;
	to->migrations += from->migrations;
	to->voluntary += from->voluntary;
	to->involuntary += from->involuntary;
	return calls_add(&to->calls, &from->calls, whole);
}

/* index[i]: where from's process i is in `to`. */
static int procs_add(struct report *to, const struct report *from, uint32_t *index, bool whole)
{
	struct hash h = {0};
	int err = 0;

	for (size_t i = 0; i < to->nr_procs && !err; i++) {
		to->procs[i].first_task = to->procs[i].nr_tasks = 0;
		if (proc_index(&h, &to->procs[i], i) == HASH_NONE)
			err = -ENOMEM;
	}
	for (size_t i = 0; i < from->nr_procs && !err; i++) {
		size_t had = to->nr_procs;

		index[i] = proc_index(&h, &from->procs[i], to->nr_procs);
		if (index[i] == HASH_NONE)
			err = -ENOMEM;
		else if (index[i] == to->nr_procs && !MORE(to->procs, to->nr_procs))
			err = -ENOMEM;
		else
			err = proc_add(&to->procs[index[i]], &from->procs[i], whole);
		to->sys_procs += to->nr_procs - had;
	}
	hash__free(&h);
	return err;
}

/* ---- tasks ---- */

static uint32_t task_index(struct hash *h, const struct rep_task *t, uint32_t next)
{
	uint64_t who = (uint64_t)t->pid << 32 | t->tid, which = t->start_ns;

	which ^= t->cgroup_id * 0x9e3779b97f4a7c15ULL + (uint64_t)t->exec * 0xff51afd7ed558ccdULL;
	if (!t->tid)
		which ^= hash__text(t->comm, strlen(t->comm));
	return hash__get(h, who, which, next);
}

/* A copy that owns what it points to. */
static int task_copy(struct rep_task *to, const struct rep_task *from, bool whole)
{
	*to = *from;
	to->calls = (struct rep_calls){0};
	to->cpus = malloc((from->nr_cpus + 1) * sizeof(*to->cpus));
	if (!to->cpus)
		return -ENOMEM;
	if (from->nr_cpus)
		memcpy(to->cpus, from->cpus, from->nr_cpus * sizeof(*to->cpus));
	return calls_add(&to->calls, &from->calls, whole);
}

/*
 * A task that was there before the later window, and in none of the earlier ones: the kernel hides
 * it from those who look for tasks, and it had no event. One window over all of the time would say
 * that it slept until its first one.
 */
static void hidden_before(struct report *to, struct rep_task *t, uint64_t from_start)
{
	uint64_t begin = t->start_ns > to->start_ns ? t->start_ns : to->start_ns;
	uint64_t ns = begin < from_start ? from_start - begin : 0;

	if (t->part || t->other || !t->tid || !ns)
		return;
	t->ns[AC_SLEEP] += ns;
	if (t->nr_cpus)
		t->cpus[0].ns[AC_SLEEP] += ns;
	to->sys_ns[AC_SLEEP] += ns;
	to->procs[t->proc].ns[AC_SLEEP] += ns;
	for (size_t i = 0; i < to->nr_groups; i++)
		if (to->groups[i].id == t->cgroup_id)
			to->groups[i].ns[AC_SLEEP] += ns;
}

/*
 * The tasks that were alive at the earlier end and are not in the later window have ended there,
 * and been folded: what is told of them goes the same way, into the sum of the ended of their
 * process.
 */
static void tasks_folded(struct report *r, const bool *met, size_t before)
{
	for (size_t i = 0; i < before; i++) {
		struct rep_task *t = &r->tasks[i];

		if (met[i] || t->part || t->end_ns || !t->tid)
			continue;
		t->tid = t->exec = t->uid = 0;
		t->start_ns = t->from_ns = 0;
		t->other = true;
		strcpy(t->comm, ENDED);
	}
}

/* met: by index in to->tasks, which of them are in the later window. */
static int task_add(struct report *to, struct hash *h, const struct rep_task *from, uint32_t proc,
		    uint64_t from_start, bool *met, bool whole)
{
	uint32_t i = task_index(h, from, to->nr_tasks);
	struct rep_task copy, *t;
	int err;

	if (i == HASH_NONE)
		return -ENOMEM;
	met[i] = true;
	err = task_copy(&copy, from, whole);
	copy.proc = proc;
	if (!err && i < to->nr_tasks) {
		err = report__merge_task(&to->tasks[i], &copy);
		to->tasks[i].part |= from->part;
		calls_tidy(&to->tasks[i].calls);
		return err;
	}
	t = err ? NULL : MORE(to->tasks, to->nr_tasks);
	if (t) {
		*t = copy;
		hidden_before(to, t, from_start);
		return 0;
	}
	free(copy.cpus);
	free(copy.calls.v);
	return -ENOMEM;
}

static int tasks_add(struct report *to, const struct report *from, const uint32_t *index,
		     bool whole)
{
	size_t before = to->nr_tasks;
	bool *met = calloc(before + from->nr_tasks + 1, sizeof(*met));
	struct hash h = {0};
	int err = met ? 0 : -ENOMEM;

	for (size_t i = 0; i < before && !err; i++)
		if (task_index(&h, &to->tasks[i], i) == HASH_NONE)
			err = -ENOMEM;
	for (size_t i = 0; i < from->nr_tasks && !err; i++)
		err = task_add(to, &h, &from->tasks[i], index[from->tasks[i].proc], from->start_ns,
			       met, whole);
	if (!err)
		tasks_folded(to, met, before);
	free(met);
	hash__free(&h);
	return err ? err : report__sort_tasks(to);
}

static void tasks_drop(struct report *r)
{
	for (size_t i = 0; i < r->nr_tasks; i++) {
		free(r->tasks[i].calls.v);
		free(r->tasks[i].cpus);
	}
	free(r->tasks);
	r->tasks = NULL;
	r->nr_tasks = 0;
	for (size_t i = 0; i < r->nr_procs; i++)
		r->procs[i].first_task = r->procs[i].nr_tasks = 0;
}

/* ---- a whole report ---- */

/* What was open or alive at the end of r is told by the report that follows. */
static void reopen(struct report *r)
{
	r->sys_tasks -= r->sys_alive;
	r->sys_alive = 0;
	calls_reopen(&r->sys_calls);
	calls_reopen(&r->sel_calls);
	for (size_t i = 0; i < r->nr_groups; i++) {
		r->groups[i].tasks -= r->groups[i].alive;
		r->groups[i].alive = 0;
		calls_reopen(&r->groups[i].calls);
	}
	for (size_t i = 0; i < r->nr_procs; i++) {
		r->procs[i].tasks -= r->procs[i].alive;
		r->procs[i].alive = 0;
		calls_reopen(&r->procs[i].calls);
	}
	for (size_t i = 0; i < r->nr_tasks; i++)
		calls_reopen(&r->tasks[i].calls);
}

static void quality_add(struct rep_quality *to, const struct rep_quality *from)
{
	to->lost_events += from->lost_events;
	to->missed_runs += from->missed_runs;
	to->dropped_tasks += from->dropped_tasks;
	to->dropped_calls += from->dropped_calls;
	to->out_of_order += from->out_of_order;
	to->unmatched += from->unmatched;
	to->folded_tasks += from->folded_tasks;
	to->unknown_ns += from->unknown_ns;
	if (llabs(from->residual_ns) > llabs(to->residual_ns))
		to->residual_ns = from->residual_ns;
}

static void cost_add(struct rep_cost *to, const struct rep_cost *from)
{
	to->loader_cpu_ns += from->loader_cpu_ns;
	if (from->loader_rss_bytes > to->loader_rss_bytes)
		to->loader_rss_bytes = from->loader_rss_bytes;
	to->map_bytes = from->map_bytes;
	to->bpf_runs += from->bpf_runs;
	to->have_run_ns |= from->have_run_ns;
	to->bpf_run_ns += from->bpf_run_ns;
}

static void system_add(struct report *to, const struct report *from)
{
	to->engine = from->engine;
	to->reason = from->reason;
	to->selection = from->selection;
	to->host = from->host;
	to->end_ns = from->end_ns;
	to->absent = from->absent;
	to->selected = from->selected;
	memcpy(to->notes, from->notes, sizeof(to->notes));
	quality_add(&to->quality, &from->quality);
	cost_add(&to->cost, &from->cost);
	ns_add(to->sys_ns, from->sys_ns);
	ns_add(to->sys_cpu_ns, from->sys_cpu_ns);
	to->sys_tasks += from->sys_tasks;
	to->sys_alive += from->sys_alive;
	to->sys_switches += from->sys_switches;
}

/* "(other)" never ends, but a window in which it did nothing does not tell it. */
static void others_stay(struct report *r)
{
	for (size_t i = 0; i < r->nr_groups; i++) {
		if (r->groups[i].tasks)
			continue;
		r->groups[i].tasks = r->groups[i].alive = 1;
		r->sys_tasks++;
		r->sys_alive++;
	}
	for (size_t i = 0; i < r->nr_procs; i++)
		if (!r->procs[i].tasks)
			r->procs[i].tasks = r->procs[i].alive = 1;
}

int report__add(struct report *to, const struct report *from, bool whole)
{
	uint32_t *index = malloc((from->nr_procs + 1) * sizeof(*index));
	int err = index ? 0 : -ENOMEM;

	if (!err)
		err = ROOM(to->cpus, to->nr_cpus);
	if (!err)
		err = ROOM(to->groups, to->nr_groups);
	if (!err)
		err = ROOM(to->procs, to->nr_procs);
	if (!err)
		err = ROOM(to->tasks, to->nr_tasks);
	reopen(to);
	system_add(to, from);
	if (from->level < to->level)
		to->level = from->level;
	if (!err)
		err = calls_add(&to->sys_calls, &from->sys_calls, whole);
	if (!err)
		err = calls_add(&to->sel_calls, &from->sel_calls, whole);
	if (!err)
		err = cpus_add(to, from);
	if (!err)
		err = groups_add(to, from, whole);
	if (!err)
		err = procs_add(to, from, index, whole);
	if (to->level < LEVEL_TASK)
		tasks_drop(to);
	else if (!err)
		err = tasks_add(to, from, index, whole);
	others_stay(to);
	for (size_t i = 0; i < to->nr_groups; i++)
		calls_tidy(&to->groups[i].calls);
	for (size_t i = 0; i < to->nr_procs; i++)
		calls_tidy(&to->procs[i].calls);
	for (size_t i = 0; i < to->nr_tasks; i++)
		calls_tidy(&to->tasks[i].calls);
	free(index);
	return err;
}

/* ---- folding ---- */

static void groups_free(struct rep_group *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free((char *)v[i].container);
		free(v[i].calls.v);
	}
	free(v);
}

/* Makes the groups anew, each of them part of the one that `into` names. 0 or -ENOMEM. */
static int groups_fold(struct report *r,
		       const char *(*into)(void *ctx, const struct rep_group *g, uint64_t *id),
		       void *ctx)
{
	struct rep_group *v = r->groups;
	size_t n = r->nr_groups;
	struct hash h = {0};
	int err = 0;

	r->groups = NULL;
	r->nr_groups = 0;
	for (size_t i = 0; i < n && !err; i++) {
		uint64_t id = v[i].id;
		const char *path = into(ctx, &v[i], &id);
		struct rep_group *g = group_of(r, &h, id, path);

		err = g ? group_add(g, &v[i], false) : -ENOMEM;
		if (g && !strcmp(path, v[i].path))
			g->id = v[i].id;
	}
	groups_free(v, n);
	hash__free(&h);
	return err;
}

static const char *into_gone(void *ctx, const struct rep_group *g, uint64_t *id)
{
	const uint64_t *limit = ctx;

	if (g->alive || report__oncpu(g->ns) > *limit)
		return g->path;
	*id = 0;
	return GONE;
}

static int u64_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* On-CPU time up to which groups without a task go, so that half of `most` are left. */
static int gone_limit(const struct report *r, size_t most, uint64_t *limit, bool *any)
{
	uint64_t *on = malloc((r->nr_groups + 1) * sizeof(*on));
	size_t n = 0;

	if (!on)
		return -ENOMEM;
	for (size_t i = 0; i < r->nr_groups; i++)
		if (!r->groups[i].alive)
			on[n++] = report__oncpu(r->groups[i].ns);
	*any = n > most;
	if (*any) {
		qsort(on, n, sizeof(*on), u64_cmp);
		*limit = on[n - most / 2 - 1];
	}
	free(on);
	return 0;
}

/* Of which group an ended process is told: its own, while that is told. */
static int ended_groups(struct report *r, uint64_t limit)
{
	struct hash h = {0};
	int err = 0;

	for (size_t i = 0; i < r->nr_groups && !err; i++)
		if (r->groups[i].alive || report__oncpu(r->groups[i].ns) > limit)
			err = hash__get(&h, r->groups[i].id, 0, i) == HASH_NONE ? -ENOMEM : 0;
	for (size_t i = 0; i < r->nr_procs && !err; i++) {
		struct rep_proc *p = &r->procs[i];

		if (p->alive || !p->cgroup_id || hash__find(&h, p->cgroup_id, 0) != HASH_NONE)
			continue;
		p->cgroup_id = 0;
		p->cgroup = GONE;
	}
	hash__free(&h);
	return err;
}

static int procs_fold(struct report *r)
{
	struct rep_proc *v = r->procs;
	size_t n = r->nr_procs;
	struct hash h = {0};
	int err = 0;

	r->procs = NULL;
	r->nr_procs = 0;
	for (size_t i = 0; i < n && !err; i++) {
		struct rep_proc p = v[i];
		uint32_t at;

		if (!p.alive && p.pid) {
			p.pid = p.exec = p.uid = 0;
			p.start_ns = 0;
			p.other = true;
			p.kthread = false;
			strcpy(p.comm, ENDED);
		}
		at = proc_index(&h, &p, r->nr_procs);
		if (at == HASH_NONE || (at == r->nr_procs && !MORE(r->procs, r->nr_procs)))
			err = -ENOMEM;
		else
			err = proc_add(&r->procs[at], &p, false);
	}
	for (size_t i = 0; i < n; i++)
		free(v[i].calls.v);
	free(v);
	hash__free(&h);
	return err;
}

int report__fold_ended(struct report *r, size_t most)
{
	uint64_t limit = 0;
	bool any;
	int err = gone_limit(r, most, &limit, &any);

	tasks_drop(r);
	if (r->level > LEVEL_PROCESS)
		r->level = LEVEL_PROCESS;
	if (!err && any)
		err = ended_groups(r, limit);
	if (!err && any)
		err = groups_fold(r, into_gone, &limit);
	if (!err)
		err = procs_fold(r);
	r->quality.folded_tasks = 0;
	for (size_t i = 0; i < r->nr_procs; i++)
		if (!strcmp(r->procs[i].comm, ENDED))
			r->quality.folded_tasks += r->procs[i].tasks;
	return err;
}

struct depth {
	struct names *names;
	unsigned int depth;
};

static const char *into_depth(void *ctx, const struct rep_group *g, uint64_t *id)
{
	const struct depth *d = ctx;
	uint64_t key, was = *id;

	/* By its path: of what is added up only the group itself, if any, has an id. */
	*id = 0;
	return was ? names__cgroup_fold(d->names, was, d->depth, &key) : g->path;
}

int report__fold_depth(struct report *r, struct names *names, unsigned int depth)
{
	struct depth d = {names, depth};

	int err = depth ? groups_fold(r, into_depth, &d) : 0;

	if (depth)
		r->sys_groups = r->nr_groups;
	return err;
}
