// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/stack/unwind.h"

#define CHUNKS	   256
#define IMAGES_MAX 1024

static struct walk walk;
static struct memo memos[MEMO_SLOTS];
static struct chunk *chunks; /* the arena; spans lie in chunk 0 */
static uint32_t next_word = CHUNK_WORDS;
static const struct replay *now;

static struct placed {
	const struct table_image *image;
	uint32_t index;
} placed[IMAGES_MAX];
static size_t placed_count;

struct memo *memo_at(uint32_t number)
{
	return number < MEMO_SLOTS ? &memos[number] : NULL;
}

struct walk *walk_at(uint32_t level)
{
	return level == 0 ? &walk : NULL;
}

const struct chunk *chunk_of(uint32_t word)
{
	return word >> CHUNK_WORDS_SHIFT < CHUNKS ? &chunks[word >> CHUNK_WORDS_SHIFT] : NULL;
}

long read_user(void *to, uint32_t bytes, uint64_t from)
{
	return now->read(now->arg, to, bytes, from);
}

/* What is recorded has no probes. */
uint64_t probed_return(uint32_t level, uint64_t stack, uint32_t slack)
{
	(void)level;
	(void)stack;
	(void)slack;
	return 0;
}

uint64_t probed_place(uint32_t level, uint64_t pc)
{
	(void)level;
	(void)pc;
	return 0;
}

void replay_forget(void)
{
	placed_count = 0;
	next_word = CHUNK_WORDS;
	free(chunks);
	chunks = NULL;
}

/* Where the image's index is; 0: there is no room. */
static uint32_t place(const struct table_image *image)
{
	for (size_t i = 0; i < placed_count; i++) {
		if (placed[i].image == image)
			return placed[i].index;
	}
	size_t room = image_room(image);
	if (placed_count == IMAGES_MAX || room > (size_t)CHUNKS * CHUNK_WORDS - next_word)
		return 0;
	uint32_t index = image_place(image, next_word, &chunks[0].words[0] + next_word);
	next_word += (uint32_t)room;
	placed[placed_count++] = (struct placed){image, index};
	return index;
}

uint64_t replay_linked_address(const struct replay_map *map, const struct elf_segment *segments,
			       size_t count)
{
	uint64_t address = map->file_offset, most = 0;
	uint64_t end = map->file_offset + (map->end - map->start);

	for (size_t i = 0; i < count; i++) {
		uint64_t from = segments[i].file_offset, to = from + segments[i].file_bytes;
		uint64_t common_from = from > map->file_offset ? from : map->file_offset;
		uint64_t common_to = to < end ? to : end;

		if (common_to <= common_from || common_to - common_from <= most)
			continue;
		most = common_to - common_from;
		address = segments[i].address - from + map->file_offset;
	}
	return address;
}

static struct span span_of(const struct replay_map *map)
{
	const struct table_image *image = map->image;
	struct span span = {.start = map->start, .end = map->end};
	uint64_t address;

	span.what = (uint32_t)map->kind << SPAN_KIND_SHIFT;
	if (!image || !image->words)
		return span;
	address = replay_linked_address(map, image->segments, image->segments_count);
	span.index = place(image);
	span.base = map->start - (address - image->low);
	span.what = (uint32_t)SPAN_TABLE << SPAN_KIND_SHIFT | image->blocks |
		    (image->tracks_bx ? SPAN_TRACKS_BX : 0);
	if (!span.index)
		span.what = SPAN_NO_TABLE << SPAN_KIND_SHIFT;
	return span;
}

static void set_spans(const struct replay *replay)
{
	struct span *spans = (struct span *)(void *)&chunks[0].words[0];

	walk.spans = 0;
	walk.spans_count =
		replay->maps_count < SPANS_MAX ? (uint32_t)replay->maps_count : SPANS_MAX;
	for (uint32_t i = 0; i < walk.spans_count; i++)
		spans[i] = span_of(&replay->maps[i]);
}

size_t replay_walk(const struct replay *replay, uint64_t *frames, size_t max, unsigned *why)
{
	struct user_regs regs = {.pc = replay->regs[16], .wide = true};
	size_t count;

	if (!chunks)
		chunks = calloc(CHUNKS, sizeof(*chunks));
	if (!chunks)
		return 0;
	now = replay;
	memset(&walk, 0, sizeof(walk));
	memcpy(regs.gpr, replay->regs, sizeof(regs.gpr));
	set_spans(replay);
	walk.frames_max = USER_FRAMES_MAX;
	walk.user = regs;
	unwind_begin(0);
	unwind_user(&walk);
	*why = walk.head.truncated;
	count = walk.head.words_count < max ? walk.head.words_count : max;
	for (size_t i = 0; i < count; i++)
		frames[i] = walk.words[i] & FRAME_ADDRESS;
	return count;
}
