// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor empty|clock|find TRACEPOINT...: attaches those programs of floor.bpf.c, says "ready", stays
 * until stdin closes. Without a tracepoint: all of them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "floor.skel.h"

/* Whether prog, "empty_sys_enter" say, is wanted. */
static bool wanted(const char *prog, int argc, char **argv)
{
	size_t kind = strlen(argv[1]);

	if (strncmp(prog, argv[1], kind) || prog[kind] != '_')
		return false;
	for (int i = 2; i < argc; i++)
		if (!strcmp(prog + kind + 1, argv[i]))
			return true;
	return argc == 2;
}

int main(int argc, char **argv)
{
	struct bpf_program *p;
	struct floor_bpf *k;
	char buf[64];
	int err;

	if (argc < 2) {
		fputs("usage: floor empty|clock|find [TRACEPOINT...]\n", stderr);
		return 2;
	}
	k = floor_bpf__open();
	if (!k) {
		perror("floor: open");
		return 1;
	}
	bpf_object__for_each_program(p, k->obj)
		bpf_program__set_autoload(p, wanted(bpf_program__name(p), argc, argv));
	err = floor_bpf__load(k);
	if (!err)
		err = floor_bpf__attach(k);
	if (err) {
		fprintf(stderr, "floor: %s\n", strerror(-err));
	} else {
		puts("ready");
		fflush(stdout);
		while (read(STDIN_FILENO, buf, sizeof(buf)) > 0)
			;
	}
	floor_bpf__destroy(k);
	return err ? 1 : 0;
}
