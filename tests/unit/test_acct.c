// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every event script on the host: its expectations, the laws in each of its windows, and law 5 with
 * its windows cut wherever something happens.
 *
 * Built from the object of collect.c, report.c and report_util.c, with tests/events/ in place of
 * names.c.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../events/cut.h"
#include "../events/each.h"

static struct script_state tables;
#define ST (&tables)
#include "../events/apply.h"

static void host_apply(void *ctx, const struct script_event *ev)
{
	(void)ctx;
	apply(ev);
}

static const struct stage host = {.st = &tables, .apply = host_apply};

static void test_script(void **state)
{
	const char *path = *state;
	struct script s;
	char err[256];
	struct play *p;

	if (script__read(&s, path, err, sizeof(err)))
		fail_msg("%s", err);
	assert_true(s.nex > 0);
	p = play_new(&s, &host);
	p->expect = true;
	if (play__run(p))
		fail_msg("%s", p->why);
	free(p);
	if (!s.nocut)
		cut_everywhere(&s, &host);
	script__free(&s);
}

static const struct acct_cpu quiet; /* no interrupts */

/* A switch of t, in AC_USER since 100, to nt, which waits since 90, both in the same window. */
static void two_tasks(struct acct_task *t, struct acct_task *nt)
{
	memset(t, 0, sizeof(*t));
	memset(nt, 0, sizeof(*nt));
	t->tag = nt->tag = GEN_FIXED | ACCT_FIRST;
	t->st.since = 100;
	nt->st.since = 90;
	t->st.cls = AC_USER;
	nt->st.cls = AC_WAIT;
}

static void refuses(struct acct_task *t, struct acct_task *nt, uint64_t now)
{
	struct acct_task a = *t, b = *nt;

	assert_int_equal(acct_switch_quick(t, nt, &quiet, now, AC_SLEEP), 0);
	assert_memory_equal(t, &a, sizeof(a));
	assert_memory_equal(nt, &b, sizeof(b));
}

/* What no script can play: times that run backwards between CPUs, classes that cannot be. */
static void test_switch_refused(void **state)
{
	struct acct_task t, nt;

	(void)state;
	two_tasks(&t, &nt);
	refuses(&t, &nt, 99);
	refuses(&t, &nt, 100);
	two_tasks(&t, &nt);
	nt.st.since = 120;
	refuses(&t, &nt, 110);
	two_tasks(&t, &nt);
	t.st.cls = AC_NONE;
	refuses(&t, &nt, 110);
	two_tasks(&t, &nt);
	nt.st.cls = AC_USER;
	refuses(&t, &nt, 110);
	two_tasks(&t, &nt);
	assert_int_equal(acct_switch_quick(&t, &nt, &quiet, 110, AC_SLEEP), 1);
	assert_int_equal(t.bank[0].s.ns[AC_USER], 10);
	assert_int_equal(nt.bank[0].s.ns[AC_WAIT], 20);
}

static void test_wakeup_refused(void **state)
{
	struct acct_task t, nt, before;

	(void)state;
	two_tasks(&t, &nt);
	nt.st.cls = AC_SLEEP;
	before = nt;
	assert_int_equal(acct_wakeup_quick(&nt, 89), 0);
	assert_memory_equal(&nt, &before, sizeof(before));
	before = t;
	assert_int_equal(acct_wakeup_quick(&t, 110), 0);
	assert_memory_equal(&t, &before, sizeof(before));
	assert_int_equal(acct_wakeup_quick(&nt, 110), 1);
	assert_int_equal(nt.bank[0].s.ns[AC_SLEEP], 20);
	assert_int_equal(nt.st.cls, AC_WAIT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest steps[] = {
		cmocka_unit_test(test_switch_refused),
		cmocka_unit_test(test_wakeup_refused),
	};
	int failed = cmocka_run_group_tests(steps, NULL, NULL);

	return each_script(argc, argv, "scripts", test_script) || failed;
}
