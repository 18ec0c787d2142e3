// SPDX-License-Identifier: GPL-2.0-only
/*
 * The counters for Prometheus: that they never fall, that every nanosecond is in the increase of
 * exactly one series however few there may be, that no name breaks a line, and that nobody reads
 * half a file.
 *
 * Reports are made by hand, and the text is read back with a parser as strict as the formats are.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/metrics.h"
#include "../../user/out.h"
#include "../../user/out_openmetrics.h"

#define S 1000000000ULL

/* ---- reports ---- */

#define MAX_GROUPS 300
#define NAME_LEN   32

struct fixture {
	struct report r;
	struct rep_cpu cpus[2];
	struct rep_group groups[MAX_GROUPS];
	char names[MAX_GROUPS][NAME_LEN];
	struct rep_proc procs[MAX_GROUPS];
	struct rep_call calls[4], gcall;
	struct names *n;
	struct metrics *m;
};

static struct fixture *make(uint64_t max_series, bool procs, uint64_t top)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->n = names__new("x86_64");
	x->m = metrics__new(max_series, procs, top);
	assert_non_null(x->n);
	assert_non_null(x->m);
	x->r.level = procs ? LEVEL_PROCESS : LEVEL_GROUP;
	x->r.engine = "bpf";
	x->r.cpus = x->cpus;
	x->r.nr_cpus = 2;
	x->cpus[1].cpu = 1;
	x->r.groups = x->groups;
	x->r.procs = x->procs;
	x->calls[0] = (struct rep_call){.key = CALL_KEY(CALL_SYSCALL, 0, 0), .count = 3};
	x->calls[1] = (struct rep_call){.key = CALL_KEY(CALL_IRQ, 0, 24), .count = 5};
	x->calls[2] = (struct rep_call){.key = CALL_KEY(CALL_IRQ, 0, 25), .count = 7};
	x->calls[3] = (struct rep_call){.key = KEY_OTHER(CALL_SYSCALL), .count = 1};
	for (int i = 0; i < 4; i++)
		x->calls[i].elapsed_ns = 1000 * (i + 1);
	x->r.sys_calls = (struct rep_calls){x->calls, 4};
	x->gcall = x->calls[0];
	return x;
}

static void destroy(struct fixture *x)
{
	metrics__free(x->m);
	names__free(x->n);
	free(x);
}

static void empty_window(struct fixture *x)
{
	x->r.start_ns = x->r.end_ns;
	x->r.end_ns += 10 * S;
	x->r.index++;
	x->r.nr_groups = x->r.nr_procs = 0;
	memset(x->r.sys_ns, 0, sizeof(x->r.sys_ns));
	for (int c = 0; c < 2; c++) {
		x->cpus[c].ns[AC_USER] = 3 * S + c;
		x->cpus[c].ns[AC_IDLE] = 7 * S - c;
		x->cpus[c].online_ns = 10 * S;
	}
}

/* A group, and a process of its own name in it. */
static void add_group(struct fixture *x, const char *path, uint64_t user, uint64_t sleep)
{
	struct rep_group *g = &x->groups[x->r.nr_groups];
	struct rep_proc *p = &x->procs[x->r.nr_groups];

	*g = (struct rep_group){.path = path, .tasks = 2, .calls = {&x->gcall, 1}};
	g->ns[AC_USER] = user;
	g->ns[AC_SLEEP] = sleep;
	*p = (struct rep_proc){.pid = 100 + x->r.nr_groups, .cgroup = path};
	snprintf(p->comm, sizeof(p->comm), "%s", path);
	memcpy(p->ns, g->ns, sizeof(p->ns));
	x->r.sys_ns[AC_USER] += user;
	x->r.sys_ns[AC_SLEEP] += sleep;
	x->r.nr_groups++;
	x->r.nr_procs++;
}

static void add_numbered(struct fixture *x, unsigned int nr, uint64_t user, uint64_t sleep)
{
	char *name = x->names[x->r.nr_groups];

	snprintf(name, NAME_LEN, "/pod%u", nr);
	add_group(x, name, user, sleep);
	x->procs[x->r.nr_procs - 1].pid = nr;
}

