/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows added up into counters that never fall, of a bounded number of series.
 *
 * It owns which groups, processes and calls have series of their own, and what becomes of those
 * that lose them. It knows no format (out_openmetrics.c) and nobody who asks (serve.c).
 *
 * Three rules keep the figures true:
 * - What has no series of its own is added to the "(other)" entity of its kind: the rates of a
 *   kind add up to the system's.
 * - An entity that loses its series (it is gone, or a busier one needs the place) takes along what
 *   has been shown of it; what nobody has seen yet goes to "(other)". So each nanosecond is in the
 *   increase of exactly one series, and "(other)" never jumps by an old total.
 * - What was taken along is added to `evicted`: listed + other + evicted is the total since the
 *   start, to the nanosecond.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "names.h"
#include "report.h"

#define METRICS_MIN_SERIES     100
#define METRICS_MAX_SERIES     10000000
#define METRICS_DEFAULT_SERIES 50000

/* An entity that was in no window for so long loses its series: Prometheus itself looks back 5
 * minutes. */
#define METRICS_GONE_NS (300 * 1000000000ULL)

enum metric_kind {
	METRIC_GROUP,
	METRIC_PROC,
	METRIC_CALL,
	METRIC_KINDS,
};

/* Counters of an entity. Of a group and a process the first AC_IDLE are the classes, in ns. */
enum {
	MV_GROUP_CALLS = AC_IDLE, /* that ended, by class: CALL_NR of them */
	MV_GROUP_NR = MV_GROUP_CALLS + CALL_NR,
	MV_PROC_MIGRATIONS = AC_IDLE,
	MV_PROC_VOLUNTARY,
	MV_PROC_INVOLUNTARY,
	MV_PROC_NR,
	MV_CALL_COUNT = 0,
	MV_CALL_ERRORS,
	MV_CALL_ELAPSED, /* ns, as the next one */
	MV_CALL_ONCPU,
	MV_CALL_NR,
	MV_NR = MV_GROUP_NR,
};

struct metric_entity {
	char *labels; /* `cgroup="/a",container=""`, escaped: what it is known by */
	uint64_t v[MV_NR];
	uint64_t shown[MV_NR]; /* v when it was last exposed */
	uint64_t gauge;	       /* tasks of a group, open calls: in the last window */
	uint64_t seen;	       /* end of the last window that it was in, ns */
	double score;	       /* recent time, ns: who is worth a series */
	bool used;	       /* an "(other)": something has been added to it */
};

struct metric_table {
	struct metric_entity *e;
	size_t n, size;
	size_t limit; /* of n */
	struct hash index;
	struct metric_entity other[CALL_NR]; /* of calls one for each class, else only the first */
	uint64_t evicted[MV_NR];
};

struct metrics {
	struct metric_table t[METRIC_KINDS];
	bool procs;		 /* there are series of processes */
	enum report_level level; /* that the windows hold */

	struct rep_cpu *cpus;
	size_t nr_cpus;
	uint32_t absent; /* as in struct report, of the last one: series that say nothing are left
			    out */
	uint64_t sys_ns[AC_NR], switches;
	uint64_t windows, accounted_ns, last_ns;
	uint64_t tasks, nr_procs, nr_groups; /* of the last window, as the next ones */
	struct rep_quality quality;	     /* sums, but for the residual */
	struct rep_cost cost;		     /* sums, but for the sizes */
	struct rep_host host;
	const char *engine;

	char *text; /* for labels under construction */
	size_t text_len, text_size;
};

/*
 * max_series: bound of the series of groups, processes and calls together, from
 * METRICS_MIN_SERIES; those of the system and its CPUs come on top. top: how many processes have
 * series, 0: all that fit; procs false: none have. NULL: no memory.
 */
struct metrics *metrics__new(uint64_t max_series, bool procs, uint64_t top);
void metrics__free(struct metrics *m); /* NULL-safe */

/*
 * Adds a window. Always succeeds: what finds no memory for a series of its own is in "(other)".
 * A CPU that finds none is missing until there is some.
 */
void metrics__add(struct metrics *m, const struct report *r, struct names *n);

/* To be called when what was added so far has been handed to a reader. */
void metrics__shown(struct metrics *m);

#endif /* METRICS_H */
