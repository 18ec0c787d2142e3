// SPDX-License-Identifier: GPL-2.0-only
/*
 * The COMMAND's child: it waits, it runs, it ends, it fails to run, it is orphaned.
 *
 * Real children all along; what they did shows in files below a directory of their own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/workload.h"

#define PATIENCE_MS 20000

static char tmp[512], file[600];

static int make_tmp(void **state)
{
	const char *dir = getenv("TMPDIR");

	(void)state;
	snprintf(tmp, sizeof(tmp), "%s/test_workload.XXXXXX", dir && *dir ? dir : "/tmp");
	if (!mkdtemp(tmp))
		return -1;
	snprintf(file, sizeof(file), "%s/file", tmp);
	return 0;
}

static int remove_tmp(void **state)
{
	(void)state;
	unlink(file);
	return rmdir(tmp);
}

static struct workload *prepare(char *program, char *arg, char *script)
{
	char *argv[] = {program, arg, script, NULL};
	struct workload *w;

	assert_int_equal(workload__prepare(&w, argv), 0);
	assert_non_null(w);
	return w;
}

/* Runs a shell script to its end and returns what the tool would exit with. */
static int run(char *script)
{
	struct workload *w = prepare("sh", "-c", script);
	int status;

	assert_int_equal(workload__start(w), 0);
	assert_int_equal(workload__wait(w, PATIENCE_MS), 1);
	assert_int_equal(workload__wait(w, 0), 1);
	status = workload__exit_status(w);
	workload__free(w);
	return status;
}

static void test_exit_status(void **state)
{
	(void)state;
	assert_int_equal(run("exit 0"), 0);
	assert_int_equal(run("exit 7"), 7);
	assert_int_equal(run("exit 255"), 255);
	assert_int_equal(run("kill -TERM $$"), 128 + SIGTERM);
	assert_int_equal(run("kill -KILL $$"), 128 + SIGKILL);
}

static void test_waits_for_start(void **state)
{
	char script[700];
	struct workload *w;
	struct pollfd p = {.events = POLLIN};

	(void)state;
	snprintf(script, sizeof(script), "echo ran > %s; exec sleep 1", file);
	w = prepare("sh", "-c", script);
	assert_true(workload__pid(w) > 0);
	assert_int_equal(kill(workload__pid(w), 0), 0);
	assert_int_equal(workload__wait(w, 100), 0);
	assert_int_equal(workload__exit_status(w), -EAGAIN);
	assert_int_not_equal(access(file, F_OK), 0);
	assert_int_equal(workload__start(w), 0);
	assert_int_equal(workload__start(w), -EALREADY);
	p.fd = workload__pidfd(w);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_int_equal(workload__wait(w, 0), 1);
	assert_int_equal(workload__exit_status(w), 0);
	assert_int_equal(access(file, F_OK), 0);
	workload__free(w);
}

static void test_cannot_run(void **state)
{
	struct workload *w = prepare("no-such-program-anywhere", NULL, NULL);
	FILE *f;

	(void)state;
	assert_int_equal(workload__start(w), -ENOENT);
	assert_int_equal(workload__exit_status(w), 127);
	assert_int_equal(workload__wait(w, 0), 1);
	workload__free(w);

	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(chmod(file, 0644), 0);
	w = prepare(file, NULL, NULL);
	assert_int_equal(workload__start(w), -EACCES);
	assert_int_equal(workload__exit_status(w), 126);
	workload__free(w);

	w = prepare(tmp, NULL, NULL);
	assert_int_equal(workload__start(w), -EACCES);
	assert_int_equal(workload__exit_status(w), 126);
	workload__free(w);
}

