/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line, parsed and checked; knows no engine. */
#ifndef OPTS_H
#define OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "out.h"
#include "select.h"

/* -e groups; sched is always on. */
#define EV_SCHED    (1U << 0)
#define EV_SYSCALLS (1U << 1)
#define EV_IRQS	    (1U << 2)
#define EV_SOFTIRQS (1U << 3)
#define EV_HCALLS   (1U << 4)
#define EV_ALL	    0x1fU

enum opts_action {
	ACTION_RUN,
	ACTION_HELP,
	ACTION_VERSION,
	ACTION_SCHEMA,
	ACTION_SERVE,
	ACTION_START, /* from here on: the sub-commands */
	ACTION_REPORT,
	ACTION_STOP,
	ACTION_STATUS,
};

struct opts {
	enum opts_action action;
	uint64_t duration_ns; /* 0: until a signal or the command's end */
	uint64_t interval_ns; /* 0: one report */
	uint64_t count;	      /* 0: no limit */
	uint32_t events;      /* EV_* */
	bool by_given; /* --by was said: JSON stops at that level, else it holds all levels */
	enum report_level by;
	const char *sort;
	unsigned int top;
	bool top_given;	     /* openmetrics has series of processes then */
	uint64_t max_series; /* openmetrics: see metrics__new() */
	bool full;
	enum out_format format;
	const char *output; /* -o FILE, NULL */
	const char *read;   /* the recording to read, "-" for stdin; NULL: the live system */
	const char *engine; /* "auto", "bpf", "perf" */
	size_t mmap_pages;  /* -m: of each perf ring, a power of two; 0: default */
	bool verify;	    /* both engines, and their differences */
	const char *record; /* --record FILE, NULL */
	uint64_t mem_limit; /* bytes for the tables in the kernel; 0: default */
	unsigned int depth; /* --depth: of the groups that are told apart; 0: all */
	struct selection sel;
	const char *listen; /* serve: ADDR:PORT, checked */
	const char *name;   /* --name: of the resident instance; NULL: the unnamed one */
	bool since_start;   /* report: all since the start, and the window goes on */
	int verbose;
	char **command; /* NULL, or argv of the workload, NULL-terminated */
};

/*
 * Fills *o from argv. Returns 0, or 2 (wrong usage) after one line on stderr that says what is
 * wrong and what would be right. Numbers are checked to the last character and for range.
 */
int opts__parse(struct opts *o, int argc, char **argv);
void opts__help(FILE *f);

#endif /* OPTS_H */
