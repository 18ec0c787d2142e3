/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What /proc knows of every task before its first event: who it is, whether it sleeps and how, and
 * the system call that it sits in.
 *
 * It owns the reading of /proc/PID/task/TID/ and knows no engine. Formats: fs/proc/array.c
 * (do_task_stat), fs/proc/base.c (proc_pid_syscall), kernel/cgroup/cgroup.c (proc_cgroup_show).
 */
#ifndef PROCSEED_H
#define PROCSEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "feed.h"

/* The fields of a stat file that matter. */
struct proc_stat {
	uint32_t tid;
	uint32_t parent;	  /* tgid, 0: none */
	char comm[ACCT_COMM_LEN]; /* not terminated when it is full; any byte but 0 */
	char state;
	bool kthread;
	uint64_t start_ticks; /* since boot, in 1/sysconf(_SC_CLK_TCK) s */
	uint32_t cpu;	      /* it is on, or was last */
};

/* Takes the len bytes of a stat file apart. 0; -EBADMSG: it is none. */
int proc__parse_stat(const char *buf, size_t len, struct proc_stat *st);

/*
 * The CALL_KEY() of the system call that a syscall file tells of; KEY_NO_CALL: none, the task runs,
 * or the file is none.
 */
uint32_t proc__parse_syscall(const char *buf, size_t len);

/* The real user id in a status file; 0 when it has none. */
uint32_t proc__parse_uid(const char *buf, size_t len);

/* The unified hierarchy's path in a cgroup file, not terminated; its length, 0: none. */
size_t proc__parse_cgroup(const char *buf, size_t len, const char **path);

/* AC_* of a state letter; AC_NONE: the task is dead, AC_WAIT: it runs or could. */
uint32_t proc__class(char state);

/*
 * Calls fn for each task below proc ("/proc"), in no special order; tasks that end meanwhile are
 * left out. Stops when fn returns non-zero and returns that. -errno: proc cannot be read.
 */
int proc__tasks(const char *proc, int (*fn)(void *ctx, const struct feed_seed *seed), void *ctx);

#endif /* PROCSEED_H */
