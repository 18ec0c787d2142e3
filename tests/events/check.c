// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a script expects of a report, and the laws that hold for any report.
 *
 * A line that names a task's, CPU's or call's numbers is complete: those it does not name must be
 * zero.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "play.h"

static char wrong[512];

static const char *say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(wrong, sizeof(wrong), fmt, ap);
	va_end(ap);
	return wrong;
}

static const char *const class_names[AC_NR] = {"user",	  "sys",    "irq",     "softirq",
					       "hv",	  "busy",   "wait",    "sleep",
					       "blocked", "iowait", "stopped", "idle"};

#define MAX_FIELDS 32

/* A thing's numbers, by name. `must`: one that is not named has to be zero. */
struct fields {
	struct {
		const char *name;
		uint64_t v;
		bool must, named;
	} f[MAX_FIELDS];
	int n;
};

static void field(struct fields *f, const char *name, uint64_t v, bool must)
{
	f->f[f->n].name = name;
	f->f[f->n].v = v;
	f->f[f->n].must = must;
	f->f[f->n++].named = false;
}

static void fields_ns(struct fields *f, const uint64_t *ns)
{
	for (int i = 0; i < AC_NR; i++)
		field(f, class_names[i], ns[i], true);
}

static const char *fields_one(struct fields *f, const char *word)
{
	const char *eq = strchr(word, '=');
	size_t len = eq ? (size_t)(eq - word) : strlen(word);

	for (int i = 0; eq && i < f->n; i++) {
		if (strlen(f->f[i].name) != len || strncmp(f->f[i].name, word, len))
			continue;
		f->f[i].named = true;
		if (f->f[i].v != strtoull(eq + 1, NULL, 0))
			return say("%s, but it is %" PRIu64, word, f->f[i].v);
		return NULL;
	}
	return say("%s: nothing has that name here", word);
}

/* Compares NAME=VALUE words with the fields. */
static const char *fields_check(struct fields *f, char **w, int n)
{
	const char *bad;

	for (int i = 0; i < n; i++) {
		bad = fields_one(f, w[i]);
		if (bad)
			return bad;
	}
	for (int i = 0; i < f->n; i++)
		if (f->f[i].must && !f->f[i].named && f->f[i].v)
			return say("%s=%" PRIu64 " is not expected", f->f[i].name, f->f[i].v);
	return NULL;
}

/* "A" or "A.1", the image that A runs after one exec; "A@2", its part in group 2; "other" is what
 * found no place. */
static const struct rep_task *find_task(const struct script *s, const struct report *r,
					const char *name)
{
	char base[SC_NAME + 8];
	uint32_t exec = 0, who, group = 0;
	char *dot, *at;

	snprintf(base, sizeof(base), "%s", name);
	at = strchr(base, '@');
	if (at) {
		*at = 0;
		group = atoi(at + 1);
	}
	dot = strchr(base, '.');
	if (dot) {
		*dot = 0;
		exec = atoi(dot + 1);
	}
	who = script__person(s, base);
	for (size_t i = 0; i < r->nr_tasks; i++) {
		const struct rep_task *t = &r->tasks[i];

		if (!strcmp(name, "other")
			    ? t->other
			    : !t->other && t->cgroup_id == (who | (uint64_t)group << 8) &&
				      t->exec == exec)
			return t;
	}
	return NULL;
}

/* ---- kinds of expectations; w[0] is the first word after the kind ---- */

static const char *check_call(const struct script *s, const struct report *r, uint32_t class,
			      char **w, int n)
{
	const struct rep_task *t = find_task(s, r, w[0]);
	const struct rep_calls *calls = t ? &t->calls : NULL;
	bool none = n > 2 && !strcmp(w[2], "none");
	const struct rep_call *c = NULL;
	struct fields f = {0};
	uint32_t key;

	if (n < 2)
		return "expect call TASK NUMBER ...";
	if (!strcmp(w[0], "system"))
		calls = &r->sys_calls;
	key = CALL_KEY(class, 0, atoi(w[1]));
	if (!strcmp(w[1], "other"))
		key = KEY_OTHER(class);
	for (size_t i = 0; calls && i < calls->n; i++)
		if (calls->v[i].key == key)
			c = &calls->v[i];
	if (!c || none)
		return !c && none ? NULL : c ? "it is there" : "no such call";
	field(&f, "count", c->count, true);
	field(&f, "errors", c->errors, true);
	field(&f, "elapsed", c->elapsed_ns, true);
	field(&f, "pending", c->pending_ns, true);
	field(&f, "open", c->open, true);
	field(&f, "min", c->min_ns, false);
	field(&f, "max", c->max_ns, false);
	field(&f, "oncpu", c->oncpu_ns, false);
	field(&f, "stolen", c->stolen_ns, true);
	for (int i = 0; i < AC_OFF_NR; i++)
		field(&f, class_names[AC_WAIT + i], c->off_ns[i], true);
	return fields_check(&f, w + 2, n - 2);
}

