// SPDX-License-Identifier: GPL-2.0-only
/*
 * Merges runs of records by time: a heap of runs, each read through a window of its own.
 *
 * It owns the runs. How far the merge may go follows perf's rule for PERF_RECORD_FINISHED_ROUND:
 * the recorder has read every ring once, so when a round ends, nothing can come any more that is
 * older than the latest record of the round before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "perf_order.h"

#define HEADER	   8
#define MAX_RUNS   65536
#define WINDOW_MAX 65536U
#define WINDOW_MIN 1024U
#define WINDOWS	   (16U << 20) /* all of them together, as a rule */

struct order_run {
	uint64_t off, end; /* what is not merged yet */
	uint64_t time;	   /* of the record at off */
	uint64_t last;	   /* of the last one */
	uint64_t seq;	   /* equal times: as in the file */
	unsigned int store;
	uint32_t cap, len; /* the window: len bytes that are at win_off */
	uint64_t win_off;
	uint8_t *win;
};

static bool before(const struct order_run *a, const struct order_run *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

static void sift_up(struct order *o, size_t i)
{
	struct order_run *r = o->heap[i];

	for (; i && before(r, o->heap[(i - 1) / 2]); i = (i - 1) / 2)
		o->heap[i] = o->heap[(i - 1) / 2];
	o->heap[i] = r;
}

static void sift_down(struct order *o, size_t i)
{
	struct order_run *r = o->heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= o->n)
			break;
		if (child + 1 < o->n && before(o->heap[child + 1], o->heap[child]))
			child++;
		if (!before(o->heap[child], r))
			break;
		o->heap[i] = o->heap[child];
		i = child;
	}
	o->heap[i] = r;
}

static void run_free(struct order_run *r)
{
	free(r->win);
	free(r);
}

void order__free(struct order *o)
{
	for (size_t i = 0; i < o->n; i++)
		run_free(o->heap[i]);
	free(o->heap);
	o->heap = NULL;
	o->n = o->cap = 0;
	o->open = NULL;
}

static int push(struct order *o, struct order_run *r)
{
	if (o->n == o->cap) {
		size_t cap = o->cap ? o->cap * 2 : 64;
		struct order_run **heap = realloc(o->heap, cap * sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		o->heap = heap;
		o->cap = cap;
	}
	o->heap[o->n] = r;
	sift_up(o, o->n++);
	return 0;
}

int order__add(struct order *o, unsigned int store, uint64_t off, uint32_t size, uint64_t time)
{
	struct order_run *r = o->open;

	if (r && (r->store != store || r->end != off || (time && time < r->last)))
		r = NULL;
	if (r) {
		r->end = off + size;
		if (time)
			r->last = time;
	} else {
		r = calloc(1, sizeof(*r));
		if (!r)
			return -ENOMEM;
		r->off = off;
		r->end = off + size;
		r->time = r->last = time ? time : o->ready;
		r->seq = o->seq++;
		r->store = store;
		if (push(o, r)) {
			free(r);
			return -ENOMEM;
		}
		o->open = r;
	}
	if (time > o->max)
		o->max = time;
	return 0;
}

void order__pass(struct order *o, unsigned int store, uint64_t off, uint32_t size)
{
	if (o->open && o->open->store == store && o->open->end == off)
		o->open->end = off + size;
}

static void merge_to(struct order *o, uint64_t limit, size_t floor)
{
	uint32_t window = o->n ? WINDOWS / o->n : WINDOW_MAX;

	o->limit = limit;
	o->floor = floor;
	o->open = NULL;
	o->window = window > WINDOW_MAX ? WINDOW_MAX : window < WINDOW_MIN ? WINDOW_MIN : window;
}

void order__round(struct order *o)
{
	merge_to(o, o->ready, 0);
	o->ready = o->max;
}

void order__end(struct order *o)
{
	merge_to(o, UINT64_MAX, 0);
}

bool order__crowded(struct order *o)
{
	if (o->n < MAX_RUNS)
		return false;
	merge_to(o, UINT64_MAX, MAX_RUNS / 2);
	return true;
}

uint64_t order__where(const struct order *o)
{
	return o->n ? o->heap[0]->off : 0;
}

uint64_t order__keep(const struct order *o, unsigned int store)
{
	uint64_t keep = UINT64_MAX;

	for (size_t i = 0; i < o->n; i++)
		if (o->heap[i]->store == store && o->heap[i]->off < keep)
			keep = o->heap[i]->off;
	return keep;
}

/* Reads the run's window from its next record on. 0; -EIO: there is less than `need`. */
static int load(const struct order *o, struct order_run *r, uint32_t need)
{
	uint64_t left = r->end - r->off;
	uint32_t want = need > o->window ? need : o->window;

	if (want > left)
		want = left;
	if (want < need)
		return -EIO;
	if (want > r->cap) {
		free(r->win);
		r->win = malloc(want);
		r->cap = r->win ? want : 0;
		if (!r->win)
			return -ENOMEM;
	}
	r->win_off = r->off;
	r->len = 0;
	while (r->len < want) {
		ssize_t n = pread(o->fd[r->store], r->win + r->len, want - r->len,
				  (off_t)(r->off + r->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		r->len += n;
	}
	return r->len < need ? -EIO : 0;
}

static inline int bytes_at(const struct order *o, struct order_run *r, uint32_t need,
			   const uint8_t **p)
{
	uint64_t at = r->off - r->win_off;

	if (r->off < r->win_off || at + need > r->len) {
		int err = load(o, r, need);

		if (err)
			return err;
		at = 0;
	}
	*p = r->win + at;
	return 0;
}

/* The whole record at the run's place. It was sound once; a file may change under its reader. */
static inline int record_at(const struct order *o, struct order_run *r, const uint8_t **p,
			    uint32_t *size)
{
	int err = bytes_at(o, r, HEADER, p);

	if (err)
		return err;
	*size = bytes__u16(*p + 6, o->swap);
	if (*size < HEADER)
		return -EIO;
	return bytes_at(o, r, *size, p);
}

/* Steps over the record that was given out, and those behind it that do not count. */
static int advance(struct order *o)
{
	struct order_run *r = o->heap[0];
	const uint8_t *p;
	uint64_t time;
	int err;

	o->given = false;
	for (r->off += o->size; r->off < r->end; r->off += o->size) {
		err = record_at(o, r, &p, &o->size);
		if (err)
			return err;
		if (!o->time_of(o->ctx, p, o->size, &time))
			continue;
		if (time)
			r->time = time;
		sift_down(o, 0);
		return 0;
	}
	run_free(r);
	o->heap[0] = o->heap[--o->n];
	if (o->n)
		sift_down(o, 0);
	return 0;
}

int order__next(struct order *o, const uint8_t **p, uint32_t *size, uint64_t *time)
{
	int err;

	if (o->given) {
		err = advance(o);
		if (err)
			return err;
	}
	if (o->n <= o->floor || o->heap[0]->time > o->limit)
		return 0;
	err = record_at(o, o->heap[0], p, &o->size);
	if (err)
		return err;
	*size = o->size;
	*time = o->heap[0]->time;
	o->given = true;
	return 1;
}
