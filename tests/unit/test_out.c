// SPDX-License-Identifier: GPL-2.0-only
/*
 * The renderers against reports made by hand: what they say, how wide they say it, and that no
 * name, number or broken stream can make them say anything else.
 *
 * It builds every report itself and stands in for names.c, so that it runs without a kernel, an
 * engine or a host to look at.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "../../user/columns.h"
#include "../../user/escape.h"
#include "../../user/out.h"
#include "../../user/out_util.h"
#include "../../user/version.h"

#define MS 1000000ULL
#define S  1000000000ULL

/* --- names.c's part --- */

/* What a hostile driver could call its interrupt. */
static const char *irq_name = "virtio0";

const char *names__call(struct names *n, uint32_t key)
{
	static const char *const softirqs[] = {"hi", "timer", "net_tx", "net_rx"};

	(void)n;
	if (key == KEY_OTHER(KEY_CLASS(key)))
		return "(other)";
	switch (KEY_CLASS(key)) {
	case CALL_SYSCALL:
		return KEY_NR(key) == 0	    ? "read"
		       : KEY_NR(key) == 1   ? "write"
		       : KEY_NR(key) == 232 ? "epoll_wait"
					    : "clock_nanosleep";
	case CALL_IRQ:
		return KEY_NR(key) == 24 ? irq_name : "irq_7";
	case CALL_SOFTIRQ:
		return softirqs[KEY_NR(key) & 3];
	default:
		return "H_PROD";
	}
}

const char *names__abi(const struct names *n, uint32_t key)
{
	(void)n;
	return KEY_ABI(key) ? "i386" : "x86_64";
}

const char *names__class(uint32_t key)
{
	static const char *const classes[] = {"syscall", "irq", "softirq", "hcall"};

	return classes[KEY_CLASS(key) & 3];
}

/* --- a report, as an engine would leave it --- */

#define PROCS 30

/* Every part has its own memory so that the sanitizers see a step beyond its end. */
struct fixture {
	struct report r;
	struct rep_cpu cpus[64];
	struct rep_group groups[2];
	struct rep_proc procs[PROCS];
	struct rep_task tasks[PROCS + 2];
	struct rep_task_cpu rows[2 * (PROCS + 2)];
	struct rep_call calls[9];
};

static struct rep_call ended(uint32_t key, uint64_t count, uint64_t on, uint64_t sleep,
			     uint64_t blocked)
{
	struct rep_call c = {.key = key, .count = count, .oncpu_ns = on};

	c.off_ns[AC_SLEEP - AC_WAIT] = sleep;
	c.off_ns[AC_BLOCKED - AC_WAIT] = blocked;
	c.elapsed_ns = on + sleep + blocked;
	c.min_ns = 402;
	c.max_ns = c.elapsed_ns;
	return c;
}

static void add_ns(uint64_t to[AC_NR], const uint64_t from[AC_NR])
{
	for (int i = 0; i < AC_NR; i++)
		to[i] += from[i];
}

static void make_calls(struct fixture *x)
{
	size_t n = 0;

	x->calls[n++] = ended(CALL_KEY(CALL_SYSCALL, 0, 0), 1200345, 340 * MS, 35 * S, 2 * S);
	x->calls[n++] = ended(CALL_KEY(CALL_SYSCALL, 0, 230), 40, 2 * MS, 60 * S, 0);
	x->calls[n++] = ended(CALL_KEY(CALL_SYSCALL, 1, 1), 17, 900 * MS, 0, 0);
	x->calls[n++] = ended(KEY_OTHER(CALL_SYSCALL), 3, 1 * MS, 0, 0);
	x->calls[n] = (struct rep_call){.key = CALL_KEY(CALL_SYSCALL, 0, 232)};
	x->calls[n].open = 12;
	x->calls[n++].pending_ns = 120 * S;
	x->calls[n++] = ended(CALL_KEY(CALL_IRQ, 0, 24), 1032, 10 * MS, 0, 0);
	x->calls[n++] = ended(CALL_KEY(CALL_IRQ, 0, 7), 1, 900, 0, 0);
	x->calls[n++] = ended(CALL_KEY(CALL_SOFTIRQ, 0, 3), 500, 30 * MS, 0, 0);
	x->calls[n++] = ended(CALL_KEY(CALL_HCALL, 0, 0xe4), 2, 5000, 0, 0);
	x->calls[0].errors = 31;
	x->calls[0].open = 3;
	x->r.sys_calls = (struct rep_calls){x->calls, n};
}

static void make_task(struct fixture *x, size_t i, uint32_t exec)
{
	struct rep_task *t = &x->tasks[x->r.nr_tasks];
	struct rep_proc *p = &x->procs[i];

	*t = (struct rep_task){.tid = p->pid,
			       .pid = p->pid,
			       .exec = exec,
			       .cgroup = p->cgroup,
			       .state = exec ? "exited" : "sleep",
			       .start_ns = 5,
			       .proc = i};
	memcpy(t->comm, p->comm, sizeof(t->comm));
	t->other = p->other;
	t->cpus = &x->rows[2 * x->r.nr_tasks];
	t->nr_cpus = 2;
	for (uint32_t c = 0; c < 2; c++) {
		t->cpus[c] = (struct rep_task_cpu){.cpu = c};
		t->cpus[c].ns[AC_USER] = (PROCS - i) * 10 * MS + 1;
		t->cpus[c].ns[AC_SYS] = i * MS;
		t->cpus[c].ns[AC_WAIT] = 7 * i * MS;
		t->cpus[c].ns[AC_SLEEP] = 4 * S;
		add_ns(t->ns, t->cpus[c].ns);
	}
	t->migrations = i;
	t->end_ns = exec ? 99 : 0;
	t->calls = (struct rep_calls){x->calls, 5};
	add_ns(p->ns, t->ns);
	p->migrations += i;
	if (!p->nr_tasks++)
		p->first_task = x->r.nr_tasks;
	p->tasks++;
	x->r.nr_tasks++;
}

static void make_procs(struct fixture *x)
{
	for (size_t i = 0; i < PROCS; i++) {
		struct rep_proc *p = &x->procs[i];

		*p = (struct rep_proc){.pid = 1497 + i, .uid = 26, .cgroup = x->groups[i % 2].path};
		snprintf(p->comm, sizeof(p->comm), "postgres%zu", i);
		make_task(x, i, 0);
		/* the first process has had three images */
		for (uint32_t exec = 1; i == 0 && exec < 3; exec++)
			make_task(x, i, exec);
		p->calls = (struct rep_calls){x->calls, 5};
		add_ns(x->groups[i % 2].ns, p->ns);
		x->groups[i % 2].tasks += p->tasks;
		add_ns(x->r.sys_ns, p->ns);
	}
	x->r.procs = x->procs;
	x->r.nr_procs = PROCS;
	x->r.tasks = x->tasks;
	x->r.sys_procs = PROCS;
	x->r.sys_tasks = x->r.nr_tasks;
}

