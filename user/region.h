/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An array that grows without moving: address space is reserved for all of it, memory is taken as
 * its records are. Fresh records are zero. Knows nothing of what they hold.
 */
#ifndef REGION_H
#define REGION_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

struct region {
	void *mem;
	size_t value;	/* bytes of a record */
	size_t ready;	/* bytes that may be touched */
	uint32_t n;	/* records taken */
	uint32_t max;	/* at most so many, lowered when memory has run out */
	uint32_t space; /* that address space is reserved for */
};

#define REGION_STEP ((size_t)1 << 18) /* bytes made usable at a time, at least */

/* 0 or -errno; region__close is for a zeroed one, too. */
static inline int region__open(struct region *r, size_t value, uint32_t max)
{
	void *p = mmap(NULL, value * max, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	*r = (struct region){.value = value, .max = max, .space = max};
	if (p == MAP_FAILED)
		return -errno;
	r->mem = p;
	return 0;
}

static inline void region__close(struct region *r)
{
	if (r->mem)
		munmap(r->mem, r->value * r->space);
	r->mem = NULL;
}

/* Makes the first n records usable. 0 or -ENOMEM. */
static inline int region__reach(struct region *r, uint32_t n)
{
	size_t need = r->value * n, whole = r->value * r->space, to = r->ready * 2;

	if (need <= r->ready)
		return 0;
	if (need > whole)
		return -ENOMEM;
	to = to < need ? need : to;
	to = (to + REGION_STEP - 1) / REGION_STEP * REGION_STEP;
	to = to > whole ? whole : to;
	if (mprotect(r->mem, to, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	r->ready = to;
	return 0;
}

/* Takes one more record; its number, or UINT32_MAX when there is no more. */
static inline uint32_t region__take(struct region *r)
{
	if (r->n >= r->max)
		return UINT32_MAX;
	if (region__reach(r, r->n + 1)) {
		r->max = r->n; /* what could not be had once is not asked for at each event */
		return UINT32_MAX;
	}
	return r->n++;
}

#endif /* REGION_H */
