// SPDX-License-Identifier: GPL-2.0-only
/*
 * CSV: one flat table of everything, for spreadsheets and data frames.
 *
 * The first line names the columns; with -i it stands once, above the first report. Lines end
 * with a line feed, fields are quoted by RFC 4180 where needed, times are ns, what a row does not
 * have is an empty field. The columns:
 *
 *   level    what the row is: system, cpu, group, process, task, task_cpu (a task on one CPU)
 *            or call
 *   owner    for task_cpu and call: the level of what it belongs to. The same call is in a row of
 *            its task, its process, its group and the system, so sum over one owner only
 *   window, window_start_ns, window_end_ns
 *            which report the row is of, and its time
 *   tid, pid, exec, comm, cgroup, cgroup_id, container
 *            who: of the entity, or of the owner of a call
 *   cpu      of cpu and task_cpu rows
 *   class, id, abi, name, count ... max_ns, oncpu_ns, irq_stolen_ns
 *            of calls, as in JSON
 *   user_ns ... stopped_ns, idle_ns, tasks ... involuntary
 *            as in JSON; wait_ns to stopped_ns of a call are the parts of its elapsed_ns
 *   lost_events ... bpf_run_ns
 *            quality and cost, on the system's row
 *
 * It owns the order of the rows; columns and their order are the column table's.
 */
#include <inttypes.h>

#include "columns.h"
#include "escape.h"
#include "out_util.h"

static const char *const level_names[ENT_NR] = {
	[ENT_SYSTEM] = "system", [ENT_CPU] = "cpu",   [ENT_GROUP] = "group",
	[ENT_PROC] = "process",	 [ENT_TASK] = "task", [ENT_TASK_CPU] = "task_cpu",
	[ENT_CALL] = "call",
};

/* Where one row takes its fields from: the first that has a column gives it. */
struct source {
	struct item it;
	bool identity; /* only to say who */
};

/* One report on its way out. */
struct writer {
	const struct report *r;
	struct names *names;
	FILE *f;
	const struct column *cols[COL_NR]; /* those that CSV has */
	size_t nr_cols;
};

static bool in_csv(const struct column *c)
{
	for (int kind = 0; kind < ENT_NR; kind++)
		if (column__has(c, kind, USE_CSV))
			return true;
	return false;
}

static void put_header(const struct writer *w)
{
	fputs("level,owner", w->f);
	for (size_t i = 0; i < w->nr_cols; i++)
		fprintf(w->f, ",%s", w->cols[i]->key);
	fputc('\n', w->f);
}

static void put_value(FILE *f, const struct value *v)
{
	fputc(',', f);
	if (v->type == VALUE_UINT)
		fprintf(f, "%" PRIu64, v->u);
	else if (v->type == VALUE_INT)
		fprintf(f, "%" PRId64, v->i);
	else if (v->type == VALUE_BOOL)
		fputs(v->b ? "true" : "false", f);
	else if (v->type == VALUE_TEXT)
		esc__csv(f, v->s);
}

static int put_row(const struct writer *w, const struct source *src, size_t nr, const char *owner)
{
	fprintf(w->f, "%s,%s", level_names[src->it.kind], owner);
	for (size_t i = 0; i < w->nr_cols; i++) {
		const struct column *c = w->cols[i];
		struct value v;

		v.type = VALUE_NULL;
		for (size_t k = 0; k < nr; k++) {
			if (!column__has(c, src[k].it.kind, USE_CSV) ||
			    (src[k].identity && !c->identity))
				continue;
			column__told(c, w->r, &src[k].it, w->names, &v);
			break;
		}
		put_value(w->f, &v);
	}
	fputc('\n', w->f);
	return out__error(w->f);
}

/* A row of something that another entity owns. */
static int put_owned(const struct writer *w, struct item it, const struct item *owner)
{
	struct source src[] = {{it, false}, {*owner, true}, {{ENT_WINDOW, w->r}, false}};

	return put_row(w, src, 3, level_names[owner->kind]);
}

/* An entity, then its CPUs and calls. The system's row also carries quality and cost. */
static int put_entity(const struct writer *w, const struct item *it)
{
	struct source src[] = {{*it, false},
			       {{ENT_WINDOW, w->r}, false},
			       {{ENT_QUALITY, &w->r->quality}, false},
			       {{ENT_COST, &w->r->cost}, false}};
	const struct rep_calls *calls = item__calls(it);
	int err = put_row(w, src, it->kind == ENT_SYSTEM ? 4 : 2, "");

	if (it->kind == ENT_TASK) {
		const struct rep_task *t = it->rec;

		for (size_t i = 0; !err && i < t->nr_cpus; i++)
			err = put_owned(w, (struct item){ENT_TASK_CPU, &t->cpus[i]}, it);
	}
	for (size_t i = 0; !err && calls && i < calls->n; i++)
		err = put_owned(w, (struct item){ENT_CALL, &calls->v[i]}, it);
	return err;
}

int out__csv(const struct report *r, struct names *n, const struct out_opts *o)
{
	/* in the order of enum report_level */
	static const enum ent kinds[] = {ENT_SYSTEM, ENT_CPU, ENT_GROUP, ENT_PROC, ENT_TASK};
	struct writer w = {.r = r, .names = n, .f = o->f};
	int err = 0;

	for (int i = 0; i < COL_NR; i++)
		if (in_csv(&columns[i]))
			w.cols[w.nr_cols++] = &columns[i];
	if (o->first)
		put_header(&w);
	for (int level = LEVEL_SYSTEM; !err && level <= (int)r->level; level++) {
		const void *rec;

		for (size_t i = 0; !err && (rec = report__entity(r, kinds[level], i)); i++) {
			struct item it = {kinds[level], rec};

			err = put_entity(&w, &it);
		}
	}
	return err ? err : out__finish(w.f);
}
