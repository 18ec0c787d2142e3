// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks /proc. Every file is read with one read(2) into a buffer on the stack: the kernel makes
 * these files in one go, and what is longer than the buffer is nothing that is asked for here.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "procseed.h"

#define CGROUP_ROOT	"/sys/fs/cgroup"
#define PF_KTHREAD	0x00200000 /* include/linux/sched.h */
#define X32_SYSCALL_BIT 0x40000000
#define TEXT_LEN	4096

/* ---- the formats ---- */

/* A decimal number, negative ones too, at *p; moves behind it and one blank. False: none. */
static bool take_number(const char **p, const char *end, int64_t *v)
{
	uint64_t n = 0;
	bool minus = *p < end && **p == '-';
	const char *s = *p + minus, *first = s;

	for (; s < end && isdigit((unsigned char)*s); s++) {
		if (n > (uint64_t)INT64_MAX / 10)
			return false;
		n = n * 10 + (*s - '0');
		if (n > INT64_MAX)
			return false;
	}
	if (s == first)
		return false;
	*v = minus ? -(int64_t)n : (int64_t)n;
	*p = s < end && *s == ' ' ? s + 1 : s;
	return true;
}

/* Moves over n blank-separated fields. */
static bool skip_fields(const char **p, const char *end, unsigned int n)
{
	while (n--) {
		const char *blank = memchr(*p, ' ', end - *p);

		if (!blank)
			return false;
		*p = blank + 1;
	}
	return true;
}

/* "TID (COMM) STATE ..."; COMM may hold blanks and parentheses: the last one ends it. */
int proc__parse_stat(const char *buf, size_t len, struct proc_stat *st)
{
	const char *p = buf, *end = buf + len, *open, *close;
	int64_t tid, parent, flags, ticks, cpu;
	size_t n;

	memset(st, 0, sizeof(*st));
	if (!take_number(&p, end, &tid) || tid <= 0 || tid > INT32_MAX)
		return -EBADMSG;
	open = p;
	close = memrchr(open, ')', end - open);
	if (!close || *open != '(' || end - close < 4 || close[1] != ' ' || close[3] != ' ')
		return -EBADMSG;
	n = close - open - 1;
	memcpy(st->comm, open + 1, n < sizeof(st->comm) ? n : sizeof(st->comm));
	st->tid = tid;
	st->state = close[2];
	p = close + 4; /* field 4, ppid */
	if (!take_number(&p, end, &parent) || !skip_fields(&p, end, 4) ||
	    !take_number(&p, end, &flags) || !skip_fields(&p, end, 12) ||
	    !take_number(&p, end, &ticks) || !skip_fields(&p, end, 16) ||
	    !take_number(&p, end, &cpu))
		return -EBADMSG;
	if (ticks < 0 || cpu < 0 || cpu > INT32_MAX || parent < 0 || parent > INT32_MAX)
		return -EBADMSG;
	st->parent = parent;
	st->kthread = flags & PF_KTHREAD;
	st->start_ticks = ticks;
	st->cpu = cpu;
	return 0;
}

uint32_t proc__parse_syscall(const char *buf, size_t len)
{
	const char *p = buf;
	int64_t nr;

	/* "running", "-1 SP PC" outside of a call, "NR ARG... SP PC". */
	if (!take_number(&p, buf + len, &nr) || nr < 0 || nr > INT32_MAX)
		return KEY_NO_CALL;
	return CALL_KEY(CALL_SYSCALL, nr & X32_SYSCALL_BIT ? 2 : 0, nr);
}

/* The line of buf that begins with key, without it and its end; its length, 0: none. */
static size_t find_line(const char *buf, size_t len, const char *key, const char **line)
{
	size_t k = strlen(key);

	for (const char *p = buf, *end = buf + len; p < end;) {
		const char *nl = memchr(p, '\n', end - p);
		size_t n = (nl ? nl : end) - p;

		if (n > k && !memcmp(p, key, k)) {
			*line = p + k;
			return n - k;
		}
		p += n + 1;
	}
	return 0;
}

uint32_t proc__parse_uid(const char *buf, size_t len)
{
	const char *p = NULL;
	size_t n = find_line(buf, len, "Uid:\t", &p);
	int64_t uid;

	return n && take_number(&p, p + n, &uid) && uid > 0 && uid <= UINT32_MAX ? uid : 0;
}

size_t proc__parse_cgroup(const char *buf, size_t len, const char **path)
{
	size_t n = find_line(buf, len, "0::", path);

	return n && **path == '/' ? n : 0;
}

