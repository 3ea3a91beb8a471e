/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables in an arena of plain memory, and a worker that builds them. */
#pragma once

#include "unit/lib/folder.h"

#include "loop/loop.h"
#include "symbol/symbol.h"
#include "unwind/tables.h"

#define CHUNK_BYTES (CHUNK_WORDS * 4U)

struct scene {
	struct loop *loop;
	struct worker *worker;
	struct symbol_files *files;
	struct tables *tables;
	struct arena *arena;
	uint32_t *words;
	struct folder folder; /* for files that are made up */
	struct loop_timer alarm;
	int changes;
	bool asleep;
};

static inline void on_changed(void *arg)
{
	struct scene *scene = arg;
	struct tables_stats stats;

	scene->changes++;
	tables_stats(scene->tables, &stats);
	if (!stats.pending && scene->asleep)
		loop_stop(scene->loop);
}

static inline void fail_in_vain(void *arg)
{
	const struct scene *scene = arg;

	loop_stop(scene->loop);
}

static inline int add_chunk(void *arg, unsigned chunk)
{
	const struct scene *scene = arg;

	memset(scene->words + (size_t)chunk * CHUNK_WORDS, 0, CHUNK_BYTES);
	return 0;
}

static inline void remove_chunk(void *arg, unsigned chunk)
{
	const struct scene *scene = arg;

	memset(scene->words + (size_t)chunk * CHUNK_WORDS, 0xff, CHUNK_BYTES);
}

static inline void new_arena(struct scene *scene, unsigned chunks)
{
	struct arena_memory memory = {scene->words, add_chunk, remove_chunk, scene};

	arena_free(scene->arena);
	assert_int_equal(arena_new(&scene->arena, &memory, (size_t)chunks * CHUNK_BYTES), 0);
}

/* Jobs may take `limit_ns`; there are words for `room` chunks, of which the arena has `chunks`. */
static inline void scene_begin(struct scene *scene, uint64_t limit_ns, unsigned room,
			       unsigned chunks)
{
	*scene = (struct scene){.alarm = {.expired = fail_in_vain, .arg = scene}};
	folder_make(&scene->folder);
	scene->words = malloc((size_t)room * CHUNK_BYTES);
	assert_non_null(scene->words);
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", limit_ns), 0);
	assert_int_equal(symbol_files_new(&scene->files, scene->worker), 0);
	assert_int_equal(tables_new(&scene->tables, scene->worker, on_changed, scene), 0);
	new_arena(scene, chunks);
	tables_set_arena(scene->tables, scene->arena);
}

static inline void scene_done(struct scene *scene)
{
	worker_stop(scene->worker);
	loop_flush(scene->loop);
	tables_free(scene->tables);
	arena_free(scene->arena);
	symbol_files_free(scene->files);
	worker_free(scene->worker);
	loop_free(scene->loop);
	free(scene->words);
	folder_done(&scene->folder);
}

static inline struct tables_stats stats_of(const struct scene *scene)
{
	struct tables_stats stats;

	tables_stats(scene->tables, &stats);
	return stats;
}

/* Until no table is on its way. */
static inline void wait_for_tables(struct scene *scene)
{
	if (!stats_of(scene).pending)
		return;
	scene->asleep = true;
	loop_timer_set(scene->loop, &scene->alarm, loop_now_ns() + 30 * NS_PER_S);
	assert_int_equal(loop_run(scene->loop), 0);
	loop_timer_cancel(scene->loop, &scene->alarm);
	scene->asleep = false;
	assert_int_equal(stats_of(scene).pending, 0);
}
