// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start, report, stop and status of a resident instance: see resident.h.
 *
 * How a reader's death is survived: the window's boundary is published first, then read, then
 * printed, and only then `told` moves on, in one store. The programs reuse no record of a window
 * that is not told. So a published boundary past `told` + 1 is a window that somebody has ended
 * and not told: it is read again, just as it was.
 *
 * --since-start tells of a window that goes on, so what it has read of that is told again by the
 * report that ends it: it is kept in the ledger (ledger.h), with the sum since the start. Two maps
 * hold that, by the parity of `told`: a new one is whole before `told` makes it the one that
 * counts.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf_load.h"
#include "bpf_reader.h"
#include "clock.h"
#include "engine.h"
#include "engine_util.h"
#include "hash.h"
#include "ledger.h"
#include "resident.h"
#include "resident_dir.h"
#include "resident_state.h"
#include "version.h"

/* So long a reader waits for another one; also stop, and a second start. */
#define LOCK_WAIT_NS (10 * 1000000000ULL)

typedef typeof(*((struct utilbpf_bpf *)0)->bss) bss_t;

struct resident {
	struct rdir dir;
	struct why why;
	struct resident_state *st;
	size_t st_len; /* of its mapping */
	struct bpf_reader rd;
	bss_t *bss;
	int fold_lock; /* descriptor of the map that is the programs' lock */
	struct ledger ledger;
	char selection[512]; /* the instance's, in words */
};

/* What a reader wants. */
struct telling {
	enum report_level level;
	unsigned int depth;
	bool look; /* --since-start */
	int (*print)(void *ctx, const struct report *r);
	void *ctx;
};

/* ---- the shared state ---- */

/* Tells record layouts apart: whatever their sizes make different in the tables. */
static uint32_t records_hash(void)
{
	const uint32_t shape[] = {
		sizeof(struct acct_task),
		sizeof(struct acct_call),
		sizeof(struct acct_row),
		sizeof(struct acct_cpu),
		sizeof(struct acct_ident),
		sizeof(struct acct_state),
		sizeof(struct acct_bank),
		sizeof(bss_t),
		offsetof(bss_t, ctl),
		sizeof(struct resident_state),
		sizeof(struct report),
		sizeof(struct rep_group),
		sizeof(struct rep_proc),
		sizeof(struct rep_task),
		sizeof(struct rep_call),
		offsetof(struct acct_cpu, exited),
		offsetof(struct acct_cpu, slot),
		offsetof(struct acct_task, id),
	};
	uint32_t h = 2166136261U; /* FNV-1a, by words */

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
		h = (h ^ shape[i]) * 16777619U;
	return h;
}

static size_t page_round(size_t n)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (n + page - 1) / page * page;
}

static size_t state_size(uint32_t ncpus)
{
	return sizeof(struct resident_state) + 4 * (size_t)ncpus * sizeof(struct acct_sums);
}

static struct acct_sums *resident_others(struct resident_state *st, uint32_t parity)
{
	return (struct acct_sums *)(st + 1) + 2 * (size_t)st->ncpus * parity;
}

/* Maps a pinned or new map of one value. NULL with errno. */
static void *map_value(int fd, size_t least, size_t *len)
{
	struct bpf_map_info info = {0};
	__u32 info_len = sizeof(info);
	void *p;

	if (bpf_obj_get_info_by_fd(fd, &info, &info_len))
		return NULL;
	if (info.value_size < least) {
		errno = EPROTO;
		return NULL;
	}
	*len = page_round(info.value_size);
	p = mmap(NULL, *len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* Maps the state, of any version. 0, or -errno: -ENOENT when there is none. */
static int state_open(struct resident *x)
{
	int fd = rdir__get(&x->dir, 'm', "state");

	if (fd < 0)
		return fd;
	x->st = map_value(fd, offsetof(struct resident_state, started), &x->st_len);
	close(fd);
	if (!x->st)
		return -errno;
	return x->st->magic == RESIDENT_MAGIC ? 0 : -EPROTO;
}

static int state_create(struct resident *x, uint32_t ncpus)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "utilbpf_state", sizeof(__u32),
				state_size(ncpus), 1, &o);
	int err;

	if (fd < 0)
		return -errno;
	x->st = map_value(fd, state_size(ncpus), &x->st_len);
	err = x->st ? rdir__pin(&x->dir, 'm', "state", fd) : -errno;
	close(fd);
	if (err)
		return err;
	x->st->magic = RESIDENT_MAGIC;
	x->st->layout = RESIDENT_LAYOUT;
	x->st->records = records_hash();
	x->st->ncpus = ncpus;
	x->st->starter = x->st->reader = getpid();
	snprintf(x->st->version, sizeof(x->st->version), "%s", UTILBPF_VERSION);
	return 0;
}

