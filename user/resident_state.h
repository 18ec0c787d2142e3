/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is pinned beside the programs: who may read them, and what the last reader has left for the
 * next. Mapped by whoever holds the instance's lock; `utilbpf status` looks without it.
 */
#ifndef RESIDENT_STATE_H
#define RESIDENT_STATE_H

#include <stdint.h>

#include "../bpf/sel.h"
#include "bpf_reader.h"
#include "collect.h"

/*
 * The meaning of what is pinned. Raise it when that changes while all sizes stay; records_hash()
 * notices changed sizes by itself.
 */
#define RESIDENT_LAYOUT 2U
#define RESIDENT_MAGIC	0x75746c62U

enum resident_phase {
	PHASE_STARTING,
	PHASE_RUNNING,
};

/* As of the end of window `epoch`. */
struct resident_told {
	uint64_t index; /* of the next report */
	uint64_t start; /* of the next window, ns, CLOCK_MONOTONIC */
	struct bpf_before before;
	struct collect_carry carry;
	/* 2 x ncpus struct acct_sums: resident_others() */
};

struct resident_state {
	/* never moves: a reader of any version looks here first */
	uint32_t magic, layout;
	uint32_t records; /* records_hash() */
	uint32_t phase;	  /* enum resident_phase */
	char version[32];
	uint32_t starter; /* pid */
	uint32_t reader;  /* pid of who has the lock, or had it last */
	/* from here on as `layout` and `records` say */
	uint64_t started;      /* ns, CLOCK_MONOTONIC */
	uint64_t started_wall; /* ns, CLOCK_REALTIME */
	uint32_t ncpus, events;
	/*
	 * The last window that has been told; t[told & 1] is as of its end. A reader fills in the
	 * other one and then sets this: whenever it dies, the state is that before or after.
	 */
	uint32_t told;
	/*
	 * The window whose end is no report's, but only as far as a reader with --since-start has
	 * read: should that one die, the next reader goes on with the same report.
	 */
	uint32_t look;
	uint32_t selected; /* not all tasks have records */
	uint32_t kinds;	   /* of the selection: SELK_* */
	char selection[512];
	struct sel_calls calls;
	struct resident_told t[2];
};

#endif /* RESIDENT_STATE_H */
