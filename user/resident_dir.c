// SPDX-License-Identifier: GPL-2.0-only
/* Pins and the lock of a resident instance: see resident_dir.h. */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "clock.h"
#include "resident_dir.h"

#define RETRY_NS 20000000ULL

int why__put(const struct why *w, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->buf, w->len, fmt, ap);
	va_end(ap);
	return err;
}

void rdir__init(struct rdir *d, const char *name)
{
	d->fd = -1;
	snprintf(d->path, sizeof(d->path), BPFFS "/utilbpf%s%s", name ? "-" : "", name ? name : "");
}

/* ---- the lock ---- */

static int check_bpffs(const struct why *why)
{
	struct statfs fs;

	if (!statfs(BPFFS, &fs) && (uint32_t)fs.f_type == BPF_FS_MAGIC)
		return 0;
	return why__put(why, -ENODEV,
			BPFFS " is no BPF file system, where accounting without a process is kept: "
			      "mount it with mount -t bpf bpf " BPFFS);
}

static int open_dir(struct rdir *d, bool create, const struct why *why)
{
	if (create && mkdir(d->path, 0700) && errno != EEXIST)
		return why__put(why, -errno, "cannot make %s: %s; run as root", d->path,
				strerror(errno));
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (d->fd >= 0)
		return 0;
	if (errno == ENOENT)
		return why__put(why, -ENOENT, "nothing runs at %s: begin with utilbpf start",
				d->path);
	return why__put(why, -errno, "cannot open %s: %s; run as root", d->path, strerror(errno));
}

/* True when the directory that is locked is the one that has the name now. */
static bool same_dir(const struct rdir *d)
{
	struct stat mine, there;

	return !fstat(d->fd, &mine) && !stat(d->path, &there) && mine.st_ino == there.st_ino;
}

int rdir__lock(struct rdir *d, bool create, uint64_t wait_ns, const struct why *why)
{
	uint64_t end = clock_ns() + wait_ns;
	int err = check_bpffs(why);

	while (!err) {
		if (d->fd < 0 && (err = open_dir(d, create, why)))
			break;
		if (!flock(d->fd, LOCK_EX | LOCK_NB)) {
			if (same_dir(d))
				return 0;
			rdir__unlock(d); /* stopped, and perhaps started again, while we waited */
			continue;
		}
		if (errno != EWOULDBLOCK && errno != EINTR) {
			err = why__put(why, -errno, "cannot lock %s: %s", d->path, strerror(errno));
			break;
		}
		if (clock_ns() >= end) {
			err = why__put(why, -EBUSY, "%s is in use by another utilbpf", d->path);
			break;
		}
		clock_sleep_until(clock_ns() + RETRY_NS);
	}
	rdir__unlock(d);
	return err;
}

void rdir__unlock(struct rdir *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

/* ---- pins ---- */

/* Names with a point are not for us there: ".bss" is kept as "bss". */
static void pin_path(const struct rdir *d, char kind, const char *name, char *buf, size_t len)
{
	const char *dot = strrchr(name, '.');

	snprintf(buf, len, "%s/%c-%s", d->path, kind, dot ? dot + 1 : name);
}

int rdir__pin(const struct rdir *d, char kind, const char *name, int fd)
{
	char path[256];

	pin_path(d, kind, name, path, sizeof(path));
	return bpf_obj_pin(fd, path) ? -errno : 0;
}

int rdir__get(const struct rdir *d, char kind, const char *name)
{
	char path[256];
	int fd;

	pin_path(d, kind, name, path, sizeof(path));
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

/* ---- bytes in a map ---- */

#define BLOCK 4096 /* of such a map: some kernels take no value of more than 4 MiB */

/* What the map begins with. */
struct bytes_head {
	uint64_t magic, len;
};
#define BYTES_MAGIC 0x7574696c62797465ULL

int rdir__store(const struct rdir *d, const char *name, const void *bytes, size_t len)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	size_t blocks = (sizeof(struct bytes_head) + len + BLOCK - 1) / BLOCK, page;
	struct bytes_head *head;
	int fd, err = 0;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "utilbpf_sum", sizeof(__u32), BLOCK, blocks, &o);
	if (fd < 0)
		return -errno;
	page = sysconf(_SC_PAGESIZE);
	page = (blocks * BLOCK + page - 1) / page * page;
	head = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	head->magic = BYTES_MAGIC;
	head->len = len;
	memcpy(head + 1, bytes, len);
	munmap(head, page);
	rdir__drop(d, name);
	err = rdir__pin(d, 'm', name, fd);
	close(fd);
	return err;
}

int rdir__load(const struct rdir *d, const char *name, char **bytes, size_t *len)
{
	int fd = rdir__get(d, 'm', name), err = -EPROTO;
	struct bpf_map_info info = {0};
	__u32 info_len = sizeof(info);
	struct bytes_head *head;
	size_t size;

	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &info_len) || info.value_size != BLOCK) {
		close(fd);
		return -EPROTO;
	}
	size = (size_t)info.max_entries * BLOCK;
	head = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		err = -errno;
	close(fd);
	if (head == MAP_FAILED)
		return err;
	if (head->magic == BYTES_MAGIC && head->len <= size - sizeof(*head)) {
		*len = head->len;
		*bytes = malloc(*len + 1);
		err = *bytes ? 0 : -ENOMEM;
	}
	if (!err)
		memcpy(*bytes, head + 1, *len);
	munmap(head, size);
	return err;
}

void rdir__drop(const struct rdir *d, const char *name)
{
	char path[256];

	pin_path(d, 'm', name, path, sizeof(path));
	unlink(path);
}

static bool is_ours(const char *name, char kind)
{
	if (!name[0] || name[1] != '-')
		return false;
	return kind ? name[0] == kind : strchr("mplr", name[0]) != NULL;
}

int *rdir__all(const struct rdir *d, char kind, size_t *n)
{
	DIR *dir = opendir(d->path);
	int *fds = NULL, *more, fd;
	struct dirent *e;

	*n = 0;
	while (dir && (e = readdir(dir))) {
		if (!is_ours(e->d_name, kind))
			continue;
		fd = rdir__get(d, kind, e->d_name + 2);
		if (fd < 0)
			continue;
		more = realloc(fds, (*n + 1) * sizeof(*fds));
		if (!more) {
			close(fd);
			break;
		}
		fds = more;
		fds[(*n)++] = fd;
	}
	if (dir)
		closedir(dir);
	return fds;
}

/* Links first: with them the programs come to rest. 0, or -errno of the last that failed. */
static int unlink_kind(const struct rdir *d, char kind)
{
	DIR *dir = opendir(d->path);
	struct dirent *e;
	int err = 0;

	if (!dir)
		return -errno;
	/* A name that is removed while one reads may hide another: begin again until none is left.
	 */
	for (int round = 0, n = 1; n && round < 64; round++) {
		rewinddir(dir);
		n = 0;
		while ((e = readdir(dir))) {
			if (!is_ours(e->d_name, kind))
				continue;
			if (unlinkat(dirfd(dir), e->d_name, 0))
				err = -errno;
			else
				n++;
		}
	}
	closedir(dir);
	return err;
}

int rdir__clear(const struct rdir *d)
{
	int err = unlink_kind(d, 'l'), rest = unlink_kind(d, 0);

	return err ? err : rest;
}

int rdir__remove(const struct rdir *d)
{
	int err = rdir__clear(d);

	if (!err && rmdir(d->path))
		err = -errno;
	return err;
}
