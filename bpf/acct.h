/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state machine: every rule about where a nanosecond goes, and nothing else.
 *
 * Pure: no clock, no map, no libc. The BPF programs, the readers and the engines without BPF all
 * run this text. It is handed the records that an event concerns and the event's time, and it owns
 * every number in them. Who includes it defines, before or after, the look-ups that it asks for:
 *
 *   acct_env_call(c, t, key, &tag)  the record of the running task's call
 *   acct_env_call_again(c, t, key)  the same where it is at hand, else NULL
 *   acct_env_row(c, t, slot, cpu, &tag)  the record of a task on a CPU
 *
 * When the table is full they give the CPU's "(other)" record and its tag, and count it; NULL only
 * where a bound that the verifier wants is broken. Who only makes or completes records, and has no
 * event to account, defines ACCT_READER instead: then what needs them is left out.
 *
 * How time flows. A task is in one class at a time; an edge charges `now - since` to that class and
 * sets `since = now`:
 *
 *            switch in    sys_enter    [irq]      sys_exit   switch out (prev_state)   wakeup
 *      wait      |   user     |   sys   |##|  sys    |   user    |   sleep                |  wait
 *   -------------+------------+---------+--+---------+-----------+------------------------+------
 *
 * Interrupts do not touch the task. They live on the CPU's stack of frames, where the top frame
 * owns the time; leaving adds to the CPU's monotonic totals. The next edge of the task takes
 * what the totals have grown by out of its slice ("steals"): so each field has one writer.
 * An interrupt that comes while a charge is under way can make the totals grow by more than
 * the slice: the rest is left for the next charge, and no charge is ever negative.
 *
 * Windows. Records hold two banks, for the current window and the last. The first event past a
 * boundary rolls its record: the old bank is charged up to the boundary and left to the reader.
 * A record that no event has touched is rolled by the reader, on its own copy, by the same
 * function.
 */
#ifndef ACCT_H
#define ACCT_H

#include "utilbpf.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define acct_inline static __always_inline __attribute__((unused))
/*
 * Cold paths are functions of their own, in BPF global ones: the verifier walks those once, knowing
 * nothing of their callers (hence the NULL checks), and the hot paths stay small.
 */
#ifdef __bpf__
#define acct_cold __attribute__((noinline))
#else
#define acct_cold static __attribute__((noinline, unused))
#endif
#define acct_unlikely(x) __builtin_expect(!!(x), 0)
#define acct_likely(x)	 __builtin_expect(!!(x), 1)
/* Orders this CPU's accesses against an interrupt on the same CPU: the compiler must keep the
 * order. */
#define acct_barrier() __asm__ volatile("" ::: "memory")
/* Keeps the bound check of an index and its use on one register, as the verifier needs to see it.
 */
#define acct_opaque(x) __asm__ volatile("" : "+r"(x))
/*
 * x, which a check has found to be below n, a power of two or less: said once more, where it is
 * used. When the compiler keeps x in memory in between, a verifier before 6.8 does not know that
 * it is the same x.
 */
#define acct_below(x, n)                                                                           \
	({                                                                                         \
		__u32 below_ = (x);                                                                \
		acct_opaque(below_);                                                               \
		below_ &((n)-1);                                                                   \
	})

#ifndef ACCT_READER
acct_inline struct acct_call *acct_env_call(struct acct_cpu *c, struct acct_task *t, __u32 key,
					    __u64 *tag);
acct_inline struct acct_call *acct_env_call_again(struct acct_cpu *c, struct acct_task *t,
						  __u32 key);
acct_inline struct acct_row *acct_env_row(struct acct_cpu *c, struct acct_task *t, __u32 slot,
					  __u32 cpu, __u64 *tag);
#endif

/* True when a is before b: correct across a wrap of the clock. */
acct_inline int acct_before(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0;
}

/*
 * acct_epoch: the last published window, 0 when accounting is off. acct_time fills n for an event
 * at `now`: the reader publishes a boundary a little ahead, so `now` decides the side, not the
 * moment at which a store became visible. The number is read after the clock: a CPU that a
 * hypervisor holds up between the two would else put time past a boundary into the window before.
 * One that is held up for a whole window is put at the start of the last that is not told yet.
 */
acct_inline __u32 acct_epoch(const struct acct_ctl *ctl)
{
	return *(const volatile __u32 *)&ctl->epoch;
}

acct_inline void acct_time(struct acct_now *n, const struct acct_ctl *ctl, __u64 now)
{
	__u32 e = acct_epoch(ctl);

	n->now = now;
	n->moves = *(const volatile __u32 *)&ctl->moves;
	n->start = *(const volatile __u64 *)&ctl->start[e & 3];
	if (acct_before(now, n->start)) {
		e--;
		n->start = *(const volatile __u64 *)&ctl->start[e & 3];
		if (acct_unlikely(acct_before(now, n->start)))
			n->now = n->start;
	}
	n->epoch = e;
}

/* The start of the window before n's; only rolling asks for it. */
acct_inline __u64 acct_prev_start(const struct acct_ctl *ctl, __u32 epoch)
{
	return *(const volatile __u64 *)&ctl->start[(epoch - 1) & 3];
}

