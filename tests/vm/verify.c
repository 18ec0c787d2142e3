// SPDX-License-Identifier: GPL-2.0-only
/*
 * verify: loads every program of the object in each way that a kernel may ask for, and prints what
 * the verifier says of each: "insns VARIANT PROGRAM PROCESSED", "refused VARIANT PROGRAM WHY".
 * A variant that this kernel cannot have as a whole is "no VARIANT WHY". Exit status 1: something
 * was refused.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bpf/sel.h"
#include "../../user/bpf_probe.h"
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

static char *logs[MAX_PROGS];
static bool probe_read; /* bpf_probe_read_kernel is allowed: not in lockdown=confidentiality */

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level, (void)fmt, (void)ap;
	return 0;
}

/* The machine's programs of v: seeding ones, and those of its flavour whose tracepoint is here. */
static bool wanted(const struct variant *v, const char *prog)
{
	const char *flavour = v->btf ? "btf_" : "raw_";

	if (!strcmp(prog, "seed_tasks") || !strcmp(prog, "fill_free") || !strcmp(prog, "free_slot"))
		return true;
	if (!probe_read && strstr(prog, "task_rename"))
		return false;
	if (strncmp(prog, flavour, 4))
		return false;
	return !strcmp(prog + 4, "seed_cpu") || bpf_probe__tp_args(prog + 4, 0);
}

/* only: this program alone, with all that the verifier has to say. */
static struct utilbpf_bpf *open_variant(const struct variant *v, const char *only)
{
	struct utilbpf_bpf *k = utilbpf_bpf__open();
	struct bpf_program *p;
	size_t i = 0;

	if (!k)
		return NULL;
	k->rodata->machine = bpf_probe__machine();
	k->rodata->ncpus = 8;
	k->rodata->cpus_near = !v->select;
	k->rodata->reserve.calls = k->rodata->reserve.rows = k->rodata->reserve.icalls = 100;
	k->rodata->have_storage = v->storage;
	k->rodata->have_probe_read = probe_read;
	k->rodata->have_prev_state = bpf_probe__tp_args("sched_switch", 4);
	if (v->select) {
		k->rodata->sel_kinds = SELK_TASKS | SELK_FOLLOW | SELK_CPU | SELK_CALL;
		k->rodata->sel_comms = k->rodata->sel_paths = 2;
		k->rodata->command_pid = 2;
	}
	if (!v->alone)
		bpf_probe__functions_static(k->obj);
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
	if (v->btf && !bpf_probe__helper("BPF_FUNC_get_current_task_btf"))
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

int main(void)
{
	int bad = 0;

	libbpf_set_print(quiet);
	for (size_t i = 0; i < MAX_PROGS; i++) {
		logs[i] = malloc(LOG_BYTES);
		if (!logs[i])
			return 1;
	}
	probe_read = bpf_probe__read();
	if (!bpf_probe__btf()) {
		printf("no all this kernel has no BTF (%s)\n", strerror(errno));
		return 0;
	}
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		bad |= check(&variants[i]);
	return bad;
}
