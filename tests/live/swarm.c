// SPDX-License-Identifier: GPL-2.0-only
/*
 * swarm VFORKS THREADS EXECS SLEEPERS: so many short lives, shared out to two processes, beside
 * children that sleep meanwhile. Each vfork child makes one sched_get_priority_min call, each
 * thread two.
 */
#include "live.h"

static char self[4096];
static char stacks[2][65536] __attribute__((aligned(64)));
static int tid_word;

static int thread(void *arg)
{
	(void)arg;
	syscall(SYS_sched_get_priority_min, 0);
	syscall(SYS_sched_get_priority_min, 0);
	return 0; /* clone() turns this into exit */
}

/* No pthreads: they would make other calls too. */
static void one_thread(char *stack)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		    CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

	if (clone(thread, stack + sizeof(stacks[0]), flags, NULL, &tid_word, NULL, &tid_word) < 0)
		die("clone");
	while (__atomic_load_n(&tid_word, __ATOMIC_ACQUIRE))
		sched_yield();
}

static __attribute__((noinline)) void one_vfork(bool exec)
{
	pid_t pid = vfork();

	if (!pid && exec)
		execl(self, self, NULL);
	if (!pid) {
		syscall(SYS_sched_get_priority_min, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void part(long vforks, long threads, long execs, char *stack)
{
	for (long i = 0; i < vforks || i < threads || i < execs; i++) {
		if (i < vforks)
			one_vfork(false);
		if (i < threads)
			one_thread(stack);
		if (i < execs)
			one_vfork(true);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	pid_t parts[2], *sleepers;
	long n;

	if (argc < 5)
		return 0;
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		die("readlink");
	n = atol(argv[4]);
	sleepers = calloc(n + 1, sizeof(*sleepers));
	for (long i = 0; i < n; i++) {
		sleepers[i] = fork();
		if (!sleepers[i]) {
			pause();
			_exit(0);
		}
	}
	for (int i = 0; i < 2; i++) {
		parts[i] = fork();
		if (!parts[i])
			part(atol(argv[1]) / 2, atol(argv[2]) / 2, atol(argv[3]) / 2, stacks[i]);
	}
	for (int i = 0; i < 2; i++)
		waitpid(parts[i], NULL, 0);
	for (long i = 0; i < n; i++) {
		kill(sleepers[i], SIGKILL);
		waitpid(sleepers[i], NULL, 0);
	}
	return 0;
}
