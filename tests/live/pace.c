// SPDX-License-Identifier: GPL-2.0-only
/*
 * pace N: four processes and three threads make N rounds each of a little work, a few calls and a
 * nap: so few events that two sets of probes do not disturb each other's times.
 */
#include "live.h"

static long rounds;

static void work(void)
{
	int null = open("/dev/null", O_WRONLY);
	char buf[1];

	nap(20000000); /* clear of the edges of the window */
	for (long i = 0; i < rounds; i++) {
		spin_until(now_ns() + 500000);
		syscall(SYS_getppid);
		if (write(null, "", 1) != 1)
			die("write");
		if (read(-1, buf, 1) >= 0) /* EBADF */
			die("read");
		nap(300000);
	}
	close(null);
	nap(20000000);
}

static void *thread(void *arg)
{
	(void)arg;
	work();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	pid_t pid[4];

	if (argc < 2)
		return 2;
	rounds = atol(argv[1]);
	for (int i = 0; i < 4; i++) {
		pid[i] = spawn();
		if (!pid[i]) {
			work();
			_exit(0);
		}
	}
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, thread, NULL))
			die("pthread_create");
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 4; i++)
		wait_for(pid[i]);
	nap(20000000);
	return 0;
}
