/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hash map from keys of one size to values of one size, both stored inside, with a maximum
 * number of entries given at creation. Keys are compared as bytes: zero the padding.
 *
 * The hash is seeded at random for each map, so that a target that chooses its names or addresses
 * can't aim for collisions. Value pointers are valid until the next put or delete.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map;

/* -ENOMEM */
int map_new(struct map **ret, size_t key_bytes, size_t value_bytes, size_t max_entries);
void map_free(struct map *map);
static inline void map_freep(struct map **map)
{
	map_free(*map);
}
#define _cleanup_map_ _cleanup_(map_freep)

size_t map_count(const struct map *map);
void *map_get(const struct map *map, const void *key);

/* The value of `key`, zeroed when new. Returns 1 new, 0 it was there, -ENOSPC full, -ENOMEM. */
int map_put(struct map *map, const void *key, void **value);

/* True when the key was there. */
bool map_del(struct map *map, const void *key);
void map_clear(struct map *map);

/* Walks all entries: *pos starts at 0; false at the end. No put or delete in between, but the
 * entry just returned may be deleted when the walk starts over afterwards. */
bool map_next(const struct map *map, size_t *pos, const void **key, void **value);

#define map_each(map, pos, key, value)                                                             \
	for (size_t pos = 0; map_next((map), &(pos), (const void **)&(key), (void **)&(value));)
