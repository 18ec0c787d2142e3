# SPDX-License-Identifier: GPL-2.0-only
# make test-unit: what needs no live system, built with sanitizers; and the event scripts in the kernel.

SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all
SD := $(B)/san
TB := $(B)/test
T_CFLAGS = -g -std=gnu11 -D_GNU_SOURCE -DUTILBPF_VERSION='"$(VERSION)"' -Wall -Wextra -Werror \
	-Iuser -I$(B) -I$(TB) $(shell pkg-config --cflags $(PKGS) cmocka) -MMD -MP
T_LIBS = $(shell pkg-config --libs cmocka) $(LIBS)

# main.c has main(), the others need the kernel. From a library a test takes what it does not stub.
T_SRCS := $(filter-out user/main.c user/engine_bpf.c user/bpf_load.c user/bpf_reader.c \
	user/bpf_select.c user/resident.c user/resident_dir.c,$(SRCS))
EVENTS := $(wildcard tests/events/*.c)
UNIT   := $(patsubst tests/unit/%.c,$(SD)/%,$(wildcard tests/unit/test_*.c))

$(SD) $(TB):
	$(Q)mkdir -p $@

$(SD)/%.o: user/%.c | $(SD)
	$(say) CC $@
	$(Q)$(CC) -O1 $(T_CFLAGS) $(SAN_FLAGS) -c -o $@ $<

$(SD)/%.o: tests/events/%.c | $(SD)
	$(say) CC $@
	$(Q)$(CC) -O1 $(T_CFLAGS) $(SAN_FLAGS) -c -o $@ $<

$(SD)/libuser.a: $(T_SRCS:user/%.c=$(SD)/%.o)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

$(SD)/test_acct $(SD)/test_feed $(SD)/test_collect: $(EVENTS:tests/events/%.c=$(SD)/%.o)

$(SD)/test_%: tests/unit/test_%.c $(SD)/libuser.a
	$(say) LINK $@
	$(Q)$(CC) -O1 $(T_CFLAGS) $(SAN_FLAGS) -o $@ $(filter %.c %.o,$^) $(SD)/libuser.a $(T_LIBS)

$(TB)/%.o: tests/events/%.c | $(TB)
	$(say) CC $@
	$(Q)$(CC) -O2 $(T_CFLAGS) -c -o $@ $<

$(TB)/script.bpf.o: tests/bpf/script.bpf.c | $(TB)
	$(say) BPF $@
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(TB)/script.bpf.d -MT $@ -c -o $@ $<
	$(Q)$(STRIP) -g $@

$(TB)/script.skel.h: $(TB)/script.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name script_bpf >$@

$(TB)/test_script: tests/bpf/test_script.c $(TB)/script.skel.h $(EVENTS:tests/events/%.c=$(TB)/%.o) \
		$(B)/collect.o $(B)/totals.o $(B)/feed.o $(B)/select.o $(B)/report.o $(B)/report_util.o
	$(say) LINK $@
	$(Q)$(CC) -O2 $(T_CFLAGS) -o $@ $(filter %.c %.o,$^) $(T_LIBS)

.PHONY: unit-programs
unit-programs: $(UNIT) $(TB)/test_script

# Each runs, also after one that failed; each prints its own summary.
.PHONY: test-unit
test-unit: unit-programs
	$(Q)err=0; for t in $(UNIT) $(TB)/test_script; do echo "== $$t"; $$t || err=1; done; exit $$err

-include $(wildcard $(SD)/*.d $(TB)/*.d)
