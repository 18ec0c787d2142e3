// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file engine: a recording made by `perf record` instead of the live system.
 *
 * It owns the way from records to the accounts: which record kinds tell what, which process a tid
 * belongs to and what it is called, as far as only other records tell; where windows end. How
 * bytes become records is perf_data.c's, how a record becomes an event decode.c's, and what an
 * event does to the accounts feed.c's. Time is the recording's own.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "decode.h"
#include "engine.h"
#include "engine_util.h"
#include "escape.h"
#include "feed.h"
#include "perf_data.h"
#include "tids.h"

#define MAX_CPUS      8192  /* the most that a kernel can be built for (x86, CONFIG_MAXSMP) */
#define CPUS_NOT_TOLD 1024  /* for a recording whose header does not say */
#define BATCH	      20000 /* records between looks for a signal */
#define KTHREADD      2	    /* every kernel thread is its child */
#define GENERATIONS   32    /* as far up as an ancestor may be selected */

struct engine {
	struct perf_data *pd;
	struct decode *d;
	struct feed *f; /* NULL: no record with a time has come yet */
	struct names *names;
	struct tids *tids;
	struct selection sel; /* with the names of the recorded machine looked up */
	char selection[512];  /* in words */
	unsigned int depth;
	struct feed_caps caps;
	bool all;		   /* nothing is left out by -e, which takes formats away */
	bool has_switch, has_exit; /* sched_switch, sched_process_exit */
	enum report_level level;
	char path[256]; /* escaped */
	char *why;	/* open()'s */
	size_t why_len;
	struct data_rec rec; /* read, and not accounted yet */
	bool held;
	bool ended;
	uint32_t ncpus;
	uint64_t start, last; /* of the window; of the last record */
	uint64_t begin, end;  /* the header's word on what was recorded; 0: it has none */
	bool warm;	      /* what is before `begin` only teaches */
	uint64_t beyond;      /* events after `end` */
	uint64_t index, cpu_before;
	uint64_t unknown, refused, short_raw; /* records that could not be accounted */
	uint64_t dated;			      /* the file, CLOCK_REALTIME; a stream: now */
	bool irq_named[4096];
	uint64_t early_lost, counted;
	char fault[512], note[256], after[128];
	char refused_why[512]; /* why the selection does not go with the recording */
};

__attribute__((format(printf, 3, 4))) static int fail(struct engine *e, int err, const char *fmt,
						      ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->why, e->why_len, fmt, ap);
	va_end(ap);
	return err;
}

static int on_format(void *ctx, const char *system, const char *text, size_t len)
{
	struct engine *e = ctx;

	/* A damaged one makes its records unknown; they are counted. */
	return decode__format(e->d, system, text, len) == -ENOMEM ? -ENOMEM : 0;
}

/* ---- opening ---- */

static void file_close(struct engine *e)
{
	if (!e)
		return;
	feed__free(e->f);
	tids__free(e->tids);
	perf_data__close(e->pd);
	decode__free(e->d);
	free(e);
}

