// SPDX-License-Identifier: GPL-2.0-only
#include "profile/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "packed.h"

struct writing {
	struct tables *tables;
	struct spans *spans;
	const struct spans_of *of;
	struct spans_python *python;
	struct span *to;
	size_t count; /* of the space's mappings; behind them what was written */
};

static void count_one(void *arg, const struct region_view *region)
{
	struct writing *writing = arg;

	(void)region;
	writing->count++;
}

/* Code of a file: what its table says, once there is one. */
static void write_file(struct writing *writing, const struct region_view *region, struct span *span)
{
	struct symbol_place place = {writing->of->pid, region->start, region->end};
	struct spans_python *python = writing->python;
	struct table *table = tables_get(writing->tables, region->file, &place);

	span->what = SPAN_NO_TABLE << SPAN_KIND_SHIFT;
	if (!table)
		return;
	writing->spans->tables[writing->spans->tables_count++] = table;
	table_span(writing->tables, table, region->file_offset, span);
	writing->spans->pending |= table_is_pending(table);
	if (python->found)
		return; /* the first one counts */
	python->found = table_python(table, region->file, region->file_offset, span, &python->bias);
	python->file = python->found ? region->file : NULL;
}

static void write_one(void *arg, const struct region_view *region)
{
	struct writing *writing = arg;
	struct span span = {.start = region->start, .end = region->end};

	if (writing->count == SPANS_MAX)
		return;
	if (region->file)
		write_file(writing, region, &span);
	else
		span.what = SPAN_BARE << SPAN_KIND_SHIFT;
	writing->to[writing->count++] = span;
}

static void spans_free(struct spans *spans)
{
	for (size_t i = 0; i < spans->tables_count; i++)
		table_unref(spans->tables[i]);
	if (spans->words)
		arena_give(spans->arena, spans->start, spans->words);
	free(spans->tables);
	free(spans);
}

/* Looks up all tables, and writes what they say into the arena: in that order, for making room may
 * take tables away. */
static int write_all(struct writing *writing)
{
	const struct cpython *python = writing->of->python;
	struct spans *spans = writing->spans;
	size_t most = writing->count < SPANS_MAX ? writing->count : SPANS_MAX;

	if (!most)
		return 0;
	spans->tables = calloc(most, sizeof(struct table *));
	_cleanup_free_ struct span *written = calloc(most, sizeof(*written));
	if (!spans->tables || !written)
		return -ENOMEM;
	size_t words = most * SPAN_WORDS + (python ? CPYTHON_WORDS : 0);
	int64_t start = arena_take(spans->arena, words, true);
	if (start < 0)
		return (int)start;
	spans->start = (uint32_t)start;
	spans->words = (uint32_t)words;
	writing->to = written;
	writing->count = 0;
	space_each(writing->of->space, write_one, writing);
	spans->count = (uint32_t)writing->count;
	memcpy(arena_words(spans->arena, spans->start), written, most * sizeof(*written));
	if (python) {
		spans->python = spans->start + (uint32_t)(most * SPAN_WORDS);
		memcpy(arena_words(spans->arena, spans->python), python, sizeof(*python));
	}
	return 0;
}

/* Not 0, and not one that a program may still know. Only the main thread writes spans. */
static uint32_t next_number(void)
{
	static uint32_t number;

	number++;
	if (!number)
		number++;
	return number;
}

int spans_write(struct spans **ret, struct arena *arena, struct tables *tables,
		const struct spans_of *of, struct spans_python *python)
{
	struct spans *spans = calloc(1, sizeof(*spans));
	struct writing writing = {.tables = tables, .spans = spans, .of = of, .python = python};

	*python = (struct spans_python){0};
	if (!spans)
		return -ENOMEM;
	spans->refs = 1;
	spans->number = next_number();
	spans->arena = arena;
	space_each(of->space, count_one, &writing);
	int r = write_all(&writing);
	spans->has_python = python->found != NULL;
	if (r < 0)
		spans_free(spans);
	else
		*ret = spans;
	return r;
}

struct spans *spans_ref(struct spans *spans)
{
	if (spans)
		spans->refs++;
	return spans;
}

void spans_unref(struct spans *spans)
{
	if (spans && --spans->refs == 0)
		spans_free(spans);
}

void spans_used(const struct spans *spans, const struct symbol_file *file)
{
	for (size_t i = 0; spans && i < spans->tables_count; i++)
		table_used_by(spans->tables[i], file);
}

static bool pythons_are_equal(const struct spans *a, const struct spans *b)
{
	return !a->python == !b->python && (!a->python || memcmp(arena_words(a->arena, a->python),
								 arena_words(b->arena, b->python),
								 sizeof(struct cpython)) == 0);
}

bool spans_are_equal(const struct spans *a, const struct spans *b)
{
	return a && b && a->count == b->count && a->pending == b->pending &&
	       (!a->count ||
		memcmp(arena_words(a->arena, a->start), arena_words(b->arena, b->start),
		       a->count * sizeof(struct span)) == 0) &&
	       pythons_are_equal(a, b);
}
