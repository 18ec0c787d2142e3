/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Brings the records of a recording into the order of their time, in memory that does not grow with
 * their number: it remembers runs of records that are in order already, as places in a file, and
 * merges them. It knows of a record only its size; what its time is, the caller tells.
 */
#ifndef PERF_ORDER_H
#define PERF_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a record counts; *time: its time, 0: that of the record before it in its run. */
typedef bool order_time_fn(void *ctx, const uint8_t *p, uint32_t size, uint64_t *time);

#define ORDER_STORES 2

struct order_run;

struct order {
	bool swap; /* of the records' headers */
	order_time_fn *time_of;
	void *ctx;
	int fd[ORDER_STORES]; /* where the runs' bytes are, by the store that add() was told */
	/* the rest is its own */
	struct order_run **heap; /* by the time of their first record that is not merged yet */
	size_t n, cap;
	struct order_run *open; /* the last one, while records may follow */
	uint64_t seq;
	uint64_t max;	 /* the latest time so far */
	uint64_t ready;	 /* what it was at the end of the last round */
	uint64_t limit;	 /* how far the merge goes now */
	size_t floor;	 /* and that it ends when no more runs than these are left */
	uint32_t window; /* bytes that are read of a run at a time */
	bool given;	 /* the first run's first record has been given out */
	uint32_t size;	 /* of that */
};

void order__free(struct order *o);

/* The record of size bytes at off of a store counts, and its time is `time`. 0 or -ENOMEM. */
int order__add(struct order *o, unsigned int store, uint64_t off, uint32_t size, uint64_t time);
/* It does not count. */
void order__pass(struct order *o, unsigned int store, uint64_t off, uint32_t size);

/* A round has ended: what is not after the round before may be merged. */
void order__round(struct order *o);
/* Nothing follows: everything may be merged. */
void order__end(struct order *o);
/*
 * True: there are so many runs that they would take memory out of proportion (a damaged file, or
 * one without rounds from thousands of rings): the earliest half is to be merged now.
 */
bool order__crowded(struct order *o);

/*
 * The next record that may be given out: 1, with *p valid until the next call;
 * 0: read on; -errno: its bytes cannot be read again.
 */
int order__next(struct order *o, const uint8_t **p, uint32_t *size, uint64_t *time);

/* The place of what order__next() has given last, or has failed at. */
uint64_t order__where(const struct order *o);

/* What is before this place of a store is not needed any more. */
uint64_t order__keep(const struct order *o, unsigned int store);

#endif /* PERF_ORDER_H */
