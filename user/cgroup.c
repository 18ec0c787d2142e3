// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cgroups by id: where their hierarchy is mounted, what lies in it, and what was there once. That
 * is the unified hierarchy; on hosts that have mounted none, the one of the cpu controller, or
 * cpuacct.
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

#include "../bpf/utilbpf.h"
#include "hash.h"
#include "names_priv.h"

#define MOUNTINFO "/proc/self/mountinfo"
#define DOCKER	  "/var/lib/docker/containers"
#define ROOT_ID	  1
#define GONE	  "(gone)"

/* Where the hierarchy is mounted, and which of its directories is. */
struct mount_point {
	int fd;	       /* -1: none found */
	int hierarchy; /* enum acct_hierarchy: the lower is preferred */
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
	void (*each)(void *ctx, uint64_t id, const char *path);
	void *ctx;
	int error; /* the first directory that could not be read: the others are walked all the same
		    */
};

void cgroups__init(struct cgroups *cg)
{
	cg->mountinfo = MOUNTINFO;
	cg->docker = DOCKER;
}

/* ---- strings that age ---- */

static const char *aged_set(struct aged *a, uint64_t id, const char *str)
{
	return strmap__set(&a->now, id, str, strlen(str));
}

/* What is asked for is young again. */
static const char *aged_get(struct aged *a, uint64_t id)
{
	const char *str = strmap__get(&a->now, id);

	if (str)
		return str;
	str = strmap__get(&a->old, id);
	return str ? aged_set(a, id, str) : NULL;
}

static void aged_turn(struct aged *a)
{
	strmap__clear(&a->old);
	a->old = a->now;
	memset(&a->now, 0, sizeof(a->now));
}

static void aged_clear(struct aged *a)
{
	strmap__clear(&a->now);
	strmap__clear(&a->old);
}

void cgroups__clear(struct cgroups *cg)
{
	aged_clear(&cg->paths);
	aged_clear(&cg->containers);
	aged_clear(&cg->folds);
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

/* True when the list of words a,b,c holds word. */
static bool listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; *p; p += *p == ',') {
		size_t n = strcspn(p, ",\n");

		if (n == len && !memcmp(p, word, n))
			return true;
		p += n;
		if (*p == '\n')
			break;
	}
	return false;
}

/* Which hierarchy the end of a line of mountinfo tells of, "cgroup2 cgroup2 rw"; -1: none of ours.
 */
static int hierarchy_of(const char *fs)
{
	const char *options = strrchr(fs, ' ');

	if (!strncmp(fs, "cgroup2", 7) && (!fs[7] || strchr(" \n", fs[7])))
		return GROUPS_UNIFIED;
	if (strncmp(fs, "cgroup ", 7) || !options)
		return -1;
	if (listed(options + 1, "cpu"))
		return GROUPS_CPU;
	return listed(options + 1, "cpuacct") ? GROUPS_CPUACCT : -1;
}

/*
 * "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw": cuts line into root and
 * mount point. The hierarchy, or -1 when it is another file system's.
 */
