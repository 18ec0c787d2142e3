// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON: one object a report, on one line, and the schema that describes it.
 *
 * Both are walks over the column table, so the schema cannot promise a key that is not written.
 * Entities are written one by one: a report over 100 000 tasks needs the memory of one. This file
 * owns the nesting of the objects; it must not know where a number comes from.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "escape.h"
#include "out_util.h"

#define SCHEMA_NR 1

/*
 * Characters beyond ASCII go out as JSON escapes: the same text for every reader, and one that can
 * be shown on a terminal without harm.
 */
#define DUMP_FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII)

/* The objects that there is one of, and the arrays, in their order. */
static const struct {
	const char *key;
	enum ent kind;
} objects[] = {
	{"tool", ENT_TOOL},	  {"host", ENT_HOST}, {"window", ENT_WINDOW},
	{"quality", ENT_QUALITY}, {"cost", ENT_COST}, {"system", ENT_SYSTEM},
};

static const struct {
	const char *key;
	enum ent kind;
	enum report_level level;
} arrays[] = {
	{"cpus", ENT_CPU, LEVEL_CPU},
	{"groups", ENT_GROUP, LEVEL_GROUP},
	{"processes", ENT_PROC, LEVEL_PROCESS},
	{"tasks", ENT_TASK, LEVEL_TASK},
};

#define NR(table) (sizeof(table) / sizeof((table)[0]))

struct writer {
	FILE *f;
	const struct report *r;
	struct names *names;
	char *buf; /* one value's text: jansson gives it in pieces of a few bytes otherwise */
	size_t size;
	int err;
};

/* jansson takes valid UTF-8 only; most names are, and need no copy. */
static json_t *text_json(const char *s)
{
	json_t *j = json_string(s);
	char *safe;

	if (j)
		return j;
	safe = esc__utf8(s);
	j = safe ? json_string(safe) : NULL;
	free(safe);
	return j;
}

/* Readers hold integers in 63 bits and a sign; what is beyond stops there. It is 292 years. */
static json_t *uint_json(uint64_t u)
{
	return json_integer(u > INT64_MAX ? INT64_MAX : (json_int_t)u);
}

static json_t *value_json(const struct value *v)
{
	switch (v->type) {
	case VALUE_UINT:
		return uint_json(v->u);
	case VALUE_INT:
		return json_integer(v->i);
	case VALUE_BOOL:
		return json_boolean(v->b);
	case VALUE_TEXT:
		return text_json(v->s);
	default:
		return json_null();
	}
}

static json_t *entity_json(const struct writer *w, const struct item *it);

