// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line: what is taken, what is refused, and that a refusal is one clean line.
 *
 * The sort keys are a stub: which columns there are is the renderers' business.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/opts.h"

#define MAX_ARGS 16

static char message[4096]; /* what the last parse said on stderr */
static char *args[MAX_ARGS + 1];

bool out__sort_key_valid(const char *key)
{
	return !strcmp(key, "user") || !strcmp(key, "pid");
}

const char *out__sort_keys(void)
{
	return "user,pid";
}

/* Calls opts__parse() with stderr caught in message. */
static int parse_argv(struct opts *o, int argc, char **argv)
{
	FILE *f = tmpfile();
	int saved = dup(STDERR_FILENO), rc;
	size_t n;

	assert_non_null(f);
	assert_true(saved >= 0);
	fflush(stderr);
	assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
	rc = opts__parse(o, argc, argv);
	fflush(stderr);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	rewind(f);
	n = fread(message, 1, sizeof(message) - 1, f);
	message[n] = '\0';
	fclose(f);
	return rc;
}

/* line: arguments, cut at blanks. They live until the next call. */
static int parse(struct opts *o, const char *line)
{
	static char buf[1024];
	char *save = NULL;
	int argc = 0;

	snprintf(buf, sizeof(buf), "utilbpf %s", line);
	for (char *word = strtok_r(buf, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		assert_true(argc < MAX_ARGS);
		args[argc++] = word;
	}
	args[argc] = NULL;
	return parse_argv(o, argc, args);
}

static void good(struct opts *o, const char *line)
{
	int rc = parse(o, line);

	if (rc || message[0])
		fail_msg("'%s' gave %d: %s", line, rc, message);
}

/* Wrong usage: 2, one line of printable ASCII that points to the help and holds `says`. */
static void check_message(const char *line, int rc, const char *says)
{
	size_t len = strlen(message);

	if (rc != 2 || strncmp(message, "utilbpf: ", 9) || !strstr(message, says) ||
	    !strstr(message, "see utilbpf --help"))
		fail_msg("'%s' gave %d: %s", line, rc, message);
	assert_ptr_equal(strchr(message, '\n'), message + len - 1);
	for (size_t i = 0; i + 1 < len; i++)
		assert_in_range((unsigned char)message[i], ' ', '~');
}

static void bad(const char *line, const char *says)
{
	struct opts o;

	check_message(line, parse(&o, line), says);
}

static void test_defaults(void **state)
{
	struct opts o;

	(void)state;
	memset(&o, 0xff, sizeof(o));
	good(&o, "");
	assert_int_equal(o.action, ACTION_RUN);
	assert_int_equal(o.duration_ns, 0);
	assert_int_equal(o.interval_ns, 0);
	assert_int_equal(o.count, 0);
	assert_int_equal(o.events, EV_ALL);
	assert_false(o.by_given);
	assert_int_equal(o.by, LEVEL_PROCESS);
	assert_null(o.sort);
	assert_int_equal(o.top, 20);
	assert_false(o.full);
	assert_int_equal(o.format, FORMAT_TEXT);
	assert_null(o.output);
	assert_string_equal(o.engine, "auto");
	assert_int_equal(o.mem_limit, 0);
	assert_int_equal(o.verbose, 0);
	assert_null(o.command);
}

static void test_no_argv(void **state)
{
	char *none[] = {NULL};
	struct opts o;

	(void)state;
	assert_int_equal(parse_argv(&o, 0, none), 0);
	assert_int_equal(o.events, EV_ALL);
}

static void test_times(void **state)
{
	static const struct {
		const char *arg;
		uint64_t ns;
	} expect[] = {
		{"10", 10000000000ULL},
		{"0.01", 10000000ULL},
		{".5", 500000000ULL},
		{"5.", 5000000000ULL},
		{"0010", 10000000000ULL},
		{"1.000000001", 1000000001ULL},
		{"1.0000000019999", 1000000001ULL},
		{"315576000", 315576000000000000ULL},
		{"315360000.25", 315360000250000000ULL},
	};
	char line[64];
	struct opts o;

	(void)state;
	for (size_t i = 0; i < sizeof(expect) / sizeof(*expect); i++) {
		snprintf(line, sizeof(line), "-d %s", expect[i].arg);
		good(&o, line);
		assert_int_equal(o.duration_ns, expect[i].ns);
		snprintf(line, sizeof(line), "--interval=%s", expect[i].arg);
		good(&o, line);
		assert_int_equal(o.interval_ns, expect[i].ns);
		assert_int_equal(o.duration_ns, 0);
	}
	good(&o, "-d 5 -i 1");
	assert_int_equal(o.duration_ns, 5000000000ULL);
	good(&o, "-d 5 -d 6");
	assert_int_equal(o.duration_ns, 6000000000ULL);
}

static void test_bad_times(void **state)
{
	static const char *const wrong[] = {
		"0",
		"0.009",
		"0.00999999999",
		"-1",
		"-0.5",
		"+5",
		"nan",
		"inf",
		"infinity",
		"0x10",
		"1e3",
		"5s",
		"1.2.3",
		".",
		"5,5",
		"315576001",
		"315576000.1",
		"1e400",
		"abc",
		"10abc",
		"18446744073709551617",
		"99999999999999999999999999",
		"-i",
	};
	char *empty[] = {"utilbpf", "-d", "", NULL}, *blank[] = {"utilbpf", "-i", " 5", NULL};
	char line[128];
	struct opts o;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(line, sizeof(line), "-d %s", wrong[i]);
		bad(line, "-d/--duration takes seconds from 0.01 to 315576000");
		assert_non_null(strstr(message, wrong[i]));
		snprintf(line, sizeof(line), "--interval %s", wrong[i]);
		bad(line, "-i/--interval takes seconds");
	}
	check_message("-d ''", parse_argv(&o, 3, empty), "not ''");
	check_message("-i ' 5'", parse_argv(&o, 3, blank), "not ' 5'");
}

