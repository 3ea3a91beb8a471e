// SPDX-License-Identifier: GPL-2.0-or-later
/* Packed tables: what is looked up in them is what was packed, wherever they lie in the arena. */
#include "unit/cfi/cfi_maker.h"

#include "unwind/image_pack.h"
#include "unwind/image_row.h"

/* A table of rules at will, without a file. */
#define LOW 0x10000u

struct row {
	uint64_t address;
	struct rule rule;
};

static struct elf_image elf_of(uint64_t address, uint64_t bytes)
{
	struct elf_image elf = {.wide = true, .machine = EM_X86_64, .segments_count = 1};

	elf.segments[0] = (struct elf_segment){0, bytes, address};
	return elf;
}

static int pack(const struct elf_image *elf, const struct row *rows, size_t count, bool tracks_bx,
		struct table_image *image)
{
	_cleanup_(packer_free) struct packer *packer = NULL;
	int r = packer_new(&packer, elf, tracks_bx);

	memset(image, 0, sizeof(*image));
	image->machine = elf->machine;
	for (size_t i = 0; i < count && r == 0; i++)
		r = packer_row(packer, rows[i].address, &rows[i].rule);
	return r ? r : packer_finish(packer, image);
}

static struct rule cfa(uint8_t reg, int32_t offset, int32_t fp)
{
	struct rule rule = {.kind = RULE_CFA, .cfa_reg = reg, .cfa_offset = offset};

	rule.ra = (struct saved){.kind = SAVED_AT_CFA, .offset = -8};
	if (fp)
		rule.fp = (struct saved){.kind = SAVED_AT_CFA, .offset = fp};
	return rule;
}

/* A look-up in words as they lie in the arena, by bpf/shared/packed.h alone. */
static void find_placed(const uint32_t *words, uint32_t index, const struct table_image *image,
			uint64_t address, struct rule *rule)
{
	uint64_t offset = address - image->low;
	uint32_t away = words[index + (offset >> BLOCK_SHIFT)];
	struct table_rule packed;

	*rule = (struct rule){.kind = RULE_NONE};
	if (!away)
		return;
	const uint32_t *block = words + index + away;
	uint32_t row = block[0], count = block[0] >> ROW_ADDRESS_SHIFT;
	uint32_t at = index + away;
	assert_int_equal(at / CHUNK_WORDS, (at + count) / CHUNK_WORDS); /* crosses no end */
	for (uint32_t i = 1; i <= count; i++) {
		if (block[i] >> ROW_ADDRESS_SHIFT <= (offset & (BLOCK_BYTES - 1)))
			row = block[i];
	}
	if ((row >> ROW_KIND_SHIFT & ROW_KIND_MASK) == ROW_RULE) {
		memcpy(&packed, words + index - ((row & ROW_PAYLOAD) + 1) * (size_t)RULE_WORDS,
		       sizeof(packed));
		rule_unpack(&packed, rule);
	} else {
		row_unpack(row_format_of(image->machine), row, rule);
	}
}

static void check_placed(const struct table_image *image, uint32_t start, uint64_t step)
{
	size_t room = image_room(image);
	uint32_t *words = malloc((start + room) * sizeof(*words));
	struct rule rule, placed;

	assert_non_null(words);
	memset(words, 0xff, (start + room) * sizeof(*words));
	uint32_t index = image_place(image, start, words + start);
	assert_int_equal(index, start + image->index);
	for (uint64_t at = 0; at < (uint64_t)image->blocks << BLOCK_SHIFT; at += step) {
		image_find(image, image->low + at, &rule);
		find_placed(words, index, image, image->low + at, &placed);
		assert_true(rule_is_equal(&rule, &placed));
	}
	free(words);
}

