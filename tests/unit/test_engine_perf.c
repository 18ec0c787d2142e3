// SPDX-License-Identifier: GPL-2.0-only
/*
 * engine_perf.c over a machine that the test makes up: CPUs that are offline when the rings are
 * opened, that come and that go while they are open. The rings are memory; nothing asks the kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "engine.h"
#include "engine_util.h"
#include "perf_events.h"
#include "procseed.h"

#define NCPUS 2
#define SIZE  4096
#define MS    1000000ULL
#define A     11

/* ---- the machine ---- */

struct fake_ring {
	struct perf_event_mmap_page meta;
	uint64_t data[SIZE / 8];
};

static struct machine {
	bool online[NCPUS];
	int refuse; /* CPU whose events cannot be opened yet, though it says that it is online */
	struct fake_ring ring[8]; /* by queue */
	int cpu_of[8];
	size_t opened, removed, enabled;
} machine;

int libbpf_num_possible_cpus(void)
{
	return NCPUS;
}

void engine__online(bool *online, uint32_t n)
{
	memcpy(online, machine.online, n * sizeof(*online));
}

void engine__present(bool *present, uint32_t n)
{
	memset(present, 1, n * sizeof(*present));
}

void engine__host(struct report *r, uint32_t possible, const bool *online)
{
	r->host.cpus_possible = possible;
	for (uint32_t i = 0; i < possible; i++)
		r->host.cpus_online += online[i];
}

void engine__realtime(bool on)
{
	(void)on;
}

void engine__cost(struct report *r, uint64_t *cpu_before)
{
	(void)r, (void)cpu_before;
}

bool engine__has_hcalls(const char *arch)
{
	(void)arch;
	return false;
}

bool engine__locked_down(void)
{
	return false;
}

bool engine__initial_pids(void)
{
	return true;
}

int proc__tasks(const char *proc, int (*fn)(void *ctx, const struct feed_seed *seed), void *ctx)
{
	const struct feed_seed seed = {
		.tid = A, .tgid = A, .cls = AC_SLEEP, .key = KEY_NO_CALL, .comm = "a"};

	(void)proc;
	return fn(ctx, &seed);
}

/* ---- its events ---- */

static const char format[] =
	"name: sched_switch\nID: 7\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:pid_t next_pid;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:16;\tsize:8;\tsigned:1;\n\nprint fmt: \"x\"\n";

struct sample {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t raw_size;
	uint16_t type;
	uint16_t flags;
	int32_t common_pid, prev, next;
	uint64_t state;
} __attribute__((packed));

/* On the ring that was opened last for the CPU. */
static void put_switch(int cpu, uint32_t prev, uint32_t next, uint64_t time)
{
	struct sample s = {.h = {.type = PERF_RECORD_SAMPLE, .size = (sizeof(s) + 7) / 8 * 8},
			   .pid = prev,
			   .tid = prev,
			   .time = time,
			   .raw_size = sizeof(s) - offsetof(struct sample, type),
			   .type = 7,
			   .common_pid = (int32_t)prev,
			   .prev = (int32_t)prev,
			   .next = (int32_t)next,
			   .state = prev ? 1 : 0};
	struct fake_ring *r = NULL;
	uint64_t head;

	for (size_t i = 0; i < machine.opened; i++)
		if (machine.cpu_of[i] == cpu)
			r = &machine.ring[i];
	assert_non_null(r);
	head = r->meta.data_head;
	assert_true(head + s.h.size <= SIZE);
	memcpy((char *)r->data + head, &s, sizeof(s));
	__atomic_store_n(&r->meta.data_head, head + s.h.size, __ATOMIC_RELEASE);
}

uint64_t perf_events__sample_type(const struct perf_config *c)
{
	(void)c;
	return PERF_REC_SAMPLE;
}

int perf_events__new(struct perf_events **out, const struct perf_config *c, struct decode *d,
		     char *why, size_t len)
{
	struct perf_events *pe = calloc(1, sizeof(*pe));

	(void)c, (void)why, (void)len;
	assert_non_null(pe);
	pe->epfd = epoll_create1(0);
	assert_int_equal(decode__format(d, "sched", format, strlen(format)), 7);
	*out = pe;
	return 0;
}

int perf_events__add(struct perf_events *pe, const struct perf_source *asked, char *why, size_t len)
{
	struct perf_source *s;

	snprintf(why, len, "cannot open the events of CPU %d", asked->cpu);
	if (!machine.online[asked->cpu] || asked->cpu == machine.refuse)
		return -ENODEV;
	assert_int_equal(asked->pid, -1);
	pe->sources = reallocarray(pe->sources, pe->nr + 1, sizeof(*s));
	assert_non_null(pe->sources);
	s = &pe->sources[pe->nr++];
	*s = *asked;
	s->queue = (uint32_t)machine.opened;
	assert_int_equal(perf_ring__over(&s->ring, &machine.ring[machine.opened].meta,
					 machine.ring[machine.opened].data, SIZE),
			 0);
	machine.cpu_of[machine.opened++] = asked->cpu;
	return 0;
}

void perf_events__remove(struct perf_events *pe, size_t i)
{
	perf_ring__unmap(&pe->sources[i].ring);
	pe->sources[i] = pe->sources[--pe->nr];
	machine.removed++;
}

int perf_events__enable(struct perf_events *pe, struct perf_source *s)
{
	(void)pe, (void)s;
	machine.enabled++;
	return 0;
}

uint64_t perf_events__lost(struct perf_events *pe, struct perf_source *s)
{
	(void)pe, (void)s;
	return 0;
}

uint64_t perf_events__bytes(const struct perf_events *pe)
{
	return pe->nr * SIZE;
}

uint64_t perf_events__id(const struct perf_source *s, size_t k)
{
	(void)s;
	return k;
}

