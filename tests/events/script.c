// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads event scripts: the text that tests/events/README tells, into struct script_event.
 *
 * It knows words and numbers only; what an event does is apply.h's business.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCT_READER
#include "../../bpf/acct.h"
#include "script.h"

#define MAX_WORDS 12

/* One line in work: its words, and what is wrong with it. */
struct line {
	struct script *s;
	char *w[MAX_WORDS];
	int n;
	unsigned int number;
	const char *wrong;
};

static struct script_event *event_new(struct script *s, enum script_op op, __u64 time)
{
	struct script_event *v = realloc(s->ev, (s->nev + 1) * sizeof(*v));

	if (!v)
		abort();
	s->ev = v;
	v = &s->ev[s->nev++];
	memset(v, 0, sizeof(*v));
	v->op = op;
	v->time = time;
	return v;
}

static __u64 number(struct line *l, const char *word)
{
	char *end;
	__u64 v = strtoull(word, &end, 0);

	if (end == word || *end)
		l->wrong = "a number is expected";
	return v;
}

/* The value of name=... on this line, or NULL. */
static const char *attr(const struct line *l, const char *name)
{
	size_t len = strlen(name);

	for (int i = 0; i < l->n; i++)
		if (!strncmp(l->w[i], name, len) && l->w[i][len] == '=')
			return l->w[i] + len + 1;
	return NULL;
}

static bool flag(const struct line *l, const char *name)
{
	for (int i = 0; i < l->n; i++)
		if (!strcmp(l->w[i], name))
			return true;
	return false;
}

__u32 script__person(const struct script *s, const char *name)
{
	__u32 i;

	for (i = 0; i < s->npeople; i++)
		if (!strcmp(s->people[i], name))
			return i;
	return SC_PEOPLE;
}

/* Whoever is named first exists from then on, with a tid of its own. */
static __u32 person(struct line *l, const char *name)
{
	struct script *s = l->s;
	struct script_event *ev;
	__u32 i;

	if (!name || strlen(name) >= SC_NAME) {
		l->wrong = "a task's name is expected";
		return 0;
	}
	i = script__person(s, name);
	if (i < SC_PEOPLE)
		return i;
	if (s->npeople == SC_PEOPLE) {
		l->wrong = "too many tasks";
		return 0;
	}
	i = s->npeople++;
	strcpy(s->people[i], name);
	if (i != SC_IDLE) {
		ev = event_new(s, OP_PERSON, 0);
		ev->who = i;
		ev->arg = ev->arg2 = 100 + i;
	}
	return i;
}

static __u32 cpu_of(struct line *l, const char *word)
{
	if (strncmp(word, "cpu", 3) || word[3] < '0' || word[3] >= '0' + SC_CPUS || word[4]) {
		l->wrong = "cpu0 to cpu3 is expected";
		return 0;
	}
	return word[3] - '0';
}

/* The states as ps and trace-cmd print them; "iowait" and "preempt" are not bits of the state. */
static __u32 state_of(struct line *l)
{
	static const struct {
		const char *name;
		__u32 v;
	} states[] = {
		{"R", 0},
		{"S", ACCT_TASK_INTERRUPTIBLE},
		{"D", ACCT_TASK_UNINTERRUPTIBLE},
		{"T", ACCT_TASK_STOPPED},
		{"t", ACCT_TASK_TRACED},
		{"I", ACCT_TASK_UNINTERRUPTIBLE | ACCT_TASK_NOLOAD},
		{"P", ACCT_TASK_PARKED},
		{"X", ACCT_TASK_DEAD},
	};
	const char *name = attr(l, "state");
	__u32 bits = (flag(l, "preempt") ? SW_PREEMPT : 0) | (flag(l, "iowait") ? SW_IOWAIT : 0);

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(name ? name : "R", states[i].name))
			return states[i].v | bits;
	l->wrong = "unknown state";
	return 0;
}

static __u32 class_of(struct line *l, const char *word)
{
	static const char *const names[] = {"wait", "sleep", "blocked", "iowait", "stopped"};

	for (__u32 i = 0; i < AC_OFF_NR; i++)
		if (!strcmp(word, names[i]))
			return AC_WAIT + i;
	l->wrong = "unknown class";
	return 0;
}

static __u32 call_attr(struct line *l)
{
	const char *nr = attr(l, "call");

	return nr ? CALL_KEY(CALL_SYSCALL, 0, number(l, nr)) : KEY_NO_CALL;
}

/* ---- lines that begin with a time ---- */

static bool read_frame(struct line *l, struct script_event *ev)
{
	static const char *const names[] = {"irq", "softirq", "hcall"};
	const char *verb = l->w[2];

	for (__u32 i = 0; i < AC_STEAL_NR; i++) {
		size_t len = strlen(names[i]);

		if (strncmp(verb, names[i], len) || verb[len] != '_')
			continue;
		ev->op = strcmp(verb + len, "_enter") ? OP_FRAME_EXIT : OP_FRAME_ENTER;
		ev->arg = CALL_KEY(CALL_IRQ + i, 0, l->n > 3 ? number(l, l->w[3]) : 0);
		ev->arg2 = i;
		return true;
	}
	return false;
}