/* ---- the text, read back ---- */

struct read_sample {
	char *name, *labels; /* labels with braces, or "" */
	uint64_t ns;	     /* the value times 10^9 */
};

struct read_text {
	char *text;
	struct read_sample *v;
	size_t n;
};

/* Digits, and after a point nine of them. */
static uint64_t read_value(const char *s)
{
	uint64_t v = 0;
	int digits = -1;

	assert_in_range(*s, '0', '9');
	for (; *s; s++) {
		if (*s == '.') {
			assert_int_equal(digits, -1);
			digits = 0;
			continue;
		}
		assert_in_range(*s, '0', '9');
		v = v * 10 + (uint64_t)(*s - '0');
		digits += digits >= 0;
	}
	assert_true(digits == -1 || digits == 9);
	return digits == 9 ? v : v * S;
}

/* {key="value",...}: returns what follows the brace. */
static char *skip_labels(char *p)
{
	assert_int_equal(*p++, '{');
	for (;;) {
		size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz_");

		assert_true(n > 0);
		p += n;
		assert_memory_equal(p, "=\"", 2);
		for (p += 2; *p != '"'; p++) {
			assert_true((unsigned char)*p >= ' ' && *p != 0x7f);
			if (*p != '\\')
				continue;
			p++;
			assert_true(*p == '\\' || *p == '"');
		}
		p++;
		if (*p == '}')
			return p + 1;
		assert_int_equal(*p++, ',');
	}
}

static void read_line(struct read_text *t, char *line)
{
	struct read_sample *s;
	char *p = line + strspn(line, "abcdefghijklmnopqrstuvwxyz_"), *end;

	assert_memory_equal(line, "utilbpf_", 8);
	t->v = realloc(t->v, (t->n + 1) * sizeof(*t->v));
	assert_non_null(t->v);
	s = &t->v[t->n++];
	s->name = line;
	s->labels = "";
	end = p;
	if (*p == '{') {
		end = skip_labels(p);
		s->labels = strndup(p, end - p);
	}
	assert_int_equal(*end, ' ');
	*p = '\0';
	s->ns = read_value(end + 1);
}

static int sample_cmp(const void *a, const void *b)
{
	const struct read_sample *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : strcmp(x->labels, y->labels);
}

/* Reads all samples, sorted; two of one name and labels are a fault. */
static struct read_text read_back(const struct metrics *m, enum metrics_format format)
{
	struct read_text t = {0};
	size_t len = 0;
	char *save = NULL;

	t.text = metrics__text(m, format, &len);
	assert_non_null(t.text);
	assert_int_equal(strlen(t.text), len);
	assert_int_equal(t.text[len - 1], '\n');
	for (char *l = strtok_r(t.text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		if (*l != '#')
			read_line(&t, l);
	qsort(t.v, t.n, sizeof(*t.v), sample_cmp);
	for (size_t i = 1; i < t.n; i++)
		assert_true(sample_cmp(&t.v[i - 1], &t.v[i]) < 0);
	return t;
}

static void read_free(struct read_text *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (*t->v[i].labels)
			free(t->v[i].labels);
	free(t->v);
	free(t->text);
}

static const struct read_sample *find(const struct read_text *t, const char *name,
				      const char *labels)
{
	struct read_sample key = {(char *)name, (char *)labels, 0};

	return t->n ? bsearch(&key, t->v, t->n, sizeof(*t->v), sample_cmp) : NULL;
}

static uint64_t value(const struct read_text *t, const char *name, const char *labels)
{
	const struct read_sample *s = find(t, name, labels);

	if (!s)
		fail_msg("no %s%s", name, labels);
	return s->ns;
}

/* Of all series of that name that have this in their labels. */
static uint64_t sum(const struct read_text *t, const char *name, const char *part)
{
	uint64_t v = 0;

	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->v[i].name, name) && strstr(t->v[i].labels, part))
			v += t->v[i].ns;
	return v;
}

