// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine for kernels that do not let us use BPF: the same tracepoints through perf rings, and
 * the same state machine in user space (feed.h).
 *
 * Two threads. The reader does nothing but bring events from the rings into queues, and goes before
 * others: rings are small, so that writing to them stays cheap, and what is not read in time is
 * lost. The other one, our caller's, takes events from the queues into the accounts, and may be
 * busy with a report for long.
 *
 * How time flows. Every pass reads all rings up to where they are. An event that was stamped before
 * the last pass began has had that whole pass to get into its ring: so all that is older than the
 * last pass is in the queues by now, and goes to the accounts in the order of time. There is no
 * look-ahead of so and so many events or milliseconds. What comes later all the same is counted in
 * out_of_order.
 *
 * How a run begins: the rings are started, then every task is looked up in /proc, then the window
 * is opened. The events in between bring what /proc has told up to date.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "engine.h"
#include "engine_util.h"
#include "merge.h"
#include "perf_events.h"
#include "perf_mode.h"
#include "perf_write.h"
#include "procseed.h"

/* How long after a window's end its last events may still be on their way into a ring. */
#define SETTLE_NS 2000000ULL
/* How often to look for CPUs that come and go. */
#define HOTPLUG_NS 50000000ULL
/* Between two passes when no ring has woken the reader. */
#define PASS_MS 25
/* Events that are accounted between two chances for the reader. */
#define BATCH 2048
/* Part of the memory that queues may take before rings are left to overflow. */
#define QUEUE_PART 16

struct group_path {
	uint64_t id;
	char *path;
};

struct engine {
	/* Both threads'; under lock once the reader runs. */
	pthread_mutex_t lock;
	struct perf_events *pe;
	struct perf_mode mode;
	struct merge merge;
	struct perf_write *file;  /* --record; NULL: not asked for */
	uint64_t pass_at;	  /* when the last pass began */
	uint64_t complete;	  /* all events before that are in the queues */
	int err;		  /* of an earlier pass: the next report would be wrong */
	struct group_path *paths; /* that the window's moves have told */
	size_t nr_paths, cap_paths;
	bool named; /* file holds the names of those who were there before */
	bool stop;

	pthread_t reader;
	pid_t reader_tid;
	sem_t is_there, may_run;
	bool have_reader;

