// SPDX-License-Identifier: GPL-2.0-only
/* Process and name by tid, for recordings. It owns the table, and knows no time and no account. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "tids.h"

struct tids {
	struct hash index;
	struct tid_entry *v;
	uint32_t n, cap;
};

struct tids *tids__new(void)
{
	return calloc(1, sizeof(struct tids));
}

void tids__free(struct tids *t)
{
	if (!t)
		return;
	hash__free(&t->index);
	free(t->v);
	free(t);
}

static struct tid_entry *find(const struct tids *t, uint32_t tid)
{
	size_t i;

	if (!t->index.size)
		return NULL;
	i = hash__at(&t->index, tid, 0);
	return t->index.v[i].value == HASH_NONE ? NULL : &t->v[t->index.v[i].value];
}

static struct tid_entry *make(struct tids *t, uint32_t tid)
{
	struct tid_entry *e = find(t, tid);

	if (e)
		return e;
	if (t->n == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 64;
		struct tid_entry *v = realloc(t->v, cap * sizeof(*v));

		if (!v)
			return NULL;
		t->v = v;
		t->cap = cap;
	}
	if (hash__get(&t->index, tid, 0, t->n) == HASH_NONE)
		return NULL;
	t->v[t->n] = (struct tid_entry){.tid = tid};
	return &t->v[t->n++];
}

int tids__comm(struct tids *t, uint32_t tid, uint32_t tgid, const char comm[ACCT_COMM_LEN],
	       bool before)
{
	struct tid_entry *e = make(t, tid);

	if (!e)
		return -ENOMEM;
	e->tgid = tgid;
	e->before |= before;
	memcpy(e->comm, comm, sizeof(e->comm));
	return 0;
}

int tids__fork(struct tids *t, const struct tid_entry *made)
{
	struct tid_entry *e = make(t, made->tid);

	if (!e)
		return -ENOMEM;
	*e = *made;
	return 0;
}

const struct tid_entry *tids__find(const struct tids *t, uint32_t tid)
{
	return find(t, tid);
}

uint32_t tids__tgid(const struct tids *t, uint32_t tid)
{
	const struct tid_entry *e = find(t, tid);

	return e ? e->tgid : 0;
}

int tids__each(const struct tids *t, int (*fn)(void *ctx, const struct tid_entry *e), void *ctx)
{
	int err = 0;

	for (uint32_t i = 0; i < t->n && !err; i++)
		err = fn(ctx, &t->v[i]);
	return err;
}
