// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads recordings: the header, the attributes and features, and the loop from bytes to records.
 *
 * It owns the order in which a recording's parts are read, in a file and in a stream, and what is
 * said when they are damaged: the first fault is kept with its place; what is sound goes on. No
 * length in the input is believed before as many bytes have been seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "hash.h"
#include "perf_data.h"
#include "perf_file.h"
#include "perf_input.h"
#include "perf_layout.h"
#include "perf_order.h"
#include "perf_trace.h"

#define MAGIC	      0x32454c4946524550ULL /* "PERFILE2", as a little-endian number */
#define MAGIC_V1      0x454c494646524550ULL /* "PERFFILE", before 2.6.33 */
#define FILE_HEADER   104
#define STREAM_HEADER 16
#define HEADER	      8
#define FEATURE_BITS  256
#define MAX_FEATURE   (64U << 20)
#define MAX_INFLATED  (64U << 20) /* by one record, when the recording does not say */
#define HOUR_NS	      3600000000000ULL
#define DAY_NS	      (24 * HOUR_NS)

enum store {
	STORE_INPUT,
	STORE_INFLATED,
};

/* One record as it lies in memory. */
struct piece {
	const uint8_t *p;
	uint32_t size;
	enum store store;
	uint64_t off; /* in its store */
};

struct perf_data {
	struct input in;
	struct inflate z;
	struct order order;
	struct perf_info info;
	perf_format_fn *format;
	void *ctx;
	bool swap, stream, headed;
	bool reading; /* false: merging */
	bool ended;
	uint64_t data_start, file_size;
	uint64_t skip; /* bytes of the input to go over first */
	uint64_t inflated_most;

	struct perf_layout *layouts;
	size_t nr_layouts;
	struct hash ids; /* event id to index in layouts */
	uint64_t nr_ids;
	bool uniform; /* all layouts are the same */

	uint64_t discarded[ORDER_STORES];
	char fault[256];
};

/* Keeps the first thing that is wrong: what comes after may be its consequence. */
__attribute__((format(printf, 3, 4))) static void fault(struct perf_data *pd, uint64_t off,
							const char *fmt, ...)
{
	va_list ap;
	int n;

	if (pd->fault[0])
		return;
	va_start(ap, fmt);
	n = vsnprintf(pd->fault, sizeof(pd->fault), fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(pd->fault))
		snprintf(pd->fault + n, sizeof(pd->fault) - n, " at offset %llu",
			 (unsigned long long)off);
}

const char *perf_data__fault(const struct perf_data *pd)
{
	return pd->fault[0] ? pd->fault : NULL;
}

const struct perf_info *perf_data__info(const struct perf_data *pd)
{
	return &pd->info;
}

double perf_data__progress(const struct perf_data *pd)
{
	if (!pd->in.seekable || pd->in.end <= pd->data_start)
		return -1;
	return (double)(pd->in.pos - pd->data_start) / (double)(pd->in.end - pd->data_start);
}

/* ---- attributes ---- */

static int add_layout(struct perf_data *pd, const void *attr, size_t size)
{
	struct perf_layout *l;
	int err;

	/* Grows by doubling: whenever the number is a power of two. */
	if (!(pd->nr_layouts & (pd->nr_layouts - 1))) {
		size_t cap = pd->nr_layouts ? pd->nr_layouts * 2 : 1;

		l = realloc(pd->layouts, cap * sizeof(*l));
		if (!l)
			return -ENOMEM;
		pd->layouts = l;
	}
	l = &pd->layouts[pd->nr_layouts];
	err = perf_layout__read(l, attr, size, pd->info.big_endian);
	if (err)
		return err;
	pd->uniform = !pd->nr_layouts || (pd->uniform && perf_layout__same(l, pd->layouts));
	pd->info.has_switches |= l->context_switch;
	if (l->clockid == 0 && !pd->info.wall_ns) /* CLOCK_REALTIME: it is the wall's */
		pd->info.wall_ns = pd->info.clock_ns = 1;
	pd->nr_layouts++;
	return 0;
}

