// SPDX-License-Identifier: GPL-2.0-only
/* Formats of old and new kernels, both byte orders and word sizes; records that are damaged. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decode.h"

#define COMMON(id, name)                                                                           \
	"name: " name "\nID: " #id "\nformat:\n"                                                   \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define NEW_STATES                                                                                 \
	"print fmt: \"prev_state=%s%s\", (REC->prev_state & ((((0x00000000 | 0x00000001) + 1)"     \
	" << 1) - 1)) ? __print_flags(REC->prev_state & 0xff, \"|\", { 0x00000001, \"S\" },"       \
	" { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" },"                    \
	" { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" },"                    \
	" { 0x00000080, \"I\" }) : \"R\", REC->prev_state & 0x100 ? \"+\" : \"\"\n"
/* 4.9: the raw state, with its own flag for a preempted task */
#define OLD_STATES                                                                                 \
	"print fmt: \"prev_state=%s%s\", REC->prev_state & (4096-1) ? __print_flags("              \
	"REC->prev_state & (4096-1), \"|\", { 1, \"S\"} , { 2, \"D\" }, { 4, \"T\" },"             \
	" { 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, { 64, \"x\" }, { 128, \"K\" },"              \
	" { 256, \"W\" }, { 512, \"P\" }, { 1024, \"N\" }, { 2048, \"n\" }) : \"R\","              \
	" REC->prev_state & 4096 ? \"+\" : \"\"\n"
#define SWITCH(id, print)                                                                          \
	COMMON(id, "sched_switch")                                                                 \
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"                            \
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"                                \
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"                                 \
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"                               \
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"                           \
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"                                \
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n" print
#define FORK_LOC                                                                                   \
	COMMON(9, "sched_process_fork")                                                            \
	"\tfield:__data_loc char[] parent_comm;\toffset:8;\tsize:4;\tsigned:0;\n"                  \
	"\tfield:pid_t parent_pid;\toffset:12;\tsize:4;\tsigned:1;\n"                              \
	"\tfield:__data_loc char[] child_comm;\toffset:16;\tsize:4;\tsigned:0;\n"                  \
	"\tfield:pid_t child_pid;\toffset:20;\tsize:4;\tsigned:1;\n\n"                             \
	"print fmt: \"x\"\n"
#define EXIT32                                                                                     \
	COMMON(17, "sys_exit")                                                                     \
	"\tfield:long id;\toffset:8;\tsize:4;\tsigned:1;\n"                                        \
	"\tfield:long ret;\toffset:12;\tsize:4;\tsigned:1;\n\nprint fmt: \"x\"\n"
#define PID_ONLY(id, name)                                                                         \
	COMMON(id, name)                                                                           \
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"                                 \
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\nprint fmt: \"x\"\n"

#define ATTACH                                                                                     \
	COMMON(15, "cgroup_attach_task")                                                           \
	"\tfield:int dst_root;\toffset:8;\tsize:4;\tsigned:1;\n"                                   \
	"\tfield:int dst_level;\toffset:12;\tsize:4;\tsigned:1;\n"                                 \
	"\tfield:u64 dst_id;\toffset:16;\tsize:8;\tsigned:0;\n"                                    \
	"\tfield:int pid;\toffset:24;\tsize:4;\tsigned:1;\n"                                       \
	"\tfield:__data_loc char[] dst_path;\toffset:28;\tsize:4;\tsigned:0;\n"                    \
	"\tfield:__data_loc char[] comm;\toffset:32;\tsize:4;\tsigned:0;\n\nprint fmt: \"x\"\n"

static const struct decode_hdr hdr = {.time = 77, .cpu = 3, .pid = 40, .tid = 41};

static int format(struct decode *d, const char *system, const char *text)
{
	return decode__format(d, system, text, strlen(text));
}

/* A record under construction, in either byte order. */
struct raw {
	uint8_t b[128];
	bool big;
};

static void put(struct raw *r, uint32_t off, uint32_t size, uint64_t v)
{
	for (uint32_t i = 0; i < size; i++)
		r->b[off + (r->big ? size - 1 - i : i)] = (uint8_t)(v >> (8 * i));
}

static struct raw begin(uint16_t id, uint32_t tid, bool big)
{
	struct raw r = {.big = big};

	put(&r, 0, 2, id);
	put(&r, 4, 4, tid);
	return r;
}

static struct feed_event one_switch(const char *text, uint64_t state, bool big)
{
	struct decode *d = decode__new(big);
	struct raw r = begin(7, 41, big);
	struct feed_event ev;

	assert_int_equal(format(d, "sched", text), 7);
	memcpy(r.b + 8, "sixteen-bytes-xx", 16);
	put(&r, 24, 4, 41);
	put(&r, 32, 8, state);
	memcpy(r.b + 40, "next", 4);
	put(&r, 56, 4, 42);
	assert_int_equal(decode__event(d, &hdr, r.b, 64, &ev), 1);
	decode__free(d);
	return ev;
}

