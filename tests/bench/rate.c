// SPDX-License-Identifier: GPL-2.0-only
/*
 * rate CPU SECONDS N: N getppid(2) a second on CPU, spread evenly by the millisecond; prints how
 * many it has made.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STEPS 1000 /* a second */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t start, step, steps, calls = 0;
	double per_step;
	cpu_set_t set;

	if (argc != 4) {
		fputs("usage: rate CPU SECONDS N\n", stderr);
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		return 1;
	}
	steps = (uint64_t)(atof(argv[2]) * STEPS);
	per_step = atof(argv[3]) / STEPS;
	start = now_ns();
	for (step = 1; step <= steps; step++) {
		for (; calls < (uint64_t)(step * per_step); calls++)
			syscall(SYS_getppid);
		while (now_ns() < start + step * (1000000000ULL / STEPS))
			;
	}
	printf("%llu %.3f\n", (unsigned long long)calls, (now_ns() - start) / 1e9);
	return 0;
}
