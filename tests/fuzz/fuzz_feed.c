// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any events in any order, with holes, CPUs that come and go, small tables, windows anywhere and
 * any selection: nothing crashes, and the laws of conservation hold in every window.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../events/play.h"
#include "feed.h"

#define NCPUS 3

struct fuzz {
	const uint8_t *in, *end;
	struct feed *feed;
	uint64_t time;
	bool some_cpus; /* of what a task does elsewhere nothing is told: its life has gaps */
};

static uint8_t byte(struct fuzz *z)
{
	return z->in < z->end ? *z->in++ : 0;
}

/* Few, so that they meet each other. */
static uint32_t tid(struct fuzz *z)
{
	uint8_t b = byte(z);

	if (b < 0xf0)
		return b & 7;
	return b == 0xf0 ? FEED_NOTID : b == 0xf1 ? 1U << 22 : b;
}

static void window(struct fuzz *z, uint64_t end)
{
	struct report r = {0};
	const char *bad;

	if (feed__window(z->feed, end, &r))
		abort();
	bad = z->some_cpus ? NULL : check__laws(&r);
	if (bad) {
		fprintf(stderr, "%s\n", bad);
		abort();
	}
	report__free(&r);
}

static uint32_t key(struct fuzz *z, uint32_t op)
{
	uint8_t b = byte(z);

	if (b == 0xff)
		return KEY_NO_CALL;
	if (op == FEED_SYS_ENTER || op == FEED_SYS_EXIT)
		return CALL_KEY(CALL_SYSCALL, b >> 6, b & 7);
	return CALL_KEY(b & 3, 0, (b >> 2) & 3);
}

static void event(struct fuzz *z, uint32_t op)
{
	static const uint32_t states[] = {0, 1, 2, 4, 8, 0x80, 0x402, 0x40};
	struct feed_event ev = {.op = op};
	uint8_t b = byte(z);
	int err;

	ev.cpu = b & 3;
	ev.flags = b >> 4;
	ev.state = states[(b >> 1) & 7];
	z->time += byte(z);
	ev.time = b == 0xfe ? z->time - 20 : z->time;
	ev.tid = tid(z);
	ev.tgid = b & 8 ? tid(z) : 0;
	ev.key = key(z, op);
	ev.cls = AC_WAIT + (b & 7);
	ev.to = byte(z) & 3;
	ev.old_tid = tid(z);
	ev.prev_tid = b & 4 ? ev.tid : tid(z);
	ev.next_tid = tid(z);
	ev.next_tgid = b & 16 ? tid(z) : 0;
	ev.prev_comm[0] = ev.next_comm[0] = (char)(b & 32);
	if (op == FEED_MOVE)
		ev.cgroup = b & 3;
	ev.next_comm[1] = (char)byte(z);
	err = feed__event(z->feed, &ev);
	if (err == -ENOMEM)
		abort();
}

static void seed(struct fuzz *z)
{
	struct feed_seed s = {.tid = tid(z), .tgid = tid(z), .cpu = byte(z) & 3};
	uint8_t b = byte(z);

	s.cls = b & 15;
	s.key = b & 16 ? KEY_NO_CALL : CALL_KEY(CALL_SYSCALL, 0, 3);
	s.kthread = b & 32;
	s.start = b & 64 ? byte(z) : 0;
	feed__seed(z->feed, &s);
}

static void step(struct fuzz *z)
{
	uint8_t op = byte(z);

	if (op < 200) {
		event(z, op % (FEED_OP_NR + 1));
	} else if (op < 215) {
		window(z, z->time + op - 200);
	} else if (op < 230) {
		feed__lost(z->feed, op == 229 ? FEED_NOTID : op & 3, z->time + (op & 8), 1);
	} else if (op < 245) {
		feed__cpu(z->feed, op & 3, op & 4, z->time);
	} else {
		seed(z);
	}
}

/* Some of the few tasks, names, CPUs and calls that there are; kinds: SELK_*. */
static void choose(struct selection *s, uint32_t kinds)
{
	const char *takes;

	memset(s, 0, sizeof(*s));
	if ((kinds & SELK_COMM) && sel__add_comm(s, " [!a-m]*", &takes))
		abort();
	s->kinds = kinds;
	s->pids = (struct sel_ids){{1, 2, 3}, 3};
	s->tids = (struct sel_ids){{2, 4}, 2};
	s->cpus[0] = 5;
	s->last_cpu = 2;
	s->call_bits.bits[0] = 0x0a;
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	static const uint32_t kinds[] = {SELK_PID,    SELK_TID,	     SELK_COMM, SELK_FOLLOW,
					 SELK_NOSELF, SELK_NOKERNEL, SELK_CPU,	SELK_CALL};
	struct fuzz z = {.in = in, .end = in + len, .time = 1000};
	bool online[NCPUS] = {true, true, false};
	static struct selection sel;
	uint8_t b = byte(&z), which = b & 16 ? byte(&z) : 0;
	uint32_t all = 0;

	for (int i = 0; i < 8; i++)
		all |= which & (1 << i) ? kinds[i] : 0;
	choose(&sel, all);
	z.some_cpus = all & SELK_CPU;
	z.feed = feed__new(NCPUS, b & 1 ? online : NULL, LEVEL_TASK, sel__leaves_out(&sel, b & 32),
			   NULL, z.time);
	if (!z.feed)
		abort();
	feed__select(z.feed, &sel, 3);
	if (b & 32)
		feed__command(z.feed, 5);
	if (b & 4) {
		struct feed_limits l = {byte(&z) & 7, byte(&z) & 7, byte(&z) & 3, byte(&z) & 3};

		feed__limit(z.feed, &l);
	}
	if (b & 8)
		feed__warmup(z.feed);
	while (z.in < z.end) {
		if ((b & 8) && z.end - z.in < (ptrdiff_t)len / 2) {
			feed__start(z.feed, z.time);
			b &= ~8;
		}
		step(&z);
	}
	feed__start(z.feed, z.time);
	window(&z, z.time + 100);
	feed__free(z.feed);
	return 0;
}
