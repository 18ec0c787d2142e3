/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The perf.data format alone: what `perf record` wrote, as records in the order of their time.
 *
 * It knows how bytes become records (tools/perf/Documentation/perf.data-file-format.txt,
 * include/uapi/linux/perf_event.h), for files and for streams, in both byte orders, compressed or
 * not. What is in a tracepoint's raw record is not its business, nor what a record means.
 *
 * Memory: order is made by merging runs. A recorder writes one ring after the other, each in the
 * order of time; where one ends and the next begins, time goes back. Only where those runs are is
 * remembered; their bytes are read again from the file (or from a temporary one, for what came
 * through a pipe or was compressed) as the merge comes to them. PERF_RECORD_FINISHED_ROUND tells
 * how far the merge may go.
 */
#ifndef PERF_DATA_H
#define PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_NO_ID 0xffffffffU /* of a CPU, pid or tid: not told */

/* What the header tells of the machine. In a stream it is filled as its records come. */
struct perf_info {
	bool big_endian;
	char host[256], release[256], arch[65]; /* may hold any byte; empty: not told */
	uint32_t cpus_possible, cpus_online;	/* 0: not told */
	uint64_t first, last;			/* times of first and last sample; 0: not told */
	/* CLOCK_REALTIME was wall_ns when the recording's clock was clock_ns; 0: not told. */
	uint64_t wall_ns, clock_ns;
	bool has_switches; /* PERF_RECORD_SWITCH and SWITCH_CPU_WIDE were asked for */
	bool per_task;	   /* it followed chosen tasks, and knows nothing of others */
};

/* One record. */
struct data_rec {
	uint32_t type; /* PERF_RECORD_SAMPLE (of a tracepoint), LOST, LOST_SAMPLES, COMM, FORK,
			  EXIT, SWITCH, SWITCH_CPU_WIDE */
	uint16_t misc; /* PERF_RECORD_MISC_* */
	uint64_t time; /* ns; 0: no time: the recorder's own, about what was there before */
	uint32_t cpu;
	uint32_t pid, tid; /* of the task that it happened in */
	const void *raw;   /* SAMPLE: not aligned; valid until the next call */
	uint32_t raw_size;
	uint32_t of_pid, of_tid; /* COMM, FORK, EXIT: who; SWITCH_CPU_WIDE: the other task */
	uint32_t parent_pid;	 /* FORK */
	char comm[16];		 /* COMM: not NUL-terminated */
	uint64_t lost;		 /* LOST, LOST_SAMPLES */
};

/* Called for every event format found: len bytes of text, not NUL-terminated. 0 or -ENOMEM. */
typedef int perf_format_fn(void *ctx, const char *system, const char *text, size_t len);

struct perf_data;

/*
 * path: "-" is stdin. A file's header is read here, a stream's by perf_data__next(). 0 or -errno,
 * with one line in why that says what failed, without the path.
 */
int perf_data__open(struct perf_data **pd, const char *path, perf_format_fn *format, void *ctx,
		    char *why, size_t len);
void perf_data__close(struct perf_data *pd); /* NULL-safe */

/*
 * The next record, in the order of time as far as the recording's rounds allow it. 1: *rec is
 * filled; 0: that was all; -EAGAIN: a stream has nothing just now (after waiting 25 ms for it);
 * -errno: failed, perf_data__fault() says how.
 */
int perf_data__next(struct perf_data *pd, struct data_rec *rec);

const struct perf_info *perf_data__info(const struct perf_data *pd);

/* What is wrong with the input, with its offset, in one line without a path. NULL: nothing. */
const char *perf_data__fault(const struct perf_data *pd);

/* How much of the input has been read, from 0 to 1; negative: a stream's length is not known. */
double perf_data__progress(const struct perf_data *pd);

#endif /* PERF_DATA_H */
