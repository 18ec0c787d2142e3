// SPDX-License-Identifier: GPL-2.0-only
/*
 * feed.c: every event script as the events of a recording, with the same accounts as the kernel's;
 * and what only recordings have: no beginning, holes, missing kinds of events.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ACCT_READER
#include "../../bpf/acct.h"
#include "../../user/feed.h"
#include "../events/cut.h"
#include "../events/each.h"
#include "../events/feed_stage.h"

/* ---- scripts ---- */

static void test_script(void **state)
{
	const char *path = *state, *why;
	struct script s;
	struct play *p;
	char err[256];

	if (script__read(&s, path, err, sizeof(err)))
		fail_msg("%s", err);
	why = feed_stage__cannot(&s);
	if (why) {
		print_message("skip %s: %s\n", s.name, why);
		script__free(&s);
		skip();
	}
	p = calloc(1, sizeof(*p));
	assert_non_null(p);
	p->script = &s;
	feed_stage__open(&p->stage);
	p->expect = true;
	if (play__run(p))
		fail_msg("%s", p->why);
	if (!s.nocut)
		cut_everywhere(&s, &p->stage);
	feed_stage__close(&p->stage);
	free(p);
	script__free(&s);
}

/* ---- what only recordings have ---- */

#define A	11
#define B	12
#define SYS(nr) CALL_KEY(CALL_SYSCALL, 0, nr)

static struct feed *feed_at(uint64_t start)
{
	struct feed *f = feed__new(2, NULL, LEVEL_TASK, false, NULL, start);

	assert_non_null(f);
	return f;
}

static struct feed_event event(uint64_t time, uint32_t cpu, uint32_t op, uint32_t tid)
{
	return (struct feed_event){.time = time, .cpu = cpu, .op = op, .tid = tid};
}

static void put(struct feed *f, const struct feed_event *ev)
{
	assert_int_equal(feed__event(f, ev), 0);
}

static void call(struct feed *f, uint64_t time, uint32_t op, uint32_t tid, uint32_t nr)
{
	struct feed_event ev = event(time, 0, op, tid);

	ev.key = SYS(nr);
	put(f, &ev);
}

static void switch_to(struct feed *f, uint64_t time, uint32_t cpu, uint32_t prev, uint32_t state,
		      uint32_t next)
{
	struct feed_event ev = event(time, cpu, FEED_SWITCH, prev);

	ev.prev_tid = prev;
	ev.next_tid = next;
	ev.state = state;
	put(f, &ev);
}

static void fork_of(struct feed *f, uint64_t time, uint32_t parent, uint32_t child, uint32_t tgid)
{
	struct feed_event ev = event(time, 0, FEED_FORK, parent);

	ev.next_tid = child;
	ev.next_tgid = tgid;
	put(f, &ev);
}

/* The window's report, which keeps the laws. */
static struct report take(struct feed *f, uint64_t end)
{
	struct report r = {0};
	const char *bad;

	assert_int_equal(feed__window(f, end, &r), 0);
	bad = check__laws(&r);
	if (bad)
		fail_msg("%s", bad);
	return r;
}

static const struct rep_task *task(const struct report *r, uint32_t tid, uint64_t start)
{
	for (size_t i = 0; i < r->nr_tasks; i++)
		if (r->tasks[i].tid == tid && r->tasks[i].start_ns == start)
			return &r->tasks[i];
	fail_msg("no task %u that began at %" PRIu64, tid, start);
	return NULL;
}

static const struct rep_call *call_of(const struct rep_task *t, uint32_t nr)
{
	for (size_t i = 0; i < t->calls.n; i++)
		if (t->calls.v[i].key == SYS(nr))
			return &t->calls.v[i];
	fail_msg("task %u has no call %u", t->tid, nr);
	return NULL;
}

static void end(struct feed *f, struct report *r)
{
	report__free(r);
	feed__free(f);
}

