// SPDX-License-Identifier: GPL-2.0-only
/* See feed_stage.h. */
#include <stdlib.h>
#include <string.h>

#include "../../user/feed.h"
#include "feed_stage.h"

#define MAX_WINDOWS 512

/* Which person an image is, by its tid and start. */
struct face {
	uint32_t tid, who;
	uint64_t start;
};

struct feed_stage {
	struct feed *feed;
	struct selection sel;
	bool started;
	struct script_person people[SC_PEOPLE];
	struct feed_limits limits;
	uint64_t ends[MAX_WINDOWS]; /* published, but their time has not come */
	size_t first_end, nends;
	struct report reports[MAX_WINDOWS]; /* made, but not asked for */
	size_t first_report, nreports;
	struct face faces[SC_PEOPLE * 4];
	size_t nfaces;
};

const char *feed_stage__cannot(const struct script *s)
{
	for (size_t i = 0; i < s->nev; i++) {
		const struct script_event *ev = &s->ev[i];

		if (ev->op == OP_UNSEEN)
			return "no recording has the scheduler's own count of run time";
		if (ev->op == OP_PERSON && ev->time)
			return "no event tells when a task was born";
	}
	return NULL;
}

static void face_add(struct feed_stage *fs, uint32_t who, uint32_t tid, uint64_t start)
{
	if (fs->nfaces < sizeof(fs->faces) / sizeof(fs->faces[0]))
		fs->faces[fs->nfaces++] = (struct face){tid, who, start};
}

/* check.c and play.c know a task by its person's number, below that of the group. */
static void name_tasks(const struct feed_stage *fs, struct report *r)
{
	for (size_t i = 0; i < r->nr_tasks; i++) {
		struct rep_task *t = &r->tasks[i];
		const struct face *best = NULL;

		for (size_t k = 0; k < fs->nfaces; k++) {
			const struct face *f = &fs->faces[k];

			if (f->tid == t->tid && (!best || f->start == t->start_ns))
				best = f;
		}
		if (best && !t->other)
			t->cgroup_id = best->who | t->cgroup_id << 8;
	}
}

/* The boundaries that an event at `time` lies past. */
static void flush(struct feed_stage *fs, uint64_t time)
{
	while (fs->first_end < fs->nends && fs->ends[fs->first_end] <= time) {
		uint64_t end = fs->ends[fs->first_end++];

		if (fs->started) {
			struct report *r = &fs->reports[fs->nreports++];

			if (fs->nreports == MAX_WINDOWS || feed__window(fs->feed, end, r))
				abort();
			name_tasks(fs, r);
		} else if (feed__start(fs->feed, end)) {
			abort();
		}
		fs->started = true;
	}
}

static int stage_take(void *ctx, struct report *r)
{
	struct feed_stage *fs = ctx;

	if (fs->first_report == fs->nreports)
		flush(fs, UINT64_MAX);
	if (fs->first_report == fs->nreports)
		return -1;
	*r = fs->reports[fs->first_report++];
	return 0;
}

static void stage_clear(struct feed_stage *fs)
{
	for (size_t i = fs->first_report; i < fs->nreports; i++)
		report__free(&fs->reports[i]);
	feed__free(fs->feed);
	memset(fs, 0, sizeof(*fs));
}

static int stage_reset(void *ctx, const struct script *s)
{
	struct feed_stage *fs = ctx;
	bool online[SC_CPUS];

	stage_clear(fs);
	memset(&fs->limits, 0xff, sizeof(fs->limits));
	for (uint32_t i = 0; i < SC_CPUS; i++)
		online[i] = i < s->ncpus;
	fs->feed = feed__new(SC_CPUS, online, LEVEL_TASK, s->selects, NULL, 0);
	if (fs->feed)
		feed__warmup(fs->feed);
	return fs->feed ? 0 : -1;
}

/* Who is selected has the first name, three characters with its end; events tell it that can. */
#define NAME_IN	 "in"
#define NAME_OUT "out"

static void name(const struct feed_stage *fs, uint32_t who, char comm[ACCT_COMM_LEN])
{
	if (fs->sel.kinds && who != SC_IDLE)
		memcpy(comm, fs->people[who].out ? NAME_OUT : NAME_IN, 3);
}

static void choose(struct feed_stage *fs, const struct script_event *ev)
{
	struct selection *sel = &fs->sel;
	const char *takes;

	if (!sel->nr_comms && sel__add_comm(sel, NAME_IN, &takes))
		abort();
	if (ev->arg & SC_FOLLOW)
		sel->kinds |= SELK_FOLLOW;
	if (ev->arg & SC_SKIP) {
		sel->kinds |= SELK_CPU;
		sel->cpus[0] = (1U << SC_CPUS) - 1;
		sel->cpus[0] &= ~(1ULL << ev->to);
		sel->last_cpu = SC_CPUS - 1;
	}
	feed__select(fs->feed, sel, 0);
}

static void seed(struct feed_stage *fs, const struct script_event *ev)
{
	const struct script_person *p = &fs->people[ev->who];
	struct feed_seed s = {.tid = p->tid, .tgid = p->tgid, .cpu = ev->cpu, .cls = AC_BUSY};

	if (ev->who == SC_IDLE)
		return; /* a CPU of which nothing is heard is idle */
	s.key = KEY_NO_CALL;
	s.kthread = p->kthread;
	name(fs, ev->who, s.comm);
	if (ev->op == OP_SEED) {
		s.cls = ev->arg;
		s.key = ev->arg2;
	}
	if (feed__seed(fs->feed, &s))
		abort();
}

