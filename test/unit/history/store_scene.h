/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store in a folder of its own, windows of which each has a function of its own, and what a range
 * of them has to have. */
#pragma once

#include "base/file.h"
#include "base/clock.h"
#include "history/history_store.h"
#include "unit/history/history_scene.h"
#include "unit/lib/folder.h"

#include <dirent.h>

#define WINDOWS_MAX 2000
#define EVER	    ((struct history_range){0, INT64_MAX})

struct store_scene {
	struct folder folder;
	struct history_store store;
	/* the windows that were added */
	struct made_time {
		int64_t from, until;
	} windows[WINDOWS_MAX];
	size_t count;
};

static inline void scene_open(struct store_scene *scene)
{
	struct why why = {""};

	scene->store = (struct history_store){0};
	assert_int_equal(history_store_open(&scene->store, scene->folder.path, &why), 0);
	assert_string_equal(why.text, "");
}

static inline struct store_scene *scene_new(void)
{
	struct store_scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	folder_make(&scene->folder);
	scene_open(scene);
	return scene;
}

static inline void scene_restart(struct store_scene *scene)
{
	history_store_done(&scene->store);
	scene_open(scene);
}

static inline void scene_freep(struct store_scene **scene)
{
	history_store_done(&(*scene)->store);
	folder_done(&(*scene)->folder);
	free(*scene);
}
#define _cleanup_scene_ _cleanup_(scene_freep)

/* ---- windows ---- */

/* The tree of the n-th window: a function of its own, and others that all have. */
static inline struct tree *scene_tree(size_t number)
{
	struct tree *tree = new_tree();
	uint64_t random = number;
	char stack[64];

	snprintf(stack, sizeof(stack), "[7]app;main;w%zu", number);
	add_stack(tree, stack, 1, 1);
	for (int i = 0; i < 6; i++) {
		uint64_t weight = random_next(&random) % 100 + 10 * (uint64_t)i;

		if (weight % 3 == 0)
			continue;
		snprintf(stack, sizeof(stack), "[%d]app;main;f%d;f%d", 7 + i % 2, i, i * i % 6);
		add_stack(tree, stack, weight, weight / 2);
	}
	return tree;
}

/* Returns what history_store_add() returns. A window that was added is noted. */
static inline int scene_add(struct store_scene *scene, int64_t from, int64_t length)
{
	_cleanup_tree_ struct tree *tree = scene_tree(scene->count);
	_cleanup_window_ struct made_window window = window_of(tree, from, length);
	int r = history_store_add(&scene->store, SERIES, &window.head, &window.payload);

	if (r == 0) {
		assert_true(scene->count < WINDOWS_MAX);
		scene->windows[scene->count++] = (struct made_time){from, from + length};
	}
	return r;
}

/* Adds windows one after the other. Returns where they end. */
static inline int64_t scene_add_many(struct store_scene *scene, int64_t from, int64_t length,
				     int count)
{
	for (int i = 0; i < count; i++, from += length)
		assert_int_equal(scene_add(scene, from, length), 0);
	return from;
}

/* ---- what is there ---- */

static inline const struct history_entries *entries_of(struct store_scene *scene,
						       enum history_level level)
{
	struct history_series *series = history_index_find(&scene->store.index, SERIES, false);

	assert_non_null(series);
	return &series->levels[level];
}

static inline struct blend blend_range(struct store_scene *scene, const struct history_range *range,
				       enum history_level coarsest, uint64_t damaged)
{
	struct blend blend = new_blend();
	uint64_t found = 0;

	assert_int_equal(
		history_store_blend(&scene->store, SERIES, range, coarsest, &blend, &found), 0);
	assert_int_equal(found, damaged);
	return blend;
}

/* Returns how often a window is in the blend, by its own function. */
static inline unsigned times_blended(const struct blend *blend, size_t window)
{
	char name[32];

	snprintf(name, sizeof(name), "w%zu", window);
	const struct function_row *row = find_function(blend->functions, name);
	return row ? (unsigned)row->self[blend->side].sum : 0;
}

