// SPDX-License-Identifier: GPL-2.0-only
/*
 * Raw tracepoint records into events of the accounts.
 *
 * It owns which tracepoints matter, which of their fields, and what those mean; old and new kernels
 * differ in offsets, in how a name is stored, and in the numbers of prev_state. All of that is read
 * from the format once (libtraceevent), so that a record costs a few loads. Every load is inside
 * the record: its size was compared with the last field's end.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>

#include "bytes.h"
#include "decode.h"
#include "opts.h"

#define MAX_FIELDS 5
#define MAX_FORMAT (1U << 20) /* far more than any kernel's */
#define MAX_ID	   65536      /* common_type is an unsigned short */

/* The events. The order is that of `known`. */
enum kind {
	K_SWITCH,
	K_SYS_ENTER,
	K_SYS_EXIT,
	K_MIGRATE,
	K_FORK,
	K_EXEC,
	K_EXIT,
	K_RENAME,
	K_WAKEUP,
	K_WAKEUP_NEW,
	K_WAKING,
	K_STAT_SLEEP,
	K_STAT_BLOCKED,
	K_STAT_IOWAIT,
	K_IRQ_ENTRY,
	K_IRQ_EXIT,
	K_SOFTIRQ_ENTRY,
	K_SOFTIRQ_EXIT,
	K_HCALL_ENTRY,
	K_HCALL_EXIT,
	K_ATTACH,
	K_NR,
};

#define WAKES "sched_wakeup"

static const struct decode_known known[K_NR] = {
	[K_SWITCH] = {"sched", "sched_switch", EV_SCHED, NULL},
	[K_SYS_ENTER] = {"raw_syscalls", "sys_enter", EV_SYSCALLS, NULL},
	[K_SYS_EXIT] = {"raw_syscalls", "sys_exit", EV_SYSCALLS, NULL},
	[K_MIGRATE] = {"sched", "sched_migrate_task", EV_SCHED, NULL},
	[K_FORK] = {"sched", "sched_process_fork", EV_SCHED, NULL},
	[K_EXEC] = {"sched", "sched_process_exec", EV_SCHED, NULL},
	[K_EXIT] = {"sched", "sched_process_exit", EV_SCHED, NULL},
	[K_RENAME] = {"task", "task_rename", EV_SCHED, NULL},
	[K_WAKEUP] = {"sched", "sched_wakeup", EV_SCHED, NULL},
	[K_WAKEUP_NEW] = {"sched", "sched_wakeup_new", EV_SCHED, NULL},
	[K_WAKING] = {"sched", "sched_waking", EV_SCHED, WAKES},
	[K_STAT_SLEEP] = {"sched", "sched_stat_sleep", EV_SCHED, WAKES},
	[K_STAT_BLOCKED] = {"sched", "sched_stat_blocked", EV_SCHED, WAKES},
	[K_STAT_IOWAIT] = {"sched", "sched_stat_iowait", EV_SCHED, NULL},
	[K_IRQ_ENTRY] = {"irq", "irq_handler_entry", EV_IRQS, NULL},
	[K_IRQ_EXIT] = {"irq", "irq_handler_exit", EV_IRQS, NULL},
	[K_SOFTIRQ_ENTRY] = {"irq", "softirq_entry", EV_SOFTIRQS, NULL},
	[K_SOFTIRQ_EXIT] = {"irq", "softirq_exit", EV_SOFTIRQS, NULL},
	[K_HCALL_ENTRY] = {"powerpc", "hcall_entry", EV_HCALLS, NULL},
	[K_HCALL_EXIT] = {"powerpc", "hcall_exit", EV_HCALLS, NULL},
	[K_ATTACH] = {"cgroup", "cgroup_attach_task", EV_SCHED, NULL},
};

