// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BPF engine: loads the programs that were asked for, sizes and maps their tables, seeds every
 * task, and moves the windows' boundaries.
 *
 * How a run begins: everything is attached with ctl.epoch 0, where programs do nothing. Epoch 1
 * is the warm-up: events are accounted, an iterator makes the records of all tasks that no event
 * has told of, and a short program run on each CPU seats whoever runs there. Then the first window
 * is opened as each later one is: by publishing its start a little ahead.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "collect.h"
#include "engine.h"
#include "engine_util.h"
#include "utilbpf.skel.h"

/* How far ahead of its time a boundary is published, and how long after it tables are read. */
#define AHEAD_NS 1000000ULL
/* So many ended tasks are worth a walk: their slots, and the calls that stay with those, are used
 * again soon. */
#define REAP_AT	  64
#define SETTLE_NS 2000000ULL

struct table {
	struct bpf_map *map;
	size_t value; /* bytes of a record */
	uint32_t n;   /* records */
	void *mem;    /* mapped, or a copy */
	bool mapped;
	bool copied; /* not mappable: copy it before reading */
};

struct engine {
	struct utilbpf_bpf *skel;
	struct bpf_link **links;
	size_t nr_links;
	struct names *names;
	struct collect *collect;
	struct table cpus, tasks, calls, rows, icalls;
	struct tables t;
	bool *online;
	uint32_t ncpus; /* possible */
	pid_t command;
	struct window win;
	uint64_t index;
	uint64_t exited;	/* taken in so far */
	uint64_t missed_before; /* recursion misses up to the last report */
	uint64_t lost_before[6];
	uint64_t cpu_before; /* loader's CPU time up to the last report */
	char *why;
	size_t why_len;
	uint64_t run_ns_before;
	int verbose;
	bool watch_calls; /* system calls tell what a running task does */
};

static int fail(struct engine *e, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->why, e->why_len, fmt, ap);
	va_end(ap);
	return err;
}

/* ---- what is loaded ---- */

struct feature {
	const char *tp;	 /* tracepoint */
	uint32_t events; /* EV_*: loaded when asked for */
	bool optional;	 /* some kernels lack it */
};

static const struct feature features[] = {
	{"sched_switch", EV_SCHED, false},	 {"sched_wakeup", EV_SCHED, false},
	{"sched_migrate_task", EV_SCHED, false}, {"sched_process_fork", EV_SCHED, false},
	{"sched_process_exec", EV_SCHED, false}, {"sched_process_exit", EV_SCHED, false},
	{"task_rename", EV_SCHED, true},	 {"sys_enter", EV_SYSCALLS, false},
	{"sys_exit", EV_SYSCALLS, false},	 {"irq_handler_entry", EV_IRQS, false},
	{"irq_handler_exit", EV_IRQS, false},	 {"softirq_entry", EV_SOFTIRQS, false},
	{"softirq_exit", EV_SOFTIRQS, false},	 {"hcall_entry", EV_HCALLS, true},
	{"hcall_exit", EV_HCALLS, true},
};
#define NR_FEATURES (sizeof(features) / sizeof(features[0]))

/* The kernel's BTF, read once: it is megabytes. NULL: it has none. */
static const struct btf *kernel_btf(void)
{
	static struct btf *btf;
	static bool tried;

	if (!tried) {
		btf = btf__load_vmlinux_btf();
		tried = true;
	}
	return btf;
}

static bool have_tp_btf(const char *tp)
{
	char name[64];

	snprintf(name, sizeof(name), "btf_trace_%s", tp);
	return kernel_btf() && btf__find_by_name_kind(kernel_btf(), name, BTF_KIND_TYPEDEF) > 0;
}

static struct bpf_program *program(struct engine *e, const char *flavour, const char *tp)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", flavour, tp);
	return bpf_object__find_program_by_name(e->skel->obj, name);
}

/* hcall tracepoints exist on powerpc only; raw_tp has no list to look into but this architecture's.
 */
static bool wanted(const struct feature *f, uint32_t events, bool ppc)
{
	if (!(f->events & (events | EV_SCHED)))
		return false;
	return f->events != EV_HCALLS || ppc;
}

