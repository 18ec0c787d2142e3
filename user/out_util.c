// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the renderers share: numbers in few characters, the lines above and below a report, and
 * the end of a stream.
 *
 * It owns how a number, a call and a loss read in text. It must not know the layout of any table.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "out_util.h"

#define NS_PER_SEC 1000000000.0

int out__error(FILE *f)
{
	if (!ferror(f))
		return 0;
	return errno ? -errno : -EIO;
}

int out__finish(FILE *f)
{
	if (fflush(f))
		return errno ? -errno : -EIO;
	return out__error(f);
}

const char *out__seconds(char buf[NUM_LEN], uint64_t ns)
{
	double s = (double)ns / NS_PER_SEC;

	if (s < 1e4)
		/* integers: a sum of printed rows must not differ by a rounding of doubles */
		snprintf(buf, NUM_LEN, "%" PRIu64 ".%03" PRIu64, ns / 1000000 / 1000,
			 ns / 1000000 % 1000);
	else
		snprintf(buf, NUM_LEN, s < 1e6 ? "%.1f" : s < 1e8 ? "%.0f" : "%.2e", s);
	return buf;
}

const char *out__duration(char buf[NUM_LEN], uint64_t ns)
{
	static const struct {
		double per, below;
		const char *unit;
	} units[] = {
		{1e3, 999.5, "us"},    {1e6, 999.5, "ms"},  {1e9, 9999.5, "s"},
		{3600e9, 9999.5, "h"}, {86400e9, 1e9, "d"},
	};
	size_t i = 0;
	double x;

	if (ns < 1000) {
		snprintf(buf, NUM_LEN, "%" PRIu64 "ns", ns);
		return buf;
	}
	while ((x = (double)ns / units[i].per) >= units[i].below)
		i++;
	snprintf(buf, NUM_LEN,
		 x < 9.995   ? "%.2f%s"
		 : x < 99.95 ? "%.1f%s"
			     : "%.0f%s",
		 x, units[i].unit);
	return buf;
}

const char *out__count(char buf[NUM_LEN], uint64_t n)
{
	static const char unit[] = "KMGTPE";
	double x = (double)n / 1000;
	int i = 0;

	if (n < 100000) {
		snprintf(buf, NUM_LEN, "%" PRIu64, n);
		return buf;
	}
	for (; x >= 999.5; i++)
		x /= 1000;
	snprintf(buf, NUM_LEN, x < 9.995 ? "%.2f%c" : x < 99.95 ? "%.1f%c" : "%.0f%c", x, unit[i]);
	return buf;
}

const char *out__share(char buf[NUM_LEN], uint64_t part, uint64_t whole)
{
	double p = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!part || !whole)
		return strcpy(buf, "-");
	snprintf(buf, NUM_LEN, p < 9.95 ? "%.1f%%" : "%.0f%%", p < 9999 ? p : 9999);
	return buf;
}

const char *out__call_label(char *buf, size_t len, struct names *n, uint32_t key)
{
	uint32_t cls = KEY_CLASS(key);
	const char *name = names__call(n, key);
	char bare[NUM_LEN];

	if (cls == CALL_SYSCALL) {
		if (KEY_ABI(key) && key != KEY_OTHER(cls))
			snprintf(buf, len, "%s [%s]", name, names__abi(n, key));
		else
			snprintf(buf, len, "%s", name);
	} else if (cls == CALL_IRQ && key != KEY_OTHER(cls)) {
		/* a nameless irq is called "irq_24": its number need not be said twice */
		snprintf(bare, sizeof(bare), "irq_%u", KEY_NR(key));
		snprintf(buf, len, "irq %u%s%s", KEY_NR(key), strcmp(bare, name) ? " " : "",
			 strcmp(bare, name) ? name : "");
	} else {
		snprintf(buf, len, "%s %s", names__class(key), name);
	}
	return buf;
}

struct item *out__items(const struct report *r, enum ent kind, size_t *nr)
{
	struct item *items;
	size_t n = 0;

	while (report__entity(r, kind, n))
		n++;
	items = calloc(n + 1, sizeof(*items));
	if (!items)
		return NULL;
	for (size_t i = 0; i < n; i++)
		items[i] = (struct item){kind, report__entity(r, kind, i)};
	*nr = n;
	return items;
}

