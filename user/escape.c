// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strings that others chose, made safe for a terminal, for CSV and for JSON.
 *
 * A task names itself, a container names its cgroup: both may try to move the cursor, to hide
 * text or to forge a line. This file decides what is shown instead, one character at a time. It
 * must not know what a string means, and takes no help from the locale, so that a report reads
 * the same everywhere.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

/* The longest form of one character: "\u{10ffff}" and its end. */
#define UNIT_LEN 16

struct range {
	uint32_t first, last;
};

/* Invisible, or turning the direction of writing: a name could look like another one. */
static const struct range unsafe[] = {
	{0x00, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},     {0x61c, 0x61c},
	{0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
	{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff},
};

static const struct range two_columns[] = {
	{0x1100, 0x115f}, {0x231a, 0x231b},   {0x2e80, 0xa4cf},	  {0xa960, 0xa97c},
	{0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe30, 0xfe6f},	  {0xff00, 0xff60},
	{0xffe0, 0xffe6}, {0x1f000, 0x1faff}, {0x20000, 0x3fffd},
};

static const struct range no_column[] = {
	{0x300, 0x36f},	  {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
	{0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

#define IN(table, cp) in_ranges(table, sizeof(table) / sizeof((table)[0]), cp)

static bool in_ranges(const struct range *r, size_t nr, uint32_t cp)
{
	for (size_t i = 0; i < nr; i++)
		if (cp >= r[i].first && cp <= r[i].last)
			return true;
	return false;
}

/* Decodes one character of UTF-8. Returns its length, 0 when the bytes are not one. */
static size_t decode(const unsigned char *s, uint32_t *cp)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (!len || s[0] > 0xf4)
		return 0;
	*cp = len == 1 ? s[0] : s[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++) {
		/* the end of the string is no continuation byte, so this never reads past it */
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (s[i] & 0x3f);
	}
	if (*cp < smallest[len] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp <= 0xdfff))
		return 0;
	return len;
}

/* One character in its safe form. Moves *src on; returns the columns that the form takes. */
static int next_unit(const char **src, char unit[UNIT_LEN])
{
	const unsigned char *s = (const unsigned char *)*src;
	uint32_t cp;
	size_t len = decode(s, &cp);

	*src += len ? len : 1;
	if (!len || cp < 0x20 || cp == 0x7f)
		return snprintf(unit, UNIT_LEN, "\\x%02x", s[0]);
	if (IN(unsafe, cp))
		return snprintf(unit, UNIT_LEN, cp > 0xffff ? "\\u{%x}" : "\\u%04x", cp);
	memcpy(unit, s, len);
	unit[len] = '\0';
	return IN(no_column, cp) ? 0 : IN(two_columns, cp) ? 2 : 1;
}

void esc__put(FILE *f, const char *src)
{
	char unit[UNIT_LEN];

	while (*src) {
		next_unit(&src, unit);
		fputs(unit, f);
	}
}

int esc__width(const char *src)
{
	char unit[UNIT_LEN];
	int cols = 0;

	while (*src)
		cols += next_unit(&src, unit);
	return cols;
}

/* Appends whole characters while both the columns and the bytes allow it. */
static int append(char *dst, size_t len, const char *src, int cols)
{
	char unit[UNIT_LEN];
	size_t used = strlen(dst);
	int done = 0;

	while (*src) {
		int w = next_unit(&src, unit);
		size_t n = strlen(unit);

		if (done + w > cols || used + n >= len)
			break;
		memcpy(dst + used, unit, n + 1);
		used += n;
		done += w;
	}
	return done;
}

int esc__fit(char *dst, size_t len, const char *src, int cols, bool tail)
{
	char unit[UNIT_LEN];
	int width = esc__width(src), done;

	if (!len)
		return 0;
	dst[0] = '\0';
	if (width <= cols)
		return append(dst, len, src, cols);
	if (cols < 1 || len < 2)
		return 0;
	if (tail) {
		strcpy(dst, "+");
		while (width > cols - 1)
			width -= next_unit(&src, unit);
		return 1 + append(dst, len, src, cols - 1);
	}
	done = append(dst, len - 1, src, cols - 1);
	strcat(dst, "+");
	return done + 1;
}

void esc__csv(FILE *f, const char *src)
{
	/* line ends never reach the quotes: they are control characters, shown as such */
	bool quote = strpbrk(src, ",\"") || *src == ' ';
	char unit[UNIT_LEN];

	if (quote)
		fputc('"', f);
	while (*src) {
		next_unit(&src, unit);
		fputs(strcmp(unit, "\"") ? unit : "\"\"", f);
	}
	if (quote)
		fputc('"', f);
}

char *esc__label(char *dst, const char *src)
{
	char unit[UNIT_LEN];

	while (*src) {
		/* nearly all of nearly every name, and there can be ten thousand of them */
		if (*src >= ' ' && *src <= '~' && *src != '"' && *src != '\\') {
			*dst++ = *src++;
			continue;
		}
		next_unit(&src, unit);
		for (const char *p = unit; *p; p++) {
			if (*p == '"' || *p == '\\')
				*dst++ = '\\';
			*dst++ = *p;
		}
	}
	*dst = '\0';
	return dst;
}

char *esc__utf8(const char *src)
{
	char *dst = malloc(3 * strlen(src) + 1), *p = dst;

	if (!dst)
		return NULL;
	while (*src) {
		uint32_t cp;
		size_t len = decode((const unsigned char *)src, &cp);

		if (len) {
			memcpy(p, src, len);
			p += len;
		} else {
			memcpy(p, "\xef\xbf\xbd", 3);
			p += 3;
		}
		src += len ? len : 1;
	}
	*p = '\0';
	return dst;
}
