/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters of metrics.h as text for Prometheus and its like; knows no engine and no socket. */
#ifndef OUT_OPENMETRICS_H
#define OUT_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "metrics.h"

enum metrics_format {
	METRICS_TEXT,	     /* Prometheus' text format, version 0.0.4 */
	METRICS_OPENMETRICS, /* version 1.0.0 */
};

/* For the Content-Type header. */
const char *metrics__content_type(enum metrics_format format);

/* The better one for an HTTP Accept header; NULL: none was sent. Text where both are as good. */
enum metrics_format metrics__negotiate(const char *accept);

/*
 * Everything in one text, to be freed; *len without its terminating NUL. NULL: no memory. Does not
 * count as shown.
 */
char *metrics__text(const struct metrics *m, enum metrics_format format, size_t *len);

/* Where a text goes: Prometheus' format for FILE.prom, which node_exporter reads, else OpenMetrics.
 */
enum metrics_format metrics__format_of(const char *path);

/*
 * Writes a file so that nobody ever reads half of one: into a temporary file beside it, which then
 * takes its name. What is no regular file (a pipe, a device) is written to as it is. 0 or -errno.
 */
int metrics__write_file(const char *path, const char *text, size_t len);

#endif /* OUT_OPENMETRICS_H */
