// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes perf records apart, whatever was asked for when they were recorded.
 *
 * It owns the order of the fields. Every load is checked against the record's size; it knows no
 * file, and nothing of what the records mean.
 */
#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "perf_layout.h"

#define HEADER	 8 /* type, misc, size */
#define HAS(bit) (l->sample_type & PERF_SAMPLE_##bit)

/* Bits of perf_event_attr behind read_format, numbered as a little-endian machine does. */
#define ATTR_FLAGS	    40
#define ATTR_CLOCKID	    92
#define ATTR_SAMPLE_ID_ALL  18
#define ATTR_USE_CLOCKID    25
#define ATTR_CONTEXT_SWITCH 26

/* Big-endian machines number the bits of a bit field from the other end of each byte. */
static bool attr_bit(const uint8_t *flags, unsigned int bit, bool big)
{
	return flags[bit / 8] & (1U << (big ? 7 - bit % 8 : bit % 8));
}

static uint16_t field(uint16_t *at, bool there)
{
	uint16_t off = *at;

	if (!there)
		return 0;
	*at += 8;
	return off;
}

static void in_sample(struct perf_layout *l)
{
	uint16_t at = HEADER, id;

	l->id = field(&at, HAS(IDENTIFIER));
	field(&at, HAS(IP));
	l->tid = field(&at, HAS(TID));
	l->time = field(&at, HAS(TIME));
	field(&at, HAS(ADDR));
	id = field(&at, HAS(ID));
	if (!l->id)
		l->id = id;
	field(&at, HAS(STREAM_ID));
	l->cpu = field(&at, HAS(CPU));
	field(&at, HAS(PERIOD));
	l->fixed = at;
}

/* From the end backwards, so that what a record holds before does not matter. */
static uint16_t field_back(uint16_t *at, bool there)
{
	*at += there ? 8 : 0;
	return there ? *at : 0;
}

static void in_tail(struct perf_layout *l)
{
	uint16_t at = 0, id;

	l->t_id = field_back(&at, HAS(IDENTIFIER));
	l->t_cpu = field_back(&at, HAS(CPU));
	field_back(&at, HAS(STREAM_ID));
	id = field_back(&at, HAS(ID));
	if (!l->t_id)
		l->t_id = id;
	l->t_time = field_back(&at, HAS(TIME));
	l->t_tid = field_back(&at, HAS(TID));
	l->tail = at;
}

int perf_layout__read(struct perf_layout *l, const void *attr, size_t size, bool big)
{
	const bool swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	uint8_t a[ATTR_CLOCKID + 4] = {0};

	memset(l, 0, sizeof(*l));
	if (size < PERF_ATTR_SIZE_VER0)
		return -EINVAL;
	memcpy(a, attr, size < sizeof(a) ? size : sizeof(a));
	l->tracepoint = bytes__u32(a, swap) == PERF_TYPE_TRACEPOINT;
	l->sample_type = bytes__u64(a + 24, swap);
	l->read_format = bytes__u64(a + 32, swap);
	l->context_switch = attr_bit(a + ATTR_FLAGS, ATTR_CONTEXT_SWITCH, big);
	l->clockid = UINT32_MAX;
	if (attr_bit(a + ATTR_FLAGS, ATTR_USE_CLOCKID, big))
		l->clockid = bytes__u32(a + ATTR_CLOCKID, swap);
	in_sample(l);
	if (attr_bit(a + ATTR_FLAGS, ATTR_SAMPLE_ID_ALL, big))
		in_tail(l);
	return 0;
}

bool perf_layout__same(const struct perf_layout *a, const struct perf_layout *b)
{
	return a->tracepoint == b->tracepoint && a->sample_type == b->sample_type &&
	       a->read_format == b->read_format && a->tail == b->tail;
}

bool perf_layout__wanted(uint32_t type)
{
	const uint32_t wanted = 1U << PERF_RECORD_SAMPLE | 1U << PERF_RECORD_LOST |
				1U << PERF_RECORD_LOST_SAMPLES | 1U << PERF_RECORD_COMM |
				1U << PERF_RECORD_FORK | 1U << PERF_RECORD_EXIT |
				1U << PERF_RECORD_SWITCH | 1U << PERF_RECORD_SWITCH_CPU_WIDE;

	return type < 32 && (wanted & (1U << type));
}

/* The time of its own that FORK and EXIT have, for recorders that append none. */
#define FORK_TIME 24

uint64_t perf_layout__time(const struct perf_layout *l, const uint8_t *p, uint32_t size, bool swap)
{
	uint32_t type = bytes__u32(p, swap);
	uint64_t t = 0;

	if (type == PERF_RECORD_SAMPLE)
		t = l->time && size >= l->fixed ? bytes__u64(p + l->time, swap) : 0;
	else if (l->t_time)
		t = size >= HEADER + (uint32_t)l->tail ? bytes__u64(p + size - l->t_time, swap) : 0;
	else if ((type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT) && size >= FORK_TIME + 8)
		t = bytes__u64(p + FORK_TIME, swap);
	return t == UINT64_MAX ? 0 : t;
}

