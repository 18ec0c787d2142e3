// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names: of calls by ABI, of irqs from texts of many machines, of cgroups in trees made here, of
 * containers by their paths.
 *
 * Trees and files are made below a directory of their own in TMPDIR and removed at the end.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../bpf/utilbpf.h"
#include "../../user/names_priv.h"

#define ID64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char tmp[512];

static const char *in_tmp(const char *rel)
{
	static char bufs[4][1024];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(bufs[turn], sizeof(bufs[turn]), "%s/%s", tmp, rel);
	return bufs[turn];
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int make_tmp(void **state)
{
	const char *dir = getenv("TMPDIR");

	(void)state;
	snprintf(tmp, sizeof(tmp), "%s/test_names.XXXXXX", dir && *dir ? dir : "/tmp");
	return mkdtemp(tmp) ? 0 : -1;
}

static int remove_tmp(void **state)
{
	(void)state;
	return nftw(tmp, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int new_names(void **state)
{
	*state = names__new("x86_64");
	return *state ? 0 : -1;
}

static int free_names(void **state)
{
	names__free(*state);
	return 0;
}

static void check_call(const char *arch, uint32_t key, const char *name, const char *abi)
{
	struct names *n = names__new(arch);

	assert_non_null(n);
	assert_string_equal(names__call(n, key), name);
	assert_string_equal(names__call(n, key), name); /* from the cache now */
	if (abi)
		assert_string_equal(names__abi(n, key), abi);
	names__free(n);
}

#define SYS(abi, nr) CALL_KEY(CALL_SYSCALL, abi, nr)

static void test_syscalls(void **state)
{
	(void)state;
	check_call("x86_64", SYS(0, 0), "read", "x86_64");
	check_call("x86_64", SYS(0, 35), "nanosleep", "x86_64");
	check_call("x86_64", SYS(1, 3), "read", "i386");
	check_call("x86_64", SYS(1, 102), "socketcall", "i386");
	check_call("x86_64", SYS(2, 0), "read", "x32");
	check_call("x86_64", SYS(2, 512), "rt_sigaction", "x32");
	check_call("aarch64", SYS(0, 63), "read", "aarch64");
	check_call("aarch64", SYS(1, 3), "read", "arm");
	check_call("aarch64", SYS(1, 0xf0002), "cacheflush", "arm");
	check_call("arm64", SYS(0, 63), "read", "aarch64");
	check_call("ppc64le", SYS(0, 3), "read", "ppc64le");
	check_call("ppc64le", SYS(1, 11), "execve", "ppc");
	check_call("ppc64", SYS(0, 3), "read", "ppc64");
	check_call("ppc64", SYS(1, 3), "read", "ppc");
	check_call("i686", SYS(0, 3), "read", "i386");
	check_call("i386", SYS(0, 3), "read", "i386");
	check_call("armv7l", SYS(0, 3), "read", "arm");
	check_call("armv8l", SYS(0, 3), "read", "arm");
	check_call("s390x", SYS(0, 3), "read", "s390x");
	check_call("riscv64", SYS(0, 63), "read", "riscv64");
	check_call("loongarch64", SYS(0, 63), "read", "loongarch64");
}

static void test_new_syscalls(void **state)
{
	static const char *const archs[] = {"x86_64", "aarch64", "ppc64le", "i686", "sparc64"};

	(void)state;
	for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++) {
		check_call(archs[i], SYS(0, 435), "clone3", NULL);
		check_call(archs[i], SYS(0, 451), "cachestat", NULL);
		check_call(archs[i], SYS(0, 453), "map_shadow_stack", NULL);
		check_call(archs[i], SYS(0, 454), "futex_wake", NULL);
		check_call(archs[i], SYS(0, 456), "futex_requeue", NULL);
		check_call(archs[i], SYS(0, 462), "mseal", NULL);
		check_call(archs[i], SYS(0, 466), "removexattrat", NULL);
		check_call(archs[i], SYS(0, 469), "file_setattr", NULL);
	}
	check_call("x86_64", SYS(1, 451), "cachestat", "i386");
	check_call("x86_64", SYS(2, 451), "cachestat", "x32");
	check_call("x86_64", SYS(0, 335), "uretprobe", "x86_64");
}

static void test_unknown(void **state)
{
	(void)state;
	check_call("x86_64", SYS(0, 9999), "sys_9999", "x86_64");
	check_call("x86_64", SYS(0, KEY_NR_MASK), "sys_16777215", "x86_64");
	check_call("x86_64", SYS(3, 1), "sys_1", "unknown");
	check_call("aarch64", SYS(2, 1), "sys_1", "unknown");
	check_call("sparc64", SYS(0, 3), "sys_3", "sparc64");
	check_call("sparc64", SYS(1, 500), "sys_500", "unknown");
	check_call("", SYS(0, 3), "sys_3", "unknown");
	check_call(NULL, SYS(0, 3), "sys_3", "unknown");
	check_call("x86_64", CALL_KEY(CALL_IRQ, 0, 24), "irq_24", NULL);
	check_call("x86_64", CALL_KEY(CALL_SOFTIRQ, 0, 11), "softirq_11", NULL);
	check_call("x86_64", CALL_KEY(CALL_HCALL, 0, 0x1cc), "hcall_0x1cc", NULL);
	check_call("x86_64", CALL_KEY(9, 0, 7), "call_7", NULL);
}

static void test_other(void **state)
{
	for (uint32_t class = 0; class < CALL_NR; class ++) {
		assert_string_equal(names__call(*state, KEY_OTHER(class)), "(other)");
		assert_string_equal(names__abi(*state, KEY_OTHER(class)), "(other)");
	}
}

static void test_classes(void **state)
{
	(void)state;
	assert_string_equal(names__class(SYS(1, 3)), "syscall");
	assert_string_equal(names__class(CALL_KEY(CALL_IRQ, 0, 3)), "irq");
	assert_string_equal(names__class(CALL_KEY(CALL_SOFTIRQ, 0, 3)), "softirq");
	assert_string_equal(names__class(KEY_OTHER(CALL_HCALL)), "hcall");
	assert_string_equal(names__class(KEY_NO_CALL), "call");
}

static void test_softirqs(void **state)
{
	static const char *const expect[] = {"HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

	for (uint32_t i = 0; i < 10; i++)
		assert_string_equal(names__call(*state, CALL_KEY(CALL_SOFTIRQ, 0, i)), expect[i]);
	assert_string_equal(names__call(*state, CALL_KEY(CALL_SOFTIRQ, 0, 10)), "softirq_10");
}

static void test_hcalls(void **state)
{
	static const struct {
		uint32_t opcode;
		const char *name;
	} expect[] = {
		{0x04, "H_REMOVE"},
		{24, "H_PROTECT"},
		{100, "H_EOI"},
		{0x74, "H_XIRR"},
		{0x78, "H_MIGRATE_DMA"},
		{0xe0, "H_CEDE"},
		{0xe8, "H_PROD"},
		{0x31c, "H_SET_MODE"},
		{0x400, "H_SCM_HEALTH"},
		{0xf000, "H_RTAS"},
		{0xf80c, "H_COPY_TOFROM_GUEST"},
		{0xf810, "hcall_0xf810"},
		{0, "hcall_0x0"},
	};
	uint32_t found = 0;

	for (size_t i = 0; i < sizeof(expect) / sizeof(*expect); i++)
		assert_string_equal(names__call(*state, CALL_KEY(CALL_HCALL, 0, expect[i].opcode)),
				    expect[i].name);
	/* A table out of order would lose some of its lines. */
	for (uint32_t opcode = 0; opcode < 0x10000; opcode++)
		found += hcall__name(opcode) != NULL;
	assert_int_equal(found, 194);
}

static const char *irq(struct names *n, uint32_t nr)
{
	return names__call(n, CALL_KEY(CALL_IRQ, 0, nr));
}

static int parse(struct names *n, const char *text)
{
	/* A copy without the NUL, so that the sanitizer sees every step too far. */
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	int rc;

	assert_non_null(copy);
	memcpy(copy, text, len);
	rc = names__parse_irqs(n, copy, len);
	free(copy);
	return rc;
}

static void test_irqs_x86(void **state)
{
	const char *text =
		"           CPU0       CPU1       \n"
		"  0:         44          0  IR-IO-APIC   2-edge      timer\n"
		"  8:          1          0   IO-APIC   8-fasteoi   rtc0\n"
		" 16:          1          0   IO-APIC  16-fasteoi   ehci_hcd:usb1, uhci_hcd:usb3\n"
		" 26:          0         11  IO-APIC   4-edge      ttyS0\n"
		" 31:          0        997 PCI-MSIX-0000:00:01.0   3-edge      virtio0-stats\n"
		" 40:          0          0 PCI-MSI 524288-edge      nvme0q0\n"
		" 41:          0          0 PCI-MSI 524289-edge    \n"
		" 42:          5          0 INT0002 Virtual GPIO   2  ACPI:Event\n"
		" 43:          5          0 INT34D5:00  13  Power Button GPIO 3\n"
		"NMI:          0          0   Non-maskable interrupts\n"
		"LOC:      56926      77626   Local timer interrupts\n"
		"ERR:          0\n";

	assert_int_equal(parse(*state, text), 8);
	assert_string_equal(irq(*state, 0), "timer");
	assert_string_equal(irq(*state, 8), "rtc0");
	assert_string_equal(irq(*state, 16), "ehci_hcd:usb1, uhci_hcd:usb3");
	assert_string_equal(irq(*state, 26), "ttyS0");
	assert_string_equal(irq(*state, 31), "virtio0-stats");
	assert_string_equal(irq(*state, 40), "nvme0q0");
	assert_string_equal(irq(*state, 41), "irq_41");
	assert_string_equal(irq(*state, 42), "ACPI:Event");
	assert_string_equal(irq(*state, 43), "Power Button GPIO 3");
}

static void test_irqs_elsewhere(void **state)
{
	/* arm64 and ppc64 with a trigger column, old x86 and xtensa without the chip's number */
	assert_int_equal(parse(*state, "           CPU0       CPU1       CPU2\n"
				       " 11:   1  2  3     GICv3  27 Level     arch_timer\n"
				       " 12:   1  2  3  ITS-MSI 16384 Edge      eth0-tx-0\n"
				       "IPI0:  1  2  3       Rescheduling interrupts\n"),
			 2);
	assert_string_equal(irq(*state, 11), "arch_timer");
	assert_string_equal(irq(*state, 12), "eth0-tx-0");
	assert_int_equal(parse(*state, "            CPU0\n"
				       " 20:        9  XIVE-IRQ 4097 Edge      ibmvscsi\n"
				       " 21:        9      XICS   2 Level     hvc_console\n"
				       " 22:        9    XT-PIC-XT-PIC    cascade\n"
				       " 23:        9   IO-APIC-edge      i8042\n"
				       " 24:        9    XT-PIC  timer\n"
				       " 25:        9      None\n"
				       " 26:        9 IO-APIC-edge serial\n"
				       " 27:        9  GPC  55 Level   -fasteoi   30b40000.mmc\n"),
			 7);
	assert_string_equal(irq(*state, 20), "ibmvscsi");
	assert_string_equal(irq(*state, 21), "hvc_console");
	assert_string_equal(irq(*state, 22), "cascade");
	assert_string_equal(irq(*state, 23), "i8042");
	assert_string_equal(irq(*state, 24), "timer");
	assert_string_equal(irq(*state, 25), "irq_25");
	assert_string_equal(irq(*state, 26), "serial");
	assert_string_equal(irq(*state, 27), "30b40000.mmc");
}

static void test_irqs_broken(void **state)
{
	assert_int_equal(parse(*state, ""), 0);
	assert_int_equal(parse(*state, "\n\n\n"), 0);
	assert_int_equal(parse(*state, "CPU0 CPU1"), 0);
	assert_int_equal(parse(*state, "1"), 0);
	assert_int_equal(parse(*state, "1:"), 0);
	assert_int_equal(parse(*state, "1: 5"), 0);
	assert_int_equal(parse(*state, "1: 5 chip"), 0);
	assert_int_equal(parse(*state, "99999999999999999999: 5 chip 1-edge x"), 0);
	assert_int_equal(parse(*state, "16777216: 5 chip 1-edge x"), 0);
	assert_int_equal(parse(*state, "-1: 5 chip 1-edge x"), 0);
	/* no header: as many counts as there are */
	assert_int_equal(parse(*state, " 7: 5 6 7 chip 1-edge seven"), 1);
	assert_string_equal(irq(*state, 7), "seven");
	/* more columns than CPUs in the header, and fewer */
	assert_int_equal(parse(*state, "CPU0 CPU1\n 8: 5 chip 1-edge eight\n"), 1);
	assert_string_equal(irq(*state, 8), "eight");
	assert_int_equal(parse(*state, "CPU0 CPU7\n 9: 1 2 3-x  4-edge nine\n"), 1);
}

static void test_irqs_long(void **state)
{
	char name[2000], text[2200];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "CPU0\n5: 1 chip 2-edge %s\n", name);
	assert_int_equal(parse(*state, text), 1);
	assert_int_equal(strlen(irq(*state, 5)), 256);
}

/* Bytes of a good text changed at random, from a fixed seed: the sanitizers are the judges. */
static void test_irqs_random(void **state)
{
	static const char good[] = "           CPU0       CPU1\n"
				   "  0:   44   0  IR-IO-APIC   2-edge      timer\n"
				   " 16:   1    0   IO-APIC  16-fasteoi   a:b, c\n"
				   " 11:   1    2     GICv3  27 Level     arch_timer\n"
				   " 24:   9    0    XT-PIC  timer\n";
	static const char bytes[] = " \t\n:-0159,aCPU\0\xff";
	char text[sizeof(good) - 1];
	unsigned int seed = 1;

	for (int round = 0; round < 20000; round++) {
		size_t len = (size_t)rand_r(&seed) % (sizeof(text) + 1);
		char *copy;

		memcpy(text, good, sizeof(text));
		for (int i = rand_r(&seed) % 20; i > 0; i--)
			text[(size_t)rand_r(&seed) % sizeof(text)] =
				bytes[(size_t)rand_r(&seed) % (sizeof(bytes) - 1)];
		copy = malloc(len ? len : 1);
		assert_non_null(copy);
		memcpy(copy, text, len);
		assert_true(names__parse_irqs(*state, copy, len) >= 0);
		free(copy);
	}
}

static void test_irqs_load(void **state)
{
	const char *path = in_tmp("interrupts"), *old;
	FILE *f = fopen(path, "w");

	/* as wide as the biggest machines */
	assert_non_null(f);
	for (int i = 0; i < 4096; i++)
		fprintf(f, "       CPU%d", i);
	for (int irq_nr = 1; irq_nr < 4; irq_nr++) {
		fprintf(f, "\n%d:", irq_nr);
		for (int i = 0; i < 4096; i++)
			fprintf(f, " %10u", UINT32_MAX);
		fprintf(f, "  PCI-MSI %d-edge      eth%d", irq_nr, irq_nr);
	}
	assert_int_equal(fclose(f), 0);
	assert_int_equal(names__load_irqs(*state, path), 0);
	assert_string_equal(irq(*state, 3), "eth3");
	old = irq(*state, 2);

	/* handlers change: a new name, and the old string lives on */
	write_file(path, "CPU0\n2: 7 PCI-MSI 2-edge      wlan0\n");
	assert_int_equal(names__load_irqs(*state, path), 0);
	assert_string_equal(irq(*state, 2), "wlan0");
	assert_string_equal(old, "eth2");
	assert_string_equal(irq(*state, 1), "eth1");

	assert_int_equal(names__load_irqs(*state, in_tmp("missing")), -ENOENT);
	assert_int_equal(names__load_irqs(*state, tmp), -EISDIR);
	if (!access("/proc/interrupts", R_OK))
		assert_int_equal(names__load_irqs(*state, NULL), 0);
}

static void test_irqs_set(void **state)
{
	char name[300];

	assert_string_equal(irq(*state, 9), "irq_9");
	names__set_irq(*state, 9, "acpi");
	assert_string_equal(irq(*state, 9), "acpi");
	names__set_irq(*state, 9, "acpi");
	assert_string_equal(irq(*state, 9), "acpi");
	/* shared: the names add up, whatever order the events come in */
	names__set_irq(*state, 9, "acp");
	names__set_irq(*state, 9, "usb1");
	for (int i = 0; i < 10; i++) {
		names__set_irq(*state, 9, "acpi");
		names__set_irq(*state, 9, "acp");
	}
	assert_string_equal(irq(*state, 9), "acpi, acp, usb1");
	names__set_irq(*state, 9, "");
	names__set_irq(*state, 9, NULL);
	names__set_irq(*state, UINT32_MAX, "none");
	assert_string_equal(irq(*state, 9), "acpi, acp, usb1");
	assert_string_equal(irq(*state, KEY_NR_MASK), "irq_16777215");
	/* too long: cut when alone, not taken when added */
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	names__set_irq(*state, 9, name);
	assert_string_equal(irq(*state, 9), "acpi, acp, usb1");
	names__set_irq(*state, 10, name);
	assert_int_equal(strlen(irq(*state, 10)), 256);
}

static uint64_t make_dir(const char *rel)
{
	struct stat st;

	assert_int_equal(mkdir(in_tmp(rel), 0755), 0);
	assert_int_equal(stat(in_tmp(rel), &st), 0);
	return st.st_ino;
}

/* A mountinfo that shows tmp/dir as cgroup2, among others. */
static const char *make_mountinfo(const char *file, const char *root, const char *dir)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
		 "broken line\n"
		 "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
		 "32 31 0:29 / /nowhere/cpu rw - cgroup cgroup rw,cpu\n"
		 "40 31 0:37 / /nowhere/at/all rw - cgroup2 cgroup2 rw\n"
		 "41 31 0:38 %s %s/%s rw,relatime shared:9 master:1 - cgroup2 cgroup2 rw\n"
		 "42 31 0:39 / /sys/fs/cgroup2000 rw - cgroup2000 none rw\n",
		 root, tmp, dir);
	write_file(in_tmp(file), text);
	return in_tmp(file);
}

