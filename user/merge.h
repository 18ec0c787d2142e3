/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of many rings into one order, that of time.
 *
 * Each ring has a queue. What comes out of a ring is nearly in order: an interrupt that comes
 * between an event's time stamp and its place in the ring puts its own, later events before it. So
 * a queue sorts what it takes, and gives up to a time that its owner knows to be safe. It knows
 * neither rings nor clocks.
 */
#ifndef MERGE_H
#define MERGE_H

#include "feed.h"

/*
 * An event; or, when lost is not 0, so many were lost of ev.cpu before ev.time; or, when `online`
 * is not 0, ev.cpu has come (1) or gone (-1) at ev.time.
 */
struct merged {
	struct feed_event ev;
	uint64_t lost;
	int online;
};

struct merge_queue {
	struct merged *v; /* v[first..n) wait, in the order of time */
	size_t first, n, cap;
};

/* All zeroes is an empty one. */
struct merge {
	struct merge_queue *q;
	uint32_t nr;
	size_t waiting; /* in all queues */
};

void merge__free(struct merge *m);

/* Room for the queue's next element, made when there is none; zeroed. NULL: no memory. */
struct merged *merge__slot(struct merge *m, uint32_t queue);
/* What was written there is part of the queue, behind all that is not later. */
void merge__commit(struct merge *m, uint32_t queue);

/*
 * Hands all that is before `until` to fn, in the order of time, and of queues where times are
 * equal. Stops when fn returns non-zero, and returns that.
 */
int merge__until(struct merge *m, uint64_t until, int (*fn)(void *ctx, const struct merged *it),
		 void *ctx);

#endif /* MERGE_H */
