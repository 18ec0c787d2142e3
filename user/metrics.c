// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds windows up into counters, and decides who has series of its own: see metrics.h for the rules
 * that keep the figures true. It must not know how a format writes a number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "escape.h"
#include "metrics.h"

#define HALF_LIFE_S 60.0 /* about, of a score */

/* Series of one entity, at most: what --max-series is divided by. */
#define GROUP_SERIES (MV_GROUP_NR + 1)
#define PROC_SERIES  MV_PROC_NR
#define CALL_SERIES  (MV_CALL_NR + 1)

/* ---- labels ---- */

static bool text_room(struct metrics *m, size_t more)
{
	size_t size = m->text_size ? m->text_size : 256;
	char *p;

	while (size < m->text_len + more + 1)
		size *= 2;
	if (size == m->text_size)
		return true;
	p = realloc(m->text, size);
	if (!p)
		return false;
	m->text = p;
	m->text_size = size;
	return true;
}

/* Appends key="value". */
static bool put_label(struct metrics *m, const char *key, const char *value)
{
	char *to;

	if (!text_room(m, strlen(key) + 4 + ESC_LABEL_LEN(strlen(value))))
		return false;
	to = m->text + m->text_len;
	to += sprintf(to, "%s%s=\"", m->text_len ? "," : "", key);
	to = esc__label(to, value);
	*to++ = '"';
	*to = '\0';
	m->text_len = to - m->text;
	return true;
}

static bool labels_group(struct metrics *m, const struct report *r, struct names *n, size_t i)
{
	const struct rep_group *g = &r->groups[i];

	(void)n;
	return put_label(m, "cgroup", g->path ? g->path : "(unknown)") &&
	       put_label(m, "container", g->container ? g->container : "");
}

static bool labels_proc(struct metrics *m, const struct report *r, struct names *n, size_t i)
{
	const struct rep_proc *p = &r->procs[i];
	char pid[16];

	(void)n;
	snprintf(pid, sizeof(pid), "%u", p->pid);
	return put_label(m, "pid", pid) && put_label(m, "comm", p->comm) &&
	       put_label(m, "cgroup", p->cgroup ? p->cgroup : "(unknown)");
}

static bool labels_call(struct metrics *m, const struct report *r, struct names *n, size_t i)
{
	uint32_t key = r->sys_calls.v[i].key;
	const char *abi = KEY_CLASS(key) == CALL_SYSCALL ? names__abi(n, key) : "";
	char nr[16];

	/* Several interrupts can have one name: only the number tells them apart. */
	snprintf(nr, sizeof(nr), "%u", KEY_NR(key));
	return put_label(m, "class", names__class(key)) && put_label(m, "abi", abi) &&
	       put_label(m, "id", nr) && put_label(m, "name", names__call(n, key));
}

/* ---- what a report says of one entity ---- */

/* One entity of a report as numbers. */
struct entry {
	uint64_t v[MV_NR];
	uint64_t gauge, weight; /* weight: ns, the larger the sooner it gets a series */
	unsigned int other;	/* the "(other)" that stands in for it */
	bool is_other;		/* it is that itself */
};

static void entry_group(struct entry *e, const struct report *r, size_t i)
{
	const struct rep_group *g = &r->groups[i];

	memcpy(e->v, g->ns, AC_IDLE * sizeof(g->ns[0]));
	for (size_t k = 0; k < g->calls.n; k++)
		e->v[MV_GROUP_CALLS + KEY_CLASS(g->calls.v[k].key) % CALL_NR] +=
			g->calls.v[k].count;
	e->gauge = g->tasks;
	e->weight = report__oncpu(g->ns);
}

static void entry_proc(struct entry *e, const struct report *r, size_t i)
{
	const struct rep_proc *p = &r->procs[i];

	memcpy(e->v, p->ns, AC_IDLE * sizeof(p->ns[0]));
	e->v[MV_PROC_MIGRATIONS] = p->migrations;
	e->v[MV_PROC_VOLUNTARY] = p->voluntary;
	e->v[MV_PROC_INVOLUNTARY] = p->involuntary;
	e->weight = report__oncpu(p->ns);
	e->is_other = p->other;
}

static void entry_call(struct entry *e, const struct report *r, size_t i)
{
	const struct rep_call *c = &r->sys_calls.v[i];

	e->v[MV_CALL_COUNT] = c->count;
	e->v[MV_CALL_ERRORS] = c->errors;
	e->v[MV_CALL_ELAPSED] = c->elapsed_ns;
	e->v[MV_CALL_ONCPU] = c->oncpu_ns;
	e->gauge = c->open;
	e->weight = c->elapsed_ns;
	e->other = KEY_CLASS(c->key) % CALL_NR;
	e->is_other = c->key == KEY_OTHER(KEY_CLASS(c->key));
}

