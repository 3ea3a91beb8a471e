// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/frames.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/array_index.h"
#include "base/grow.h"

#define NO_FILE 0 /* the number of the empty text */

/* A frame with numbers for its texts. The whole entry is its key: it has no padding. */
struct frame_entry {
	uint32_t name, file;
	uint32_t line;
	uint16_t type, signature_len;
	uint32_t module, owner; /* 0: no place; no owner */
	uint64_t address;
};

struct frames {
	struct frame_entry *entries;
	size_t count, capacity, max;
	bool without_places;
	struct intern *texts;
	struct modules *modules;
	struct owners *owners;
	struct array_index numbers;
};

static void frames_freep(struct frames **frames)
{
	frames_free(*frames);
}

int frames_new(struct frames **ret, size_t max, size_t max_name_bytes)
{
	_cleanup_(frames_freep) struct frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	int r = intern_new(&frames->texts, max_name_bytes);
	if (r == 0)
		r = intern_add(frames->texts, "", 0) == NO_FILE ? 0 : -ENOMEM;
	if (r == 0)
		r = modules_new(&frames->modules, frames->texts, max);
	if (r == 0)
		r = owners_new(&frames->owners, max);
	if (r < 0)
		return r;
	array_index_init(&frames->numbers, sizeof(struct frame_entry), sizeof(struct frame_entry));
	frames->max = max;
	*ret = TAKE_PTR(frames);
	return 0;
}

void frames_free(struct frames *frames)
{
	if (!frames)
		return;
	modules_free(frames->modules);
	owners_free(frames->owners);
	intern_free(frames->texts);
	array_index_done(&frames->numbers);
	free(frames->entries);
	free(frames);
}

size_t frames_count(const struct frames *frames)
{
	return frames->count;
}

static int reserve_entry(struct frames *frames)
{
	return array_grow(frames->entries, frames->capacity, frames->count + 1, 64);
}

bool frames_have_owners(const struct frames *frames)
{
	return owners_matter(frames->owners);
}

void frames_drop_places(struct frames *frames)
{
	frames->without_places = true;
}

/* Returns the number of the frame's module; 0: the frame has none, or places are dropped. */
static int64_t module_of(struct frames *frames, const struct frame *frame)
{
	return frame->module && !frames->without_places
		       ? modules_add(frames->modules, frame->module)
		       : 0;
}

static int64_t append_entry(struct frames *frames, const struct frame_entry *entry)
{
	int r = frames->count < frames->max ? reserve_entry(frames) : -ENOSPC;

	if (r == 0)
		r = array_index_reserve(&frames->numbers, frames->entries, 1);
	if (r < 0)
		return r;
	frames->entries[frames->count] = *entry;
	array_index_add(&frames->numbers, frames->entries, (uint32_t)frames->count);
	return (int64_t)frames->count++;
}

int64_t frames_add(struct frames *frames, const struct frame *frame)
{
	const struct frame_source *source = &frame->source;
	int64_t name = intern_add(frames->texts, frame->name, frame->name_len);
	int64_t file = NO_FILE, module = module_of(frames, frame);
	int64_t owner = frame->owner ? owners_add(frames->owners, frame->owner) : 0;

	if (source->file_len)
		file = intern_add(frames->texts, source->file, source->file_len);
	if (name < 0 || file < 0)
		return name < 0 ? name : file;
	if (module < 0 || owner < 0)
		return module < 0 ? module : owner;
	struct frame_entry entry = {
		.name = (uint32_t)name,
		.file = (uint32_t)file,
		.line = source->line,
		.type = (uint16_t)frame->type,
		.signature_len = (uint16_t)frame->signature_len,
		.module = (uint32_t)module,
		.address = module ? frame->address : 0,
		.owner = (uint32_t)owner,
	};
	int64_t number = array_index_find(&frames->numbers, frames->entries, &entry);
	return number >= 0 ? number : append_entry(frames, &entry);
}

struct frame frames_get(const struct frames *frames, uint32_t number)
{
	const struct frame_entry *entry = &frames->entries[number];
	struct frame frame = {
		.type = (enum frame_type)entry->type,
		.signature_len = entry->signature_len,
		.source.line = entry->line,
		.module = entry->module ? modules_get(frames->modules, entry->module) : NULL,
		.address = entry->address,
		.owner = entry->owner ? owners_get(frames->owners, entry->owner) : NULL,
	};

	frame.name = intern_get(frames->texts, entry->name, &frame.name_len);
	frame.source.file = intern_get(frames->texts, entry->file, &frame.source.file_len);
	return frame;
}

enum frame_type frames_type(const struct frames *frames, uint32_t number)
{
	return frames->entries[number].type;
}

static int compare_texts(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len;
	int r = len ? memcmp(a, b, len) : 0; /* a text of no bytes may be NULL */

	return r ? r : (a_len > b_len) - (a_len < b_len);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Compares the places of two frames; a frame without a place comes first. */
static int compare_places(const struct frame *a, const struct frame *b)
{
	const struct module *left = a->module, *right = b->module;
	int r = 0;

	if (!left || !right)
		return compare_numbers(left != NULL, right != NULL);
	if (left != right)
		r = compare_texts(left->path, left->path_len, right->path, right->path_len);
	if (!r && left != right)
		r = compare_texts((const char *)left->build_id, left->build_id_len,
				  (const char *)right->build_id, right->build_id_len);
	return r ? r : compare_numbers(a->address, b->address);
}

static int compare_owners(const struct owner *a, const struct owner *b)
{
	int r = compare_numbers(a != NULL, b != NULL);

	if (!r && a)
		r = compare_numbers((uint64_t)a->pid, (uint64_t)b->pid);
	return r || !a ? r : compare_numbers(a->which, b->which);
}

int frames_compare(const struct frame *a, const struct frame *b)
{
	const struct frame_source *left = &a->source, *right = &b->source;
	int r = compare_texts(a->name, a->name_len, b->name, b->name_len);

	if (!r)
		r = (int)a->type - (int)b->type;
	if (!r)
		r = compare_texts(left->file, left->file_len, right->file, right->file_len);
	if (!r)
		r = compare_numbers(left->line, right->line);
	if (!r)
		r = compare_places(a, b);
	return r ? r : compare_owners(a->owner, b->owner);
}