static void make_cpus(struct fixture *x, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct rep_cpu *c = &x->cpus[i];

		*c = (struct rep_cpu){.cpu = i, .online_ns = 10 * S, .switches = 100 + i};
		c->ns[AC_USER] = i ? 1200 * MS + i : 4120 * MS;
		c->ns[AC_SYS] = i ? 330 * MS : 980 * MS;
		c->ns[AC_SOFTIRQ] = 110 * MS;
		c->ns[AC_IDLE] = c->online_ns - report__oncpu(c->ns);
		add_ns(x->r.sys_cpu_ns, c->ns);
		x->r.sys_ns[AC_IDLE] += c->ns[AC_IDLE];
	}
	x->r.cpus = x->cpus;
	x->r.nr_cpus = nr;
	x->r.host.cpus_online = nr;
}

static struct fixture *make(size_t cpus)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->r.level = LEVEL_TASK;
	x->r.engine = "bpf";
	x->r.reason = "the kernel can do it";
	x->r.start_ns = 1000 * S;
	x->r.end_ns = 1010 * S;
	x->r.start_wall = (struct timespec){1795143790, 123456789};
	strcpy(x->r.host.name, "web-17");
	strcpy(x->r.host.kernel, "6.18.0");
	strcpy(x->r.host.arch, "x86_64");
	x->r.cost = (struct rep_cost){21 * MS, 9 << 20, 8 << 20, 1310000, false, 0};
	x->groups[0] = (struct rep_group){.id = 77,
					  .path = "/system.slice/docker-0123456789ab.scope",
					  .container = "0123456789ab"};
	x->groups[1] = (struct rep_group){.id = 78, .path = "/user.slice"};
	x->r.groups = x->groups;
	x->r.nr_groups = x->r.sys_groups = 2;
	make_calls(x);
	for (int i = 0; i < 2; i++)
		x->groups[i].calls = (struct rep_calls){x->calls, 5};
	make_procs(x);
	make_cpus(x, cpus);
	return x;
}

/* Names that try all that a name can try. */
static const char *const hostile[] = {
	"\033[31m\033[2J",
	"a\"b,c'd",
	"x\ny\r\nz\t",
	"\xff\xfe\x80\xc0\xaf",
	"\xe2\x80\xaegpj.exe",
	"\xc2\x9b;31mred",
	"\xed\xa0\x80\xf8\x88",
	"\x7f\x01\x02",
	"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97",
	"a\\x1b%s%n",
	"=1+1,\"",
	" lead",
	"e\xcc\x81\xcc\x81\xcc\x81",
	"\xe2\x81\xa6\xe2\x81\xa9",
	"\xf0\x9f\x98\x80\xf0\x9f",
	"\xef\xbb\xbf",
};
#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

static char long_path[5000];

static struct fixture *make_hostile(void)
{
	struct fixture *x = make(2);

	memset(long_path, 'p', sizeof(long_path) - 1);
	memcpy(long_path, "/\033]0;title\007\xff\n\"", 14);
	memcpy(long_path + sizeof(long_path) - 9, "/the.end", 9);
	for (size_t i = 0; i < PROCS; i++)
		snprintf(x->procs[i].comm, sizeof(x->procs[i].comm), "%s", hostile[i % HOSTILE]);
	for (size_t i = 0; i < x->r.nr_tasks; i++) {
		snprintf(x->tasks[i].comm, sizeof(x->tasks[i].comm), "%s", hostile[i % HOSTILE]);
		x->tasks[i].cgroup = long_path;
	}
	x->groups[0].path = long_path;
	x->groups[0].container = hostile[0];
	x->groups[1].path = hostile[2];
	snprintf(x->r.host.name, sizeof(x->r.host.name), "%s%s", hostile[0], hostile[4]);
	snprintf(x->r.host.kernel, sizeof(x->r.host.kernel), "%s%100s", hostile[3], hostile[1]);
	x->r.reason = hostile[2];
	x->r.notes[0] =
		"no hypervisor calls: \033[31m this machine\n has none, and the sentence is long";
	x->r.notes[1] = long_path;
	return x;
}

/* Every number as large as it can be. */
static struct fixture *make_huge(uint64_t u)
{
	struct fixture *x = make(2);

	for (int i = 0; i < AC_NR; i++) {
		x->r.sys_ns[i] = x->procs[0].ns[i] = x->tasks[0].ns[i] = x->groups[0].ns[i] = u;
		x->cpus[0].ns[i] = u;
	}
	x->cpus[1].online_ns = 1;
	x->procs[0].migrations = x->procs[0].voluntary = u;
	x->procs[0].pid = x->procs[0].tasks = x->tasks[0].tid = UINT32_MAX;
	x->r.end_ns = u;
	x->r.start_wall.tv_sec = INT64_MAX;
	x->r.sys_switches = x->r.sys_tasks = u;
	for (size_t i = 0; i < x->r.sys_calls.n; i++) {
		x->calls[i].count = i == 4 ? 0 : u;
		x->calls[i].errors = x->calls[i].elapsed_ns = x->calls[i].pending_ns = u;
		x->calls[i].oncpu_ns = x->calls[i].max_ns = u;
		x->calls[i].open = UINT32_MAX;
	}
	x->r.quality = (struct rep_quality){u, u, u, u, u, u, u, INT64_MIN, u};
	x->r.cost = (struct rep_cost){u, u, u, u, true, u};
	return x;
}

/* --- rendering into memory --- */

typedef int (*render_fn)(const struct report *, struct names *, const struct out_opts *);

static const struct out_opts default_opts = {
	.width = 80, .top = 20, .by = LEVEL_PROCESS, .first = true};

static char *render(render_fn fn, const struct report *r, struct out_opts o)
{
	char *text = NULL;
	size_t len = 0;

	o.f = open_memstream(&text, &len);
	assert_non_null(o.f);
	assert_int_equal(fn(r, NULL, &o), 0);
	assert_int_equal(fclose(o.f), 0);
	assert_int_equal(strlen(text), len);
	return text;
}

static json_t *render_json(const struct report *r)
{
	char *text = render(out__json, r, default_opts);
	json_error_t e;
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &e);

	if (!j)
		fail_msg("%s at %d in %s", e.text, e.position, text);
	free(text);
	return j;
}

static json_int_t int_at(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	if (!json_is_integer(v))
		fail_msg("no integer %s", key);
	return json_integer_value(v);
}

static const char *text_at(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	if (!s)
		fail_msg("no string %s", key);
	return s;
}

static json_t *array_at(json_t *o, const char *key, size_t i)
{
	json_t *v = json_array_get(json_object_get(o, key), i);

	if (!v)
		fail_msg("no %s[%zu]", key, i);
	return v;
}

#define assert_has(text, what)                                                                     \
	do {                                                                                       \
		if (!strstr(text, what))                                                           \
			fail_msg("\"%s\" is not in:\n%s", what, text);                             \
	} while (0)
#define assert_lacks(text, what)                                                                   \
	do {                                                                                       \
		if (strstr(text, what))                                                            \
			fail_msg("\"%s\" is in:\n%s", what, text);                                 \
	} while (0)

