/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events into accounts, in user space: what the BPF programs do in the kernel, for the engines
 * that read events from a ring or a recording. The rules are those of bpf/flow.h and bpf/acct.h;
 * here are only the tables in user memory and the map from tids to them.
 *
 * It knows no file format and no ring. Events come in the order of time.
 */
#ifndef FEED_H
#define FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"
#include "report.h"
#include "select.h"

enum feed_op {
	FEED_SWITCH,  /* prev_* leaves cpu with state, next_* gets it */
	FEED_WAKEUP,  /* next_* becomes runnable */
	FEED_MIGRATE, /* next_* is put on CPU `to` */
	FEED_FORK,    /* by the task on cpu: next_* is the child */
	FEED_EXEC,    /* by the task on cpu: old_tid is the tid that it had before; name is empty */
	FEED_EXIT,    /* of the task on cpu */
	FEED_NAME,    /* next_* is called so from now on (COMM records, task_rename) */
	FEED_SYS_ENTER,	  /* key */
	FEED_SYS_EXIT,	  /* key: of the number that it gives, KEY_NO_CALL: none; error */
	FEED_FRAME_ENTER, /* key: an interrupt, softirq or hypervisor call begins */
	FEED_FRAME_EXIT,  /* key */
	FEED_STATE, /* next_* is off its CPU in off-CPU class cls (AC_*): seeding, sched_stat_* */
	FEED_MOVE,  /* next_*, a leader with all its threads, is put into cgroup */
	FEED_OP_NR,
};

/* Flags of feed_event. */
#define FE_ERROR   (1U << 0) /* the system call failed */
#define FE_PREEMPT (1U << 1) /* prev was preempted: it is runnable */
#define FE_IOWAIT  (1U << 2) /* prev's uninterruptible sleep waits for I/O */
#define FE_KTHREAD (1U << 3) /* next is a kernel thread */

/* One decoded event. Names are not NUL-terminated and may hold any byte; tid 0 is the idle task. */
struct feed_event {
	uint64_t time; /* ns */
	uint32_t op;   /* enum feed_op */
	uint32_t cpu;
	uint32_t flags;
	uint32_t tid;	/* of the task that it happened in, FEED_NOTID: not told */
	uint32_t tgid;	/* of that, 0: not told */
	uint32_t state; /* FEED_SWITCH: kernel bits as acct_off_class() reads them */
	uint32_t key;	/* CALL_KEY() */
	uint32_t cls;
	uint32_t to;
	uint32_t old_tid;
	uint32_t prev_tid, next_tid;
	uint32_t next_tgid; /* 0: not told */
	union {
		char prev_comm[ACCT_COMM_LEN];
		uint64_t cgroup; /* FEED_MOVE: its id */
	};
	char next_comm[ACCT_COMM_LEN]; /* first byte 0: not told */
};

#define FEED_NOTID 0xffffffffU

/* What the source is able to tell; columns of what it lacks are empty in the report. */
struct feed_caps {
	bool switches, wakeups, syscall_enter, syscall_exit, irqs, softirqs, hcalls, forks, comms;
	bool reasons;  /* for which off-CPU class a task leaves its CPU */
	bool iowaits;  /* which of its blocked time was iowait */
	bool machine;  /* users, groups and births of tasks that were there before, by feed__seed()
			*/
	bool everyone; /* events of all tasks: the system's and the CPUs' rows are known */
	bool calls_unasked, irqs_unasked, softirqs_unasked; /* of these no note tells */
};

struct feed;

/* What a task is known to be before its first event: from /proc, or from a recording's header. */
struct feed_seed {
	uint32_t tid, tgid, uid;
	uint32_t parent; /* tid of who made its process, told before it; 0: not known */
	uint32_t cpu;	 /* it is on, or was last; FEED_NOTID: that and cls are not known */
	uint64_t start;	 /* ns, CLOCK_MONOTONIC; 0: not known */
	uint64_t cgroup; /* id, 0: not known */
	uint32_t cls;	 /* off-CPU class, or AC_BUSY: it runs on cpu */
	uint32_t key;	 /* system call that it is in, KEY_NO_CALL: none, or not known */
	bool kthread;
	char comm[ACCT_COMM_LEN];
};

/*
 * ncpus: possible CPUs (events beyond are refused). start: the first window's. level, names: as for
 * collect__new(). online may be NULL: a CPU is online once an event has come from it. NULL: no
 * memory.
 */
struct feed *feed__new(uint32_t ncpus, const bool *online, enum report_level level, bool selected,
		       struct names *names, uint64_t start);
void feed__free(struct feed *f);

/*
 * For a source that begins before its first window: what comes until feed__start() teaches the
 * tasks' states, and is in no report. feed__warmup() right after feed__new(), or never.
 */
void feed__warmup(struct feed *f);
int feed__start(struct feed *f, uint64_t start); /* 0 or -ENOMEM */

/* Before the first event, or in the warm-up. 0, -ENOMEM, -EINVAL (a CPU or tid that cannot be). */
int feed__seed(struct feed *f, const struct feed_seed *s);

/*
 * One event; its time is not before the last one's: an older one is counted in out_of_order, and
 * accounted at the time that has been reached. 0, -EINVAL (a CPU, tid or class that
 * cannot be; the event is left out), -ENOMEM.
 */
int feed__event(struct feed *f, const struct feed_event *ev);

/*
 * n events of `cpu` (FEED_NOTID: of any) were lost before `time`. Nothing is paired across the
 * hole: open frames there are dropped, the task that ran there is `busy` from its last sure moment,
 * and an open call of any task that may be concerned becomes pending.
 */
void feed__lost(struct feed *f, uint32_t cpu, uint64_t time, uint64_t n);

/* A CPU comes or goes; its row covers its online part only. */
void feed__cpu(struct feed *f, uint32_t cpu, bool online, uint64_t time);

/*
 * Ends the current window at `end`, which is not before the last event, fills r's entities and
 * quality (its other header fields are the engine's), and begins the next window there. 0 or
 * -ENOMEM.
 */
int feed__window(struct feed *f, uint64_t end, struct report *r);

/* Time of the last event, or the start. */
uint64_t feed__time(const struct feed *f);
/* Events taken in so far. */
uint64_t feed__count(const struct feed *f);
/* Which of the report's columns the source can fill at all; without this call: all of them. */
void feed__caps(struct feed *f, const struct feed_caps *caps);

/* The process that will exec COMMAND: with `selected`, reports are about it and its descendants.
 * Before the first event. */
void feed__command(struct feed *f, uint32_t pid);
/*
 * Before the first event and the seeds: only what sel (resolved; must outlive f) selects is
 * accounted task by task; feed__new() was told so by `selected`. self: utilbpf's own process, 0: it
 * is in no event.
 */
void feed__select(struct feed *f, const struct selection *sel, uint32_t self);
/* Tells apart only the first `depth` levels of groups; 0, as it begins: all of them. */
void feed__depth(struct feed *f, unsigned int depth);

/*
 * Records that each table may still take from here on; what finds none goes to "(other)" and is
 * counted. By default there is room for a million tasks, and memory is only taken for those that
 * live at a time.
 */
struct feed_limits {
	uint32_t tasks, calls, rows, icalls;
};
void feed__limit(struct feed *f, const struct feed_limits *limits);

#endif /* FEED_H */