/* The version that has started it, in a form that can be printed. */
static void starter_version(const struct resident *x, char *buf, size_t len)
{
	size_t i = 0;

	for (; i + 1 < len && i < sizeof(x->st->version) && x->st->version[i]; i++)
		buf[i] = x->st->version[i] > ' ' && x->st->version[i] <= '~' ? x->st->version[i]
									     : '?';
	buf[i] = 0;
}

/* Whether the instance runs, and this program can read it. err: what state_open() said. */
static int state_check(struct resident *x, int err)
{
	char version[32];

	if (err && err != -ENOENT && err != -EPROTO)
		return why__put(&x->why, err, "cannot open what is pinned at %s: %s%s", x->dir.path,
				strerror(-err), err == -EPERM ? "; run as root" : "");
	if (!x->st || x->st->magic != RESIDENT_MAGIC)
		return why__put(&x->why, -EPROTO,
				"%s holds what is no instance of utilbpf, or half of one: clear it "
				"with utilbpf stop",
				x->dir.path);
	starter_version(x, version, sizeof(version));
	if (x->st->layout != RESIDENT_LAYOUT || x->st->records != records_hash())
		return why__put(&x->why, -EPROTO,
				"%s was started by utilbpf %s, whose records this one (%s) cannot "
				"read: report with that one, or stop it and start anew",
				x->dir.path, version, UTILBPF_VERSION);
	if (x->st->phase != PHASE_RUNNING)
		return why__put(&x->why, -EAGAIN,
				"the start of %s by pid %u was not finished: utilbpf start begins "
				"anew, utilbpf stop clears it",
				x->dir.path, x->st->starter);
	return 0;
}

/* The lock, with a message that names who has it. */
static int lock(struct resident *x, bool create)
{
	int err = rdir__lock(&x->dir, create, LOCK_WAIT_NS, &x->why);

	if (err == -EBUSY && !state_open(x))
		why__put(&x->why, err,
			 "%s is in use by pid %u since %llu s: wait for it, or end it", x->dir.path,
			 x->st->reader, LOCK_WAIT_NS / 1000000000ULL);
	return err;
}

static void resident_init(struct resident *x, const struct opts *o, char *why, size_t len)
{
	memset(x, 0, sizeof(*x));
	rdir__init(&x->dir, o->name);
	x->why = (struct why){why, len};
	x->rd.hctl = x->rd.seed_cpu = x->fold_lock = -1;
	x->rd.moves_fd = x->rd.paths_fd = -1;
}

static void resident_close(struct resident *x)
{
	for (size_t i = 0; i < x->rd.nr_maps; i++)
		close(x->rd.maps[i]);
	for (size_t i = 0; i < x->rd.nr_progs; i++)
		close(x->rd.progs[i]);
	if (x->fold_lock >= 0)
		close(x->fold_lock);
	if (x->rd.hctl >= 0)
		close(x->rd.hctl);
	if (x->rd.seed_cpu >= 0)
		close(x->rd.seed_cpu);
	if (x->rd.moves_fd >= 0)
		close(x->rd.moves_fd);
	if (x->rd.paths_fd >= 0)
		close(x->rd.paths_fd);
	bpf_reader__unmap(&x->rd);
	if (x->bss)
		munmap(x->bss, page_round(sizeof(*x->bss)));
	if (x->st)
		munmap(x->st, x->st_len);
	ledger__free(&x->ledger);
	collect__free(x->rd.collect);
	free(x->rd.online);
	rdir__unlock(&x->dir);
}

/* ---- the ledger ---- */

/* The map of it that counts when window `epoch` is the last that has been told. */
static const char *ledger_name(uint32_t epoch)
{
	return epoch & 1 ? "ledger_odd" : "ledger_even";
}

