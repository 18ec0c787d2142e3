/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one table of columns: what a report can say about each kind of entity.
 *
 * Every renderer walks it: JSON objects, the schema, CSV rows, text tables and sort keys all come
 * from here. It owns names, units and where a number lies in struct report; it must not know how
 * a format writes them.
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"
#include "report.h"

/* The kinds of entity, each the base of one struct. */
enum ent {
	ENT_TOOL,    /* struct report */
	ENT_HOST,    /* struct rep_host */
	ENT_WINDOW,  /* struct report */
	ENT_QUALITY, /* struct rep_quality */
	ENT_COST,    /* struct rep_cost */
	ENT_SYSTEM,  /* struct report */
	ENT_CPU,
	ENT_GROUP,
	ENT_PROC,
	ENT_TASK,
	ENT_TASK_CPU,
	ENT_CALL,
	ENT_NR,
};

/* One entity: its kind and the struct that holds it. */
struct item {
	enum ent kind;
	const void *rec;
};

/* Where a field is shown. */
#define USE_TEXT 1U
#define USE_JSON 2U
#define USE_CSV	 4U
#define USE_DATA (USE_JSON | USE_CSV)
#define USE_ALL	 (USE_TEXT | USE_DATA)

enum unit {
	UNIT_ID,    /* a name made of digits: never summed, sorted upwards */
	UNIT_COUNT, /* things: summed */
	UNIT_NS,    /* a length of time: summed */
	UNIT_TIME,  /* a point in time, ns of CLOCK_MONOTONIC */
	UNIT_MEAN,  /* a length of time that does not add up */
	UNIT_BYTES,
	UNIT_PERCENT, /* in thousandths of a percent */
	UNIT_TEXT,
	UNIT_FLAG,
};

enum field_type {
	FIELD_NONE,
	FIELD_BOOL,
	FIELD_U32,
	FIELD_U64,
	FIELD_I64,
	FIELD_STR,   /* const char *, may be NULL */
	FIELD_CHARS, /* char array */
	FIELD_CALC,  /* the column's function */
};

/* Where one kind of entity keeps a column. */
struct field {
	unsigned char type; /* enum field_type */
	unsigned char use;  /* USE_* */
	unsigned short off;
};

enum value_type {
	VALUE_NULL,
	VALUE_UINT,
	VALUE_INT,
	VALUE_BOOL,
	VALUE_TEXT,
};

struct value {
	enum value_type type;
	uint64_t u; /* VALUE_UINT */
	int64_t i;  /* VALUE_INT */
	bool b;
	const char *s;
	char buf[256]; /* what s points to when the text is made, not kept */
};

enum col_id {
	COL_TOOL,
	COL_VERSION,
	COL_ENGINE,
	COL_REASON,
	COL_SELECTION,
	COL_WINDOW,
	COL_WINDOW_START,
	COL_WINDOW_END,
	COL_INDEX,
	COL_TID,
	COL_PID,
	COL_EXEC,
	COL_COMM,
	COL_CGROUP,
	COL_CGROUP_ID,
	COL_CPU,
	COL_CLASS,
	COL_ID,
	COL_ABI,
	COL_NAME,
	COL_KERNEL,
	COL_ARCH,
	COL_CPUS_ONLINE,
	COL_CPUS_POSSIBLE,
	COL_CONTAINER,
	COL_POD,
	COL_UNIT,
	COL_UID,
	COL_KTHREAD,
	COL_PARTIAL,
	COL_START,
	COL_END,
	COL_STATE,
	COL_COUNT,
	COL_ERRORS,
	COL_ELAPSED,
	COL_PENDING,
	COL_OPEN,
	COL_AVG,
	COL_ACTIVE,
	COL_MIN,
	COL_MAX,
	COL_START_TIME,
	COL_ONCPU,
	COL_UTIL,
	COL_USER, /* the classes, in the order of enum acct_class */
	COL_SYS,
	COL_IRQ,
	COL_SOFTIRQ,
	COL_HV,
	COL_BUSY,
	COL_WAIT,
	COL_SLEEP,
	COL_BLOCKED,
	COL_IOWAIT,
	COL_STOPPED,
	COL_IDLE,
	COL_STOLEN,
	COL_INTR,
	COL_BLKIO,
	COL_OFFCPU,
	COL_ONLINE,
	COL_TASKS,
	COL_PROCS,
	COL_GROUPS,
	COL_SWITCHES,
	COL_MOVES,
	COL_VOLUNTARY,
	COL_INVOLUNTARY,
	COL_FOLDED_TASKS,
	COL_LOST_EVENTS,
	COL_MISSED_RUNS,
	COL_DROPPED_TASKS,
	COL_DROPPED_CALLS,
	COL_OUT_OF_ORDER,
	COL_UNMATCHED,
	COL_RESIDUAL,
	COL_UNKNOWN,
	COL_LOADER_CPU,
	COL_LOADER_RSS,
	COL_MAP_BYTES,
	COL_BPF_RUNS,
	COL_BPF_RUN_NS,
	COL_NR,
};

struct column {
	const char *name; /* what people type as a sort key */
	const char *key;  /* the JSON key and the CSV header */
	enum unit unit;
	bool sortable;
	bool identity; /* tells who an entity is: CSV repeats it on the rows it owns */
	bool nullable;
	void (*calc)(const struct item *it, struct names *n, struct value *v);
	const char *const *values; /* all that a text can be, NULL-terminated; NULL: any text */
	struct field at[ENT_NR];
};

extern const struct column columns[COL_NR];

/* True when the column says something about this kind in this format. */
bool column__has(const struct column *c, enum ent kind, unsigned int use);

/* Its value, VALUE_NULL when there is none. n may be NULL where no call is asked for its name. */
void column__get(const struct column *c, const struct item *it, struct names *n, struct value *v);

/* The same of an entity in r: VALUE_NULL also for what is zero because r's source cannot tell. */
void column__told(const struct column *c, const struct report *r, const struct item *it,
		  struct names *n, struct value *v);

/*
 * The same for readers who are promised a number: what r's source cannot tell stays 0, the user is
 * (uid_t)-1. VALUE_NULL only where column__nullable().
 */
void column__plain(const struct column *c, const struct report *r, const struct item *it,
		   struct names *n, struct value *v);

/* Whether r's source cannot tell the column: a 0 in it says nothing then. */
bool column__unrecorded(const struct column *c, const struct report *r);

/* Whether JSON's value may be null of such an entity. */
bool column__nullable(const struct column *c, enum ent kind);

/* Its value as a number; texts and nulls are 0. */
uint64_t column__number(enum col_id id, const struct item *it);

/* Adds all that adds up of src to dst, two structs of the same kind. */
void column__add(enum ent kind, void *dst, const void *src);

/* The sortable column of that name (or key) for this kind; COL_NR: none. ENT_NR stands for any
 * kind. */
enum col_id column__find(const char *name, enum ent kind);

/* Orders items by a column: quantities downwards, ids and names upwards. 0 or -ENOMEM. */
int column__sort(struct item *items, size_t nr, enum col_id id);

/* The calls of an entity, NULL when its kind has none. */
bool ent__has_calls(enum ent kind);
const struct rep_calls *item__calls(const struct item *it);

/* The arrays of a report by kind: the struct's address for i, NULL at the end. */
const void *report__entity(const struct report *r, enum ent kind, size_t i);

#endif /* COLUMNS_H */
