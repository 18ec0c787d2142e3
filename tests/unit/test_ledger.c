// SPDX-License-Identifier: GPL-2.0-only
/* Reports that follow each other, added up; the sums of a resident instance, as bytes and back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/ledger.h"
#include "../../user/report_pack.h"

#define READ CALL_KEY(CALL_SYSCALL, 0, 0)

static struct names *names;
static struct timespec wall = {1700000000, 5};

static int setup(void **state)
{
	(void)state;
	names = names__new("x86_64");
	return names ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	names__free(names);
	return 0;
}

static struct rep_calls calls(uint64_t count, uint64_t elapsed, uint64_t min, uint64_t open)
{
	struct rep_calls c = {calloc(1, sizeof(struct rep_call)), 1};

	c.v[0] = (struct rep_call){.key = READ,
				   .count = count,
				   .elapsed_ns = elapsed,
				   .oncpu_ns = elapsed,
				   .min_ns = count ? min : UINT64_MAX,
				   .max_ns = count ? elapsed - min : 0,
				   .open = open != 0,
				   .open_ns = open < 100 ? open : 100,
				   .open_all_ns = open,
				   .pending_ns = open < 100 ? open : 100};
	return c;
}

/* A window of 100 ns in which process `pid` runs for 60 of them in group `id`. */
static struct report window(uint64_t start, uint32_t pid, uint64_t id, const char *path, bool alive,
			    struct rep_calls c)
{
	struct report r = {.level = LEVEL_TASK, .engine = "bpf", .reason = "test"};

	r.start_ns = start;
	r.end_ns = start + 100;
	r.start_wall = wall;
	r.quality.residual_ns = -3;
	r.sys_ns[AC_USER] = r.sys_cpu_ns[AC_USER] = 60;
	r.sys_tasks = r.sys_procs = r.sys_groups = 1;
	r.sys_alive = alive;
	r.sys_calls = c;
	r.nr_cpus = r.nr_groups = r.nr_procs = r.nr_tasks = 1;
	r.cpus = calloc(1, sizeof(*r.cpus));
	r.cpus[0] = (struct rep_cpu){.cpu = 3, .online_ns = 100};
	r.groups = calloc(1, sizeof(*r.groups));
	r.groups[0] = (struct rep_group){.id = id, .path = path, .tasks = 1, .alive = alive};
	r.groups[0].ns[AC_USER] = 60;
	r.groups[0].container = strdup("web");
	r.procs = calloc(1, sizeof(*r.procs));
	r.procs[0] = (struct rep_proc){.pid = pid,
				       .start_ns = 7,
				       .comm = "worker",
				       .cgroup_id = id,
				       .cgroup = path,
				       .tasks = 1,
				       .alive = alive,
				       .nr_tasks = 1};
	r.procs[0].ns[AC_USER] = 60;
	r.tasks = calloc(1, sizeof(*r.tasks));
	r.tasks[0] = (struct rep_task){.tid = pid,
				       .pid = pid,
				       .comm = "worker",
				       .cgroup_id = id,
				       .cgroup = path,
				       .start_ns = 7,
				       .end_ns = alive ? 0 : start + 60,
				       .exited = !alive,
				       .state = alive ? "running" : "exited"};
	r.tasks[0].ns[AC_USER] = 60;
	r.tasks[0].cpus = calloc(1, sizeof(*r.tasks[0].cpus));
	r.tasks[0].cpus[0] = (struct rep_task_cpu){.cpu = 3, .ns[AC_USER] = 60};
	r.tasks[0].nr_cpus = 1;
	return r;
}

static void add(struct ledger *l, struct report r, bool open)
{
	assert_int_equal(ledger__add(l, &r), 0);
	if (open)
		assert_int_equal(ledger__put_open(l, &r), 0);
	report__free(&r);
}

/* Through bytes and back, as the next reader has it. */
static void pass_on(struct ledger *l)
{
	size_t len;
	char *mem;

	assert_int_equal(ledger__pack(l, &mem, &len), 0);
	ledger__free(l);
	assert_int_equal(ledger__unpack(l, mem, len, names), 0);
}

/* What is alive at a boundary is counted once, and an open call is pending from its begin on. */
static void test_parts_of_a_life(void **state)
{
	struct ledger l;

	(void)state;
	assert_int_equal(ledger__init(&l, 1000, &wall, names), 0);
	pass_on(&l);
	assert_false(ledger__has_open(&l));
	add(&l, window(1000, 42, 9, "/a", true, calls(2, 50, 10, 30)), true);
	pass_on(&l);
	add(&l, window(1100, 42, 9, "/a", true, calls(1, 20, 20, 130)), true);
	pass_on(&l);
	assert_true(ledger__has_open(&l));
	assert_int_equal(l.open.end_ns - l.open.start_ns, 200);
	assert_int_equal(l.open.nr_tasks, 1);
	assert_int_equal(l.open.tasks[0].ns[AC_USER], 120);
	assert_int_equal(l.open.sys_tasks, 1);
	assert_int_equal(l.open.groups[0].tasks, 1);
	assert_string_equal(l.open.groups[0].container, "web");
	assert_int_equal(l.open.quality.residual_ns, -3);
	assert_int_equal(l.open.cpus[0].online_ns, 200);
	/* the open part counts it from where its window says, the sum from its begin */
	assert_int_equal(l.open.sys_calls.v[0].pending_ns, 100);
	assert_int_equal(l.total.sys_calls.v[0].pending_ns, 130);
	assert_int_equal(l.total.sys_calls.v[0].count, 3);
	assert_int_equal(l.total.sys_calls.v[0].min_ns, 10);
	assert_int_equal(l.total.procs[0].pid, 42);
	assert_int_equal(l.total.nr_tasks, 0);
	add(&l, window(1200, 42, 9, "/a", false, calls(1, 150, 150, 0)), true);
	assert_int_equal(l.open.tasks[0].end_ns, 1260);
	assert_int_equal(l.open.sys_calls.v[0].pending_ns, 0);
	assert_int_equal(l.total.sys_tasks, 1);
	assert_string_equal(l.total.procs[0].comm, "(ended)");
	assert_int_equal(l.total.procs[0].ns[AC_USER], 180);
	assert_int_equal(l.total.quality.folded_tasks, 1);
	ledger__told(&l, 1300);
	pass_on(&l);
	assert_false(ledger__has_open(&l));
	assert_int_equal(l.total.end_ns - l.total.start_ns, 300);
	ledger__free(&l);
}

