// SPDX-License-Identifier: GPL-2.0-only
/*
 * A recording as the fuzzer has it, through the whole file engine: bytes, records, events,
 * accounts, two windows, and the reports as JSON. Whatever is in it, each report's sums come out
 * right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine.h"

/* What libtraceevent does not free after a format that it refuses: a few bytes a file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent\n";
}

static int replay(struct engine *e, uint64_t end)
{
	int got;

	do
		got = engine_file.replay(e, end);
	while (got == REPLAY_MORE);
	return got;
}

static void window(struct engine *e, uint64_t end, struct names *names, const struct out_opts *out)
{
	struct report r;

	if (!engine_file.roll(e, end, &r)) {
		if (r.quality.residual_ns)
			abort();
		out__json(&r, names, out);
	}
	report__free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	static FILE *null;
	char path[32], why[512];
	int fd = memfd_create("fuzz", 0);
	struct opts o = {.events = EV_ALL, .read = path};
	struct names *names = names__new("x86_64");
	struct out_opts out = {.f = null ? null : (null = fopen("/dev/null", "w"))};
	struct engine *e;
	uint64_t middle;

	if (fd < 0 || write(fd, in, len) != (ssize_t)len || !names)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!engine_file.open(&e, &o, LEVEL_TASK, 0, names, why, sizeof(why))) {
		if (replay(e, 0) == REPLAY_WINDOW) {
			middle = engine_file.start(e) + 1000;
			if (replay(e, middle) >= 0)
				window(e, middle, names, &out);
			if (replay(e, UINT64_MAX) >= 0)
				window(e, UINT64_MAX, names, &out);
		}
		engine_file.fault(e);
		engine_file.close(e);
	}
	names__free(names);
	close(fd);
	return 0;
}
