/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bytes of a recording, in order: from a file, from a stream, or out of zstd. What cannot be
 * read a second time is kept in an unlinked temporary file, where it is as long as it is needed.
 */
#ifndef PERF_INPUT_H
#define PERF_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that nobody else sees, in $TMPDIR or /tmp, else in memory. -errno. */
int input__tempfile(void);

struct input {
	int fd;
	bool seekable;
	uint64_t pos; /* of the next byte to be taken */
	uint64_t end; /* nothing is read from here on; UINT64_MAX: until the end */
	int spool;    /* a stream's bytes, at the same places; -1 */
	/* the rest is its own */
	uint8_t *buf;
	size_t at, len, cap;
	uint64_t spooled;
};

void input__free(struct input *in);

/*
 * The next n bytes in one piece, valid until the next call; *p NULL: there are fewer. 0, -EAGAIN: a
 * stream has none now, -errno.
 */
int input__need(struct input *in, size_t n, const uint8_t **p);
/* Goes over n bytes that input__need() has shown. */
void input__take(struct input *in, size_t n);
/* Goes over n bytes. 0, or as input__need(): again then; -EPIPE: there are fewer. */
int input__skip(struct input *in, uint64_t *n);
/* From now on what was taken can be read from the spool. 0 or -errno. */
int input__sync(struct input *in);
/* Bytes that are left in the buffer. */
size_t input__left(const struct input *in);
/* Gives the room before `keep` of a temporary file back; *done: up to where that is done. */
void input__discard(int fd, uint64_t *done, uint64_t keep);

/* What the COMPRESSED records of a recording hold, one after the other. */
struct inflate {
	int spool;
	uint64_t pos; /* of the next byte to be taken, in the spool */
	/* the rest is its own */
	void *stream; /* ZSTD_DStream */
	const uint8_t *src;
	size_t src_at, src_len;
	uint64_t made, most; /* by one record */
	bool more;	     /* zstd holds back output that found no room */
	uint8_t *buf;
	size_t at, len;
};

void inflate__free(struct inflate *z);
/*
 * The next compressed bytes, which stay in place until they are used up; at most `most` bytes may
 * come of them. 0 or -errno.
 */
int inflate__feed(struct inflate *z, const uint8_t *src, size_t len, uint64_t most);
/* As input__need(), with n at most 64 KiB; *p NULL: feed it. -EBADMSG: that was no zstd. */
int inflate__need(struct inflate *z, size_t n, const uint8_t **p);
void inflate__take(struct inflate *z, size_t n);

#endif /* PERF_INPUT_H */
