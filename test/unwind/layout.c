/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

struct layout *layouts_get(struct layouts *layouts, uint32_t pid)
{
	struct layout *layout = layouts->first;

	while (layout && layout->pid != pid)
		layout = layout->next;
	if (layout)
		return layout;
	layout = calloc(1, sizeof(*layout));
	if (!layout)
		return NULL;
	layout->pid = pid;
	layout->next = layouts->first;
	layouts->first = layout;
	return layout;
}

static void layout_changed(struct layout *layout)
{
	reference_free(layout->reference);
	layout->reference = NULL;
}

void layouts_done(struct layouts *layouts)
{
	while (layouts->first) {
		struct layout *layout = layouts->first;

		layouts->first = layout->next;
		layout_changed(layout);
		free(layout->maps);
		free(layout->files);
		free(layout);
	}
	files_done(&layouts->files);
}

static int layout_grow(struct layout *layout, size_t count)
{
	size_t room = layout->room ? layout->room : 32;
	struct mapped_file **files;
	struct replay_map *maps;

	while (room < count)
		room *= 2;
	if (room == layout->room)
		return 0;
	maps = reallocarray(layout->maps, room, sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	layout->maps = maps;
	files = reallocarray(layout->files, room, sizeof(struct mapped_file *));
	if (!files)
		return -ENOMEM;
	layout->files = files;
	layout->room = room;
	return 0;
}

/* There is room. */
static void layout_insert(struct layout *layout, const struct replay_map *map,
			  struct mapped_file *file)
{
	size_t at = layout->count;

	while (at && layout->maps[at - 1].start > map->start) {
		layout->maps[at] = layout->maps[at - 1];
		layout->files[at] = layout->files[at - 1];
		at--;
	}
	layout->maps[at] = *map;
	layout->files[at] = file;
	layout->count++;
}

static void layout_remove(struct layout *layout, size_t at)
{
	size_t behind = layout->count - at - 1;

	memmove(&layout->maps[at], &layout->maps[at + 1], behind * sizeof(*layout->maps));
	memmove(&layout->files[at], &layout->files[at + 1], behind * sizeof(struct mapped_file *));
	layout->count--;
}

/* Nothing of what was mapped there is left. There is room for one more mapping. */
static void layout_cut(struct layout *layout, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < layout->count; i++) {
		struct replay_map *map = &layout->maps[i], behind = *map;

		if (map->end <= start || map->start >= end)
			continue;
		behind.start = end;
		behind.file_offset += end - map->start;
		if (map->start < start) {
			map->end = start;
			if (behind.end > end)
				layout_insert(layout, &behind, layout->files[i]);
		} else if (behind.end > end) {
			*map = behind;
		} else {
			layout_remove(layout, i--);
		}
	}
}

int layout_map(struct layouts *layouts, const struct perf_map *map)
{
	struct layout *layout = layouts_get(layouts, map->pid);
	struct replay_map added = {.start = map->start, .end = map->start + map->bytes};
	struct mapped_file *file;
	int r;

	if (!layout)
		return -ENOMEM;
	if (added.end <= added.start)
		return 0;
	r = layout_grow(layout, layout->count + 2);
	if (r < 0)
		return r;
	layout_cut(layout, added.start, added.end);
	layout_changed(layout);
	if (!map->executable)
		return 0;
	file = files_get(&layouts->files, map->path);
	if (!file)
		return -ENOMEM;
	added.file_offset = map->file_offset;
	added.image = file->image.words ? &file->image : NULL;
	added.kind = file->kind;
	layout_insert(layout, &added, file);
	return 0;
}

int layout_fork(struct layouts *layouts, uint32_t pid, uint32_t parent)
{
	struct layout *from = layouts_get(layouts, parent), *to = layouts_get(layouts, pid);
	int r;

	if (!from || !to)
		return -ENOMEM;
	r = layout_grow(to, from->count);
	if (r < 0)
		return r;
	layout_changed(to);
	to->count = from->count;
	if (!from->count)
		return 0;
	memcpy(to->maps, from->maps, from->count * sizeof(*from->maps));
	memcpy(to->files, from->files, from->count * sizeof(struct mapped_file *));
	return 0;
}

void layout_exec(struct layouts *layouts, uint32_t pid)
{
	struct layout *layout = layouts_get(layouts, pid);

	if (!layout)
		return;
	layout_changed(layout);
	layout->count = 0;
}

ssize_t layout_find(const struct layout *layout, uint64_t address)
{
	for (size_t i = 0; i < layout->count; i++)
		if (address >= layout->maps[i].start && address < layout->maps[i].end)
			return (ssize_t)i;
	return -1;
}

uint64_t layout_bias(const struct layout *layout, size_t number)
{
	const struct replay_map *map = &layout->maps[number];
	const struct elf_image *elf = &layout->files[number]->elf;

	return map->start - replay_linked_address(map, elf->segments, elf->segments_count);
}
