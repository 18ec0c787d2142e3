/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the tables of acct records to a report: completes every record up to the window's end, on
 * a copy, with the same state machine that wrote it, and adds it up.
 *
 * It does not know where the tables lie (kernel maps, user memory) nor how reports are printed.
 */
#ifndef COLLECT_H
#define COLLECT_H

#include "names.h"
#include "report.h"

/* A move between groups, that a task which has had no event since does not know of. */
struct move {
	uint64_t key; /* its tid, or its tgid | MOVE_ALL */
	struct acct_move to;
};

/* The tables as an engine shows them; arrays may be mapped and change under the reader. */
struct tables {
	uint32_t ncpus;	    /* possible CPUs: what the fixed slots were laid out for */
	const bool *online; /* by CPU: for all of this window */
	struct acct_cpu *cpus;
	struct acct_task *tasks;
	uint32_t ntasks;
	struct acct_call *calls;
	uint32_t ncalls;
	struct acct_row *rows;
	uint32_t nrows;
	struct acct_call *icalls;
	uint32_t nicalls;
	uint64_t icalls_at; /* icalls is a copy of this time; 0: it is what programs write to */
	const struct move *moves; /* the last, in any order */
	uint32_t nmoves;
};

/* The window to be collected: [start, end) is `epoch`. */
struct window {
	uint32_t epoch;
	uint64_t start, end;
	uint64_t since; /* start of the report that the window is a part of; 0: it is all of it */
	uint64_t late;	/* up to here programs may have put time into it; 0: up to its end */
	bool loose;	/* a boundary of it was late: only with its neighbour do the laws hold */
};

/* How long, and how often in a window, a program is waited for that a hypervisor holds up at the
 * boundary: a second. Then it is told as it is, and what is missing as residual. */
#define HELD_UP_NS 1000000ULL
#define HELD_UP_N  1000

struct collect;

/*
 * level: the finest that reports will hold. selected: not all tasks have records; the system and
 * CPU rows are complete all the same, but for CPUs that are not selected (acct_cpu.skip). free_slot
 * is called with each slot whose ended task has been taken in and which may be used again. NULL: no
 * memory.
 */
struct collect *collect__new(enum report_level level, bool selected, struct names *names,
			     void (*free_slot)(void *ctx, uint32_t slot), void *ctx);
void collect__free(struct collect *c);
struct sel_calls;
/* Only these calls (sel.h; must outlive c) have records, so no others are told as open. */
void collect__set_calls(struct collect *c, const struct sel_calls *calls);
/* Tells apart only the first `depth` levels of groups; 0, as it begins: all of them. */
void collect__set_depth(struct collect *c, unsigned int depth);

/* Once, when the first window's start is safely past: what the warm-up has left. */
int collect__start(struct collect *c, const struct tables *t, uint64_t start);

/*
 * Within window w: takes in the tasks that have ended so far, and frees their slots. Call it when
 * acct_cpu.exited says that it pays, never between a boundary and collect__window. 0 or -ENOMEM.
 */
int collect__reap(struct collect *c, const struct tables *t, const struct window *w);

/*
 * After w's end is safely past: fills r's entities (its header fields are the engine's), starts
 * anew. 0 or -ENOMEM. report__free frees what r then owns.
 */
int collect__window(struct collect *c, const struct tables *t, const struct window *w,
		    struct report *r);

/*
 * What the next window has to know of those before it, for a reader that ends in between: fields
 * as in collect.c. others: 2 x ncpus records.
 */
struct collect_carry {
	struct pop_sums {
		uint64_t before[AC_OFF_NR];   /* time of a population up to the last boundary */
		uint64_t saved[2][AC_OFF_NR]; /* and what it is made of, by parity */
		uint64_t n_saved[2][AC_OFF_NR];
	} surplus, rest;
	uint64_t rest_exited;
};

void collect__save(const struct collect *c, uint32_t ncpus, struct collect_carry *to,
		   struct acct_sums *others);
/* In the place of collect__start(). 0 or -ENOMEM. */
int collect__restore(struct collect *c, uint32_t ncpus, const struct collect_carry *from,
		     const struct acct_sums *others);

#endif /* COLLECT_H */
