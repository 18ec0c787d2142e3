/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The directory of a resident instance: what is pinned there, and the lock that all who work on it
 * take. It knows names of files and kinds of objects, and nothing of accounting.
 */
#ifndef RESIDENT_DIR_H
#define RESIDENT_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BPFFS "/sys/fs/bpf"

/* Where a message goes: one line. */
struct why {
	char *buf;
	size_t len;
};

/* Writes into w and returns err. */
__attribute__((format(printf, 3, 4))) int why__put(const struct why *w, int err, const char *fmt,
						   ...);

struct rdir {
	char path[96]; /* of the instance */
	int fd;	       /* of the directory, with the lock; -1: not open */
};

/* Fills in the path, without looking whether anything is there. name: of the instance, or NULL. */
void rdir__init(struct rdir *d, const char *name);

/*
 * Opens the directory and takes its lock, for which it waits at most wait_ns. create: makes it
 * first where it is missing. -ENOENT: nothing is there; -EBUSY: somebody else has the lock.
 */
int rdir__lock(struct rdir *d, bool create, uint64_t wait_ns, const struct why *why);
void rdir__unlock(struct rdir *d);

/*
 * Pins the object of fd as KIND-NAME, "m-tasks". Kinds: m maps, p programs, l links, r programs
 * that readers run, once more. What follows a point in a name is the name.
 */
int rdir__pin(const struct rdir *d, char kind, const char *name, int fd);
/* A descriptor of a pinned object, or -errno. */
int rdir__get(const struct rdir *d, char kind, const char *name);
/* Descriptors of all objects of a kind, to be closed; *n of them. NULL: no memory, or not there. */
int *rdir__all(const struct rdir *d, char kind, size_t *n);

/*
 * Keeps bytes in a map of their own, pinned as m-NAME in the place of the last one. When it fails,
 * or whoever runs it dies, there is that one, or none. 0 or -errno.
 */
int rdir__store(const struct rdir *d, const char *name, const void *bytes, size_t len);
/* Gives them back, to be free()d. 0; -EPROTO: it holds something else; or another -errno. */
int rdir__load(const struct rdir *d, const char *name, char **bytes, size_t *len);
void rdir__drop(const struct rdir *d, const char *name);

/* Unpins everything of ours. 0, or -errno of what could not be. */
int rdir__clear(const struct rdir *d);
/* That, and removes the directory. -ENOTEMPTY: it holds what is not ours. */
int rdir__remove(const struct rdir *d);

#endif /* RESIDENT_DIR_H */
