// SPDX-License-Identifier: GPL-2.0-only
/*
 * verify: loads every program of the object in each way that a kernel may ask for, and prints what
 * the verifier says of each: "insns VARIANT PROGRAM PROCESSED", "refused VARIANT PROGRAM WHY".
 * A variant that this kernel cannot have as a whole is "no VARIANT WHY". Exit status 1: something
 * was refused.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../bpf/sel.h"
#include "utilbpf.skel.h"

#define LOG_STATS                                                                                  \
	4 /* BPF_LOG_STATS of include/linux/bpf_verifier.h: one line, "processed N insns" */
#define LOG_BYTES (4 << 20)
#define MAX_PROGS 64

struct variant {
	const char *name;
	bool btf, storage;
	bool alone;  /* cold paths as functions that are verified by themselves */
	bool select; /* with everything that a selection may ask of a task */
};

static const struct variant variants[] = {
	{"btf", true, true, true, false},
	{"btf-hash", true, false, true, false},
	{"raw", false, false, true, false},
	{"raw-static", false, false, false, false},
	{"btf-select", true, true, true, true},
	{"raw-select", false, false, true, true},
	{"raw-static-select", false, false, false, true},
};

static struct btf *vmlinux;
static char *logs[MAX_PROGS];
static bool ppc;
static bool probe_read; /* bpf_probe_read_kernel is allowed: not in lockdown=confidentiality */

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level, (void)fmt, (void)ap;
	return 0;
}

static bool tp_has_btf(const char *tp)
{
	char name[64];

	snprintf(name, sizeof(name), "btf_trace_%s", tp);
	return btf__find_by_name_kind(vmlinux, name, BTF_KIND_TYPEDEF) > 0;
}

/* By the kernel's own list of helper functions, an enum. */
static bool has_helper(const char *name)
{
	int id = btf__find_by_name_kind(vmlinux, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(vmlinux, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(vmlinux, btf_enum(t)[i].name_off), name))
			return true;
	return false;
}

/* The machine's programs of v: seeding ones, and those of its flavour whose tracepoint is here. */
static bool wanted(const struct variant *v, const char *prog)
{
	const char *flavour = v->btf ? "btf_" : "raw_";

	if (!strcmp(prog, "seed_tasks"))
		return true;
	if (!probe_read && strstr(prog, "task_rename"))
		return false;
	if (strncmp(prog, flavour, 4))
		return false;
	return !strcmp(prog + 4, "seed_cpu") || tp_has_btf(prog + 4);
}

static unsigned int prev_state_args(void)
{
	int id = btf__find_by_name_kind(vmlinux, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(vmlinux, id) : NULL;

	t = t ? btf__type_by_id(vmlinux, t->type) : NULL;
	t = t ? btf__type_by_id(vmlinux, t->type) : NULL;
	return t && btf_is_func_proto(t) ? btf_vlen(t) : 0;
}

/* As user/bpf_load.c does where functions with pointer arguments cannot stand by themselves. */
static void functions_static(const struct bpf_object *obj)
{
	const struct btf *btf = bpf_object__btf(obj);

	for (__u32 i = 1; btf && i < btf__type_cnt(btf); i++) {
		struct btf_type *t = (struct btf_type *)btf__type_by_id(btf, i);

		if (btf_is_func(t))
			t->info = BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC;
	}
}

/* only: this program alone, with all that the verifier has to say. */
static struct utilbpf_bpf *open_variant(const struct variant *v, const char *only)
{
	struct utilbpf_bpf *k = utilbpf_bpf__open();
	struct bpf_program *p;
	struct utsname u;
	size_t i = 0;

	if (!k)
		return NULL;
	uname(&u);
	ppc = !strncmp(u.machine, "ppc", 3);
	k->rodata->machine = ppc ? 3 : strcmp(u.machine, "aarch64") ? 1 : 2;
	k->rodata->ncpus = 8;
	k->rodata->have_storage = v->storage;
	k->rodata->have_probe_read = probe_read;
	k->rodata->have_prev_state = prev_state_args() >= 5;
	if (v->select) {
		k->rodata->sel_kinds = SELK_TASKS | SELK_FOLLOW | SELK_CPU | SELK_CALL;
		k->rodata->sel_comms = k->rodata->sel_paths = 2;
		k->rodata->command_pid = 2;
	}
	if (!v->alone)
		functions_static(k->obj);
	if (!v->storage)
		bpf_map__set_autocreate(k->maps.links, false);
	bpf_object__for_each_program(p, k->obj)
	{
		const char *name = bpf_program__name(p);

		bpf_program__set_autoload(p, wanted(v, name) && (!only || !strcmp(only, name)));
		if (i < MAX_PROGS) {
			logs[i][0] = '\0';
			bpf_program__set_log_level(p, only ? LOG_STATS | 1 : LOG_STATS);
			bpf_program__set_log_buf(p, logs[i++], LOG_BYTES);
		}
	}
	return k;
}

/* The verifier's last words on a program that it refused: what comes before the statistics. */
static void print_refusal(const char *log, int err)
{
	const char *end = log + strlen(log), *from = end, *line;

	for (line = log; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, "processed ", 10) || !strncmp(line, "stack depth", 11) ||
		    !strncmp(line, "verification time", 17)) {
			end = line;
			break;
		}
	}
	while (end > log && end[-1] == '\n')
		end--;
	for (from = end; from > log && from[-1] != '\n'; from--)
		;
	printf("%.*s%s(%s)\n", (int)(end - from), from, end > from ? " " : "", strerror(-err));
}

