// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor empty|clock|all: attaches that pair of floor.bpf.c, or all that read the clock, says
 * "ready", stays until stdin closes.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "floor.skel.h"

int main(int argc, char **argv)
{
	bool all = argc == 2 && !strcmp(argv[1], "all");
	bool clock = all || (argc == 2 && !strcmp(argv[1], "clock"));
	struct floor_bpf *k;
	char buf[64];
	int err;

	if (!clock && (argc != 2 || strcmp(argv[1], "empty"))) {
		fputs("usage: floor empty|clock|all\n", stderr);
		return 2;
	}
	k = floor_bpf__open();
	if (!k) {
		perror("floor: open");
		return 1;
	}
	bpf_program__set_autoload(k->progs.floor_enter, clock);
	bpf_program__set_autoload(k->progs.floor_exit, clock);
	bpf_program__set_autoload(k->progs.floor_switch, all);
	bpf_program__set_autoload(k->progs.floor_wakeup, all);
	bpf_program__set_autoload(k->progs.empty_enter, !clock);
	bpf_program__set_autoload(k->progs.empty_exit, !clock);
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
