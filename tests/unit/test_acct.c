// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every event script on the host: its expectations, the laws in each of its windows, and law 5 with
 * its windows cut wherever something happens.
 *
 * Built from the object of collect.c, report.c and report_util.c, with tests/events/ in place of
 * names.c.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../events/cut.h"
#include "../events/each.h"

static struct script_state tables;
#define ST (&tables)
#include "../events/apply.h"

static void host_apply(void *ctx, const struct script_event *ev)
{
	(void)ctx;
	apply(ev);
}

static const struct stage host = {.st = &tables, .apply = host_apply};

static void test_script(void **state)
{
	const char *path = *state;
	struct script s;
	char err[256];
	struct play *p;

	if (script__read(&s, path, err, sizeof(err)))
		fail_msg("%s", err);
	assert_true(s.nex > 0);
	p = play_new(&s, &host);
	p->expect = true;
	if (play__run(p))
		fail_msg("%s", p->why);
	free(p);
	if (!s.nocut)
		cut_everywhere(&s, &host);
	script__free(&s);
}

int main(int argc, char **argv)
{
	return each_script(argc, argv, "scripts", test_script);
}
