// SPDX-License-Identifier: GPL-2.0-or-later
/* What a reader of CFI needs around its programs: functions, CIEs, sections, files. */
#include "unit/cfi/cfi_expect.h"
#include "unit/cfi/cfi_maker.h"

#include <zlib.h>

static void functions_come_in_order_and_gaps_have_a_row(void **state)
{
	struct frames frames = frames_usual();

	(void)state;
	frames_fde(&frames, 0x300, 0x10, BYTES(0x0e, 16));
	frames_fde(&frames, 0x100, 0x80, BYTES(0));
	frames_fde(&frames, 0x18f, 0x10, BYTES(0x0e, 16)); /* 15 bytes of padding before */
	frames_fde(&frames, 0x1b0, 0x10, BYTES(0x0e, 16)); /* 17 bytes: who knows what that is */
	struct rows_text *rows = frames_rows(&frames);
	assert_string_equal(rows->text, "100 r7+8 u c-8, 18f r7+16 u c-8, 19f none, "
					"1b0 r7+16 u c-8, 1c0 none, 300 r7+16 u c-8, 310 none");
	assert_int_equal(rows->stats.functions, 4);
	assert_int_equal(rows->stats.rows, 7);
}

static void overlapping_functions_are_left_out_and_counted(void **state)
{
	struct frames frames = frames_usual();

	(void)state;
	frames_fde(&frames, 0, 0x40, BYTES(0));
	frames_fde(&frames, 0, 0x80, BYTES(0x0e, 16));
	frames_fde(&frames, 0x3f, 0x80, BYTES(0x0e, 24));
	frames_fde(&frames, 0x40, 0x10, BYTES(0x0e, 32));
	struct rows_text *rows = frames_rows(&frames);
	assert_string_equal(rows->text, "0 r7+8 u c-8, 40 r7+32 u c-8, 50 none");
	assert_int_equal(rows->stats.overlapping, 2);
	assert_int_equal(rows->stats.functions, 2);
}

static void functions_outside_of_code_are_left_out_and_counted(void **state)
{
	struct frames frames = frames_usual();

	(void)state;
	frames_fde(&frames, 0x10, 0, BYTES(0));
	frames_fde(&frames, CFI_CODE_BYTES, 0x10, BYTES(0));
	frames_fde(&frames, CFI_CODE_BYTES - 0x10, 0x11, BYTES(0));
	frames_fde(&frames, (uint32_t)-16, 0x20, BYTES(0));
	frames_fde(&frames, 0x20, 0x7fffffff, BYTES(0));
	frames_fde(&frames, CFI_CODE_BYTES - 0x10, 0x10, BYTES(0));
	struct rows_text *rows = frames_rows(&frames);
	assert_string_equal(rows->text, "1ff0 r7+8 u c-8, 2000 none");
	assert_int_equal(rows->stats.broken, 5);
}

static void a_cies_augmentations_are_understood(void **state)
{
	struct frames frames = {0};

	(void)state;
	/* personality by an indirect 4-byte pointer, language data's encoding, a signal frame */
	frames_cie(&frames, BYTES(1, 'z', 'P', 'L', 'R', 'S', 'B', 0, 1, 0x78, 16, 7, 0x9b, 1, 2, 3,
				  4, 0x1b, 0x1b, 0x0c, 7, 8, 0x90, 1));
	frames_fde(&frames, 0, 0x10, BYTES(0));
	assert_string_equal(frames_rows(&frames)->text, "0 r7+8 u c-8 signal, 10 none");
}

static void signal_frames_have_their_registers_by_expressions(void **state)
{
	struct frames frames = {0};

	(void)state;
	frames_cie(&frames,
		   BYTES(1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0x1b, 0x0f, 4, 0x77, 0xa0, 1, 6));
	frames_fde(&frames, 0, 0x10,
		   BYTES(0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 7, 3, 0x77, 0xa0, 1, 0x10, 16, 3, 0x77,
			 0xa8, 1, 0x10, 3, 3, 0x77, 0x80, 1));
	assert_string_equal(frames_rows(&frames)->text,
			    "0 *(r7+160)+0 a+120 a+168 bx a+128 signal, 10 none");
}