static void rules_of_all_kinds_come_back_as_they_were(void **state)
{
	struct rule deref = cfa(7, 16, -16), far = cfa(10, INT32_MAX, INT32_MIN);
	struct rule lost = cfa(6, 16, 0), low = cfa(7, -8, 0), odd = cfa(7, 12, -16);
	struct elf_image elf = elf_of(LOW, 0x1000);
	struct table_image image;
	struct rule rule;

	(void)state;
	deref.cfa_deref = deref.signal = true;
	deref.cfa_post = -RULE_POST_MAX;
	deref.ra = (struct saved){.kind = SAVED_AT_REG, .offset = 168};
	deref.bx = (struct saved){.kind = SAVED_AT_REG, .offset = -128};
	far.cfa_post = RULE_POST_MAX;
	far.cfa_deref = true;
	far.cfa_index = 31;
	lost.ra = (struct saved){.kind = SAVED_LOST, .reg = 5};
	lost.fp = (struct saved){.kind = SAVED_LOST};
	const struct row rows[] = {
		{LOW, cfa(7, 8, 0)},
		{LOW + 1, cfa(7, 16, -16)},
		{LOW + 2, cfa(6, 16, -16)},
		{LOW + 3, cfa(7, 8191 * 8, -128 * 8)},
		{LOW + 4, cfa(7, 8192 * 8, -16)},
		{LOW + 5, cfa(7, 4096, -129 * 8)},
		{LOW + 6, cfa(7, 16, -8)},
		{LOW + 7, deref},
		{LOW + 8, far},
		{LOW + 9, lost},
		{LOW + 10, low},
		{LOW + 11, odd},
		{LOW + 12, cfa(7, 16, -20)},
		{LOW + 13, {.kind = RULE_END}},
		{LOW + 14, {.kind = RULE_PLT, .plt_from = 11}},
		{LOW + 15, {.kind = RULE_UNSUPPORTED, .unsupported = UNSUPPORTED_PROGRAM}},
		{LOW + 16, {.kind = RULE_NONE}},
	};
	assert_int_equal(pack(&elf, rows, ARRAY_SIZE(rows), true, &image), 0);
	assert_int_equal(image.stats.rows, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		image_find(&image, rows[i].address, &rule);
		assert_true(rule_is_equal(&rule, &rows[i].rule));
	}
	image_find(&image, LOW - 1, &rule);
	assert_int_equal(rule.kind, RULE_NONE);
	image_find(&image, LOW + 0x1000, &rule);
	assert_int_equal(rule.kind, RULE_NONE);
	image_find(&image, UINT64_MAX, &rule);
	assert_int_equal(rule.kind, RULE_NONE);
	check_placed(&image, 1, 1);
	image_done(&image);
}

static void arm64s_frame_records_take_a_word(void **state)
{
	struct elf_image elf = elf_of(LOW, 0x1000);
	struct rule leaf = {.kind = RULE_CFA, .cfa_reg = 31, .ra = {SAVED_LOST, 0, 30}};
	struct rule record = leaf, apart;
	struct table_image image;
	struct rule rule;

	(void)state;
	elf.machine = EM_AARCH64;
	record.cfa_offset = 32;
	record.fp = (struct saved){.kind = SAVED_AT_CFA, .offset = -32};
	record.ra = (struct saved){.kind = SAVED_AT_CFA, .offset = -24};
	apart = record; /* the two aren't neighbours */
	apart.ra.offset = -16;
	const struct row rows[] = {{LOW, leaf}, {LOW + 4, record}, {LOW + 8, apart}};
	assert_int_equal(pack(&elf, rows, ARRAY_SIZE(rows), false, &image), 0);
	assert_int_equal(image.index, RULE_WORDS); /* one rule: the last */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		image_find(&image, rows[i].address + 3, &rule);
		assert_true(rule_is_equal(&rule, &rows[i].rule));
	}
	image_done(&image);
}

static void a_row_holds_on_through_blocks_and_equal_ones_are_shared(void **state)
{
	struct elf_image elf = elf_of(LOW + 0x80, 100 * BLOCK_BYTES);
	const struct row rows[] = {
		{LOW + 0x80, cfa(7, 8, 0)},
		{LOW + 50 * BLOCK_BYTES, cfa(7, 16, 0)},
		{LOW + 90 * BLOCK_BYTES - 1, {.kind = RULE_NONE}},
	};
	struct table_image image;
	struct rule rule;

	(void)state;
	assert_int_equal(pack(&elf, rows, ARRAY_SIZE(rows), false, &image), 0);
	assert_int_equal(image.low, LOW);
	assert_int_equal(image.blocks, 101);
	/* The first, 49 of the second kind, 39 of the third, the one with the last row. */
	assert_int_equal(image.count, image.blocks + 2 + 1 + 1 + 2);
	image_find(&image, LOW + 0x7f, &rule);
	assert_int_equal(rule.kind, RULE_NONE);
	image_find(&image, LOW + 50 * BLOCK_BYTES - 1, &rule);
	assert_int_equal(rule.cfa_offset, 8);
	image_find(&image, LOW + 50 * BLOCK_BYTES, &rule);
	assert_int_equal(rule.cfa_offset, 16);
	image_find(&image, LOW + 90 * BLOCK_BYTES - 2, &rule);
	assert_int_equal(rule.cfa_offset, 16);
	image_find(&image, LOW + 90 * BLOCK_BYTES - 1, &rule);
	assert_int_equal(rule.kind, RULE_NONE);
	for (uint32_t before = 100; before < 110; before++) /* a chunk ends at each of the blocks */
		check_placed(&image, CHUNK_WORDS - before, 64);
	image_done(&image);
}

