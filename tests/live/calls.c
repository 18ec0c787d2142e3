// SPDX-License-Identifier: GPL-2.0-only
/*
 * calls N: one process, three children and four threads each make N rounds of many different
 * calls, some of which fail. Nothing in it depends on time, so that each run makes the same calls.
 * calls N SECONDS: the first process goes on counting its calls for so long and prints them.
 */
#include "live.h"
#include <sys/stat.h>

#define THREADS	 4
#define CHILDREN 3

static long rounds;

static void round_of_calls(int null)
{
	char buf[16] = "";
	struct stat st;

	syscall(SYS_getppid);
	syscall(SYS_getppid);
	syscall(SYS_gettid);
	if (write(null, buf, sizeof(buf)) < 0)
		die("write");
	if (read(-1, buf, 1) >= 0) /* EBADF */
		die("read");
	if (!access("/no/such/file", F_OK)) /* ENOENT */
		die("access");
	fstat(null, &st);
	lseek(-1, 0, SEEK_SET); /* EBADF */
	lseek(null, 0, SEEK_SET);
	sched_yield();
	syscall(1000); /* ENOSYS */
}

static void work(void)
{
	int null = open("/dev/null", O_WRONLY);

	for (long i = 0; i < rounds; i++)
		round_of_calls(null);
	close(null);
}

static void *thread(void *arg)
{
	(void)arg;
	work();
	return NULL;
}

static void all_threads(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, thread, NULL))
			die("pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* Counts what it does until the time is over: across many windows' ends. */
static void count_for(double seconds)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * NS_PER_S);
	long n = 0, naps = 0;

	while (now_ns() < end) {
		for (int i = 0; i < 200; i++, n++)
			syscall(SYS_getppid);
		nap(300000);
		naps++;
	}
	printf("getppid %ld\nclock_nanosleep %ld\n", n, naps);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	rounds = atol(argv[1]);
	if (argc > 2) {
		count_for(atof(argv[2]));
		return 0;
	}
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid) {
			work();
			_exit(i);
		}
		waitpid(pid, NULL, 0);
	}
	work();
	all_threads();
	return 0;
}
