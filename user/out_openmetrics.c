// SPDX-License-Identifier: GPL-2.0-only
/*
 * OpenMetrics 1.0 and Prometheus' text format 0.0.4: one family after the other.
 *
 * The two differ in little: OpenMetrics leaves _total out of a counter's name in its metadata, has
 * UNIT and info, and ends with "# EOF". This file owns the names of the series, their help and
 * the text; it must not know how the counters came about.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "columns.h"
#include "escape.h"
#include "out.h"
#include "out_openmetrics.h"
#include "out_util.h"
#include "version.h"

#define PREFIX "utilbpf_"

struct text {
	char *buf;
	size_t len, size;
	bool om;
	uint32_t absent; /* as in struct metrics */
	bool failed;	 /* no memory: what is there is not to be used */
};

/* ---- appending ---- */

static bool room(struct text *t, size_t more)
{
	size_t size = t->size ? t->size : 1 << 16;
	char *p;

	while (size < t->len + more + 1)
		size *= 2;
	if (size == t->size)
		return !t->failed;
	p = realloc(t->buf, size);
	if (!p) {
		t->failed = true;
		return false;
	}
	t->buf = p;
	t->size = size;
	return true;
}

static void put_n(struct text *t, const char *s, size_t len)
{
	if (!room(t, len))
		return;
	memcpy(t->buf + t->len, s, len);
	t->len += len;
	t->buf[t->len] = '\0';
}

static void put(struct text *t, const char *s)
{
	put_n(t, s, strlen(s));
}

/* The last width digits of v, or all with width 0. By hand: this is the innermost loop. */
static void put_digits(struct text *t, uint64_t v, int width)
{
	char d[24], *p = d + sizeof(d);
	int n = 0;

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
		n++;
	} while (width ? n < width : v != 0);
	put_n(t, p, n);
}

/* True when the source could not tell of a class: its series is left out. */
static bool untold(const struct text *t, int cls, uint64_t ns)
{
	return !ns && (t->absent & (1U << cls));
}

/* ---- families ---- */

enum type {
	COUNTER,
	GAUGE,
	INFO,
};

