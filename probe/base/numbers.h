/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The numbers of an array's items by their keys, which are the first bytes of each. Items and keys
 * are the owner's array alone: here are 4 bytes for each, and as many free ones at most as are
 * taken twice. (A map has both again.) Keys are compared as bytes: zero the padding. Seeded as a
 * map is (base/map.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct numbers {
	size_t item_bytes, key_bytes;
	uint32_t *slots; /* a number and 1; 0: free */
	size_t size;	 /* a power of two, or 0 */
	size_t count;
	uint64_t seed;
};

void numbers_init(struct numbers *numbers, size_t item_bytes, size_t key_bytes);
void numbers_done(struct numbers *numbers);

/* Which of the items has that key, or -ENOENT. */
int64_t numbers_find(const struct numbers *numbers, const void *items, const void *key);

/* Room for one more. Those that are there have keys still. -ENOMEM */
int numbers_reserve(struct numbers *numbers, const void *items);

/* An item with a key that none has; there is room. */
void numbers_add(struct numbers *numbers, const void *items, uint32_t number);