struct item *out__calls(const struct rep_calls *calls, uint32_t first, uint32_t last,
			enum call_set set, size_t *nr)
{
	struct item *items = calloc(calls->n + 1, sizeof(*items));

	*nr = 0;
	for (size_t i = 0; items && i < calls->n; i++) {
		const struct rep_call *c = &calls->v[i];
		bool in = set == CALLS_ALL || (set == CALLS_ENDED && c->count) ||
			  (set == CALLS_UNFINISHED && (c->open || c->pending_ns));

		if (in && KEY_CLASS(c->key) >= first && KEY_CLASS(c->key) <= last)
			items[(*nr)++] = (struct item){ENT_CALL, c};
	}
	return items;
}

/* A word too long for a line is cut. */
static void wrap_put(struct wrap *w, const char *text)
{
	char word[512], safe[1024];

	for (;;) {
		size_t n;
		int cols;

		text += strspn(text, " \n\t");
		n = strcspn(text, " \n\t");
		if (!n)
			return;
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		cols = esc__fit(safe, sizeof(safe), word, w->width ? w->width - 2 : 500, false);
		if (w->at && w->width && w->at + 1 + cols > w->width) {
			fputs("\n ", w->f);
			w->at = 1;
		}
		fprintf(w->f, "%s%s", w->at ? " " : "", safe);
		w->at += cols + !!w->at;
		text += n;
	}
}

