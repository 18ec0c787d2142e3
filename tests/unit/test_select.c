// SPDX-License-Identifier: GPL-2.0-only
/* The selection: globs against fnmatch(3), AND and OR, descent, users, calls, tasks that are gone.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/select.h"

static struct selection sel;
static const char *takes;

static int fresh(void **state)
{
	(void)state;
	memset(&sel, 0, sizeof(sel));
	return 0;
}

static bool comm(const char *glob, const char *name)
{
	char padded[ACCT_COMM_LEN] = "";
	struct sel_glob *g = malloc(sizeof(*g));
	bool yes;

	memcpy(padded, name, strnlen(name, sizeof(padded) - 1));
	assert_non_null(g);
	assert_int_equal(sel__compile(g, glob, ACCT_COMM_LEN - 1, false, &takes), 0);
	yes = sel_comm_matches(g, padded);
	free(g);
	return yes;
}

static bool path(const char *glob, const char *p)
{
	fresh(NULL);
	assert_int_equal(sel__add_cgroup(&sel, glob, &takes), 0);
	return sel__cgroup(&sel, p);
}

static void test_glob(void **state)
{
	(void)state;
	assert_true(comm("bash", "bash"));
	assert_false(comm("bash", "bas"));
	assert_false(comm("bash", "bashx"));
	assert_true(comm("*", ""));
	assert_true(comm("a*b*c", "aXXbYYbc"));
	assert_false(comm("a*b*c", "aXXbYYb"));
	assert_true(comm("[!a-c]x", "dx"));
	assert_false(comm("[!a-c]x", "bx"));
	assert_true(comm("[]x]", "]"));
	assert_true(comm("[a-]", "-"));
	assert_true(comm("\\*", "*"));
	assert_false(comm("\\*", "x"));
	assert_true(comm("123456789012345", "123456789012345"));
	assert_true(comm("*\xff?", "a\xff\x80"));
}

/* Random globs and names over few letters, against the C library's own idea. */
static void test_glob_fnmatch(void **state)
{
	static const char pattern[] = "aab**?[]!-\\", letters[] = "aabb]-!";
	unsigned int seed = 1, tried = 0;
	struct sel_glob *g = malloc(sizeof(*g));

	(void)state;
	assert_non_null(g);
	for (int i = 0; i < 200000; i++) {
		char glob[9] = "", name[ACCT_COMM_LEN] = "";
		size_t n = 1 + (size_t)rand_r(&seed) % 8, m = (size_t)rand_r(&seed) % 9;
		bool want;

		for (size_t k = 0; k < n; k++)
			glob[k] = pattern[(size_t)rand_r(&seed) % (sizeof(pattern) - 1)];
		for (size_t k = 0; k < m; k++)
			name[k] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		if (sel__compile(g, glob, ACCT_COMM_LEN - 1, false, &takes))
			continue;
		tried++;
		want = !fnmatch(glob, name, 0);
		if (want != !!sel_comm_matches(g, name))
			fail_msg("'%s' against '%s': %d wanted", glob, name, want);
	}
	assert_true(tried > 50000);
	free(g);
}

static void test_paths(void **state)
{
	char longer[400], name[420];

	(void)state;
	assert_true(path("/", "/"));
	assert_false(path("/", "/a"));
	assert_true(path("/a", "/a"));
	assert_true(path("/a", "/a/b/c"));
	assert_false(path("/a", "/ab"));
	assert_true(path("/a/*", "/a/b/c"));
	assert_false(path("/a/*", "/a"));
	assert_true(path("docker-*.scope", "/system.slice/docker-12.scope"));
	assert_true(path("docker-*.scope", "/system.slice/docker-12.scope/init"));
	assert_false(path("docker-*.scope", "/system.slice/xdocker-12.scope"));
	assert_true(path("*/x", "/a/b/x"));
	assert_true(path("a", "/a"));
	assert_false(path("a", "(gone)"));
	/* Over the words of the machine: 200 tokens and more. */
	memset(longer, 'k', sizeof(longer));
	longer[0] = '/';
	longer[250] = '\0';
	snprintf(name, sizeof(name), "%s/x", longer);
	assert_true(path(longer, longer));
	assert_true(path(longer, name));
	name[249] = 'j';
	assert_false(path(longer, name));
	longer[250] = 'k';
	longer[256] = '\0';
	assert_int_equal(sel__add_cgroup(&sel, longer, &takes), -EINVAL);
}

