/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hash from a 64-bit number to a string, for the caches of names.
 *
 * It owns the strings it copied and keeps every one until it is freed: a caller may hold on to what
 * it was given although the number has another string by now. It must not know what numbers mean.
 */
#ifndef STRMAP_H
#define STRMAP_H

#include <stddef.h>
#include <stdint.h>

struct strmap_slot {
	uint64_t key;
	const char *str; /* NULL: free */
};

struct strmap_copy;

/* All zeroes is an empty map. */
struct strmap {
	struct strmap_slot *slots;
	size_t size, used; /* size is 0 or a power of two */
	struct strmap_copy *copies;
};

/* The string of key, or NULL. */
const char *strmap__get(const struct strmap *m, uint64_t key);

/*
 * Gives key a copy of the len bytes at str (up to their first NUL, if any), in the place of what it
 * had. Returns the copy, or NULL when there is no memory: the map is then as it was.
 */
const char *strmap__set(struct strmap *m, uint64_t key, const char *str, size_t len);

/* The same without a copy: str must live as long as the map. */
const char *strmap__set_static(struct strmap *m, uint64_t key, const char *str);

/* Frees all strings; the map is empty then. */
void strmap__clear(struct strmap *m);

#endif /* STRMAP_H */
