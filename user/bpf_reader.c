// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows over the programs' tables: see bpf_reader.h. It neither loads nor attaches anything.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ACCT_READER
#include "../bpf/acct.h"
#include "bpf_reader.h"
#include "clock.h"
#include "engine_util.h"
#include "opts.h"

/* ---- tables ---- */

static size_t table_bytes(const struct bpf_table *t)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (t->value * t->n + page - 1) / page * page;
}

static int table_map(struct bpf_table *t)
{
	if (t->copied) {
		t->mem = calloc(t->n, t->value);
		return t->mem ? 0 : -ENOMEM;
	}
	t->mem = mmap(NULL, table_bytes(t), PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	if (t->mem == MAP_FAILED) {
		t->mem = NULL;
		return -errno;
	}
	t->mapped = true;
	return 0;
}

static void table_unmap(struct bpf_table *t)
{
	if (t->mapped)
		munmap(t->mem, table_bytes(t));
	else
		free(t->mem);
	t->mem = NULL;
}

/* One system call for all; no record of its own is touched on other CPUs. */
int bpf_table__refresh(struct bpf_table *t)
{
	__u32 next, n = t->n;
	__u32 *keys;
	int err;

	if (!t->copied)
		return 0;
	keys = malloc(t->n * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	err = bpf_map_lookup_batch(t->fd, NULL, &next, keys, t->mem, &n, NULL);
	for (__u32 i = 0; err && err != -ENOENT && i < t->n; i++) { /* kernels without batches */
		err = bpf_map_lookup_elem(t->fd, &i, (char *)t->mem + i * t->value);
		if (err)
			break;
	}
	free(keys);
	return err == -ENOENT ? 0 : err;
}

static int noted_path(void *ctx, uint64_t id, char *path, size_t len)
{
	struct bpf_reader *r = ctx;
	struct acct_path noted;

	if (r->paths_fd < 0)
		return -ENOENT;
	if (bpf_map_lookup_elem(r->paths_fd, &id, &noted))
		return -errno;
	snprintf(path, len, "%.*s", (int)sizeof(noted.s), noted.s);
	return 0;
}

int bpf_reader__map(struct bpf_reader *r)
{
	struct bpf_table *all[] = {&r->cpus, &r->tasks, &r->calls, &r->rows, &r->icalls};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(all) / sizeof(all[0]); i++)
		err = table_map(all[i]);
	if (err)
		return err;
	if (r->names) /* `status` names nothing */
		names__set_noted(r->names, noted_path, r);
	r->t = (struct tables){r->ncpus,
			       r->online,
			       r->cpus.n == 1 ? r->near_cpus : r->cpus.mem,
			       r->tasks.mem,
			       r->tasks.n,
			       r->calls.mem,
			       r->calls.n,
			       r->rows.mem,
			       r->rows.n,
			       r->icalls.mem,
			       r->icalls.n,
			       0,
			       NULL,
			       0};
	return 0;
}

void bpf_reader__unmap(struct bpf_reader *r)
{
	table_unmap(&r->cpus);
	table_unmap(&r->tasks);
	table_unmap(&r->calls);
	table_unmap(&r->rows);
	table_unmap(&r->icalls);
	if (r->names)
		names__set_noted(r->names, NULL, NULL);
	free(r->moves);
	free(r->maps);
	free(r->progs);
	r->maps = r->progs = NULL;
}

/* ---- boundaries ---- */

/* Makes the start of window `epoch` known to programs that look for it: not yet to all. */
static void publish_time(struct bpf_reader *r, uint32_t epoch, uint64_t start)
{
	__u32 zero = 0;

	r->ctl->start[epoch & 3] = start;
	bpf_map_update_elem(r->hctl, &zero, r->ctl, BPF_ANY);
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * After that: the number that makes it count. When this process is held up between its last look at
 * the clock and this store, programs have put time past the boundary into the window before it.
 */
static void publish_epoch(struct bpf_reader *r, uint32_t epoch)
{
	uint64_t start = r->ctl->start[epoch & 3];
	__u32 zero = 0;

	if (r->unpunctual && !(epoch & 1))
		clock_sleep_until(start + SETTLE_NS);
	*(volatile __u32 *)&r->ctl->epoch = epoch;
	bpf_map_update_elem(r->hctl, &zero, r->ctl, BPF_ANY);
	r->late = clock_ns();
	if (r->late < start)
		r->late = 0;
}

void bpf_reader__publish(struct bpf_reader *r, uint32_t epoch, uint64_t start)
{
	publish_time(r, epoch, start);
	publish_epoch(r, epoch);
}

/* True when nothing has told what the CPU's task does, though system calls are watched: it may be
 * long gone. */
static bool doubtful(const struct bpf_reader *r, uint32_t cpu)
{
	uint32_t slot = r->t.cpus[cpu].slot;

	return slot >= r->t.ntasks || !slot || r->t.tasks[slot].st.cls == AC_BUSY;
}

int bpf_reader__seat(struct bpf_reader *r, bool all)
{
	int err = 0;

	for (uint32_t i = 0; i < r->ncpus && !err; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, o, .cpu = i, .flags = BPF_F_TEST_RUN_ON_CPU);

		if (r->online[i] && (all || doubtful(r, i)))
			err = bpf_prog_test_run_opts(r->seed_cpu, &o);
		if (err == -ENXIO) { /* went offline just now */
			r->online[i] = false;
			err = 0;
		}
	}
	return err;
}

/*
 * An end counts once its number is stored; what programs have done after it before that is in the
 * wrong window. So when the loader was kept from its CPU in between, a later end is taken.
 */
static void set_end(struct bpf_reader *r, uint64_t end)
{
	uint32_t next = r->win.epoch + 1;

	publish_time(r, next, end);
	while (r->ctl->epoch != next && clock_ns() + AHEAD_NS / 2 > end) {
		end = clock_ns() + AHEAD_NS;
		publish_time(r, next, end);
	}
	publish_epoch(r, next);
	r->win.end = end;
}

void bpf_reader__announce(struct bpf_reader *r, uint64_t end)
{
	if (end > clock_ns() + AHEAD_NS)
		set_end(r, end);
}

#define SPINS 10000 /* some microseconds: what a program takes that nobody holds up */

/*
 * True when a program is in the middle of changing two records on this CPU, and may have read its
 * clock before the boundary: the one may have been told by the time it comes to the other. A
 * hypervisor may hold it up there for long.
 */
static bool within(const struct bpf_reader *r, uint32_t cpu)
{
	const volatile uint32_t *v = &r->t.cpus[cpu].within;

	for (int i = 0; i < SPINS && !r->cpus.copied; i++)
		if (!*v)
			return false;
	return *v;
}

/* True when whoever is on this CPU is past its sched_process_exit, but not its last switch. */
static bool exiting(const struct bpf_reader *r, uint32_t cpu)
{
	uint32_t slot = *(const volatile uint32_t *)&r->t.cpus[cpu].slot;
	const struct acct_task *t = &r->t.tasks[slot < r->t.ntasks ? slot : 0];

	return slot && slot < r->t.ntasks && (t->st.flags & AS_EXITING) && !t->id.end;
}

#define EXITING_N 100 /* an exit with much memory takes as long as it takes */

/* Waits, at most `times` a millisecond, until no CPU is in the middle of it. */
static void wait_for_cpus(struct bpf_reader *r, bool (*in_it)(const struct bpf_reader *, uint32_t),
			  uint32_t times)
{
	uint32_t i = 0;

	for (uint32_t n = 0; n < times; n++) {
		if (r->cpus.copied && bpf_table__refresh(&r->cpus))
			return;
		while (i < r->ncpus && !(r->online[i] && in_it(r, i)))
			i++;
		if (i == r->ncpus)
			return;
		clock_sleep_until(clock_ns() + HELD_UP_NS);
	}
}

void bpf_reader__settle(struct bpf_reader *r)
{
	clock_sleep_until((r->late ? r->late : r->win.end) + SETTLE_NS);
	wait_for_cpus(r, within, HELD_UP_N);
}

void bpf_reader__end(struct bpf_reader *r, uint64_t end)
{
	bool moved = r->ctl->moves != r->moves_told;
	uint64_t now;

	/* Who runs without any event has not heard of a move. */
	if ((r->watch_calls || moved) && !bpf_table__refresh(&r->cpus))
		bpf_reader__seat(r, moved);
	r->moves_before = r->moves_told;
	r->moves_told = r->ctl->moves;
	/*
	 * An end that nobody has announced is that of COMMAND, as a rule. Its parent hears of it
	 * before its last switch (exit_notify in kernel/exit.c), which a hypervisor may hold up:
	 * its exit is a call that has not ended until then.
	 */
	if (end != r->win.end)
		wait_for_cpus(r, exiting, EXITING_N);
	now = clock_ns();
	/* Until it has come, a published end may still be moved: programs go by the time. */
	if (end != r->win.end && (!r->win.end || r->win.end > now + AHEAD_NS))
		set_end(r, end < now + AHEAD_NS ? now + AHEAD_NS : end);
	bpf_reader__settle(r);
}

/* ---- quality and cost ---- */

/* Runs that the kernel refused because the same program was already running on the CPU. */
static void read_programs(struct bpf_reader *rd, struct report *r)
{
	uint64_t missed = 0, ns = 0;

	for (size_t i = 0; i < rd->nr_progs; i++) {
		struct bpf_prog_info info = {0};
		__u32 len = sizeof(info);

		if (bpf_obj_get_info_by_fd(rd->progs[i], &info, &len))
			continue;
		missed += info.recursion_misses;
		ns += info.run_time_ns;
	}
	r->quality.missed_runs = since_last(&rd->before.missed, missed);
	r->cost.bpf_run_ns = since_last(&rd->before.run_ns, ns);
	r->cost.have_run_ns = r->cost.bpf_run_ns != 0;
}

uint64_t bpf_reader__live_threads(void)
{
	unsigned long n = 0;
	FILE *f = fopen("/proc/loadavg", "re");

	if (f) {
		if (fscanf(f, "%*s %*s %*s %*u/%lu", &n) != 1)
			n = 0;
		fclose(f);
	}
	return n ? n : 1024;
}

uint64_t bpf_reader__map_bytes(const struct bpf_reader *rd)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rd->nr_maps; i++) {
		struct bpf_map_info info = {0};
		__u32 len = sizeof(info);
		uint64_t value, n;

		if (bpf_obj_get_info_by_fd(rd->maps[i], &info, &len))
			continue;
		value = info.value_size;
		n = info.max_entries;
		if (info.type == BPF_MAP_TYPE_TASK_STORAGE) {
			n = bpf_reader__live_threads();
			value += 64; /* the kernel's own part of an element */
		}
		if (info.type == BPF_MAP_TYPE_HASH)
			value = info.map_flags & BPF_F_NO_PREALLOC ? 0 : HASH_BYTES;
		sum += value * n;
	}
	return sum;
}