void out__wrap(struct wrap *w, const char *fmt, ...)
{
	char buf[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	wrap_put(w, buf);
}

void out__wrap_end(struct wrap *w)
{
	if (w->at)
		fputc('\n', w->f);
	w->at = 0;
}

/* The parts of the first line, and the order in which a narrow terminal loses them. */
enum header_part {
	PART_TOOL,
	PART_HOST,
	PART_KERNEL,
	PART_CPUS,
	PART_DAY,
	PART_TIME,
	PART_LENGTH,
	PART_ENGINE,
	PART_NR,
};

static const enum header_part droppable[] = {PART_CPUS, PART_DAY,  PART_KERNEL,
					     PART_HOST, PART_TIME, PART_ENGINE};

/* What stands before a part: a date, its time and its length belong together. */
static const char *header_gap(char parts[PART_NR][96], int i)
{
	if (i == PART_TOOL)
		return "";
	return i == PART_LENGTH || (i == PART_TIME && *parts[PART_DAY]) ? " " : "  ";
}

static int header_width(char parts[PART_NR][96])
{
	size_t sum = 0;

	for (int i = 0; i < PART_NR; i++)
		if (*parts[i])
			sum += strlen(header_gap(parts, i)) + esc__width(parts[i]);
	return (int)sum;
}

/* What is told of whom: rows of tasks are not all that there were, those of CPUs and the system
 * are.
 */
static void header_selection(const struct report *r, FILE *f, int width)
{
	struct wrap w = {.f = f, .width = width};

	if (!r->selection)
		return;
	out__wrap(&w, "selected: %s%s", r->selection, r->selected ? ";" : "");
	if (r->selected && r->nr_cpus < r->host.cpus_online)
		out__wrap(&w, "CPU rows are complete");
	else if (r->selected)
		out__wrap(&w, "CPU and system rows are complete");
	out__wrap_end(&w);
}

void out__header(const struct report *r, FILE *f, int width)
{
	char p[PART_NR][96] = {"utilbpf"}, kernel[192], num[NUM_LEN];
	struct item window = {ENT_WINDOW, r};
	struct tm tm;

	/* names that somebody chose are cut before they push out what matters */
	esc__fit(p[PART_HOST], sizeof(p[0]), r->host.name, width ? 20 : 64, false);
	snprintf(kernel, sizeof(kernel), "Linux %.64s %.64s", r->host.kernel, r->host.arch);
	esc__fit(p[PART_KERNEL], sizeof(p[0]), kernel, width ? 36 : 80, false);
	snprintf(p[PART_CPUS], sizeof(p[0]), "%u CPU%s", r->host.cpus_online,
		 r->host.cpus_online == 1 ? "" : "s");
	if (localtime_r(&r->start_wall.tv_sec, &tm)) {
		strftime(p[PART_DAY], sizeof(p[0]), "%Y-%m-%d", &tm);
		strftime(p[PART_TIME], sizeof(p[0]), "%H:%M:%S", &tm);
	}
	snprintf(p[PART_LENGTH], sizeof(p[0]), "+%s s",
		 out__seconds(num, column__number(COL_ELAPSED, &window)));
	snprintf(p[PART_ENGINE], sizeof(p[0]), "engine %.16s", r->engine ? r->engine : "?");
	for (size_t i = 0; i < sizeof(droppable) / sizeof(droppable[0]); i++)
		if (width && header_width(p) > width)
			*p[droppable[i]] = '\0';
	for (int i = 0; i < PART_NR; i++)
		if (*p[i])
			fprintf(f, "%s%s", header_gap(p, i), p[i]);
	fputc('\n', f);
	header_selection(r, f, width);
}

/* Silence means that nothing was lost, so the line is always there. */
static void quality_line(const struct rep_quality *q, struct wrap *w, bool color)
{
	const struct {
		uint64_t n;
		const char *what;
	} losses[] = {
		{q->lost_events, "events lost"},
		{q->missed_runs, "program runs missed"},
		{q->dropped_tasks, "tasks without a record"},
		{q->dropped_calls, "calls without a record"},
	};
	char num[NUM_LEN];
	bool lost = q->unknown_ns != 0;

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		lost |= losses[i].n != 0;
	if (lost && color)
		fputs(SGR_RED, w->f);
	wrap_put(w, lost ? "LOST:" : "nothing lost,");
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (losses[i].n)
			out__wrap(w, "%" PRIu64 " %s,", losses[i].n, losses[i].what);
	if (q->unknown_ns)
		out__wrap(w, "%s s of unknown tasks,", out__seconds(num, q->unknown_ns));
	if (lost && color)
		fputs(SGR_OFF, w->f);
	if (q->folded_tasks)
		out__wrap(w, "%" PRIu64 " ended tasks told in sum,", q->folded_tasks);
	if (q->out_of_order)
		out__wrap(w, "%" PRIu64 " out of order,", q->out_of_order);
	if (q->unmatched)
		out__wrap(w, "%" PRIu64 " unmatched,", q->unmatched);
	out__wrap(w, "residual %" PRId64 " ns", q->residual_ns);
}

static void cost_line(const struct rep_cost *c, struct wrap *w)
{
	char num[NUM_LEN];

	out__wrap(w, "cost %s s CPU,", out__seconds(num, c->loader_cpu_ns));
	if (c->have_run_ns)
		out__wrap(w, "%s s in programs,", out__seconds(num, c->bpf_run_ns));
	if (c->map_bytes)
		out__wrap(w, "%.1f MiB of maps,", (double)c->map_bytes / (1 << 20));
	if (c->bpf_runs)
		out__wrap(w, "%s events,", out__count(num, c->bpf_runs));
	out__wrap(w, "%.1f MiB resident", (double)c->loader_rss_bytes / (1 << 20));
}

/* Of whom the tables are, and of whom not. */
static void selection_line(const struct report *r, struct wrap *w)
{
	if (!r->selected)
		return;
	wrap_put(w, "selected:");
	wrap_put(w, r->selection ? r->selection : "COMMAND and its descendants");
	if (!(r->absent & LACK_SYSTEM))
		wrap_put(w, "(the rows of CPUs and interrupts are of all tasks)");
	out__wrap_end(w);
}

void out__footer(const struct report *r, FILE *f, int width, bool color)
{
	struct wrap w = {.f = f, .width = width};

	selection_line(r, &w);
	quality_line(&r->quality, &w, color);
	out__wrap_end(&w);
	cost_line(&r->cost, &w);
	out__wrap_end(&w);
	for (size_t i = 0; i < sizeof(r->notes) / sizeof(r->notes[0]) && r->notes[i]; i++) {
		wrap_put(&w, "note:");
		wrap_put(&w, r->notes[i]);
		out__wrap_end(&w);
	}
}
