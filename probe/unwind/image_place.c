// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies a table's words to their place in the arena. A block that would cross a chunk's end begins
 * at the next chunk. */
#include <string.h>

#include "unwind/image.h"

/* Blocks from word `from` of the image on lie `by` words further in the arena. */
struct shift {
	uint32_t from, by;
};

/* A block has at most a head and a row for each other byte of code. */
#define BLOCK_WORDS_MAX BLOCK_BYTES

static size_t crossings_max(const struct table_image *image)
{
	return image->count / (CHUNK_WORDS - BLOCK_WORDS_MAX) + 2;
}

size_t image_room(const struct table_image *image)
{
	return image->count + crossings_max(image) * (BLOCK_WORDS_MAX - 1);
}

static uint32_t block_words(const uint32_t *block)
{
	return 1 + (block[0] >> ROW_ADDRESS_SHIFT);
}

/* Copies the blocks; returns the number of `shifts`. */
static size_t place_blocks(const struct table_image *image, uint32_t start, uint32_t *to,
			   struct shift *shifts)
{
	uint32_t from = image->index + image->blocks, by = 0;
	size_t count = 0;

	while (from < image->count) {
		uint32_t words = block_words(image->words + from);
		uint32_t left = CHUNK_WORDS - ((start + from + by) & (CHUNK_WORDS - 1));

		if (words > left) {
			memset(to + from + by, 0, left * sizeof(*to));
			by += left;
			shifts[count++] = (struct shift){from, by};
		}
		memcpy(to + from + by, image->words + from, words * sizeof(*to));
		from += words;
	}
	return count;
}

static uint32_t shift_of(const struct shift *shifts, size_t count, uint32_t word)
{
	size_t low = 0;

	while (count) { /* finds the last shift with from <= word */
		size_t half = count / 2;

		if (shifts[low + half].from <= word) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low ? shifts[low - 1].by : 0;
}

uint32_t image_place(const struct table_image *image, uint32_t start, uint32_t *to)
{
	struct shift shifts[CHUNKS_MAX];
	size_t count;

	/* Rules stay as they are. */
	memcpy(to, image->words, image->index * sizeof(*to));
	count = place_blocks(image, start, to, shifts);
	for (uint32_t i = 0; i < image->blocks; i++) {
		uint32_t away = image->words[image->index + i];

		to[image->index + i] =
			away ? away + shift_of(shifts, count, image->index + away) : 0;
	}
	return start + image->index;
}