acct_inline int acct_on_cpu(const struct acct_state *st)
{
	return st->cls < AC_WAIT || st->cls == AC_IDLE;
}

acct_inline void acct_sums_clear(struct acct_sums *s)
{
	for (int i = 0; i < AC_NR; i++)
		s->ns[i] = 0;
	s->voluntary = 0;
	s->involuntary = 0;
}

acct_inline void acct_bank_clear(struct acct_bank *b, __u32 cpu)
{
	acct_sums_clear(&b->s);
	b->cpu = cpu;
	b->migrations = 0;
	b->open_begin = 0;
	b->open_key = KEY_NO_CALL;
	b->open_flags = 0;
	b->end_cls = AC_NONE;
	b->busy_as = 0xff;
	b->folded = 0;
}

/* ---- interrupts and hypervisor calls: a stack per CPU ---- */

/* What the totals were at `start`, the start of window `epoch`, when no edge has come since. */
acct_inline __u64 acct_total_until(const struct acct_cpu *c, __u32 i, __u64 start)
{
	__u64 v = c->total[i];
	__u32 d = c->depth;

	if (d && c->stack[(d - 1) & (ACCT_DEPTH - 1)].cls == i && acct_before(c->last, start))
		v += start - c->last;
	return v;
}

/* The total of steal class i at the start of window `epoch`, which began at `start`. */
acct_inline __u64 acct_total_at(const struct acct_cpu *c, __u32 i, __u32 epoch, __u64 start)
{
	__u64 v = acct_total_until(c, i, start);

	/* An interrupt may come between the two lines: what it saved is then the answer. */
	acct_barrier();
	if ((__s32)(c->irq_epoch - epoch) >= 0)
		v = c->at[epoch & 1][i];
	return v;
}

/* Saves the totals at the boundary, before the first edge past it adds to them. */
acct_cold int acct_cpu_roll(struct acct_cpu *c, const struct acct_now *n, __u64 prev_start)
{
	__u64 at[AC_STEAL_NR], before[AC_STEAL_NR];
	__u32 seen;

	if (!c || !n)
		return 0;
	seen = c->irq_epoch;
	for (__u32 i = 0; i < AC_STEAL_NR; i++) {
		at[i] = acct_total_until(c, i, n->start);
		before[i] = acct_total_until(c, i, prev_start);
	}
	acct_barrier();
	if (c->irq_epoch != seen) /* an interrupt on top of this one has done it */
		return 0;
	for (__u32 i = 0; i < AC_STEAL_NR; i++) {
		c->at[n->epoch & 1][i] = at[i];
		if (seen != n->epoch - 1)
			c->at[(n->epoch - 1) & 1][i] = before[i];
	}
	acct_barrier();
	c->irq_epoch = n->epoch;
	return 0;
}

/* Charges the top frame up to now. `last` moves first, so that a nested edge starts after it. */
acct_inline void acct_frames_charge(struct acct_cpu *c, const struct acct_now *n)
{
	__u64 last = c->last;
	__u32 d = c->depth;
	struct acct_frame *top;

	if (!d || !acct_before(last, n->now))
		return;
	c->last = n->now;
	acct_barrier();
	top = &c->stack[(d - 1) & (ACCT_DEPTH - 1)];
	top->excl += n->now - last;
	/* A nested interrupt may add to the same class in between: the one place that needs an
	 * atomic add. */
	if (top->cls < AC_STEAL_NR)
		__sync_fetch_and_add(&c->total[top->cls], n->now - last);
}

acct_inline void acct_frame_set(struct acct_frame *f, __u32 key, __u32 cls, __u64 now)
{
	f->begin = now;
	f->key = key;
	f->cls = cls;
}

/* irq_handler_entry, softirq_entry, hcall_entry. cls: 0 irq, 1 softirq, 2 hv. */
acct_inline void acct_irq_enter(struct acct_cpu *c, const struct acct_now *n, __u64 prev_start,
				__u32 cls, __u32 key)
{
	struct acct_frame *f;
	__u32 d;

	c->irq_events++;
	if (acct_unlikely((__s32)(n->epoch - c->irq_epoch) > 0))
		acct_cpu_roll(c, n, prev_start);
	acct_frames_charge(c, n);
	d = c->depth;
	if (d >= ACCT_DEPTH) { /* lost exits: nothing nests that deep */
		c->irq_unmatched++;
		return;
	}
	f = &c->stack[d & (ACCT_DEPTH - 1)];
	f->excl = 0;
	acct_frame_set(f, key, cls, n->now);
	if (!d)
		c->last = n->now;
	acct_barrier();
	c->depth = d + 1;
	acct_barrier();
	/* Again: an interrupt before the line above has used this very frame. */
	acct_frame_set(f, key, cls, n->now);
}

/*
 * irq_handler_exit, softirq_exit, hcall_exit. On success *done is the ended frame and the result
 * 1; frames above it whose exit was lost are dropped and counted. 0: nothing to end.
 */
