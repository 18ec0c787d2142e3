# SPDX-License-Identifier: GPL-2.0-only
# The workloads that tests/live/run.py accounts.

LIVE_PROGS := $(patsubst tests/live/%.c,$(B)/live/%,$(wildcard tests/live/*.c))

.PHONY: live-programs
live-programs: $(LIVE_PROGS)

# A million short lives over many windows of a resident instance: half an hour on two busy CPUs.
.PHONY: soak
soak: utilbpf live-programs
	$(Q)SOAK=1000000 tests/live/run.py resident_soak

$(B)/live/%: tests/live/%.c tests/live/live.h | $(B)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -o $@ $< -pthread
