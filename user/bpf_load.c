// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading of the BPF programs: see bpf_load.h. Which are loaded and in what flavour is told by one
 * table of features; how large the maps are, by the live threads, the CPUs and the limit.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACCT_READER
#include "../bpf/acct.h"
#include "bpf_load.h"
#include "bpf_probe.h"
#include "bpf_select.h"
#include "engine.h"
#include "engine_util.h"

/* ---- what is loaded ---- */

struct feature {
	const char *tp;	 /* tracepoint */
	uint32_t events; /* EV_*: loaded when asked for */
	bool optional;	 /* some kernels lack it */
};

static const struct feature features[] = {
	{"sched_switch", EV_SCHED, false},	   {"sched_wakeup", EV_SCHED, false},
	{"sched_migrate_task", EV_SCHED, false},   {"sched_process_fork", EV_SCHED, false},
	{"sched_process_exec", EV_SCHED, false},   {"sched_process_exit", EV_SCHED, false},
	{"task_rename", EV_SCHED, true},	   {"sys_enter", EV_SYSCALLS, false},
	{"sys_exit", EV_SYSCALLS, false},	   {"irq_handler_entry", EV_IRQS, false},
	{"irq_handler_exit", EV_IRQS, false},	   {"softirq_entry", EV_SOFTIRQS, false},
	{"softirq_exit", EV_SOFTIRQS, false},	   {"hcall_entry", EV_HCALLS, true},
	{"hcall_exit", EV_HCALLS, true},	   {"cgroup_attach_task", EV_SCHED, true},
	{"cgroup_transfer_tasks", EV_SCHED, true}, {"cgroup_mkdir", EV_SCHED, true},
	{"cgroup_rmdir", EV_SCHED, true},	   {"cpuhp_exit", EV_SCHED, true},
};
#define NR_FEATURES (sizeof(features) / sizeof(features[0]))

/* tp_btf programs ask for the current task with its type: since 5.11, 3ca1032ab7ab ("bpf: Add
 * bpf_get_current_task_btf() helper"). Where that is missing all are raw_tp. */
static bool have_tp_btf(const char *tp)
{
	static int current = -1;

	if (current < 0)
		current = !engine__without("tp_btf") &&
			  bpf_probe__helper("BPF_FUNC_get_current_task_btf");
	return current && bpf_probe__tp_args(tp, 0);
}

static struct bpf_program *program(struct bpf_load *l, const char *flavour, const char *tp)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", flavour, tp);
	return bpf_object__find_program_by_name(l->skel->obj, name);
}

/*
 * hcall tracepoints exist on powerpc only; raw_tp has no list to look into but this architecture's.
 * task_rename reads a string by address, which lockdown=confidentiality refuses: without it tasks
 * keep the name that they had when they were first seen, or exec'ed.
 */
static bool wanted(const struct bpf_load *l, const struct feature *f)
{
	if (!(f->events & (l->o->events | EV_SCHED)))
		return false;
	if (!strcmp(f->tp, "task_rename") && !l->skel->rodata->have_probe_read)
		return false;
	return f->events != EV_HCALLS || l->skel->rodata->machine == MACHINE_PPC;
}

static struct bpf_program *seed_cpu(struct bpf_load *l)
{
	return program(l, have_tp_btf("sched_switch") ? "btf" : "raw", "seed_cpu");
}

static void select_programs(struct bpf_load *l)
{
	for (size_t i = 0; i < NR_FEATURES; i++) {
		if (!wanted(l, &features[i]))
			continue;
		bpf_program__set_autoload(
			program(l, have_tp_btf(features[i].tp) ? "btf" : "raw", features[i].tp),
			true);
	}
	bpf_program__set_autoload(l->skel->progs.seed_tasks, true);
	bpf_program__set_autoload(seed_cpu(l), true);
	bpf_program__set_autoload(l->skel->progs.fill_free, true);
	/* A resident instance has no loader. */
	bpf_program__set_autoload(l->skel->progs.free_slot, l->o->action != ACTION_START);
}

/* Only where every program that looks for a task's link can do so: raw_tp ones cannot. */
static bool storage_usable(uint32_t events)
{
	for (size_t i = 0; i < NR_FEATURES; i++)
		if (features[i].events & (EV_SCHED | (events & EV_SYSCALLS)) &&
		    !have_tp_btf(features[i].tp))
			return false;
	return !engine__without("task_storage") &&
	       libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) > 0;
}