static int ledger_store(struct resident *x, uint32_t epoch)
{
	size_t len;
	char *mem;
	int err = ledger__pack(&x->ledger, &mem, &len);

	if (!err)
		err = rdir__store(&x->dir, ledger_name(epoch), mem, len);
	free(mem);
	return err ? why__put(&x->why, err, "cannot keep the sum since the start in %s: %s",
			      x->dir.path, strerror(-err))
		   : 0;
}

static int ledger_load(struct resident *x)
{
	size_t len;
	char *mem;
	int err = rdir__load(&x->dir, ledger_name(x->st->told), &mem, &len);

	return err ? err : ledger__unpack(&x->ledger, mem, len, x->rd.names);
}

/* ---- start ---- */

static int pin_all(struct resident *x, const struct bpf_load *l)
{
	struct bpf_program *p;
	struct bpf_map *m;
	int err = 0;

	bpf_object__for_each_map(m, l->skel->obj)
	{
		if (!err && bpf_map__fd(m) >= 0)
			err = rdir__pin(&x->dir, 'm', bpf_map__name(m), bpf_map__fd(m));
	}
	bpf_object__for_each_program(p, l->skel->obj)
	{
		if (!err && bpf_program__fd(p) >= 0)
			err = rdir__pin(&x->dir, 'p', bpf_program__name(p), bpf_program__fd(p));
	}
	if (!err) /* the flavour of it that readers run */
		err = rdir__pin(&x->dir, 'r', "seed_cpu", l->rd->seed_cpu);
	for (size_t i = 0; i < l->nr_links && !err; i++)
		err = rdir__pin(&x->dir, 'l', l->links[i].tp, bpf_link__fd(l->links[i].link));
	return err ? why__put(&x->why, err, "cannot pin to %s: %s", x->dir.path, strerror(-err))
		   : 0;
}

/* The window that has just been opened, as a reader is to find it. */
static int state_fill(struct resident *x, const struct opts *o, const struct bpf_reader *r)
{
	struct resident_state *st = x->st;
	uint32_t told = r->win.epoch - 1;
	struct timespec wall;
	int err;

	clock_wall_of(r->win.start, &wall);
	err = ledger__init(&x->ledger, r->win.start, &wall, r->names);
	if (err)
		return why__put(&x->why, err, "cannot list the groups of now: %s", strerror(-err));
	err = ledger_store(x, told);
	if (err)
		return err;
	st->told = told;
	st->t[told & 1].start = r->win.start;
	st->t[told & 1].before = r->before; /* what came before the first window is not told */
	collect__save(r->collect, r->ncpus, &st->t[told & 1].carry, resident_others(st, told & 1));
	st->events = o->events;
	st->selected = !!(o->sel.kinds & (SELK_TASKS | SELK_CPU));
	st->kinds = o->sel.kinds;
	st->calls = o->sel.call_bits;
	sel__describe(&o->sel, st->selection, sizeof(st->selection));
	st->started = r->win.start;
	st->started_wall = timespec_ns(&wall);
	atomic_thread_fence(memory_order_seq_cst);
	*(volatile uint32_t *)&st->phase = PHASE_RUNNING;
	return 0;
}

static int load_and_pin(struct resident *x, const struct opts *o, struct names *names)
{
	struct engine *e;
	struct bpf_load *l;
	int err = engine_bpf.open(&e, o, LEVEL_SYSTEM, 0, names, x->why.buf, x->why.len);

	if (err)
		return err;
	l = engine_bpf__loaded(e);
	err = pin_all(x, l);
	if (!err)
		err = state_fill(x, o, l->rd);
	l->keep = !err;
	engine_bpf.close(e);
	return err;
}

static int start_locked(struct resident *x, const struct opts *o, struct names *names)
{
	int err = state_open(x), ncpus = libbpf_num_possible_cpus();

	if (!err && x->st->phase == PHASE_RUNNING)
		return why__put(&x->why, -EEXIST,
				"%s runs already: read it with utilbpf report, end it with utilbpf "
				"stop, or start another one with --name",
				x->dir.path);
	if (x->st)
		munmap(x->st, x->st_len);
	x->st = NULL;
	err = rdir__clear(&x->dir); /* what a start that died has left */
	if (!err)
		err = ncpus > 0 ? state_create(x, ncpus) : ncpus;
	if (err)
		why__put(&x->why, err, "cannot pin to %s: %s; run as root", x->dir.path,
			 strerror(-err));
	else
		err = load_and_pin(x, o, names);
	if (err)
		rdir__remove(&x->dir);
	return err;
}

