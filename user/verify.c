// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both engines at once. Each costs the other a little on every event, so times are compared with
 * some tolerance, but a call is a call: their numbers must be equal.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "escape.h"
#include "verify.h"

/* Far enough ahead for both to know of it in time. */
#define COMMON_START_NS 20000000ULL
/* Births are stamped by two programs, one after the other. */
#define SAME_BIRTH_NS 5000000ULL
/* Who is born or ends that close to an edge of the window may be inside for one of them only. */
#define EDGE_NS 100000ULL

/* Of the others nothing is known but their address: this is the verifying one's own. */
struct engine {
	struct engine *bpf, *perf;
	struct names *names;
	uint64_t start;
	struct report r; /* perf's; bpf's is the caller's */
	const struct report *other;
	struct verify_sums sums, total;
	uint64_t lost;
};

/* ---- comparing ---- */

bool verify__near(uint64_t a, uint64_t b)
{
	uint64_t d = a > b ? a - b : b - a, more = a > b ? a : b;

	return d <= VERIFY_NS || d <= more * VERIFY_PART;
}

struct pair {
	FILE *f;
	struct names *names;
	const struct rep_task *a, *b; /* bpf's, perf's */
	struct verify_sums *s;
};

static void differs(struct pair *p, const char *what, const char *of, uint64_t a, uint64_t b)
{
	p->s->beyond++;
	fprintf(p->f, "%7u   differs: %s", p->a->tid, what);
	if (of) {
		fputs(" of ", p->f);
		esc__put(p->f, of);
	}
	fprintf(p->f, ": bpf %" PRIu64 ", perf %" PRIu64 "\n", a, b);
}

static void compare_time(struct pair *p, const char *what, const char *of, uint64_t a, uint64_t b)
{
	uint64_t d = a > b ? a - b : b - a;

	p->s->times++;
	if (d > p->s->worst_ns)
		p->s->worst_ns = d;
	if (!verify__near(a, b))
		differs(p, what, of, a, b);
}

static void compare_count(struct pair *p, const char *what, const char *of, uint64_t a, uint64_t b)
{
	p->s->counts++;
	if (a != b)
		differs(p, what, of, a, b);
}

static const struct rep_call *find_call(const struct rep_calls *c, uint32_t key)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].key == key)
			return &c->v[i];
	return NULL;
}

static void compare_calls(struct pair *p)
{
	static const struct rep_call none;
	const struct rep_calls *both[] = {&p->a->calls, &p->b->calls};

	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < both[side]->n; i++) {
			const struct rep_call *one = &both[side]->v[i],
					      *other = find_call(both[!side], one->key);
			const char *name = names__call(p->names, one->key);

			if (side && other) /* compared already */
				continue;
			other = other ? other : &none;
			compare_count(p, "count", name, side ? other->count : one->count,
				      side ? one->count : other->count);
			compare_count(p, "errors", name, side ? other->errors : one->errors,
				      side ? one->errors : other->errors);
			compare_time(p, "elapsed ns", name,
				     side ? other->elapsed_ns : one->elapsed_ns,
				     side ? one->elapsed_ns : other->elapsed_ns);
		}
}

/* The ring does not tell what an uninterruptible sleep waits for: both are one. */
static uint64_t class_ns(const struct rep_task *t, int i)
{
	if (i == AC_IOWAIT)
		return 0;
	return t->ns[i] + (i == AC_BLOCKED ? t->ns[AC_IOWAIT] : 0);
}

static uint64_t calls_of(const struct rep_task *t)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->calls.n; i++)
		n += t->calls.v[i].count;
	return n;
}

static void compare_task(struct pair *p)
{
	uint64_t on[2] = {report__oncpu(p->a->ns), report__oncpu(p->b->ns)};
	uint64_t off[2] = {report__offcpu(p->a->ns), report__offcpu(p->b->ns)};

	char comm[4 * ACCT_COMM_LEN + 1];
	int cols = esc__fit(comm, sizeof(comm), p->a->comm, 15, false);

	p->s->tasks++;
	fprintf(p->f, "%7u %s%*s %8" PRIu64 " %+8" PRId64 " %12.6f %+10.6f %12.6f %+10.6f\n",
		p->a->tid, comm, 15 - cols, "", calls_of(p->a), calls_of(p->b) - calls_of(p->a),
		on[0] / 1e9, ((double)on[1] - on[0]) / 1e9, off[0] / 1e9,
		((double)off[1] - off[0]) / 1e9);
	compare_calls(p);
	compare_time(p, "on-CPU ns", NULL, on[0], on[1]);
	compare_time(p, "off-CPU ns", NULL, off[0], off[1]);
	for (int i = 0; i < AC_NR; i++)
		if (i != AC_IDLE)
			compare_time(p, report__class_key(i), NULL, class_ns(p->a, i),
				     class_ns(p->b, i));
}

static bool lived_inside(const struct report *r, const struct rep_task *t)
{
	return t->exited && !t->other && t->start_ns >= r->start_ns + EDGE_NS &&
	       t->end_ns + EDGE_NS <= r->end_ns;
}

static bool same_task(const struct rep_task *a, const struct rep_task *b)
{
	uint64_t d =
		a->start_ns > b->start_ns ? a->start_ns - b->start_ns : b->start_ns - a->start_ns;

	return a->tid == b->tid && a->exec == b->exec && d < SAME_BIRTH_NS;
}

