// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/image.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "cfi/no_cfi_regions.h"
#include "luajit/luajit_rows.h"
#include "unwind/image_pack.h"
#include "unwind/image_row.h"

/* Of rows that are made before a stack asks for them: bytes of code (reading so many takes 20 ms),
 * and CPU time beside that. */
#define AHEAD_BYTES_MAX (4u << 20)
#define AHEAD_NS	(200 * NS_PER_MS)

static uint64_t checksum_seed;

static void seed_checksum(void)
{
	checksum_seed = hash_seed();
}

/* Returns the checksum, with a random seed: processes choose the content and must not know it. */
static uint64_t checksum_of(const struct table_image *image, const struct elf_image *elf)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t sum;

	pthread_once(&once, seed_checksum);
	sum = hash_bytes(checksum_seed, image->words, image->count * sizeof(*image->words));
	sum = hash_bytes(sum, image->segments, image->segments_count * sizeof(image->segments[0]));
	return hash_bytes(sum, elf->build_id, elf->build_id_bytes);
}

static int read_rows(int fd, const struct elf_image *elf, struct packer *packer,
		     struct table_image *image)
{
	struct luajit_rows rows;

	image->stats = (struct cfi_stats){0};
	luajit_rows_begin(&rows, fd, elf, packer_row, packer);
	int r = image->made.count
			? made_rows_give(&image->made, fd, elf, luajit_rows_take, &rows,
					 &image->stats)
			: no_cfi_regions_read(fd, elf, luajit_rows_take, &rows, &image->stats);
	if (r == 0)
		r = luajit_rows_end(&rows);
	image->has_luajit = rows.found;
	return r;
}

static int pack_image(int fd, const struct elf_image *elf, struct table_image *image)
{
	_cleanup_(packer_free) struct packer *packer = NULL;
	int r = packer_new(&packer, elf, false);

	if (r < 0)
		return r;
	r = read_rows(fd, elf, packer, image);
	if (r == PACKER_WANTS_BX) { /* rare, and only in small files */
		packer_free(&packer);
		r = packer_new(&packer, elf, true);
		if (r < 0)
			return r;
		r = read_rows(fd, elf, packer, image);
	}
	return r < 0 ? r : packer_finish(packer, image);
}

static bool lacks_entry(const struct elf_image *elf, const struct table_image *image)
{
	struct rule rule;
	uint64_t offset;

	if (!elf->entry ||
	    !elf_segment_offset(elf->segments, elf->segments_count, elf->entry, &offset))
		return false;
	image_find(image, elf->entry, &rule);
	return rule.kind == RULE_NONE || rule.kind == RULE_FRAMES;
}

/* Returns whether more than half of the code has no rows. */
static bool is_mostly_bare(const struct table_image *image)
{
	uint32_t bare = 0;

	for (uint32_t i = 0; image->words && i < image->blocks; i++)
		bare += !image->words[image->index + i];
	return !image->words || bare > image->blocks / 2;
}

/*
 * Makes rows from code that the first stacks need, if the file has none: those of the function
 * where a program begins, as all its stacks end there, and, where most of the code has none, of all
 * functions whose begin is certain. What isn't made in that time is made when a stack is cut there.
 * Returns 0, also if nothing was made.
 */
static int make_ahead(int fd, const struct elf_image *elf, struct table_image *image)
{
	struct made_wanted wanted = {.asked = &elf->entry};

	if (!elf->wide || elf_code_bytes(elf) > AHEAD_BYTES_MAX)
		return 0;
	wanted.asked_count = lacks_entry(elf, image);
	wanted.all = is_mostly_bare(image);
	wanted.cpu_ns = wanted.all ? AHEAD_NS : 0;
	if (!wanted.asked_count && !wanted.all)
		return 0;
	int r = made_rows_read(&image->made, fd, elf, &wanted);
	if (r == -ENOMEM)
		return r;
	free(TAKE_PTR(image->made.left)); /* what is near is wanted when a stack has it */
	image->made.left_count = 0;
	if (!image->made.count)
		return 0; /* its code isn't understood */
	struct table_image before = *image;
	r = pack_image(fd, elf, image);
	if (r == 0) {
		free(before.words);
		return 0;
	}
	*image = before;
	made_rows_done(&image->made);
	return r == -ENOMEM ? r : 0;
}

int image_build(int fd, struct table_image *image)
{
	*image = (struct table_image){0};
	return image_build_made(fd, NULL, image);
}

int image_build_made(int fd, const struct made_wanted *wanted, struct table_image *image)
{
	struct elf_image elf;
	struct made_rows made = image->made;

	*image = (struct table_image){.made = made};
	int r = elf_read(fd, &elf);
	if (r < 0)
		return r;
	if (wanted && made_rows_read(&image->made, fd, &elf, wanted) == -ENOMEM)
		return -ENOMEM; /* after another failure the file has its own rows */
	memcpy(image->segments, elf.segments, sizeof(image->segments));
	image->segments_count = elf.segments_count;
	image->machine = elf.machine;
	r = pack_image(fd, &elf, image);
	if (!wanted && (r == 0 || r == -ENOENT)) {
		int error = make_ahead(fd, &elf, image);

		r = error < 0 || image->made.count ? error : r;
	}
	if (r < 0)
		return r;
	image->checksum = checksum_of(image, &elf);
	return 0;
}

static int pack_rows(const struct image_rows *rows, bool tracks_bx, struct table_image *image)
{
	_cleanup_(packer_free) struct packer *packer = NULL;
	const struct elf_image elf = {
		.wide = true,
		.machine = rows->machine,
		.segments = {{.file_bytes = rows->bytes}},
		.segments_count = 1,
	};
	int r = packer_new(&packer, &elf, tracks_bx);

	if (r == 0)
		r = rows->give(rows->arg, packer_row, packer);
	if (r != 0)
		return r;
	r = packer_finish(packer, image);
	if (r == 0)
		image->checksum = checksum_of(image, &elf);
	return r;
}

int image_of_rows(const struct image_rows *rows, struct table_image *image)
{
	*image = (struct table_image){.machine = rows->machine};
	int r = pack_rows(rows, false, image);
	return r == PACKER_WANTS_BX ? pack_rows(rows, true, image) : r;
}

void image_done(struct table_image *image)
{
	free(image->words);
	made_rows_done(&image->made);
	image->words = NULL;
	image->count = 0;
}

void image_find(const struct table_image *image, uint64_t address, struct rule *rule)
{
	uint64_t offset = address - image->low;
	uint32_t in_block = offset & (BLOCK_BYTES - 1);

	*rule = (struct rule){.kind = RULE_NONE};
	if (address < image->low || offset >> BLOCK_SHIFT >= image->blocks)
		return;
	const uint32_t *index = image->words + image->index;
	uint32_t away = index[offset >> BLOCK_SHIFT];
	if (!away)
		return;
	const uint32_t *block = index + away;
	uint32_t count = block[0] >> ROW_ADDRESS_SHIFT, row = block[0];
	for (uint32_t i = 1; i <= count && block[i] >> ROW_ADDRESS_SHIFT <= in_block; i++)
		row = block[i];
	if ((row >> ROW_KIND_SHIFT & ROW_KIND_MASK) == ROW_RULE) {
		struct table_rule packed;

		memcpy(&packed, index - (size_t)((row & ROW_PAYLOAD) + 1) * RULE_WORDS,
		       sizeof(packed));
		rule_unpack(&packed, rule);
	} else {
		row_unpack(row_format_of(image->machine), row, rule);
	}
}
