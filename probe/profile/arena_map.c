// SPDX-License-Identifier: GPL-2.0-only
#include "profile/arena_map.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "packed.h"

struct arena_map {
	int outer_fd;
	unsigned chunks;
	struct chunk *memory; /* all of them in a row; reserved, mapped as they come */
};

static size_t reserved_bytes(const struct arena_map *map)
{
	return map->chunks * sizeof(struct chunk);
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
	*ret = TAKE_PTR(map);
	return 0;
}

void arena_map_free(struct arena_map *map)
{
	if (!map)
		return;
	munmap(map->memory, reserved_bytes(map));
	free(map);
}

static int add(void *arg, unsigned number)
{
	struct arena_map *map = arg;
	LIBBPF_OPTS(bpf_map_create_opts, options);

	options.map_flags = BPF_F_MMAPABLE;
	_cleanup_close_ int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "stackprobe_rows", sizeof(uint32_t),
			       sizeof(struct chunk), 1, &options);

	if (fd < 0)
		return -errno;
	/* The mapping keeps it, and so does the map of maps. */
	if (mmap(&map->memory[number], sizeof(struct chunk), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return -errno;
	return bpf_map_update_elem(map->outer_fd, &number, &fd, BPF_ANY);
}

static void remove_chunk(void *arg, unsigned number)
{
	struct arena_map *map = arg;

	bpf_map_delete_elem(map->outer_fd, &number);
	/* What can't be unmapped is memory that nobody uses. */
	(void)mmap(&map->memory[number], sizeof(struct chunk), PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void arena_map_memory(struct arena_map *map, struct arena_memory *memory)
{
	*memory = (struct arena_memory){
		.words = map->memory->words, .add = add, .remove = remove_chunk, .arg = map};
}
