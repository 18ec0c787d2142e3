/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records, enums and limits that the kernel programs and user space share.
 *
 * Both worlds include this file: it uses only __u32/__u64, pads by hand and asserts every size.
 * It holds no code; what the fields mean over time is told in acct.h. All times are nanoseconds
 * of CLOCK_MONOTONIC.
 */
#ifndef UTILBPF_H
#define UTILBPF_H

#include <linux/types.h>

/*
 * Where a nanosecond can go. The first six are on-CPU, the next five off-CPU (CONTRACT: "words").
 * AC_IDLE is the time of the per-CPU idle tasks only, AC_NONE the state of a record that is charged
 * nothing: not yet born, or dead.
 */
enum acct_class {
	AC_USER,
	AC_SYS,
	AC_IRQ,
	AC_SOFTIRQ,
	AC_HV,
	AC_BUSY,
	AC_WAIT,
	AC_SLEEP,
	AC_BLOCKED,
	AC_IOWAIT,
	AC_STOPPED,
	AC_IDLE,
	AC_NR,
	AC_NONE = AC_NR,
};

#define AC_ONCPU_NR 6 /* AC_USER..AC_BUSY */
#define AC_OFF_NR   5 /* AC_WAIT..AC_STOPPED */
#define AC_STEAL_NR 3 /* AC_IRQ..AC_HV: what runs on top of a task */

/* task_struct.__state (include/linux/sched.h), in the numbers that it has had since 4.14. */
#define ACCT_TASK_INTERRUPTIBLE	  0x0001
#define ACCT_TASK_UNINTERRUPTIBLE 0x0002
#define ACCT_TASK_STOPPED	  0x0004
#define ACCT_TASK_TRACED	  0x0008
#define ACCT_TASK_EXIT		  0x0030 /* EXIT_DEAD | EXIT_ZOMBIE */
#define ACCT_TASK_PARKED	  0x0040
#define ACCT_TASK_DEAD		  0x0080
#define ACCT_TASK_NOLOAD	  0x0400

/* Kinds of call; the value is part of a call's key. */
enum acct_call_class {
	CALL_SYSCALL,
	CALL_IRQ,
	CALL_SOFTIRQ,
	CALL_HCALL,
	CALL_NR,
};

/*
 * A call's key: kind, ABI and number. The ABI is relative to the machine: 0 is its native one;
 * what 1 and 2 are is told by names.h. KEY_OTHER stands for calls that found no record.
 */
#define KEY_NR_BITS  24
#define KEY_NR_MASK  ((1U << KEY_NR_BITS) - 1)
#define KEY_ABI_BITS 2
#define CALL_KEY(class, abi, nr)                                                                   \
	(((__u32)(class) << 28) | ((__u32)(abi) << KEY_NR_BITS) | ((__u32)(nr)&KEY_NR_MASK))
#define KEY_CLASS(key)	 ((key) >> 28)
#define KEY_ABI(key)	 (((key) >> KEY_NR_BITS) & 3)
#define KEY_NR(key)	 ((key)&KEY_NR_MASK)
#define KEY_OTHER(class) CALL_KEY(class, 3, KEY_NR_MASK)
#define KEY_ROW(cpu)	 CALL_KEY(15, 0, cpu) /* a task x CPU record, in the same index */
#define KEY_NO_CALL	 0xffffffffU

#define ACCT_COMM_LEN 16

/* What one event knows of time; filled by acct_time() from the clock and the published windows. */
struct acct_now {
	__u64 now;	  /* ns, CLOCK_MONOTONIC, read once per event */
	__u64 start;	  /* start of the window that now lies in */
	__u64 prev_start; /* start of the window before it */
	__u32 epoch;	  /* number of the window that now lies in */
	__u32 cpu;	  /* the CPU that the event happened on */
	__u32 moves;	  /* acct_ctl.moves as it was when the event looked */
	__u32 pad;
};

