// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes the rows of doc/metrics.md. */
#include "measure/measure.h"

#include <string.h>

/* Adds a label with the values that it may have, `cause`: gone, changed. */
static void list_label(struct buf *out, const struct measure_label *label)
{
	buf_printf(out, "`%s`", label->name);
	for (unsigned i = label->first; i < label->end; i++) {
		if (label->value_name(i))
			buf_printf(out, "%s %s", i == label->first ? ":" : ",",
				   label->value_name(i));
	}
}

/* Adds the labels of a row and of those that are further series of it. */
static void list_labels(struct buf *out, const struct measures *table, const struct measure *row,
			const struct measure *end)
{
	if (row->labels)
		buf_printf(out, "`%s`", row->labels);
	if (row->labels && row->label)
		buf_str(out, "; ");
	if (table->scope == OF_EACH && row->name)
		list_label(out, table->each);
	else if (row->label)
		list_label(out, row->label);
	for (const struct measure *one = row; one < end && one->label_is; one++)
		buf_printf(out, "%s %s", one == row ? ":" : ",", one->label_is);
}

static void list_keys(struct buf *out, const struct measures *table, const struct measure *row,
		      const struct measure *end)
{
	const char *before = "";

	for (; row < end; row++) {
		if (!row->json)
			continue;
		buf_printf(out, "%s`%s.%s%s`", before, table->path, row->json,
			   measure_has_each(row) ? ".*" : "");
		if (row->label_is)
			buf_printf(out, " (%s)", row->label_is);
		before = ", ";
	}
}

static void list_row(struct buf *out, const struct measures *table, const struct measure *row,
		     const struct measure *end)
{
	if (row->name)
		buf_printf(out, "| `%s%s` | %s | ", measures_prefix(table), row->name,
			   measure_type_name(row->type));
	else
		buf_str(out, "| | | ");
	list_labels(out, table, row, end);
	buf_str(out, " | ");
	list_keys(out, table, row, end);
	buf_printf(out, " | %s |\n", row->help);
}

void measures_list(struct buf *out, const struct measures *table, const struct measures *before)
{
	const struct measure *row = table->rows, *end = table->rows + table->count;

	if (!before || strcmp(before->title, table->title) != 0)
		buf_printf(out,
			   "\n## %s\n\n| metric | type | labels | in GET | is |\n"
			   "|---|---|---|---|---|\n",
			   table->title);
	while (row < end) {
		const struct measure *next = row + 1;

		while (next < end && !next->help)
			next++;
		list_row(out, table, row, next);
		row = next;
	}
}
