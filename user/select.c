// SPDX-License-Identifier: GPL-2.0-only
/*
 * The selection: lists and globs from words, users and calls by name, and the tests on the host.
 *
 * It owns what the words mean. The tests themselves are bpf/sel.h's; it must not know of engines
 * nor of the accounts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "select.h"

#define PID_MOST 4194304 /* PID_MAX_LIMIT, include/linux/threads.h, on 64 bits */

bool sel__digits(const char **s, uint64_t max, uint64_t *v)
{
	const char *p = *s;

	for (*v = 0; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (digit > max || *v > (max - digit) / 10)
			return false;
		*v = *v * 10 + digit;
	}
	if (p == *s)
		return false;
	*s = p;
	return true;
}

int sel__add_id(struct sel_ids *ids, uint32_t id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->v[i] == id)
			return 0;
	if (ids->n == SEL_IDS)
		return -E2BIG;
	ids->v[ids->n++] = id;
	return 0;
}

static bool ids_have(const struct sel_ids *ids, uint32_t id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->v[i] == id)
			return true;
	return false;
}

static int add_ids(struct sel_ids *ids, const char *arg, const char *what, const char **takes)
{
	uint64_t v;

	for (const char *p = arg;; p++) {
		*takes = what;
		if (!sel__digits(&p, PID_MOST, &v) || !v || (*p && *p != ','))
			return -EINVAL;
		*takes = "at most 1024 numbers";
		if (sel__add_id(ids, (uint32_t)v))
			return -E2BIG;
		if (!*p)
			return 0;
	}
}

int sel__add_pids(struct selection *s, const char *arg, const char **takes)
{
	s->kinds |= SELK_PID;
	return add_ids(&s->pids, arg, "process ids, such as 4711 or 12,4711", takes);
}

int sel__add_tids(struct selection *s, const char *arg, const char **takes)
{
	s->kinds |= SELK_TID;
	return add_ids(&s->tids, arg, "thread ids, such as 4711 or 12,4711", takes);
}

int sel__add_cpus(struct selection *s, const char *arg, const char **takes)
{
	uint64_t from, to;

	s->kinds |= SELK_CPU;
	*takes = "CPUs, such as 0 or 0-3,8";
	for (const char *p = arg;; p++) {
		if (!sel__digits(&p, SEL_CPUS - 1, &from))
			return -EINVAL;
		to = from;
		if (*p == '-') {
			p++;
			if (!sel__digits(&p, SEL_CPUS - 1, &to) || to < from)
				return -EINVAL;
		}
		for (uint64_t i = from; i <= to; i++)
			s->cpus[i / 64] |= 1ULL << (i % 64);
		if (to > s->last_cpu)
			s->last_cpu = (uint32_t)to;
		if (*p && *p != ',')
			return -EINVAL;
		if (!*p)
			return 0;
	}
}

/* One more text, when there is room for it. */
static int add_text(const char **v, size_t *n, const char *arg, const char **takes)
{
	if (*n == SEL_GLOBS) {
		*takes = "no more than 16 times";
		return -E2BIG;
	}
	v[(*n)++] = arg;
	return 0;
}

int sel__add_comm(struct selection *s, const char *arg, const char **takes)
{
	static struct sel_glob g;

	s->kinds |= SELK_COMM;
	if (sel__compile(&g, arg, ACCT_COMM_LEN - 1, false, takes))
		return -EINVAL;
	return add_text(s->comms, &s->nr_comms, arg, takes);
}

int sel__add_cgroup(struct selection *s, const char *arg, const char **takes)
{
	static struct sel_glob g;

	s->kinds |= SELK_CGROUP;
	if (sel__compile(&g, arg, SEL_TOKENS, true, takes))
		return -EINVAL;
	return add_text(s->cgroups, &s->nr_cgroups, arg, takes);
}

int sel__add_user(struct selection *s, const char *arg, const char **takes)
{
	s->kinds |= SELK_UID;
	*takes = "users, such as root or 33,postgres";
	if (!*arg || *arg == ',' || strstr(arg, ",,") || arg[strlen(arg) - 1] == ',')
		return -EINVAL;
	return add_text(s->users, &s->nr_users, arg, takes);
}

