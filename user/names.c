// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of calls: system calls by ABI and number, softirqs, and the lookup that leads to irqs and
 * hypervisor calls.
 *
 * It owns the cache of call names and what KEY_ABI() means on each machine. It must not know of
 * reports, engines or time, and reads no files.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/utilbpf.h"
#include "names_priv.h"

#define X32_NR_BIT 0x40000000U /* __X32_SYSCALL_BIT, which a key has no room for */

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct arch {
	const char *machine; /* as uname -m */
	struct abi abis[MAX_ABIS];
};

/*
 * What 0, 1 and 2 of a key's ABI are. loongarch64 numbers its calls as the kernel's generic table
 * does, and so does aarch64: libseccomp 2.5 knows only the latter.
 */
static const struct arch archs[] = {
	{"x86_64",
	 {{"x86_64", SCMP_ARCH_X86_64, 0},
	  {"i386", SCMP_ARCH_X86, 0},
	  {"x32", SCMP_ARCH_X32, X32_NR_BIT}}},
	{"aarch64", {{"aarch64", SCMP_ARCH_AARCH64, 0}, {"arm", SCMP_ARCH_ARM, 0}}},
	{"ppc64le", {{"ppc64le", SCMP_ARCH_PPC64LE, 0}, {"ppc", SCMP_ARCH_PPC, 0}}},
	{"ppc64", {{"ppc64", SCMP_ARCH_PPC64, 0}, {"ppc", SCMP_ARCH_PPC, 0}}},
	{"ppc", {{"ppc", SCMP_ARCH_PPC, 0}}},
	{"s390x", {{"s390x", SCMP_ARCH_S390X, 0}, {"s390", SCMP_ARCH_S390, 0}}},
	{"riscv64", {{"riscv64", SCMP_ARCH_RISCV64, 0}}},
	{"loongarch64", {{"loongarch64", SCMP_ARCH_AARCH64, 0}}},
	{"i386", {{"i386", SCMP_ARCH_X86, 0}}},
	{"arm", {{"arm", SCMP_ARCH_ARM, 0}}},
};

struct nr_name {
	uint32_t nr;
	const char *name;
};

/* From 424 on, numbers are the same everywhere: what an older libseccomp may not know. */
static const struct nr_name common_calls[] = {
	{424, "pidfd_send_signal"},
	{425, "io_uring_setup"},
	{426, "io_uring_enter"},
	{427, "io_uring_register"},
	{428, "open_tree"},
	{429, "move_mount"},
	{430, "fsopen"},
	{431, "fsconfig"},
	{432, "fsmount"},
	{433, "fspick"},
	{434, "pidfd_open"},
	{435, "clone3"},
	{436, "close_range"},
	{437, "openat2"},
	{438, "pidfd_getfd"},
	{439, "faccessat2"},
	{440, "process_madvise"},
	{441, "epoll_pwait2"},
	{442, "mount_setattr"},
	{443, "quotactl_fd"},
	{444, "landlock_create_ruleset"},
	{445, "landlock_add_rule"},
	{446, "landlock_restrict_self"},
	{447, "memfd_secret"},
	{448, "process_mrelease"},
	{449, "futex_waitv"},
	{450, "set_mempolicy_home_node"},
	{451, "cachestat"},
	{452, "fchmodat2"},
	{453, "map_shadow_stack"},
	{454, "futex_wake"},
	{455, "futex_wait"},
	{456, "futex_requeue"},
	{457, "statmount"},
	{458, "listmount"},
	{459, "lsm_get_self_attr"},
	{460, "lsm_set_self_attr"},
	{461, "lsm_list_modules"},
	{462, "mseal"},
	{463, "setxattrat"},
	{464, "getxattrat"},
	{465, "listxattrat"},
	{466, "removexattrat"},
	{467, "open_tree_attr"},
	{468, "file_getattr"},
	{469, "file_setattr"},
	{470, "listns"},
	{471, "rseq_slice_yield"},
};

static const char *const softirqs[] = {"HI",	   "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
				       "IRQ_POLL", "TASKLET", "SCHED",	"HRTIMER", "RCU"};

/* uname -m has many words for the same 32-bit machine. */
static const char *arch_family(const char *arch)
{
	if (arch[0] == 'i' && arch[1] >= '3' && arch[1] <= '6' && !strcmp(arch + 2, "86"))
		return "i386";
	if (!strncmp(arch, "armv", 4)) /* armv8l too: a 32-bit kernel, or a 32-bit personality */
		return "arm";
	if (!strcmp(arch, "arm64"))
		return "aarch64";
	return arch;
}

void names__set_arch(struct names *n, const char *arch)
{
	const char *family = arch_family(arch ? arch : "");

	snprintf(n->arch, sizeof(n->arch), "%s", arch && *arch ? arch : "unknown");
	memset(n->abis, 0, sizeof(n->abis));
	n->abis[0].name = n->arch;
	for (size_t i = 0; i < COUNT(archs); i++)
		if (!strcmp(archs[i].machine, family))
			memcpy(n->abis, archs[i].abis, sizeof(n->abis));
}

