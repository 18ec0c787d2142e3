// SPDX-License-Identifier: GPL-2.0-only
/*
 * The complete report, in the shape that users of curt know: every process, its tasks, their CPUs
 * and their calls; then the CPUs, the groups and the system.
 *
 * Times are in ms with six decimals, which is every nanosecond. Blocks, column order and names
 * are curt's; what it never had (softirqs, errors, the split of elapsed time) stands beside or to
 * the right, so that a script that takes the left columns of a block by name goes on working. This
 * file owns that shape and must not know how a number is computed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "escape.h"
#include "out_util.h"

#define NAME_COLS 20

struct full {
	const struct report *r;
	struct names *names;
	const struct out_opts *o;
	FILE *f;
};

/* curt's columns on both sides of the bar; its "idle" is all off-CPU time. */
static const enum col_id on_cols[] = {COL_USER, COL_SYS,  COL_IRQ,    COL_SOFTIRQ,
				      COL_HV,	COL_BUSY, COL_OFFCPU, COL_NR};
static const enum col_id off_cols[] = {COL_SLEEP,  COL_WAIT,	COL_BLOCKED,
				       COL_IOWAIT, COL_STOPPED, COL_NR};
/* a CPU is never off-CPU: it idles */
static const enum col_id cpu_cols[] = {COL_USER, COL_SYS,  COL_IRQ,  COL_SOFTIRQ,
				       COL_HV,	 COL_BUSY, COL_IDLE, COL_NR};
static const enum col_id split_cols[] = {COL_ONCPU,  COL_SLEEP,	  COL_WAIT,   COL_BLOCKED,
					 COL_IOWAIT, COL_STOPPED, COL_STOLEN, COL_NR};

