// SPDX-License-Identifier: GPL-2.0-only
/*
 * feed.c: every event script as the events of a recording, with the same accounts as the kernel's;
 * and what only recordings have: no beginning, holes, missing kinds of events.
 */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../events/cut.h"
#include "../events/feed_stage.h"

/* ---- scripts ---- */

static void test_script(void **state)
{
	const char *path = *state, *why;
	struct script s;
	struct play *p;
	char err[256];

	if (script__read(&s, path, err, sizeof(err)))
		fail_msg("%s", err);
	why = feed_stage__cannot(&s);
	if (why) {
		print_message("skip %s: %s\n", s.name, why);
		script__free(&s);
		skip();
	}
	p = calloc(1, sizeof(*p));
	assert_non_null(p);
	p->script = &s;
	feed_stage__open(&p->stage);
	p->expect = true;
	if (play__run(p))
		fail_msg("%s", p->why);
	if (!s.nocut)
		cut_everywhere(&s, &p->stage);
	feed_stage__close(&p->stage);
	free(p);
	script__free(&s);
}

int main(int argc, char **argv)
{
	struct CMUnitTest *tests;
	char pattern[512];
	glob_t g;
	int err;

	snprintf(pattern, sizeof(pattern), "%s/*.ev", argc > 1 ? argv[1] : "tests/events");
	if (glob(pattern, 0, NULL, &g)) {
		fprintf(stderr, "no scripts: %s\n", pattern);
		return 1;
	}
	tests = calloc(g.gl_pathc, sizeof(*tests));
	for (size_t i = 0; tests && i < g.gl_pathc; i++) {
		tests[i].name = strrchr(g.gl_pathv[i], '/') + 1;
		tests[i].test_func = test_script;
		tests[i].initial_state = g.gl_pathv[i];
	}
	err = tests ? _cmocka_run_group_tests("scripts by feed", tests, g.gl_pathc, NULL, NULL) : 1;
	free(tests);
	globfree(&g);
	return err;
}