static void test_cgroup_tree(void **state)
{
	uint64_t root = make_dir("tree"), a = make_dir("tree/a.slice");
	uint64_t b = make_dir("tree/a.slice/b c.service"), deep, late;
	uint64_t leaf = make_dir("tree/leaf");
	char mountinfo[1024], path[600] = "tree/leaf";

	write_file(in_tmp("tree/cgroup.procs"), "1\n");
	assert_int_equal(symlink("..", in_tmp("tree/a.slice/loop")), 0);
	for (int i = 0; i < 40; i++) {
		strcat(path, "/x");
		deep = make_dir(path);
	}
	strcpy(mountinfo, make_mountinfo("mountinfo", "/", "tree"));
	names__use_mountinfo(*state, mountinfo);
	assert_int_equal(names__cgroup_scan(*state), 0);
	assert_string_equal(names__cgroup(*state, root), "/");
	assert_string_equal(names__cgroup(*state, a), "/a.slice");
	assert_string_equal(names__cgroup(*state, b), "/a.slice/b c.service");
	assert_string_equal(names__cgroup(*state, leaf), "/leaf");
	assert_string_equal(names__cgroup(*state, deep), path + strlen("tree"));
	assert_string_equal(names__cgroup(*state, 0), "(unknown)");

	/* new: found by a rescan, one a window */
	late = make_dir("tree/late");
	assert_string_equal(names__cgroup(*state, late), "/late");

	/* gone, but known by the name it had (last: other file systems use its number again) */
	assert_int_equal(rmdir(in_tmp("tree/a.slice/b c.service")), 0);
	assert_int_equal(names__cgroup_scan(*state), 0);
	assert_string_equal(names__cgroup(*state, b), "/a.slice/b c.service");
}

