/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names for numbers: system calls by ABI, interrupts, softirqs, hypervisor calls, cgroups, users.
 *
 * It owns every cache of names and knows nothing of time.
 */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>
#include <stdint.h>

struct names; /* the caches of one run */

/*
 * arch: as uname -m says ("x86_64", "aarch64", "ppc64le", …) of the machine that was observed.
 * Returns NULL with errno ENOMEM. names__free is NULL-safe.
 */
struct names *names__new(const char *arch);
void names__free(struct names *n);
/* Another machine's calls from now on: before any name has been asked for. */
void names__set_arch(struct names *n, const char *arch);

/*
 * The name of a call by its key (utilbpf.h). Never NULL: an unknown number becomes "sys_451",
 * "irq_24", "softirq_11", "hcall_0x1c8"; KEY_OTHER becomes "(other)". irq: "24 virtio0" is built by
 * renderers from the number and this name. The string lives as long as n.
 */
const char *names__call(struct names *n, uint32_t key);

/* The ABI's name: "x86_64", "i386", "x32", "aarch64", "arm", "ppc64le", …; lives for ever. */
const char *names__abi(const struct names *n, uint32_t key);

#define NAMES_ABIS 3 /* that a machine has at most */

/*
 * The keys of the system call of that name (len bytes, or its number in digits, which is of the
 * native ABI), one per ABI that has it. Returns how many: 0, there is none.
 */
size_t names__find_syscall(const struct names *n, const char *name, size_t len,
			   uint32_t keys[NAMES_ABIS]);

/* "syscall", "irq", "softirq", "hcall". */
const char *names__class(uint32_t key);

/* Reads /proc/interrupts (or path, for tests) again: handlers come and go. 0 or -errno. */
int names__load_irqs(struct names *n, const char *path);
/* Gives one irq its name, for engines that see it in their events. */
void names__set_irq(struct names *n, uint32_t irq, const char *name);

/*
 * The path of a group by its id, "/" for the root, "(gone)" when no group with that id was ever
 * seen; kept under the name it had when it is gone by now. names__cgroup_scan walks the hierarchy
 * once (0 or -errno); names__cgroup looks up, asks the kernel (see names__set_noted) and rescans,
 * at most once per window, when an id is new. A string lives until the second names__new_window
 * after it was given, or longer.
 */
int names__cgroup_scan(struct names *n);
const char *names__cgroup(struct names *n, uint64_t id);
void names__new_window(struct names *n);

/* The path of a group, and its container (NULL: not known), as somebody has seen them before. */
void names__know_cgroup(struct names *n, uint64_t id, const char *path, const char *container);

/* Who knows the paths of groups that were made lately: 0 with path filled in, or -errno. */
void names__set_noted(struct names *n, int (*noted)(void *ctx, uint64_t id, char *path, size_t len),
		      void *ctx);

/* Calls each with every group there is. 0 or the first error. */
int names__cgroup_each(struct names *n, void (*each)(void *ctx, uint64_t id, const char *path),
		       void *ctx);

/* Which hierarchy groups are of here: enum acct_hierarchy (utilbpf.h). */
int names__cgroup_hierarchy(struct names *n);

/* The container a cgroup path names (short id, pod uid, machine), or NULL. Written into buf. */
const char *names__container(const char *path, char *buf, size_t len);

/* The same with the name that Docker gives it, where that can be read, of a group by its id and
 * path (id 0: it has none). Lives as a path does. */
const char *names__group_container(struct names *n, uint64_t id, const char *path);

/* The uid of the Kubernetes pod, and the systemd unit, that a path names, or NULL: into buf. */
const char *names__pod(const char *path, char *buf, size_t len);
const char *names__unit(const char *path, char *buf, size_t len);

/*
 * The path of the group that id is added up in when only the first `depth` levels are told apart,
 * and in *key what stands for it: its id when it is id itself. depth 0: all levels.
 */
const char *names__cgroup_fold(struct names *n, uint64_t id, unsigned int depth, uint64_t *key);

#endif /* NAMES_H */