	struct decode *decode;
	struct feed *feed;
	struct names *names;
	const struct selection *sel;
	char selection[512]; /* in words */
	unsigned int depth;
	bool *online; /* under lock */
	bool *present, *looked;
	uint32_t ncpus; /* possible */
	struct feed_seed *seeds;
	size_t nr_seeds, cap_seeds;
	const char *path; /* of file */
	uint64_t begin;	  /* of the first window */
	uint64_t start;	  /* of the current one */
	uint64_t index;
	uint64_t limit; /* no event from here on may go to the accounts yet */
	size_t batch;	/* accounted since the reader had its chance */
	size_t queue_max;
	uint64_t hotplug_at;
	uint64_t cpu_before, count_before;
	uint64_t sample_type;
	char *why; /* open()'s */
	size_t why_len;
	char late[256]; /* the reader's, of a CPU that came, for a debugger */
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

/* ---- from rings to queues ---- */

/* n more were lost of s before `time`, unless that has been told already. */
static int put_lost(struct engine *e, struct perf_source *s, uint64_t total, uint64_t time)
{
	struct merged *m;

	if (total <= s->lost_told)
		return 0;
	m = merge__slot(&e->merge, s->queue);
	if (!m)
		return -ENOMEM;
	m->lost = total - s->lost_told;
	m->ev.time = time;
	m->ev.cpu = s->cpu < 0 ? FEED_NOTID : (uint32_t)s->cpu;
	merge__commit(&e->merge, s->queue);
	s->lost_told = total;
	return 0;
}

/* The name of a group that a task came to: it may be gone when the window ends. */
static void keep_path(struct engine *e, uint64_t id, const struct perf_rec *rec)
{
	size_t len, cap;
	const char *at = decode__group_path(e->decode, rec->raw, rec->raw_size, &len);
	struct group_path *v;

	if (!at || !len || *at != '/' ||
	    (e->nr_paths && e->paths[e->nr_paths - 1].id == id)) /* its threads, one by one */
		return;
	if (e->nr_paths == e->cap_paths) {
		cap = e->cap_paths ? 2 * e->cap_paths : 16;
		v = reallocarray(e->paths, cap, sizeof(*v));
		if (!v)
			return;
		e->paths = v;
		e->cap_paths = cap;
	}
	e->paths[e->nr_paths].id = id;
	e->paths[e->nr_paths].path = strndup(at, len);
	e->nr_paths += e->paths[e->nr_paths].path != NULL;
}

/* Before anybody asks for them. Under lock. */
static void learn_paths(struct engine *e)
{
	for (size_t i = 0; i < e->nr_paths; i++) {
		names__know_cgroup(e->names, e->paths[i].id, e->paths[i].path, NULL);
		free(e->paths[i].path);
	}
	e->nr_paths = 0;
}

static int put_sample(struct engine *e, struct perf_source *s, const struct perf_rec *rec)
{
	uint32_t cpu = rec->cpu == PERF_REC_NO_CPU ? (uint32_t)s->cpu : rec->cpu;
	struct decode_hdr h = {rec->time, cpu, rec->pid, rec->tid};
	struct merged *m;
	int err;

	/* The hole comes before the record behind it, whose stamp is older than the hole's own. */
	err = put_lost(e, s, s->lost, rec->time);
	if (err)
		return err;
	m = merge__slot(&e->merge, s->queue);
	if (!m)
		return -ENOMEM;
	err = decode__event(e->decode, &h, rec->raw, rec->raw_size, &m->ev);
	if (err < 0)
		s->lost++; /* damaged: as good as lost */
	if (err <= 0)
		return 0;
	if (m->ev.op == FEED_FORK && m->ev.next_tid == s->new_tid)
		m->ev.next_tgid = s->new_pid;
	if (m->ev.op == FEED_MOVE)
		keep_path(e, m->ev.cgroup, rec);
	merge__commit(&e->merge, s->queue);
	return 0;
}

static int put_record(struct engine *e, struct perf_source *s, const struct perf_event_header *h)
{
	struct perf_rec rec;

	if (perf_rec__parse(h, e->sample_type, &rec)) {
		s->lost++;
		return 0;
	}
	s->last = rec.time;
	switch (rec.type) {
	case PERF_RECORD_SAMPLE:
		return put_sample(e, s, &rec);
	case PERF_RECORD_LOST:
		s->lost += rec.lost;
		return 0;
	case PERF_RECORD_FORK: /* sched_process_fork is the next, see kernel_clone() */
		s->new_pid = rec.new_pid;
		s->new_tid = rec.new_tid;
		return 0;
	default:
		return 0;
	}
}

static int read_ring(struct engine *e, struct perf_source *s)
{
	const struct perf_event_header *h;
	uint64_t torn = s->ring.torn;
	int err = 0;

	if (perf_ring__begin(&s->ring) + PERF_RECORD_ROOM > s->ring.size)
		s->was_full = true;
	while (!err && (h = perf_ring__next(&s->ring))) {
		if (e->file)
			perf_write__record(e->file, h);
		err = put_record(e, s, h);
	}
	s->lost += s->ring.torn - torn;
	perf_ring__end(&s->ring);
	return err;
}

/* One pass: reads every ring up to where it is. What is older than the pass before is complete. */
static int pass(struct engine *e)
{
	uint64_t before = e->pass_at;
	int err = 0;

	if (e->merge.waiting > e->queue_max) /* what the accounts do not keep up with is lost */
		return 0;
	e->pass_at = clock_ns();
	for (size_t i = 0; !err && i < e->pe->nr; i++)
		err = read_ring(e, &e->pe->sources[i]);
	if (e->file && e->named)
		perf_write__round(e->file);
	e->complete = before;
	return err;
}

/* ---- CPUs ---- */

static int add_cpu(struct engine *e, uint32_t cpu, char *why, size_t len)
{
	const struct perf_source s = {
		.pid = -1, .cpu = cpu, .groups = perf_mode__on_cpu(&e->mode, cpu)};
	int err = perf_events__add(e->pe, &s, why, len);

	if (err == -ENODEV) { /* went offline just now */
		e->online[cpu] = false;
		return 0;
	}
	return err;
}

/* The rings of chosen tasks, where the mode has such. */
static int add_tasks(struct engine *e)
{
	struct perf_source s = {.cpu = -1, .groups = e->mode.tasks};
	int err = 0;

	for (size_t i = 0; e->mode.rings == RINGS_THREADS && !err && i < e->sel->tids.n; i++) {
		s.pid = (pid_t)e->sel->tids.v[i];
		err = perf_events__add(e->pe, &s, e->why, e->why_len);
		if (err == -ESRCH) /* it has just ended */
			err = 0;
	}
	/*
	 * Events that are inherited need one ring a CPU. A task's are not bound to the CPU's being
	 * online: those of CPUs that may yet come are opened now, for who is forked till then.
	 */
	s.pid = e->mode.command;
	s.inherit = true;
	for (uint32_t i = 0; e->mode.rings == RINGS_TREE && !err && i < e->ncpus; i++) {
		if (!e->present[i])
			continue;
		s.cpu = (int)i;
		err = perf_events__add(e->pe, &s, e->why, e->why_len);
	}
	return err;
}

/* The accounts learn of it between the events before and those after. */
static int put_online(struct engine *e, uint32_t queue, uint32_t cpu, int online, uint64_t time)
{
	struct merged *m = merge__slot(&e->merge, queue);

	if (!m)
		return -ENOMEM;
	m->online = online;
	m->ev.time = time;
	m->ev.cpu = cpu;
	merge__commit(&e->merge, queue);
	return 0;
}

/*
 * It has gone right after its last event: the thread that takes a CPU down runs there until the
 * kernel takes the CPU's events away.
 */
static int drop_cpu(struct engine *e, size_t k)
{
	struct perf_source *s = &e->pe->sources[k];
	int err = read_ring(e, s);

	if (!err)
		err = put_online(e, s->queue, s->cpu, -1, s->last ? s->last + 1 : clock_ns());
	perf_events__remove(e->pe, k);
	return err;
}

/* A CPU's events end when it goes, for good: others are needed when it is back; tasks' stay. */
static int change_cpu(struct engine *e, uint32_t cpu, bool online)
{
	uint64_t now = clock_ns();
	struct perf_source *s;
	int err = 0;

	for (size_t k = 0; !err && k < e->pe->nr; k++)
		if (e->pe->sources[k].cpu == (int)cpu && e->pe->sources[k].pid == -1)
			err = drop_cpu(e, k--);
	e->online[cpu] = online;
	if (!err && online)
		err = add_cpu(e, cpu, e->late, sizeof(e->late));
	if (err || !e->online[cpu])
		return err;
	s = &e->pe->sources[e->pe->nr - 1];
	err = put_online(e, s->queue, cpu, 1, now);
	return err ? err : perf_events__enable(e->pe, s);
}

/* The reader's, which comes to it however busy the accounts are. */
static int follow_hotplug(struct engine *e)
{
	bool *now = e->looked;
	int err = 0;

	if (e->pass_at < e->hotplug_at + HOTPLUG_NS)
		return 0;
	e->hotplug_at = e->pass_at;
	engine__online(now, e->ncpus);
	for (uint32_t i = 0; !err && i < e->ncpus; i++)
		if (now[i] != e->online[i])
			err = change_cpu(e, i, now[i]);
	return err;
}

/* ---- the reader ---- */

/* Takes note of rings that woke us; one whose CPU or task is gone is not waited for any more. */
static void acknowledge(struct engine *e, const struct epoll_event *ev, int n)
{
	for (int i = 0; i < n; i++)
		if (ev[i].events & (EPOLLHUP | EPOLLERR))
			epoll_ctl(e->pe->epfd, EPOLL_CTL_DEL, ev[i].data.fd, NULL);
}

static void *reader(void *arg)
{
	struct epoll_event ev[64];
	struct engine *e = arg;
	bool stop = false;

	e->reader_tid = syscall(SYS_gettid);
	sem_post(&e->is_there);
	while (sem_wait(&e->may_run) && errno == EINTR)
		;
	engine__realtime(true);
	while (!stop) {
		int n = e->pe ? epoll_wait(e->pe->epfd, ev, 64, PASS_MS) : 0;

		pthread_mutex_lock(&e->lock);
		stop = e->stop;
		if (!stop) {
			acknowledge(e, ev, n);
			if (!e->err)
				e->err = pass(e);
			if (!e->err)
				e->err = follow_hotplug(e);
		}
		pthread_mutex_unlock(&e->lock);
	}
	return NULL;
}

/*
 * Makes the reader, which waits for its word: the events' filters want to know its tid. Whoever
 * holds the lock inherits its priority.
 */
static int make_reader(struct engine *e)
{
	pthread_mutexattr_t a;
	int err;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	err = pthread_mutex_init(&e->lock, &a);
	pthread_mutexattr_destroy(&a);
	sem_init(&e->is_there, 0, 0);
	sem_init(&e->may_run, 0, 0);
	if (!err)
		err = pthread_create(&e->reader, NULL, reader, e);
	if (err)
		return fail(e, -err, "cannot make a thread: %s", strerror(err));
	e->have_reader = true;
	while (sem_wait(&e->is_there) && errno == EINTR)
		;
	return 0;
}

static void end_reader(struct engine *e)
{
	if (!e->have_reader)
		return;
	pthread_mutex_lock(&e->lock);
	e->stop = true;
	pthread_mutex_unlock(&e->lock);
	sem_post(&e->may_run);
	pthread_join(e->reader, NULL);
	pthread_mutex_destroy(&e->lock);
}

/* ---- from queues to the accounts ---- */

static int account(void *ctx, const struct merged *it)
{
	struct engine *e = ctx;
	int err;

	if (it->lost) {
		feed__lost(e->feed, it->ev.cpu, it->ev.time, it->lost);
		return 0;
	}
	if (it->online) {
		feed__cpu(e->feed, it->ev.cpu, it->online > 0, it->ev.time);
		return 0;
	}
	if (it->ev.op == FEED_MOVE)
		learn_paths(e);
	err = feed__event(e->feed, &it->ev);
	return err == -EINVAL ? 0 : err; /* of a CPU that cannot be: decoded from nonsense */
}

#define BATCH_FULL 1 /* no -errno */

static int account_batch(void *ctx, const struct merged *it)
{
	struct engine *e = ctx;
	int err = account(e, it);

	return err || ++e->batch % BATCH ? err : BATCH_FULL;
}

/* Accounts what is complete, but nothing from e->limit on. */
static int release(struct engine *e)
{
	int err;

	do {
		uint64_t until;

		pthread_mutex_lock(&e->lock);
		until = e->complete < e->limit ? e->complete : e->limit;
		err = e->err ? e->err : merge__until(&e->merge, until, account_batch, e);
		if (err != BATCH_FULL)
			e->err = err; /* what fails in between is told when the window ends */
		pthread_mutex_unlock(&e->lock);
	} while (err == BATCH_FULL);
	return err;
}

/* What was lost so late that no record in a ring could tell of it. Under lock. */
static int lost_at_the_end(struct engine *e, uint64_t end)
{
	int err = 0;

	for (size_t i = 0; !err && i < e->pe->nr; i++) {
		struct perf_source *s = &e->pe->sources[i];
		uint64_t lost = perf_events__lost(e->pe, s);

		if (e->file && lost > s->lost_told)
			perf_write__lost(e->file, s, end - 1, lost - s->lost_told);
		err = put_lost(e, s, lost > s->lost ? lost : s->lost, end - 1);
	}
	return err;
}

/* ---- opening ---- */

static int keep_seed(void *ctx, const struct feed_seed *s)
{
	struct engine *e = ctx;

	if (e->nr_seeds == e->cap_seeds) {
		size_t cap = e->cap_seeds ? 2 * e->cap_seeds : 1024;
		struct feed_seed *v = reallocarray(e->seeds, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		e->seeds = v;
		e->cap_seeds = cap;
	}
	e->seeds[e->nr_seeds++] = *s;
	return 0;
}

static int open_events(struct engine *e, const struct opts *o)
{
	struct perf_config c = {.groups = o->events,
				.pages = o->mmap_pages,
				.memory = o->mem_limit,
				.own = {syscall(SYS_gettid), e->reader_tid},
				.tasks = e->mode.rings == RINGS_THREADS,
				.for_file = o->record,
				.verbose = o->verbose};
	int err = 0;

	engine__online(e->online, e->ncpus);
	engine__present(e->present, e->ncpus);
	for (uint32_t i = 0; i < e->ncpus; i++) {
		c.sources += e->online[i] || e->present[i];
		c.sources += e->mode.rings == RINGS_TREE && e->present[i];
	}
	if (e->mode.rings == RINGS_THREADS)
		c.sources += e->sel->tids.n;
	if (o->verbose)
		fprintf(stderr, "utilbpf: rings %s\n", perf_mode__name(&e->mode));
	decode__limit(e->decode, o->events | EV_SCHED);
	e->start = e->pass_at = clock_ns();
	e->sample_type = perf_events__sample_type(&c);
	err = perf_events__new(&e->pe, &c, e->decode, e->why, e->why_len);
	for (uint32_t i = 0; !err && i < e->ncpus; i++)
		if (e->online[i])
			err = add_cpu(e, i, e->why, e->why_len);
	if (!err)
		err = add_tasks(e);
	for (size_t i = 0; !err && i < e->pe->nr; i++) {
		err = perf_events__enable(e->pe, &e->pe->sources[i]);
		if (err)
			fail(e, err, "cannot start the events of CPU %d, task %d: %s",
			     e->pe->sources[i].cpu, e->pe->sources[i].pid, strerror(-err));
	}
	return err;
}

static int open_file(struct engine *e, const struct opts *o)
{
	int err;

	e->path = o->record;
	err = e->path ? perf_write__open(&e->file, e->path) : 0;
	return err ? fail(e, err, "cannot write --record %s: %s", e->path, strerror(-err)) : 0;
}

/* Before the first mark that lets perf sort: perf takes these for the oldest records. */
static void write_names(struct engine *e)
{
	pthread_mutex_lock(&e->lock);
	perf_write__kernel(e->file);
	for (size_t i = 0; i < e->nr_seeds; i++)
		perf_write__name(e->file, e->seeds[i].tgid, e->seeds[i].tid, e->seeds[i].comm);
	e->named = true;
	pthread_mutex_unlock(&e->lock);
}

static int by_start(const void *a, const void *b)
{
	const struct feed_seed *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The accounts begin with what /proc tells, as of the time when the events began. */
static int seed(struct engine *e)
{
	int err = 0;

	if (e->file)
		write_names(e);
	/* Parents before their children. */
	if (e->nr_seeds)
		qsort(e->seeds, e->nr_seeds, sizeof(*e->seeds), by_start);
	for (size_t i = 0; !err && i < e->nr_seeds; i++) {
		err = feed__seed(e->feed, &e->seeds[i]);
		if (err == -EINVAL) /* on a CPU that cannot be */
			err = 0;
	}
	free(e->seeds);
	e->seeds = NULL;
	return err;
}

/* Accounts all that is older than `end`, where the current window ends and the next begins. */
static int complete_until(struct engine *e, uint64_t end)
{
	int err;

	e->limit = end;
	clock_sleep_until(end + SETTLE_NS);
	err = release(e); /* and there is room in the queues for what else there is */
	pthread_mutex_lock(&e->lock);
	/* Twice: what was on its way at the first pass is there at the second. */
	for (int i = 0; i < 2 && !err; i++)
		err = e->err ? e->err : pass(e);
	if (!err)
		err = lost_at_the_end(e, end);
	pthread_mutex_unlock(&e->lock);
	if (!err)
		err = release(e);
	e->start = end;
	e->limit = UINT64_MAX;
	return err;
}

/* What happens while /proc is read brings the seeds up to date; then the window is opened. */
static int first_window(struct engine *e, enum report_level level, pid_t command)
{
	struct feed_caps caps = {.machine = true, .everyone = true};
	int err;

	err = proc__tasks("/proc", keep_seed, e);
	if (err)
		return fail(e, err, "cannot visit the tasks in /proc: %s", strerror(-err));
	pthread_mutex_lock(&e->lock);
	e->feed = feed__new(e->ncpus, e->online, level, sel__leaves_out(e->sel, command > 0),
			    e->names, e->start);
	pthread_mutex_unlock(&e->lock);
	if (!e->feed)
		return fail(e, -ENOMEM, "cannot start: out of memory");
	feed__warmup(e->feed);
	feed__select(e->feed, e->sel, (uint32_t)getpid());
	feed__depth(e->feed, e->depth);
	decode__caps(e->decode, &caps);
	caps.hcalls |= !engine__has_hcalls(NULL);
	feed__caps(e->feed, &caps);
	if (command > 0)
		feed__command(e->feed, command);
	err = seed(e);
	if (!err)
		err = complete_until(e, clock_ns());
	if (!err)
		err = feed__start(e->feed, e->start);
	e->begin = e->start;
	e->count_before = feed__count(e->feed);
	return err ? fail(e, err, "cannot start the first window: %s", strerror(-err)) : 0;
}

static void perf_close(struct engine *e)
{
	if (!e)
		return;
	end_reader(e);
	perf_write__abort(e->file);
	perf_events__free(e->pe);
	decode__free(e->decode);
	merge__free(&e->merge);
	feed__free(e->feed);
	for (size_t i = 0; i < e->nr_paths; i++)
		free(e->paths[i].path);
	free(e->paths);
	free(e->seeds);
	free(e->online);
	free(e->present);
	free(e->looked);
	free(e);
}

static int perf_open(struct engine **out, const struct opts *o, enum report_level level,
		     pid_t command, struct names *names, char *why, size_t len)
{
	struct engine *e = calloc(1, sizeof(*e));
	int n = libbpf_num_possible_cpus(), err;

	*out = NULL;
	if (!e || n <= 0) {
		snprintf(why, len, "cannot start: %s",
			 e ? "no count of possible CPUs" : "out of memory");
		free(e);
		return -ENOMEM;
	}
	if (!engine__initial_pids()) {
		snprintf(why, len,
			 "cannot seed from /proc: in this pid namespace tasks have other ids "
			 "than in the events; run it in the host's");
		free(e);
		return -EOPNOTSUPP;
	}
	e->why = why;
	e->why_len = len;
	e->ncpus = n;
	e->names = names;
	e->sel = &o->sel;
	e->depth = o->depth;
	sel__describe(&o->sel, e->selection, sizeof(e->selection));
	e->limit = UINT64_MAX;
	e->queue_max = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / QUEUE_PART /
		       sizeof(struct merged);
	perf_mode__choose(&e->mode, o, command);
	e->online = calloc(n, sizeof(*e->online));
	e->present = calloc(n, sizeof(*e->present));
	e->looked = calloc(n, sizeof(*e->looked));
	e->decode = decode__new(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	if (!e->online || !e->present || !e->looked || !e->decode)
		err = fail(e, -ENOMEM, "cannot start: out of memory");
	else
		err = open_file(e, o);
	if (!err)
		decode__want_moves(e->decode);
	if (!err)
		err = make_reader(e);
	if (!err)
		err = open_events(e, o);
	if (!err)
		sem_post(&e->may_run);
	if (!err)
		err = first_window(e, level, command);
	if (err) {
		perf_close(e);
		return err;
	}
	*out = e;
	return 0;
}

/* ---- running ---- */

static uint64_t perf_start(const struct engine *e)
{
	return e->start;
}

static uint64_t perf_poll(struct engine *e)
{
	release(e);
	return ENGINE_POLL_NS;
}

static void perf_announce(struct engine *e, uint64_t end)
{
	e->limit = end;
}

static int perf_roll(struct engine *e, uint64_t end, struct report *r)
{
	uint64_t start = e->start;
	int err;

	memset(r, 0, sizeof(*r));
	if (end < start)
		end = start;
	names__new_window(e->names);
	names__load_irqs(e->names, NULL);
	err = complete_until(e, end);
	if (!err)
		err = feed__window(e->feed, end, r);
	if (err)
		return err;
	r->index = e->index++;
	r->engine = "perf";
	r->reason = "perf was asked for";
	r->selection = *e->selection ? e->selection : NULL;
	clock_wall_of(start, &r->start_wall);
	engine__cost(r, &e->cpu_before);
	pthread_mutex_lock(&e->lock);
	engine__host(r, e->ncpus, e->online);
	r->cost.map_bytes = perf_events__bytes(e->pe);
	pthread_mutex_unlock(&e->lock);
	r->cost.bpf_runs = since_last(&e->count_before, feed__count(e->feed));
	return 0;
}

static int perf_finish(struct engine *e, char *why, size_t len)
{
	int err = 0;

	pthread_mutex_lock(&e->lock);
	if (e->file)
		err = perf_write__close(e->file, e->pe, e->begin, e->start);
	e->file = NULL;
	pthread_mutex_unlock(&e->lock);
	if (err)
		snprintf(why, len, "cannot write --record %s: %s; the file is not complete",
			 e->path, strerror(-err));
	return err;
}

const struct engine_ops engine_perf = {
	.name = "perf",
	.open = perf_open,
	.start = perf_start,
	.poll = perf_poll,
	.announce = perf_announce,
	.roll = perf_roll,
	.finish = perf_finish,
	.close = perf_close,
};