static void test_cgroup_rescans(void **state)
{
	struct names *n = *state;
	uint64_t first, second;
	char mountinfo[1024];

	make_dir("rescan");
	strcpy(mountinfo, make_mountinfo("mountinfo2", "/", "rescan"));
	names__use_mountinfo(n, mountinfo);
	assert_string_equal(names__cgroup(n, 999999999999ULL), "(gone)");
	assert_int_equal(n->cgroups.scans, 1);
	first = make_dir("rescan/first");
	assert_string_equal(names__cgroup(n, first), "(gone)"); /* this window has had its scan */
	assert_int_equal(n->cgroups.scans, 1);

	names__new_window(n);
	assert_string_equal(names__cgroup(n, first), "/first");
	assert_int_equal(n->cgroups.scans, 2);
	second = make_dir("rescan/second");
	names__new_window(n);
	/* what a scan did not find is never looked for again */
	assert_string_equal(names__cgroup(n, 999999999999ULL), "(gone)");
	assert_int_equal(n->cgroups.scans, 2);
	assert_string_equal(names__cgroup(n, second), "/second");
	assert_string_equal(names__cgroup(n, 1), "/");
	assert_int_equal(n->cgroups.scans, 3);
}

static void test_cgroup_many(void **state)
{
	uint64_t ids[1000];
	char rel[64], mountinfo[1024];

	make_dir("many");
	for (int i = 0; i < 1000; i++) {
		snprintf(rel, sizeof(rel), "many/g%d", i);
		ids[i] = make_dir(rel);
	}
	strcpy(mountinfo, make_mountinfo("mountinfo3", "/", "many"));
	names__use_mountinfo(*state, mountinfo);
	for (int i = 0; i < 1000; i++) {
		snprintf(rel, sizeof(rel), "/g%d", i);
		assert_string_equal(names__cgroup(*state, ids[i]), rel);
	}
	assert_int_equal(((struct names *)*state)->cgroups.scans, 1);
}

