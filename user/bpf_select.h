/* SPDX-License-Identifier: GPL-2.0-only */
/* The selection (select.h) handed to the BPF programs: constants before loading, maps after. */
#ifndef BPF_SELECT_H
#define BPF_SELECT_H

#include "bpf_load.h"

/* Before loading: the constants, and the sizes of the maps. */
void bpf_select__configure(struct bpf_load *l);
void bpf_select__size(struct bpf_load *l);

/*
 * Once the programs are attached, so that no group is made unseen meanwhile, and before they do
 * anything: ids, globs, groups and CPUs. 0, or -errno with l->why filled in.
 */
int bpf_select__fill(struct bpf_load *l);

#endif /* BPF_SELECT_H */