/* An array of nr structs of one kind, stride bytes apart. */
static json_t *array_json(const struct writer *w, enum ent kind, const void *v, size_t nr,
			  size_t stride)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < nr; i++) {
		struct item it = {kind, (const char *)v + i * stride};

		if (json_array_append_new(a, entity_json(w, &it))) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

static json_t *entity_json(const struct writer *w, const struct item *it)
{
	const struct rep_calls *calls = item__calls(it);
	json_t *o = json_object();
	int err = o ? 0 : -1;

	for (int i = 0; !err && i < COL_NR; i++) {
		struct value v;

		if (!column__has(&columns[i], it->kind, USE_JSON))
			continue;
		column__plain(&columns[i], w->r, it, w->names, &v);
		err = json_object_set_new_nocheck(o, columns[i].key, value_json(&v));
	}
	if (!err && it->kind == ENT_TASK) {
		const struct rep_task *t = it->rec;

		err = json_object_set_new(
			o, "cpus",
			array_json(w, ENT_TASK_CPU, t->cpus, t->nr_cpus, sizeof(*t->cpus)));
	}
	if (!err && calls)
		err = json_object_set_new(
			o, "calls", array_json(w, ENT_CALL, calls->v, calls->n, sizeof(*calls->v)));
	if (err) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* DEL is the one control character that JSON lets through raw; a terminal should not see it. */
static int put_text(const char *buf, size_t len, FILE *f)
{
	for (const char *del; (del = memchr(buf, 0x7f, len)); len -= del + 1 - buf, buf = del + 1)
		if (fwrite(buf, 1, del - buf, f) != (size_t)(del - buf) || fputs("\\u007f", f) < 0)
			return -1;
	return fwrite(buf, 1, len, f) == len ? 0 : -1;
}

/* The text of j in w->buf. Returns its length, 0: no memory. */
static size_t dump(struct writer *w, const json_t *j)
{
	size_t need = json_dumpb(j, w->buf, w->size, DUMP_FLAGS);
	char *buf;

	if (need <= w->size)
		return need;
	buf = realloc(w->buf, 2 * need);
	if (!buf)
		return 0;
	w->buf = buf;
	w->size = 2 * need;
	return json_dumpb(j, w->buf, w->size, DUMP_FLAGS);
}

/* Writes one value and frees it. */
static void put(struct writer *w, json_t *j)
{
	size_t len = j && !w->err ? dump(w, j) : 0;

	if (!len)
		w->err = w->err ? w->err : -ENOMEM;
	else if (put_text(w->buf, len, w->f))
		w->err = out__error(w->f) ? out__error(w->f) : -ENOMEM;
	json_decref(j);
}

static const void *object_rec(const struct report *r, enum ent kind)
{
	switch (kind) {
	case ENT_HOST:
		return &r->host;
	case ENT_QUALITY:
		return &r->quality;
	case ENT_COST:
		return &r->cost;
	default:
		return r;
	}
}

static void put_array(struct writer *w, const struct report *r, const char *key, enum ent kind)
{
	const void *rec;

	fprintf(w->f, ",\"%s\":[", key);
	for (size_t i = 0; !w->err && (rec = report__entity(r, kind, i)); i++) {
		struct item it = {kind, rec};

		if (i)
			fputc(',', w->f);
		put(w, entity_json(w, &it));
	}
	fputc(']', w->f);
}

static json_t *notes_json(const struct report *r)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < NR(r->notes) && r->notes[i]; i++)
		if (json_array_append_new(a, text_json(r->notes[i]))) {
			json_decref(a);
			return NULL;
		}
	return a;
}

/* The keys whose 0 says nothing; "system" and "cpus": those rows are not the machine's. */
static json_t *unrecorded_json(const struct report *r)
{
	json_t *a = json_array();
	int err = a ? 0 : -1;

	for (int i = 0; !err && i < COL_NR; i++)
		if (column__unrecorded(&columns[i], r))
			err = json_array_append_new(a, json_string(columns[i].key));
	if (!err && (r->absent & LACK_SYSTEM))
		err = json_array_append_new(a, json_string("system")) ||
		      json_array_append_new(a, json_string("cpus"));
	if (err) {
		json_decref(a);
		return NULL;
	}
	return a;
}

int out__json(const struct report *r, struct names *n, const struct out_opts *o)
{
	struct writer w = {.f = o->f, .r = r, .names = n};

	fprintf(w.f, "{\"schema\":%d", SCHEMA_NR);
	for (size_t i = 0; i < NR(objects); i++) {
		struct item it = {objects[i].kind, object_rec(r, objects[i].kind)};

		fprintf(w.f, ",\"%s\":", objects[i].key);
		put(&w, entity_json(&w, &it));
	}
	fputs(",\"notes\":", w.f);
	put(&w, notes_json(r));
	fputs(",\"unrecorded\":", w.f);
	put(&w, unrecorded_json(r));
	for (size_t i = 0; i < NR(arrays); i++)
		if (r->level >= arrays[i].level)
			put_array(&w, r, arrays[i].key, arrays[i].kind);
	fputs("}\n", w.f);
	free(w.buf);
	return w.err ? w.err : out__finish(w.f);
}