static void test_switch(void **s)
{
	(void)s;
	for (int big = 0; big < 2; big++) {
		struct feed_event ev = one_switch(SWITCH(7, NEW_STATES), 1, big);

		assert_int_equal(ev.op, FEED_SWITCH);
		assert_int_equal(ev.time, 77);
		assert_int_equal(ev.cpu, 3);
		assert_int_equal(ev.tid, 41);
		assert_int_equal(ev.tgid, 40);
		assert_int_equal(ev.prev_tid, 41);
		assert_int_equal(ev.next_tid, 42);
		assert_int_equal(ev.state, ACCT_TASK_INTERRUPTIBLE);
		assert_int_equal(ev.flags, 0);
		assert_memory_equal(ev.prev_comm, "sixteen-bytes-xx", 16);
		assert_string_equal(ev.next_comm, "next");
	}
}

static void test_states(void **s)
{
	static const struct {
		const char *text;
		uint32_t reported, state, flags;
	} t[] = {
		{SWITCH(7, NEW_STATES), 0, 0, 0},
		{SWITCH(7, NEW_STATES), 0x100, 0, FE_PREEMPT},
		{SWITCH(7, NEW_STATES), 0x10, ACCT_TASK_DEAD, 0},
		{SWITCH(7, NEW_STATES), 0x20, ACCT_TASK_DEAD, 0},
		{SWITCH(7, NEW_STATES), 0x40, ACCT_TASK_PARKED, 0},
		{SWITCH(7, NEW_STATES), 0x80, ACCT_TASK_UNINTERRUPTIBLE | ACCT_TASK_NOLOAD, 0},
		{SWITCH(7, OLD_STATES), 4096, 0, FE_PREEMPT},
		{SWITCH(7, OLD_STATES), 64, ACCT_TASK_DEAD, 0},
		{SWITCH(7, OLD_STATES), 2 | 128, ACCT_TASK_UNINTERRUPTIBLE, 0},
		{SWITCH(7, OLD_STATES), 512, ACCT_TASK_PARKED, 0},
		{SWITCH(7, OLD_STATES), 2 | 1024, ACCT_TASK_UNINTERRUPTIBLE | ACCT_TASK_NOLOAD, 0},
		/* no print format, or none that tells: the numbers since 4.14 */
		{SWITCH(7, ""), 0x80, ACCT_TASK_UNINTERRUPTIBLE | ACCT_TASK_NOLOAD, 0},
		{SWITCH(7, "print fmt: \"{{{ 3, \"S\" }\"\n"), 0x100, 0, FE_PREEMPT},
	};

	(void)s;
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct feed_event ev = one_switch(t[i].text, t[i].reported, i & 1);

		assert_int_equal(ev.state, t[i].state);
		assert_int_equal(ev.flags, t[i].flags);
	}
}

static void test_word_size(void **s)
{
	(void)s;
	for (int big = 0; big < 2; big++) {
		struct decode *d = decode__new(big);
		struct raw r = begin(17, 41, big);
		struct feed_event ev;

		assert_int_equal(format(d, "raw_syscalls", EXIT32), 17);
		put(&r, 8, 4, 5);
		put(&r, 12, 4, (uint32_t)-2);
		assert_int_equal(decode__event(d, &hdr, r.b, 16, &ev), 1);
		assert_int_equal(ev.op, FEED_SYS_EXIT);
		assert_int_equal(ev.key, CALL_KEY(CALL_SYSCALL, 0, 5));
		assert_int_equal(ev.flags, FE_ERROR);
		put(&r, 8, 4, (uint32_t)-1); /* rt_sigreturn on x86 */
		put(&r, 12, 4, (uint32_t)-5000);
		assert_int_equal(decode__event(d, &hdr, r.b, 16, &ev), 1);
		assert_int_equal(ev.key, KEY_NO_CALL);
		assert_int_equal(ev.flags, 0);
		decode__free(d);
	}
}

static void test_dynamic_names(void **s)
{
	struct decode *d = decode__new(false);
	struct raw r = begin(9, 2, false);
	struct feed_event ev;

	(void)s;
	assert_int_equal(format(d, "sched", FORK_LOC), 9);
	put(&r, 12, 4, 2); /* the parent of all kernel threads */
	put(&r, 16, 4, 7U << 16 | 24);
	put(&r, 20, 4, 99);
	memcpy(r.b + 24, "kworker", 7);
	assert_int_equal(decode__event(d, &hdr, r.b, 32, &ev), 1);
	assert_int_equal(ev.op, FEED_FORK);
	assert_int_equal(ev.tid, 2);
	assert_int_equal(ev.tgid, 0); /* the sample's tid is another: its pid says nothing */
	assert_int_equal(ev.next_tid, 99);
	assert_int_equal(ev.flags, FE_KTHREAD);
	assert_string_equal(ev.next_comm, "kworker");

	put(&r, 16, 4, 9U << 16 | 24); /* ends behind the record */
	assert_int_equal(decode__event(d, &hdr, r.b, 32, &ev), 1);
	assert_int_equal(ev.next_comm[0], 0);
	put(&r, 16, 4, 1U << 16 | 0xffff);
	assert_int_equal(decode__event(d, &hdr, r.b, 32, &ev), 1);
	assert_int_equal(ev.next_comm[0], 0);
	decode__free(d);
}