/* Calls fn(line, arg) for each line; the text must end in one. */
static void each_line(const char *text, void (*fn)(const char *line, int arg), int arg)
{
	char *copy = strdup(text), *p = copy, *nl;

	assert_non_null(copy);
	for (; (nl = strchr(p, '\n')); p = nl + 1) {
		*nl = '\0';
		fn(p, arg);
	}
	assert_string_equal(p, "");
	free(copy);
}

/* Takes the colours out, so that what is left is what takes room. */
static char *without_colour(const char *text)
{
	char *plain = calloc(1, strlen(text) + 1), *p = plain;

	assert_non_null(plain);
	while (*text) {
		if (*text == '\033') {
			text += strcspn(text, "m");
			text += *text == 'm';
		} else {
			*p++ = *text++;
		}
	}
	return plain;
}

static void check_width(const char *line, int width)
{
	size_t len = strlen(line);

	if (esc__width(line) > width)
		fail_msg("%d columns for %d: %s", esc__width(line), width, line);
	if (len && line[len - 1] == ' ')
		fail_msg("blanks at the end of: \"%s\"", line);
}

/* Nothing that a terminal would obey, and nothing that is not text. */
static void check_printable(const char *text)
{
	char *valid = esc__utf8(text);

	assert_non_null(valid);
	assert_string_equal(valid, text);
	free(valid);
	for (const char *p = text; *p; p++)
		if (((unsigned char)*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f)
			fail_msg("raw byte %02x before: %.60s", (unsigned char)*p, p);
	assert_lacks(text, "\xc2\x9b");	    /* CSI in one character */
	assert_lacks(text, "\xe2\x80\xae"); /* right to left */
	assert_lacks(text, "\xe2\x81\xa6");
	assert_lacks(text, "\xef\xbb\xbf");
}

/* --- text --- */

static void test_text_says_it(void **state)
{
	struct fixture *x = make(2);
	char *text = render(out__text, &x->r, default_opts);

	(void)state;
	assert_has(text, "utilbpf  web-17  Linux 6.18.0 x86_64");
	assert_has(text, "+10.000 s  engine bpf\n");
	assert_has(text, "busy 34%\n");
	assert_has(text, "\n  0  41.2%   9.8%   0.0%   1.1%   0.0%  47.9%   uuuuuuuuuuuuusssq....");
	assert_has(text, "\n PID COMMAND ");
	assert_has(text, "\n1497 postgres0 ");
	assert_has(text, "     10 more       10 1.590 "); /* the sum of the last ten */
	assert_has(text, "\nread            1.20M  31  37.340 0.9%    -   94%   5.4% 31.1us 402ns");
	assert_has(text, "\nwrite [i386] ");
	assert_has(text, "\nclock_nanosleep ");
	assert_has(text, "\nirq 24 virtio0 ");
	assert_has(text, "\nirq 7 ");
	assert_lacks(text, "irq_7");
	assert_has(text, "\nsoftirq net_rx ");
	assert_has(text, "unfinished: epoll_wait 12 (120.000 s), read 3");
	assert_has(text, "\nnothing lost, residual 0 ns\n");
	assert_has(text, "cost 0.021 s CPU, 8.0 MiB of maps, 1.31M events, 9.0 MiB resident\n");
	assert_lacks(text, "busy\n");
	assert_lacks(text, "\033");
	free(text);
	free(x);
}

static void test_text_busy_where_there_is_some(void **state)
{
	struct fixture *x = make(2);
	char *text;

	(void)state;
	x->cpus[1].ns[AC_BUSY] = 1 * S;
	x->cpus[1].ns[AC_IDLE] -= 1 * S;
	x->procs[3].ns[AC_BUSY] = 1 * S;
	text = render(out__text, &x->r, default_opts);
	assert_has(text, "     hv   busy   idle");
	assert_has(text, "bb");
	assert_has(text, " irq  busy ");
	free(text);
	free(x);
}

/* An offline CPU has no percentages, one that was online for a while has those of that while. */
static void test_text_online(void **state)
{
	struct fixture *x = make(2);
	char *text;

	(void)state;
	x->cpus[0] = (struct rep_cpu){.cpu = 0};
	x->cpus[1] = (struct rep_cpu){.cpu = 1, .online_ns = 2 * S};
	x->cpus[1].ns[AC_USER] = x->cpus[1].ns[AC_IDLE] = 1 * S;
	text = render(out__text, &x->r, default_opts);
	assert_has(text, "\n  0      -      -      -      -      -      -\n");
	assert_has(text, "\n  1  50.0%   0.0%   0.0%   0.0%   0.0%  50.0%   uuuu");
	assert_has(text, "busy 50%");
	free(text);
	free(x);
}

static void test_text_folds_cpus(void **state)
{
	struct fixture *x = make(64);
	struct out_opts o = default_opts;
	char *text = render(out__text, &x->r, o);

	(void)state;
	assert_has(text, "\n    ALL  12.5%");
	assert_has(text, "\n      0  41.2%");
	assert_has(text, "\n58 more  12.0%");
	assert_lacks(text, "\n     63 ");
	free(text);
	o.by = LEVEL_CPU;
	o.top = 0;
	text = render(out__text, &x->r, o);
	assert_has(text, "\n 63  12.0%");
	assert_lacks(text, "more");
	free(text);
	o.top = 3;
	o.sort = "switches";
	text = render(out__text, &x->r, o);
	assert_has(text, "\n     63  12.0%");
	assert_has(text, "\n61 more ");
	free(text);
	free(x);
}

static void test_text_levels(void **state)
{
	static const char *const heads[] = {"\nTASKS PROCS GROUPS", "\nTASKS PROCS GROUPS",
					    "\nCGROUP ", "\n PID COMMAND ", "\n TID "};
	struct fixture *x = make(2);
	struct out_opts o = default_opts;

	(void)state;
	for (o.by = LEVEL_SYSTEM; o.by <= LEVEL_TASK; o.by++) {
		char *text = render(out__text, &x->r, o);

		assert_has(text, heads[o.by]);
		free(text);
	}
	/* a report that holds less than what is asked for shows what it holds */
	x->r.level = LEVEL_GROUP;
	x->r.nr_procs = x->r.nr_tasks = 0;
	o.by = LEVEL_TASK;
	{
		char *text = render(out__text, &x->r, o);

		assert_has(text, heads[LEVEL_GROUP]);
		free(text);
	}
	free(x);
}

static void test_text_top(void **state)
{
	struct fixture *x = make(2);
	struct out_opts o = default_opts;
	char *text;

	(void)state;
	o.top = 2;
	text = render(out__text, &x->r, o);
	assert_has(text, "\n1498 postgres1 ");
	assert_lacks(text, "\n1499 ");
	assert_has(text, "     28 more      28 8.988 ");
	free(text);
	o.top = 0;
	text = render(out__text, &x->r, o);
	assert_has(text, "\n1526 postgres29 ");
	assert_lacks(text, "more");
	free(text);
	/* who did nothing is not worth a row, but is counted */
	for (size_t i = 5; i < PROCS; i++)
		memset(x->procs[i].ns, 0, sizeof(x->procs[i].ns));
	text = render(out__text, &x->r, default_opts);
	assert_has(text, "\n1501 postgres4 ");
	assert_has(text, "     25 more ");
	free(text);
	free(x);
}

/* In a window of 31 ms seconds with three decimals would say nothing. */
static void test_text_short_window(void **state)
{
	struct fixture *x = make(2);
	char *text;

	(void)state;
	x->r.end_ns = x->r.start_ns + 31 * MS;
	text = render(out__text, &x->r, default_opts);
	assert_has(text, " CPU ms ");
	assert_has(text, " TOTAL ms ");
	assert_has(text, " 582.000 ");
	free(text);
	free(x);
}

/* Two thirds of the rows for the time that was not slept, the rest for the longest. */
static void test_text_calls_order(void **state)
{
	struct fixture *x = make(2);
	struct out_opts o = default_opts;
	char *text;

	(void)state;
	o.top = 6; /* three calls: two that worked, one that slept */
	text = render(out__text, &x->r, o);
	assert_true(strstr(text, "\nread ") < strstr(text, "\nwrite [i386]"));
	assert_true(strstr(text, "\nwrite [i386]") < strstr(text, "\nclock_nanosleep"));
	assert_lacks(text, "\n(other)");
	free(text);
	o.sort = "elapsed";
	text = render(out__text, &x->r, o);
	assert_true(strstr(text, "\nclock_nanosleep") < strstr(text, "\nread "));
	free(text);
	free(x);
}

static void test_text_loss_is_loud(void **state)
{
	struct fixture *x = make(2);
	struct out_opts o = default_opts;
	char *text;

	(void)state;
	x->r.quality = (struct rep_quality){12, 3, 5, 2, 7, 9, 6, -4, 1500 * MS};
	x->r.notes[0] = "no hypervisor calls on this machine";
	o.width = 200;
	text = render(out__text, &x->r, o);
	assert_lacks(text, "nothing lost");
	assert_has(text,
		   "\nLOST: 12 events lost, 3 program runs missed, 5 tasks without a record, "
		   "2 calls without a record, 1.500 s of unknown tasks, 6 ended tasks told in "
		   "sum, 7 out of order, 9 unmatched, residual -4 ns\n");
	assert_has(text, "\nnote: no hypervisor calls on this machine\n");
	free(text);
	free(x);
}

static void check_widths(const struct report *r)
{
	static const int widths[] = {40, 60, 80, 120, 200};
	static const unsigned int tops[] = {0, 1, 5, 20};
	static const char *const sorts[] = {NULL, "iowait", "involuntary", "max"};

	for (size_t w = 0; w < 5; w++)
		for (size_t k = 0; k < 4; k++)
			for (enum report_level by = LEVEL_SYSTEM; by <= LEVEL_TASK; by++) {
				struct out_opts o = default_opts;
				char *text, *plain;

				o.width = widths[w];
				o.top = tops[k];
				o.by = by;
				o.sort = sorts[k];
				text = render(out__text, r, o);
				check_printable(text);
				each_line(text, check_width, o.width);
				o.color = true;
				plain = render(out__text, r, o);
				free(text);
				text = without_colour(plain);
				each_line(text, check_width, o.width);
				free(text);
				free(plain);
			}
}

static void test_text_never_wider(void **state)
{
	struct fixture *reports[] = {make(2),
				     make(64),
				     make_hostile(),
				     make_huge(UINT64_MAX),
				     make_huge(INT64_MAX),
				     make_huge(999999999999999ULL)};

	(void)state;
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		check_widths(&reports[i]->r);
		free(reports[i]);
	}
}

