/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --verify: one engine against the other. As an engine it runs both over the same windows; what it
 * prints is where they differ, task by task.
 */
#ifndef VERIFY_H
#define VERIFY_H

#include <stdio.h>

#include "engine.h"

extern const struct engine_ops engine_verify;

/* What may differ: a part, or an absolute time, whatever is more. */
#define VERIFY_PART 0.01
#define VERIFY_NS   50000

/* True when two times, ns, agree within that. */
bool verify__near(uint64_t a, uint64_t b);

/* What the comparison of two reports found. */
struct verify_sums {
	uint64_t tasks;	 /* that both could see from birth to end */
	uint64_t counts; /* of calls, compared */
	uint64_t times;
	uint64_t beyond; /* that differ by more than they may, and tasks that one has not seen */
	uint64_t worst_ns;
};

/*
 * Compares the tasks that were born and have ended within the window, prints a line for each, and
 * one for each difference that is too large.
 */
void verify__compare(FILE *f, struct names *names, const struct report *bpf,
		     const struct report *perf, struct verify_sums *sums);

/* Prints the last window of e, which is of engine_verify. 0 or -errno of writing to f. */
int verify__print(struct engine *e, FILE *f);

#endif /* VERIFY_H */
