/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files behind names.h share, and the doors that tests and fuzzers use.
 *
 * Only names.c, irqnames.c, cgroup.c and their tests include it: nobody else may look into the
 * caches.
 */
#ifndef NAMES_PRIV_H
#define NAMES_PRIV_H

#include <stdbool.h>

#include "names.h"
#include "strmap.h"

#define MAX_ABIS NAMES_ABIS

struct abi {
	const char *name; /* NULL: the machine has no such ABI */
	uint32_t token;	  /* libseccomp's, 0: libseccomp does not know it */
	uint32_t nr_bit;  /* what is or-ed to a number for libseccomp (x32) */
};

/* The cgroups of this machine, by id. */
struct cgroups {
	struct strmap paths;
	const char *mountinfo; /* normally /proc/self/mountinfo */
	bool any_fs;	       /* tests: the mount may be no cgroup2 in truth */
	bool scanned;	       /* a new id made us rescan in this window already */
	unsigned long scans;   /* how often the hierarchy was walked, for tests */
};

struct names {
	char arch[65];
	struct abi abis[MAX_ABIS];
	struct strmap calls; /* by the whole key; irqs by CALL_KEY(CALL_IRQ, 0, irq) */
	struct cgroups cgroups;
};

/* The well-known name of a hypervisor call by its PAPR opcode, or NULL. Lives for ever. */
const char *hcall__name(uint32_t opcode);

/*
 * Takes in the text of a /proc/interrupts: len bytes of anything, not NUL-terminated. Lines it
 * cannot make sense of are skipped. Returns how many irqs got a name, or -ENOMEM.
 */
int names__parse_irqs(struct names *n, const char *buf, size_t len);

/* Makes n look for cgroups where path (must outlive n) says, on any file system. For tests. */
void names__use_mountinfo(struct names *n, const char *path);

void cgroups__init(struct cgroups *cg);
void cgroups__clear(struct cgroups *cg);

#endif /* NAMES_PRIV_H */