static void equal_neighbours_are_one_row(void **state)
{
	struct elf_image elf = elf_of(LOW, 0x1000);
	struct rule with_bx = cfa(7, 8, 0);
	struct table_image image;

	(void)state;
	with_bx.bx = (struct saved){.kind = SAVED_AT_CFA, .offset = -16};
	const struct row rows[] = {
		{LOW + 4, cfa(7, 8, 0)}, {LOW + 8, with_bx}, {LOW + 12, cfa(7, 8, 0)}};
	assert_int_equal(pack(&elf, rows, ARRAY_SIZE(rows), false, &image), 0);
	assert_int_equal(image.stats.rows, 1);
	image_done(&image);
	assert_int_equal(pack(&elf, rows, ARRAY_SIZE(rows), true, &image), 0);
	assert_int_equal(image.stats.rows, 3);
	image_done(&image);
}

static void rows_out_of_order_or_place_are_refused(void **state)
{
	struct elf_image elf = elf_of(LOW, 0x1000);
	const struct row back[] = {{LOW + 8, cfa(7, 8, 0)}, {LOW + 7, cfa(7, 16, 0)}};
	const struct row twice[] = {{LOW + 8, cfa(7, 8, 0)}, {LOW + 8, cfa(7, 16, 0)}};
	const struct row before[] = {{LOW - 1, cfa(7, 8, 0)}};
	const struct row behind[] = {{LOW + 0x1400, cfa(7, 8, 0)}};
	const struct row far[] = {{UINT64_MAX, cfa(7, 8, 0)}};
	struct table_image image;

	(void)state;
	assert_int_equal(pack(&elf, back, 2, false, &image), -EINVAL);
	assert_int_equal(pack(&elf, twice, 2, false, &image), -EINVAL);
	assert_int_equal(pack(&elf, before, 1, false, &image), -EINVAL);
	assert_int_equal(pack(&elf, behind, 1, false, &image), -EINVAL);
	assert_int_equal(pack(&elf, far, 1, false, &image), -EINVAL);
	elf = elf_of(LOW, (UINT64_C(1) << 30) + 1);
	assert_int_equal(pack(&elf, NULL, 0, false, &image), -EFBIG);
	elf = elf_of(UINT64_MAX - 10, 100);
	assert_int_equal(pack(&elf, NULL, 0, false, &image), -EBADMSG);
	elf.segments_count = 0;
	assert_int_equal(pack(&elf, NULL, 0, false, &image), -ENOENT);
}

/* A table longer than several chunks, of distinct rows, at each kind of place. */
static void no_block_crosses_a_chunks_end_wherever_a_table_begins(void **state)
{
	const uint64_t blocks = 3000;
	struct elf_image elf = elf_of(LOW, blocks * BLOCK_BYTES);
	_cleanup_(packer_free) struct packer *packer = NULL;
	struct table_image image = {.machine = EM_X86_64};
	uint64_t random = 1;

	(void)state;
	assert_int_equal(packer_new(&packer, &elf, false), 0);
	for (uint64_t at = 0; at < blocks * BLOCK_BYTES;) {
		struct rule rule = cfa(random_next(&random) % 9 ? 7 : 12,
				       (int32_t)(random_next(&random) % 8000) * 8, 0);
		/* Stretches of dense and of thin rows; a block that fills up. */
		uint64_t thin = at >> 18 & 1 ? 1 : 40;

		assert_int_equal(packer_row(packer, LOW + at, &rule), 0);
		at += 1 + random_next(&random) % thin;
	}
	assert_int_equal(packer_finish(packer, &image), 0);
	assert_true(image.count > 5 * CHUNK_WORDS);
	check_placed(&image, 0, 1);
	check_placed(&image, 1, 7);
	check_placed(&image, CHUNK_WORDS - 1, 7);
	check_placed(&image, 12345, 7);
	image_done(&image);
}

