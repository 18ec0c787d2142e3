// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plays a script on a stage, as an engine would run: publishes windows, reads them with collect.c.
 *
 * Law 5 is checked by playing a script again with other windows: whatever the cuts, the sums are
 * the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/collect.h"
#include "play.h"

/* ---- one play ---- */

struct run {
	struct play *p;
	struct move moves[SC_PEOPLE]; /* that tasks may not know of yet */
	struct collect *collect;
	struct tables t;
	bool online[SC_CPUS];
	struct window win;  /* the one that ends next; epoch 0: not begun */
	uint64_t published; /* start of the last published window */
	uint64_t before[3]; /* quality up to the last report */
	size_t reports;
};

static int fail(struct play *p, const char *what, const char *why)
{
	if (!p->why[0])
		snprintf(p->why, sizeof(p->why), "%s: %s: %s", p->script->name, what, why);
	return -1;
}

static void free_slot(void *ctx, uint32_t slot)
{
	struct run *r = ctx;
	struct script_state *st = r->p->stage.st;

	if (!r->p->keep && st->nfree < SC_SLOTS)
		st->free[st->nfree++] = slot;
}

static void fill_quality(struct run *r, struct report *rep)
{
	uint64_t now[3] = {0};

	for (int i = 0; i < SC_CPUS; i++) {
		const struct acct_cpu *c = &r->t.cpus[i];

		now[0] += c->unmatched + c->irq_unmatched;
		now[1] += c->dropped_tasks;
		now[2] += c->dropped_calls + c->irq_dropped;
	}
	rep->quality.unmatched = now[0] - r->before[0];
	rep->quality.dropped_tasks = now[1] - r->before[1];
	rep->quality.dropped_calls = now[2] - r->before[2];
	memcpy(r->before, now, sizeof(now));
}

static struct sum_task *sum_task(struct sum *s, const struct rep_task *t)
{
	size_t i;

	for (i = 0; i < s->ntasks; i++)
		if (s->tasks[i].who == t->cgroup_id && s->tasks[i].exec == t->exec &&
		    s->tasks[i].start == t->start_ns)
			return &s->tasks[i];
	if (i == SUM_MAX)
		abort();
	s->tasks[i].who = t->cgroup_id;
	s->tasks[i].exec = t->exec;
	s->tasks[i].start = t->start_ns;
	s->ntasks++;
	return &s->tasks[i];
}

static struct sum_call *sum_call(struct sum *s, const struct rep_task *t, uint32_t key)
{
	uint64_t who = t ? t->cgroup_id : UINT64_MAX, exec = t ? t->exec : 0;
	uint64_t start = t ? t->start_ns : 0;
	size_t i;

	for (i = 0; i < s->ncalls; i++)
		if (s->calls[i].who == who && s->calls[i].exec == exec &&
		    s->calls[i].start == start && s->calls[i].c.key == key)
			return &s->calls[i];
	if (i == SUM_MAX)
		abort();
	s->calls[i].who = who;
	s->calls[i].exec = exec;
	s->calls[i].start = start;
	s->calls[i].c.key = key;
	s->calls[i].c.min_ns = UINT64_MAX;
	s->ncalls++;
	return &s->calls[i];
}

static void sum_calls(struct sum *s, const struct rep_task *t, const struct rep_calls *calls)
{
	for (size_t i = 0; i < calls->n; i++) {
		const struct rep_call *c = &calls->v[i];
		struct rep_call *to;

		if (!c->count)
			continue;
		to = &sum_call(s, t, c->key)->c;
		to->count += c->count;
		to->errors += c->errors;
		to->elapsed_ns += c->elapsed_ns;
		to->oncpu_ns += c->oncpu_ns;
		to->stolen_ns += c->stolen_ns;
		for (int k = 0; k < AC_OFF_NR; k++)
			to->off_ns[k] += c->off_ns[k];
		if (c->min_ns < to->min_ns)
			to->min_ns = c->min_ns;
		if (c->max_ns > to->max_ns)
			to->max_ns = c->max_ns;
	}
}