static bool read_call(struct line *l, struct script_event *ev)
{
	if (!strcmp(l->w[2], "sys_enter") && l->n > 3) {
		const char *abi = attr(l, "abi");

		ev->op = OP_SYS_ENTER;
		ev->arg = CALL_KEY(CALL_SYSCALL, abi ? number(l, abi) : 0, number(l, l->w[3]));
		return true;
	}
	ev->op = OP_SYS_EXIT;
	ev->arg = flag(l, "error");
	return !strcmp(l->w[2], "sys_exit");
}

static void read_switch(struct line *l, struct script_event *ev)
{
	__u32 prev = person(l, attr(l, "prev")), next = person(l, attr(l, "next"));

	ev->op = OP_SWITCH;
	ev->who = prev;
	ev->to = next;
	ev->arg = state_of(l);
}

static void pack_comm(struct script_event *ev, const char *comm)
{
	for (int i = 0; i < 8 && comm[i]; i++)
		ev->x |= (__u64)(unsigned char)comm[i] << (8 * i);
}

/* Verbs that are followed by a task's name. */
static bool read_verb(struct line *l, struct script_event *ev)
{
	static const char *const verbs[] = {
		[OP_SEAT] = "seat",	[OP_SEED] = "seed",   [OP_UNSEEN] = "unseen",
		[OP_WAKEUP] = "wakeup", [OP_FORK] = "fork",   [OP_MIGRATE] = "migrate",
		[OP_EXEC] = "exec",	[OP_EXIT] = "exit",   [OP_RENAME] = "rename",
		[OP_PICK] = "pick",	[OP_GROUP] = "group",
	};
	size_t i, n = sizeof(verbs) / sizeof(verbs[0]);
	bool drop = !strcmp(l->w[2], "drop");

	for (i = 0; i < n; i++)
		if (verbs[i] && !strcmp(verbs[i], drop ? "pick" : l->w[2]))
			break;
	if (i == n || l->n < 4)
		return false;
	ev->op = i;
	ev->x = i == OP_PICK && !drop;
	ev->who = person(l, l->w[3]);
	if (i == OP_GROUP && l->n > 4) {
		ev->arg = number(l, l->w[4]);
		ev->arg2 = flag(l, "all");
	}
	if (i == OP_FORK)
		ev->to = ev->who;
	if (i == OP_SEED && l->n > 4) {
		ev->arg = class_of(l, l->w[4]);
		ev->arg2 = call_attr(l);
	}
	if (i == OP_UNSEEN)
		ev->arg = state_of(l);
	if (i == OP_MIGRATE && l->n > 4)
		ev->to = cpu_of(l, l->w[4]);
	if (i == OP_RENAME && l->n > 4)
		pack_comm(ev, l->w[4]);
	return true;
}

static void read_event(struct line *l)
{
	struct script_event ev = {0};

	if (l->n < 3) {
		l->wrong = "TIME cpuN EVENT is expected";
		return;
	}
	ev.time = number(l, l->w[0]);
	ev.cpu = cpu_of(l, l->w[1]);
	if (!strcmp(l->w[2], "switch"))
		read_switch(l, &ev);
	else if (!read_verb(l, &ev) && !read_frame(l, &ev) && !read_call(l, &ev))
		l->wrong = "unknown event";
	if (!l->wrong) /* whoever it has named first is made before it */
		*event_new(l->s, ev.op, 0) = ev;
}

/* ---- other lines ---- */

static void read_task(struct line *l)
{
	const char *tid = attr(l, "tid"), *tgid = attr(l, "tgid"), *born = attr(l, "born");
	const char *group = attr(l, "group");
	struct script_event *ev;
	__u32 who = person(l, l->n > 1 ? l->w[1] : NULL);

	if (l->wrong)
		return;
	ev = event_new(l->s, OP_PERSON, 0);
	ev->time = born ? number(l, born) : 0;
	ev->who = who;
	ev->arg = tid ? number(l, tid) : 100 + who;
	ev->arg2 = tgid ? number(l, tgid) : ev->arg;
	ev->x = flag(l, "kernel") | flag(l, "out") << 1;
	ev->to = group ? number(l, group) : 0;
}

/* "select", "select follow", "select skip cpu1" */
static void read_select(struct line *l)
{
	struct script_event *ev = event_new(l->s, OP_SELECT, 0);

	l->s->selects = true;
	if (flag(l, "follow"))
		ev->arg |= SC_FOLLOW;
	if (l->n == 3 && !strcmp(l->w[1], "skip")) {
		ev->arg |= SC_SKIP;
		ev->to = cpu_of(l, l->w[2]);
	}
}