static const struct rep_task *find_task(const struct report *r, const struct rep_task *t)
{
	for (size_t i = 0; i < r->nr_tasks; i++)
		if (same_task(&r->tasks[i], t))
			return &r->tasks[i];
	return NULL;
}

void verify__compare(FILE *f, struct names *names, const struct report *bpf,
		     const struct report *perf, struct verify_sums *s)
{
	memset(s, 0, sizeof(*s));
	fprintf(f, "%7s %-15s %8s %8s %12s %10s %12s %10s\n", "TID", "COMMAND", "CALLS", "perf",
		"ON-CPU s", "perf", "OFF-CPU s", "perf");
	for (size_t i = 0; i < bpf->nr_tasks; i++) {
		struct pair p = {f, names, &bpf->tasks[i], find_task(perf, &bpf->tasks[i]), s};

		if (!lived_inside(bpf, p.a))
			continue;
		if (p.b) {
			compare_task(&p);
			continue;
		}
		s->beyond++;
		fprintf(f, "%7u   only bpf has seen it\n", p.a->tid);
	}
	for (size_t i = 0; i < perf->nr_tasks; i++) {
		if (!lived_inside(perf, &perf->tasks[i]) || find_task(bpf, &perf->tasks[i]))
			continue;
		s->beyond++;
		fprintf(f, "%7u   only perf has seen it\n", perf->tasks[i].tid);
	}
}

/* ---- as an engine ---- */

static void verify_close(struct engine *e)
{
	if (!e)
		return;
	report__free(&e->r);
	engine_bpf.close(e->bpf);
	engine_perf.close(e->perf);
	free(e);
}

/* Both end their first windows at one time, where what is compared begins. */
static int common_start(struct engine *e)
{
	struct report r = {0};
	int err;

	e->start = clock_ns() + COMMON_START_NS;
	engine_perf.announce(e->perf, e->start);
	engine_bpf.announce(e->bpf, e->start);
	clock_sleep_until(e->start);
	err = engine_bpf.roll(e->bpf, e->start, &r);
	e->start = r.end_ns;
	report__free(&r);
	if (err)
		return err;
	err = engine_perf.roll(e->perf, e->start, &r);
	report__free(&r);
	return err;
}

static int verify_open(struct engine **out, const struct opts *o, enum report_level level,
		       pid_t command, struct names *names, char *why, size_t len)
{
	struct engine *e = calloc(1, sizeof(*e));
	int err;

	*out = NULL;
	(void)level; /* tasks are what is compared */
	if (!e) {
		snprintf(why, len, "cannot start: out of memory");
		return -ENOMEM;
	}
	e->names = names;
	err = engine_perf.open(&e->perf, o, LEVEL_TASK, command, names, why, len);
	if (!err)
		err = engine_bpf.open(&e->bpf, o, LEVEL_TASK, command, names, why, len);
	if (!err) {
		err = common_start(e);
		if (err)
			snprintf(why, len, "cannot start both engines at one time: %s",
				 strerror(-err));
	}
	if (err)
		verify_close(e);
	else
		*out = e;
	return err;
}

static uint64_t verify_start(const struct engine *e)
{
	return e->start;
}

static uint64_t verify_poll(struct engine *e)
{
	uint64_t perf = engine_perf.poll(e->perf), bpf = engine_bpf.poll(e->bpf);

	return perf < bpf ? perf : bpf;
}

static void verify_announce(struct engine *e, uint64_t end)
{
	engine_perf.announce(e->perf, end);
	engine_bpf.announce(e->bpf, end);
}

static int verify_roll(struct engine *e, uint64_t end, struct report *r)
{
	int err = engine_bpf.roll(e->bpf, end, r);

	report__free(&e->r);
	memset(&e->r, 0, sizeof(e->r));
	if (!err)
		err = engine_perf.roll(e->perf, r->end_ns, &e->r);
	e->other = r;
	e->start = r->end_ns;
	return err;
}

int verify__print(struct engine *e, FILE *f)
{
	struct verify_sums *s = &e->sums;
	uint64_t lost = e->r.quality.lost_events;

	verify__compare(f, e->names, e->other, &e->r, s);
	fprintf(f,
		"%" PRIu64 " tasks, %" PRIu64 " counts and %" PRIu64 " times compared: %" PRIu64
		" beyond 1 %% or 50 us; worst %.1f us; perf has lost "
		"%" PRIu64 " events\n",
		s->tasks, s->counts, s->times, s->beyond, s->worst_ns / 1e3, lost);
	e->total.tasks += s->tasks;
	e->total.beyond += s->beyond;
	e->lost += lost;
	return fflush(f) ? -errno : 0;
}

static int verify_finish(struct engine *e, char *why, size_t len)
{
	if (e->lost)
		snprintf(why, len,
			 "perf has lost %" PRIu64 " events, so the engines cannot be "
			 "compared: take larger rings with -m",
			 e->lost);
	else if (e->total.beyond)
		snprintf(why, len, "the engines differ in %" PRIu64 " places", e->total.beyond);
	else if (!e->total.tasks)
		snprintf(why, len,
			 "no task was born and has ended within the window: nothing was "
			 "compared; give a COMMAND");
	else
		return 0;
	return -EBADMSG;
}

const struct engine_ops engine_verify = {
	.name = "verify",
	.open = verify_open,
	.start = verify_start,
	.poll = verify_poll,
	.announce = verify_announce,
	.roll = verify_roll,
	.finish = verify_finish,
	.close = verify_close,
};