/* Only a part of the hierarchy is mounted; and a mount point with a blank in its name. */
static void test_cgroup_mounts(void **state)
{
	uint64_t part = make_dir("pa rt"), sub = make_dir("pa rt/sub"), whole = make_dir("whole");
	char mountinfo[1024], text[4096];

	strcpy(mountinfo, make_mountinfo("mountinfo4", "/docker/abc", "pa\\040rt"));
	names__use_mountinfo(*state, mountinfo);
	assert_string_equal(names__cgroup(*state, part), "/docker/abc");
	assert_string_equal(names__cgroup(*state, sub), "/docker/abc/sub");

	/* the whole is preferred to the part, wherever it stands */
	snprintf(text, sizeof(text),
		 "1 1 0:1 /docker/abc %s/pa\\040rt rw - cgroup2 a rw\n"
		 "1 1 0:1 / %s/whole rw - cgroup2 a rw\n"
		 "1 1 0:1 /docker/abc %s/pa\\040rt rw - cgroup2 a rw\n",
		 tmp, tmp, tmp);
	write_file(mountinfo, text);
	assert_int_equal(names__cgroup_scan(*state), 0);
	assert_string_equal(names__cgroup(*state, whole), "/");

	/* a later mount hides an earlier one at the same place */
	snprintf(text, sizeof(text),
		 "1 1 0:1 / %s/whole rw - cgroup2 a rw\n"
		 "1 1 0:1 /over %s/whole rw - cgroup2 a rw\n",
		 tmp, tmp);
	write_file(mountinfo, text);
	assert_int_equal(names__cgroup_scan(*state), 0);
	assert_string_equal(names__cgroup(*state, whole), "/over");
}