int resident__start(const struct opts *o, struct names *names, char *why, size_t len)
{
	sigset_t set, old;
	struct resident x;
	int err;

	resident_init(&x, o, why, len);
	/* A start ends as a whole: it is over in less than a second. */
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	err = lock(&x, true);
	if (!err)
		err = start_locked(&x, o, names);
	resident_close(&x);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* ---- stop ---- */

int resident__stop(const struct opts *o, char *why, size_t len)
{
	struct resident x;
	int err;

	resident_init(&x, o, why, len);
	err = lock(&x, false);
	if (!err) {
		err = rdir__remove(&x.dir);
		if (err)
			why__put(&x.why, err, "cannot remove %s: %s%s", x.dir.path, strerror(-err),
				 err == -ENOTEMPTY ? ": it holds what is not of utilbpf" : "");
	}
	resident_close(&x);
	return err;
}

/* ---- reading ---- */

static int reader_table(struct resident *x, struct bpf_table *t, const char *name, size_t value)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	int fd = rdir__get(&x->dir, 'm', name);

	if (fd < 0)
		return fd;
	x->rd.maps[x->rd.nr_maps++] = fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	if (info.value_size != value)
		return -EPROTO;
	t->fd = fd;
	t->value = value;
	t->n = info.max_entries;
	t->copied = !(info.map_flags & BPF_F_MMAPABLE);
	return 0;
}

#define OWN_MAPS 16 /* more than are opened by name */

/* Opens what is pinned; on failure the caller closes what has been opened. */
static int reader_objects(struct resident *x)
{
	struct bpf_reader *r = &x->rd;
	size_t n, len;
	int *all = rdir__all(&x->dir, 'm', &n), err, fd;

	r->maps = all ? realloc(all, (n + OWN_MAPS) * sizeof(*all)) : NULL;
	if (!r->maps) {
		free(all);
		return -ENOMEM;
	}
	r->nr_maps = n;
	r->progs = rdir__all(&x->dir, 'p', &r->nr_progs);
	err = reader_table(x, &r->cpus, "cpus", sizeof(struct acct_cpu));
	if (!err)
		err = reader_table(x, &r->tasks, "tasks", sizeof(struct acct_task));
	if (!err)
		err = reader_table(x, &r->calls, "calls", sizeof(struct acct_call));
	if (!err)
		err = reader_table(x, &r->rows, "rows", sizeof(struct acct_row));
	if (!err)
		err = reader_table(x, &r->icalls, "icalls", sizeof(struct acct_call));
	if (err)
		return err;
	fd = rdir__get(&x->dir, 'm', "bss");
	if (fd < 0)
		return fd;
	x->bss = map_value(fd, sizeof(*x->bss), &len);
	close(fd);
	if (!x->bss)
		return -errno;
	r->ctl = &x->bss->ctl;
	r->near_cpus = x->bss->near_cpus;
	r->hctl = rdir__get(&x->dir, 'm', "hctl");
	r->seed_cpu = rdir__get(&x->dir, 'r', "seed_cpu");
	r->moves_fd = rdir__get(&x->dir, 'm', "moves");
	r->paths_fd = rdir__get(&x->dir, 'm', "group_paths");
	x->fold_lock = rdir__get(&x->dir, 'm', "fold_lock");
	if (r->hctl < 0 || r->seed_cpu < 0)
		return r->hctl < 0 ? r->hctl : r->seed_cpu;
	return x->fold_lock < 0 ? x->fold_lock : 0;
}

/* The records of ended tasks are the programs' to reuse, once their window is told. */
static void keep_slot(void *ctx, uint32_t slot)
{
	(void)ctx, (void)slot;
}

static int reader_open(struct resident *x, enum report_level level, struct names *names)
{
	const struct resident_told *t = &x->st->t[x->st->told & 1];
	struct bpf_reader *r = &x->rd;
	int err;

	r->names = names;
	r->ncpus = x->st->ncpus;
	r->unpunctual = engine__without("punctuality");
	bpf_reader__watch(r, x->st->events);
	r->online = calloc(r->ncpus, sizeof(*r->online));
	r->collect = collect__new(level, x->st->selected, names, keep_slot, NULL);
	if (!r->online || !r->collect)
		return -ENOMEM;
	if (x->st->kinds & SELK_CALL)
		collect__set_calls(r->collect, &x->st->calls);
	snprintf(x->selection, sizeof(x->selection), "%.*s", (int)sizeof(x->selection) - 1,
		 x->st->selection);
	r->selection = *x->selection ? x->selection : NULL;
	engine__online(r->online, r->ncpus);
	err = reader_objects(x);
	if (!err)
		err = bpf_reader__map(r);
	if (err)
		return err;
	r->index = t->index;
	r->before = t->before;
	r->win = (struct window){.epoch = x->st->told + 1, .start = t->start};
	err = ledger_load(x);
	if (err)
		return err;
	return collect__restore(r->collect, r->ncpus, &t->carry,
				resident_others(x->st, x->st->told & 1));
}