/*
 * The windows, published by the reader. start[] is a ring over the epochs: a program that has read
 * `epoch` finds that window's start and its two predecessors' there, without any lock. Epoch 0
 * means that accounting is off; epoch 1 is the warm-up in which tasks are learned; the first window
 * that is reported is ACCT_FIRST.
 */
#define ACCT_WARMUP 1U
#define ACCT_FIRST  2U

struct acct_ctl {
	__u32 epoch;
	__u32 moves; /* grows whenever a task may have come to another group, or to be selected */
	__u64 start[4];
};

/* acct_state.flags */
#define AS_CALL	   (1U << 0) /* a system call is open: key and begin are valid */
#define AS_NOBEGIN (1U << 1) /* its begin was not seen, or in no reported window: pending only */
#define AS_SPLIT   (1U << 2) /* off[] or stolen are not zero */
#define AS_KTHREAD (1U << 3) /* runs in the kernel only: always `sys` on a CPU */
#define AS_RAN	   (1U << 4) /* has been on a CPU: only then is a move a migration */
#define AS_EXITING (1U << 5) /* past sched_process_exit */
#define AS_UNWATCHED                                                                               \
	(1U << 6) /* not selected up to now: it may be in a call that nobody saw begin */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define AS_HEAD(cls, mode, flags) ((__u32)(cls) | (__u32)(mode) << 8 | (__u32)(flags) << 16)
#else
#define AS_HEAD(cls, mode, flags) ((__u32)(cls) << 24 | (__u32)(mode) << 16 | (__u32)(flags) << 8)
#endif

/* The state of one task: where its time goes now, and the call it is in. */
struct acct_state {
	__u64 since; /* charged up to here */
	union {
		struct {
			__u8 cls;  /* where time goes from here: enum acct_class */
			__u8 mode; /* AC_USER, AC_SYS or AC_BUSY (unknown): what it does on a CPU */
			__u8 flags; /* AS_* */
			__u8 pad;
		};
		__u32 head; /* the four at once: AS_HEAD() */
	};
	__u32 key;	      /* of the open call */
	__u64 begin;	      /* of the open call */
	__u64 stolen;	      /* interrupts and hypervisor calls on top of the open call so far */
	__u64 off[AC_OFF_NR]; /* the open call's off-CPU time so far */
};

/* Times and switches of one task on one CPU in one window. */
struct acct_sums {
	__u64 ns[AC_NR];
	__u64 voluntary; /* 64 bits: a window may be weeks long */
	__u64 involuntary;
};

/* One window of a task, on the CPU that it was on last. Other CPUs' sums are spilled to rows. */
struct acct_bank {
	struct acct_sums s;
	__u32 cpu;
	__u32 migrations;
	__u64 open_begin; /* the call that was open when the window was closed */
	__u32 open_key;	  /* KEY_NO_CALL: none */
	__u8 open_flags;
	__u8 end_cls; /* acct_state.cls at the window's end */
	__u8 busy_as; /* AC_USER or AC_SYS: what this window's spilled `busy` was; 0xff: not told */
	__u8 folded;  /* some of its sums went to the surplus record of a CPU */
};

/* Who a task is; written when its record is made, comm also when the task renames itself. */
struct acct_ident {
	__u32 tid, tgid;
	__u32 exec;	 /* images this tid has run before this one */
	__u32 lead_exec; /* the same of its process's leader: a thread that execs takes over its tid
			  */
	__u32 uid;
	__u32 sel;	    /* SEL_*; above SEL_CLS_SHIFT the class that it left in */
	__u64 start;	    /* of the task */
	__u64 end;	    /* of its last nanosecond, or of this account; 0: alive */
	__u64 leader_start; /* start of its process */
	__u64 cgroup;	    /* id */
	__u64 from;	    /* this account begins then, in the midst of its life; 0: at `start` */
	char comm[ACCT_COMM_LEN];
};