/* --- names from outside --- */

static void test_hostile_text(void **state)
{
	struct fixture *x = make_hostile();
	render_fn fns[] = {out__text, out__full, out__csv};

	(void)state;
	irq_name = "\033[5mvirtio\xff,\"";
	for (size_t i = 0; i < 3; i++) {
		char *text = render(fns[i], &x->r, default_opts);

		check_printable(text);
		assert_has(text, "\\x1b[31m");
		free(text);
	}
	irq_name = "virtio0";
	free(x);
}

static void test_hostile_json(void **state)
{
	struct fixture *x = make_hostile();
	char *text = render(out__json, &x->r, default_opts);
	json_t *j = render_json(&x->r);

	(void)state;
	for (const char *p = text; p[1]; p++)
		if (*p < 0x20 || *p > 0x7e)
			assert_int_equal(*p, 0x7f);
	for (size_t i = 0; i < PROCS; i++) {
		json_t *p = array_at(j, "processes", i);
		char *want = esc__utf8(x->procs[i].comm);

		assert_string_equal(text_at(p, "comm"), want);
		free(want);
	}
	assert_string_equal(text_at(array_at(j, "processes", 3), "comm"),
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_int_equal(strlen(text_at(array_at(j, "groups", 0), "cgroup")),
			 sizeof(long_path) + 1);
	json_decref(j);
	free(text);
	free(x);
}

static void test_escape(void **state)
{
	static const struct {
		const char *raw;
		int cols;
		bool tail;
		const char *want;
	} cases[] = {
		{"plain", 10, false, "plain"},
		{"plain", 5, false, "plain"},
		{"plain", 4, false, "pla+"},
		{"plain", 4, true, "+ain"},
		{"plain", 1, false, "+"},
		{"plain", 0, false, ""},
		{"a\033b", 5, false, "a+"}, /* an escape is shown whole or not at all */
		{"\xc3\xa9t\xc3\xa9", 3, false, "\xc3\xa9t\xc3\xa9"},
		{"\xc3", 9, false, "\\xc3"},
		{"\xe6\xbc\xa2\xe5\xad\x97", 3, false, "\xe6\xbc\xa2+"},
		{"\xe6\xbc\xa2\xe5\xad\x97", 3, true, "+\xe5\xad\x97"},
		{"\xe6\xbc\xa2\xe5\xad\x97", 2, false, "+"},
		{"\xf4\x90\x80\x80", 16, false, "\\xf4\\x90\\x80\\x80"},
		{"\xf3\xa0\x81\x81", 16, false, "\\u{e0041}"},
		{"\xe0\x80\x80", 16, false, "\\xe0\\x80\\x80"},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int used = esc__fit(buf, sizeof(buf), cases[i].raw, cases[i].cols, cases[i].tail);

		assert_string_equal(buf, cases[i].want);
		assert_int_equal(used, esc__width(buf));
	}
	/* a buffer too small for the columns ends between characters */
	esc__fit(buf, 6, "\xe6\xbc\xa2\xe5\xad\x97", 80, false);
	assert_string_equal(buf, "\xe6\xbc\xa2");
}

static void test_numbers(void **state)
{
	char buf[NUM_LEN];

	(void)state;
	for (uint64_t u = 1; u; u *= 3) {
		for (uint64_t v = u - 1; v <= u + 1 && v + 2 > u; v++) {
			assert_true(strlen(out__duration(buf, v)) <= 7);
			assert_true(strlen(out__count(buf, v)) <= 5);
			assert_true(strlen(out__seconds(buf, v)) <= 8);
			assert_true(strlen(out__share(buf, v, u)) <= 5);
		}
		if (u > UINT64_MAX / 3)
			break;
	}
	assert_string_equal(out__duration(buf, 402), "402ns");
	assert_string_equal(out__duration(buf, 31800), "31.8us");
	assert_string_equal(out__duration(buf, 999499), "999us");
	assert_string_equal(out__duration(buf, 999500), "1.00ms");
	assert_string_equal(out__duration(buf, 5010 * MS), "5.01s");
	assert_string_equal(out__duration(buf, UINT64_MAX), "213504d");
	assert_string_equal(out__count(buf, 99999), "99999");
	assert_string_equal(out__count(buf, 999499), "999K");
	assert_string_equal(out__count(buf, 999500), "1.00M");
	assert_string_equal(out__count(buf, UINT64_MAX), "18.4E");
	assert_string_equal(out__seconds(buf, 4210 * MS), "4.210");
	assert_string_equal(out__seconds(buf, 9999999 * MS), "9999.999");
	assert_string_equal(out__share(buf, 1, 0), "-");
	assert_string_equal(out__share(buf, 9, 1000), "0.9%");
}

static void test_report_sums(void **state)
{
	uint64_t ns[AC_NR] = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 1000};

	(void)state;
	assert_int_equal(report__oncpu(ns), 21);
	assert_int_equal(report__offcpu(ns), 150);
	assert_true(report__util(ns) > 12.28 && report__util(ns) < 12.29);
	memset(ns, 0, sizeof(ns));
	assert_true(report__util(ns) == 0);
	assert_string_equal(report__class_name(AC_SOFTIRQ), "softirq");
	assert_string_equal(report__class_key(AC_STOPPED), "stopped_ns");
	assert_string_equal(report__class_key(AC_IDLE), "idle_ns");
	assert_string_equal(report__class_name(AC_NONE), "none");
	for (int i = AC_USER; i <= AC_IDLE; i++)
		assert_string_equal(columns[COL_USER + i].name, report__class_name(i));
}