/*
 * The window that was just printed, or put into the ledger, has been told: from here on nobody
 * reads it again.
 */
static void commit(struct resident *x, uint32_t epoch)
{
	struct resident_state *st = x->st;
	struct resident_told *t = &st->t[epoch & 1];

	t->index = x->rd.index;
	t->start = x->rd.win.start;
	t->before = x->rd.before;
	collect__save(x->rd.collect, x->rd.ncpus, &t->carry, resident_others(st, epoch & 1));
	atomic_thread_fence(memory_order_seq_cst);
	*(volatile uint32_t *)&st->told = epoch;
	/* The programs may reuse its records now; should that not come, the next commit says so. */
	*(volatile uint32_t *)&x->bss->keep.told = epoch;
	rdir__drop(&x->dir, ledger_name(epoch - 1));
}

#define FOLDS_NS 100000ULL

/*
 * Programs that fold ended tasks take longer than others: whoever began before the boundary holds
 * the lock until it is done. An element there means that nobody does.
 */
static void wait_folds(const struct resident *x)
{
	__u32 token;

	for (int i = 0; i < 10000 && bpf_map_lookup_elem(x->fold_lock, NULL, &token); i++)
		clock_sleep_until(clock_ns() + FOLDS_NS);
}

/* Takes what has ended into *r and the sum since the start. */
static int take(struct resident *x, struct report *r)
{
	int err;

	wait_folds(x);
	if (ledger__has_open(&x->ledger))
		x->rd.win.since = x->ledger.open.start_ns;
	err = bpf_reader__take(&x->rd, r);
	if (!err)
		err = ledger__add(&x->ledger, r);
	return err ? why__put(&x->why, err, "cannot read the accounts of %s: %s", x->dir.path,
			      strerror(-err))
		   : 0;
}

/* Prints a report as it was asked for. */
static int show(struct resident *x, const struct telling *t, struct report *r)
{
	struct report as;
	int err = report__fold_depth(r, x->rd.names, t->depth);

	if (err)
		return why__put(&x->why, err, "cannot add up groups: %s", strerror(-err));
	as = *r;
	if (t->level < as.level)
		as.level = t->level;
	if (!t->print(t->ctx, &as))
		return 0;
	x->why.buf[0] = 0; /* its reason is told; the window is there for the next reader */
	return -ECANCELED;
}

/* Takes the ended window, prints it, after those that nobody has told, and counts it as told. */
static int tell(struct resident *x, const struct telling *t)
{
	uint32_t epoch = x->rd.win.epoch;
	struct report r = {0};
	int err = take(x, &r);

	if (!err && ledger__has_open(&x->ledger)) { /* r is the last part of it */
		err = ledger__put_open(&x->ledger, &r);
		report__free(&r);
		report__residual_of_cpus(&x->ledger.open);
		r = x->ledger.open;
		memset(&x->ledger.open, 0, sizeof(x->ledger.open));
	}
	for (size_t i = 0; i < x->ledger.nr_closed && !err; i++)
		err = show(x, t, &x->ledger.closed[i]);
	if (!err) {
		ledger__told(&x->ledger, x->rd.win.start);
		err = ledger_store(x, epoch);
	}
	if (!err)
		err = show(x, t, &r);
	report__free(&r);
	if (!err)
		commit(x, epoch);
	return err;
}

/*
 * Takes what has ended into the ledger. ended: as a window that is told later, by a report of its
 * own; else as a part of the one that goes on.
 */
