/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plays a script: applies its events, reads its windows with collect.c, checks laws and
 * expectations.
 *
 * It does not know where events are applied, on the host or in the kernel.
 */
#ifndef PLAY_H
#define PLAY_H

#include <stdbool.h>

#include "../../user/report.h"
#include "script.h"

/*
 * Where a script is applied. One without tables of its own, st NULL, makes the reports itself:
 * take gives the next window's, reset begins a new play.
 */
struct stage {
	struct script_state *st;
	void (*apply)(void *ctx, const struct script_event *ev);
	int (*take)(void *ctx, struct report *r);
	int (*reset)(void *ctx, const struct script *s);
	void *ctx;
};

/* Over all windows of a play: what they add up to. */
#define SUM_MAX 256

struct sum_task {
	uint64_t who, exec, start;
	uint64_t ns[AC_NR];
	uint64_t migrations, voluntary, involuntary;
};

struct sum_call {
	uint64_t who, exec, start;
	struct rep_call c;
};

struct sum {
	struct sum_task tasks[SUM_MAX];
	size_t ntasks;
	struct sum_call calls[SUM_MAX];
	size_t ncalls;
	uint64_t cpus[SC_CPUS][AC_NR];
	uint64_t switches[SC_CPUS];
	size_t windows;
};

struct play {
	const struct script *script;
	struct stage stage;
	bool expect; /* check the script's expectations */
	bool keep;   /* do not hand out slots again */
	struct sum sum;
	char why[512]; /* the first thing that is wrong */
};

/* 0, or -1 with the reason in why. */
int play__run(struct play *p);

/* The same with the script's windows replaced: from its start to its end, cut at these times. */
int play__run_cut(struct play *p, const uint64_t *cuts, size_t n, bool late);

/* True when two plays of a script have told the same; otherwise says in why what differs. */
bool play__same(const struct sum *a, const struct sum *b, char *why, size_t size);

/* One line, for check.c: NULL when the report says what it expects, otherwise what is wrong. */
const char *check__expect(const struct script *s, const struct report *r, const char *text);

/* Laws 1 to 4 on one report. NULL, or what is broken. */
const char *check__laws(const struct report *r);

#endif /* PLAY_H */
