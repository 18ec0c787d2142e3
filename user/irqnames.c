// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of interrupts, from /proc/interrupts and from what engines see.
 *
 * It owns the reading of that file's format, which differs by machine and kernel, and must not know
 * what an interrupt costs. The text may be anything: no line may make it read past its end.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/utilbpf.h"
#include "names_priv.h"

#define INTERRUPTS "/proc/interrupts"

/* Handlers of one irq, all together: more than any device has, and a bound for what is kept. */
#define MAX_IRQ_NAME 256

#define CPUS_UNKNOWN SIZE_MAX

/* A piece of text that is not NUL-terminated. */
struct span {
	const char *p, *end;
};

static size_t span_len(struct span s)
{
	return (size_t)(s.end - s.p);
}

static bool span_is(struct span s, const char *word)
{
	return span_len(s) == strlen(word) && !memcmp(s.p, word, span_len(s));
}

static bool blank(char c)
{
	return isspace((unsigned char)c);
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Cuts the next word off s; an empty one at its end. gap: blanks before the word. */
static struct span next_word(struct span *s, size_t *gap)
{
	struct span word = *s;

	while (word.p < word.end && blank(*word.p))
		word.p++;
	*gap = (size_t)(word.p - s->p);
	s->p = word.p;
	while (s->p < s->end && !blank(*s->p))
		s->p++;
	word.end = s->p;
	return word;
}

static bool all_digits(struct span word)
{
	for (const char *p = word.p; p < word.end; p++)
		if (!digit(*p))
			return false;
	return word.p < word.end;
}

/* "5", or "5-edge": the interrupt's number at its chip, and how it is triggered. */
static bool is_hwirq(struct span word)
{
	const char *p = word.p;

	while (p < word.end && digit(*p))
		p++;
	return p > word.p && (p == word.end || *p == '-');
}

static struct span trimmed(struct span s)
{
	while (s.p < s.end && blank(*s.p))
		s.p++;
	while (s.end > s.p && blank(s.end[-1]))
		s.end--;
	return s;
}

/*
 * Steps over the chip's name. It may have several words, with one blank between them; the number
 * at the chip, or a wider gap where there is none, ends it. Returns true when it took that number
 * too.
 */
static bool skip_chip(struct span *s, struct span *last)
{
	struct span rest = *s, word;
	size_t gap;

	*last = next_word(s, &gap);
	for (rest = *s; rest.p < rest.end; *s = rest) {
		word = next_word(&rest, &gap);
		if (is_hwirq(word)) {
			*s = rest;
			return true;
		}
		if (gap > 1 || word.p == word.end)
			return false;
		*last = word;
	}
	return false;
}

/* Of "IO-APIC   4-edge      ttyS0", "GICv3  27 Level     arch_timer": the end. May be empty. */
static struct span handler_of(struct span desc)
{
	struct span last, rest, word;
	bool hwirq = skip_chip(&desc, &last);
	const char *after_chip = desc.p;
	size_t gap;

	for (;;) {
		rest = desc;
		word = next_word(&rest, &gap);
		if (!span_is(word, "Level") && !span_is(word, "Edge") &&
		    !(word.p < word.end && *word.p == '-'))
			break;
		desc = rest;
	}
	desc = trimmed(desc);
	/* "IO-APIC-edge timer" with one blank only: nothing tells where the chip ended, so guess.
	 */
	if (desc.p == desc.end && !hwirq &&
	    desc.p == trimmed((struct span){after_chip, desc.end}).p)
		return last;
	return desc;
}

/* Words CPU0 CPU1 … of the first line; CPUS_UNKNOWN when it is another line. */
static size_t count_cpus(struct span line)
{
	struct span word;
	size_t gap, n = 0;

	for (;;) {
		word = next_word(&line, &gap);
		if (span_len(word) < 4 || memcmp(word.p, "CPU", 3) || !digit(word.p[3]))
			return n ? n : CPUS_UNKNOWN;
		n++;
	}
}

static bool parse_number(struct span *line, uint32_t *irq)
{
	uint64_t v = 0;
	const char *p;

	*line = trimmed(*line);
	for (p = line->p; p < line->end && digit(*p); p++) {
		v = v * 10 + (uint64_t)(*p - '0');
		if (v > KEY_NR_MASK)
			return false;
	}
	if (p == line->p || p == line->end || *p != ':')
		return false;
	line->p = p + 1;
	*irq = (uint32_t)v;
	return true;
}

/* 1: the line named an irq; 0: it did not; -ENOMEM. */
static int parse_line(struct names *n, struct span line, size_t *cpus)
{
	struct span word, rest, chip;
	size_t gap, header;
	uint32_t irq;

	header = count_cpus(line);
	if (header != CPUS_UNKNOWN) {
		*cpus = header;
		return 0;
	}
	if (!parse_number(&line, &irq))
		return 0;
	for (size_t i = 0; i < *cpus; i++) {
		rest = line;
		word = next_word(&rest, &gap);
		if (!all_digits(word))
			break;
		line = rest;
	}
	chip = trimmed(line);
	word = handler_of(chip);
	/* A chip alone is a line that nobody handles: the name that it had before stays. */
	if (word.p == word.end || word.p == chip.p)
		return 0;
	if (span_len(word) > MAX_IRQ_NAME)
		word.end = word.p + MAX_IRQ_NAME;
	if (!strmap__set(&n->calls, CALL_KEY(CALL_IRQ, 0, irq), word.p, span_len(word)))
		return -ENOMEM;
	return 1;
}

int names__parse_irqs(struct names *n, const char *buf, size_t len)
{
	struct span text = {buf, buf + len}, line;
	size_t cpus = CPUS_UNKNOWN;
	int rc, named = 0;

	while (text.p < text.end) {
		line = text;
		line.end = memchr(text.p, '\n', span_len(text));
		if (!line.end)
			line.end = text.end;
		rc = parse_line(n, line, &cpus);
		if (rc < 0)
			return rc;
		named += rc;
		text.p = line.end < text.end ? line.end + 1 : text.end;
	}
	return named;
}

/* By lines: with thousands of CPUs the file is too big to be held at once. */
int names__load_irqs(struct names *n, const char *path)
{
	size_t size = 0, cpus = CPUS_UNKNOWN;
	char *line = NULL;
	ssize_t len;
	int rc = 0;
	FILE *f = fopen(path ? path : INTERRUPTS, "re");

	if (!f)
		return -errno;
	while (rc >= 0) {
		errno = 0;
		len = getline(&line, &size, f);
		if (len < 0)
			break;
		rc = parse_line(n, (struct span){line, line + len}, &cpus);
	}
	if (rc >= 0 && !feof(f))
		rc = errno ? -errno : -EIO;
	free(line);
	fclose(f);
	return rc < 0 ? rc : 0;
}

/* True when name is an element of "a, b, c". */
static bool in_list(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; p; p = strchr(p, ',')) {
		while (*p == ',' || *p == ' ')
			p++;
		if (!strncmp(p, name, len) && (p[len] == '\0' || p[len] == ','))
			return true;
	}
	return false;
}

/*
 * An event names one handler at a time, of several that may share the irq: names add up, as they
 * do in /proc/interrupts, instead of taking turns.
 */
void names__set_irq(struct names *n, uint32_t irq, const char *name)
{
	uint32_t key = CALL_KEY(CALL_IRQ, 0, irq);
	char both[MAX_IRQ_NAME + 1];
	const char *old;

	if (irq > KEY_NR_MASK || !name || !*name)
		return;
	old = strmap__get(&n->calls, key);
	snprintf(both, sizeof(both), "irq_%u", irq);
	if (old && !strcmp(old, both)) /* not a name, what names__call() made up */
		old = NULL;
	if (old && in_list(old, name))
		return;
	if (snprintf(both, sizeof(both), "%s%s%s", old ? old : "", old ? ", " : "", name) >=
		    (int)sizeof(both) &&
	    old)
		return;
	strmap__set(&n->calls, key, both, sizeof(both));
}
