/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A report as a string of bytes, for a reader that comes later: every figure and name of it, small
 * numbers in one byte. Not an exchange format: it is the same version's that wrote it.
 */
#ifndef REPORT_PACK_H
#define REPORT_PACK_H

#include "report.h"

/* What is written, or read; all zeroes to begin to write. */
struct pack {
	bool reads;
	char *p;    /* written: owned by the caller, free(); read: the caller's, ends with a NUL */
	size_t len; /* bytes of it */
	size_t cap;
	size_t at; /* how far it is read */
	int err;   /* -ENOMEM, or -EPROTO: these bytes are no such thing; all else is undone */
};

/* Each writes *v, or reads it, as p says. A text that is read lies in p->p; NULL stays NULL. */
void pack__number(struct pack *p, uint64_t *v);
void pack__text(struct pack *p, const char **v);

/*
 * Writes r, or reads into r, which need not be initialised: then it is the caller's to
 * report__free(), also when it fails. Texts but for containers' are those of p.
 */
void pack__report(struct pack *p, struct report *r);

#endif /* REPORT_PACK_H */