int sel__add_calls(struct selection *s, const char *arg, const char **takes)
{
	s->kinds |= SELK_CALL;
	*takes = "names of system calls, such as read,write";
	if (!*arg || *arg == ',' || strstr(arg, ",,") || arg[strlen(arg) - 1] == ',')
		return -EINVAL;
	return add_text(s->calls, &s->nr_calls, arg, takes);
}

/* ---- globs ---- */

/* Token `at` takes character ch from now on. */
static void take(struct sel_glob *g, size_t at, unsigned char ch)
{
	g->takes[ch][at / 64] |= 1ULL << (at % 64);
}

/*
 * The set that begins behind `[` at p, as token `at`. Returns what follows it, or NULL: it has no
 * end, its range runs backwards, or it names a class, which globs here do not know.
 */
static const char *take_set(struct sel_glob *g, size_t at, const char *p)
{
	bool in[256] = {false}, inverted = *p == '!' || *p == '^';
	const char *first = p += inverted;

	for (; *p != ']' || p == first; p++) {
		unsigned char from, to;

		if (*p == '\\')
			p++;
		if (!*p || (p[0] == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '=')))
			return NULL;
		from = to = (unsigned char)*p;
		if (p[1] == '-' && p[2] && p[2] != ']') {
			p += p[2] == '\\' ? 3 : 2;
			to = (unsigned char)*p;
		}
		if (!to || to < from)
			return NULL;
		for (unsigned int ch = from; ch <= to; ch++)
			in[ch] = true;
	}
	for (unsigned int ch = 1; ch < 256; ch++)
		if (in[ch] != inverted)
			take(g, at, (unsigned char)ch);
	return p + 1;
}

/* One token, or a star, at p. Returns what follows, NULL with *takes set when it is wrong. */
static const char *compile_one(struct sel_glob *g, const char *p, size_t tokens, const char **takes)
{
	size_t at = g->last;

	if (*p == '*') {
		g->star[at / 64] |= 1ULL << (at % 64);
		return p + 1;
	}
	*takes = tokens < ACCT_COMM_LEN
			 ? "a glob of at most 15 characters: the kernel cuts longer names there"
			 : "a glob of at most 255 characters";
	if (at == tokens)
		return NULL;
	g->last++;
	*takes = "a glob whose [ has a ], and without classes like [:alpha:]";
	if (*p == '[')
		return take_set(g, at, p + 1);
	if (*p == '?') {
		for (unsigned int ch = 1; ch < 256; ch++)
			take(g, at, (unsigned char)ch);
		return p + 1;
	}
	*takes = "a glob that does not end in a backslash";
	if (*p == '\\' && !*++p)
		return NULL;
	take(g, at, (unsigned char)*p);
	return p + 1;
}

int sel__compile(struct sel_glob *g, const char *glob, size_t tokens, bool cgroup,
		 const char **takes)
{
	const char *p = glob;

	memset(g, 0, sizeof(*g));
	*takes = "a glob, not an empty word";
	if (!*p)
		return -EINVAL;
	if (cgroup && *p != '/' && *p != '*') { /* at any depth: as if a star and a / stood here */
		g->star[0] = 1;
		take(g, g->last++, '/');
	}
	while (p && *p)
		p = compile_one(g, p, tokens, takes);
	return p ? 0 : -EINVAL;
}

/* ---- the tests ---- */

static bool comm_matches(const struct selection *s, const char *comm)
{
	static struct sel_glob g;
	const char *takes;

	for (size_t i = 0; comm && i < s->nr_comms; i++)
		if (!sel__compile(&g, s->comms[i], ACCT_COMM_LEN - 1, false, &takes) &&
		    sel_comm_matches(&g, comm))
			return true;
	return false;
}

bool sel__cgroup(const struct selection *s, const char *path)
{
	static struct sel_glob g;
	const char *takes;

	for (size_t i = 0; path && i < s->nr_cgroups; i++)
		if (!sel__compile(&g, s->cgroups[i], SEL_TOKENS, true, &takes) &&
		    sel_path_matches(&g, path, (uint32_t)strlen(path) + 1))
			return true;
	return false;
}

