// SPDX-License-Identifier: GPL-2.0-only
/*
 * main(): parse, open an engine, run the windows, render. It owns the run's files, signals and
 * COMMAND, and knows neither how an engine works nor what a report looks like.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "clock.h"
#include "engine.h"
#include "engine_util.h"
#include "escape.h"
#include "metrics.h"
#include "perf_events.h"
#include "resident.h"
#include "serve.h"
#include "verify.h"
#include "version.h"
#include "workload.h"

/* A window's end is told to the engine this long before it comes. */
#define LEAD_NS	      100000000ULL
#define SIGN_AFTER_NS 2000000000ULL
#define NS_PER_S      1000000000ULL

struct run {
	struct opts o;
	const struct engine_ops *ops;
	struct engine *e;
	struct names *names;
	struct workload *w;
	struct out_opts out;
	const char *reason; /* why it is this engine, NULL: as it says itself */
	uint64_t begin;	    /* start of the first window */
	uint64_t begun;	    /* when reading a recording began, CLOCK_MONOTONIC */
	uint64_t done;	    /* reports printed */
	uint64_t poll_ns;   /* after so long the engine wants to be looked after */
	int sigfd;
	int sig;    /* that ended the run */
	bool ended; /* COMMAND has */
	bool sign;  /* stderr is a terminal: show a sign of life */
	uint64_t signed_at;
};

/* One line: what failed, on what, why. Returns the exit status of a failure. */
static int failed(const char *what, const char *on, int err)
{
	fprintf(stderr, "utilbpf: cannot %s ", what);
	esc__put(stderr, on);
	fprintf(stderr, ": %s\n", strerror(-err));
	return 1;
}

/* A line that is ready, but for what a file name in it may hold. */
static void complain(const char *why)
{
	fputs("utilbpf: ", stderr);
	esc__put(stderr, why);
	fputs("\n", stderr);
}

static enum report_level level_of(const struct opts *o)
{
	if (o->format == FORMAT_TEXT) {
		if (o->full)
			return LEVEL_TASK;
		return o->by > LEVEL_PROCESS ? o->by : LEVEL_PROCESS;
	}
	if (o->format == FORMAT_OPENMETRICS)
		return o->by_given ? o->by : o->top_given ? LEVEL_PROCESS : LEVEL_GROUP;
	return o->by_given ? o->by : LEVEL_TASK;
}

/* OpenMetrics is counters, which outlive a report; a file of them is replaced as a whole. */
static int open_metrics(struct run *r)
{
	r->out.metrics = metrics__new(r->o.max_series, level_of(&r->o) >= LEVEL_PROCESS, r->o.top);
	if (!r->out.metrics)
		return failed("start", "the counters", -ENOMEM);
	r->out.path = r->o.output;
	return 0;
}

static int open_output(struct run *r)
{
	struct winsize ws;
	bool tty;

	r->out.f = r->o.command ? stderr : stdout;
	if (r->o.format == FORMAT_OPENMETRICS && open_metrics(r))
		return 1;
	if (r->o.output && !r->out.path) {
		r->out.f = fopen(r->o.output, "we");
		if (!r->out.f)
			return failed("write to", r->o.output, -errno);
	}
	tty = isatty(fileno(r->out.f));
	r->out.width = 80;
	if (tty && !ioctl(fileno(r->out.f), TIOCGWINSZ, &ws) && ws.ws_col)
		r->out.width = ws.ws_col;
	r->out.color = tty && !getenv("NO_COLOR");
	r->out.full = r->o.full;
	r->out.sort = r->o.sort;
	r->out.top = r->o.top;
	r->out.by = r->o.by;
	r->out.first = true;
	r->sign = isatty(STDERR_FILENO);
	return 0;
}

/* From here SIGINT and SIGTERM are read from a descriptor: nothing is cut short by them. */
static int catch_signals(struct run *r)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	r->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->sigfd < 0 ? -errno : 0;
}

/* ---- the sign of life ---- */

