// SPDX-License-Identifier: GPL-2.0-only
/*
 * groups DIR N: makes cgroups DIR/g0 ... with one sleeping process each, prints N when all are
 * there, and removes all when stdin is closed. Processes are born in their groups (Linux 5.7):
 * moving them there one by one would take minutes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void path_of(char path[512], const char *dir, int i)
{
	snprintf(path, 512, "%s/g%d", dir, i);
}

/* The group's process; 0 when anything failed, and errno says what. */
static pid_t add_group(const char *dir, int i)
{
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
	char path[512];
	pid_t pid;
	int fd;

	path_of(path, dir, i);
	if (mkdir(path, 0755))
		return 0;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	args.cgroup = fd;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	close(fd);
	return pid < 0 ? 0 : pid;
}

static void remove_all(const char *dir, const pid_t *pids, int n)
{
	char path[512];

	for (int i = 0; i < n; i++)
		if (pids[i])
			kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < n; i++) {
		path_of(path, dir, i);
		rmdir(path);
	}
	rmdir(dir);
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[2]) : 0, i, failed = 0;
	pid_t *pids = calloc(n > 0 ? n : 1, sizeof(*pids));
	char buf[16];

	if (n <= 0 || !pids) {
		fputs("usage: groups DIR N\n", stderr);
		return 2;
	}
	if (mkdir(argv[1], 0755)) {
		fprintf(stderr, "groups: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	for (i = 0; i < n && !failed; i++) {
		pids[i] = add_group(argv[1], i);
		failed = !pids[i];
	}
	if (failed)
		fprintf(stderr, "groups: number %d: %s\n", i, strerror(errno));
	else
		printf("%d\n", n);
	fflush(stdout);
	while (!failed && read(STDIN_FILENO, buf, sizeof(buf)) > 0)
		;
	remove_all(argv[1], pids, i);
	free(pids);
	return failed;
}