static void test_numbers(void **state)
{
	struct opts o;

	(void)state;
	good(&o, "-i 1 -n 12 -T 0");
	assert_int_equal(o.count, 12);
	assert_int_equal(o.top, 0);
	good(&o, "-n 4294967295 -i 1 --top=4294967295");
	assert_int_equal(o.count, UINT32_MAX);
	assert_int_equal(o.top, UINT32_MAX);
	bad("-i 1 -n 0", "-n/--count takes");
	bad("-i 1 -n -1", "-n/--count takes");
	bad("-i 1 -n 1.5", "-n/--count takes");
	bad("-i 1 -n 0x1", "-n/--count takes");
	bad("-i 1 -n 4294967296", "-n/--count takes");
	bad("-i 1 -n 18446744073709551617", "-n/--count takes");
	bad("-T -1", "-T/--top takes");
	good(&o, "-f openmetrics --max-series 100");
	assert_int_equal(o.format, FORMAT_OPENMETRICS);
	assert_int_equal(o.max_series, 100);
	assert_false(o.top_given);
	good(&o, "-f openmetrics -T 0");
	assert_int_equal(o.max_series, 50000);
	assert_true(o.top_given);
	bad("--max-series 99", "--max-series takes a whole number from 100");
	bad("--max-series 10000001", "--max-series takes");
	bad("--max-series 1k", "--max-series takes");
	bad("--max-series -100", "--max-series takes");
	bad("-T all", "-T/--top takes");
	bad("-T 4294967296", "-T/--top takes");
	bad("-n 5", "-n needs -i");
	bad("-n 5 -d 10", "-n needs -i");
}

static void test_sizes(void **state)
{
	struct opts o;

	(void)state;
	good(&o, "--mem-limit 1M");
	assert_int_equal(o.mem_limit, 1 << 20);
	good(&o, "--mem-limit 1048576");
	assert_int_equal(o.mem_limit, 1 << 20);
	good(&o, "--mem-limit=1024k");
	assert_int_equal(o.mem_limit, 1 << 20);
	good(&o, "--mem-limit 2G");
	assert_int_equal(o.mem_limit, 2ULL << 30);
	good(&o, "--mem-limit 8589934591g");
	assert_int_equal(o.mem_limit, 8589934591ULL << 30);
	bad("--mem-limit 1048575", "--mem-limit takes a size from 1M");
	bad("--mem-limit 1023K", "--mem-limit takes");
	bad("--mem-limit 0", "--mem-limit takes");
	bad("--mem-limit M", "--mem-limit takes");
	bad("--mem-limit 1MB", "--mem-limit takes");
	bad("--mem-limit 1.5G", "--mem-limit takes");
	bad("--mem-limit -1G", "--mem-limit takes");
	bad("--mem-limit 1T", "--mem-limit takes");
	bad("--mem-limit 0x100000", "--mem-limit takes");
	bad("--mem-limit 8589934592G", "--mem-limit takes");
	bad("--mem-limit 17179869185G", "--mem-limit takes");
	bad("--mem-limit 99999999999999999999", "--mem-limit takes");
}