static void test_cgroup_none(void **state)
{
	char mountinfo[1024];

	strcpy(mountinfo, in_tmp("mountinfo5"));
	write_file(mountinfo, "22 1 8:1 / / rw shared:1 - ext4 /dev/root rw\n - cgroup2\n"
			      "1 2 3 - cgroup2 x rw\n");
	names__use_mountinfo(*state, mountinfo);
	assert_int_equal(names__cgroup_scan(*state), -ENOENT);
	assert_string_equal(names__cgroup(*state, 1), "/");
	assert_string_equal(names__cgroup(*state, 2), "(gone)");
	assert_string_equal(names__cgroup(*state, 0), "(unknown)");
	names__use_mountinfo(*state, "/nowhere/mountinfo");
	assert_int_equal(names__cgroup_scan(*state), -ENOENT);
}

/* A directory that is no cgroup2 in truth, as when something is mounted over it. */
static void test_cgroup_hidden(void **state)
{
	char mountinfo[1024];
	uint64_t id = make_dir("hidden");

	strcpy(mountinfo, make_mountinfo("mountinfo6", "/", "hidden"));
	names__use_mountinfo(*state, mountinfo);
	((struct names *)*state)->cgroups.any_fs = false;
	assert_int_equal(names__cgroup_scan(*state), -ENOENT);
	assert_string_equal(names__cgroup(*state, id), "(gone)");
}