static bool is(uint32_t pid, uint32_t tid, uint32_t uid, const char *name, const char *cgroup)
{
	const struct sel_subject t = {
		.pid = pid, .tid = tid, .uid = uid, .comm = name, .cgroup = cgroup};

	return sel__task(&sel, &t);
}

static void test_and_or(void **state)
{
	char why[256] = "";
	struct names *n = names__new("x86_64");

	(void)state;
	assert_non_null(n);
	assert_true(is(1, 1, 0, "a", "/"));
	assert_int_equal(sel__add_pids(&sel, "10,20", &takes), 0);
	assert_true(is(10, 11, 0, "a", "/"));
	assert_true(is(20, 20, 0, "a", "/"));
	assert_false(is(11, 10, 0, "a", "/"));
	assert_int_equal(sel__add_comm(&sel, "ng*", &takes), 0);
	assert_int_equal(sel__add_comm(&sel, "php", &takes), 0);
	assert_true(is(10, 11, 0, "nginx", "/"));
	assert_true(is(20, 11, 0, "php", "/"));
	assert_false(is(10, 11, 0, "phpx", "/"));
	assert_false(is(30, 11, 0, "nginx", "/"));
	assert_int_equal(sel__add_user(&sel, "0,77", &takes), 0);
	assert_int_equal(sel__resolve(&sel, n, false, why, sizeof(why)), 0);
	assert_true(is(10, 11, 77, "php", "/"));
	assert_false(is(10, 11, 78, "php", "/"));
	assert_int_equal(sel__add_cgroup(&sel, "/web", &takes), 0);
	assert_true(is(10, 11, 77, "php", "/web/1"));
	assert_false(is(10, 11, 77, "php", "/db"));
	assert_false(is(10, 11, 77, "php", NULL));
	assert_int_equal(sel__add_tids(&sel, "11", &takes), 0);
	assert_true(is(10, 11, 77, "php", "/web/1"));
	assert_false(is(10, 12, 77, "php", "/web/1"));
	names__free(n);
}

static void test_descent(void **state)
{
	struct sel_subject t = {.pid = 5, .tid = 5, .comm = "cc1"};

	(void)state;
	assert_int_equal(sel__add_comm(&sel, "make", &takes), 0);
	t.flags = SEL_FOLLOWED;
	assert_false(sel__task(&sel, &t));
	sel.kinds |= SELK_FOLLOW;
	assert_true(sel__task(&sel, &t));
	sel.kinds |= SELK_NOKERNEL | SELK_NOSELF;
	assert_true(sel__task(&sel, &t));
	t.kthread = true;
	assert_false(sel__task(&sel, &t));
	t.kthread = false;
	t.self = true;
	assert_false(sel__task(&sel, &t));
	/* COMMAND is one more kind: descendants of make that are not COMMAND's are not meant. */
	t.self = false;
	sel.kinds |= SELK_COMMAND;
	assert_false(sel__task(&sel, &t));
	t.flags |= SEL_IN;
	assert_true(sel__task(&sel, &t));
	t.flags = SEL_IN;
	assert_false(sel__task(&sel, &t));
}