static void test_killed_while_waiting(void **state)
{
	struct workload *w = prepare("true", NULL, NULL);
	siginfo_t info;

	(void)state;
	assert_int_equal(kill(workload__pid(w), SIGINT), 0);
	assert_int_equal(waitid(P_PID, (id_t)workload__pid(w), &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(workload__start(w), -ECHILD);
	assert_int_equal(workload__exit_status(w), 128 + SIGINT);
	workload__free(w);
}

static void test_free_before_start(void **state)
{
	struct workload *w = prepare("true", NULL, NULL), *other;
	pid_t pid = workload__pid(w);

	(void)state;
	other = prepare("true", NULL, NULL); /* holds a copy of the first one's socket */
	workload__free(w);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	workload__free(other);
	workload__free(NULL);
}

static void test_free_spares_started(void **state)
{
	struct workload *w = prepare("sleep", "30", NULL);
	pid_t pid = workload__pid(w);
	int status;

	(void)state;
	assert_int_equal(workload__start(w), 0);
	workload__free(w);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* The tool dies before the start: the child's end of a pipe tells when the child has ended too. */
static void test_orphan(void **state)
{
	char *argv[] = {"sleep", "30", NULL};
	struct workload *w;
	struct pollfd p = {.events = POLLIN};
	int fds[2], status;
	pid_t tool;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	tool = fork();
	assert_true(tool >= 0);
	if (!tool) {
		if (workload__prepare(&w, argv))
			_exit(1);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(tool, &status, 0), tool);
	assert_true(WIFSIGNALED(status));
	close(fds[1]);
	p.fd = fds[0];
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_int_equal(p.revents & (POLLIN | POLLHUP), POLLHUP);
	close(fds[0]);
}

static void handler(int sig)
{
	(void)sig;
}

/* Whatever the tool does with its signals, the command begins with none blocked and the defaults.
 */
static void test_signals(void **state)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, catch = {.sa_handler = handler};
	struct sigaction old_int, old_term, old_pipe;
	sigset_t all, old;

	(void)state;
	sigaction(SIGINT, &ignore, &old_int);
	sigaction(SIGTERM, &catch, &old_term);
	sigaction(SIGPIPE, &ignore, &old_pipe);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	assert_int_equal(run("kill -INT $$; exit 3"), 128 + SIGINT);
	assert_int_equal(run("kill -TERM $$; exit 3"), 128 + SIGTERM);
	assert_int_equal(run("kill -PIPE $$; exit 3"), 128 + SIGPIPE);
	assert_int_equal(run("grep -q '^SigBlk:[[:space:]]*0*$' /proc/self/status"), 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	sigaction(SIGPIPE, &old_pipe, NULL);
}

static void test_interrupted(void **state)
{
	struct sigaction catch = {.sa_handler = handler}, old;
	struct workload *w = prepare("sleep", "30", NULL);
	int status;

	(void)state;
	sigaction(SIGALRM, &catch, &old);
	assert_int_equal(workload__start(w), 0);
	alarm(1);
	assert_int_equal(workload__wait(w, -1), -EINTR);
	assert_int_equal(kill(workload__pid(w), SIGTERM), 0);
	assert_int_equal(workload__wait(w, PATIENCE_MS), 1);
	status = workload__exit_status(w);
	assert_int_equal(status, 128 + SIGTERM);
	workload__free(w);
	sigaction(SIGALRM, &old, NULL);
}

static void read_line(char *text, int len)
{
	FILE *f = fopen(file, "r");

	assert_non_null(f);
	assert_non_null(fgets(text, len, f));
	fclose(f);
}

/* Nothing of the tool's plumbing is open in the command: it has the sockets of any child of ours.
 */
static void test_descriptors(void **state)
{
	char script[700], any[64], ours[64];

	(void)state;
	snprintf(script, sizeof(script), "ls -l /proc/self/fd | grep -c socket: > %s; true", file);
	assert_int_equal(system(script), 0);
	read_line(any, sizeof(any));
	assert_int_equal(run(script), 0);
	read_line(ours, sizeof(ours));
	assert_string_equal(ours, any);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_status),
		cmocka_unit_test(test_waits_for_start),
		cmocka_unit_test(test_cannot_run),
		cmocka_unit_test(test_killed_while_waiting),
		cmocka_unit_test(test_free_before_start),
		cmocka_unit_test(test_free_spares_started),
		cmocka_unit_test(test_orphan),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_descriptors),
	};

	return cmocka_run_group_tests_name("workload", tests, make_tmp, remove_tmp);
}