static const char *check_cpu(const struct report *r, char **w, int n)
{
	uint32_t cpu = atoi(w[0] + 3);
	struct fields f = {0};

	for (size_t i = 0; i < r->nr_cpus; i++) {
		if (r->cpus[i].cpu != cpu)
			continue;
		fields_ns(&f, r->cpus[i].ns);
		field(&f, "switches", r->cpus[i].switches, false);
		return fields_check(&f, w + 1, n - 1);
	}
	return "no such CPU";
}

static const char *check_on_cpu(const struct rep_task *t, char **w, int n)
{
	uint64_t none[AC_NR] = {0};
	struct fields f = {0};
	const uint64_t *ns = none;

	for (size_t i = 0; i < t->nr_cpus; i++)
		if (t->cpus[i].cpu == (uint32_t)atoi(w[0] + 3))
			ns = t->cpus[i].ns;
	fields_ns(&f, ns);
	return fields_check(&f, w + 1, n - 1);
}

/* state=, comm= are words, not numbers: checked here, and taken out. */
static const char *check_words(const struct rep_task *t, char **w, int *n)
{
	for (int i = 0; i < *n; i++) {
		if (!strncmp(w[i], "state=", 6) && strcmp(w[i] + 6, t->state))
			return say("%s, but it is %s", w[i], t->state);
		if (!strncmp(w[i], "comm=", 5) && strcmp(w[i] + 5, t->comm))
			return say("%s, but it is %s", w[i], t->comm);
		if (!strncmp(w[i], "state=", 6) || !strncmp(w[i], "comm=", 5)) {
			memmove(&w[i], &w[i + 1], (*n - i - 1) * sizeof(*w));
			--*n;
			--i;
		}
	}
	return NULL;
}

static const char *check_task(const struct script *s, const struct report *r, char **w, int n)
{
	const struct rep_task *t = find_task(s, r, w[0]);
	struct fields f = {0};
	const char *bad;

	if (n > 1 && !strcmp(w[1], "none"))
		return t ? "it is there" : NULL;
	if (!t)
		return "no such task";
	if (n > 2 && !strcmp(w[1], "on"))
		return check_on_cpu(t, w + 2, n - 2);
	fields_ns(&f, t->ns);
	field(&f, "migrations", t->migrations, false);
	field(&f, "voluntary", t->voluntary, false);
	field(&f, "involuntary", t->involuntary, false);
	field(&f, "tid", t->tid, false);
	field(&f, "pid", t->pid, false);
	field(&f, "start", t->start_ns, false);
	field(&f, "end", t->end_ns, false);
	bad = check_words(t, w, &n);
	return bad ? bad : fields_check(&f, w + 1, n - 1);
}

static const char *check_quality(const struct report *r, char **w, int n)
{
	struct fields f = {0};

	field(&f, "unmatched", r->quality.unmatched, true);
	field(&f, "dropped_tasks", r->quality.dropped_tasks, true);
	field(&f, "dropped_calls", r->quality.dropped_calls, true);
	return fields_check(&f, w, n);
}

const char *check__expect(const struct script *s, const struct report *r, const char *text)
{
	static const char *const kinds[] = {"call", "irq", "softirq", "hcall"};
	char copy[512], *w[MAX_FIELDS], *save;
	int n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *p = strtok_r(copy, " \t\n", &save); p && *p != '#' && n < MAX_FIELDS;
	     p = strtok_r(NULL, " \t\n", &save))
		w[n++] = p;
	if (n < 2)
		return "expect what?";
	for (uint32_t i = 0; i < CALL_NR; i++)
		if (!strcmp(w[1], kinds[i]))
			return n < 4 ? "expect KIND TASK NUMBER ..."
				     : check_call(s, r, i, w + 2, n - 2);
	if (!strcmp(w[1], "quality"))
		return check_quality(r, w + 2, n - 2);
	if (!strncmp(w[1], "cpu", 3))
		return check_cpu(r, w + 1, n - 1);
	return check_task(s, r, w + 1, n - 1);
}

