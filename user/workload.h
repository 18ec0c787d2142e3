/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The COMMAND after --: made ready before accounting begins, set off when it has, waited for.
 *
 * It owns one child process and the socket to it. It knows nothing of accounting.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <sys/types.h>

struct workload;

/*
 * Forks a child that waits to become argv (NULL-terminated, argv[0] looked up in PATH). Should the
 * caller die before workload__start(), the child ends by itself. 0 or -errno (then *w is NULL).
 */
int workload__prepare(struct workload **w, char **argv);

/*
 * Sets it off. 0: the program runs, or has run. Otherwise it never ran and is reaped: -errno of the
 * exec (-ENOENT, -EACCES, …), -ECHILD when the child was killed while it waited, -EALREADY on a
 * second call. workload__exit_status() is then 127 for -ENOENT, 126 for other failures to exec, as
 * shells have it.
 */
int workload__start(struct workload *w);

/* Its process id; good for kill() until it has been waited for. */
pid_t workload__pid(const struct workload *w);

/* A descriptor that polls readable when it has ended; w keeps owning it. */
int workload__pidfd(const struct workload *w);

/*
 * Waits for its end, timeout_ms milliseconds at most (0: looks only; -1: without limit). 1: it has
 * ended and is reaped; 0: not yet; -EINTR when a signal came (the caller decides what it meant);
 * -errno.
 */
int workload__wait(struct workload *w, int timeout_ms);

/* Its exit code, or 128+N when signal N ended it. -EAGAIN when workload__wait() has not told its
 * end. */
int workload__exit_status(const struct workload *w);

/* Frees w; NULL-safe. What was started goes on unharmed; what was not is let go and reaped. */
void workload__free(struct workload *w);

#endif /* WORKLOAD_H */