/* What no table was large enough for stays to be told: it is missing from the windows, too. */
void bpf_reader__forget_warmup(struct bpf_reader *rd)
{
	struct report r = {0};

	read_programs(rd, &r);
	for (uint32_t i = 0; i < rd->ncpus; i++) {
		const struct acct_cpu *c = &rd->t.cpus[i];

		rd->before.runs += c->events + c->irq_events;
		rd->before.unmatched += c->unmatched + c->irq_unmatched;
		/* a task whose past was not known: that lies before the windows */
		rd->before.lost += c->lost_tasks;
	}
}

static void fill_quality(struct bpf_reader *rd, struct report *r)
{
	uint64_t ev = 0, un = 0, dt = 0, dc = 0, lost = 0, folded = 0;

	for (uint32_t i = 0; i < rd->ncpus; i++) {
		const struct acct_cpu *c = &rd->t.cpus[i];

		ev += c->events + c->irq_events;
		un += c->unmatched + c->irq_unmatched;
		dt += c->dropped_tasks;
		dc += c->dropped_calls + c->irq_dropped;
		lost += c->lost_tasks;
		folded += c->folded;
	}
	r->cost.bpf_runs = since_last(&rd->before.runs, ev);
	/* The system call programs do not count themselves: their calls do. */
	for (size_t i = 0; i < r->sys_calls.n; i++)
		if (KEY_CLASS(r->sys_calls.v[i].key) == CALL_SYSCALL)
			r->cost.bpf_runs += 2 * r->sys_calls.v[i].count + r->sys_calls.v[i].open;
	r->quality.unmatched = since_last(&rd->before.unmatched, un);
	r->quality.dropped_tasks = since_last(&rd->before.dropped_tasks, dt);
	r->quality.dropped_calls = since_last(&rd->before.dropped_calls, dc);
	r->quality.lost_events = since_last(&rd->before.lost, lost);
	r->quality.folded_tasks = since_last(&rd->before.folded, folded);
	read_programs(rd, r);
}

