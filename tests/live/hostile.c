// SPDX-License-Identifier: GPL-2.0-only
/*
 * hostile leader: a process whose leader ends at once, while its thread makes 100 getppid calls in
 * half a second. Prints the ids of both.
 * hostile ptrace N: a child that its parent traces stops N times, for 30 ms each. Prints the
 * child's id and for how long it was stopped, ns.
 * hostile killed N: N processes, of ten threads each, are killed while all threads are
 * in a call: prints how many were in pause(2).
 * hostile burst N: N processes make calls of many kinds and live until all have, then end.
 */
#include "live.h"
#include <sys/ptrace.h>

#define THREADS 10

static void *busy_thread(void *arg)
{
	(void)arg;
	printf("thread %ld\n", syscall(SYS_gettid));
	fflush(stdout);
	for (int i = 0; i < 100; i++) {
		syscall(SYS_getppid);
		nap(NS_PER_S / 200);
	}
	return NULL;
}

static void leader(void)
{
	pthread_t t;
	pid_t pid = spawn();

	if (pid) {
		wait_for(pid);
		return;
	}
	printf("leader %d\n", getpid());
	fflush(stdout);
	if (pthread_create(&t, NULL, busy_thread, NULL))
		die("pthread_create");
	syscall(SYS_exit, 0); /* of this thread alone */
}

static void traced(int n)
{
	uint64_t stopped = 0;
	pid_t pid = spawn();
	int status;

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			die("ptrace");
		for (int i = 0; i < n; i++)
			raise(SIGSTOP);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		uint64_t begin;

		wait_off_cpu(pid);
		begin = now_ns();
		nap(NS_PER_S * 3 / 100);
		if (ptrace(PTRACE_CONT, pid, NULL, NULL))
			die("PTRACE_CONT");
		stopped += now_ns() - begin;
	}
	printf("child %d\nstopped %llu\n", pid, (unsigned long long)stopped);
}

static void *pausing(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void victim(int wfd)
{
	pthread_t t;

	for (int i = 1; i < THREADS; i++)
		if (pthread_create(&t, NULL, pausing, NULL))
			die("pthread_create");
	if (write(wfd, "x", 1) != 1)
		die("write");
	pausing(NULL);
}

static void killed(int n)
{
	pid_t *pids = calloc(n, sizeof(*pids));
	int fds[2];
	char c;

	if (!pids || pipe(fds))
		die("pipe");
	for (int i = 0; i < n; i++) {
		pids[i] = spawn();
		if (!pids[i])
			victim(fds[1]);
	}
	for (int i = 0; i < n; i++)
		if (read(fds[0], &c, 1) != 1)
			die("read");
	nap(NS_PER_S / 2); /* until all are in their call */
	for (int i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < n; i++)
		wait_for(pids[i]);
	printf("paused %d\n", n * THREADS);
	free(pids);
}

static void burst(int n)
{
	static const int calls[] = {SYS_getpid,
				    SYS_getppid,
				    SYS_gettid,
				    SYS_getuid,
				    SYS_geteuid,
				    SYS_getgid,
				    SYS_getegid,
				    SYS_getpgid,
				    SYS_getsid,
				    SYS_times,
				    SYS_sched_yield,
				    SYS_munlockall,
				    SYS_getpriority,
				    SYS_sched_getscheduler,
				    SYS_sched_get_priority_max,
				    SYS_sched_get_priority_min};
	int fds[2];
	char c;

	if (pipe(fds))
		die("pipe");
	for (int i = 0; i < n; i++) {
		if (spawn())
			continue;
		close(fds[1]);
		for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++)
			syscall(calls[k], 0, 0, 0);
		_exit(read(fds[0], &c, 1)); /* the end of the file */
	}
	nap(NS_PER_S / 2);
	close(fds[1]);
	for (int i = 0; i < n; i++)
		wait(NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 1;

	if (!strcmp(mode, "leader"))
		leader();
	else if (!strcmp(mode, "ptrace"))
		traced(n);
	else if (!strcmp(mode, "killed"))
		killed(n);
	else if (!strcmp(mode, "burst"))
		burst(n);
	else
		return 2;
	return 0;
}