/* --- JSON --- */

static void check_classes(json_t *o, const uint64_t ns[AC_NR])
{
	for (int i = AC_USER; i <= AC_STOPPED; i++)
		assert_int_equal(int_at(o, report__class_key(i)), ns[i]);
}

static void check_call(json_t *o, const struct rep_call *c)
{
	assert_int_equal(int_at(o, "count"), c->count);
	assert_int_equal(int_at(o, "errors"), c->errors);
	assert_int_equal(int_at(o, "elapsed_ns"), c->elapsed_ns);
	assert_int_equal(int_at(o, "pending_ns"), c->pending_ns);
	assert_int_equal(int_at(o, "open"), c->open);
	assert_int_equal(int_at(o, "oncpu_ns"), c->oncpu_ns);
	assert_int_equal(int_at(o, "irq_stolen_ns"), c->stolen_ns);
	for (int i = 0; i < AC_OFF_NR; i++)
		assert_int_equal(int_at(o, report__class_key(AC_WAIT + i)), c->off_ns[i]);
	if (c->count) {
		assert_int_equal(int_at(o, "min_ns"), c->min_ns);
		assert_int_equal(int_at(o, "max_ns"), c->max_ns);
	} else {
		assert_true(json_is_null(json_object_get(o, "min_ns")));
		assert_true(json_is_null(json_object_get(o, "max_ns")));
	}
}

static void check_json_entities(struct fixture *x, json_t *j)
{
	for (size_t i = 0; i < x->r.nr_cpus; i++) {
		json_t *o = array_at(j, "cpus", i);

		assert_int_equal(int_at(o, "cpu"), x->cpus[i].cpu);
		assert_int_equal(int_at(o, "switches"), x->cpus[i].switches);
		assert_int_equal(int_at(o, "idle_ns"), x->cpus[i].ns[AC_IDLE]);
		for (int k = AC_USER; k <= AC_BUSY; k++)
			assert_int_equal(int_at(o, report__class_key(k)), x->cpus[i].ns[k]);
	}
	for (size_t i = 0; i < x->r.nr_groups; i++) {
		json_t *o = array_at(j, "groups", i);

		assert_int_equal(int_at(o, "id"), x->groups[i].id);
		assert_string_equal(text_at(o, "cgroup"), x->groups[i].path);
		assert_int_equal(int_at(o, "tasks"), x->groups[i].tasks);
		check_classes(o, x->groups[i].ns);
	}
	for (size_t i = 0; i < x->r.nr_procs; i++) {
		json_t *o = array_at(j, "processes", i);

		assert_int_equal(int_at(o, "pid"), x->procs[i].pid);
		assert_int_equal(int_at(o, "uid"), x->procs[i].uid);
		assert_string_equal(text_at(o, "comm"), x->procs[i].comm);
		check_classes(o, x->procs[i].ns);
	}
	for (size_t i = 0; i < x->r.nr_tasks; i++) {
		json_t *o = array_at(j, "tasks", i);

		assert_int_equal(int_at(o, "tid"), x->tasks[i].tid);
		assert_int_equal(int_at(o, "exec"), x->tasks[i].exec);
		assert_int_equal(int_at(o, "migrations"), x->tasks[i].migrations);
		assert_string_equal(text_at(o, "state"), x->tasks[i].state);
		check_classes(o, x->tasks[i].ns);
		for (size_t k = 0; k < 2; k++)
			check_classes(array_at(o, "cpus", k), x->tasks[i].cpus[k].ns);
		for (size_t k = 0; k < x->tasks[i].calls.n; k++)
			check_call(array_at(o, "calls", k), &x->calls[k]);
	}
}

static void test_json_is_the_report(void **state)
{
	struct fixture *x = make(2);
	json_t *j = render_json(&x->r), *sys, *window, *call;

	(void)state;
	assert_int_equal(int_at(j, "schema"), 1);
	assert_string_equal(text_at(json_object_get(j, "tool"), "version"), UTILBPF_VERSION);
	assert_string_equal(text_at(json_object_get(j, "tool"), "engine"), "bpf");
	assert_string_equal(text_at(json_object_get(j, "host"), "arch"), "x86_64");
	window = json_object_get(j, "window");
	assert_int_equal(int_at(window, "elapsed_ns"), 10 * S);
	assert_has(text_at(window, "start_time"), ".123456789");
	assert_int_equal(text_at(window, "start_time")[10], 'T');
	assert_int_equal(text_at(window, "start_time")[strlen("2026-11-20T00:00:00.123456789+00")],
			 ':');
	assert_true(json_is_null(json_object_get(json_object_get(j, "cost"), "bpf_run_ns")));
	sys = json_object_get(j, "system");
	check_classes(sys, x->r.sys_ns);
	assert_int_equal(int_at(sys, "idle_ns"), x->r.sys_ns[AC_IDLE]);
	assert_int_equal(int_at(sys, "processes"), PROCS);
	for (size_t i = 0; i < x->r.sys_calls.n; i++)
		check_call(array_at(sys, "calls", i), &x->calls[i]);
	call = array_at(sys, "calls", 2);
	assert_string_equal(text_at(call, "abi"), "i386");
	assert_string_equal(text_at(call, "class"), "syscall");
	assert_int_equal(int_at(array_at(sys, "calls", 3), "id"), -1);
	assert_true(json_is_null(json_object_get(array_at(sys, "calls", 5), "abi")));
	check_json_entities(x, j);
	json_decref(j);
	free(x);
}