acct_inline int acct_irq_exit(struct acct_cpu *c, const struct acct_now *n, __u64 prev_start,
			      __u32 key, struct acct_frame *done)
{
	__u32 d, i;

	if (acct_unlikely((__s32)(n->epoch - c->irq_epoch) > 0))
		acct_cpu_roll(c, n, prev_start);
	acct_frames_charge(c, n);
	d = c->depth;
	for (i = 0; i < ACCT_DEPTH && d; i++) {
		d--;
		if (c->stack[d & (ACCT_DEPTH - 1)].key == key)
			break;
		if (!d) {
			c->irq_unmatched++;
			return 0;
		}
	}
	if (!c->depth || i == ACCT_DEPTH) {
		c->irq_unmatched++;
		return 0;
	}
	c->irq_unmatched += i;
	*done = c->stack[d & (ACCT_DEPTH - 1)];
	c->depth = d;
	acct_barrier();
	c->irq_events++;
	return 1;
}

/* ---- calls ---- */

/* The bank of `epoch`, emptied when it holds another window's or another task's numbers. */
acct_inline struct acct_call_bank *acct_call_bank(struct acct_call *call, __u64 tag)
{
	struct acct_call_bank *b = &call->bank[tag & 1];

	if (acct_unlikely(b->tag != tag)) {
		b->tag = tag;
		b->count = 0;
		b->errors = 0;
		b->elapsed = 0;
		b->min = ~0ULL;
		b->max = 0;
		b->pending = 0;
		b->stolen = 0;
		for (int i = 0; i < AC_OFF_NR; i++)
			b->off[i] = 0;
	}
	return b;
}

acct_inline void acct_call_count(struct acct_call_bank *b, __u64 elapsed, int error)
{
	b->count++;
	b->elapsed += elapsed;
	if (acct_unlikely(error))
		b->errors++;
	if (acct_unlikely(elapsed < b->min))
		b->min = elapsed;
	if (acct_unlikely(elapsed > b->max))
		b->max = elapsed;
}

/* An interrupt, softirq or hypervisor call has ended; what ran on top of it is its `stolen`. */
acct_inline void acct_frame_end(struct acct_call *call, const struct acct_frame *f, __u64 tag,
				__u64 now)
{
	struct acct_call_bank *b = acct_call_bank(call, tag);
	__u64 elapsed = now - f->begin;

	if ((__s64)elapsed < 0)
		elapsed = 0;
	acct_call_count(b, elapsed, 0);
	if (elapsed > f->excl)
		b->stolen += elapsed - f->excl;
}

acct_inline void acct_split_clear(struct acct_state *st)
{
	st->stolen = 0;
	for (int i = 0; i < AC_OFF_NR; i++)
		st->off[i] = 0;
	st->flags &= ~AS_SPLIT;
}

/* Hands the open call's split to its record; most calls have one part, or two. */
acct_inline void acct_split_move(struct acct_state *st, struct acct_call_bank *b)
{
	for (int i = 0; i < AC_OFF_NR; i++) {
		if (st->off[i]) {
			b->off[i] += st->off[i];
			st->off[i] = 0;
		}
	}
	b->stolen += st->stolen;
	st->stolen = 0;
	st->flags &= ~AS_SPLIT;
}

/* ---- charging ---- */

/*
 * Takes what interrupts have used since the last charge out of a slice of d ns, into s. The limit
 * is the totals now, or what they were at the start of n's window. Returns what was taken.
 */
acct_cold __u64 acct_steal(struct acct_sums *s, struct acct_cpu *c, const struct acct_now *n,
			   __u64 d, int at_start)
{
	__u64 left = d, rest = 0;
	__u64 seen;

	if (!s || !c || !n)
		return 0;
	seen = c->irq_events;
	for (__u32 i = 0; i < AC_STEAL_NR; i++) {
		__u64 limit = at_start ? acct_total_at(c, i, n->epoch, n->start) : c->total[i];
		__u64 take = limit - c->taken[i];

		if ((__s64)take < 0)
			take = 0;
		if (take > left) {
			rest = 1;
			take = left;
		}
		s->ns[AC_IRQ + i] += take;
		c->taken[i] += take;
		left -= take;
	}
	if (!rest && !at_start)
		c->irq_seen = seen;
	return d - left;
}

/* Charges d ns for which a task was off the CPU into s; off: its class - AC_WAIT, below AC_OFF_NR.
 */
acct_inline void acct_off_add(struct acct_state *st, struct acct_sums *s, __u32 off, __u64 d)
{
	s->ns[AC_WAIT + off] += d;
	if (st->flags & AS_CALL) {
		st->off[off] += d;
		st->flags |= AS_SPLIT;
	}
}

/* Charges d ns of a task that is off the CPU into s. */
acct_inline void acct_slice_off(struct acct_state *st, struct acct_sums *s, __u64 d)
{
	__u32 cls = st->cls, off = cls - AC_WAIT;

	acct_opaque(off);
	if (off < AC_OFF_NR)
		acct_off_add(st, s, acct_below(off, 8), d);
}