/* A field's name; `?` before it: the event is of use without it. */
static const char *const fields[K_NR][MAX_FIELDS] = {
	[K_SWITCH] = {"prev_pid", "prev_state", "next_pid", "?prev_comm", "?next_comm"},
	[K_SYS_ENTER] = {"id"},
	[K_SYS_EXIT] = {"id", "ret"},
	[K_MIGRATE] = {"pid", "dest_cpu", "?comm"},
	[K_FORK] = {"child_pid", "?parent_pid", "?child_comm"},
	[K_EXEC] = {"?old_pid"}, /* 3.4: a kernel before has no such event at all */
	[K_EXIT] = {"?pid", "?comm"},
	[K_RENAME] = {"newcomm", "?pid"}, /* 6.14 dropped pid: it was always the task's own */
	[K_WAKEUP] = {"pid", "?comm"},
	[K_WAKEUP_NEW] = {"pid", "?comm"},
	[K_WAKING] = {"pid", "?comm"},
	[K_STAT_SLEEP] = {"pid", "?comm"},
	[K_STAT_BLOCKED] = {"pid", "?comm"},
	[K_STAT_IOWAIT] = {"pid", "?comm"},
	[K_IRQ_ENTRY] = {"irq", "?name"},
	[K_IRQ_EXIT] = {"irq"},
	[K_SOFTIRQ_ENTRY] = {"vec"},
	[K_SOFTIRQ_EXIT] = {"vec"},
	[K_HCALL_ENTRY] = {"opcode"},
	[K_HCALL_EXIT] = {"opcode"},
	[K_ATTACH] = {"pid", "?comm", "dst_root", "dst_id", "?dst_path"},
};

enum place {
	P_NONE,	 /* the format has no such field */
	P_HERE,	 /* in the fixed part */
	P_LOC,	 /* there is a __data_loc: offset from the record's begin, and length */
	P_RELOC, /* __rel_loc: offset from behind this field (5.16) */
};

struct field {
	uint16_t off;
	uint16_t size;
	uint8_t place;
	bool is_signed;
};

struct desc {
	uint32_t min;	  /* a record is at least so long */
	struct field pid; /* common_pid */
	struct field f[MAX_FIELDS];
};

struct decode {
	bool swap;	 /* the records' byte order is not ours */
	uint32_t groups; /* EV_* that are wanted */
	bool moves;	 /* of tasks between groups are wanted */
	bool have[K_NR];
	uint8_t by_id[MAX_ID]; /* kind + 1 */
	uint16_t id[K_NR];
	struct desc d[K_NR];
	/* What the bits of prev_state mean, see read_states(). */
	uint32_t state[32];
	uint32_t preempt;
};

const struct decode_known *decode__known(size_t *n)
{
	*n = K_NR;
	return known;
}

/* ---- loads from a record ---- */

/* A number, with its sign where the format says so. */
static inline uint64_t number(const struct decode *d, const uint8_t *raw, const struct field *f)
{
	const uint8_t *p = raw + f->off;

	switch (f->size) {
	case 4:
		return f->is_signed ? (uint64_t)(int32_t)bytes__u32(p, d->swap)
				    : bytes__u32(p, d->swap);
	case 8:
		return bytes__u64(p, d->swap);
	case 2:
		return f->is_signed ? (uint64_t)(int16_t)bytes__u16(p, d->swap)
				    : bytes__u16(p, d->swap);
	default:
		return f->is_signed ? (uint64_t)(int8_t)*p : *p;
	}
}

/* Where a text is; NULL: it is not there, or not inside the record. */
static const uint8_t *text(const struct decode *d, const uint8_t *raw, uint32_t size,
			   const struct field *f, size_t *len)
{
	uint32_t loc, off;

	if (f->place == P_HERE) {
		*len = f->size;
		return raw + f->off;
	}
	if (f->place == P_NONE)
		return NULL;
	loc = bytes__u32(raw + f->off, d->swap);
	off = loc & 0xffff;
	if (f->place == P_RELOC)
		off += f->off + 4U;
	*len = loc >> 16;
	return off <= size && *len <= size - off ? raw + off : NULL;
}

/* A task's name; *to is zeroes before. */
static inline void copy_comm(const struct decode *d, char *to, const uint8_t *raw, uint32_t size,
			     const struct field *f)
{
	const uint8_t *from;
	size_t len;

	if (f->place == P_HERE && f->size == ACCT_COMM_LEN) {
		memcpy(to, raw + f->off, ACCT_COMM_LEN);
		return;
	}
	from = text(d, raw, size, f, &len);
	if (!from)
		return;
	len = strnlen((const char *)from, len < ACCT_COMM_LEN ? len : ACCT_COMM_LEN);
	memcpy(to, from, len);
}

