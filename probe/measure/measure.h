/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A number that the daemon shows is a row of its owner's table:
 *
 *	static const struct measure rows[] = {
 *		{"unwind_tables", "tables", GAUGE, "Unwind tables, …", MEASURE_AT(tables_stats,
 *tables)}, …
 *	};
 *	const struct measures unwind_measures = {"Unwind tables", "status.unwind",
 *MEASURE_ROWS(rows)};
 *
 * The functions below are given a table and the statistics that its rows lie in: for the table
 * above a struct tables_stats, which somebody has read once for the whole answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

enum measure_type { COUNTER, GAUGE, HISTOGRAM };

/* A label. Where it has a bounded set of values, they are value_name(first) to value_name(end - 1);
 * NULL: there is none of that number now. */
struct measure_label {
	const char *name; /* "cause" */
	const char *(*value_name)(unsigned value);
	unsigned first, end;
};

struct measure {
	const char *name; /* in /metrics, without "stackprobe_"; NULL: GET alone has the number */
	const char *json; /* its key in GET; NULL: /metrics alone has it */
	enum measure_type type;
	const char *help; /* a sentence. NULL: another series of the row before */

	/* Its number: in the statistics, or worked out from them. */
	size_t at, bytes; /* MEASURE_AT() */
	uint64_t (*count)(const void *stats);
	double (*seconds)(const void *stats); /* for /metrics alone */
	/* Writes all lines instead, for labels whose values have no bound. */
	void (*lines)(struct buf *out, const struct measure *row, const void *stats);

	/* One number for each value of a label, which lie in an array indexed by the value … */
	const struct measure_label *label;
	size_t texts_at, texts_max; /* MEASURE_EACH_NAMED() */
	const char *label_is;	    /* … or the number of this value alone: "used" */
	const char *labels;	    /* further labels, for the document: "pid, comm" */
};

/* Where a number lies, uint64_t or uint32_t; and an array of them, for the values of a label. */
#define MEASURE_AT(stats, member)                                                                  \
	.at = offsetof(struct stats, member), .bytes = sizeof(((struct stats *)0)->member)
#define MEASURE_EACH(stats, member, of)                                                            \
	.at = offsetof(struct stats, member), .bytes = sizeof(((struct stats *)0)->member[0]),     \
	.label = (of)

/* The same for a label whose values aren't known beforehand: the statistics have them as well, in
 * an array of texts (const char *), NULL behind the last one, which need no escaping. */
#define MEASURE_EACH_NAMED(stats, member, of, texts)                                               \
	MEASURE_EACH(stats, member, of), .texts_at = offsetof(struct stats, texts),                \
					 .texts_max = sizeof(((struct stats *)0)->texts) /         \
						      sizeof(((struct stats *)0)->texts[0])

/* Whose the numbers of a table are. */
enum measure_scope {
	OF_DAEMON,
	OF_EXPORTER, /* the same, with names that each exporter has: without "stackprobe_" */
	OF_EACH,     /* the statistics are an array of structs, one for each value of a label */
	OF_PROCESS,  /* of single processes: shown to who may see these */
};

struct measures {
	const char *title; /* heading in the document; tables with the same one follow each other */
	const char *path;  /* the object in GET that has the keys, "status.unwind" */
	const struct measure *rows;
	size_t count;
	enum measure_scope scope;
	const struct measure_label *each; /* OF_EACH: the label … */
	size_t stride;			  /* … and the size of a struct */
	/* Not NULL: writes the whole table to /metrics, and the rows are for the document. */
	void (*write)(struct buf *out, const void *stats);
};

#define MEASURE_ROWS(array) .rows = (array), .count = sizeof(array) / sizeof((array)[0])

const char *measure_type_name(enum measure_type type);

/* Returns what stands before the names of a table's metrics in /metrics. */
static inline const char *measures_prefix(const struct measures *table)
{
	return table->scope == OF_EXPORTER ? "" : "stackprobe_";
}

/* Returns a row's number; `value`: which one of its label's. */
uint64_t measure_number(const struct measure *row, const void *stats, unsigned value);

/* Returns whether a row has a number for each value of a label. */
static inline bool measure_has_each(const struct measure *row)
{
	return row->label && !row->label_is;
}

/* ---- /metrics: Prometheus' text format 0.0.4 ---- */

/* Adds the lines of all rows that have a name. */
void measures_lines(struct buf *out, const struct measures *table, const void *stats);

/* Adds the lines # HELP and # TYPE of a metric. */
void measure_head(struct buf *out, const char *name, enum measure_type type, const char *help);

/* The same of a row, with the name that its table gives it. */
void measures_head(struct buf *out, const struct measures *table, const struct measure *row);

/* ---- GET ---- */

/* Adds the numbers of all rows that have a key: {"key": n}, with a label {"key": {"cause": n}}. */
void measures_json(struct json *json, const struct measures *table, const void *stats);

/* The same as an object, whose key is the last one of the table's path. */
void measures_json_object(struct json *json, const struct measures *table, const void *stats);

/* ---- the document ---- */

/* Adds the rows as a table of Markdown, with a heading unless the table `before` has the same. */
void measures_list(struct buf *out, const struct measures *table, const struct measures *before);
