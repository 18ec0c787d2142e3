// SPDX-License-Identifier: GPL-2.0-only
/*
 * The perf.data format, the writing half: the data first, since it comes first, then all that
 * describes it, and last the header, whose place was kept free.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "clock.h"
#include "perf_file.h"
#include "perf_write.h"

#define MAGIC		"PERFILE2"
#define BUFFER		(1U << 20)
#define STRING_ALIGN	64
#define TRACING_VERSION "0.6"

#define FEATURES                                                                                   \
	(1ULL << FEAT_TRACING_DATA | 1ULL << FEAT_HOSTNAME | 1ULL << FEAT_OSRELEASE |              \
	 1ULL << FEAT_ARCH | 1ULL << FEAT_NRCPUS | 1ULL << FEAT_SAMPLE_TIME |                      \
	 1ULL << FEAT_CLOCKID | 1ULL << FEAT_CLOCK_DATA)

struct section {
	uint64_t offset, size;
};

struct file_header {
	char magic[8];
	uint64_t size;
	uint64_t attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

/* What sample_id_all puts behind records that are no samples, in the order of PERF_REC_SAMPLE. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
	uint64_t id;
};

struct perf_write {
	FILE *f;
	uint64_t data_size;
	int err; /* the first one */
	struct section feat[FEAT_NR];
};

static void put(struct perf_write *w, const void *p, size_t len)
{
	if (!w->err && fwrite(p, 1, len, w->f) != len)
		w->err = errno ? -errno : -EIO;
}

static uint64_t where(struct perf_write *w)
{
	off_t at = w->err ? 0 : ftello(w->f);

	if (at < 0)
		w->err = -errno;
	return at < 0 ? 0 : at;
}

int perf_write__open(struct perf_write **out, const char *path)
{
	struct perf_write *w = calloc(1, sizeof(*w));
	struct file_header none = {.magic = ""};
	int fd, err;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	w->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!w->f || setvbuf(w->f, NULL, _IOFBF, BUFFER)) {
		err = -errno;
		if (fd >= 0 && !w->f)
			close(fd);
		perf_write__abort(w);
		return err;
	}
	put(w, &none, sizeof(none));
	if (lseek(fd, 0, SEEK_CUR) < 0) /* a pipe, a terminal: the header could not be written */
		w->err = -errno;
	err = w->err;
	if (err)
		perf_write__abort(w);
	else
		*out = w;
	return err;
}

void perf_write__abort(struct perf_write *w)
{
	if (w && w->f)
		fclose(w->f);
	free(w);
}

/* ---- data ---- */

void perf_write__record(struct perf_write *w, const struct perf_event_header *h)
{
	put(w, h, h->size);
	w->data_size += h->size;
}

void perf_write__name(struct perf_write *w, uint32_t pid, uint32_t tid, const char *comm)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		char comm[ACCT_COMM_LEN];
		struct trailer t; /* all zero: before everything */
	} rec = {{PERF_RECORD_COMM, PERF_RECORD_MISC_USER, sizeof(rec)}, pid, tid, "", {0}};

	memcpy(rec.comm, comm, strnlen(comm, sizeof(rec.comm) - 1));
	perf_write__record(w, &rec.h);
}

/* The addresses of the kernel's text; false: hidden (kernel.kptr_restrict), or no /proc/kallsyms.
 */
static bool kernel_text(uint64_t *from, uint64_t *to)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char *line = NULL, name[16];
	unsigned long long addr;
	size_t cap = 0;

	*from = *to = 0;
	while (f && !*to && getline(&line, &cap, f) > 0) {
		if (sscanf(line, "%llx %*c %15s", &addr, name) != 2)
			continue;
		if (!strcmp(name, "_text"))
			*from = addr;
		else if (!strcmp(name, "_etext"))
			*to = addr;
	}
	free(line);
	if (f)
		fclose(f);
	return *from && *to > *from;
}

/* As perf_event__synthesize_kernel_mmap() has it: pid -1, and the name of what lies at pgoff. */
void perf_write__kernel(struct perf_write *w)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		char name[24];
		struct trailer t;
	} rec = {{PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, sizeof(rec)},
		 -1,
		 0,
		 0,
		 0,
		 0,
		 "[kernel.kallsyms]_text",
		 {0}};
	uint64_t to;

	if (!kernel_text(&rec.addr, &to))
		return;
	rec.len = to - rec.addr;
	rec.pgoff = rec.addr;
	perf_write__record(w, &rec.h);
}