static void print_programs(struct utilbpf_bpf *k, const struct variant *v)
{
	struct bpf_program *p;
	size_t i = 0;

	bpf_object__for_each_program(p, k->obj)
	{
		const char *at = i < MAX_PROGS ? strstr(logs[i], "processed ") : NULL;
		unsigned long n;

		i++;
		if (!bpf_program__autoload(p))
			continue;
		if (at && sscanf(at, "processed %lu", &n) == 1)
			printf("insns %s %s %lu\n", v->name, bpf_program__name(p), n);
		else
			printf("insns %s %s unknown\n", v->name, bpf_program__name(p));
	}
}

/* One by one, after the object has not loaded as a whole. */
static int each_program(const struct variant *v, bool *alone_refused)
{
	struct utilbpf_bpf *names = open_variant(v, NULL);
	struct bpf_program *p;
	int bad = 0;

	if (!names)
		return 1;
	bpf_object__for_each_program(p, names->obj)
	{
		const char *name = bpf_program__name(p);
		struct utilbpf_bpf *k;
		int err;

		if (!bpf_program__autoload(p))
			continue;
		k = open_variant(v, name);
		err = k ? utilbpf_bpf__load(k) : -errno;
		if (!err) {
			print_programs(k, v);
		} else {
			const char *log = "";

			for (size_t i = 0; i < MAX_PROGS; i++)
				if (logs[i][0])
					log = logs[i];
			if (v->alone && strstr(log, "Arg#0 type PTR in")) {
				/* before 5.12: raw-static is what such a kernel gets */
				printf("no %s no pointers into functions that stand by "
				       "themselves\n",
				       v->name);
				*alone_refused = true;
				utilbpf_bpf__destroy(k);
				break;
			}
			printf("refused %s %s ", v->name, name);
			print_refusal(log, err);
			bad = 1;
		}
		utilbpf_bpf__destroy(k);
	}
	utilbpf_bpf__destroy(names);
	return bad;
}

/* Why this kernel cannot have v at all; NULL: it can. */
static const char *impossible(const struct variant *v)
{
	if (v->storage && libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) <= 0)
		return "no task storage for tracing programs";
	if (!v->btf && !probe_read)
		return "no bpf_probe_read_kernel: the kernel is locked down";
	if (v->btf && !has_helper("BPF_FUNC_get_current_task_btf"))
		return "no bpf_get_current_task_btf";
	return NULL;
}

static int check(const struct variant *v)
{
	const char *why = impossible(v);
	static bool alone_refused;
	struct utilbpf_bpf *k;
	int err;

	if (!v->alone && !alone_refused)
		return 0; /* the loader would not ask for it */
	if (!v->alone && v->select && !getenv("VERIFY_ALL"))
		return 0; /* minutes, in a guest */
	if (why) {
		printf("no %s %s\n", v->name, why);
		return 0;
	}
	k = open_variant(v, NULL);
	err = k ? utilbpf_bpf__load(k) : -errno;
	if (!err)
		print_programs(k, v);
	utilbpf_bpf__destroy(k);
	return err ? each_program(v, &alone_refused) : 0;
}

/* As user/bpf_load.c asks. */
static bool can_probe_read(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "probe_read", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int main(void)
{
	int bad = 0;

	libbpf_set_print(quiet);
	for (size_t i = 0; i < MAX_PROGS; i++) {
		logs[i] = malloc(LOG_BYTES);
		if (!logs[i])
			return 1;
	}
	probe_read = can_probe_read();
	vmlinux = btf__load_vmlinux_btf();
	if (!vmlinux) {
		printf("no all this kernel has no BTF (%s)\n", strerror(errno));
		return 0;
	}
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		bad |= check(&variants[i]);
	return bad;
}
