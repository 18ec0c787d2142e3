// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the tables of a window: copies each record safely against its writer, completes it with
 * acct_roll() up to the window's end, and adds it to its task, process, group, CPU and the system.
 * Every figure of a report is summed here and nowhere else. It knows no engine and no format.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ACCT_READER
#include "../bpf/acct.h"
#include "../bpf/sel.h"
#include "collect.h"
#include "hash.h"

#define PREFETCH 8 /* records ahead */

struct bag_call {
	uint32_t entity;
	struct rep_call call;
};

/* The calls of all entities of one kind. */
struct bag {
	struct hash hash; /* (entity, key) -> v[] */
	struct bag_call *v;
	size_t n, cap;
};

/* Which entities a record adds to. */
struct who {
	uint32_t slot;
	uint32_t cpu_only; /* an idle task: CPU row and system calls */
	uint32_t group, proc, task;
};

struct collect {
	enum report_level level;
	unsigned int depth; /* of the groups that are told apart; 0: all */
	bool selected;
	const struct sel_calls *calls; /* that have records; NULL: all */
	bool *skip;		       /* by CPU: not selected */
	uint32_t nskip;
	struct names *names;
	void (*free_slot)(void *ctx, uint32_t slot);
	void *ctx;
	struct report r; /* under construction */
	size_t cap_groups, cap_procs, cap_tasks;
	struct hash groups, procs;
	struct bag sys_bag, sel_bag, group_bag, proc_bag, task_bag;
	struct rep_task_cpu *task_cpus; /* of all tasks; r.tasks[].cpus is set at the end */
	size_t nr_task_cpus, cap_task_cpus;
	size_t *first_cpu; /* by task: index into task_cpus */
	size_t cap_first_cpu;
	struct who *by_slot; /* of this window, for the interrupts' calls */
	uint32_t *gen_of;    /* generation that by_slot is of; 0: none */
	uint32_t *freed;     /* generation that was taken in and freed last */
	uint32_t nslots;
	uint32_t *dead, nr_dead, cap_dead;
	struct hash seen;  /* tasks with several accounts: counted once, and once in each group */
	struct hash moves; /* key -> tables.moves */
	uint64_t charged;  /* to the task that is being added */
	struct pop_sums surplus, rest;
	uint64_t rest_exited; /* up to the last report */
	struct acct_sums
		*others; /* by CPU and parity: what the "(other)" rows were at the last reading */
	int err;
};

static void *grow(struct collect *c, void *v, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap : 16;
	void *p;

	if (need <= *cap)
		return v;
	while (n < need)
		n *= 2;
	p = realloc(v, n * size);
	if (!p) {
		c->err = -ENOMEM;
		return NULL;
	}
	memset((char *)p + *cap * size, 0, (n - *cap) * size);
	*cap = n;
	return p;
}

/* Makes room for one more element of an array and zeroes it; NULL: no memory, and c->err is set. */
#define GROW(c, v, n, cap)                                                                         \
	({                                                                                         \
		void *p_ = grow(c, v, &(cap), (n) + 1, sizeof(*(v)));                              \
		if (p_) {                                                                          \
			(v) = p_;                                                                  \
			memset(&(v)[n], 0, sizeof(*(v)));                                          \
		}                                                                                  \
		p_ ? &(v)[(n)++] : NULL;                                                           \
	})

struct collect *collect__new(enum report_level level, bool selected, struct names *names,
			     void (*free_slot)(void *ctx, uint32_t slot), void *ctx)
{
	struct collect *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->level = level;
	c->selected = selected;
	c->names = names;
	c->free_slot = free_slot;
	c->ctx = ctx;
	return c;
}

void collect__set_depth(struct collect *c, unsigned int depth)
{
	c->depth = depth;
}

void collect__set_calls(struct collect *c, const struct sel_calls *calls)
{
	c->calls = calls;
}

static void bag_free(struct bag *b)
{
	hash__free(&b->hash);
	free(b->v);
	memset(b, 0, sizeof(*b));
}

/* Drops what is under construction. */
static void collect_reset(struct collect *c)
{
	report__free(&c->r);
	memset(&c->r, 0, sizeof(c->r));
	c->cap_groups = c->cap_procs = c->cap_tasks = 0;
	hash__clear(&c->groups);
	hash__clear(&c->procs);
	hash__clear(&c->seen);
	hash__clear(&c->moves);
	bag_free(&c->sys_bag);
	bag_free(&c->sel_bag);
	bag_free(&c->group_bag);
	bag_free(&c->proc_bag);
	bag_free(&c->task_bag);
	free(c->task_cpus);
	c->task_cpus = NULL;
	c->nr_task_cpus = c->cap_task_cpus = 0;
	if (c->gen_of)
		memset(c->gen_of, 0, c->nslots * sizeof(*c->gen_of));
}

void collect__free(struct collect *c)
{
	if (!c)
		return;
	collect_reset(c);
	hash__free(&c->groups);
	hash__free(&c->procs);
	hash__free(&c->seen);
	hash__free(&c->moves);
	free(c->first_cpu);
	free(c->by_slot);
	free(c->gen_of);
	free(c->freed);
	free(c->dead);
	free(c->others);
	free(c->skip);
	free(c);
}

/* ---- adding up ---- */

/* The entity's call of that key, made where there is none. NULL: no memory, and c->err is set. */
static struct rep_call *bag_call(struct collect *c, struct bag *b, uint32_t entity, uint32_t key)
{
	uint32_t i = hash__get(&b->hash, entity, key, b->n);

	if (i == HASH_NONE) {
		c->err = -ENOMEM;
		return NULL;
	}
	if (i == b->n) {
		struct bag_call *fresh = GROW(c, b->v, b->n, b->cap);

		if (!fresh)
			return NULL;
		fresh->entity = entity;
		fresh->call.key = key;
		fresh->call.min_ns = UINT64_MAX;
	}
	return &b->v[i].call;
}

static void bag_add(struct collect *c, struct bag *b, uint32_t entity, const struct rep_call *call)
{
	struct rep_call *to = bag_call(c, b, entity, call->key);

	if (!to)
		return;
	report__add_call(to, call);
}

static void add_call(struct collect *c, const struct who *w, const struct rep_call *call)
{
	bag_add(c, &c->sys_bag, 0, call);
	if (w->cpu_only)
		return;
	if (c->selected && w->proc != HASH_NONE)
		bag_add(c, &c->sel_bag, 0, call);
	if (w->group != HASH_NONE)
		bag_add(c, &c->group_bag, w->group, call);
	if (w->proc != HASH_NONE)
		bag_add(c, &c->proc_bag, w->proc, call);
	if (w->task != HASH_NONE)
		bag_add(c, &c->task_bag, w->task, call);
}