static void put_ms(FILE *f, uint64_t ns)
{
	char buf[NUM_LEN];

	snprintf(buf, sizeof(buf), "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
	fprintf(f, " %12s", buf);
}

/* A null is "--", as in curt. */
static void put_times(const struct full *x, const struct item *it, const enum col_id *cols)
{
	FILE *f = x->f;

	for (; *cols != COL_NR; cols++) {
		struct value v;

		column__told(&columns[*cols], x->r, it, NULL, &v);
		if (v.type == VALUE_UINT)
			put_ms(f, v.u);
		else
			fprintf(f, " %12s", "--");
	}
}

static void put_heads(FILE *f, const enum col_id *cols)
{
	for (; *cols != COL_NR; cols++)
		fprintf(f, " %12s",
			*cols == COL_OFFCPU  ? "idle"
			: *cols == COL_ONCPU ? "on-cpu"
					     : columns[*cols].name);
}

/* A name from outside in a field of its own width. */
static void put_name(FILE *f, const char *name)
{
	char safe[256];
	int used = esc__fit(safe, sizeof(safe), name, NAME_COLS, false);

	fprintf(f, "%s%*s", safe, NAME_COLS - used, "");
}

static void put_util(const struct full *x, const struct item *it)
{
	struct value v;

	column__told(&columns[COL_UTIL], x->r, it, NULL, &v);
	if (v.type == VALUE_UINT)
		fprintf(x->f, " | %5.1f%%", (double)v.u / 1000);
	else
		fprintf(x->f, " | %6s", "--");
}

/* --- one row of a task, a process or the system --- */

static void put_task_head(FILE *f)
{
	fprintf(f, "     -- [%8s] %-*s %3s", "task", NAME_COLS, "command", "cpu");
	put_heads(f, on_cols);
	fputs(" |", f);
	put_heads(f, off_cols);
	fputs(" |  util%  moves\n", f);
}

/* moves: NULL where curt has none either, on the rows of single CPUs. */
static void put_task_row(const struct full *x, const char *id, const char *comm, const char *cpu,
			 const struct item *it, const uint64_t *moves)
{
	FILE *f = x->f;

	fprintf(f, "\t[%8s] ", id);
	put_name(f, comm);
	fprintf(f, " %3s", cpu);
	put_times(x, it, on_cols);
	fputs(" |", f);
	put_times(x, it, off_cols);
	put_util(x, it);
	if (moves)
		fprintf(f, " %6" PRIu64, *moves);
	fputc('\n', f);
}

/* --- calls --- */

static void put_call_head(FILE *f)
{
	fprintf(f, "\n\t     -- ( ID)%-*s %6s", NAME_COLS, "name", "count");
	fprintf(f, " %12s %12s %12s %12s %12s | %6s %6s", "elapsed", "pending", "average",
		"minimum", "maximum", "errors", "open");
	put_heads(f, split_cols);
	fputc('\n', f);
}

static void put_call(const struct full *x, const struct item *it)
{
	static const enum col_id times[] = {COL_ELAPSED, COL_PENDING, COL_AVG,
					    COL_MIN,	 COL_MAX,     COL_NR};
	const struct rep_call *c = it->rec;
	char name[512], id[NUM_LEN];
	bool other = c->key == KEY_OTHER(KEY_CLASS(c->key));

	snprintf(id, sizeof(id), "%u", KEY_NR(c->key));
	snprintf(name, sizeof(name), "%s", names__call(x->names, c->key));
	/* the number says which only together with the ABI */
	if (KEY_CLASS(c->key) == CALL_SYSCALL && KEY_ABI(c->key) && !other)
		out__call_label(name, sizeof(name), x->names, c->key);
	fprintf(x->f, "\t\t(%3s)", other ? "--" : id);
	put_name(x->f, name);
	fprintf(x->f, " %6" PRIu64, c->count);
	put_times(x, it, times);
	fprintf(x->f, " | %6" PRIu64 " %6u", c->errors, c->open);
	put_times(x, it, split_cols);
	fputc('\n', x->f);
}

/* One block for each class that has calls, by count, then elapsed. */
static int put_calls(const struct full *x, const struct rep_calls *calls)
{
	static const uint32_t order[] = {CALL_SYSCALL, CALL_HCALL, CALL_IRQ, CALL_SOFTIRQ};
	int err = 0;

	for (size_t k = 0; !err && k < sizeof(order) / sizeof(order[0]); k++) {
		size_t nr;
		struct item *items = out__calls(calls, order[k], order[k], CALLS_ALL, &nr);

		err = items ? column__sort(items, nr, COL_ELAPSED) : -ENOMEM;
		if (!err)
			err = column__sort(items, nr, COL_COUNT);
		if (!err && nr)
			put_call_head(x->f);
		for (size_t i = 0; !err && i < nr; i++)
			put_call(x, &items[i]);
		free(items);
	}
	return err;
}

/* --- processes --- */

/* The last image of a tid keeps the bare number, the ones before it are TID-0, TID-1, as in curt.
 */
static int put_task(const struct full *x, const struct item *it, uint32_t last_exec)
{
	const struct rep_task *t = it->rec;
	char id[2 * NUM_LEN], cpu[NUM_LEN];
	struct value comm;

	if (t->exec < last_exec)
		snprintf(id, sizeof(id), "%u-%u", t->tid, t->exec);
	else
		snprintf(id, sizeof(id), "%u", t->tid);
	column__get(&columns[COL_COMM], it, NULL, &comm);
	put_task_head(x->f);
	for (size_t i = 0; i < t->nr_cpus; i++) {
		struct item row = {ENT_TASK_CPU, &t->cpus[i]};

		snprintf(cpu, sizeof(cpu), "%u", t->cpus[i].cpu);
		put_task_row(x, id, comm.s, cpu, &row, NULL);
	}
	put_task_row(x, id, comm.s, "ALL", it, &t->migrations);
	return put_calls(x, &t->calls);
}

/* The newest image of the tid that items[i] is of; the images of one tid stand together, by age. */
static uint32_t last_exec(const struct item *items, size_t nr, size_t i)
{
	const struct rep_task *t = items[i].rec, *next;

	for (; i + 1 < nr; i++, t = next) {
		next = items[i + 1].rec;
		if (next->tid != t->tid)
			break;
	}
	return t->exec;
}

static int put_tasks(const struct full *x, const struct rep_proc *p)
{
	struct item *items = calloc(p->nr_tasks + 1, sizeof(*items));
	int err = items ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < p->nr_tasks; i++)
		items[i] = (struct item){ENT_TASK, &x->r->tasks[p->first_task + i]};
	if (!err)
		err = column__sort(items, p->nr_tasks, COL_EXEC);
	if (!err)
		err = column__sort(items, p->nr_tasks, COL_TID);
	for (size_t i = 0; !err && i < p->nr_tasks; i++) {
		err = put_task(x, &items[i], last_exec(items, p->nr_tasks, i));
		fputc('\n', x->f);
		if (!err)
			err = out__error(x->f);
	}
	free(items);
	return err;
}

static int put_proc(const struct full *x, const struct item *it)
{
	const struct rep_proc *p = it->rec;
	bool tasks = x->r->level >= LEVEL_TASK;
	struct value comm;
	int err = 0;

	fprintf(x->f, "  %u:\n", p->pid);
	if (tasks)
		err = put_tasks(x, p);
	if (err)
		return err;
	column__get(&columns[COL_COMM], it, NULL, &comm);
	put_task_head(x->f);
	put_task_row(x, "ALL", tasks ? "" : comm.s, "ALL", it, &p->migrations);
	/* with the tasks their calls have been told */
	if (!tasks)
		err = put_calls(x, &p->calls);
	fputc('\n', x->f);
	return err ? err : out__error(x->f);
}

