/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tables of the BPF programs, as their reader has them: maps them, moves the windows'
 * boundaries and makes a report of each ended one.
 *
 * It works on descriptors, so it does not care who has loaded the programs: this process
 * (engine_bpf.c) or another one.
 */
#ifndef BPF_READER_H
#define BPF_READER_H

#include "collect.h"
#include "names.h"
#include "report.h"

/* How far ahead of its time a boundary is published, and how long after it tables are read. */
#define AHEAD_NS  1000000ULL
#define SETTLE_NS 2000000ULL
/* As often in a row a boundary may be late; then the residual tells. */
#define LATE_N 10

struct bpf_table {
	int fd;
	size_t value; /* bytes of a record */
	uint32_t n;   /* records */
	void *mem;    /* mapped, or a copy */
	bool mapped;
	bool copied; /* not mappable: copy it before reading */
};

/* Counters that only grow, as they were at the last report: a report tells the growth. */
struct bpf_before {
	uint64_t runs, unmatched, dropped_tasks, dropped_calls, lost, folded; /* of the CPUs */
	uint64_t missed, run_ns;					      /* the programs' */
};

/* Whoever fills it in sets all fields but t, and `copied` and `mem` of the tables by table calls.
 */
struct bpf_reader {
	struct names *names;
	struct collect *collect;
	struct bpf_table cpus, tasks, calls, rows, icalls;
	struct acct_cpu *near_cpus; /* where they are when `cpus` has one record only */
	struct tables t;
	bool *online;
	uint32_t ncpus;		/* possible */
	struct acct_ctl *ctl;	/* the programs' own, mapped */
	int hctl;		/* descriptor of the map that repeats it */
	int moves_fd, paths_fd; /* of the maps of moves between groups, and of groups' paths */
	const char *selection;	/* in words; NULL: everything is accounted */
	struct move *moves;	/* read at the end of a window; owned */
	uint32_t cap_moves;
	uint32_t moves_before; /* and the window before */
	uint32_t moves_told;   /* ctl->moves when the last window ended */
	int seed_cpu;	       /* of the program that seats whoever runs on a CPU */
	int *maps, *progs;     /* all of them, for what they cost; owned */
	size_t nr_maps, nr_progs;
	uint32_t absent;  /* as in struct report: what is not watched */
	bool watch_calls; /* system calls tell what a running task does */
	struct window win;
	bool unpunctual; /* every other boundary is late: a test's */
	uint64_t late; /* the last boundary was published by then, not in time: see publish_epoch()
			*/
	uint64_t index;
	struct bpf_before before;
	uint64_t cpu_before; /* loader's CPU time up to the last report, ns */
};

/* Maps the five tables, whose fd, value, n and copied are set, and shows them in t. 0 or -errno. */
int bpf_reader__map(struct bpf_reader *r);
/* Unmaps and frees what the reader owns; closes nothing. */
void bpf_reader__unmap(struct bpf_reader *r);

/* Brings a copied table up to date; a mapped one always is. 0 or -errno. */
int bpf_table__refresh(struct bpf_table *t);

/* What is watched, EV_* of opts.h: of the rest its reports say nothing. */
void bpf_reader__watch(struct bpf_reader *r, uint32_t events);

/* Publishes the start (ns, CLOCK_MONOTONIC) of window `epoch`. */
void bpf_reader__publish(struct bpf_reader *r, uint32_t epoch, uint64_t start);

/* Seats whoever runs on each CPU, or on those whose task is doubtful. 0 or -errno. */
int bpf_reader__seat(struct bpf_reader *r, bool all);

/* As engine_ops.announce. */
void bpf_reader__announce(struct bpf_reader *r, uint64_t end);

/* Ends the current window at `end`, or as soon as possible, and waits until it is safely past. */
void bpf_reader__end(struct bpf_reader *r, uint64_t end);

/* Waits until the ended window, whose end is published, is safely past. */
void bpf_reader__settle(struct bpf_reader *r);

/* At the first window's start: the counts of quality and cost begin there. */
void bpf_reader__forget_warmup(struct bpf_reader *r);

/*
 * Makes *r of the ended window and goes on to the next one. 0 or -errno. When its end was late, it
 * has time of the next one, which misses it: only both together (report__add()) are true.
 */
int bpf_reader__take(struct bpf_reader *rd, struct report *r);

/* What the maps take in the kernel, bytes, about. */
uint64_t bpf_reader__map_bytes(const struct bpf_reader *r);

/* Threads that live now; 1024 where /proc does not tell. */
uint64_t bpf_reader__live_threads(void);

#define HASH_BYTES 80 /* of a preallocated hash element with the indexes' keys, about */

#endif /* BPF_READER_H */