static inline bool is_meant(const struct made_time *window, const struct history_range *range)
{
	int64_t middle = window->from + (window->until - window->from) / 2;

	return middle >= range->from && middle < range->until;
}

/* The windows from `first` on, each whose middle is in the range, once. */
static inline void assert_each_once(struct store_scene *scene, const struct history_range *range,
				    enum history_level coarsest, size_t first)
{
	_cleanup_blend_ struct blend blend = blend_range(scene, range, coarsest, 0);
	uint64_t meant = 0;

	for (size_t i = 0; i < scene->count; i++) {
		unsigned wanted = i >= first && is_meant(&scene->windows[i], range);

		meant += wanted;
		if (times_blended(&blend, i) != wanted)
			fail_msg("window %zu: %u times", i, times_blended(&blend, i));
	}
	assert_int_equal(blend.sum.windows, meant);
}

/* The windows of a list, each once, and no others. */
static inline void assert_are_there(struct store_scene *scene, const bool *wanted)
{
	for (int level = 0; level < HISTORY_LEVELS; level++) {
		_cleanup_blend_ struct blend blend = blend_range(scene, &EVER, level, 0);

		for (size_t i = 0; i < scene->count; i++) {
			if (times_blended(&blend, i) != wanted[i])
				fail_msg("window %zu: %u times at level %d", i,
					 times_blended(&blend, i), level);
		}
	}
}

/* Blends each window by itself, as they were added: what all else is compared with. */
static inline struct blend blend_by_hand(const struct store_scene *scene,
					 const struct history_range *range)
{
	struct blend blend = new_blend();

	for (size_t i = 0; i < scene->count; i++) {
		const struct made_time *time = &scene->windows[i];

		if (!is_meant(time, range))
			continue;
		_cleanup_tree_ struct tree *tree = scene_tree(i);
		_cleanup_window_ struct made_window window =
			window_of(tree, time->from, time->until - time->from);
		window.head.first = window.head.last = i;
		assert_int_equal(blend_window(&blend, &window), 0);
	}
	return blend;
}

/* A range has exactly what its windows have, from whatever records it comes. */
static inline void assert_as_by_hand(struct store_scene *scene, const struct history_range *range)
{
	_cleanup_blend_ struct blend wanted = blend_by_hand(scene, range);

	for (int level = 0; level < HISTORY_LEVELS; level++) {
		_cleanup_blend_ struct blend found = blend_range(scene, range, level, 0);

		assert_same_trees(wanted.tree, found.tree);
		assert_same_functions(&wanted, &found);
		assert_same_heads(&wanted.sum, &found.sum);
		assert_true(wanted.weight == found.weight && wanted.events == found.events);
		assert_true(fabs(wanted.length - found.length) <= 1e-9 * wanted.length);
		assert_true(fabs(wanted.squares - found.squares) <= 1e-9 * wanted.squares);
	}
}

/* ---- files ---- */

#define FILE_BYTES ((size_t)8 << 20)

static inline void file_path(const char *level, uint64_t number, char path[256])
{
	snprintf(path, 256, "history/" SERIES ".%s.%016llx", level, (unsigned long long)number);
}

static inline void read_part(const struct folder *folder, const char *level, uint64_t number,
			     struct buf *content)
{
	char path[256];

	file_path(level, number, path);
	*content = (struct buf)BUF_INIT(FILE_BYTES);
	assert_int_equal(file_read(folder->fd, path, content), 0);
}

static inline void write_part(const struct folder *folder, const char *level, uint64_t number,
			      const char *bytes, size_t len)
{
	char path[256];

	file_path(level, number, path);
	if (mkdirat(folder->fd, "history", 0700) < 0)
		assert_int_equal(errno, EEXIST);
	folder_put(folder, path, bytes, len);
}

/* Counts the files of a level (NULL: all entries). */
static inline size_t count_files(const struct folder *folder, const char *level)
{
	char path[128];
	size_t count = 0;

	snprintf(path, sizeof(path), "%s/history", folder->path);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	for (const struct dirent *entry; (entry = readdir(dir));) {
		bool is_entry = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;

		count += is_entry && (!level || strstr(entry->d_name, level));
	}
	closedir(dir);
	return count;
}
