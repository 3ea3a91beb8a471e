// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/code/jvmstops.h"

#include <stdlib.h>

#include "base/cleanup.h"

#define STOPS_MAX      (1 << 16)
#define MAPS_BYTES_MAX (1 << 20)
#define MAP_BYTES_MAX  64

static uint32_t pc_at(const uint8_t *maps, size_t at)
{
	uint32_t pc;

	memcpy(&pc, maps + at, sizeof(pc));
	return pc;
}

/* Reads JDK 9's and later OopMaps: structs of one size. */
static int read_pairs(struct jvm_reader *reader, uint64_t maps, uint32_t *pcs, uint32_t count)
{
	const struct jvm_layout *layout = reader->layout;
	size_t each = layout->map_bytes;

	if (each > MAP_BYTES_MAX || layout->map_pc + sizeof(*pcs) > each)
		return -EBADMSG;
	_cleanup_free_ uint8_t *pairs = malloc(count * each);
	if (!pairs)
		return -ENOMEM;
	int r = jvm_read(reader, maps + layout->maps_pairs, pairs, count * each);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		pcs[i] = pc_at(pairs, i * each + layout->map_pc);
	return r;
}

/* Reads JDK 8's OopMaps: addresses of structs of any size, which lie in one piece of memory. */
static int read_pointed(struct jvm_reader *reader, uint64_t maps, uint32_t *pcs, uint32_t count)
{
	const struct jvm_layout *layout = reader->layout;
	_cleanup_free_ uint64_t *at = calloc(count, sizeof(*at));
	_cleanup_free_ uint8_t *structs = NULL;
	uint64_t pointers, bytes;

	if (!at)
		return -ENOMEM;
	int r = jvm_read(reader, maps + layout->maps_pointers, &pointers, sizeof(pointers));
	if (r == 0)
		r = jvm_read(reader, pointers, at, count * sizeof(*at));
	if (r < 0)
		return r;
	for (uint32_t i = 1; i < count; i++)
		if (at[i] <= at[i - 1])
			return -EBADMSG;
	bytes = at[count - 1] - at[0];
	if (bytes > MAPS_BYTES_MAX || layout->map_pc > MAP_BYTES_MAX)
		return -EBADMSG;
	bytes += layout->map_pc + sizeof(*pcs);
	structs = malloc(bytes);
	if (!structs)
		return -ENOMEM;
	r = jvm_read(reader, at[0], structs, bytes);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		pcs[i] = pc_at(structs, at[i] - at[0] + layout->map_pc);
	return r;
}

long jvmstops_read(struct jvm_reader *reader, uint64_t maps, uint32_t **pcs)
{
	const struct jvm_layout *layout = reader->layout;
	uint32_t count;

	if (layout->blob_oop_maps == HOTSPOT_NO || !maps)
		return 0;
	int r = jvm_read(reader, maps + layout->maps_count, &count, sizeof(count));
	if (r < 0)
		return r;
	if (!count)
		return 0;
	if (count > STOPS_MAX)
		return -EBADMSG;
	*pcs = calloc(count, sizeof(**pcs));
	if (!*pcs)
		return -ENOMEM;
	r = layout->maps_pointers == HOTSPOT_NO ? read_pairs(reader, maps, *pcs, count)
						: read_pointed(reader, maps, *pcs, count);
	return r < 0 ? r : (long)count;
}
