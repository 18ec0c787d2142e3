// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line: every option, its checks, its messages and the help text.
 *
 * It owns what the user may say and how a wrong word is answered: in one line, with the argument
 * shown escaped, since an argument can hold what drives a terminal. It must not know of engines,
 * nor act on what it parsed.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listen.h"
#include "metrics.h"
#include "opts.h"

#define WRONG_USAGE 2

#define NSEC_PER_SEC 1000000000ULL
#define MIN_NS	     10000000ULL		   /* 10 ms */
#define MAX_NS	     (315576000ULL * NSEC_PER_SEC) /* 10 years of 365.25 days */
#define MAX_COUNT    UINT32_MAX
#define MIN_MEM	     (1ULL << 20)
#define DEFAULT_TOP  20
#define MAX_PAGES    (1U << 20) /* of a ring */
#define MAX_DEPTH    255
#define MAX_NAME     40

/* What is shown of an argument: enough to know it again. */
#define QUOTE_SHOWN 60
#define QUOTE_LEN   (QUOTE_SHOWN * 4 + 8)
#define Q(arg)	    quote((char[QUOTE_LEN]){0}, arg)

enum {
	OPT_ENGINE = 256,
	OPT_MEM_LIMIT,
	OPT_JSON_SCHEMA,
	OPT_RECORD,
	OPT_VERIFY,
	OPT_NO_KTHREADS,
	OPT_SYSCALL,
	OPT_FOLLOW,
	OPT_DEPTH,
	OPT_LISTEN,
	OPT_MAX_SERIES,
	OPT_NAME,
	OPT_SINCE_START,
};

static const char short_options[] = "+:d:i:n:e:m:b:s:T:Ff:o:Vvhp:t:C:G:c:u:xr::";

static const struct option long_options[] = {
	{"duration", required_argument, NULL, 'd'},
	{"interval", required_argument, NULL, 'i'},
	{"count", required_argument, NULL, 'n'},
	{"events", required_argument, NULL, 'e'},
	{"by", required_argument, NULL, 'b'},
	{"sort", required_argument, NULL, 's'},
	{"top", required_argument, NULL, 'T'},
	{"full", no_argument, NULL, 'F'},
	{"format", required_argument, NULL, 'f'},
	{"output", required_argument, NULL, 'o'},
	{"engine", required_argument, NULL, OPT_ENGINE},
	{"mmap-pages", required_argument, NULL, 'm'},
	{"mem-limit", required_argument, NULL, OPT_MEM_LIMIT},
	{"json-schema", no_argument, NULL, OPT_JSON_SCHEMA},
	{"version", no_argument, NULL, 'V'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"pid", required_argument, NULL, 'p'},
	{"tid", required_argument, NULL, 't'},
	{"cpu", required_argument, NULL, 'C'},
	{"cgroup", required_argument, NULL, 'G'},
	{"comm", required_argument, NULL, 'c'},
	{"uid", required_argument, NULL, 'u'},
	{"exclude-self", no_argument, NULL, 'x'},
	{"no-kthreads", no_argument, NULL, OPT_NO_KTHREADS},
	{"syscall", required_argument, NULL, OPT_SYSCALL},
	{"follow", no_argument, NULL, OPT_FOLLOW},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"read", optional_argument, NULL, 'r'},
	{"record", required_argument, NULL, OPT_RECORD},
	{"verify", no_argument, NULL, OPT_VERIFY},
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"max-series", required_argument, NULL, OPT_MAX_SERIES},
	{"name", required_argument, NULL, OPT_NAME},
	{"since-start", no_argument, NULL, OPT_SINCE_START},
	{NULL, 0, NULL, 0},
};

#define MAX_SUB_OPTIONS 24

/* What may stand in the place of the first argument, and the options that go with it. */
struct sub_command {
	const char *name;
	enum opts_action action;
	int options[MAX_SUB_OPTIONS]; /* 0 ends them */
};

