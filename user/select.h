/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What of the system is accounted task by task: the selection of the command line, as every engine
 * uses it. The BPF engine hands it to the kernel; the others ask sel__task() and its like.
 *
 * It knows no engine. Words are checked where they are parsed; what depends on the machine (users,
 * tasks, CPUs) by sel__resolve().
 */
#ifndef SELECT_H
#define SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../bpf/sel.h"
#include "names.h"

#define SEL_IDS 1024 /* of one kind */

#define SEL_CPUS 8192

struct sel_ids {
	uint32_t v[SEL_IDS];
	size_t n;
};

/* All zeroes selects everything. Texts are the caller's (argv) and must outlive it. */
struct selection {
	uint32_t kinds; /* SELK_*, without SELK_COMMAND: that is the engine's */
	struct sel_ids pids, tids, uids;
	const char *users[SEL_GLOBS]; /* as given; uids once resolved */
	size_t nr_users;
	const char *comms[SEL_GLOBS];
	size_t nr_comms;
	const char *cgroups[SEL_GLOBS];
	size_t nr_cgroups;
	uint64_t cpus[SEL_CPUS / 64];
	uint32_t last_cpu;
	const char *calls[SEL_GLOBS]; /* lists of names, as given */
	size_t nr_calls;
	struct sel_calls call_bits; /* once resolved */
};

/* One task, as far as the tests ask. Texts may be NULL: then nothing matches them. */
struct sel_subject {
	uint32_t pid, tid, uid;
	const char *comm;   /* NUL-terminated, ACCT_COMM_LEN bytes at most */
	const char *cgroup; /* path */
	bool kthread;
	bool self;	/* of utilbpf's own process */
	uint32_t flags; /* SEL_*: by its descent */
};

/*
 * One more argument of an option. 0, or -EINVAL with what would be right in *takes (a phrase as in
 * "-p/--pid takes ..."); -E2BIG: more than there is room for, and *takes says how many.
 */
int sel__add_pids(struct selection *s, const char *arg, const char **takes);
int sel__add_tids(struct selection *s, const char *arg, const char **takes);
int sel__add_cpus(struct selection *s, const char *arg, const char **takes);
int sel__add_cgroup(struct selection *s, const char *arg, const char **takes);
int sel__add_comm(struct selection *s, const char *arg, const char **takes);
int sel__add_user(struct selection *s, const char *arg, const char **takes);
int sel__add_calls(struct selection *s, const char *arg, const char **takes);

/*
 * Users to uids, names of calls to numbers (of the machine that n is for), and with `live` whether
 * the tasks and CPUs are there. 0, or with one line in why: -EINVAL (no such call: wrong usage),
 * -ENOENT (user), -ESRCH (task), -ENODEV (CPU).
 */
int sel__resolve(struct selection *s, struct names *n, bool live, char *why, size_t len);

/* Whether there are tasks that are not accounted one by one; command: a COMMAND is. */
bool sel__leaves_out(const struct selection *s, bool command);

/* The tests; a selection that does not ask is passed by all. s is resolved. */
bool sel__task(const struct selection *s, const struct sel_subject *t);
bool sel__cpu(const struct selection *s, uint32_t cpu);
bool sel__call(const struct selection *s, uint32_t key);
/* Whether a cgroup of that path is selected by -G: itself, or a group above it. */
bool sel__cgroup(const struct selection *s, const char *path);

/*
 * Compiles a glob: * ? [a-z] [!a-z] and \ before a character that stands for itself. * takes any
 * character, / too. 0, or -EINVAL with a phrase in *takes. A cgroup's that begins with neither /
 * nor * is looked for at any depth.
 */
int sel__compile(struct sel_glob *g, const char *glob, size_t tokens, bool cgroup,
		 const char **takes);

/* Digits up to max; *s then points behind them. False: none, or too many. */
bool sel__digits(const char **s, uint64_t max, uint64_t *v);
/* Adds an id that is not there yet. 0 or -E2BIG. */
int sel__add_id(struct sel_ids *ids, uint32_t id);

/* What was selected, as options, for the report; "" when it is everything. Returns buf. */
const char *sel__describe(const struct selection *s, char *buf, size_t len);

#endif /* SELECT_H */