static size_t count(const struct read_text *t, const char *prefix)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += !strncmp(t->v[i].name, prefix, strlen(prefix));
	return n;
}

/* ---- what is in a text ---- */

static void test_figures(void **state)
{
	struct fixture *x = make(METRICS_DEFAULT_SERIES, true, 0);
	struct read_text t;

	(void)state;
	for (int i = 0; i < 2; i++) {
		empty_window(x);
		add_group(x, "/a", 1 * S + 1, 2 * S);
		add_group(x, "/b", 5, 0);
		x->groups[0].container = "web";
		metrics__add(x->m, &x->r, x->n);
	}
	t = read_back(x->m, METRICS_TEXT);
	assert_int_equal(value(&t, "utilbpf_windows_total", ""), 2 * S);
	assert_int_equal(value(&t, "utilbpf_accounted_seconds_total", ""), 20 * S);
	assert_int_equal(value(&t, "utilbpf_system_seconds_total", "{class=\"user\"}"), 2 * S + 12);
	assert_int_equal(value(&t, "utilbpf_cpu_seconds_total", "{cpu=\"1\",class=\"user\"}"),
			 6 * S + 2);
	assert_int_equal(value(&t, "utilbpf_cpu_online_seconds_total", "{cpu=\"0\"}"), 20 * S);
	assert_int_equal(value(&t, "utilbpf_group_seconds_total",
			       "{cgroup=\"/a\",container=\"web\",class=\"user\"}"),
			 2 * S + 2);
	assert_int_equal(value(&t, "utilbpf_group_calls_total",
			       "{cgroup=\"/b\",container=\"\",class=\"syscall\"}"),
			 6 * S);
	assert_int_equal(value(&t, "utilbpf_group_tasks", "{cgroup=\"/a\",container=\"web\"}"),
			 2 * S);
	assert_int_equal(value(&t, "utilbpf_process_seconds_total",
			       "{pid=\"100\",comm=\"/a\",cgroup=\"/a\",class=\"sleep\"}"),
			 4 * S);
	assert_int_equal(value(&t, "utilbpf_calls_total",
			       "{class=\"syscall\",abi=\"x86_64\",id=\"0\",name=\"read\"}"),
			 6 * S);
	/* two interrupts that have no name, or the same, are two series */
	assert_int_equal(sum(&t, "utilbpf_calls_total", "class=\"irq\""), 24 * S);
	assert_int_equal(value(&t, "utilbpf_calls_total",
			       "{class=\"syscall\",abi=\"\",id=\"\",name=\"(other)\"}"),
			 2 * S);
	read_free(&t);
	destroy(x);
}

/* Lines that one format has, as a test wants them. */
static bool has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	for (const char *p = text; (p = strstr(p, line)); p++)
		if ((p == text || p[-1] == '\n') && p[n] == '\n')
			return true;
	return false;
}

static void test_formats(void **state)
{
	struct fixture *x = make(METRICS_DEFAULT_SERIES, false, 0);
	char *om, *text;
	size_t len;

	(void)state;
	empty_window(x);
	add_group(x, "/a", 1, 1);
	metrics__add(x->m, &x->r, x->n);
	om = metrics__text(x->m, METRICS_OPENMETRICS, &len);
	assert_non_null(om);
	assert_true(has_line(om, "# TYPE utilbpf_cpu_seconds counter"));
	assert_true(has_line(om, "# UNIT utilbpf_cpu_seconds seconds"));
	assert_true(has_line(om, "# UNIT utilbpf_cost_map_bytes bytes"));
	assert_true(has_line(om, "# TYPE utilbpf_build info"));
	assert_true(has_line(om, "# TYPE utilbpf_cost_loader_cpu_seconds counter"));
	assert_true(has_line(om, "# TYPE utilbpf_quality_residual_seconds gauge"));
	assert_string_equal(om + len - 6, "# EOF\n");
	assert_ptr_equal(strstr(om, "# EOF"), om + len - 6);
	text = metrics__text(x->m, METRICS_TEXT, &len);
	assert_non_null(text);
	assert_true(has_line(text, "# TYPE utilbpf_cpu_seconds_total counter"));
	assert_true(has_line(text, "# TYPE utilbpf_build_info gauge"));
	assert_null(strstr(text, "# EOF"));
	assert_null(strstr(text, "# UNIT"));
	assert_non_null(strstr(metrics__content_type(METRICS_OPENMETRICS),
			       "application/openmetrics-text; version=1.0.0"));
	assert_non_null(strstr(metrics__content_type(METRICS_TEXT), "text/plain; version=0.0.4"));
	free(om);
	free(text);
	destroy(x);
}

