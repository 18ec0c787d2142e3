# SPDX-License-Identifier: GPL-2.0-only
# The workloads that tests/live/run.py accounts.

LIVE_PROGS := $(patsubst tests/live/%.c,$(B)/live/%,$(wildcard tests/live/*.c))

.PHONY: live-programs
live-programs: $(LIVE_PROGS)

$(B)/live/%: tests/live/%.c tests/live/live.h | $(B)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -o $@ $< -pthread
