// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/describe_lists.h"

#include <inttypes.h>
#include <string.h>

#include "kind/kind.h"
#include "costs/proc_params.h"
#include "sched/sched_params.h"
#include "session/session_params.h"

/* ---- probes ---- */

static void write_needs(struct buf *out, const struct kind *kind)
{
	for (int i = 0; i < KIND_NEEDS_MAX && kind->needs[i].what; i++) {
		const struct kind_need *need = &kind->needs[i];

		buf_printf(out, "%s`%s`", i ? ", " : "", capability_row(need->what)->name);
		if (need->instead)
			buf_printf(out, " or `%s`", capability_row(need->instead)->name);
		if (need->limit)
			buf_str(out, " (limits)");
	}
}

void describe_probes(struct buf *out)
{
	buf_str(out,
		"| probe | shows | weight | counted beside it | needs (`stackprobe doctor`) |\n"
		"|---|---|---|---|---|\n");
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct kind *kind = kind_get(i);
		bool of_users = kind->slot;

		if (i > PROBE_SLOT_FIRST)
			break; /* the other slots are alike */
		buf_printf(out, "| `%s` | %s | %s | %s | ", of_users ? KIND_OF_USERS : kind->name,
			   of_users ? "Event" : kind->title, kind->count_name,
			   kind->event_name ? kind->event_name : "");
		write_needs(out, kind);
		buf_str(out, " |\n");
	}
}

/* ---- parameters ---- */

static void write_names(struct buf *out, const struct param_table *table, const struct param *row)
{
	buf_printf(out, "`%s`", row->name);
	for (size_t i = 0; i < table->count; i++) {
		const struct param *other = &table->rows[i];

		if (other->alias && other->offset == row->offset)
			buf_printf(out, " (or `%s`)", other->name);
	}
	if (row->instead_of)
		buf_printf(out, ", instead of `%s`", row->instead_of);
}

static void write_default(struct buf *out, const struct param *row)
{
	if (row->instead_of)
		buf_str(out, "unset");
	else if (row->type == PARAM_NUMBER)
		buf_printf(out, "%" PRId64, row->number);
	else
		buf_printf(out, "`%s`",
			   row->type == PARAM_CHOICE ? row->choices[row->number]
			   : row->text[0]	     ? row->text
						     : "\"\"");
}

static void write_number(struct buf *out, const struct param *row)
{
	if (row->min == 0 && row->max == 1)
		buf_str(out, "0, 1");
	else
		buf_printf(out, "%" PRId64 "–%" PRId64, row->min, row->max);
	if (row->unit)
		buf_printf(out, " %s", strcmp(row->unit, "us") == 0 ? "µs" : row->unit);
	if (row->zero_is_default)
		buf_str(out, ", 0 = default");
}

static void write_values(struct buf *out, const struct param *row)
{
	if (row->type == PARAM_NUMBER)
		write_number(out, row);
	else if (row->type == PARAM_EVENTS)
		buf_str(out, "an object");
	else if (row->type == PARAM_FOLDER)
		buf_str(out, "a folder");
	else if (row->type == PARAM_SERVER)
		buf_str(out, "a server");
	else if (row->type == PARAM_TRIGGER)
		buf_str(out, "a trigger");
	for (size_t i = 0; row->type == PARAM_CHOICE && row->choices[i]; i++)
		buf_printf(out, "%s`%s`", i ? ", " : "", row->choices[i]);
}

static void write_table(struct buf *out, const struct param_table *table)
{
	buf_str(out, "| param | default | values | meaning |\n|---|---|---|---|\n");
	for (size_t i = 0; i < table->count; i++) {
		const struct param *row = &table->rows[i];

		if (row->alias)
			continue;
		buf_str(out, "| ");
		write_names(out, table, row);
		buf_str(out, " | ");
		write_default(out, row);
		buf_str(out, " | ");
		write_values(out, row);
		buf_printf(out, " | %s |\n", row->help);
	}
}

void describe_params(struct buf *out)
{
	write_table(out, flamegraph_params());
}

void describe_sched_params(struct buf *out)
{
	write_table(out, sched_params());
}

void describe_proc_params(struct buf *out)
{
	write_table(out, proc_params());
}
