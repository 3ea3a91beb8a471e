// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/tables_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define TABLES_MAX 65536
#define OTHERS_MAX                                                                                 \
	4 /* other processes through which an unreadable file is tried again in a window */

int tables_new(struct tables **ret, struct worker *worker, void (*changed)(void *arg), void *arg)
{
	_cleanup_free_ struct tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return -ENOMEM;
	tables->worker = worker;
	tables->changed = changed;
	tables->arg = arg;
	tables->queue_end = &tables->queue;
	int r = map_new(&tables->by_id, sizeof(struct open_request_id), sizeof(struct table *),
			TABLES_MAX);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(tables);
	return 0;
}

/* ---- one table ---- */

static void table_free(struct table *table)
{
	symbol_file_unref(table->file);
	symbol_file_unref(table->shown);
	free(table->segments);
	free(table->python);
	free(table->hotspot);
	making_done(&table->making);
	symbol_root_unref(table->python_root);
	free(table);
}

static void unlink_table(struct table *table)
{
	*table->link = table->next;
	if (table->next)
		table->next->link = table->link;
}

/* Removes and frees a table to which nobody refers. */
static void drop_table(struct tables *tables, struct table *table)
{
	table_leave_content(table);
	table_hide(table);
	if (table->registered)
		map_del(tables->by_id, &table->id);
	unlink_table(table);
	table_free(table);
}

static bool is_free(const struct table *table)
{
	return !table->refs && !table->building && !table->searching &&
	       table->state != TABLE_QUEUED && !table->making.renewing;
}

struct table *table_ref(struct table *table)
{
	if (table->refs++ == 0 && table->content)
		table->content->wanted++;
	return table;
}

void table_unref(struct table *table)
{
	if (!table || --table->refs)
		return;
	if (table->content)
		table->content->wanted--;
	if (!table->tables)
		table_free(table);
	else if (!table->registered)
		drop_table(table->tables, table);
}

bool table_is_pending(const struct table *table)
{
	return table->state == TABLE_QUEUED;
}

struct table *table_new(struct tables *tables)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->tables = tables;
	table->state = TABLE_BROKEN;
	table->next = tables->all;
	table->link = &tables->all;
	if (table->next)
		table->next->link = &table->next;
	tables->all = table;
	return table;
}

/* ---- all of them ---- */

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	tables_set_arena(tables, NULL);
	hung_fs_done(&tables->hung);
	while (tables->all) {
		struct table *table = tables->all;

		unlink_table(table);
		table->tables = NULL;
		table->state = TABLE_BROKEN;
		symbol_file_unref(TAKE_PTR(table->file)); /* closing needs the worker */
		symbol_file_unref(TAKE_PTR(table->shown));
		if (!table->refs)
			table_free(table);
	}
	map_free(tables->by_id);
	free(tables);
}

void tables_set_arena(struct tables *tables, struct arena *arena)
{
	queue_clear(tables);
	contents_forget(tables);
	tables->arena = arena;
	for (struct table *table = tables->all, *next; table; table = next) {
		next = table->next;
		table->failures = 0;
		if (is_free(table))
			drop_table(tables, table);
		else if (table->state != TABLE_BARE && table->state != TABLE_BROKEN)
			table_ask(tables, table);
		else if (arena)
			table_show(table);
	}
}

/* Returns the table of a file that can be opened, new or known; NULL without memory. */
static struct table *find_or_add(struct tables *tables, const struct open_request_id *id)
{
	struct table **slot = map_get(tables->by_id, id);

	if (slot)
		return *slot;
	struct table *table = table_new(tables);
	if (!table)
		return NULL;
	int r = map_put(tables->by_id, id, (void **)&slot);
	if (r < 0) { /* the table isn't shared, and never read */
		tables->stats.refused++;
		return table;
	}
	*slot = table;
	table->registered = true;
	table->id = *id;
	table->state = TABLE_UNASKED;
	return table;
}

struct table *tables_get(struct tables *tables, struct symbol_file *file,
			 const struct symbol_place *place)
{
	struct open_request opening;
	struct open_request_id id;

	if (symbol_file_opening(file, place, &opening) < 0) {
		struct table *nameless = table_new(tables);
		return nameless ? table_ref(nameless) : NULL;
	}
	open_request_identify(&id, &opening.stat);
	open_request_done(&opening);
	struct table *table = find_or_add(tables, &id);
	if (!table)
		return NULL;
	table_ref(table);
	table->forsaken = false;
	if (!table->registered)
		return table;
	bool other = table->file && table->place.pid != place->pid;
	symbol_file_ref(file);
	symbol_file_unref(table->file);
	table->file = file;
	if (place->pid)
		table->place = *place;
	if (!table->shown && tables->arena)
		table_show(table);
	if (table->state == TABLE_UNASKED ||
	    (table->state == TABLE_UNREAD && other && table->others++ < OTHERS_MAX))
		table_ask(tables, table);
	return table;
}

/* ---- spans for the kernel's side ---- */

