// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes as an ELF file's unwind table, and look-ups all over it: the same before and after it is
 * put at a place in the arena. */
#include "fuzz.h"

#include <string.h>

#include "base/hash.h"
#include "unwind/image.h"
#include "unwind/image_row.h"

/* What came last from cfi_read(). */
struct order {
	const struct elf_image *elf;
	uint64_t next, rows;
	struct rule last;
};

static int check_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct order *order = arg;

	demand(order->rows == 0 || address >= order->next);
	demand(!rule_is_equal(rule, &order->last));
	demand(rule->kind != RULE_UNSUPPORTED || rule->unsupported < UNSUPPORTED_COUNT);
	order->last = *rule;
	order->next = address + 1;
	order->rows++;
	return 0;
}

static void check_reading(int fd, const struct elf_image *elf)
{
	struct order order = {.elf = elf};
	struct cfi_stats stats;
	const struct elf_extent *extents[] = {&elf->frames.eh_frame, &elf->frames.debug_frame};

	for (size_t i = 0; i < 2; i++)
		demand(extents[i]->offset <= elf->file_bytes &&
		       extents[i]->bytes <= elf->file_bytes - extents[i]->offset);
	int r = cfi_read(fd, elf, check_row, &order, &stats);

	demand(r <= 0);
	demand(r < 0 || stats.rows == order.rows);
	demand(r < 0 || order.rows == 0 || order.last.kind == RULE_NONE);
}

/* By bpf/shared/packed.h alone, in words that begin at word `start` of the arena. */
static void find_placed(const struct table_image *image, const uint32_t *words, uint32_t start,
			uint32_t index, uint64_t offset, struct rule *rule)
{
	uint32_t away = words[index - start + (offset >> BLOCK_SHIFT)];
	struct table_rule packed;

	*rule = (struct rule){.kind = RULE_NONE};
	if (!away)
		return;
	uint32_t at = index + away, count = words[at - start] >> ROW_ADDRESS_SHIFT;
	demand(at / CHUNK_WORDS == (at + count) / CHUNK_WORDS);
	uint32_t row = words[at - start], last = 0;
	for (uint32_t i = 1; i <= count; i++) {
		uint32_t next = words[at - start + i], address = next >> ROW_ADDRESS_SHIFT;

		demand(address > last);
		last = address;
		if (address <= (offset & (BLOCK_BYTES - 1)))
			row = next;
	}
	if ((row >> ROW_KIND_SHIFT & ROW_KIND_MASK) == ROW_RULE) {
		uint32_t rule_at = ((row & ROW_PAYLOAD) + 1) * RULE_WORDS;

		demand(rule_at <= image->index);
		memcpy(&packed, words + (index - start) - rule_at, sizeof(packed));
		rule_unpack(&packed, rule);
	} else {
		row_unpack(row_format_of(image->machine), row, rule);
	}
}

/* All over the table, and densely where the input says. */
static void look_up(const struct table_image *image, uint64_t seed)
{
	uint32_t start = (uint32_t)seed % (4 * CHUNK_WORDS);
	size_t room = image_room(image);
	uint32_t *words = malloc(room * sizeof(*words));
	uint64_t end = (uint64_t)image->blocks << BLOCK_SHIFT, dense = seed % end;
	struct rule rule, placed;

	demand(words != NULL);
	memset(words, 0xff, room * sizeof(*words));
	uint32_t index = image_place(image, start, words);
	demand(index == start + image->index);
	for (uint64_t i = 0; i < 4096; i++) {
		uint64_t at = i < 2048 ? i * (end / 2048) : (dense + i) % end;

		image_find(image, image->low + at, &rule);
		find_placed(image, words, start, index, at, &placed);
		demand(rule_is_equal(&rule, &placed));
	}
	free(words);
}

/* The same with rows that are made from code, at two places of it. */
static void check_made(int fd, const struct elf_image *elf, uint64_t seed)
{
	struct table_image image = {0};
	const struct elf_segment *segment = &elf->segments[0];

	if (!elf->segments_count || !segment->file_bytes)
		return;
	uint64_t asked[] = {segment->address, segment->address + seed % segment->file_bytes};
	struct made_wanted wanted = {.asked = asked, .asked_count = 2, .cpu_ns = 1000000};
	int r = image_build_made(fd, &wanted, &image);

	demand(r <= 0 && (r == 0) == (image.words != NULL));
	for (size_t i = 0; i < image.made.count; i++) {
		const struct made_run *run = &image.made.runs[i];

		demand(run->from < run->to && (i == 0 || run->from >= run[-1].to));
	}
	if (r == 0)
		look_up(&image, seed);
	image_done(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct table_image image;
	struct elf_image elf;

	if (bytes > FUZZ_FILE_MAX)
		return 0;
	int fd = fuzz_file(data, bytes);
	if (elf_read(fd, &elf) == 0) {
		check_reading(fd, &elf);
		check_made(fd, &elf, hash_bytes(0, data, bytes));
	}
	int r = image_build(fd, &image);
	demand(r <= 0 && (r == 0) == (image.words != NULL));
	if (r == 0) {
		demand(image.index + (size_t)image.blocks <= image.count);
		demand(image.blocks > 0 && image.low % BLOCK_BYTES == 0);
		look_up(&image, hash_bytes(0, data, bytes));
	}
	image_done(&image);
	return 0;
}
