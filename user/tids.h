/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What COMM and FORK records tell of tasks: process and name by tid, also before a task's first
 * event. As many entries as there are tids in such records.
 */
#ifndef TIDS_H
#define TIDS_H

#include <stdbool.h>
#include <stdint.h>

#include "feed.h"

struct tids;

struct tids *tids__new(void);	 /* NULL: no memory */
void tids__free(struct tids *t); /* NULL-safe */

/* What is known of a task. */
struct tid_entry {
	uint32_t tid, tgid;
	uint32_t parent; /* tid of the process that made it; 0: not told */
	bool before;	 /* it was there before the recording */
	bool kthread;	 /* it is a thread of the kernel */
	char comm[ACCT_COMM_LEN];
};

/* The task is called so, from now on. before: it was there already. 0 or -ENOMEM. */
int tids__comm(struct tids *t, uint32_t tid, uint32_t tgid, const char comm[ACCT_COMM_LEN],
	       bool before);
/* A new task has the tid, whoever had it before; all but its name is known. 0 or -ENOMEM. */
int tids__fork(struct tids *t, const struct tid_entry *made);
/* The task of that tid, NULL: nothing was told of it. Until the next call that tells. */
const struct tid_entry *tids__find(const struct tids *t, uint32_t tid);

/* The process that tid belongs to, as far as it was told; 0: it was not. */
uint32_t tids__tgid(const struct tids *t, uint32_t tid);

/* Calls fn for each until it does not return 0; that is the result then. */
int tids__each(const struct tids *t, int (*fn)(void *ctx, const struct tid_entry *e), void *ctx);

#endif /* TIDS_H */