static void select_programs(struct engine *e, uint32_t events, bool ppc)
{
	for (size_t i = 0; i < NR_FEATURES; i++) {
		if (!wanted(&features[i], events, ppc))
			continue;
		bpf_program__set_autoload(
			program(e, have_tp_btf(features[i].tp) ? "btf" : "raw", features[i].tp),
			true);
	}
	bpf_program__set_autoload(e->skel->progs.seed_tasks, true);
	bpf_program__set_autoload(e->skel->progs.seed_cpu, true);
}

/* True when the type `name` in the kernel's BTF is a pointer to a function of at least n arguments.
 */
static bool btf_function_args(const struct btf *btf, const char *name, unsigned int n)
{
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	t = t ? btf__type_by_id(btf, t->type) : NULL;
	if (!t || !btf_is_ptr(t))
		return false;
	t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) && btf_vlen(t) >= n;
}

static uint32_t machine(const struct utsname *u)
{
	if (!strcmp(u->machine, "x86_64") || !strcmp(u->machine, "i686"))
		return 1;
	if (!strcmp(u->machine, "aarch64"))
		return 2;
	return strncmp(u->machine, "ppc", 3) ? 0 : 3;
}

static bool configure(struct engine *e)
{
	struct utsname u;

	uname(&u);
	e->skel->rodata->machine = machine(&u);
	e->skel->rodata->ncpus = e->ncpus;
	e->skel->rodata->command_pid = e->command;
	/* void *data comes first: five with prev_state */
	e->skel->rodata->have_prev_state =
		btf_function_args(kernel_btf(), "btf_trace_sched_switch", 5);
	e->skel->rodata->have_storage =
		libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) > 0 &&
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_TRACING, BPF_FUNC_task_storage_get, NULL) !=
			0;
	e->skel->rodata->have_probe_read =
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_probe_read_kernel,
					NULL) != 0;
	return e->skel->rodata->machine == 3;
}

/* ---- sizes ---- */

struct sizes {
	uint64_t tasks, calls, rows, icalls;
};

static uint64_t live_threads(void)
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

#define HASH_BYTES 80 /* of a preallocated hash element with these keys, about */

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
static void sizes_choose(const struct engine *e, uint64_t limit, struct sizes *s)
{
	uint64_t t = live_threads(), need;
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	uint64_t fixed = 2 * e->ncpus + 1;

	s->tasks = 2 * t + 4096;
	s->calls = 16 * s->tasks;
	/* A slot keeps its rows: without one for each CPU, a busy table runs out of them. */
	s->rows = s->tasks * (e->ncpus > 8 ? 8 : e->ncpus);
	s->icalls = 4 * t + 4096;
	need = sizes_bytes(s);
	if (!limit)
		limit = ram / 32;
	s->tasks = fixed + scaled(s->tasks, limit, need, 64);
	s->calls = CHUNK * (e->ncpus + 1) + scaled(s->calls, limit, need, 64);
	s->rows = CHUNK * (e->ncpus + 1) + scaled(s->rows, limit, need, 64);
	s->icalls = CHUNK * 3 * (e->ncpus + 1) + scaled(s->icalls, limit, need, 64);
}

static void size_map(struct bpf_map *m, uint64_t n)
{
	bpf_map__set_max_entries(m, n);
}

static void size_maps(struct engine *e, const struct sizes *s, bool hcalls)
{
	struct utilbpf_bpf *k = e->skel;

	size_map(k->maps.cpus, e->ncpus);
	size_map(k->maps.tasks, s->tasks);
	size_map(k->maps.calls, s->calls);
	size_map(k->maps.rows, s->rows);
	size_map(k->maps.icalls, s->icalls);
	size_map(k->maps.call_index, s->calls + s->rows);
	size_map(k->maps.icall_index, s->icalls);
	size_map(k->maps.free_tasks, s->tasks);
	size_map(k->maps.free_calls, s->calls / CHUNK + 1);
	size_map(k->maps.free_rows, s->rows / CHUNK + 1);
	size_map(k->maps.free_icalls, s->icalls / CHUNK + 1);
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
	e->cpus = (struct table){k->maps.cpus, sizeof(struct acct_cpu), e->ncpus, NULL, 0, hcalls};
	e->tasks = (struct table){k->maps.tasks, sizeof(struct acct_task), s->tasks, NULL, 0, 0};
	e->calls = (struct table){k->maps.calls, sizeof(struct acct_call), s->calls, NULL, 0, 0};
	e->rows = (struct table){k->maps.rows, sizeof(struct acct_row), s->rows, NULL, 0, 0};
	e->icalls = (struct table){k->maps.icalls, sizeof(struct acct_call), s->icalls, NULL, 0,
				   hcalls};
}

