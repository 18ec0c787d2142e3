// SPDX-License-Identifier: GPL-2.0-only
/*
 * The default report: one screen that answers "where did the CPU time go".
 *
 * From above to below: the CPUs with a bar each, the top of what --by names, the top calls and
 * interrupts, what was lost, what it cost. This file owns which rows and columns are worth a
 * place on that screen; it must not know how a number is computed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "out_util.h"
#include "table.h"

#define WIDTH_MIN  40
#define CPUS_MAX   8 /* more CPUs than this are folded */
#define CPUS_TOP   6
#define CPU_CELL   7
#define BAR_GAP	   "   "
#define BAR_MIN	   10
#define BAR_MAX	   50
#define NS_PER_SEC 1000000000ULL

#define NR(table) (sizeof(table) / sizeof((table)[0]))

struct text {
	const struct report *r;
	struct names *names;
	const struct out_opts *o;
	FILE *f;
	int width;
	bool ms; /* a window so short that seconds say little */
	enum report_level by;
};

/* --- CPUs --- */

static const struct cpu_class {
	enum acct_class cls;
	const char *head, *sgr;
	char mark;
	int keep; /* the lowest goes first where there is no room */
} cpu_classes[] = {
	{AC_USER, "user", "\033[32m", 'u', 6}, {AC_SYS, "sys", "\033[31m", 's', 5},
	{AC_IRQ, "irq", "\033[35m", 'i', 1},   {AC_SOFTIRQ, "sirq", "\033[33m", 'q', 2},
	{AC_HV, "hv", "\033[36m", 'h', 0},     {AC_BUSY, "busy", "\033[34m", 'b', 3},
	{AC_IDLE, "idle", "\033[2m", '.', 4},
};

struct cpu_layout {
	bool shown[NR(cpu_classes)];
	int label, bar;
};

static struct cpu_layout cpu_layout(const struct text *x, int label)
{
	struct cpu_layout l = {.label = label};
	int left = x->width - label, nr = 0;

	for (size_t i = 0; i < NR(cpu_classes); i++) {
		/* busy is for what could not be told apart: a column only where that happened */
		l.shown[i] = cpu_classes[i].cls != AC_BUSY;
		for (size_t c = 0; c < x->r->nr_cpus; c++)
			l.shown[i] |= x->r->cpus[c].ns[cpu_classes[i].cls] != 0;
		nr += l.shown[i];
	}
	for (int keep = 0; nr * CPU_CELL > left; keep++)
		for (size_t i = 0; i < NR(cpu_classes); i++)
			if (l.shown[i] && cpu_classes[i].keep == keep) {
				l.shown[i] = false;
				nr--;
			}
	l.bar = left - nr * CPU_CELL - (int)strlen(BAR_GAP);
	l.bar = l.bar < BAR_MIN ? 0 : l.bar > BAR_MAX ? BAR_MAX : l.bar;
	return l;
}

/* Each class ends where the sum up to it ends, so that the bar is as long for every CPU. */
static void cpu_bar(const struct text *x, const struct rep_cpu *c, int width)
{
	const char *before = BAR_GAP;
	double sum = 0;
	int at = 0;

	for (size_t i = 0; i < NR(cpu_classes); i++) {
		const struct cpu_class *cls = &cpu_classes[i];
		int end;

		sum += (double)c->ns[cls->cls] / (double)c->online_ns;
		end = sum < 1 ? (int)(sum * width + 0.5) : width;
		if (end <= at)
			continue;
		fprintf(x->f, "%s%s", before, x->o->color ? cls->sgr : "");
		before = "";
		for (; at < end; at++)
			fputc(cls->mark, x->f);
		fputs(x->o->color ? SGR_OFF : "", x->f);
	}
}

static void cpu_line(const struct text *x, const struct rep_cpu *c, const char *label,
		     const struct cpu_layout *l)
{
	fprintf(x->f, "%*s", l->label, label);
	for (size_t i = 0; i < NR(cpu_classes); i++) {
		double p = 100.0 * (double)c->ns[cpu_classes[i].cls] / (double)c->online_ns;

		if (!l->shown[i])
			continue;
		if (c->online_ns && (p > 0 || !(x->r->absent & (1U << cpu_classes[i].cls))))
			fprintf(x->f, "%*.1f%%", CPU_CELL - 1, p < 999.9 ? p : 999.9);
		else
			fprintf(x->f, "%*s", CPU_CELL, "-");
	}
	if (c->online_ns)
		cpu_bar(x, c, l->bar);
	fputc('\n', x->f);
}

