// SPDX-License-Identifier: GPL-2.0-only
/* Queues that sort as they take, and a merge that goes by the queue whose turn it is. */
#include <stdlib.h>
#include <string.h>

#include "merge.h"

void merge__free(struct merge *m)
{
	for (uint32_t i = 0; i < m->nr; i++)
		free(m->q[i].v);
	free(m->q);
	memset(m, 0, sizeof(*m));
}

static int add_queues(struct merge *m, uint32_t nr)
{
	struct merge_queue *q = reallocarray(m->q, nr, sizeof(*q));

	if (!q)
		return -1;
	memset(q + m->nr, 0, (nr - m->nr) * sizeof(*q));
	m->q = q;
	m->nr = nr;
	return 0;
}

struct merged *merge__slot(struct merge *m, uint32_t queue)
{
	struct merge_queue *q;

	if (queue >= m->nr && add_queues(m, queue + 1))
		return NULL;
	q = &m->q[queue];
	if (q->n == q->cap && q->first > q->n / 2) { /* what was given makes room */
		memmove(q->v, q->v + q->first, (q->n - q->first) * sizeof(*q->v));
		q->n -= q->first;
		q->first = 0;
	}
	if (q->n == q->cap) {
		size_t cap = q->cap ? q->cap * 2 : 256;
		struct merged *v = reallocarray(q->v, cap, sizeof(*v));

		if (!v)
			return NULL;
		q->v = v;
		q->cap = cap;
	}
	return memset(&q->v[q->n], 0, sizeof(*q->v));
}

void merge__commit(struct merge *m, uint32_t queue)
{
	struct merge_queue *q = &m->q[queue];
	size_t i = q->n++;

	m->waiting++;
	while (i > q->first && q->v[i - 1].ev.time > q->v[q->n - 1].ev.time)
		i--;
	if (i < q->n - 1) {
		struct merged it = q->v[q->n - 1];

		memmove(&q->v[i + 1], &q->v[i], (q->n - 1 - i) * sizeof(it));
		q->v[i] = it;
	}
}

static uint64_t head_time(const struct merge_queue *q)
{
	return q->first < q->n ? q->v[q->first].ev.time : UINT64_MAX;
}

/* The queue whose head is the earliest, and in *next the time at which another's turn comes. */
static uint32_t whose_turn(const struct merge *m, uint64_t *next)
{
	uint64_t best = UINT64_MAX;
	uint32_t turn = 0;

	*next = UINT64_MAX;
	for (uint32_t i = 0; i < m->nr; i++) {
		uint64_t t = head_time(&m->q[i]);

		if (t < best) {
			*next = best;
			best = t;
			turn = i;
		} else if (t < *next) {
			*next = t;
		}
	}
	return turn;
}

int merge__until(struct merge *m, uint64_t until, int (*fn)(void *ctx, const struct merged *it),
		 void *ctx)
{
	int err = 0;

	while (!err && m->waiting) {
		uint64_t next;
		struct merge_queue *q = &m->q[whose_turn(m, &next)];

		if (head_time(q) >= until)
			break;
		/* At equal times the lower queue goes on first: it was found first. */
		do {
			m->waiting--;
			err = fn(ctx, &q->v[q->first++]);
		} while (!err && head_time(q) < next && head_time(q) < until);
		if (q->first == q->n)
			q->first = q->n = 0;
	}
	return err;
}