static void test_cgroup_real(void **state)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char dir[128], expect[64];
	struct stat st;

	snprintf(expect, sizeof(expect), "/test_names.%d", (int)getpid());
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		snprintf(dir, sizeof(dir), "%s/cgroup.controllers", mounts[i]);
		if (access(dir, F_OK))
			continue;
		snprintf(dir, sizeof(dir), "%s%s", mounts[i], expect);
		if (mkdir(dir, 0755))
			break;
		assert_int_equal(stat(dir, &st), 0);
		assert_int_equal(rmdir(dir), 0);
		assert_string_equal(names__cgroup(*state, st.st_ino), "(gone)");
		names__new_window(*state);
		assert_int_equal(mkdir(dir, 0755), 0);
		assert_int_equal(stat(dir, &st), 0);
		if (strcmp(names__cgroup(*state, st.st_ino), expect)) {
			rmdir(dir);
			fail_msg("%s was not found", expect);
		}
		assert_int_equal(rmdir(dir), 0);
		names__new_window(*state);
		assert_string_equal(names__cgroup(*state, st.st_ino), expect);
		assert_string_equal(names__cgroup(*state, 1), "/");
		return;
	}
	skip();
}

static void test_containers(void **state)
{
	static const struct {
		const char *path, *name;
	} expect[] = {
		{"/system.slice/docker-" ID64 ".scope", "0123456789ab"},
		{"/docker/" ID64, "0123456789ab"},
		{"/docker/" ID64 "/init.scope", "0123456789ab"},
		{"/docker/" ID64 "/system.slice/nginx.service", "0123456789ab"},
		{"/my-parent/" ID64, "0123456789ab"},
		{"/system.slice/crio-" ID64 ".scope", "0123456789ab"},
		{"/user.slice/libpod-" ID64 ".scope/container", "0123456789ab"},
		{"/kubepods.slice/kubepods-burstable.slice/"
		 "kubepods-burstable-pod12345678_9abc_def0_1234_56789abcdef0.slice",
		 "12345678-9abc-def0-1234-56789abcdef0"},
		{"/kubepods.slice/kubepods-pod12345678_9abc_def0_1234_56789abcdef0.slice",
		 "12345678-9abc-def0-1234-56789abcdef0"},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/"
		 "cri-containerd-" ID64 ".scope",
		 "0123456789ab"},
		{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1_2.slice", "1-2"},
		{"/kubepods/burstable/pod12345678-9abc-def0-1234-56789abcdef0",
		 "12345678-9abc-def0-1234-56789abcdef0"},
		{"/kubepods/burstable/pod1-2/" ID64, "0123456789ab"},
		{"/kubepods/podabc", "abc"},
		{"/lxc/web", "web"},
		{"/lxc/web/system.slice/cron.service", "web"},
		{"/lxc.payload.web-1/init.scope", "web-1"},
		{"/lxc.payload/web", "web"},
		{"/machine.slice/systemd-nspawn@debian.service/payload", "debian"},
		{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "qemu-1-vm"},
		{"/lxc/web/docker/" ID64, "0123456789ab"},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(expect) / sizeof(*expect); i++)
		assert_string_equal(names__container(expect[i].path, buf, sizeof(buf)),
				    expect[i].name);
}