uint64_t perf_layout__id(const struct perf_layout *l, const uint8_t *p, uint32_t size, bool swap)
{
	if (bytes__u32(p, swap) == PERF_RECORD_SAMPLE)
		return l->id && size >= l->id + 8U ? bytes__u64(p + l->id, swap) : 0;
	return l->t_id && size >= HEADER + (uint32_t)l->t_id ? bytes__u64(p + size - l->t_id, swap)
							     : 0;
}

/* Bytes of a PERF_SAMPLE_READ part that begins at p; more than size: it does not fit. */
static uint64_t read_size(const struct perf_layout *l, const uint8_t *p, uint32_t size, bool swap)
{
	const uint64_t f = l->read_format;
	uint64_t each = 8 + (f & PERF_FORMAT_ID ? 8 : 0) + (f & (1U << 4) /* LOST, 6.0 */ ? 8 : 0);
	uint64_t times = (f & PERF_FORMAT_TOTAL_TIME_ENABLED ? 8 : 0) +
			 (f & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8 : 0);
	uint64_t nr;

	if (!(f & PERF_FORMAT_GROUP))
		return each + times;
	if (size < 8)
		return UINT64_MAX;
	nr = bytes__u64(p, swap);
	return nr > size ? UINT64_MAX : 8 + times + nr * each;
}

/* The tracepoint's own record lies behind parts of varying size. */
static int find_raw(const struct perf_layout *l, const uint8_t *p, uint32_t size, bool swap,
		    struct data_rec *rec)
{
	uint32_t at = l->fixed;
	uint64_t n;

	if (HAS(READ)) {
		n = read_size(l, p + at, size - at, swap);
		if (n > size - at)
			return -EBADMSG;
		at += n;
	}
	if (HAS(CALLCHAIN)) {
		n = size - at >= 8 ? bytes__u64(p + at, swap) : UINT64_MAX;
		if (n > (size - at) / 8 - 1)
			return -EBADMSG;
		at += 8 + 8 * n;
	}
	if (!HAS(RAW))
		return 0;
	if (size - at < 4)
		return -EBADMSG;
	rec->raw_size = bytes__u32(p + at, swap);
	rec->raw = p + at + 4;
	return rec->raw_size <= size - at - 4 ? 1 : -EBADMSG;
}

static int parse_sample(const struct perf_layout *l, const uint8_t *p, uint32_t size, bool swap,
			struct data_rec *rec)
{
	if (!l->tracepoint)
		return 0;
	if (size < l->fixed)
		return -EBADMSG;
	if (l->tid) {
		rec->pid = bytes__u32(p + l->tid, swap);
		rec->tid = bytes__u32(p + l->tid + 4, swap);
	}
	if (l->cpu)
		rec->cpu = bytes__u32(p + l->cpu, swap);
	return find_raw(l, p, size, swap, rec);
}

/* What a record other than a sample holds before its tail; -EBADMSG: it is too short. */
static int parse_body(const uint8_t *p, uint32_t size, bool swap, struct data_rec *rec)
{
	static const uint8_t least[] = {
		[PERF_RECORD_LOST] = 24,
		[PERF_RECORD_LOST_SAMPLES] = 16,
		[PERF_RECORD_COMM] = 16,
		[PERF_RECORD_FORK] = 32,
		[PERF_RECORD_EXIT] = 32,
		[PERF_RECORD_SWITCH] = 8,
		[PERF_RECORD_SWITCH_CPU_WIDE] = 16,
	};
	uint32_t n;

	if (rec->type >= sizeof(least) || size < least[rec->type])
		return -EBADMSG;
	switch (rec->type) {
	case PERF_RECORD_LOST:
		rec->lost = bytes__u64(p + 16, swap);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		rec->lost = bytes__u64(p + 8, swap);
		break;
	case PERF_RECORD_COMM:
		n = size - 16 < sizeof(rec->comm) ? size - 16 : sizeof(rec->comm);
		memcpy(rec->comm, p + 16, strnlen((const char *)p + 16, n));
		/* fall through */
	case PERF_RECORD_SWITCH_CPU_WIDE:
		rec->of_pid = bytes__u32(p + 8, swap);
		rec->of_tid = bytes__u32(p + 12, swap);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		rec->of_pid = bytes__u32(p + 8, swap);
		rec->parent_pid = bytes__u32(p + 12, swap);
		rec->of_tid = bytes__u32(p + 16, swap);
		break;
	}
	return 1;
}

int perf_layout__parse(const struct perf_layout *l, const uint8_t *p, uint32_t size, bool swap,
		       struct data_rec *rec)
{
	memset(rec, 0, sizeof(*rec));
	rec->type = bytes__u32(p, swap);
	rec->misc = bytes__u16(p + 4, swap);
	rec->cpu = rec->pid = rec->tid = PERF_NO_ID;
	rec->time = perf_layout__time(l, p, size, swap);
	if (rec->type == PERF_RECORD_SAMPLE)
		return parse_sample(l, p, size, swap, rec);
	if (l->tail) {
		if (size < HEADER + (uint32_t)l->tail)
			return -EBADMSG;
		if (l->t_tid) {
			rec->pid = bytes__u32(p + size - l->t_tid, swap);
			rec->tid = bytes__u32(p + size - l->t_tid + 4, swap);
		}
		if (l->t_cpu)
			rec->cpu = bytes__u32(p + size - l->t_cpu, swap);
	}
	return parse_body(p, size - l->tail, swap, rec);
}
