// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader beside a program that a hypervisor holds up in the middle of charging a task: a thread
 * plays that program. What each event does to the tables is the event scripts' business.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ACCT_READER
#include "../../bpf/acct.h"
#include "collect.h"
#include "report.h"

#define SLOT	   SLOT_FIRST(1)
#define START	   1000
#define SINCE	   1800
#define END	   2000
#define TORN	   500 /* of the slice up to SINCE is not in the sums yet */
#define HELD_UP_US 20000

static struct acct_cpu cpus[1];
static struct acct_task tasks[SLOT + 2];
static struct acct_call calls[8], icalls[16];
static struct acct_row rows[8];
static const bool online[1] = {true};

static void free_slot(void *ctx, uint32_t slot)
{
	(void)ctx, (void)slot;
}

/* One task that runs since before the window, charged up to SINCE but for TORN. */
static void setup(struct tables *t)
{
	struct acct_task *p = &tasks[SLOT], *idle = &tasks[SLOT_IDLE(0, 1)];

	memset(cpus, 0, sizeof(cpus));
	memset(tasks, 0, sizeof(tasks));
	idle->tag = GEN_FIXED | ACCT_FIRST;
	idle->st.cls = AC_NONE;
	tasks[SLOT_OTHER(0, 1)].st.cls = AC_NONE;
	p->tag = GEN_FIXED | ACCT_FIRST;
	p->st.cls = p->st.mode = AC_USER;
	p->st.since = SINCE;
	p->st.key = KEY_NO_CALL;
	p->id.tid = p->id.tgid = 7;
	p->id.start = 10;
	p->bank[ACCT_FIRST & 1].s.ns[AC_USER] = SINCE - START - TORN;
	cpus[0].slot = SLOT;
	*t = (struct tables){.ncpus = 1,
			     .online = online,
			     .cpus = cpus,
			     .tasks = tasks,
			     .ntasks = SLOT + 2,
			     .calls = calls,
			     .ncalls = 8,
			     .rows = rows,
			     .nrows = 8,
			     .icalls = icalls,
			     .nicalls = 16};
}

static void take(const struct tables *t, struct report *r)
{
	const struct window win = {.epoch = ACCT_FIRST, .start = START, .end = END};
	struct collect *c = collect__new(LEVEL_TASK, false, NULL, free_slot, NULL);

	memset(r, 0, sizeof(*r));
	assert_non_null(c);
	assert_int_equal(collect__start(c, t, START), 0);
	assert_int_equal(collect__window(c, t, &win, r), 0);
	collect__free(c);
}

static void *held_up(void *arg)
{
	(void)arg;
	usleep(HELD_UP_US);
	__atomic_add_fetch(&tasks[SLOT].bank[ACCT_FIRST & 1].s.ns[AC_USER], TORN, __ATOMIC_SEQ_CST);
	return NULL;
}

static void test_waits_for_a_program(void **state)
{
	struct report r;
	struct tables t;
	pthread_t th;

	(void)state;
	setup(&t);
	assert_int_equal(pthread_create(&th, NULL, held_up, NULL), 0);
	take(&t, &r);
	pthread_join(th, NULL);
	assert_int_equal(r.quality.residual_ns, 0);
	assert_int_equal(r.nr_tasks, 1);
	assert_int_equal(r.tasks[0].ns[AC_USER], END - START);
	assert_int_equal(r.cpus[0].ns[AC_USER], END - START);
	report__free(&r);
}

/* What stays torn is told, and counted. */
static void test_does_not_wait_for_ever(void **state)
{
	struct report r;
	struct tables t;

	(void)state;
	setup(&t);
	take(&t, &r);
	assert_int_equal(r.quality.residual_ns, -TORN);
	assert_int_equal(r.cpus[0].ns[AC_USER], END - START - TORN);
	report__free(&r);
}

/* Two windows of one reader; in the first, SLOT + 1 is torn for a while and SLOT was told before.
 */
static void *reuses(void *arg)
{
	struct acct_task *p = &tasks[SLOT];

	(void)arg;
	usleep(HELD_UP_US);
	p->tag += (1ULL << 32) + ACCT_FIRST + 1 - ACCT_WARMUP;
	p->id.tid = p->id.tgid = 9;
	p->id.start = END + 100;
	p->id.end = 0;
	p->st.cls = AC_SLEEP;
	p->st.since = END + 100;
	__atomic_add_fetch(&tasks[SLOT + 1].bank[ACCT_FIRST & 1].s.ns[AC_USER], TORN,
			   __ATOMIC_SEQ_CST);
	return NULL;
}

static void setup_reuse(struct tables *t)
{
	struct acct_task *p = &tasks[SLOT];

	setup(t);
	tasks[SLOT + 1] = *p;
	cpus[0].slot = SLOT + 1;
	memset(p, 0, sizeof(*p));
	p->tag = GEN_FIXED | ACCT_WARMUP;
	p->st.cls = AC_NONE;
	p->st.key = KEY_NO_CALL;
	p->id.tid = p->id.tgid = 8;
	p->id.start = 20;
	p->id.end = START - 1;
}

/* A resident instance's slots are reused while they are read: who lives there next is not lost. */
static void test_a_slot_that_is_reused(void **state)
{
	const struct window first = {.epoch = ACCT_FIRST, .start = START, .end = END},
			    next = {.epoch = ACCT_FIRST + 1, .start = END, .end = END + 1000};
	struct collect *c = collect__new(LEVEL_TASK, false, NULL, free_slot, NULL);
	struct report r = {0};
	struct tables t;
	pthread_t th;

	(void)state;
	assert_non_null(c);
	setup_reuse(&t);
	assert_int_equal(collect__start(c, &t, START), 0);
	assert_int_equal(pthread_create(&th, NULL, reuses, NULL), 0);
	assert_int_equal(collect__window(c, &t, &first, &r), 0);
	pthread_join(th, NULL);
	assert_int_equal(r.nr_tasks, 1);
	report__free(&r);
	memset(&r, 0, sizeof(r));
	assert_int_equal(collect__window(c, &t, &next, &r), 0);
	assert_int_equal(r.nr_tasks, 2);
	assert_int_equal(r.tasks[0].tid, 9);
	assert_int_equal(r.tasks[0].ns[AC_SLEEP], 900);
	assert_int_equal(r.quality.residual_ns, 0);
	report__free(&r);
	collect__free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_a_program),
		cmocka_unit_test(test_does_not_wait_for_ever),
		cmocka_unit_test(test_a_slot_that_is_reused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