static void sums_add(uint64_t *to, const uint64_t *ns)
{
	for (int i = 0; i < AC_NR; i++)
		to[i] += ns[i];
}

static struct rep_cpu *cpu_row(struct collect *c, uint32_t cpu)
{
	return cpu < c->r.nr_cpus ? &c->r.cpus[cpu] : NULL;
}

static void task_cpu_add(struct collect *c, uint32_t task, uint32_t cpu, const uint64_t *ns)
{
	struct rep_task *t = &c->r.tasks[task];
	struct rep_task_cpu *tc = NULL;

	for (size_t i = 0; i < t->nr_cpus; i++)
		if (c->task_cpus[c->first_cpu[task] + i].cpu == cpu)
			tc = &c->task_cpus[c->first_cpu[task] + i];
	if (!tc) {
		tc = GROW(c, c->task_cpus, c->nr_task_cpus, c->cap_task_cpus);
		if (!tc)
			return;
		tc->cpu = cpu;
		t->nr_cpus++;
	}
	sums_add(tc->ns, ns);
}

/* Times and switches on one CPU. */
static void add_sums(struct collect *c, const struct who *w, uint32_t cpu,
		     const struct acct_sums *s)
{
	struct rep_cpu *row = cpu_row(c, cpu);
	uint64_t ns[AC_NR], any = 0;

	for (int i = 0; i < AC_NR; i++)
		any |= ns[i] = s->ns[i];
	c->charged += report__oncpu(ns) + report__offcpu(ns);
	if (cpu < c->nskip && c->skip[cpu])
		return;
	if (row) {
		for (int i = 0; i < AC_ONCPU_NR; i++)
			row->ns[i] += ns[i];
		row->ns[AC_IDLE] += ns[AC_IDLE];
		row->switches += s->voluntary + s->involuntary;
	}
	c->r.sys_switches += s->voluntary + s->involuntary;
	if (w->cpu_only)
		return;
	sums_add(c->r.sys_ns, ns);
	if (w->group != HASH_NONE)
		sums_add(c->r.groups[w->group].ns, ns);
	if (w->proc != HASH_NONE) {
		struct rep_proc *p = &c->r.procs[w->proc];

		sums_add(p->ns, ns);
		p->voluntary += s->voluntary;
		p->involuntary += s->involuntary;
	}
	if (w->task != HASH_NONE) {
		struct rep_task *t = &c->r.tasks[w->task];

		sums_add(t->ns, ns);
		t->voluntary += s->voluntary;
		t->involuntary += s->involuntary;
		if (any)
			task_cpu_add(c, w->task, cpu, ns);
	}
}

/* add_sums() of nothing but time off the CPU: most tasks sleep, and this is all there is to add of
 * them. */
static void add_off(struct collect *c, const struct who *w, uint32_t cpu, uint8_t cls, uint64_t ns)
{
	if (cpu < c->nskip && c->skip[cpu])
		return;
	c->r.sys_ns[cls] += ns;
	if (w->group != HASH_NONE)
		c->r.groups[w->group].ns[cls] += ns;
	if (w->proc != HASH_NONE)
		c->r.procs[w->proc].ns[cls] += ns;
	if (w->task != HASH_NONE) {
		uint64_t all[AC_NR] = {[0] = 0};

		all[cls] = ns;
		c->r.tasks[w->task].ns[cls] += ns;
		if (ns)
			task_cpu_add(c, w->task, cpu, all);
	}
}

/* ---- entities ---- */

