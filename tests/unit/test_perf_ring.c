// SPDX-License-Identifier: GPL-2.0-only
/* perf_ring.c over rings that the test writes itself, as the kernel would: also badly. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "perf_ring.h"

#define SIZE 4096

struct world {
	struct perf_event_mmap_page meta;
	uint64_t data[SIZE / 8];
	struct perf_ring r;
};

static struct world *world(uint64_t start)
{
	struct world *w = test_calloc(1, sizeof(*w));

	w->meta.data_head = w->meta.data_tail = start;
	assert_int_equal(perf_ring__over(&w->r, &w->meta, w->data, SIZE), 0);
	return w;
}

static void world_free(struct world *w)
{
	perf_ring__unmap(&w->r);
	test_free(w);
}

/* Writes len bytes at head, across the end where they fall so. */
static void put(struct world *w, const void *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((unsigned char *)w->data)[(w->meta.data_head + i) % SIZE] =
			((const unsigned char *)p)[i];
	w->meta.data_head += len;
}

/* A record of size bytes whose body is the number n, again and again. */
static void put_record(struct world *w, uint16_t size, uint64_t n)
{
	struct perf_event_header h = {.type = PERF_RECORD_SAMPLE, .size = size};

	put(w, &h, sizeof(h));
	for (size_t i = sizeof(h); i < size; i += sizeof(n))
		put(w, &n, sizeof(n));
}

static void expect_record(struct world *w, uint16_t size, uint64_t n)
{
	const struct perf_event_header *h = perf_ring__next(&w->r);

	assert_non_null(h);
	assert_int_equal(h->size, size);
	for (size_t i = 1; i < size / sizeof(n); i++)
		assert_int_equal(((const uint64_t *)h)[i], n);
}

static void empty_ring(void **state)
{
	struct world *w = world(0);

	(void)state;
	assert_int_equal(perf_ring__begin(&w->r), 0);
	assert_null(perf_ring__next(&w->r));
	perf_ring__end(&w->r);
	assert_int_equal(w->meta.data_tail, 0);
	world_free(w);
}

/* Records of every size go by the end of the data at every offset, over many rounds. */
static void every_wrap(void **state)
{
	static const uint16_t sizes[] = {8, 16, 72, 104, 1000, 4096};
	struct world *w = world(UINT64_MAX - 3 * SIZE + 1); /* the counters themselves wrap, too */
	uint64_t n = 0;

	(void)state;
	for (size_t round = 0; round < 3000; round++, n++) {
		uint16_t size = sizes[(round * 7) % 6], next = sizes[(round * 5) % 5];
		bool two = size + next <= SIZE;

		put_record(w, size, n);
		if (two)
			put_record(w, next, ~n);
		assert_int_equal(perf_ring__begin(&w->r), size + (two ? next : 0));
		expect_record(w, size, n);
		if (two)
			expect_record(w, next, ~n);
		assert_null(perf_ring__next(&w->r));
		assert_int_not_equal(w->meta.data_tail, w->meta.data_head);
		perf_ring__end(&w->r);
		assert_int_equal(w->meta.data_tail, w->meta.data_head);
	}
	assert_int_equal(w->r.torn, 0);
	world_free(w);
}

/* What the kernel writes after the look is left for the next one. */
static void only_up_to_the_head_that_was_seen(void **state)
{
	struct world *w = world(64);

	(void)state;
	put_record(w, 24, 1);
	assert_int_equal(perf_ring__begin(&w->r), 24);
	put_record(w, 24, 2);
	expect_record(w, 24, 1);
	assert_null(perf_ring__next(&w->r));
	perf_ring__end(&w->r);
	assert_int_equal(w->meta.data_tail, 64 + 24);
	assert_int_equal(perf_ring__begin(&w->r), 24);
	expect_record(w, 24, 2);
	world_free(w);
}

static void nonsense_is_given_up(void **state)
{
	static const struct perf_event_header bad[] = {
		{.size = 0}, {.size = 7}, {.size = 12}, {.size = 32} /* longer than what is there */
	};
	struct world *w;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		w = world(0);
		put_record(w, 16, 5);
		put(w, &bad[i], sizeof(bad[i]));
		put(w, &(uint64_t[]){0, 0}, 16);
		perf_ring__begin(&w->r);
		expect_record(w, 16, 5);
		assert_null(perf_ring__next(&w->r));
		assert_int_equal(w->r.torn, 1);
		perf_ring__end(&w->r);
		put_record(w, 16, 6); /* and on it goes behind */
		assert_int_equal(perf_ring__begin(&w->r), 16);
		expect_record(w, 16, 6);
		world_free(w);
	}
	w = world(0);
	w->meta.data_head = 2 * SIZE; /* more than the ring holds */
	perf_ring__begin(&w->r);
	assert_null(perf_ring__next(&w->r));
	assert_int_equal(w->r.torn, 1);
	world_free(w);
}

static void sizes_that_cannot_be(void **state)
{
	struct perf_event_mmap_page meta = {0};
	struct perf_ring r;

	(void)state;
	assert_int_equal(perf_ring__over(&r, &meta, NULL, 0), -EINVAL);
	assert_int_equal(perf_ring__over(&r, &meta, NULL, 4096 + 8), -EINVAL);
	perf_ring__unmap(&r);
}

