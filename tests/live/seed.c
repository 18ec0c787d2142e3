// SPDX-License-Identifier: GPL-2.0-only
/*
 * Children that were there before and do nothing that makes an event; prints "state pid tid" for
 * each and "ready" when all have come to rest. Lives until its standard input ends.
 */
#include "live.h"

static int futex_word;
static int told[2]; /* a byte comes when the thread has printed its line */

static void wait_futex(void)
{
	syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void wait_pipe(void)
{
	int p[2];
	char c;

	if (!pipe(p) && read(p[0], &c, 1) < 0)
		die("read");
}

static void wait_signal(void)
{
	pause();
}

/* The parent of a vfork child waits uninterruptibly. */
static void wait_vfork(void)
{
	if (!vfork())
		for (;;)
			pause();
}

static void spin(void)
{
	for (volatile long i = 0;; i++)
		;
}

static void *futex_thread(void *arg)
{
	printf("thread %d %d\n", getpid(), gettid());
	fflush(stdout);
	if (write(told[1], "", 1) != 1)
		die("write");
	wait_futex();
	return arg;
}

static void threaded(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, futex_thread, NULL))
		die("pthread_create");
	pause();
}

int main(void)
{
	static const struct {
		const char *name;
		void (*f)(void);
	} kinds[] = {
		{"pause", wait_signal},	 {"futex", wait_futex}, {"pipe", wait_pipe},
		{"blocked", wait_vfork}, {"stopped", spin},	{"spin", spin},
		{"leader", threaded},
	};
	const int n = sizeof(kinds) / sizeof(kinds[0]);
	pid_t pids[sizeof(kinds) / sizeof(kinds[0])];
	char c;

	if (pipe(told))
		die("pipe");
	for (int i = 0; i < n; i++) {
		pids[i] = spawn();
		if (!pids[i]) {
			close(0);
			setpgid(0, 0); /* so that a vfork child ends too */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			kinds[i].f();
			_exit(0);
		}
		printf("%s %d %d\n", kinds[i].name, pids[i], pids[i]);
		if (!strcmp(kinds[i].name, "stopped")) {
			nap(50000000);
			kill(pids[i], SIGSTOP);
		}
	}
	if (read(told[0], &c, 1) != 1) /* however long it takes on a busy machine */
		die("read");
	nap(200000000);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	for (int i = 0; i < n; i++) {
		kill(-pids[i], SIGKILL);
		kill(pids[i], SIGKILL);
		wait_for(pids[i]);
	}
	return 0;
}