static void sign_of_life(struct run *r, uint64_t now)
{
	uint64_t total = r->o.duration_ns, elapsed = now - r->begin;

	if (!total && r->o.count)
		total = r->o.count * r->o.interval_ns;
	if (!r->sign || elapsed < SIGN_AFTER_NS || now - r->signed_at < NS_PER_S / 2)
		return;
	r->signed_at = now;
	if (total)
		fprintf(stderr, "\rutilbpf: %.0f / %.0f s ", elapsed / 1e9, total / 1e9);
	else
		fprintf(stderr, "\rutilbpf: %.0f s, ^C to end ", elapsed / 1e9);
}

static void sign_clear(struct run *r)
{
	if (r->signed_at)
		fputs("\r\033[K", stderr);
	r->signed_at = 0;
}

/* ---- windows ---- */

static int render(struct run *r, const struct report *rep)
{
	int err;

	sign_clear(r);
	if (r->o.verify) {
		err = verify__print(r->e, r->out.f);
		return err ? failed("write", "the comparison", err) : 0;
	}
	switch (r->o.format) {
	case FORMAT_JSON:
		err = out__json(rep, r->names, &r->out);
		break;
	case FORMAT_CSV:
		err = out__csv(rep, r->names, &r->out);
		break;
	case FORMAT_OPENMETRICS:
		err = out__openmetrics(rep, r->names, &r->out);
		break;
	default:
		err = (r->o.full ? out__full : out__text)(rep, r->names, &r->out);
	}
	r->out.first = false;
	return err ? failed("write the report to", r->o.output ? r->o.output : "the output", err)
		   : 0;
}

/* Sleeps until a signal, COMMAND's end, or t. True when the run is to end. */
static bool wait_until(struct run *r, uint64_t t)
{
	for (uint64_t now = clock_ns(); now < t && !r->sig && !r->ended; now = clock_ns()) {
		struct pollfd fds[] = {{.fd = r->sigfd, .events = POLLIN},
				       {.fd = r->w ? workload__pidfd(r->w) : -1, .events = POLLIN}};
		uint64_t left = t - now < r->poll_ns ? t - now : r->poll_ns;
		struct timespec ts = {0, left};
		struct signalfd_siginfo si;

		sign_of_life(r, now);
		if (ppoll(fds, 2, &ts, NULL) > 0) {
			if (fds[0].revents && read(r->sigfd, &si, sizeof(si)) == sizeof(si))
				r->sig = si.ssi_signo;
			if (fds[1].revents && workload__wait(r->w, 0) == 1)
				r->ended = true;
		}
		r->poll_ns = r->ops->poll(r->e);
	}
	return r->sig || r->ended;
}

/* The end of the current window, or far away. */
static uint64_t window_end(const struct run *r)
{
	uint64_t end = UINT64_MAX,
		 stop = r->o.duration_ns ? r->begin + r->o.duration_ns : UINT64_MAX;

	if (r->o.interval_ns)
		end = r->begin + (r->done + 1) * r->o.interval_ns;
	return end < stop ? end : stop;
}

static int run_windows(struct run *r)
{
	uint64_t end, stop = r->o.duration_ns ? r->begin + r->o.duration_ns : UINT64_MAX;
	bool over = false;
	int status = 0;

	while (!over && !status) {
		struct report rep = {0};
		int err;

		end = window_end(r);
		over = wait_until(r, end == UINT64_MAX ? end : end - LEAD_NS);
		if (!over) {
			r->ops->announce(r->e, end);
			over = wait_until(r, end);
		}
		if (over)
			end = clock_ns();
		err = r->ops->roll(r->e, end, &rep);
		if (r->reason)
			rep.reason = r->reason;
		if (err)
			status = failed("read", "the accounts", err);
		else
			status = render(r, &rep);
		report__free(&rep);
		r->done++;
		if (end >= stop || (r->o.count && r->done >= r->o.count))
			over = true;
	}
	sign_clear(r);
	return status;
}

/* ---- a recording ---- */

static void show_progress(struct run *r, uint64_t now)
{
	double part = r->ops->progress(r->e);

	if (!r->sign || part < 0 || now - r->begun < SIGN_AFTER_NS ||
	    now - r->signed_at < NS_PER_S / 2)
		return;
	r->signed_at = now;
	fprintf(stderr, "\rutilbpf: %.0f %% read ", part * 100);
}

