// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of LuaJIT's interpreter, of which CFI says the same everywhere. */
#include "unit/lib/unit.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "luajit/luajit_rows.h"

#define LOW   0x8000u /* linked address of the segment */
#define AT    0x9000u /* of the interpreter */
#define BYTES 0x2000u

static const uint8_t enters[] = {0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28};
static const uint8_t leaves[] = {0x48, 0x83, 0xc4, 0x28, 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0x5d};
static const uint8_t loads[] = {0x48, 0x8b, 0x6c, 0x24, 0x10};
static const uint8_t tells[] = {0x48, 0x89, 0x65, 0x50}, resumes[] = {0x4c, 0x89, 0x7d, 0x50};
static const uint8_t untells[] = {0x48, 0x89, 0x4d, 0x50};
static const uint8_t returns[] = {0xc3}, jumps[] = {0xe9, 1, 2, 3, 4};

struct scene {
	uint8_t file[BYTES + 0x2000];
	struct elf_image image;
	struct luajit_rows rows;
	uint64_t at[64]; /* what the sink got */
	struct rule rule[64];
	size_t count;
};

static struct scene scene;

static int take_row(void *arg, uint64_t address, const struct rule *rule)
{
	(void)arg;
	assert_true(scene.count < ARRAY_SIZE(scene.at));
	assert_true(!scene.count || scene.at[scene.count - 1] < address);
	scene.at[scene.count] = address;
	scene.rule[scene.count++] = *rule;
	return 0;
}

static struct rule frame(unsigned words)
{
	struct rule rule;

	memset(&rule, 0, sizeof(rule));
	rule.kind = RULE_CFA;
	rule.cfa_reg = 7;
	rule.cfa_offset = (int32_t)words * 8;
	rule.ra = (struct saved){.kind = SAVED_AT_CFA, .offset = -8};
	if (words > 1)
		rule.fp = (struct saved){.kind = SAVED_AT_CFA, .offset = -16};
	if (words > 2)
		rule.bx = (struct saved){.kind = SAVED_AT_CFA, .offset = -24};
	return rule;
}

#define PUT(at, bytes) memcpy(scene.file + (AT - LOW) + (at), bytes, sizeof(bytes))

/* A frame is set up at 0x100 and, by a coroutine, at 0x140; it is left at 0x200. */
static void make_scene(void)
{
	memset(&scene, 0, sizeof(scene));
	memset(scene.file, 0x90, sizeof(scene.file));
	for (size_t i = 0; i < 4; i++)
		PUT(0x1000 + i * 16, loads);
	PUT(0x100, enters);
	PUT(0x120, tells);
	PUT(0x140, enters);
	PUT(0x160, resumes);
	PUT(0x1f8, untells);
	PUT(0x200, leaves);
	PUT(0x20a, returns);
}

/* Gives the filter the interpreter's row, of that rule, and those around it. */
static void filter(const struct rule *rule, uint64_t bytes)
{
	const struct rule before = frame(1), none = {.kind = RULE_NONE};
	int fd = memfd_create("code", MFD_CLOEXEC);

	assert_int_equal(write(fd, scene.file, sizeof(scene.file)), sizeof(scene.file));
	scene.image = (struct elf_image){
		.wide = true,
		.machine = EM_X86_64,
		.segments = {{0, sizeof(scene.file), LOW}},
		.segments_count = 1,
	};
	scene.count = 0;
	luajit_rows_begin(&scene.rows, fd, &scene.image, take_row, NULL);
	assert_int_equal(luajit_rows_take(&scene.rows, LOW, &before), 0);
	assert_int_equal(luajit_rows_take(&scene.rows, AT, rule), 0);
	assert_int_equal(luajit_rows_take(&scene.rows, AT + bytes, &none), 0);
	assert_int_equal(luajit_rows_end(&scene.rows), 0);
	assert_int_equal(scene.at[scene.count - 1], AT + bytes);
	close(fd);
}

/* Returns the words from sp to the CFA at an address; 0: the frame is searched for. */
static unsigned words_at(uint64_t at)
{
	size_t i = scene.count;

	while (i && scene.at[i - 1] > AT + at)
		i--;
	assert_true(i > 0);
	const struct rule *rule = &scene.rule[i - 1];
	if (rule->kind == RULE_LUAJIT)
		return 0;
	assert_int_equal(rule->kind, RULE_CFA);
	const struct rule expected = frame((unsigned)rule->cfa_offset / 8);
	assert_true(rule_is_equal(rule, &expected));
	return (unsigned)rule->cfa_offset / 8;
}

static void check_words(uint64_t at, unsigned words)
{
	if (words_at(at) != words)
		fail_msg("at %#llx: %u words, not %u", (unsigned long long)at, words_at(at), words);
}

