# SPDX-License-Identifier: GPL-2.0-only
# make check-vm: the live tests under other kernels, in guests of an emulator (ARGS="-t SECONDS GUEST...").
# What it takes and cannot be installed is told by the guests that are skipped for it.

DEPS_VM := qemu-system-x86 qemu-system-ppc qemu-system-arm gcc-aarch64-linux-gnu \
	gcc-powerpc64le-linux-gnu cpio flex bison bc python3

.PHONY: check-vm
check-vm: ensure
	$(Q)[ "$$(id -u)" != 0 ] || tests/deps.sh $(DEPS_VM) || echo "without some of: $(DEPS_VM)"
	$(Q)$(MAKE) $(B)/utilbpf.bpf.o
	$(Q)python3 tests/vm/run.py $(ARGS)

# What goes into a guest; run.py calls it with B, CC and where headers and libraries lie.
.PHONY: vm-programs
vm-programs: $(B)/utilbpf $(B)/vm/verify live-programs

$(B)/utilbpf: $(OBJS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/vm/%: tests/vm/%.c $(B)/bpf_probe.o $(B)/utilbpf.skel.h
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $< $(B)/bpf_probe.o $(LDFLAGS) $(LIBS)