/* REPLAY_WINDOW, REPLAY_END (also after a signal), or -errno. */
static int replay_until(struct run *r, uint64_t end)
{
	int got = REPLAY_MORE;

	while (got == REPLAY_MORE) {
		struct signalfd_siginfo si;

		got = r->ops->replay(r->e, end);
		show_progress(r, clock_ns());
		if (read(r->sigfd, &si, sizeof(si)) == sizeof(si)) {
			r->sig = si.ssi_signo;
			return REPLAY_END;
		}
	}
	return got;
}

static int replay_window(struct run *r, uint64_t end)
{
	struct report rep = {0};
	int err = r->ops->roll(r->e, end, &rep), status;

	status = err ? failed("account", "the recording", err) : render(r, &rep);
	report__free(&rep);
	r->done++;
	return status;
}

static int run_recording(struct run *r)
{
	uint64_t end, stop;
	const char *fault;
	int got, status = 0;

	r->begun = clock_ns();
	got = replay_until(r, 0);
	r->begin = r->ops->start(r->e);
	stop = r->o.duration_ns ? r->begin + r->o.duration_ns : UINT64_MAX;
	while (got == REPLAY_WINDOW && !status) {
		end = window_end(r);
		got = replay_until(r, end);
		if (got >= 0)
			status = replay_window(r, end);
		if (end >= stop || (r->o.count && r->done >= r->o.count))
			break;
	}
	sign_clear(r);
	fault = r->ops->fault(r->e);
	if (fault)
		fprintf(stderr, "utilbpf: %s\n", fault);
	else if (got < 0)
		return failed("read", "the recording", got);
	return fault ? 1 : status;
}

/* COMMAND's exit status; one that outlives a signal to us is told to end, as perf stat does. */
static int command_status(struct run *r)
{
	if (r->sig && !r->ended) {
		if (r->sig == SIGTERM)
			kill(workload__pid(r->w), SIGTERM);
		r->ended = workload__wait(r->w, 1000) == 1;
	}
	return r->ended ? workload__exit_status(r->w) : r->sig ? 128 + r->sig : 0;
}

static int start_command(struct run *r)
{
	int err = workload__start(r->w);

	if (!err)
		return 0;
	fputs("utilbpf: cannot run ", stderr);
	esc__put(stderr, r->o.command[0]);
	fprintf(stderr, ": %s\n", strerror(-err));
	return workload__exit_status(r->w);
}

/* What process ids that we know are needed for, as an option; NULL: nothing. */
static const char *needs_ids(const struct opts *o)
{
	if (o->command)
		return "COMMAND";
	if (o->sel.kinds & SELK_PID)
		return "-p";
	if (o->sel.kinds & SELK_TID)
		return "-t";
	return o->sel.kinds & SELK_NOSELF ? "-x" : NULL;
}

/* Looks up the selection's names. 0, or the exit status after one line. */
static int resolve(struct run *r)
{
	const char *ids = needs_ids(&r->o);
	char why[1200] = "";
	int err;

	if (ids && !engine__initial_pids()) {
		fprintf(stderr,
			"utilbpf: cannot account %s: in this pid namespace processes have other "
			"ids "
			"than the kernel's; run it in the host's (docker run --pid=host, "
			"hostPID)\n",
			ids);
		return 1;
	}
	err = sel__resolve(&r->o.sel, r->names, true, why, sizeof(why));
	if (!err)
		return 0;
	fprintf(stderr, "utilbpf: %s\n", why);
	return err == -EINVAL ? 2 : 1;
}

/*
 * Before others that wait for a CPU, as far as we may: late on a busy machine, it finds tables and
 * rings full. COMMAND is forked before, and does not inherit that.
 */
static void go_first(void)
{
	setpriority(PRIO_PROCESS, 0, -20);
}

