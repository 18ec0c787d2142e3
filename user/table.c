// SPDX-License-Identifier: GPL-2.0-only
/*
 * A text table of entities that fits its columns to the width of the terminal.
 *
 * Each column is as wide as its widest cell. Where that is too much, the longest text is cut
 * first, down to a width that still tells names apart, then whole columns go, the least wanted
 * first. A line is never longer than the width. This file must not know what a report means.
 */
#include <inttypes.h>
#include <string.h>

#include "escape.h"
#include "out_util.h"
#include "table.h"

#define CELL_LEN 512
#define GAP	 2

/* The columns that are shown, and how wide. */
struct layout {
	int width[TABLE_COLS_MAX];
	bool shown[TABLE_COLS_MAX];
	int gap;
};

static bool is_text(enum cell_fmt fmt)
{
	return fmt == CELL_TEXT || fmt == CELL_PATH || fmt == CELL_CALL;
}

/* A text is cut down to this before a column is dropped for it. */
static int text_min(enum cell_fmt fmt)
{
	return fmt == CELL_PATH ? 24 : fmt == CELL_CALL ? 16 : 12;
}

enum cell_fmt table__fmt(const struct column *c)
{
	switch (c->unit) {
	case UNIT_NS:
		return CELL_SECONDS;
	case UNIT_MEAN:
		return CELL_DURATION;
	case UNIT_COUNT:
		return CELL_COUNT;
	case UNIT_PERCENT:
		return CELL_PERCENT;
	case UNIT_TEXT:
		return CELL_TEXT;
	default:
		return CELL_ID;
	}
}

static bool is_first_text(const struct table *t, size_t col)
{
	for (size_t i = 0; i < col; i++)
		if (is_text(t->cols[i].fmt))
			return false;
	return is_text(t->cols[col].fmt);
}

static void number_cell(const struct table *t, char buf[CELL_LEN], enum cell_fmt fmt, uint64_t u,
			const struct item *it)
{
	switch (fmt) {
	case CELL_COUNT:
		out__count(buf, u);
		break;
	case CELL_SECONDS:
		out__seconds(buf, !t->ms ? u : u > UINT64_MAX / 1000 ? UINT64_MAX : u * 1000);
		break;
	case CELL_DURATION:
		out__duration(buf, u);
		break;
	case CELL_PERCENT:
		snprintf(buf, CELL_LEN, "%.1f%%", (double)u / 1000);
		break;
	case CELL_SHARE:
		out__share(buf, u, column__number(COL_ELAPSED, it));
		break;
	default:
		snprintf(buf, CELL_LEN, "%" PRIu64, u);
	}
}

/* The raw text of one cell, in buf or where it lies. *set: it says something. */
static const char *cell(const struct table *t, size_t col, const struct table_row *row,
			char buf[CELL_LEN], bool *set)
{
	const struct table_column *c = &t->cols[col];
	struct value v;

	*set = false;
	if (row->label) {
		if (is_first_text(t, col))
			return row->label;
		/* what does not add up says nothing about many; an average still does */
		if (is_text(c->fmt) || c->fmt == CELL_ID ||
		    (columns[c->id].unit == UNIT_MEAN && c->id != COL_AVG))
			return "";
	}
	if (c->fmt == CELL_CALL) {
		const struct rep_call *call = row->it.rec;

		*set = true;
		return out__call_label(buf, CELL_LEN, t->names, call->key);
	}
	column__told(&columns[c->id], t->r, &row->it, t->names, &v);
	if (v.type == VALUE_TEXT)
		*set = *v.s != '\0';
	else if (v.type == VALUE_UINT)
		*set = v.u != 0;
	if (v.type == VALUE_TEXT && v.s == v.buf)
		return memcpy(buf, v.buf, sizeof(v.buf)); /* that one ends here */
	if (v.type == VALUE_TEXT)
		return v.s;
	if (v.type != VALUE_UINT)
		return "-";
	number_cell(t, buf, c->fmt, v.u, &row->it);
	return buf;
}

