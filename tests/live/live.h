/* SPDX-License-Identifier: GPL-2.0-only */
/* What the workloads share. They print what they did, one "name value..." line each. */
#ifndef LIVE_H
#define LIVE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ULL

static inline void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	_exit(99);
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* Off the CPU, in one call. */
static inline void nap(uint64_t ns)
{
	struct timespec ts = {ns / NS_PER_S, ns % NS_PER_S};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

/*
 * Who waits for a child's stop hears of it before the child has left its CPU. The kernel says what
 * a task is in only when it is off its CPU, proc_pid_syscall() sees to that, and "running" before.
 */
static inline void wait_off_cpu(pid_t pid)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	do {
		f = fopen(path, "r");
		if (!f || !fgets(line, sizeof(line), f))
			die(path);
		fclose(f);
	} while (!strncmp(line, "running", 7));
}

/* On the CPU, in user mode: the clock is read through the vDSO. */
static inline void spin_until(uint64_t end)
{
	while (now_ns() < end)
		for (volatile int i = 0; i < 1000; i++)
			;
}

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static inline pid_t spawn(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	return pid;
}

static inline void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
}

#endif /* LIVE_H */