static const struct sub_command sub_commands[] = {
	{"serve",
	 ACTION_SERVE,
	 {OPT_LISTEN, 'e', OPT_ENGINE, OPT_MEM_LIMIT, 'p', 't', 'C', 'G', 'c', 'u', 'x',
	  OPT_NO_KTHREADS, OPT_FOLLOW, OPT_SYSCALL, 'b', OPT_DEPTH, 'T', OPT_MAX_SERIES, 'v'}},
	{"start",
	 ACTION_START,
	 {'e', OPT_MEM_LIMIT, 'p', 't', 'C', 'G', 'c', 'u', 'x', OPT_NO_KTHREADS, OPT_FOLLOW,
	  OPT_SYSCALL, OPT_NAME, 'v'}},
	{"report",
	 ACTION_REPORT,
	 {OPT_SINCE_START, 'b', 's', 'T', 'F', 'f', 'o', OPT_DEPTH, OPT_MAX_SERIES, OPT_NAME, 'v'}},
	{"stop", ACTION_STOP, {OPT_NAME, 'v'}},
	{"status", ACTION_STATUS, {OPT_NAME, 'v'}},
	{NULL, ACTION_RUN, {0}},
};

/* 'arg', with everything but printable ASCII as \xNN, cut when it is long. */
static const char *quote(char *buf, const char *arg)
{
	char *p = buf;
	int shown = 0;

	*p++ = '\'';
	for (; *arg && shown < QUOTE_SHOWN; arg++, shown++) {
		if (*arg >= ' ' && *arg <= '~' && *arg != '\\' && *arg != '\'')
			*p++ = *arg;
		else
			p += sprintf(p, "\\x%02x", (unsigned char)*arg);
	}
	strcpy(p, *arg ? "...'" : "'");
	return buf;
}

