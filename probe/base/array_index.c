// SPDX-License-Identifier: GPL-2.0-or-later
/* Open addressing with linear probing. Nothing is ever removed. */
#include "base/array_index.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/keys.h"

void array_index_init(struct array_index *numbers, size_t item_bytes, size_t key_bytes)
{
	*numbers = (struct array_index){
		.item_bytes = item_bytes, .key_bytes = key_bytes, .seed = hash_seed()};
}

void array_index_done(struct array_index *numbers)
{
	free(numbers->slots);
	*numbers = (struct array_index){0};
}

static const char *item_at(const struct array_index *numbers, const void *items, uint32_t number)
{
	return (const char *)items + number * numbers->item_bytes;
}

static uint64_t hash_of(const struct array_index *numbers, const void *key)
{
	return hash_bytes(numbers->seed, key, numbers->key_bytes);
}

/* Bits of a slot above the number: those of the key's hash, other ones than those of its place. */
static uint32_t tag_of(const struct array_index *numbers, uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~(uint32_t)(numbers->size - 1);
}

int64_t array_index_find(const struct array_index *numbers, const void *items, const void *key)
{
	if (!numbers->count)
		return -ENOENT;
	size_t mask = numbers->size - 1;
	uint64_t hash = hash_of(numbers, key);
	uint32_t tag = tag_of(numbers, hash);
	for (size_t i = hash & mask; numbers->slots[i]; i = (i + 1) & mask) {
		uint32_t number = (numbers->slots[i] & (uint32_t)mask) - 1;

		if ((numbers->slots[i] & ~(uint32_t)mask) == tag &&
		    keys_equal(item_at(numbers, items, number), key, numbers->key_bytes))
			return number;
	}
	return -ENOENT;
}

static void put_item(struct array_index *numbers, const void *items, uint32_t number)
{
	uint64_t hash = hash_of(numbers, item_at(numbers, items, number));
	size_t mask = numbers->size - 1, i = hash & mask;

	while (numbers->slots[i])
		i = (i + 1) & mask;
	numbers->slots[i] = tag_of(numbers, hash) | (number + 1);
}

static bool has_room(const struct array_index *numbers, size_t more)
{
	return numbers->count + more <= numbers->size / 4 * 3;
}

int array_index_reserve(struct array_index *numbers, const void *items, size_t more)
{
	struct array_index bigger = *numbers;

	if (has_room(numbers, more))
		return 0;
	bigger.size = numbers->size ? numbers->size * 2 : 16;
	while (!has_room(&bigger, more))
		bigger.size *= 2;
	bigger.slots = zeroed(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < numbers->size; i++) {
		if (numbers->slots[i])
			put_item(&bigger, items,
				 (numbers->slots[i] & (uint32_t)(numbers->size - 1)) - 1);
	}
	free(numbers->slots);
	*numbers = bigger;
	return 0;
}

void array_index_add(struct array_index *numbers, const void *items, uint32_t number)
{
	put_item(numbers, items, number);
	numbers->count++;
}