static void more_rules_than_the_first_room_are_kept_apart(void **state)
{
	struct elf_image elf = elf_of(LOW, 0x10000);
	static struct row rows[4000];
	struct table_image image;
	struct rule rule;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i] = (struct row){LOW + i * 8, cfa(10, (int32_t)(i % 1000), 0)};
	assert_int_equal(pack(&elf, rows, ARRAY_SIZE(rows), false, &image), 0);
	assert_int_equal(image.index, 1000 * RULE_WORDS);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		image_find(&image, rows[i].address + 5, &rule);
		assert_true(rule_is_equal(&rule, &rows[i].rule));
	}
	check_placed(&image, 70000, 3);
	image_done(&image);
}

static int build(const struct frames *frames, struct table_image *image)
{
	int fd = cfi_file(&(struct cfi_plan){.frames = frames->bytes, .bytes = frames->len});
	int r = image_build(fd, image);

	close(fd);
	return r;
}

static void rbx_is_tracked_only_where_a_cfa_is_kept_in_it(void **state)
{
	struct frames frames = frames_usual();
	struct table_image image;
	struct rule rule;

	(void)state;
	frames_fde(&frames, 0, 0x10, BYTES(0x83, 2)); /* rbx is saved */
	assert_int_equal(build(&frames, &image), 0);
	assert_false(image.tracks_bx);
	image_find(&image, CFI_CODE, &rule);
	assert_int_equal(rule.bx.kind, SAVED_SAME);
	image_done(&image);
	frames_fde(&frames, 0x10, 0x10, BYTES(0x0d, 3));
	assert_int_equal(build(&frames, &image), 0);
	assert_true(image.tracks_bx);
	image_find(&image, CFI_CODE, &rule);
	assert_int_equal(rule.bx.kind, SAVED_AT_CFA);
	assert_int_equal(rule.bx.offset, -16);
	image_find(&image, CFI_CODE + 0x10, &rule);
	assert_int_equal(rule.cfa_reg, 3);
	assert_int_equal(image.stats.functions, 2);
	image_done(&image);
}

static void equal_content_has_an_equal_checksum_and_only_that(void **state)
{
	struct frames frames = frames_usual();
	struct table_image image, same, other;

	(void)state;
	frames_fde(&frames, 0, 0x10, BYTES(0x44, 0x0e, 16));
	assert_int_equal(build(&frames, &image), 0);
	assert_int_equal(build(&frames, &same), 0);
	frames.bytes[frames.len - 1] = 24;
	assert_int_equal(build(&frames, &other), 0);
	assert_true(image.checksum == same.checksum);
	assert_true(image.checksum != other.checksum);
	image_done(&image);
	image_done(&same);
	image_done(&other);
}

static void a_file_without_cfi_still_tells_its_segments(void **state)
{
	struct frames frames = frames_usual();
	struct table_image image;

	(void)state;
	assert_int_equal(build(&frames, &image), -ENOENT);
	assert_null(image.words);
	assert_int_equal(image.segments_count, 1);
	assert_int_equal(image.segments[0].address, CFI_CODE);
	int fd = memfd_create("none", MFD_CLOEXEC);
	assert_int_equal(image_build(fd, &image), -ENOEXEC);
	assert_null(image.words);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_all_kinds_come_back_as_they_were),
		cmocka_unit_test(arm64s_frame_records_take_a_word),
		cmocka_unit_test(a_row_holds_on_through_blocks_and_equal_ones_are_shared),
		cmocka_unit_test(equal_neighbours_are_one_row),
		cmocka_unit_test(rows_out_of_order_or_place_are_refused),
		cmocka_unit_test(no_block_crosses_a_chunks_end_wherever_a_table_begins),
		cmocka_unit_test(more_rules_than_the_first_room_are_kept_apart),
		cmocka_unit_test(rbx_is_tracked_only_where_a_cfa_is_kept_in_it),
		cmocka_unit_test(equal_content_has_an_equal_checksum_and_only_that),
		cmocka_unit_test(a_file_without_cfi_still_tells_its_segments),
	};

	return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