void perf_write__lost(struct perf_write *w, const struct perf_source *s, uint64_t time, uint64_t n)
{
	struct {
		struct perf_event_header h;
		uint64_t id, lost;
		struct trailer t;
	} rec = {{PERF_RECORD_LOST, 0, sizeof(rec)}, perf_events__id(s, 0), n, {0}};

	rec.t = (struct trailer){.time = time, .cpu = s->cpu, .id = rec.id};
	perf_write__record(w, &rec.h);
}

void perf_write__round(struct perf_write *w)
{
	struct perf_event_header h = {REC_FINISHED_ROUND, 0, sizeof(h)};

	perf_write__record(w, &h);
}

/* ---- the header's parts ---- */

/* A file below tracefs: its length in as many bytes as asked for, then what it holds. */
static void put_file(struct perf_write *w, const struct perf_events *pe, const char *path,
		     size_t length_bytes)
{
	int fd = path ? perf_events__tracefs(pe, path) : -1;
	char *buf = NULL;
	uint64_t len = 0, cap = 0;
	uint32_t len32;
	ssize_t n = 1;

	while (fd >= 0 && n > 0) {
		if (len == cap) {
			char *bigger = realloc(buf, cap += 65536);

			if (!bigger) {
				w->err = -ENOMEM;
				break;
			}
			buf = bigger;
		}
		n = read(fd, buf + len, cap - len);
		if (n > 0)
			len += n;
	}
	if (fd >= 0)
		close(fd);
	len32 = len;
	put(w, length_bytes == 4 ? (void *)&len32 : (void *)&len, length_bytes);
	put(w, buf, len);
	free(buf);
}

static void put_system(struct perf_write *w, const struct perf_events *pe, const char *system)
{
	uint32_t n = 0;
	char path[128];

	for (size_t k = 0; k < pe->nr_kinds; k++)
		n += !strcmp(pe->kinds[k].system, system);
	put(w, system, strlen(system) + 1);
	put(w, &n, sizeof(n));
	for (size_t k = 0; k < pe->nr_kinds; k++) {
		if (strcmp(pe->kinds[k].system, system))
			continue;
		snprintf(path, sizeof(path), "events/%s/%s/format", system, pe->kinds[k].name);
		put_file(w, pe, path, 8);
	}
}

static bool is_first_of_system(const struct perf_events *pe, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (!strcmp(pe->kinds[i].system, pe->kinds[k].system))
			return false;
	return true;
}

/* As trace-cmd has it and perf took it over: tools/perf/util/trace-event-info.c reads the same. */
static void put_tracing(struct perf_write *w, const struct perf_events *pe)
{
	static const char magic[] = "\027\010\104tracing" TRACING_VERSION;
	uint8_t big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, word = sizeof(long);
	uint32_t page = sysconf(_SC_PAGESIZE), none = 0, systems = 0;
	uint64_t none64 = 0;

	put(w, magic, sizeof(magic));
	put(w, &big, 1);
	put(w, &word, 1);
	put(w, &page, sizeof(page));
	put(w, "header_page", 12);
	put_file(w, pe, "events/header_page", 8);
	put(w, "header_event", 13);
	put_file(w, pe, "events/header_event", 8);
	put(w, &none, sizeof(none)); /* ftrace's own events */
	for (size_t k = 0; k < pe->nr_kinds; k++)
		systems += is_first_of_system(pe, k);
	put(w, &systems, sizeof(systems));
	for (size_t k = 0; k < pe->nr_kinds; k++)
		if (is_first_of_system(pe, k))
			put_system(w, pe, pe->kinds[k].system);
	put(w, &none, sizeof(none)); /* kallsyms */
	put_file(w, pe, "printk_formats", 4);
	put(w, &none64, sizeof(none64)); /* saved_cmdlines: COMM records tell */
}

static void put_string(struct perf_write *w, const char *s)
{
	char buf[512] = "";
	uint32_t len = strnlen(s, sizeof(buf) - STRING_ALIGN - 1);

	memcpy(buf, s, len);
	len = (len + STRING_ALIGN) / STRING_ALIGN * STRING_ALIGN;
	put(w, &len, sizeof(len));
	put(w, buf, len);
}