static void cies_that_are_not_understood_cost_their_functions(void **state)
{
	const struct example cies[] = {
		{BYTES(2, 0, 1, 0x78, 16, 0x0c, 7, 8), NULL}, /* no version 2 */
		{BYTES(1, 'e', 'h', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x78, 16, 0x0c, 7, 8), NULL},
		{BYTES(1, 'R', 0, 1, 0x78, 16, 0x1b), NULL},
		{BYTES(1, 'z', 'R', 'z'), NULL},		       /* a name without an end */
		{BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 200, 0x1b), NULL}, /* longer than it is */
		{BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 0), NULL},
		{BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x2f, 0, 0, 0), NULL}, /* no such form */
		{BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x9b, 0, 0, 0), NULL}, /* indirect */
		{BYTES(1, 'z', 'R', 0, 1, 0x78, 6, 1, 0x1b, 0, 0, 0), NULL},  /* ra in rbp */
		{BYTES(4, 'z', 'R', 0, 4, 0, 1, 0x78, 16, 1, 0x1b, 0), NULL}, /* 4-byte addresses */
		{BYTES(1), NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cies); i++) {
		struct frames frames = {0};

		frames_cie(&frames, cies[i].program, cies[i].bytes);
		frames_fde(&frames, 0, 0x10, BYTES(0));
		frames_cie(&frames, CIE_USUAL);
		frames_fde(&frames, 0x20, 0x10, BYTES(0));
		struct rows_text *rows = frames_rows(&frames);
		assert_string_equal(rows->text, "20 r7+8 u c-8, 30 none");
		assert_int_equal(rows->stats.broken, 1);
	}
}

static void a_cies_program_that_makes_no_sense_marks_its_functions(void **state)
{
	struct frames frames = {0};

	(void)state;
	frames_cie(&frames, BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x3f));
	frames_fde(&frames, 0, 0x10, BYTES(0x41, 0x0e, 16));
	frames_cie(&frames, BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x41));
	frames_fde(&frames, 0x10, 0x10, BYTES(0));
	frames_cie(&frames, BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b)); /* no CFA */
	frames_fde(&frames, 0x20, 0x10, BYTES(0));
	assert_string_equal(frames_rows(&frames)->text, "0 !program, 30 none");
}

static void all_encodings_of_addresses_are_read(void **state)
{
	static const struct {
		uint8_t encoding, bytes;
		uint64_t start;
	} forms[] = {
		{0x00, 8, CFI_CODE},
		{0x03, 4, CFI_CODE},
		{0x04, 8, CFI_CODE},
		{0x0b, 4, CFI_CODE},
		{0x0c, 8, CFI_CODE},
		{0x10, 8, 0},
		{0x1b, 4, 0},
		{0x1c, 8, 0},
		{0x20, 8, 1},
		{0x22, 2, 1},
		{0x2a, 2, 1},
		{0x3b, 4, CFI_CODE - CFI_GOT},
		{0x30, 8, CFI_CODE - CFI_GOT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		uint8_t cie[] = {1,    'z', 'R', 0,    1, 0x78, 16, 1, forms[i].encoding,
				 0x0c, 7,   8,	 0x90, 1};
		struct frames frames = {0};

		frames_cie(&frames, cie, sizeof(cie));
		size_t entry = frames_head(&frames);
		uint64_t start = forms[i].start ? forms[i].start - (forms[i].start == 1)
						: CFI_CODE - (CFI_FRAMES + frames.len);
		uint64_t bytes = 0x10;
		frames_put(&frames, &start, forms[i].bytes);
		frames_put(&frames, &bytes, forms[i].bytes);
		frames_put(&frames, "\0\0", 2);
		frames_end(&frames, entry);
		assert_string_equal(frames_rows(&frames)->text, "0 r7+8 u c-8, 10 none");
	}
}

static void leb_addresses_are_read(void **state)
{
	struct frames frames = {0};

	(void)state;
	frames_cie(&frames,
		   BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x21, 0x0c, 7, 8, 0x90, 1)); /* .text */
	size_t entry = frames_head(&frames);
	frames_put(&frames, "\x90\x01\x10\0", 4);
	frames_end(&frames, entry);
	assert_string_equal(frames_rows(&frames)->text, "90 r7+8 u c-8, a0 none");
}

static void debug_frame_is_read_where_there_is_no_eh_frame(void **state)
{
	const struct example cies[] = {
		{BYTES(1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1), NULL},
		{BYTES(3, 0, 1, 0x78, 0x90, 0, 0x0c, 7, 8, 0x90, 1), NULL},
		{BYTES(4, 0, 8, 0, 1, 0x78, 0x90, 0, 0x0c, 7, 8, 0x90, 1), NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cies); i++) {
		struct frames frames = {.debug = true};

		frames_cie(&frames, cies[i].program, cies[i].bytes);
		frames_fde(&frames, 0, 0x100, BYTES(0x44, 0x0e, 16, 0x86, 2));
		assert_string_equal(frames_rows(&frames)->text,
				    "0 r7+8 u c-8, 4 r7+16 c-16 c-8, 100 none");
	}
}

