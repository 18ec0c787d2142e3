/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Strings that others chose, made safe for a terminal, for CSV and for JSON.
 *
 * It owns what counts as unsafe and how wide a character is; it knows nothing of reports.
 */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Writes src for a terminal: control characters and bytes that are no UTF-8 as \xNN, characters
 * that are invisible or turn the direction of writing as \uNNNN. The rest goes out as it is.
 */
void esc__put(FILE *f, const char *src);

/* Columns that esc__put(src) takes. */
int esc__width(const char *src);

/*
 * The same text in at most cols columns: when it does not fit, its end (or with tail its
 * beginning) gives way to a '+'. Returns the columns used. dst is always terminated.
 */
int esc__fit(char *dst, size_t len, const char *src, int cols, bool tail);

/* One CSV field by RFC 4180, unsafe characters shown as esc__put shows them. */
void esc__csv(FILE *f, const char *src);

/*
 * A label's value in Prometheus' formats, without its quotes: unsafe characters shown as esc__put
 * shows them, quotes and backslashes escaped. dst: ESC_LABEL_LEN(strlen(src)) bytes. Returns the
 * end of what was written, where a NUL stands.
 */
char *esc__label(char *dst, const char *src);
#define ESC_LABEL_LEN(n) (5 * (n) + 1) /* \\x1b for one byte */

/* src as valid UTF-8, invalid bytes as U+FFFD; to be freed by the caller. NULL: no memory. */
char *esc__utf8(const char *src);

#endif /* ESCAPE_H */
