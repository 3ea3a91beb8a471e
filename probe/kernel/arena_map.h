/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the arena of unwind tables: each chunk is a BPF map, mapped into the daemon's memory
 * too, in a map of maps. Loop thread only.
 */
#pragma once

#include "unwind/arena.h"

struct arena_map;

/*
 * Creates the memory; the caller owns *ret. `outer_fd` is the map of maps, borrowed, with room for
 * `chunks` chunks. Returns 0 or a negative errno.
 */
int arena_map_new(struct arena_map **ret, int outer_fd, unsigned chunks);
void arena_map_free(struct arena_map *map);

/* Fills in the operations that arena_new() needs; they are borrowed from `map`. */
void arena_map_memory(struct arena_map *map, struct arena_memory *memory);
