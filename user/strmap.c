// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers to strings: open addressing with linear probing, grows at half full, never shrinks.
 *
 * It owns slots and copies of strings. It must not know what the numbers or the strings mean.
 */
#include <stdlib.h>
#include <string.h>

#include "strmap.h"

#define FIRST_SIZE 64

struct strmap_copy {
	struct strmap_copy *next;
	char str[];
};

/* Where key is, or where it would go. The map has a free slot always. */
static struct strmap_slot *slot_of(const struct strmap *m, uint64_t key)
{
	uint64_t x = (key ^ (key >> 33)) * 0xff51afd7ed558ccdULL;
	size_t i = (x ^ (x >> 33)) & (m->size - 1);

	while (m->slots[i].str && m->slots[i].key != key)
		i = (i + 1) & (m->size - 1);
	return &m->slots[i];
}

static int grow(struct strmap *m)
{
	struct strmap bigger = {.size = m->size ? m->size * 2 : FIRST_SIZE};

	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < m->size; i++)
		if (m->slots[i].str)
			*slot_of(&bigger, m->slots[i].key) = m->slots[i];
	free(m->slots);
	m->slots = bigger.slots;
	m->size = bigger.size;
	return 0;
}

const char *strmap__get(const struct strmap *m, uint64_t key)
{
	return m->size ? slot_of(m, key)->str : NULL;
}

const char *strmap__set_static(struct strmap *m, uint64_t key, const char *str)
{
	struct strmap_slot *slot;

	if ((m->used + 1) * 2 > m->size && grow(m))
		return NULL;
	slot = slot_of(m, key);
	if (!slot->str)
		m->used++;
	slot->key = key;
	slot->str = str;
	return str;
}

const char *strmap__set(struct strmap *m, uint64_t key, const char *str, size_t len)
{
	const char *old = strmap__get(m, key);
	struct strmap_copy *copy;

	len = strnlen(str, len);
	/* Caches are filled again and again with the same: no new copy for that. */
	if (old && strlen(old) == len && !memcmp(old, str, len))
		return old;
	copy = malloc(sizeof(*copy) + len + 1);
	if (!copy)
		return NULL;
	memcpy(copy->str, str, len);
	copy->str[len] = '\0';
	if (!strmap__set_static(m, key, copy->str)) {
		free(copy);
		return NULL;
	}
	copy->next = m->copies;
	m->copies = copy;
	return copy->str;
}

void strmap__clear(struct strmap *m)
{
	struct strmap_copy *next;

	for (struct strmap_copy *c = m->copies; c; c = next) {
		next = c->next;
		free(c);
	}
	free(m->slots);
	memset(m, 0, sizeof(*m));
}