/* ---- records ---- */

struct sample {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t raw_size;
	unsigned char raw[20];
};

static void a_sample(void **state)
{
	struct sample s = {{PERF_RECORD_SAMPLE, 1, sizeof(s)}, 5, 6, 123456789, 20, "raw"};
	struct perf_rec rec;

	(void)state;
	assert_int_equal(perf_rec__parse(&s.h, PERF_REC_SAMPLE, &rec), 0);
	assert_int_equal(rec.pid, 5);
	assert_int_equal(rec.tid, 6);
	assert_int_equal(rec.time, 123456789);
	assert_int_equal(rec.cpu, PERF_REC_NO_CPU);
	assert_int_equal(rec.raw_size, 20);
	assert_ptr_equal(rec.raw, s.raw);
	for (uint16_t size = 0; size < sizeof(s); size++) {
		s.h.size = size;
		assert_int_equal(perf_rec__parse(&s.h, PERF_REC_SAMPLE, &rec), -EBADMSG);
	}
	s.h.size = sizeof(s);
	s.raw_size = 21;
	assert_int_equal(perf_rec__parse(&s.h, PERF_REC_SAMPLE, &rec), -EBADMSG);
	s.raw_size = UINT32_MAX;
	assert_int_equal(perf_rec__parse(&s.h, PERF_REC_SAMPLE, &rec), -EBADMSG);
}

static void a_sample_of_a_task(void **state)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, res;
		uint32_t raw_size;
		unsigned char raw[12];
	} s = {{PERF_RECORD_SAMPLE, 1, sizeof(s)}, 5, 6, 99, 3, 0, 12, "raw"};
	struct perf_rec rec;

	(void)state;
	assert_int_equal(perf_rec__parse(&s.h, PERF_REC_SAMPLE_TASK, &rec), 0);
	assert_int_equal(rec.tid, 6);
	assert_int_equal(rec.time, 99);
	assert_int_equal(rec.cpu, 3);
	assert_int_equal(rec.raw_size, 12);
	assert_ptr_equal(rec.raw, s.raw);
}

static void a_sample_for_a_file(void **state)
{
	struct {
		struct perf_event_header h;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, res;
		uint64_t period;
		uint32_t raw_size;
		unsigned char raw[12];
	} s = {{PERF_RECORD_SAMPLE, 1, sizeof(s)}, 77, 0xffff, 5, 6, 99, 3, 0, 1, 12, "raw"};
	struct perf_rec rec;

	(void)state;
	assert_int_equal(perf_rec__parse(&s.h, PERF_REC_SAMPLE_FILE, &rec), 0);
	assert_int_equal(rec.id, 77);
	assert_int_equal(rec.tid, 6);
	assert_int_equal(rec.time, 99);
	assert_int_equal(rec.cpu, 3);
	assert_int_equal(rec.raw_size, 12);
	assert_ptr_equal(rec.raw, s.raw);
}

static void a_lost_record(void **state)
{
	struct {
		struct perf_event_header h;
		uint64_t id, lost;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, res;
		uint64_t trailing_id;
	} l = {{PERF_RECORD_LOST, 0, sizeof(l)}, 1, 4711, 8, 9, 55, 2, 0, 77};
	struct perf_rec rec;

	(void)state;
	assert_int_equal(perf_rec__parse(&l.h, PERF_REC_SAMPLE_FILE, &rec), 0);
	assert_int_equal(rec.lost, 4711);
	assert_int_equal(rec.time, 55);
	assert_int_equal(rec.cpu, 2);
	assert_int_equal(rec.tid, 9);
	assert_int_equal(rec.id, 77);
	for (uint16_t size = 0; size < sizeof(l); size += 8) {
		l.h.size = size;
		assert_int_equal(perf_rec__parse(&l.h, PERF_REC_SAMPLE_FILE, &rec), -EBADMSG);
	}
}

static void a_fork_record(void **state)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, ppid, tid, ptid;
		uint64_t body_time;
		uint32_t by_pid, by_tid;
		uint64_t time;
	} f = {{PERF_RECORD_FORK, 0, sizeof(f)}, 10, 20, 11, 21, 1, 20, 21, 55};
	struct perf_rec rec;

	(void)state;
	assert_int_equal(perf_rec__parse(&f.h, PERF_REC_SAMPLE, &rec), 0);
	assert_int_equal(rec.new_pid, 10);
	assert_int_equal(rec.new_tid, 11);
	assert_int_equal(rec.time, 55);
	assert_int_equal(rec.tid, 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_ring),
		cmocka_unit_test(every_wrap),
		cmocka_unit_test(only_up_to_the_head_that_was_seen),
		cmocka_unit_test(nonsense_is_given_up),
		cmocka_unit_test(sizes_that_cannot_be),
		cmocka_unit_test(a_sample),
		cmocka_unit_test(a_sample_of_a_task),
		cmocka_unit_test(a_sample_for_a_file),
		cmocka_unit_test(a_lost_record),
		cmocka_unit_test(a_fork_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