static void cpu_head(const struct text *x, const struct rep_cpu *all, const struct cpu_layout *l)
{
	double busy = 100 * (double)report__oncpu(all->ns) / (double)all->online_ns;

	fputs(x->o->color ? SGR_BOLD : "", x->f);
	fprintf(x->f, "%*s", l->label, "CPU");
	for (size_t i = 0; i < NR(cpu_classes); i++)
		if (l->shown[i])
			fprintf(x->f, "%*s", CPU_CELL, cpu_classes[i].head);
	if (all->online_ns && l->bar)
		fprintf(x->f, BAR_GAP "busy %.0f%%", busy < 999 ? busy : 999);
	fputs(x->o->color ? SGR_OFF "\n" : "\n", x->f);
}

/* How many CPUs get a line of their own, and in which order. */
static size_t cpu_order(const struct text *x, struct item *items, size_t nr, int *err)
{
	size_t top = x->o->top ? x->o->top : nr;
	enum col_id col = column__find(x->o->sort, ENT_CPU);

	if (x->by != LEVEL_CPU) {
		if (nr <= CPUS_MAX || !x->o->top)
			return nr;
		*err = column__sort(items, nr, COL_UTIL);
		return CPUS_TOP;
	}
	if (col != COL_NR)
		*err = column__sort(items, nr, col);
	return top < nr ? top : nr;
}

static int cpu_section(const struct text *x)
{
	struct rep_cpu all = {.cpu = 0}, more = {.cpu = 0};
	size_t nr, shown;
	struct item *items = out__items(x->r, ENT_CPU, &nr);
	char label[NUM_LEN];
	int err = items ? 0 : -ENOMEM, width = 3;
	struct cpu_layout l;

	if (err || !nr) {
		free(items);
		return err;
	}
	shown = cpu_order(x, items, nr, &err);
	for (size_t i = 0; i < nr; i++) {
		column__add(ENT_CPU, &all, items[i].rec);
		if (i >= shown)
			column__add(ENT_CPU, &more, items[i].rec);
	}
	if (shown < nr)
		width = snprintf(label, sizeof(label), "%zu more", nr - shown);
	l = cpu_layout(x, width);
	cpu_head(x, &all, &l);
	if (nr > CPUS_MAX)
		cpu_line(x, &all, "ALL", &l);
	for (size_t i = 0; i < shown; i++) {
		snprintf(label, sizeof(label), "%u", ((const struct rep_cpu *)items[i].rec)->cpu);
		cpu_line(x, items[i].rec, label, &l);
	}
	snprintf(label, sizeof(label), "%zu more", nr - shown);
	if (shown < nr)
		cpu_line(x, &more, label, &l);
	fputc('\n', x->f);
	free(items);
	return err;
}

/* --- tables --- */

#define SUMS                                                                                       \
	{COL_ONCPU, "CPU s", CELL_SECONDS, 255, false},                                            \
		{COL_UTIL, "util%", CELL_PERCENT, 100, false},                                     \
		{COL_USER, "user", CELL_SECONDS, 96, false},                                       \
		{COL_SYS, "sys", CELL_SECONDS, 95, false},                                         \
		{COL_INTR, "irq", CELL_SECONDS, 80, false},                                        \
		{COL_BUSY, "busy", CELL_SECONDS, 75, true},                                        \
		{COL_WAIT, "wait", CELL_SECONDS, 90, false},                                       \
		{COL_BLKIO, "blk+io", CELL_SECONDS, 85, false},                                    \
		{COL_STOPPED, "stopped", CELL_SECONDS, 10, true},                                  \
	{                                                                                          \
		COL_SLEEP, "sleep", CELL_SECONDS, 20, false                                        \
	}

