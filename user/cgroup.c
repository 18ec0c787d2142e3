// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cgroups by id: where the v2 hierarchy is mounted, what lies in it, and what was there once.
 *
 * It owns the cache from id to path. It must not know what runs in a cgroup, nor which paths are
 * containers (container.c). An id is the directory's inode number, which on 64-bit kernels is the
 * whole id that BPF and perf report; ids are never used twice.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "names_priv.h"

#define MOUNTINFO "/proc/self/mountinfo"
#define ROOT_ID	  1
#define GONE	  "(gone)"

/* Where the hierarchy is mounted, and which of its directories is. */
struct mount_point {
	int fd; /* -1: none found */
	char *path, *root;
};

/* Directories still to be listed, as paths from the mount point. */
struct todo {
	char **v;
	size_t n, size;
};

struct walk {
	struct cgroups *cg;
	struct mount_point mp;
	dev_t dev;
	struct todo todo;
	int error; /* the first directory that could not be read: the others are walked all the same
		    */
};

void cgroups__init(struct cgroups *cg)
{
	cg->mountinfo = MOUNTINFO;
}

void cgroups__clear(struct cgroups *cg)
{
	strmap__clear(&cg->paths);
}

void names__use_mountinfo(struct names *n, const char *path)
{
	n->cgroups.mountinfo = path;
	n->cgroups.any_fs = true;
}

/* mountinfo writes blanks and backslashes as \040: undone in place. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/*
 * "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw": cuts line into root and
 * mount point. False when it is another file system's.
 */
static bool parse_mount(char *line, char **root, char **path)
{
	char *save = NULL, *word, *sep = strstr(line, " - ");
	int i;

	if (!sep || strncmp(sep + 3, "cgroup2", 7) || (sep[10] && !strchr(" \n", sep[10])))
		return false;
	*sep = '\0';
	*root = *path = NULL;
	for (i = 0, word = strtok_r(line, " ", &save); word; i++) {
		if (i == 3)
			*root = word;
		if (i == 4)
			*path = word;
		word = strtok_r(NULL, " ", &save);
	}
	if (!*path)
		return false;
	unescape(*root);
	unescape(*path);
	return true;
}

static void close_mount(struct mount_point *mp)
{
	if (mp->fd >= 0)
		close(mp->fd);
	free(mp->path);
	free(mp->root);
	*mp = (struct mount_point){.fd = -1};
}

/*
 * Takes this mount in the place of *best when it shows the whole hierarchy and the other does not,
 * or when it lies over it at the same place. 0, or -errno when it cannot be used.
 */
static int consider(const struct cgroups *cg, struct mount_point *best, const char *root,
		    const char *path)
{
	struct mount_point mp = {.fd = -1};
	struct statfs fs;
	int rc = 0;

	if (best->fd >= 0 && strcmp(best->path, path) &&
	    !(strcmp(best->root, "/") && !strcmp(root, "/")))
		return 0;
	mp.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mp.fd < 0 || fstatfs(mp.fd, &fs)) {
		rc = -errno;
		goto out;
	}
	if (!cg->any_fs && fs.f_type != CGROUP2_SUPER_MAGIC) { /* another mount hides it */
		rc = -ENOENT;
		goto out;
	}
	mp.path = strdup(path);
	mp.root = strdup(root);
	if (!mp.path || !mp.root) {
		rc = -ENOMEM;
		goto out;
	}
	close_mount(best);
	*best = mp;
	return 0;
out:
	close_mount(&mp);
	return rc;
}

/* 0, -ENOENT when there is no cgroup2 mount, -errno when it cannot be opened. */
static int find_mount(const struct cgroups *cg, struct mount_point *mp)
{
	char *line = NULL, *root, *path;
	int rc, err = -ENOENT;
	size_t size = 0;
	FILE *f;

	*mp = (struct mount_point){.fd = -1};
	f = fopen(cg->mountinfo, "re");
	if (!f)
		return -errno;
	while (getline(&line, &size, f) > 0) {
		if (!parse_mount(line, &root, &path))
			continue;
		rc = consider(cg, mp, root, path);
		if (rc)
			err = rc;
	}
	free(line);
	fclose(f);
	return mp->fd >= 0 ? 0 : err;
}

