/* SPDX-License-Identifier: GPL-2.0-or-later */
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

/* Makes an empty map. Returns 0, or -ENOMEM. The caller owns *ret. */
int map_new(struct map **ret, size_t key_bytes, size_t value_bytes, size_t max_entries);
void map_free(struct map *map);
static inline void map_freep(struct map **map)
{
	map_free(*map);
}
#define _cleanup_map_ _cleanup_(map_freep)

size_t map_count(const struct map *map);

/* Returns the value of `key`, or NULL. */
void *map_get(const struct map *map, const void *key);

/* Stores a pointer to the value of `key` in *value; adds a zeroed value if the key is new. Returns
 * 1 if the key is new, 0 if it was there, -ENOSPC if the map is full, or -ENOMEM. */
int map_put(struct map *map, const void *key, void **value);

/* Makes room for so many more entries, or as many as the map may have. Returns 0, or -ENOMEM. */
int map_reserve(struct map *map, size_t more);

/* Removes an entry. Returns whether the key was there. */
bool map_del(struct map *map, const void *key);

/* Removes all entries and frees their memory. */
void map_clear(struct map *map);

/* Returns the next entry of a walk over all entries, or false at the end; *pos is 0 at first.
 * During a walk no entry may be added or removed. The entry just returned may be removed if the
 * walk then starts again with *pos 0. */
bool map_next(const struct map *map, size_t *pos, const void **key, void **value);

#define map_each(map, pos, key, value)                                                             \
	for (size_t pos = 0; map_next((map), &(pos), (const void **)&(key), (void **)&(value));)