/* The ids of the last layout: n of them at p. */
static int add_ids(struct perf_data *pd, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++, p += 8)
		if (hash__get(&pd->ids, bytes__u64(p, pd->swap), 0, (uint32_t)pd->nr_layouts - 1) ==
		    HASH_NONE)
			return -ENOMEM;
	pd->nr_ids += n;
	return 0;
}

/* NULL: of an event that the header does not have. */
static const struct perf_layout *layout_of(const struct perf_data *pd, const uint8_t *p,
					   uint32_t size)
{
	const struct hash *h = &pd->ids;
	uint64_t id;
	size_t i;

	if (!pd->nr_layouts)
		return NULL;
	if (pd->uniform)
		return pd->layouts;
	id = perf_layout__id(pd->layouts, p, size, pd->swap);
	if (!id || !h->size)
		return pd->layouts;
	i = hash__at(h, id, 0);
	return h->v[i].value == HASH_NONE ? NULL : &pd->layouts[h->v[i].value];
}

/* ---- features ---- */

/* A length, then as many bytes, of which the last are NUL. */
static void read_text(struct perf_data *pd, const uint8_t *p, uint64_t len, char *to, size_t size)
{
	uint32_t n;

	if (len < 4)
		return;
	n = bytes__u32(p, pd->swap);
	if (n > len - 4)
		n = len - 4;
	n = strnlen((const char *)p + 4, n < size ? n : size - 1);
	memcpy(to, p + 4, n);
	to[n] = 0;
}

static int read_feature(struct perf_data *pd, uint64_t feature, const uint8_t *p, uint64_t len,
			uint64_t off)
{
	struct perf_info *info = &pd->info;
	size_t at;
	int err;

	if (feature == FEAT_TRACING_DATA) {
		err = perf_trace__read(p, len, pd->format, pd->ctx, &at);
		if (err == -EBADMSG)
			fault(pd, off + at, "the event formats break off");
		return err == -ENOMEM ? err : 0;
	}
	if (feature == FEAT_HOSTNAME)
		read_text(pd, p, len, info->host, sizeof(info->host));
	if (feature == FEAT_OSRELEASE)
		read_text(pd, p, len, info->release, sizeof(info->release));
	if (feature == FEAT_ARCH)
		read_text(pd, p, len, info->arch, sizeof(info->arch));
	if (feature == FEAT_NRCPUS && len >= 8) {
		info->cpus_possible = bytes__u32(p, pd->swap);
		info->cpus_online = bytes__u32(p + 4, pd->swap);
	}
	if (feature == FEAT_SAMPLE_TIME && len >= 16) {
		info->first = bytes__u64(p, pd->swap);
		info->last = bytes__u64(p + 8, pd->swap);
	}
	if (feature == FEAT_COMPRESSED && len >= 20)
		pd->inflated_most = bytes__u32(p + 16, pd->swap);
	if (feature == FEAT_CLOCK_DATA && len >= 24) {
		info->wall_ns = bytes__u64(p + 8, pd->swap);
		info->clock_ns = bytes__u64(p + 16, pd->swap);
	}
	return 0;
}

/* ---- a file's header ---- */

/* len bytes at off, to be freed; NULL: they are not there, or no memory (errno). */
static uint8_t *read_part(struct perf_data *pd, uint64_t off, uint64_t len)
{
	uint8_t *p;
	uint64_t n = 0;

	errno = EBADMSG;
	if (off > pd->file_size || len > pd->file_size - off || len > MAX_FEATURE)
		return NULL;
	p = malloc(len ? len : 1);
	while (p && n < len) {
		ssize_t got = pread(pd->in.fd, p + n, len - n, (off_t)(off + n));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			free(p);
			errno = EBADMSG;
			return NULL;
		}
		n += got;
	}
	return p;
}