static void test_json_levels_and_lines(void **state)
{
	static const char *const keys[] = {"system", "cpus", "groups", "processes", "tasks"};
	struct fixture *x = make(2);
	char *text = NULL, *nl;
	size_t len;
	struct out_opts o = default_opts;

	(void)state;
	for (x->r.level = LEVEL_SYSTEM; x->r.level <= LEVEL_TASK; x->r.level++) {
		json_t *j = render_json(&x->r);

		for (size_t i = 0; i < 5; i++)
			assert_int_equal(json_object_get(j, keys[i]) != NULL, i <= x->r.level);
		json_decref(j);
	}
	/* two reports are two lines */
	x->r.level = LEVEL_TASK;
	o.f = open_memstream(&text, &len);
	assert_int_equal(out__json(&x->r, NULL, &o), 0);
	assert_int_equal(out__json(&x->r, NULL, &o), 0);
	fclose(o.f);
	nl = strchr(text, '\n');
	assert_non_null(nl);
	assert_int_equal(strchr(nl + 1, '\n') - text, len - 1);
	free(text);
	free(x);
}

/* (other) is one name everywhere, whatever the engine left there. */
static void test_json_other(void **state)
{
	struct fixture *x = make(2);
	json_t *j;

	(void)state;
	x->procs[1] = (struct rep_proc){.other = true, .comm = "junk"};
	x->tasks[3] = (struct rep_task){.other = true, .state = "running"};
	j = render_json(&x->r);
	assert_string_equal(text_at(array_at(j, "processes", 1), "comm"), "(other)");
	assert_string_equal(text_at(array_at(j, "tasks", 3), "comm"), "(other)");
	assert_int_equal(int_at(array_at(j, "tasks", 3), "tid"), 0);
	/* strings that nobody filled are there, and empty */
	assert_string_equal(text_at(array_at(j, "tasks", 3), "cgroup"), "");
	json_decref(j);
	free(x);
}

/* All that 63 bits hold is exact; what is beyond stops at the largest number readers can hold. */
static void test_json_integers(void **state)
{
	static const uint64_t numbers[] = {(1ULL << 53) + 1, INT64_MAX - 1, INT64_MAX, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct fixture *x = make_huge(numbers[i]);
		json_t *j = render_json(&x->r);
		json_t *p = array_at(j, "processes", 0);
		int64_t want = i < 3 ? (int64_t)numbers[i] : INT64_MAX;

		assert_true(int_at(p, "user_ns") == want);
		assert_true(int_at(json_object_get(j, "cost"), "bpf_run_ns") == want);
		assert_true(int_at(json_object_get(j, "quality"), "residual_ns") == INT64_MIN);
		json_decref(j);
		free(x);
	}
}

/* Whatever a source cannot tell, readers are promised numbers; what says nothing is listed. */
static void test_json_of_a_poor_source(void **state)
{
	static const char keys[] = "user_ns sys_ns irq_ns softirq_ns hv_ns busy_ns wait_ns "
				   "sleep_ns blocked_ns iowait_ns stopped_ns idle_ns";
	static const char *const of_tasks[] = {"uid",	     "cgroup_id", "start_ns",
					       "migrations", "voluntary", "involuntary"};
	struct fixture *x = make(2);
	json_t *j = render_json(&x->r), *o;
	char *all = NULL;
	size_t i, len;
	FILE *f = open_memstream(&all, &len);

	(void)state;
	assert_int_equal(json_array_size(json_object_get(j, "unrecorded")), 0);
	json_decref(j);
	x->r.absent = UINT32_MAX;
	memset(x->r.sys_ns, 0, sizeof(x->r.sys_ns));
	memset(x->tasks[0].ns, 0, sizeof(x->tasks[0].ns));
	x->tasks[0].uid = 0;
	j = render_json(&x->r);
	check_classes(json_object_get(j, "system"), x->r.sys_ns);
	assert_int_equal(int_at(json_object_get(j, "system"), "idle_ns"), 0);
	o = array_at(j, "tasks", 0);
	check_classes(o, x->tasks[0].ns);
	assert_true(int_at(o, "uid") == UINT32_MAX); /* root is somebody */
	assert_true(json_is_string(json_object_get(o, "cgroup")));
	for (i = 0; i < sizeof(of_tasks) / sizeof(of_tasks[0]); i++)
		assert_true(json_is_integer(json_object_get(o, of_tasks[i])));
	json_array_foreach(json_object_get(j, "unrecorded"), i, o)
		fprintf(f, " %s", json_string_value(o));
	fclose(f);
	assert_has(all, keys);
	for (i = 0; i < sizeof(of_tasks) / sizeof(of_tasks[0]); i++)
		assert_has(all, of_tasks[i]);
	assert_has(all, " cgroup ");
	assert_has(all, " system cpus");
	free(all);
	json_decref(j);
	free(x);
}

/* --- the schema, checked by a reader of its own --- */

static void check_schema(json_t *root, json_t *s, json_t *v, const char *where);

static bool type_matches(const char *type, json_t *v)
{
	return (!strcmp(type, "object") && json_is_object(v)) ||
	       (!strcmp(type, "array") && json_is_array(v)) ||
	       (!strcmp(type, "string") && json_is_string(v)) ||
	       (!strcmp(type, "integer") && json_is_integer(v)) ||
	       (!strcmp(type, "boolean") && json_is_boolean(v)) ||
	       (!strcmp(type, "null") && json_is_null(v));
}

static void check_type(json_t *type, json_t *v, const char *where)
{
	size_t i;
	json_t *t;
	bool ok = json_is_string(type) && type_matches(json_string_value(type), v);

	json_array_foreach(type, i, t) ok |= type_matches(json_string_value(t), v);
	if (type && !ok)
		fail_msg("%s has the wrong type", where);
}

/* Both ways: what the schema asks for is there, and what is there is in the schema. */
static void check_object(json_t *root, json_t *s, json_t *v, const char *where)
{
	json_t *props = json_object_get(s, "properties"),
	       *required = json_object_get(s, "required");
	const char *key;
	json_t *value;
	size_t i;

	json_array_foreach(required, i, value) if (!json_object_get(v, json_string_value(value)))
		fail_msg("%s lacks %s", where, json_string_value(value));
	json_object_foreach(props, key, value) if (!json_object_get(v, key))
		fail_msg("%s lacks %s, which the schema has", where, key);
	json_object_foreach(v, key, value)
	{
		if (!json_object_get(props, key))
			fail_msg("%s has %s, which the schema lacks", where, key);
		check_schema(root, json_object_get(props, key), value, key);
	}
}