/* ---- groups ---- */

/* The moves that the kernel has noted, for tasks that have had no event since. */
static int read_moves(struct bpf_reader *r)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	uint64_t key, *last = NULL;

	r->t.nmoves = 0;
	if (r->moves_fd < 0 || r->ctl->moves == r->moves_before)
		return 0;
	if (!r->moves) {
		if (bpf_obj_get_info_by_fd(r->moves_fd, &info, &len))
			return -errno;
		r->moves = calloc(info.max_entries, sizeof(*r->moves));
		if (!r->moves)
			return -ENOMEM;
		r->cap_moves = info.max_entries;
		r->t.moves = r->moves;
	}
	/* One that is evicted meanwhile makes the walk begin again: its end is the table's size. */
	while (r->t.nmoves < r->cap_moves && !bpf_map_get_next_key(r->moves_fd, last, &key)) {
		struct move *m = &r->moves[r->t.nmoves];

		m->key = key;
		last = &m->key;
		if (!bpf_map_lookup_elem(r->moves_fd, &key, &m->to))
			r->t.nmoves++;
	}
	return 0;
}

/* ---- a report ---- */

void bpf_reader__watch(struct bpf_reader *r, uint32_t events)
{
	static const struct {
		uint32_t events, classes;
	} what[] = {
		{EV_SYSCALLS, 1U << AC_USER | 1U << AC_SYS},
		{EV_IRQS, 1U << AC_IRQ},
		{EV_SOFTIRQS, 1U << AC_SOFTIRQ},
		{EV_HCALLS, 1U << AC_HV},
	};

	r->watch_calls = events & EV_SYSCALLS;
	/* where there are none, 0 is all that there is to tell */
	if (!engine__has_hcalls(NULL))
		events |= EV_HCALLS;
	r->absent = 0;
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		r->absent |= events & what[i].events ? 0 : what[i].classes;
}

