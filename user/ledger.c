// SPDX-License-Identifier: GPL-2.0-only
/* What readers of a resident instance leave for each other: see ledger.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ledger.h"
#include "report_pack.h"

#define PACKED 0x6c656467U /* begins the bytes */

/* ---- names ---- */

struct listing {
	struct ledger *l;
	struct names *names;
	int err;
};

static void add_name(void *ctx, uint64_t id, const char *path)
{
	struct listing *x = ctx;
	struct ledger *l = x->l;
	struct ledger_name *v = l->names;

	if (!(l->nr_names & (l->nr_names - 1)))
		v = realloc(v, (l->nr_names ? l->nr_names * 2 : 1) * sizeof(*v));
	if (!v) {
		x->err = -ENOMEM;
		return;
	}
	l->names = v;
	(void)path; /* is valid within this call only; the cache of names keeps its own */
	v[l->nr_names++] = (struct ledger_name){id, names__cgroup(x->names, id)};
}

static void know_groups(struct names *names, const struct report *r)
{
	for (size_t i = 0; i < r->nr_groups; i++)
		if (r->groups[i].id)
			names__know_cgroup(names, r->groups[i].id, r->groups[i].path,
					   r->groups[i].container);
}

/* Of the groups that are in a report the report has the names. */
static void drop_names(struct ledger *l)
{
	struct hash h = {0};
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < l->total.nr_groups && !err; i++)
		err = hash__get(&h, l->total.groups[i].id, 0, i) == HASH_NONE;
	for (size_t i = 0; i < l->nr_names && !err; i++)
		if (hash__find(&h, l->names[i].id, 0) == HASH_NONE)
			l->names[n++] = l->names[i];
	if (!err)
		l->nr_names = n;
	hash__free(&h);
}

/* ---- making ---- */

static void begin_open(struct ledger *l, uint64_t start_ns, const struct timespec *wall)
{
	l->open = (struct report){
		.level = LEVEL_TASK, .start_ns = start_ns, .end_ns = start_ns, .start_wall = *wall};
}

int ledger__init(struct ledger *l, uint64_t start_ns, const struct timespec *start_wall,
		 struct names *names)
{
	struct listing x = {.l = l, .names = names};

	memset(l, 0, sizeof(*l));
	begin_open(l, start_ns, start_wall);
	l->total = l->open;
	l->total.level = LEVEL_PROCESS;
	/* One that cannot be listed has no name here, and is looked for when it is asked for. */
	names__cgroup_each(names, add_name, &x);
	return x.err;
}

void ledger__free(struct ledger *l)
{
	report__free(&l->total);
	report__free(&l->open);
	for (size_t i = 0; i < l->nr_closed; i++)
		report__free(&l->closed[i]);
	free(l->names);
	free(l->mem);
	memset(l, 0, sizeof(*l));
}

/* ---- bytes ---- */

static void pack_all(struct pack *p, struct ledger *l)
{
	uint64_t n = l->nr_closed, names = l->nr_names, magic = PACKED;

	pack__number(p, &magic);
	if (magic != PACKED && !p->err)
		p->err = -EPROTO;
	pack__report(p, &l->total);
	pack__report(p, &l->open);
	pack__number(p, &n);
	if (n > LEDGER_CLOSED && !p->err)
		p->err = -EPROTO;
	for (size_t i = 0; i < n && !p->err; i++) {
		if (p->reads)
			l->nr_closed++;
		pack__report(p, &l->closed[i]);
	}
	pack__number(p, &names);
	if (p->reads && !p->err) {
		if (names > p->len - p->at)
			p->err = -EPROTO;
		else
			l->names = calloc(names + 1, sizeof(*l->names));
		if (!p->err && !l->names)
			p->err = -ENOMEM;
	}
	for (size_t i = 0; i < names && !p->err; i++) {
		pack__number(p, &l->names[i].id);
		pack__text(p, &l->names[i].path);
		if (p->reads && !p->err && l->names[i].path)
			l->nr_names++;
	}
}

int ledger__pack(struct ledger *l, char **mem, size_t *len)
{
	struct pack p = {0};

	drop_names(l);
	pack_all(&p, l);
	if (p.err)
		free(p.p);
	*mem = p.err ? NULL : p.p;
	*len = p.len;
	return p.err;
}

int ledger__unpack(struct ledger *l, char *mem, size_t len, struct names *names)
{
	struct pack p = {.reads = true, .p = mem, .len = len};

	memset(l, 0, sizeof(*l));
	l->mem = mem;
	pack_all(&p, l);
	if (p.err)
		return p.err;
	know_groups(names, &l->total);
	know_groups(names, &l->open);
	for (size_t i = 0; i < l->nr_closed; i++)
		know_groups(names, &l->closed[i]);
	for (size_t i = 0; i < l->nr_names; i++)
		names__know_cgroup(names, l->names[i].id, l->names[i].path, NULL);
	return 0;
}

/* ---- adding ---- */

bool ledger__has_open(const struct ledger *l)
{
	return l->open.end_ns != l->open.start_ns;
}

int ledger__add(struct ledger *l, const struct report *r)
{
	int err = report__add(&l->total, r, true);

	return err ? err : report__fold_ended(&l->total, LEDGER_GROUPS);
}

int ledger__put_open(struct ledger *l, const struct report *r)
{
	if (!ledger__has_open(l)) {
		l->open.start_wall = r->start_wall;
		l->open.index = r->index;
	}
	return report__add(&l->open, r, false);
}

int ledger__close(struct ledger *l)
{
	if (l->nr_closed == LEDGER_CLOSED)
		return -ENOSPC;
	l->closed[l->nr_closed++] = l->open;
	begin_open(l, l->open.end_ns, &l->open.start_wall);
	return 0;
}

void ledger__told(struct ledger *l, uint64_t start_ns)
{
	struct timespec wall = l->open.start_wall;

	for (size_t i = 0; i < l->nr_closed; i++)
		report__free(&l->closed[i]);
	l->nr_closed = 0;
	report__free(&l->open);
	begin_open(l, start_ns, &wall);
}

struct report *ledger__total(struct ledger *l)
{
	size_t i = 0;

	while (i + 1 < sizeof(l->total.notes) / sizeof(*l->total.notes) && l->total.notes[i])
		i++;
	l->total.notes[i] =
		"all since the start; processes that have ended are told in sum, by group";
	return &l->total;
}
