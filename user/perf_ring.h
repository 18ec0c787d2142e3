/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reader of one perf ring: a data area that the kernel writes and we read, and the records in
 * it. The layout is that of struct perf_event_mmap_page and the comments in linux/perf_event.h.
 *
 * It owns the mapping and the place up to which it was read. It knows neither what the events
 * mean nor how they were opened.
 */
#ifndef PERF_RING_H
#define PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_ring {
	struct perf_event_mmap_page *meta; /* NULL: not mapped */
	const unsigned char *data;
	uint64_t size; /* bytes of data, a power of two */
	uint64_t head; /* the kernel had written up to here when perf_ring__begin() looked */
	uint64_t tail; /* read up to here */
	uint64_t torn; /* records that could not be: the rest of that pass was given up */
	bool mapped;   /* ours to unmap */
	/* A record that lies across the end of the data is put together here: 64 KiB at most. */
	unsigned char *joined;
};

/*
 * Maps the ring of event fd: pages (a power of two) of the machine's page size, which may be 64
 * KiB. 0 or -errno; -EPERM: more memory than perf_event_mlock_kb and RLIMIT_MEMLOCK allow.
 */
int perf_ring__map(struct perf_ring *r, int fd, size_t pages);
/* The same over memory of the caller's: meta, and size (a power of two) bytes of data. */
int perf_ring__over(struct perf_ring *r, struct perf_event_mmap_page *meta, const void *data,
		    uint64_t size);
void perf_ring__unmap(struct perf_ring *r); /* also a zeroed one */

/* Looks how far the kernel has written. Returns the bytes that wait to be read. */
uint64_t perf_ring__begin(struct perf_ring *r);
/*
 * The next record up to there, in one piece and 8-byte aligned; NULL: no more. It stays valid until
 * the next call for this ring.
 */
const struct perf_event_header *perf_ring__next(struct perf_ring *r);
/* Gives what was read back to the kernel. */
void perf_ring__end(struct perf_ring *r);

/* ---- records ---- */

/*
 * What every event of a ring asks for, so that its records can be read without knowing whose they
 * are. Every byte costs the traced program: which event it is stands in the tracepoint's record
 * itself, and which CPU is told by the ring, unless the ring is a task's. A perf.data file needs
 * more.
 */
#define PERF_REC_SAMPLE	     (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define PERF_REC_SAMPLE_TASK (PERF_REC_SAMPLE | PERF_SAMPLE_CPU)
#define PERF_REC_SAMPLE_FILE                                                                       \
	(PERF_REC_SAMPLE_TASK | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD)

/* One record, taken apart. Pointers point into it. */
struct perf_rec {
	uint32_t type; /* PERF_RECORD_* */
	uint16_t misc;
	uint64_t id, time; /* of the event, 0: not asked for; ns */
	uint32_t pid, tid;
	uint32_t cpu;	 /* PERF_REC_NO_CPU: not asked for */
	const void *raw; /* PERF_RECORD_SAMPLE: the tracepoint's own record */
	uint32_t raw_size;
	uint64_t lost;		   /* PERF_RECORD_LOST: how many */
	uint32_t new_pid, new_tid; /* PERF_RECORD_FORK: the child */
};

#define PERF_REC_NO_CPU UINT32_MAX

/*
 * Takes h, which is h->size bytes, apart; sample_type is one of PERF_REC_*, with sample_id_all. 0;
 * -EBADMSG: its size does not fit what it should hold.
 */
int perf_rec__parse(const struct perf_event_header *h, uint64_t sample_type, struct perf_rec *rec);

#endif /* PERF_RING_H */
