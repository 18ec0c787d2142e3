// SPDX-License-Identifier: GPL-2.0-only
/* Which engine it is going to be. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"
#include "escape.h"
#include "verify.h"

#define WHY_LEN 512

const struct engine_ops *engine__open(struct engine **e, const struct opts *o,
				      enum report_level level, pid_t command, struct names *names,
				      const char **reason, char *why, size_t len)
{
	static char said[WHY_LEN + 64];
	char bpf[WHY_LEN] = "", perf[WHY_LEN] = "";

	*reason = NULL;
	if (o->read)
		return engine_file.open(e, o, level, command, names, why, len) ? NULL
									       : &engine_file;
	if (o->verify)
		return engine_verify.open(e, o, level, command, names, why, len) ? NULL
										 : &engine_verify;
	if (o->record)
		*reason = "only the perf engine can record";
	if (o->record || !strcmp(o->engine, "perf"))
		return engine_perf.open(e, o, level, command, names, why, len) ? NULL
									       : &engine_perf;
	if (!strcmp(o->engine, "bpf"))
		return engine_bpf.open(e, o, level, command, names, why, len) ? NULL : &engine_bpf;
	if (!engine_bpf.open(e, o, level, command, names, bpf, sizeof(bpf)))
		return &engine_bpf;
	if (engine_perf.open(e, o, level, command, names, perf, sizeof(perf))) {
		snprintf(why, len, "neither engine works here. bpf: %s. perf: %s", bpf, perf);
		return NULL;
	}
	snprintf(said, sizeof(said), "bpf does not work here: %s", bpf);
	fputs("utilbpf: ", stderr);
	esc__put(stderr, said);
	fputs("; going on with perf\n", stderr);
	*reason = said;
	return &engine_perf;
}