static void a_frame_is_searched_for_but_where_it_is_set_up_or_left(void **state)
{
	static const unsigned entering[] = {1, 2, 3, 3, 4, 4, 5, 5, 5, 5, 10};
	static const unsigned leaving[] = {10, 10, 10, 10, 5, 5, 4, 4, 3, 2, 1};
	struct rule rule = frame(10);

	(void)state;
	make_scene();
	rule.bx.kind = SAVED_SAME; /* where nobody tracks it */
	filter(&rule, BYTES);
	assert_true(scene.rows.found);
	check_words(0, 0);
	check_words(0xff, 0);
	for (size_t i = 0; i < ARRAY_SIZE(entering); i++) {
		check_words(0x100 + i, entering[i]);
		check_words(0x140 + i, entering[i]);
		check_words(0x200 + i, leaving[i]);
	}
	check_words(0x123, 10); /* until the state knows the frame */
	check_words(0x124, 0);
	check_words(0x163, 10);
	check_words(0x164, 0);
	check_words(0x1fb, 0);
	check_words(0x1fc, 10); /* from where the state knows it no longer */
	check_words(0x20b, 0);
	check_words(BYTES - 1, 0);
}

static void a_frame_may_be_left_by_a_jump(void **state)
{
	const struct rule rule = frame(10);

	(void)state;
	make_scene();
	PUT(0x20a, jumps);
	filter(&rule, BYTES);
	check_words(0x20e, 1);
	check_words(0x20f, 0);
}

static void a_frame_that_no_instruction_tells_keeps_its_row(void **state)
{
	const struct rule rule = frame(10);

	(void)state;
	make_scene();
	PUT(0x1800, enters);
	filter(&rule, BYTES);
	check_words(0x1809, 5);
	check_words(0x180a, 10);
	check_words(BYTES - 1, 10);
}

/* A callback's own code has pushed rbp, and a function of C tells the state. */
static void a_callback_enters_behind_its_own_code(void **state)
{
	static const unsigned entering[] = {2, 3, 3, 4, 4, 5, 5, 5, 5, 10};
	const struct rule rule = frame(10);

	(void)state;
	make_scene();
	memcpy(scene.file + (AT - LOW) + 0x1800, enters + 1, sizeof(enters) - 1);
	filter(&rule, BYTES);
	check_words(0x17ff, 0);
	for (size_t i = 0; i < ARRAY_SIZE(entering); i++)
		check_words(0x1800 + i, entering[i]);
	check_words(BYTES - 1, 10);
}

static void what_ends_with_the_code_gives_no_row_behind_it(void **state)
{
	const struct rule rule = frame(10);

	(void)state;
	make_scene();
	PUT(BYTES - 4, tells);
	filter(&rule, BYTES);
	assert_true(scene.rows.found);
	for (size_t at = 11; at < 16;
	     at++) { /* (with its return it ends at the code's end, or before) */
		make_scene();
		PUT(BYTES - at, leaves);
		PUT(BYTES - at + 10, returns);
		filter(&rule, BYTES);
		assert_true(scene.rows.found);
	}
	make_scene();
	PUT(BYTES - 12, leaves);
	PUT(BYTES - 2, jumps); /* goes on behind the code */
	filter(&rule, BYTES);
	assert_true(scene.rows.found);
	make_scene();
	PUT(BYTES - 10, leaves); /* nobody knows how it goes on */
	filter(&rule, BYTES);
	assert_false(scene.rows.found);
}

static void other_code_keeps_its_rows(void **state)
{
	struct rule rule = frame(10);

	(void)state;
	make_scene();
	filter(&rule, 0xfff); /* too little */
	assert_false(scene.rows.found);
	assert_int_equal(scene.count, 3);
	assert_true(rule_is_equal(&scene.rule[1], &rule));
	filter(&rule, 0x1000);
	assert_false(scene.rows.found); /* it doesn't read the state from the frame */
	rule.fp.offset = -24;
	filter(&rule, BYTES);
	assert_false(scene.rows.found);
	rule = frame(9);
	filter(&rule, BYTES);
	assert_false(scene.rows.found);
	rule = frame(10);
	filter(&rule, sizeof(scene.file)); /* the segment ends before it */
	assert_false(scene.rows.found);
	assert_int_equal(scene.count, 3);
	for (size_t i = 0; i < sizeof(scene.file) - 4; i++) {
		if (memcmp(scene.file + i, tells, 4) == 0)
			scene.file[i] = 0x90;
	}
	filter(&rule, BYTES);
	assert_false(scene.rows.found);
}

static void the_last_row_of_all_is_given(void **state)
{
	const struct rule rule = frame(10);

	(void)state;
	make_scene();
	scene.image = (struct elf_image){.machine = EM_X86_64};
	luajit_rows_begin(&scene.rows, -1, &scene.image, take_row, NULL);
	assert_int_equal(luajit_rows_take(&scene.rows, AT, &rule), 0);
	assert_int_equal(scene.count, 0);
	assert_int_equal(luajit_rows_end(&scene.rows), 0);
	assert_int_equal(scene.count, 1);
	assert_int_equal(luajit_rows_end(&scene.rows), 0);
	assert_int_equal(scene.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_searched_for_but_where_it_is_set_up_or_left),
		cmocka_unit_test(a_frame_may_be_left_by_a_jump),
		cmocka_unit_test(a_frame_that_no_instruction_tells_keeps_its_row),
		cmocka_unit_test(a_callback_enters_behind_its_own_code),
		cmocka_unit_test(what_ends_with_the_code_gives_no_row_behind_it),
		cmocka_unit_test(other_code_keeps_its_rows),
		cmocka_unit_test(the_last_row_of_all_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