static int read_attr(struct perf_data *pd, const uint8_t *p, uint64_t size, uint64_t at)
{
	uint64_t off = bytes__u64(p + size - 16, pd->swap),
		 len = bytes__u64(p + size - 8, pd->swap);
	uint8_t *ids;
	int err = add_layout(pd, p, size - 16);

	if (err) {
		if (err == -EINVAL)
			fault(pd, at, "an attribute of %llu bytes", (unsigned long long)size - 16);
		return err;
	}
	/* Each id has its place in the file: those of all attributes are fewer than its bytes. */
	if (len / 8 > pd->file_size / 8 - pd->nr_ids) {
		fault(pd, at, "an attribute with %llu event ids", (unsigned long long)len / 8);
		return -EBADMSG;
	}
	ids = read_part(pd, off, len);
	if (!ids) {
		fault(pd, at, "an attribute whose event ids are not in the file");
		return -errno;
	}
	err = add_ids(pd, ids, len / 8);
	free(ids);
	return err;
}

static int read_attrs(struct perf_data *pd, const uint8_t *h)
{
	uint64_t each = bytes__u64(h + 16, pd->swap), off = bytes__u64(h + 24, pd->swap);
	uint64_t len = bytes__u64(h + 32, pd->swap);
	uint8_t *attrs;
	int err = 0;

	if (each < PERF_ATTR_SIZE_VER0 + 16 || each > 65536 || len < each) {
		fault(pd, 16, "attributes of %llu bytes", (unsigned long long)each);
		return -EBADMSG;
	}
	attrs = read_part(pd, off, len);
	if (!attrs) {
		fault(pd, off, "the attributes are not in the file");
		return -errno;
	}
	for (uint64_t at = 0; !err && at + each <= len; at += each)
		err = read_attr(pd, attrs + at, each, off + at);
	free(attrs);
	return err;
}

/*
 * Which features there are: an array of unsigned long, of the recorder's size. A big-endian 32-bit
 * recorder's halves look exchanged; HOSTNAME, which is always there, shows it.
 */
static void feature_bits(const struct perf_data *pd, const uint8_t *h, bool bits[FEATURE_BITS])
{
	uint64_t v[4];
	bool halves;

	for (int i = 0; i < 4; i++)
		v[i] = bytes__u64(h + 72 + 8 * i, pd->swap);
	halves = !(v[0] & (1U << FEAT_HOSTNAME)) && (v[0] >> 32 & (1U << FEAT_HOSTNAME));
	for (int i = 0; i < FEATURE_BITS; i++) {
		uint64_t word = v[i / 64];

		if (halves)
			word = word << 32 | word >> 32;
		bits[i] = word >> (i % 64) & 1;
	}
}

/* Behind the records: a table of places, in the order of the bits, then what it points to. */
static int read_features(struct perf_data *pd, const uint8_t *h, uint64_t table)
{
	bool bits[FEATURE_BITS];
	int err = 0;

	feature_bits(pd, h, bits);
	for (int i = 0; i < FEATURE_BITS && !err; i++) {
		uint8_t *at, *p;
		uint64_t off, len;

		if (!bits[i])
			continue;
		at = read_part(pd, table, 16);
		if (!at) {
			fault(pd, pd->file_size,
			      "the file breaks off: its last part, with the event formats, is "
			      "missing");
			return -errno;
		}
		table += 16;
		off = bytes__u64(at, pd->swap);
		len = bytes__u64(at + 8, pd->swap);
		free(at);
		if (i > FEAT_CLOCK_DATA)
			continue;
		p = read_part(pd, off, len);
		if (!p) {
			fault(pd, table - 16, "feature %d is not in the file", i);
			continue;
		}
		err = read_feature(pd, i, p, len, off);
		free(p);
	}
	return err;
}

