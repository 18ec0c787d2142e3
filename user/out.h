/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The renderers: one function a format, all walking struct report and the column table.
 *
 * They only read the report, write to a stdio stream and escape everything they did not write
 * themselves.
 */
#ifndef OUT_H
#define OUT_H

#include <stdbool.h>
#include <stdio.h>

#include "names.h"
#include "report.h"

enum out_format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMAT_OPENMETRICS,
};

struct metrics;

struct out_opts {
	FILE *f;
	int width;	  /* columns of the terminal; 80 when not one */
	bool color;	  /* decided by main: terminal and no NO_COLOR */
	bool full;	  /* --full */
	const char *sort; /* a key that out__sort_key_valid() accepted, or NULL for on-CPU time */
	unsigned int top; /* rows in text tables; 0 all */
	enum report_level by;	 /* what the main table lists */
	bool first;		 /* first report of this run: CSV prints its header line */
	struct metrics *metrics; /* openmetrics: the counters that reports are added to */
	const char *path;	 /* openmetrics: a file to be replaced; NULL: f */
};

/* Each returns 0, or -errno of the failed write (the stream is flushed). -ENOMEM is possible. */
int out__text(const struct report *r, struct names *n, const struct out_opts *o);
int out__full(const struct report *r, struct names *n, const struct out_opts *o);
int out__json(const struct report *r, struct names *n, const struct out_opts *o);
int out__csv(const struct report *r, struct names *n, const struct out_opts *o);
int out__openmetrics(const struct report *r, struct names *n, const struct out_opts *o);

/* True when key names a sortable column: the column table's names ("user", "wait", "cpu", "pid",
 * …). */
bool out__sort_key_valid(const char *key);
/* The sortable keys, comma separated, for messages. */
const char *out__sort_keys(void);

/* Prints the JSON Schema of the JSON format (draft 2020-12). 0 or -errno. */
int out__json_schema(FILE *f);

#endif /* OUT_H */
