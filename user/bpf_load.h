/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loading of the BPF programs: the feature table, the sizes of the maps, attaching.
 *
 * It ends with everything attached and ctl.epoch 0, where programs do nothing; seeding and windows
 * are engine_bpf.c's.
 */
#ifndef BPF_LOAD_H
#define BPF_LOAD_H

#include <bpf/libbpf.h>
#include <sys/types.h>

#include "bpf_reader.h"
#include "opts.h"
#include "utilbpf.skel.h"

struct bpf_attached {
	struct bpf_link *link;
	const char *tp;
};

struct bpf_load {
	/* set by the caller */
	const struct opts *o;
	pid_t command;	       /* the process that will exec COMMAND; 0: there is none */
	struct bpf_reader *rd; /* with ncpus and online; its tables and descriptors are filled in */
	char *why;	       /* what failed, in one line */
	size_t why_len;
	/* filled in */
	struct utilbpf_bpf *skel;
	struct bpf_attached *links;
	size_t nr_links;
	bool keep;     /* the programs outlive this process: closing does not stop them */
	bool realtime; /* it has become so before it attached */
};

/* 0, or -errno with l->why filled in; bpf_load__close() is due in both cases. */
int bpf_load__open(struct bpf_load *l);
/* Stops accounting, detaches and unloads; the reader's mappings go first. */
void bpf_load__close(struct bpf_load *l);

/* What an open engine_bpf has loaded. */
struct engine;
struct bpf_load *engine_bpf__loaded(struct engine *e);

/* Writes into l->why and returns err. */
__attribute__((format(printf, 3, 4))) int bpf_load__fail(struct bpf_load *l, int err,
							 const char *fmt, ...);
/* What to do about -errno, in a few words. */
const char *bpf_load__advice(int err);

#endif /* BPF_LOAD_H */
