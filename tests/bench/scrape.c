// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a scrape of many groups costs beyond the reading of the tables: a window of N groups added
 * to the counters, and their text. scrape N WINDOWS prints one JSON object, times in ms, the least
 * of all windows; a tenth of the groups is new in each window, as where containers come and go.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../../user/clock.h"
#include "../../user/metrics.h"
#include "../../user/out_openmetrics.h"

#define S	 1000000000ULL
#define PATH_LEN 256
#define CALLS	 8

struct input {
	struct report r;
	char (*paths)[PATH_LEN];
	struct rep_call *calls;
};

static void *zeroes(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		fputs("scrape: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

/* A name as long as Kubernetes makes them, and all classes in use. */
static void make_group(struct input *in, size_t i, unsigned int window)
{
	struct rep_group *g = &in->r.groups[i];
	unsigned int life = i % 10 ? 0 : window;

	snprintf(in->paths[i], PATH_LEN,
		 "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%08zx_%04x_4a1b_"
		 "9c3d_5e7f00112233.slice/cri-containerd-%032zx%032x.scope",
		 i, life, i * 2654435761u, life);
	g->id = i + 1;
	g->path = in->paths[i];
	g->container = "a1b2c3d4e5f6";
	g->tasks = 5;
	for (int c = 0; c < AC_IDLE; c++)
		g->ns[c] = (i + 1) * 1000003ULL * (c + 1) % S;
	g->calls.v = &in->calls[i * CALLS];
	g->calls.n = CALLS;
	for (uint32_t k = 0; k < CALLS; k++)
		g->calls.v[k] = (struct rep_call){.key = CALL_KEY(CALL_SYSCALL, 0, k), .count = i};
}

static void next_window(struct input *in, unsigned int window)
{
	in->r.start_ns = in->r.end_ns;
	in->r.end_ns += 15 * S;
	for (size_t i = 0; i < in->r.nr_groups; i++)
		make_group(in, i, window);
}

static void least(double *ms, uint64_t begin)
{
	double took = (clock_ns() - begin) / 1e6;

	if (!*ms || took < *ms)
		*ms = took;
}

static size_t lines(const char *text)
{
	size_t n = 0;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n += p[1] != '#' && p[1];
	return n;
}

static void measure(struct input *in, struct metrics *m, struct names *n, unsigned int windows)
{
	double add = 0, text = 0, om = 0;
	size_t len[2] = {0}, series = 0;
	struct rusage ru;

	for (unsigned int w = 0; w < windows; w++) {
		uint64_t begin;

		next_window(in, w);
		begin = clock_ns();
		metrics__add(m, &in->r, n);
		least(&add, begin);
		for (int f = METRICS_TEXT; f <= METRICS_OPENMETRICS; f++) {
			char *s;

			begin = clock_ns();
			s = metrics__text(m, f, &len[f]);
			least(f ? &om : &text, begin);
			if (!s)
				exit(1);
			series = lines(s);
			free(s);
		}
		metrics__shown(m);
	}
	getrusage(RUSAGE_SELF, &ru);
	printf("{\"groups\": %zu, \"series\": %zu, \"add_ms\": %.2f, \"text_ms\": %.2f, "
	       "\"openmetrics_ms\": %.2f, \"text_bytes\": %zu, \"openmetrics_bytes\": %zu, "
	       "\"max_rss_bytes\": %ld}\n",
	       in->r.nr_groups, series, add, text, om, len[0], len[1], ru.ru_maxrss * 1024);
}

int main(int argc, char **argv)
{
	size_t groups = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	unsigned int windows = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
	struct metrics *m = metrics__new(METRICS_MAX_SERIES, false, 0);
	struct names *n = names__new("x86_64");
	struct input in = {.r = {.level = LEVEL_GROUP, .engine = "none", .nr_groups = groups}};

	in.r.groups = zeroes(groups + 1, sizeof(*in.r.groups));
	in.paths = zeroes(groups + 1, sizeof(*in.paths));
	in.calls = zeroes((groups + 1) * CALLS, sizeof(*in.calls));
	if (!m || !n)
		return 1;
	measure(&in, m, n, windows);
	metrics__free(m);
	names__free(n);
	free(in.r.groups);
	free(in.paths);
	free(in.calls);
	return 0;
}