/* CURT: "sys_exit: in that call, pending"; the number is what sys_exit says. */
static void test_first_exit(void **state)
{
	struct feed *f = feed_at(100);
	const struct rep_task *t;
	struct report r;

	(void)state;
	call(f, 150, FEED_SYS_EXIT, A, 7);
	r = take(f, 200);
	t = task(&r, A, 0);
	assert_int_equal(t->ns[AC_SYS], 50);
	assert_int_equal(t->ns[AC_USER], 50);
	assert_int_equal(call_of(t, 7)->pending_ns, 50);
	assert_int_equal(call_of(t, 7)->count, 0);
	assert_int_equal(r.quality.unmatched, 0);
	end(f, &r);
}

static void test_first_switch(void **state)
{
	struct feed *f = feed_at(100);
	const struct rep_task *t;
	struct report r;

	(void)state;
	switch_to(f, 150, 0, A, ACCT_TASK_UNINTERRUPTIBLE, B);
	call(f, 160, FEED_SYS_EXIT, B, 3);
	r = take(f, 200);
	t = task(&r, A, 0);
	assert_int_equal(t->ns[AC_BUSY], 50); /* it ran, and nothing told as what */
	assert_int_equal(t->ns[AC_BLOCKED], 50);
	t = task(&r, B, 0);
	assert_int_equal(t->ns[AC_SLEEP], 50);
	assert_int_equal(t->ns[AC_SYS], 10);
	assert_int_equal(t->ns[AC_USER], 40);
	assert_int_equal(call_of(t, 3)->pending_ns, 60); /* it slept in it */
	end(f, &r);
}

/* A wakeup, too, tells that a task is there. */
static void test_first_wakeup(void **state)
{
	struct feed *f = feed_at(100);
	struct feed_event ev = event(130, 0, FEED_WAKEUP, 0);
	const struct rep_task *t;
	struct report r;

	(void)state;
	ev.next_tid = A;
	put(f, &ev);
	r = take(f, 200);
	t = task(&r, A, 0);
	assert_int_equal(t->ns[AC_SLEEP], 30);
	assert_int_equal(t->ns[AC_WAIT], 70);
	end(f, &r);
}

/* No call is timed across a hole, and nothing is known of the time in it. */
static void test_lost_running(void **state)
{
	struct feed *f = feed_at(100);
	const struct rep_task *t;
	struct report r;

	(void)state;
	call(f, 110, FEED_SYS_EXIT, A, 7);
	call(f, 120, FEED_SYS_ENTER, A, 8);
	feed__lost(f, 0, 150, 3);
	r = take(f, 160);
	t = task(&r, A, 0);
	assert_int_equal(t->ns[AC_BUSY], 40); /* since its last sure moment */
	assert_int_equal(r.quality.lost_events, 3);
	report__free(&r);
	call(f, 180, FEED_SYS_EXIT, A, 9);
	call(f, 190, FEED_SYS_ENTER, A, 8);
	call(f, 195, FEED_SYS_EXIT, A, 8);
	r = take(f, 200);
	t = task(&r, A, 0);
	assert_int_equal(call_of(t, 8)->count, 1);
	assert_int_equal(call_of(t, 8)->elapsed_ns, 5);
	assert_int_equal(r.quality.lost_events, 0);
	end(f, &r);
}

/* One that slept when events of its CPU were lost may have run there. */
static void test_lost_sleeping(void **state)
{
	struct feed *f = feed_at(100);
	const struct rep_task *t;
	struct report r;

	(void)state;
	call(f, 110, FEED_SYS_EXIT, A, 7);
	call(f, 120, FEED_SYS_ENTER, A, 8);
	switch_to(f, 130, 0, A, ACCT_TASK_INTERRUPTIBLE, 0);
	feed__lost(f, FEED_NOTID, 150, 1);
	switch_to(f, 160, 0, 0, 0, A);
	call(f, 170, FEED_SYS_EXIT, A, 8);
	r = take(f, 200);
	t = task(&r, A, 0);
	assert_int_equal(call_of(t, 8)->count, 0);
	assert_int_equal(call_of(t, 8)->pending_ns, 50);
	end(f, &r);
}