static void test_calls(void **state)
{
	struct names *n = names__new("x86_64");
	char why[256] = "";

	(void)state;
	assert_non_null(n);
	assert_true(sel__call(&sel, CALL_KEY(CALL_SYSCALL, 0, 0)));
	assert_int_equal(sel__add_calls(&sel, "read,cachestat", &takes), 0);
	assert_int_equal(sel__add_calls(&sel, "39", &takes), 0);
	assert_int_equal(sel__resolve(&sel, n, false, why, sizeof(why)), 0);
	assert_true(sel__call(&sel, CALL_KEY(CALL_SYSCALL, 0, 0)));
	assert_true(sel__call(&sel, CALL_KEY(CALL_SYSCALL, 1, 3))); /* i386's read */
	assert_true(sel__call(&sel, CALL_KEY(CALL_SYSCALL, 2, 0))); /* x32's */
	assert_true(sel__call(&sel, CALL_KEY(CALL_SYSCALL, 0, 39)));
	assert_false(sel__call(&sel, CALL_KEY(CALL_SYSCALL, 1, 39)));
	assert_true(sel__call(&sel, CALL_KEY(CALL_SYSCALL, 0, 451)));
	assert_false(sel__call(&sel, CALL_KEY(CALL_SYSCALL, 0, 1)));
	assert_false(sel__call(&sel, CALL_KEY(CALL_SYSCALL, 0, 100000)));
	assert_false(sel__call(&sel, KEY_OTHER(CALL_SYSCALL)));
	assert_true(sel__call(&sel, CALL_KEY(CALL_IRQ, 0, 1)));
	fresh(NULL);
	assert_int_equal(sel__add_calls(&sel, "read,reed\x1b[2J", &takes), 0);
	assert_int_equal(sel__resolve(&sel, n, false, why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "cannot select reed\\x1b[2J: there is no such system call");
	names__free(n);
}

static void test_machine(void **state)
{
	struct names *n = names__new("x86_64");
	char why[256] = "", id[16];
	pid_t pid;

	(void)state;
	assert_non_null(n);
	assert_int_equal(sel__add_user(&sel, "root", &takes), 0);
	assert_int_equal(sel__resolve(&sel, n, true, why, sizeof(why)), 0);
	assert_int_equal(sel.uids.n, 1);
	assert_int_equal(sel.uids.v[0], 0);
	assert_int_equal(sel__add_user(&sel, "no-such-user", &takes), 0);
	assert_int_equal(sel__resolve(&sel, n, true, why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "cannot select no-such-user: there is no such user; "
				 "see getent passwd");
	pid = fork();
	if (!pid)
		_exit(0);
	assert_true(pid > 0 && waitpid(pid, NULL, 0) == pid);
	fresh(NULL);
	snprintf(id, sizeof(id), "%d", pid);
	assert_int_equal(sel__add_pids(&sel, id, &takes), 0);
	assert_int_equal(sel__resolve(&sel, n, false, why, sizeof(why)), 0);
	assert_int_equal(sel__resolve(&sel, n, true, why, sizeof(why)), -ESRCH);
	assert_non_null(strstr(why, "there is no such process"));
	fresh(NULL);
	assert_int_equal(sel__add_cpus(&sel, "8000", &takes), 0);
	assert_int_equal(sel__resolve(&sel, n, true, why, sizeof(why)), -ENODEV);
	assert_string_equal(why, "cannot select CPU 8000: this machine has no such CPU");
	names__free(n);
}

static void test_describe(void **state)
{
	char buf[200], tiny[24];

	(void)state;
	assert_string_equal(sel__describe(&sel, buf, sizeof(buf)), "");
	sel__add_pids(&sel, "1,2", &takes);
	sel__add_cpus(&sel, "0-3,8", &takes);
	sel__add_comm(&sel, "ng*", &takes);
	sel.kinds |= SELK_NOSELF | SELK_FOLLOW;
	assert_string_equal(sel__describe(&sel, buf, sizeof(buf)),
			    "-p 1,2 -C 0-3,8 -c ng* -x --follow");
	sel__describe(&sel, tiny, sizeof(tiny));
	assert_non_null(strstr(tiny, "..."));
	assert_true(strlen(tiny) < sizeof(tiny));
	for (int i = 1; i < 100; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%d", i);
		sel__add_pids(&sel, id, &takes);
	}
	assert_non_null(strstr(sel__describe(&sel, buf, sizeof(buf)), ",... -C"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_glob, fresh),
		cmocka_unit_test_setup(test_glob_fnmatch, fresh),
		cmocka_unit_test_setup(test_paths, fresh),
		cmocka_unit_test_setup(test_and_or, fresh),
		cmocka_unit_test_setup(test_descent, fresh),
		cmocka_unit_test_setup(test_calls, fresh),
		cmocka_unit_test_setup(test_machine, fresh),
		cmocka_unit_test_setup(test_describe, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
