/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An event script as numbers, and the small tables that it is applied to.
 *
 * Shared by the parser (script.c), the host and the BPF program, so that all of them speak of the
 * very same bytes: fixed sizes, no pointers. What the text looks like is told in README below
 * tests/events.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "../../bpf/utilbpf.h"

/* Powers of two: an index is masked before it is used, as the verifier wants it. */
#define SC_CPUS	  4
#define SC_SLOTS  32
#define SC_PEOPLE 16
#define SC_CALLS  128
#define SC_ROWS	  64
#define SC_ICALLS 64

#define SC_IDLE 0 /* the person that every CPU's idle task is */

enum script_op {
	OP_PERSON,  /* who: arg=tid arg2=tgid x=is a kernel thread, time=born */
	OP_SELECT,  /* tasks are selected: arg=SC_FOLLOW, SC_SKIP with `to` the CPU */
	OP_LIMIT,   /* arg=enum script_table arg2=records that it has from now on */
	OP_WINDOW,  /* the next window begins at time */
	OP_SEAT,    /* who is found running on cpu, as seed_cpu does */
	OP_SEED,    /* who is off the CPU: arg=class arg2=key of its call, as seed_tasks does */
	OP_UNSEEN,  /* who runs on cpu, and no event told; arg=state that the one before left in */
	OP_SWITCH,  /* who -> to, arg=state | SW_* */
	OP_WAKEUP,  /* who */
	OP_MIGRATE, /* who, to=CPU */
	OP_FORK,    /* by the task on cpu: to=child */
	OP_EXEC,    /* by the task on cpu: arg=tid that it had before */
	OP_EXIT,    /* of who */
	OP_RENAME,  /* who: x=up to eight characters */
	OP_PICK,    /* who: x=is selected from now on, by its name, say */
	OP_GROUP,   /* who: arg=number of the group it is put in, arg2=all threads of its process */
	OP_SYS_ENTER,	/* arg=key */
	OP_SYS_EXIT,	/* arg=is an error */
	OP_FRAME_ENTER, /* arg=key arg2=0 irq, 1 softirq, 2 hv */
	OP_FRAME_EXIT,	/* the same */
	OP_REPORT,	/* the reader: takes the window that ended last */
	OP_REAP,	/* the reader: takes the tasks that have ended so far */
};

/* In arg of OP_SELECT. */
#define SC_SELECT 1
#define SC_FOLLOW 2
#define SC_SKIP	  4

enum script_table {
	TABLE_SLOTS,
	TABLE_CALLS,
	TABLE_ROWS,
	TABLE_ICALLS,
	TABLE_NR,
};

/* In arg of OP_SWITCH and OP_UNSEEN, above the scheduler's state. */
#define SW_PREEMPT (1U << 31)
#define SW_IOWAIT  (1U << 30)

struct script_event {
	__u64 time;
	__u64 x;
	__u32 op;
	__u32 cpu;
	__u32 who;
	__u32 to;
	__u32 arg;
	__u32 arg2;
};

/* What a task_struct is to the kernel. */
struct script_person {
	__u32 tid, tgid;
	__u32 kthread;
	__u32 out;   /* is not selected */
	__u32 group; /* number */
	__u32 pad;
	__u64 moved; /* into it, 0: was born there */
	__u64 born;
	__u64 comm;
};

/* All that a machine of the script's size remembers. */
struct script_state {
	struct acct_ctl ctl;
	__u32 ncpus;
	__u32 recent[2]; /* slots of those who came onto a CPU last: half of the people share one */
	__u32 selects;	 /* SC_SELECT, SC_FOLLOW, SC_SKIP */
	__u32 pad;
	__u32 nfree; /* of free[] */
	__u32 free[SC_SLOTS];
	__u32 used[TABLE_NR]; /* first record never handed out */
	__u32 max[TABLE_NR];
	__u32 running[SC_CPUS]; /* who really runs there, whatever the chain of switches tells */
	__u32 left_as[SC_CPUS]; /* class that the chain's task left in, unseen */
	__u64 left[SC_CPUS];	/* when; 0: it has not */
	struct script_person people[SC_PEOPLE];
	struct acct_link links[SC_PEOPLE];
	struct acct_cpu cpus[SC_CPUS];
	struct acct_task tasks[SC_SLOTS];
	struct acct_call calls[SC_CALLS];
	struct acct_row rows[SC_ROWS];
	struct acct_call icalls[SC_ICALLS];
};

_Static_assert(sizeof(struct script_event) == 40, "script_event");
_Static_assert(sizeof(struct script_person) == 48, "script_person");

#ifndef __bpf__
#include <stdbool.h>
#include <stddef.h>

#define SC_NAME 12

/* `expect` lines: which report they speak of, and what they say of it. */
struct script_expect {
	size_t report;
	unsigned int line;
	char *text;
};

struct script {
	char name[64]; /* of the file, without its ending */
	__u32 ncpus;
	bool selects; /* so tasks need not make up a CPU */
	__u32 nocut;  /* what happened before a task was first heard of depends on the windows */
	struct script_event *ev;
	size_t nev;
	struct script_expect *ex;
	size_t nex;
	size_t reports;
	char people[SC_PEOPLE][SC_NAME];
	__u32 npeople;
};

/* 0, or -1 with the reason in err. What was read is freed by script__free either way. */
int script__read(struct script *s, const char *path, char *err, size_t size);
void script__free(struct script *s);

/* The person of that name; SC_PEOPLE: nobody. */
__u32 script__person(const struct script *s, const char *name);

/* Tables as an engine leaves them before it attaches: fixed records made, the warm-up running. */
void script__init(struct script_state *st, __u32 ncpus);
#endif

#endif /* SCRIPT_H */