static int file_open(struct engine **out, const struct opts *o, enum report_level level,
		     pid_t command, struct names *names, char *why, size_t len)
{
	struct engine *e = calloc(1, sizeof(*e));
	char reason[256] = "";
	struct timespec now;
	struct stat st;
	int err = -ENOMEM;

	(void)command;
	*out = NULL;
	if (e) {
		e->names = names;
		e->level = level;
		e->sel = o->sel;
		e->depth = o->depth;
		sel__describe(&o->sel, e->selection, sizeof(e->selection));
		e->d = decode__new(false);
		e->tids = tids__new();
	}
	if (!e || !e->d || !e->tids) {
		snprintf(why, len, "cannot start: out of memory");
		file_close(e);
		return err;
	}
	decode__limit(e->d, o->events);
	e->all = o->events == EV_ALL;
	esc__fit(e->path, sizeof(e->path), strcmp(o->read, "-") ? o->read : "stdin", 100, true);
	e->why = why;
	e->why_len = len;
	err = perf_data__open(&e->pd, o->read, on_format, e, reason, sizeof(reason));
	if (err) {
		fail(e, err, "cannot read %s: %s%s", e->path, reason,
		     err == -ENOENT   ? "; perf record writes one, or name another with -r"
		     : err == -EISDIR ? "; that is what perf record --threads writes: record "
					"without it"
				      : "");
		file_close(e);
		return err;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	e->dated = timespec_ns(stat(o->read, &st) ? &now : &st.st_mtim);
	*out = e;
	return 0;
}

/* ---- records into events ---- */

/* What records have told of a task before the first event; its ancestors come before it. */
static int tell_tasks(struct engine *e, const struct tid_entry *t, unsigned int generations)
{
	const struct tid_entry *parent = t->parent ? tids__find(e->tids, t->parent) : NULL;
	struct feed_seed seed = {.tid = t->tid,
				 .tgid = t->tgid,
				 .parent = t->parent,
				 .cpu = FEED_NOTID,
				 .key = KEY_NO_CALL,
				 .kthread = t->kthread};
	struct feed_event ev = {.op = FEED_NAME,
				.time = e->start,
				.tid = FEED_NOTID,
				.key = KEY_NO_CALL,
				.next_tid = t->tid,
				.next_tgid = t->tgid};
	int err;

	if (parent && generations) {
		err = tell_tasks(e, parent, generations - 1);
		if (err)
			return err;
	}
	memcpy(seed.comm, t->comm, sizeof(seed.comm));
	memcpy(ev.next_comm, t->comm, sizeof(ev.next_comm));
	err = t->before ? feed__seed(e->f, &seed) : feed__event(e->f, &ev);
	return err == -EINVAL ? 0 : err;
}

static int tell_task(void *ctx, const struct tid_entry *t)
{
	struct engine *e = ctx;

	return tell_tasks(e, t, e->sel.kinds & SELK_FOLLOW ? GENERATIONS : 0);
}

/* What is selected, now that it is known of which machine the recording is. 0 or -errno. */
static int select_of(struct engine *e)
{
	const struct perf_info *info = perf_data__info(e->pd);
	int err = sel__resolve(&e->sel, e->names, false, e->refused_why, sizeof(e->refused_why));

	if (err)
		return err;
	if ((e->sel.kinds & SELK_CPU) && info->cpus_possible &&
	    e->sel.last_cpu >= info->cpus_possible) {
		snprintf(e->refused_why, sizeof(e->refused_why),
			 "cannot select CPU %u: the recorded machine has %u CPUs", e->sel.last_cpu,
			 info->cpus_possible);
		return -ENODEV;
	}
	feed__select(e->f, &e->sel, 0);
	feed__depth(e->f, e->depth);
	return 0;
}

/* The header's word on the machine, when all of it has come: at the first record with a time. */
static int begin(struct engine *e, uint64_t start)
{
	const struct perf_info *info = perf_data__info(e->pd);
	int err;

	e->ncpus = info->cpus_possible;
	if (!e->ncpus || e->ncpus > MAX_CPUS)
		e->ncpus = CPUS_NOT_TOLD;
	if (info->arch[0])
		names__set_arch(e->names, info->arch);
	decode__set_order(e->d, info->big_endian);
	decode__caps(e->d, &e->caps);
	e->has_switch = e->caps.switches;
	e->has_exit = decode__has(e->d, "sched_process_exit");
	if (info->first && info->first < info->last) {
		e->begin = info->first;
		e->end = info->last;
	}
	e->last = start;
	e->warm = start < e->begin;
	if (e->begin && !e->warm)
		start = e->begin;
	e->start = start;
	e->f = feed__new(e->ncpus, NULL, e->level, sel__leaves_out(&e->sel, false), e->names,
			 start);
	if (!e->f)
		return -ENOMEM;
	if (e->warm)
		feed__warmup(e->f);
	err = select_of(e);
	if (err)
		return err;
	e->caps.switches |= info->has_switches;
	e->caps.comms = true;
	e->caps.everyone = !info->per_task;
	e->caps.hcalls |= info->arch[0] && !engine__has_hcalls(info->arch);
	feed__caps(e->f, &e->caps);
	return tids__each(e->tids, tell_task, e);
}

/* One event. What cannot be accounted is counted. 0 or -errno. */
static int give(struct engine *e, struct feed_event *ev)
{
	int err;

	if (ev->op == FEED_FORK && !ev->next_tgid) /* the tracepoint does not tell */
		ev->next_tgid = tids__tgid(e->tids, ev->next_tid);
	err = feed__event(e->f, ev);
	e->refused += err == -EINVAL;
	return err == -EINVAL ? 0 : err;
}

/*
 * In a recording of single tasks sched_switch tells when one leaves; when it is back is told by
 * switch records only, where there are such. In between its CPU is as good as idle.
 */
static bool both_switches(const struct engine *e)
{
	const struct perf_info *info = perf_data__info(e->pd);

	return info->per_task && info->has_switches && e->has_switch;
}

static int on_sample(struct engine *e, const struct data_rec *r)
{
	struct decode_hdr h = {r->time, r->cpu, r->pid, r->tid};
	struct feed_event ev;
	uint32_t irq;
	int got = decode__event(e->d, &h, r->raw, r->raw_size, &ev);

	e->unknown += got == -ENOENT && e->all;
	e->short_raw += got == -EINVAL;
	if (got <= 0)
		return 0;
	if (ev.op == FEED_SWITCH && both_switches(e)) {
		ev.next_tid = 0;
		ev.next_comm[0] = 0;
	}
	irq = KEY_NR(ev.key);
	if (ev.op == FEED_FRAME_ENTER && KEY_CLASS(ev.key) == CALL_IRQ &&
	    irq < sizeof(e->irq_named) && !e->irq_named[irq]) {
		char name[64];
		size_t len;
		const char *at = decode__irq_name(e->d, r->raw, r->raw_size, &len);

		e->irq_named[irq] = true;
		if (at) {
			snprintf(name, sizeof(name), "%.*s", (int)len, at);
			names__set_irq(e->names, irq, name);
		}
	}
	return give(e, &ev);
}

/* The kernel's own COMM, FORK and EXIT: names and processes, and events where no tracepoint tells.
 */
static int on_task(struct engine *e, const struct data_rec *r)
{
	struct feed_event ev = {.time = r->time,
				.cpu = r->cpu,
				.tid = r->tid,
				.tgid = r->pid == PERF_NO_ID ? 0 : r->pid,
				.key = KEY_NO_CALL,
				.next_tid = r->of_tid,
				.next_tgid = r->of_pid};
	int err = 0;

	if (r->type == PERF_RECORD_COMM) {
		ev.op = FEED_NAME;
		memcpy(ev.next_comm, r->comm, sizeof(ev.next_comm));
		err = tids__comm(e->tids, r->of_tid, r->of_pid, r->comm, !r->time);
		if (err)
			return err;
		return r->time && e->f && ev.next_comm[0] ? feed__event(e->f, &ev) : 0;
	}
	if (r->type == PERF_RECORD_FORK) {
		bool kthread = r->parent_pid == KTHREADD || r->of_pid == KTHREADD;

		err = tids__fork(e->tids, &(struct tid_entry){.tid = r->of_tid,
							      .tgid = r->of_pid,
							      .parent = r->parent_pid,
							      .before = !r->time,
							      .kthread = kthread});
		ev.flags = kthread ? FE_KTHREAD : 0;
		ev.op = FEED_FORK;
		if (e->caps.forks || !r->time || !e->f)
			return err;
	} else {
		ev.op = FEED_EXIT;
		ev.tid = r->of_tid;
		ev.tgid = r->of_pid;
		if (e->has_exit || !r->time || !e->f)
			return 0;
	}
	return err ? err : give(e, &ev);
}

#define MISC_OUT     (1U << 13) /* PERF_RECORD_MISC_SWITCH_OUT */
#define MISC_PREEMPT (1U << 14) /* PERF_RECORD_MISC_SWITCH_OUT_PREEMPT */

/*
 * Switch records, for want of sched_switch. Those of a CPU come in pairs; that of the task that
 * leaves tells it all. Those of a task name it alone: who else ran is as good as idle.
 */
static int on_switch(struct engine *e, const struct data_rec *r)
{
	struct feed_event ev = {.time = r->time,
				.cpu = r->cpu,
				.op = FEED_SWITCH,
				.tid = r->tid,
				.tgid = r->pid,
				.key = KEY_NO_CALL};
	bool out = r->misc & MISC_OUT, wide = r->type == PERF_RECORD_SWITCH_CPU_WIDE;

	if (r->tid == PERF_NO_ID || (wide && !out) || (e->has_switch && (out || !both_switches(e))))
		return 0;
	if (out) {
		ev.prev_tid = r->tid;
		ev.next_tid = wide ? r->of_tid : 0;
		ev.next_tgid = wide ? r->of_pid : 0;
	} else {
		ev.next_tid = r->tid;
		ev.next_tgid = r->pid;
	}
	if (r->misc & MISC_PREEMPT)
		ev.flags = FE_PREEMPT;
	else
		ev.state = ACCT_TASK_INTERRUPTIBLE; /* it does not say which */
	return give(e, &ev);
}

/* The first window opens, where the header says that the recording begins. */
static int open_window(struct engine *e)
{
	e->warm = false;
	e->start = e->begin;
	return feed__start(e->f, e->begin);
}

/* One record that is before the window's end. 0 or -errno. */
static int account(struct engine *e, const struct data_rec *r)
{
	if (r->time)
		e->last = r->time;
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		return on_sample(e, r);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		feed__lost(e->f, r->cpu == PERF_NO_ID ? FEED_NOTID : r->cpu, r->time, r->lost);
		return 0;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return on_switch(e, r);
	default:
		return on_task(e, r);
	}
}