static size_t count_groups(const struct report *r)
{
	return r->nr_groups;
}

static size_t count_procs(const struct report *r)
{
	return r->nr_procs;
}

static size_t count_calls(const struct report *r)
{
	return r->sys_calls.n;
}

struct kind {
	size_t (*count)(const struct report *r);
	bool (*labels)(struct metrics *m, const struct report *r, struct names *n, size_t i);
	void (*entry)(struct entry *e, const struct report *r, size_t i);
	bool evicts; /* a series can be lost: those of calls stay, their names are few */
};

static const struct kind kinds[METRIC_KINDS] = {
	[METRIC_GROUP] = {count_groups, labels_group, entry_group, true},
	[METRIC_PROC] = {count_procs, labels_proc, entry_proc, true},
	[METRIC_CALL] = {count_calls, labels_call, entry_call, false},
};

static struct entry entry_of(enum metric_kind kind, const struct report *r, size_t i)
{
	struct entry e = {.other = 0};

	kinds[kind].entry(&e, r, i);
	return e;
}

/* ---- the table of a kind ---- */

static uint64_t hash_text(const char *s, uint64_t h)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	return h ^ (h >> 29);
}

#define HASH_A(s) hash_text(s, 0xcbf29ce484222325ULL)
#define HASH_B(s) hash_text(s, 0x9e3779b97f4a7c15ULL)

static struct metric_entity *table_find(const struct metric_table *t, const char *labels)
{
	struct metric_entity *e;
	size_t at;

	if (!t->index.size)
		return NULL;
	at = hash__at(&t->index, HASH_A(labels), HASH_B(labels));
	if (t->index.v[at].value == HASH_NONE)
		return NULL;
	e = &t->e[t->index.v[at].value];
	/* Two texts with one hash: the second has no series of its own. */
	return strcmp(e->labels, labels) ? NULL : e;
}

/* True when table_index() for these labels cannot fail. */
static bool table_can_index(struct metric_table *t, const char *labels)
{
	if ((t->index.used + 1) * 2 > t->index.size && hash__grow(&t->index))
		return false;
	return t->index.v[hash__at(&t->index, HASH_A(labels), HASH_B(labels))].value == HASH_NONE;
}

static void table_index(struct metric_table *t, size_t i)
{
	const char *l = t->e[i].labels;

	hash__get(&t->index, HASH_A(l), HASH_B(l), i);
}

static void table_reindex(struct metric_table *t)
{
	hash__clear(&t->index);
	for (size_t i = 0; i < t->n; i++)
		table_index(t, i);
}

static void entity_add(struct metric_entity *e, const struct entry *in)
{
	for (int i = 0; i < MV_NR; i++)
		e->v[i] += in->v[i];
	e->gauge += in->gauge;
	e->used = true;
}

/*
 * Takes an entity's series away: see the second rule in metrics.h. Its labels stay in the index,
 * where they find nothing, until the caller reindexes.
 */
static void entity_evict(struct metric_table *t, struct metric_entity *e)
{
	for (int i = 0; i < MV_NR; i++) {
		t->other[0].v[i] += e->v[i] - e->shown[i];
		t->evicted[i] += e->shown[i];
		if (e->v[i] != e->shown[i])
			t->other[0].used = true;
	}
	t->other[0].gauge += e->gauge;
	free(e->labels);
	memset(e, 0, sizeof(*e));
}

/* Before a window that ends at `end` is added: ages the scores, drops those long gone. */
static void table_age(struct metric_table *t, const struct kind *k, uint64_t end, uint64_t window)
{
	double keep = HALF_LIFE_S / (HALF_LIFE_S + window / 1e9);
	size_t n = t->n;

	for (size_t i = 0; i < t->n;) {
		struct metric_entity *e = &t->e[i];

		e->gauge = 0;
		e->score *= keep;
		if (k->evicts && end - e->seen > METRICS_GONE_NS) {
			entity_evict(t, e);
			*e = t->e[--t->n];
		} else {
			i++;
		}
	}
	for (int i = 0; i < CALL_NR; i++)
		t->other[i].gauge = 0;
	if (n != t->n)
		table_reindex(t);
}

/* A place at the end of the table; NULL: the limit is reached, or no memory. */
static struct metric_entity *table_place(struct metric_table *t)
{
	size_t size = t->size ? 2 * t->size : 64;
	struct metric_entity *e;

	if (t->n >= t->limit)
		return NULL;
	if (t->n == t->size) {
		e = realloc(t->e, size * sizeof(*e));
		if (!e)
			return NULL;
		t->e = e;
		t->size = size;
	}
	memset(&t->e[t->n], 0, sizeof(t->e[0]));
	return &t->e[t->n++];
}

/* ---- who has a series ---- */

/* Without a series so far. */
struct candidate {
	size_t i; /* in the report */
	uint64_t weight;
};

