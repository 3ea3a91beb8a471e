// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/measure.h"

#include <string.h>

#define PREFIX "stackprobe_"

const char *measure_type_name(enum measure_type type)
{
	static const char *const names[] = {
		[COUNTER] = "counter", [GAUGE] = "gauge", [HISTOGRAM] = "histogram"};

	return names[type];
}

uint64_t measure_number(const struct measure *row, const void *stats, unsigned value)
{
	const char *at = (const char *)stats + row->at + (size_t)value * row->bytes;

	if (row->count)
		return row->count(stats);
	return row->bytes == sizeof(uint32_t) ? *(const uint32_t *)at : *(const uint64_t *)at;
}

void measures_head(struct buf *out, const struct measures *table, const struct measure *row)
{
	const char *prefix = measures_prefix(table);

	buf_printf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, row->name, row->help, prefix,
		   row->name, measure_type_name(row->type));
}

void measure_head(struct buf *out, const char *name, enum measure_type type, const char *help)
{
	static const struct measures ours;
	const struct measure row = {.name = name, .type = type, .help = help};

	measures_head(out, &ours, &row);
}

/* Adds a line; `is`: the value of its label. */
static void add_line(struct buf *out, const struct measure *row, const struct measure_label *label,
		     const char *is, uint64_t number)
{
	if (label)
		buf_printf(out, PREFIX "%s{%s=\"%s\"} %llu\n", row->name, label->name, is,
			   (unsigned long long)number);
	else
		buf_printf(out, PREFIX "%s %llu\n", row->name, (unsigned long long)number);
}

static void add_each(struct buf *out, const struct measures *table, const struct measure *row,
		     const void *stats)
{
	const struct measure_label *each = table->each;

	for (unsigned i = each->first; i < each->end; i++) {
		if (each->value_name(i))
			add_line(out, row, each, each->value_name(i),
				 measure_number(row, (const char *)stats + i * table->stride, 0));
	}
}

/* Returns the text of a label's value; NULL: there is none, nor any behind it. */
static const char *value_text(const struct measure *row, const void *stats, unsigned value)
{
	const char *const *texts = (const void *)((const char *)stats + row->texts_at);

	if (row->texts_max)
		return value < row->texts_max ? texts[value] : NULL;
	return value < row->label->end ? row->label->value_name(value) : NULL;
}

static void add_labelled(struct buf *out, const struct measure *row, const void *stats)
{
	const char *is;

	for (unsigned i = row->label->first; (is = value_text(row, stats, i)); i++)
		add_line(out, row, row->label, is, measure_number(row, stats, i));
}

static void add_row(struct buf *out, const struct measures *table, const struct measure *row,
		    const void *stats)
{
	if (row->lines)
		row->lines(out, row, stats);
	else if (row->seconds)
		buf_printf(out, "%s%s %.15g\n", measures_prefix(table), row->name,
			   row->seconds(stats));
	else if (table->scope == OF_EACH)
		add_each(out, table, row, stats);
	else if (measure_has_each(row))
		add_labelled(out, row, stats);
	else if (table->scope == OF_EXPORTER)
		buf_printf(out, "%s %llu\n", row->name,
			   (unsigned long long)measure_number(row, stats, 0));
	else
		add_line(out, row, row->label, row->label_is, measure_number(row, stats, 0));
}

void measures_lines(struct buf *out, const struct measures *table, const void *stats)
{
	if (table->write) {
		table->write(out, stats);
		return;
	}
	for (size_t i = 0; i < table->count; i++) {
		const struct measure *row = &table->rows[i];

		if (!row->name)
			continue;
		if (row->help)
			measures_head(out, table, row);
		add_row(out, table, row, stats);
	}
}

/* ---- GET ---- */

static void add_counts(struct json *json, const struct measure *row, const void *stats)
{
	const char *is;

	json_object(json, row->json);
	for (unsigned i = row->label->first; (is = value_text(row, stats, i)); i++)
		json_u64(json, is, measure_number(row, stats, i));
	json_object_end(json);
}

void measures_json(struct json *json, const struct measures *table, const void *stats)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct measure *row = &table->rows[i];

		if (row->json && measure_has_each(row))
			add_counts(json, row, stats);
		else if (row->json)
			json_u64(json, row->json, measure_number(row, stats, 0));
	}
}

void measures_json_object(struct json *json, const struct measures *table, const void *stats)
{
	json_object(json, strrchr(table->path, '.') + 1);
	measures_json(json, table, stats);
	json_object_end(json);
}
