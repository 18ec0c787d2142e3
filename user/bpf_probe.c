// SPDX-License-Identifier: GPL-2.0-only
/* What this kernel has for BPF programs: see bpf_probe.h. Features are tried, never versions. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf_probe.h"

const struct btf *bpf_probe__btf(void)
{
	static struct btf *btf;
	static bool tried;

	if (!tried) {
		btf = btf__load_vmlinux_btf();
		tried = true;
	}
	return btf;
}

/* By the kernel's own list of them, an enum. */
bool bpf_probe__helper(const char *name)
{
	const struct btf *btf = bpf_probe__btf();
	int id = btf ? btf__find_by_name_kind(btf, "bpf_func_id", BTF_KIND_ENUM) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
			return true;
	return false;
}

bool bpf_probe__tp_args(const char *tp, unsigned int n)
{
	const struct btf *btf = bpf_probe__btf();
	const struct btf_type *t;
	char name[64];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tp);
	id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) : -1;
	t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	if (!t || !btf_is_ptr(t))
		return false;
	t = btf__type_by_id(btf, t->type);
	/* void *data comes first */
	return t && btf_is_func_proto(t) && btf_vlen(t) >= n + 1;
}

uint32_t bpf_probe__machine(void)
{
	struct utsname u;

	uname(&u);
	if (!strcmp(u.machine, "x86_64") || !strcmp(u.machine, "i686"))
		return MACHINE_X86;
	if (!strcmp(u.machine, "aarch64"))
		return MACHINE_ARM64;
	return strncmp(u.machine, "ppc", 3) ? MACHINE_OTHER : MACHINE_PPC;
}

void bpf_probe__functions_static(const struct bpf_object *obj)
{
	const struct btf *btf = bpf_object__btf(obj);

	for (__u32 i = 1; btf && i < btf__type_cnt(btf); i++) {
		struct btf_type *t = (struct btf_type *)btf__type_by_id(btf, i);

		if (btf_is_func(t))
			t->info = BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC;
	}
}

bool bpf_probe__read(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "probe_read", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}
