// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jit_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

#define LIST_VERSION 1
#define TRIES	     3

/* As they lie in the program's memory. */
struct jit_raw_descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct jit_raw_entry {
	uint64_t next, prev, elf, elf_bytes;
};

void jit_list_done(struct jit_list *list)
{
	free(list->entries);
	*list = (struct jit_list){0};
}

static int add_entry(struct jit_list *list, size_t *room, const struct jit_entry *entry)
{
	int r = array_grow(list->entries, *room, list->count + 1, 16);

	if (r == 0)
		list->entries[list->count++] = *entry;
	return r;
}

/* Follows the list once. Returns -EAGAIN if it makes no sense. */
static int follow_list(const struct process_memory *memory, uint64_t first, struct jit_list *list)
{
	uint64_t before = 0;
	size_t room = 0;

	for (uint64_t at = first; at;) {
		struct jit_raw_entry raw;

		list->is_cut = list->count == JIT_ENTRIES_MAX;
		if (list->is_cut)
			return 0;
		if (memory->read(memory->arg, at, &raw, sizeof(raw)) < 0 || raw.prev != before)
			return -EAGAIN;
		const struct jit_entry entry = {at, raw.elf, raw.elf_bytes};
		int r = add_entry(list, &room, &entry);
		if (r < 0)
			return r;
		before = at;
		at = raw.next;
	}
	return 0;
}

int jit_list_read(const struct process_memory *memory, uint64_t descriptor, struct jit_list *list)
{
	int r = -EAGAIN;

	*list = (struct jit_list){0};
	for (int i = 0; i < TRIES && r == -EAGAIN; i++) {
		struct jit_raw_descriptor raw;

		jit_list_done(list);
		r = memory->read(memory->arg, descriptor, &raw, sizeof(raw));
		if (r < 0)
			return r;
		if (raw.version != LIST_VERSION)
			return -ENOTSUP;
		r = follow_list(memory, raw.first, list);
	}
	if (r < 0)
		jit_list_done(list);
	return r;
}

static bool is_same(const struct jit_entry *a, const struct jit_entry *b)
{
	return a->at == b->at && a->elf == b->elf && a->elf_bytes == b->elf_bytes;
}

bool jit_list_has(const struct jit_list *list, const struct jit_entry *entry, size_t hint)
{
	for (size_t i = 0; i < list->count; i++) {
		if (is_same(&list->entries[(hint + i) % list->count], entry))
			return true;
	}
	return false;
}