static void entries_with_64_bit_lengths_are_read(void **state)
{
	struct frames frames = {.debug = true};

	(void)state;
	frames_u32(&frames, UINT32_MAX);
	frames_u64(&frames, 8 + 10);
	frames_u64(&frames, UINT64_MAX);
	frames_put(&frames, BYTES(3, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1));
	frames_u32(&frames, UINT32_MAX);
	frames_u64(&frames, 24);
	frames_u64(&frames, 0); /* its CIE */
	frames_u64(&frames, CFI_CODE);
	frames_u64(&frames, 0x10);
	assert_string_equal(frames_rows(&frames)->text, "0 r7+8 u c-8, 10 none");
}

static struct rows_text *deflated(const struct frames *frames, uint32_t type, uint64_t claimed)
{
	uint8_t packed[4096];
	Elf64_Chdr head = {.ch_type = type, .ch_size = claimed, .ch_addralign = 1};
	uLongf bytes = sizeof(packed) - sizeof(head);

	memcpy(packed, &head, sizeof(head));
	assert_int_equal(compress(packed + sizeof(head), &bytes, frames->bytes, frames->len), Z_OK);
	return plan_rows(&(struct cfi_plan){
		.debug = true, .deflated = true, .frames = packed, .bytes = bytes + sizeof(head)});
}

static void a_compressed_debug_frame_is_read(void **state)
{
	struct frames frames = {.debug = true};

	(void)state;
	frames_cie(&frames, BYTES(3, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1));
	frames_fde(&frames, 0, 0x10, BYTES(0));
	assert_string_equal(deflated(&frames, ELFCOMPRESS_ZLIB, frames.len)->text,
			    "0 r7+8 u c-8, 10 none");
	/* Less or more than it claims: what is there counts. */
	assert_string_equal(deflated(&frames, ELFCOMPRESS_ZLIB, 1 << 20)->text,
			    "0 r7+8 u c-8, 10 none");
	assert_int_equal(deflated(&frames, ELFCOMPRESS_ZLIB, frames.len - 1)->error, -ENOENT);
	assert_int_equal(deflated(&frames, ELFCOMPRESS_ZLIB, UINT64_MAX)->error, -EFBIG);
	assert_int_equal(deflated(&frames, ELFCOMPRESS_ZLIB, 0)->error, -EBADMSG);
	assert_int_equal(deflated(&frames, 77, frames.len)->error, -EBADMSG);
}

static void eh_frame_is_found_without_section_headers(void **state)
{
	struct frames frames = frames_usual();
	struct cfi_plan plan = {.no_sections = true, .frames = frames.bytes};

	(void)state;
	frames_fde(&frames, 0, 0x10, BYTES(0));
	frames_u32(&frames, 0);			   /* the end */
	frames_fde(&frames, 0x20, 0x10, BYTES(0)); /* something else that only looks like it */
	plan.bytes = frames.len;
	assert_string_equal(plan_rows(&plan)->text, "0 r7+8 u c-8, 10 none");
}

static void empty_entries_in_a_section_end_nothing(void **state)
{
	struct frames frames = frames_usual();

	(void)state;
	frames_fde(&frames, 0, 0x10, BYTES(0));
	frames_u32(&frames, 0);
	frames_fde(&frames, 0x10, 0x10, BYTES(0));
	assert_string_equal(frames_rows(&frames)->text, "0 r7+8 u c-8, 20 none");
}

static void arm64_has_its_return_address_in_the_link_register(void **state)
{
	struct frames frames = {0};
	struct cfi_plan plan = {.machine = EM_AARCH64, .frames = frames.bytes};

	(void)state;
	frames_cie(&frames, BYTES(1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0));
	/* signed return addresses; stp x29, x30, [sp, -32]!; mov x29, sp; ldp; then no caller */
	frames_fde(&frames, 0, 0x100,
		   BYTES(0x2d, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41, 0x0d, 29, 0x41, 0x0c, 31, 0,
			 0xdd, 0xde, 0x41, 0x07, 30));
	plan.bytes = frames.len;
	assert_string_equal(plan_rows(&plan)->text,
			    "0 r31+0 u r30, 4 r31+32 c-32 c-24, 8 r29+32 c-32 c-24, "
			    "c r31+0 u r30, 10 end, 100 none");
}

static void files_without_cfi_and_of_other_processors_have_none(void **state)
{
	struct frames frames = frames_usual();
	struct cfi_plan plan = {.frames = frames.bytes, .bytes = frames.len};

	(void)state;
	assert_int_equal(plan_rows(&plan)->error, -ENOENT); /* a CIE alone */
	plan.bytes = 0;
	assert_int_equal(plan_rows(&plan)->error, -ENOENT);
	frames_fde(&frames, 0, 0x10, BYTES(0));
	plan.bytes = frames.len;
	assert_int_equal(plan_rows(&plan)->error, 0);
	plan.machine = EM_PPC64;
	assert_int_equal(plan_rows(&plan)->error, -ENOENT);
}