/* One line on stderr. The arguments must have gone through Q(). */
__attribute__((format(printf, 1, 2))) static int wrong(const char *fmt, ...)
{
	va_list ap;

	fputs("utilbpf: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs(" (see utilbpf --help)\n", stderr);
	return WRONG_USAGE;
}

/* "-d/--duration", "--engine". */
static const char *option_name(int val)
{
	static char buf[40];
	const char *name = NULL;

	for (const struct option *o = long_options; o->name && !name; o++)
		if (o->val == val)
			name = o->name;
	if (val < OPT_ENGINE)
		snprintf(buf, sizeof(buf), "-%c/--%s", val, name ? name : "?");
	else
		snprintf(buf, sizeof(buf), "--%s", name ? name : "?");
	return buf;
}

/*
 * Decimal seconds as nanoseconds, with digits and one point only: strtod() would take nan, hex and
 * the point of the locale. What is finer than a nanosecond is cut off.
 */
static bool parse_seconds(const char *s, uint64_t *ns)
{
	uint64_t sec = 0, frac = 0, unit = NSEC_PER_SEC / 10;
	bool any = false;

	for (; *s >= '0' && *s <= '9'; s++, any = true) {
		sec = sec * 10 + (uint64_t)(*s - '0');
		if (sec > MAX_NS / NSEC_PER_SEC)
			return false;
	}
	if (*s == '.')
		for (s++; *s >= '0' && *s <= '9'; s++, any = true, unit /= 10)
			frac += (uint64_t)(*s - '0') * unit;
	*ns = sec * NSEC_PER_SEC + frac;
	return any && !*s && *ns >= MIN_NS && *ns <= MAX_NS;
}

static bool parse_count(const char *s, uint64_t max, uint64_t *v)
{
	return sel__digits(&s, max, v) && !*s;
}

/* Bytes, or with K, M, G (either case) the power of 1024 that they stand for. */
static bool parse_size(const char *s, uint64_t *bytes)
{
	static const char units[] = "KkMmGg";
	unsigned int shift = 0;
	const char *unit;

	if (!sel__digits(&s, INT64_MAX, bytes))
		return false;
	if (*s) {
		unit = strchr(units, *s);
		if (!unit || s[1])
			return false;
		shift = 10 * (unsigned int)((unit - units) / 2 + 1);
	}
	if (*bytes > (uint64_t)INT64_MAX >> shift)
		return false;
	*bytes <<= shift;
	return *bytes >= MIN_MEM;
}

static int set_seconds(int val, const char *arg, uint64_t *ns)
{
	if (parse_seconds(arg, ns))
		return 0;
	return wrong("%s takes seconds from 0.01 to %llu, such as 5 or 0.5, not %s",
		     option_name(val), MAX_NS / NSEC_PER_SEC, Q(arg));
}

/* Repeated -e add up. */
static int set_events(struct opts *o, const char *arg)
{
	static const struct {
		const char *name;
		uint32_t bit;
	} events[] = {
		{"sched", EV_SCHED},	   {"syscalls", EV_SYSCALLS}, {"irqs", EV_IRQS},
		{"softirqs", EV_SOFTIRQS}, {"hcalls", EV_HCALLS},     {"all", EV_ALL},
	};
	const size_t n = sizeof(events) / sizeof(*events);
	const char *p = arg;
	size_t len, i;

	for (;; p += len + 1) {
		len = strcspn(p, ",");
		for (i = 0; i < n; i++)
			if (strlen(events[i].name) == len && !memcmp(events[i].name, p, len))
				break;
		if (i == n)
			return wrong("-e/--events takes a list of sched,syscalls,irqs,softirqs,"
				     "hcalls,all, not %s",
				     Q(arg));
		o->events |= events[i].bit;
		if (!p[len])
			return 0;
	}
}

static int set_by(struct opts *o, const char *arg)
{
	static const char *const levels[] = {[LEVEL_SYSTEM] = "system",
					     [LEVEL_CPU] = "cpu",
					     [LEVEL_GROUP] = "group",
					     [LEVEL_PROCESS] = "process",
					     [LEVEL_TASK] = "task"};

	for (int i = LEVEL_SYSTEM; i <= LEVEL_TASK; i++) {
		if (strcmp(levels[i], arg))
			continue;
		o->by = (enum report_level)i;
		o->by_given = true;
		return 0;
	}
	return wrong("-b/--by takes system, cpu, group, process or task, not %s", Q(arg));
}

static int set_format(struct opts *o, const char *arg)
{
	if (!strcmp(arg, "text"))
		o->format = FORMAT_TEXT;
	else if (!strcmp(arg, "json"))
		o->format = FORMAT_JSON;
	else if (!strcmp(arg, "csv"))
		o->format = FORMAT_CSV;
	else if (!strcmp(arg, "openmetrics"))
		o->format = FORMAT_OPENMETRICS;
	else
		return wrong("-f/--format takes text, json, csv or openmetrics, not %s", Q(arg));
	return 0;
}

static int set_engine(struct opts *o, const char *arg)
{
	if (strcmp(arg, "auto") && strcmp(arg, "bpf") && strcmp(arg, "perf"))
		return wrong("--engine takes auto, bpf or perf, not %s", Q(arg));
	o->engine = arg;
	return 0;
}

static int set_sort(struct opts *o, const char *arg)
{
	if (!out__sort_key_valid(arg))
		return wrong("-s/--sort takes one of %s, not %s", out__sort_keys(), Q(arg));
	o->sort = arg;
	return 0;
}

static int set_number(struct opts *o, int val, const char *arg)
{
	uint64_t v;

	switch (val) {
	case 'm':
		if (!parse_count(arg, MAX_PAGES, &v) || !v || v & (v - 1))
			return wrong("%s takes a number of pages that is a power of two, up to %u, "
				     "not %s",
				     option_name(val), MAX_PAGES, Q(arg));
		o->mmap_pages = v;
		return 0;
	case 'n':
		if (!parse_count(arg, MAX_COUNT, &o->count) || !o->count)
			return wrong("-n/--count takes a whole number from 1 to %u, not %s",
				     MAX_COUNT, Q(arg));
		return 0;
	case 'T':
		if (!parse_count(arg, UINT32_MAX, &v))
			return wrong("-T/--top takes a whole number from 0 (all) to %u, not %s",
				     UINT32_MAX, Q(arg));
		o->top = (unsigned int)v;
		o->top_given = true;
		return 0;
	case OPT_MAX_SERIES:
		if (!parse_count(arg, METRICS_MAX_SERIES, &v) || v < METRICS_MIN_SERIES)
			return wrong("--max-series takes a whole number from %d to %d, not %s",
				     METRICS_MIN_SERIES, METRICS_MAX_SERIES, Q(arg));
		o->max_series = v;
		return 0;
	case OPT_DEPTH:
		if (!parse_count(arg, MAX_DEPTH, &v) || !v)
			return wrong("--depth takes a whole number from 1 to %u, not %s", MAX_DEPTH,
				     Q(arg));
		o->depth = (unsigned int)v;
		return 0;
	default:
		if (!parse_size(arg, &o->mem_limit))
			return wrong("--mem-limit takes a size from 1M, such as 64M or 1G, not %s",
				     Q(arg));
		return 0;
	}
}

static int set_listen(struct opts *o, const char *arg)
{
	struct sockaddr_storage addr;
	socklen_t len;

	if (!listen__parse(arg, &addr, &len))
		return wrong("--listen takes ADDR:PORT, such as " LISTEN_DEFAULT
			     " or [::1]:9435, not %s",
			     Q(arg));
	o->listen = arg;
	return 0;
}

static int set_output(struct opts *o, const char *arg)
{
	if (!*arg)
		return wrong("-o/--output takes the name of a file, not an empty one");
	o->output = arg;
	return 0;
}

/* The options that say who is accounted. 0, or the status of wrong usage. */
static int set_selection(struct opts *o, int val, const char *arg)
{
	static const struct {
		int val;
		int (*add)(struct selection *s, const char *arg, const char **takes);
	} kinds[] = {
		{'p', sel__add_pids},	       {'t', sel__add_tids}, {'C', sel__add_cpus},
		{'G', sel__add_cgroup},	       {'c', sel__add_comm}, {'u', sel__add_user},
		{OPT_SYSCALL, sel__add_calls},
	};
	const char *takes = "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (kinds[i].val != val)
			continue;
		switch (kinds[i].add(&o->sel, arg, &takes)) {
		case 0:
			return 0;
		case -E2BIG:
			return wrong("%s takes %s", option_name(val), takes);
		default:
			return wrong("%s takes %s, not %s", option_name(val), takes, Q(arg));
		}
	}
	return -1;
}