static void configure(struct bpf_load *l)
{
	l->skel->rodata->machine = bpf_probe__machine();
	l->skel->rodata->ncpus = l->rd->ncpus;
	l->skel->rodata->command_pid = l->command;
	bpf_select__configure(l);
	l->skel->rodata->have_prev_state = bpf_probe__tp_args("sched_switch", 4);
	l->skel->rodata->have_storage = storage_usable(l->o->events);
	l->rd->unpunctual = engine__without("punctuality");
	l->skel->rodata->have_probe_read = !engine__without("probe_read") && bpf_probe__read();
	l->skel->rodata->calls_told = l->o->events & EV_SYSCALLS;
}

/* ---- sizes ---- */

struct sizes {
	uint64_t tasks, calls, rows, icalls;
};

static uint64_t sizes_bytes(const struct sizes *s)
{
	return s->tasks * (sizeof(struct acct_task) + 4) +
	       s->calls * (sizeof(struct acct_call) + HASH_BYTES) +
	       s->icalls * (sizeof(struct acct_call) + HASH_BYTES) +
	       s->rows * (sizeof(struct acct_row) + HASH_BYTES);
}

static uint64_t scaled(uint64_t v, uint64_t have, uint64_t need, uint64_t least)
{
	v = have < need ? (uint64_t)((__uint128_t)v * have / need) : v;
	return v > least ? v : least;
}

/* From the live threads and CPUs; scaled down to the limit, by default a 32nd of memory. */
static void sizes_choose(const struct bpf_load *l, uint64_t limit, struct sizes *s)
{
	uint64_t t = bpf_reader__live_threads(), need;
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	uint64_t fixed = SLOT_FIRST(l->rd->ncpus);

	s->tasks = 2 * t + 4096;
	s->calls = 8 * s->tasks; /* of which the live ones, a half, have 16 */
	/* A slot keeps its rows: without one for each CPU, a busy table runs out of them. */
	s->rows = s->tasks * (l->rd->ncpus > 8 ? 8 : l->rd->ncpus);
	s->icalls = 4 * t + 4096;
	need = sizes_bytes(s);
	if (!limit)
		limit = ram / 32;
	s->tasks = fixed + scaled(s->tasks, limit, need, 64);
	s->calls = CHUNK * (l->rd->ncpus + 1) + scaled(s->calls, limit, need, 64);
	s->rows = CHUNK * (l->rd->ncpus + 1) + scaled(s->rows, limit, need, 64);
	s->icalls = CHUNK * 3 * (l->rd->ncpus + 1) + scaled(s->icalls, limit, need, 64);
}

static void size_map(struct bpf_map *m, uint64_t n)
{
	bpf_map__set_max_entries(m, n);
}

static void show_table(struct bpf_table *t, const struct bpf_map *m)
{
	t->fd = bpf_map__fd(m);
	t->n = bpf_map__max_entries(m);
	t->copied = !(bpf_map__map_flags(m) & BPF_F_MMAPABLE);
}

/* Less than the n-th part of a table is few. */
static void size_reserve(struct utilbpf_bpf *k, const struct sizes *s, uint64_t n)
{
	k->rodata->reserve.tasks = s->tasks / n;
	k->rodata->reserve.calls = s->calls / n;
	k->rodata->reserve.rows = s->rows / n;
	k->rodata->reserve.icalls = s->icalls / n;
}

/* What only a resident instance has. */
static void size_resident(struct utilbpf_bpf *k, const struct sizes *s)
{
	size_map(k->maps.ended_even, s->tasks);
	size_map(k->maps.ended_odd, s->tasks);
	size_map(k->maps.folds, s->tasks / 4 + 64);
	k->rodata->resident = true;
	size_reserve(k, s, 8);
}

