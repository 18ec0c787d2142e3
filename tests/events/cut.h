/* SPDX-License-Identifier: GPL-2.0-only */
/* Law 5: a script's windows cut wherever something happens, on any stage. For cmocka tests. */
#ifndef CUT_H
#define CUT_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "play.h"

static struct play *play_new(const struct script *s, const struct stage *stage)
{
	struct play *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->script = s;
	p->stage = *stage;
	return p;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The moments at which something happens within the script's time, and those between two of them.
 */
static size_t moments(const struct script *s, uint64_t **out)
{
	uint64_t *v = calloc(2 * s->nev + 2, sizeof(*v)), first = 0, last = 0;
	size_t n = 0, m = 0;

	assert_non_null(v);
	for (size_t i = 0; i < s->nev; i++) {
		if (s->ev[i].op == OP_WINDOW) {
			first = first ? first : s->ev[i].time;
			last = s->ev[i].time;
		}
	}
	for (size_t i = 0; i < s->nev; i++)
		if (s->ev[i].time > first && s->ev[i].time < last)
			v[n++] = s->ev[i].time;
	for (size_t i = 0; i < s->nev; i++)
		if (s->ev[i].time > first + 1 && s->ev[i].time < last)
			v[n++] = s->ev[i].time - 1;
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++)
		if (!m || v[i] != v[m - 1])
			v[m++] = v[i];
	*out = v;
	return m;
}

static void cut_once(const struct play *whole, const uint64_t *cuts, size_t n, bool late)
{
	struct play *p = play_new(whole->script, &whole->stage);
	char why[256];

	p->keep = true;
	if (play__run_cut(p, cuts, n, late))
		fail_msg("%s, cut %zu times from %" PRIu64 "%s: %s", p->script->name, n, cuts[0],
			 late ? ", read late" : "", p->why);
	if (!play__same(&whole->sum, &p->sum, why, sizeof(why)))
		fail_msg("%s, cut %zu times from %" PRIu64 "%s: %s", p->script->name, n, cuts[0],
			 late ? ", read late" : "", why);
	free(p);
}

static void cut_everywhere(const struct script *s, const struct stage *stage)
{
	struct play *whole = play_new(s, stage);
	uint64_t *cuts;
	size_t n = moments(s, &cuts);

	whole->keep = true;
	if (play__run_cut(whole, NULL, 0, false))
		fail_msg("%s: in one window: %s", s->name, whole->why);
	for (int late = 0; late < 2; late++) {
		for (size_t i = 0; i < n; i++)
			cut_once(whole, cuts + i, 1, late);
		for (size_t i = 0; i + 4 < n;
		     i++) /* two, with windows between that some never see */
			cut_once(whole, (uint64_t[]){cuts[i], cuts[i + 1], cuts[i + 4]}, 3, late);
		if (n)
			cut_once(whole, cuts, n, late);
	}
	free(cuts);
	free(whole);
}

#endif /* CUT_H */
