/* SPDX-License-Identifier: GPL-2.0-only */
/* A hash from two 64-bit numbers to an index: open addressing, grows, never shrinks. Knows nothing
 * else. */
#ifndef HASH_H
#define HASH_H

#include <stdint.h>
#include <stdlib.h>

#define HASH_NONE UINT32_MAX

struct hash_slot {
	uint64_t a, b;
	uint32_t value; /* HASH_NONE: free */
};

struct hash {
	struct hash_slot *v;
	size_t size, used; /* size is 0 or a power of two */
	size_t last;	   /* found there: the next look-up is often for the same */
};

static inline size_t hash__at(const struct hash *h, uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ (b * 0x9e3779b97f4a7c15ULL)) * 0xff51afd7ed558ccdULL;
	size_t i = (x ^ (x >> 32)) & (h->size - 1);

	while (h->v[i].value != HASH_NONE && (h->v[i].a != a || h->v[i].b != b))
		i = (i + 1) & (h->size - 1);
	return i;
}

static inline void hash__clear(struct hash *h)
{
	for (size_t i = 0; i < h->size; i++)
		h->v[i].value = HASH_NONE;
	h->used = 0;
}

static inline int hash__grow(struct hash *h)
{
	struct hash bigger = {.size = h->size ? h->size * 2 : 64};

	bigger.v = malloc(bigger.size * sizeof(*bigger.v));
	if (!bigger.v)
		return -1;
	hash__clear(&bigger);
	for (size_t i = 0; i < h->size; i++)
		if (h->v[i].value != HASH_NONE)
			bigger.v[hash__at(&bigger, h->v[i].a, h->v[i].b)] = h->v[i];
	bigger.used = h->used;
	free(h->v);
	*h = bigger;
	return 0;
}

/* The index of (a, b), or `next` entered for it. HASH_NONE: no memory. */
static inline uint32_t hash__get(struct hash *h, uint64_t a, uint64_t b, uint32_t next)
{
	const struct hash_slot *l = h->size ? &h->v[h->last] : NULL;
	size_t i;

	if (l && l->a == a && l->b == b && l->value != HASH_NONE)
		return l->value;
	if ((h->used + 1) * 2 > h->size && hash__grow(h))
		return HASH_NONE;
	i = hash__at(h, a, b);
	if (h->v[i].value == HASH_NONE) {
		h->v[i] = (struct hash_slot){a, b, next};
		h->used++;
	}
	h->last = i;
	return h->v[i].value;
}

/* The index of (a, b); HASH_NONE: it was never entered. */
static inline uint32_t hash__find(const struct hash *h, uint64_t a, uint64_t b)
{
	return h->size ? h->v[hash__at(h, a, b)].value : HASH_NONE;
}

/* A number for a text: FNV-1a. */
static inline uint64_t hash__text(const char *s, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3ULL;
	return h;
}

static inline void hash__free(struct hash *h)
{
	free(h->v);
	h->v = NULL;
	h->size = h->used = h->last = 0;
}

#endif /* HASH_H */
