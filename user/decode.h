/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Raw tracepoint records into events of the accounts (feed.h).
 *
 * Where a field lies is told by the format of the kernel that made the record: the "format" files
 * of tracefs, or their copies in a recording. libtraceevent reads them once; a record is then
 * decoded without any library call. It knows neither rings nor files, and nothing about time.
 */
#ifndef DECODE_H
#define DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "feed.h"

struct decode;

/* A tracepoint that decode__event() understands. */
struct decode_known {
	const char *system, *name; /* "sched", "sched_switch" */
	uint32_t group;		   /* EV_* of opts.h that it belongs to */
	/*
	 * Says the same as the one named here, less well: with that at hand it need not be
	 * recorded, and its records are passed over. NULL: it is needed.
	 */
	const char *instead_of;
};

/* All of them; *n: how many. Lives for ever. */
const struct decode_known *decode__known(size_t *n);

/* big_endian: the machine that made the records. NULL: no memory. decode__free is NULL-safe. */
struct decode *decode__new(bool big_endian);
void decode__free(struct decode *d);

/* For who learns of the byte order only with the formats: before the first record. */
void decode__set_order(struct decode *d, bool big_endian);
/* From here on, formats of other groups than these (EV_*) are passed over: -ENOENT. */
void decode__limit(struct decode *d, uint32_t groups);

/*
 * For who knows the groups of tasks, of the unified hierarchy: from here on, moves in it are
 * events. They tell nobody else anything, who could not say where a task comes from.
 */
void decode__want_moves(struct decode *d);

/*
 * Takes in the format of one event: len bytes of text, not NUL-terminated; anything may be in it.
 * Returns the event's id (0 to 65535, unique on the machine of the records), -ENOENT for an event
 * that tells the accounts nothing, -EINVAL when the text is no format, or lacks a field that the
 * event is nothing without, -ENOMEM. The same event again replaces the first.
 */
int decode__format(struct decode *d, const char *system, const char *text, size_t len);

/* What there are formats for, as far as this says what is recorded; `machine` and `everyone` stay.
 */
void decode__caps(const struct decode *d, struct feed_caps *caps);

/* Whether there is a format for this event, such as "sched_switch". */
bool decode__has(const struct decode *d, const char *name);

/* What the sample around the record says; pid and tid FEED_NOTID, where it does not. */
struct decode_hdr {
	uint64_t time; /* ns */
	uint32_t cpu;
	uint32_t pid, tid;
};

/*
 * One record: size bytes at raw, which begins with common_type and need not be aligned; what lies
 * behind the format's last field is ignored (perf pads). 1: *out is filled; 0: it tells the
 * accounts nothing; -EINVAL: it is shorter than its format says; -ENOENT: its id has no format.
 */
int decode__event(const struct decode *d, const struct decode_hdr *h, const void *raw,
		  uint32_t size, struct feed_event *out);

/*
 * The handler's name in an irq_handler_entry record that decode__event() has taken: *len bytes, not
 * NUL-terminated. NULL: it has none.
 */
const char *decode__irq_name(const struct decode *d, const void *raw, uint32_t size, size_t *len);
/* The same: the group's path in a cgroup_attach_task record, from its hierarchy's root. */
const char *decode__group_path(const struct decode *d, const void *raw, uint32_t size, size_t *len);

#endif /* DECODE_H */
