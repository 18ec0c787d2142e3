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

/*
 * Strings by number of which those that nobody has asked for lately are dropped: `old` holds what
 * was there before the last turn. A string lives for two turns at least.
 */
struct aged {
	struct strmap now, old;
};

/* The groups of this machine, by id. */
struct cgroups {
	struct aged paths, containers;
	struct aged folds;     /* paths of groups that others are added up in, by their hash */
	const char *mountinfo; /* normally /proc/self/mountinfo */
	const char *docker;    /* normally /var/lib/docker/containers */
	bool any_fs;	       /* tests: the mount may be no cgroup2 in truth */
	bool scanned;	       /* a new id made us rescan in this window already */
	unsigned long scans;   /* how often the hierarchy was walked, for tests */
	unsigned int windows;  /* since the last turn */
	size_t in_use;	       /* paths that were asked for in the window after that */
	/* The path that the kernel has noted when the group was made; 0, or -errno. */
	int (*noted)(void *ctx, uint64_t id, char *path, size_t len);
	void *ctx;
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

/* Makes n look for Docker's containers below path (must outlive n). For tests. */
void names__use_docker(struct names *n, const char *path);

/*
 * The name that Docker gives the container of that full id, into buf; 0 or -errno. Reads its state
 * file, which may hold anything.
 */
int docker__name(const char *dir, const char *id, char *buf, size_t len);

/* The full id (64 digits) of the container that a path names, into id[65]; false: none does. */
bool container__full_id(const char *path, char *id);

void cgroups__init(struct cgroups *cg);
void cgroups__clear(struct cgroups *cg);

#endif /* NAMES_PRIV_H */
