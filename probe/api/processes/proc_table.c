// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/processes/proc_shown.h"

#include <stdlib.h>
#include <string.h>

#include "api/status/container_texts.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define BIT(cost)   (1ULL << (cost))

#define COLUMN	    16
#define COLUMNS_MAX 8

/* Writes bytes that a target chose, those that a terminal may show. */
static void put_plain(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_char(out, text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?');
}

static void put_label(struct buf *out, const struct cost_answer *answer, const struct cost_row *row)
{
	struct container_labels labels;

	container_labels_of(&labels, cost_row_container(answer->table, row));
	switch (answer->by) {
	case COST_BY_PID:
		if (row->pid)
			buf_printf(out, "%7d ", (int)row->pid);
		else
			buf_printf(out, "%7s (%llu ended)", "-",
				   (unsigned long long)row->processes);
		put_plain(out, row->comm, strnlen(row->comm, COMM_BYTES));
		break;
	case COST_BY_COMM:
		put_plain(out, row->comm, strnlen(row->comm, COMM_BYTES));
		break;
	case COST_BY_CGROUP:
		put_plain(out, cost_row_path(answer->table, row),
			  strlen(cost_row_path(answer->table, row)));
		break;
	case COST_BY_CONTAINER:
	case COST_BY_POD:
	case COST_BY_NONE:
		break;
	}
	if (answer->by == COST_BY_POD)
		put_plain(out, labels.pod, strlen(labels.pod));
	else if (answer->by != COST_BY_NONE && answer->by != COST_BY_COMM && *labels.container) {
		buf_str(out, " [");
		put_plain(out, labels.container, strlen(labels.container));
		buf_char(out, ']');
	}
}

static void put_columns(struct buf *out, const struct cost_row *row, uint64_t values)
{
	struct shown_rate rates[RATES_MAX];

	for (int i = 0; i < COST_VALUES; i++) {
		if (values & BIT(i))
			buf_printf(out, "%*llu", COLUMN,
				   (unsigned long long)cost_row_value(row, (enum cost)i));
	}
	for (unsigned i = 0; i < shown_rates(row, values, rates); i++) {
		if (rates[i].value < 0)
			buf_printf(out, "%*s", COLUMN, "-");
		else
			buf_printf(out, "%*.6g", COLUMN, rates[i].value);
	}
	buf_str(out, "  ");
}

static void put_heads(struct buf *out, uint64_t values)
{
	struct shown_rate rates[RATES_MAX];

	for (int i = 0; i < COST_VALUES; i++) {
		if (values & BIT(i))
			buf_printf(out, "%*s", COLUMN, cost_name(i));
	}
	for (unsigned i = 0; i < shown_rates(&(struct cost_row){0}, values, rates); i++)
		buf_printf(out, "%*s", COLUMN, rates[i].name);
}

static void write_name(struct buf *out, const struct cost_name_of *name)
{
	buf_printf(out, "%u ", name->pid);
	put_plain(out, name->pid ? name->comm : "(idle)",
		  name->pid ? strnlen(name->comm, COMM_BYTES) : strlen("(idle)"));
}

/* Writes who has woken whom, most often first. */
static void write_pairs(struct buf *out, const struct cost_answer *answer)
{
	struct shown_pairs shown;

	choose_pairs(&shown, answer);
	buf_str(out, "\nwho wakes whom\n");
	for (size_t i = 0; i < shown.count; i++) {
		buf_printf(out, "%*llu  ", COLUMN, (unsigned long long)shown.all[i].count);
		write_name(out, &shown.names[2 * i]);
		buf_str(out, " -> ");
		write_name(out, &shown.names[2 * i + 1]);
		buf_char(out, '\n');
	}
	buf_printf(out, "%*llu  other pairs\n", COLUMN, (unsigned long long)shown.others);
	free(shown.all);
}

/* Returns the values that a table has: of many those that any row has. */
static uint64_t table_values(const struct cost_row *sum, const struct proc_choice *choice)
{
	uint64_t all = cost_kind_get(choice->probe)->values, used = BIT(choice->by);

	for (int i = 0; i < COST_VALUES; i++)
		used |= cost_row_value(sum, (enum cost)i) ? BIT(i) : 0;
	return __builtin_popcountll(all) > COLUMNS_MAX ? used : all;
}

void proc_table(struct buf *out, const struct cost_answer *answer, const struct proc_choice *choice)
{
	const struct cost_kind *kind = cost_kind_get(choice->probe);
	uint64_t span_ms = (answer->rows->time_ns - shown_from(answer, choice)) / NS_PER_MS;
	uint64_t values = shown_values(answer, choice);
	struct shown_rows shown;

	choose_rows(&shown, answer, choice);
	values &= table_values(&shown.sum, choice);
	buf_printf(out, "%s: %s, of %llu.%03llu s\n", kind->name, kind->what,
		   (unsigned long long)(span_ms / 1000), (unsigned long long)(span_ms % 1000));
	put_heads(out, values);
	buf_printf(out, "  %s\n", cost_groups[answer->by]);
	for (size_t i = 0; i < shown.count && !buf_error(out); i++) {
		put_columns(out, &shown.all[i], values);
		put_label(out, answer, &shown.all[i]);
		buf_char(out, '\n');
	}
	if (shown.has_others) {
		put_columns(out, &shown.others, values);
		buf_str(out, "others\n");
	}
	put_columns(out, &shown.sum, values);
	buf_str(out, "all\n");
	if (choice->probe == PROC_WAKEUP && shown_values(answer, choice))
		write_pairs(out, answer);
	free(shown.all);
}
