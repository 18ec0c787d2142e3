// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks the tracing data that perf writes in front of (streams) or behind (files) the records
 * (tools/perf/util/trace-event-info.c): a few header files, then the formats of ftrace's own
 * events, then those of each system. It owns that walk only; the texts are for libtraceevent.
 */
#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "perf_trace.h"

#define MAGIC	  "\027\010\104tracing"
#define MAGIC_LEN 10

struct walk {
	const uint8_t *start, *p, *end;
	bool swap;
};

/* n bytes, or NULL: they are not there. */
static const uint8_t *take(struct walk *w, uint64_t n)
{
	const uint8_t *p = w->p;

	if (n > (uint64_t)(w->end - p))
		return NULL;
	w->p += n;
	return p;
}

static const char *take_string(struct walk *w)
{
	const uint8_t *p = w->p, *nul = memchr(p, 0, w->end - p);

	if (!nul)
		return NULL;
	w->p = nul + 1;
	return (const char *)p;
}

static bool take_u32(struct walk *w, uint32_t *v)
{
	const uint8_t *p = take(w, 4);

	if (p)
		*v = bytes__u32(p, w->swap);
	return p;
}

/* A length of 64 bits and as many bytes. */
static const uint8_t *take_file(struct walk *w, uint64_t *len)
{
	const uint8_t *p = take(w, 8);

	if (!p)
		return NULL;
	*len = bytes__u64(p, w->swap);
	return take(w, *len);
}

/* "header_page" or "header_event", with its text. */
static bool skip_header(struct walk *w, const char *name)
{
	const char *s = take_string(w);
	uint64_t len;

	return s && !strcmp(s, name) && take_file(w, &len);
}

static int read_files(struct walk *w, const char *system, perf_format_fn *fn, void *ctx)
{
	uint32_t n;

	if (!take_u32(w, &n))
		return -EBADMSG;
	while (n--) {
		uint64_t len;
		const uint8_t *text = take_file(w, &len);

		if (!text)
			return -EBADMSG;
		if (fn(ctx, system, (const char *)text, len))
			return -ENOMEM;
	}
	return 0;
}

static int read_all(struct walk *w, perf_format_fn *fn, void *ctx)
{
	const uint8_t *p = take(w, MAGIC_LEN);
	uint32_t systems;
	int err;

	if (!p || memcmp(p, MAGIC, MAGIC_LEN) || !take_string(w))
		return -EBADMSG;
	p = take(w, 6); /* byte order, size of a long, size of a page */
	if (!p)
		return -EBADMSG;
	w->swap = (p[0] != 0) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	if (!skip_header(w, "header_page") || !skip_header(w, "header_event"))
		return -EBADMSG;
	err = read_files(w, "ftrace", fn, ctx);
	if (err)
		return err;
	if (!take_u32(w, &systems))
		return -EBADMSG;
	while (systems--) {
		const char *system = take_string(w);

		err = system ? read_files(w, system, fn, ctx) : -EBADMSG;
		if (err)
			return err;
	}
	return 0;
}

int perf_trace__read(const uint8_t *p, size_t len, perf_format_fn *fn, void *ctx, size_t *at)
{
	struct walk w = {p, p, p + len, false};
	int err = read_all(&w, fn, ctx);

	*at = w.p - w.start;
	return err;
}