static void sum_add(struct sum *s, const struct report *r)
{
	s->windows++;
	for (size_t i = 0; i < r->nr_tasks; i++) {
		const struct rep_task *t = &r->tasks[i];
		struct sum_task *to = sum_task(s, t);

		for (int k = 0; k < AC_NR; k++)
			to->ns[k] += t->ns[k];
		to->migrations += t->migrations;
		to->voluntary += t->voluntary;
		to->involuntary += t->involuntary;
		sum_calls(s, t, &t->calls);
	}
	sum_calls(s, NULL, &r->sys_calls);
	for (size_t i = 0; i < r->nr_cpus; i++) {
		for (int k = 0; k < AC_NR; k++)
			s->cpus[r->cpus[i].cpu][k] += r->cpus[i].ns[k];
		s->switches[r->cpus[i].cpu] += r->cpus[i].switches;
	}
}

static int expectations(struct run *r, const struct report *rep)
{
	struct play *p = r->p;
	char where[48];
	int err = 0;

	for (size_t i = 0; p->expect && i < p->script->nex; i++) {
		const struct script_expect *e = &p->script->ex[i];
		const char *bad;

		if (e->report != r->reports)
			continue;
		bad = check__expect(p->script, rep, e->text);
		snprintf(where, sizeof(where), "line %u", e->line);
		if (bad) {
			fprintf(stderr, "%s: %s: %s\n", p->script->name, where, bad);
			err = fail(p, where, bad);
		}
	}
	return err;
}

/* The reader's part: the window that the last published boundary ended. */
static int take(struct run *r)
{
	struct report rep = {0};
	const char *bad;
	char what[64];
	int err;

	r->win.end = r->published;
	r->t.nmoves = 0;
	for (uint32_t i = 1; r->p->stage.st && i < SC_PEOPLE; i++) {
		const struct script_person *person = &r->p->stage.st->people[i];

		if (person->moved)
			r->moves[r->t.nmoves++] = (struct move){
				person->tid, {person->moved, i | (uint64_t)person->group << 8}};
	}
	if (r->p->stage.st ? collect__window(r->collect, &r->t, &r->win, &rep)
			   : r->p->stage.take(r->p->stage.ctx, &rep))
		return fail(r->p, "collect", "no memory, or no report");
	if (r->p->stage.st)
		fill_quality(r, &rep);
	snprintf(what, sizeof(what), "window [%" PRIu64 ", %" PRIu64 ")", (uint64_t)r->win.start,
		 (uint64_t)r->win.end);
	bad = check__laws(&rep);
	err = bad ? fail(r->p, what, bad) : 0;
	err |= expectations(r, &rep);
	sum_add(&r->p->sum, &rep);
	report__free(&rep);
	r->reports++;
	r->win = (struct window){.epoch = r->win.epoch + 1, .start = r->win.end};
	return err;
}

static void begin(struct run *r, uint64_t start)
{
	if (!r->win.epoch)
		r->win = (struct window){.epoch = ACCT_FIRST, .start = start};
	r->published = start;
}

static int step(struct run *r, const struct script_event *ev)
{
	bool first = ev->op == OP_WINDOW && !r->win.epoch;

	if (ev->op == OP_REPORT)
		return take(r);
	if (ev->op == OP_REAP && r->p->stage.st)
		return collect__reap(r->collect, &r->t, &r->win) ? fail(r->p, "reap", "no memory")
								 : 0;
	if (ev->op == OP_WINDOW)
		begin(r, ev->time);
	r->p->stage.apply(r->p->stage.ctx, ev);
	if (first && r->p->stage.st) {
		struct report warmup;

		collect__start(r->collect, &r->t, ev->time);
		fill_quality(r, &warmup);
	}
	return r->p->why[0] ? -1 : 0;
}

static int run_open(struct run *r, struct play *p)
{
	struct script_state *st = p->stage.st;

	memset(r, 0, sizeof(*r));
	memset(&p->sum, 0, sizeof(p->sum));
	p->why[0] = 0;
	r->p = p;
	if (!st)
		return p->stage.reset(p->stage.ctx, p->script) ? fail(p, "reset", "no memory") : 0;
	script__init(st, p->script->ncpus);
	for (uint32_t i = 0; i < p->script->ncpus; i++)
		r->online[i] = true;
	r->t = (struct tables){SC_CPUS,	  r->online, st->cpus, st->tasks, SC_SLOTS,
			       st->calls, SC_CALLS,  st->rows, SC_ROWS,	  st->icalls,
			       SC_ICALLS, 0,	     r->moves, 0};
	r->collect = collect__new(LEVEL_TASK, p->script->selects, NULL, free_slot, r);
	return r->collect ? 0 : fail(p, "collect", "no memory");
}

int play__run(struct play *p)
{
	struct run r;
	int err = run_open(&r, p);

	for (size_t i = 0; !err && i < p->script->nev; i++)
		err = step(&r, &p->script->ev[i]);
	collect__free(r.collect);
	return err;
}