/* The head names its unit where the layout does: "CPU s". */
static const char *head(const struct table *t, size_t col, char buf[CELL_LEN])
{
	size_t len = strlen(t->cols[col].head);

	if (!t->ms || len < 2 || strcmp(t->cols[col].head + len - 2, " s"))
		return t->cols[col].head;
	snprintf(buf, CELL_LEN, "%.*s ms", (int)len - 2, t->cols[col].head);
	return buf;
}

/* The natural widths; columns that have nothing to say and may hide do so. */
static void measure(const struct table *t, const struct table_row *rows, size_t nr,
		    struct layout *l)
{
	char buf[CELL_LEN];

	for (size_t c = 0; c < t->nr_cols; c++) {
		l->width[c] = (int)strlen(head(t, c, buf));
		l->shown[c] = !t->cols[c].if_set;
		for (size_t i = 0; i < nr; i++) {
			bool set;
			int w = esc__width(cell(t, c, &rows[i], buf, &set));

			l->shown[c] |= set;
			if (w > l->width[c])
				l->width[c] = w;
		}
	}
}

static int total(const struct table *t, const struct layout *l)
{
	int sum = -l->gap;

	for (size_t c = 0; c < t->nr_cols; c++)
		sum += l->shown[c] ? l->width[c] + l->gap : 0;
	return sum;
}

/*
 * Cuts the texts, the one with the most to spare first, until the columns fit; no text below its
 * minimum, or with hard, below one character. False when that is not enough.
 */
static bool cut_text(const struct table *t, struct layout *l, bool hard)
{
	int over;

	while ((over = total(t, l) - t->width) > 0) {
		size_t widest = t->nr_cols;
		int most = 0;

		for (size_t c = 0; c < t->nr_cols; c++) {
			enum cell_fmt fmt = t->cols[c].fmt;
			int spare = l->width[c] - (hard ? 1 : text_min(fmt));

			if (!l->shown[c] || !is_text(fmt) || spare <= most)
				continue;
			most = spare;
			widest = c;
		}
		if (widest == t->nr_cols)
			return false;
		l->width[widest] -= over < most ? over : most;
	}
	return true;
}

static void fit(const struct table *t, struct layout *l)
{
	l->gap = GAP;
	for (;;) {
		struct layout trial = *l;
		size_t least = t->nr_cols;

		if (total(t, l) > t->width)
			trial.gap = 1;
		if (cut_text(t, &trial, false)) {
			*l = trial;
			return;
		}
		for (size_t c = 0; c < t->nr_cols; c++)
			if (l->shown[c] && t->cols[c].keep < 255 &&
			    (least == t->nr_cols || t->cols[c].keep < t->cols[least].keep))
				least = c;
		if (least == t->nr_cols)
			break;
		l->shown[least] = false;
	}
	l->gap = 1;
	cut_text(t, l, true);
}

static void put_cell(const struct table *t, const struct layout *l, size_t col, const char *raw,
		     int *at)
{
	enum cell_fmt fmt = t->cols[col].fmt;
	char safe[2 * CELL_LEN];
	int used = esc__fit(safe, sizeof(safe), raw, l->width[col], fmt == CELL_PATH);
	int pad = l->width[col] - used, before = is_text(fmt) ? 0 : pad;

	/* blanks are written only before something, so that no line ends in them */
	if (used)
		fprintf(t->f, "%*s%s", *at + before, "", safe);
	*at = (used ? pad - before : *at + pad) + l->gap;
}

int table__print(const struct table *t, const struct table_row *rows, size_t nr)
{
	struct layout l;
	char buf[CELL_LEN];
	int at = 0;

	measure(t, rows, nr, &l);
	fit(t, &l);
	fputs(t->color ? SGR_BOLD : "", t->f);
	for (size_t c = 0; c < t->nr_cols; c++)
		if (l.shown[c])
			put_cell(t, &l, c, head(t, c, buf), &at);
	fputs(t->color ? SGR_OFF "\n" : "\n", t->f);
	for (size_t i = 0; i < nr; i++) {
		at = 0;
		for (size_t c = 0; c < t->nr_cols; c++) {
			bool set;

			if (l.shown[c])
				put_cell(t, &l, c, cell(t, c, &rows[i], buf, &set), &at);
		}
		fputc('\n', t->f);
		if (out__error(t->f))
			return out__error(t->f);
	}
	return 0;
}