int perf_events__tracefs(const struct perf_events *pe, const char *path)
{
	(void)pe, (void)path;
	return -ENOENT;
}

void perf_events__features(FILE *f)
{
	(void)f;
}

void perf_events__free(struct perf_events *pe)
{
	if (!pe)
		return;
	while (pe->nr)
		perf_events__remove(pe, 0);
	free(pe->sources);
	close(pe->epfd);
	free(pe);
}

/* ---- the tests ---- */

struct run {
	struct opts o;
	struct names *names;
	struct engine *e;
};

static void start(struct run *r, bool second)
{
	char why[256] = "";

	memset(&machine, 0, sizeof(machine));
	memset(r, 0, sizeof(*r));
	machine.online[0] = true;
	machine.online[1] = second;
	machine.refuse = -1;
	r->o.events = EV_ALL;
	r->names = names__new("x86_64");
	assert_non_null(r->names);
	if (engine_perf.open(&r->e, &r->o, LEVEL_TASK, 0, r->names, why, sizeof(why)))
		fail_msg("%s", why);
}

static void end(struct run *r)
{
	engine_perf.close(r->e);
	names__free(r->names);
	assert_int_equal(machine.removed, machine.opened);
}

/* As main.c does: looks after the engine until t. */
static void wait_until(struct run *r, uint64_t t)
{
	for (uint64_t now = clock_ns(); now < t; now = clock_ns()) {
		assert_int_equal(engine_perf.poll(r->e), ENGINE_POLL_NS);
		clock_sleep_until(now + 10 * MS < t ? now + 10 * MS : t);
	}
}

static void pass_ms(struct run *r, uint64_t ms)
{
	wait_until(r, clock_ns() + ms * MS);
}

/* The row of CPU 1 in the window up to now; 0: there is none. The whole has no residual. */
static uint64_t row_of_1(struct run *r, struct report *rep, uint64_t *switches)
{
	uint64_t sum = 0;

	assert_int_equal(engine_perf.roll(r->e, clock_ns(), rep), 0);
	assert_int_equal(rep->quality.residual_ns, 0);
	*switches = 0;
	for (size_t i = 0; i < rep->nr_cpus; i++) {
		const struct rep_cpu *c = &rep->cpus[i];
		uint64_t ns = report__oncpu(c->ns) + c->ns[AC_IDLE];

		if (c->cpu == 0)
			assert_int_equal(ns, rep->end_ns - rep->start_ns);
		if (c->cpu == 1) {
			*switches = c->switches;
			sum = ns;
		}
	}
	return sum;
}

static void comes_later(void **state)
{
	struct report rep;
	uint64_t n, came, ns;
	struct run r;

	(void)state;
	start(&r, false);
	assert_int_equal(machine.opened, 1);
	pass_ms(&r, 60);
	assert_int_equal(row_of_1(&r, &rep, &n), 0);
	assert_int_equal(rep.nr_cpus, 1);
	assert_int_equal(rep.host.cpus_online, 1);
	report__free(&rep);

	machine.refuse = 1; /* it says that it is there, and its events cannot be opened yet */
	machine.online[1] = true;
	came = clock_ns();
	pass_ms(&r, 120);
	assert_int_equal(machine.opened, 1);
	machine.refuse = -1;
	pass_ms(&r, 120);
	assert_int_equal(machine.opened, 2);
	assert_int_equal(machine.enabled, 2);
	put_switch(1, 0, A, clock_ns());
	pass_ms(&r, 120);
	ns = row_of_1(&r, &rep, &n);
	assert_true(ns > 0 && ns < rep.end_ns - came);
	assert_int_equal(n, 1);
	assert_int_equal(rep.nr_tasks, 1);
	assert_true(report__oncpu(rep.tasks[0].ns) > 100 * MS);
	report__free(&rep);

	pass_ms(&r, 60);
	ns = row_of_1(&r, &rep, &n);
	assert_int_equal(ns, rep.end_ns - rep.start_ns);
	report__free(&rep);
	end(&r);
}

static void goes_and_comes_back(void **state)
{
	struct report rep;
	uint64_t n, begun, gone, ns;
	struct run r;

	(void)state;
	start(&r, true);
	assert_int_equal(machine.opened, 2);
	begun = engine_perf.start(r.e);
	pass_ms(&r, 60);
	put_switch(1, 0, A, clock_ns());
	pass_ms(&r, 60);
	gone = clock_ns();
	put_switch(1, A, 0, gone); /* read only when the CPU is found to be gone, it may be */
	machine.online[1] = false;
	pass_ms(&r, 120);
	assert_int_equal(machine.removed, 1);
	ns = row_of_1(&r, &rep, &n);
	assert_int_equal(n, 2);
	assert_int_equal(ns, gone + 1 - begun); /* right after its last event */
	report__free(&rep);

	pass_ms(&r, 60);
	assert_int_equal(row_of_1(&r, &rep, &n), 0);
	assert_int_equal(rep.nr_cpus, 1);
	assert_int_equal(rep.host.cpus_online, 1);
	report__free(&rep);

	machine.online[1] = true;
	pass_ms(&r, 120);
	assert_int_equal(machine.opened, 3);
	put_switch(1, 0, A, clock_ns());
	pass_ms(&r, 60);
	ns = row_of_1(&r, &rep, &n);
	assert_true(ns >= 60 * MS && ns < rep.end_ns - rep.start_ns);
	assert_int_equal(n, 1);
	report__free(&rep);
	pass_ms(&r, 60);
	ns = row_of_1(&r, &rep, &n);
	assert_int_equal(ns, rep.end_ns - rep.start_ns);
	report__free(&rep);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_later),
		cmocka_unit_test(goes_and_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