static json_t *ref_array(const char *def)
{
	return json_pack("{s:s,s:{s:s+}}", "type", "array", "items", "$ref", "#/$defs/", def);
}

/* The schema of one column: its type from the unit, null where there may be nothing to tell. */
static json_t *column_schema(const struct column *c, enum ent kind)
{
	const char *type = c->unit == UNIT_TEXT	  ? "string"
			   : c->unit == UNIT_FLAG ? "boolean"
						  : "integer";
	json_t *s = column__nullable(c, kind) ? json_pack("{s:[s,s]}", "type", type, "null")
					      : json_pack("{s:s}", "type", type);

	for (size_t i = 0; s && c->values && c->values[i]; i++) {
		if (!i && json_object_set_new(s, "enum", json_array()))
			break;
		if (json_array_append_new(json_object_get(s, "enum"), json_string(c->values[i])))
			break;
	}
	/* "id" is -1 for what found no record, a residual has a sign */
	if (s && *type == 'i' && c != &columns[COL_ID] && c != &columns[COL_RESIDUAL])
		json_object_set_new(s, "minimum", json_integer(0));
	return s;
}

/* Adds one property that every object of this kind has. */
static int require(json_t *schema, const char *key, json_t *property)
{
	return json_object_set_new(json_object_get(schema, "properties"), key, property) ||
	       json_array_append_new(json_object_get(schema, "required"), json_string(key));
}

static json_t *object_schema(void)
{
	return json_pack("{s:s,s:{},s:[]}", "type", "object", "properties", "required");
}

static json_t *entity_schema(enum ent kind)
{
	json_t *s = object_schema();
	int err = s ? 0 : -1;

	for (int i = 0; !err && i < COL_NR; i++)
		if (column__has(&columns[i], kind, USE_JSON))
			err = require(s, columns[i].key, column_schema(&columns[i], kind));
	if (!err && kind == ENT_TASK)
		err = require(s, "cpus", ref_array("task_cpu"));
	if (!err && ent__has_calls(kind))
		err = require(s, "calls", ref_array("call"));
	if (err) {
		json_decref(s);
		return NULL;
	}
	return s;
}

static json_t *texts_schema(void)
{
	return json_pack("{s:s,s:{s:s}}", "type", "array", "items", "type", "string");
}

/* The arrays depend on --by, so they are properties that nothing requires. */
static json_t *report_schema(void)
{
	json_t *s = object_schema(), *p;
	int err = !s || require(s, "schema", json_pack("{s:i}", "const", SCHEMA_NR));

	for (size_t i = 0; !err && i < NR(objects); i++)
		err = require(s, objects[i].key, entity_schema(objects[i].kind));
	err = err || require(s, "notes", texts_schema()) ||
	      require(s, "unrecorded", texts_schema());
	p = json_object_get(s, "properties");
	for (size_t i = 0; !err && i < NR(arrays); i++)
		err = json_object_set_new(p, arrays[i].key,
					  json_pack("{s:s,s:o}", "type", "array", "items",
						    entity_schema(arrays[i].kind)));
	err = err || json_object_set_new(s, "$defs",
					 json_pack("{s:o,s:o}", "call", entity_schema(ENT_CALL),
						   "task_cpu", entity_schema(ENT_TASK_CPU)));
	if (err) {
		json_decref(s);
		return NULL;
	}
	return s;
}

int out__json_schema(FILE *f)
{
	json_t *s = json_pack("{s:s,s:s}", "$schema",
			      "https://json-schema.org/draft/2020-12/schema", "title",
			      "utilbpf report"),
	       *body = report_schema();
	int err = !s || !body || json_object_update(s, body) ? -ENOMEM : 0;

	if (!err && json_dumpf(s, f, JSON_INDENT(2)))
		err = out__error(f) ? out__error(f) : -ENOMEM;
	if (!err)
		fputc('\n', f);
	json_decref(s);
	json_decref(body);
	return err ? err : out__finish(f);
}
