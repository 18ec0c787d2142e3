/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks and calls are accounted one by one: the tests themselves, for both worlds.
 *
 * Pure, as acct.h is: the kernel programs, the engines without BPF and the tests run this text. It
 * is handed what is known of a task; where that comes from, and what becomes of a task that is not
 * selected, it does not know. Kinds are combined with AND, what stands within one kind with OR.
 */
#ifndef SEL_H
#define SEL_H

#include "utilbpf.h"

#ifndef sel_inline
#define sel_inline static inline __attribute__((always_inline, unused))
#endif

/* sel_conf.kinds: what the user asked for. */
#define SELK_PID      (1U << 0)
#define SELK_TID      (1U << 1)
#define SELK_CGROUP   (1U << 2)
#define SELK_COMM     (1U << 3)
#define SELK_UID      (1U << 4)
#define SELK_FOLLOW   (1U << 5) /* descendants of a selected task are selected, too */
#define SELK_COMMAND  (1U << 6) /* only COMMAND and its descendants */
#define SELK_NOSELF   (1U << 7)
#define SELK_NOKERNEL (1U << 8)
#define SELK_CPU      (1U << 9)
#define SELK_CALL     (1U << 10)
/* What says who; the rest says who not, or which part of what they do. */
#define SELK_WHO   (SELK_PID | SELK_TID | SELK_CGROUP | SELK_COMM | SELK_UID)
#define SELK_TASKS (SELK_WHO | SELK_COMMAND | SELK_NOSELF | SELK_NOKERNEL)

/*
 * A glob as a machine that reads a name character by character. Its tokens are what is not a star;
 * bit i of the states says that the first i tokens have been read. 255 tokens at most.
 */
#define SEL_WORDS  4
#define SEL_TOKENS (SEL_WORDS * 64 - 1)

#define SEL_GLOBS 16 /* of one kind */

struct sel_glob {
	__u64 star[SEL_WORDS]; /* states that any character leaves as they are */
	__u32 last;	       /* the state in which the whole glob has been read: its tokens */
	__u32 pad;
	__u64 takes[256][SEL_WORDS]; /* by character: bit i, token i takes it */
};

/* True when the NUL-terminated name, of at most ACCT_COMM_LEN bytes, matches. Looks at word 0 only.
 */
sel_inline int sel_comm_matches(const struct sel_glob *g, const char *comm)
{
	__u64 s = 1;

	for (int i = 0; i < ACCT_COMM_LEN; i++) {
		__u8 ch = comm[i];

		if (!ch)
			break;
		s = ((s & g->takes[ch][0]) << 1) | (s & g->star[0]);
	}
	return (s >> (g->last & 63)) & 1;
}

/*
 * The same for a cgroup's path. A group belongs to what is selected when the glob matches its own
 * path or that of a group above it. len: bytes that may be read of path, with the NUL.
 */
sel_inline int sel_path_matches(const struct sel_glob *g, const char *path, __u32 len)
{
	__u64 s0 = 1, s1 = 0, s2 = 0, s3 = 0;
	__u32 word = g->last >> 6;

	for (__u32 i = 0; i < len; i++) {
		__u8 ch = path[i];
		const __u64 *takes = g->takes[ch];
		__u64 at = word == 0 ? s0 : word == 1 ? s1 : word == 2 ? s2 : s3;
		__u64 m0, m1, m2, m3;

		if ((!ch || (ch == '/' && i)) && ((at >> (g->last & 63)) & 1))
			return 1;
		if (!ch)
			break;
		m0 = s0 & takes[0];
		m1 = s1 & takes[1];
		m2 = s2 & takes[2];
		m3 = s3 & takes[3];
		s0 = (m0 << 1) | (s0 & g->star[0]);
		s1 = (m1 << 1) | (m0 >> 63) | (s1 & g->star[1]);
		s2 = (m2 << 1) | (m1 >> 63) | (s2 & g->star[2]);
		s3 = (m3 << 1) | (m2 >> 63) | (s3 & g->star[3]);
	}
	return 0;
}

/* The calls of --syscall, by ABI and number; what is beyond is not selected. */
#define SEL_CALL_NRS 1024

struct sel_calls {
	__u64 bits[4 * SEL_CALL_NRS / 64];
};

/* True when a call of that key gets a record. Interrupts and the like always do. */
sel_inline int sel_call(const volatile struct sel_calls *c, __u32 key)
{
	__u32 nr = KEY_NR(key), at = KEY_ABI(key) * SEL_CALL_NRS + nr;

	if (KEY_CLASS(key) != CALL_SYSCALL)
		return 1;
	if (nr >= SEL_CALL_NRS)
		return 0;
	return (c->bits[(at >> 6) & (4 * SEL_CALL_NRS / 64 - 1)] >> (at & 63)) & 1;
}

/*
 * What the tests of one task have given: whether each kind that was asked for has a match. `in` is
 * a set of SELK_*; flags are the SEL_* that it has by its descent.
 */
sel_inline int sel_decide(__u32 kinds, __u32 in, __u32 flags)
{
	__u32 who = kinds & SELK_WHO;

	if (flags & SEL_ARMED) /* its exec is to belong to COMMAND's account */
		return 1;
	if ((kinds & SELK_NOSELF) && (in & SELK_NOSELF))
		return 0;
	if ((kinds & SELK_NOKERNEL) && (in & SELK_NOKERNEL))
		return 0;
	if ((kinds & SELK_COMMAND) && !(flags & SEL_IN))
		return 0;
	if ((kinds & SELK_FOLLOW) && (flags & SEL_FOLLOWED))
		return 1;
	return (in & who) == who;
}

#endif /* SEL_H */