/* name is without the prefix, and of counters without _total. Its unit is told by its end. */
struct family {
	const char *name;
	enum type type;
	bool ns; /* values are ns, shown as seconds */
	const char *help;
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

static const char *suffix(const struct text *t, const struct family *f)
{
	if (f->type == COUNTER)
		return t->om ? "" : "_total";
	return f->type == INFO && !t->om ? "_info" : "";
}

static void put_meta(struct text *t, const char *what, const struct family *f, const char *value)
{
	put(t, "# ");
	put(t, what);
	put(t, " " PREFIX);
	put(t, f->name);
	put(t, suffix(t, f));
	put(t, " ");
	put(t, value);
	put(t, "\n");
}

static void begin(struct text *t, const struct family *f)
{
	static const char *const types[] = {"counter", "gauge", "info"};

	put_meta(t, "TYPE", f, f->type == INFO && !t->om ? "gauge" : types[f->type]);
	if (t->om && ends_with(f->name, "_seconds"))
		put_meta(t, "UNIT", f, "seconds");
	if (t->om && ends_with(f->name, "_bytes"))
		put_meta(t, "UNIT", f, "bytes");
	put_meta(t, "HELP", f, f->help);
}

/* labels: without braces, or NULL; then one more label, if key. */
static void sample(struct text *t, const struct family *f, const char *labels, const char *key,
		   const char *value, uint64_t v)
{
	put(t, PREFIX);
	put(t, f->name);
	put(t, f->type == COUNTER ? "_total" : f->type == INFO ? "_info" : "");
	if (labels || key) {
		put(t, "{");
		if (labels)
			put(t, labels);
		if (labels && key)
			put(t, ",");
		if (key) {
			put(t, key);
			put(t, "=\"");
			put(t, value);
			put(t, "\"");
		}
		put(t, "}");
	}
	put(t, " ");
	put_digits(t, f->ns ? v / 1000000000 : v, 0);
	if (f->ns && v % 1000000000) {
		put(t, ".");
		put_digits(t, v % 1000000000, 9);
	}
	put(t, "\n");
}

static void single(struct text *t, const struct family *f, uint64_t v)
{
	begin(t, f);
	sample(t, f, NULL, NULL, NULL, v);
}

/* ---- the system and its CPUs ---- */

static void put_label(struct text *t, const char *key, const char *value)
{
	put(t, key);
	put(t, "=\"");
	if (room(t, ESC_LABEL_LEN(strlen(value))))
		t->len = esc__label(t->buf + t->len, value) - t->buf;
	put(t, "\"");
}

static void put_build(struct text *t, const struct metrics *m)
{
	static const struct family f = {"build", INFO, false,
					"What makes these figures, and where."};
	struct text l = {.om = t->om};

	put_label(&l, "version", UTILBPF_VERSION);
	put_label(&l, ",engine", m->engine ? m->engine : "");
	put_label(&l, ",kernel", m->host.kernel);
	put_label(&l, ",arch", m->host.arch);
	begin(t, &f);
	sample(t, &f, l.failed ? NULL : l.buf, NULL, NULL, 1);
	t->failed |= l.failed;
	free(l.buf);
}

static void put_windows(struct text *t, const struct metrics *m)
{
	static const struct family windows = {"windows", COUNTER, false,
					      "Windows that were accounted."};
	static const struct family accounted = {"accounted_seconds", COUNTER, true,
						"Time that was accounted."};
	static const struct family last = {"last_window_seconds", GAUGE, true,
					   "Length of the last window."};
	static const struct family cpus = {"cpus_online", GAUGE, false, "CPUs that are online."};

	single(t, &windows, m->windows);
	single(t, &accounted, m->accounted_ns);
	single(t, &last, m->last_ns);
	single(t, &cpus, m->host.cpus_online);
}

static void put_system(struct text *t, const struct metrics *m)
{
	static const struct family seconds = {
		"system_seconds", COUNTER, true,
		"Time of all tasks by class: on a CPU user, sys, irq, softirq, hv, busy; off it "
		"wait, sleep, blocked, iowait, stopped."};
	static const struct family switches = {"system_switches", COUNTER, false,
					       "Context switches."};
	static const struct family tasks = {"system_tasks", GAUGE, false,
					    "Tasks in the last window, ended ones included."};
	static const struct family procs = {"system_processes", GAUGE, false,
					    "Processes in the last window."};
	static const struct family groups = {"system_groups", GAUGE, false,
					     "Cgroups with tasks in the last window."};

	if (!(m->absent & LACK_SYSTEM)) {
		begin(t, &seconds);
		for (int c = 0; c < AC_IDLE; c++)
			if (!untold(t, c, m->sys_ns[c]))
				sample(t, &seconds, NULL, "class", report__class_name(c),
				       m->sys_ns[c]);
		single(t, &switches, m->switches);
		single(t, &tasks, m->tasks);
	}
	if (m->level >= LEVEL_PROCESS)
		single(t, &procs, m->nr_procs);
	if (m->level >= LEVEL_GROUP)
		single(t, &groups, m->nr_groups);
}

static void put_cpus(struct text *t, const struct metrics *m)
{
	static const struct family seconds = {
		"cpu_seconds", COUNTER, true,
		"Time of a CPU by class: user, sys, irq, softirq, hv, busy, idle."};
	static const struct family online = {"cpu_online_seconds", COUNTER, true,
					     "Time that a CPU was online: the sum of its classes."};
	static const struct family switches = {"cpu_switches", COUNTER, false,
					       "Context switches of a CPU."};
	char cpu[16];

	begin(t, &seconds);
	for (size_t i = 0; i < m->nr_cpus; i++)
		for (int c = 0; c < AC_NR; c++) {
			char label[24];

			if ((c >= AC_ONCPU_NR && c != AC_IDLE) || untold(t, c, m->cpus[i].ns[c]))
				continue;
			snprintf(label, sizeof(label), "cpu=\"%u\"", m->cpus[i].cpu);
			sample(t, &seconds, label, "class", report__class_name(c),
			       m->cpus[i].ns[c]);
		}
	begin(t, &online);
	for (size_t i = 0; i < m->nr_cpus; i++) {
		snprintf(cpu, sizeof(cpu), "%u", m->cpus[i].cpu);
		sample(t, &online, NULL, "cpu", cpu, m->cpus[i].online_ns);
	}
	begin(t, &switches);
	for (size_t i = 0; i < m->nr_cpus; i++) {
		snprintf(cpu, sizeof(cpu), "%u", m->cpus[i].cpu);
		sample(t, &switches, NULL, "cpu", cpu, m->cpus[i].switches);
	}
}

/* ---- groups, processes, calls ---- */

/* One series, or several that differ in one label, of each entity of a kind. */
struct series {
	struct family f;
	int first;	 /* in metric_entity.v; GAUGE_VALUE: its gauge */
	int nr;		 /* 1: no further label */
	const char *key; /* the further label; its values: */
	const char *(*value)(int i);
	bool sparse; /* those that are zero are left out */
};

#define GAUGE_VALUE (-1)

static const char *class_name(int i)
{
	return report__class_name(i);
}

static const char *call_class(int i)
{
	return names__class(CALL_KEY(i, 0, 0));
}

static const char *switch_type(int i)
{
	return i ? "involuntary" : "voluntary";
}

static void put_entity(struct text *t, const struct series *s, const struct metric_entity *e)
{
	if (s->first == GAUGE_VALUE) {
		sample(t, &s->f, e->labels, NULL, NULL, e->gauge);
		return;
	}
	for (int i = 0; i < s->nr; i++)
		if ((!s->sparse || e->v[s->first + i]) &&
		    !(s->value == class_name && untold(t, i, e->v[s->first + i])))
			sample(t, &s->f, e->labels, s->key, s->key ? s->value(i) : NULL,
			       e->v[s->first + i]);
}

static void put_table(struct text *t, const struct metric_table *tab, const struct series *s,
		      size_t nr)
{
	for (; nr; nr--, s++) {
		begin(t, &s->f);
		for (size_t i = 0; i < tab->n; i++)
			put_entity(t, s, &tab->e[i]);
		for (int i = 0; i < CALL_NR; i++)
			if (tab->other[i].used)
				put_entity(t, s, &tab->other[i]);
	}
}

#define NR(a) (sizeof(a) / sizeof((a)[0]))

/* Series without a further label. */
#define ONE(name, type, ns, help, first)                                                           \
	{                                                                                          \
		{name, type, ns, help}, first, 1, NULL, NULL, false                                \
	}

static void put_calls(struct text *t, const struct metrics *m)
{
	static const struct series s[] = {
		ONE("calls", COUNTER, false, "Calls that ended, by class and name.", MV_CALL_COUNT),
		ONE("call_errors", COUNTER, false, "Calls that returned an error.", MV_CALL_ERRORS),
		ONE("call_seconds", COUNTER, true, "Length of the calls that ended.",
		    MV_CALL_ELAPSED),
		ONE("call_oncpu_seconds", COUNTER, true, "The part of it on a CPU.", MV_CALL_ONCPU),
		ONE("calls_open", GAUGE, false, "Calls unfinished at the last window's end.",
		    GAUGE_VALUE),
	};

	put_table(t, &m->t[METRIC_CALL], s, NR(s));
}

#define GROUP_HELP                                                                                 \
	"Time of a cgroup's tasks by class, ended tasks included; (other): of those without "      \
	"series."
#define PROC_HELP                                                                                  \
	"Time of a process by class, ended tasks included; (other): of those without series."

static void put_groups(struct text *t, const struct metrics *m)
{
	static const struct series s[] = {
		{{"group_seconds", COUNTER, true, GROUP_HELP}, 0, AC_IDLE, "class", class_name, 0},
		{{"group_calls", COUNTER, false, "Calls of a cgroup's tasks that ended, by class."},
		 MV_GROUP_CALLS,
		 CALL_NR,
		 "class",
		 call_class,
		 true},
		ONE("group_tasks", GAUGE, false, "Tasks of a cgroup in the last window.",
		    GAUGE_VALUE),
	};

	put_table(t, &m->t[METRIC_GROUP], s, NR(s));
}

static void put_procs(struct text *t, const struct metrics *m)
{
	static const struct series s[] = {
		{{"process_seconds", COUNTER, true, PROC_HELP}, 0, AC_IDLE, "class", class_name, 0},
		ONE("process_migrations", COUNTER, false,
		    "Moves of a process's tasks to other CPUs.", MV_PROC_MIGRATIONS),
		{{"process_switches", COUNTER, false, "Times that tasks of a process left a CPU."},
		 MV_PROC_VOLUNTARY,
		 2,
		 "type",
		 switch_type,
		 false},
	};

	if (m->procs)
		put_table(t, &m->t[METRIC_PROC], s, NR(s));
}

static void put_evicted(struct text *t, const struct metrics *m)
{
	static const struct family f = {
		"evicted_seconds", COUNTER, true,
		"Time by class that was shown in series which are no more: with those that are, "
		"the total."};

	begin(t, &f);
	for (int c = 0; c < AC_IDLE; c++) {
		sample(t, &f, "kind=\"group\"", "class", report__class_name(c),
		       m->t[METRIC_GROUP].evicted[c]);
		if (m->procs)
			sample(t, &f, "kind=\"process\"", "class", report__class_name(c),
			       m->t[METRIC_PROC].evicted[c]);
	}
}

/* ---- quality and cost: as the column table has them ---- */

static const struct {
	enum col_id col;
	const char *help;
} tally_help[] = {
	{COL_FOLDED_TASKS, "Ended tasks that are told in sum only."},
	{COL_LOST_EVENTS, "Events that were lost."},
	{COL_MISSED_RUNS, "Runs of a program that the kernel refused."},
	{COL_DROPPED_TASKS, "Tasks that found no record: their time is in (other)."},
	{COL_DROPPED_CALLS, "Calls that found no record: their time is in (other)."},
	{COL_OUT_OF_ORDER, "Events that came too late."},
	{COL_UNMATCHED, "Begins without an end, and ends without a begin."},
	{COL_RESIDUAL, "What the sums of the last window leave over, the worst one."},
	{COL_UNKNOWN, "Time of tasks that found no record at all."},
	{COL_LOADER_CPU, "CPU time of this program."},
	{COL_LOADER_RSS, "Memory of this program."},
	{COL_MAP_BYTES, "Memory of the tables in the kernel."},
	{COL_BPF_RUNS, "Runs of the programs in the kernel."},
	{COL_BPF_RUN_NS, "Time of the programs in the kernel, where that is measured."},
};

static const char *help_of(enum col_id col)
{
	for (size_t i = 0; i < NR(tally_help); i++)
		if (tally_help[i].col == col)
			return tally_help[i].help;
	return "See utilbpf(8).";
}

/* "loader_cpu_ns" as "cost_loader_cpu_seconds". */
static void tally_name(char *name, size_t len, const char *prefix, const struct column *c)
{
	bool ns = ends_with(c->key, "_ns");
	size_t n = strlen(c->key) - (ns ? 3 : 0);

	snprintf(name, len, "%s_%.*s%s", prefix, (int)n, c->key, ns ? "_seconds" : "");
}

static void put_tally(struct text *t, enum ent kind, const void *rec, const char *prefix)
{
	struct item it = {kind, rec};

	for (int i = 0; i < COL_NR; i++) {
		const struct column *c = &columns[i];
		struct family f = {NULL, GAUGE, ends_with(c->key, "_ns"), help_of(i)};
		struct value v;
		char name[64];

		if (!column__has(c, kind, USE_DATA))
			continue;
		column__get(c, &it, NULL, &v);
		if (v.type != VALUE_UINT && v.type != VALUE_INT)
			continue;
		tally_name(name, sizeof(name), prefix, c);
		f.name = name;
		f.type = c->unit == UNIT_COUNT || c->unit == UNIT_NS ? COUNTER : GAUGE;
		/* how much, whichever way: a residual has a sign */
		if (v.type == VALUE_INT)
			v.u = v.i < 0 ? -(uint64_t)v.i : (uint64_t)v.i;
		single(t, &f, v.u);
	}
}

/* ---- the whole ---- */

char *metrics__text(const struct metrics *m, enum metrics_format format, size_t *len)
{
	struct text t = {.om = format == METRICS_OPENMETRICS, .absent = m->absent};

	put_build(&t, m);
	put_windows(&t, m);
	put_system(&t, m);
	put_cpus(&t, m);
	put_calls(&t, m);
	put_groups(&t, m);
	put_procs(&t, m);
	put_evicted(&t, m);
	put_tally(&t, ENT_QUALITY, &m->quality, "quality");
	put_tally(&t, ENT_COST, &m->cost, "cost");
	if (t.om)
		put(&t, "# EOF\n");
	if (t.failed) {
		free(t.buf);
		return NULL;
	}
	*len = t.len;
	return t.buf;
}

const char *metrics__content_type(enum metrics_format format)
{
	return format == METRICS_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- content negotiation (RFC 9110, 12.5.1) ---- */

/* A parameter `name` of a media range of len bytes; its length goes to *n. NULL: there is none. */
static const char *parameter(const char *range, size_t len, const char *name, size_t *n)
{
	const char *end = range + len, *p = range;
	size_t k = strlen(name);

	while (p < end && (p = memchr(p, ';', end - p))) {
		for (p++; p < end && (*p == ' ' || *p == '\t'); p++)
			;
		if ((size_t)(end - p) <= k || strncasecmp(p, name, k) || p[k] != '=')
			continue;
		p += k + 1;
		for (*n = 0; p + *n < end && !strchr(" \t;", p[*n]); (*n)++)
			;
		return p;
	}
	return NULL;
}

/* "1", "0.75" in thousandths; 1000 without one, 0 for what is none. */
static int quality(const char *range, size_t len)
{
	size_t n;
	const char *q = parameter(range, len, "q", &n);
	int v, unit = 100;

	if (!q)
		return 1000;
	if (!n || (*q != '0' && *q != '1'))
		return 0;
	v = (*q - '0') * 1000;
	for (size_t i = 2; i < n && q[1] == '.' && q[i] >= '0' && q[i] <= '9'; i++, unit /= 10)
		v += (q[i] - '0') * unit;
	return v > 1000 ? 1000 : v;
}

static bool is_type(const char *range, size_t len, const char *type)
{
	size_t n = strcspn(range, ";, \t");

	return n <= len && n == strlen(type) && !strncasecmp(range, type, n);
}

/* A version of OpenMetrics that we speak: 1.0.0, or any. */
static bool speaks(const char *range, size_t len)
{
	size_t n;
	const char *v = parameter(range, len, "version", &n);

	return !v || (n == 5 && (!memcmp(v, "1.0.0", 5) || !memcmp(v, "0.0.1", 5)));
}

enum metrics_format metrics__negotiate(const char *accept)
{
	int om = 0, text = 0, any = 0;
	size_t len;

	for (const char *p = accept; p && *p; p += len + (p[len] == ',')) {
		int q;

		p += strspn(p, " \t");
		len = strcspn(p, ",");
		q = quality(p, len);
		if (is_type(p, len, "application/openmetrics-text") && speaks(p, len))
			om = q > om ? q : om;
		else if (is_type(p, len, "text/plain"))
			text = q > text ? q : text;
		else if (is_type(p, len, "*/*") || is_type(p, len, "text/*"))
			any = q > any ? q : any;
	}
	if (!text)
		text = any;
	return om > text ? METRICS_OPENMETRICS : METRICS_TEXT;
}

/* ---- files ---- */

enum metrics_format metrics__format_of(const char *path)
{
	return path && ends_with(path, ".prom") ? METRICS_TEXT : METRICS_OPENMETRICS;
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= n;
	}
	return 0;
}

/* What is there already is no file that could be replaced. */
static int write_special(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = write_all(fd, text, len);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Writes and names the temporary file; its end must not be .prom, which would be read too. */
static int write_replace(const char *path, char *tmp, const char *text, size_t len)
{
	mode_t mask = umask(0);
	int fd, err;

	umask(mask);
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fchmod(fd, 0666 & ~mask) ? -errno : write_all(fd, text, len);
	if (!err && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(tmp, path))
		err = -errno;
	if (err)
		unlink(tmp);
	return err;
}

int metrics__write_file(const char *path, const char *text, size_t len)
{
	char *real, *tmp;
	const char *base;
	struct stat st;
	int err;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return write_special(path, text, len);
	real = realpath(path, NULL); /* a symbolic link stays one */
	if (real)
		path = real;
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	if (asprintf(&tmp, "%.*s.%s.XXXXXX", (int)(base - path), path, base) < 0) {
		free(real);
		return -ENOMEM;
	}
	err = write_replace(path, tmp, text, len);
	free(tmp);
	free(real);
	return err;
}

int out__openmetrics(const struct report *r, struct names *n, const struct out_opts *o)
{
	size_t len;
	char *text;
	int err;

	metrics__add(o->metrics, r, n);
	text = metrics__text(o->metrics, metrics__format_of(o->path), &len);
	if (!text)
		return -ENOMEM;
	if (o->path) {
		err = metrics__write_file(o->path, text, len);
	} else {
		fwrite(text, 1, len, o->f);
		err = out__finish(o->f);
	}
	free(text);
	if (!err)
		metrics__shown(o->metrics);
	return err;
}
