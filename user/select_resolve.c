// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a selection asks of the machine: which uid a user has, which numbers a system call, and
 * whether the tasks and CPUs are there.
 *
 * It must not know how they are tested for.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"
#include "select.h"

#define UID_MOST 4294967294U

/* "cannot select X: why", X escaped. Returns err. */
static int cannot(int err, char *why, size_t len, const char *what, size_t n, const char *reason)
{
	char raw[128], safe[512];

	snprintf(raw, sizeof(raw), "%.*s", n < sizeof(raw) ? (int)n : (int)sizeof(raw) - 1, what);
	esc__fit(safe, sizeof(safe), raw, 60, false);
	snprintf(why, len, "cannot select %s: %s", safe, reason);
	return err;
}

static int resolve_user(struct selection *s, const char *name, size_t n, char *why, size_t len)
{
	char buf[256];
	const char *p = buf;
	struct passwd *pw;
	uint64_t uid;

	snprintf(buf, sizeof(buf), "%.*s", n < sizeof(buf) ? (int)n : (int)sizeof(buf) - 1, name);
	pw = n < sizeof(buf) ? getpwnam(buf) : NULL;
	if (pw)
		uid = pw->pw_uid;
	else if (!sel__digits(&p, UID_MOST, &uid) || *p)
		return cannot(-ENOENT, why, len, name, n,
			      "there is no such user; see getent passwd");
	if (sel__add_id(&s->uids, (uint32_t)uid))
		return cannot(-ENOENT, why, len, name, n, "more than 1024 users");
	return 0;
}

static int resolve_call(struct selection *s, struct names *names, const char *name, size_t n,
			char *why, size_t len)
{
	uint32_t keys[NAMES_ABIS];
	size_t nr = names__find_syscall(names, name, n, keys);

	if (!nr)
		return cannot(-EINVAL, why, len, name, n, "there is no such system call");
	for (size_t i = 0; i < nr; i++) {
		uint32_t at = KEY_ABI(keys[i]) * SEL_CALL_NRS + KEY_NR(keys[i]);

		if (KEY_NR(keys[i]) < SEL_CALL_NRS)
			s->call_bits.bits[at / 64] |= 1ULL << (at % 64);
	}
	return 0;
}

/* The thread group of a task that lives, from /proc; 0: there is none. */
static uint32_t tgid_of(uint32_t tid)
{
	char path[64], line[256];
	unsigned int tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %u", &tgid) == 1)
			break;
	if (f)
		fclose(f);
	return tgid;
}

static int resolve_tasks(const struct sel_ids *ids, bool processes, char *why, size_t len)
{
	char id[16], reason[80];

	for (size_t i = 0; i < ids->n; i++) {
		uint32_t tgid = tgid_of(ids->v[i]);

		snprintf(id, sizeof(id), "%u", ids->v[i]);
		if (!tgid)
			return cannot(-ESRCH, why, len, id, strlen(id),
				      processes ? "there is no such process"
						: "there is no such thread");
		if (!processes || tgid == ids->v[i])
			continue;
		snprintf(reason, sizeof(reason), "it is a thread of process %u; take -t %u", tgid,
			 ids->v[i]);
		return cannot(-ESRCH, why, len, id, strlen(id), reason);
	}
	return 0;
}

static int resolve_cpus(const struct selection *s, char *why, size_t len)
{
	long most = sysconf(_SC_NPROCESSORS_CONF);
	char cpu[16];

	if (!(s->kinds & SELK_CPU) || most <= 0 || s->last_cpu < (unsigned long)most)
		return 0;
	snprintf(cpu, sizeof(cpu), "CPU %u", s->last_cpu);
	return cannot(-ENODEV, why, len, cpu, strlen(cpu), "this machine has no such CPU");
}

int sel__resolve(struct selection *s, struct names *n, bool live, char *why, size_t len)
{
	int err = 0;

	s->uids.n = 0;
	memset(&s->call_bits, 0, sizeof(s->call_bits));
	for (size_t i = 0; i < s->nr_calls && !err; i++)
		for (const char *p = s->calls[i]; *p && !err; p += *p == ',') {
			err = resolve_call(s, n, p, strcspn(p, ","), why, len);
			p += strcspn(p, ",");
		}
	for (size_t i = 0; i < s->nr_users && !err; i++)
		for (const char *p = s->users[i]; *p && !err; p += *p == ',') {
			err = resolve_user(s, p, strcspn(p, ","), why, len);
			p += strcspn(p, ",");
		}
	if (err || !live)
		return err;
	err = resolve_tasks(&s->pids, true, why, len);
	if (!err)
		err = resolve_tasks(&s->tids, false, why, len);
	return err ? err : resolve_cpus(s, why, len);
}