static void size_maps(struct bpf_load *l, const struct sizes *s, bool hcalls)
{
	struct utilbpf_bpf *k = l->skel;

	/* The programs of hypervisor calls may touch no mappable array: see maps.bpf.h. */
	k->rodata->cpus_near =
		!hcalls && l->rd->ncpus <= CPUS_NEAR && !engine__without("near_cpus");
	/* More than one, or its reader would take them for near. */
	size_map(k->maps.cpus, k->rodata->cpus_near ? 1 : l->rd->ncpus + 1);
	size_map(k->maps.tasks, s->tasks);
	size_map(k->maps.calls, s->calls);
	size_map(k->maps.rows, s->rows);
	size_map(k->maps.icalls, s->icalls);
	size_map(k->maps.call_index, s->calls + s->rows);
	size_map(k->maps.icall_index, s->icalls);
	size_map(k->maps.free_tasks, s->tasks);
	/* Records come back one by one. */
	size_map(k->maps.free_calls, s->calls);
	size_map(k->maps.free_rows, s->rows);
	size_map(k->maps.free_icalls, s->icalls);
	size_map(k->maps.icall_lists, s->tasks);
	size_reserve(k, s, 4);
	bpf_select__size(l);
	if (k->rodata->have_storage) {
		size_map(k->maps.links_hash, 1);
		bpf_map__set_max_entries(k->maps.links, 0);
	} else {
		size_map(k->maps.links_hash, 2 * s->tasks + 1024);
		bpf_map__set_autocreate(k->maps.links, false);
	}
	if (hcalls) {
		bpf_map__set_map_flags(k->maps.cpus, 0);
		bpf_map__set_map_flags(k->maps.icalls, 0);
	}
}

/* After loading: where the reader finds what it reads. */
static void show_tables(struct bpf_load *l)
{
	const struct utilbpf_bpf *k = l->skel;
	struct bpf_reader *r = l->rd;

	r->cpus.value = sizeof(struct acct_cpu);
	r->tasks.value = sizeof(struct acct_task);
	r->calls.value = r->icalls.value = sizeof(struct acct_call);
	r->rows.value = sizeof(struct acct_row);
	show_table(&r->cpus, k->maps.cpus);
	show_table(&r->tasks, k->maps.tasks);
	show_table(&r->calls, k->maps.calls);
	show_table(&r->rows, k->maps.rows);
	show_table(&r->icalls, k->maps.icalls);
	r->ctl = &k->bss->ctl;
	r->near_cpus = k->bss->near_cpus;
	r->hctl = bpf_map__fd(k->maps.hctl);
	r->seed_cpu = bpf_program__fd(seed_cpu(l));
	r->moves_fd = bpf_map__fd(k->maps.moves);
	r->paths_fd = bpf_map__fd(k->maps.group_paths);
	bpf_reader__watch(r, l->o->events);
}

/* ---- tables ---- */

/*
 * Fills a table's free records in: those from `first` on, `step` at a time, below n. From the top
 * down, so that the lowest come out first: what is in use stays dense.
 */
static int fill(struct bpf_load *l, enum acct_fill table, uint32_t first, uint32_t n, uint32_t step)
{
	uint32_t left = (n - first) / step, top = first + left * step;
	int fd = bpf_program__fd(l->skel->progs.fill_free), err = 0;

	while (left && !err) {
		uint32_t part = left < FILL_MAX ? left : FILL_MAX;
		__u64 ctx[] = {table, top, step, part};
		LIBBPF_OPTS(bpf_test_run_opts, o, .ctx_in = ctx, .ctx_size_in = sizeof(ctx));

		err = bpf_prog_test_run_opts(fd, &o);
		if (!err && o.retval)
			err = -E2BIG;
		top -= part * step;
		left -= part;
	}
	return err;
}

static uint32_t in_chunks(uint32_t first, uint32_t n)
{
	return (n - first) / CHUNK * CHUNK;
}

/* The system's own fold record, the lock that folding takes, and how many slots are free. */
static int prepare_folds(struct bpf_load *l, uint32_t slot)
{
	const struct acct_fold_key k = {.kind = FOLD_SYSTEM};
	struct utilbpf_bpf *s = l->skel;
	struct bpf_reader *r = l->rd;
	struct acct_task *t = (struct acct_task *)r->tasks.mem + slot;

	t->tag = GEN_FIXED | ACCT_WARMUP;
	t->st.cls = AC_NONE;
	t->st.key = t->bank[0].open_key = t->bank[1].open_key = KEY_NO_CALL;
	t->id.sel = SEL_FOLD;
	t->id.leader_start = UINT64_MAX; /* apart from what found no record at all */
	s->bss->keep.told = ACCT_WARMUP;
	s->bss->keep.tasks = r->tasks.n - slot - 1;
	if (bpf_map_update_elem(bpf_map__fd(s->maps.fold_lock), NULL, &slot, BPF_ANY))
		return -errno;
	return bpf_map_update_elem(bpf_map__fd(s->maps.folds), &k, &slot, BPF_ANY) ? -errno : 0;
}