static void check_schema(json_t *root, json_t *s, json_t *v, const char *where)
{
	const char *ref = json_string_value(json_object_get(s, "$ref"));
	json_t *value, *values = json_object_get(s, "enum"), *min = json_object_get(s, "minimum");
	bool found = !values;
	size_t i;

	if (ref) {
		assert_int_equal(strncmp(ref, "#/$defs/", 8), 0);
		s = json_object_get(json_object_get(root, "$defs"), ref + 8);
		assert_non_null(s);
	}
	check_type(json_object_get(s, "type"), v, where);
	json_array_foreach(values, i, value) found |= json_equal(value, v);
	if (!found)
		fail_msg("%s is not one of its values", where);
	if (json_object_get(s, "const"))
		assert_true(json_equal(json_object_get(s, "const"), v));
	if (min && json_is_integer(v))
		assert_true(json_integer_value(v) >= json_integer_value(min));
	if (json_is_object(v))
		check_object(root, s, v, where);
	json_array_foreach(v, i, value)
		check_schema(root, json_object_get(s, "items"), value, where);
}

static json_t *load_schema(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	json_t *s;

	assert_int_equal(out__json_schema(f), 0);
	fclose(f);
	s = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(s);
	free(text);
	return s;
}

static void test_schema(void **state)
{
	struct fixture *reports[] = {make(2), make_hostile(), make_huge(UINT64_MAX)};
	json_t *schema = load_schema();

	(void)state;
	assert_string_equal(text_at(schema, "$schema"),
			    "https://json-schema.org/draft/2020-12/schema");
	for (size_t i = 0; i < 3; i++) {
		json_t *j = render_json(&reports[i]->r);

		check_schema(schema, schema, j, "report");
		json_decref(j);
		free(reports[i]);
	}
	json_decref(schema);
}

/* The keys that are promised, by hand: a renamed column must not go unseen. */
static void test_schema_keeps_its_promise(void **state)
{
	static const struct {
		const char *array;
		const char *keys;
	} promised[] = {
		{"cpus", "cpu user_ns sys_ns irq_ns softirq_ns hv_ns busy_ns idle_ns switches"},
		{"groups", "cgroup id container user_ns stopped_ns tasks calls"},
		{"processes", "pid comm cgroup uid user_ns wait_ns tasks calls"},
		{"tasks",
		 "tid pid exec comm cgroup kthread start_ns end_ns state sleep_ns blocked_ns "
		 "iowait_ns migrations voluntary involuntary cpus calls"},
	};
	static const char call_keys[] =
		"class id abi name count errors elapsed_ns pending_ns open "
		"min_ns max_ns oncpu_ns wait_ns sleep_ns blocked_ns iowait_ns "
		"stopped_ns irq_stolen_ns";
	struct fixture *x = make(2);
	json_t *j = render_json(&x->r);

	(void)state;
	for (size_t i = 0; i <= 4; i++) {
		json_t *o = i < 4 ? array_at(j, promised[i].array, 0)
				  : array_at(json_object_get(j, "system"), "calls", 0);
		char *keys = strdup(i < 4 ? promised[i].keys : call_keys);

		for (char *k = strtok(keys, " "); k; k = strtok(NULL, " "))
			if (!json_object_get(o, k))
				fail_msg("no %s in %s", k, i < 4 ? promised[i].array : "a call");
		free(keys);
	}
	json_decref(j);
	free(x);
}

/* --- CSV --- */

#define FIELDS_MAX 128

struct csv {
	const char *p;
	char *field[FIELDS_MAX];
	size_t nr;
};

static void csv_free(struct csv *c)
{
	for (size_t i = 0; i < c->nr; i++)
		free(c->field[i]);
	c->nr = 0;
}

/* One record by RFC 4180. False at the end. */
static bool csv_next(struct csv *c)
{
	csv_free(c);
	if (!*c->p)
		return false;
	for (;;) {
		char *f = calloc(1, strlen(c->p) + 1), *to = f;
		bool quoted = *c->p == '"';

		assert_non_null(f);
		c->p += quoted;
		while (*c->p && (quoted || (*c->p != ',' && *c->p != '\n'))) {
			if (*c->p == '"') {
				assert_true(quoted);
				if (*++c->p != '"')
					break;
			}
			*to++ = *c->p++;
		}
		assert_true(c->nr < FIELDS_MAX);
		c->field[c->nr++] = f;
		if (*c->p++ == '\n')
			return true;
		assert_int_equal(c->p[-1], ',');
	}
}

static size_t csv_column(const struct csv *head, const char *name)
{
	for (size_t i = 0; i < head->nr; i++)
		if (!strcmp(head->field[i], name))
			return i;
	fail_msg("no column %s", name);
	return 0;
}

static void test_csv(void **state)
{
	struct fixture *x = make_hostile();
	char *text = render(out__csv, &x->r, default_opts);
	struct csv head = {.p = text}, row = {.p = NULL};
	uint64_t user = 0, rows[8] = {0};
	size_t procs = 0, calls = 0;

	(void)state;
	assert_true(csv_next(&head));
	assert_string_equal(head.field[0], "level");
	for (size_t i = 0; i < head.nr; i++)
		assert_int_equal(csv_column(&head, head.field[i]), i);
	row.p = head.p;
	while (csv_next(&row)) {
		const char *level = row.field[0];

		assert_int_equal(row.nr, head.nr);
		if (!strcmp(level, "system")) {
			rows[0] = strtoull(row.field[csv_column(&head, "user_ns")], NULL, 10);
			assert_string_equal(row.field[csv_column(&head, "lost_events")], "0");
		}
		if (!strcmp(level, "process")) {
			const char *comm = row.field[csv_column(&head, "comm")];

			user += strtoull(row.field[csv_column(&head, "user_ns")], NULL, 10);
			if (procs % HOSTILE == 1 || procs % HOSTILE == 10 || procs % HOSTILE == 11)
				assert_string_equal(comm, x->procs[procs].comm);
			procs++;
		}
		if (!strcmp(level, "call") && !strcmp(row.field[1], "task")) {
			calls++;
			assert_string_not_equal(row.field[csv_column(&head, "tid")], "");
			assert_string_equal(row.field[csv_column(&head, "user_ns")], "");
		}
	}
	assert_int_equal(procs, PROCS);
	assert_int_equal(calls, 5 * x->r.nr_tasks);
	assert_true(user == rows[0] && user);
	csv_free(&head);
	free(text);
	free(x);
}

static void test_csv_header_once(void **state)
{
	struct fixture *x = make(2);
	struct out_opts o = default_opts;
	char *text;

	(void)state;
	o.first = false;
	text = render(out__csv, &x->r, o);
	assert_int_equal(strncmp(text, "system,,0,", 10), 0);
	assert_lacks(text, "level");
	free(text);
	x->r.level = LEVEL_CPU;
	text = render(out__csv, &x->r, o);
	assert_has(text, "\ncpu,");
	assert_lacks(text, "\nprocess,");
	free(text);
	free(x);
}