/* ---- formats ---- */

/* The kernel's bits (acct.h) that a letter of prev_state stands for, in any version. */
static uint32_t letter_bits(char letter)
{
	switch (letter) {
	case 'S':
		return ACCT_TASK_INTERRUPTIBLE;
	case 'D':
		return ACCT_TASK_UNINTERRUPTIBLE;
	case 'T':
		return ACCT_TASK_STOPPED;
	case 't':
		return ACCT_TASK_TRACED;
	case 'X':
	case 'Z':
	case 'x':
		return ACCT_TASK_DEAD;
	case 'P':
		return ACCT_TASK_PARKED;
	case 'I':
		return ACCT_TASK_UNINTERRUPTIBLE | ACCT_TASK_NOLOAD;
	case 'N':
		return ACCT_TASK_NOLOAD;
	default: /* K (killable), W (waking), n (new) say nothing of the class */
		return 0;
	}
}

/*
 * prev_state is not the state but what the kernel reports of it, and the numbers changed in 4.14
 * (3f5fe9fef5b2, efb40f588b43: "sched/tracing: Fix trace_sched_switch task-state printing"). What
 * they are is in the print format, as { 0x20, "Z" }; the bit above them all says that the task was
 * preempted. Without a print format, the numbers are those since 4.14.
 */
static void read_states(struct decode *d, const char *print)
{
	static const char since_4_14[] = "{1,\"S\"}{2,\"D\"}{4,\"T\"}{8,\"t\"}{16,\"X\"}{32,\"Z\"}"
					 "{64,\"P\"}{128,\"I\"}";
	const char *at = print ? strstr(print, "__print_flags") : NULL;
	uint32_t seen = 0;

	if (!at || !strchr(at, '{'))
		at = since_4_14;
	memset(d->state, 0, sizeof(d->state));
	for (at = strchr(at, '{'); at; at = strchr(at + 1, '{')) {
		char *end;
		unsigned long bit = strtoul(at + 1, &end, 0);

		end += strspn(end, " ,");
		if (*end != '"' || !end[1] || !bit || bit & (bit - 1) || bit >= 1UL << 31)
			continue;
		d->state[__builtin_ctzl(bit)] = letter_bits(end[1]);
		seen |= (uint32_t)bit;
	}
	if (!seen) {
		read_states(d, NULL);
		return;
	}
	d->preempt = 2U << (31 - __builtin_clz(seen));
}

static bool find_field(struct tep_event *e, const char *name, struct field *f)
{
	struct tep_format_field *t = tep_find_any_field(e, name);
	bool dynamic = t && (t->flags & TEP_FIELD_IS_DYNAMIC);

	if (!t || t->offset < 0 || t->size <= 0 || t->offset > 4096 || t->size > 4096)
		return false;
	*f = (struct field){t->offset, t->size, P_HERE, t->flags & TEP_FIELD_IS_SIGNED};
	if (dynamic) {
		f->place = t->flags & TEP_FIELD_IS_RELATIVE ? P_RELOC : P_LOC;
		f->size = 4;
	}
	return true;
}

static bool is_text(const char *name)
{
	size_t len = strlen(name);

	return !strcmp(name, "name") || !strcmp(name, "dst_path") ||
	       (len >= 4 && !strcmp(name + len - 4, "comm"));
}

