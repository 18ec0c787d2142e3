/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the fields of a perf record lie, as its event's attribute says: any sample_type,
 * read_format and byte order. Offsets are worked out once per event (perf_event_attr in
 * include/uapi/linux/perf_event.h has the order of the fields).
 */
#ifndef PERF_LAYOUT_H
#define PERF_LAYOUT_H

#include <linux/perf_event.h>

#include "perf_data.h"

struct perf_layout {
	bool tracepoint;
	bool context_switch;
	uint32_t clockid; /* what use_clockid asked for; UINT32_MAX: it did not */
	uint64_t sample_type, read_format;
	/* In a sample, from its begin; 0: not there (the header lies before everything). */
	uint16_t id, tid, time, cpu, fixed;
	/* In every other record, from its end; 0: not there. `tail` is all of it. */
	uint16_t t_id, t_tid, t_time, t_cpu, tail;
};

/*
 * size bytes of a perf_event_attr, of which older recorders know less. big: of that byte order.
 * -EINVAL: too short to be one.
 */
int perf_layout__read(struct perf_layout *l, const void *attr, size_t size, bool big);

/* True when records of both can be told apart from one another's without knowing whose they are. */
bool perf_layout__same(const struct perf_layout *a, const struct perf_layout *b);

/* The kinds of record that perf_layout__parse() knows. */
bool perf_layout__wanted(uint32_t type);

/* The time of a record of size bytes, 0: it has none. */
uint64_t perf_layout__time(const struct perf_layout *l, const uint8_t *p, uint32_t size, bool swap);

/* The id of the event that made it; 0: not told. */
uint64_t perf_layout__id(const struct perf_layout *l, const uint8_t *p, uint32_t size, bool swap);

/* 1: *rec is filled; 0: a sample that is no tracepoint's; -EBADMSG: it is too short for its fields.
 */
int perf_layout__parse(const struct perf_layout *l, const uint8_t *p, uint32_t size, bool swap,
		       struct data_rec *rec);

#endif /* PERF_LAYOUT_H */
