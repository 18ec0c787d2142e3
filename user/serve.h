/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * utilbpf serve: windows as counters, over HTTP. GET /metrics gives them in Prometheus' text format
 * or as OpenMetrics, GET /healthz says whether they can be had.
 */
#ifndef SERVE_H
#define SERVE_H

#include <stddef.h>

#include "engine.h"
#include "metrics.h"

struct serve;

/*
 * Listens at addr (see listen.h); nothing is answered yet. 0, or -errno with what failed in why;
 * *s is NULL then. metrics: where windows are added up, the caller's, as names.
 */
int serve__open(struct serve **s, const char *addr, struct metrics *metrics, struct names *names,
		char *why, size_t len);

/* Where it listens, as text. */
const char *serve__where(const struct serve *s);

/*
 * Serves from an engine that is open, until sigfd has a signal to read. Privileges and system calls
 * that this does not need are given up first, for good. 0, or -errno with what failed in why.
 */
int serve__run(struct serve *s, const struct engine_ops *ops, struct engine *e, int sigfd,
	       char *why, size_t len);

void serve__close(struct serve *s); /* NULL-safe */

#endif /* SERVE_H */
