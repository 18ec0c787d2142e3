/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this kernel has for BPF programs, for those who choose which of them to load and how: the
 * loader, and the test that has the verifier look at all of them. It loads none of ours.
 */
#ifndef BPF_PROBE_H
#define BPF_PROBE_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

/* enum arch of compat.bpf.h */
enum bpf_machine {
	MACHINE_OTHER,
	MACHINE_X86,
	MACHINE_ARM64,
	MACHINE_PPC,
};

uint32_t bpf_probe__machine(void);

/* The kernel's BTF, read once: it is megabytes. NULL: it has none. */
struct btf;
const struct btf *bpf_probe__btf(void);

/* Whether programs may call this function, as "BPF_FUNC_get_current_task_btf". */
bool bpf_probe__helper(const char *name);

/* Whether the tracepoint is in the kernel's BTF, with n arguments or more. */
bool bpf_probe__tp_args(const char *tp, unsigned int n);

/*
 * Whether a program may read by address: lockdown=confidentiality forbids it. Tried, since what the
 * verifier says when it refuses has changed (6.9), and libbpf 1.1 goes by the old words.
 */
bool bpf_probe__read(void);

/*
 * Makes the verifier walk the cold paths with each caller: before 5.12, e5069b9c23b3 ("bpf: Support
 * pointers in global func args"), it takes no pointers into functions that stand by themselves.
 */
void bpf_probe__functions_static(const struct bpf_object *obj);

#endif /* BPF_PROBE_H */