static int read_file_header(struct perf_data *pd, const uint8_t *h)
{
	uint64_t off = bytes__u64(h + 40, pd->swap), len = bytes__u64(h + 48, pd->swap);
	int err = read_attrs(pd, h);

	if (err)
		return err;
	if (!len && off < pd->file_size) { /* written at the end only: it never came to that */
		len = pd->file_size - off;
		fault(pd, 48, "the recorder was killed: no length and no event formats");
	}
	if (off > pd->file_size || len > pd->file_size - off) {
		fault(pd, pd->file_size, "the file breaks off");
		off = off > pd->file_size ? pd->file_size : off;
		len = pd->file_size - off;
	}
	pd->data_start = pd->in.pos = off;
	pd->in.end = off + len;
	err = read_features(pd, h, off + len);
	return err == -ENOMEM ? err : 0;
}

/* The magic number tells the byte order, its size field which of the two kinds it is. */
static int check_magic(struct perf_data *pd, const uint8_t *h)
{
	uint64_t magic = bytes__u64(h, false);

	if (magic == MAGIC_V1 || magic == __builtin_bswap64(MAGIC_V1)) {
		fault(pd, 0, "a perf.data file of 2009's format");
		return -EBADMSG;
	}
	if (magic != MAGIC && magic != __builtin_bswap64(MAGIC)) {
		fault(pd, 0, "not a perf.data file: another magic number");
		return -EBADMSG;
	}
	pd->swap = magic != MAGIC;
	pd->order.swap = pd->swap;
	pd->info.big_endian = pd->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	pd->stream = bytes__u64(h + 8, pd->swap) == STREAM_HEADER;
	return 0;
}

static int read_header(struct perf_data *pd)
{
	const uint8_t *h;
	int err = input__need(&pd->in, STREAM_HEADER, &h);

	if (err)
		return err;
	if (!h) {
		fault(pd, 0, "not a perf.data file: %s",
		      input__left(&pd->in) ? "it is too short" : "it is empty");
		return -EBADMSG;
	}
	err = check_magic(pd, h);
	if (err)
		return err;
	pd->headed = true;
	if (pd->stream) {
		input__take(&pd->in, STREAM_HEADER);
		pd->data_start = STREAM_HEADER;
		return 0;
	}
	if (!pd->in.seekable) {
		fault(pd, 0, "a file's header in a stream: give its name, or make it by -o -");
		return -EBADMSG;
	}
	err = input__need(&pd->in, FILE_HEADER, &h);
	if (!err && !h) {
		fault(pd, 0, "not a perf.data file: it is too short");
		err = -EBADMSG;
	}
	if (!err) {
		uint8_t copy[FILE_HEADER];

		memcpy(copy, h, sizeof(copy));
		pd->in.at = pd->in.len = 0;
		err = read_file_header(pd, copy);
	}
	return err;
}

/* ---- opening ---- */

static bool time_of(void *ctx, const uint8_t *p, uint32_t size, uint64_t *time)
{
	const struct perf_data *pd = ctx;
	const struct perf_layout *l;

	if (!perf_layout__wanted(bytes__u32(p, pd->swap)))
		return false;
	l = layout_of(pd, p, size);
	if (!l)
		return false;
	*time = perf_layout__time(l, p, size, pd->swap);
	return true;
}

static int open_input(struct perf_data *pd, const char *path)
{
	struct stat st;
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	pd->in.fd = fd;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	pd->in.end = UINT64_MAX;
	pd->in.seekable = S_ISREG(st.st_mode);
	if (pd->in.seekable) {
		pd->in.end = pd->file_size = st.st_size;
		pd->order.fd[STORE_INPUT] = fd;
		return 0;
	}
	pd->in.spool = input__tempfile();
	pd->order.fd[STORE_INPUT] = pd->in.spool;
	return pd->in.spool < 0 ? pd->in.spool : 0;
}

