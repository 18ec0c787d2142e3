// SPDX-License-Identifier: GPL-2.0-only
/* A format as the fuzzer has it, for each tracepoint that is known, then records of that format. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"

#define RECORD 128

/* What libtraceevent does not free after a format that it refuses: a few bytes a file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	size_t n, text = len > RECORD ? len - RECORD : len;
	const struct decode_known *known = decode__known(&n);
	const struct decode_hdr h = {.time = 1, .pid = 2, .tid = 2};

	for (int big = 0; big < 2; big++) {
		struct decode *d = decode__new(big);
		char *copy = malloc(text ? text : 1); /* not terminated, and not a byte longer */
		struct feed_event ev;
		int id = -ENOENT;

		memcpy(copy, in, text);
		for (size_t i = 0; i < n && id < 0; i++)
			if (!i || strcmp(known[i].system, known[i - 1].system))
				id = decode__format(d, known[i].system, copy, text);
		free(copy);
		for (size_t size = 0; id >= 0 && text < len && size <= RECORD; size++) {
			uint8_t *raw = malloc(size ? size : 1);

			memcpy(raw, in + text, size);
			if (size >= 2) {
				raw[big] = id & 0xff;
				raw[!big] = id >> 8;
			}
			if (decode__event(d, &h, raw, size, &ev) > 0 && ev.op >= FEED_OP_NR)
				abort();
			if (size >= 2)
				decode__irq_name(d, raw, size, &(size_t){0});
			free(raw);
		}
		decode__free(d);
	}
	return 0;
}