static void entries_that_point_nowhere_are_left_out(void **state)
{
	struct frames frames = frames_usual();

	(void)state;
	frames.cie = 4; /* inside of the CIE */
	frames_fde(&frames, 0, 0x10, BYTES(0));
	frames.cie = frames.len + 64; /* behind */
	frames_fde(&frames, 0x20, 0x10, BYTES(0));
	frames.cie = frames.len - 20; /* an FDE */
	frames_fde(&frames, 0x40, 0x10, BYTES(0));
	frames.cie = 0;
	frames_fde(&frames, 0x60, 0x10, BYTES(0));
	size_t entry = frames_head(&frames); /* without anything in it */
	frames_end(&frames, entry);
	frames_u32(&frames, 0x7fffffff); /* longer than the section */
	frames_u32(&frames, 0);
	struct rows_text *rows = frames_rows(&frames);
	assert_string_equal(rows->text, "60 r7+8 u c-8, 70 none");
	assert_int_equal(rows->stats.broken, 4);
}

static void a_section_cut_anywhere_does_no_harm(void **state)
{
	struct frames frames = frames_usual();
	size_t whole;

	(void)state;
	frames_fde(&frames, 0, 0x100, BYTES(0x44, 0x0e, 16, 0x86, 2, 0x0f, 3, 0x77, 8, 6));
	frames_fde(&frames, 0x100, 0x100, BYTES(0x44, 0x0e, 16));
	whole = frames.len;
	for (frames.len = 0; frames.len < whole; frames.len++) {
		struct rows_text *rows = frames_rows(&frames);

		assert_true(rows->error == 0 || rows->error == -ENOENT);
		assert_true(rows->stats.functions < 2);
	}
}

static void many_functions_of_a_long_cie_cost_no_more_than_they_may(void **state)
{
	struct frames frames = {0};
	uint8_t body[0x4000] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
	size_t first;

	(void)state;
	/* Two CIEs that are kept in the same place, in turn. */
	frames_cie(&frames, body, sizeof(body) - 8);
	first = frames.cie;
	frames_cie(&frames, body, sizeof(body) - 8);
	assert_int_equal((frames.cie - first) % 256, 0);
	size_t second = frames.cie;
	for (uint32_t i = 0; i < 500; i++) {
		frames.cie = i % 2 ? first : second;
		frames_fde(&frames, i * 16, 16, BYTES(0));
	}
	struct rows_text *rows = frames_rows(&frames);
	assert_true(rows->stats.broken > 0);
	assert_int_equal(rows->error, 0);
}

/* In a hostile file each of many rows would read it again. */
static void long_expressions_are_not_read(void **state)
{
	uint8_t program[0x100] = {0x0f, 0x80, 1, 0x77,
				  8}; /* 128 bytes: rsp + 8, and 0, and 0 ... */

	(void)state;
	for (size_t i = 5; i < 131; i += 2)
		program[i] = 0x23;
	expect(&(struct example){program, 131, "0 !expression, 100 none"}, 1);
	program[1] = 64;
	memmove(program + 2, program + 3, 64);
	expect(&(struct example){program, 66, "0 r7+8 u c-8, 100 none"}, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_come_in_order_and_gaps_have_a_row),
		cmocka_unit_test(overlapping_functions_are_left_out_and_counted),
		cmocka_unit_test(functions_outside_of_code_are_left_out_and_counted),
		cmocka_unit_test(a_cies_augmentations_are_understood),
		cmocka_unit_test(signal_frames_have_their_registers_by_expressions),
		cmocka_unit_test(cies_that_are_not_understood_cost_their_functions),
		cmocka_unit_test(a_cies_program_that_makes_no_sense_marks_its_functions),
		cmocka_unit_test(all_encodings_of_addresses_are_read),
		cmocka_unit_test(leb_addresses_are_read),
		cmocka_unit_test(debug_frame_is_read_where_there_is_no_eh_frame),
		cmocka_unit_test(entries_with_64_bit_lengths_are_read),
		cmocka_unit_test(a_compressed_debug_frame_is_read),
		cmocka_unit_test(eh_frame_is_found_without_section_headers),
		cmocka_unit_test(empty_entries_in_a_section_end_nothing),
		cmocka_unit_test(arm64_has_its_return_address_in_the_link_register),
		cmocka_unit_test(files_without_cfi_and_of_other_processors_have_none),
		cmocka_unit_test(entries_that_point_nowhere_are_left_out),
		cmocka_unit_test(a_section_cut_anywhere_does_no_harm),
		cmocka_unit_test(long_expressions_are_not_read),
		cmocka_unit_test(many_functions_of_a_long_cie_cost_no_more_than_they_may),
	};

	return cmocka_run_group_tests_name("cfi", tests, NULL, NULL);
}