static void test_events(void **state)
{
	struct opts o;

	(void)state;
	good(&o, "-e sched");
	assert_int_equal(o.events, EV_SCHED);
	good(&o, "-e syscalls,irqs");
	assert_int_equal(o.events, EV_SCHED | EV_SYSCALLS | EV_IRQS);
	good(&o, "--events softirqs -e hcalls");
	assert_int_equal(o.events, EV_SCHED | EV_SOFTIRQS | EV_HCALLS);
	good(&o, "-e all");
	assert_int_equal(o.events, EV_ALL);
	bad("-e disk", "-e/--events takes a list of sched,");
	bad("-e sched,", "-e/--events takes");
	bad("-e ,sched", "-e/--events takes");
	bad("-e sched,,irqs", "-e/--events takes");
	bad("-e sysc", "-e/--events takes");
	bad("-e syscallsx", "-e/--events takes");
	bad("-e SCHED", "-e/--events takes");
}

static void test_report(void **state)
{
	static const char *const levels[] = {"system", "cpu", "group", "process", "task"};
	char line[64];
	struct opts o;

	(void)state;
	for (int i = 0; i < 5; i++) {
		snprintf(line, sizeof(line), "-b %s", levels[i]);
		good(&o, line);
		assert_int_equal(o.by, i);
		assert_true(o.by_given);
	}
	bad("--by thread", "-b/--by takes system, cpu, group, process or task, not 'thread'");
	good(&o, "-s user");
	assert_string_equal(o.sort, "user");
	bad("-s colour", "-s/--sort takes one of user,pid, not 'colour'");
	good(&o, "-Ff csv");
	assert_true(o.full);
	assert_int_equal(o.format, FORMAT_CSV);
	good(&o, "--format json --full -o out.json");
	assert_int_equal(o.format, FORMAT_JSON);
	assert_string_equal(o.output, "out.json");
	good(&o, "-f text -o -");
	assert_int_equal(o.format, FORMAT_TEXT);
	assert_string_equal(o.output, "-");
	bad("-f xml", "-f/--format takes text, json, csv or openmetrics, not 'xml'");
	bad("--output=", "-o/--output takes the name of a file");
}

static void test_actions(void **state)
{
	struct opts o;

	(void)state;
	good(&o, "-h");
	assert_int_equal(o.action, ACTION_HELP);
	good(&o, "--help --bogus");
	assert_int_equal(o.action, ACTION_HELP);
	good(&o, "-V");
	assert_int_equal(o.action, ACTION_VERSION);
	assert_int_equal(o.events, EV_ALL);
	good(&o, "-Vvv");
	assert_int_equal(o.action, ACTION_VERSION);
	assert_int_equal(o.verbose, 2);
	good(&o, "--json-schema");
	assert_int_equal(o.action, ACTION_SCHEMA);
	good(&o, "-v --verbose");
	assert_int_equal(o.verbose, 2);
	good(&o, "--engine bpf");
	assert_string_equal(o.engine, "bpf");
	good(&o, "--engine=auto");
	assert_string_equal(o.engine, "auto");
	good(&o, "--engine perf");
	assert_string_equal(o.engine, "perf");
	bad("--engine ftrace", "--engine takes auto, bpf or perf, not 'ftrace'");
	good(&o, "-d 1");
	assert_int_equal(o.mmap_pages, 0);
	assert_null(o.record);
	good(&o, "--record f");
	assert_string_equal(o.record, "f");
	good(&o, "--record f --engine perf");
	bad("--record f --engine bpf", "--record needs the perf engine");
	good(&o, "--verify -d 1");
	assert_true(o.verify);
	bad("--verify -f json", "--verify runs both engines");
	bad("--verify --engine perf", "--verify runs both engines");
	bad("--record=", "--record takes the name of a file");
	good(&o, "-m 1 -d 1");
	assert_int_equal(o.mmap_pages, 1);
	good(&o, "--mmap-pages=1024");
	assert_int_equal(o.mmap_pages, 1024);
	bad("-m 3",
	    "-m/--mmap-pages takes a number of pages that is a power of two, up to 1048576, "
	    "not '3'");
	bad("-m 0", "not '0'");
	bad("-m 2097152", "not '2097152'");
	bad("-m 64K", "not '64K'");
}