#define SEL_ARMED     1	 /* the process that will exec COMMAND: accounted, but not told */
#define SEL_IN	      2	 /* COMMAND, from its exec on, and its descendants */
#define SEL_FOLLOWED  4	 /* --follow: descends from a selected task */
#define SEL_AWAY      8	 /* selected, but for the CPU that it is on */
#define SEL_OUT	      64 /* not selected, as of the last look, be it for the CPU */
#define SEL_CAME      16 /* this account began at a move, or when the task came to be selected */
#define SEL_LEFT      32 /* this account ended in that way: the task goes on */
#define SEL_DESCENT   (SEL_ARMED | SEL_IN | SEL_FOLLOWED)
#define SEL_CLS_SHIFT 24

#define SEL_FOLD 0x100 /* no task, but what ended tasks have been folded into: acct_fold_key */

#define ACCT_CACHE    16 /* direct-mapped; a power of two */
#define CACHE_AT(key) (((key) ^ ((key) >> 4)) & (ACCT_CACHE - 1))

/* In the order of how often it is looked at. */
struct acct_task {
	__u64 tag; /* generation of the slot << 32 | epoch that the record is in */
	__u32 seq; /* odd while the record is moved to a new epoch */
	__u32 cpu; /* the CPU it is on, or was last, or waits for */
	/* from when its task last came onto a CPU; 0 in `task`: since then it is another's */
	__u64 task;  /* as acct_cpu.task */
	__u32 slot;  /* its own number */
	__u32 moves; /* acct_ctl.moves up to which the group and selection were known */
	struct acct_state st;
	struct acct_bank bank[2];
	__u32 calls; /* index of its first call record, 0: none; linked by acct_call.next */
	__u32 rows;  /* the same for rows */
	struct {
		__u32 key;
		__u32 idx;
	} cache[ACCT_CACHE];
	struct acct_ident id;
};

/*
 * Calls and rows belong to a slot of the task table and stay with it when the slot changes hands:
 * a number is valid when its tag is the task's. That makes fork and exit cheap.
 */
struct acct_call_bank {
	__u64 tag;
	__u64 count, errors;
	__u64 elapsed, min, max;
	__u64 pending;
	__u64 stolen;
	__u64 off[AC_OFF_NR];
};

struct acct_call {
	__u32 slot;
	__u32 key;
	__u32 next;
	__u32 pad;
	struct acct_call_bank bank[2];
};

struct acct_row_bank {
	__u64 tag;
	struct acct_sums s;
};

struct acct_row {
	__u32 slot;
	__u32 cpu;
	__u32 next;
	__u32 pad;
	struct acct_row_bank bank[2];
};

/* In the index of calls, rows and interrupts' calls. */
struct acct_index_key {
	__u32 slot;
	__u32 key;
};

/*
 * Fixed slots of the task table: 0 is never used, then the CPUs' idle tasks, then for each CPU the
 * surplus task on it, then the rest, which is not selected. Their generation is 1 for ever. Of
 * calls, interrupts' calls and rows the first records are each CPU's "(other)".
 */
#define SLOT_IDLE(cpu, ncpu)  (1 + (cpu))
#define SLOT_OTHER(cpu, ncpu) (1 + (ncpu) + (cpu))
#define SLOT_REST(cpu, ncpu)  (1 + 2 * (ncpu) + (cpu))
#define SLOT_FIRST(ncpu)      (1 + 3 * (ncpu))
#define GEN_FIXED	      (1ULL << 32)
#define CALL_OTHER(cpu)	      (1 + (cpu))
#define ICALL_OTHER(cpu, cls) (1 + (cpu)*AC_STEAL_NR + (cls))
#define ROW_OTHER(cpu)	      (1 + (cpu))
#define CHUNK		      16 /* records that a CPU takes from a table at a time */

/* Tables whose free records fill_free() fills in, at most so many in one run. */
enum acct_fill {
	FILL_TASKS,
	FILL_CALLS,
	FILL_ROWS,
	FILL_ICALLS,
};
#define FILL_MAX 128