/* What comes before the first event: names, processes, and losses that concern nobody we know. */
static int account_early(struct engine *e, const struct data_rec *r)
{
	e->early_lost += r->lost;
	return r->type == PERF_RECORD_LOST || r->type == PERF_RECORD_LOST_SAMPLES ? 0
										  : on_task(e, r);
}

static bool is_event(const struct data_rec *r)
{
	return r->type == PERF_RECORD_SAMPLE || r->type == PERF_RECORD_SWITCH ||
	       r->type == PERF_RECORD_SWITCH_CPU_WIDE;
}

/* Reads the next record; held: it has a time, and waits to be accounted. 0, -EAGAIN or -errno. */
static int next_record(struct engine *e)
{
	int got = perf_data__next(e->pd, &e->rec), err = 0;

	if (!got)
		e->ended = true;
	if (got <= 0)
		return got;
	/* The first window begins with the first event: perf tells of tasks long before. */
	if (!e->f && is_event(&e->rec) && e->rec.time)
		err = begin(e, e->rec.time);
	if (err)
		return err;
	if (!e->f)
		return account_early(e, &e->rec);
	if (!e->rec.time) /* about what was there before, whenever it comes */
		e->rec.time = e->last;
	e->held = true;
	return 0;
}

/* Nothing follows, but the recording may go on in silence. */
static int at_end(struct engine *e, uint64_t end)
{
	int err = e->warm ? open_window(e) : 0;

	if (err)
		return err;
	if (e->f && e->end > e->last)
		e->last = e->end;
	return e->f && end < e->last ? REPLAY_WINDOW : REPLAY_END;
}