/* Also what an engine needs: the selection with its names looked up, and COMMAND, waiting. */
static int open_engine(struct run *r)
{
	char why[1200] = "";
	/* A recording's tasks, CPUs and calls are another machine's: its engine looks. */
	int err = r->o.read ? 0 : resolve(r);

	if (err)
		return err;
	if (r->o.command && (err = workload__prepare(&r->w, r->o.command)))
		return failed("fork for", "COMMAND", err);
	if (!r->o.read)
		go_first();
	r->ops = engine__open(&r->e, &r->o, level_of(&r->o), r->w ? workload__pid(r->w) : 0,
			      r->names, &r->reason, why, sizeof(why));
	if (!r->ops) {
		complain(why);
		return 1;
	}
	r->begin = r->ops->start(r->e);
	return 0;
}

static int run(struct run *r)
{
	char why[512] = "";
	int status, err = catch_signals(r);

	if (err)
		return failed("set up", "signals", err);
	status = open_engine(r);
	if (!status && r->w)
		status = start_command(r);
	if (status)
		return status;
	status = (r->ops->replay ? run_recording : run_windows)(r);
	if (r->ops->finish && r->ops->finish(r->e, why, sizeof(why))) {
		complain(why);
		status = 1;
	}
	return status || !r->w ? status : command_status(r);
}

/* The socket first: what fails soonest must not cost a start of the engine. */
static int serve(struct run *r)
{
	char why[512] = "";
	struct serve *s;
	int status = 0, err = catch_signals(r);

	if (err)
		return failed("set up", "signals", err);
	err = serve__open(&s, r->o.listen, r->out.metrics, r->names, why, sizeof(why));
	if (!err) {
		status = open_engine(r);
		if (!status)
			err = serve__run(s, r->ops, r->e, r->sigfd, why, sizeof(why));
		serve__close(s);
	}
	if (!err)
		return status;
	fprintf(stderr, "utilbpf: %s\n", why);
	return 1;
}

static int print_report(void *ctx, const struct report *rep)
{
	return render(ctx, rep);
}

/* The sub-commands of a resident instance. */
static int resident(struct run *r)
{
	char why[512] = "";
	int err;

	switch (r->o.action) {
	case ACTION_START:
		err = resolve(r);
		if (err)
			return err;
		err = resident__start(&r->o, r->names, why, sizeof(why));
		break;
	case ACTION_STOP:
		err = resident__stop(&r->o, why, sizeof(why));
		break;
	case ACTION_STATUS:
		err = resident__status(&r->o, r->out.f, why, sizeof(why));
		break;
	default:
		signal(SIGPIPE, SIG_IGN);
		err = resident__report(&r->o, level_of(&r->o), r->names, print_report, r, why,
				       sizeof(why));
	}
	if (err && why[0])
		fprintf(stderr, "utilbpf: %s\n", why);
	return err ? 1 : 0;
}

static int dispatch(struct run *r)
{
	switch (r->o.action) {
	case ACTION_RUN:
		return run(r);
	case ACTION_SERVE:
		return serve(r);
	default:
		return resident(r);
	}
}

static int version(void)
{
	printf("utilbpf %s\n", UTILBPF_VERSION);
	engine_bpf__features(stdout);
	perf_events__features(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	struct run r = {.sigfd = -1};
	struct utsname u;
	int err, status = opts__parse(&r.o, argc, argv);

	if (status)
		return status;
	/* Room for the longest help, so that the error of a full disk comes up where it is told. */
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	if (r.o.action == ACTION_HELP) {
		opts__help(stdout);
	} else if (r.o.action == ACTION_VERSION) {
		status = version();
	} else if (r.o.action == ACTION_SCHEMA) {
		err = out__json_schema(stdout);
		status = err ? failed("write to", "the output", err) : 0;
	} else {
		uname(&u);
		r.names = names__new(u.machine);
		status = r.names ? open_output(&r) : failed("start", "names", -ENOMEM);
		if (!status)
			status = dispatch(&r);
		if (r.ops)
			r.ops->close(r.e);
		workload__free(r.w);
		metrics__free(r.out.metrics);
		names__free(r.names);
	}
	errno = EIO; /* of a write that failed earlier no more is known */
	if (fflush(stdout) || ferror(stdout) || (r.out.f && fflush(r.out.f))) {
		if (!status)
			status = failed("write to", "the output", -errno);
	}
	return status;
}
