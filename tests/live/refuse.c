// SPDX-License-Identifier: GPL-2.0-only
/*
 * refuse bpf=ENOSYS[,perf_event_open=EACCES] COMMAND...: runs COMMAND in a kernel that refuses
 * those system calls, as one without them would, or one that is locked down.
 */
#include "live.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

static const struct {
	const char *name;
	int value;
} names[] = {
	{"bpf", SYS_bpf},
	{"perf_event_open", SYS_perf_event_open},
	{"fsopen", SYS_fsopen},
	{"ENOSYS", ENOSYS},
	{"EPERM", EPERM},
	{"EACCES", EACCES},
	{"sched_setscheduler", SYS_sched_setscheduler},
	{"setpriority", SYS_setpriority},
};

static int value_of(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, name))
			return names[i].value;
	fprintf(stderr, "refuse: %s?\n", name);
	exit(99);
}

int main(int argc, char **argv)
{
	struct sock_filter code[32];
	struct sock_fprog prog = {.filter = code};
	unsigned short n = 0;

	if (argc < 3)
		return 99;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (char *rule = strtok(argv[1], ","); rule; rule = strtok(NULL, ",")) {
		char *eq = strchr(rule, '=');

		if (!eq || n > 28)
			return 99;
		*eq = 0;
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value_of(rule),
							 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
							 SECCOMP_RET_ERRNO | value_of(eq + 1));
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		die("seccomp");
	execvp(argv[2], argv + 2);
	die(argv[2]);
}