static int parse_mount(char *line, char **root, char **path)
{
	char *save = NULL, *word, *sep = strstr(line, " - ");
	int i, hierarchy = sep ? hierarchy_of(sep + 3) : -1;

	if (hierarchy < 0)
		return -1;
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
		return -1;
	unescape(*root);
	unescape(*path);
	return hierarchy;
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
 * Takes this mount in the place of *best when it is of a better hierarchy, when it shows the whole
 * of it and the other does not, or when it lies over it at the same place. 0, or -errno when it
 * cannot be used.
 */
static int consider(const struct cgroups *cg, struct mount_point *best, int hierarchy,
		    const char *root, const char *path)
{
	struct mount_point mp = {.fd = -1, .hierarchy = hierarchy};
	struct statfs fs;
	int rc = 0;

	if (best->fd >= 0 && hierarchy > best->hierarchy)
		return 0;
	if (best->fd >= 0 && hierarchy == best->hierarchy && strcmp(best->path, path) &&
	    !(strcmp(best->root, "/") && !strcmp(root, "/")))
		return 0;
	mp.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mp.fd < 0 || fstatfs(mp.fd, &fs)) {
		rc = -errno;
		goto out;
	}
	if (!cg->any_fs && fs.f_type != (hierarchy ? CGROUP_SUPER_MAGIC : CGROUP2_SUPER_MAGIC)) {
		/* another mount hides it */
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

/* 0, -ENOENT when no such hierarchy is mounted, -errno when it cannot be opened. */
static int find_mount(const struct cgroups *cg, struct mount_point *mp)
{
	char *line = NULL, *root, *path;
	int rc, hierarchy, err = -ENOENT;
	size_t size = 0;
	FILE *f;

	*mp = (struct mount_point){.fd = -1};
	f = fopen(cg->mountinfo, "re");
	if (!f)
		return -errno;
	while (getline(&line, &size, f) > 0) {
		hierarchy = parse_mount(line, &root, &path);
		if (hierarchy < 0)
			continue;
		rc = consider(cg, mp, hierarchy, root, path);
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
	known = aged_set(&w->cg->paths, id, path);
	if (w->each)
		w->each(w->ctx, id, path);
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
static int scan(struct cgroups *cg, void (*each)(void *ctx, uint64_t id, const char *path),
		void *ctx)
{
	struct walk w = {.cg = cg, .each = each, .ctx = ctx};
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
	return scan(&n->cgroups, NULL, NULL);
}

int names__cgroup_each(struct names *n, void (*each)(void *ctx, uint64_t id, const char *path),
		       void *ctx)
{
	return scan(&n->cgroups, each, ctx);
}

void names__know_cgroup(struct names *n, uint64_t id, const char *path, const char *container)
{
	aged_set(&n->cgroups.paths, id, path);
	if (container)
		aged_set(&n->cgroups.containers, id, container);
}

int names__cgroup_hierarchy(struct names *n)
{
	struct mount_point mp;
	int hierarchy = GROUPS_UNIFIED;

	if (!find_mount(&n->cgroups, &mp))
		hierarchy = mp.hierarchy;
	close_mount(&mp);
	return hierarchy;
}

void names__set_noted(struct names *n, int (*noted)(void *ctx, uint64_t id, char *path, size_t len),
		      void *ctx)
{
	n->cgroups.noted = noted;
	n->cgroups.ctx = ctx;
}

void names__use_docker(struct names *n, const char *path)
{
	n->cgroups.docker = path;
}

#define MANY 1024 /* names that are no burden */

/* Groups come and go for weeks: when most of the names are of some that are gone, they are dropped.
 */
void names__new_window(struct names *n)
{
	struct cgroups *cg = &n->cgroups;

	cg->scanned = false;
	cg->windows++;
	if (cg->windows == 2) /* a whole window has asked for what it needs */
		cg->in_use = cg->paths.now.used;
	if (cg->windows < 2 || cg->paths.now.used < 2 * cg->in_use + MANY)
		return;
	aged_turn(&cg->paths);
	aged_turn(&cg->containers);
	aged_turn(&cg->folds);
	cg->windows = 0;
}

/* What the kernel noted when the group was made: it may have gone before anybody could look. */
static const char *noted(struct cgroups *cg, uint64_t id)
{
	char path[ACCT_PATH_LEN];

	if (!cg->noted || cg->noted(cg->ctx, id, path, sizeof(path)))
		return NULL;
	path[sizeof(path) - 1] = '\0';
	return *path == '/' ? aged_set(&cg->paths, id, path) : NULL;
}

const char *names__cgroup(struct names *n, uint64_t id)
{
	struct cgroups *cg = &n->cgroups;
	const char *path;
	int rc;

	if (!id)
		return "(unknown)";
	path = aged_get(&cg->paths, id);
	if (!path)
		path = noted(cg, id);
	if (!path && !cg->scanned) {
		cg->scanned = true;
		rc = scan(cg, NULL, NULL);
		path = aged_get(&cg->paths, id);
		/* Seen before the scan, not found by it: it will never come back, so stop looking.
		 */
		if (!path && !rc && id != ROOT_ID)
			strmap__set_static(&cg->paths.now, id, GONE);
	}
	if (path)
		return path;
	return id == ROOT_ID ? "/" : GONE;
}

/* What stands for a path as an id does for a group: no id is that large. */
static uint64_t path_key(const char *path, size_t len)
{
	return hash__text(path, len) | 1ULL << 63;
}

const char *names__group_container(struct names *n, uint64_t id, const char *path)
{
	struct cgroups *cg = &n->cgroups;
	char name[256], full[65];
	const char *known;

	/* Groups that others are added up in, and those of a recording, have no id of their own. */
	id = id ? id : path_key(path, strlen(path));
	known = aged_get(&cg->containers, id);
	if (known)
		return *known ? known : NULL;
	if (!names__container(path, name, sizeof(name)))
		*name = '\0';
	if (container__full_id(path, full))
		docker__name(cg->docker, full, name, sizeof(name));
	known = aged_set(&cg->containers, id, name);
	return known && *known ? known : NULL;
}

const char *names__cgroup_fold(struct names *n, uint64_t id, unsigned int depth, uint64_t *key)
{
	const char *path = names__cgroup(n, id), *p = path, *known;

	*key = id;
	if (!depth || *path != '/')
		return path;
	for (; *p == '/' && depth; depth--)
		p += 1 + strcspn(p + 1, "/");
	*key = path_key(path, (size_t)(p - path));
	known = aged_get(&n->cgroups.folds, *key);
	if (!known)
		known = strmap__set(&n->cgroups.folds.now, *key, path, (size_t)(p - path));
	return known ? known : path;
}