static void test_command(void **state)
{
	struct opts o;

	(void)state;
	good(&o, "-d 5 -- sleep -d 1");
	assert_int_equal(o.duration_ns, 5000000000ULL);
	assert_ptr_equal(o.command, args + 4);
	assert_string_equal(o.command[0], "sleep");
	assert_string_equal(o.command[1], "-d");
	assert_string_equal(o.command[2], "1");
	assert_null(o.command[3]);
	good(&o, "-v -- -x");
	assert_string_equal(o.command[0], "-x");
	good(&o, "-- --");
	assert_string_equal(o.command[0], "--");
	bad("--", "no COMMAND after --");
	bad("-d 1 --", "no COMMAND after --");
	bad("sleep 1", "put -- before the command");
	bad("-d 1 sleep 1", "'sleep' is no option: put --");
	bad("- 1", "put -- before the command");
	/* a -- that is a value does not end the options */
	bad("-o -- sleep 1", "put -- before the command");
	good(&o, "-o -- -- sleep 1");
	assert_string_equal(o.output, "--");
	assert_string_equal(o.command[0], "sleep");
	good(&o, "-vFo -- -d 1");
	assert_string_equal(o.output, "--");
	assert_null(o.command);
}

static void test_empty_command(void **state)
{
	char *argv[] = {"utilbpf", "--", "", NULL}, *bare[] = {"utilbpf", "", NULL};
	struct opts o;

	(void)state;
	check_message("-- ''", parse_argv(&o, 3, argv), "no COMMAND after --");
	check_message("''", parse_argv(&o, 2, bare), "'' is no option");
}

static void test_serve(void **state)
{
	struct opts o;

	(void)state;
	good(&o, "serve");
	assert_int_equal(o.action, ACTION_SERVE);
	assert_int_equal(o.format, FORMAT_OPENMETRICS);
	assert_string_equal(o.listen, "127.0.0.1:9435");
	assert_int_equal(o.events, EV_ALL);
	good(&o, "serve --listen [::1]:0 -T 5 --max-series 1000 -e sched");
	assert_string_equal(o.listen, "[::1]:0");
	assert_int_equal(o.top, 5);
	assert_int_equal(o.events, EV_SCHED);
	good(&o, "serve -h");
	assert_int_equal(o.action, ACTION_HELP);
	bad("serve --listen x", "--listen takes ADDR:PORT, such as 127.0.0.1:9435");
	bad("serve --listen \033:1", "--listen takes ADDR:PORT");
	bad("serve -d 5", "-d/--duration does not go with serve");
	bad("serve -f json", "-f/--format does not go with serve");
	bad("serve now", "serve takes options only, not 'now'");
	bad("serve -- true", "serve takes options only, not 'true'");
	bad("serve --follow", "--follow needs");
	bad("--listen 127.0.0.1:1", "--listen goes with a sub-command");
}

static void test_read(void **state)
{
	struct opts o;

	(void)state;
	good(&o, "");
	assert_null(o.read);
	good(&o, "-r file -d 5");
	assert_string_equal(o.read, "file");
	assert_int_equal(o.duration_ns, 5000000000);
	good(&o, "-r - -F");
	assert_string_equal(o.read, "-");
	assert_true(o.full);
	good(&o, "-rfile");
	assert_string_equal(o.read, "file");
	good(&o, "--read=file");
	assert_string_equal(o.read, "file");
	good(&o, "--read file -i 1");
	assert_string_equal(o.read, "file");
	assert_int_equal(o.interval_ns, 1000000000);
	bad("-r file -- true", "leave out the COMMAND");
	bad("-r file true", "'true' is no option");
	bad("-r file --engine bpf", "leave out --engine");
	good(&o, "-r file -p 1 -t 2 -C 0 -c x -x --no-kthreads --follow --syscall read");
	bad("-r file -u root", "leave out -u");
	bad("-r file -G /", "leave out -u and -G");
	bad("serve -r file", "-r/--read does not go with serve");
	bad("--read=", "not an empty one");
}