#define SWITCHES                                                                                   \
	{COL_MOVES, "moves", CELL_COUNT, 40, false},                                               \
		{COL_VOLUNTARY, "vol", CELL_COUNT, 12, false},                                     \
	{                                                                                          \
		COL_INVOLUNTARY, "invol", CELL_COUNT, 14, false                                    \
	}

static const struct table_column system_cols[] = {
	{COL_TASKS, "TASKS", CELL_COUNT, 255, false},
	{COL_PROCS, "PROCS", CELL_COUNT, 60, false},
	{COL_GROUPS, "GROUPS", CELL_COUNT, 50, false},
	SUMS,
	{COL_SWITCHES, "switches", CELL_COUNT, 55, false},
};

static const struct table_column group_cols[] = {
	{COL_CGROUP, "CGROUP", CELL_PATH, 255, false},
	{COL_CONTAINER, "CONTAINER", CELL_TEXT, 88, true},
	{COL_POD, "POD", CELL_TEXT, 9, true},
	{COL_UNIT, "UNIT", CELL_TEXT, 8, true},
	{COL_TASKS, "TASKS", CELL_COUNT, 60, false},
	SUMS,
	SWITCHES,
};

static const struct table_column proc_cols[] = {
	{COL_PID, "PID", CELL_ID, 255, false},
	{COL_COMM, "COMMAND", CELL_TEXT, 255, false},
	{COL_TASKS, "TASKS", CELL_COUNT, 50, false},
	SUMS,
	SWITCHES,
};

static const struct table_column task_cols[] = {
	{COL_TID, "TID", CELL_ID, 255, false},
	{COL_PID, "PID", CELL_ID, 60, false},
	{COL_COMM, "COMMAND", CELL_TEXT, 255, false},
	{COL_STATE, "STATE", CELL_TEXT, 15, false},
	SUMS,
	SWITCHES,
};

static const struct table_column intr_cols[] = {
	{COL_NAME, "INTERRUPT", CELL_CALL, 255, false},
	{COL_COUNT, "COUNT", CELL_COUNT, 255, false},
	{COL_ELAPSED, "TOTAL s", CELL_SECONDS, 255, false},
	{COL_ONCPU, "cpu", CELL_SHARE, 94, false},
	{COL_STOLEN, "irq", CELL_SHARE, 12, true},
	{COL_AVG, "AVG", CELL_DURATION, 100, false},
	{COL_MIN, "MIN", CELL_DURATION, 70, false},
	{COL_MAX, "MAX", CELL_DURATION, 95, false},
	{COL_OPEN, "OPEN", CELL_COUNT, 20, true},
};

static const struct table_column call_cols[] = {
	{COL_NAME, "CALL", CELL_CALL, 255, false},
	{COL_COUNT, "COUNT", CELL_COUNT, 255, false},
	{COL_ERRORS, "ERR", CELL_COUNT, 90, false},
	{COL_ELAPSED, "TOTAL s", CELL_SECONDS, 255, false},
	{COL_ONCPU, "cpu", CELL_SHARE, 94, false},
	{COL_WAIT, "wait", CELL_SHARE, 82, false},
	{COL_SLEEP, "sleep", CELL_SHARE, 80, false},
	{COL_BLKIO, "blk+io", CELL_SHARE, 85, false},
	{COL_STOPPED, "stop", CELL_SHARE, 10, true},
	{COL_STOLEN, "irq", CELL_SHARE, 12, true},
	{COL_AVG, "AVG", CELL_DURATION, 100, false},
	{COL_MIN, "MIN", CELL_DURATION, 70, false},
	{COL_MAX, "MAX", CELL_DURATION, 95, false},
	{COL_OPEN, "OPEN", CELL_COUNT, 20, true},
	{COL_PENDING, "PEND s", CELL_SECONDS, 15, true},
};

/* A sum of many, of whatever kind. */
union any_rec {
	struct report system;
	struct rep_group group;
	struct rep_proc proc;
	struct rep_task task;
	struct rep_call call;
};

/* What one sorts by must be seen: it becomes a column when the layout has none for it. */
static size_t with_sort_column(struct table_column *to, const struct table_column *cols, size_t nr,
			       enum col_id sort)
{
	bool there = sort == COL_NR || sort == COL_ACTIVE;

