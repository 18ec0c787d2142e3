// SPDX-License-Identifier: GPL-2.0-only
/*
 * mix SECONDS DIR: everything that can happen to a task, all at once, until the time is over.
 * mix noop: what is exec'ed.
 */
#include "live.h"

static uint64_t stop_at;
static char *self;

static bool on(void)
{
	return now_ns() < stop_at;
}

static void noop(int sig)
{
	(void)sig;
}

static void exec_self(void)
{
	execl(self, self, "noop", NULL);
	die("exec");
}

static void forks(void)
{
	while (on()) {
		pid_t pid = spawn();

		if (!pid)
			_exit(0);
		wait_for(pid);
		pid = vfork();
		if (!pid)
			_exit(1);
		wait_for(pid);
	}
}

static void execs(void)
{
	while (on()) {
		pid_t pid = spawn();

		if (!pid)
			exec_self();
		wait_for(pid);
		pid = vfork();
		if (!pid) {
			execl(self, self, "noop", NULL);
			_exit(99);
		}
		wait_for(pid);
	}
}

static void *short_life(void *arg)
{
	spin_until(now_ns() + (uintptr_t)arg);
	return NULL;
}

static void threads(void)
{
	while (on()) {
		pthread_t t[4];

		for (uintptr_t i = 0; i < 4; i++)
			if (pthread_create(&t[i], NULL, short_life, (void *)(i * 20000)))
				die("pthread_create");
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
}

static void *exec_thread(void *arg)
{
	(void)arg;
	exec_self();
	return NULL;
}

static void *pause_thread(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* A thread that is not the leader execs, while the leader and another sleep. */
static void thread_execs(void)
{
	while (on()) {
		pid_t pid = spawn();
		pthread_t t;

		if (!pid) {
			pthread_create(&t, NULL, pause_thread, NULL);
			pthread_create(&t, NULL, exec_thread, NULL);
			for (;;)
				pause();
		}
		wait_for(pid);
	}
}

/* The leader ends before its thread; another process is ended by a thread's exit_group. */
static void *late_thread(void *arg)
{
	nap(1000000);
	if (arg)
		_exit(0);
	return NULL;
}

static void leaders(void)
{
	for (uintptr_t i = 0; on(); i++) {
		pid_t pid = spawn();
		pthread_t t;

		if (!pid) {
			pthread_create(&t, NULL, late_thread, (void *)(i & 1));
			pthread_exit(NULL);
		}
		wait_for(pid);
	}
}

static void migrations(void)
{
	for (int i = 0; on(); i++) {
		pin(i & 1);
		if (i % 16 == 0)
			nap(100000);
		spin_until(now_ns() + 50000);
	}
}

static void disk(const char *dir)
{
	char path[4096];
	void *buf;
	int fd;

	snprintf(path, sizeof(path), "%s/mix.%d", dir, getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
	if (fd < 0)
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || posix_memalign(&buf, 4096, 65536))
		die(path);
	unlink(path);
	memset(buf, 1, 65536);
	for (int i = 0; on(); i++) {
		if (pwrite(fd, buf, 65536, (i & 63) * 65536LL) < 0)
			die("pwrite");
		fsync(fd);
		if (pread(fd, buf, 65536, 0) < 0)
			die("pread");
	}
}

/* Signals to a child that catches them, stops, continues and is killed. */
static void signals(void)
{
	while (on()) {
		pid_t pid = spawn();

		if (!pid) {
			signal(SIGUSR1, noop);
			for (;;)
				pause();
		}
		nap(500000);
		kill(pid, SIGSTOP);
		nap(500000);
		kill(pid, SIGCONT);
		kill(pid, SIGUSR1);
		nap(100000);
		kill(pid, SIGKILL);
		wait_for(pid);
	}
}

/* Killed while it runs, and while its threads do. */
static void kills(void)
{
	while (on()) {
		pid_t pid = spawn();
		pthread_t t;

		if (!pid) {
			pthread_create(&t, NULL, short_life, (void *)(uintptr_t)NS_PER_S);
			spin_until(now_ns() + NS_PER_S);
			_exit(0);
		}
		nap(2000000);
		kill(pid, SIGKILL);
		wait_for(pid);
	}
}

static void pipes(void)
{
	int a[2], b[2];
	pid_t pid;
	char c = 0;

	if (pipe(a) || pipe(b))
		die("pipe");
	pid = spawn();
	while (!pid || on()) {
		if (write(pid ? a[1] : b[1], &c, 1) != 1 || read(pid ? b[0] : a[0], &c, 1) != 1)
			break;
	}
	if (!pid)
		_exit(0);
	kill(pid, SIGKILL);
	wait_for(pid);
}

int main(int argc, char **argv)
{
	void (*parts[])(void) = {forks,	  execs, threads, thread_execs, leaders,
				 signals, kills, pipes,	  migrations};
	const size_t n = sizeof(parts) / sizeof(parts[0]);
	char name[4096] = "";

	if (argc < 3)
		return argc == 2 ? 0 : 2;
	if (readlink("/proc/self/exe", name, sizeof(name) - 1) < 0)
		die("readlink");
	self = name;
	alarm(60); /* should a part hang */
	stop_at = now_ns() + (uint64_t)(atof(argv[1]) * NS_PER_S);
	for (size_t i = 0; i <= n; i++) {
		if (spawn())
			continue;
		if (i < n)
			parts[i]();
		else
			disk(argv[2]);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