int perf_data__open(struct perf_data **out, const char *path, perf_format_fn *format, void *ctx,
		    char *why, size_t len)
{
	struct perf_data *pd = calloc(1, sizeof(*pd));
	int err;

	*out = NULL;
	if (!pd) {
		snprintf(why, len, "out of memory");
		return -ENOMEM;
	}
	pd->in.fd = pd->in.spool = pd->z.spool = -1;
	pd->inflated_most = MAX_INFLATED;
	pd->format = format;
	pd->ctx = ctx;
	pd->order.time_of = time_of;
	pd->order.ctx = pd;
	pd->reading = true;
	err = open_input(pd, path);
	if (!err && pd->in.seekable)
		err = read_header(pd);
	if (err) {
		snprintf(why, len, "%s", pd->fault[0] ? pd->fault : strerror(-err));
		perf_data__close(pd);
		return err;
	}
	*out = pd;
	return 0;
}

void perf_data__close(struct perf_data *pd)
{
	if (!pd)
		return;
	order__free(&pd->order);
	inflate__free(&pd->z);
	input__free(&pd->in);
	hash__free(&pd->ids);
	free(pd->layouts);
	free(pd);
}

/* ---- records ---- */

static void discard(struct perf_data *pd)
{
	if (pd->in.spool >= 0)
		input__discard(pd->in.spool, &pd->discarded[0],
			       order__keep(&pd->order, STORE_INPUT) < pd->in.spooled
				       ? order__keep(&pd->order, STORE_INPUT)
				       : pd->in.spooled);
	if (pd->z.spool >= 0)
		input__discard(pd->z.spool, &pd->discarded[1],
			       order__keep(&pd->order, STORE_INFLATED) < pd->z.pos
				       ? order__keep(&pd->order, STORE_INFLATED)
				       : pd->z.pos);
}

/* What was indexed may be merged now, as far as order.limit allows. */
static int start_merge(struct perf_data *pd)
{
	int err = input__sync(&pd->in);

	pd->order.fd[STORE_INFLATED] = pd->z.spool;
	pd->reading = false;
	if (err)
		fault(pd, pd->in.pos, "cannot keep the stream: %s", strerror(-err));
	return err;
}

static int on_attr(struct perf_data *pd, const struct piece *r)
{
	uint32_t size = r->size >= HEADER + 8 ? bytes__u32(r->p + HEADER + 4, pd->swap) : 0;
	int err = -EINVAL;

	if (!size) /* a recorder that did not know of the field */
		size = PERF_ATTR_SIZE_VER0;
	if (size <= r->size - HEADER)
		err = add_layout(pd, r->p + HEADER, size);
	if (err == -EINVAL)
		fault(pd, r->off, "an attribute of %u bytes", size);
	if (err)
		return err == -EINVAL ? 0 : err;
	return add_ids(pd, r->p + HEADER + size, (r->size - HEADER - size) / 8);
}

/* A record of the input itself that needs more than to be passed. 0 or -errno. */
static int on_own(struct perf_data *pd, uint32_t type, const struct piece *r)
{
	uint64_t n;

	switch (type) {
	case REC_HEADER_ATTR:
		return pd->stream ? on_attr(pd, r) : 0;
	case REC_HEADER_FEATURE:
		if (r->size < HEADER + 8)
			return 0;
		return read_feature(pd, bytes__u64(r->p + HEADER, pd->swap), r->p + HEADER + 8,
				    r->size - HEADER - 8, r->off + HEADER + 8);
	case REC_FINISHED_ROUND:
		order__round(&pd->order);
		return start_merge(pd);
	case REC_THREAD_MAP:
		if (r->size >= HEADER + 16 && bytes__u64(r->p + HEADER, pd->swap))
			pd->info.per_task = bytes__u64(r->p + HEADER + 8, pd->swap) != UINT64_MAX;
		return 0;
	case REC_COMPRESSED:
		return inflate__feed(&pd->z, r->p + HEADER, r->size - HEADER, pd->inflated_most);
	case REC_COMPRESSED2: /* 6.16: with its length, and padded */
		n = r->size >= HEADER + 8 ? bytes__u64(r->p + HEADER, pd->swap) : UINT64_MAX;
		if (n > r->size - HEADER - 8U) {
			fault(pd, r->off, "a compressed record longer than itself");
			return 0;
		}
		return inflate__feed(&pd->z, r->p + HEADER + 8, n, pd->inflated_most);
	}
	return 0;
}