/*
 * What task storage holds. `owner` tells which context made it: only that one fills it in. A task
 * without a slot has its state and its identity here: it found none, or it is not selected.
 */
struct acct_link {
	__u32 owner;
	__u32 slot;	       /* 0 with OWNER_SURPLUS or OWNER_REST: has none */
	__u32 moves;	       /* acct_ctl.moves up to which its group and selection are known */
	__u32 sel;	       /* SEL_DESCENT, SEL_AWAY and SEL_OUT */
	__u64 changed;	       /* when what it is selected by last changed: its name, its user */
	__u32 exec, lead_exec; /* as in acct_ident, of a task that has no slot */
	__u64 start, leader_start;    /* 0: as the kernel has them */
	struct acct_state st;	      /* while it is off the CPU */
	char old_comm[ACCT_COMM_LEN]; /* before its name changed: exec renames before it is traced
				       */
};
#define OWNER_SURPLUS 0x80000000U /* in owner: filled in, and has no slot: the table is full */
#define OWNER_REST    0x20000000U /* in owner: filled in, and has no slot: it is not selected */

/* A task, or all threads of a process, was put into a group. By its tid, or its tgid and MOVE_ALL.
 */
struct acct_move {
	__u64 time;
	__u64 cgroup;
};
#define MOVE_ALL (1ULL << 32)

/* The path of a group within its hierarchy; longer ones are cut. */
#define ACCT_PATH_LEN 512
struct acct_path {
	char s[ACCT_PATH_LEN];
};

/* Hierarchies of groups: the unified one, and on hosts without it those of two controllers. */
enum acct_hierarchy {
	GROUPS_UNIFIED,
	GROUPS_CPU,
	GROUPS_CPUACCT,
};

/* One interrupt or hypervisor call in progress. */
struct acct_frame {
	__u64 begin;
	__u64 excl; /* its own time so far, without what is nested in it */
	__u32 key;
	__u32 cls; /* 0 irq, 1 softirq, 2 hv */
};

#define ACCT_DEPTH 8 /* softirq, hardirq and hcall nest; a power of two */

/*
 * Off-CPU time of the tasks that have no slot, as a population: entering a class at time T
 * subtracts T, leaving it adds T, and n counts who is in. sum + n x boundary is the time up to a
 * boundary. Only ever added to, per epoch parity and CPU: it needs no lock and no roll.
 */
struct acct_pop {
	__u64 sum[2][AC_OFF_NR];
	__u64 n[2][AC_OFF_NR];
};

/* Chunks of a table that a CPU hands out to the tasks on it, see maps.bpf.h. */
struct acct_chunk {
	__u32 next;
	__u32 end;
};

#define CPUS_NEAR 128 /* of machines with more, their records are in a map */

/* Added to marks, which are multiples of four: the task is not selected; it may become another
 * user's. */
#define MARK_REST 1ULL
#define MARK_USER 2ULL

/* acct_cpu.task: somebody runs there, and nobody knows who. */
#define TASK_NOBODY 1ULL

struct acct_cpu {
	/* what nearly every event looks at: one cache line */
	/* written by switches */
	__u64 task;   /* identity (address) of the task that runs here, 0: not yet known */
	__u64 mark;   /* what events of its system calls show, see who_mark(); 0: not known */
	__u32 slot;   /* its record */
	__u32 gen;    /* and the generation of that */
	__u32 moves;  /* acct_ctl.moves up to which its group and selection are known */
	__u32 within; /* 1: in the middle of a switch, a fork or an exec, its clock read or not */
	/* written by interrupt programs only; a switch ends what has lost its end */
	__u64 irq_events;
	__u32 depth;
	__u32 skip; /* this CPU is not selected; written by the loader, at the start */
	/* written by all others */
	__u64 irq_seen; /* irq_events when taken[] was last brought up to total[] */
	__u64 events;