static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"/a\"} 1\nutilbpf_evil_total 1",
		"/\\",
		"/\\\"",
		"/a\\n",
		"/\033[2Jx\r\t\v",
		"/\xff\xfe\xc0\x80",
		"/\xe2\x80\xae",
		"",
		"(other)",
		"/# EOF\n# EOF",
		"/{a=\"b\",class=\"user\"}",
		"/\xf0\x9f\x90\xa7",
		"/caf\xc3\xa9",
	};
	const size_t nr = sizeof(names) / sizeof(names[0]);
	struct fixture *x = make(METRICS_DEFAULT_SERIES, true, 0);
	struct read_text t;

	(void)state;
	empty_window(x);
	for (size_t i = 0; i < nr; i++) {
		add_group(x, names[i], 1, 1);
		x->groups[i].container = names[nr - 1 - i];
	}
	add_group(x, NULL, 1, 1);
	snprintf(x->r.host.kernel, sizeof(x->r.host.kernel), "6\"\n\\");
	metrics__add(x->m, &x->r, x->n);
	for (int f = METRICS_TEXT; f <= METRICS_OPENMETRICS; f++) {
		t = read_back(x->m, f);
		assert_int_equal(count(&t, "utilbpf_evil"), 0);
		assert_int_equal(count(&t, "utilbpf_group_tasks"), nr + 1);
		assert_int_equal(sum(&t, "utilbpf_group_seconds_total", "class=\"user\""),
				 (nr + 1));
		assert_non_null(find(&t, "utilbpf_group_tasks",
				     "{cgroup=\"/\\\\\\\"\",container=\"/{a=\\\"b\\\","
				     "class=\\\"user\\\"}\"}"));
		assert_non_null(find(&t, "utilbpf_group_tasks",
				     "{cgroup=\"/# EOF\\\\x0a# EOF\",container=\"/a\\\\n\"}"));
		read_free(&t);
	}
	destroy(x);
}

/* ---- counters over windows ---- */

static void test_gone_groups_stay(void **state)
{
	const char *gone = "{cgroup=\"/gone\",container=\"\",class=\"user\"}";
	struct fixture *x = make(METRICS_DEFAULT_SERIES, false, 0);
	struct read_text t;

	(void)state;
	empty_window(x);
	add_group(x, "/gone", 7 * S, 0);
	add_group(x, "/stays", 1 * S, 0);
	metrics__add(x->m, &x->r, x->n);
	metrics__shown(x->m);
	for (uint64_t s = 10; s <= 300; s += 10) {
		empty_window(x);
		add_group(x, "/stays", 1 * S, 0);
		metrics__add(x->m, &x->r, x->n);
		metrics__shown(x->m);
		t = read_back(x->m, METRICS_TEXT);
		assert_int_equal(value(&t, "utilbpf_group_seconds_total", gone), 7 * S);
		assert_int_equal(
			value(&t, "utilbpf_group_tasks", "{cgroup=\"/gone\",container=\"\"}"), 0);
		read_free(&t);
	}
	empty_window(x); /* beyond METRICS_GONE_NS */
	add_group(x, "/stays", 1 * S, 0);
	metrics__add(x->m, &x->r, x->n);
	t = read_back(x->m, METRICS_TEXT);
	assert_null(find(&t, "utilbpf_group_seconds_total", gone));
	assert_int_equal(sum(&t, "utilbpf_group_seconds_total", "(other)"), 0);
	assert_int_equal(
		value(&t, "utilbpf_evicted_seconds_total", "{kind=\"group\",class=\"user\"}"),
		7 * S);
	read_free(&t);
	destroy(x);
}