static int prepare_tables(struct bpf_load *l)
{
	struct bpf_reader *r = l->rd;
	uint32_t first;
	int err;

	show_tables(l);
	err = bpf_reader__map(r);
	if (err)
		return err;
	/*
	 * Reading them all brings their pages into powerpc's hash page table now; in a hypervisor
	 * call's program the first touch would be a hypervisor call itself, and a kernel warning.
	 */
	err = bpf_table__refresh(&r->cpus);
	if (!err)
		err = bpf_table__refresh(&r->icalls);
	if (err)
		return err;
	acct_fixed_slots(r->tasks.mem, r->ncpus);
	first = SLOT_FIRST(r->ncpus);
	l->skel->bss->keep = (struct acct_keep){
		.calls = in_chunks(CALL_OTHER(r->ncpus), r->calls.n),
		.rows = in_chunks(ROW_OTHER(r->ncpus), r->rows.n),
		.icalls = in_chunks(ICALL_OTHER(r->ncpus, 0), r->icalls.n),
	};
	if (l->o->action == ACTION_START)
		err = prepare_folds(l, first++);
	if (!err)
		err = fill(l, FILL_TASKS, first, r->tasks.n, 1);
	if (!err)
		err = fill(l, FILL_CALLS, CALL_OTHER(r->ncpus), r->calls.n, CHUNK);
	if (!err)
		err = fill(l, FILL_ROWS, ROW_OTHER(r->ncpus), r->rows.n, CHUNK);
	if (!err)
		err = fill(l, FILL_ICALLS, ICALL_OTHER(r->ncpus, 0), r->icalls.n, CHUNK);
	return err;
}

/* ---- loading ---- */

int bpf_load__fail(struct bpf_load *l, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->why, l->why_len, fmt, ap);
	va_end(ap);
	return err;
}

const char *bpf_load__advice(int err)
{
	if (err != -ENOSYS && engine__locked_down())
		return "the kernel is locked down (confidentiality): boot it with a lower "
		       "lockdown=";
	switch (-err) {
	case EPERM:
		return "run as root, or with CAP_BPF and CAP_PERFMON";
	case ENOSYS:
		return "this kernel is built without bpf(2)";
	case ENOMEM:
		return "give less with --mem-limit";
	}
	if (!bpf_probe__btf())
		return "this kernel has no BTF (/sys/kernel/btf/vmlinux)";
	if (err == -EACCES || err == -EINVAL)
		return "the kernel's verifier refused a program, see -v -v; or run as root";
	return "see -v -v for what the kernel said";
}

static int attach(struct bpf_load *l)
{
	l->links = calloc(NR_FEATURES, sizeof(*l->links));
	if (!l->links)
		return bpf_load__fail(l, -ENOMEM, "cannot attach: out of memory");
	for (size_t i = 0; i < NR_FEATURES; i++) {
		const struct feature *f = &features[i];
		bool btf = have_tp_btf(f->tp);
		struct bpf_link *link;

		if (!wanted(l, f))
			continue;
		link = bpf_program__attach(program(l, btf ? "btf" : "raw", f->tp));
		if (!link && !f->optional)
			return bpf_load__fail(l, -errno, "cannot attach to tracepoint %s: %s; %s",
					      f->tp, strerror(errno), bpf_load__advice(-errno));
		if (link)
			l->links[l->nr_links++] = (struct bpf_attached){link, f->tp};
		if (l->o->verbose)
			fprintf(stderr, "utilbpf: %s %s\n", f->tp,
				!link ? "is not there"
				: btf ? "by tp_btf"
				      : "by raw_tp");
	}
	return 0;
}

static int print_none(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level, (void)fmt, (void)ap;
	return 0;
}

static int print_all(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, ap);
}

