// SPDX-License-Identifier: GPL-2.0-only
/*
 * What feed.c takes for an event, and for its tables: KIND TASKS.
 *
 * KIND is `calls` (system calls alone), `switches` (those alone) or `mix` (a switch, two system
 * calls, a wakeup and a softirq at a time). The same 100 000 events come again and again, later
 * each time; the least of all rounds counts. Prints "NS KIB": ns for an event, by CPU time, and by
 * how much the resident memory has grown after the first round.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../user/feed.h"

#define EVENTS 100000
#define ROUNDS 40
#define NCPUS  4

struct plan {
	struct feed_event ev[EVENTS];
	size_t n;
	uint64_t time;
	uint32_t seed, tasks, running[NCPUS];
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static uint64_t resident_kib(void)
{
	uint64_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*s %" SCNu64, &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static uint32_t chance(struct plan *p, uint32_t n)
{
	p->seed = p->seed * 1103515245 + 12345;
	return (p->seed >> 8) % n;
}

/* The next event of the plan; NULL: it is full. */
static struct feed_event *add(struct plan *p, uint32_t op, uint32_t cpu, uint32_t key)
{
	struct feed_event *ev = p->n < EVENTS ? &p->ev[p->n++] : NULL;

	if (!ev)
		return NULL;
	p->time += 20 + chance(p, 40);
	ev->time = p->time;
	ev->op = op;
	ev->cpu = cpu;
	ev->tid = p->running[cpu];
	ev->key = key;
	return ev;
}

static uint32_t some_task(struct plan *p, uint32_t cpu)
{
	return 100 + cpu + NCPUS * chance(p, p->tasks);
}

static void add_switch(struct plan *p, uint32_t cpu)
{
	struct feed_event *ev = add(p, FEED_SWITCH, cpu, KEY_NO_CALL);

	if (!ev)
		return;
	ev->prev_tid = p->running[cpu];
	ev->next_tid = p->running[cpu] = some_task(p, cpu);
	ev->state = 1; /* TASK_INTERRUPTIBLE */
	strcpy(ev->prev_comm, ev->prev_tid ? "worker" : "swapper");
	strcpy(ev->next_comm, "worker");
}

static void add_call(struct plan *p, uint32_t cpu)
{
	uint32_t key = CALL_KEY(CALL_SYSCALL, 0, chance(p, 6));

	add(p, FEED_SYS_ENTER, cpu, key);
	add(p, FEED_SYS_EXIT, cpu, key);
}

static void add_rest(struct plan *p, uint32_t cpu)
{
	struct feed_event *ev = add(p, FEED_WAKEUP, cpu, KEY_NO_CALL);

	if (ev)
		ev->next_tid = some_task(p, cpu);
	add(p, FEED_FRAME_ENTER, cpu, CALL_KEY(CALL_SOFTIRQ, 0, 1));
	add(p, FEED_FRAME_EXIT, cpu, CALL_KEY(CALL_SOFTIRQ, 0, 1));
}

static void make_plan(struct plan *p, const char *kind)
{
	for (uint32_t i = 0; i < NCPUS; i++)
		add_switch(p, i);
	while (p->n < EVENTS) {
		uint32_t cpu = chance(p, NCPUS);

		if (*kind != 'c')
			add_switch(p, cpu);
		for (int i = 0; i < 2 && *kind != 's'; i++)
			add_call(p, cpu);
		if (*kind == 'm')
			add_rest(p, cpu);
	}
}

static double play(struct feed *f, struct plan *p)
{
	uint64_t begin = cpu_ns(), took;

	for (size_t i = 0; i < p->n; i++)
		if (feed__event(f, &p->ev[i]))
			abort();
	took = cpu_ns() - begin;
	for (size_t i = 0; i < p->n; i++)
		p->ev[i].time += p->time;
	return (double)took / p->n;
}

int main(int argc, char **argv)
{
	struct plan *p = calloc(1, sizeof(*p));
	struct feed *f = feed__new(NCPUS, NULL, LEVEL_TASK, false, NULL, 0);
	double best = 1e9;
	uint64_t before = 0;

	if (argc != 3 || !p || !f) {
		fprintf(stderr, "usage: %s calls|switches|mix TASKS\n", argv[0]);
		return 2;
	}
	p->tasks = strtoul(argv[2], NULL, 0) / NCPUS + 1;
	make_plan(p, argv[1]);
	for (int i = 0; i < ROUNDS; i++) {
		double ns = play(f, p);

		best = ns < best ? ns : best;
		if (!i)
			before = resident_kib();
	}
	printf("%.1f %" PRId64 "\n", best, (int64_t)(resident_kib() - before));
	feed__free(f);
	free(p);
	return 0;
}
