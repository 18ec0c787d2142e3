// SPDX-License-Identifier: GPL-2.0-only
/* merge.c: queues that come nearly sorted, released up to a time that is safe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge.h"

static void push(struct merge *m, uint32_t queue, uint64_t time, uint32_t what)
{
	struct merged *it = merge__slot(m, queue);

	assert_non_null(it);
	assert_int_equal(it->ev.time, 0);
	assert_int_equal(it->lost, 0);
	it->ev.time = time;
	it->ev.cpu = queue;
	it->ev.key = what;
	merge__commit(m, queue);
}

struct out {
	struct merged v[4096];
	size_t n;
	size_t stop_at;
};

static int take(void *ctx, const struct merged *it)
{
	struct out *o = ctx;

	assert_in_range(o->n, 0, 4095);
	o->v[o->n++] = *it;
	return o->n == o->stop_at ? 77 : 0;
}

static void expect(const struct out *o, size_t i, uint64_t time, uint32_t what)
{
	assert_true(i < o->n);
	assert_int_equal(o->v[i].ev.time, time);
	assert_int_equal(o->v[i].ev.key, what);
}

static void nothing(void **state)
{
	struct out *o = calloc(1, sizeof(*o));
	struct merge m = {0};

	(void)state;
	assert_int_equal(merge__until(&m, UINT64_MAX, take, o), 0);
	assert_int_equal(o->n, 0);
	merge__free(&m);
	free(o);
}

static void up_to_a_time(void **state)
{
	struct out *o = calloc(1, sizeof(*o));
	struct merge m = {0};

	(void)state;
	push(&m, 3, 10, 1); /* queues need not be used from the first on */
	push(&m, 0, 20, 2);
	push(&m, 3, 30, 3);
	push(&m, 1, 25, 4);
	assert_int_equal(merge__until(&m, 25, take, o), 0);
	assert_int_equal(o->n, 2); /* what is at that very time stays */
	expect(o, 0, 10, 1);
	expect(o, 1, 20, 2);
	assert_int_equal(m.waiting, 2);
	push(&m, 0, 26, 5);
	assert_int_equal(merge__until(&m, UINT64_MAX, take, o), 0);
	assert_int_equal(o->n, 5);
	expect(o, 2, 25, 4);
	expect(o, 3, 26, 5);
	expect(o, 4, 30, 3);
	assert_int_equal(m.waiting, 0);
	merge__free(&m);
	free(o);
}

/* An interrupt came between the stamp of 3 and its place in the ring. */
static void an_interrupted_event(void **state)
{
	struct out *o = calloc(1, sizeof(*o));
	struct merge m = {0};

	(void)state;
	push(&m, 0, 10, 1);
	push(&m, 0, 21, 4);
	push(&m, 0, 22, 5);
	push(&m, 0, 20, 3);
	push(&m, 0, 22, 6); /* of equal times, what came first stays first */
	assert_int_equal(merge__until(&m, 23, take, o), 0);
	expect(o, 0, 10, 1);
	expect(o, 1, 20, 3);
	expect(o, 2, 21, 4);
	expect(o, 3, 22, 5);
	expect(o, 4, 22, 6);
	merge__free(&m);
	free(o);
}

static void equal_times_of_queues(void **state)
{
	struct out *o = calloc(1, sizeof(*o));
	struct merge m = {0};

	(void)state;
	push(&m, 1, 5, 3);
	push(&m, 1, 5, 4);
	push(&m, 0, 5, 1);
	push(&m, 0, 5, 2);
	assert_int_equal(merge__until(&m, 6, take, o), 0);
	for (uint32_t i = 0; i < 4; i++)
		expect(o, i, 5, i + 1);
	merge__free(&m);
	free(o);
}

static void an_error_stops(void **state)
{
	struct out *o = calloc(1, sizeof(*o));
	struct merge m = {0};

	(void)state;
	o->stop_at = 2;
	for (uint32_t i = 0; i < 5; i++)
		push(&m, i % 2, i, i);
	assert_int_equal(merge__until(&m, 10, take, o), 77);
	assert_int_equal(o->n, 2);
	assert_int_equal(m.waiting, 3);
	o->stop_at = 0;
	assert_int_equal(merge__until(&m, 10, take, o), 0);
	assert_int_equal(o->n, 5);
	expect(o, 4, 4, 4);
	merge__free(&m);
	free(o);
}

/* Many rounds as the engine makes them: all comes out, once, in order, and memory does not grow. */
static void many_rounds(void **state)
{
	struct out *o = calloc(1, sizeof(*o));
	uint64_t now[3] = {1, 1, 1}, last = 0, sent = 0, got = 0;
	struct merge m = {0};
	size_t cap = 0;

	(void)state;
	srandom(1);
	for (int round = 0; round < 3000; round++) {
		uint64_t safe = UINT64_MAX;

		for (uint32_t q = 0; q < 3; q++) {
			for (long n = random() % 40; n > 0; n--, sent++) {
				now[q] += 1 + random() % 50;
				push(&m, q, now[q] - (random() % 8 ? 0 : 1), sent);
			}
			now[q] = round * 1000 + 999; /* it was read past that */
			safe = now[q] < safe ? now[q] - 1 : safe;
		}
		o->n = 0;
		assert_int_equal(merge__until(&m, safe, take, o), 0);
		for (size_t i = 0; i < o->n; i++, got++) {
			assert_true(o->v[i].ev.time >= last);
			last = o->v[i].ev.time;
		}
		if (round == 1000)
			cap = m.q[0].cap + m.q[1].cap + m.q[2].cap;
	}
	assert_int_equal(m.q[0].cap + m.q[1].cap + m.q[2].cap, cap);
	o->n = 0;
	assert_int_equal(merge__until(&m, UINT64_MAX, take, o), 0);
	assert_int_equal(got + o->n, sent);
	merge__free(&m);
	free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),
		cmocka_unit_test(up_to_a_time),
		cmocka_unit_test(an_interrupted_event),
		cmocka_unit_test(equal_times_of_queues),
		cmocka_unit_test(an_error_stops),
		cmocka_unit_test(many_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