/* ---- other windows ---- */

static bool timed(const struct script_event *ev)
{
	return ev->op != OP_PERSON && ev->op != OP_SELECT && ev->op != OP_LIMIT &&
	       ev->op != OP_WINDOW && ev->op < OP_REPORT;
}

/* The first event that no event before time follows. */
static size_t place(const struct script *s, uint64_t time)
{
	size_t i = s->nev;

	while (i && !(timed(&s->ev[i - 1]) && s->ev[i - 1].time < time))
		i--;
	return i;
}

/* Ends the window at time: its report is taken now, or just before the next boundary. */
static int cut(struct run *r, uint64_t time, bool late, bool *owed)
{
	struct script_event ev = {.op = OP_WINDOW, .time = time};
	int err = *owed ? take(r) : 0;

	if (err)
		return err;
	err = step(r, &ev);
	*owed = late;
	return err || late ? err : take(r);
}

int play__run_cut(struct play *p, const uint64_t *cuts, size_t n, bool late)
{
	const struct script *s = p->script;
	bool owed = false, begun = false;
	uint64_t end = 0;
	struct run r;
	size_t next = 0;
	int err = run_open(&r, p);

	for (size_t i = 0; i < s->nev; i++)
		if (s->ev[i].op == OP_WINDOW)
			end = s->ev[i].time;
	for (size_t i = 0; !err && i <= s->nev; i++) {
		while (!err && begun && next < n && place(s, cuts[next]) <= i)
			err = cut(&r, cuts[next++], late, &owed);
		if (err || i == s->nev)
			break;
		if (s->ev[i].op == OP_WINDOW ? begun : s->ev[i].op >= OP_REPORT)
			continue;
		begun |= s->ev[i].op == OP_WINDOW;
		err = step(&r, &s->ev[i]);
	}
	if (!err)
		err = cut(&r, end, false, &owed);
	collect__free(r.collect);
	return err;
}

/* ---- comparing ---- */

/* What was busy in one window may be user or sys in a longer one: then only their sum is a law. */
static void merge_busy(uint64_t *ns)
{
	ns[AC_USER] += ns[AC_SYS] + ns[AC_BUSY];
	ns[AC_SYS] = ns[AC_BUSY] = 0;
}

static bool same_ns(const uint64_t *a, const uint64_t *b)
{
	uint64_t x[AC_NR], y[AC_NR];

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	if (x[AC_BUSY] || y[AC_BUSY]) {
		merge_busy(x);
		merge_busy(y);
	}
	return !memcmp(x, y, sizeof(x));
}

static bool same_task(const struct sum *b, const struct sum_task *t)
{
	for (size_t i = 0; i < b->ntasks; i++) {
		const struct sum_task *o = &b->tasks[i];

		if (o->who == t->who && o->exec == t->exec && o->start == t->start)
			return same_ns(o->ns, t->ns) && o->migrations == t->migrations &&
			       o->voluntary == t->voluntary && o->involuntary == t->involuntary;
	}
	return false;
}

static bool same_call(const struct sum *b, const struct sum_call *c)
{
	for (size_t i = 0; i < b->ncalls; i++)
		if (!memcmp(&b->calls[i], c, sizeof(*c)))
			return true;
	return false;
}

bool play__same(const struct sum *a, const struct sum *b, char *why, size_t size)
{
	*why = 0;
	for (size_t i = 0; i < a->ntasks; i++)
		if (!same_task(b, &a->tasks[i]))
			snprintf(why, size, "law 5: task %" PRIu64 " image %" PRIu64,
				 a->tasks[i].who, a->tasks[i].exec);
	for (size_t i = 0; i < a->ncalls; i++)
		if (!same_call(b, &a->calls[i]))
			snprintf(why, size, "law 5: call %#x of task %" PRId64, a->calls[i].c.key,
				 (int64_t)a->calls[i].who);
	if (a->ntasks != b->ntasks || a->ncalls != b->ncalls)
		snprintf(why, size, "law 5: %zu tasks and %zu calls, or %zu and %zu", a->ntasks,
			 a->ncalls, b->ntasks, b->ncalls);
	for (int i = 0; i < SC_CPUS; i++)
		if (!same_ns(a->cpus[i], b->cpus[i]) || a->switches[i] != b->switches[i])
			snprintf(why, size, "law 5: cpu%d", i);
	return !*why;
}
