// SPDX-License-Identifier: GPL-2.0-only
/*
 * times MODE SECONDS: children whose time the kernel tells too. For each, after its end:
 * "task TID RUN_NS DELAY_NS VOLUNTARY INVOLUNTARY", as schedstat and status have them, and
 * what the mode measured itself.
 */
#include "live.h"
#include <sys/mman.h>

static uint64_t duration;
static volatile uint64_t *shared; /* what children tell */

static void ended(pid_t pid)
{
	unsigned long long run = 0, delay = 0, vol = 0, invol = 0;
	char path[64], line[256];
	siginfo_t si;
	FILE *f;

	while (waitid(P_PID, pid, &si, WEXITED | WNOWAIT))
		if (errno != EINTR)
			die("waitid");
	nap(20000000); /* its last switch comes after the word of its end */
	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%llu %llu", &run, &delay) != 2)
			run = delay = 0;
		fclose(f);
	}
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "voluntary_ctxt_switches: %llu", &vol);
		sscanf(line, "nonvoluntary_ctxt_switches: %llu", &invol);
	}
	if (f)
		fclose(f);
	wait_for(pid);
	printf("task %d %llu %llu %llu %llu\n", pid, run, delay, vol, invol);
}

static void spin(void)
{
	spin_until(now_ns() + duration);
}

/* In the kernel nearly all the time. */
static void kernel(void)
{
	uint64_t end = now_ns() + duration;
	int fd = open("/dev/zero", O_RDONLY);
	char *buf = malloc(4 << 20);

	while (now_ns() < end)
		if (read(fd, buf, 4 << 20) < 0)
			die("read");
	_exit(0);
}

static void sleeper(void)
{
	uint64_t t = now_ns();

	nap(duration);
	shared[0] = now_ns() - t;
}

/* Both kinds of switch, many of them, on one CPU with a rival. */
static void switcher(void)
{
	uint64_t end = now_ns() + duration;

	while (now_ns() < end) {
		nap(200000);
		spin_until(now_ns() + 5000000);
		sched_yield();
	}
}

static pid_t child(void (*f)(void), int cpu)
{
	pid_t pid = spawn();

	if (pid)
		return pid;
	if (cpu >= 0)
		pin(cpu);
	f();
	_exit(0);
}

/* Told where it has a CPU again: its wakeup was before. */
static void continued(int sig)
{
	(void)sig;
	shared[1] = now_ns();
}

static void stopped(void)
{
	signal(SIGCONT, continued);
	sleeper();
}

static void stop(void)
{
	pid_t pid = child(stopped, -1);
	uint64_t asked, seen, before;

	nap(50000000);
	asked = now_ns();
	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
	wait_off_cpu(pid);
	seen = now_ns();
	nap(duration);
	before = now_ns();
	kill(pid, SIGCONT);
	ended(pid);
	printf("least %llu\n", (unsigned long long)(before - seen));
	printf("most %llu\n", (unsigned long long)(shared[1] - asked));
}

int main(int argc, char **argv)
{
	pid_t a, b;

	if (argc < 3)
		return 2;
	duration = (uint64_t)(atof(argv[2]) * NS_PER_S);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	if (!strcmp(argv[1], "user")) {
		ended(child(spin, -1));
	} else if (!strcmp(argv[1], "sys")) {
		ended(child(kernel, -1));
	} else if (!strcmp(argv[1], "sleep")) {
		ended(child(sleeper, -1));
		printf("slept %llu\n", (unsigned long long)shared[0]);
	} else if (!strcmp(argv[1], "stop")) {
		stop();
	} else if (!strcmp(argv[1], "pair")) {
		a = child(spin, 0);
		b = child(spin, 0);
		ended(a);
		ended(b);
	} else if (!strcmp(argv[1], "switch")) {
		a = child(switcher, 0);
		b = child(switcher, 0);
		ended(a);
		ended(b);
	} else {
		return 2;
	}
	return 0;
}
