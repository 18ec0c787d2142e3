// SPDX-License-Identifier: GPL-2.0-only
/*
 * The one table of columns: what a report can say about each kind of entity.
 *
 * A new number is one row here, with the place where each struct keeps it; JSON, its schema, CSV,
 * the text tables and the sort keys then follow by themselves. The rows stand in the order in
 * which JSON writes its keys. This file must not know how any format looks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"
#include "columns.h"
#include "out.h"
#include "version.h"

/* Where each kind keeps its sums and its calls; no struct begins with them, so 0 is "nowhere". */
static const size_t ns_at[ENT_NR] = {
	[ENT_SYSTEM] = offsetof(struct report, sys_ns),
	[ENT_CPU] = offsetof(struct rep_cpu, ns),
	[ENT_GROUP] = offsetof(struct rep_group, ns),
	[ENT_PROC] = offsetof(struct rep_proc, ns),
	[ENT_TASK] = offsetof(struct rep_task, ns),
	[ENT_TASK_CPU] = offsetof(struct rep_task_cpu, ns),
};

static const size_t calls_at[ENT_NR] = {
	[ENT_SYSTEM] = offsetof(struct report, sys_calls),
	[ENT_GROUP] = offsetof(struct rep_group, calls),
	[ENT_PROC] = offsetof(struct rep_proc, calls),
	[ENT_TASK] = offsetof(struct rep_task, calls),
};

static const uint64_t *item_ns(const struct item *it)
{
	return (const void *)((const char *)it->rec + ns_at[it->kind]);
}

bool ent__has_calls(enum ent kind)
{
	return calls_at[kind] != 0;
}

const struct rep_calls *item__calls(const struct item *it)
{
	if (!ent__has_calls(it->kind))
		return NULL;
	return (const void *)((const char *)it->rec + calls_at[it->kind]);
}

const void *report__entity(const struct report *r, enum ent kind, size_t i)
{
	switch (kind) {
	case ENT_SYSTEM:
		return i ? NULL : r;
	case ENT_CPU:
		return i < r->nr_cpus ? &r->cpus[i] : NULL;
	case ENT_GROUP:
		return i < r->nr_groups ? &r->groups[i] : NULL;
	case ENT_PROC:
		return i < r->nr_procs ? &r->procs[i] : NULL;
	case ENT_TASK:
		return i < r->nr_tasks ? &r->tasks[i] : NULL;
	default:
		return NULL;
	}
}

static void set_uint(struct value *v, uint64_t u)
{
	v->type = VALUE_UINT;
	v->u = u;
}

static void set_text(struct value *v, const char *s)
{
	v->type = s ? VALUE_TEXT : VALUE_NULL;
	v->s = s;
}

static void calc_tool(const struct item *it, struct names *n, struct value *v)
{
	(void)it, (void)n;
	set_text(v, "utilbpf");
}

static void calc_version(const struct item *it, struct names *n, struct value *v)
{
	(void)it, (void)n;
	set_text(v, UTILBPF_VERSION);
}

/* What has no task of its own: "(ended)", or "(other)" whatever the engine left in the field. */
static void calc_comm(const struct item *it, struct names *n, struct value *v)
{
	const struct rep_proc *p = it->rec;
	const struct rep_task *t = it->rec;
	const char *comm = it->kind == ENT_PROC ? p->comm : t->comm;
	bool other = it->kind == ENT_PROC ? p->other : t->other;

	(void)n;
	set_text(v, other && comm[0] != '(' ? "(other)" : comm);
}

static void calc_class(const struct item *it, struct names *n, struct value *v)
{
	(void)n;
	set_text(v, names__class(((const struct rep_call *)it->rec)->key));
}

/* -1 is the number of the calls that found no record: no real number is negative. */
static void calc_id(const struct item *it, struct names *n, struct value *v)
{
	uint32_t key = ((const struct rep_call *)it->rec)->key;

	(void)n;
	v->type = VALUE_INT;
	v->i = key == KEY_OTHER(KEY_CLASS(key)) ? -1 : (int64_t)KEY_NR(key);
}

static void calc_pod(const struct item *it, struct names *n, struct value *v)
{
	(void)n;
	set_text(v, names__pod(((const struct rep_group *)it->rec)->path, v->buf, sizeof(v->buf)));
}

static void calc_unit(const struct item *it, struct names *n, struct value *v)
{
	(void)n;
	set_text(v, names__unit(((const struct rep_group *)it->rec)->path, v->buf, sizeof(v->buf)));
}