static uint32_t group_of(struct collect *c, uint64_t cgroup)
{
	uint64_t key;
	const char *path = names__cgroup_fold(c->names, cgroup, c->depth, &key);
	uint32_t i = hash__get(&c->groups, key, 0, c->r.nr_groups);
	struct rep_group *g;

	if (i == HASH_NONE)
		return i;
	if (i < c->r.nr_groups) {
		/* The group itself, among those that are added up in it. */
		if (key != cgroup && !c->r.groups[i].id &&
		    !strcmp(names__cgroup(c->names, cgroup), path))
			c->r.groups[i].id = cgroup;
		return i;
	}
	g = GROW(c, c->r.groups, c->r.nr_groups, c->cap_groups);
	if (!g)
		return HASH_NONE;
	g->path = path;
	if (key == cgroup || !strcmp(names__cgroup(c->names, cgroup), path))
		g->id = cgroup;
	return i;
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
static bool first_seen(struct collect *c, const struct acct_ident *id, uint64_t group)
{
	uint64_t task = id->start ^ (uint64_t)id->tid << 40 ^ (uint64_t)id->exec << 20;
	uint32_t next = c->seen.used;

	if (!(id->sel & (SEL_CAME | SEL_LEFT)))
		return true;
	return hash__get(&c->seen, task, group, next) == next;
}

static uint32_t proc_of(struct collect *c, const struct acct_ident *id, bool other, bool kthread)
{
	uint32_t i = hash__get(&c->procs, id->tgid, id->leader_start, c->r.nr_procs);
	struct rep_proc *p;

	if (i == HASH_NONE)
		return i;
	if (i == c->r.nr_procs) {
		p = GROW(c, c->r.procs, c->r.nr_procs, c->cap_procs);
		if (!p)
			return HASH_NONE;
		p->pid = id->tgid;
		p->start_ns = id->leader_start;
		p->uid = id->uid;
		p->other = other;
		p->kthread = kthread;
		p->cgroup_id = id->cgroup;
		p->cgroup = names__cgroup(c->names, id->cgroup);
		comm_copy(p->comm, id->comm);
	} else {
		p = &c->r.procs[i];
	}
	/* The leader names the process, in the last image that it ran. */
	if (id->tid == id->tgid && id->exec >= p->exec) {
		p->exec = id->exec;
		comm_copy(p->comm, id->comm);
		p->cgroup_id = id->cgroup;
		p->cgroup = names__cgroup(c->names, id->cgroup);
	}
	return i;
}

static const char *state_name(uint8_t cls)
{
	static const char *const off[] = {"wait", "sleep", "blocked", "iowait", "stopped"};

	if (cls == AC_NONE)
		return "exited";
	return cls >= AC_WAIT && cls <= AC_STOPPED ? off[cls - AC_WAIT] : "running";
}

static uint32_t task_new(struct collect *c, const struct acct_ident *id,
			 const struct acct_state *st)
{
	uint32_t i = c->r.nr_tasks;
	struct rep_task *t = GROW(c, c->r.tasks, c->r.nr_tasks, c->cap_tasks);
	size_t *first;

	if (!t)
		return HASH_NONE;
	first = grow(c, c->first_cpu, &c->cap_first_cpu, i + 1, sizeof(*c->first_cpu));
	if (!first)
		return HASH_NONE;
	c->first_cpu = first;
	first[i] = c->nr_task_cpus;
	t->tid = id->tid;
	t->pid = id->tgid;
	t->exec = id->exec;
	comm_copy(t->comm, id->comm);
	t->cgroup_id = id->cgroup;
	t->cgroup = names__cgroup(c->names, id->cgroup);
	t->kthread = st->flags & AS_KTHREAD;
	t->uid = id->uid;
	t->start_ns = id->start;
	t->exited = id->end && !(id->sel & SEL_LEFT);
	t->end_ns = t->exited ? id->end : 0;
	t->part = id->sel & (SEL_CAME | SEL_LEFT);
	t->from_ns = id->from;
	return i;
}

/*
 * The entities of a task, counted in them; only those that the level asks for. n: of how many tasks
 * the record is the sum.
 */
static struct who who_are(struct collect *c, uint32_t slot, const struct acct_ident *id,
			  const struct acct_state *st, bool other, uint32_t n)
{
	struct who w = {.slot = slot, .group = HASH_NONE, .proc = HASH_NONE, .task = HASH_NONE};
	bool first = first_seen(c, id, 0);

	c->by_slot[slot] = w;
	if (c->selected && !other && (id->sel & SEL_ARMED))
		return w;
	c->r.sys_tasks += first ? n : 0;
	w.group = group_of(c, id->cgroup);
	if (w.group != HASH_NONE)
		c->r.groups[w.group].tasks += first_seen(c, id, id->cgroup + 1) ? n : 0;
	w.proc = proc_of(c, id, other && !id->tgid, st->flags & AS_KTHREAD);
	if (w.proc != HASH_NONE)
		c->r.procs[w.proc].tasks += first ? n : 0;
	if (c->level >= LEVEL_TASK)
		w.task = task_new(c, id, st);
	if (w.task != HASH_NONE) {
		c->r.tasks[w.task].proc = w.proc;
		c->r.tasks[w.task].other = other;
	}
	c->by_slot[slot] = w;
	return w;
}

static struct who who_is(struct collect *c, uint32_t slot, const struct acct_ident *id,
			 const struct acct_state *st, bool other)
{
	return who_are(c, slot, id, st, other, 1);
}

/* The task is there still at the window's end. */
static void add_alive(struct collect *c, const struct who *w)
{
	if (w->proc == HASH_NONE)
		return;
	c->r.sys_alive++;
	c->r.procs[w->proc].alive++;
	if (w->group != HASH_NONE)
		c->r.groups[w->group].alive++;
}

/* ---- records ---- */

static void call_of_bank(struct rep_call *call, uint32_t key, const struct acct_call_bank *b)
{
	memset(call, 0, sizeof(*call));
	call->key = key;
	call->count = b->count;
	call->errors = b->errors;
	call->elapsed_ns = b->elapsed;
	call->pending_ns = b->pending;
	call->min_ns = b->min;
	call->max_ns = b->max;
	call->stolen_ns = b->stolen;
	call->oncpu_ns = b->elapsed - b->stolen;
	for (int i = 0; i < AC_OFF_NR; i++) {
		call->off_ns[i] = b->off[i];
		call->oncpu_ns -= b->off[i];
	}
}

static uint64_t length(uint64_t begin, uint64_t from, uint64_t to)
{
	if (acct_before(begin, from))
		begin = from;
	return acct_before(begin, to) ? to - begin : 0;
}

/*
 * The call that was open at the window's end. Of one whose begin was not seen each window tells its
 * own part; of the others the last part of a report tells all.
 */
static void add_open(struct collect *c, const struct who *w, uint32_t key, uint64_t begin,
		     bool begin_seen, const struct window *win)
{
	struct rep_call call = {.key = key, .open = 1};

	if (key == KEY_NO_CALL || (c->calls && !sel_call(c->calls, key)))
		return;
	call.pending_ns = length(begin, win->start, win->end);
	if (begin_seen) {
		call.open_all_ns = length(begin, begin, win->end);
		if (win->since)
			call.pending_ns = length(begin, win->since, win->end);
		call.open_ns = call.pending_ns;
	}
	add_call(c, w, &call);
}

static void add_calls(struct collect *c, const struct tables *t, const struct who *w,
		      const struct acct_task *task, uint64_t tag)
{
	uint32_t idx = task->calls;
	struct rep_call call;

	for (uint32_t n = 0; idx && idx < t->ncalls && n < t->ncalls; n++) {
		const struct acct_call *rec = &t->calls[idx];

		if (rec->bank[tag & 1].tag == tag) {
			call_of_bank(&call, rec->key, &rec->bank[tag & 1]);
			add_call(c, w, &call);
		}
		idx = rec->next;
	}
}

static void add_rows(struct collect *c, const struct tables *t, const struct who *w,
		     const struct acct_task *task, uint64_t tag, uint8_t busy_as)
{
	uint32_t idx = task->rows;

	for (uint32_t n = 0; idx && idx < t->nrows && n < t->nrows; n++) {
		const struct acct_row *rec = &t->rows[idx];

		if (rec->bank[tag & 1].tag == tag) {
			struct acct_sums s = rec->bank[tag & 1].s;

			if (busy_as < AC_NR) {
				s.ns[busy_as] += s.ns[AC_BUSY];
				s.ns[AC_BUSY] = 0;
			}
			add_sums(c, w, rec->cpu, &s);
		}
		idx = rec->next;
	}
}

#define COPY_SPINS 1000
#define COPY_TRIES 21000 /* a second: a virtual CPU may be taken away in the middle of a move */

/*
 * A copy of a record, and of the CPU it is on, that no writer has moved meanwhile. False: it was
 * being moved all the time.
 */
static bool task_copy(const struct tables *t, uint32_t slot, struct acct_task *copy,
		      struct acct_cpu *cpu)
{
	const struct acct_task *rec = &t->tasks[slot];

	for (int i = 0; i < COPY_TRIES; i++) {
		uint32_t seq = *(volatile const uint32_t *)&rec->seq;

		atomic_thread_fence(memory_order_acquire);
		*copy = *rec;
		if (acct_on_cpu(&copy->st) && copy->cpu < t->ncpus)
			*cpu = t->cpus[copy->cpu];
		atomic_thread_fence(memory_order_acquire);
		if (!(seq & 1) && seq == *(volatile const uint32_t *)&rec->seq)
			return true;
		if (i > COPY_SPINS)
			usleep(50);
	}
	return false;
}

/* The law of a task: its classes sum to its life inside the window. Keeps the worst residual. */
static void residual(struct collect *c, int64_t d)
{
	int64_t have = c->r.quality.residual_ns;

	if ((d < 0 ? -d : d) > (have < 0 ? -have : have))
		c->r.quality.residual_ns = d;
}

/* After add_task(): what it was charged must be its life inside the window. */
static void law_of_task(struct collect *c, const struct acct_task *task, const struct window *win)
{
	const struct acct_bank *b = &task->bank[win->epoch & 1];
	const struct acct_ident *id = &task->id;
	uint64_t began = id->from ? id->from : id->start;
	uint64_t from = acct_before(began, win->start) ? win->start : began;
	uint64_t to = id->end && acct_before(id->end, win->end) ? id->end : win->end;

	/* What was folded for want of room is in the totals, and counted. */
	if (!b->folded)
		residual(c, c->charged - (to - from));
}

/*
 * Adds a completed copy: its bank of the window, its rows and calls, its open call. dead_end: the
 * task has ended within the window.
 */
static void add_task(struct collect *c, const struct tables *t, const struct who *w,
		     const struct acct_task *task, const struct window *win)
{
	const struct acct_bank *b = &task->bank[win->epoch & 1];
	uint64_t tag = (task->tag & ~0xffffffffULL) | win->epoch;

	c->charged = 0;
	add_sums(c, w, b->cpu, &b->s);
	if (w->proc != HASH_NONE)
		c->r.procs[w->proc].migrations += b->migrations;
	if (w->task != HASH_NONE)
		c->r.tasks[w->task].migrations += b->migrations;
	add_rows(c, t, w, task, tag, b->busy_as);
	add_calls(c, t, w, task, tag);
	add_open(c, w, b->open_key, b->open_begin, !(b->open_flags & AS_NOBEGIN), win);
	if (w->task != HASH_NONE) {
		struct rep_task *rt = &c->r.tasks[w->task];

		rt->state = state_name(task->id.sel & SEL_LEFT ? task->id.sel >> SEL_CLS_SHIFT
							       : b->end_cls);
		if (rt->end_ns &&
		    !acct_before(rt->end_ns, win->end)) { /* ended just after the window */
			rt->end_ns = 0;
			rt->exited = false;
		}
	}
}

/* Whether rec, of slot, is a task, of a generation not yet freed, that lived in the window. */
static bool slot_used(const struct collect *c, const struct acct_task *rec, uint32_t slot,
		      const struct window *win)
{
	uint32_t gen = rec->tag >> 32;

	if (!gen || c->freed[slot] == gen)
		return false;
	/* Its first moment is after the window: the next report's. */
	return (rec->id.tid || (rec->id.sel & SEL_FOLD)) &&
	       acct_before(rec->id.from ? rec->id.from : rec->id.start, win->end);
}

/* Whether rec's task, or image, has ended in `epoch`: nothing is written to it any more. */
static bool is_dead(const struct acct_task *rec, uint32_t epoch)
{
	return rec->st.cls == AC_NONE && rec->id.end && (uint32_t)rec->tag == epoch;
}

/*
 * Whether slot s, or one above it, may ever have been used. They are handed out from the bottom,
 * but of two that are handed out at once the upper one may be filled in first.
 */
static bool slots_more(const struct tables *t, uint32_t s, uint32_t *gap)
{
	if (s >= t->ntasks)
		return false;
	*gap = t->tasks[s].tag >> 32 ? 0 : *gap + 1;
	return *gap <= t->ncpus;
}

static uint32_t *grow_u32(uint32_t *v, uint32_t from, uint32_t to)
{
	uint32_t *p = realloc(v, to * sizeof(*v));

	if (p)
		memset(p + from, 0, (to - from) * sizeof(*p));
	return p;
}

/* One for each slot; a table in user memory grows. What was grown stays valid when the rest fails.
 */
static int slots_init(struct collect *c, const struct tables *t)
{
	uint32_t n = c->nslots;
	struct who *by_slot;
	uint32_t *v;

	if (n >= t->ntasks)
		return 0;
	n = t->ntasks > 2 * n ? t->ntasks : 2 * n;
	by_slot = realloc(c->by_slot, n * sizeof(*by_slot));
	if (!by_slot)
		return -ENOMEM;
	c->by_slot = by_slot;
	v = grow_u32(c->gen_of, c->nslots, n);
	if (!v)
		return -ENOMEM;
	c->gen_of = v;
	v = grow_u32(c->freed, c->nslots, n);
	if (!v)
		return -ENOMEM;
	c->freed = v;
	c->nslots = n;
	return 0;
}

static int cpus_init(struct collect *c, const struct tables *t)
{
	if (!c->skip)
		c->skip = calloc(t->ncpus, sizeof(*c->skip));
	if (!c->skip)
		return -ENOMEM;
	c->nskip = t->ncpus;
	for (uint32_t i = 0; i < t->ncpus; i++)
		c->skip[i] = t->cpus[i].skip;
	if (c->r.cpus)
		return 0;
	c->r.cpus = calloc(t->ncpus, sizeof(*c->r.cpus));
	if (!c->r.cpus)
		return -ENOMEM;
	c->r.nr_cpus = t->ncpus;
	for (uint32_t i = 0; i < t->ncpus; i++)
		c->r.cpus[i].cpu = i;
	return 0;
}

/* One record of the interrupts' calls; only_dead: of the slots that are about to be freed. */
static void add_icall(struct collect *c, const struct acct_call *rec, const struct tables *t,
		      uint32_t epoch, bool only_dead)
{
	const struct acct_call_bank *b = &rec->bank[epoch & 1];
	struct who other = {.group = HASH_NONE, .proc = HASH_NONE, .task = HASH_NONE};
	struct rep_call call;

	if ((uint32_t)b->tag != epoch || rec->slot >= t->ntasks)
		return;
	if (c->gen_of[rec->slot] != b->tag >> 32)
		return;
	if (only_dead && c->freed[rec->slot] != c->gen_of[rec->slot])
		return;
	call_of_bank(&call, rec->key, b);
	add_call(c, rec->slot ? &c->by_slot[rec->slot] : &other, &call);
}

/* Chunks are handed out from the bottom; a gap wider than what CPUs can hold back is the end. */
static void add_icalls(struct collect *c, const struct tables *t, uint32_t epoch, bool only_dead)
{
	uint32_t gap = 0, most = CHUNK * (t->ncpus * AC_STEAL_NR + 1);

	for (uint32_t i = ICALL_OTHER(t->ncpus, 0); i < t->nicalls && gap < most; i++) {
		gap = t->icalls[i].slot ? 0 : gap + 1;
		if (!gap)
			add_icall(c, &t->icalls[i], t, epoch, only_dead);
	}
}

static void free_dead(struct collect *c, const struct tables *t, uint32_t epoch, bool icalls)
{
	for (uint32_t i = 0; i < c->nr_dead; i++)
		c->freed[c->dead[i]] = t->tasks[c->dead[i]].tag >> 32;
	if (icalls && c->nr_dead)
		add_icalls(c, t, epoch, true);
	for (uint32_t i = 0; i < c->nr_dead; i++) {
		c->gen_of[c->dead[i]] = 0;
		c->free_slot(c->ctx, c->dead[i]);
	}
	c->nr_dead = 0;
}

static void dead_push(struct collect *c, uint32_t slot)
{
	size_t cap = c->cap_dead;
	uint32_t *v = grow(c, c->dead, &cap, c->nr_dead + 1, sizeof(*c->dead));

	if (!v)
		return;
	c->dead = v;
	c->cap_dead = cap;
	v[c->nr_dead++] = slot;
}

int collect__reap(struct collect *c, const struct tables *t, const struct window *open)
{
	/* Its end is not known yet: whatever has happened lies before it. */
	const struct window win = {open->epoch, open->start, open->start + (1ULL << 62), 0},
			    *w = &win;
	struct acct_task copy;
	struct acct_cpu cpu;

	c->err = slots_init(c, t);
	if (!c->err)
		c->err = cpus_init(c, t);
	for (uint32_t s = SLOT_FIRST(t->ncpus), gap = 0; !c->err && slots_more(t, s, &gap); s++) {
		struct who who;

		if (!is_dead(&t->tasks[s], w->epoch))
			continue;
		/* Looked at again on the copy: the slot may just have been given to another. */
		if (!task_copy(t, s, &copy, &cpu) || !is_dead(&copy, w->epoch) ||
		    !slot_used(c, &copy, s, w))
			continue;
		/* Its last calls are not in the copy yet: the next time. */
		if (t->icalls_at && !acct_before(copy.id.end, t->icalls_at))
			continue;
		copy.bank[w->epoch & 1].end_cls = AC_NONE;
		who = who_is(c, s, &copy.id, &copy.st, false);
		c->gen_of[s] = copy.tag >> 32;
		add_task(c, t, &who, &copy, w);
		law_of_task(c, &copy, w);
		dead_push(c, s);
	}
	free_dead(c, t, w->epoch, true);
	return c->err;
}

/* ---- moves that a task does not know of yet ---- */

static const struct acct_move *move_find(const struct collect *c, const struct tables *t,
					 uint64_t key)
{
	uint32_t i = hash__find(&c->moves, key, 0);

	return i < t->nmoves ? &t->moves[i].to : NULL;
}

/*
 * The move of the task of id, or of its whole process, that its record does not show: it has had no
 * event since. NULL: there is none, or it comes after the window.
 */
static const struct acct_move *pending_move(const struct collect *c, const struct tables *t,
					    const struct acct_ident *id, const struct window *win)
{
	const struct acct_move *m = move_find(c, t, id->tid);
	const struct acct_move *all = move_find(c, t, id->tgid | MOVE_ALL);

	if (!m || (all && acct_before(m->time, all->time)))
		m = all;
	if (!m || id->end || m->cgroup == id->cgroup || !acct_before(m->time, win->end))
		return NULL;
	return acct_before(m->time, id->from ? id->from : id->start) ? NULL : m;
}

/*
 * The copy of a record, of a task that was moved at m and has had no event since: what it did
 * before in this window is added to the old group, and the copy goes on in the new one. From the
 * next window on the record itself is the new group's: that is where the kernel, too, comes to.
 */
static void split_at_move(struct collect *c, const struct tables *t, uint32_t s,
			  struct acct_task *copy, struct acct_cpu *cpu, const struct acct_move *m,
			  const struct window *win)
{
	struct acct_now n = {
		.now = m->time, .start = win->start, .prev_start = win->start, .epoch = win->epoch};
	struct acct_task old;
	struct who who;

	if (acct_before(win->start, m->time)) {
		if (acct_is_old(copy, &n))
			acct_roll(copy, cpu, &n);
		acct_charge(copy, cpu, &n);
		old = *copy;
		old.id.end = m->time;
		old.id.sel |= SEL_LEFT | (uint32_t)copy->st.cls << SEL_CLS_SHIFT;
		who = who_is(c, s, &old.id, &old.st, false);
		add_task(c, t, &who, &old, win);
		law_of_task(c, &old, win);
		acct_bank_clear(&copy->bank[win->epoch & 1], copy->cpu);
		copy->rows = copy->calls = 0;
		copy->id.from = m->time;
		copy->id.sel |= SEL_CAME;
	}
	copy->id.cgroup = m->cgroup;
	t->tasks[s].id.cgroup = m->cgroup;
}

/* A task that no event has touched for the whole window: it spent it in its class. */
static bool add_untouched(struct collect *c, const struct tables *t, uint32_t slot,
			  const struct window *win)
{
	const struct acct_task *rec = &t->tasks[slot];
	uint32_t seq = *(volatile const uint32_t *)&rec->seq;
	struct acct_state st;
	struct who who;
	uint32_t cpu;
	uint64_t tag;

	atomic_thread_fence(memory_order_acquire);
	st = rec->st;
	cpu = rec->cpu;
	tag = rec->tag;
	atomic_thread_fence(memory_order_acquire);
	if ((seq & 1) || seq != *(volatile const uint32_t *)&rec->seq)
		return false;
	if ((int32_t)(win->epoch - (uint32_t)tag) <= 0 || acct_on_cpu(&st) || st.cls >= AC_IDLE)
		return false;
	if (t->nmoves && pending_move(c, t, &rec->id, win))
		return false;
	c->gen_of[slot] = tag >> 32;
	who = who_is(c, slot, &rec->id, &st, false);
	add_off(c, &who, cpu, st.cls,
		win->end - (acct_before(st.since, win->start) ? win->start : st.since));
	add_open(c, &who, st.flags & AS_CALL ? st.key : KEY_NO_CALL, st.begin,
		 !(st.flags & AS_NOBEGIN) && (uint32_t)tag != ACCT_WARMUP, win);
	add_alive(c, &who);
	if (who.task != HASH_NONE)
		c->r.tasks[who.task].state = state_name(st.cls);
	return true;
}

/* Completes a copy up to the window's end, unless an event has done it. */
static void complete(struct acct_task *copy, struct acct_cpu *cpu, const struct window *win)
{
	struct acct_now n = {.now = win->end,
			     .start = win->end,
			     .prev_start = win->start,
			     .epoch = win->epoch + 1};

	if (acct_is_old(copy, &n))
		acct_roll(copy, cpu, &n);
}

static bool sums_any(const __u64 *ns);

/* Whether a row of the task, which goes by `tag`, has sums. */
static bool rows_any(const struct tables *t, const struct acct_task *task, uint64_t tag)
{
	uint32_t idx = task->rows;

	for (uint32_t n = 0; idx && idx < t->nrows && n < t->nrows; n++) {
		if (t->rows[idx].bank[tag & 1].tag == tag)
			return true;
		idx = t->rows[idx].next;
	}
	return false;
}

/* Whether the task of a copy that is past the window was known in it: else it is the next report's.
 */
static bool was_known(const struct tables *t, const struct acct_task *copy,
		      const struct window *win)
{
	if (!acct_before(win->epoch, (uint32_t)copy->tag))
		return true;
	return sums_any(copy->bank[win->epoch & 1].s.ns) ||
	       rows_any(t, copy, (copy->tag & ~0xffffffffULL) | win->epoch);
}

#define ENDED_NAME "(ended)"

/* What ended tasks have left in a record that they share (utilbpf.h), if any in this window. */
static void collect_fold(struct collect *c, const struct tables *t, uint32_t s,
			 const struct window *win)
{
	struct acct_task copy;
	struct acct_cpu cpu;
	struct who who;

	if (!task_copy(t, s, &copy, &cpu) || acct_before((__u32)copy.tag, win->epoch))
		return;
	complete(&copy, &cpu, win);
	c->gen_of[s] = copy.tag >> 32;
	if (!copy.bank[win->epoch & 1].open_begin)
		return;
	if (!copy.id.tgid)
		strcpy(copy.id.comm, ENDED_NAME);
	who = who_are(c, s, &copy.id, &copy.st, true, copy.bank[win->epoch & 1].open_begin);
	if (who.task != HASH_NONE)
		strcpy(c->r.tasks[who.task].comm, ENDED_NAME);
	add_task(c, t, &who, &copy, win);
}

static void collect_slot(struct collect *c, const struct tables *t, uint32_t s,
			 const struct window *win)
{
	const struct acct_move *m;
	struct acct_task copy;
	struct acct_cpu cpu;
	struct who who;
	bool died;

	if (!slot_used(c, &t->tasks[s], s, win))
		return;
	if (t->tasks[s].id.sel & SEL_FOLD) {
		collect_fold(c, t, s, win);
		return;
	}
	if (add_untouched(c, t, s, win))
		return;
	if (!task_copy(t, s, &copy, &cpu) || !slot_used(c, &copy, s, win))
		return;
	/* Died, with a window that is already told: only its slot is left. */
	if (copy.id.end && (int32_t)((uint32_t)copy.tag - win->epoch) < 0) {
		if (is_dead(&copy, copy.tag))
			dead_push(c, s);
		return;
	}
	/* An end at the very boundary is the next window's, with the call and the switch there. */
	died = is_dead(&copy, win->epoch);
	if (!was_known(t, &copy, win))
		return;
	m = t->nmoves ? pending_move(c, t, &copy.id, win) : NULL;
	if (m && !acct_before(win->epoch, (__u32)copy.tag))
		split_at_move(c, t, s, &copy, &cpu, m, win);
	c->gen_of[s] = copy.tag >> 32;
	complete(&copy, &cpu, win);
	who = who_is(c, s, &copy.id, &copy.st, false);
	add_task(c, t, &who, &copy, win);
	law_of_task(c, &copy, win);
	if (died)
		dead_push(c, s);
	else
		add_alive(c, &who);
}

static void collect_idle(struct collect *c, const struct tables *t, uint32_t cpu,
			 const struct window *win)
{
	uint32_t slot = SLOT_IDLE(cpu, t->ncpus);
	struct who who = {.slot = slot,
			  .cpu_only = 1,
			  .group = HASH_NONE,
			  .proc = HASH_NONE,
			  .task = HASH_NONE};
	struct acct_task copy;
	struct acct_cpu c_copy;

	task_copy(t, slot, &copy, &c_copy);
	complete(&copy, &c_copy, win);
	c->by_slot[slot] = who;
	c->gen_of[slot] = 1;
	add_task(c, t, &who, &copy, win);
}

/* ---- the surplus ---- */

static const struct acct_pop *pop_of(const struct tables *t, uint32_t cpu, bool rest)
{
	return rest ? &t->cpus[cpu].rest_pop : &t->cpus[cpu].pop;
}

/* Off-CPU time of a population in the window, from the CPUs' parts of it (utilbpf.h). */
static void pop_off(struct pop_sums *p, const struct tables *t, bool rest, const struct window *win,
		    __u64 *ns)
{
	uint32_t b = win->epoch & 1;

	for (int k = 0; k < AC_OFF_NR; k++) {
		uint64_t sum = 0, n = 0, upto;

		for (uint32_t i = 0; i < t->ncpus; i++) {
			sum += pop_of(t, i, rest)->sum[b][k];
			n += pop_of(t, i, rest)->n[b][k];
		}
		p->saved[b][k] = sum;
		p->n_saved[b][k] = n;
		upto = p->saved[0][k] + p->saved[1][k] +
		       (p->n_saved[0][k] + p->n_saved[1][k]) * win->end;
		ns[k] = upto - p->before[k];
		p->before[k] = upto;
	}
}

static void pop_start(struct pop_sums *p, const struct tables *t, bool rest, uint64_t start)
{
	uint32_t b = ACCT_WARMUP & 1;

	for (int k = 0; k < AC_OFF_NR; k++) {
		for (uint32_t i = 0; i < t->ncpus; i++) {
			p->saved[b][k] += pop_of(t, i, rest)->sum[b][k];
			p->n_saved[b][k] += pop_of(t, i, rest)->n[b][k];
		}
		p->before[k] = p->saved[b][k] + p->n_saved[b][k] * start;
	}
}

/* What the tasks' rows that found no record have grown by on a CPU, in the windows of this parity.
 */
static void others_take(struct collect *c, const struct tables *t, uint32_t cpu, uint32_t parity,
			struct acct_sums *d)
{
	struct acct_sums *before = &c->others[2 * cpu + parity];
	const struct acct_sums now = t->rows[ROW_OTHER(cpu)].bank[parity].s;

	for (int i = 0; i < AC_NR; i++)
		d->ns[i] = now.ns[i] - before->ns[i];
	d->voluntary = now.voluntary - before->voluntary;
	d->involuntary = now.involuntary - before->involuntary;
	*before = now;
}

int collect__start(struct collect *c, const struct tables *t, uint64_t start)
{
	uint32_t b = ACCT_WARMUP & 1;
	struct acct_sums s;

	free(c->others); /* a warm-up may come after all */
	c->others = calloc(2 * t->ncpus, sizeof(*c->others));
	if (!c->others)
		return -ENOMEM;
	memset(&c->surplus, 0, sizeof(c->surplus));
	memset(&c->rest, 0, sizeof(c->rest));
	for (uint32_t i = 0; i < t->ncpus; i++)
		others_take(c, t, i, b, &s);
	pop_start(&c->surplus, t, false, start);
	pop_start(&c->rest, t, true, start);
	for (uint32_t i = 0; i < t->ncpus; i++)
		c->rest_exited += t->cpus[i].rest_exited;
	return 0;
}

void collect__save(const struct collect *c, uint32_t ncpus, struct collect_carry *to,
		   struct acct_sums *others)
{
	*to = (struct collect_carry){c->surplus, c->rest, c->rest_exited};
	memcpy(others, c->others, 2 * (size_t)ncpus * sizeof(*others));
}

int collect__restore(struct collect *c, uint32_t ncpus, const struct collect_carry *from,
		     const struct acct_sums *others)
{
	size_t len = 2 * (size_t)ncpus * sizeof(*others);

	c->others = malloc(len);
	if (!c->others)
		return -ENOMEM;
	memcpy(c->others, others, len);
	c->surplus = from->surplus;
	c->rest = from->rest;
	c->rest_exited = from->rest_exited;
	return 0;
}

static bool sums_any(const __u64 *ns)
{
	uint64_t any = 0;

	for (int i = 0; i < AC_NR; i++)
		any |= ns[i];
	return any;
}

/* All surplus tasks are one task and one process, "(other)". */
static void collect_other(struct collect *c, const struct tables *t, const struct window *win)
{
	struct acct_ident id = {.comm = "(other)"};
	struct acct_state st = {0};
	struct acct_sums off = {0};
	struct acct_task copy;
	struct acct_cpu cpu;
	struct who who;
	uint64_t used = 0;

	pop_off(&c->surplus, t, false, win, &off.ns[AC_WAIT]);
	for (uint32_t i = 0; i < t->ncpus; i++) {
		const struct acct_task *rec = &t->tasks[SLOT_OTHER(i, t->ncpus)];

		used += (uint32_t)rec->tag >= win->epoch || acct_on_cpu(&rec->st);
		used += memcmp(&t->rows[ROW_OTHER(i)].bank[win->epoch & 1].s,
			       &c->others[2 * i + (win->epoch & 1)], sizeof(off)) != 0;
		used += (uint32_t)t->calls[CALL_OTHER(i)].bank[win->epoch & 1].tag == win->epoch;
	}
	if (!used && !sums_any(off.ns))
		return;
	who = who_is(c, 0, &id, &st, true);
	add_sums(c, &who, 0, &off);
	for (uint32_t i = 0; i < t->ncpus; i++) {
		uint32_t slot = SLOT_OTHER(i, t->ncpus);

		task_copy(t, slot, &copy, &cpu);
		/* Made to run by another CPU, when this one was just seating somebody: flow_evict()
		 */
		if (acct_on_cpu(&copy.st) && cpu.slot != slot)
			copy.st.cls = AC_NONE;
		complete(&copy, &cpu, win);
		c->by_slot[slot] = who;
		c->gen_of[slot] = 1;
		add_task(c, t, &who, &copy, win);
		c->r.quality.unknown_ns += copy.bank[win->epoch & 1].s.ns[AC_BUSY];
	}
	if (who.task != HASH_NONE)
		c->r.tasks[who.task].state = "running";
	for (uint32_t i = 0; i < t->ncpus; i++) { /* the tables' surplus records */
		uint64_t tag = GEN_FIXED | win->epoch;
		const struct acct_call *call = &t->calls[CALL_OTHER(i)];
		struct acct_sums s;
		struct rep_call rc;

		others_take(c, t, i, win->epoch & 1, &s);
		add_sums(c, &who, i, &s);
		if (call->bank[tag & 1].tag == tag) {
			call_of_bank(&rc, KEY_OTHER(CALL_SYSCALL), &call->bank[tag & 1]);
			add_call(c, &who, &rc);
		}
	}
}

/*
 * The tasks that are not selected: their time is the system's and the CPUs', and nobody's else.
 * While they are off the CPU no CPU is theirs, so that of some CPUs alone is not known.
 */
static void collect_rest(struct collect *c, const struct tables *t, const struct window *win)
{
	struct who nobody = {.group = HASH_NONE, .proc = HASH_NONE, .task = HASH_NONE};
	struct acct_sums off = {0};
	struct acct_task copy;
	struct acct_cpu cpu;
	uint64_t exited = 0, alive = 0;
	bool all = true;

	for (uint32_t i = 0; i < t->ncpus; i++) {
		all &= !c->skip[i];
		exited += t->cpus[i].rest_exited;
	}
	pop_off(&c->rest, t, true, win, &off.ns[AC_WAIT]);
	for (int k = 0; k < AC_OFF_NR && all; k++) {
		c->r.sys_ns[AC_WAIT + k] += off.ns[AC_WAIT + k];
		alive += c->rest.n_saved[0][k] + c->rest.n_saved[1][k];
	}
	for (uint32_t i = 0; i < t->ncpus; i++) {
		uint32_t slot = SLOT_REST(i, t->ncpus);

		task_copy(t, slot, &copy, &cpu);
		complete(&copy, &cpu, win);
		if (c->skip[i])
			continue;
		alive += copy.bank[win->epoch & 1].end_cls < AC_WAIT;
		c->by_slot[slot] = nobody;
		c->by_slot[slot].slot = slot;
		c->gen_of[slot] = 1;
		add_task(c, t, &nobody, &copy, win);
	}
	if (all) {
		c->r.sys_tasks += alive + exited - c->rest_exited;
		c->r.sys_alive += alive;
	}
	c->rest_exited = exited;
}

/* Interrupts' calls that found no record, of any task, by CPU and class. */
static void collect_other_icalls(struct collect *c, const struct tables *t, uint32_t epoch)
{
	struct who nobody = {.cpu_only = 1};
	struct rep_call call;

	for (uint32_t i = 1; i < ICALL_OTHER(t->ncpus, 0) && i < t->nicalls; i++) {
		const struct acct_call_bank *b = &t->icalls[i].bank[epoch & 1];

		if (b->tag != (GEN_FIXED | epoch))
			continue;
		call_of_bank(&call, KEY_OTHER(CALL_IRQ + (i - 1) % AC_STEAL_NR), b);
		add_call(c, &nobody, &call);
	}
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
static void bag_give(struct collect *c, struct bag *b, void *first, size_t stride)
{
	if (b->n)
		qsort(b->v, b->n, sizeof(*b->v), call_cmp);
	for (size_t i = 0, j; i < b->n; i = j) {
		struct rep_calls *to = (void *)((char *)first + b->v[i].entity * stride);

		for (j = i; j < b->n && b->v[j].entity == b->v[i].entity; j++)
			;
		to->v = calloc(j - i, sizeof(*to->v));
		if (!to->v) {
			c->err = -ENOMEM;
			return;
		}
		to->n = j - i;
		for (size_t k = 0; k < to->n; k++)
			to->v[k] = b->v[i + k].call;
	}
}

static void give_all(struct collect *c)
{
	struct report *r = &c->r;

	bag_give(c, &c->sys_bag, &r->sys_calls, 0);
	bag_give(c, &c->sel_bag, &r->sel_calls, 0);
	if (r->nr_groups)
		bag_give(c, &c->group_bag, &r->groups[0].calls, sizeof(*r->groups));
	if (r->nr_procs)
		bag_give(c, &c->proc_bag, &r->procs[0].calls, sizeof(*r->procs));
	if (r->nr_tasks)
		bag_give(c, &c->task_bag, &r->tasks[0].calls, sizeof(*r->tasks));
	for (size_t i = 0; i < r->nr_tasks && !c->err; i++) {
		struct rep_task *t = &r->tasks[i];

		t->cpus = calloc(t->nr_cpus + 1, sizeof(*t->cpus));
		if (!t->cpus)
			c->err = -ENOMEM;
		else if (t->nr_cpus)
			memcpy(t->cpus, &c->task_cpus[c->first_cpu[i]],
			       t->nr_cpus * sizeof(*t->cpus));
	}
	if (!c->err)
		c->err = report__sort_tasks(r);
}

/* The CPUs' law, the totals, the containers' names. */
static void finish(struct collect *c, const struct tables *t, const struct window *win)
{
	struct report *r = &c->r;
	size_t n = 0;

	for (size_t i = 0; i < r->nr_cpus; i++) {
		struct rep_cpu row = r->cpus[i];
		uint64_t sum = report__oncpu(row.ns) + row.ns[AC_IDLE];

		if (c->skip[i] || (!t->online[i] && !sum))
			continue;
		row.online_ns = t->online[i] ? win->end - win->start : sum;
		residual(c, sum - row.online_ns);
		sums_add(r->sys_cpu_ns, row.ns);
		r->cpus[n++] = row;
	}
	r->nr_cpus = n;
	r->sys_ns[AC_IDLE] = r->sys_cpu_ns[AC_IDLE];
	r->sys_procs = r->nr_procs;
	r->sys_groups = r->nr_groups;
	for (size_t i = 0; i < r->nr_groups; i++) {
		const char *name =
			names__group_container(c->names, r->groups[i].id, r->groups[i].path);

		r->groups[i].container = name ? strdup(name) : NULL;
	}
}

/* Asks for what a sleeping task's record is read for: the table is larger than the caches. */
static void prefetch_task(const struct tables *t, uint32_t slot)
{
	if (slot >= t->ntasks)
		return;
	__builtin_prefetch(&t->tasks[slot].tag);
	__builtin_prefetch(&t->tasks[slot].st.begin);
	__builtin_prefetch(&t->tasks[slot].id.start);
}

int collect__window(struct collect *c, const struct tables *t, const struct window *w,
		    struct report *r)
{
	struct rep_quality q;

	c->err = slots_init(c, t);
	if (!c->err)
		c->err = cpus_init(c, t);
	for (uint32_t i = 0; i < t->nmoves && !c->err; i++)
		if (hash__get(&c->moves, t->moves[i].key, 0, i) == HASH_NONE)
			c->err = -ENOMEM;
	for (uint32_t i = 0; i < t->ncpus && !c->err; i++)
		if (t->online[i] || (uint32_t)t->tasks[SLOT_IDLE(i, t->ncpus)].tag == w->epoch)
			collect_idle(c, t, i, w);
	for (uint32_t s = SLOT_FIRST(t->ncpus), gap = 0; !c->err && slots_more(t, s, &gap); s++) {
		prefetch_task(t, s + PREFETCH);
		collect_slot(c, t, s, w);
	}
	if (!c->err) {
		collect_other(c, t, w);
		if (c->selected)
			collect_rest(c, t, w);
		add_icalls(c, t, w->epoch, false);
		collect_other_icalls(c, t, w->epoch);
		free_dead(c, t, w->epoch, false);
		finish(c, t, w);
		give_all(c);
	}
	q = c->r.quality;
	c->r.level = c->level;
	c->r.selected = c->selected;
	if (!c->err) {
		/* r's header fields are the engine's; everything else moves there. */
		c->r.host = r->host;
		c->r.engine = r->engine;
		c->r.reason = r->reason;
		c->r.selection = r->selection;
		c->r.absent = r->absent;
		c->r.index = r->index;
		c->r.start_ns = w->start;
		c->r.end_ns = w->end;
		c->r.start_wall = r->start_wall;
		c->r.cost = r->cost;
		c->r.quality = r->quality;
		c->r.quality.residual_ns = q.residual_ns;
		c->r.quality.unknown_ns = q.unknown_ns;
		memcpy(c->r.notes, r->notes, sizeof(r->notes));
		*r = c->r;
		memset(&c->r, 0, sizeof(c->r));
	}
	collect_reset(c);
	return c->err;
}
