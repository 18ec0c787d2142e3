// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the tables of a window: copies each record safely against its writer, completes it with
 * acct_roll() up to the window's end, and has it added up by totals.c. It knows no engine and no
 * format.
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
#include "totals.h"

#define PREFETCH 8 /* records ahead */

/* A task that has been taken in: its slot may be used again, by then it may be another's. */
struct dead {
	uint32_t slot, gen;
};

struct collect {
	struct totals tot;	       /* of the window that is being collected */
	const struct sel_calls *calls; /* that have records; NULL: all */
	void (*free_slot)(void *ctx, uint32_t slot);
	void *ctx;
	struct who *by_slot; /* of this window, for the interrupts' calls */
	uint32_t *gen_of;    /* generation that by_slot is of; 0: none */
	uint32_t *freed;     /* generation that was taken in and freed last */
	uint32_t nslots;
	struct dead *dead;
	uint32_t nr_dead, cap_dead;
	struct hash moves; /* key -> tables.moves */
	struct pop_sums surplus, rest;
	uint64_t rest_exited; /* up to the last report */
	uint32_t held_up;     /* times that a program was waited for in this window */
	struct acct_sums
		*others; /* by CPU and parity: what the "(other)" rows were at the last reading */
};

struct collect *collect__new(enum report_level level, bool selected, struct names *names,
			     void (*free_slot)(void *ctx, uint32_t slot), void *ctx)
{
	struct collect *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->tot.level = level;
	c->tot.selected = selected;
	c->tot.names = names;
	c->free_slot = free_slot;
	c->ctx = ctx;
	totals__reset(&c->tot);
	return c;
}

void collect__set_depth(struct collect *c, unsigned int depth)
{
	c->tot.depth = depth;
}

void collect__set_calls(struct collect *c, const struct sel_calls *calls)
{
	c->calls = calls;
}

/* Drops what is under construction. */
static void collect_reset(struct collect *c)
{
	totals__reset(&c->tot);
	hash__clear(&c->moves);
	if (c->gen_of)
		memset(c->gen_of, 0, c->nslots * sizeof(*c->gen_of));
}

