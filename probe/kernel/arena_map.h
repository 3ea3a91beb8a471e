/* SPDX-License-Identifier: GPL-2.0-only */
/* The arena's chunks: each a BPF map, which both sides have in their memory, in a map of maps. */
#pragma once

#include "unwind/arena.h"

struct arena_map;

/* `outer_fd`: the map of maps, borrowed; it has room for so many chunks. Negative errno. */
int arena_map_new(struct arena_map **ret, int outer_fd, unsigned chunks);
void arena_map_free(struct arena_map *map);

void arena_map_memory(struct arena_map *map, struct arena_memory *memory);