static int put_procs(const struct full *x)
{
	enum col_id sort = column__find(x->o->sort, ENT_PROC);
	size_t nr;
	struct item *items = out__items(x->r, ENT_PROC, &nr);
	int err = items ? column__sort(items, nr, sort == COL_NR ? COL_PID : sort) : -ENOMEM;

	if (!err && nr)
		fputs("--  PID:\n", x->f);
	for (size_t i = 0; !err && i < nr; i++)
		err = put_proc(x, &items[i]);
	free(items);
	return err;
}

/* --- summaries --- */

static void put_cpu_row(const struct full *x, const char *label, const struct rep_cpu *c)
{
	FILE *f = x->f;
	struct item it = {ENT_CPU, c};

	fprintf(f, "\t[%8s]", label);
	put_times(x, &it, cpu_cols);
	put_util(x, &it);
	fprintf(f, " %10" PRIu64 "\n", c->switches);
}

static void put_cpus(const struct full *x)
{
	struct rep_cpu all = {.cpu = 0};
	char label[NUM_LEN];

	fprintf(x->f, "--  CPU:\n     -- [%8s]", "cpu");
	put_heads(x->f, cpu_cols);
	fputs(" |  util%   switches\n", x->f);
	for (size_t i = 0; i < x->r->nr_cpus; i++) {
		snprintf(label, sizeof(label), "%u", x->r->cpus[i].cpu);
		put_cpu_row(x, label, &x->r->cpus[i]);
		column__add(ENT_CPU, &all, &x->r->cpus[i]);
	}
	put_cpu_row(x, "ALL", &all);
	fputc('\n', x->f);
}

/* The path stands last: it may be longer than any column. */
static int put_groups(const struct full *x)
{
	enum col_id sort = column__find(x->o->sort, ENT_GROUP);
	size_t nr;
	struct item *items = out__items(x->r, ENT_GROUP, &nr);
	int err = items ? column__sort(items, nr, sort == COL_NR ? COL_ONCPU : sort) : -ENOMEM;

	if (!err) {
		fprintf(x->f, "--  GROUP:\n     -- [%8s]", "tasks");
		put_heads(x->f, on_cols);
		fputs(" |", x->f);
		put_heads(x->f, off_cols);
		fputs(" |  util%  cgroup\n", x->f);
	}
	for (size_t i = 0; !err && i < nr; i++) {
		const struct rep_group *g = items[i].rec;

		fprintf(x->f, "\t[%8" PRIu64 "]", g->tasks);
		put_times(x, &items[i], on_cols);
		fputs(" |", x->f);
		put_times(x, &items[i], off_cols);
		put_util(x, &items[i]);
		fputs("  ", x->f);
		esc__put(x->f, g->path ? g->path : "");
		fputc('\n', x->f);
		err = out__error(x->f);
	}
	fputc('\n', x->f);
	free(items);
	return err;
}

static int put_system(const struct full *x)
{
	struct item it = {ENT_SYSTEM, x->r};
	uint64_t moves = 0;
	int err;

	for (size_t i = 0; i < x->r->nr_procs; i++)
		moves += x->r->procs[i].migrations;
	fputs("    ALL:\n", x->f);
	put_task_head(x->f);
	put_task_row(x, "ALL", "", "ALL", &it, x->r->level >= LEVEL_PROCESS ? &moves : NULL);
	err = put_calls(x, &x->r->sys_calls);
	fputc('\n', x->f);
	return err;
}

int out__full(const struct report *r, struct names *n, const struct out_opts *o)
{
	struct full x = {r, n, o, o->f};
	struct item window = {ENT_WINDOW, r};
	uint64_t len = column__number(COL_ELAPSED, &window);
	int err = 0;

	out__header(r, x.f, 0);
	fputc('\n', x.f);
	if (r->level >= LEVEL_PROCESS)
		err = put_procs(&x);
	if (!err && r->level >= LEVEL_CPU)
		put_cpus(&x);
	if (!err && r->level >= LEVEL_GROUP)
		err = put_groups(&x);
	if (!err)
		err = put_system(&x);
	if (err)
		return err;
	fprintf(x.f, "Total Trace Time: %" PRIu64 ".%06" PRIu64 " ms\n\n", len / 1000000,
		len % 1000000);
	out__footer(r, x.f, 0, o->color);
	return out__finish(x.f);
}