/* The same for one that is on the CPU of c, less what interrupts have used: see acct_slice(). */
acct_inline void acct_slice_on(struct acct_state *st, struct acct_cpu *c, const struct acct_now *n,
			       struct acct_sums *s, __u64 to, int at_start)
{
	__u64 d = to - st->since;
	__u32 cls = st->cls;
	__u64 stolen;

	if (at_start || acct_unlikely(c->irq_events != c->irq_seen)) {
		stolen = acct_steal(s, c, n, d, at_start);
		d -= stolen;
		if (stolen && (st->flags & AS_CALL)) {
			st->stolen += stolen;
			st->flags |= AS_SPLIT;
		}
	}
	/* Together: a CPU that is held up in between makes the reader see one without the other. */
	st->since = to;
	acct_opaque(cls);
	if (cls < AC_NR)
		s->ns[acct_below(cls, 16)] += d;
}

/* Charges t's slice up to `to` into s. `at_start`: `to` is the start of n's window. */
acct_inline void acct_slice(struct acct_task *t, struct acct_cpu *c, const struct acct_now *n,
			    struct acct_sums *s, __u64 to, int at_start)
{
	struct acct_state *st = &t->st;
	__u64 d = to - st->since;

	if ((__s64)d <= 0)
		return;
	if (acct_on_cpu(st)) {
		acct_slice_on(st, c, n, s, to, at_start);
	} else {
		st->since = to;
		acct_slice_off(st, s, d);
	}
}

/*
 * Brings t into n's window: closes the bank of the window before, opens a new one. A record that
 * has missed whole windows gives the last one of them its full length; those before were completed
 * by the reader. c is only used for a task that is on it.
 */
acct_cold int acct_roll(struct acct_task *t, struct acct_cpu *c, const struct acct_now *n)
{
	struct acct_now then;
	struct acct_bank *b;

	if (!t || !c || !n)
		return 0;
	t->seq++;
	acct_barrier();
	b = &t->bank[(n->epoch - 1) & 1];
	if ((__u32)t->tag != n->epoch - 1) {
		/* Told by the reader already; but the open call's split has to know of it. */
		then = *n;
		then.epoch = n->epoch - 1;
		then.start = n->prev_start;
		acct_slice(t, c, &then, &b->s, then.start, 1);
		acct_bank_clear(b, t->cpu);
	}
	acct_slice(t, c, n, &b->s, n->start, 1);
	if ((__u32)t->tag == ACCT_WARMUP)
		t->st.flags |= AS_NOBEGIN; /* no window has seen the call begin */
	b->open_key = t->st.flags & AS_CALL ? t->st.key : KEY_NO_CALL;
	b->open_flags = t->st.flags;
	b->open_begin = t->st.begin;
	b->end_cls = t->st.cls;
	if (t->st.flags & AS_NOBEGIN) /* this window has shown its part as pending */
		t->st.begin = n->start;
	acct_bank_clear(&t->bank[n->epoch & 1], t->cpu);
	t->tag = (t->tag & ~0xffffffffULL) | n->epoch;
	acct_barrier();
	t->seq++;
	return 0;
}

acct_inline int acct_is_old(const struct acct_task *t, const struct acct_now *n)
{
	return (__s32)(n->epoch - (__u32)t->tag) > 0;
}

/* Charges t up to now, in its own window. The caller has rolled it when it was old. */
acct_inline struct acct_bank *acct_charge(struct acct_task *t, struct acct_cpu *c,
					  const struct acct_now *n)
{
	struct acct_bank *b = &t->bank[t->tag & 1];

	acct_slice(t, c, n, &b->s, n->now, 0);
	return b;
}

/* The same for a t that is off the CPU, as most edges know. */
acct_inline struct acct_bank *acct_charge_off(struct acct_task *t, const struct acct_now *n)
{
	struct acct_bank *b = &t->bank[t->tag & 1];
	__u64 d = n->now - t->st.since;

	if ((__s64)d > 0) {
		t->st.since = n->now;
		acct_slice_off(&t->st, &b->s, d);
	}
	return b;
}

/* An event has told what t was doing since it became `busy` in this window: user or sys. */
acct_inline void acct_resolve(struct acct_task *t, struct acct_bank *b, __u8 cls)
{
	if (t->st.mode != AC_BUSY)
		return;
	b->s.ns[cls] += b->s.ns[AC_BUSY];
	b->s.ns[AC_BUSY] = 0;
	b->busy_as = cls;
}

/* ---- system calls: t is on the CPU of c ---- */

#ifndef ACCT_READER

/* Hands the open call's split to its record, or drops it: what was not seen to begin has none. */
acct_inline void acct_call_split(struct acct_state *st, struct acct_call_bank *b)
{
	if (acct_unlikely(st->flags & AS_NOBEGIN))
		acct_split_clear(st);
	else
		acct_split_move(st, b);
}

/* The open call of t ends now. Counts it, or adds its time to pending when its begin was not seen.
 */
