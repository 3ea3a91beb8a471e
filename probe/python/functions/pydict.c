// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/functions/pydict.h"

#include <errno.h>
#include <string.h>

#define WORD		8u
#define SIZE_MAX_OF_ALL (1ULL << 40) /* a larger index fits in no memory */
#define AT_ONCE		32	     /* entries that are read with one read */

struct dict_entry {
	uint64_t hash, key, value;
};

struct dict_place {
	uint64_t entries; /* address of the first one */
	uint64_t values;  /* address of the values; 0: they are in the entries */
	uint64_t count;
};

static int read_word(const struct process_memory *memory, uint64_t address, uint64_t *word)
{
	return memory->read(memory->arg, address, word, sizeof(*word));
}

/* Returns the bytes of a place in an index of that size. */
static uint64_t index_bytes(uint64_t size)
{
	if (size <= UINT8_MAX)
		return 1;
	if (size <= UINT16_MAX)
		return 2;
	return size <= UINT32_MAX ? 4 : 8;
}

static int find_entries(const struct python_functions *at, const struct process_memory *memory,
			uint64_t dict, struct dict_place *place)
{
	uint64_t keys = 0, size = 0;
	int r = read_word(memory, dict + at->dict_keys, &keys);

	if (r == 0)
		r = read_word(memory, dict + at->dict_values, &place->values);
	if (r == 0)
		r = read_word(memory, keys + at->keys_size, &size);
	if (r == 0)
		r = read_word(memory, keys + at->keys_used, &place->count);
	if (r < 0)
		return r;
	/* The index has a power of 2 of places, of which two in three may be used. */
	if (!size || size > SIZE_MAX_OF_ALL || (size & (size - 1)) ||
	    place->count > size / 3 * 2 + 1)
		return -EBADMSG;
	place->entries = keys + at->keys_indices + size * index_bytes(size);
	return 0;
}

static int read_entries(const struct process_memory *memory, const struct dict_place *place,
			uint64_t first, size_t count, struct dict_entry *entries)
{
	uint64_t values[AT_ONCE];
	int r = memory->read(memory->arg, place->entries + first * sizeof(*entries), entries,
			     count * sizeof(*entries));

	if (r < 0 || !place->values)
		return r;
	r = memory->read(memory->arg, place->values + first * WORD, values, count * WORD);
	for (size_t i = 0; r == 0 && i < count; i++)
		entries[i].value = values[i];
	return r;
}

int pydict_each(const struct python_layout *layout, const struct process_memory *memory,
		uint64_t dict, int (*each)(void *arg, uint64_t key, uint64_t value), void *arg)
{
	struct dict_entry entries[AT_ONCE];
	struct dict_place place;
	int r = find_entries(&layout->functions, memory, dict, &place);

	for (uint64_t first = 0; r == 0 && first < place.count; first += AT_ONCE) {
		size_t count =
			place.count - first < AT_ONCE ? (size_t)(place.count - first) : AT_ONCE;

		r = read_entries(memory, &place, first, count, entries);
		for (size_t i = 0; r == 0 && i < count; i++) {
			if (entries[i].key && entries[i].value)
				r = each(arg, entries[i].key, entries[i].value);
		}
	}
	return r;
}