/* A tid comes again though nothing told of a death: two tasks, and the first is not charged on. */
static void test_tid_again(void **state)
{
	struct feed *f = feed_at(100);
	const struct rep_task *t;
	struct report r;

	(void)state;
	call(f, 110, FEED_SYS_EXIT, A, 7);
	fork_of(f, 120, A, B, B);
	switch_to(f, 130, 0, A, ACCT_TASK_INTERRUPTIBLE, B);
	switch_to(f, 140, 0, B, ACCT_TASK_INTERRUPTIBLE, A);
	fork_of(f, 170, A, B, B);
	r = take(f, 200);
	t = task(&r, B, 120);
	assert_int_equal(t->end_ns, 140);
	assert_int_equal(t->ns[AC_WAIT], 10);
	assert_int_equal(t->ns[AC_SLEEP], 0);
	assert_int_equal(task(&r, B, 170)->ns[AC_WAIT], 30);
	end(f, &r);
}

/* perf's own record and the tracepoint both tell of a fork: it is one. */
static void test_fork_twice(void **state)
{
	struct feed *f = feed_at(100);
	struct report r;

	(void)state;
	fork_of(f, 120, A, B, 0);
	fork_of(f, 121, A, B, A);
	r = take(f, 200);
	assert_int_equal(r.nr_tasks, 2);
	assert_int_equal(task(&r, B, 120)->pid, A);
	end(f, &r);
}

/* A thread that execs has its leader's tid before the event of the exec. */
static void test_exec_of_thread(void **state)
{
	struct feed *f = feed_at(100);
	struct feed_event ev = event(160, 0, FEED_EXEC, A);
	const struct rep_task *t;
	struct report r;

	(void)state;
	fork_of(f, 110, A, B, A);
	ev.op = FEED_EXIT;
	ev.time = 120;
	put(f, &ev);
	switch_to(f, 130, 0, A, ACCT_TASK_DEAD, B);
	call(f, 140, FEED_SYS_ENTER, B, 59);
	switch_to(f, 150, 0, A, ACCT_TASK_UNINTERRUPTIBLE, 0); /* that is B now */
	switch_to(f, 155, 0, 0, 0, A);
	ev = event(160, 0, FEED_EXEC, A);
	ev.old_tid = B;
	put(f, &ev);
	call(f, 170, FEED_SYS_EXIT, A, 59);
	r = take(f, 200);
	assert_int_equal(r.nr_tasks, 3);
	assert_int_equal(task(&r, A, 0)->end_ns, 130);
	assert_int_equal(task(&r, B, 110)->end_ns, 160);
	t = task(&r, A, 160);
	assert_int_equal(t->exec, 1);
	assert_int_equal(call_of(t, 59)->elapsed_ns, 30);
	assert_int_equal(call_of(t, 59)->off_ns[AC_BLOCKED - AC_WAIT], 5);
	end(f, &r);
}

/* A CPU's row is its online part. */
static void test_hotplug(void **state)
{
	const bool online[2] = {true, true};
	struct feed *f = feed__new(2, online, LEVEL_TASK, false, NULL, 100);
	struct report r;

	(void)state;
	assert_non_null(f);
	switch_to(f, 110, 1, A, 0, 0);
	feed__cpu(f, 1, false, 150);
	r = take(f, 200);
	assert_int_equal(r.nr_cpus, 2);
	assert_int_equal(r.cpus[0].ns[AC_IDLE], 100); /* nothing was heard of it */
	assert_int_equal(r.cpus[1].online_ns, 50);
	assert_int_equal(r.cpus[1].ns[AC_IDLE], 40);
	report__free(&r);
	r = take(f, 300);
	assert_int_equal(r.nr_cpus, 1);
	report__free(&r);
	feed__cpu(f, 1, true, 320);
	switch_to(f, 350, 1, 0, 0, A);
	r = take(f, 400);
	assert_int_equal(r.nr_cpus, 2);
	assert_int_equal(r.cpus[1].online_ns, 80);
	assert_int_equal(task(&r, A, 0)->ns[AC_WAIT], 50);
	report__free(&r);
	r = take(f, 500);
	assert_int_equal(r.cpus[1].online_ns, 100);
	end(f, &r);
}

