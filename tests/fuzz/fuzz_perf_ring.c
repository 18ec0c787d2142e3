// SPDX-License-Identifier: GPL-2.0-only
/* A perf ring whose content, head and tail are the fuzzer's: every record is taken apart. */
#include <stdlib.h>
#include <string.h>

#include "perf_ring.h"

#define SIZE 4096

static uint64_t touch(const struct perf_rec *rec)
{
	const unsigned char *raw = rec->raw;
	uint64_t sum = rec->id + rec->time + rec->lost;

	for (uint32_t i = 0; raw && i < rec->raw_size; i++)
		sum += raw[i];
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	static const uint64_t types[] = {PERF_REC_SAMPLE, PERF_REC_SAMPLE_TASK,
					 PERF_REC_SAMPLE_FILE};
	struct perf_event_mmap_page *meta;
	const struct perf_event_header *h;
	uint64_t sum = 0;
	struct perf_rec rec;
	struct perf_ring r;
	void *data;

	if (len < 4)
		return 0;
	meta = calloc(1, sizeof(*meta));
	data = calloc(1, SIZE); /* of its own: what is read beyond it is found */
	meta->data_tail = in[0] * 8;
	meta->data_head = meta->data_tail + (in[1] | in[2] << 8);
	memcpy(data, in + 4, len - 4 < SIZE ? len - 4 : SIZE);
	if (!perf_ring__over(&r, meta, data, SIZE)) {
		perf_ring__begin(&r);
		while ((h = perf_ring__next(&r)))
			if (!perf_rec__parse(h, types[in[3] % 3], &rec))
				sum += touch(&rec);
		perf_ring__end(&r);
		if (meta->data_tail != meta->data_head)
			abort(); /* a pass that does not come to its end */
		perf_ring__unmap(&r);
	}
	__asm__ volatile("" : : "r"(sum)); /* not to be left out */
	free(data);
	free(meta);
	return 0;
}
