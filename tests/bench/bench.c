// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loads that run.py measures with. Each prints its result in ns, one number per line.
 *
 *   bench syscall_loop CPU SECONDS   least ns per getppid(2)
 *   bench pipe_pair CPU SECONDS      least ns per write(2) + read(2) of a byte, in its own pipe
 *   bench pingpong CPU SECONDS       least ns per switch: two processes, two pipes, one CPU
 *   bench threads N                  N sleeping threads, 500 a process, until stdin is closed
 *
 * "Least" is over many short batches, each well under a timer tick: what disturbs a batch only ever
 * adds to it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH	    200 /* calls */
#define ROUNDS	    50	/* there and back */
#define PER_PROCESS 500
#define STACK_BYTES 65536

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

struct pipes {
	int to[2], from[2];
};

static void getppids(struct pipes *p)
{
	(void)p;
	for (int i = 0; i < BATCH; i++)
		syscall(SYS_getppid);
}

static void pairs(struct pipes *p)
{
	char c = 0;

	for (int i = 0; i < BATCH; i++)
		if (write(p->to[1], &c, 1) != 1 || read(p->to[0], &c, 1) != 1)
			die("pipe");
}

static void rounds(struct pipes *p)
{
	char c = 0;

	for (int i = 0; i < ROUNDS; i++)
		if (write(p->to[1], &c, 1) != 1 || read(p->from[0], &c, 1) != 1)
			die("pipe");
}

static uint64_t least(void (*batch)(struct pipes *), struct pipes *p, double seconds)
{
	uint64_t stop = now_ns() + (uint64_t)(seconds * 1e9), best = UINT64_MAX, t, d;

	do {
		t = now_ns();
		batch(p);
		d = now_ns() - t;
		best = d < best ? d : best;
	} while (t + d < stop);
	return best;
}

/* The other side: sends back what it gets, until the pipe ends. */
static void echo(struct pipes *p)
{
	char c;

	close(p->to[1]);
	while (read(p->to[0], &c, 1) == 1)
		if (write(p->from[1], &c, 1) != 1)
			break;
	_exit(0);
}

static double pingpong(struct pipes *p, double seconds)
{
	pid_t pid = fork();
	uint64_t best;

	if (pid < 0)
		die("fork");
	if (!pid)
		echo(p);
	best = least(rounds, p, seconds);
	close(p->to[1]);
	waitpid(pid, NULL, 0);
	return (double)best / ROUNDS / 2; /* there and back: two switches */
}

/* ---- threads ---- */

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void start_threads(int n)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int i = 0; i < n; i++) {
		errno = pthread_create(&t, &attr, sleeper, NULL);
		if (errno)
			die("pthread_create");
	}
}

/* A process of n threads, itself among them; says "." when all are there and ends with its parent.
 */
static void one_process(int n, int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	start_threads(n - 1);
	if (write(ready, ".", 1) != 1)
		die("write");
	sleeper(NULL);
}

static int threads(int n)
{
	int ready[2], started = 0;
	char buf[64];
	ssize_t got;

	if (pipe(ready))
		die("pipe");
	for (int left = n - 1; left > 0; left -= PER_PROCESS) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			close(ready[0]);
			one_process(left < PER_PROCESS ? left : PER_PROCESS, ready[1]);
		}
		started++;
	}
	close(ready[1]);
	while (started > 0 && (got = read(ready[0], buf, sizeof(buf))) > 0)
		started -= got;
	printf("%d\n", n);
	fflush(stdout);
	while (read(STDIN_FILENO, buf, sizeof(buf)) > 0)
		;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}

static int usage(void)
{
	fputs("usage: bench syscall_loop|pipe_pair|pingpong CPU SECONDS | threads N\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct pipes p;
	double seconds, ns;

	if (argc == 3 && !strcmp(argv[1], "threads")) {
		setpgid(0, 0);
		return threads(atoi(argv[2]));
	}
	if (argc != 4)
		return usage();
	seconds = atof(argv[3]);
	if (pipe(p.to) || pipe(p.from))
		die("pipe");
	pin(atoi(argv[2]));
	if (!strcmp(argv[1], "syscall_loop"))
		ns = (double)least(getppids, &p, seconds) / BATCH;
	else if (!strcmp(argv[1], "pipe_pair"))
		ns = (double)least(pairs, &p, seconds) / BATCH;
	else if (!strcmp(argv[1], "pingpong"))
		ns = pingpong(&p, seconds);
	else
		return usage();
	printf("%.2f\n", ns);
	return 0;
}
