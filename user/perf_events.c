// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf_event_open(2) for the tracepoints of tracefs. Every source is one group, so that its events
 * start at one instant, and has one ring, into which all of them write.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine_util.h"
#include "opts.h"
#include "perf_events.h"

#define FORMAT_MAX 65536
#define SPARE_FDS  64 /* what the rest of the program has open */
#define RING_MAX   (4UL << 20)
/* A hypervisor may hold the reader's CPU for a tenth of a second while another goes on with a
 * million events a second of 80 bytes: where CPUs are few, there is room for that. */
#define RING_MAX_FEW  (16UL << 20)
#define RING_FEW      16 /* sources */
#define RING_MIN      (256UL << 10)
#define TRACING_PATH  "/sys/kernel/tracing"
#define PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"

__attribute__((format(printf, 4, 5))) static int fail(char *why, size_t len, int err,
						      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, len, fmt, ap);
	va_end(ap);
	return err;
}

static int sys_perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

/* ---- advice ---- */

/* The first line of a file; empty: it cannot be read. */
static const char *line_of(const char *path, char *buf, size_t len)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(buf, len, f))
		*buf = 0;
	buf[strcspn(buf, "\n")] = 0;
	if (f)
		fclose(f);
	return buf;
}

/* What helps against err of perf_event_open(2) or of tracefs. */
static const char *advice(int err, char *buf, size_t len)
{
	char line[128];

	if (engine__locked_down())
		return "the kernel is locked down (confidentiality): boot it with a lower "
		       "lockdown=";
	switch (-err) {
	case EPERM:
	case EACCES:
		snprintf(buf, len,
			 "run as root, or with CAP_PERFMON and a readable tracefs "
			 "(kernel.perf_event_paranoid is %s)",
			 line_of(PARANOID_PATH, line, sizeof(line)));
		return buf;
	case ENOSYS:
		return "this kernel is built without perf events";
	case ENOENT: /* a kernel that has it has the place for it, see tracefs_init() */
		if (!access(TRACING_PATH, F_OK))
			return "mount it with mount -t tracefs tracefs " TRACING_PATH;
		return "this kernel is built without tracepoints (CONFIG_FTRACE)";
	case EMFILE:
		return "raise the limit of open files (ulimit -n)";
	case ENOMEM:
		return "take smaller rings with -m";
	default:
		return "see -v";
	}
}

/* ---- tracefs ---- */

/* tracefs where it is usually mounted, else mounted for nobody but us. A directory, or -errno. */
static int open_tracefs(void)
{
	static const char *const usual[] = {TRACING_PATH, "/sys/kernel/debug/tracing"};
	int fs, fd = -1, err = ENOENT;

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		fd = open(usual[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && !faccessat(fd, "events", X_OK, AT_EACCESS))
			return fd;
		if (errno != ENOENT)
			err = errno;
		if (fd >= 0)
			close(fd);
	}
	fs = fsopen("tracefs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return errno == ENODEV ? -ENOENT : -err;
	fd = fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0)
		     ? -1
		     : fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSUID);
	err = errno;
	close(fs);
	return fd < 0 ? -err : fd;
}

