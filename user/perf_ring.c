// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads perf rings. The two ends meet in data_head and data_tail only: the kernel writes records,
 * then data_head (perf_output_put_handle() in kernel/events/ring_buffer.c says what it pairs with);
 * we load data_head with acquire before we look at records, and store data_tail with release after
 * we are done with them, so that no record is overwritten while it is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf_ring.h"

#define RECORD_MAX (UINT16_MAX + 1) /* perf_event_header.size has 16 bits */

int perf_ring__over(struct perf_ring *r, struct perf_event_mmap_page *meta, const void *data,
		    uint64_t size)
{
	memset(r, 0, sizeof(*r));
	if (!size || (size & (size - 1)) || size < 4096)
		return -EINVAL;
	r->joined = aligned_alloc(8, RECORD_MAX);
	if (!r->joined)
		return -ENOMEM;
	r->meta = meta;
	r->data = data;
	r->size = size;
	r->tail = r->head = meta->data_tail;
	return 0;
}

int perf_ring__map(struct perf_ring *r, int fd, size_t pages)
{
	size_t page = sysconf(_SC_PAGESIZE), len = (pages + 1) * page;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int err;

	memset(r, 0, sizeof(*r));
	if (p == MAP_FAILED)
		return -errno;
	err = perf_ring__over(r, p, (char *)p + page, pages * page);
	if (err)
		munmap(p, len);
	r->mapped = !err;
	return err;
}

void perf_ring__unmap(struct perf_ring *r)
{
	if (r->mapped) /* the data follows the first page: that page's size is their distance */
		munmap(r->meta, r->size + (r->data - (const unsigned char *)r->meta));
	free(r->joined);
	memset(r, 0, sizeof(*r));
}

uint64_t perf_ring__begin(struct perf_ring *r)
{
	r->head = __atomic_load_n(&r->meta->data_head, __ATOMIC_ACQUIRE);
	return r->head - r->tail;
}

/* What the kernel wrote cannot be followed any further: go on behind it. */
static const struct perf_event_header *give_up(struct perf_ring *r)
{
	r->torn++;
	r->tail = r->head;
	return NULL;
}

const struct perf_event_header *perf_ring__next(struct perf_ring *r)
{
	uint64_t at = r->tail & (r->size - 1), left = r->head - r->tail, first;
	const struct perf_event_header *h;
	uint16_t size;

	if (!left)
		return NULL;
	/* Records are multiples of 8 bytes, so a header is never across the end. */
	if (left > r->size || left < sizeof(*h) || at % 8)
		return give_up(r);
	h = (const void *)(r->data + at);
	size = h->size;
	if (size < sizeof(*h) || size % 8 || size > left)
		return give_up(r);
	first = r->size - at;
	if (first < size) {
		memcpy(r->joined, r->data + at, first);
		memcpy(r->joined + first, r->data, size - first);
		h = (const void *)r->joined;
	}
	r->tail += size;
	return h;
}

void perf_ring__end(struct perf_ring *r)
{
	__atomic_store_n(&r->meta->data_tail, r->tail, __ATOMIC_RELEASE);
}

/* ---- records ---- */

/* 8-byte fields of a record, taken one after the other; *p stays inside. */
struct cursor {
	const unsigned char *p, *end;
	bool bad;
};

static uint64_t take(struct cursor *c)
{
	uint64_t v = 0;

	if (c->end - c->p < (ptrdiff_t)sizeof(v)) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->p, sizeof(v));
	c->p += sizeof(v);
	return v;
}

static void take_pair(struct cursor *c, uint32_t *a, uint32_t *b)
{
	uint64_t v = take(c);
	uint32_t half[2];

	memcpy(half, &v, sizeof(half));
	*a = half[0];
	if (b)
		*b = half[1];
}

/* The order of the fields is that of perf_output_sample() in kernel/events/core.c. */
static void parse_sample(struct cursor *c, uint64_t sample_type, struct perf_rec *rec)
{
	uint64_t room;

	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		rec->id = take(c);
	if (sample_type & PERF_SAMPLE_IP)
		take(c);
	take_pair(c, &rec->pid, &rec->tid);
	rec->time = take(c);
	if (sample_type & PERF_SAMPLE_CPU)
		take_pair(c, &rec->cpu, NULL);
	if (sample_type & PERF_SAMPLE_PERIOD)
		take(c);
	room = c->end - c->p;
	if (c->bad || room < sizeof(rec->raw_size)) {
		c->bad = true;
		return;
	}
	memcpy(&rec->raw_size, c->p, sizeof(rec->raw_size));
	rec->raw = c->p + sizeof(rec->raw_size);
	c->bad = rec->raw_size > room - sizeof(rec->raw_size);
}

/* What sample_id_all puts at the end of every other record: pid and tid, time, CPU, id. */
static void parse_other(struct cursor *c, uint64_t sample_type, struct perf_rec *rec)
{
	const uint64_t fields = sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					       PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	const ptrdiff_t trailer = __builtin_popcountll(fields) * sizeof(uint64_t);
	struct cursor t = {.end = c->end};

	if (c->end - c->p < trailer) {
		c->bad = true;
		return;
	}
	t.p = c->end - trailer;
	take_pair(&t, &rec->pid, &rec->tid);
	rec->time = take(&t);
	if (fields & PERF_SAMPLE_CPU)
		take_pair(&t, &rec->cpu, NULL);
	if (fields & PERF_SAMPLE_IDENTIFIER)
		rec->id = take(&t);
	c->end -= trailer;
	if (rec->type == PERF_RECORD_LOST) {
		take(c); /* an id of the event that found no room: one of many */
		rec->lost = take(c);
	} else if (rec->type == PERF_RECORD_FORK) {
		take_pair(c, &rec->new_pid, NULL);
		take_pair(c, &rec->new_tid, NULL);
	}
}

int perf_rec__parse(const struct perf_event_header *h, uint64_t sample_type, struct perf_rec *rec)
{
	struct cursor c = {.p = (const unsigned char *)(h + 1),
			   .end = (const unsigned char *)h + h->size};

	memset(rec, 0, sizeof(*rec));
	rec->type = h->type;
	rec->misc = h->misc;
	rec->cpu = PERF_REC_NO_CPU;
	if (h->size < sizeof(*h))
		return -EBADMSG;
	if (h->type == PERF_RECORD_SAMPLE)
		parse_sample(&c, sample_type, rec);
	else
		parse_other(&c, sample_type, rec);
	return c.bad ? -EBADMSG : 0;
}