/* ---- tables ---- */

static size_t table_bytes(const struct table *t)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (t->value * t->n + page - 1) / page * page;
}

static int table_map(struct table *t)
{
	if (t->copied) {
		t->mem = calloc(t->n, t->value);
		return t->mem ? 0 : -ENOMEM;
	}
	t->mem = mmap(NULL, table_bytes(t), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(t->map),
		      0);
	if (t->mem == MAP_FAILED) {
		t->mem = NULL;
		return -errno;
	}
	t->mapped = true;
	return 0;
}

static void table_unmap(struct table *t)
{
	if (t->mapped)
		munmap(t->mem, table_bytes(t));
	else
		free(t->mem);
	t->mem = NULL;
}

/* Brings a copied table up to date: one system call, no record of its own is touched on other CPUs.
 */
static int table_refresh(struct table *t)
{
	__u32 next, n = t->n;
	__u32 *keys;
	int err;

	if (!t->copied)
		return 0;
	keys = malloc(t->n * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	err = bpf_map_lookup_batch(bpf_map__fd(t->map), NULL, &next, keys, t->mem, &n, NULL);
	for (__u32 i = 0; err && err != -ENOENT && i < t->n; i++) { /* kernels without batches */
		err = bpf_map_lookup_elem(bpf_map__fd(t->map), &i, (char *)t->mem + i * t->value);
		if (err)
			break;
	}
	free(keys);
	return err == -ENOENT ? 0 : err;
}

static int push(struct bpf_map *stack, uint32_t v)
{
	return bpf_map_update_elem(bpf_map__fd(stack), NULL, &v, BPF_ANY);
}

/* From the top down, so that the lowest come out first: what is in use stays dense. */
static int fill_chunks(struct bpf_map *stack, uint32_t first, uint32_t n)
{
	uint32_t last = first + (n - first) / CHUNK * CHUNK;
	int err = 0;

	for (uint32_t i = last; !err && i > first; i -= CHUNK)
		err = push(stack, i - CHUNK);
	return err;
}

static void fixed_task(struct acct_task *t, uint32_t cpu, uint8_t mode)
{
	t->tag = GEN_FIXED | ACCT_WARMUP;
	t->cpu = cpu;
	t->st.cls = AC_NONE;
	t->st.mode = mode;
	t->st.flags = AS_RAN;
	t->st.key = KEY_NO_CALL;
	t->bank[0].cpu = t->bank[1].cpu = cpu;
	t->bank[0].open_key = t->bank[1].open_key = KEY_NO_CALL;
}

static int prepare_tables(struct engine *e)
{
	struct table *all[] = {&e->cpus, &e->tasks, &e->calls, &e->rows, &e->icalls};
	struct utilbpf_bpf *k = e->skel;
	struct acct_task *tasks;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(all) / sizeof(all[0]); i++)
		err = table_map(all[i]);
	if (err)
		return err;
	e->t = (struct tables){e->ncpus,   e->online,	  e->cpus.mem, e->tasks.mem,
			       e->tasks.n, e->calls.mem,  e->calls.n,  e->rows.mem,
			       e->rows.n,  e->icalls.mem, e->icalls.n};
	tasks = e->tasks.mem;
	for (uint32_t i = 0; i < e->ncpus; i++) {
		fixed_task(&tasks[SLOT_IDLE(i, e->ncpus)], i, AC_IDLE);
		fixed_task(&tasks[SLOT_OTHER(i, e->ncpus)], i, AC_BUSY);
	}
	for (uint32_t i = e->tasks.n; !err && i > SLOT_FIRST(e->ncpus); i--)
		err = push(k->maps.free_tasks, i - 1);
	if (!err)
		err = fill_chunks(k->maps.free_calls, CALL_OTHER(e->ncpus), e->calls.n);
	if (!err)
		err = fill_chunks(k->maps.free_rows, ROW_OTHER(e->ncpus), e->rows.n);
	if (!err)
		err = fill_chunks(k->maps.free_icalls, ICALL_OTHER(e->ncpus, 0), e->icalls.n);
	return err;
}