static void begin_feature(struct perf_write *w, int feat)
{
	w->feat[feat].offset = where(w);
}

static void end_feature(struct perf_write *w, int feat)
{
	w->feat[feat].size = where(w) - w->feat[feat].offset;
}

static void put_features(struct perf_write *w, const struct perf_events *pe, uint64_t start,
			 uint64_t end)
{
	uint32_t cpus[2] = {sysconf(_SC_NPROCESSORS_CONF), sysconf(_SC_NPROCESSORS_ONLN)};
	uint64_t times[2] = {start, end}, resolution = 1;
	struct {
		uint32_t version, clockid;
		uint64_t wall, clock; /* ns, at one time */
	} clocks = {1, CLOCK_MONOTONIC, 0, start};
	struct timespec wall;
	struct utsname u;

	uname(&u);
	begin_feature(w, FEAT_TRACING_DATA);
	put_tracing(w, pe);
	end_feature(w, FEAT_TRACING_DATA);
	begin_feature(w, FEAT_HOSTNAME);
	put_string(w, u.nodename);
	end_feature(w, FEAT_HOSTNAME);
	begin_feature(w, FEAT_OSRELEASE);
	put_string(w, u.release);
	end_feature(w, FEAT_OSRELEASE);
	begin_feature(w, FEAT_ARCH);
	put_string(w, u.machine);
	end_feature(w, FEAT_ARCH);
	begin_feature(w, FEAT_NRCPUS);
	put(w, cpus, sizeof(cpus));
	end_feature(w, FEAT_NRCPUS);
	begin_feature(w, FEAT_SAMPLE_TIME);
	put(w, times, sizeof(times));
	end_feature(w, FEAT_SAMPLE_TIME);
	begin_feature(w, FEAT_CLOCKID);
	put(w, &resolution, sizeof(resolution));
	end_feature(w, FEAT_CLOCKID);
	clock_wall_of(start, &wall);
	clocks.wall = timespec_ns(&wall);
	begin_feature(w, FEAT_CLOCK_DATA);
	put(w, &clocks, sizeof(clocks));
	end_feature(w, FEAT_CLOCK_DATA);
}

/* The ids of every source's event k, and then the attributes that say where they are. */
static struct section put_attrs(struct perf_write *w, const struct perf_events *pe)
{
	struct section ids = {where(w), pe->nr * sizeof(uint64_t)}, all;

	for (size_t k = 0; k < pe->nr_kinds; k++)
		for (size_t i = 0; i < pe->nr; i++) {
			uint64_t id = perf_events__id(&pe->sources[i], k);

			put(w, &id, sizeof(id));
		}
	all.offset = where(w);
	for (size_t k = 0; k < pe->nr_kinds; k++) {
		put(w, &pe->kinds[k].attr, sizeof(pe->kinds[k].attr));
		put(w, &ids, sizeof(ids));
		ids.offset += ids.size;
	}
	all.size = where(w) - all.offset;
	return all;
}

int perf_write__close(struct perf_write *w, const struct perf_events *pe, uint64_t start,
		      uint64_t end)
{
	struct section table[FEAT_NR] = {{0, 0}};
	struct file_header h = {.magic = ""};
	uint64_t at = sizeof(h) + w->data_size;
	size_t n = 0;
	int err;

	memcpy(h.magic, MAGIC, sizeof(h.magic));
	h.size = sizeof(h);
	h.attr_size = sizeof(struct perf_event_attr) + sizeof(struct section);
	h.data = (struct section){sizeof(h), w->data_size};
	/* Right behind the data perf expects the features' table, whose size is known. */
	for (int i = 0; i < FEAT_NR; i++)
		n += FEATURES >> i & 1;
	h.features[0] = FEATURES;
	put(w, table, n * sizeof(*table));
	put_features(w, pe, start, end);
	h.attrs = put_attrs(w, pe);
	n = 0;
	for (int i = 0; i < FEAT_NR; i++)
		if (FEATURES >> i & 1)
			table[n++] = w->feat[i];
	if (!w->err && fseeko(w->f, at, SEEK_SET))
		w->err = -errno;
	put(w, table, n * sizeof(*table));
	if (!w->err && fseeko(w->f, 0, SEEK_SET))
		w->err = -errno;
	put(w, &h, sizeof(h));
	if (fclose(w->f) && !w->err)
		w->err = -errno;
	err = w->err;
	free(w);
	return err;
}