/* What the last exposition had, for the increases of the next. */
struct before {
	struct read_text t;
	uint64_t fed; /* all time of groups so far */
};

/* The sum of the increases of all series, as rate() sees it: one that is new starts from zero. */
static uint64_t increases(const struct read_text *old, const struct read_text *t, const char *name)
{
	uint64_t v = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct read_sample *o;

		if (strcmp(t->v[i].name, name))
			continue;
		o = find(old, name, t->v[i].labels);
		if (o && o->ns > t->v[i].ns)
			fail_msg("%s%s fell", name, t->v[i].labels);
		v += t->v[i].ns - (o ? o->ns : 0);
	}
	return v;
}

static void check_sums(struct fixture *x, struct before *b, uint64_t fed, uint64_t bound)
{
	static const char group[] = "utilbpf_group_seconds_total";
	static const char proc[] = "utilbpf_process_seconds_total";
	struct read_text t = read_back(x->m, METRICS_OPENMETRICS);
	uint64_t system = sum(&t, "utilbpf_system_seconds_total", "");

	assert_int_equal(system, fed);
	assert_int_equal(sum(&t, group, "") + sum(&t, "utilbpf_evicted_seconds_total", "group"),
			 system);
	assert_int_equal(sum(&t, proc, "") + sum(&t, "utilbpf_evicted_seconds_total", "process"),
			 system);
	assert_true(count(&t, "utilbpf_group_") + count(&t, "utilbpf_process_") +
			    count(&t, "utilbpf_call") <=
		    bound);
	assert_int_equal(increases(&b->t, &t, group), fed - b->fed);
	assert_int_equal(increases(&b->t, &t, proc), fed - b->fed);
	read_free(&b->t);
	b->t = t;
	b->fed = fed;
	metrics__shown(x->m);
}

/* Groups that come, work, sleep and go, in many more than there is place for. */
static void churn(uint64_t max_series, unsigned int nr, uint64_t top)
{
	struct fixture *x = make(max_series, true, top);
	struct before b = {0};
	uint64_t fed = 0;

	srand(1);
	for (unsigned int w = 0; w < 60; w++) {
		empty_window(x);
		for (unsigned int i = 0; i < nr; i++) {
			/* one in three is always there; the others live for eight windows */
			unsigned int id = i % 3 ? i + 1000 * ((w + i) / 8) : i;
			uint64_t user = i % 7 ? (uint64_t)rand() % S : (uint64_t)rand() * 3;

			add_numbered(x, id, user, (uint64_t)rand());
		}
		fed += x->r.sys_ns[AC_USER] + x->r.sys_ns[AC_SLEEP];
		metrics__add(x->m, &x->r, x->n);
		if (w % 3) /* not each window is looked at */
			check_sums(x, &b, fed, max_series);
	}
	read_free(&b.t);
	destroy(x);
}

static void test_sums_stay_true(void **state)
{
	(void)state;
	churn(METRICS_MIN_SERIES, 40, 0);
	churn(500, 40, 5);
	churn(1000, 250, 0);
	churn(METRICS_DEFAULT_SERIES, 100, 20);
}