int perf_events__tracefs(const struct perf_events *pe, const char *path)
{
	int fd = openat(pe->tracing, path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The format of one tracepoint into d; its id, or -errno. */
static int read_format(const struct perf_events *pe, struct decode *d, const char *system,
		       const char *name)
{
	char path[128], *buf;
	ssize_t n, len = 0;
	int fd, id;

	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	fd = perf_events__tracefs(pe, path);
	if (fd < 0)
		return fd;
	buf = malloc(FORMAT_MAX);
	while (buf && len < FORMAT_MAX && (n = read(fd, buf + len, FORMAT_MAX - len)) > 0)
		len += n;
	close(fd);
	id = buf ? decode__format(d, system, buf, len) : -ENOMEM;
	free(buf);
	return id;
}

/* ---- kinds ---- */

uint64_t perf_events__sample_type(const struct perf_config *c)
{
	if (c->for_file)
		return PERF_REC_SAMPLE_FILE;
	return c->tasks ? PERF_REC_SAMPLE_TASK : PERF_REC_SAMPLE;
}

static void fill_attr(const struct perf_config *c, struct perf_event_attr *a, bool leader)
{
	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	a->sample_period = 1;
	a->sample_type = perf_events__sample_type(c);
	a->sample_id_all = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	a->watermark = 1;
	a->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	a->disabled = leader; /* the others follow it */
	a->task = leader;     /* PERF_RECORD_FORK tells whose thread a child is */
	a->comm = a->comm_exec = leader && c->for_file;
}

static bool is_wanted(const struct perf_config *c, const struct decode_known *k, const bool *have,
		      const struct decode_known *all, size_t n)
{
	if (!(k->group & (c->groups | EV_SCHED)))
		return false;
	for (size_t i = 0; k->instead_of && i < n; i++)
		if (have[i] && !strcmp(all[i].name, k->instead_of))
			return false;
	return true;
}

/* All tracepoints that are asked for and are there. sched_switch, the first one, must be. */
static int find_kinds(struct perf_events *pe, struct decode *d, char *why, size_t len)
{
	const struct decode_known *known;
	char buf[256];
	size_t n;
	bool *have;

	known = decode__known(&n);
	pe->kinds = calloc(n, sizeof(*pe->kinds));
	have = calloc(n, sizeof(*have));
	for (size_t i = 0; pe->kinds && have && i < n; i++) {
		struct perf_kind *k = &pe->kinds[pe->nr_kinds];
		int id;

		if (!is_wanted(&pe->c, &known[i], have, known, n))
			continue;
		id = read_format(pe, d, known[i].system, known[i].name);
		if (pe->c.verbose && id < 0)
			fprintf(stderr, "utilbpf: %s is not there\n", known[i].name);
		if (id < 0 && i) /* not in this kernel */
			continue;
		if (id < 0) {
			free(have);
			return fail(why, len, id, "cannot read tracepoint %s in tracefs: %s; %s",
				    known[i].name, strerror(-id), advice(id, buf, sizeof(buf)));
		}
		have[i] = true;
		k->system = known[i].system;
		k->name = known[i].name;
		k->group = known[i].group;
		fill_attr(&pe->c, &k->attr, !pe->nr_kinds);
		k->attr.type = PERF_TYPE_TRACEPOINT;
		k->attr.config = id;
		pe->nr_kinds++;
	}
	if (!pe->kinds || !have) {
		free(have);
		return fail(why, len, -ENOMEM, "cannot list the tracepoints: out of memory");
	}
	free(have);
	return 0;
}

/* ---- limits ---- */

/* As many descriptors as all sources need; -EMFILE: not allowed. */
static int raise_nofile(struct perf_events *pe, char *why, size_t len)
{
	rlim_t need = (rlim_t)pe->nr_kinds * (pe->c.sources ? pe->c.sources : 1) + SPARE_FDS;
	struct rlimit old, r;

	if (getrlimit(RLIMIT_NOFILE, &old) || old.rlim_cur >= need)
		return 0;
	r.rlim_cur = need;
	r.rlim_max = old.rlim_max < need ? need : old.rlim_max;
	if (!setrlimit(RLIMIT_NOFILE, &r))
		return 0;
	return fail(
		why, len, -EMFILE,
		"cannot open %zu events on %u CPUs or tasks: that needs %llu open files, %llu are "
		"allowed; raise the limit with ulimit -n, or select less with -C or -e",
		pe->nr_kinds, pe->c.sources, (unsigned long long)need,
		(unsigned long long)old.rlim_max);
}

/* Pages of a ring from the memory that all of them may take. */
static size_t choose_pages(const struct perf_config *c)
{
	uint64_t page = sysconf(_SC_PAGESIZE), memory = c->memory, each;
	uint64_t size = c->sources <= RING_FEW ? RING_MAX_FEW : RING_MAX;

	if (c->pages)
		return c->pages;
	if (!memory)
		memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * page / 64;
	each = memory / (c->sources ? c->sources : 1);
	while (size > each && size > RING_MIN)
		size /= 2;
	return size > page ? size / page : 1;
}

int perf_events__new(struct perf_events **out, const struct perf_config *c, struct decode *d,
		     char *why, size_t len)
{
	struct perf_events *pe = calloc(1, sizeof(*pe));
	char buf[256];
	int err;

	*out = NULL;
	if (!pe)
		return fail(why, len, -ENOMEM, "cannot open events: out of memory");
	pe->c = *c;
	pe->have_lost = true;
	pe->epfd = epoll_create1(EPOLL_CLOEXEC);
	pe->tracing = open_tracefs();
	if (pe->epfd < 0)
		err = fail(why, len, -errno, "cannot wait for events: %s", strerror(errno));
	else if (pe->tracing < 0)
		err = fail(why, len, pe->tracing, "cannot open tracefs: %s; %s",
			   strerror(-pe->tracing), advice(pe->tracing, buf, sizeof(buf)));
	else
		err = find_kinds(pe, d, why, len);
	if (!err)
		err = raise_nofile(pe, why, len);
	if (err) {
		perf_events__free(pe);
		return err;
	}
	pe->chosen = !c->pages;
	pe->c.pages = choose_pages(&pe->c);
	*out = pe;
	return 0;
}

static void close_source(struct perf_events *pe, struct perf_source *s)
{
	perf_ring__unmap(&s->ring);
	for (size_t k = pe->nr_kinds; s->fds && k--;) /* the leader, which comes first, last */
		if (s->fds[k] >= 0)
			close(s->fds[k]);
	free(s->fds);
	s->fds = NULL;
}

void perf_events__free(struct perf_events *pe)
{
	if (!pe)
		return;
	for (size_t i = 0; i < pe->nr; i++)
		close_source(pe, &pe->sources[i]);
	free(pe->sources);
	free(pe->kinds);
	if (pe->epfd >= 0)
		close(pe->epfd);
	if (pe->tracing >= 0)
		close(pe->tracing);
	free(pe);
}

/* ---- sources ---- */

static bool is_syscall(const struct perf_kind *k)
{
	return !strcmp(k->system, "raw_syscalls");
}

/*
 * Our own system calls are left out by the kernel: to read and write events would make events, and
 * there would be no end. Our switches and what interrupts us stay, other tasks' time hangs on them.
 */
static int set_filter(const struct perf_events *pe, const struct perf_kind *k, int fd)
{
	char filter[96];

	if (!pe->c.own[0] || !is_syscall(k))
		return 0;
	snprintf(filter, sizeof(filter), "common_pid != %d && common_pid != %d", pe->c.own[0],
		 pe->c.own[1]);
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ? -errno : 0;
}

static int open_kind(struct perf_events *pe, const struct perf_source *s, size_t k)
{
	struct perf_event_attr a = pe->kinds[k].attr;
	int fd;

	a.disabled = s->lead < 0;
	a.inherit = s->inherit;
	a.wakeup_watermark = pe->c.pages * sysconf(_SC_PAGESIZE) / 4;
	if (!pe->have_lost)
		a.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
	fd = sys_perf_event_open(&a, s->pid, s->cpu, s->lead);
	if (fd < 0 && errno == EINVAL && pe->have_lost && !k && !pe->nr) {
		pe->have_lost = false; /* a kernel before 6.0 */
		return open_kind(pe, s, k);
	}
	return fd < 0 ? -errno : fd;
}

/* The ring of the leader, for all. Smaller ones where the size was our choice. */
static int map_ring(struct perf_events *pe, struct perf_source *s)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int err;

	for (;;) {
		err = perf_ring__map(&s->ring, s->lead, pe->c.pages);
		if ((err != -EPERM && err != -ENOMEM) || !pe->chosen || pe->nr ||
		    pe->c.pages * page <= RING_MIN)
			return err;
		pe->c.pages /= 2;
	}
}

static int open_source(struct perf_events *pe, struct perf_source *s, char *why, size_t len)
{
	char buf[256];
	int err = 0;

	for (size_t k = 0; k < pe->nr_kinds; k++)
		s->fds[k] = -1;
	s->lead = -1;
	for (size_t k = 0; k < pe->nr_kinds; k++) {
		const char *name = pe->kinds[k].name;

		if (!(pe->kinds[k].group & s->groups))
			continue;
		s->fds[k] = open_kind(pe, s, k);
		if (s->fds[k] < 0)
			return fail(why, len, s->fds[k],
				    "cannot open tracepoint %s by perf_event_open: %s; %s", name,
				    strerror(-s->fds[k]), advice(s->fds[k], buf, sizeof(buf)));
		if (s->lead >= 0) {
			err = ioctl(s->fds[k], PERF_EVENT_IOC_SET_OUTPUT, s->lead) ? -errno : 0;
		} else {
			s->lead = s->fds[k];
			err = map_ring(pe, s);
		}
		if (err)
			return fail(
				why, len, err,
				"cannot give tracepoint %s a ring of %zu pages: %s; "
				"take smaller ones with -m, or raise kernel.perf_event_mlock_kb",
				name, pe->c.pages, strerror(-err));
		err = set_filter(pe, &pe->kinds[k], s->fds[k]);
		if (err)
			return fail(why, len, err, "cannot set a filter on tracepoint %s: %s", name,
				    strerror(-err));
	}
	return 0;
}

int perf_events__add(struct perf_events *pe, const struct perf_source *asked, char *why, size_t len)
{
	struct perf_source s = {.pid = asked->pid,
				.cpu = asked->cpu,
				.groups = asked->groups,
				.inherit = asked->inherit},
			   *grown;
	struct epoll_event ev = {.events = EPOLLIN};
	int err;

	grown = reallocarray(pe->sources, pe->nr + 1, sizeof(*grown));
	if (grown)
		pe->sources = grown;
	s.fds = calloc(pe->nr_kinds, sizeof(*s.fds));
	if (!grown || !s.fds) {
		free(s.fds);
		return fail(why, len, -ENOMEM, "cannot open events: out of memory");
	}
	err = open_source(pe, &s, why, len);
	ev.data.fd = s.lead;
	if (!err && epoll_ctl(pe->epfd, EPOLL_CTL_ADD, s.lead, &ev))
		err = fail(why, len, -errno, "cannot wait for events: %s", strerror(errno));
	if (err) {
		close_source(pe, &s);
		return err;
	}
	s.queue = pe->queues++;
	pe->sources[pe->nr++] = s;
	return 0;
}

void perf_events__remove(struct perf_events *pe, size_t i)
{
	close_source(pe, &pe->sources[i]);
	pe->sources[i] = pe->sources[--pe->nr];
}

int perf_events__enable(struct perf_events *pe, struct perf_source *s)
{
	(void)pe;
	return ioctl(s->lead, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

/* What read(2) gives of an event with our read_format. */
struct reading {
	uint64_t value, id, lost;
};

uint64_t perf_events__lost(struct perf_events *pe, struct perf_source *s)
{
	struct reading r;
	uint64_t sum = 0;

	if (!pe->have_lost || !s->was_full)
		return 0;
	s->was_full = false;
	for (size_t k = 0; k < pe->nr_kinds; k++)
		if (s->fds[k] >= 0 && read(s->fds[k], &r, sizeof(r)) == sizeof(r))
			sum += r.lost;
	return sum;
}

uint64_t perf_events__bytes(const struct perf_events *pe)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pe->nr; i++)
		sum += pe->sources[i].ring.size + sysconf(_SC_PAGESIZE);
	return sum;
}

uint64_t perf_events__id(const struct perf_source *s, size_t k)
{
	uint64_t id;

	return ioctl(s->fds[k], PERF_EVENT_IOC_ID, &id) ? 0 : id;
}

void perf_events__features(FILE *f)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
				    .size = sizeof(a),
				    .config = PERF_COUNT_SW_DUMMY,
				    .read_format = PERF_FORMAT_LOST};
	int fd = sys_perf_event_open(&a, 0, -1, -1), err = errno;
	char line[64];

	fprintf(f, "engine perf: %s\n",
		fd >= 0 || err != ENOSYS ? "perf events"
					 : "this kernel is built without perf events");
	fprintf(f, "perf_event_paranoid: %s\n", line_of(PARANOID_PATH, line, sizeof(line)));
	fprintf(f, "losses counted by event: %s\n", fd >= 0 ? "yes" : "no");
	if (fd >= 0)
		close(fd);
}