	memcpy(to, cols, nr * sizeof(*cols));
	for (size_t i = 0; i < nr; i++) {
		if (to[i].id != sort)
			continue;
		to[i].keep = 255;
		there = true;
	}
	if (there)
		return nr;
	to[nr] = (struct table_column){sort, columns[sort].name, table__fmt(&columns[sort]), 255,
				       false};
	return nr + 1;
}

/* Prints the first shown items and one row for the rest. */
static int put_table(const struct text *x, const struct table_column *cols, size_t nr_cols,
		     const struct item *items, size_t nr, size_t shown)
{
	struct table_row *rows = calloc(shown + 1, sizeof(*rows));
	union any_rec *more = calloc(1, sizeof(*more));
	struct table t = {x->f, x->names, x->width, x->o->color, x->ms, cols, nr_cols, x->r};
	char label[NUM_LEN];
	int err = -ENOMEM;

	if (rows && more) {
		for (size_t i = 0; i < nr; i++) {
			if (i < shown)
				rows[i].it = items[i];
			else
				column__add(items[i].kind, more, items[i].rec);
		}
		if (shown < nr) {
			snprintf(label, sizeof(label), "%zu more", nr - shown);
			rows[shown] = (struct table_row){{items[0].kind, more}, label};
		}
		err = table__print(&t, rows, shown + (shown < nr));
	}
	free(rows);
	free(more);
	return err;
}

/* What has nothing of what one asks for is not worth a row, unless all rows were asked for. */
static size_t worth_showing(const struct item *items, size_t nr, enum col_id sort, unsigned int top)
{
	size_t n = top && top < nr ? top : nr;

	if (columns[sort].unit != UNIT_NS && columns[sort].unit != UNIT_COUNT)
		return n;
	/* but when nothing has any, the key tells nothing apart and hides nothing */
	if (nr && !column__number(sort, &items[0]))
		return n;
	while (top && n > 1 && !column__number(sort, &items[n - 1]))
		n--;
	return n;
}

static int main_section(const struct text *x)
{
	static const struct {
		enum ent kind;
		const struct table_column *cols;
		size_t nr;
	} tables[] = {
		[LEVEL_SYSTEM] = {ENT_SYSTEM, system_cols, NR(system_cols)},
		[LEVEL_CPU] = {ENT_SYSTEM, system_cols, NR(system_cols)},
		[LEVEL_GROUP] = {ENT_GROUP, group_cols, NR(group_cols)},
		[LEVEL_PROCESS] = {ENT_PROC, proc_cols, NR(proc_cols)},
		[LEVEL_TASK] = {ENT_TASK, task_cols, NR(task_cols)},
	};
	struct table_column cols[TABLE_COLS_MAX];
	enum ent kind = tables[x->by].kind;
	enum col_id sort = column__find(x->o->sort, kind);
	size_t nr, nr_cols = with_sort_column(cols, tables[x->by].cols, tables[x->by].nr, sort);
	struct item *items = out__items(x->r, kind, &nr);
	int err = items ? 0 : -ENOMEM;

	if (sort == COL_NR)
		sort = COL_ONCPU;
	/* first by what settles a draw */
	if (!err)
		err = column__sort(items, nr, COL_ONCPU);
	if (!err && sort != COL_ONCPU)
		err = column__sort(items, nr, sort);
	if (!err && nr) {
		err = put_table(x, cols, nr_cols, items, nr,
				worth_showing(items, nr, sort, x->o->top));
		fputc('\n', x->f);
	}
	free(items);
	return err;
}

/* --- calls --- */

/*
 * Orders system calls so that the first limit ones answer best. By elapsed time alone the calls in
 * which programs sleep until there is work (epoll_wait, futex, poll) would take every row; so two
 * thirds go to the calls by the time they did not sleep, the rest to the longest of the others.
 */
static int order_calls(const struct text *x, struct item *items, size_t nr, size_t limit)
{
	enum col_id sort = column__find(x->o->sort, ENT_CALL);
	size_t first = limit - limit / 3;
	int err = column__sort(items, nr, sort == COL_NR ? COL_ACTIVE : sort);

	if (!err && sort == COL_NR && limit && nr > first)
		err = column__sort(items + first, nr - first, COL_ELAPSED);
	return err;
}

