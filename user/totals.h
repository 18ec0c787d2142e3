/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sums of one report: what a record adds to its task, process, group, CPU and the system.
 *
 * It does not know where records come from, and it completes none: that is collect.c's.
 */
#ifndef TOTALS_H
#define TOTALS_H

#include "../bpf/utilbpf.h"
#include "hash.h"
#include "names.h"
#include "report.h"

/* The calls of all entities of one kind. */
struct bag {
	struct hash hash; /* (entity, key) -> v[] */
	struct bag_call *v;
	size_t n, cap;
};

/* Which entities a record adds to: indices, HASH_NONE: none of that kind. */
struct who {
	uint16_t cpu_only; /* an idle task: CPU row and system calls */
	uint16_t counted;  /* among the tasks that are told of */
	uint32_t group, proc, task;
};

/* The caller sets the first three and depth, the rest is zero at the start; then totals__reset().
 */
struct totals {
	enum report_level level;
	bool selected; /* not all tasks are accounted one by one */
	struct names *names;
	unsigned int depth; /* of the groups that are told apart; 0: all */
	bool *skip;	    /* by CPU: not selected */
	uint32_t nskip;
	struct report r; /* under construction */
	size_t cap_groups, cap_procs, cap_tasks;
	struct hash groups, procs; /* procs has all; r.procs only from LEVEL_PROCESS on */
	struct bag sys_bag, sel_bag, group_bag, proc_bag, task_bag;
	struct rep_task_cpu *task_cpus; /* of all tasks; r.tasks[].cpus is set at the end */
	size_t nr_task_cpus, cap_task_cpus;
	size_t *first_cpu; /* by task: index into task_cpus */
	size_t cap_first_cpu;
	struct hash seen; /* tasks with several accounts: counted once, and once in each group */
	uint64_t last_cgroup; /* of the last record: most tasks that follow each other are of one */
	uint32_t last_group;  /* its index; HASH_NONE: not known */
	struct held {
		uint32_t group;
		struct rep_call call; /* open is 0: none */
	} * held;		      /* by process: its open calls of one kind, not added yet */
	size_t cap_held;
	bool loose;	  /* as in struct window: no law is looked at */
	uint64_t charged; /* ns, by totals__sums() since the caller has set it to 0 */
	int err;	  /* -ENOMEM: something was not added; kept until the caller clears it */
};

/* Makes the rows of n possible CPUs. 0 or -ENOMEM. */
int totals__cpus(struct totals *tot, uint32_t n);

/*
 * The entities of a task, counted in them; only those that the level asks for. other: all tasks of
 * the surplus. n: of how many tasks the record is the sum.
 */
struct who totals__who(struct totals *tot, const struct acct_ident *id, const struct acct_state *st,
		       bool other, uint32_t n);
/* The task is there still at the window's end. */
void totals__alive(struct totals *tot, const struct who *w);
/* What JSON calls a task's state; AC_NONE: it has ended. */
const char *totals__state(uint8_t cls);

void totals__call(struct totals *tot, const struct who *w, const struct rep_call *call);
/*
 * totals__call() of one that tells nothing but of being open. Of most tasks that is all, and those
 * of a process mostly wait in the same call: they are summed up before they are added.
 */
void totals__open(struct totals *tot, const struct who *w, const struct rep_call *call);
/* Times and switches on one CPU. */
void totals__sums(struct totals *tot, const struct who *w, uint32_t cpu, const struct acct_sums *s);
/* totals__sums() of nothing but ns off the CPU: most tasks sleep, and this is all there is to add.
 */
void totals__off(struct totals *tot, const struct who *w, uint32_t cpu, uint8_t cls, uint64_t ns);

/* A law is off by d ns: the worst is kept. */
void totals__residual(struct totals *tot, int64_t d);

/*
 * All is added: the CPUs' law, over `elapsed` ns for those `online` all the time; the totals, the
 * containers' names, each entity's calls.
 */
void totals__finish(struct totals *tot, const bool *online, uint64_t elapsed);
/* Moves the entities to r, whose header fields are the engine's. */
void totals__give(struct totals *tot, struct report *r);

/* Drops what is under construction. */
void totals__reset(struct totals *tot);
void totals__free(struct totals *tot);

#endif /* TOTALS_H */