/* The busiest have series; those that are equally busy do not take turns. */
static void test_who_has_series(void **state)
{
	struct fixture *x = make(METRICS_DEFAULT_SERIES, true, 3);
	struct read_text t, old = {0};

	(void)state;
	for (int w = 0; w < 20; w++) {
		empty_window(x);
		for (unsigned int i = 0; i < 12; i++)
			add_numbered(x, i,
				     i == 5   ? 4 * S
				     : i == 7 ? 2 * S
					      : S + (w * 7 + i) % 5,
				     0);
		metrics__add(x->m, &x->r, x->n);
		metrics__shown(x->m);
		t = read_back(x->m, METRICS_TEXT);
		assert_int_equal(count(&t, "utilbpf_process_migrations_total"), 4);
		assert_true(sum(&t, "utilbpf_process_seconds_total", "comm=\"/pod5\"") > 0);
		assert_true(sum(&t, "utilbpf_process_seconds_total", "comm=\"/pod7\"") > 0);
		assert_true(sum(&t, "utilbpf_process_seconds_total", "comm=\"(other)\"") > 0);
		for (size_t i = 0; i < old.n; i++)
			assert_non_null(find(&t, old.v[i].name, old.v[i].labels));
		read_free(&old);
		old = t;
	}
	/* one that becomes much busier than they are gets its own */
	empty_window(x);
	for (unsigned int i = 0; i < 12; i++)
		add_numbered(x, i, i == 11 ? 100 * S : S, 0);
	metrics__add(x->m, &x->r, x->n);
	t = read_back(x->m, METRICS_TEXT);
	assert_true(sum(&t, "utilbpf_process_seconds_total", "comm=\"/pod11\"") == 100 * S);
	read_free(&t);
	read_free(&old);
	destroy(x);
}

/* ---- content negotiation ---- */

