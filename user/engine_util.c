// SPDX-License-Identifier: GPL-2.0-only
/* The host's and the loader's own figures, from /proc, /sys and the clocks. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "engine_util.h"

static void read_cpus(const char *path, bool *online, uint32_t n)
{
	unsigned int from, to;
	FILE *f = fopen(path, "re");
	int c = ',';

	memset(online, !f, n * sizeof(*online));
	while (f && c == ',' && fscanf(f, "%u", &from) == 1) {
		to = from;
		c = fgetc(f);
		if (c == '-') {
			if (fscanf(f, "%u", &to) != 1)
				break;
			c = fgetc(f);
		}
		for (unsigned int i = from; i <= to && i < n; i++)
			online[i] = true;
	}
	if (f)
		fclose(f);
}

void engine__online(bool *online, uint32_t n)
{
	read_cpus("/sys/devices/system/cpu/online", online, n);
}

void engine__present(bool *present, uint32_t n)
{
	read_cpus("/sys/devices/system/cpu/present", present, n);
}

void engine__host(struct report *r, uint32_t possible, const bool *online)
{
	struct utsname u;

	uname(&u);
	snprintf(r->host.name, sizeof(r->host.name), "%s", u.nodename);
	snprintf(r->host.kernel, sizeof(r->host.kernel), "%s", u.release);
	snprintf(r->host.arch, sizeof(r->host.arch), "%s", u.machine);
	r->host.cpus_possible = possible;
	for (uint32_t i = 0; i < possible; i++)
		r->host.cpus_online += online[i];
}

bool engine__locked_down(void)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";
	bool yes;

	yes = f && fgets(line, sizeof(line), f) && strstr(line, "[confidentiality]");
	if (f)
		fclose(f);
	return yes;
}

bool engine__has_hcalls(const char *arch)
{
	struct utsname u;

	if (!arch) {
		uname(&u);
		arch = u.machine;
	}
	return !strncmp(arch, "ppc", 3);
}

/* The inode of the initial one: include/linux/proc_ns.h, PROC_PID_INIT_INO. */
#define INITIAL_PIDS 0xeffffffcU

bool engine__initial_pids(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PIDS;
}

void engine__cost(struct report *r, uint64_t *cpu_before)
{
	struct timespec ts;
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	r->cost.loader_cpu_ns = since_last(cpu_before, timespec_ns(&ts));
	if (f) {
		if (fscanf(f, "%*s %ld", &pages) != 1)
			pages = 0;
		fclose(f);
	}
	r->cost.loader_rss_bytes = (uint64_t)pages * sysconf(_SC_PAGESIZE);
}

void engine__realtime(bool on)
{
	const struct sched_param prio = {.sched_priority = on ? 1 : 0};

	sched_setscheduler(0, on ? SCHED_RR | SCHED_RESET_ON_FORK : SCHED_OTHER, &prio);
}

bool engine__without(const char *what)
{
	const char *s = getenv("UTILBPF_WITHOUT");
	size_t n = strlen(what);

	for (; s && *s; s += *s == ',') {
		size_t len = strcspn(s, ",");

		if (len == n && !strncmp(s, what, n))
			return true;
		s += len;
	}
	return false;
}