static void test_who_wakes(void **s)
{
	struct decode *d = decode__new(false);
	struct raw r = begin(11, 41, false);
	struct feed_event ev;
	struct feed_caps caps;

	(void)s;
	assert_int_equal(format(d, "sched", PID_ONLY(11, "sched_waking")), 11);
	put(&r, 24, 4, 50);
	assert_int_equal(decode__event(d, &hdr, r.b, 32, &ev), 1);
	assert_int_equal(ev.op, FEED_WAKEUP);
	assert_int_equal(ev.next_tid, 50);
	assert_int_equal(format(d, "sched", PID_ONLY(12, "sched_wakeup")), 12);
	assert_int_equal(decode__event(d, &hdr, r.b, 32, &ev), 0); /* told better by the other */
	put(&r, 0, 2, 12);
	assert_int_equal(decode__event(d, &hdr, r.b, 32, &ev), 1);
	assert_int_equal(ev.op, FEED_WAKEUP);
	assert_int_equal(format(d, "sched", PID_ONLY(13, "sched_stat_iowait")), 13);
	put(&r, 0, 2, 13);
	assert_int_equal(decode__event(d, &hdr, r.b, 32, &ev), 1);
	assert_int_equal(ev.op, FEED_STATE);
	assert_int_equal(ev.cls, AC_IOWAIT);
	decode__caps(d, &caps);
	assert_true(caps.wakeups);
	assert_false(caps.switches);
	decode__free(d);
}

/* Moves are told who knows groups, and only those in the hierarchy that the groups are of. */
static void test_moves(void **s)
{
	(void)s;
	for (int big = 0; big < 2; big++) {
		struct decode *d = decode__new(big);
		struct raw r = begin(15, 41, big);
		struct feed_event ev;
		const char *path;
		size_t len;

		assert_int_equal(format(d, "cgroup", ATTACH), 15);
		put(&r, 16, 8, 1ULL << 40 | 7);
		put(&r, 24, 4, 50);
		put(&r, 28, 4, 9U << 16 | 36);
		put(&r, 32, 4, 4U << 16 | 45);
		memcpy(r.b + 36, "/a/b.s\0\0\0new\0", 13);
		assert_int_equal(decode__event(d, &hdr, r.b, 49, &ev), 0);
		decode__want_moves(d);
		assert_int_equal(decode__event(d, &hdr, r.b, 49, &ev), 1);
		assert_int_equal(ev.op, FEED_MOVE);
		assert_int_equal(ev.next_tid, 50);
		assert_true(ev.cgroup == (1ULL << 40 | 7));
		assert_string_equal(ev.next_comm, "new");
		path = decode__group_path(d, r.b, 49, &len);
		assert_int_equal(len, 6);
		assert_memory_equal(path, "/a/b.s", 6);
		put(&r, 28, 4, 99U << 16 | 36); /* ends behind the record */
		assert_null(decode__group_path(d, r.b, 49, &len));
		put(&r, 8, 4, 1);
		assert_int_equal(decode__event(d, &hdr, r.b, 49, &ev), 0);
		decode__free(d);
	}
}

static void test_damage(void **s)
{
	struct decode *d = decode__new(false);
	struct raw r = begin(7, 41, false);
	struct feed_event ev;
	size_t n;

	(void)s;
	assert_int_equal(format(d, "sched", ""), -EINVAL);
	assert_int_equal(format(d, "sched", "name: sched_switch\n"), -EINVAL);
	assert_int_equal(format(d, "sched", "name: sched_switch\nID: 99999999\nformat:\n"),
			 -EINVAL);
	/* without prev_pid it tells nothing */
	assert_int_equal(format(d, "sched", COMMON(7, "sched_switch") NEW_STATES), -EINVAL);
	assert_int_equal(format(d, "sched", PID_ONLY(5, "sched_pi_setprio")), -ENOENT);
	assert_int_equal(format(d, "other", SWITCH(7, NEW_STATES)), -ENOENT);
	assert_int_equal(decode__event(d, &hdr, r.b, 64, &ev), -ENOENT);
	assert_int_equal(format(d, "sched", SWITCH(7, NEW_STATES)), 7);
	assert_int_equal(decode__event(d, &hdr, r.b, 59, &ev), -EINVAL);
	assert_int_equal(decode__event(d, &hdr, r.b, 1, &ev), -EINVAL);
	assert_null(decode__irq_name(d, r.b, 64, &n));
	decode__free(d);
	decode__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switch),	  cmocka_unit_test(test_states),
		cmocka_unit_test(test_word_size), cmocka_unit_test(test_dynamic_names),
		cmocka_unit_test(test_who_wakes), cmocka_unit_test(test_moves),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
