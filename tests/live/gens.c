// SPDX-License-Identifier: GPL-2.0-only
/*
 * gens chain: a child execs twice; image k makes 10 + k getppid calls.
 * gens thread: a child's thread, not its leader, execs.
 * gens move N: a child moves from CPU 0 to 1 and back, N moves in all.
 * gens roam N: N processes one after the other, each with two threads that run on CPU 0 and 1.
 * Each prints the child's pid; thread also the thread's tid.
 */
#include "live.h"

static char self[4096];

static void image(int k)
{
	char arg[16];

	for (int i = 0; i < 10 + k; i++)
		syscall(SYS_getppid);
	if (k == 2)
		_exit(0);
	snprintf(arg, sizeof(arg), "%d", k + 1);
	execl(self, self, "image", arg, NULL);
	die("exec");
}

static void *exec_thread(void *arg)
{
	(void)arg;
	printf("thread %ld\n", (long)gettid());
	fflush(stdout);
	execl(self, self, "image", "2", NULL);
	die("exec");
}

static void move(int n)
{
	for (int i = 0; i < n; i++)
		pin((i + 1) & 1);
	_exit(0);
}

#define ROAM_NS 20000

/* Three stays: what was done on a CPU before is kept aside for each of the two. */
static void *roamer(void *arg)
{
	for (int i = 0; i < 3; i++) {
		pin(i & 1);
		spin_until(now_ns() + ROAM_NS);
	}
	return arg;
}

static void roam(int n)
{
	pthread_t t;

	for (int i = 0; i < n; i++) {
		pid_t pid = spawn();

		for (int k = 0; !pid && k < 2; k++) {
			if (pthread_create(&t, NULL, roamer, NULL))
				die("pthread_create");
			pthread_join(t, NULL);
		}
		if (!pid)
			_exit(0);
		wait_for(pid);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	pthread_t t;
	pid_t pid;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		die("readlink");
	if (!strcmp(mode, "image"))
		image(atoi(argv[2]));
	if (!strcmp(mode, "moves"))
		move(atoi(argv[2]));
	pid = spawn();
	if (pid) {
		wait_for(pid);
		printf("child %d\n", pid);
		return 0;
	}
	if (!strcmp(mode, "chain"))
		image(0);
	if (!strcmp(mode, "thread")) {
		if (pthread_create(&t, NULL, exec_thread, NULL))
			die("pthread_create");
		for (;;)
			pause();
	}
	if (!strcmp(mode, "roam") && argc > 2)
		roam(atoi(argv[2]));
	if (!strcmp(mode, "move") && argc > 2) {
		pin(0);
		execl(self, self, "moves", argv[2], NULL);
	}
	_exit(2);
}