static bool noted(const struct report *r, const char *word)
{
	for (size_t i = 0; i < sizeof(r->notes) / sizeof(r->notes[0]) && r->notes[i]; i++)
		if (strstr(r->notes[i], word))
			return true;
	return false;
}

/* One end of system calls alone tells nothing: they are absent, not zero, and the report says so.
 */
static void test_caps(void **state)
{
	struct feed_caps caps = {.switches = true,
				 .syscall_exit = true,
				 .irqs = true,
				 .softirqs = true,
				 .forks = true,
				 .comms = true,
				 .everyone = true};
	struct feed *f = feed_at(100);
	struct report r;

	(void)state;
	feed__caps(f, &caps);
	call(f, 150, FEED_SYS_EXIT, A, 7);
	r = take(f, 200);
	assert_int_equal(r.sys_calls.n, 0);
	assert_int_equal(r.quality.unmatched, 0);
	assert_true(noted(&r, "system calls"));
	assert_true(noted(&r, "wakeups"));
	assert_false(noted(&r, "softirqs"));
	assert_int_equal(task(&r, A, 0)->ns[AC_BUSY], 100);
	assert_int_equal(r.absent, 1 << AC_USER | 1 << AC_SYS | 1 << AC_HV | 1 << AC_WAIT |
					   1 << AC_BLOCKED | 1 << AC_IOWAIT | 1 << AC_STOPPED |
					   LACK_USERS | LACK_GROUPS | LACK_STARTS);
	assert_int_equal(r.nr_cpus, 1);
	report__free(&r);
	caps.everyone = false; /* no CPU's row is a CPU's then, and the system is the tasks */
	feed__caps(f, &caps);
	r = (struct report){0};
	assert_int_equal(feed__window(f, 300, &r), 0);
	assert_true(r.absent & LACK_SYSTEM);
	assert_int_equal(r.nr_cpus, 0);
	assert_int_equal(r.sys_ns[AC_BUSY], task(&r, A, 0)->ns[AC_BUSY]);
	assert_int_equal(task(&r, A, 0)->ns[AC_BUSY], 100);
	end(f, &r);
}

static void test_out_of_order(void **state)
{
	struct feed *f = feed_at(100);
	struct report r;

	(void)state;
	call(f, 150, FEED_SYS_EXIT, A, 7);
	call(f, 140, FEED_SYS_ENTER, A, 7);
	assert_int_equal(feed__time(f), 150);
	assert_int_equal(feed__count(f), 2);
	r = take(f, 120); /* past already */
	assert_int_equal(r.end_ns, 150);
	assert_int_equal(r.quality.out_of_order, 1);
	end(f, &r);
}

static void test_refused(void **state)
{
	struct feed *f = feed_at(100);
	struct feed_event ev = event(110, 2, FEED_EXIT, A);
	struct report r;

	(void)state;
	assert_int_equal(feed__event(f, &ev), -EINVAL);
	ev = event(110, 0, FEED_OP_NR, A);
	assert_int_equal(feed__event(f, &ev), -EINVAL);
	ev = event(110, 0, FEED_EXIT, 1U << 22);
	assert_int_equal(feed__event(f, &ev), -EINVAL);
	ev = event(110, 0, FEED_FRAME_ENTER, A);
	assert_int_equal(feed__event(f, &ev), -EINVAL); /* a system call is no frame */
	ev = event(110, 0, FEED_STATE, A);
	ev.next_tid = A;
	ev.cls = AC_USER;
	assert_int_equal(feed__event(f, &ev), -EINVAL);
	ev = event(UINT64_MAX, 0, FEED_EXIT, A);
	assert_int_equal(feed__event(f, &ev), -EINVAL);
	r = take(f, 200);
	end(f, &r);
}