static int keep(struct resident *x, bool ended)
{
	uint32_t epoch = x->rd.win.epoch;
	struct report r = {0};
	int err = take(x, &r);

	if (!err)
		err = ledger__put_open(&x->ledger, &r);
	report__free(&r);
	if (!err && ended) {
		err = ledger__close(&x->ledger);
		if (err)
			why__put(&x->why, err,
				 "%d windows of %s wait to be told: read them with utilbpf report",
				 LEDGER_CLOSED, x->dir.path);
	}
	if (!ended)
		x->rd.index--;
	if (!err)
		err = ledger_store(x, epoch);
	if (!err)
		commit(x, epoch);
	return err;
}

/* A window that a reader has ended, and died over: its end is the last boundary. */
static void end_again(struct resident *x)
{
	struct bpf_reader *r = &x->rd;
	uint32_t next = r->win.epoch + 1;

	r->win.end = r->ctl->start[next & 3];
	bpf_reader__publish(r, next, r->win.end); /* all of it, if it was killed in between */
	r->late = 0;				  /* that is long past by now */
	bpf_reader__settle(r);
}

/* What a reader has left that died after it had published a boundary. */
static int finish_last(struct resident *x, const struct telling *t, uint32_t dead)
{
	bool looked = x->st->look == x->rd.win.epoch;

	if (!looked)
		fprintf(stderr, "utilbpf: the last reader, pid %u, did not finish: its window %s\n",
			dead, t->look ? "is told by the next report" : "comes first");
	end_again(x);
	if (looked || t->look)
		return keep(x, !looked);
	return tell(x, t);
}

/* Ends the window, or with --since-start a part of it. */
static void end_now(struct resident *x, bool look)
{
	*(volatile uint32_t *)&x->st->look = look ? x->rd.win.epoch : 0;
	atomic_thread_fence(memory_order_seq_cst);
	bpf_reader__end(&x->rd, clock_ns() + AHEAD_NS);
}

static int report_locked(struct resident *x, const struct telling *t, struct names *names)
{
	enum report_level level = t->level < LEVEL_PROCESS ? LEVEL_PROCESS : t->level;
	int err = state_open(x);
	uint32_t dead = x->st ? x->st->reader : 0, open;

	err = state_check(x, err);
	if (err)
		return err;
	x->st->reader = getpid();
	/* What is kept for the report to come must do for any. */
	err = reader_open(x, t->look ? LEVEL_TASK : level, names);
	if (err)
		return why__put(&x->why, err, "cannot open what is pinned at %s: %s", x->dir.path,
				strerror(-err));
	open = x->rd.ctl->epoch;
	x->bss->keep.told = x->st->told; /* a reader may have died in between */
	if (open != x->st->told + 1 && open != x->st->told + 2)
		return why__put(&x->why, -EPROTO,
				"%s is out of step (window %u, told %u): stop it and start anew",
				x->dir.path, open, x->st->told);
	if (open == x->st->told + 2)
		err = finish_last(x, t, dead);
	if (err)
		return err;
	end_now(x, t->look);
	for (int i = 0; x->rd.late && i < LATE_N; i++) { /* it is a part of what it reports */
		*(volatile uint32_t *)&x->st->look = x->rd.win.epoch;
		err = keep(x, false);
		if (err)
			return err;
		end_now(x, t->look);
	}
	if (!t->look)
		return tell(x, t);
	err = keep(x, false);
	return err ? err : show(x, t, ledger__total(&x->ledger));
}

int resident__report(const struct opts *o, enum report_level level, struct names *names,
		     int (*print)(void *ctx, const struct report *r), void *ctx, char *why,
		     size_t len)
{
	const struct telling t = {level, o->depth, o->since_start, print, ctx};
	struct resident x;
	int err;

	resident_init(&x, o, why, len);
	err = lock(&x, false);
	if (!err)
		err = report_locked(&x, &t, names);
	resident_close(&x);
	return err;
}

/* ---- status ---- */

static void print_time(FILE *f, uint64_t wall, uint64_t ago)
{
	time_t t = wall / 1000000000ULL;
	char buf[64] = "?";
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(buf, sizeof(buf), "%F %T %z", &tm);
	ago /= 1000000000ULL;
	fprintf(f, "%s, %llu:%02llu:%02llu ago", buf, (unsigned long long)ago / 3600,
		(unsigned long long)ago / 60 % 60, (unsigned long long)ago % 60);
}

static void print_events(FILE *f, uint32_t events)
{
	static const char *const names[] = {"sched", "syscalls", "irqs", "softirqs", "hcalls"};
	const char *comma = "";

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(events & (1U << i)))
			continue;
		fprintf(f, "%s%s", comma, names[i]);
		comma = ",";
	}
}

