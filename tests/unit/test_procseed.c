// SPDX-License-Identifier: GPL-2.0-only
/* procseed.c: the formats of /proc with names that are out to mislead, and a /proc of our own. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "procseed.h"

#define REST                                                                                       \
	" 1 2 3 4 5 4194304 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21 22 23 24 25 26 27 28 "     \
	"29 30 31 32 33 34 35 3 37 38 39\n"

static int parse(const char *text, struct proc_stat *st)
{
	return proc__parse_stat(text, strlen(text), st);
}

static void a_stat_file(void **state)
{
	struct proc_stat st;

	(void)state;
	assert_int_equal(parse("1234 (cat) S" REST, &st), 0);
	assert_int_equal(st.tid, 1234);
	assert_string_equal(st.comm, "cat");
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.start_ticks, 4242);
	assert_int_equal(st.cpu, 3);
	assert_false(st.kthread);
	assert_int_equal(
		parse("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0"
		      " 0 0 0 0 0 0 0 0 0 0 1 0 0\n",
		      &st),
		0);
	assert_true(st.kthread);
	assert_int_equal(st.cpu, 1);
}

static void names_that_mislead(void **state)
{
	static const char *const names[] = {") S 1 2 3", "(((", ")))", "a b) R (c",
					    "\n",	 "",	" ",   "\x01\xff\x7f"};
	struct proc_stat st;
	char buf[512];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(buf, sizeof(buf), "7 (%s) D" REST, names[i]);
		assert_int_equal(parse(buf, &st), 0);
		assert_int_equal(st.state, 'D');
		assert_int_equal(st.cpu, 3);
		assert_memory_equal(st.comm, names[i], strlen(names[i]) + 1);
	}
	/* a kernel thread's name may be longer than a task's */
	assert_int_equal(parse("7 (kworker/u8:3-events_unbound) I" REST, &st), 0);
	assert_memory_equal(st.comm, "kworker/u8:3-eve", ACCT_COMM_LEN);
}

static void no_stat_file(void **state)
{
	static const char *const bad[] = {"",
					  "7",
					  "7 ",
					  "7 (",
					  "7 )",
					  "7 (a",
					  "7 (a)",
					  "7 (a) ",
					  "7 (a) S",
					  "7 (a) S ",
					  "0 (a) S" REST,
					  "-5 (a) S" REST,
					  "x (a) S" REST,
					  "7 (a) S 1 2 3 4 5 x" REST,
					  "7 (a)S 1" REST,
					  "99999999999 (a) S" REST,
					  "7 (a) S 1 2 3 4 5 6 7 8"};
	struct proc_stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i], &st), -EBADMSG);
}

static uint32_t key_of(const char *text)
{
	return proc__parse_syscall(text, strlen(text));
}

static void a_syscall_file(void **state)
{
	(void)state;
	assert_int_equal(key_of("0 0x3 0x7f 0x1 0x0 0x0 0x0 0x7ffd 0x7f\n"),
			 CALL_KEY(CALL_SYSCALL, 0, 0));
	assert_int_equal(key_of("230 0x0 0x0\n"), CALL_KEY(CALL_SYSCALL, 0, 230));
	assert_int_equal(key_of("1073741826 0x0\n"), CALL_KEY(CALL_SYSCALL, 2, 2));
	assert_int_equal(key_of("running\n"), KEY_NO_CALL);
	assert_int_equal(key_of("-1 0x7ffd 0x7f\n"), KEY_NO_CALL);
	assert_int_equal(key_of(""), KEY_NO_CALL);
	assert_int_equal(key_of("-"), KEY_NO_CALL);
	assert_int_equal(key_of("99999999999999999999999"), KEY_NO_CALL);
}

static void status_and_cgroup_files(void **state)
{
	static const char status[] = "Name:\tUid:\t7\nUmask:\t0022\nUid:\t1000\t1001\t1002\t1003\n";
	static const char v1[] = "4:cpu:/a\n1:name=systemd:/b\n0::/sys.slice/x y\n";
	const char *p = NULL;

	(void)state;
	assert_int_equal(proc__parse_uid(status, sizeof(status) - 1), 1000);
	assert_int_equal(proc__parse_uid("Uid:\t", 5), 0);
	assert_int_equal(proc__parse_uid("", 0), 0);
	assert_int_equal(proc__parse_cgroup(v1, sizeof(v1) - 1, &p), strlen("/sys.slice/x y"));
	assert_memory_equal(p, "/sys.slice/x y", strlen("/sys.slice/x y"));
	assert_int_equal(proc__parse_cgroup("0::", 3, &p), 0);
	assert_int_equal(proc__parse_cgroup("0::x\n", 5, &p), 0);
	assert_int_equal(proc__parse_cgroup("1:cpu:/\n", 8, &p), 0);
}

