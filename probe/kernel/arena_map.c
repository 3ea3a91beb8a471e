// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A change to a map of maps waits some milliseconds, until no BPF program runs that began before.
 * So chunks are made in groups, and free ones are kept for a while.
 */
#include "kernel/arena_map.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "bpf/shared/packed.h"

#define GROUP	   4  /* fewest chunks made at a time: a megabyte */
#define GROUP_MAX  32 /* most chunks made at a time */
#define SPARE_MAX  8  /* most free chunks; above, they are given back … */
#define SPARE_LEFT 4  /* … except for this many */

struct arena_map {
	int outer_fd;
	unsigned chunks;      /* most there may be */
	unsigned ready, used; /* made chunks; chunks the arena uses */
	struct chunk *memory; /* all chunks in a row: reserved, mapped as they are made */
};

static size_t reserved_bytes(const struct arena_map *map)
{
	return map->chunks * sizeof(struct chunk);
}

static int make_chunk(struct arena_map *map, unsigned number)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);

	options.map_flags = BPF_F_MMAPABLE;
	_cleanup_close_ int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "stackprobe_rows", sizeof(uint32_t),
			       sizeof(struct chunk), 1, &options);

	if (fd < 0)
		return -errno;
	/* The mapping holds the map, and so will the map of maps. */
	if (mmap(&map->memory[number], sizeof(struct chunk), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return -errno;
	return TAKE_FD(fd);
}

static void unmap_chunk(struct arena_map *map, unsigned number)
{
	void *at = mmap(&map->memory[number], sizeof(struct chunk), PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	(void)at; /* on failure the chunk stays, and is mapped over the next time */
}

/* Adds chunks to the map of maps: all at once if the kernel can (5.15), else each with a wait. */
static int publish_chunks(const struct arena_map *map, const uint32_t *numbers, const int *fds,
			  unsigned count)
{
	uint32_t done = count;

	if (bpf_map_update_batch(map->outer_fd, numbers, fds, &done, NULL) == 0)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		if (bpf_map_update_elem(map->outer_fd, &numbers[i], &fds[i], BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

static void withdraw_chunks(const struct arena_map *map, const uint32_t *numbers, unsigned count)
{
	uint32_t done = count;

	if (bpf_map_delete_batch(map->outer_fd, numbers, &done, NULL) == 0)
		return;
	for (unsigned i = 0; i < count; i++)
		bpf_map_delete_elem(map->outer_fd, &numbers[i]);
}

/* Makes more chunks: an eighth of those made so far, within limits. */
static int make_ready(struct arena_map *map)
{
	unsigned wanted = map->ready / 8 > GROUP ? map->ready / 8 : GROUP, count = 0;
	uint32_t numbers[GROUP_MAX];
	int fds[GROUP_MAX], r = 0;

	if (wanted > GROUP_MAX)
		wanted = GROUP_MAX;
	if (wanted > map->chunks - map->ready)
		wanted = map->chunks - map->ready;
	while (count < wanted) {
		r = make_chunk(map, map->ready + count);
		if (r < 0)
			break;
		numbers[count] = map->ready + count;
		fds[count++] = r;
	}
	r = count ? publish_chunks(map, numbers, fds, count) : r;
	for (unsigned i = 0; i < count; i++) {
		close(fds[i]);
		if (r < 0)
			unmap_chunk(map, numbers[i]);
	}
	if (r < 0)
		return r;
	map->ready += count;
	return count ? 0 : -ENOSPC;
}

static void give_back(struct arena_map *map)
{
	unsigned left = map->used + SPARE_LEFT, count = map->ready - left;
	_cleanup_free_ uint32_t *numbers = calloc(count, sizeof(*numbers));

	if (!numbers)
		return; /* later */
	for (unsigned i = 0; i < count; i++)
		numbers[i] = left + i;
	withdraw_chunks(map, numbers, count);
	for (unsigned i = 0; i < count; i++)
		unmap_chunk(map, numbers[i]);
	map->ready = left;
}

int arena_map_new(struct arena_map **ret, int outer_fd, unsigned chunks)
{
	_cleanup_free_ struct arena_map *map = calloc(1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	map->outer_fd = outer_fd;
	map->chunks = chunks;
	void *memory = mmap(NULL, reserved_bytes(map), PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	map->memory = memory;
	int r = make_ready(map);
	if (r < 0)
		munmap(memory, reserved_bytes(map));
	else
		*ret = TAKE_PTR(map);
	return r;
}

void arena_map_free(struct arena_map *map)
{
	if (!map)
		return;
	munmap(map->memory, reserved_bytes(map));
	free(map);
}

static int add_chunk(void *arg, unsigned number)
{
	struct arena_map *map = arg;
	int r = number < map->ready ? 0 : make_ready(map);

	if (r < 0)
		return r;
	memset(&map->memory[number], 0, sizeof(struct chunk));
	map->used = number + 1;
	return 0;
}

static void remove_chunk(void *arg, unsigned number)
{
	struct arena_map *map = arg;

	map->used = number;
	if (map->ready - map->used > SPARE_MAX)
		give_back(map);
}

void arena_map_memory(struct arena_map *map, struct arena_memory *memory)
{
	*memory = (struct arena_memory){
		.words = map->memory->words, .add = add_chunk, .remove = remove_chunk, .arg = map};
}