static void free_slot(void *ctx, uint32_t slot)
{
	struct engine *e = ctx;

	e->exited++;
	push(e->skel->maps.free_tasks, slot);
}

/* ---- windows ---- */

/* Publishes the start of window `epoch`: the time first, then the number that makes it known. */
static void publish(struct engine *e, uint32_t epoch, uint64_t start)
{
	struct acct_ctl *ctl = &e->skel->bss->ctl;
	__u32 zero = 0;

	ctl->start[epoch & 3] = start;
	bpf_map_update_elem(bpf_map__fd(e->skel->maps.hctl), &zero, ctl, BPF_ANY);
	atomic_thread_fence(memory_order_seq_cst);
	*(volatile __u32 *)&ctl->epoch = epoch;
	bpf_map_update_elem(bpf_map__fd(e->skel->maps.hctl), &zero, ctl, BPF_ANY);
}

/* ---- opening ---- */

static const char *advice(int err)
{
	switch (-err) {
	case EPERM:
	case EACCES:
		return "run as root, or with CAP_BPF and CAP_PERFMON";
	case ENOSYS:
		return "this kernel is built without bpf(2)";
	case ENOMEM:
		return "give less with --mem-limit";
	default:
		return "see -v for what the kernel said";
	}
}

static int attach(struct engine *e, uint32_t events, bool ppc)
{
	e->links = calloc(NR_FEATURES, sizeof(*e->links));
	if (!e->links)
		return fail(e, -ENOMEM, "cannot attach: out of memory");
	for (size_t i = 0; i < NR_FEATURES; i++) {
		const struct feature *f = &features[i];
		bool btf = have_tp_btf(f->tp);
		struct bpf_link *l;

		if (!wanted(f, events, ppc))
			continue;
		l = bpf_program__attach(program(e, btf ? "btf" : "raw", f->tp));
		if (!l && !f->optional)
			return fail(e, -errno, "cannot attach to tracepoint %s: %s; %s", f->tp,
				    strerror(errno), advice(-errno));
		if (l)
			e->links[e->nr_links++] = l;
		if (e->verbose)
			fprintf(stderr, "utilbpf: %s %s\n", f->tp,
				!l    ? "is not there"
				: btf ? "by tp_btf"
				      : "by raw_tp");
	}
	return 0;
}

static int run_iterator(struct engine *e)
{
	struct bpf_link *l = bpf_program__attach_iter(e->skel->progs.seed_tasks, NULL);
	char buf[64];
	int fd, err;

	if (!l)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(l));
	err = fd < 0 ? -errno : 0;
	while (fd >= 0) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno != EINTR && errno != EAGAIN) {
			err = -errno;
			break;
		}
		if (!n)
			break;
	}
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(l);
	return err;
}

/* True when nothing has told what the CPU's task does, though system calls are watched: it may be
 * long gone. */
static bool doubtful(const struct engine *e, uint32_t cpu)
{
	uint32_t slot = e->t.cpus[cpu].slot;

	return slot >= e->t.ntasks || !slot || e->t.tasks[slot].st.cls == AC_BUSY;
}

/* Seats whoever runs on each CPU, or on those whose task is doubtful. 0 or -errno. */
static int seat_cpus(struct engine *e, bool all)
{
	int fd = bpf_program__fd(e->skel->progs.seed_cpu), err = 0;

	for (uint32_t i = 0; i < e->ncpus && !err; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, o, .cpu = i, .flags = BPF_F_TEST_RUN_ON_CPU);

		if (e->online[i] && (all || doubtful(e, i)))
			err = bpf_prog_test_run_opts(fd, &o);
		if (err == -ENXIO) { /* went offline just now */
			e->online[i] = false;
			err = 0;
		}
	}
	return err;
}

