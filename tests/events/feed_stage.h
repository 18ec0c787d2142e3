/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stage for play.h: a script's events as those of a recording, through feed.c.
 *
 * It tells no more than a recording does: who a task is by its tid, and nothing before its first
 * event but what `seat` and `seed` say.
 */
#ifndef FEED_STAGE_H
#define FEED_STAGE_H

#include "play.h"

/* Why a recording cannot tell what this script is about. NULL: it can. */
const char *feed_stage__cannot(const struct script *s);

void feed_stage__open(struct stage *stage);
void feed_stage__close(struct stage *stage);

#endif /* FEED_STAGE_H */