/* Becomes part of a file name below a directory whose names know no point. */
static int set_name(struct opts *o, const char *arg)
{
	size_t n = strspn(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	if (!n || arg[n] || n > MAX_NAME)
		return wrong("--name takes up to %d letters, digits, - and _, not %s", MAX_NAME,
			     Q(arg));
	o->name = arg;
	return 0;
}

/* An option that getopt_long() did not take: `word` is what the user wrote. */
static int bad_option(int c, const char *word)
{
	bool is_long = word && !strncmp(word, "--", 2);

	if (c == ':')
		return wrong("%s needs a value", option_name(optopt));
	if (is_long && optopt)
		return wrong("%s takes no value: leave out what follows the =",
			     option_name(optopt));
	if (is_long)
		return wrong("%s is no option, or the beginning of several", Q(word));
	return wrong("%s is no option", Q(((char[]){'-', (char)optopt, '\0'})));
}

/* Options that take nothing. False: val is none of them. */
static bool set_flag(struct opts *o, int val)
{
	switch (val) {
	case 'F':
		o->full = true;
		return true;
	case OPT_VERIFY:
		o->verify = true;
		return true;
	case OPT_JSON_SCHEMA:
		o->action = ACTION_SCHEMA;
		return true;
	case 'V':
		o->action = ACTION_VERSION;
		return true;
	case 'v':
		o->verbose++;
		return true;
	case 'x':
		o->sel.kinds |= SELK_NOSELF;
		return true;
	case OPT_NO_KTHREADS:
		o->sel.kinds |= SELK_NOKERNEL;
		return true;
	case OPT_FOLLOW:
		o->sel.kinds |= SELK_FOLLOW;
		return true;
	case OPT_SINCE_START:
		o->since_start = true;
		return true;
	}
	return false;
}

static int set_option(struct opts *o, int val, const char *arg)
{
	int rc;

	switch (val) {
	case 'd':
		return set_seconds(val, arg, &o->duration_ns);
	case 'i':
		return set_seconds(val, arg, &o->interval_ns);
	case 'n':
	case 'T':
	case 'm':
	case OPT_MEM_LIMIT:
	case OPT_DEPTH:
	case OPT_MAX_SERIES:
		return set_number(o, val, arg);
	case 'e':
		return set_events(o, arg);
	case 'b':
		return set_by(o, arg);
	case 's':
		return set_sort(o, arg);
	case 'f':
		return set_format(o, arg);
	case 'o':
		return set_output(o, arg);
	case OPT_ENGINE:
		return set_engine(o, arg);
	case OPT_LISTEN:
		return set_listen(o, arg);
	case OPT_RECORD:
		if (!*arg)
			return wrong("--record takes the name of a file, not an empty one");
		o->record = arg;
		return 0;
	case 'r': /* opts__parse() has the words that may follow */
		return 0;
	case OPT_NAME:
		return set_name(o, arg);
	}
	if (set_flag(o, val))
		return 0;
	rc = set_selection(o, val, arg);
	if (rc >= 0)
		return rc;
	return wrong("%s is no option", option_name(val));
}

/*
 * The recording to read: the next word, unless that is an option. Without one it is what perf
 * takes: the stream when stdin is a pipe, else perf.data. Returns how many words it took.
 */
static int set_read(struct opts *o, const char *arg, const char *next)
{
	struct stat st;

	o->read = arg;
	if (arg)
		return 0;
	if (next && (*next != '-' || !next[1])) {
		o->read = next;
		return 1;
	}
	o->read = !fstat(STDIN_FILENO, &st) && S_ISFIFO(st.st_mode) ? "-" : "perf.data";
	return 0;
}

/* What does not go together with reading a recording. */
static int check_read(const struct opts *o)
{
	if (o->command)
		return wrong("-r/--read accounts a recording: leave out the COMMAND");
	if (strcmp(o->engine, "auto") || o->record || o->verify)
		return wrong("-r/--read is an engine of its own: leave out --engine, --record and "
			     "--verify");
	if (o->sel.kinds & (SELK_UID | SELK_CGROUP))
		return wrong("-r/--read: a recording does not tell of users and cgroups: leave out "
			     "-u and -G");
	if (!*o->read)
		return wrong("-r/--read takes the name of a file, not an empty one");
	return 0;
}

/* What is left after the options. dashes: a -- ended them. */
static int take_command(struct opts *o, char **rest, bool dashes)
{
	if (dashes) {
		if (!*rest || !**rest)
			return wrong("no COMMAND after --: add one, such as -- sleep 1");
		o->command = rest;
		return 0;
	}
	if (!*rest)
		return 0;
	return wrong("%s is no option: put -- before the command, as in utilbpf -- COMMAND",
		     Q(*rest));
}

/* Whether an option goes with the sub-command, or with none. 0, or the status of wrong usage. */
static int fits(const struct sub_command *sub, int val)
{
	if (!sub && (val == OPT_LISTEN || val == OPT_NAME || val == OPT_SINCE_START))
		return wrong("%s goes with a sub-command, as in utilbpf %s", option_name(val),
			     val == OPT_LISTEN ? "serve" : "report");
	if (!sub)
		return 0;
	for (int i = 0; i < MAX_SUB_OPTIONS && sub->options[i]; i++)
		if (sub->options[i] == val)
			return 0;
	return wrong("%s does not go with %s", option_name(val), sub->name);
}

static const struct sub_command *sub_command(int argc, char **argv)
{
	for (const struct sub_command *s = sub_commands; argc > 1 && s->name; s++)
		if (!strcmp(s->name, argv[1]))
			return s;
	return NULL;
}

/* What selection options want of each other. */
static int check_selection(const struct opts *o)
{
	if ((o->sel.kinds & SELK_FOLLOW) && !(o->sel.kinds & SELK_WHO))
		return wrong("--follow needs to know whose descendants: add -p, -t, -G, -c or -u");
	if ((o->sel.kinds & SELK_CALL) && o->events && !(o->events & EV_SYSCALLS))
		return wrong("--syscall needs system calls: add syscalls to -e");
	return 0;
}

/* After the options of a sub-command. */
static int check_sub(struct opts *o, const struct sub_command *sub, char **rest)
{
	if (*rest)
		return wrong("%s takes options only, not %s", sub->name, Q(*rest));
	if (o->format == FORMAT_OPENMETRICS && !o->since_start)
		return wrong("-f openmetrics is counters, which a report of one window has not: "
			     "add --since-start");
	if (o->since_start && (o->full || (o->by_given && o->by == LEVEL_TASK)))
		return wrong("--since-start tells no single tasks, of which there is no end: leave "
			     "out -F and take -b process");
	if (o->action == ACTION_SERVE)
		o->format = FORMAT_OPENMETRICS;
	return check_selection(o);
}

/* Takes the options; *last: where the last look at argv began. 0, 2, or 1: help was asked for. */
static int take_options(struct opts *o, const struct sub_command *sub, int argc, char **argv,
			int *last)
{
	int c, before, rc;

	optind = 0; /* the GNU way to begin afresh: this may be a second call */
	opterr = 0;
	for (;;) {
		before = *last = optind ? optind : 1;
		c = getopt_long(argc, argv, short_options, long_options, NULL);
		if (c == -1)
			return 0;
		if (c == 'h') { /* asked for help: whatever else is wrong can wait */
			o->action = ACTION_HELP;
			return 1;
		}
		if (c == '?' || c == ':')
			rc = bad_option(c, before < argc ? argv[before] : NULL);
		else
			rc = fits(sub, c);
		if (!rc)
			rc = set_option(o, c, optarg);
		if (!rc && c == 'r')
			optind += set_read(o, optarg, optind < argc ? argv[optind] : NULL);
		if (rc)
			return rc;
	}
}

/* What of the perf engine's can be with what else. */
static int check_engines(const struct opts *o)
{
	if (o->verify && (o->format != FORMAT_TEXT || o->full || strcmp(o->engine, "auto")))
		return wrong("--verify runs both engines and prints a text of its own: leave out "
			     "--engine, -f and -F");
	if (o->record && (o->verify || !strcmp(o->engine, "bpf")))
		return wrong("--record needs the perf engine: leave out --engine bpf and --verify");
	return 0;
}

/* What the options make together, for a run. */
static int check_run(const struct opts *o)
{
	int rc = o->read ? check_read(o) : check_engines(o);

	if (rc)
		return rc;
	if (o->count && !o->interval_ns)
		return wrong("-n needs -i: say how long each report is, as in -i 5 -n 12");
	return check_selection(o);
}

int opts__parse(struct opts *o, int argc, char **argv)
{
	const struct sub_command *sub;
	bool dashes = false;
	int last, rc;

	*o = (struct opts){.by = LEVEL_PROCESS,
			   .top = DEFAULT_TOP,
			   .engine = "auto",
			   .listen = LISTEN_DEFAULT,
			   .max_series = METRICS_DEFAULT_SERIES};
	if (argc < 1) /* even the program's own name may be missing */
		goto done;
	sub = sub_command(argc, argv);
	if (sub) {
		o->action = sub->action;
		argc--;
		argv++;
	}
	rc = take_options(o, sub, argc, argv, &last);
	if (rc)
		return o->action == ACTION_HELP ? 0 : rc;
	if (sub) {
		rc = check_sub(o, sub, argv + optind);
		if (rc)
			return rc;
		goto done;
	}
	/* A -- that was the value of an option ends nothing: look where getopt stood. */
	dashes = optind == last + 1 && !strcmp(argv[last], "--");
	if (o->action != ACTION_RUN)
		goto done;
	rc = take_command(o, argv + optind, dashes);
	if (!rc)
		rc = check_run(o);
	if (rc)
		return rc;
done:
	o->events = o->events ? o->events | EV_SCHED : EV_ALL;
	return 0;
}

static const char help_head[] =
	"Usage: utilbpf [OPTIONS] [-- COMMAND [ARG...]]\n"
	"       utilbpf start|report|status|stop|serve [OPTIONS]\n"
	"\n"
	"Tells where CPU time goes, to the nanosecond: user, system calls, interrupts,\n"
	"softirqs, hypervisor calls, and why tasks did not run. Without COMMAND it\n"
	"accounts the live system, with one it reports when COMMAND ends.\n"
	"\n"
	"Commands:\n"
	"  start                begin to account, and exit: the kernel goes on by itself\n"
	"  report               tell what has been since the last report\n"
	"      --since-start    tell all since the start, and let the window go on\n"
	"  status               tell what runs, since when, and what it costs\n"
	"  stop                 end it; nothing is left\n"
	"      --name NAME      the instance of this name, one of several\n"
	"  serve                answer HTTP requests for /metrics and /healthz, until a\n"
	"                       signal; with --top, processes have series too\n"
	"      --listen ADDR:PORT\n"
	"                       where (default 127.0.0.1:9435)\n"
	"When:\n"
	"  -d, --duration SEC   stop after SEC seconds (0.5 is fine); without it, at ^C\n"
	"                       or when COMMAND ends\n"
	"  -i, --interval SEC   a report every SEC seconds\n"
	"  -n, --count N        with -i: N reports\n"
	"What:\n"
	"  -r, --read FILE      what `perf record` wrote to FILE (default perf.data), or\n"
	"                       to a pipe (-), instead of the live system\n"
	"  -e, --events LIST    of sched,syscalls,irqs,softirqs,hcalls,all\n"
	"                       (default all; sched is always on)\n"
	"      --engine NAME    bpf, perf, or auto (default): bpf, perf where that fails\n"
	"      --record FILE    perf: keep the events, too, as a perf.data file\n"
	"  -m, --mmap-pages N   perf: pages of each CPU's ring, a power of two (default:\n"
	"                       by CPUs and memory)\n"
	"      --mem-limit SIZE memory for the tables in the kernel (perf: for all\n"
	"                       rings), from 1M, as in 64M\n"
	"      --verify         account with both engines at once, and tell where they\n"
	"                       differ\n"
	"Who, of all that runs (every kind given must match; of a list, one):\n"
	"  -p, --pid PID,..     these processes\n"
	"  -t, --tid TID,..     these threads\n"
	"  -C, --cpu CPUS       what runs on these CPUs, as in 0-3,8\n"
	"  -G, --cgroup GLOB    groups whose path matches, and those below them\n"
	"  -c, --comm GLOB      tasks of that name\n"
	"  -u, --uid USER,..    tasks of these users, by name or number\n"
	"  -x, --exclude-self   all but utilbpf itself\n"
	"      --no-kthreads    all but the kernel's own threads\n"
	"      --follow         with the descendants of those selected, whoever they are\n"
	"      --syscall LIST   tell these system calls apart, and no others\n"
	"Report:\n"
	"  -b, --by LEVEL       what the main table lists: system, cpu, group, process\n"
	"                       (default) or task\n"
	"      --depth N        groups: the first N levels, those below added up in them\n"
	"  -s, --sort KEY       sort by this column (default: on-CPU time):\n"
	"                       ";

static const char help_tail[] =
	"  -T, --top N          rows of a table (default 20; 0 lists all)\n"
	"  -F, --full           every process, its tasks, their CPUs and their calls\n"
	"  -f, --format FORMAT  text (default), json (one object a line), csv or\n"
	"                       openmetrics\n"
	"      --max-series N   openmetrics: bound of the series of groups, processes and\n"
	"                       calls (default 50000); processes have some with --top\n"
	"  -o, --output FILE    write reports to FILE, not to stdout (with COMMAND:\n"
	"                       stderr)\n"
	"Other:\n"
	"      --json-schema    print the JSON Schema of -f json\n"
	"  -v, --verbose        say more on stderr; twice for still more\n"
	"  -V, --version        print version, engines and kernel features\n"
	"  -h, --help           print this\n"
	"\n"
	"Exit status: 0 fine; 1 failed; 2 wrong usage; with COMMAND, its own (128+N when\n"
	"signal N ended it, 127 when it was not found, 126 when it could not be run).\n"
	"\n"
	"Examples:\n"
	"  utilbpf -d 10                one report after 10 seconds\n"
	"  utilbpf -i 5 -n 12 -f json   a minute in 12 lines of JSON\n"
	"  utilbpf -F -- make -j4       everything about one build\n"
	"  utilbpf -r perf.data         where the time of a recording went\n";

void opts__help(FILE *f)
{
	fputs(help_head, f);
	/* The keys are the column table's own; a line of its own takes what comes. */
	fprintf(f, "%s\n", out__sort_keys());
	fputs(help_tail, f);
}
