/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a process that has all it needs gives up, so that who takes it over gains little: identity,
 * capabilities, system calls. It knows nothing of what the process goes on to do, but for the
 * system calls of an engine that reads its tables and of a server on sockets that are open.
 */
#ifndef CONFINE_H
#define CONFINE_H

#include <stddef.h>

/*
 * Becomes nobody, where it is root and may; drops all capabilities, for good, but for CAP_BPF
 * where this kernel wants it to read a map (before 5.19, with kernel.unprivileged_bpf_disabled). 0,
 * or -errno with what failed in why.
 */
int confine__privileges(char *why, size_t len);

/*
 * From here only those system calls are left that reading, rendering and serving make: none that
 * starts a program, opens a file for writing or makes a socket. Others fail with EPERM. 0, or
 * -errno with what failed in why.
 */
int confine__syscalls(char *why, size_t len);

#endif /* CONFINE_H */