/* ---- laws ---- */

static const char *law_task(const struct report *r, const struct rep_task *t)
{
	uint64_t from = t->start_ns > r->start_ns ? t->start_ns : r->start_ns;
	uint64_t to = t->end_ns && t->end_ns < r->end_ns ? t->end_ns : r->end_ns;
	uint64_t sum = report__oncpu(t->ns) + report__offcpu(t->ns), cpus = 0;

	for (size_t i = 0; i < t->nr_cpus; i++)
		cpus += report__oncpu(t->cpus[i].ns) + report__offcpu(t->cpus[i].ns);
	if (cpus != sum)
		return say("task %u: its CPUs sum to %" PRIu64 ", not %" PRIu64, t->tid, cpus, sum);
	/* Of a task that found no record on a CPU, "(other)" has a part. */
	if (!t->other && !t->part && !r->quality.dropped_tasks && sum != to - from)
		return say("law 1: task %u sums to %" PRIu64 ", lived %" PRIu64, t->tid, sum,
			   to - from);
	for (size_t i = 0; i < t->calls.n; i++)
		if (t->calls.v[i].oncpu_ns > t->calls.v[i].elapsed_ns)
			return say("task %u: the split of call %#x exceeds its length", t->tid,
				   t->calls.v[i].key);
	return NULL;
}

/* Laws 2 and 3: a CPU is its window, and its tasks' user, sys and busy are its own. */
static const char *law_cpu(const struct report *r, const struct rep_cpu *c)
{
	static const int own[] = {AC_USER, AC_SYS, AC_BUSY};
	uint64_t sum = report__oncpu(c->ns) + c->ns[AC_IDLE], tasks[AC_NR] = {0};

	if (sum != c->online_ns || sum > r->end_ns - r->start_ns)
		return say("law 2: cpu%u sums to %" PRIu64 " of %" PRIu64, c->cpu, sum,
			   c->online_ns);
	for (size_t i = 0; i < r->nr_tasks; i++)
		for (size_t k = 0; k < r->tasks[i].nr_cpus; k++)
			for (int a = 0; r->tasks[i].cpus[k].cpu == c->cpu && a < AC_NR; a++)
				tasks[a] += r->tasks[i].cpus[k].ns[a];
	for (int i = 0; i < 3; i++)
		if (r->selected ? tasks[own[i]] > c->ns[own[i]] + c->ns[AC_BUSY]
				: tasks[own[i]] != c->ns[own[i]])
			return say("law 3: cpu%u %s is %" PRIu64 ", of its tasks %" PRIu64, c->cpu,
				   class_names[own[i]], c->ns[own[i]], tasks[own[i]]);
	return NULL;
}

static const char *law_totals(const struct report *r)
{
	uint64_t tasks[AC_NR] = {0}, procs[AC_NR] = {0}, groups[AC_NR] = {0};

	for (int a = 0; a < AC_IDLE; a++) {
		for (size_t i = 0; i < r->nr_tasks; i++)
			tasks[a] += r->tasks[i].ns[a];
		for (size_t i = 0; i < r->nr_procs; i++)
			procs[a] += r->procs[i].ns[a];
		for (size_t i = 0; i < r->nr_groups; i++)
			groups[a] += r->groups[i].ns[a];
		if (r->selected && tasks[a] <= r->sys_ns[a] && procs[a] == tasks[a] &&
		    groups[a] == tasks[a])
			continue;
		if (tasks[a] != r->sys_ns[a] || procs[a] != r->sys_ns[a] ||
		    groups[a] != r->sys_ns[a])
			return say("law 4: system %s %" PRIu64, class_names[a], r->sys_ns[a]);
	}
	return NULL;
}

const char *check__laws(const struct report *r)
{
	const char *bad = law_totals(r);

	for (size_t i = 0; !bad && i < r->nr_tasks; i++)
		bad = law_task(r, &r->tasks[i]);
	for (size_t i = 0; !bad && i < r->nr_cpus; i++)
		bad = law_cpu(r, &r->cpus[i]);
	if (!bad && r->quality.residual_ns)
		bad = say("residual %" PRId64, (int64_t)r->quality.residual_ns);
	return bad;
}
