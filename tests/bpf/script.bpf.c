// SPDX-License-Identifier: GPL-2.0-only
/*
 * Applies one event of a script inside the kernel: the tables are its .bss, which the test maps.
 *
 * The program is run once for each event, by bpf_prog_test_run; it reads no clock and no context.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "../events/script.h"

char LICENSE[] SEC("license") = "GPL";

struct script_state state;
struct script_event event;

#define ST (&state)
#include "../events/apply.h"

SEC("syscall")
int apply_event(void *ctx)
{
	apply(&event);
	return 0;
}