/* sched_stat_iowait comes when the wait is over. */
static void test_iowait_told_late(void **state)
{
	struct feed *f = feed_at(100);
	struct feed_event ev = event(170, 0, FEED_STATE, 0);
	struct report r;

	(void)state;
	switch_to(f, 120, 0, A, ACCT_TASK_UNINTERRUPTIBLE, 0);
	ev.next_tid = A;
	ev.cls = AC_IOWAIT;
	put(f, &ev);
	ev.op = FEED_WAKEUP;
	put(f, &ev);
	r = take(f, 200);
	assert_int_equal(task(&r, A, 0)->ns[AC_IOWAIT], 50);
	assert_int_equal(task(&r, A, 0)->ns[AC_BLOCKED], 0);
	assert_int_equal(task(&r, A, 0)->ns[AC_WAIT], 30);
	end(f, &r);
}

/* Slots and tids come back: memory is for the tasks that live at a time. */
static void test_many_short(void **state)
{
	const struct feed_limits few = {200, 400, 200, 200};
	struct feed *f = feed_at(1000);
	struct feed_event ev;
	uint64_t t = 1000;
	struct report r;

	(void)state;
	feed__limit(f, &few);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t child = 100 + i % 5000;

		fork_of(f, t += 10, A, child, child);
		switch_to(f, t += 10, 0, A, ACCT_TASK_INTERRUPTIBLE, child);
		call(f, t += 10, FEED_SYS_ENTER, child, 1);
		call(f, t += 10, FEED_SYS_EXIT, child, 1);
		ev = event(t += 10, 0, FEED_EXIT, child);
		put(f, &ev);
		switch_to(f, t += 10, 0, child, ACCT_TASK_DEAD, A);
	}
	r = take(f, t);
	assert_int_equal(r.quality.dropped_tasks, 0);
	assert_int_equal(r.quality.dropped_calls, 0);
	assert_int_equal(r.nr_tasks, 20001);
	assert_int_equal(r.sys_calls.v[0].count, 20000);
	end(f, &r);
}

/* One that found no slot ends unseen while it runs: nobody is left behind on its CPU. */
static void test_surplus_gone(void **state)
{
	const struct feed_limits one = {1, 100, 100, 100};
	struct feed *f = feed_at(100);
	struct report r;

	(void)state;
	feed__limit(f, &one);
	call(f, 110, FEED_SYS_EXIT, A, 7);
	switch_to(f, 120, 1, 0, 0, B);
	fork_of(f, 140, A, B, B);
	switch_to(f, 150, 1, B, ACCT_TASK_INTERRUPTIBLE, 0);
	r = take(f, 200);
	assert_int_equal(r.nr_tasks, 2); /* A, and "(other)" */
	assert_int_equal(r.quality.dropped_tasks, 2);
	end(f, &r);
}

/* COMMAND is what the armed process execs, and its children. */
static void test_selected(void **state)
{
	struct feed *f = feed__new(1, NULL, LEVEL_TASK, true, NULL, 100);
	struct feed_event ev = event(120, 0, FEED_EXEC, A);
	struct report r = {0};

	(void)state;
	feed__command(f, A);
	ev.old_tid = A;
	put(f, &ev);
	fork_of(f, 130, A, B, B);
	assert_int_equal(feed__window(f, 200, &r), 0);
	assert_int_equal(r.nr_tasks, 2);
	assert_int_equal(task(&r, A, 120)->exec, 1);
	assert_int_equal(task(&r, B, 130)->ns[AC_WAIT], 70);
	end(f, &r);
}

/* Where events were lost, a new name tells that COMMAND's exec was among them; else it is to come.
 */
