// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/stack_ids.h"

#include <errno.h>

#include "base/hash.h"
#include "base/map.h"

/* The map is made at the first call and never freed: numbers are valid as long as the daemon runs.
 * The key is the text's 64-bit hash: among a million texts two collide in one of 37 million
 * daemons. */
static struct map *numbers; /* uint64_t hash -> uint32_t */
static uint64_t seed;

int64_t stack_id(const char *text, size_t len)
{
	uint32_t *number = NULL;
	int r = 0;

	if (!len)
		return STACK_ID_NONE;
	if (!seed)
		seed = hash_seed() | 1;
	if (!numbers)
		r = map_new(&numbers, sizeof(uint64_t), sizeof(*number), STACK_IDS_MAX);
	uint64_t hash = hash_bytes(seed, text, len);
	if (r == 0)
		r = map_put(numbers, &hash, (void **)&number);
	if (r == -ENOSPC)
		return STACK_ID_LOOSE | (uint32_t)(hash >> 32);
	if (r < 0 || !number) /* (no number: said to the analyzer) */
		return r;
	if (r == 1)
		*number = (uint32_t)map_count(numbers);
	return *number;
}
