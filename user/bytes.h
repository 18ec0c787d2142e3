/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers in memory of any alignment and either byte order. */
#ifndef BYTES_H
#define BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* swap: their order is not this machine's. */
static inline uint16_t bytes__u16(const void *p, bool swap)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t bytes__u32(const void *p, bool swap)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t bytes__u64(const void *p, bool swap)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap64(v) : v;
}

#endif /* BYTES_H */
