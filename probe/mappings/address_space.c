// SPDX-License-Identifier: GPL-2.0-or-later
#include "mappings/address_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

#define GONE_MAX	 4096
#define TOLD_REGIONS_MAX 64

struct region {
	uint64_t start, end;
	uint64_t file_offset;
	uint64_t from_ns;  /* may have been mapped since then … */
	uint64_t until_ns; /* … and wasn't mapped any more then; UINT64_MAX: is mapped */
	enum mapping_kind kind;
	bool told;		  /* by the kernel's side; it wasn't read yet */
	struct symbol_file *file; /* NULL: none */
};

struct address_space {
	struct region *regions; /* mapped ones, by address */
	size_t count;
	struct region *gone; /* unmapped ones, oldest first */
	size_t gone_count;
	uint64_t paths_bytes; /* of the mapped files; of the unmapped ones */
	uint64_t gone_paths_bytes;
	uint64_t read_ns;
	uint32_t exec_pages;
	struct symbol_file *program;
};

int address_space_new(struct address_space **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void regions_free(struct region *regions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		symbol_file_unref(regions[i].file);
	free(regions);
}

void address_space_free(struct address_space *space)
{
	if (!space)
		return;
	regions_free(space->regions, space->count);
	regions_free(space->gone, space->gone_count);
	symbol_file_unref(space->program);
	free(space);
}

static void space_freep(struct address_space **space)
{
	address_space_free(*space);
}

static struct region *regions_copy(const struct region *from, size_t count)
{
	struct region *copy = calloc(count ? count : 1, sizeof(*copy));

	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = from[i];
		if (copy[i].file)
			symbol_file_ref(copy[i].file);
	}
	return copy;
}

int address_space_copy(struct address_space **ret, const struct address_space *from)
{
	_cleanup_(space_freep) struct address_space *space = NULL;
	int r = address_space_new(&space);

	if (r < 0)
		return r;
	space->regions = regions_copy(from->regions, from->count);
	if (!space->regions)
		return -ENOMEM;
	space->count = from->count;
	space->read_ns = from->read_ns;
	space->exec_pages = from->exec_pages;
	address_space_set_program(space, from->program);
	*ret = TAKE_PTR(space);
	return 0;
}

void address_space_set_program(struct address_space *space, struct symbol_file *file)
{
	struct symbol_file *before = space->program;

	space->program = file ? symbol_file_ref(file) : NULL;
	symbol_file_unref(before);
}

const struct symbol_file *address_space_program(const struct address_space *space)
{
	return space->program;
}

uint64_t address_space_bytes_of(size_t mappings)
{
	return mappings * sizeof(struct region);
}

uint64_t address_space_bytes(const struct address_space *space)
{
	return address_space_bytes_of(space->count + space->gone_count) + space->paths_bytes +
	       space->gone_paths_bytes;
}

void address_space_set_paths(struct address_space *space, uint64_t bytes)
{
	space->paths_bytes = bytes;
}

static bool is_same_region(const struct region *a, const struct region *b)
{
	return a->start == b->start && a->end == b->end && a->file_offset == b->file_offset &&
	       a->kind == b->kind && a->file == b->file;
}

/* The region that holds the address. */
static struct region *region_at(const struct address_space *space, uint64_t address)
{
	size_t at = PARTITION_POINT(i, space->count, space->regions[i].end <= address);

	return at < space->count && space->regions[at].start <= address ? &space->regions[at]
									: NULL;
}

/* Moves regions that are no longer mapped to the list of those that were. */
static void retire_regions(struct address_space *space, uint64_t now_ns)
{
	size_t leaving = 0;

	for (size_t i = 0; i < space->count; i++)
		leaving += space->regions[i].until_ns == now_ns;
	if (!leaving)
		return;
	space->gone_paths_bytes += space->paths_bytes;
	space->paths_bytes = 0;
	struct region *gone = reallocarray(space->gone, space->gone_count + leaving, sizeof(*gone));
	if (gone)
		space->gone = gone;
	for (size_t i = 0; i < space->count; i++) {
		struct region *region = &space->regions[i];

		if (region->until_ns != now_ns)
			continue;
		if (gone && space->gone_count < GONE_MAX)
			gone[space->gone_count++] = *region;
		else
			symbol_file_unref(region->file);
		region->file = NULL;
	}
}

static void drop_told(struct address_space *space)
{
	size_t kept = 0;

	for (size_t i = 0; i < space->count; i++) {
		if (space->regions[i].told)
			symbol_file_unref(space->regions[i].file);
		else
			space->regions[kept++] = space->regions[i];
	}
	space->count = kept;
}

int address_space_update(struct address_space *space, const struct maps *maps,
			 struct symbol_file **files, uint64_t began_ns)
{
	struct region *regions = calloc(maps->count ? maps->count : 1, sizeof(*regions));