static void test_no_containers(void **state)
{
	static const char *const paths[] = {
		"",
		"/",
		"(gone)",
		"(unknown)",
		"/init.scope",
		"/system.slice/foo.service",
		"/system.slice/docker.service",
		"/system.slice/containerd.service",
		"/system.slice/docker-compose.scope",
		"/system.slice/" ID64 ".scope",
		"/docker",
		"/docker/buildx",
		"/docker/" ID64 "0",
		"/machine.slice/libpod-conmon-" ID64 ".scope",
		"/kubepods.slice",
		"/kubepods.slice/kubepods-burstable.slice",
		"/kubepods/burstable",
		"/pod12",
		"/user.slice/podman.slice",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/app-pod.slice",
		"/lxc",
		"/lxc.monitor.web",
		"/lxc.payload.",
		"/machine-foo.scope",
		"/machine.slice/machine-.scope",
		"/machine.slice/systemd-nspawn@.service",
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		assert_null(names__container(paths[i], buf, sizeof(buf)));
	assert_null(names__container(NULL, buf, sizeof(buf)));
}

static void test_container_buffers(void **state)
{
	char buf[5];

	(void)state;
	assert_string_equal(names__container("/docker/" ID64, buf, sizeof(buf)), "0123");
	assert_string_equal(names__container("/lxc/abcdef", buf, sizeof(buf)), "abcd");
	assert_string_equal(names__container("/kubepods/podabc_def", buf, sizeof(buf)), "abc-");
	assert_string_equal(names__container("/lxc/a", buf, 1), "");
	assert_null(names__container("/lxc/a", buf, 0));
	/* half an escape at the end, and one for a NUL */
	assert_string_equal(names__container("/lxc/a\\x2", buf, sizeof(buf)), "a\\x2");
	assert_string_equal(names__container("/lxc/\\x00", buf, sizeof(buf)), "\\x00");
}

/* Groups that others are added up in have no id: one's container is not another's. */
static void test_container_without_id(void **state)
{
	struct names *n = *state;

	assert_string_equal(names__group_container(n, 0, "/lxc/one"), "one");
	assert_string_equal(names__group_container(n, 0, "/lxc/two"), "two");
	assert_null(names__group_container(n, 0, "/system.slice"));
	assert_string_equal(names__group_container(n, 0, "/lxc/one"), "one");
}

static void test_free_null(void **state)
{
	(void)state;
	names__free(NULL);
}

#define FRESH(f) cmocka_unit_test_setup_teardown(f, new_names, free_names)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syscalls),
		cmocka_unit_test(test_new_syscalls),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_no_containers),
		cmocka_unit_test(test_container_buffers),
		cmocka_unit_test(test_free_null),
		FRESH(test_other),
		FRESH(test_softirqs),
		FRESH(test_hcalls),
		FRESH(test_irqs_x86),
		FRESH(test_irqs_elsewhere),
		FRESH(test_irqs_broken),
		FRESH(test_irqs_long),
		FRESH(test_irqs_random),
		FRESH(test_irqs_load),
		FRESH(test_irqs_set),
		FRESH(test_cgroup_tree),
		FRESH(test_cgroup_rescans),
		FRESH(test_cgroup_many),
		FRESH(test_cgroup_mounts),
		FRESH(test_cgroup_none),
		FRESH(test_cgroup_hidden),
		FRESH(test_cgroup_real),
		FRESH(test_container_without_id),
	};

	return cmocka_run_group_tests_name("names", tests, make_tmp, remove_tmp);
}
