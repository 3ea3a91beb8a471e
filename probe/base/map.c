// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Open addressing with linear probing and backward-shift deletion (no tombstones). A slot is
 *
 *	| used (1 byte, padded to 8) | key, padded to 8 | value, padded to 8 |
 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/keys.h"

struct map {
	char *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
	size_t max_entries;
	size_t key_bytes;
	size_t value_bytes;
	size_t value_offset;
	size_t slot_bytes;
	uint64_t seed;
};

#define KEY_OFFSET 8
#define ROUND8(n)  (((n) + 7) & ~(size_t)7)

int map_new(struct map **ret, size_t key_bytes, size_t value_bytes, size_t max_entries)
{
	struct map *map = calloc(1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	map->key_bytes = key_bytes;
	map->value_bytes = value_bytes;
	map->value_offset = KEY_OFFSET + ROUND8(key_bytes);
	map->slot_bytes = map->value_offset + ROUND8(value_bytes);
	map->max_entries = max_entries;
	map->seed = hash_seed();
	*ret = map;
	return 0;
}

void map_free(struct map *map)
{
	if (!map)
		return;
	free(map->slots);
	free(map);
}

size_t map_count(const struct map *map)
{
	return map->count;
}

static char *slot_at(const struct map *map, size_t i)
{
	return map->slots + i * map->slot_bytes;
}

static size_t home_of(const struct map *map, const void *key)
{
	return hash_bytes(map->seed, key, map->key_bytes) & (map->capacity - 1);
}

/* Returns the slot that holds the key, or the free slot where the key would go. */
static size_t find_slot(const struct map *map, const void *key)
{
	size_t i = home_of(map, key);

	while (*slot_at(map, i) && !keys_equal(slot_at(map, i) + KEY_OFFSET, key, map->key_bytes))
		i = (i + 1) & (map->capacity - 1);
	return i;
}

void *map_get(const struct map *map, const void *key)
{
	if (!map->count)
		return NULL;
	char *slot = slot_at(map, find_slot(map, key));
	return *slot ? slot + map->value_offset : NULL;
}

static int resize_map(struct map *map, size_t capacity)
{
	struct map bigger = *map;

	bigger.capacity = capacity;
	bigger.slots = zeroed(bigger.capacity, map->slot_bytes);
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++) {
		char *slot = slot_at(map, i);

		if (*slot)
			memcpy(slot_at(&bigger, find_slot(&bigger, slot + KEY_OFFSET)), slot,
			       map->slot_bytes);
	}
	free(map->slots);
	*map = bigger;
	return 0;
}

int map_reserve(struct map *map, size_t more)
{
	size_t left = map->max_entries - map->count, capacity = map->capacity;
	size_t count = map->count + (more < left ? more : left);

	while (count > capacity / 4 * 3)
		capacity = capacity ? capacity * 2 : 16;
	return capacity == map->capacity ? 0 : resize_map(map, capacity);
}

int map_put(struct map *map, const void *key, void **value)
{
	void *old = map_get(map, key);

	if (old) {
		*value = old;
		return 0;
	}
	if (map->count >= map->max_entries)
		return -ENOSPC;
	int r = map_reserve(map, 1);
	if (r < 0)
		return r;
	char *slot = slot_at(map, find_slot(map, key));
	*slot = 1;
	memcpy(slot + KEY_OFFSET, key, map->key_bytes);
	memset(slot + map->value_offset, 0, map->value_bytes);
	map->count++;
	*value = slot + map->value_offset;
	return 1;
}

bool map_del(struct map *map, const void *key)
{
	if (!map->count)
		return false;
	size_t mask = map->capacity - 1;
	size_t hole = find_slot(map, key);

	if (!*slot_at(map, hole))
		return false;
	for (size_t i = (hole + 1) & mask; *slot_at(map, i); i = (i + 1) & mask) {
		size_t home = home_of(map, slot_at(map, i) + KEY_OFFSET);

		/* An entry moves into the hole unless its home lies behind the hole. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			memcpy(slot_at(map, hole), slot_at(map, i), map->slot_bytes);
			hole = i;
		}
	}
	*slot_at(map, hole) = 0;
	map->count--;
	return true;
}

void map_clear(struct map *map)
{
	free(map->slots);
	map->slots = NULL;
	map->capacity = map->count = 0;
}

bool map_next(const struct map *map, size_t *pos, const void **key, void **value)
{
	while (*pos < map->capacity) {
		char *slot = slot_at(map, (*pos)++);

		if (*slot) {
			*key = slot + KEY_OFFSET;
			*value = slot + map->value_offset;
			return true;
		}
	}
	return false;
}