static bool read_limit(struct line *l)
{
	static const char *const names[] = {"slots", "calls", "rows", "icalls"};

	for (__u32 i = 0; i < TABLE_NR; i++) {
		if (l->n == 2 && !strcmp(l->w[0], names[i])) {
			struct script_event *ev = event_new(l->s, OP_LIMIT, 0);

			ev->arg = i;
			ev->arg2 = number(l, l->w[1]);
			return true;
		}
	}
	return false;
}

static void read_expect(struct line *l, const char *text)
{
	struct script *s = l->s;
	struct script_expect *v = realloc(s->ex, (s->nex + 1) * sizeof(*v));

	if (!v)
		abort();
	s->ex = v;
	v = &s->ex[s->nex++];
	v->report = s->reports - 1;
	v->line = l->number;
	v->text = strdup(text);
	if (!s->reports)
		l->wrong = "nothing is reported yet";
}

/* "start", "boundary" and "end" begin a window; "end" also reports the one that it ends. */
static void read_words(struct line *l)
{
	const char *w = l->w[0];
	struct script *s = l->s;

	if (!strcmp(w, "task")) {
		read_task(l);
	} else if (!strcmp(w, "cpus") && l->n == 2) {
		s->ncpus = number(l, l->w[1]);
		if (!s->ncpus || s->ncpus > SC_CPUS)
			l->wrong = "one to four CPUs";
	} else if (l->n == 2 &&
		   (!strcmp(w, "start") || !strcmp(w, "boundary") || !strcmp(w, "end"))) {
		event_new(s, OP_WINDOW, number(l, l->w[1]));
		if (*w == 'e') {
			event_new(s, OP_REPORT, 0);
			s->reports++;
		}
	} else if (!strcmp(w, "select")) {
		read_select(l);
	} else if (!strcmp(w, "nocut")) {
		s->nocut = 1;
	} else if (!strcmp(w, "report")) {
		event_new(s, OP_REPORT, 0);
		s->reports++;
	} else if (!strcmp(w, "reap")) {
		event_new(s, OP_REAP, 0);
	} else if (!read_limit(l)) {
		l->wrong = "unknown word";
	}
}

static void read_line(struct line *l, char *text)
{
	char *save, *copy = strdup(text);

	l->n = 0;
	l->wrong = NULL;
	for (char *w = strtok_r(text, " \t\n", &save); w && *w != '#' && l->n < MAX_WORDS;
	     w = strtok_r(NULL, " \t\n", &save))
		l->w[l->n++] = w;
	if (l->n) {
		if (!strcmp(l->w[0], "expect"))
			read_expect(l, copy);
		else if (*l->w[0] >= '0' && *l->w[0] <= '9')
			read_event(l);
		else
			read_words(l);
	}
	free(copy);
}

int script__read(struct script *s, const char *path, char *err, size_t size)
{
	const char *base = strrchr(path, '/');
	struct line l = {.s = s};
	char text[512];
	FILE *f;

	memset(s, 0, sizeof(*s));
	s->ncpus = 1;
	snprintf(s->name, sizeof(s->name), "%s", base ? base + 1 : path);
	if (strrchr(s->name, '.'))
		*strrchr(s->name, '.') = 0;
	person(&l, "idle");
	f = fopen(path, "re");
	if (!f) {
		snprintf(err, size, "%s: %s", path, strerror(errno));
		return -1;
	}
	while (!l.wrong && fgets(text, sizeof(text), f)) {
		l.number++;
		read_line(&l, text);
	}
	fclose(f);
	if (l.wrong)
		snprintf(err, size, "%s:%u: %s", path, l.number, l.wrong);
	return l.wrong ? -1 : 0;
}

void script__free(struct script *s)
{
	for (size_t i = 0; i < s->nex; i++)
		free(s->ex[i].text);
	free(s->ex);
	free(s->ev);
	memset(s, 0, sizeof(*s));
}

/* ---- tables ---- */

void script__init(struct script_state *st, __u32 ncpus)
{
	static const __u32 max[] = {SC_SLOTS, SC_CALLS, SC_ROWS, SC_ICALLS};
	static const __u32 first[] = {SLOT_FIRST(SC_CPUS), CALL_OTHER(SC_CPUS), ROW_OTHER(SC_CPUS),
				      ICALL_OTHER(SC_CPUS, 0)};

	memset(st, 0, sizeof(*st));
	st->ncpus = ncpus;
	st->ctl.epoch = ACCT_WARMUP;
	for (int i = 0; i < TABLE_NR; i++) {
		st->used[i] = first[i];
		st->max[i] = max[i];
	}
	for (__u32 i = SC_SLOTS; i > SLOT_FIRST(SC_CPUS); i--)
		st->free[st->nfree++] = i - 1;
	acct_fixed_slots(st->tasks, SC_CPUS);
}
