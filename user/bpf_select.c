// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of the selection the kernel has to know: see bpf_select.h. What it means is told by
 * bpf/sel.h; this file only carries it over, and knows nothing of windows or reports.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_select.h"
#include "clock.h"

#define GROUPS_NEW                                                                                 \
	8192 /* room for selected ones that are made later, and for as many as are there */
#define MOVES 4096
#define PATHS 1024

/* As in maps.bpf.h. */
struct sel_id {
	uint32_t kind, id;
};

void bpf_select__configure(struct bpf_load *l)
{
	const struct selection *s = &l->o->sel;
	struct utilbpf_bpf *k = l->skel;

	k->rodata->sel_kinds = s->kinds | (l->command > 0 ? SELK_COMMAND : 0);
	k->rodata->sel_comms = (uint32_t)s->nr_comms;
	k->rodata->sel_paths = (uint32_t)s->nr_cgroups;
	k->rodata->self_tgid = (uint32_t)getpid();
	k->rodata->sel_began = clock_ns();
	k->rodata->group_v1 = (uint32_t)names__cgroup_hierarchy(l->rd->names);
	memcpy((void *)&k->rodata->sel_calls, &s->call_bits, sizeof(s->call_bits));
}

static uint32_t at_least_one(size_t n)
{
	return n ? (uint32_t)n : 1;
}

struct counting {
	const struct selection *sel;
	uint32_t n;
};

static void count_group(void *ctx, uint64_t id, const char *path)
{
	struct counting *c = ctx;

	(void)id;
	c->n += sel__cgroup(c->sel, path);
}

/* How many selected groups there is to be room for. Where they cannot be listed,
 * bpf_select__fill() says so. */
static uint32_t groups_most(const struct bpf_load *l)
{
	struct counting c = {&l->o->sel, 0};

	if (!(c.sel->kinds & SELK_CGROUP))
		return 1;
	names__cgroup_each(l->rd->names, count_group, &c);
	return 2 * c.n + GROUPS_NEW;
}

void bpf_select__size(struct bpf_load *l)
{
	const struct selection *s = &l->o->sel;
	struct utilbpf_bpf *k = l->skel;
	/* Who gives little memory has few groups. */
	uint32_t part = l->o->mem_limit && l->o->mem_limit < 64 << 20 ? 16 : 1;

	bpf_map__set_max_entries(k->maps.sel_ids, at_least_one(s->pids.n + s->tids.n + s->uids.n));
	bpf_map__set_max_entries(k->maps.sel_globs, at_least_one(s->nr_comms + s->nr_cgroups));
	bpf_map__set_max_entries(k->maps.sel_groups, groups_most(l));
	bpf_map__set_max_entries(k->maps.moves, MOVES / part);
	bpf_map__set_max_entries(k->maps.group_paths, PATHS / part);
}

static int add_ids(struct bpf_load *l, uint32_t kind, const struct sel_ids *ids)
{
	uint8_t one = 1;
	int err = 0;

	for (size_t i = 0; i < ids->n && !err; i++) {
		struct sel_id id = {kind, ids->v[i]};

		err = bpf_map_update_elem(bpf_map__fd(l->skel->maps.sel_ids), &id, &one, BPF_ANY);
	}
	return err;
}

static int add_globs(struct bpf_load *l, const char *const *globs, size_t n, size_t tokens,
		     bool cgroup, uint32_t first)
{
	struct sel_glob *g = malloc(sizeof(*g));
	const char *takes;
	int err = g ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t at = first + i;

		err = sel__compile(g, globs[i], tokens, cgroup, &takes);
		if (!err)
			err = bpf_map_update_elem(bpf_map__fd(l->skel->maps.sel_globs), &at, g,
						  BPF_ANY);
	}
	free(g);
	return err;
}

static void add_group(void *ctx, uint64_t id, const char *path)
{
	struct bpf_load *l = ctx;
	uint8_t one = 1;

	if (sel__cgroup(&l->o->sel, path))
		bpf_map_update_elem(bpf_map__fd(l->skel->maps.sel_groups), &id, &one, BPF_ANY);
}

/* CPUs are told in their own records, which the programs have at hand. */
static int skip_cpus(struct bpf_load *l)
{
	struct acct_cpu *cpus = l->rd->t.cpus;
	int err = 0;

	for (uint32_t i = 0; i < l->rd->ncpus && !err; i++) {
		cpus[i].skip = !sel__cpu(&l->o->sel, i);
		if (l->rd->cpus.copied)
			err = bpf_map_update_elem(l->rd->cpus.fd, &i, &cpus[i], BPF_ANY);
	}
	return err;
}

int bpf_select__fill(struct bpf_load *l)
{
	const struct selection *s = &l->o->sel;
	int err = add_ids(l, SELK_PID, &s->pids);

	if (!err)
		err = add_ids(l, SELK_TID, &s->tids);
	if (!err)
		err = add_ids(l, SELK_UID, &s->uids);
	if (!err)
		err = add_globs(l, s->comms, s->nr_comms, ACCT_COMM_LEN - 1, false, 0);
	if (!err)
		err = add_globs(l, s->cgroups, s->nr_cgroups, SEL_TOKENS, true,
				(uint32_t)s->nr_comms);
	if (!err)
		err = skip_cpus(l);
	if (err)
		return bpf_load__fail(l, err, "cannot hand the selection to the kernel: %s",
				      strerror(-err));
	if (!(s->kinds & SELK_CGROUP))
		return 0;
	err = names__cgroup_each(l->rd->names, add_group, l);
	return err ? bpf_load__fail(l, err, "cannot look for groups: %s; see /proc/self/mountinfo",
				    strerror(-err))
		   : 0;
}