static void test_commands(void **state)
{
	struct opts o;

	(void)state;
	good(&o, "start");
	assert_int_equal(o.action, ACTION_START);
	assert_int_equal(o.events, EV_ALL);
	assert_null(o.name);
	good(&o, "start -e irqs --mem-limit 4M --name web_1-a -v");
	assert_int_equal(o.events, EV_SCHED | EV_IRQS);
	assert_int_equal(o.mem_limit, 4 << 20);
	assert_string_equal(o.name, "web_1-a");
	good(&o, "report -b task -s user -T 3 -F -f json -o x --name a");
	assert_int_equal(o.action, ACTION_REPORT);
	assert_int_equal(o.by, LEVEL_TASK);
	good(&o, "stop");
	assert_int_equal(o.action, ACTION_STOP);
	good(&o, "status --name a");
	assert_int_equal(o.action, ACTION_STATUS);
	good(&o, "report --help");
	assert_int_equal(o.action, ACTION_HELP);
	bad("start -d 1", "-d/--duration does not go with start");
	bad("start -b cpu", "-b/--by does not go with start");
	bad("report -f openmetrics", "-f openmetrics is counters");
	bad("report -e irqs", "-e/--events does not go with report");
	bad("report -i 1", "-i/--interval does not go with report");
	bad("stop -f json", "-f/--format does not go with stop");
	bad("status -V", "-V/--version does not go with status");
	bad("report now", "report takes options only, not 'now'");
	bad("start -- sleep 1", "start takes options only, not 'sleep'");
	bad("--name a", "--name goes with a sub-command");
	bad("report --name ../x", "--name takes up to 40");
	bad("report --name a.b", "--name takes up to 40");
	bad("report --name", "--name needs a value");
	bad("report --name aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "--name takes up to 40");
	bad("-d 1 stop", "'stop' is no option");
	bad("starts", "'starts' is no option");
}

static void test_select_ids(void **state)
{
	struct opts o;

	(void)state;
	good(&o, "");
	assert_int_equal(o.sel.kinds, 0);
	good(&o, "-p 12,4711 --pid 12 -t 3 -x --no-kthreads --follow");
	assert_int_equal(o.sel.kinds,
			 SELK_PID | SELK_TID | SELK_NOSELF | SELK_NOKERNEL | SELK_FOLLOW);
	assert_int_equal(o.sel.pids.n, 2);
	assert_int_equal(o.sel.pids.v[0], 12);
	assert_int_equal(o.sel.pids.v[1], 4711);
	assert_int_equal(o.sel.tids.n, 1);
	good(&o, "-C 0-2,65 -C 5");
	for (uint32_t i = 0; i < 70; i++)
		assert_int_equal(sel__cpu(&o.sel, i), i <= 2 || i == 5 || i == 65);
	bad("-p 0", "-p/--pid takes process ids, such as 4711 or 12,4711, not '0'");
	bad("-p 1,", "-p/--pid takes");
	bad("-p ,1", "-p/--pid takes");
	bad("-p -1", "-p/--pid takes");
	bad("-p 4194305", "-p/--pid takes");
	bad("-p bash", "-p/--pid takes");
	bad("-t 1,,2", "-t/--tid takes thread ids");
	bad("-C 3-1", "-C/--cpu takes CPUs");
	bad("-C 8192", "-C/--cpu takes CPUs");
	bad("-C 0-", "-C/--cpu takes CPUs");
	bad("-C all", "-C/--cpu takes CPUs");
	bad("--follow", "--follow needs to know whose descendants");
	bad("-x --follow", "--follow needs");
}

/* 1024 ids are taken, one more is refused. */
static void test_select_many(void **state)
{
	char list[1025 * 8] = "";
	char *argv[] = {"utilbpf", "-p", list, NULL};
	struct opts o;
	size_t at = 0;

	(void)state;
	for (int i = 1; i <= 1024; i++)
		at += (size_t)sprintf(list + at, "%s%d", i > 1 ? "," : "", i);
	assert_int_equal(parse_argv(&o, 3, argv), 0);
	assert_int_equal(o.sel.pids.n, 1024);
	strcpy(list + at, ",1025");
	check_message("1025 ids", parse_argv(&o, 3, argv), "at most 1024");
}

static void test_select_words(void **state)
{
	struct opts o;

	(void)state;
	good(&o, "-c ng* -c [a-c]?\\* -G /a/* -G docker-*.scope -u root,0 --syscall read,write");
	assert_int_equal(o.sel.kinds, SELK_COMM | SELK_CGROUP | SELK_UID | SELK_CALL);
	assert_int_equal(o.sel.nr_comms, 2);
	assert_int_equal(o.sel.nr_cgroups, 2);
	assert_int_equal(o.sel.nr_users, 1);
	assert_int_equal(o.sel.nr_calls, 1);
	good(&o, "--depth 3");
	assert_int_equal(o.depth, 3);
	bad("--depth 0", "--depth takes a whole number from 1");
	bad("-c [a", "-c/--comm takes a glob whose [ has a ]");
	bad("-c [[:alpha:]]", "-c/--comm takes a glob whose [ has a ], and without classes");
	bad("-c [z-a]", "-c/--comm takes");
	bad("-c a\\", "does not end in a backslash");
	bad("-c systemd-journald", "at most 15 characters");
	bad("--comm=", "-c/--comm takes a glob, not an empty word");
	bad("-u root,", "-u/--uid takes users");
	bad("--syscall ,read", "--syscall takes names of system calls");
	bad("-e sched --syscall read", "--syscall needs system calls");
	good(&o, "-e sched,syscalls --syscall read");
}

static void test_bad_options(void **state)
{
	(void)state;
	bad("-z", "'-z' is no option");
	bad("-vzF", "'-z' is no option");
	bad("-:", "'-:' is no option");
	bad("--bogus", "'--bogus' is no option");
	bad("--bogus=5", "'--bogus=5' is no option");
	bad("--co", "'--co' is no option, or the beginning of several");
	bad("--full=3", "-F/--full takes no value");
	bad("--json-schema=3", "--json-schema takes no value");
	bad("-d", "-d/--duration needs a value");
	bad("--duration", "-d/--duration needs a value");
	bad("--mem-limit", "--mem-limit needs a value");
	bad("-vd", "-d/--duration needs a value");
}

/* Arguments that would drive a terminal, or fake a second line, or flood it. */
static void test_escapes(void **state)
{
	char *argv[] = {"utilbpf", "-f", "\033[31m\r\n\x9b\xc2\x9b%s%n\\'", NULL};
	char *unit[] = {"utilbpf", "-\033", NULL}, *word[] = {"utilbpf", "\033]0;x\a", NULL};
	char *longopt[] = {"utilbpf", "--\033c", NULL}, *longarg[] = {"utilbpf", NULL, NULL};
	char flood[5000];
	struct opts o;

	(void)state;
	check_message("escapes", parse_argv(&o, 3, argv),
		      "'\\x1b[31m\\x0d\\x0a\\x9b\\xc2\\x9b%s%n\\x5c\\x27'");
	check_message("short", parse_argv(&o, 2, unit), "'-\\x1b' is no option");
	check_message("word", parse_argv(&o, 2, word), "'\\x1b]0;x\\x07'");
	check_message("long", parse_argv(&o, 2, longopt), "'--\\x1bc'");
	memset(flood, '\001', sizeof(flood) - 1);
	flood[sizeof(flood) - 1] = '\0';
	longarg[1] = flood;
	check_message("flood", parse_argv(&o, 2, longarg), "\\x01...'");
	assert_true(strlen(message) < 400);
}

static void test_help(void **state)
{
	static const char *const holds[] = {
		"--duration", "--interval", "--count", "--events", "--engine",	    "--mem-limit",
		"--by",	      "--sort",	    "--top",   "--full",   "--format",	    "--output",
		"--verbose",  "--version",  "--help",  "user,pid", "--json-schema", "-- COMMAND"};
	char *text = NULL, *save = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_non_null(f);
	opts__help(f);
	assert_int_equal(fclose(f), 0);
	for (size_t i = 0; i < sizeof(holds) / sizeof(*holds); i++)
		assert_non_null(strstr(text, holds[i]));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		assert_true(strlen(line) <= 80);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),      cmocka_unit_test(test_no_argv),
		cmocka_unit_test(test_times),	      cmocka_unit_test(test_bad_times),
		cmocka_unit_test(test_numbers),	      cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_events),	      cmocka_unit_test(test_report),
		cmocka_unit_test(test_actions),	      cmocka_unit_test(test_command),
		cmocka_unit_test(test_empty_command), cmocka_unit_test(test_serve),
		cmocka_unit_test(test_read),	      cmocka_unit_test(test_select_ids),
		cmocka_unit_test(test_select_many),   cmocka_unit_test(test_commands),
		cmocka_unit_test(test_select_words),  cmocka_unit_test(test_bad_options),
		cmocka_unit_test(test_escapes),	      cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests_name("opts", tests, NULL, NULL);
}