static void classes_of_states(void **state)
{
	(void)state;
	assert_int_equal(proc__class('S'), AC_SLEEP);
	assert_int_equal(proc__class('I'), AC_SLEEP);
	assert_int_equal(proc__class('D'), AC_BLOCKED);
	assert_int_equal(proc__class('T'), AC_STOPPED);
	assert_int_equal(proc__class('t'), AC_STOPPED);
	assert_int_equal(proc__class('R'), AC_WAIT);
	assert_int_equal(proc__class('Z'), AC_NONE);
	assert_int_equal(proc__class('X'), AC_NONE);
}

/* ---- a /proc of our own ---- */

static char root[] = "/tmp/procseed.XXXXXX";

static void write_file(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void make_dir(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	assert_int_equal(mkdir(full, 0700), 0);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(root))
		return -1;
	make_dir("10");
	make_dir("10/task");
	make_dir("10/task/10");
	make_dir("10/task/11");
	make_dir("20"); /* ends while we look: no task directory */
	make_dir("self");
	write_file("10/status", "Name:\ta\nUid:\t33\t33\t33\t33\n");
	write_file("10/cgroup", "0::/no/such/group\n");
	write_file("10/task/10/stat", "10 (lead) S" REST);
	write_file("10/task/10/syscall", "34 0x0 0x0\n");
	write_file("10/task/11/stat", "11 (thr) R" REST);
	write_file("10/task/11/syscall", "1 0x0\n"); /* not believed of one that runs */
	return 0;
}

static int teardown(void **state)
{
	char cmd[64];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -r %s", root);
	return system(cmd);
}

struct seen {
	struct feed_seed s[4];
	int n;
};

static int see(void *ctx, const struct feed_seed *s)
{
	struct seen *seen = ctx;

	assert_in_range(seen->n, 0, 3);
	seen->s[seen->n++] = *s;
	return 0;
}

static int refuse(void *ctx, const struct feed_seed *s)
{
	(void)ctx, (void)s;
	return -ENOMEM;
}

static void a_walk(void **state)
{
	struct seen seen = {.n = 0};
	struct feed_seed *lead, *thr;

	(void)state;
	assert_int_equal(proc__tasks(root, see, &seen), 0);
	assert_int_equal(seen.n, 2);
	lead = seen.s[0].tid == 10 ? &seen.s[0] : &seen.s[1];
	thr = seen.s[0].tid == 10 ? &seen.s[1] : &seen.s[0];
	assert_int_equal(lead->tid, 10);
	assert_int_equal(lead->tgid, 10);
	assert_int_equal(lead->uid, 33);
	assert_int_equal(lead->cls, AC_SLEEP);
	assert_int_equal(lead->key, CALL_KEY(CALL_SYSCALL, 0, 34));
	assert_string_equal(lead->comm, "lead");
	assert_int_equal(lead->cgroup, 0);
	assert_true(lead->start > 0);
	assert_int_equal(thr->tid, 11);
	assert_int_equal(thr->tgid, 10);
	assert_int_equal(thr->uid, 33);
	assert_int_equal(thr->cls, AC_WAIT);
	assert_int_equal(thr->key, KEY_NO_CALL);
	assert_int_equal(proc__tasks(root, refuse, NULL), -ENOMEM);
	assert_int_equal(proc__tasks("/no/such/proc", see, &seen), -ENOENT);
}

/* Ourselves, in the real one. */
static int find_self(void *ctx, const struct feed_seed *s)
{
	if (s->tid == (uint32_t)getpid())
		*(struct feed_seed *)ctx = *s;
	return 0;
}

static void ourselves(void **state)
{
	struct feed_seed me = {0};

	(void)state;
	assert_int_equal(proc__tasks("/proc", find_self, &me), 0);
	assert_int_equal(me.tid, getpid());
	assert_int_equal(me.tgid, getpid());
	assert_int_equal(me.uid, getuid());
	assert_int_equal(me.cls, AC_WAIT);
	assert_memory_equal(me.comm, "test_procseed", 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stat_file),
		cmocka_unit_test(names_that_mislead),
		cmocka_unit_test(no_stat_file),
		cmocka_unit_test(a_syscall_file),
		cmocka_unit_test(status_and_cgroup_files),
		cmocka_unit_test(classes_of_states),
		cmocka_unit_test(a_walk),
		cmocka_unit_test(ourselves),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