static void test_negotiation(void **state)
{
	static const struct {
		const char *accept;
		enum metrics_format want;
	} cases[] = {
		{NULL, METRICS_TEXT},
		{"", METRICS_TEXT},
		{"*/*", METRICS_TEXT},
		{"text/plain", METRICS_TEXT},
		{"application/openmetrics-text", METRICS_OPENMETRICS},
		{"application/openmetrics-text; version=1.0.0; charset=utf-8", METRICS_OPENMETRICS},
		{"APPLICATION/OpenMetrics-Text;Version=1.0.0", METRICS_OPENMETRICS},
		{"application/openmetrics-text;version=2.0.0", METRICS_TEXT},
		{"application/openmetrics-text;q=0", METRICS_TEXT},
		{"application/openmetrics-text;q=0.3,text/plain;q=0.5", METRICS_TEXT},
		{"text/plain;q=0.5,application/openmetrics-text;q=0.51", METRICS_OPENMETRICS},
		{"text/plain;q=0.5, application/openmetrics-text;q=0.5", METRICS_TEXT},
		/* Prometheus 2.42's, and one of 3's */
		{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version="
		 "0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		 METRICS_OPENMETRICS},
		{"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
		 "encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping="
		 "allow-utf-8;q=0.5,text/plain;version=1.0.0;q=0.3,*/*;q=0.2",
		 METRICS_OPENMETRICS},
		{"text/html,application/xhtml+xml,*/*;q=0.8", METRICS_TEXT},
		{",,;;,q=,;q=;version=", METRICS_TEXT},
		{"application/openmetrics-text;q=", METRICS_TEXT},
		{"application/openmetrics-text;q=9", METRICS_TEXT},
		{"application/openmetrics-text;", METRICS_OPENMETRICS},
		{"application/openmetrics-textual", METRICS_TEXT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (metrics__negotiate(cases[i].accept) != cases[i].want)
			fail_msg("'%s'", cases[i].accept);
}

/* ---- files ---- */

static char dir[] = "/tmp/test_metrics.XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char cmd[64];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* Everything in the directory, but for . and .. */
static size_t files_in_dir(void)
{
	char cmd[64];
	size_t n = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "ls -A %s", dir);
	f = popen(cmd, "r");
	assert_non_null(f);
	for (int c; (c = fgetc(f)) != EOF;)
		n += c == '\n';
	pclose(f);
	return n;
}

#define FILE_LEN 300000

static void write_letters(const char *path, char letter)
{
	static char text[FILE_LEN];

	memset(text, letter, sizeof(text));
	assert_int_equal(metrics__write_file(path, text, sizeof(text)), 0);
}

/* Reads the file again and again; exits 0 after `times` whole ones of one letter each. */
static void __attribute__((noreturn)) read_letters(const char *path, int times)
{
	static char text[FILE_LEN + 1];

	for (int i = 0; i < times; i++) {
		int fd = open(path, O_RDONLY);
		size_t n = 0;
		ssize_t k;

		if (fd < 0)
			_exit(2);
		while ((k = read(fd, text + n, sizeof(text) - n)) > 0)
			n += k;
		close(fd);
		if (n != FILE_LEN || memchr(text, text[0] == 'a' ? 'b' : 'a', n))
			_exit(3);
	}
	_exit(0);
}

static void test_file_is_atomic(void **state)
{
	const char *path = in_dir("x.prom");
	int status = 0, writes = 0;
	struct stat st;
	pid_t pid;

	(void)state;
	umask(022);
	write_letters(path, 'a');
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	/* On a busy machine the reader may be over before the writer has had a turn. */
	for (int i = 0; i < 100 && writes <= 10; i++) {
		pid = fork();
		assert_true(pid >= 0);
		if (!pid)
			read_letters(path, 400);
		while (waitpid(pid, &status, WNOHANG) == 0)
			write_letters(path, writes++ % 2 ? 'a' : 'b');
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	assert_true(writes > 10);
	assert_int_equal(files_in_dir(), 1);
	unlink(path);
}

static void test_file_errors(void **state)
{
	char path[128], target[128];
	struct stat st;

	(void)state;
	assert_int_equal(metrics__write_file("/dev/full", "x", 1), -ENOSPC);
	assert_int_equal(metrics__write_file("/dev/null", "x", 1), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(metrics__write_file(in_dir("no/such"), "x", 1), -ENOENT);
	snprintf(path, sizeof(path), "%s", in_dir("dir"));
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(metrics__write_file(path, "x", 1), -EISDIR);
	assert_int_equal(rmdir(path), 0);
	/* a symbolic link stays one */
	snprintf(target, sizeof(target), "%s", in_dir("target"));
	snprintf(path, sizeof(path), "%s", in_dir("link"));
	assert_int_equal(metrics__write_file(target, "x", 1), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(metrics__write_file(path, "abc", 3), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_size, 3);
	unlink(path);
	unlink(target);
	assert_int_equal(files_in_dir(), 0);
}

/* Reports one after the other into a file: counters, and the format that its name asks for. */
static void test_reports_to_file(void **state)
{
	struct fixture *x = make(METRICS_DEFAULT_SERIES, false, 0);
	char path[128], text[1 << 16];
	struct out_opts o = {.metrics = x->m, .path = path};
	size_t n;
	FILE *f;

	(void)state;
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s", in_dir(i < 3 ? "u.prom" : "u.om"));
		empty_window(x);
		add_group(x, "/a", S, 0);
		assert_int_equal(out__openmetrics(&x->r, x->n, &o), 0);
	}
	for (int i = 0; i < 2; i++) {
		f = fopen(in_dir(i ? "u.om" : "u.prom"), "r");
		assert_non_null(f);
		n = fread(text, 1, sizeof(text) - 1, f);
		text[n] = '\0';
		fclose(f);
		assert_true(
			has_line(text, i ? "utilbpf_windows_total 4" : "utilbpf_windows_total 3"));
		assert_int_equal(!!strstr(text, "# EOF"), i);
		unlink(in_dir(i ? "u.om" : "u.prom"));
	}
	destroy(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures),	       cmocka_unit_test(test_formats),
		cmocka_unit_test(test_hostile_names),  cmocka_unit_test(test_gone_groups_stay),
		cmocka_unit_test(test_sums_stay_true), cmocka_unit_test(test_who_has_series),
		cmocka_unit_test(test_negotiation),    cmocka_unit_test(test_file_is_atomic),
		cmocka_unit_test(test_file_errors),    cmocka_unit_test(test_reports_to_file),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
