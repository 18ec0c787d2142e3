/* SPDX-License-Identifier: GPL-2.0-only */
/* CLOCK_MONOTONIC in nanoseconds, and back to the wall clock. */
#ifndef CLOCK_H
#define CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t timespec_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000ULL + ts->tv_nsec;
}

static inline uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return timespec_ns(&ts);
}

/* Sleeps until t; signals do not shorten it. */
static inline void clock_sleep_until(uint64_t t)
{
	struct timespec ts = {.tv_sec = t / 1000000000ULL, .tv_nsec = t % 1000000000ULL};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* What CLOCK_REALTIME was at monotonic time t, by today's offset between them. */
static inline void clock_wall_of(uint64_t t, struct timespec *wall)
{
	struct timespec now;
	uint64_t mono = clock_ns(), real;

	clock_gettime(CLOCK_REALTIME, &now);
	real = timespec_ns(&now) - (mono - t);
	wall->tv_sec = real / 1000000000ULL;
	wall->tv_nsec = real % 1000000000ULL;
}

#endif /* CLOCK_H */
