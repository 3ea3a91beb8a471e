// SPDX-License-Identifier: GPL-2.0-or-later
#include "hooks/tracer_held.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define CHUNK 4096 /* entries read at a time; a bucket of the map has far fewer */

struct held_chunk {
	struct allocation_key keys[CHUNK], dead[CHUNK];
	struct allocation values[CHUNK];
};

/* Removes entries. An entry that is gone by now ends a batch; the next one begins after it. */
static int remove_all(int fd, const struct allocation_key *keys, uint32_t count)
{
	for (uint32_t at = 0; at < count;) {
		uint32_t removed = count - at;
		int r = bpf_map_delete_batch(fd, &keys[at], &removed, NULL);

		if (r < 0 && r != -ENOENT)
			return r;
		at += removed + (r < 0);
	}
	return 0;
}

int tracer_held_read(int fd,
		     bool (*each)(void *arg, const struct allocation_key *key,
				  const struct allocation *allocation),
		     void *arg)
{
	_cleanup_free_ struct held_chunk *chunk = malloc(sizeof(*chunk));
	uint32_t position, *from = NULL;
	int r = 0;

	if (!chunk)
		return -ENOMEM;
	while (r == 0) {
		uint32_t count = CHUNK, dead = 0;

		r = bpf_map_lookup_batch(fd, from, &position, chunk->keys, chunk->values, &count,
					 NULL);
		if (r < 0 && r != -ENOENT)
			return r;
		for (uint32_t i = 0; i < count; i++) {
			if (!each(arg, &chunk->keys[i], &chunk->values[i]))
				chunk->dead[dead++] = chunk->keys[i];
		}
		from = &position;
		int removed = remove_all(fd, chunk->dead, dead);
		if (removed < 0)
			return removed;
	}
	return 0; /* -ENOENT: that was all */
}
