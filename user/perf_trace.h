/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracing data in a recording: the texts of the event formats. */
#ifndef PERF_TRACE_H
#define PERF_TRACE_H

#include "perf_data.h"

/*
 * Hands each event's format in the len bytes at p to fn. 0; -EBADMSG: it breaks off, or is no
 * tracing data; *at: where. What lies before has been handed on. -ENOMEM: fn said so.
 */
int perf_trace__read(const uint8_t *p, size_t len, perf_format_fn *fn, void *ctx, size_t *at);

#endif /* PERF_TRACE_H */