static bool is_number(const struct field *f)
{
	return f->place == P_HERE && (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
}

static int describe(struct tep_event *e, enum kind k, struct desc *desc)
{
	struct field type;

	memset(desc, 0, sizeof(*desc));
	if (!find_field(e, "common_type", &type) || type.off || type.size != 2)
		return -EINVAL;
	desc->min = 2;
	if (find_field(e, "common_pid", &desc->pid) && is_number(&desc->pid))
		desc->min = desc->pid.off + desc->pid.size;
	else
		desc->pid.place = P_NONE;
	for (int i = 0; i < MAX_FIELDS && fields[k][i]; i++) {
		bool optional = fields[k][i][0] == '?';
		const char *name = fields[k][i] + optional;
		struct field *f = &desc->f[i];

		if (!find_field(e, name, f) || (!is_text(name) && !is_number(f))) {
			f->place = P_NONE;
			if (optional)
				continue;
			return -EINVAL;
		}
		if (desc->min < (uint32_t)f->off + f->size)
			desc->min = f->off + f->size;
	}
	return 0;
}

/* The event's name from its format; false: there is none. */
static bool read_name(const char *buf, char *name, size_t len)
{
	const char *at = strstr(buf, "name:");
	size_t n;

	if (!at)
		return false;
	at += 5;
	at += strspn(at, " \t");
	n = strcspn(at, " \t\n");
	if (!n || n >= len)
		return false;
	memcpy(name, at, n);
	name[n] = 0;
	return true;
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "TYPE NAME", "TYPE NAME[16]", "__data_loc TYPE[] NAME", with any number of words and stars. */
static bool sound_declaration(const char *p, const char *end)
{
	bool blank = false, bracket = false;

	if (p == end || !(isalpha((unsigned char)*p) || *p == '_'))
		return false;
	for (; p < end; p++) {
		if (*p == '[') {
			if (bracket)
				return false;
			bracket = true;
			do
				p++;
			while (p < end && word_char(*p));
			if (p == end || *p != ']')
				return false;
		} else if (!word_char(*p) && *p != '*' && *p != ' ') {
			return false;
		}
		blank |= *p == ' ' && p + 1 < end && word_char(p[1]);
	}
	return blank && (word_char(end[-1]) || end[-1] == ']');
}

/* Goes over "LABEL:digits;". NULL: it is something else. */
static const char *number_part(const char *p, const char *label)
{
	size_t len = strlen(label), digits;

	p += strspn(p, " \t");
	if (strncmp(p, label, len) || p[len] != ':')
		return NULL;
	p += len + 1;
	digits = strspn(p, "0123456789");
	return digits && digits < 6 && p[digits] == ';' ? p + digits + 1 : NULL;
}

/* A whole line of a format's fields: of the kernel's making, with nothing that does not belong. */
static bool sound_field(const char *line, size_t len)
{
	char buf[256];
	const char *p = buf, *end;

	if (len >= sizeof(buf))
		return false;
	memcpy(buf, line, len);
	buf[len] = 0;
	p += strspn(p, " \t");
	if (strncmp(p, "field:", 6))
		return false;
	p += 6;
	end = strchr(p, ';');
	if (!end || !sound_declaration(p, end))
		return false;
	p = number_part(end + 1, "offset");
	p = p ? number_part(p, "size") : NULL;
	if (p && *p) /* before 2.6.33 there was no sign */
		p = number_part(p, "signed");
	return p && !*p;
}

/* "ID: 301" at the beginning of a line; negative: there is none, or no such number. */
static int find_id(const char *text)
{
	const char *at = strstr(text, "\nID:"), *end;
	size_t digits;

	if (!at)
		return -EINVAL;
	at += 4;
	at += strspn(at, " \t");
	digits = strspn(at, "0123456789");
	end = at + digits;
	if (!digits || digits > 5 || (*end && *end != '\n') || atoi(at) >= MAX_ID)
		return -EINVAL;
	return atoi(at);
}

/*
 * What libtraceevent gets to read, to be freed: the name, the number, and those lines of fields
 * that are sound. Damaged ones make it crash (1.7.1), and so can a print format, which it does not
 * get at all. NULL: no memory.
 */
static char *clean_format(const char *text, const char *name, int id)
{
	static const char end[] = "\nprint fmt: \"-\"\n";
	size_t cap = strlen(text) + strlen(name) + 64 + sizeof(end), len;
	const char *line = text, *next;
	char *out = malloc(cap);
	bool own = false;

	if (!out)
		return NULL;
	len = snprintf(out, cap, "name: %s\nID: %d\nformat:\n", name, id);
	for (; line; line = next ? next + 1 : NULL) {
		size_t n;

		next = strchr(line, '\n');
		n = next ? (size_t)(next - line) : strlen(line);
		if (!sound_field(line, n))
			continue;
		if (!own &&
		    !memmem(line, n, " common_", 8)) { /* a blank line parts the two kinds */
			own = true;
			out[len++] = '\n';
		}
		memcpy(out + len, line, n);
		len += n;
		out[len++] = '\n';
	}
	memcpy(out + len, end, sizeof(end));
	return out;
}

/* libtraceevent reads the fields. The event's id, or as decode__format(). */
static int read_fields(struct decode *d, const char *system, const char *text, enum kind k)
{
	struct tep_handle *tep = tep_alloc();
	struct tep_event *e = NULL;
	struct desc desc;
	int id = find_id(text), err = id;
	char *clean = NULL;

	if (id < 0)
		goto out;
	err = -ENOMEM;
	clean = clean_format(text, known[k].name, id);
	if (!tep || !clean)
		goto out;
	tep_set_loglevel(TEP_LOG_NONE);
	err = -EINVAL;
	if (tep_parse_event(tep, clean, strlen(clean), system))
		goto out;
	e = tep_find_event_by_name(tep, system, known[k].name);
	if (!e || e->id != id || describe(e, k, &desc))
		goto out;
	if (d->have[k])
		d->by_id[d->id[k]] = 0;
	d->have[k] = true;
	d->id[k] = id;
	d->d[k] = desc;
	d->by_id[id] = k + 1;
	err = id;
out:
	free(clean);
	tep_free(tep);
	return err;
}

int decode__format(struct decode *d, const char *system, const char *text, size_t len)
{
	char name[64], *buf;
	int err = -ENOENT;
	enum kind k;

	if (len > MAX_FORMAT)
		return -EINVAL;
	buf = strndup(text, len);
	if (!buf)
		return -ENOMEM;
	if (!read_name(buf, name, sizeof(name))) {
		err = -EINVAL;
		goto out;
	}
	for (k = 0; k < K_NR; k++)
		if (!strcmp(known[k].name, name) && !strcmp(known[k].system, system))
			break;
	if (k == K_NR || !(known[k].group & d->groups))
		goto out;
	err = read_fields(d, system, buf, k);
	if (err >= 0 && k == K_SWITCH)
		read_states(d, strstr(buf, "\nprint fmt:"));
out:
	free(buf);
	return err;
}

struct decode *decode__new(bool big_endian)
{
	struct decode *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	decode__set_order(d, big_endian);
	d->groups = EV_ALL;
	return d;
}

void decode__set_order(struct decode *d, bool big_endian)
{
	d->swap = big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void decode__limit(struct decode *d, uint32_t groups)
{
	d->groups = groups;
}

void decode__want_moves(struct decode *d)
{
	d->moves = true;
}

void decode__free(struct decode *d)
{
	free(d);
}

void decode__caps(const struct decode *d, struct feed_caps *caps)
{
	caps->switches = d->have[K_SWITCH];
	caps->wakeups = d->have[K_WAKEUP] || d->have[K_WAKING] || d->have[K_STAT_SLEEP];
	caps->syscall_enter = d->have[K_SYS_ENTER];
	caps->syscall_exit = d->have[K_SYS_EXIT];
	caps->calls_unasked = !(d->groups & EV_SYSCALLS);
	caps->irqs_unasked = !(d->groups & EV_IRQS);
	caps->softirqs_unasked = !(d->groups & EV_SOFTIRQS);
	caps->reasons = d->have[K_SWITCH];
	caps->iowaits = d->have[K_STAT_IOWAIT];
	caps->irqs = d->have[K_IRQ_ENTRY] && d->have[K_IRQ_EXIT];
	caps->softirqs = d->have[K_SOFTIRQ_ENTRY] && d->have[K_SOFTIRQ_EXIT];
	caps->hcalls = d->have[K_HCALL_ENTRY] && d->have[K_HCALL_EXIT];
	caps->forks = d->have[K_FORK];
	caps->comms = d->have[K_SWITCH] || d->have[K_RENAME];
}

bool decode__has(const struct decode *d, const char *name)
{
	for (int k = 0; k < K_NR; k++)
		if (d->have[k] && !strcmp(known[k].name, name))
			return true;
	return false;
}

/* ---- records ---- */

struct record {
	const struct decode *d;
	const struct desc *desc;
	const uint8_t *raw;
	uint32_t size;
};

static inline uint32_t num(const struct record *r, int field)
{
	return (uint32_t)number(r->d, r->raw, &r->desc->f[field]);
}

static inline void comm(const struct record *r, int field, char *to)
{
	copy_comm(r->d, to, r->raw, r->size, &r->desc->f[field]);
}

static inline bool there(const struct record *r, int field)
{
	return r->desc->f[field].place != P_NONE;
}

static void on_switch(const struct record *r, struct feed_event *out)
{
	uint32_t state = num(r, 1);

	out->op = FEED_SWITCH;
	out->prev_tid = num(r, 0);
	out->next_tid = num(r, 2);
	comm(r, 3, out->prev_comm);
	comm(r, 4, out->next_comm);
	if (state & r->d->preempt) {
		out->flags = FE_PREEMPT;
		return;
	}
	for (uint32_t s = state; s; s &= s - 1)
		out->state |= r->d->state[__builtin_ctz(s)];
}

#define X32_NR_BIT 0x40000000U /* __X32_SYSCALL_BIT; nobody else has such numbers */

static uint32_t syscall_key(uint64_t nr)
{
	if ((int64_t)nr < 0)
		return KEY_NO_CALL;
	return CALL_KEY(CALL_SYSCALL, nr & X32_NR_BIT ? 2 : 0, nr & KEY_NR_MASK);
}

static void on_sys_exit(const struct record *r, struct feed_event *out)
{
	int64_t ret = (int64_t)number(r->d, r->raw, &r->desc->f[1]);

	out->op = FEED_SYS_EXIT;
	out->key = syscall_key(number(r->d, r->raw, &r->desc->f[0]));
	if (ret < 0 && ret >= -4095) /* MAX_ERRNO, include/linux/err.h */
		out->flags = FE_ERROR;
}

/* Something about another task: its tid is the first field, its name the second or the third. */
static void about(const struct record *r, struct feed_event *out, uint32_t op, int name)
{
	out->op = op;
	out->next_tid = num(r, 0);
	comm(r, name, out->next_comm);
}

#define KTHREADD 2 /* every kernel thread is its child */

static void on_fork(const struct record *r, struct feed_event *out)
{
	about(r, out, FEED_FORK, 2);
	if ((there(r, 1) ? num(r, 1) : out->tid) == KTHREADD)
		out->flags = FE_KTHREAD;
}

static void on_rename(const struct record *r, struct feed_event *out)
{
	out->op = FEED_NAME;
	out->next_tid = there(r, 1) ? num(r, 1) : out->tid;
	comm(r, 0, out->next_comm);
}

/* Begin and end of what runs on top of a task. */
static const struct {
	uint32_t op, cls;
} frames[] = {
	[K_IRQ_ENTRY] = {FEED_FRAME_ENTER, CALL_IRQ},
	[K_IRQ_EXIT] = {FEED_FRAME_EXIT, CALL_IRQ},
	[K_SOFTIRQ_ENTRY] = {FEED_FRAME_ENTER, CALL_SOFTIRQ},
	[K_SOFTIRQ_EXIT] = {FEED_FRAME_EXIT, CALL_SOFTIRQ},
	[K_HCALL_ENTRY] = {FEED_FRAME_ENTER, CALL_HCALL},
	[K_HCALL_EXIT] = {FEED_FRAME_EXIT, CALL_HCALL},
};

#define UNIFIED 0 /* hierarchy_id of cgrp_dfl_root, kernel/cgroup/cgroup.c: cgroup_init() */

/* Seeds are told groups of the unified hierarchy only. 1, or 0: the move is in another one. */
static int on_attach(const struct record *r, struct feed_event *out)
{
	if (!r->d->moves || num(r, 2) != UNIFIED)
		return 0;
	about(r, out, FEED_MOVE, 1);
	out->cgroup = number(r->d, r->raw, &r->desc->f[3]);
	return 1;
}

/* What the events of the scheduler say, but for the switch. 1, or 0: nothing. */
static int on_sched(const struct record *r, enum kind k, struct feed_event *out)
{
	switch (k) {
	case K_WAKING:
	case K_STAT_SLEEP:
	case K_STAT_BLOCKED:
		/* All happen when the task becomes runnable, and sched_wakeup tells it best. */
		if (r->d->have[K_WAKEUP])
			return 0;
		/* fall through */
	case K_WAKEUP:
	case K_WAKEUP_NEW:
		about(r, out, FEED_WAKEUP, 1);
		return 1;
	case K_MIGRATE:
		about(r, out, FEED_MIGRATE, 2);
		out->to = num(r, 1);
		return 1;
	case K_FORK:
		on_fork(r, out);
		return 1;
	case K_EXEC:
		out->op = FEED_EXEC;
		out->old_tid = there(r, 0) ? num(r, 0) : out->tid;
		return 1;
	case K_EXIT:
		out->op = FEED_EXIT;
		return 1;
	case K_RENAME:
		on_rename(r, out);
		return 1;
	case K_STAT_IOWAIT: /* told when the wait is over, just before the wakeup */
		about(r, out, FEED_STATE, 1);
		out->cls = AC_IOWAIT;
		return 1;
	case K_ATTACH:
		return on_attach(r, out);
	default:
		return 0;
	}
}

static int dispatch(const struct record *r, enum kind k, struct feed_event *out)
{
	switch (k) {
	case K_SYS_ENTER:
		out->op = FEED_SYS_ENTER;
		out->key = syscall_key(number(r->d, r->raw, &r->desc->f[0]));
		return out->key != KEY_NO_CALL;
	case K_SYS_EXIT:
		on_sys_exit(r, out);
		return 1;
	case K_SWITCH:
		on_switch(r, out);
		return 1;
	case K_IRQ_ENTRY:
	case K_IRQ_EXIT:
	case K_SOFTIRQ_ENTRY:
	case K_SOFTIRQ_EXIT:
	case K_HCALL_ENTRY:
	case K_HCALL_EXIT:
		out->op = frames[k].op;
		out->key = CALL_KEY(frames[k].cls, 0, num(r, 0));
		return 1;
	default:
		return on_sched(r, k, out);
	}
}

int decode__event(const struct decode *d, const struct decode_hdr *h, const void *raw,
		  uint32_t size, struct feed_event *out)
{
	struct record r = {.d = d, .raw = raw, .size = size};
	uint32_t kind;

	if (size < 2)
		return -EINVAL;
	kind = d->by_id[bytes__u16(raw, d->swap)];
	if (!kind)
		return -ENOENT;
	r.desc = &d->d[kind - 1];
	if (size < r.desc->min)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	out->time = h->time;
	out->cpu = h->cpu;
	out->key = KEY_NO_CALL;
	out->tid = h->tid;
	/*
	 * The record's own tid is the one that prev_pid and next_pid are in: the sample's is that
	 * of the recorder's pid namespace, and gone once the task is reaped.
	 */
	if (r.desc->pid.place != P_NONE)
		out->tid = (uint32_t)number(d, r.raw, &r.desc->pid);
	if (out->tid == h->tid && h->pid != FEED_NOTID)
		out->tgid = h->pid;
	return dispatch(&r, kind - 1, out);
}

/* A text of a record of kind k: *len bytes. NULL: it is of another kind, or has none. */
static const char *text_of(const struct decode *d, enum kind k, int f, const void *raw,
			   uint32_t size, size_t *len)
{
	const struct desc *desc = &d->d[k];
	const uint8_t *at;

	if (!d->have[k] || size < desc->min || bytes__u16(raw, d->swap) != d->id[k])
		return NULL;
	at = text(d, raw, size, &desc->f[f], len);
	if (at)
		*len = strnlen((const char *)at, *len);
	return (const char *)at;
}

const char *decode__irq_name(const struct decode *d, const void *raw, uint32_t size, size_t *len)
{
	return text_of(d, K_IRQ_ENTRY, 1, raw, size, len);
}

const char *decode__group_path(const struct decode *d, const void *raw, uint32_t size, size_t *len)
{
	return text_of(d, K_ATTACH, 4, raw, size, len);
}
