// SPDX-License-Identifier: GPL-2.0-only
/* See each.h. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "each.h"

int each_script(int argc, char **argv, const char *name, void (*test)(void **state))
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
		tests[i].test_func = test;
		tests[i].initial_state = g.gl_pathv[i];
	}
	err = tests ? _cmocka_run_group_tests(name, tests, g.gl_pathc, NULL, NULL) : 1;
	free(tests);
	globfree(&g);
	return err;
}
