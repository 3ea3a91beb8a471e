// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/window_counts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/log.h"
#include "kernel/tracer_part.h"

/* Counts read at once; more than the kernel has in one bucket of its map. */
#define AT_ONCE 4096

/* The maps of a window that ended; -1: there are none. */
struct open_maps {
	int counts_fd, sent_fd;
};

/* Buffers of one call. */
struct map_room {
	struct count_key keys[AT_ONCE];
	struct stack_count values[AT_ONCE];
};

struct window_counts {
	struct open_maps maps; /* -1: nothing is to be read */
	int error;	       /* of reading */
	struct counted *list;
	size_t count, capacity;
	uint64_t lost[PROBE_COUNT];
	struct map_room room;
};

struct full_maps {
	struct open_maps maps;
	struct map_room room;
};

int window_counts_new(struct window_counts **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->maps = (struct open_maps){-1, -1};
	return 0;
}

static void close_maps(struct open_maps *maps)
{
	if (maps->counts_fd >= 0)
		close(maps->counts_fd);
	if (maps->sent_fd >= 0)
		close(maps->sent_fd);
	*maps = (struct open_maps){-1, -1};
}

void window_counts_free(struct window_counts *counts)
{
	if (!counts)
		return;
	close_maps(&counts->maps);
	free(counts->list);
	free(counts);
}

void window_counts_clear(struct window_counts *counts)
{
	free(TAKE_PTR(counts->list));
	counts->count = counts->capacity = 0;
	counts->error = 0;
	memset(counts->lost, 0, sizeof(counts->lost));
}

static void keep_counts(struct window_counts *counts, uint32_t count)
{
	bool room = array_grow(counts->list, counts->capacity, counts->count + count, 256) == 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t probe = counts->room.keys[i].stack.probe;

		if (room)
			counts->list[counts->count++] =
				(struct counted){counts->room.keys[i], counts->room.values[i]};
		else if (probe < PROBE_COUNT)
			counts->lost[probe] += counts->room.values[i].events;
	}
}

/* Reads all counts. Nobody adds to the map any more. Returns 0 or a negative errno. */
static int read_counts(struct window_counts *counts, int fd)
{
	uint32_t position, *from = NULL, count;
	int r;

	do {
		count = AT_ONCE;
		r = bpf_map_lookup_batch(fd, from, &position, counts->room.keys,
					 counts->room.values, &count, NULL);
		if (r < 0 && r != -ENOENT) /* -ENOENT: that was all */
			return r;
		keep_counts(counts, count);
		from = &position;
	} while (r == 0);
	return 0;
}

static void read_map(struct window_counts *counts, int fd)
{
	int r = read_counts(counts, fd);

	if (r < 0)
		window_counts_clear(counts); /* stacks without all of their counts would be wrong */
	counts->error = r;
}

static int empty_map(int fd, struct map_room *room)
{
	uint32_t position, *from = NULL, count;
	int r;

	do {
		count = AT_ONCE;
		r = bpf_map_lookup_and_delete_batch(fd, from, &position, room->keys, room->values,
						    &count, NULL);
		from = &position;
	} while (r == 0);
	return r == -ENOENT ? 0 : r; /* -ENOENT: that was all */
}

static void empty_both(int counts_fd, int sent_fd, struct map_room *room)
{
	int counts = empty_map(counts_fd, room), sent = empty_map(sent_fd, room);

	if (counts < 0 || sent < 0)
		log_error("a window's maps can't be emptied, its samples may count twice: %s",
			  strerror(counts < 0 ? -counts : -sent));
}

static void empty_maps(struct open_maps *maps, struct map_room *room)
{
	empty_both(maps->counts_fd, maps->sent_fd, room);
	close_maps(maps);
}

/* Without a descriptor to spare it does all at once: nothing is lost. */
void window_counts_open(struct window_counts *counts, int counts_fd, int sent_fd)
{
	window_counts_clear(counts);
	close_maps(&counts->maps);
	counts->maps = (struct open_maps){fcntl(counts_fd, F_DUPFD_CLOEXEC, 0),
					  fcntl(sent_fd, F_DUPFD_CLOEXEC, 0)};
	if (counts->maps.counts_fd >= 0 && counts->maps.sent_fd >= 0)
		return;
	close_maps(&counts->maps);
	read_map(counts, counts_fd);
	empty_both(counts_fd, sent_fd, &counts->room);
}

int window_counts_read(struct window_counts *counts)
{
	if (counts->maps.counts_fd >= 0)
		read_map(counts, counts->maps.counts_fd);
	return counts->error;
}

/* Without memory it empties them at once. */
struct full_maps *window_counts_full(struct window_counts *counts)
{
	struct full_maps *full;

	if (counts->maps.counts_fd < 0)
		return NULL;
	full = malloc(sizeof(*full));
	if (!full) {
		empty_maps(&counts->maps, &counts->room);
		return NULL;
	}
	full->maps = counts->maps;
	counts->maps = (struct open_maps){-1, -1};
	return full;
}

void full_maps_empty(struct full_maps *full)
{
	empty_maps(&full->maps, &full->room);
}

void full_maps_free(struct full_maps *full)
{
	close_maps(&full->maps);
	free(full);
}

const struct counted *window_counts_list(const struct window_counts *counts, size_t *count)
{
	*count = counts->count;
	return counts->list;
}

void window_counts_lost(const struct window_counts *counts, uint64_t events[PROBE_COUNT])
{
	for (int i = 0; i < PROBE_COUNT; i++)
		events[i] += counts->lost[i];
}