static void test_selected_unseen(void **state)
{
	(void)state;
	for (int lost = 0; lost < 2; lost++) {
		struct feed *f = feed__new(1, NULL, LEVEL_TASK, true, NULL, 100);
		struct feed_event ev = event(150, 0, FEED_SWITCH, A);
		struct report r;

		feed__command(f, A);
		ev.prev_tid = A;
		strcpy(ev.prev_comm, "utilbpf");
		put(f, &ev);
		if (lost)
			feed__lost(f, 0, 155, 7);
		switch_to(f, 160, 0, 0, 0, A);
		ev.time = 170;
		ev.state = ACCT_TASK_INTERRUPTIBLE;
		strcpy(ev.prev_comm, "command");
		put(f, &ev);
		r = take(f, 200);
		assert_int_equal(r.nr_tasks, lost);
		if (lost) {
			assert_string_equal(task(&r, A, 170)->comm, "command");
			assert_int_equal(task(&r, A, 170)->ns[AC_SLEEP], 30);
		}
		end(f, &r);
	}
}

/* It is selected by its new name before its exec is told of: its account has that name alone. */
static void test_selected_in_exec(void **state)
{
	struct feed *f = feed__new(1, NULL, LEVEL_TASK, true, NULL, 100);
	struct selection sel = {0};
	struct feed_event ev = event(120, 0, FEED_NAME, A);
	struct report r = {0};
	const char *takes;

	(void)state;
	assert_int_equal(sel__add_comm(&sel, "new", &takes), 0);
	feed__select(f, &sel, 0);
	call(f, 110, FEED_SYS_ENTER, A, 59);
	ev.next_tid = A;
	strcpy(ev.next_comm, "new");
	put(f, &ev);
	switch_to(f, 130, 0, A, ACCT_TASK_UNINTERRUPTIBLE, 0);
	switch_to(f, 140, 0, 0, 0, A);
	ev = event(150, 0, FEED_EXEC, A);
	ev.old_tid = A;
	put(f, &ev);
	assert_int_equal(feed__window(f, 200, &r), 0);
	assert_int_equal(r.nr_tasks, 2);
	assert_string_equal(r.tasks[0].comm, "new");
	assert_string_equal(r.tasks[1].comm, "new");
	assert_int_equal(task(&r, A, 150)->ns[AC_BUSY], 50); /* its execve was not watched */
	end(f, &r);
}

/* A thread's process is told after its first event: it was of that process all the time. */
static void test_selected_late(void **state)
{
	struct feed *f = feed__new(1, NULL, LEVEL_TASK, true, NULL, 100);
	struct selection sel = {.kinds = SELK_PID, .pids = {.v = {A}, .n = 1}};
	struct feed_event ev = event(150, 0, FEED_SYS_EXIT, B);
	struct report r = {0};

	(void)state;
	feed__select(f, &sel, 0);
	switch_to(f, 110, 0, 0, 0, B);
	ev.tgid = A;
	ev.key = SYS(7);
	put(f, &ev);
	assert_int_equal(feed__window(f, 200, &r), 0);
	assert_int_equal(r.nr_tasks, 1);
	assert_int_equal(r.tasks[0].tid, B);
	assert_int_equal(r.tasks[0].ns[AC_USER] + r.tasks[0].ns[AC_SYS] + r.tasks[0].ns[AC_BUSY],
			 90);
	end(f, &r);
}

static int own_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_exit),	 cmocka_unit_test(test_first_switch),
		cmocka_unit_test(test_first_wakeup),	 cmocka_unit_test(test_lost_running),
		cmocka_unit_test(test_lost_sleeping),	 cmocka_unit_test(test_tid_again),
		cmocka_unit_test(test_fork_twice),	 cmocka_unit_test(test_exec_of_thread),
		cmocka_unit_test(test_hotplug),		 cmocka_unit_test(test_caps),
		cmocka_unit_test(test_out_of_order),	 cmocka_unit_test(test_refused),
		cmocka_unit_test(test_iowait_told_late), cmocka_unit_test(test_many_short),
		cmocka_unit_test(test_selected_unseen),	 cmocka_unit_test(test_selected),
		cmocka_unit_test(test_surplus_gone),	 cmocka_unit_test(test_selected_in_exec),
		cmocka_unit_test(test_selected_late),
	};

	return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return each_script(argc, argv, "scripts by feed", test_script) | own_tests();
}