static int first_window(struct engine *e)
{
	uint64_t start;
	int err;

	publish(e, ACCT_WARMUP, 0);
	err = run_iterator(e);
	if (err)
		return fail(e, err, "cannot visit the tasks (iter/task): %s; %s", strerror(-err),
			    advice(err));
	err = seat_cpus(e, true);
	if (!err)
		err = run_iterator(e);
	if (err)
		return fail(e, err, "cannot visit the CPUs: %s; %s", strerror(-err), advice(err));
	start = clock_ns() + AHEAD_NS;
	publish(e, ACCT_FIRST, start);
	e->win = (struct window){ACCT_FIRST, start, 0};
	clock_sleep_until(start + SETTLE_NS);
	err = table_refresh(&e->cpus);
	if (!err)
		err = collect__start(e->collect, &e->t, start);
	return err ? fail(e, err, "cannot start the first window: %s", strerror(-err)) : 0;
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

static void bpf_close(struct engine *e)
{
	if (!e)
		return;
	if (e->skel && e->skel->bss)
		*(volatile __u32 *)&e->skel->bss->ctl.epoch = 0;
	for (size_t i = 0; i < e->nr_links; i++)
		bpf_link__destroy(e->links[i]);
	free(e->links);
	table_unmap(&e->cpus);
	table_unmap(&e->tasks);
	table_unmap(&e->calls);
	table_unmap(&e->rows);
	table_unmap(&e->icalls);
	collect__free(e->collect);
	utilbpf_bpf__destroy(e->skel);
	free(e->online);
	free(e);
}

static int load(struct engine *e, const struct opts *o)
{
	struct sizes s;
	bool ppc;
	int err;

	e->skel = utilbpf_bpf__open();
	if (!e->skel)
		return fail(e, -errno, "cannot open the BPF object: %s; %s", strerror(errno),
			    advice(-errno));
	ppc = configure(e);
	select_programs(e, o->events, ppc);
	sizes_choose(e, o->mem_limit, &s);
	size_maps(e, &s, ppc && (o->events & EV_HCALLS));
	err = utilbpf_bpf__load(e->skel);
	if (err)
		return fail(e, err, "cannot load the BPF programs: %s; %s", strerror(-err),
			    advice(err));
	err = prepare_tables(e);
	if (err)
		return fail(e, err, "cannot set up the tables: %s; %s", strerror(-err),
			    advice(err));
	err = attach(e, o->events, ppc);
	return err ? err : first_window(e);
}

static int bpf_open(struct engine **out, const struct opts *o, enum report_level level,
		    pid_t command, struct names *names, char *why, size_t len)
{
	struct engine *e = calloc(1, sizeof(*e));
	int n = libbpf_num_possible_cpus(), err;

	*out = NULL;
	if (!e || n <= 0) {
		snprintf(why, len, "cannot start: %s",
			 e ? "no count of possible CPUs" : "out of memory");
		free(e);
		return -ENOMEM;
	}
	libbpf_set_print(o->verbose > 1 ? print_all : print_none);
	e->why = why;
	e->why_len = len;
	e->ncpus = n;
	e->command = command;
	e->names = names;
	e->verbose = o->verbose;
	e->watch_calls = o->events & EV_SYSCALLS;
	e->online = calloc(n, sizeof(*e->online));
	e->collect = collect__new(level, command > 0, names, free_slot, e);
	if (!e->online || !e->collect) {
		err = fail(e, -ENOMEM, "cannot start: out of memory");
	} else {
		engine__online(e->online, e->ncpus);
		err = load(e, o);
	}
	if (err) {
		bpf_close(e);
		return err;
	}
	*out = e;
	return 0;
}

/* ---- running ---- */

static uint64_t bpf_start(const struct engine *e)
{
	return e->win.start;
}

static int bpf_poll(struct engine *e)
{
	uint64_t exited = 0;

	if (table_refresh(&e->cpus))
		return 0;
	for (uint32_t i = 0; i < e->ncpus; i++)
		exited += e->t.cpus[i].exited;
	/* Looking for them costs a walk over the records: only when slots could run short. */
	if (exited - e->exited < REAP_AT)
		return 0;
	if (table_refresh(&e->icalls))
		return 0;
	return collect__reap(e->collect, &e->t, &e->win);
}

/* Runs that the kernel refused because the same program was already running on the CPU. */
static void read_programs(struct engine *e, struct report *r)
{
	uint64_t missed = 0, ns = 0;
	struct bpf_program *p;

	bpf_object__for_each_program(p, e->skel->obj)
	{
		struct bpf_prog_info info = {0};
		__u32 len = sizeof(info);

		if (bpf_program__fd(p) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			continue;
		missed += info.recursion_misses;
		ns += info.run_time_ns;
	}
	r->quality.missed_runs = since_last(&e->missed_before, missed);
	r->cost.bpf_run_ns = since_last(&e->run_ns_before, ns);
	r->cost.have_run_ns = r->cost.bpf_run_ns != 0;
}

static uint64_t map_bytes(struct engine *e)
{
	uint64_t sum = 0;
	struct bpf_map *m;

	bpf_object__for_each_map(m, e->skel->obj)
	{
		uint64_t value = bpf_map__value_size(m), n = bpf_map__max_entries(m);

		if (bpf_map__type(m) == BPF_MAP_TYPE_TASK_STORAGE) {
			n = live_threads();
			value += 64; /* the kernel's own part of an element */
		}
		if (bpf_map__type(m) == BPF_MAP_TYPE_HASH)
			value = HASH_BYTES;
		sum += value * n;
	}
	return sum;
}

static void fill_quality(struct engine *e, struct report *r)
{
	uint64_t ev = 0, un = 0, dt = 0, dc = 0, lost = 0;

	for (uint32_t i = 0; i < e->ncpus; i++) {
		const struct acct_cpu *c = &e->t.cpus[i];

		ev += c->events + c->irq_events;
		un += c->unmatched + c->irq_unmatched;
		dt += c->dropped_tasks;
		dc += c->dropped_calls + c->irq_dropped;
		lost += c->lost_tasks;
	}
	r->cost.bpf_runs = since_last(&e->lost_before[0], ev);
	/* The system call programs do not count themselves: their calls do. */
	for (size_t i = 0; i < r->sys_calls.n; i++)
		if (KEY_CLASS(r->sys_calls.v[i].key) == CALL_SYSCALL)
			r->cost.bpf_runs += 2 * r->sys_calls.v[i].count + r->sys_calls.v[i].open;
	r->quality.unmatched = since_last(&e->lost_before[1], un);
	r->quality.dropped_tasks = since_last(&e->lost_before[2], dt);
	r->quality.dropped_calls = since_last(&e->lost_before[3], dc);
	r->quality.lost_events = since_last(&e->lost_before[4], lost);
	read_programs(e, r);
}

/* Until it has come, a published end may still be moved: programs go by the time, not by the
 * number. */
static void set_end(struct engine *e, uint64_t end)
{
	publish(e, e->win.epoch + 1, end);
	e->win.end = end;
}

static void bpf_announce(struct engine *e, uint64_t end)
{
	if (end > clock_ns() + AHEAD_NS)
		set_end(e, end);
}

static int bpf_roll(struct engine *e, uint64_t end, struct report *r)
{
	uint64_t now = clock_ns();
	int err;

	if (e->watch_calls && !table_refresh(&e->cpus))
		seat_cpus(e, false);
	if (end != e->win.end) {
		if (end < now + AHEAD_NS)
			end = now + AHEAD_NS;
		set_end(e, end);
	}
	clock_sleep_until(end + SETTLE_NS);

	memset(r, 0, sizeof(*r));
	r->index = e->index++;
	r->engine = "bpf";
	r->reason = "bpf is the default and works on this kernel";
	clock_wall_of(e->win.start, &r->start_wall);
	engine__host(r, e->ncpus, e->online);
	err = table_refresh(&e->cpus);
	if (!err)
		err = table_refresh(&e->icalls);
	if (err)
		return err;
	names__new_window(e->names);
	names__load_irqs(e->names, NULL);
	err = collect__window(e->collect, &e->t, &e->win, r);
	fill_quality(e, r);
	engine__cost(r, &e->cpu_before);
	r->cost.map_bytes = map_bytes(e);
	e->win = (struct window){e->win.epoch + 1, end, 0};
	engine__online(e->online, e->ncpus);
	return err;
}

const struct engine_ops engine_bpf = {
	.name = "bpf",
	.open = bpf_open,
	.start = bpf_start,
	.poll = bpf_poll,
	.announce = bpf_announce,
	.roll = bpf_roll,
	.close = bpf_close,
};

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