/* The formats in a stream follow their record, which says how long they are. 1 or as fetch(). */
static int fetch_formats(struct perf_data *pd, struct piece *r)
{
	uint64_t n = r->size >= HEADER + 4 ? bytes__u32(r->p + HEADER, pd->swap) : UINT64_MAX;
	const uint8_t *p = NULL;
	int err;

	if (n > MAX_FEATURE) {
		fault(pd, r->off, "event formats of impossible length");
		return 0;
	}
	err = input__need(&pd->in, r->size + n, &p);
	if (err)
		return err;
	if (!p) {
		fault(pd, r->off, "the event formats break off");
		return 0;
	}
	r->p = p;
	err = read_feature(pd, FEAT_TRACING_DATA, p + r->size, n, r->off + r->size);
	input__take(&pd->in, r->size + n);
	return err ? err : 1;
}

/* The next record of the input: 1; 0: it has ended, or cannot be followed; -EAGAIN; -errno. */
static int fetch_input(struct perf_data *pd, struct piece *r)
{
	int err = input__skip(&pd->in, &pd->skip);

	if (!err)
		err = input__need(&pd->in, HEADER, &r->p);
	if (err == -EPIPE)
		fault(pd, pd->in.pos, "the input breaks off");
	if (err)
		return err == -EPIPE ? 0 : err;
	r->off = pd->in.pos;
	r->store = STORE_INPUT;
	if (!r->p) {
		if (input__left(&pd->in))
			fault(pd, r->off, "the input breaks off");
		return 0;
	}
	r->size = bytes__u16(r->p + 6, pd->swap);
	if (r->size < HEADER) {
		fault(pd, r->off, "a record of %u bytes: what follows cannot be read", r->size);
		return 0;
	}
	err = input__need(&pd->in, r->size, &r->p);
	if (err)
		return err;
	if (!r->p) {
		fault(pd, r->off, "the input breaks off in a record");
		return 0;
	}
	if (bytes__u32(r->p, pd->swap) == REC_TRACING_DATA)
		return fetch_formats(pd, r);
	if (bytes__u32(r->p, pd->swap) == REC_AUXTRACE && r->size >= HEADER + 8)
		pd->skip = bytes__u64(r->p + HEADER, pd->swap);
	input__take(&pd->in, r->size);
	return 1;
}

/* The next record of those that were compressed: 1; 0: read on in the input; -errno. */
static int fetch_inflated(struct perf_data *pd, struct piece *r)
{
	int err = inflate__need(&pd->z, HEADER, &r->p);

	if (err || !r->p)
		return err;
	r->size = bytes__u16(r->p + 6, pd->swap);
	if (r->size < HEADER)
		return -EBADMSG;
	err = inflate__need(&pd->z, r->size, &r->p);
	if (err || !r->p) /* the rest is in the next one */
		return err;
	r->off = pd->z.pos;
	r->store = STORE_INFLATED;
	inflate__take(&pd->z, r->size);
	return 1;
}

static int fetch(struct perf_data *pd, struct piece *r)
{
	int got = pd->z.stream ? fetch_inflated(pd, r) : 0;

	if (got == -EBADMSG) {
		fault(pd, pd->in.pos, "damaged compressed data before what is");
		return 0;
	}
	if (!got)
		got = fetch_input(pd, r);
	return got;
}