acct_inline void acct_call_end(struct acct_cpu *c, struct acct_task *t, __u64 now, int error)
{
	struct acct_state *st = &t->st;
	__u64 tag = t->tag;
	struct acct_call *call = acct_env_call(c, t, st->key, &tag);
	struct acct_call_bank *b;

	if (!call)
		return;
	b = acct_call_bank(call, tag);
	if (acct_unlikely(st->flags & AS_NOBEGIN)) {
		b->pending += now - st->begin;
	} else {
		acct_call_count(b, now - st->begin, error);
	}
	if (st->flags & AS_SPLIT)
		acct_call_split(st, b);
}

/*
 * What comes between two system calls is nearly always the same: the class is the expected one and
 * no interrupt is to be taken out. acct_enter_quick() and acct_exit_quick() do in a few steps what
 * the others do for every case. 0: this is not that case, and nothing was changed.
 */
acct_inline int acct_quiet(const struct acct_cpu *c, __u64 d)
{
	return (__s64)d > 0 && c->irq_events == c->irq_seen;
}

acct_inline int acct_enter_quick(struct acct_task *t, struct acct_cpu *c, __u64 now, __u32 key)
{
	struct acct_state *st = &t->st;
	__u32 head = st->head;
	__u64 d = now - st->since;

	if (acct_unlikely((head & AS_HEAD(0xff, 0, AS_CALL | AS_NOBEGIN | AS_SPLIT)) !=
				  AS_HEAD(AC_USER, 0, 0) ||
			  !acct_quiet(c, d)))
		return 0;
	st->since = now;
	st->begin = now;
	st->key = key;
	st->head = head + AS_HEAD(AC_SYS - AC_USER, AC_SYS - AC_USER, AS_CALL);
	t->bank[t->tag & 1].s.ns[AC_USER] += d;
	return 1;
}

acct_cold int acct_enter_cold(struct acct_task *t, struct acct_cpu *c, __u64 now, __u32 key)
{
	struct acct_now n = {.now = now};
	struct acct_state *st;

	if (!t || !c)
		return 0;
	st = &t->st;
	acct_resolve(t, acct_charge(t, c, &n), AC_USER);
	if (st->flags & AS_CALL) /* its exit was lost: it cannot be timed */
		c->unmatched++;
	acct_split_clear(st);
	st->cls = AC_SYS;
	st->mode = AC_SYS;
	st->flags = (st->flags & ~(AS_NOBEGIN | AS_UNWATCHED)) | AS_CALL;
	st->key = key;
	st->begin = now;
	return 0;
}

acct_inline void acct_sys_enter(struct acct_task *t, struct acct_cpu *c, __u64 now, __u32 key)
{
	if (!acct_enter_quick(t, c, now, key))
		acct_enter_cold(t, c, now, key);
}

acct_inline int acct_exit_quick(struct acct_task *t, struct acct_cpu *c, __u64 now, int error)
{
	struct acct_state *st = &t->st;
	struct acct_call *call = acct_env_call_again(c, t, st->key);
	__u32 head = st->head;
	__u64 d = now - st->since, tag = t->tag;
	struct acct_call_bank *b;

	if (acct_unlikely(!call ||
			  (head & AS_HEAD(0xff, 0, AS_CALL | AS_NOBEGIN)) !=
				  AS_HEAD(AC_SYS, 0, AS_CALL) ||
			  !acct_quiet(c, d)))
		return 0;
	b = &call->bank[tag & 1];
	if (acct_unlikely(b->tag != tag))
		return 0;
	st->since = now;
	st->head = head - AS_HEAD(AC_SYS - AC_USER, AC_SYS - AC_USER, AS_CALL);
	t->bank[tag & 1].s.ns[AC_SYS] += d;
	acct_call_count(b, now - st->begin, error);
	if (head & AS_HEAD(0, 0, AS_SPLIT))
		acct_split_move(st, b);
	return 1;
}

acct_cold int acct_exit_cold(struct acct_task *t, struct acct_cpu *c, __u64 now, int error)
{
	struct acct_now n = {.now = now};
	struct acct_state *st;

	if (!t || !c)
		return 0;
	st = &t->st;
	acct_resolve(t, acct_charge(t, c, &n), AC_SYS);
	if (st->flags & AS_CALL)
		acct_call_end(c, t, now, error);
	else if (!(st->flags & AS_UNWATCHED))
		c->unmatched++; /* a seccomp filter's refusal, or a begin that was missed */
	st->cls = AC_USER;
	st->mode = AC_USER;
	st->flags &= ~(AS_CALL | AS_NOBEGIN | AS_UNWATCHED);
	return 0;
}

/* The number that sys_exit gives may be 0 or -1: the key saved at sys_enter is what counts. */
acct_inline void acct_sys_exit(struct acct_task *t, struct acct_cpu *c, __u64 now, int error)
{
	if (!acct_exit_quick(t, c, now, error))
		acct_exit_cold(t, c, now, error);
}

/* ---- off the CPU ---- */

/* The CPU's "(other)" row has many writers: it is only ever added to, and the reader takes the
 * growth. */
acct_inline void acct_spill_other(struct acct_sums *to, const struct acct_sums *from)
{
	for (int i = 0; i < AC_NR; i++)
		__sync_fetch_and_add(&to->ns[i], from->ns[i]);
	__sync_fetch_and_add(&to->voluntary, from->voluntary);
	__sync_fetch_and_add(&to->involuntary, from->involuntary);
}

