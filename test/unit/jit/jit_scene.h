/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program's memory with a list of ELF files that describe made code (programs/jit_elf.h). */
#pragma once

#include "unit/lib/unit.h"

#include "jit/jit_code.h"
#include "programs/jit_elf.h"

#define FILES_MAX   8
#define ENTRIES_MAX 80
#define CODE_AT	    0x7f0000001000u
#define WHOSE	    7 /* the program's user */

struct made_entry {
	uint64_t next, prev, elf, elf_bytes;
};

/* All of this is the program's memory, and lies where it lies here. */
struct made_memory {
	struct {
		uint32_t version, action;
		uint64_t relevant, first;
	} descriptor;
	struct made_entry entries[ENTRIES_MAX]; /* the first ones are of the files */
	struct made_elf files[FILES_MAX];
	unsigned char loaded[FILES_MAX][MADE_FRAMES];
};

struct scene {
	struct made_memory *memory;
	unsigned reads, lists; /* reads of all, and of the list's begin */
	unsigned char *frames; /* more of the program's memory, where it lies here */
	size_t frames_bytes;
	void (*before_read)(struct scene *scene); /* NULL: nothing happens */
};

static inline uint64_t at_of(const void *there)
{
	return (uint64_t)(uintptr_t)there;
}

static inline int scene_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct scene *scene = arg;
	uint64_t at = address - at_of(scene->memory);

	scene->reads++;
	scene->lists += at == 0;
	if (scene->before_read)
		scene->before_read(scene);
	if (address - at_of(scene->frames) < scene->frames_bytes) {
		memcpy(to, scene->frames + (address - at_of(scene->frames)), bytes);
		return 0;
	}
	if (at > sizeof(*scene->memory) || bytes > sizeof(*scene->memory) - at)
		return -EFAULT;
	memcpy(to, (const char *)scene->memory + at, bytes);
	return 0;
}

static inline struct process_memory scene_memory(struct scene *scene)
{
	return (struct process_memory){.read = scene_read, .arg = scene};
}

/* A file with two functions at `code`; `number` is that of its entry. */
static inline void scene_describe(struct scene *scene, unsigned number, uint64_t code,
				  bool is_object, const char *first, const char *second)
{
	struct made_memory *memory = scene->memory;
	const char *names[] = {first, second};

	made_frames(memory->loaded[number], code, 2);
	made_elf_fill(&memory->files[number], code, names, 2,
		      is_object ? memory->loaded[number] : NULL);
	memory->entries[number].elf = at_of(&memory->files[number]);
	memory->entries[number].elf_bytes = sizeof(memory->files[number]);
}

/* Makes a list of these entries, in that order. */
static inline void scene_list(struct scene *scene, const unsigned *numbers, size_t count)
{
	struct made_memory *memory = scene->memory;
	uint64_t *link = &memory->descriptor.first, before = 0;

	memory->descriptor.version = 1;
	for (size_t i = 0; i < count; i++) {
		struct made_entry *entry = &memory->entries[numbers[i]];

		*link = at_of(entry);
		entry->prev = before;
		before = at_of(entry);
		link = &entry->next;
	}
	*link = 0;
}

static inline void scene_make(struct scene *scene)
{
	static const unsigned both[] = {0, 1};

	*scene = (struct scene){.memory = calloc(1, sizeof(*scene->memory))};
	assert_non_null(scene->memory);
	scene_describe(scene, 0, CODE_AT, true, "_ZN4made5outerEv", "inner");
	scene_describe(scene, 1, CODE_AT + 0x10000000, false, "other", "another");
	scene_list(scene, both, 2);
}

static inline void scene_done(struct scene *scene)
{
	free(scene->memory);
}

static inline uint64_t scene_descriptor(const struct scene *scene)
{
	return at_of(&scene->memory->descriptor);
}
