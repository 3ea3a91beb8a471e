// SPDX-License-Identifier: GPL-2.0-or-later
#include "mappings/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/shared/packed.h"

/* Address ranges reserved for a Java VM's code; adjacent heaps are one. */
struct cache {
	uint64_t start, end;
	bool written;
};

struct spans_writing {
	struct tables *tables;
	struct spans *spans;
	const struct spans_of *of;
	struct runtime_place *found; /* RUNTIMES */
	struct span *to;
	size_t count; /* of the space's mappings; then what was written */
	struct cache caches[HOTSPOT_HEAPS_MAX];
	size_t caches_count;
	bool has_luajit; /* one of the files has LuaJIT's interpreter */
};

/* ---- a Java VM's code cache ---- */

static void find_caches(struct spans_writing *writing)
{
	const struct hotspot *hotspot = writing->of->hotspot;

	for (size_t i = 0; hotspot && i < HOTSPOT_HEAPS_MAX; i++) {
		const struct hotspot_heap *heap = &hotspot->heaps[i];
		struct cache *last =
			writing->caches_count ? &writing->caches[writing->caches_count - 1] : NULL;

		if (heap->low >= heap->high)
			continue;
		if (last && last->end == heap->low)
			last->end = heap->high;
		else
			writing->caches[writing->caches_count++] =
				(struct cache){.start = heap->low, .end = heap->high};
	}
}

static bool is_in_cache(const struct spans_writing *writing, const struct region_view *region)
{
	for (size_t i = 0; i < writing->caches_count; i++) {
		if (region->start < writing->caches[i].end &&
		    writing->caches[i].start < region->end)
			return true;
	}
	return false;
}

/* ---- spans ---- */

/*
 * Returns whether it may be a code cache. A mapped file isn't one: then the VM hasn't told the
 * truth.
 */
static void count_one(void *arg, const struct region_view *region)
{
	struct spans_writing *writing = arg;

	writing->count++;
	if (region->file && is_in_cache(writing, region))
		writing->caches_count = 0;
}

/* Writes a file's mapping: what its table says, once there is one. */
static void write_file(struct spans_writing *writing, const struct region_view *region,
		       struct span *span)
{
	struct symbol_place place = {writing->of->pid, region->start, region->end};
	struct runtime_place *python = &writing->found[RUNTIME_PYTHON];
	struct runtime_place *java = &writing->found[RUNTIME_JAVA];
	struct runtime_place *made = &writing->found[RUNTIME_MADE];
	struct table *table = tables_get(writing->tables, region->file, &place);

	span->what = SPAN_NO_TABLE << SPAN_KIND_SHIFT;
	if (!table)
		return;
	writing->spans->tables[writing->spans->tables_count++] = table;
	table_span(writing->tables, table, region->file_offset, span);
	writing->spans->pending |= table_is_pending(table);
	writing->has_luajit |= table_has_luajit(table);
	if (!python->found) { /* the first one counts */
		python->found =
			table_python(table, region->file, region->file_offset, span, &python->bias);
		python->file = python->found ? region->file : NULL;
	}
	if (!java->found) {
		java->found = table_hotspot(table, region->file_offset, span, &java->bias);
		java->file = java->found ? region->file : NULL;
	}
	if (!made->found) {
		made->found = table_jit(table, region->file_offset, span, &made->bias);
		made->file = made->found ? region->file : NULL;
	}
}

static void put_span(struct spans_writing *writing, uint64_t start, uint64_t end,
		     enum span_kind kind, uint32_t flags)
{
	if (start < end && writing->count < SPANS_MAX)
		writing->to[writing->count++] =
			(struct span){.start = start,
				      .end = end,
				      .what = (uint32_t)kind << SPAN_KIND_SHIFT | flags};
}

/* Made code was written as if it might be LuaJIT's, as files may come behind it. */
static void deny_luajit(struct span *spans, size_t count)
{
	for (size_t i = 0; i < count; i++)
		spans[i].what &= ~SPAN_LUAJIT;
}