/*
 * Moves the sums of this window so far to the record of the CPU they were made on, before t goes
 * to another. A task that never ran has made them nowhere: they go along.
 */
acct_cold int acct_spill(struct acct_task *t, struct acct_cpu *c, __u32 slot, __u32 cpu)
{
	struct acct_bank *b;
	struct acct_row *row;
	struct acct_row_bank *r;
	__u64 tag;

	if (!t || !c)
		return 0;
	b = &t->bank[t->tag & 1];
	tag = t->tag;
	row = (struct acct_row *)0;
	if (t->st.flags & AS_RAN)
		row = acct_env_row(c, t, slot, b->cpu, &tag);
	if (row) {
		r = &row->bank[tag & 1];
		if (!row->slot) { /* the table is full: these sums are the surplus task's now */
			b->folded = 1;
			acct_spill_other(&r->s, &b->s);
			goto moved;
		}
		if (r->tag != tag) {
			acct_sums_clear(&r->s);
			r->tag = tag;
		}
		for (int i = 0; i < AC_NR; i++)
			r->s.ns[i] += b->s.ns[i];
		r->s.voluntary += b->s.voluntary;
		r->s.involuntary += b->s.involuntary;
moved:
		acct_sums_clear(&b->s);
	}
	b->cpu = cpu;
	t->cpu = cpu;
	return 0;
}

/* t's off-CPU time up to now is charged, and t stands on `cpu` from here. Counts a migration. */
acct_inline void acct_move(struct acct_task *t, struct acct_cpu *c, const struct acct_now *n,
			   __u32 slot, __u32 cpu)
{
	struct acct_bank *b = acct_charge_off(t, n);

	if (t->cpu == cpu)
		return;
	if (t->st.flags & AS_RAN)
		b->migrations++;
	acct_spill(t, c, slot, cpu);
}

/*
 * t has ended, and nothing more is written to it: with this last store the reader may give its slot
 * to another task.
 */
acct_inline void acct_dead(struct acct_task *t)
{
	t->task = 0;
	acct_barrier();
	*(volatile __u8 *)&t->st.cls = AC_NONE;
}

/* t, charged up to now, has run for the last time; so its open call ends, too. */
acct_cold int acct_last(struct acct_task *t, struct acct_cpu *c, const struct acct_now *n)
{
	if (!t || !c || !n)
		return 0;
	if (t->st.flags & AS_CALL)
		acct_call_end(c, t, n->now, 0);
	t->st.flags &= ~(AS_CALL | AS_NOBEGIN);
	t->id.end = n->now;
	acct_dead(t);
	return 0;
}

/*
 * t leaves the CPU of c for off-CPU class cls, or for AC_NONE when this was its last switch.
 * voluntary: it gave the CPU up itself.
 */
acct_inline void acct_switch_out(struct acct_task *t, struct acct_cpu *c, const struct acct_now *n,
				 __u8 cls, int voluntary)
{
	struct acct_bank *b = acct_charge(t, c, n);

	if (voluntary)
		b->s.voluntary++;
	else
		b->s.involuntary++;
	if (acct_unlikely(cls == AC_NONE))
		acct_last(t, c, n);
	else
		t->st.cls = cls;
}

/* t gets the CPU of c. Its off-CPU time up to now stays with the CPU that it stood on. */
acct_inline void acct_switch_in(struct acct_task *t, struct acct_cpu *c, const struct acct_now *n,
				__u32 slot)
{
	acct_move(t, c, n, slot, n->cpu);
	t->st.since = n->now;
	t->st.cls = t->st.mode;
	t->st.flags |= AS_RAN;
}

/*
 * What acct_switch_out() of t for cls, AC_NONE when it is the idle task, and acct_switch_in() of nt
 * do, where both are in the same window, nothing is to be taken out of t's slice and nt has come to
 * this CPU before, or was put there. 0: this is not that case, and nothing was changed.
 */
acct_inline int acct_switch_quick(struct acct_task *t, struct acct_task *nt,
				  const struct acct_cpu *c, __u64 now, __u8 cls)
{
	__u64 d = now - t->st.since, nd = now - nt->st.since;
	__u32 was = t->st.cls, off = nt->st.cls - AC_WAIT;
	struct acct_sums *s;

	acct_opaque(off);
	if (acct_unlikely(!acct_quiet(c, d) || (__s64)nd < 0 || nt->cpu != t->cpu || was >= AC_NR))
		return 0;
	if (acct_likely(off < AC_OFF_NR))
		acct_off_add(&nt->st, &nt->bank[nt->tag & 1].s, acct_below(off, 8), nd);
	else if (off != AC_NONE - AC_WAIT) /* the idle task comes from nowhere */
		return 0;
	s = &t->bank[t->tag & 1].s;
	s->ns[acct_below(was, 16)] += d;
	if (cls == AC_WAIT)
		s->involuntary++;
	else
		s->voluntary++;
	t->st.since = now;
	t->st.cls = cls;
	nt->st.since = now;
	nt->st.cls = nt->st.mode;
	nt->st.flags |= AS_RAN;
	return 1;
}

