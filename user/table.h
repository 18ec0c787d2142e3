/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A text table of entities that fits its columns to the width of the terminal.
 *
 * It takes values from the column table and knows nothing of what a report means.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "columns.h"

enum cell_fmt {
	CELL_ID,
	CELL_COUNT,
	CELL_SECONDS,
	CELL_DURATION,
	CELL_PERCENT,
	CELL_SHARE, /* of the call's elapsed time */
	CELL_TEXT,
	CELL_PATH, /* text whose end tells more than its beginning */
	CELL_CALL, /* the call's label */
};

struct table_column {
	enum col_id id;
	const char *head;
	enum cell_fmt fmt;
	unsigned char keep; /* the lowest goes first where there is no room */
	bool if_set;	    /* only when a row has something there */
};

struct table_row {
	struct item it;
	const char *label; /* for a sum of many: stands in the first text column, ids stay empty */
};

struct table {
	FILE *f;
	struct names *names;
	int width;
	bool color;
	bool ms; /* a short window: milliseconds where it would be seconds */
	const struct table_column *cols;
	size_t nr_cols;
	const struct report *r; /* whose rows these are */
};

#define TABLE_COLS_MAX 24

/* Prints the head and the rows. 0 or -errno. */
int table__print(const struct table *t, const struct table_row *rows, size_t nr);

/* How a column looks that the layout did not plan for. */
enum cell_fmt table__fmt(const struct column *c);

#endif /* TABLE_H */