/*
 * Reads on, up to the window's end, the recording's end, or for a moment. REPLAY_MORE: for a
 * moment; REPLAY_WINDOW: a record has come that is not before `end`; REPLAY_END; -errno.
 */
static int file_replay(struct engine *e, uint64_t end)
{
	for (int i = 0; i < BATCH && !e->ended; i++) {
		int err = e->held ? 0 : next_record(e);

		if (err == -EAGAIN)
			return REPLAY_MORE;
		if (err)
			return err;
		if (!e->held)
			continue;
		if (e->warm && e->rec.time >= e->begin && (err = open_window(e)))
			return err;
		if (e->end && e->rec.time > e->end) {
			e->beyond += is_event(&e->rec);
			e->held = false;
			continue;
		}
		if (e->rec.time >= end && !e->warm)
			return REPLAY_WINDOW;
		e->held = false;
		err = account(e, &e->rec);
		if (err)
			return err;
	}
	return e->ended ? at_end(e, end) : REPLAY_MORE;
}

static uint64_t file_start(const struct engine *e)
{
	return e->start;
}

/* ---- reports ---- */

/*
 * The wall clock of a recording's time, if perf has noted the two together (-k); else the file is
 * taken to be as old as its last record.
 */
static void wall_of(const struct engine *e, uint64_t t, struct timespec *ts)
{
	const struct perf_info *info = perf_data__info(e->pd);
	uint64_t wall;

	if (info->wall_ns)
		wall = info->wall_ns + (t - info->clock_ns);
	else
		wall = e->dated - ((info->last ? info->last : e->last) - t);
	ts->tv_sec = (time_t)(wall / 1000000000ULL);
	ts->tv_nsec = (long)(wall % 1000000000ULL);
}

