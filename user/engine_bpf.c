// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BPF engine: has the programs loaded (bpf_load.c), seeds every task, and gives the windows
 * that their reader makes (bpf_reader.c).
 *
 * How a run begins: everything is attached with ctl.epoch 0, where programs do nothing. Epoch 1
 * is the warm-up: events are accounted, an iterator makes the records of all tasks that no event
 * has told of, and a short program run on each CPU seats whoever runs there. Then the first window
 * is opened as each later one is: by publishing its start a little ahead.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_load.h"
#include "bpf_reader.h"
#include "clock.h"
#include "collect.h"
#include "engine.h"
#include "engine_util.h"
#include "report_add.h"

/* So many ended tasks are worth a walk: their slots, and the calls that stay with those, are used
 * again soon. */
#define REAP_AT 64

struct engine {
	struct bpf_load load;
	struct bpf_reader rd;
	uint64_t exited; /* taken in so far */
	char selection[512];
};

static void free_slot(void *ctx, uint32_t slot)
{
	struct engine *e = ctx;
	__u64 args[] = {slot};
	LIBBPF_OPTS(bpf_test_run_opts, o, .ctx_in = args, .ctx_size_in = sizeof(args));

	e->exited++;
	bpf_prog_test_run_opts(bpf_program__fd(e->load.skel->progs.free_slot), &o);
}

/* ---- opening ---- */

static int run_iterator(struct engine *e)
{
	struct bpf_link *l = bpf_program__attach_iter(e->load.skel->progs.seed_tasks, NULL);
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

/* Ends the window and takes it, with the next one when its end came late. */
static int take_whole(struct engine *e, uint64_t end, struct report *r)
{
	int err;

	bpf_reader__end(&e->rd, end);
	err = bpf_reader__take(&e->rd, r);
	for (int i = 0; !err && e->rd.late && i < LATE_N; i++) {
		struct report more;

		e->rd.win.since = r->start_ns;
		bpf_reader__end(&e->rd, clock_ns() + AHEAD_NS);
		err = bpf_reader__take(&e->rd, &more);
		e->rd.index--;
		if (!err)
			err = report__add(r, &more, false);
		report__free(&more);
		if (!err && !e->rd.late)
			report__residual_of_cpus(r);
	}
	return err;
}

static int first_window(struct engine *e)
{
	struct bpf_reader *r = &e->rd;
	struct report first;
	uint64_t start;
	int err;

	bpf_reader__publish(r, ACCT_WARMUP, 0);
	err = run_iterator(e);
	if (err)
		return bpf_load__fail(&e->load, err, "cannot visit the tasks (iter/task): %s; %s",
				      strerror(-err), bpf_load__advice(err));
	err = bpf_reader__seat(r, true);
	if (!err)
		err = run_iterator(e);
	if (err)
		return bpf_load__fail(&e->load, err, "cannot visit the CPUs: %s; %s",
				      strerror(-err), bpf_load__advice(err));
	start = clock_ns() + AHEAD_NS;
	bpf_reader__publish(r, ACCT_FIRST, start);
	r->win = (struct window){.epoch = ACCT_FIRST, .start = start};
	clock_sleep_until(start + SETTLE_NS);
	err = bpf_table__refresh(&r->cpus);
	if (!err)
		err = collect__start(r->collect, &r->t, start);
	bpf_reader__forget_warmup(r);
	if (!err && r->late) { /* some of the first window is in the warm-up: it goes there, too */
		err = take_whole(e, clock_ns() + AHEAD_NS, &first);
		report__free(&first);
		r->index--;
	}
	return err ? bpf_load__fail(&e->load, err, "cannot start the first window: %s",
				    strerror(-err))
		   : 0;
}

static void bpf_close(struct engine *e)
{
	if (!e)
		return;
	bpf_load__close(&e->load);
	collect__free(e->rd.collect);
	free(e->rd.online);
	free(e);
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
	e->load = (struct bpf_load){
		.o = o, .command = command, .rd = &e->rd, .why = why, .why_len = len};
	e->rd.ncpus = n;
	e->rd.names = names;
	e->rd.online = calloc(n, sizeof(*e->rd.online));
	e->rd.collect =
		collect__new(level, sel__leaves_out(&o->sel, command > 0), names, free_slot, e);
	if (!e->rd.online || !e->rd.collect) {
		err = bpf_load__fail(&e->load, -ENOMEM, "cannot start: out of memory");
	} else {
		collect__set_depth(e->rd.collect, o->depth);
		if (o->sel.kinds & SELK_CALL)
			collect__set_calls(e->rd.collect, &o->sel.call_bits);
		if (*sel__describe(&o->sel, e->selection, sizeof(e->selection)))
			e->rd.selection = e->selection;
		engine__online(e->rd.online, e->rd.ncpus);
		err = bpf_load__open(&e->load);
	}
	if (!err)
		err = first_window(e);
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
	return e->rd.win.start;
}

static uint64_t bpf_poll(struct engine *e)
{
	struct bpf_reader *r = &e->rd;
	uint64_t exited = 0;

	if (bpf_table__refresh(&r->cpus))
		return ENGINE_POLL_NS;
	for (uint32_t i = 0; i < r->ncpus; i++)
		exited += r->t.cpus[i].exited;
	/* Looking for them costs a walk over the records: only when slots could run short. */
	if (exited - e->exited < REAP_AT)
		return ENGINE_POLL_SLOW;
	r->t.icalls_at = r->icalls.copied ? clock_ns() : 0;
	/* No memory for it: the window's end takes them in, and tells. */
	if (!bpf_table__refresh(&r->icalls))
		collect__reap(r->collect, &r->t, &r->win);
	return ENGINE_POLL_NS;
}

static void bpf_announce(struct engine *e, uint64_t end)
{
	bpf_reader__announce(&e->rd, end);
}

static int bpf_roll(struct engine *e, uint64_t end, struct report *r)
{
	int err = take_whole(e, end, r);

	/* The kernel shows the iterator none of the others (kernel/bpf/task_iter.c). */
	if (!engine__initial_pids())
		r->notes[0] = "run within a pid namespace: tasks outside of it are told of from "
			      "their first event on";
	return err;
}

struct bpf_load *engine_bpf__loaded(struct engine *e)
{
	return &e->load;
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