uint32_t proc__class(char state)
{
	switch (state) {
	case 'S':
	case 'I': /* an idle kernel thread */
	case 'P':
		return AC_SLEEP;
	case 'D':
		return AC_BLOCKED;
	case 'T':
	case 't':
		return AC_STOPPED;
	case 'Z':
	case 'X':
		return AC_NONE;
	default:
		return AC_WAIT;
	}
}

/* ---- the walk ---- */

struct walk {
	int (*fn)(void *ctx, const struct feed_seed *seed);
	void *ctx;
	uint64_t tick_ns;
	int64_t boot_ns;       /* by how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC */
	struct feed_seed seed; /* what a process's tasks have in common is filled in */
};

/* The bytes of file name below dir, at most len; 0: cannot be read. */
static size_t slurp(int dir, const char *name, char *buf, size_t len)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	do {
		n = read(fd, buf, len);
	} while (n < 0 && errno == EINTR);
	close(fd);
	return n > 0 ? n : 0;
}

/* A cgroup's id is the inode number of its directory (kernfs, 64 bit). 0: not to be had. */
static uint64_t cgroup_id(int dir)
{
	char buf[TEXT_LEN], path[TEXT_LEN + sizeof(CGROUP_ROOT)];
	const char *p = NULL;
	struct stat st;
	size_t n = proc__parse_cgroup(buf, slurp(dir, "cgroup", buf, sizeof(buf)), &p);

	if (!n)
		return 0;
	snprintf(path, sizeof(path), CGROUP_ROOT "%.*s", (int)n, p);
	if (!stat(path, &st))
		return st.st_ino;
	snprintf(path, sizeof(path), CGROUP_ROOT "/unified%.*s", (int)n, p);
	return stat(path, &st) ? 0 : st.st_ino;
}

static int one_task(struct walk *w, int tasks, const char *tid)
{
	struct feed_seed *s = &w->seed;
	char buf[TEXT_LEN], name[64];
	struct proc_stat st;

	snprintf(name, sizeof(name), "%.20s/stat", tid);
	if (proc__parse_stat(buf, slurp(tasks, name, buf, sizeof(buf)), &st))
		return 0; /* it has ended just now */
	s->cls = proc__class(st.state);
	if (s->cls == AC_NONE)
		return 0;
	s->tid = st.tid;
	s->parent = st.parent;
	s->cpu = st.cpu;
	s->kthread = st.kthread;
	memcpy(s->comm, st.comm, sizeof(s->comm));
	s->start = st.start_ticks * w->tick_ns;
	s->start = (int64_t)s->start > w->boot_ns ? s->start - w->boot_ns : 1;
	s->key = KEY_NO_CALL;
	if (!st.kthread && s->cls != AC_WAIT) {
		snprintf(name, sizeof(name), "%.20s/syscall", tid);
		s->key = proc__parse_syscall(buf, slurp(tasks, name, buf, sizeof(buf)));
	}
	return w->fn(w->ctx, s);
}

/* The directory name below dir as a stream; NULL: it is not there any more, or cannot be read. */
static DIR *open_dir(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

static int one_process(struct walk *w, int proc, const char *pid)
{
	char buf[TEXT_LEN], name[64];
	struct dirent *de;
	DIR *tasks;
	int dir, err = 0;

	dir = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return 0;
	memset(&w->seed, 0, sizeof(w->seed));
	w->seed.tgid = strtoul(pid, NULL, 10);
	w->seed.uid = proc__parse_uid(buf, slurp(dir, "status", buf, sizeof(buf)));
	w->seed.cgroup = cgroup_id(dir);
	close(dir);
	snprintf(name, sizeof(name), "%.20s/task", pid);
	tasks = open_dir(proc, name);
	if (!tasks)
		return 0;
	while (!err && (de = readdir(tasks)))
		if (isdigit((unsigned char)de->d_name[0]))
			err = one_task(w, dirfd(tasks), de->d_name);
	closedir(tasks);
	return err;
}

int proc__tasks(const char *proc, int (*fn)(void *ctx, const struct feed_seed *seed), void *ctx)
{
	struct walk w = {.fn = fn, .ctx = ctx, .tick_ns = 1000000000ULL / sysconf(_SC_CLK_TCK)};
	struct timespec boot;
	struct dirent *de;
	int err = 0;
	DIR *d;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	w.boot_ns = timespec_ns(&boot) - clock_ns();
	d = opendir(proc);
	if (!d)
		return -errno;
	while (!err && (de = readdir(d)))
		if (isdigit((unsigned char)de->d_name[0]))
			err = one_process(&w, dirfd(d), de->d_name);
	closedir(d);
	return err;
}