static void fill_host(const struct engine *e, struct report *r)
{
	const struct perf_info *info = perf_data__info(e->pd);

	snprintf(r->host.name, sizeof(r->host.name), "%s", info->host);
	snprintf(r->host.kernel, sizeof(r->host.kernel), "%s", info->release);
	snprintf(r->host.arch, sizeof(r->host.arch), "%s", info->arch);
	r->host.cpus_possible = e->ncpus;
	r->host.cpus_online = info->cpus_online ? info->cpus_online : e->ncpus;
}

static void fill_notes(struct engine *e, struct report *r)
{
	size_t n = 0;

	while (n < sizeof(r->notes) / sizeof(r->notes[0]) - 5 && r->notes[n]) /* the accounts' */
		n++;
	if (e->unknown + e->short_raw + e->refused) {
		snprintf(e->note, sizeof(e->note),
			 "not accounted: %llu events without a format, %llu too short, %llu with "
			 "an impossible CPU or number",
			 (unsigned long long)e->unknown, (unsigned long long)e->short_raw,
			 (unsigned long long)e->refused);
		r->notes[n++] = e->note;
	}
	if (e->beyond) {
		snprintf(e->after, sizeof(e->after),
			 "%llu events are after the end that the recording's header tells",
			 (unsigned long long)e->beyond);
		r->notes[n++] = e->after;
	}
	if (perf_data__info(e->pd)->per_task)
		r->notes[n++] = "the recording follows single tasks: what else ran is not in it";
	if (!e->has_switch && e->caps.switches)
		r->notes[n++] =
			"switches without sched_switch: why a task left its CPU is not told, it "
			"counts as sleep";
	if (!perf_data__info(e->pd)->wall_ns)
		r->notes[n++] = "the date is the file's: the recording's clock has none (perf "
				"record -k)";
}

static int file_roll(struct engine *e, uint64_t end, struct report *r)
{
	int err;

	memset(r, 0, sizeof(*r));
	if (!e->f)
		return -ENODATA;
	if ((!e->held || e->rec.time < end) && !(e->ended && end < e->last)) /* not come to */
		end = e->last > feed__time(e->f) ? e->last : feed__time(e->f);
	r->index = e->index++;
	r->engine = "file";
	r->reason = "a recording was given to read";
	r->selection = *e->selection ? e->selection : NULL;
	wall_of(e, e->start, &r->start_wall);
	fill_host(e, r);
	names__new_window(e->names);
	err = feed__window(e->f, end, r);
	r->quality.lost_events += e->early_lost;
	e->early_lost = 0;
	r->cost.bpf_runs = since_last(&e->counted, feed__count(e->f));
	engine__cost(r, &e->cpu_before);
	fill_notes(e, r);
	e->start = end;
	return err;
}

static double file_progress(const struct engine *e)
{
	return perf_data__progress(e->pd);
}

static const char *file_fault(struct engine *e)
{
	const char *fault = perf_data__fault(e->pd);

	if (!fault && e->f && !*e->refused_why)
		return NULL;
	if (*e->refused_why)
		return e->refused_why;
	snprintf(e->fault, sizeof(e->fault), "%s: %s", e->path,
		 fault ? fault
		       : "no event in it that says where time goes: perf record -a -e "
			 "'sched:sched_switch,raw_syscalls:*' makes such ones");
	return e->fault;
}

const struct engine_ops engine_file = {
	.name = "file",
	.open = file_open,
	.start = file_start,
	.replay = file_replay,
	.progress = file_progress,
	.fault = file_fault,
	.roll = file_roll,
	.close = file_close,
};