/* Writes made code by the rows that there are for it. */
static void put_rows(struct spans_writing *writing, unsigned source, const struct jit_piece *piece,
		     uint64_t start, uint64_t end)
{
	struct span span = {.start = start, .end = end};

	if (start >= end || writing->count >= SPANS_MAX)
		return;
	table_span_at(writing->tables, writing->of->made[source].table,
		      piece->at + (start - piece->start), &span);
	writing->to[writing->count++] = span;
}

/* Writes made code that is no Java VM's, by the rows of that source and of those behind it. */
static void put_made(struct spans_writing *writing, unsigned source, uint64_t start, uint64_t end)
{
	const struct jit_rows *rows = source < SPANS_MADE ? writing->of->made[source].rows : NULL;

	if (source == SPANS_MADE) {
		put_span(writing, start, end, SPAN_BARE, SPAN_LUAJIT);
		return;
	}
	for (size_t i = 0; rows && i < rows->count && rows->pieces[i].start < end; i++) {
		const struct jit_piece *piece = &rows->pieces[i];
		uint64_t from = piece->start > start ? piece->start : start;
		uint64_t to = piece->end < end ? piece->end : end;

		if (from >= to)
			continue;
		put_made(writing, source + 1, start, from);
		put_rows(writing, source, piece, from, to);
		start = to;
	}
	if (start < end)
		put_made(writing, source + 1, start, end);
}

/*
 * Writes JIT code: a Java VM's, as all that is reserved for it at the first of its mappings, or
 * another program's.
 */
static void write_made(struct spans_writing *writing, const struct region_view *region)
{
	uint64_t from = region->start;

	for (size_t i = 0; i < writing->caches_count; i++) {
		struct cache *cache = &writing->caches[i];

		if (cache->end <= from || cache->start >= region->end)
			continue;
		put_made(writing, 0, from, cache->start);
		if (!cache->written)
			put_span(writing, cache->start, cache->end, SPAN_HOTSPOT, 0);
		cache->written = true;
		from = cache->end;
	}
	put_made(writing, 0, from, region->end);
	writing->spans->has_made = true;
}

static void write_one(void *arg, const struct region_view *region)
{
	struct spans_writing *writing = arg;
	struct span span = {.start = region->start, .end = region->end};

	if (writing->count == SPANS_MAX)
		return;
	if (!region->file) {
		write_made(writing, region);
		return;
	}
	write_file(writing, region, &span);
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

/* Bytes of the walker's settings for a runtime, a number of whole words. */
static const size_t walk_bytes[RUNTIMES] = {sizeof(struct cpython), sizeof(struct hotspot)};

/* Returns the walker's settings for a runtime; NULL: it isn't walked. */
static const void *walk_of(const struct spans_writing *writing, enum runtime_number number)
{
	if (number == RUNTIME_PYTHON)
		return writing->of->python;
	if (number == RUNTIME_MADE)
		return NULL;
	return writing->caches_count ? writing->of->hotspot : NULL;
}

static size_t words_of_walks(const struct spans_writing *writing)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < RUNTIMES; i++)
		bytes += walk_of(writing, i) ? walk_bytes[i] : 0;
	return bytes / sizeof(uint32_t);
}

/* Writes the walker's settings for the runtimes, in the words behind `at`. */
static void write_walks(const struct spans_writing *writing, uint32_t at)
{
	struct spans *spans = writing->spans;

	for (unsigned i = 0; i < RUNTIMES; i++) {
		const void *walk = walk_of(writing, i);

		if (!walk)
			continue;
		spans->runtimes[i].walk = at;
		memcpy(arena_words(spans->arena, at), walk, walk_bytes[i]);
		at += walk_bytes[i] / sizeof(uint32_t);
	}
}

static size_t count_pieces(const struct spans_of *of)
{
	size_t count = 0;

	for (unsigned i = 0; i < SPANS_MADE; i++)
		count += of->made[i].rows ? of->made[i].rows->count : 0;
	return count;
}

/*
 * Looks up all tables, then writes them into the arena; in that order, as making room may drop
 * tables.
 */
