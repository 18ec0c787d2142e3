// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every event script in the kernel: after each event the tables there are, byte for byte, those
 * that the same event makes of them on the host; and the account is the expected one.
 *
 * Skipped, with the reason, where bpf(2) is not permitted or the kernel is too old for
 * SEC("syscall").
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../events/each.h"
#include "../events/play.h"
#include "script.skel.h"

static struct script_state host;
#define ST (&host)
#include "../events/apply.h"

static struct script_bpf *skel;
static char no_bpf[128]; /* why the kernel does not take the program */

struct both {
	const struct script *script;
	size_t events;
	char why[256];
};

/* The first byte of two tables that differs, as a place that a person can look up. */
static size_t first_diff(const void *a, const void *b, size_t n)
{
	size_t i = 0;

	while (i < n && ((const char *)a)[i] == ((const char *)b)[i])
		i++;
	return i;
}

/* The tables are equal before; whatever the reader has done to them in between. */
static void apply_both(void *ctx, const struct script_event *ev)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct script_state *there = &skel->bss->state;
	struct both *b = ctx;
	int err;

	host = *there;
	apply(ev);
	skel->bss->event = *ev;
	err = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.apply_event), &opts);
	if (err && !b->why[0])
		snprintf(b->why, sizeof(b->why), "event %zu: test_run: %s", b->events,
			 strerror(errno));
	if (memcmp(&host, there, sizeof(host)) && !b->why[0])
		snprintf(b->why, sizeof(b->why), "event %zu (op %u): byte %zu of the tables",
			 b->events, ev->op, first_diff(&host, there, sizeof(host)));
	b->events++;
}

static void test_both(void **state)
{
	struct both b = {0};
	struct play p = {.stage.apply = apply_both, .stage.ctx = &b, .expect = true};
	struct script s;
	char err[256];

	if (!skel) {
		print_message("skip: %s\n", no_bpf);
		skip();
	}
	if (script__read(&s, *state, err, sizeof(err)))
		fail_msg("%s", err);
	b.script = p.script = &s;
	p.stage.st = &skel->bss->state;
	if (play__run(&p))
		fail_msg("%s", p.why);
	if (b.why[0])
		fail_msg("%s: %s", s.name, b.why);
	script__free(&s);
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN && getenv("V") ? vfprintf(stderr, fmt, ap) : 0;
}

/* A verifier that refuses is a failure, not a reason to skip. */
static int load(void)
{
	int err;

	libbpf_set_print(quiet);
	skel = script_bpf__open_and_load();
	if (skel)
		return 0;
	err = errno;
	snprintf(no_bpf, sizeof(no_bpf), "cannot load a SEC(\"syscall\") program: %s",
		 strerror(err));
	if (err == EPERM || err == ENOSYS ||
	    libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) != 1)
		return 0;
	fprintf(stderr, "%s; V=1 shows the verifier's log\n", no_bpf);
	return -1;
}

int main(int argc, char **argv)
{
	int err;

	if (load())
		return 1;
	err = each_script(argc, argv, "scripts in the kernel", test_both);
	script_bpf__destroy(skel);
	return err;
}
