# SPDX-License-Identifier: GPL-2.0-only
# make fuzz-programs: a libFuzzer target for each reader of what others wrote; tests/fuzz/run.sh runs them.

FD := $(B)/fuzz
FUZZ_FLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
F_CFLAGS = $(filter-out -O2,$(ALL_CFLAGS)) $(FUZZ_FLAGS)
# Included before unit.mk, so with a list of its own.
F_SRCS := $(filter-out user/main.c user/engine_bpf.c user/bpf_load.c user/bpf_reader.c user/bpf_select.c,$(SRCS))
FUZZERS := $(patsubst tests/fuzz/%.c,$(FD)/%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: fuzz-programs
fuzz-programs: $(FUZZERS)

$(FD):
	$(Q)mkdir -p $@

$(FD)/%.o: user/%.c | $(FD) $(B)/utilbpf.skel.h
	$(say) FUZZ $@
	$(Q)$(CLANG) $(F_CFLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

$(FD)/libuser.a: $(F_SRCS:user/%.c=$(FD)/%.o)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

$(FD)/%.o: tests/events/%.c | $(FD)
	$(say) FUZZ $@
	$(Q)$(CLANG) $(F_CFLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

$(FD)/fuzz_feed: $(FD)/check.o $(FD)/script.o $(FD)/stubs.o

$(FD)/fuzz_%: tests/fuzz/fuzz_%.c $(FD)/libuser.a
	$(say) LINK $@
	$(Q)$(CLANG) $(F_CFLAGS) -fsanitize=fuzzer -o $@ $(filter %.c %.o,$^) $(FD)/libuser.a $(LIBS)

-include $(wildcard $(FD)/*.d)
