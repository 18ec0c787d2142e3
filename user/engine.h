/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an engine is to the rest: something that opens a first window, rolls to the next, and gives
 * each ended one as a report. Which one it is, no renderer knows.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <sys/types.h>

#include "names.h"
#include "opts.h"
#include "report.h"

struct engine;

struct engine_ops {
	const char *name;
	/*
	 * Loads, seeds and opens the first window. On failure returns -errno and writes into why
	 * what failed, on what, why, and what to do next, in one line. *e is NULL then. command:
	 * the process that will exec COMMAND; 0: there is none.
	 */
	int (*open)(struct engine **e, const struct opts *o, enum report_level level, pid_t command,
		    struct names *names, char *why, size_t len);
	/* CLOCK_MONOTONIC start of the current window, ns. */
	uint64_t (*start)(const struct engine *e);
	/*
	 * Housekeeping while a window runs. Returns after how many ns it wants to be called again:
	 * seldom where nothing goes on, since each time wakes a CPU up.
	 */
	uint64_t (*poll)(struct engine *e);
	/*
	 * Tells the window's end ahead of its time, so that it is kept to the nanosecond however
	 * late the loader gets a CPU. Too late already: does nothing.
	 */
	void (*announce)(struct engine *e, uint64_t end);
	/*
	 * Ends the window at `end` (ns, CLOCK_MONOTONIC; moved into the near future when it has
	 * passed), opens the next one there, and fills *r. 0 or -errno. Free with report__free.
	 */
	int (*roll)(struct engine *e, uint64_t end, struct report *r);
	/*
	 * Of an engine whose events lie in the past, NULL for live ones: instead of waiting, takes
	 * in the events before `end` (ns of the recording's clock). REPLAY_*, or -errno. start() is
	 * known once it has not returned REPLAY_MORE.
	 */
	int (*replay)(struct engine *e, uint64_t end);
	double (*progress)(const struct engine *e); /* 0 to 1; negative: not known */
	/* What was wrong with its input, in one line; NULL: nothing. */
	const char *(*fault)(struct engine *e);
	/*
	 * After the last roll: completes what the engine writes besides reports; NULL: nothing. 0,
	 * or -errno and one line in why.
	 */
	int (*finish)(struct engine *e, char *why, size_t len);
	void (*close)(struct engine *e); /* NULL-safe */
};

#define ENGINE_POLL_NS	 25000000ULL
#define ENGINE_POLL_SLOW (2 * ENGINE_POLL_NS)

enum {
	REPLAY_MORE,   /* call again: this is only to look after signals */
	REPLAY_WINDOW, /* `end` has been reached */
	REPLAY_END,    /* there are no more events */
};

extern const struct engine_ops engine_bpf;
extern const struct engine_ops engine_file;
extern const struct engine_ops engine_perf;

/*
 * Opens the engine that o->engine names; "auto" takes bpf, and where that fails says on stderr in
 * one line why, and takes perf. Returns its operations, and in *reason why it is that one (lives
 * for ever; NULL: the engine's own word). NULL, with one line in why: none works.
 */
const struct engine_ops *engine__open(struct engine **e, const struct opts *o,
				      enum report_level level, pid_t command, struct names *names,
				      const char **reason, char *why, size_t len);

/* For --version: which engines and kernel features this machine has. */
void engine_bpf__features(FILE *f);

#endif /* ENGINE_H */
