// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child that waits for the word to exec, and the waiting for its end.
 *
 * It owns the child, its pidfd and one socket pair, both ends of which close on exec: "go" travels
 * down, the errno of a failed exec travels up, the end of file means "the caller died" to the child
 * and "exec worked" to the parent. It must not know what the child is run for.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

#define EXIT_NOT_FOUND	127
#define EXIT_CANNOT_RUN 126

struct workload {
	pid_t pid;
	int pidfd;
	int sock; /* -1 after the start */
	bool started, ended;
	int status; /* as from waitpid(), once ended */
};

/* What the command may expect: not what this tool made of its signals. */
static void reset_signals(void)
{
	static const int reset[] = {SIGINT, SIGTERM, SIGPIPE};
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (size_t i = 0; i < sizeof(reset) / sizeof(*reset); i++)
		sigaction(reset[i], &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The child. All that happens before the exec is also the tool's doing, so it is little. */
static void __attribute__((noreturn)) run_child(int sock, char **argv)
{
	ssize_t n;
	char go;
	int err;

	reset_signals();
	do {
		n = recv(sock, &go, 1, 0);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(EXIT_CANNOT_RUN); /* nobody is there any more to want it run */
	execvp(argv[0], argv);
	err = errno;
	send(sock, &err, sizeof(err), MSG_NOSIGNAL);
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* Reaps the child without fail. For a child that is known to be ending. */
static void reap(struct workload *w)
{
	pid_t rc;

	do {
		rc = waitpid(w->pid, &w->status, 0);
	} while (rc < 0 && errno == EINTR);
	w->ended = rc == w->pid;
}

static void close_sock(struct workload *w)
{
	if (w->sock < 0)
		return;
	/* Not close() alone: another child may hold a copy, and ours would wait for ever. */
	shutdown(w->sock, SHUT_RDWR);
	close(w->sock);
	w->sock = -1;
}

int workload__prepare(struct workload **out, char **argv)
{
	struct workload *w = calloc(1, sizeof(*w));
	sigset_t all, old;
	int sv[2], rc;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->pidfd = w->sock = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv)) {
		rc = -errno;
		free(w);
		return rc;
	}
	/* Blocked around the fork: the child must not run the tool's handlers. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	w->pid = fork();
	if (!w->pid) {
		close(sv[0]);
		run_child(sv[1], argv);
	}
	rc = w->pid < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(sv[1]);
	w->sock = sv[0];
	if (!rc) {
		w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
		rc = w->pidfd < 0 ? -errno : 0;
	}
	if (rc)
		workload__free(w);
	else
		*out = w;
	return rc;
}

int workload__start(struct workload *w)
{
	int err = 0;
	ssize_t n;

	if (w->started)
		return -EALREADY;
	w->started = true;
	n = send(w->sock, "g", 1, MSG_NOSIGNAL);
	if (n == 1) {
		do {
			n = recv(w->sock, &err, sizeof(err), 0);
		} while (n < 0 && errno == EINTR);
	}
	close_sock(w);
	if (n == 0)
		return 0;
	reap(w);
	/* Neither an errno nor the end of file: the other end is gone with "go" unread. */
	return n == (ssize_t)sizeof(err) && err > 0 ? -err : -ECHILD;
}

pid_t workload__pid(const struct workload *w)
{
	return w->pid;
}

int workload__pidfd(const struct workload *w)
{
	return w->pidfd;
}

int workload__wait(struct workload *w, int timeout_ms)
{
	struct pollfd p = {.fd = w->pidfd, .events = POLLIN};
	pid_t rc;

	if (w->ended)
		return 1;
	if (poll(&p, 1, timeout_ms) < 0)
		return -errno;
	if (!p.revents)
		return 0;
	rc = waitpid(w->pid, &w->status, WNOHANG);
	if (rc < 0)
		return -errno;
	w->ended = rc == w->pid;
	return w->ended;
}

int workload__exit_status(const struct workload *w)
{
	if (!w->ended)
		return -EAGAIN;
	return WIFSIGNALED(w->status) ? 128 + WTERMSIG(w->status) : WEXITSTATUS(w->status);
}

void workload__free(struct workload *w)
{
	if (!w)
		return;
	close_sock(w);
	if (w->pid > 0 && !w->ended) {
		if (w->started)
			waitpid(w->pid, &w->status, WNOHANG);
		else
			reap(w);
	}
	if (w->pidfd >= 0)
		close(w->pidfd);
	free(w);
}