struct names *names__new(const char *arch)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n) {
		errno = ENOMEM;
		return NULL;
	}
	names__set_arch(n, arch);
	cgroups__init(&n->cgroups);
	return n;
}

void names__free(struct names *n)
{
	if (!n)
		return;
	strmap__clear(&n->calls);
	cgroups__clear(&n->cgroups);
	free(n);
}

const char *names__class(uint32_t key)
{
	static const char *const classes[CALL_NR] = {"syscall", "irq", "softirq", "hcall"};

	return KEY_CLASS(key) < CALL_NR ? classes[KEY_CLASS(key)] : "call";
}

const char *names__abi(const struct names *n, uint32_t key)
{
	uint32_t abi = KEY_ABI(key);

	if (abi < MAX_ABIS && n->abis[abi].name)
		return n->abis[abi].name;
	return key == KEY_OTHER(KEY_CLASS(key)) ? "(other)" : "unknown";
}

static const char *find_nr(const struct nr_name *v, size_t n, uint32_t nr)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].nr == nr)
			return v[i].name;
	return NULL;
}

/* Puts the name into the cache; NULL when nobody knows it, or no memory. */
static const char *resolve_syscall(struct names *n, uint32_t key)
{
	const struct abi *abi = KEY_ABI(key) < MAX_ABIS ? &n->abis[KEY_ABI(key)] : NULL;
	uint32_t nr = KEY_NR(key);
	const char *name;
	char *found;

	if (!abi || !abi->name)
		return NULL;
	if (abi->token) {
		found = seccomp_syscall_resolve_num_arch(abi->token, (int)(nr | abi->nr_bit));
		if (found) {
			name = strmap__set(&n->calls, key, found, strlen(found));
			free(found);
			return name;
		}
	}
	name = find_nr(common_calls, COUNT(common_calls), nr);
	/* The two that x86-64 alone has, both made by the kernel for its own trampolines. */
	if (!name && abi->token == SCMP_ARCH_X86_64)
		name = nr == 335 ? "uretprobe" : nr == 336 ? "uprobe" : NULL;
	return name ? strmap__set_static(&n->calls, key, name) : NULL;
}

/* Its number in that ABI, without the ABI's bit; -1: it has none. */
static long find_name(const struct abi *abi, const char *name)
{
	int nr = abi->token ? seccomp_syscall_resolve_name_arch(abi->token, name) : -1;

	/* Below zero are also libseccomp's own numbers for calls of other architectures. */
	if (nr >= 0)
		return (long)((uint32_t)nr & ~abi->nr_bit);
	for (size_t i = 0; i < COUNT(common_calls); i++)
		if (!strcmp(common_calls[i].name, name))
			return common_calls[i].nr;
	return -1;
}

size_t names__find_syscall(const struct names *n, const char *name, size_t len,
			   uint32_t keys[NAMES_ABIS])
{
	char buf[64], *end;
	size_t found = 0;
	long nr;

	if (!len || len >= sizeof(buf))
		return 0;
	memcpy(buf, name, len);
	buf[len] = '\0';
	nr = strtol(buf, &end, 10);
	if (buf[0] >= '0' && buf[0] <= '9' && !*end && nr < (long)KEY_NR_MASK) {
		keys[0] = CALL_KEY(CALL_SYSCALL, 0, nr);
		return 1;
	}
	for (uint32_t i = 0; i < MAX_ABIS; i++) {
		if (!n->abis[i].name)
			continue;
		nr = find_name(&n->abis[i], buf);
		if (nr >= 0)
			keys[found++] = CALL_KEY(CALL_SYSCALL, i, nr);
	}
	return found;
}

static const char *number_as_name(struct names *n, uint32_t key)
{
	char buf[32];
	const char *name;

	switch (KEY_CLASS(key)) {
	case CALL_SYSCALL:
		snprintf(buf, sizeof(buf), "sys_%u", KEY_NR(key));
		break;
	case CALL_IRQ:
		snprintf(buf, sizeof(buf), "irq_%u", KEY_NR(key));
		break;
	case CALL_SOFTIRQ:
		snprintf(buf, sizeof(buf), "softirq_%u", KEY_NR(key));
		break;
	case CALL_HCALL:
		snprintf(buf, sizeof(buf), "hcall_0x%x", KEY_NR(key));
		break;
	default:
		snprintf(buf, sizeof(buf), "call_%u", KEY_NR(key));
	}
	name = strmap__set(&n->calls, key, buf, strlen(buf));
	return name ? name : names__class(key);
}

const char *names__call(struct names *n, uint32_t key)
{
	uint32_t nr = KEY_NR(key);
	const char *name;

	if (key == KEY_OTHER(KEY_CLASS(key)))
		return "(other)";
	name = strmap__get(&n->calls, key);
	if (name)
		return name;
	switch (KEY_CLASS(key)) {
	case CALL_SYSCALL:
		name = resolve_syscall(n, key);
		break;
	case CALL_SOFTIRQ:
		name = nr < COUNT(softirqs) ? softirqs[nr] : NULL;
		break;
	case CALL_HCALL:
		name = hcall__name(nr);
		break;
	}
	return name ? name : number_as_name(n, key);
}
