/* SPDX-License-Identifier: GPL-2.0-only */
/* The event scripts as a group of cmocka tests. */
#ifndef EACH_H
#define EACH_H

/*
 * Runs `test` for every script below argv[1] (default tests/events), its path as *state; `name` is
 * the group's. What failed, 0: nothing did.
 */
int each_script(int argc, char **argv, const char *name, void (*test)(void **state));

#endif /* EACH_H */
