/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens the tracepoints as perf events: which ones there are, on which CPU or task, one ring for
 * all that belong together.
 *
 * It owns descriptors, rings and the limits that they need. It knows nothing of what events mean.
 */
#ifndef PERF_EVENTS_H
#define PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "decode.h"
#include "perf_ring.h"

/* What all rings have in common. */
struct perf_config {
	uint32_t groups;  /* EV_* of opts.h */
	size_t pages;	  /* of each ring; 0: from the CPUs and the limit */
	uint64_t memory;  /* of all rings, bytes; 0: a 64th of the machine's. Only without pages */
	uint32_t sources; /* how many there will be, about: for the limits */
	pid_t own[2];	  /* tasks whose system calls are left out; 0: none */
	bool tasks;	  /* there are sources that are a task's on any CPU: with CPUs in records */
	bool for_file;	  /* PERF_REC_SAMPLE_FILE, and records of names */
	int verbose;
};

/* One event of each source; the same order in all of them. */
struct perf_kind {
	const char *system, *name;
	uint32_t group; /* EV_* that it belongs to */
	struct perf_event_attr attr;
};

/* One CPU's, or one task's, events and the ring that they share. */
struct perf_source {
	pid_t pid;	 /* -1: any */
	int cpu;	 /* -1: any */
	uint32_t groups; /* EV_*: of these there are events */
	bool inherit;	 /* what the task forks is watched, too */
	int *fds;	 /* by kind, -1: not of its groups */
	int lead;	 /* the first one, which leads the group */
	struct perf_ring ring;
	bool was_full; /* since the last perf_events__lost(): only then can anything be lost */
	/* The reader's notes. */
	uint32_t queue;		   /* a number that no other source has or had */
	uint32_t new_pid, new_tid; /* of the last PERF_RECORD_FORK */
	uint64_t lost;		   /* by the ring's own records, so far */
	uint64_t lost_told;	   /* of that and of what was counted by event */
	uint64_t last;		   /* time of the last record, 0: there was none */
};

/* A ring that had more room than this was never so full that the kernel lost a record. */
#define PERF_RECORD_ROOM 65536

struct perf_events {
	struct perf_config c;
	struct perf_kind *kinds;
	size_t nr_kinds;
	struct perf_source *sources;
	size_t nr;
	int epfd;    /* readable when a ring is filled to its watermark */
	int tracing; /* tracefs, a directory */
	uint32_t queues;
	bool chosen;	/* the rings' size is our choice */
	bool have_lost; /* the kernel counts what it lost by event (6.0) */
};

/*
 * Finds the tracepoints, gives their formats to d, and raises RLIMIT_NOFILE as needed. 0, or -errno
 * and in why one line that says what failed, why, and what to do.
 */
int perf_events__new(struct perf_events **pe, const struct perf_config *c, struct decode *d,
		     char *why, size_t len);
void perf_events__free(struct perf_events *pe); /* NULL-safe */

/*
 * One more source, not yet enabled: of s are taken pid, cpu, groups (at least one kind of which is
 * there) and inherit (only with a cpu). The same errors; -ENODEV: the CPU is offline, -ESRCH: the
 * task is gone.
 */
int perf_events__add(struct perf_events *pe, const struct perf_source *s, char *why, size_t len);
/* What records hold with that configuration, for perf_rec__parse(). */
uint64_t perf_events__sample_type(const struct perf_config *c);
/* Drops the source at index i; the last one takes its place. */
void perf_events__remove(struct perf_events *pe, size_t i);
/* Starts the source's whole group at once. 0 or -errno. */
int perf_events__enable(struct perf_events *pe, struct perf_source *s);
/*
 * How much the kernel has lost of s since the beginning, by its own count: also what no record in
 * the ring has told of yet. 0: it does not tell (before 6.0), or nothing can have been lost since
 * the last call.
 */
uint64_t perf_events__lost(struct perf_events *pe, struct perf_source *s);

/* Bytes of all rings. */
uint64_t perf_events__bytes(const struct perf_events *pe);
/* The sample id of the source's kind k, for the header of a file; 0: cannot be told. */
uint64_t perf_events__id(const struct perf_source *s, size_t k);

/* An open file below tracefs ("events/header_page"); negative: -errno. */
int perf_events__tracefs(const struct perf_events *pe, const char *path);

/* For --version. */
void perf_events__features(FILE *f);

#endif /* PERF_EVENTS_H */
