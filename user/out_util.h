/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the renderers share: numbers in few characters, the lines above and below a report, and
 * the end of a stream.
 *
 * It knows the report but no layout.
 */
#ifndef OUT_UTIL_H
#define OUT_UTIL_H

#include <stdint.h>
#include <stdio.h>

#include "columns.h"
#include "out.h"

#define NUM_LEN 32 /* any number below, with its end */

/* 0 while every write has worked, else -errno. To be asked right after writing. */
int out__error(FILE *f);
/* Flushes; 0 or -errno. */
int out__finish(FILE *f);

/* "4.210", "12345.6": seconds without their unit. */
const char *out__seconds(char buf[NUM_LEN], uint64_t ns);
/* "402ns", "31.8us", "5.01s", "12.3h": at most seven characters. */
const char *out__duration(char buf[NUM_LEN], uint64_t ns);
/* "1032", "1.2M": at most five characters. */
const char *out__count(char buf[NUM_LEN], uint64_t n);
/* part of whole: "100%", "93%", "0.9%", "-" for nothing. */
const char *out__share(char buf[NUM_LEN], uint64_t part, uint64_t whole);

/* "read", "read [i386]", "irq 24 virtio0", "softirq net_rx", "hcall H_PROD"; raw bytes. */
const char *out__call_label(char *buf, size_t len, struct names *n, uint32_t key);

/* The first line: host, time, engine. width 0: as long as it takes. */
void out__header(const struct report *r, FILE *f, int width);
/* What was lost, what it cost, and the notes, in lines of at most width; 0: no limit. */
void out__footer(const struct report *r, FILE *f, int width, bool color);

/*
 * Words on lines of at most width columns (0: no limit): out__wrap appends text, breaking only at
 * its blanks, and out__wrap_end ends the line.
 */
struct wrap {
	FILE *f;
	int width, at;
};
void out__wrap(struct wrap *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out__wrap_end(struct wrap *w);

/* The items of a kind, to be freed; NULL without memory. */
struct item *out__items(const struct report *r, enum ent kind, size_t *nr);
enum call_set {
	CALLS_ALL,
	CALLS_ENDED,	  /* at least once */
	CALLS_UNFINISHED, /* open, or with a begin that nobody saw */
};

/* The calls of the classes first to last, likewise. */
struct item *out__calls(const struct rep_calls *calls, uint32_t first, uint32_t last,
			enum call_set set, size_t *nr);

#define SGR_BOLD "\033[1m"
#define SGR_RED	 "\033[31m"
#define SGR_OFF	 "\033[0m"

#endif /* OUT_UTIL_H */