static void limit(struct feed_stage *fs, const struct script_event *ev)
{
	uint32_t *max[] = {&fs->limits.tasks, &fs->limits.calls, &fs->limits.rows,
			   &fs->limits.icalls};

	*max[ev->arg] = ev->arg2;
	feed__limit(fs->feed, &fs->limits);
}

static void person(struct feed_stage *fs, const struct script_event *ev)
{
	struct script_person *p = &fs->people[ev->who];

	p->tid = ev->arg;
	p->tgid = ev->arg2;
	p->kthread = ev->x & 1;
	p->out = ev->x >> 1;
	face_add(fs, ev->who, p->tid, 0);
	if (p->kthread) { /* no event tells that it is one */
		struct script_event found = {
			.op = OP_SEED, .who = ev->who, .arg = AC_SLEEP, .arg2 = KEY_NO_CALL};

		seed(fs, &found);
	}
}

static void about(const struct feed_stage *fs, struct feed_event *out, uint32_t op, uint32_t who)
{
	const struct script_person *p = &fs->people[who];

	out->op = op;
	out->next_tid = p->tid;
	out->next_tgid = p->tgid;
	name(fs, who, out->next_comm);
	if (p->kthread)
		out->flags |= FE_KTHREAD;
}

/* What is told of the task that it happens in. */
static void in(const struct feed_stage *fs, struct feed_event *out, uint32_t op, uint32_t who)
{
	out->op = op;
	out->tid = fs->people[who].tid;
	out->tgid = fs->people[who].tgid;
}

static void exec(struct feed_stage *fs, const struct script_event *ev, struct feed_event *out)
{
	struct script_person *p = &fs->people[ev->who];

	out->old_tid = p->tid;
	p->tid = p->tgid;
	face_add(fs, ev->who, p->tid, ev->time);
	in(fs, out, FEED_EXEC, ev->who);
}

static void on_switch(struct feed_stage *fs, const struct script_event *ev, struct feed_event *out)
{
	in(fs, out, FEED_SWITCH, ev->who);
	out->prev_tid = fs->people[ev->who].tid;
	out->next_tid = fs->people[ev->to].tid;
	name(fs, ev->who, out->prev_comm);
	name(fs, ev->to, out->next_comm);
	out->state = ev->arg & ~(SW_PREEMPT | SW_IOWAIT);
	out->flags =
		(ev->arg & SW_PREEMPT ? FE_PREEMPT : 0) | (ev->arg & SW_IOWAIT ? FE_IOWAIT : 0);
}

static void translate(struct feed_stage *fs, const struct script_event *ev, struct feed_event *out)
{
	switch (ev->op) {
	case OP_SWITCH:
		on_switch(fs, ev, out);
		break;
	case OP_WAKEUP:
		about(fs, out, FEED_WAKEUP, ev->who);
		break;
	case OP_MIGRATE:
		about(fs, out, FEED_MIGRATE, ev->who);
		out->to = ev->to;
		break;
	case OP_FORK:
		about(fs, out, FEED_FORK, ev->to);
		face_add(fs, ev->to, out->next_tid, ev->time);
		break;
	case OP_EXEC:
		exec(fs, ev, out);
		break;
	case OP_EXIT:
		in(fs, out, FEED_EXIT, ev->who);
		break;
	case OP_RENAME:
		about(fs, out, FEED_NAME, ev->who);
		memcpy(out->next_comm, &ev->x, sizeof(ev->x));
		break;
	case OP_GROUP:
		about(fs, out, FEED_MOVE, ev->who);
		out->cgroup = ev->arg;
		break;
	case OP_PICK:
		fs->people[ev->who].out = !ev->x;
		about(fs, out, FEED_NAME, ev->who);
		break;
	case OP_SYS_ENTER:
		out->op = FEED_SYS_ENTER;
		out->key = ev->arg;
		break;
	case OP_SYS_EXIT:
		out->op = FEED_SYS_EXIT;
		out->flags = ev->arg ? FE_ERROR : 0;
		break;
	default:
		out->op = ev->op == OP_FRAME_ENTER ? FEED_FRAME_ENTER : FEED_FRAME_EXIT;
		out->key = ev->arg;
	}
}

static void stage_apply(void *ctx, const struct script_event *ev)
{
	struct feed_event out = {
		.time = ev->time, .cpu = ev->cpu, .tid = FEED_NOTID, .key = KEY_NO_CALL};
	struct feed_stage *fs = ctx;

	switch (ev->op) {
	case OP_PERSON:
		person(fs, ev);
		return;
	case OP_LIMIT:
		limit(fs, ev);
		return;
	case OP_SELECT:
		choose(fs, ev);
		return;
	case OP_WINDOW:
		if (fs->nends == MAX_WINDOWS)
			abort();
		fs->ends[fs->nends++] = ev->time;
		return;
	case OP_REPORT:
	case OP_REAP: /* feed.c does it when it pays */
		return;
	case OP_SEAT:
	case OP_SEED:
		seed(fs, ev);
		return;
	}
	flush(fs, ev->time);
	translate(fs, ev, &out);
	if (feed__event(fs->feed, &out))
		abort();
}

void feed_stage__open(struct stage *stage)
{
	*stage = (struct stage){.apply = stage_apply, .take = stage_take, .reset = stage_reset};
	stage->ctx = calloc(1, sizeof(struct feed_stage));
	if (!stage->ctx)
		abort();
}

void feed_stage__close(struct stage *stage)
{
	stage_clear(stage->ctx);
	free(stage->ctx);
}