void collect__free(struct collect *c)
{
	if (!c)
		return;
	collect_reset(c);
	totals__free(&c->tot);
	hash__free(&c->moves);
	free(c->by_slot);
	free(c->gen_of);
	free(c->freed);
	free(c->dead);
	free(c->others);
	free(c);
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
	totals__open(&c->tot, w, &call);
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
			totals__call(&c->tot, w, &call);
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
			totals__sums(&c->tot, w, rec->cpu, &s);
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

/* Until when what has happened may be in the window's sums. */
static uint64_t upto(const struct window *win)
{
	return win->late ? win->late : win->end;
}

/* How long it lived in the window, ns. */
static uint64_t life_of(const struct acct_task *task, const struct window *win)
{
	const struct acct_ident *id = &task->id;
	uint64_t began = id->from ? id->from : id->start;
	uint64_t from = acct_before(began, win->start) ? win->start : began;
	uint64_t to = id->end && acct_before(id->end, win->end) ? id->end : win->end;

	return to - from;
}

/* After add_task(): what it was charged must be its life inside the window. */
static void law_of_task(struct collect *c, const struct acct_task *task, const struct window *win)
{
	/* What was folded for want of room is in the totals, and counted. */
	if (!task->bank[win->epoch & 1].folded)
		totals__residual(&c->tot, c->tot.charged - life_of(task, win));
}

/*
 * Adds a completed copy: its bank of the window, its rows and calls, its open call.
 */
static void add_task(struct collect *c, const struct tables *t, const struct who *w,
		     const struct acct_task *task, const struct window *win)
{
	const struct acct_bank *b = &task->bank[win->epoch & 1];
	uint64_t tag = (task->tag & ~0xffffffffULL) | win->epoch;

	c->tot.charged = 0;
	totals__sums(&c->tot, w, b->cpu, &b->s);
	if (w->group != HASH_NONE)
		c->tot.r.groups[w->group].migrations += b->migrations;
	if (w->proc != HASH_NONE)
		c->tot.r.procs[w->proc].migrations += b->migrations;
	if (w->task != HASH_NONE)
		c->tot.r.tasks[w->task].migrations += b->migrations;
	add_rows(c, t, w, task, tag, b->busy_as);
	add_calls(c, t, w, task, tag);
	add_open(c, w, b->open_key, b->open_begin, !(b->open_flags & AS_NOBEGIN), win);
	if (w->task != HASH_NONE) {
		struct rep_task *rt = &c->tot.r.tasks[w->task];

		rt->state = totals__state(task->id.sel & SEL_LEFT ? task->id.sel >> SEL_CLS_SHIFT
								  : b->end_cls);
		if (rt->end_ns &&
		    !acct_before(rt->end_ns, upto(win))) { /* ended just after the window */
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
	       acct_before(rec->id.from ? rec->id.from : rec->id.start, upto(win));
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
	int err = totals__cpus(&c->tot, t->ncpus);

	for (uint32_t i = 0; i < t->ncpus && !err; i++)
		c->tot.skip[i] = t->cpus[i].skip;
	return err;
}

/* The entities of the task in a slot, counted in them; n: of how many tasks the record is the sum.
 */
static struct who who_are(struct collect *c, uint32_t slot, const struct acct_ident *id,
			  const struct acct_state *st, bool other, uint32_t n)
{
	struct who w = totals__who(&c->tot, id, st, other, n);

	c->by_slot[slot] = w;
	return w;
}

static struct who who_is(struct collect *c, uint32_t slot, const struct acct_ident *id,
			 const struct acct_state *st, bool other)
{
	return who_are(c, slot, id, st, other, 1);
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
	totals__call(&c->tot, rec->slot ? &c->by_slot[rec->slot] : &other, &call);
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
		c->freed[c->dead[i].slot] = c->dead[i].gen;
	if (icalls && c->nr_dead)
		add_icalls(c, t, epoch, true);
	for (uint32_t i = 0; i < c->nr_dead; i++) {
		c->gen_of[c->dead[i].slot] = 0;
		c->free_slot(c->ctx, c->dead[i].slot);
	}
	c->nr_dead = 0;
}

static void dead_push(struct collect *c, uint32_t slot, const struct acct_task *copy)
{
	if (c->nr_dead == c->cap_dead) {
		uint32_t cap = c->cap_dead ? 2 * c->cap_dead : 64;
		struct dead *v = realloc(c->dead, cap * sizeof(*v));

		if (!v) {
			c->tot.err = -ENOMEM;
			return;
		}
		c->dead = v;
		c->cap_dead = cap;
	}
	c->dead[c->nr_dead++] = (struct dead){slot, copy->tag >> 32};
}

int collect__reap(struct collect *c, const struct tables *t, const struct window *open)
{
	/* Its end is not known yet: whatever has happened lies before it. */
	const struct window win = {.epoch = open->epoch,
				   .start = open->start,
				   .end = open->start + (1ULL << 62),
				   .loose = open->loose},
			    *w = &win;
	struct acct_task copy;
	struct acct_cpu cpu;

	c->tot.loose = w->loose;
	c->tot.err = slots_init(c, t);
	if (!c->tot.err)
		c->tot.err = cpus_init(c, t);
	for (uint32_t s = SLOT_FIRST(t->ncpus), gap = 0; !c->tot.err && slots_more(t, s, &gap);
	     s++) {
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
		dead_push(c, s, &copy);
	}
	free_dead(c, t, w->epoch, true);
	return c->tot.err;
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
	totals__off(&c->tot, &who, cpu, st.cls,
		    win->end - (acct_before(st.since, win->start) ? win->start : st.since));
	add_open(c, &who, st.flags & AS_CALL ? st.key : KEY_NO_CALL, st.begin,
		 !(st.flags & AS_NOBEGIN) && (uint32_t)tag != ACCT_WARMUP, win);
	totals__alive(&c->tot, &who);
	if (who.task != HASH_NONE)
		c->tot.r.tasks[who.task].state = totals__state(st.cls);
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

static uint64_t sums_ns(const struct acct_sums *s)
{
	uint64_t ns = 0;

	for (int i = 0; i < AC_NR; i++)
		ns += s->ns[i];
	return ns;
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

/* What a completed copy was charged in the window, on all CPUs; ns. */
static uint64_t charged_of(const struct tables *t, const struct acct_task *task,
			   const struct window *win)
{
	uint64_t tag = (task->tag & ~0xffffffffULL) | win->epoch;
	uint64_t ns = sums_ns(&task->bank[tag & 1].s);
	uint32_t idx = task->rows;

	for (uint32_t n = 0; idx && idx < t->nrows && n < t->nrows; n++) {
		if (t->rows[idx].bank[tag & 1].tag == tag)
			ns += sums_ns(&t->rows[idx].bank[tag & 1].s);
		idx = t->rows[idx].next;
	}
	return ns;
}

/*
 * Whether a copy breaks its task's law: a program was in the middle of charging it, and is held up
 * there, by a hypervisor, since before the window's end.
 */
static bool is_torn(const struct tables *t, const struct acct_task *copy,
		    const struct acct_cpu *cpu, const struct window *win)
{
	struct acct_task whole = *copy;
	struct acct_cpu c;

	if (copy->id.end && acct_before((__u32)copy->tag, win->epoch))
		return false;
	if (win->loose || !was_known(t, copy, win) || copy->bank[win->epoch & 1].folded)
		return false;
	if (acct_on_cpu(&copy->st))
		c = *cpu;
	complete(&whole, &c, win);
	return charged_of(t, &whole, win) != life_of(&whole, win);
}

/* A copy of the task in a slot that is not torn. False: it is none of the window's. */
static bool copy_whole(struct collect *c, const struct tables *t, uint32_t s,
		       const struct window *win, struct acct_task *copy, struct acct_cpu *cpu)
{
	while (task_copy(t, s, copy, cpu) && slot_used(c, copy, s, win)) {
		if (c->held_up == HELD_UP_N || !is_torn(t, copy, cpu, win))
			return true;
		c->held_up++;
		usleep(HELD_UP_NS / 1000);
	}
	return false;
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
		strcpy(c->tot.r.tasks[who.task].comm, ENDED_NAME);
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
	if (!copy_whole(c, t, s, win, &copy, &cpu))
		return;
	/* Died, with a window that is already told: only its slot is left. */
	if (copy.id.end && (int32_t)((uint32_t)copy.tag - win->epoch) < 0) {
		if (is_dead(&copy, copy.tag))
			dead_push(c, s, &copy);
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
		dead_push(c, s, &copy);
	else
		totals__alive(&c->tot, &who);
}

static void collect_idle(struct collect *c, const struct tables *t, uint32_t cpu,
			 const struct window *win)
{
	uint32_t slot = SLOT_IDLE(cpu, t->ncpus);
	struct who who = {.cpu_only = 1, .group = HASH_NONE, .proc = HASH_NONE, .task = HASH_NONE};
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

#define SEAT_TRIES 100

/*
 * A completed copy of a CPU's record for tasks that have none of their own. Nobody, whom another
 * CPU made to run there when this one was just seating somebody, flow_evict(), does not run: the
 * CPU says so, and not only while a switch lies between the copies of the two. Who is of the rest
 * and known, so unwatched, runs when the record says it: the CPUs' records may be older copies.
 */
static void shared_copy(const struct tables *t, uint32_t slot, struct acct_task *copy,
			struct acct_cpu *cpu, const struct window *win)
{
	bool seated = false;

	cpu->task = 0; /* only of a task that runs is its CPU copied, too */
	for (int i = 0; i < SEAT_TRIES && !seated; i++) {
		task_copy(t, slot, copy, cpu);
		seated = !acct_on_cpu(&copy->st) || cpu->slot == slot ||
			 (copy->st.flags & AS_UNWATCHED);
	}
	if (!seated)
		copy->st.cls = AC_NONE;
	complete(copy, cpu, win);
}

/* All surplus tasks are one task and one process, "(other)". */
static void collect_other(struct collect *c, const struct tables *t, const struct window *win)
{
	struct acct_ident id = {.comm = "(other)"};
	struct acct_state st = {0};
	struct acct_sums off = {0};
	const struct acct_sums none = {0};
	struct acct_task copy;
	struct acct_cpu cpu;
	struct who who;
	uint64_t used = 0;

	pop_off(&c->surplus, t, false, win, &off.ns[AC_WAIT]);
	for (uint32_t i = 0; i < t->ncpus; i++) {
		shared_copy(t, SLOT_OTHER(i, t->ncpus), &copy, &cpu, win);
		used += memcmp(&copy.bank[win->epoch & 1].s, &none, sizeof(none)) != 0;
		used += memcmp(&t->rows[ROW_OTHER(i)].bank[win->epoch & 1].s,
			       &c->others[2 * i + (win->epoch & 1)], sizeof(off)) != 0;
		used += (uint32_t)t->calls[CALL_OTHER(i)].bank[win->epoch & 1].tag == win->epoch;
	}
	if (!used && !sums_any(off.ns))
		return;
	who = who_is(c, 0, &id, &st, true);
	totals__alive(&c->tot, &who); /* it never ends */
	totals__sums(&c->tot, &who, 0, &off);
	for (uint32_t i = 0; i < t->ncpus; i++) {
		uint32_t slot = SLOT_OTHER(i, t->ncpus);

		shared_copy(t, slot, &copy, &cpu, win);
		c->by_slot[slot] = who;
		c->gen_of[slot] = 1;
		add_task(c, t, &who, &copy, win);
		c->tot.r.quality.unknown_ns += copy.bank[win->epoch & 1].s.ns[AC_BUSY];
	}
	if (who.task != HASH_NONE)
		c->tot.r.tasks[who.task].state = "running";
	for (uint32_t i = 0; i < t->ncpus; i++) { /* the tables' surplus records */
		uint64_t tag = GEN_FIXED | win->epoch;
		const struct acct_call *call = &t->calls[CALL_OTHER(i)];
		struct acct_sums s;
		struct rep_call rc;

		others_take(c, t, i, win->epoch & 1, &s);
		totals__sums(&c->tot, &who, i, &s);
		if (call->bank[tag & 1].tag == tag) {
			call_of_bank(&rc, KEY_OTHER(CALL_SYSCALL), &call->bank[tag & 1]);
			totals__call(&c->tot, &who, &rc);
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
		all &= !c->tot.skip[i];
		exited += t->cpus[i].rest_exited;
	}
	pop_off(&c->rest, t, true, win, &off.ns[AC_WAIT]);
	for (int k = 0; k < AC_OFF_NR && all; k++) {
		c->tot.r.sys_ns[AC_WAIT + k] += off.ns[AC_WAIT + k];
		alive += c->rest.n_saved[0][k] + c->rest.n_saved[1][k];
	}
	for (uint32_t i = 0; i < t->ncpus; i++) {
		uint32_t slot = SLOT_REST(i, t->ncpus);

		shared_copy(t, slot, &copy, &cpu, win);
		if (c->tot.skip[i])
			continue;
		/* Nobody knows who is a task that is counted where it was seen. */
		alive += copy.bank[win->epoch & 1].end_cls < AC_WAIT && cpu.task != TASK_NOBODY;
		c->by_slot[slot] = nobody;
		c->gen_of[slot] = 1;
		add_task(c, t, &nobody, &copy, win);
	}
	if (all) {
		c->tot.r.sys_tasks += alive + exited - c->rest_exited;
		c->tot.r.sys_alive += alive;
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
		totals__call(&c->tot, &nobody, &call);
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
	int err;

	c->held_up = 0;
	c->tot.loose = w->loose;
	c->tot.err = slots_init(c, t);
	if (!c->tot.err)
		c->tot.err = cpus_init(c, t);
	for (uint32_t i = 0; i < t->nmoves && !c->tot.err; i++)
		if (hash__get(&c->moves, t->moves[i].key, 0, i) == HASH_NONE)
			c->tot.err = -ENOMEM;
	for (uint32_t i = 0; i < t->ncpus && !c->tot.err; i++)
		if (t->online[i] || (uint32_t)t->tasks[SLOT_IDLE(i, t->ncpus)].tag == w->epoch)
			collect_idle(c, t, i, w);
	for (uint32_t s = SLOT_FIRST(t->ncpus), gap = 0; !c->tot.err && slots_more(t, s, &gap);
	     s++) {
		prefetch_task(t, s + PREFETCH);
		collect_slot(c, t, s, w);
	}
	if (!c->tot.err) {
		collect_other(c, t, w);
		if (c->tot.selected)
			collect_rest(c, t, w);
		add_icalls(c, t, w->epoch, false);
		collect_other_icalls(c, t, w->epoch);
		free_dead(c, t, w->epoch, false);
		totals__finish(&c->tot, t->online, w->end - w->start);
	}
	err = c->tot.err;
	if (!err) {
		r->start_ns = w->start;
		r->end_ns = w->end;
		totals__give(&c->tot, r);
	}
	collect_reset(c);
	return err;
}
