/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One window's truth: what every renderer walks and every engine fills, through report.c.
 *
 * It knows neither engines nor formats. All times are nanoseconds. Strings may hold any byte that
 * a task or a path can hold: renderers escape for their format (escape.h).
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "../bpf/utilbpf.h"

enum report_level {
	LEVEL_SYSTEM,
	LEVEL_CPU,
	LEVEL_GROUP,
	LEVEL_PROCESS,
	LEVEL_TASK,
};

/* One kind of call of one entity. off[] is in the order of AC_WAIT..AC_STOPPED. */
struct rep_call {
	uint32_t key;
	uint32_t open;
	uint64_t count, errors;
	uint64_t elapsed_ns, pending_ns;
	/*
	 * The part of pending_ns that is of open calls whose begin was seen: what follows counts
	 * them with their whole length. And the same from their begin, be it before the report's.
	 */
	uint64_t open_ns, open_all_ns;
	uint64_t min_ns, max_ns; /* meaningless when count is 0 */
	uint64_t oncpu_ns, stolen_ns;
	uint64_t off_ns[AC_OFF_NR];
};

struct rep_calls {
	struct rep_call *v; /* sorted by elapsed + pending, descending, when the report is done */
	size_t n;
};

struct rep_cpu {
	uint32_t cpu;
	uint64_t ns[AC_NR]; /* on-CPU classes and AC_IDLE */
	uint64_t switches;
	uint64_t online_ns; /* what the row must sum to */
};

/* What a task did on one CPU: all classes. */
struct rep_task_cpu {
	uint32_t cpu;
	uint64_t ns[AC_NR];
};

/* A sum over tasks: the system, a group, a process. */
struct rep_group {
	uint64_t id;	       /* cgroup id, 0 unknown */
	const char *path;      /* "/..." or "(gone)" */
	const char *container; /* or NULL */
	uint64_t ns[AC_NR];
	uint64_t tasks, alive; /* alive: of those, at the end */
	uint64_t migrations, voluntary, involuntary;
	struct rep_calls calls;
};

struct rep_proc {
	uint32_t pid;
	uint32_t exec; /* the image that comm is of */
	uint64_t start_ns;
	char comm[ACCT_COMM_LEN + 1];
	uint32_t uid;
	bool other; /* the "(other)" record of what found no place: pid 0 */
	bool kthread;
	uint64_t cgroup_id;
	const char *cgroup;
	uint64_t ns[AC_NR];
	uint64_t tasks, alive;
	uint64_t migrations, voluntary, involuntary;
	struct rep_calls calls;
	size_t first_task, nr_tasks; /* its tasks in report.tasks, when the level is LEVEL_TASK */
};

struct rep_task {
	uint32_t tid, pid;
	uint32_t exec;
	char comm[ACCT_COMM_LEN + 1];
	uint64_t cgroup_id;
	const char *cgroup;
	bool kthread, other, exited;
	bool part; /* of its life only: it moved between groups, or was not selected all the time */
	uint32_t uid;
	uint64_t start_ns, end_ns; /* end_ns 0: alive */
	uint64_t from_ns;	   /* with `part`: where that begins */
	const char *state;	   /* as in CONTRACT section 4 */
	uint64_t ns[AC_NR];
	uint64_t migrations, voluntary, involuntary;
	struct rep_task_cpu *cpus;
	size_t nr_cpus;
	struct rep_calls calls;
	size_t proc; /* index into report.procs */
};

struct rep_quality {
	uint64_t lost_events, missed_runs, dropped_tasks, dropped_calls, out_of_order, unmatched;
	uint64_t folded_tasks; /* ended, and told in sum only: nothing of them is lost */
	int64_t residual_ns;   /* what the laws of conservation leave over, worst CPU or task */
	uint64_t unknown_ns;   /* time of tasks that found no record at all */
};

struct rep_cost {
	uint64_t loader_cpu_ns, loader_rss_bytes, map_bytes, bpf_runs;
	bool have_run_ns; /* kernel.bpf_stats_enabled was on */
	uint64_t bpf_run_ns;
};

struct rep_host {
	char name[256], kernel[256], arch[65];
	uint32_t cpus_online, cpus_possible;
};

/*
 * What a report's source may be unable to tell, besides classes. A number that is zero for want of
 * that is no number: it is null, and empty where there are no nulls. What is told of it all the
 * same, a kernel thread's sys without system calls, say, stays.
 */
#define LACK_SWITCHES (1U << 16) /* switches, migrations */
#define LACK_USERS    (1U << 17)
#define LACK_GROUPS   (1U << 18)
#define LACK_STARTS   (1U << 19) /* when a task began that was there before */
#define LACK_SYSTEM   (1U << 20) /* all of the system's own row, and there are no CPUs' */

struct report {
	enum report_level level; /* the finest level that is filled */
	const char *engine, *reason;
	const char *selection; /* in words, as options; NULL: everything */
	struct rep_host host;
	uint64_t index, start_ns, end_ns;
	struct timespec start_wall; /* CLOCK_REALTIME of start_ns */
	struct rep_quality quality;
	struct rep_cost cost;

	uint32_t absent;	    /* 1 << AC_* and LACK_*: of these the source cannot tell */
	uint64_t sys_ns[AC_NR];	    /* tasks' classes; AC_IDLE is the CPUs' idle time */
	uint64_t sys_cpu_ns[AC_NR]; /* the sum of the CPU rows: interrupts taken while idle too */
	uint64_t sys_tasks, sys_procs, sys_groups, sys_switches;
	uint64_t sys_alive; /* of sys_tasks, at the end */
	struct rep_calls sys_calls;
	bool selected;		    /* groups, processes and tasks are not all that there were */
	struct rep_calls sel_calls; /* and these are their calls */

	struct rep_cpu *cpus;
	size_t nr_cpus;
	struct rep_group *groups;
	size_t nr_groups;
	struct rep_proc *procs;
	size_t nr_procs;
	struct rep_task *tasks;
	size_t nr_tasks;

	const char *notes[16]; /* one line each: what the engine could not see; NULL-terminated */
};

/* Sum of the on-CPU classes, of the off-CPU classes, in ns. */
uint64_t report__oncpu(const uint64_t ns[AC_NR]);
uint64_t report__offcpu(const uint64_t ns[AC_NR]);

/* Contract's util%: on / (on + off) in percent, 0 when nothing was seen. */
double report__util(const uint64_t ns[AC_NR]);

/* A law is off by d ns: the worst is kept. And the same of each CPU's. */
void report__residual(struct report *r, int64_t d);
void report__residual_of_cpus(struct report *r);

/* Short lower-case name of a class ("user"), and its JSON key ("user_ns"). */
const char *report__class_name(enum acct_class cls);
const char *report__class_key(enum acct_class cls);

/* Adds a call's figures to another of the same kind. */
void report__add_call(struct rep_call *to, const struct rep_call *call);
/* The order of rep_calls.v, for qsort(). */
int report__call_cmp(const void *a, const void *b);

/*
 * Adds a later part of the same task to an earlier one, which then tells of both; `from` owns
 * nothing any more. 0 or -ENOMEM.
 */
int report__merge_task(struct rep_task *to, struct rep_task *from);

/*
 * Brings each process's tasks together, and makes one of a task's accounts in one group: when each
 * task owns all that is its. 0 or -ENOMEM.
 */
int report__sort_tasks(struct report *r);

/* Frees what the report owns; NULL-safe. */
void report__free(struct report *r);

#endif /* REPORT_H */