/* Windows that nobody told wait, each as it is; there is an end to that. */
static void test_closed(void **state)
{
	struct ledger l;

	(void)state;
	assert_int_equal(ledger__init(&l, 1000, &wall, names), 0);
	for (uint64_t i = 0; i < LEDGER_CLOSED; i++) {
		add(&l, window(1000 + 100 * i, 42, 9, "/a", true, calls(1, 5, 5, 0)), true);
		assert_int_equal(ledger__close(&l), 0);
		pass_on(&l);
		assert_int_equal(l.closed[i].start_ns, 1000 + 100 * i);
		assert_int_equal(l.open.start_ns, 1100 + 100 * i);
	}
	add(&l, window(1800, 42, 9, "/a", true, calls(1, 5, 5, 0)), true);
	assert_int_equal(ledger__close(&l), -ENOSPC);
	assert_int_equal(l.total.sys_calls.v[0].count, LEDGER_CLOSED + 1);
	ledger__free(&l);
}

#define MOST 32

/* Groups come and go for ever: the busiest of those that are gone keep their names. */
static void test_groups_are_bounded(void **state)
{
	struct report all = {.level = LEVEL_PROCESS}, r;
	uint64_t sum = 0, gone = 0, procs = 0;
	char path[32];

	(void)state;
	for (uint64_t i = 0; i < 10 * MOST; i++) {
		snprintf(path, sizeof(path), "/g%d", (int)i);
		names__know_cgroup(names, 100 + i, path, NULL);
		r = window(1000 + 100 * i, 42, 100 + i, names__cgroup(names, 100 + i), false,
			   calls(1, 5, 5, 0));
		r.groups[0].ns[AC_USER] = r.procs[0].ns[AC_USER] = i;
		assert_int_equal(report__add(&all, &r, true), 0);
		report__free(&r);
		assert_int_equal(report__fold_ended(&all, MOST), 0);
		assert_true(all.nr_groups <= MOST + 1);
		sum += i;
	}
	for (size_t i = 0; i < all.nr_groups; i++) {
		gone += all.groups[i].ns[AC_USER];
		if (!strcmp(all.groups[i].path, "(gone)"))
			assert_int_equal(all.groups[i].id, 0);
	}
	for (size_t i = 0; i < all.nr_procs; i++)
		procs += all.procs[i].ns[AC_USER];
	assert_int_equal(gone, sum);
	assert_int_equal(procs, sum);
	assert_int_equal(all.sys_groups, 10 * MOST);
	report__free(&all);
}

static void test_depth(void **state)
{
	struct report sum = {.level = LEVEL_PROCESS}, r;

	(void)state;
	names__know_cgroup(names, 5, "/a", NULL);
	names__know_cgroup(names, 6, "/a/b", NULL);
	names__know_cgroup(names, 7, "/c/d/e", NULL);
	for (uint64_t id = 5; id <= 7; id++) {
		r = window(0, id, id, names__cgroup(names, id), true, calls(1, 5, 5, 0));
		assert_int_equal(report__add(&sum, &r, false), 0);
		report__free(&r);
	}
	assert_int_equal(report__fold_depth(&sum, names, 1), 0);
	assert_int_equal(sum.nr_groups, 2);
	assert_string_equal(sum.groups[0].path, "/a");
	assert_int_equal(sum.groups[0].id, 5);
	assert_int_equal(sum.groups[0].ns[AC_USER], 120);
	assert_string_equal(sum.groups[1].path, "/c");
	assert_int_equal(sum.groups[1].id, 0);
	report__free(&sum);
}

/* Bytes that somebody has damaged are refused, or make figures; nothing else. */
static void test_damaged(void **state)
{
	struct ledger l, copy;
	size_t len;
	char *mem;

	(void)state;
	assert_int_equal(ledger__init(&l, 1000, &wall, names), 0);
	add(&l, window(1000, 42, 9, "/a", true, calls(2, 50, 10, 30)), true);
	assert_int_equal(ledger__close(&l), 0);
	add(&l, window(1100, 42, 9, "/a", true, calls(2, 50, 10, 30)), true);
	assert_int_equal(ledger__pack(&l, &mem, &len), 0);
	ledger__free(&l);
	for (size_t i = 0; i < len; i++) {
		char *cut = malloc(i + 1), *bad = malloc(len);

		memcpy(cut, mem, i);
		assert_int_equal(ledger__unpack(&copy, cut, i, names), -EPROTO);
		ledger__free(&copy);
		memcpy(bad, mem, len);
		bad[i] ^= 1 << (i % 8);
		ledger__unpack(&copy, bad, len, names);
		ledger__free(&copy);
	}
	free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_of_a_life),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_groups_are_bounded),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