#endif /* ACCT_READER */

/* t, which is off the CPU, becomes runnable. */
acct_inline void acct_wakeup(struct acct_task *t, const struct acct_now *n)
{
	acct_charge_off(t, n);
	t->st.cls = AC_WAIT;
}

/* The same of a t in the current window. 0: it was not off the CPU, and nothing was changed. */
acct_inline int acct_wakeup_quick(struct acct_task *t, __u64 now)
{
	__u32 off = t->st.cls - AC_WAIT;
	__u64 d = now - t->st.since;

	acct_opaque(off);
	if (acct_unlikely((__s64)d < 0 || off >= AC_OFF_NR))
		return 0;
	t->st.since = now;
	t->st.cls = AC_WAIT;
	acct_off_add(&t->st, &t->bank[t->tag & 1].s, acct_below(off, 8), d);
	return 1;
}

/* ---- the life of a task ---- */

/* The fixed slots (utilbpf.h) of a table that is all zero, before the first event. */
acct_inline void acct_fixed_slots(struct acct_task *tasks, __u32 ncpus)
{
	for (__u32 i = 0; i < 3 * ncpus; i++) {
		struct acct_task *t = &tasks[SLOT_IDLE(i, ncpus)];
		__u32 cpu = i % ncpus;

		t->tag = GEN_FIXED | ACCT_WARMUP;
		t->cpu = cpu;
		t->st.cls = AC_NONE;
		t->st.mode = i < ncpus ? AC_IDLE : AC_BUSY;
		t->st.flags = AS_RAN;
		t->st.key = KEY_NO_CALL;
		t->bank[0].cpu = t->bank[1].cpu = cpu;
		t->bank[0].open_key = t->bank[1].open_key = KEY_NO_CALL;
	}
}

/*
 * Empties t for a new owner of its slot, in n's window. The generation sets old numbers apart.
 * acct_task_born() ends it: in between, the record is nobody's.
 */
acct_inline void acct_task_init(struct acct_task *t, const struct acct_now *n, __u32 cpu)
{
	t->seq++;
	acct_barrier();
	t->tag = (((t->tag >> 32) + 1) << 32) | n->epoch;
	t->cpu = cpu;
	t->task = 0;
	t->st.since = n->now;
	t->st.cls = AC_NONE;
	t->st.mode = AC_BUSY;
	t->st.flags = 0;
	t->st.key = KEY_NO_CALL;
	t->st.begin = 0;
	acct_split_clear(&t->st);
	acct_bank_clear(&t->bank[0], cpu);
	acct_bank_clear(&t->bank[1], cpu);
	t->id.end = 0;
	t->id.exec = 0;
	t->id.lead_exec = 0;
	t->id.from = 0;
	t->id.sel = 0;
}

/* The record is named and has its state: from here on the reader takes it for a task's. */
acct_inline void acct_task_born(struct acct_task *t)
{
	acct_barrier();
	t->seq++;
}

/*
 * A child's state at its fork: runnable, not yet on a CPU, inside the call that its parent is in.
 * That call's return to the child is not a call of the child's: pending only.
 */
acct_inline void acct_fork(struct acct_state *child, const struct acct_state *parent, __u64 now,
			   int kthread)
{
	child->since = now;
	child->cls = AC_WAIT;
	child->mode = kthread ? AC_SYS : parent->mode;
	child->flags =
		kthread ? AS_KTHREAD : (parent->flags & (AS_CALL | AS_UNWATCHED)) | AS_NOBEGIN;
	child->key = child->flags & AS_CALL ? parent->key : KEY_NO_CALL;
	child->begin = now;
	acct_split_clear(child);
}

/*
 * The old image's account t ends now, acct_dead() is still to come; nt, freshly initialised, goes
 * on with its state, the open execve included. A kernel thread that execs becomes a user task about
 * whose mode nothing is known.
 */
acct_cold int acct_exec(struct acct_task *t, struct acct_task *nt, struct acct_cpu *c,
			const struct acct_now *n)
{
	if (!t || !nt || !c || !n)
		return 0;
	acct_charge(t, c, n);
	nt->st = t->st;
	nt->st.flags &= ~AS_KTHREAD;
	if (!(nt->st.flags & AS_CALL)) {
		nt->st.mode = AC_BUSY;
		nt->st.cls = AC_BUSY;
	}
	t->st.flags &= ~(AS_CALL | AS_NOBEGIN);
	t->id.end = n->now;
	return 0;
}

/* sched_process_exit: from here to its last switch the task is in the kernel. */
acct_inline void acct_exit(struct acct_task *t, struct acct_cpu *c, const struct acct_now *n)
{
	struct acct_bank *b = acct_charge(t, c, n);

	if (t->st.flags & AS_CALL)
		acct_resolve(t, b, AC_SYS);
	t->st.flags |= AS_EXITING;
	t->st.mode = AC_SYS;
	t->st.cls = AC_SYS;
}

/* ---- tasks that have no slot: the surplus, and the rest ---- */

