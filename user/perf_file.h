/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recorder puts into a recording by itself, as perf does: for the reader and the writer. */
#ifndef PERF_FILE_H
#define PERF_FILE_H

/* Its own records: tools/lib/perf/include/perf/event.h. */
enum {
	REC_HEADER_ATTR = 64,
	REC_TRACING_DATA = 66,
	REC_FINISHED_ROUND = 68,
	REC_AUXTRACE = 71,
	REC_THREAD_MAP = 73,
	REC_HEADER_FEATURE = 80,
	REC_COMPRESSED = 81,
	REC_COMPRESSED2 = 83,
};

/* What the header's feature bits stand for: tools/perf/util/header.h. */
enum {
	FEAT_TRACING_DATA = 1,
	FEAT_HOSTNAME = 3,
	FEAT_OSRELEASE = 4,
	FEAT_ARCH = 6,
	FEAT_NRCPUS = 7,
	FEAT_SAMPLE_TIME = 21,
	FEAT_CLOCKID = 23,
	FEAT_COMPRESSED = 27,
	FEAT_CLOCK_DATA = 29,
	FEAT_NR,
};

#endif /* PERF_FILE_H */
