// SPDX-License-Identifier: GPL-2.0-only
/* A recording as the fuzzer has it, read from a file and from a pipe, its tracepoints decoded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "decode.h"
#include "perf_data.h"

static int format(void *ctx, const char *system, const char *text, size_t len)
{
	return decode__format(ctx, system, text, len) == -ENOMEM ? -ENOMEM : 0;
}

static void read_all(int fd)
{
	char path[32], why[256];
	struct decode *d = decode__new(false);
	struct perf_data *pd;
	struct data_rec rec;
	struct feed_event ev;
	int got;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!perf_data__open(&pd, path, format, d, why, sizeof(why))) {
		while ((got = perf_data__next(pd, &rec)) > 0 || got == -EAGAIN) {
			struct decode_hdr h = {rec.time, rec.cpu, rec.pid, rec.tid};
			size_t n;

			if (got == -EAGAIN || rec.type != PERF_RECORD_SAMPLE)
				continue;
			if (decode__event(d, &h, rec.raw, rec.raw_size, &ev) > 0 &&
			    ev.op == FEED_FRAME_ENTER)
				decode__irq_name(d, rec.raw, rec.raw_size, &n);
		}
		if (got < 0 && !perf_data__fault(pd))
			abort();
		perf_data__close(pd);
	}
	decode__free(d);
	close(fd);
}

/* What libtraceevent does not free after a format that it refuses: a few bytes a file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	int file = memfd_create("fuzz", 0), pipes[2];

	if (file < 0 || write(file, in, len) != (ssize_t)len)
		abort();
	read_all(file);
	if (len > 65536) /* what fits into a pipe */
		return 0;
	if (pipe(pipes) || write(pipes[1], in, len) != (ssize_t)len)
		abort();
	close(pipes[1]);
	read_all(pipes[0]);
	return 0;
}
