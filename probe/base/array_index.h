/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash index over the caller's array: finds the number of an item by the item's key. The index
 * stores only numbers (4 bytes a slot, load factor 3/8 to 3/4). Use it instead of base/map.h if the
 * items lie in an array anyway: a map would keep copies of them.
 *
 * An item's key is its first `key_bytes` bytes. Keys are compared as bytes: zero the padding. The
 * hash is seeded at random, as a map's is. Items are never removed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct array_index {
	size_t item_bytes, key_bytes;
	/*
	 * An item's number + 1; 0: free. Above the bits that the largest number needs are some of
	 * its key's hash: most other keys are told without a look at their items.
	 */
	uint32_t *slots;
	size_t size;  /* slots: a power of two, or 0 */
	size_t count; /* items */
	uint64_t seed;
};

void array_index_init(struct array_index *numbers, size_t item_bytes, size_t key_bytes);
void array_index_done(struct array_index *numbers);

/* Returns the number of the item with that key, or -ENOENT. */
int64_t array_index_find(const struct array_index *numbers, const void *items, const void *key);

/* Makes room for so many more items. Reads the keys of all items in the index, so these must be
 * intact. Returns 0, or -ENOMEM. */
int array_index_reserve(struct array_index *numbers, const void *items, size_t more);

/* Adds the item `number`, which is the number of items in the index, or one more. No other item may
 * have its key; call array_index_reserve() before. */
void array_index_add(struct array_index *numbers, const void *items, uint32_t number);