/* One of them is of class cls since `since`. */
acct_inline void acct_pop_enter_at(struct acct_pop *pop, __u32 epoch, __u64 since, __u8 cls)
{
	__u32 i = cls - AC_WAIT, b = epoch & 1;

	acct_opaque(i);
	if (i >= AC_OFF_NR)
		return;
	__sync_fetch_and_add(&pop->sum[b][i], -since);
	__sync_fetch_and_add(&pop->n[b][i], 1);
}

acct_inline void acct_pop_enter(struct acct_pop *pop, const struct acct_now *n, __u8 cls)
{
	acct_pop_enter_at(pop, n->epoch, n->now, cls);
}

acct_inline void acct_pop_leave(struct acct_pop *pop, const struct acct_now *n, __u8 cls)
{
	__u32 i = cls - AC_WAIT, b = n->epoch & 1;

	acct_opaque(i);
	if (i >= AC_OFF_NR)
		return;
	__sync_fetch_and_add(&pop->sum[b][i], n->now);
	__sync_fetch_and_add(&pop->n[b][i], -1ULL);
}

/* Off-CPU time of a surplus task that belongs to its open call. */
acct_inline void acct_surplus_charge(struct acct_state *st, __u64 now)
{
	__u64 d = now - st->since;
	__u32 i = st->cls - AC_WAIT;

	if ((__s64)d <= 0)
		return;
	st->since = now;
	acct_opaque(i);
	if (i < AC_OFF_NR && (st->flags & AS_CALL)) {
		st->off[i] += d;
		st->flags |= AS_SPLIT;
	}
}

/* ---- folding: what ended tasks leave in a record that they share ---- */

acct_inline void acct_sums_add(struct acct_sums *to, const struct acct_sums *from)
{
	for (int i = 0; i < AC_NR; i++)
		to->ns[i] += from->ns[i];
	to->voluntary += from->voluntary;
	to->involuntary += from->involuntary;
}

acct_inline void acct_call_add(struct acct_call_bank *to, const struct acct_call_bank *from)
{
	to->count += from->count;
	to->errors += from->errors;
	to->elapsed += from->elapsed;
	to->pending += from->pending;
	to->stolen += from->stolen;
	if (from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	for (int i = 0; i < AC_OFF_NR; i++)
		to->off[i] += from->off[i];
}

/* Spilled `busy` of a record, told by now: see acct_bank.busy_as. */
acct_inline void acct_busy_told(struct acct_sums *s, __u32 busy_as)
{
	acct_opaque(busy_as);
	if (busy_as >= AC_ONCPU_NR)
		return;
	s->ns[busy_as] += s->ns[AC_BUSY];
	s->ns[AC_BUSY] = 0;
}

/*
 * n's window is the one in which the tasks of `from` have ended, and from's: their number and moves
 * go to `to`, which is brought into that window first. Sums and calls are the caller's.
 */
acct_inline void acct_fold(struct acct_task *to, const struct acct_task *from, struct acct_cpu *c,
			   const struct acct_now *n)
{
	if (acct_is_old(to, n)) {
		if ((__u32)to->tag != n->epoch - 1) /* its number is of an older window */
			to->st.begin = 0;
		acct_roll(to, c, n);
		to->st.begin = 0;
	}
	to->id.exec = 1; /* it is in use: another turn in the queue */
	to->st.begin += from->id.sel & SEL_FOLD ? from->st.begin : 1;
	to->bank[n->epoch & 1].migrations += from->bank[n->epoch & 1].migrations;
}

/* t, which has ended in the current window, becomes a record of that kind, of itself for now. */
acct_inline void acct_fold_begin(struct acct_task *t, const struct acct_fold_key *k)
{
	if (!(t->id.sel & SEL_FOLD)) {
		t->st.begin = 1;
		t->st.flags = 0;
		t->id.sel |= SEL_FOLD;
	}
	t->id.tid = 0;
	t->id.end = 0;
	t->id.exec = 0;
	if (k->kind == FOLD_PROCESS)
		return;
	t->id.tgid = 0;
	t->id.leader_start = k->id;
}

/* ---- scheduler states ---- */

/*
 * The off-CPU class of a task that leaves the CPU with `state` (task_struct.__state,
 * include/linux/sched.h; the bits are in utilbpf.h) and whether it waits for I/O.
 */
acct_inline __u8 acct_off_class(__u32 state, int iowait)
{
	if (!state)
		return AC_WAIT;
	if (acct_likely(state == ACCT_TASK_INTERRUPTIBLE))
		return AC_SLEEP;
	if (state & ACCT_TASK_DEAD)
		return AC_NONE;
	if (state & (ACCT_TASK_STOPPED | ACCT_TASK_TRACED))
		return AC_STOPPED;
	if (state & ACCT_TASK_INTERRUPTIBLE)
		return AC_SLEEP;
	/* TASK_IDLE: a kernel thread with nothing to do; parked ones likewise */
	if (state & (ACCT_TASK_NOLOAD | ACCT_TASK_PARKED))
		return AC_SLEEP;
	return iowait ? AC_IOWAIT : AC_BLOCKED;
}

#endif /* ACCT_H */
