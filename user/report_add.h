/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports of windows that follow each other, added up: the sum is what one report over all of their
 * time would have told. It knows neither engines nor formats.
 */
#ifndef REPORT_ADD_H
#define REPORT_ADD_H

#include "names.h"
#include "report.h"

/*
 * Adds the report of the window that follows `to`; of the coarser of the two levels. Strings of
 * `from` must outlive `to`, which gets copies of all else. A `to` that was all zeroes but for its
 * level, start_ns and start_wall becomes a copy.
 *
 * whole: calls that are open at the end are pending from their begin on; else from where `from` has
 * counted them. 0, or -ENOMEM: then `to` holds a part of it, and can only be freed.
 */
int report__add(struct report *to, const struct report *from, bool whole);

/*
 * Adds up the processes of which no task is alive in one record each of their groups, named
 * "(ended)", and drops the tasks; of more than `most` groups in which nobody is alive, the least
 * busy half in a group named "(gone)". What is left does not grow with time. 0 or -ENOMEM.
 */
int report__fold_ended(struct report *r, size_t most);

/* Tells apart only the first `depth` levels of groups; 0: all of them. 0 or -ENOMEM. */
int report__fold_depth(struct report *r, struct names *names, unsigned int depth);

#endif /* REPORT_ADD_H */