static int write_all(struct spans_writing *writing)
{
	struct spans *spans = writing->spans;
	/* each may cut a mapping in two */
	size_t most = writing->count + 2 * writing->caches_count + 2 * count_pieces(writing->of);

	if (!writing->count)
		return 0;
	most = most < SPANS_MAX ? most : SPANS_MAX;
	spans->tables = calloc(most + SPANS_MADE, sizeof(struct table *));
	_cleanup_free_ struct span *written = calloc(most, sizeof(*written));
	if (!spans->tables || !written)
		return -ENOMEM;
	size_t words = most * SPAN_WORDS + words_of_walks(writing);
	int64_t start = arena_take(spans->arena, words, true);
	if (start < 0)
		return (int)start;
	spans->start = (uint32_t)start;
	spans->words = (uint32_t)words;
	writing->to = written;
	writing->count = 0;
	address_space_each(writing->of->space, write_one, writing);
	if (!writing->has_luajit)
		deny_luajit(written, writing->count);
	for (unsigned i = 0; i < SPANS_MADE; i++) {
		if (writing->of->made[i].rows)
			spans->tables[spans->tables_count++] =
				table_ref(writing->of->made[i].table);
	}
	spans->count = (uint32_t)writing->count;
	memcpy(arena_words(spans->arena, spans->start), written, most * sizeof(*written));
	write_walks(writing, spans->start + (uint32_t)(most * SPAN_WORDS));
	return 0;
}

/* Returns a new number: not 0, and none that a program may still know. Loop thread only. */
static uint32_t next_number(void)
{
	static uint32_t number;

	number++;
	if (!number)
		number++;
	return number;
}

int spans_write(struct spans **ret, struct arena *arena, struct tables *tables,
		const struct spans_of *of, struct runtime_place found[RUNTIMES])
{
	struct spans *spans = calloc(1, sizeof(*spans));
	struct spans_writing writing = {.tables = tables, .spans = spans, .of = of, .found = found};

	memset(found, 0, RUNTIMES * sizeof(*found));
	if (!spans)
		return -ENOMEM;
	spans->refs = 1;
	spans->number = next_number();
	spans->arena = arena;
	find_caches(&writing);
	address_space_each(of->space, count_one, &writing);
	int r = write_all(&writing);
	if (!spans->has_made)
		found[RUNTIME_MADE] = (struct runtime_place){0};
	for (unsigned i = 0; i < RUNTIMES; i++)
		spans->runtimes[i].is_there = found[i].found != NULL;
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

bool spans_want_made(const struct spans *spans, const struct symbol_file *file,
		     uint64_t file_offset)
{
	for (size_t i = 0; spans && i < spans->tables_count; i++) {
		if (table_is_of(spans->tables[i], file))
			return table_want_made(spans->tables[i], file_offset);
	}
	return false;
}

bool spans_have_made(const struct spans *spans)
{
	for (size_t i = 0; spans && i < spans->tables_count; i++) {
		if (table_has_made(spans->tables[i]))
			return true;
	}
	return false;
}

bool spans_are_made(const struct spans *spans, const struct symbol_file *file, uint64_t file_offset)
{
	for (size_t i = 0; spans && i < spans->tables_count; i++) {
		if (table_is_of(spans->tables[i], file))
			return table_is_made(spans->tables[i], file_offset);
	}
	return false;
}

static bool walks_are_equal(const struct spans *a, const struct spans *b)
{
	for (unsigned i = 0; i < RUNTIMES; i++) {
		uint32_t in_a = a->runtimes[i].walk, in_b = b->runtimes[i].walk;

		if (!in_a != !in_b ||
		    (in_a && memcmp(arena_words(a->arena, in_a), arena_words(b->arena, in_b),
				    walk_bytes[i]) != 0))
			return false;
	}
	return true;
}

bool spans_are_equal(const struct spans *a, const struct spans *b)
{
	return a && b && a->count == b->count && a->pending == b->pending &&
	       (!a->count ||
		memcmp(arena_words(a->arena, a->start), arena_words(b->arena, b->start),
		       a->count * sizeof(struct span)) == 0) &&
	       walks_are_equal(a, b);
}