/* Only system calls differ by ABI. */
static void calc_abi(const struct item *it, struct names *n, struct value *v)
{
	uint32_t key = ((const struct rep_call *)it->rec)->key;

	if (KEY_CLASS(key) == CALL_SYSCALL && key != KEY_OTHER(CALL_SYSCALL))
		set_text(v, names__abi(n, key));
}

static void calc_name(const struct item *it, struct names *n, struct value *v)
{
	set_text(v, names__call(n, ((const struct rep_call *)it->rec)->key));
}

static void calc_end(const struct item *it, struct names *n, struct value *v)
{
	const struct rep_task *t = it->rec;

	(void)n;
	if (t->end_ns)
		set_uint(v, t->end_ns);
}

static void calc_elapsed(const struct item *it, struct names *n, struct value *v)
{
	const struct report *r = it->rec;

	(void)n;
	set_uint(v, r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0);
}

/* avg, min and max say nothing of calls of which none has ended. */
static void calc_avg(const struct item *it, struct names *n, struct value *v)
{
	const struct rep_call *c = it->rec;

	(void)n;
	if (c->count)
		set_uint(v, c->elapsed_ns / c->count);
}

/* What a caller could not help: the time of a call that it did not sleep. */
static void calc_active(const struct item *it, struct names *n, struct value *v)
{
	const struct rep_call *c = it->rec;
	uint64_t sleep = c->off_ns[AC_SLEEP - AC_WAIT];

	(void)n;
	set_uint(v, c->elapsed_ns > sleep ? c->elapsed_ns - sleep : 0);
}

static void calc_min(const struct item *it, struct names *n, struct value *v)
{
	const struct rep_call *c = it->rec;

	(void)n;
	if (c->count)
		set_uint(v, c->min_ns);
}

static void calc_max(const struct item *it, struct names *n, struct value *v)
{
	const struct rep_call *c = it->rec;

	(void)n;
	if (c->count)
		set_uint(v, c->max_ns);
}

/* RFC 3339 in the zone of the one who looks; a date that does not exist is the epoch. */
static void calc_start_time(const struct item *it, struct names *n, struct value *v)
{
	const struct timespec *ts = &((const struct report *)it->rec)->start_wall;
	char day[40] = "1970-01-01T00:00:00", zone[8] = "+0000";
	struct tm tm;

	(void)n;
	if (localtime_r(&ts->tv_sec, &tm) && tm.tm_year >= -1900 && tm.tm_year <= 9999 - 1900) {
		strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
		strftime(zone, sizeof(zone), "%z", &tm);
	}
	snprintf(v->buf, sizeof(v->buf), "%s.%09u%.3s:%.2s", day,
		 (unsigned int)ts->tv_nsec % 1000000000U, zone, zone + 3);
	set_text(v, v->buf);
}

static void calc_oncpu(const struct item *it, struct names *n, struct value *v)
{
	(void)n;
	set_uint(v, report__oncpu(item_ns(it)));
}

static void calc_offcpu(const struct item *it, struct names *n, struct value *v)
{
	(void)n;
	set_uint(v, report__offcpu(item_ns(it)));
}

/* A CPU has no off-CPU classes: what it is not on for is its idle time. */
static void calc_util(const struct item *it, struct names *n, struct value *v)
{
	const uint64_t *ns = item_ns(it);
	double on = (double)report__oncpu(ns), percent = report__util(ns);

	(void)n;
	if (it->kind == ENT_CPU)
		percent = on > 0 ? 100 * on / (on + (double)ns[AC_IDLE]) : 0;
	set_uint(v, (uint64_t)(percent * 1000 + 0.5));
}

static void calc_intr(const struct item *it, struct names *n, struct value *v)
{
	const uint64_t *ns = item_ns(it);

	(void)n;
	set_uint(v, ns[AC_IRQ] + ns[AC_SOFTIRQ] + ns[AC_HV]);
}

static void calc_blkio(const struct item *it, struct names *n, struct value *v)
{
	const struct rep_call *c = it->rec;
	/* a call keeps no on-CPU classes: its array begins with AC_WAIT */
	bool call = it->kind == ENT_CALL;
	const uint64_t *ns = call ? c->off_ns : item_ns(it);
	int first = call ? AC_WAIT : 0;

	(void)n;
	set_uint(v, ns[AC_BLOCKED - first] + ns[AC_IOWAIT - first]);
}

static void calc_run_ns(const struct item *it, struct names *n, struct value *v)
{
	const struct rep_cost *c = it->rec;

	(void)n;
	if (c->have_run_ns)
		set_uint(v, c->bpf_run_ns);
}