/*
 * Damage makes times that are far away. What the header says of the first and last sample is only
 * nearly so (perf notes them in the order of the file).
 */
static bool plausible(const struct perf_data *pd, uint64_t time)
{
	const struct perf_info *i = &pd->info;

	if (time >> 62) /* a hundred years: no clock has that */
		return false;
	if (i->first && i->last >= i->first && i->last < UINT64_MAX - HOUR_NS)
		return time + HOUR_NS >= i->first && time <= i->last + HOUR_NS;
	return !pd->order.max || time < pd->order.max + DAY_NS;
}

/* Notes where the record belongs. 1: it has no time, and is *rec; 0; -errno. */
static int index_record(struct perf_data *pd, const struct piece *r, struct data_rec *rec)
{
	const struct perf_layout *l = layout_of(pd, r->p, r->size);
	uint32_t type = bytes__u32(r->p, pd->swap);
	uint64_t time;

	/* What is not noted makes a gap, and the merge never sees it again. */
	if (!l) {
		fault(pd, r->off, "a record of an event that the header does not have");
		return 0;
	}
	if (type == PERF_RECORD_SAMPLE && l->tracepoint && !l->time) {
		fault(pd, r->off, "a sample without a time (perf record -T gives them one)");
		return 0;
	}
	time = perf_layout__time(l, r->p, r->size, pd->swap);
	if (!time &&
	    (type == PERF_RECORD_COMM || type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT)) {
		int got = perf_layout__parse(l, r->p, r->size, pd->swap, rec);

		if (got < 0)
			fault(pd, r->off, "a record too short for what it is");
		return got > 0;
	}
	if (time && !plausible(pd, time)) {
		fault(pd, r->off, "a record of another time, %llu ns", (unsigned long long)time);
		return 0;
	}
	return order__add(&pd->order, r->store, r->off, r->size, time);
}

/* Takes in one record. 1: *rec is one that has no time; 0; -errno. */
static int read_one(struct perf_data *pd, struct data_rec *rec)
{
	struct piece r;
	uint32_t type;
	int err = pd->headed ? 0 : read_header(pd), got;

	if (err)
		return err;
	got = fetch(pd, &r);
	if (got < 0)
		return got;
	if (!got) {
		pd->ended = true;
		order__end(&pd->order);
		return start_merge(pd);
	}
	type = bytes__u32(r.p, pd->swap);
	if (perf_layout__wanted(type)) {
		got = index_record(pd, &r, rec);
	} else {
		order__pass(&pd->order, r.store, r.off, r.size);
		got = r.store == STORE_INPUT ? on_own(pd, type, &r) : 0;
	}
	if (!got && order__crowded(&pd->order))
		got = start_merge(pd);
	return got;
}

/* The next one in order. 1; 0: none that may be told yet; -errno. */
static int merge_one(struct perf_data *pd, struct data_rec *rec)
{
	const uint8_t *p;
	uint32_t size;
	uint64_t time;
	int got;

	while ((got = order__next(&pd->order, &p, &size, &time)) > 0) {
		const struct perf_layout *l = layout_of(pd, p, size);

		got = l ? perf_layout__parse(l, p, size, pd->swap, rec) : 0;
		rec->time = time;
		if (got > 0)
			return 1;
		if (got < 0)
			fault(pd, order__where(&pd->order), "a record too short for what it is");
	}
	if (got < 0)
		fault(pd, order__where(&pd->order), "cannot read again what was there before");
	return got;
}

int perf_data__next(struct perf_data *pd, struct data_rec *rec)
{
	for (;;) {
		int got;

		if (!pd->reading) {
			got = merge_one(pd, rec);
			if (got)
				return got;
			if (pd->ended)
				return 0;
			discard(pd);
			pd->reading = true;
		}
		got = read_one(pd, rec);
		if (got)
			return got;
	}
}
