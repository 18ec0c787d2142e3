/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the readers of a resident instance leave for those after them: the sum since the start, what
 * of the window that is not told yet has been read, and the names of groups.
 *
 * It is made by readers alone, so it costs the programs nothing. It knows neither maps nor locks:
 * resident.c keeps its bytes.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include "report_add.h"

#define LEDGER_CLOSED 8	   /* windows that readers have ended and not told */
#define LEDGER_GROUPS 4096 /* without a task, in the sum since the start */

/* A group that was there at the start and has not been in a report yet. */
struct ledger_name {
	uint64_t id;
	const char *path;
};

struct ledger {
	struct report total; /* since the start, down to processes */
	struct report open;  /* of the window that is not told; end_ns is start_ns: nothing yet */
	struct report closed[LEDGER_CLOSED]; /* come before it, each to be told as it is */
	uint64_t nr_closed;
	struct ledger_name *names;
	size_t nr_names;
	char *mem; /* what texts of these are in; owned */
};

/* An empty one, with the groups that there are; start_wall is that of start_ns. 0 or -ENOMEM. */
int ledger__init(struct ledger *l, uint64_t start_ns, const struct timespec *start_wall,
		 struct names *names);

/*
 * From the bytes that ledger__pack has made; mem (malloc()ed) is the ledger's from here on. Tells
 * names which groups it knows. 0, -ENOMEM, or -EPROTO: these are no such bytes. ledger__free()
 * afterwards in any case.
 */
int ledger__unpack(struct ledger *l, char *mem, size_t len, struct names *names);
/* The bytes, to be free()d: 0 or -ENOMEM. */
int ledger__pack(struct ledger *l, char **mem, size_t *len);
void ledger__free(struct ledger *l);

/* True when a part of the window that is not told has been read. */
bool ledger__has_open(const struct ledger *l);

/*
 * A window, or a part of one, has been read. It goes to the sum since the start; the report is left
 * as it is. 0 or -ENOMEM.
 */
int ledger__add(struct ledger *l, const struct report *r);

/* r is a part of the window that is not told yet: it waits there. 0 or -ENOMEM. */
int ledger__put_open(struct ledger *l, const struct report *r);
/* The window that is not told has ended without being told. -ENOSPC: too many have. */
int ledger__close(struct ledger *l);
/* All up to now has been told: the next window begins at start_ns. */
void ledger__told(struct ledger *l, uint64_t start_ns);

/* The sum since the start, as a report to print. */
struct report *ledger__total(struct ledger *l);

#endif /* LEDGER_H */