/* Task records that hold a live task, and those that hold an ended one. */
static void count_records(const struct bpf_reader *r, uint32_t *live, uint32_t *ended)
{
	*live = *ended = 0;
	for (uint32_t i = SLOT_FIRST(r->ncpus); i < r->t.ntasks; i++) {
		if (!(r->t.tasks[i].tag >> 32) || !r->t.tasks[i].id.tid)
			continue;
		if (r->t.tasks[i].id.end)
			++*ended;
		else
			++*live;
	}
}

static void print_cost(const struct bpf_reader *r, FILE *f)
{
	uint64_t runs = 0, ns = 0, events = 0;
	uint32_t live, ended;

	for (size_t i = 0; i < r->nr_progs; i++) {
		struct bpf_prog_info info = {0};
		__u32 len = sizeof(info);

		if (bpf_obj_get_info_by_fd(r->progs[i], &info, &len))
			continue;
		runs += info.run_cnt;
		ns += info.run_time_ns;
	}
	for (uint32_t i = 0; i < r->ncpus; i++)
		events += r->t.cpus[i].events + r->t.cpus[i].irq_events;
	count_records(r, &live, &ended);
	fprintf(f, "memory    %.1f MiB in %zu maps\n", bpf_reader__map_bytes(r) / 1048576.0,
		r->nr_maps - 5);
	fprintf(f, "records   %u live and %u ended tasks, of %u\n", live, ended,
		r->t.ntasks - SLOT_FIRST(r->ncpus));
	fprintf(f, "events    %llu, system calls aside\n", (unsigned long long)events);
	if (runs)
		fprintf(f, "programs  %zu, counted %llu runs, %.3f s\n", r->nr_progs,
			(unsigned long long)runs, ns / 1e9);
	else
		fprintf(f,
			"programs  %zu; their time is counted with sysctl "
			"kernel.bpf_stats_enabled=1\n",
			r->nr_progs);
}

static void print_status(const struct resident *x, FILE *f)
{
	const struct resident_state *st = x->st;
	const struct resident_told *t = &st->t[st->told & 1];
	uint64_t now = clock_ns();
	char version[32];

	starter_version(x, version, sizeof(version));
	fprintf(f, "instance  %s, by utilbpf %s\n", x->dir.path, version);
	fputs("started   ", f);
	print_time(f, st->started_wall, now - st->started);
	fprintf(f, ", by pid %u\naccounts  ", st->starter);
	print_events(f, st->events);
	fprintf(f, " on %u CPUs\nreports   %llu; ", st->ncpus, (unsigned long long)t->index);
	fputs("the open window began ", f);
	print_time(f, st->started_wall + (t->start - st->started), now - t->start);
	fputs("\n", f);
	if (x->bss->ctl.epoch > st->told + 1)
		fprintf(f, "a window has ended and is not told: pid %u reads, or was killed\n",
			st->reader);
}

int resident__status(const struct opts *o, FILE *f, char *why, size_t len)
{
	struct resident x;
	int err, no_lock;

	resident_init(&x, o, why, len);
	/* It only looks: no waiting for a reader. But a start that has the lock is under way. */
	no_lock = rdir__lock(&x.dir, false, 0, &x.why);
	err = no_lock && no_lock != -EBUSY ? no_lock : state_open(&x);
	if (!err && no_lock && x.st->phase != PHASE_RUNNING)
		err = why__put(&x.why, -EBUSY, "%s is just being started, by pid %u", x.dir.path,
			       x.st->starter);
	else if (!no_lock || no_lock == -EBUSY)
		err = state_check(&x, err);
	if (!err) {
		x.rd.ncpus = x.st->ncpus;
		x.rd.online = calloc(x.rd.ncpus, sizeof(*x.rd.online));
		err = x.rd.online ? reader_objects(&x) : -ENOMEM;
		if (!err)
			err = bpf_reader__map(&x.rd);
		if (!err)
			err = bpf_table__refresh(&x.rd.cpus);
		if (err)
			why__put(&x.why, err, "cannot open what is pinned at %s: %s", x.dir.path,
				 strerror(-err));
	}
	if (!err) {
		print_status(&x, f);
		print_cost(&x.rd, f);
	}
	resident_close(&x);
	return err;
}