static int todo_push(struct todo *t, const char *path)
{
	char **bigger;

	if (t->n == t->size) {
		bigger = realloc(t->v, (t->size ? t->size * 2 : 64) * sizeof(*t->v));
		if (!bigger)
			return -ENOMEM;
		t->v = bigger;
		t->size = t->size ? t->size * 2 : 64;
	}
	t->v[t->n] = strdup(path);
	if (!t->v[t->n])
		return -ENOMEM;
	t->n++;
	return 0;
}

/* Notes the directory rel (from the mount point) under its id. */
static int remember(struct walk *w, uint64_t id, const char *rel)
{
	const char *root = strcmp(w->mp.root, "/") ? w->mp.root : "";
	const char *known;
	char *path;
	int len;

	len = asprintf(&path, "%s%s%s", root, *rel || !*root ? "/" : "", rel);
	if (len < 0)
		return -ENOMEM;
	known = strmap__set(&w->cg->paths, id, path, (size_t)len);
	free(path);
	return known ? 0 : -ENOMEM;
}

/* One entry of directory dir_rel, open as dirfd. 0, or -ENOMEM. */
static int visit(struct walk *w, int dirfd, const char *dir_rel, const struct dirent *e)
{
	struct stat st;
	char *rel;
	int rc;

	if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
		return 0;
	if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
		return 0;
	/* Cgroups come and go under our feet: one that is gone by now is no error. */
	if (fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode) ||
	    st.st_dev != w->dev)
		return 0;
	if (asprintf(&rel, "%s%s%s", dir_rel, *dir_rel ? "/" : "", e->d_name) < 0)
		return -ENOMEM;
	rc = remember(w, st.st_ino, rel);
	/* Two links are "." and the name itself: nothing below. Saves listing all the leaves. */
	if (!rc && st.st_nlink != 2)
		rc = todo_push(&w->todo, rel);
	free(rel);
	return rc;
}

static void note_error(struct walk *w, int err)
{
	if (err != ENOENT && err != ENODEV && !w->error)
		w->error = -err;
}

/* Lists one directory; what it holds is noted, and its subdirectories wait in the list. */
static int list_dir(struct walk *w, const char *rel)
{
	struct dirent *e;
	int fd, rc = 0;
	DIR *d;

	fd = openat(w->mp.fd, *rel ? rel : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		note_error(w, errno);
		return 0;
	}
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	while (!rc) {
		errno = 0;
		e = readdir(d);
		if (!e) {
			if (errno)
				note_error(w, errno);
			break;
		}
		rc = visit(w, fd, rel, e);
	}
	closedir(d);
	return rc;
}

/*
 * No recursion, and two descriptors at most: cgroups nest as deeply as their owners like.
 * 0, -ENOENT when there is no cgroup2 mount, or the first error: all that could be read is known
 * then.
 */
static int scan(struct cgroups *cg)
{
	struct walk w = {.cg = cg};
	struct stat st;
	char *rel;
	int rc;

	rc = find_mount(cg, &w.mp);
	if (rc)
		return rc;
	cg->scans++;
	if (fstat(w.mp.fd, &st)) {
		rc = -errno;
		goto out;
	}
	w.dev = st.st_dev;
	rc = remember(&w, st.st_ino, "");
	if (!rc)
		rc = list_dir(&w, "");
	while (!rc && w.todo.n) {
		rel = w.todo.v[--w.todo.n];
		rc = list_dir(&w, rel);
		free(rel);
	}
	if (!rc)
		rc = w.error;
out:
	while (w.todo.n)
		free(w.todo.v[--w.todo.n]);
	free(w.todo.v);
	close_mount(&w.mp);
	return rc;
}

int names__cgroup_scan(struct names *n)
{
	return scan(&n->cgroups);
}

void names__new_window(struct names *n)
{
	n->cgroups.scanned = false;
}

const char *names__cgroup(struct names *n, uint64_t id)
{
	struct cgroups *cg = &n->cgroups;
	const char *path;
	int rc;

	if (!id)
		return "(unknown)";
	path = strmap__get(&cg->paths, id);
	if (!path && !cg->scanned) {
		cg->scanned = true;
		rc = scan(cg);
		path = strmap__get(&cg->paths, id);
		/* Seen before the scan, not found by it: it will never come back, so stop looking.
		 */
		if (!path && !rc && id != ROOT_ID)
			strmap__set_static(&cg->paths, id, GONE);
	}
	if (path)
		return path;
	return id == ROOT_ID ? "/" : GONE;
}