/* Whose system calls the tables show: COMMAND's when there is one. */
static const struct rep_calls *calls_of(const struct report *r)
{
	return r->selected ? &r->sel_calls : &r->sys_calls;
}

static int call_table(const struct text *x)
{
	struct table_column cols[TABLE_COLS_MAX];
	/* the main table is what was asked for; the calls get half of its rows */
	size_t limit = (x->o->top + 1) / 2, nr;
	size_t nr_cols = with_sort_column(cols, call_cols, NR(call_cols),
					  column__find(x->o->sort, ENT_CALL));
	struct item *items =
		out__calls(calls_of(x->r), CALL_SYSCALL, CALL_SYSCALL, CALLS_ENDED, &nr);
	int err = items ? order_calls(x, items, nr, limit) : -ENOMEM;

	if (!err && nr) {
		err = put_table(x, cols, nr_cols, items, nr, limit && limit < nr ? limit : nr);
		fputc('\n', x->f);
	}
	free(items);
	return err;
}

static int interrupt_table(const struct text *x, size_t limit)
{
	enum col_id sort = column__find(x->o->sort, ENT_CALL);
	size_t nr;
	struct item *items = out__calls(&x->r->sys_calls, CALL_IRQ, CALL_HCALL, CALLS_ENDED, &nr);
	int err = items ? column__sort(items, nr, COL_ELAPSED) : -ENOMEM;

	if (!err && sort != COL_NR)
		err = column__sort(items, nr, sort);
	if (!err && nr) {
		err = put_table(x, intr_cols, NR(intr_cols), items, nr,
				limit && limit < nr ? limit : nr);
		fputc('\n', x->f);
	}
	free(items);
	return err;
}

/*
 * Calls that had not ended: they have no average and no split, but a program that hangs in one is
 * what somebody looks for, so the longest are named on a line of their own.
 */
static int unfinished_line(const struct text *x, size_t limit)
{
	size_t nr;
	struct item *items =
		out__calls(calls_of(x->r), CALL_SYSCALL, CALL_HCALL, CALLS_UNFINISHED, &nr);
	struct wrap w = {.f = x->f, .width = x->width};
	char label[512], num[NUM_LEN];
	int err = items ? column__sort(items, nr, COL_PENDING) : -ENOMEM;

	for (size_t i = 0; !err && i < nr && (!limit || i < limit); i++) {
		const struct rep_call *c = items[i].rec;

		out__wrap(&w, "%s%s %u (%s s)%s", i ? "" : "unfinished: ",
			  out__call_label(label, sizeof(label), x->names, c->key), c->open,
			  out__seconds(num, c->pending_ns), i + 1 < nr ? "," : "");
	}
	if (!err && limit && nr > limit)
		out__wrap(&w, "%zu more", nr - limit);
	out__wrap_end(&w);
	if (!err && nr)
		fputc('\n', x->f);
	free(items);
	return err;
}

static int calls_section(const struct text *x)
{
	size_t quarter = (x->o->top + 3) / 4;
	int err = call_table(x);

	if (!err)
		err = interrupt_table(x, quarter);
	return err ? err : unfinished_line(x, quarter);
}

int out__text(const struct report *r, struct names *n, const struct out_opts *o)
{
	struct item window = {ENT_WINDOW, r};
	struct text x = {
		.r = r,
		.names = n,
		.o = o,
		.f = o->f,
		.width = o->width,
		.ms = column__number(COL_ELAPSED, &window) < NS_PER_SEC,
		.by = o->by < r->level ? o->by : r->level,
	};
	int err;

	if (x.width <= 0)
		x.width = 80;
	if (x.width < WIDTH_MIN)
		x.width = WIDTH_MIN;
	out__header(r, x.f, x.width);
	fputc('\n', x.f);
	err = cpu_section(&x);
	if (!err)
		err = main_section(&x);
	if (!err)
		err = calls_section(&x);
	if (err)
		return err;
	out__footer(r, x.f, x.width, o->color);
	return out__finish(x.f);
}