/* For what they cost. */
static int list_objects(struct bpf_load *l)
{
	struct bpf_reader *r = l->rd;
	struct bpf_program *p;
	struct bpf_map *m;
	size_t n = 0;

	bpf_object__for_each_map(m, l->skel->obj) n++;
	bpf_object__for_each_program(p, l->skel->obj) n++;
	r->maps = calloc(n, sizeof(*r->maps));
	r->progs = calloc(n, sizeof(*r->progs));
	if (!r->maps || !r->progs)
		return -ENOMEM;
	bpf_object__for_each_map(m, l->skel->obj)
	{
		if (bpf_map__fd(m) >= 0)
			r->maps[r->nr_maps++] = bpf_map__fd(m);
	}
	bpf_object__for_each_program(p, l->skel->obj)
	{
		if (bpf_program__fd(p) >= 0)
			r->progs[r->nr_progs++] = bpf_program__fd(p);
	}
	return 0;
}

/* alone: cold paths are verified by themselves. Returns what loading returns. */
static int load(struct bpf_load *l, bool alone)
{
	struct sizes s;
	int err;

	l->skel = utilbpf_bpf__open();
	if (!l->skel)
		return bpf_load__fail(l, -errno, "cannot open the BPF object: %s; %s",
				      strerror(errno), bpf_load__advice(-errno));
	configure(l);
	select_programs(l);
	sizes_choose(l, l->o->mem_limit, &s);
	size_maps(l, &s, l->skel->rodata->machine == MACHINE_PPC && (l->o->events & EV_HCALLS));
	if (l->o->action == ACTION_START)
		size_resident(l->skel, &s);
	if (!alone)
		bpf_probe__functions_static(l->skel->obj);
	err = utilbpf_bpf__load(l->skel);
	if (err == -ESRCH && !bpf_probe__btf())
		return bpf_load__fail(l, err,
				      "cannot load the BPF programs: this kernel has no BTF in "
				      "/sys/kernel/btf/vmlinux; use one that is built with "
				      "CONFIG_DEBUG_INFO_BTF");
	if (err)
		return bpf_load__fail(l, err, "cannot load the BPF programs: %s; %s",
				      strerror(-err), bpf_load__advice(err));
	return 0;
}

int bpf_load__open(struct bpf_load *l)
{
	bool alone = !engine__without("global_functions");
	int err;

	libbpf_set_print(l->o->verbose > 1 ? print_all : print_none);
	err = load(l, alone);
	if (err == -EINVAL && alone) {
		utilbpf_bpf__destroy(l->skel);
		err = load(l, false);
	}
	if (err)
		return err;
	err = prepare_tables(l);
	if (!err)
		err = list_objects(l);
	if (err)
		return bpf_load__fail(l, err, "cannot set up the tables: %s; %s", strerror(-err),
				      bpf_load__advice(err));
	/* From now on tables fill up. A server is not to be first with all that it is asked. */
	l->realtime = l->o->action != ACTION_SERVE;
	if (l->realtime)
		engine__realtime(true);
	err = attach(l);
	return err ? err : bpf_select__fill(l);
}

void bpf_load__close(struct bpf_load *l)
{
	if (l->realtime) /* a server's filter would refuse that */
		engine__realtime(false);
	if (l->skel && l->skel->bss && !l->keep)
		*(volatile __u32 *)&l->skel->bss->ctl.epoch = 0;
	for (size_t i = 0; i < l->nr_links; i++)
		bpf_link__destroy(l->links[i].link);
	free(l->links);
	bpf_reader__unmap(l->rd);
	utilbpf_bpf__destroy(l->skel);
}

static const char *yes_no(bool v)
{
	return v ? "yes" : "no";
}

void engine_bpf__features(FILE *f)
{
	libbpf_set_print(print_none);
	fprintf(f, "engine bpf, libbpf %s\n", libbpf_version_string());
	fprintf(f, "kernel BTF: %s\n", yes_no(have_tp_btf("sched_switch")));
	fprintf(f, "task storage: %s\n",
		yes_no(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) > 0));
	for (size_t i = 0; i < NR_FEATURES; i++)
		fprintf(f, "tracepoint %s: %s\n", features[i].tp,
			have_tp_btf(features[i].tp) ? "tp_btf" : "raw_tp, or none");
}