bool sel__task(const struct selection *s, const struct sel_subject *t)
{
	uint32_t in = 0;

	if ((s->kinds & SELK_PID) && ids_have(&s->pids, t->pid))
		in |= SELK_PID;
	if ((s->kinds & SELK_TID) && ids_have(&s->tids, t->tid))
		in |= SELK_TID;
	if ((s->kinds & SELK_UID) && ids_have(&s->uids, t->uid))
		in |= SELK_UID;
	if ((s->kinds & SELK_COMM) && comm_matches(s, t->comm))
		in |= SELK_COMM;
	if ((s->kinds & SELK_CGROUP) && sel__cgroup(s, t->cgroup))
		in |= SELK_CGROUP;
	in |= t->self ? SELK_NOSELF : 0;
	in |= t->kthread ? SELK_NOKERNEL : 0;
	return sel_decide(s->kinds, in, t->flags);
}

bool sel__leaves_out(const struct selection *s, bool command)
{
	return command || (s->kinds & (SELK_TASKS | SELK_CPU));
}

bool sel__cpu(const struct selection *s, uint32_t cpu)
{
	if (!(s->kinds & SELK_CPU))
		return true;
	return cpu < SEL_CPUS && ((s->cpus[cpu / 64] >> (cpu % 64)) & 1);
}

bool sel__call(const struct selection *s, uint32_t key)
{
	return !(s->kinds & SELK_CALL) || sel_call(&s->call_bits, key);
}

/* ---- in words ---- */

/* Adds to the text; what finds no room is left out, and ... stands for it. */
static void say(char *buf, size_t len, const char *option, const char *text)
{
	size_t at = strlen(buf);
	int n = snprintf(buf + at, len - at, "%s%s%s%s", at ? " " : "", option, *text ? " " : "",
			 text);

	if (n >= 0 && (size_t)n < len - at)
		return;
	if (len > 4)
		strcpy(buf + (at + 4 < len ? at : len - 4), "...");
}

static void say_ids(char *buf, size_t len, const char *option, const struct sel_ids *ids)
{
	char text[64];
	size_t at = 0;

	if (!ids->n)
		return;
	for (size_t i = 0; i < ids->n; i++) {
		if (at > sizeof(text) - 16) {
			strcpy(text + at, ",...");
			break;
		}
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u", i ? "," : "",
				       ids->v[i]);
	}
	say(buf, len, option, text);
}

static void say_cpus(char *buf, size_t len, const struct selection *s)
{
	char text[64];
	size_t at = 0;

	for (uint32_t i = 0, to; i <= s->last_cpu; i = to + 1) {
		to = i;
		if (!sel__cpu(s, i))
			continue;
		while (to < s->last_cpu && sel__cpu(s, to + 1))
			to++;
		if (at > sizeof(text) - 20) {
			strcpy(text + at, ",...");
			break;
		}
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u", at ? "," : "", i);
		if (to > i)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "-%u", to);
	}
	say(buf, len, "-C", text);
}

const char *sel__describe(const struct selection *s, char *buf, size_t len)
{
	*buf = '\0';
	say_ids(buf, len, "-p", &s->pids);
	say_ids(buf, len, "-t", &s->tids);
	if (s->kinds & SELK_CPU)
		say_cpus(buf, len, s);
	for (size_t i = 0; i < s->nr_cgroups; i++)
		say(buf, len, "-G", s->cgroups[i]);
	for (size_t i = 0; i < s->nr_comms; i++)
		say(buf, len, "-c", s->comms[i]);
	for (size_t i = 0; i < s->nr_users; i++)
		say(buf, len, "-u", s->users[i]);
	if (s->kinds & SELK_NOSELF)
		say(buf, len, "-x", "");
	if (s->kinds & SELK_NOKERNEL)
		say(buf, len, "--no-kthreads", "");
	if (s->kinds & SELK_FOLLOW)
		say(buf, len, "--follow", "");
	for (size_t i = 0; i < s->nr_calls; i++)
		say(buf, len, "--syscall", s->calls[i]);
	return buf;
}