/* With one, in the order in which they lose it. */
struct victim {
	size_t i; /* in the table */
	uint64_t seen;
	double score;
};

static int candidate_cmp(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static int victim_cmp(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	if (x->seen != y->seen)
		return x->seen < y->seen ? -1 : 1;
	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static struct victim *victims_of(const struct metric_table *t)
{
	struct victim *v = calloc(t->n + 1, sizeof(*v));

	for (size_t i = 0; v && i < t->n; i++)
		v[i] = (struct victim){i, t->e[i].seen, t->e[i].score};
	if (v)
		qsort(v, t->n, sizeof(*v), victim_cmp);
	return v;
}

/*
 * True when the candidate should have the place of the victim: that one is gone, or it has done
 * much less of late. Of two that are alike none is better, and series that come and go are bad.
 */
static bool better(const struct candidate *c, const struct victim *v, uint64_t end)
{
	return v->seen < end || c->weight > 2 * v->score;
}

/* One window's entities of one kind on their way into the table. */
struct intake {
	struct metrics *m;
	struct metric_table *t;
	enum metric_kind kind;
	const struct report *r;
	struct names *names;
	struct candidate *cand;
	size_t nr_cand;
};

static bool make_labels(const struct intake *in, size_t i)
{
	in->m->text_len = 0;
	return kinds[in->kind].labels(in->m, in->r, in->names, i);
}

static void add_to_other(const struct intake *in, const struct entry *e)
{
	entity_add(&in->t->other[e->other], e);
}

/* Gives a candidate the place e, which may be NULL. */
static void settle(const struct intake *in, const struct candidate *c, struct metric_entity *e)
{
	struct entry entry = entry_of(in->kind, in->r, c->i);

	if (!e) {
		add_to_other(in, &entry);
		return;
	}
	e->seen = in->r->end_ns;
	e->score += entry.weight;
	entity_add(e, &entry);
}

/* A place with the candidate's labels: free, or taken from the next victim; NULL: there is none. */
static struct metric_entity *place_for(const struct intake *in, const struct candidate *c,
				       const struct victim *victims, size_t nr, size_t *next)
{
	struct metric_table *t = in->t;
	bool room = t->n < t->limit, take = *next < nr;
	struct metric_entity *e;
	char *labels;

	/* One of the same name may have been given a place just now: a process id used twice. */
	if (!make_labels(in, c->i))
		return NULL;
	e = table_find(t, in->m->text);
	if (e)
		return e;
	if (!room && !(take && better(c, &victims[*next], in->r->end_ns)))
		return NULL;
	if (!table_can_index(t, in->m->text))
		return NULL;
	labels = strdup(in->m->text);
	e = !labels ? NULL : room ? table_place(t) : &t->e[victims[*next].i];
	if (!e) {
		free(labels);
		return NULL;
	}
	if (!room) {
		entity_evict(t, e);
		(*next)++;
	}
	e->labels = labels;
	table_index(t, e - t->e);
	return e;
}

/* The busiest first, as far as there is place, or somebody to take it from. */
static void settle_all(const struct intake *in)
{
	const struct kind *k = &kinds[in->kind];
	struct victim *victims = NULL;
	size_t nr = in->t->n, next = 0;

	qsort(in->cand, in->nr_cand, sizeof(*in->cand), candidate_cmp);
	if (k->evicts && nr + in->nr_cand > in->t->limit)
		victims = victims_of(in->t);
	for (size_t i = 0; i < in->nr_cand; i++)
		settle(in, &in->cand[i],
		       place_for(in, &in->cand[i], victims, victims ? nr : 0, &next));
	if (next)
		table_reindex(in->t);
	free(victims);
}

static void table_add(struct metrics *m, enum metric_kind kind, const struct report *r,
		      struct names *names)
{
	struct intake in = {m, &m->t[kind], kind, r, names, NULL, 0};
	size_t nr = kinds[kind].count(r);

	table_age(in.t, &kinds[kind], r->end_ns, r->end_ns - r->start_ns);
	in.cand = calloc(nr + 1, sizeof(*in.cand));
	for (size_t i = 0; i < nr; i++) {
		struct entry e = entry_of(kind, r, i);
		struct metric_entity *to = NULL;

		if (!e.is_other && make_labels(&in, i))
			to = table_find(in.t, m->text);
		if (to) {
			to->seen = r->end_ns;
			to->score += e.weight;
			entity_add(to, &e);
		} else if (e.is_other || !in.cand) {
			add_to_other(&in, &e);
		} else {
			in.cand[in.nr_cand++] = (struct candidate){i, e.weight};
		}
	}
	if (in.cand)
		settle_all(&in);
	free(in.cand);
}

/* ---- the whole ---- */

static size_t limit_of(uint64_t share, uint64_t others, uint64_t series)
{
	return share / series > others ? share / series - others : 0;
}

/* Gives the "(other)" entities their names. */
static bool name_others(struct metrics *m)
{
	struct metric_table *t = m->t;

	t[METRIC_GROUP].other[0].labels = strdup("cgroup=\"(other)\",container=\"\"");
	t[METRIC_PROC].other[0].labels = strdup("pid=\"\",comm=\"(other)\",cgroup=\"\"");
	for (uint32_t c = 0; c < CALL_NR; c++)
		if (asprintf(&t[METRIC_CALL].other[c].labels,
			     "class=\"%s\",abi=\"\",id=\"\",name=\"(other)\"",
			     names__class(CALL_KEY(c, 0, 0))) < 0)
			t[METRIC_CALL].other[c].labels = NULL;
	for (uint32_t c = 0; c < CALL_NR; c++)
		if (!t[METRIC_CALL].other[c].labels)
			return false;
	return t[METRIC_GROUP].other[0].labels && t[METRIC_PROC].other[0].labels;
}

struct metrics *metrics__new(uint64_t max_series, bool procs, uint64_t top)
{
	struct metrics *m = calloc(1, sizeof(*m));
	uint64_t share = max_series / 4;
	struct metric_table *t;

	if (!m)
		return NULL;
	t = m->t;
	m->procs = procs;
	/* A quarter for the calls, a quarter for the processes, the rest for the groups. */
	t[METRIC_CALL].limit = limit_of(share, CALL_NR, CALL_SERIES);
	t[METRIC_PROC].limit = procs ? limit_of(share, 1, PROC_SERIES) : 0;
	t[METRIC_GROUP].limit = limit_of(max_series - share - (procs ? share : 0), 1, GROUP_SERIES);
	if (top && t[METRIC_PROC].limit > top)
		t[METRIC_PROC].limit = top;
	if (!name_others(m)) {
		metrics__free(m);
		return NULL;
	}
	return m;
}

static void table_free(struct metric_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->e[i].labels);
	for (int i = 0; i < CALL_NR; i++)
		free(t->other[i].labels);
	free(t->e);
	hash__free(&t->index);
}

void metrics__free(struct metrics *m)
{
	if (!m)
		return;
	for (int i = 0; i < METRIC_KINDS; i++)
		table_free(&m->t[i]);
	free(m->cpus);
	free(m->text);
	free(m);
}

static struct rep_cpu *cpu_of(struct metrics *m, uint32_t cpu)
{
	struct rep_cpu *c;

	for (size_t i = 0; i < m->nr_cpus; i++)
		if (m->cpus[i].cpu == cpu)
			return &m->cpus[i];
	c = realloc(m->cpus, (m->nr_cpus + 1) * sizeof(*c));
	if (!c)
		return NULL;
	m->cpus = c;
	c += m->nr_cpus++;
	*c = (struct rep_cpu){.cpu = cpu};
	return c;
}

static void add_system(struct metrics *m, const struct report *r)
{
	for (int i = 0; i < AC_NR; i++)
		m->sys_ns[i] += r->sys_ns[i];
	m->absent = r->absent;
	m->switches += r->sys_switches;
	m->windows++;
	m->last_ns = r->end_ns - r->start_ns;
	m->accounted_ns += m->last_ns;
	m->tasks = r->sys_tasks;
	m->nr_procs = r->sys_procs;
	m->nr_groups = r->sys_groups;
	m->level = r->level;
	m->host = r->host;
	m->engine = r->engine;
	column__add(ENT_QUALITY, &m->quality, &r->quality);
	m->quality.residual_ns = r->quality.residual_ns;
	column__add(ENT_COST, &m->cost, &r->cost);
	m->cost.loader_rss_bytes = r->cost.loader_rss_bytes;
	m->cost.map_bytes = r->cost.map_bytes;
	/* A calculated column: null where the kernel does not measure it. */
	m->cost.have_run_ns |= r->cost.have_run_ns;
	m->cost.bpf_run_ns += r->cost.bpf_run_ns;
}

void metrics__add(struct metrics *m, const struct report *r, struct names *n)
{
	add_system(m, r);
	for (size_t i = 0; i < r->nr_cpus; i++) {
		struct rep_cpu *c = cpu_of(m, r->cpus[i].cpu);

		if (c)
			column__add(ENT_CPU, c, &r->cpus[i]);
	}
	table_add(m, METRIC_CALL, r, n);
	table_add(m, METRIC_GROUP, r, n);
	if (m->procs)
		table_add(m, METRIC_PROC, r, n);
}

void metrics__shown(struct metrics *m)
{
	for (int k = 0; k < METRIC_KINDS; k++)
		for (size_t i = 0; i < m->t[k].n; i++)
			memcpy(m->t[k].e[i].shown, m->t[k].e[i].v, sizeof(m->t[k].e[i].v));
}
