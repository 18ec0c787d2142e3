# SPDX-License-Identifier: GPL-2.0-only
#
# make            build ./utilbpf
# make run        install what it needs, build, run (ARGS="-d 10")
# make check      install what is missing, build, run every test
# make bench      the measurements that README quotes
# make install    DESTDIR= PREFIX=
# V=1 shows the commands.

VERSION := 0.1.0
PREFIX  ?= /usr/local
CC      ?= gcc
CLANG   ?= clang
# Ubuntu hides the real bpftool and perf beside its kernels; those in PATH are wrappers that look for the running kernel's.
TOOLS   := $(firstword $(dir $(wildcard /usr/lib/linux-tools/*/bpftool)))
ifneq ($(TOOLS),)
export PATH := $(TOOLS):$(PATH)
endif
BPFTOOL ?= $(firstword $(wildcard $(TOOLS)bpftool /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
STRIP   := $(firstword $(shell command -v llvm-strip 2>/dev/null) $(wildcard /usr/lib/llvm-*/bin/llvm-strip) llvm-strip)
B       := .build

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
endif
MAKEFLAGS += --no-print-directory
JOBS := $(shell nproc)
.DELETE_ON_ERROR:
.SUFFIXES:

# bpf(2)'s own target: any architecture's. v3 has 32-bit operations; v2 must go on working for old JITs.
BPF_CPU ?= v3
BPF_ARCH_INC := /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)
BPF_CFLAGS := -O2 -g -target bpf -mcpu=$(BPF_CPU) -Wall -Wextra -Werror -Wno-unused-parameter \
	-Ivmlinux -Ibpf -idirafter $(BPF_ARCH_INC)

PKGS := libbpf libelf zlib jansson libseccomp libcap-ng libmicrohttpd libtraceevent libzstd
LIBS  = $(shell pkg-config --libs $(PKGS))
CFLAGS ?= -O2 -g
ALL_CFLAGS = $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -DUTILBPF_VERSION='"$(VERSION)"' -Wall -Wextra -Werror \
	-Iuser -I$(B) $(shell pkg-config --cflags $(PKGS)) -MMD -MP $(SAN)

SRCS := $(wildcard user/*.c)
OBJS := $(SRCS:user/%.c=$(B)/%.o)

.PHONY: all
all: utilbpf

utilbpf: $(OBJS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/%.o: user/%.c | $(B)
	$(say) CC $@
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(B)/bpf_load.o $(B)/bpf_select.o $(B)/engine_bpf.o $(B)/resident.o: $(B)/utilbpf.skel.h

$(B)/utilbpf.bpf.o: bpf/utilbpf.bpf.c | $(B)
	$(say) BPF $@
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(B)/utilbpf.bpf.d -MT $@ -c -o $@ $<
	$(Q)$(STRIP) -g $@

$(B)/%.skel.h: $(B)/%.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst .,_,$*)_bpf >$@

$(B):
	$(Q)mkdir -p $@

-include $(wildcard $(B)/*.d)

# ---- what is needed to build, run and test: Debian and Ubuntu ----

DEPS_BUILD := gcc make pkg-config clang llvm libbpf-dev libelf-dev zlib1g-dev libjansson-dev libseccomp-dev \
	libtraceevent-dev libzstd-dev libcap-ng-dev libmicrohttpd-dev
# The form of the sources, and what is found in them, differ from LLVM to LLVM: one that Debian 12 and Ubuntu 24.04 have.
DEPS_TEST  := libcmocka-dev clang-format-14 clang-tidy-14 cppcheck valgrind shellcheck strace python3 git groff-base python3-yaml systemd \
	libclang-rt-dev linux-perf

# Ubuntu has bpftool and perf in packages named after the kernel's tools.
.PHONY: deps
deps:
	$(Q)tests/deps.sh $(DEPS_BUILD) $(DEPS_TEST)

# As root it is quick when nothing is missing; as a user who has everything it is not needed.
.PHONY: ensure ensure-build
ensure:
	$(Q)if [ "$$(id -u)" = 0 ]; then tests/deps.sh $(DEPS_BUILD) $(DEPS_TEST); fi
ensure-build:
	$(Q)if [ "$$(id -u)" = 0 ]; then tests/deps.sh $(DEPS_BUILD); fi

.PHONY: run
run: ensure-build
	$(Q)$(MAKE) -j$(JOBS) utilbpf
	$(Q)./utilbpf $(ARGS)

.PHONY: check
check: ensure
	$(Q)$(MAKE) -j$(JOBS) utilbpf
	$(Q)tests/run.sh

.PHONY: bench
bench: utilbpf
	$(Q)tests/bench/run.sh $(ARGS)

.PHONY: install
install: utilbpf
	install -D -m 755 utilbpf $(DESTDIR)$(PREFIX)/sbin/utilbpf
	install -D -m 644 user/dist/utilbpf.8 $(DESTDIR)$(PREFIX)/share/man/man8/utilbpf.8
	install -D -m 644 user/dist/utilbpf.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/utilbpf
	install -d -m 755 $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local/sbin/|$(PREFIX)/sbin/|' user/dist/utilbpf.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/utilbpf.service
	chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/utilbpf.service

.PHONY: clean
clean:
	rm -rf $(B) utilbpf

include $(wildcard tests/*.mk)