/* --- the complete report --- */

static void test_full(void **state)
{
	struct fixture *x = make(2);
	char *text = render(out__full, &x->r, default_opts);

	(void)state;
	assert_has(
		text,
		"\n--  PID:\n  1497:\n     -- [    task] command              cpu         user"
		"          sys          irq      softirq           hv         busy         idle |");
	assert_has(text, "\n\t[  1497-0] postgres0              0   300.000001     0.000000 ");
	assert_has(text, "\n\t[  1497-1] postgres0            ALL ");
	assert_has(text, "\n\t[    1497] postgres0            ALL ");
	assert_has(text, "\n\t[     ALL]                      ALL ");
	assert_has(text,
		   "\n\n\t     -- ( ID)name                  count      elapsed      pending      "
		   "average      minimum      maximum | errors   open ");
	assert_has(text,
		   "\n\t\t(  0)read                 1200345 37340.000000     0.000000     0.031107 "
		   "    0.000402 37340.000000 |     31      3 ");
	assert_has(text,
		   "\n\t\t(232)epoll_wait                0     0.000000 120000.000000           -- "
		   "          --           -- |");
	assert_has(text, "\n\t\t( 24)virtio0                1032 ");
	assert_has(text, "\n\t\t(  1)write [i386] ");
	/* by count, then by elapsed */
	assert_true(strstr(text, ")read ") < strstr(text, ")clock_nanosleep "));
	assert_true(strstr(text, ")clock_nanosleep ") < strstr(text, ")write "));
	assert_has(text, "\n--  CPU:\n");
	assert_has(text, "\n--  GROUP:\n");
	assert_has(text, "  /user.slice\n");
	assert_has(text, "\n    ALL:\n");
	assert_has(text, "\nTotal Trace Time: 10000.000000 ms\n");
	assert_has(text, "\nnothing lost, residual 0 ns\n");
	free(text);
	/* without tasks, the calls are the process's */
	x->r.level = LEVEL_PROCESS;
	text = render(out__full, &x->r, default_opts);
	assert_lacks(text, "[    1497]");
	assert_has(text, "\n\t[     ALL] postgres0            ALL ");
	free(text);
	free(x);
}

/* --- sort keys --- */

/* Each key that is offered is taken, and orders each kind of table that has it. */
static void test_sort_keys(void **state)
{
	struct fixture *x = make(2);
	char *keys = strdup(out__sort_keys());
	size_t nr = 0;

	(void)state;
	for (char *k = strtok(keys, ","); k; k = strtok(NULL, ","), nr++) {
		struct out_opts o = default_opts;

		assert_true(out__sort_key_valid(k));
		o.sort = k;
		for (o.by = LEVEL_SYSTEM; o.by <= LEVEL_TASK; o.by++)
			free(render(out__text, &x->r, o));
		free(render(out__full, &x->r, o));
	}
	assert_true(nr > 25);
	assert_string_equal(out__sort_keys() + strlen(out__sort_keys()) - 11, "involuntary");
	assert_true(out__sort_key_valid("user_ns"));
	assert_true(out__sort_key_valid("cpu"));
	assert_false(out__sort_key_valid("cpu_number"));
	assert_false(out__sort_key_valid("nonsense"));
	assert_false(out__sort_key_valid(""));
	assert_false(out__sort_key_valid(NULL));
	free(keys);
	free(x);
}

static void test_sort_order(void **state)
{
	struct fixture *x = make(2);
	struct out_opts o = default_opts;
	char *text;

	(void)state;
	x->procs[17].ns[AC_IOWAIT] = 1;
	x->procs[18].voluntary = 5;
	o.top = 1;
	o.sort = "sys";
	text = render(out__text, &x->r, o);
	assert_has(text, "\n1526 postgres29 ");
	free(text);
	o.sort = "pid";
	text = render(out__text, &x->r, o);
	assert_has(text, "\n1497 postgres0 ");
	free(text);
	o.sort = "iowait";
	text = render(out__text, &x->r, o);
	assert_has(text, "\n1514 postgres17 ");
	assert_has(text, " iowait\n");
	free(text);
	o.sort = "voluntary";
	text = render(out__text, &x->r, o);
	assert_has(text, "\n1515 postgres18 ");
	free(text);
	/* a key that the table does not have leaves it as it was */
	o.sort = "errors";
	text = render(out__text, &x->r, o);
	assert_has(text, "\n1497 postgres0 ");
	free(text);
	free(x);
}

/* --- edges --- */

static void test_empty(void **state)
{
	struct report r = {.level = LEVEL_TASK};
	render_fn fns[] = {out__text, out__full, out__csv, out__json};
	json_t *j = render_json(&r), *schema = load_schema();

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (struct out_opts o = default_opts; o.width > 0; o.width -= 40) {
			char *text = render(fns[i], &r, o);

			check_printable(text);
			free(text);
		}
	}
	check_schema(schema, schema, j, "empty report");
	json_decref(schema);
	json_decref(j);
}

static void test_write_errors(void **state)
{
	struct fixture *x = make(2);
	render_fn fns[] = {out__text, out__full, out__csv, out__json};
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	for (size_t i = 0; i < 4; i++) {
		struct out_opts o = default_opts;

		o.f = fopen("/dev/full", "w");
		assert_non_null(o.f);
		assert_int_equal(fns[i](&x->r, NULL, &o), -ENOSPC);
		fclose(o.f);
		/* unbuffered, as stderr is: the error is that of the first write */
		o.f = fdopen(dup(fds[1]), "w");
		assert_non_null(o.f);
		setvbuf(o.f, NULL, _IONBF, 0);
		assert_int_equal(fns[i](&x->r, NULL, &o), -EPIPE);
		fclose(o.f);
	}
	{
		FILE *f = fopen("/dev/full", "w");

		assert_int_equal(out__json_schema(f), -ENOSPC);
		fclose(f);
	}
	close(fds[1]);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_says_it),
		cmocka_unit_test(test_text_busy_where_there_is_some),
		cmocka_unit_test(test_text_online),
		cmocka_unit_test(test_text_folds_cpus),
		cmocka_unit_test(test_text_levels),
		cmocka_unit_test(test_text_top),
		cmocka_unit_test(test_text_short_window),
		cmocka_unit_test(test_text_calls_order),
		cmocka_unit_test(test_text_loss_is_loud),
		cmocka_unit_test(test_text_never_wider),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_hostile_json),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_report_sums),
		cmocka_unit_test(test_json_is_the_report),
		cmocka_unit_test(test_json_levels_and_lines),
		cmocka_unit_test(test_json_other),
		cmocka_unit_test(test_json_integers),
		cmocka_unit_test(test_json_of_a_poor_source),
		cmocka_unit_test(test_schema),
		cmocka_unit_test(test_schema_keeps_its_promise),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_csv_header_once),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_sort_keys),
		cmocka_unit_test(test_sort_order),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_write_errors),
	};

	return cmocka_run_group_tests_name("out", tests, NULL, NULL);
}