/* A CPU that went or came in the ended window was not online for all of it. */
static void drop_partial(struct bpf_reader *rd)
{
	for (uint32_t i = 0; i < rd->ncpus; i++)
		if (rd->t.cpus[i].partial[rd->win.epoch & 1] == rd->win.epoch)
			rd->online[i] = false;
}

int bpf_reader__take(struct bpf_reader *rd, struct report *r)
{
	int err;

	memset(r, 0, sizeof(*r));
	r->index = rd->index++;
	r->engine = "bpf";
	r->selection = rd->selection;
	r->reason = "bpf is the default and works on this kernel";
	r->absent = rd->absent;
	clock_wall_of(rd->win.start, &r->start_wall);
	engine__host(r, rd->ncpus, rd->online);
	err = bpf_table__refresh(&rd->cpus);
	if (!err)
		err = bpf_table__refresh(&rd->icalls);
	if (!err)
		err = read_moves(rd);
	if (err)
		return err;
	drop_partial(rd);
	rd->win.late = rd->late;
	rd->win.loose |= !!rd->late;
	names__new_window(rd->names);
	names__load_irqs(rd->names, NULL);
	err = collect__window(rd->collect, &rd->t, &rd->win, r);
	fill_quality(rd, r);
	engine__cost(r, &rd->cpu_before);
	r->cost.map_bytes = bpf_reader__map_bytes(rd);
	rd->win = (struct window){
		.epoch = rd->win.epoch + 1, .start = rd->win.end, .loose = rd->late};
	engine__online(rd->online, rd->ncpus);
	return err;
}