/* A mapping begins with a page, a segment anywhere in a page, so a mapping may hold bytes of two
 * segments. It is taken as that of the segment of which it has most bytes. */
bool table_address(const struct table *table, uint64_t file_offset, uint64_t bytes,
		   uint64_t *address)
{
	uint64_t most = 0;

	for (size_t i = 0; i < table->segments_count; i++) {
		const struct elf_segment *segment = &table->segments[i];
		uint64_t from = segment->file_offset, to = from + segment->file_bytes;
		uint64_t end = file_offset + bytes;

		if (to < from || end < file_offset)
			continue;
		from = from > file_offset ? from : file_offset;
		to = to < end ? to : end;
		if (from >= to || to - from <= most)
			continue;
		most = to - from;
		*address = segment->address + (file_offset - segment->file_offset);
	}
	return most > 0;
}

static enum span_kind kind_of(const struct table *table)
{
	switch (table->state) {
	case TABLE_THERE:
		return SPAN_TABLE;
	case TABLE_QUEUED:
		return SPAN_PENDING;
	case TABLE_BARE:
		return SPAN_BARE;
	default:
		return SPAN_NO_TABLE;
	}
}

void table_span(struct tables *tables, struct table *table, uint64_t file_offset, struct span *span)
{
	const struct content *content = table->content;
	enum span_kind kind = kind_of(table);
	uint64_t address;

	span->base = 0;
	span->index = 0;
	span->what = (uint32_t)kind << SPAN_KIND_SHIFT;
	if (kind != SPAN_TABLE)
		return;
	table->content->last_used = ++tables->uses;
	if (!table_address(table, file_offset, span->end - span->start, &address)) {
		span->what = (uint32_t)SPAN_BARE << SPAN_KIND_SHIFT;
		return;
	}
	span->base = span->start - (address - content->low);
	span->index = content->index;
	span->what = table_what(content);
}

bool table_has_luajit(const struct table *table)
{
	return table->has_luajit;
}

bool table_is_of(const struct table *table, const struct symbol_file *file)
{
	return table->file == file;
}

void table_used_by(struct table *table, const struct symbol_file *file)
{
	if (table_is_of(table, file) && table->content)
		table->content->last_used = ++table->tables->uses;
}

/* ---- after a window ---- */

static bool has_room(const struct tables *tables, size_t words)
{
	return arena_has_room(tables->arena, words, content_is_whole(words));
}

/* Tries tables again whose time has come; a table waits longer each time. *words: the free words.
 */
static void try_again(struct tables *tables, bool newcomers, uint64_t *words)
{
	for (struct table *table = tables->all; table; table = table->next) {
		bool homeless = table->state == TABLE_HOMELESS;

		if (!table->refs || !table->file || (!homeless && table->state != TABLE_UNREAD) ||
		    (table->failures == 1) != newcomers)
			continue;
		if (table->waits && --table->waits)
			continue;
		if (homeless && (*words < table->words || !has_room(tables, table->words)))
			continue;
		if (homeless)
			*words -= table->words;
		table_ask(tables, table);
	}
}

static void try_all_again(struct tables *tables)
{
	struct arena_stats arena;

	arena_stats(tables->arena, &arena);
	uint64_t words = (arena.bytes_max - arena.used - arena.given) / sizeof(uint32_t);
	try_again(tables, true, &words); /* newcomers first: room was made for them */
	try_again(tables, false, &words);
}

void tables_sweep(struct tables *tables)
{
	if (tables->arena)
		arena_settle(tables->arena);
	for (struct table *table = tables->all, *next; table; table = next) {
		next = table->next;
		table->others = 0;
		if (is_free(table) && table->forsaken)
			drop_table(tables, table);
		else
			table->forsaken = !table->refs;
	}
	if (tables->arena)
		try_all_again(tables);
}

bool tables_evict(struct tables *tables, size_t words)
{
	bool missed = false;
	struct arena_stats arena;

	if (!tables->arena)
		return false;
	arena_stats(tables->arena, &arena);
	size_t given = arena.given / sizeof(uint32_t);
	if (given >= words)
		return true;
	size_t sum = contents_evict(tables, words - given, &missed);
	if (missed)
		tables->changed(tables->arg);
	return sum > 0;
}

void tables_stats(const struct tables *tables, struct tables_stats *stats)
{
	*stats = tables->stats;
	for (const struct table *table = tables->all; table; table = table->next) {
		stats->pending += table->state == TABLE_QUEUED;
		stats->made_functions += table->making.rows.functions;
		stats->made_refused += table->making.rows.refused;
	}
	for (const struct content *content = tables->contents; content; content = content->next) {
		stats->tables++;
		stats->rows += content->rows;
		stats->bytes += content->words * sizeof(uint32_t);
		for (int i = 0; i < UNSUPPORTED_COUNT; i++)
			stats->unsupported[i] += content->unsupported[i];
	}
	if (tables->arena)
		arena_stats(tables->arena, &stats->arena);
}