static const char *const call_classes[] = {"syscall", "irq", "softirq", "hcall", NULL};
static const char *const task_states[] = {"running", "wait",	"sleep",  "blocked",
					  "iowait",  "stopped", "exited", NULL};

/* The compiler says what type a field has, so a struct can change without this file lying. */
#define MEMBER(st, m) (((struct st *)0)->m)
#define TYPE_OF(x)                                                                                 \
	_Generic((x), bool : FIELD_BOOL, uint32_t : FIELD_U32, uint64_t : FIELD_U64, int64_t : \
		 FIELD_I64, const char * : FIELD_STR, char * : FIELD_CHARS)
#define IN(how, st, m)                                                                             \
	{                                                                                          \
		TYPE_OF(MEMBER(st, m)), how, offsetof(struct st, m)                                \
	}
#define CALC(how)                                                                                  \
	{                                                                                          \
		FIELD_CALC, how, 0                                                                 \
	}

#define EVERY_SUM(field)                                                                           \
	[ENT_SYSTEM] = IN(USE_ALL, report, sys_##field),                                           \
	[ENT_GROUP] = IN(USE_ALL, rep_group, field), [ENT_PROC] = IN(USE_ALL, rep_proc, field),    \
	[ENT_TASK] = IN(USE_ALL, rep_task, field),                                                 \
	[ENT_TASK_CPU] = IN(USE_ALL, rep_task_cpu, field)
#define EVERY_CALC                                                                                 \
	[ENT_SYSTEM] = CALC(USE_TEXT), [ENT_GROUP] = CALC(USE_TEXT), [ENT_PROC] = CALC(USE_TEXT),  \
	[ENT_TASK] = CALC(USE_TEXT), [ENT_TASK_CPU] = CALC(USE_TEXT)

#define COLUMN(name, key, unit) name, key, unit
#define ONCPU_COLUMN(id, name)                                                                     \
	[COL_##id] = {                                                                             \
		COLUMN(name, name "_ns", UNIT_NS), .sortable = true,                               \
		.at = {[ENT_CPU] = IN(USE_ALL, rep_cpu, ns[AC_##id]), EVERY_SUM(ns[AC_##id])}},
#define OFFCPU_COLUMN(id, name)                                                                    \
	[COL_##id] = {COLUMN(name, name "_ns", UNIT_NS), .sortable = true,                         \
		      .at = {[ENT_CALL] = IN(USE_ALL, rep_call, off_ns[AC_##id - AC_WAIT]),        \
			     EVERY_SUM(ns[AC_##id])}},
#define IDLE_COLUMN(id, name)                                                                      \
	[COL_##id] = {COLUMN(name, name "_ns", UNIT_NS), .sortable = true,                         \
		      .at = {[ENT_SYSTEM] = IN(USE_ALL, report, sys_ns[AC_##id]),                  \
			     [ENT_CPU] = IN(USE_ALL, rep_cpu, ns[AC_##id])}},
#define TALLY(id, ent, st, m, unit)                                                                \
	[COL_##id] = {COLUMN(#m, #m, unit), .at = {[ent] = IN(USE_DATA, st, m)}},

const struct column columns[COL_NR] = {
	[COL_TOOL] = {COLUMN("tool", "name", UNIT_TEXT), .calc = calc_tool,
		      .at = {[ENT_TOOL] = CALC(USE_JSON)}},
	[COL_VERSION] = {COLUMN("version", "version", UNIT_TEXT), .calc = calc_version,
			 .at = {[ENT_TOOL] = CALC(USE_JSON)}},
	[COL_ENGINE] = {COLUMN("engine", "engine", UNIT_TEXT),
			.at = {[ENT_TOOL] = IN(USE_JSON, report, engine)}},
	[COL_REASON] = {COLUMN("reason", "reason", UNIT_TEXT),
			.at = {[ENT_TOOL] = IN(USE_JSON, report, reason)}},
	[COL_SELECTION] = {COLUMN("selection", "selection", UNIT_TEXT), .nullable = true,
			   .at = {[ENT_TOOL] = IN(USE_JSON, report, selection)}},
	[COL_WINDOW] = {COLUMN("window", "window", UNIT_ID),
			.at = {[ENT_WINDOW] = IN(USE_CSV, report, index)}},
	[COL_WINDOW_START] = {COLUMN("window_start", "window_start_ns", UNIT_TIME),
			      .at = {[ENT_WINDOW] = IN(USE_CSV, report, start_ns)}},
	[COL_WINDOW_END] = {COLUMN("window_end", "window_end_ns", UNIT_TIME),
			    .at = {[ENT_WINDOW] = IN(USE_CSV, report, end_ns)}},
	[COL_INDEX] = {COLUMN("index", "index", UNIT_ID),
		       .at = {[ENT_WINDOW] = IN(USE_JSON, report, index)}},
	[COL_TID] = {COLUMN("tid", "tid", UNIT_ID), .sortable = true, .identity = true,
		     .at = {[ENT_TASK] = IN(USE_ALL, rep_task, tid)}},
	[COL_PID] = {COLUMN("pid", "pid", UNIT_ID), .sortable = true, .identity = true,
		     .at = {[ENT_PROC] = IN(USE_ALL, rep_proc, pid),
			    [ENT_TASK] = IN(USE_ALL, rep_task, pid)}},
	[COL_EXEC] = {COLUMN("exec", "exec", UNIT_ID), .identity = true,
		      .at = {[ENT_TASK] = IN(USE_ALL, rep_task, exec)}},
	[COL_COMM] = {COLUMN("comm", "comm", UNIT_TEXT), .sortable = true, .identity = true,
		      .calc = calc_comm,
		      .at = {[ENT_PROC] = CALC(USE_ALL), [ENT_TASK] = CALC(USE_ALL)}},
	[COL_CGROUP] = {COLUMN("cgroup", "cgroup", UNIT_TEXT), .sortable = true, .identity = true,
			.at = {[ENT_GROUP] = IN(USE_ALL, rep_group, path),
			       [ENT_PROC] = IN(USE_ALL, rep_proc, cgroup),
			       [ENT_TASK] = IN(USE_ALL, rep_task, cgroup)}},
	/* a group's own JSON key is "id", which CSV needs for the calls */
	[COL_CGROUP_ID] = {COLUMN("cgroup_id", "cgroup_id", UNIT_ID), .identity = true,
			   .at = {[ENT_GROUP] = IN(USE_CSV, rep_group, id),
				  [ENT_PROC] = IN(USE_DATA, rep_proc, cgroup_id),
				  [ENT_TASK] = IN(USE_DATA, rep_task, cgroup_id)}},
	[COL_CPU] = {COLUMN("cpu_number", "cpu", UNIT_ID),
		     .at = {[ENT_CPU] = IN(USE_ALL, rep_cpu, cpu),
			    [ENT_TASK_CPU] = IN(USE_ALL, rep_task_cpu, cpu)}},
	[COL_CLASS] = {COLUMN("class", "class", UNIT_TEXT), .calc = calc_class,
		       .values = call_classes, .at = {[ENT_CALL] = CALC(USE_ALL)}},
	[COL_ID] = {COLUMN("id", "id", UNIT_ID), .calc = calc_id,
		    .at = {[ENT_CALL] = CALC(USE_ALL), [ENT_GROUP] = IN(USE_JSON, rep_group, id)}},
	[COL_ABI] = {COLUMN("abi", "abi", UNIT_TEXT), .calc = calc_abi, .nullable = true,
		     .at = {[ENT_CALL] = CALC(USE_ALL)}},
	[COL_NAME] =
		{COLUMN("name", "name", UNIT_TEXT), .calc = calc_name,
		 .at = {[ENT_CALL] = CALC(USE_ALL), [ENT_HOST] = IN(USE_JSON, rep_host, name)}},
	[COL_KERNEL] = {COLUMN("kernel", "kernel", UNIT_TEXT),
			.at = {[ENT_HOST] = IN(USE_JSON, rep_host, kernel)}},
	[COL_ARCH] = {COLUMN("arch", "arch", UNIT_TEXT),
		      .at = {[ENT_HOST] = IN(USE_JSON, rep_host, arch)}},
	[COL_CPUS_ONLINE] = {COLUMN("cpus_online", "cpus_online", UNIT_ID),
			     .at = {[ENT_HOST] = IN(USE_JSON, rep_host, cpus_online)}},
	[COL_CPUS_POSSIBLE] = {COLUMN("cpus_possible", "cpus_possible", UNIT_ID),
			       .at = {[ENT_HOST] = IN(USE_JSON, rep_host, cpus_possible)}},
	[COL_CONTAINER] = {COLUMN("container", "container", UNIT_TEXT), .identity = true,
			   .nullable = true,
			   .at = {[ENT_GROUP] = IN(USE_ALL, rep_group, container)}},
	[COL_POD] = {COLUMN("pod", "pod", UNIT_TEXT), .nullable = true, .calc = calc_pod,
		     .at = {[ENT_GROUP] = CALC(USE_ALL)}},
	[COL_UNIT] = {COLUMN("unit", "unit", UNIT_TEXT), .nullable = true, .calc = calc_unit,
		      .at = {[ENT_GROUP] = CALC(USE_ALL)}},
	[COL_UID] = {COLUMN("uid", "uid", UNIT_ID), .sortable = true,
		     .at = {[ENT_PROC] = IN(USE_ALL, rep_proc, uid),
			    [ENT_TASK] = IN(USE_ALL, rep_task, uid)}},
	[COL_KTHREAD] = {COLUMN("kthread", "kthread", UNIT_FLAG),
			 .at = {[ENT_PROC] = IN(USE_DATA, rep_proc, kthread),
				[ENT_TASK] = IN(USE_DATA, rep_task, kthread)}},
	[COL_PARTIAL] = {COLUMN("partial", "partial", UNIT_FLAG),
			 .at = {[ENT_TASK] = IN(USE_JSON, rep_task, part)}},
	[COL_START] = {COLUMN("start", "start_ns", UNIT_TIME),
		       .at = {[ENT_WINDOW] = IN(USE_JSON, report, start_ns),
			      [ENT_PROC] = IN(USE_DATA, rep_proc, start_ns),
			      [ENT_TASK] = IN(USE_DATA, rep_task, start_ns)}},
	[COL_END] =
		{COLUMN("end", "end_ns", UNIT_TIME), .nullable = true, .calc = calc_end,
		 .at = {[ENT_WINDOW] = IN(USE_JSON, report, end_ns), [ENT_TASK] = CALC(USE_DATA)}},
	[COL_STATE] = {COLUMN("state", "state", UNIT_TEXT), .values = task_states,
		       .at = {[ENT_TASK] = IN(USE_ALL, rep_task, state)}},
	[COL_COUNT] = {COLUMN("count", "count", UNIT_COUNT), .sortable = true,
		       .at = {[ENT_CALL] = IN(USE_ALL, rep_call, count)}},
	[COL_ERRORS] = {COLUMN("errors", "errors", UNIT_COUNT), .sortable = true,
			.at = {[ENT_CALL] = IN(USE_ALL, rep_call, errors)}},
	[COL_ELAPSED] = {COLUMN("elapsed", "elapsed_ns", UNIT_NS), .sortable = true,
			 .calc = calc_elapsed,
			 .at = {[ENT_CALL] = IN(USE_ALL, rep_call, elapsed_ns),
				[ENT_WINDOW] = CALC(USE_JSON)}},
	[COL_PENDING] = {COLUMN("pending", "pending_ns", UNIT_NS), .sortable = true,
			 .at = {[ENT_CALL] = IN(USE_ALL, rep_call, pending_ns)}},
	[COL_OPEN] = {COLUMN("open", "open", UNIT_COUNT), .sortable = true,
		      .at = {[ENT_CALL] = IN(USE_ALL, rep_call, open)}},
	[COL_AVG] = {COLUMN("avg", "avg_ns", UNIT_MEAN), .sortable = true, .nullable = true,
		     .calc = calc_avg, .at = {[ENT_CALL] = CALC(USE_TEXT)}},
	[COL_ACTIVE] = {COLUMN("active", "active_ns", UNIT_NS), .sortable = true,
			.calc = calc_active, .at = {[ENT_CALL] = CALC(USE_TEXT)}},
	[COL_MIN] = {COLUMN("min", "min_ns", UNIT_MEAN), .sortable = true, .nullable = true,
		     .calc = calc_min, .at = {[ENT_CALL] = CALC(USE_ALL)}},
	[COL_MAX] = {COLUMN("max", "max_ns", UNIT_MEAN), .sortable = true, .nullable = true,
		     .calc = calc_max, .at = {[ENT_CALL] = CALC(USE_ALL)}},
	[COL_START_TIME] = {COLUMN("start_time", "start_time", UNIT_TEXT), .calc = calc_start_time,
			    .at = {[ENT_WINDOW] = CALC(USE_JSON)}},
	[COL_ONCPU] = {COLUMN("cpu", "oncpu_ns", UNIT_NS), .sortable = true, .calc = calc_oncpu,
		       .at = {EVERY_CALC, [ENT_CPU] = CALC(USE_TEXT),
			      [ENT_CALL] = IN(USE_ALL, rep_call, oncpu_ns)}},
	[COL_UTIL] = {COLUMN("util", "util", UNIT_PERCENT), .sortable = true, .calc = calc_util,
		      .at = {EVERY_CALC, [ENT_CPU] = CALC(USE_TEXT)}},
	ONCPU_CLASSES(ONCPU_COLUMN) OFFCPU_CLASSES(OFFCPU_COLUMN) IDLE_CLASS(
		IDLE_COLUMN)[COL_STOLEN] = {COLUMN("stolen", "irq_stolen_ns", UNIT_NS),
					    .sortable = true,
					    .at = {[ENT_CALL] = IN(USE_ALL, rep_call, stolen_ns)}},
	[COL_INTR] = {COLUMN("intr", "intr_ns", UNIT_NS), .sortable = true, .calc = calc_intr,
		      .at = {EVERY_CALC, [ENT_CPU] = CALC(USE_TEXT)}},
	[COL_BLKIO] = {COLUMN("blk+io", "blkio_ns", UNIT_NS), .sortable = true, .calc = calc_blkio,
		       .at = {EVERY_CALC, [ENT_CALL] = CALC(USE_TEXT)}},
	[COL_OFFCPU] = {COLUMN("off", "offcpu_ns", UNIT_NS), .sortable = true, .calc = calc_offcpu,
			.at = {EVERY_CALC}},
	[COL_ONLINE] = {COLUMN("online", "online_ns", UNIT_NS),
			.at = {[ENT_CPU] = IN(USE_ALL, rep_cpu, online_ns)}},
	[COL_TASKS] = {COLUMN("tasks", "tasks", UNIT_COUNT), .sortable = true,
		       .at = {[ENT_SYSTEM] = IN(USE_ALL, report, sys_tasks),
			      [ENT_GROUP] = IN(USE_ALL, rep_group, tasks),
			      [ENT_PROC] = IN(USE_ALL, rep_proc, tasks)}},
	[COL_PROCS] = {COLUMN("processes", "processes", UNIT_COUNT),
		       .at = {[ENT_SYSTEM] = IN(USE_ALL, report, sys_procs)}},
	[COL_GROUPS] = {COLUMN("groups", "groups", UNIT_COUNT),
			.at = {[ENT_SYSTEM] = IN(USE_ALL, report, sys_groups)}},
	[COL_SWITCHES] = {COLUMN("switches", "switches", UNIT_COUNT), .sortable = true,
			  .at = {[ENT_SYSTEM] = IN(USE_ALL, report, sys_switches),
				 [ENT_CPU] = IN(USE_ALL, rep_cpu, switches)}},
	[COL_MOVES] = {COLUMN("moves", "migrations", UNIT_COUNT), .sortable = true,
		       .at = {[ENT_GROUP] = IN(USE_ALL, rep_group, migrations),
			      [ENT_PROC] = IN(USE_ALL, rep_proc, migrations),
			      [ENT_TASK] = IN(USE_ALL, rep_task, migrations)}},
	[COL_VOLUNTARY] = {COLUMN("voluntary", "voluntary", UNIT_COUNT), .sortable = true,
			   .at = {[ENT_GROUP] = IN(USE_ALL, rep_group, voluntary),
				  [ENT_PROC] = IN(USE_ALL, rep_proc, voluntary),
				  [ENT_TASK] = IN(USE_ALL, rep_task, voluntary)}},
	[COL_INVOLUNTARY] = {COLUMN("involuntary", "involuntary", UNIT_COUNT), .sortable = true,
			     .at = {[ENT_GROUP] = IN(USE_ALL, rep_group, involuntary),
				    [ENT_PROC] = IN(USE_ALL, rep_proc, involuntary),
				    [ENT_TASK] = IN(USE_ALL, rep_task, involuntary)}},
	TALLY(FOLDED_TASKS, ENT_QUALITY, rep_quality, folded_tasks,
	      UNIT_COUNT) TALLY(LOST_EVENTS, ENT_QUALITY, rep_quality, lost_events, UNIT_COUNT)
		TALLY(MISSED_RUNS, ENT_QUALITY, rep_quality, missed_runs, UNIT_COUNT) TALLY(
			DROPPED_TASKS, ENT_QUALITY, rep_quality, dropped_tasks,
			UNIT_COUNT) TALLY(DROPPED_CALLS, ENT_QUALITY, rep_quality, dropped_calls,
					  UNIT_COUNT) TALLY(OUT_OF_ORDER, ENT_QUALITY, rep_quality,
							    out_of_order, UNIT_COUNT)
			TALLY(UNMATCHED, ENT_QUALITY, rep_quality, unmatched, UNIT_COUNT) TALLY(
				RESIDUAL, ENT_QUALITY, rep_quality, residual_ns, UNIT_MEAN)
				TALLY(UNKNOWN, ENT_QUALITY, rep_quality, unknown_ns,
				      UNIT_NS) TALLY(LOADER_CPU, ENT_COST, rep_cost, loader_cpu_ns,
						     UNIT_NS) TALLY(LOADER_RSS, ENT_COST, rep_cost,
								    loader_rss_bytes, UNIT_BYTES)
					TALLY(MAP_BYTES, ENT_COST, rep_cost, map_bytes, UNIT_BYTES)
						TALLY(BPF_RUNS, ENT_COST, rep_cost, bpf_runs,
						      UNIT_COUNT)[COL_BPF_RUN_NS] =
							{COLUMN("bpf_run_ns", "bpf_run_ns",
								UNIT_NS),
							 .nullable = true, .calc = calc_run_ns,
							 .at = {[ENT_COST] = CALC(USE_DATA)}},
};

bool column__has(const struct column *c, enum ent kind, unsigned int use)
{
	return c->at[kind].type != FIELD_NONE && (c->at[kind].use & use);
}

#define BITS(a)	    (1U << AC_##a)
#define OFF_CLASSES (BITS(WAIT) | BITS(SLEEP) | BITS(BLOCKED) | BITS(IOWAIT) | BITS(STOPPED))

/* What a column is made of, as in report.absent: all of that must be lacking. 0: nothing can. */
static uint32_t made_of(enum col_id id, enum ent kind)
{
	if (id >= COL_USER && id <= COL_IDLE)
		return 1U << (id - COL_USER);
	switch (id) {
	case COL_INTR:
		return BITS(IRQ) | BITS(SOFTIRQ); /* most machines have no hypervisor calls */
	case COL_BLKIO:
		return BITS(BLOCKED) | BITS(IOWAIT);
	case COL_OFFCPU:
		return OFF_CLASSES;
	case COL_SWITCHES:
	case COL_MOVES:
	case COL_VOLUNTARY:
	case COL_INVOLUNTARY:
		return LACK_SWITCHES;
	case COL_UID:
		return LACK_USERS;
	case COL_CGROUP:
	case COL_CGROUP_ID:
		return LACK_GROUPS;
	case COL_ID:
		return kind == ENT_GROUP ? LACK_GROUPS : 0;
	case COL_START:
		return kind == ENT_PROC || kind == ENT_TASK ? LACK_STARTS : 0;
	default:
		return 0;
	}
}

/* A share of what is not known says nothing, whatever it is. */
static bool meaningless(const struct report *r, enum col_id id, enum ent kind)
{
	if (kind == ENT_SYSTEM && (r->absent & LACK_SYSTEM))
		return id == COL_TASKS || id == COL_SWITCHES || id == COL_ONCPU || id == COL_UTIL ||
		       id == COL_INTR || id == COL_BLKIO || id == COL_OFFCPU ||
		       (id >= COL_USER && id <= COL_IDLE);
	if (id == COL_UTIL)
		return r->absent & (kind == ENT_CPU ? BITS(IDLE) : BITS(SLEEP));
	return (id == COL_CGROUP || id == COL_CGROUP_ID) && (r->absent & LACK_GROUPS);
}

void column__told(const struct column *c, const struct report *r, const struct item *it,
		  struct names *n, struct value *v)
{
	enum col_id id = c - columns;
	uint32_t of;

	column__get(c, it, n, v);
	if (!r->absent)
		return;
	of = made_of(id, it->kind);
	if (meaningless(r, id, it->kind) ||
	    (of && (r->absent & of) == of && v->type == VALUE_UINT && !v->u))
		v->type = VALUE_NULL;
}

/* uid_t's own word for nobody: 0 would be root. */
#define NO_USER UINT32_MAX

void column__plain(const struct column *c, const struct report *r, const struct item *it,
		   struct names *n, struct value *v)
{
	column__get(c, it, n, v);
	if (c == &columns[COL_UID] && (r->absent & LACK_USERS) && !v->u)
		v->u = NO_USER;
}

bool column__unrecorded(const struct column *c, const struct report *r)
{
	/* between them they have every column that can be lacking; a group's id is its cgroup's */
	static const enum ent kinds[] = {ENT_CPU, ENT_TASK, ENT_SYSTEM};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint32_t of = made_of(c - columns, kinds[i]);

		if (of && (r->absent & of) == of && column__has(c, kinds[i], USE_JSON))
			return true;
	}
	return false;
}

bool column__nullable(const struct column *c, enum ent kind)
{
	/* a task may go on, a window has ended */
	return c->nullable && !(c == &columns[COL_END] && kind == ENT_WINDOW);
}

void column__get(const struct column *c, const struct item *it, struct names *n, struct value *v)
{
	const struct field *f = &c->at[it->kind];
	const char *p = (const char *)it->rec + f->off;

	/* not the whole struct: this is the innermost loop of every renderer */
	v->type = VALUE_NULL;
	v->u = 0;
	v->s = NULL;
	switch (f->type) {
	case FIELD_BOOL:
		v->type = VALUE_BOOL;
		v->b = *(const bool *)p;
		break;
	case FIELD_U32:
		set_uint(v, *(const uint32_t *)p);
		break;
	case FIELD_U64:
		set_uint(v, *(const uint64_t *)p);
		break;
	case FIELD_I64:
		v->type = VALUE_INT;
		v->i = *(const int64_t *)p;
		break;
	case FIELD_STR:
		set_text(v, *(const char *const *)p);
		break;
	case FIELD_CHARS:
		set_text(v, p);
		break;
	case FIELD_CALC:
		c->calc(it, n, v);
		break;
	}
	/* a text that must be there but was not filled is empty, not absent */
	if (v->type == VALUE_NULL && c->unit == UNIT_TEXT && !c->nullable)
		set_text(v, "");
}

uint64_t column__number(enum col_id id, const struct item *it)
{
	struct value v;

	column__get(&columns[id], it, NULL, &v);
	return v.type == VALUE_UINT ? v.u : 0;
}

void column__add(enum ent kind, void *dst, const void *src)
{
	for (int i = 0; i < COL_NR; i++) {
		const struct field *f = &columns[i].at[kind];
		const char *from = (const char *)src + f->off;
		char *to = (char *)dst + f->off;

		if (columns[i].unit != UNIT_COUNT && columns[i].unit != UNIT_NS)
			continue;
		if (f->type == FIELD_U64)
			*(uint64_t *)to += *(const uint64_t *)from;
		else if (f->type == FIELD_U32)
			*(uint32_t *)to += *(const uint32_t *)from;
	}
}

enum col_id column__find(const char *name, enum ent kind)
{
	for (int i = 0; name && i < COL_NR; i++) {
		const struct column *c = &columns[i];

		if (c->sortable && (!strcmp(c->name, name) || !strcmp(c->key, name)) &&
		    (kind == ENT_NR || column__has(c, kind, USE_TEXT)))
			return i;
	}
	return COL_NR;
}

/* An item beside what it is sorted by, so that each value is taken only once. */
struct sort_entry {
	struct item it;
	uint64_t num;
	const char *text;
	size_t was; /* keeps equal ones in the order they came in */
};

static int compare_up(const void *a, const void *b)
{
	const struct sort_entry *x = a, *y = b;
	int c = x->text && y->text ? strcmp(x->text, y->text) : 0;

	if (c)
		return c;
	if (x->num != y->num)
		return x->num < y->num ? -1 : 1;
	return x->was < y->was ? -1 : 1;
}

static int compare_down(const void *a, const void *b)
{
	const struct sort_entry *x = a, *y = b;

	if (x->num != y->num)
		return x->num < y->num ? 1 : -1;
	return x->was < y->was ? -1 : 1;
}

int column__sort(struct item *items, size_t nr, enum col_id id)
{
	bool up = columns[id].unit == UNIT_ID || columns[id].unit == UNIT_TEXT;
	struct sort_entry *e = calloc(nr + 1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct value v;

		column__get(&columns[id], &items[i], NULL, &v);
		e[i] = (struct sort_entry){.it = items[i], .num = v.u, .text = v.s, .was = i};
	}
	qsort(e, nr, sizeof(*e), up ? compare_up : compare_down);
	for (size_t i = 0; i < nr; i++)
		items[i] = e[i].it;
	free(e);
	return 0;
}

bool out__sort_key_valid(const char *key)
{
	return column__find(key, ENT_NR) != COL_NR;
}

const char *out__sort_keys(void)
{
	static char keys[512];
	size_t used = 0;

	for (int i = 0; i < COL_NR; i++)
		if (columns[i].sortable && used < sizeof(keys))
			used += snprintf(keys + used, sizeof(keys) - used, "%s%s", used ? "," : "",
					 columns[i].name);
	return keys;
}
