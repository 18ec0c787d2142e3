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
#define CALL_KEY(class, abi, nr) \
	(((__u32)(class) << 28) | ((__u32)(abi) << KEY_NR_BITS) | ((__u32)(nr)&KEY_NR_MASK))
#define KEY_CLASS(key)	 ((key) >> 28)
#define KEY_ABI(key)	 (((key) >> KEY_NR_BITS) & 3)
#define KEY_NR(key)	 ((key)&KEY_NR_MASK)
#define KEY_OTHER(class) CALL_KEY(class, 3, KEY_NR_MASK)
#define KEY_ROW(cpu)	 CALL_KEY(15, 0, cpu) /* a task x CPU record, in the same index */
#define KEY_NO_CALL	 0xffffffffU

#define ACCT_COMM_LEN 16

#endif /* UTILBPF_H */
