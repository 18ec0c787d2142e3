/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Always-on accounting: the programs and their maps pinned to a BPF file system, and no process of
 * ours between the reports.
 *
 * One instance is one directory below /sys/fs/bpf. Whoever starts, reads or stops it holds a lock
 * on that directory, which the kernel drops when the holder dies. What readers have to know of
 * each other is in a pinned map, written so that a reader that is killed at any point leaves either
 * its window told and counted, or untold and all there for the next one.
 */
#ifndef RESIDENT_H
#define RESIDENT_H

#include <stddef.h>
#include <stdio.h>

#include "names.h"
#include "opts.h"
#include "report.h"

/*
 * Each returns 0, or -errno after writing into why what failed, on what, why, and what to do next,
 * in one line.
 */
int resident__start(const struct opts *o, struct names *names, char *why, size_t len);
int resident__stop(const struct opts *o, char *why, size_t len);
/* Prints what runs, since when, and what it costs. */
int resident__status(const struct opts *o, FILE *f, char *why, size_t len);

/*
 * Ends the current window and hands it to print, which returns 0 when the report has reached its
 * reader: then it is counted as told. Where the last reader was killed before that, its window
 * comes first, in a report of its own. With o->since_start it hands over the sum since the start,
 * and the window goes on. level: the finest that is asked for.
 */
int resident__report(const struct opts *o, enum report_level level, struct names *names,
		     int (*print)(void *ctx, const struct report *r), void *ctx, char *why,
		     size_t len);

#endif /* RESIDENT_H */
