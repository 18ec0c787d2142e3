// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives up what is not needed any more: see confine.h. The system calls that are left are those
 * which reading /proc, maps and sockets takes, and what libc needs for it; nothing here depends on
 * who makes them.
 */
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine.h"

#define NOBODY 65534 /* as in /etc/passwd of every distribution, and the kernel's overflowuid */

#ifndef CAP_BPF
#define CAP_BPF 39 /* Linux 5.8 */
#endif

/* ---- privileges ---- */

/*
 * True when bpf(2) is refused to this process whatever it asks for. Before 5.19 (commit
 * c8644cd0efe7) kernel.unprivileged_bpf_disabled closes all of it to those without CAP_BPF, later
 * only what makes maps and loads programs. Asked with a descriptor that is none.
 */
static bool bpf_refused(void)
{
	union bpf_attr attr = {.map_fd = (__u32)-1};

	return syscall(__NR_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) && errno == EPERM;
}

static int dropped(char *why, size_t len, const char *what)
{
	int err = errno ? errno : EPERM;

	snprintf(why, len, "cannot drop %s: %s; run it with CAP_SETUID, CAP_SETGID and CAP_SETPCAP",
		 what, strerror(err));
	return -err;
}

/* CAP_BPF stays permitted, not effective, so that it can be tried without. */
static int drop_most(char *why, size_t len)
{
	bool setids, setpcap, have_bpf;
	int flags = CAPNG_DROP_SUPP_GRP;

	errno = 0;
	if (capng_get_caps_process())
		return dropped(why, len, "capabilities");
	setids = !geteuid() && capng_have_capability(CAPNG_EFFECTIVE, CAP_SETUID) &&
		 capng_have_capability(CAPNG_EFFECTIVE, CAP_SETGID);
	setpcap = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
	have_bpf = capng_have_capability(CAPNG_PERMITTED, CAP_BPF);
	capng_clear(setpcap ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS);
	if (have_bpf)
		capng_update(CAPNG_ADD, CAPNG_PERMITTED, CAP_BPF);
	if (setpcap)
		flags |= CAPNG_CLEAR_BOUNDING;
	if (setids)
		return capng_change_id(NOBODY, NOBODY, flags) ? dropped(why, len, "root") : 0;
	if (capng_apply(setpcap ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS))
		return dropped(why, len, "capabilities");
	return 0;
}

int confine__privileges(char *why, size_t len)
{
	int err = drop_most(why, len);

	if (err)
		return err;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return dropped(why, len, "privileges");
	capng_clear(CAPNG_SELECT_CAPS);
	if (bpf_refused())
		capng_update(CAPNG_ADD, CAPNG_PERMITTED | CAPNG_EFFECTIVE, CAP_BPF);
	errno = 0;
	if (capng_apply(CAPNG_SELECT_CAPS))
		return dropped(why, len, "capabilities");
	return 0;
}

/* ---- system calls ---- */

/* Allowed with any arguments. Those that an architecture lacks are left out by libseccomp. */
static const int allowed[] = {
	/* sockets that exist, and those they accept */
	SCMP_SYS(accept4),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recv),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(send),
	SCMP_SYS(sendmsg),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockname),
	/* descriptors */
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(lseek),
	SCMP_SYS(_llseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(fstat64),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstatat64),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(fstatfs64),
	SCMP_SYS(getdents64),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(fcntl),
	SCMP_SYS(fcntl64),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(ppoll_time64),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_ctl),
	/* memory */
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	/* time, and the rest */
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_gettime64),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_nanosleep_time64),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getrandom),
	SCMP_SYS(futex),
	SCMP_SYS(futex_time64),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(sched_yield),
	SCMP_SYS(tgkill), /* abort() */
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* bpf(2): to read and write maps that are open, and to run a program that is. */
static const int bpf_commands[] = {
	BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM,  BPF_MAP_DELETE_ELEM,	   BPF_MAP_GET_NEXT_KEY,
	BPF_PROG_TEST_RUN,   BPF_MAP_LOOKUP_BATCH, BPF_OBJ_GET_INFO_BY_FD,
};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

/* A call that this architecture lacks has a number that libseccomp knows to skip. */
static int allow(scmp_filter_ctx ctx, int nr, unsigned int args, struct scmp_arg_cmp arg)
{
	return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, nr, args, args ? &arg : NULL);
}

/* The argument's bits of mask are value. */
static struct scmp_arg_cmp bits(unsigned int arg, uint64_t mask, uint64_t value)
{
	return (struct scmp_arg_cmp){
		.arg = arg, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

static int add_rules(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp none = {.arg = 0};
	/* files to read only, memory that does not become code */
	const struct scmp_arg_cmp to_read = bits(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);
	const struct scmp_arg_cmp no_code = bits(2, PROT_EXEC, 0);
	int err = 0;

	for (size_t i = 0; !err && i < NR(allowed); i++)
		err = allow(ctx, allowed[i], 0, none);
	for (size_t i = 0; !err && i < NR(bpf_commands); i++)
		err = allow(ctx, SCMP_SYS(bpf), 1, bits(0, UINT32_MAX, bpf_commands[i]));
	if (!err)
		err = allow(ctx, SCMP_SYS(openat), 1, to_read);
	if (!err)
		err = allow(ctx, SCMP_SYS(mmap), 1, no_code);
	if (!err)
		err = allow(ctx, SCMP_SYS(mmap2), 1, no_code);
	if (!err)
		err = allow(ctx, SCMP_SYS(mprotect), 1, no_code);
	return err;
}

int confine__syscalls(char *why, size_t len)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = ctx ? 0 : -ENOMEM;

	if (!err)
		err = add_rules(ctx);
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	if (err)
		snprintf(why, len,
			 "cannot set up the filter of system calls (seccomp): %s; the kernel needs "
			 "CONFIG_SECCOMP_FILTER",
			 strerror(-err));
	return err;
}