	/* written by switches */
	__u64 seated; /* since when its task runs here */
	__u64 ran; /* its sum_exec_runtime then: tells when it left, should that event be missed */
	__u32 uid; /* of the running task, where users are selected */
	__u32 switches; /* its own count of them then, while nothing tells what it does */
	/* written by interrupt programs only */
	__u32 irq_epoch;
	__u64 last;		  /* up to here the top frame is charged */
	__u64 total[AC_STEAL_NR]; /* time of all frames since the start, by class */
	__u64 at[2][AC_STEAL_NR]; /* total at the start of irq_epoch and of the one before, by
				     parity */
	__u64 irq_unmatched, irq_dropped;
	struct acct_frame stack[ACCT_DEPTH];
	struct acct_chunk icalls[AC_STEAL_NR];
	/* written by the programs of system calls and of tasks; a wakeup, or a migration, may
	   interrupt those of fork, exec and exit */
	__u64 taken[AC_STEAL_NR]; /* how much of total[] tasks have been charged */
	__u64 unmatched, dropped_tasks, dropped_calls, lost_tasks;
	struct acct_chunk calls;
	struct acct_chunk rows;
	struct acct_pop pop, rest_pop; /* of those that found no slot, of the rest */
	__u64 skipped;		       /* system call events of tasks that are not selected */
	__u64 rest_exited;	       /* such tasks that have ended */
	__u64 exited; /* records whose task, or image, has ended: for the reader to take */
	__u64 folded; /* ended tasks that are not told one by one */
	/* written by the program that sees CPUs go and come: when there is no other for this one */
	__u32 partial[2]; /* by parity, the last window that this CPU was not online for all of */
	__u64 pad[7];	  /* to whole cache lines */
};

/*
 * A resident instance reuses the records of ended tasks itself. What those were charged in the open
 * window is folded into a record of their process, later of their group, at last of the system.
 * Such a record is a slot of the task table like others (SEL_FOLD): st.begin, and
 * acct_bank.open_begin once the window is closed, is the number of tasks in it; id.tid is 0.
 */
enum acct_fold {
	FOLD_TASK, /* not folded */
	FOLD_PROCESS,
	FOLD_GROUP,
	FOLD_SYSTEM,
};

/* Where they are found: (process, its start), (group, 0), (system, 0). */
struct acct_fold_key {
	__u32 kind; /* enum acct_fold */
	__u32 tgid;
	__u64 id; /* start of the process, id of the cgroup */
};

/* Slot of the system's own. */
#define SLOT_FOLD(ncpu) SLOT_FIRST(ncpu)

/*
 * What is kept count of. The last three are records that no slot has: when they get few, those of
 * ended tasks go back. told and tasks are a resident instance's only: the last window that has been
 * read, records of later ones may not go; and the free slots.
 */
struct acct_keep {
	__u32 told;
	__u32 tasks, calls, rows, icalls;
};

/* First records of a slot's interrupts' calls, by steal class; linked by acct_call.next. */
struct acct_icall_list {
	__u32 first[AC_STEAL_NR];
	__u32 pad;
};

/* In the stacks of free records: this one alone, not a chunk that begins there. */
#define FREE_ONE 0x80000000U

_Static_assert(sizeof(struct acct_state) == 72, "acct_state");
_Static_assert(sizeof(struct acct_sums) == 112, "acct_sums");
_Static_assert(sizeof(struct acct_bank) == 136, "acct_bank");
_Static_assert(sizeof(struct acct_ident) == 80, "acct_ident");
_Static_assert(sizeof(struct acct_task) == 592, "acct_task");
_Static_assert(sizeof(struct acct_call) == 224, "acct_call");
_Static_assert(sizeof(struct acct_row) == 256, "acct_row");
_Static_assert(__builtin_offsetof(struct acct_cpu, seated) == 64, "acct_cpu: its first line");
_Static_assert(sizeof(struct acct_cpu) % 64 == 0, "acct_cpu: CPUs must not share cache lines");

#endif /* UTILBPF_H */
