// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a recording's bytes and keeps those that cannot be read again.
 *
 * It owns the buffers and temporary files. It knows nothing of records.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "perf_input.h"

#define CHUNK	  (256U << 10)
#define RECORD	  65536U
#define WAIT_MS	  25
#define DISCARD	  (1U << 20) /* not worth a system call for less */
#define ALIGN(v)  ((v) & ~4095ULL)
#define MAX_PIECE (256U << 20) /* no part of a recording that is needed in one piece is as long */

int input__tempfile(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("utilbpf", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int write_all(int fd, const uint8_t *p, size_t n, uint64_t at)
{
	while (n) {
		ssize_t done = pwrite(fd, p, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -ENOSPC;
		p += done;
		n -= done;
		at += done;
	}
	return 0;
}

void input__discard(int fd, uint64_t *done, uint64_t keep)
{
	keep = ALIGN(keep);
	if (keep < *done + DISCARD)
		return;
	/* A file system that cannot keeps it a little longer: no harm. */
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)*done,
		  (off_t)(keep - *done));
	*done = keep;
}

/* ---- a file or a stream ---- */

void input__free(struct input *in)
{
	free(in->buf);
	if (in->spool >= 0)
		close(in->spool);
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	in->buf = NULL;
	in->fd = in->spool = -1;
}

size_t input__left(const struct input *in)
{
	return in->len - in->at;
}

int input__sync(struct input *in)
{
	size_t n = in->pos - in->spooled;
	int err = 0;

	if (in->spool >= 0 && n) {
		err = write_all(in->spool, in->buf + in->at - n, n, in->spooled);
		in->spooled = in->pos;
	}
	return err;
}

/* Makes room for n bytes from `at` on: what was taken goes, and the buffer grows if need be. */
static int make_room(struct input *in, size_t n)
{
	size_t cap = in->cap ? in->cap : CHUNK;
	int err = input__sync(in);
	uint8_t *buf;

	if (err)
		return err;
	if (in->at) {
		memmove(in->buf, in->buf + in->at, in->len - in->at);
		in->len -= in->at;
		in->at = 0;
	}
	/* It grows as bytes really come, whatever a damaged length says. */
	if (in->cap && (in->len < in->cap || n <= in->cap))
		return 0;
	if (in->cap)
		cap = in->cap * 2;
	buf = realloc(in->buf, cap);
	if (!buf)
		return -ENOMEM;
	in->buf = buf;
	in->cap = cap;
	return 0;
}

/* Reads once. The number of bytes, 0: the end, -EAGAIN, -errno. */
static ssize_t read_some(struct input *in)
{
	uint64_t from = in->pos + (in->len - in->at), most = in->cap - in->len;
	ssize_t n;

	if (most > in->end - from)
		most = in->end - from;
	if (!most)
		return 0;
	if (!in->seekable) {
		struct pollfd p = {.fd = in->fd, .events = POLLIN};

		if (poll(&p, 1, WAIT_MS) <= 0)
			return -EAGAIN;
	}
	do {
		n = in->seekable ? pread(in->fd, in->buf + in->len, most, (off_t)from)
				 : read(in->fd, in->buf + in->len, most);
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		in->len += n;
	return n < 0 ? -errno : n;
}

int input__need(struct input *in, size_t n, const uint8_t **p)
{
	*p = NULL;
	if (n > MAX_PIECE)
		return 0;
	while (in->len - in->at < n) {
		ssize_t got;
		int err = in->cap - in->at < n || in->len == in->cap ? make_room(in, n) : 0;

		if (err)
			return err;
		got = read_some(in);
		if (got <= 0)
			return got;
	}
	*p = in->buf + in->at;
	return 0;
}

void input__take(struct input *in, size_t n)
{
	in->at += n;
	in->pos += n;
}

int input__skip(struct input *in, uint64_t *n)
{
	const uint8_t *p;

	while (*n) {
		size_t part = *n < CHUNK / 2 ? *n : CHUNK / 2;
		int err;

		if (in->seekable && *n > input__left(in)) {
			if (in->end - in->pos < *n)
				return -EPIPE;
			in->pos += *n;
			in->at = in->len = 0;
			*n = 0;
			break;
		}
		err = input__need(in, part, &p);
		if (err || !p)
			return err ? err : -EPIPE;
		input__take(in, part);
		*n -= part;
	}
	return 0;
}

/* ---- zstd ---- */

#define OUT_CAP (RECORD + CHUNK)

void inflate__free(struct inflate *z)
{
	ZSTD_freeDStream(z->stream);
	free(z->buf);
	if (z->spool >= 0)
		close(z->spool);
	z->stream = NULL;
	z->buf = NULL;
	z->spool = -1;
}

static int inflate_open(struct inflate *z)
{
	z->stream = ZSTD_createDStream();
	z->buf = malloc(OUT_CAP);
	if (!z->stream || !z->buf)
		return -ENOMEM;
	z->spool = input__tempfile();
	return z->spool < 0 ? z->spool : 0;
}

int inflate__feed(struct inflate *z, const uint8_t *src, size_t len, uint64_t most)
{
	int err = z->stream ? 0 : inflate_open(z);

	z->src = src;
	z->src_len = err ? 0 : len;
	z->src_at = 0;
	z->made = 0;
	z->most = most;
	return err;
}

/* More output behind what there is; it goes to the spool at once. 0: no more input. */
static int inflate_some(struct inflate *z)
{
	ZSTD_inBuffer in = {z->src, z->src_len, z->src_at};
	ZSTD_outBuffer out;
	size_t n;
	int err;

	if (z->src_at == z->src_len && !z->more)
		return 0;
	memmove(z->buf, z->buf + z->at, z->len - z->at);
	z->len -= z->at;
	z->at = 0;
	out = (ZSTD_outBuffer){z->buf, OUT_CAP, z->len};
	n = ZSTD_decompressStream(z->stream, &out, &in);
	if (ZSTD_isError(n))
		return -EBADMSG;
	n = out.pos - z->len;
	if (!n && in.pos == z->src_at) { /* a frame that asks for more than there is */
		z->more = false;
		return 0;
	}
	z->src_at = in.pos;
	z->more = out.pos == out.size;
	z->made += n;
	if (z->made > z->most)
		return -EBADMSG;
	err = write_all(z->spool, z->buf + z->len, n, z->pos + z->len);
	z->len = out.pos;
	return err ? err : 1;
}

int inflate__need(struct inflate *z, size_t n, const uint8_t **p)
{
	*p = NULL;
	while (z->len - z->at < n) {
		int err = inflate_some(z);

		if (err <= 0)
			return err;
	}
	*p = z->buf + z->at;
	return 0;
}

void inflate__take(struct inflate *z, size_t n)
{
	z->at += n;
	z->pos += n;
}
