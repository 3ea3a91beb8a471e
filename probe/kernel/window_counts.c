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
#include "kernel/tracer_part.h"

/* Counts read at once; more than the kernel has in one bucket of its map. */
#define AT_ONCE 4096

struct window_counts {
	int counts_fd, sent_fd; /* -1: nothing is to be read */
	int error;		/* of reading */
	struct counted *list;
	size_t count, capacity;
	uint64_t lost[PROBE_COUNT];
	/* buffers of one call */
	struct count_key keys[AT_ONCE];
	struct stack_count values[AT_ONCE];
};

int window_counts_new(struct window_counts **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->counts_fd = (*ret)->sent_fd = -1;
	return 0;
}

static void close_maps(struct window_counts *counts)
{
	if (counts->counts_fd >= 0)
		close(counts->counts_fd);
	if (counts->sent_fd >= 0)
		close(counts->sent_fd);
	counts->counts_fd = counts->sent_fd = -1;
}

void window_counts_free(struct window_counts *counts)
{
	if (!counts)
		return;
	close_maps(counts);
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
		uint32_t probe = counts->keys[i].stack.probe;

		if (room)
			counts->list[counts->count++] =
				(struct counted){counts->keys[i], counts->values[i]};
		else if (probe < PROBE_COUNT)
			counts->lost[probe] += counts->values[i].events;
	}
}

/*
 * Reads all counts and takes them out of the map, to which nobody adds any more. Returns 0 or a
 * negative errno.
 */
static int read_counts(struct window_counts *counts, int fd)
{
	uint32_t position, *from = NULL, count;
	int r;

	do {
		count = AT_ONCE;
		r = bpf_map_lookup_and_delete_batch(fd, from, &position, counts->keys,
						    counts->values, &count, NULL);
		if (r < 0 && r != -ENOENT) /* -ENOENT: that was all */
			return r;
		keep_counts(counts, count);
		from = &position;
	} while (r == 0);
	return 0;
}

/* Forgets which stacks were sent. */
static void clear_sent(struct window_counts *counts, int fd)
{
	uint32_t position, *from = NULL, count;
	int r;

	do {
		count = AT_ONCE;
		r = bpf_map_lookup_and_delete_batch(fd, from, &position, counts->keys,
						    counts->values, &count, NULL);
		from = &position;
	} while (r == 0);
}

static void read_maps(struct window_counts *counts, int counts_fd, int sent_fd)
{
	int r = read_counts(counts, counts_fd);

	if (r < 0)
		window_counts_clear(counts); /* stacks without all of their counts would be wrong */
	counts->error = r;
	clear_sent(counts, sent_fd);
}

/* Without a descriptor to spare it reads at once: nothing is lost. */
void window_counts_open(struct window_counts *counts, int counts_fd, int sent_fd)
{
	window_counts_clear(counts);
	counts->counts_fd = fcntl(counts_fd, F_DUPFD_CLOEXEC, 0);
	counts->sent_fd = fcntl(sent_fd, F_DUPFD_CLOEXEC, 0);
	if (counts->counts_fd >= 0 && counts->sent_fd >= 0)
		return;
	close_maps(counts);
	read_maps(counts, counts_fd, sent_fd);
}

int window_counts_read(struct window_counts *counts)
{
	if (counts->counts_fd >= 0)
		read_maps(counts, counts->counts_fd, counts->sent_fd);
	close_maps(counts);
	return counts->error;
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
