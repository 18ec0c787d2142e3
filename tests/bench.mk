# SPDX-License-Identifier: GPL-2.0-only
# The programs that `make bench` measures with.

BENCH := $(B)/bench

.PHONY: bench-programs
bench-programs: $(BENCH)/bench $(BENCH)/floor $(BENCH)/scrape $(BENCH)/groups $(BENCH)/feed $(BENCH)/rate

bench: bench-programs

$(BENCH):
	$(Q)mkdir -p $@

$(BENCH)/bench: tests/bench/bench.c | $(BENCH)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread -o $@ $<

$(BENCH)/groups $(BENCH)/rate: $(BENCH)/%: tests/bench/%.c | $(BENCH)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -o $@ $<

$(BENCH)/floor.bpf.o: tests/bench/floor.bpf.c | $(BENCH)
	$(say) BPF $@
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<
	$(Q)$(STRIP) -g $@

$(BENCH)/floor.skel.h: $(BENCH)/floor.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name floor_bpf >$@

$(BENCH)/floor: tests/bench/floor.c $(BENCH)/floor.skel.h
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -I$(BENCH) \
		$(shell pkg-config --cflags libbpf) -o $@ $< $(LDFLAGS) $(shell pkg-config --libs libbpf)

$(BENCH)/feed: tests/bench/feed.c tests/events/stubs.c $(B)/feed.o $(B)/collect.o $(B)/totals.o $(B)/select.o \
		$(B)/report.o $(B)/report_util.o | $(BENCH)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iuser -o $@ $(filter %.c %.o,$^)

# The program's own objects, as it is built.
$(BENCH)/scrape: tests/bench/scrape.c $(filter-out $(B)/main.o,$(OBJS)) | $(BENCH)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $(filter %.c %.o,$^) $(LDFLAGS) $(LIBS)