	if (!regions)
		return -ENOMEM;
	drop_told(space); /* what was told is read now */
	for (size_t i = 0; i < space->count; i++)
		space->regions[i].until_ns = began_ns;
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *mapping = &maps->mappings[i];
		struct region *known = region_at(space, mapping->start);

		regions[i] = (struct region){
			.start = mapping->start,
			.end = mapping->end,
			.file_offset = mapping->file_offset,
			.from_ns = space->read_ns,
			.until_ns = UINT64_MAX,
			.kind = mapping->kind,
			.file = files[i],
		};
		if (known && is_same_region(known, &regions[i])) {
			regions[i].from_ns = known->from_ns;
			known->until_ns = UINT64_MAX;
		}
	}
	retire_regions(space, began_ns);
	regions_free(space->regions, space->count);
	space->regions = regions;
	space->count = maps->count;
	space->read_ns = began_ns;
	space->exec_pages = maps->exec_pages;
	return 0;
}

/* Takes out told regions that lie over another one: they are gone. */
static void drop_overlapped(struct address_space *space, const struct region_view *told)
{
	size_t kept = 0;

	for (size_t i = 0; i < space->count; i++) {
		struct region *region = &space->regions[i];
		bool is_same = region->start == told->start && region->end == told->end &&
			       region->file == told->file;

		if (region->told && !is_same && region->start < told->end &&
		    region->end > told->start)
			symbol_file_unref(region->file);
		else
			space->regions[kept++] = *region;
	}
	space->count = kept;
}

void address_space_tell(struct address_space *space, const struct region_view *told)
{
	size_t at = 0, is_told = 0;

	drop_overlapped(space, told);
	for (size_t i = 0; i < space->count; i++) {
		is_told += space->regions[i].told;
		at += space->regions[i].end <= told->start;
	}
	if (is_told >= TOLD_REGIONS_MAX)
		return;
	if (at < space->count && space->regions[at].start < told->end)
		return;
	struct region *regions =
		reallocarray(space->regions, space->count + 1, sizeof(*space->regions));
	if (!regions)
		return;
	memmove(regions + at + 1, regions + at, (space->count - at) * sizeof(*regions));
	regions[at] = (struct region){
		.start = told->start,
		.end = told->end,
		.file_offset = told->file_offset,
		.from_ns = space->read_ns,
		.until_ns = UINT64_MAX,
		.kind = told->kind,
		.told = true,
		.file = symbol_file_ref(told->file),
	};
	space->regions = regions;
	space->count++;
}

void address_space_forget(struct address_space *space, uint64_t ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < space->gone_count; i++) {
		if (space->gone[i].until_ns >= ns)
			space->gone[kept++] = space->gone[i];
		else
			symbol_file_unref(space->gone[i].file);
	}
	space->gone_count = kept;
	if (!kept)
		space->gone_paths_bytes = 0;
}

static bool region_holds(const struct region *region, uint64_t address, uint64_t ns)
{
	return address >= region->start && address < region->end && ns >= region->from_ns &&
	       ns < region->until_ns;
}

/* Returns whether both lead to the same place: a mapping that grew or was split is another one. */
static bool says_the_same(const struct region *a, const struct region *b, uint64_t address)
{
	return a->kind == b->kind && a->file == b->file &&
	       address - a->start + a->file_offset == address - b->start + b->file_offset;
}

int address_space_find(const struct address_space *space, uint64_t address, uint64_t ns,
		       struct code *code)
{
	const struct region *found = region_at(space, address);

	if (found && !region_holds(found, address, ns))
		found = NULL;
	for (size_t i = 0; i < space->gone_count; i++) {
		if (!region_holds(&space->gone[i], address, ns))
			continue;
		if (found && !says_the_same(found, &space->gone[i], address))
			return -EAGAIN;
		found = &space->gone[i];
	}
	if (!found)
		return -ENOENT;
	code->file = found->file;
	code->mapped_from = found->until_ns == UINT64_MAX ? found->start : 0;
	code->mapped_to = found->until_ns == UINT64_MAX ? found->end : 0;
	code->address = address - found->start + found->file_offset;
	if (found->kind == MAPPING_VSYSCALL)
		code->place = CODE_VSYSCALL;
	else
		code->place = found->file ? CODE_FILE : CODE_JIT;
	return 0;
}

void address_space_each(const struct address_space *space,
			void (*each)(void *arg, const struct region_view *region), void *arg)
{
	for (size_t i = 0; i < space->count; i++) {
		const struct region *region = &space->regions[i];
		struct region_view view = {region->start, region->end, region->file_offset,
					   region->kind, region->file};

		each(arg, &view);
	}
}

struct symbol_file *address_space_file_at(const struct address_space *space, uint64_t start,
					  uint64_t file_offset)
{
	const struct region *region = region_at(space, start);

	return region && region->start == start && region->file_offset == file_offset ? region->file
										      : NULL;
}

uint64_t address_space_read_ns(const struct address_space *space)
{
	return space->read_ns;
}

uint32_t address_space_exec_pages(const struct address_space *space)
{
	return space->exec_pages;
}
