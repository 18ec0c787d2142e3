/* SPDX-License-Identifier: GPL-2.0-only */
/* The version that the build gives; a build without one calls itself 0.0.0. */
#ifndef VERSION_H
#define VERSION_H

#ifndef UTILBPF_VERSION
#define UTILBPF_VERSION "0.0.0"
#endif

#endif /* VERSION_H */
