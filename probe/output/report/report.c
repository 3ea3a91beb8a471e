// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/intern.h"
#include "base/map.h"
#include "output/text/escape.h"
#include "output/text/number.h"

#define NAMES_BYTES_MAX (256u << 20)
#define CALLS_MAX	(1u << 22)
#define CALLERS_MAX	3  /* of a function, shown */
#define CALLERS_LEAST	5  /* percent of a function's own weight: lighter ones aren't shown */
#define COLUMN		15 /* characters of a weight */
#define SHARE		8  /* characters of its share, with the % */

struct function {
	uint64_t self, total;
	size_t counted; /* number of the line that was counted last, from 1 */
};

struct report_call {
	uint32_t callee, caller;
};

struct report_caller {
	struct report_call call;
	uint64_t weight;
};

struct report {
	struct intern *names;
	struct function *functions; /* by the names' numbers */
	size_t capacity;
	struct map *
		calls; /* struct report_call -> uint64_t: weight of the stacks that end in callee */
	uint64_t total;
};

static void report_done(struct report *report)
{
	intern_free(report->names);
	map_free(report->calls);
	free(report->functions);
}

static int64_t find_function(struct report *report, const char *name, size_t len)
{
	size_t known = intern_count(report->names);
	int64_t number = intern_add(report->names, name, len);

	if (number < 0)
		return number;
	if (array_grow(report->functions, report->capacity, (size_t)number + 1, 1024) < 0)
		return -ENOMEM;
	if ((size_t)number == known)
		report->functions[number] = (struct function){0};
	return number;
}

static int add_call(struct report *report, uint32_t callee, uint32_t caller, uint64_t weight)
{
	struct report_call call = {callee, caller};
	void *value;
	int r = map_put(report->calls, &call, &value);

	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	*(uint64_t *)value += weight;
	return 0;
}

/* Adds one stack; `number` counts the stacks, from 1. */
static int add_stack(struct report *report, const char *stack, size_t len, uint64_t weight,
		     size_t number)
{
	const char *end = stack + len;
	int64_t leaf = -1, caller = -1;

	for (const char *name = stack, *next; name; name = next) {
		const char *separator = memchr(name, ';', (size_t)(end - name));

		next = separator ? separator + 1 : NULL;
		caller = leaf;
		leaf = find_function(report, name, (size_t)((separator ? separator : end) - name));
		if (leaf < 0)
			return (int)leaf;
		struct function *function = &report->functions[leaf];
		if (function->counted != number)
			function->total += weight;
		function->counted = number;
	}
	report->functions[leaf].self += weight;
	report->total += weight;
	return caller < 0 ? 0 : add_call(report, (uint32_t)leaf, (uint32_t)caller, weight);
}

/* ---- writing ---- */

static void add_padded(struct buf *out, const char *text, size_t len, size_t width)
{
	for (; len < width; width--)
		buf_char(out, ' ');
	buf_add(out, text, len);
}

static void add_weight(const struct report *report, struct buf *out, uint64_t weight)
{
	char text[NUMBER_MAX];
	char *end = number_put_grouped(text, weight);

	add_padded(out, text, (size_t)(end - text), COLUMN);
	end = number_put_fixed(text, number_share(weight, 1000, report->total), 1, false);
	add_padded(out, text, (size_t)(end - text), SHARE - 1);
	buf_str(out, "%");
}

static int compare_callers(const void *left, const void *right)
{
	const struct report_caller *a = left, *b = right;

	if (a->call.callee != b->call.callee)
		return a->call.callee < b->call.callee ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->call.caller < b->call.caller ? -1 : a->call.caller > b->call.caller;
}

/* Lists all calls, by callee and weight. Returns their number, or -ENOMEM. */
static int64_t list_callers(const struct report *report, struct report_caller **ret)
{
	struct report_caller *callers = calloc(map_count(report->calls) + 1, sizeof(*callers));
	const struct report_call *call;
	const uint64_t *weight;
	size_t count = 0;

	if (!callers)
		return -ENOMEM;
	map_each (report->calls, pos, call, weight)
		callers[count++] = (struct report_caller){*call, *weight};
	qsort(callers, count, sizeof(*callers), compare_callers);
	*ret = callers;
	return (int64_t)count;
}

static void add_callers(const struct report *report, const struct report_caller *callers,
			size_t count, uint32_t function, struct buf *out)
{
	uint64_t self = report->functions[function].self;
	int shown = 0;

	for (size_t i = 0; i < count && shown < CALLERS_MAX; i++) {
		size_t len;

		if (callers[i].call.callee != function)
			continue;
		uint64_t percent = number_share(callers[i].weight, 100, self);
		if (percent < CALLERS_LEAST)
			break;
		const char *name = intern_get(report->names, callers[i].call.caller, &len);
		add_padded(out, "", 0, (COLUMN + SHARE) * 2);
		buf_printf(out, "    from %3u%%  ", (unsigned)percent);
		folded_name(out, name, len);
		buf_char(out, '\n');
		shown++;
	}
}

/* Returns the heaviest function after `last` (-1: the first one), or -1. */
static int64_t find_next(const struct report *report, int64_t last)
{
	int64_t found = -1;

	for (size_t i = 0; i < intern_count(report->names); i++) {
		uint64_t self = report->functions[i].self;

		if (!self ||
		    (last >= 0 && (self > report->functions[last].self ||
				   (self == report->functions[last].self && (int64_t)i <= last))))
			continue;
		if (found < 0 || self > report->functions[found].self)
			found = (int64_t)i;
	}
	return found;
}

static int write_rows(const struct report *report, const struct report_wish *wish, struct buf *out)
{
	_cleanup_free_ struct report_caller *callers = NULL;
	int64_t count = wish->callers ? list_callers(report, &callers) : 0, last = -1;

	if (count < 0)
		return (int)count;
	for (uint32_t i = 0; i < wish->rows && (last = find_next(report, last)) >= 0; i++) {
		size_t len;
		const char *name = intern_get(report->names, (uint32_t)last, &len);

		add_weight(report, out, report->functions[last].self);
		add_weight(report, out, report->functions[last].total);
		buf_str(out, "  ");
		folded_name(out, name, len);
		buf_char(out, '\n');
		if (wish->callers)
			add_callers(report, callers, (size_t)count, (uint32_t)last, out);
	}
	return buf_error(out);
}

int report_write(const struct stacks *stacks, const struct report_wish *wish, struct buf *out)
{
	_cleanup_(report_done) struct report report = {0};
	int r = intern_new(&report.names, NAMES_BYTES_MAX);

	if (r == 0)
		r = map_new(&report.calls, sizeof(struct report_call), sizeof(uint64_t), CALLS_MAX);
	for (size_t i = 0; r == 0 && i < stacks->count; i++) {
		const struct stacks_line *line = &stacks->lines[i];

		if (stacks_side(line) == STACKS_AFTER)
			r = add_stack(&report, stacks_text(stacks, line), stacks_length(line),
				      stacks_weight(stacks, line), i + 1);
	}
	if (r < 0)
		return r;
	add_weight(&report, out, report.total);
	buf_printf(out, " %s\n", wish->unit);
	add_padded(out, "self", 4, COLUMN);
	add_padded(out, "total", 5, COLUMN + SHARE);
	buf_printf(out, "%*s  function\n", SHARE, "");
	return write_rows(&report, wish, out);
}
