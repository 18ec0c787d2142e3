/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a perf.data file as perf record does: what the rings hold goes in as it is, with a header
 * that tells perf script, perf report and utilbpf -r how to read it. The format is told in
 * tools/perf/Documentation/perf.data-file-format.txt of the kernel.
 *
 * It owns the file. It knows nothing of what events mean.
 */
#ifndef PERF_WRITE_H
#define PERF_WRITE_H

#include "perf_events.h"

struct perf_write;

/* Creates path (mode 0600), or empties it. 0 or -errno. */
int perf_write__open(struct perf_write **w, const char *path);
/*
 * A record as the ring has it; the first failure is kept for perf_write__close(), and nothing is
 * written after it.
 */
void perf_write__record(struct perf_write *w, const struct perf_event_header *h);
/* The name of a task that was there before the first event. */
void perf_write__name(struct perf_write *w, uint32_t pid, uint32_t tid, const char *comm);
/* Where the kernel's text lies, as far as /proc/kallsyms tells: perf report misses it else. */
void perf_write__kernel(struct perf_write *w);
/* n were lost of cpu up to time (ns), and no record in a ring tells of them. */
void perf_write__lost(struct perf_write *w, const struct perf_source *s, uint64_t time, uint64_t n);
/* All rings have been read once more: perf sorts from one of these marks to the next. */
void perf_write__round(struct perf_write *w);
/*
 * Writes the header, which tells that [start, end) was accounted, closes and frees. pe: whose
 * events these are. 0, or -errno of whatever failed first.
 */
int perf_write__close(struct perf_write *w, const struct perf_events *pe, uint64_t start,
		      uint64_t end);
/* Frees without a header: what was written is no perf.data file. NULL-safe. */
void perf_write__abort(struct perf_write *w);

#endif /* PERF_WRITE_H */
