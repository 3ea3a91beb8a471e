// SPDX-License-Identifier: GPL-2.0-or-later
/* What a program tells debuggers of the code that it makes: names and rows, whatever it writes. */
#include "unit/jit/jit_scene.h"

#include "jit/jit_memory.h"

static int look(struct scene *scene, struct jit_code *code)
{
	const struct process_memory memory = scene_memory(scene);

	return jit_code_read(code, &memory, scene_descriptor(scene), WHOSE);
}

static void check_name(const struct jit_code *code, uint64_t address, const char *name)
{
	int64_t number = jit_code_find(code, address);
	size_t len = 0;
	const char *found =
		number >= 0 ? jit_object_find(code->objects[number], address, &len) : NULL;

	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_int_equal(len, strlen(name));
	assert_memory_equal(found, name, len);
}

/* Returns the rule at an address in memory. */
static struct rule rule_at(const struct jit_code *code, uint64_t address)
{
	struct rule rule = {.kind = RULE_NONE};

	for (size_t i = 0; i < code->rows.count; i++) {
		const struct jit_piece *piece = &code->rows.pieces[i];

		if (address >= piece->start && address < piece->end)
			image_find(&code->rows.image, piece->at + (address - piece->start), &rule);
	}
	return rule;
}

static void check_cfa(const struct jit_code *code, uint64_t address, int32_t offset)
{
	struct rule rule = rule_at(code, address);

	assert_int_equal(rule.kind, RULE_CFA);
	assert_int_equal(rule.cfa_reg, 7);
	assert_int_equal(rule.cfa_offset, offset);
}

static uint64_t lost(const struct jit_code *code)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < JIT_LOST_COUNT; i++)
		sum += code->lost[i];
	return sum;
}

static void functions_have_names_and_rows(void **state)
{
	struct scene scene;
	struct jit_code code;

	(void)state;
	scene_make(&scene);
	assert_int_equal(look(&scene, &code), 0);
	assert_int_equal(code.count, 2);
	assert_int_equal(lost(&code), 0);
	for (unsigned i = 0; i < 2; i++) { /* an object file, and one that is none */
		uint64_t at = CODE_AT + i * 0x10000000ull;

		check_name(&code, at - 1, NULL);
		check_name(&code, at, i ? "other" : "made::outer()");
		check_name(&code, at + MADE_CODE - 1, i ? "other" : "made::outer()");
		check_name(&code, at + MADE_CODE, NULL);
		check_name(&code, at + MADE_BYTES, i ? "another" : "inner");
		for (unsigned function = 0; function < 2; function++, at += MADE_BYTES) {
			check_cfa(&code, at, 8);
			check_cfa(&code, at + 4, 32);
			check_cfa(&code, at + 9, 32);
			check_cfa(&code, at + 10, 8);
		}
	}
	jit_code_done(&code);
	scene_done(&scene);
}

static void an_empty_list_is_no_error(void **state)
{
	struct scene scene;
	struct jit_code code;

	(void)state;
	scene_make(&scene);
	scene_list(&scene, NULL, 0);
	assert_int_equal(look(&scene, &code), 0);
	assert_int_equal(code.count, 0);
	assert_int_equal(code.rows.count, 0);
	check_name(&code, CODE_AT, NULL);
	jit_code_done(&code);
	scene_done(&scene);
}

static void code_between_functions_keeps_frame_pointers_as_other_made_code(void **state)
{
	static const unsigned both[] = {0, 1};
	struct scene scene;
	struct jit_code code;

	(void)state;
	scene_make(&scene);
	scene_describe(&scene, 1, CODE_AT + 0x1000, true, "near", "nearer");
	scene_list(&scene, both, 2);
	assert_int_equal(look(&scene, &code), 0);
	assert_int_equal(code.rows.count, 1); /* one piece */
	check_cfa(&code, CODE_AT, 8);
	assert_int_equal(rule_at(&code, CODE_AT + 0x800).kind, RULE_FRAMES);
	check_cfa(&code, CODE_AT + 0x1004, 32);
	jit_code_done(&code);
	scene_done(&scene);
}

/* ---- what makes no sense ---- */

static void check_error(struct scene *scene, int error)
{
	struct jit_code code;

	assert_int_equal(look(scene, &code), error);
}

static void a_list_that_makes_no_sense_is_refused(void **state)
{
	static const unsigned both[] = {0, 1};
	struct scene scene;

	(void)state;
	scene_make(&scene);
	scene.memory->entries[1].next = at_of(&scene.memory->entries[0]); /* in a circle */
	check_error(&scene, -EAGAIN);
	scene_list(&scene, both, 2);
	scene.memory->entries[1].next = at_of(&scene.memory->entries[1]);
	check_error(&scene, -EAGAIN);
	scene_list(&scene, both, 2);
	scene.memory->entries[1].prev = 0;
	check_error(&scene, -EAGAIN);
	scene_list(&scene, both, 2);
	scene.memory->entries[0].next = 0xdead0000;
	check_error(&scene, -EAGAIN);
	scene_list(&scene, both, 2);
	scene.memory->descriptor.version = 2;
	check_error(&scene, -ENOTSUP);
	scene_done(&scene);
}

static void check_one_lost(struct scene *scene, enum jit_loss loss)
{
	struct jit_code code;

	assert_int_equal(look(scene, &code), 0);
	assert_int_equal(code.count, 1);
	assert_int_equal(code.lost[loss], 1);
	assert_int_equal(lost(&code), 1);
	check_name(&code, CODE_AT, NULL);
	check_name(&code, CODE_AT + 0x10000000, "other");
	jit_code_done(&code);
}

static void a_file_that_makes_no_sense_costs_only_its_own_names(void **state)
{
	struct scene scene;
	struct made_entry *entry;

	(void)state;
	scene_make(&scene);
	entry = &scene.memory->entries[0];
	entry->elf_bytes = 17 << 20;
	check_one_lost(&scene, JIT_LOST_TOO_LARGE);
	entry->elf_bytes = UINT64_MAX;
	check_one_lost(&scene, JIT_LOST_TOO_LARGE);
	entry->elf_bytes = 0;
	check_one_lost(&scene, JIT_LOST_BROKEN);
	entry->elf_bytes = sizeof(struct made_elf);
	entry->elf = 0x1000;
	check_one_lost(&scene, JIT_LOST_UNREADABLE);
	entry->elf = at_of(&scene.memory->files[0]);
	scene.memory->files[0].header.e_machine = EM_386;
	check_one_lost(&scene, JIT_LOST_BROKEN);
	scene.memory->files[0].header.e_machine = EM_X86_64;
	scene.memory->files[0].sections[MADE_CODE_SECTION].sh_addr = 0; /* it was loaded nowhere */
	check_one_lost(&scene, JIT_LOST_BROKEN);
	scene_done(&scene);
}

static void frames_that_make_no_sense_cost_only_rows(void **state)
{
	struct scene scene;
	struct jit_code code;

	(void)state;
	scene_make(&scene);
	memset(scene.memory->loaded[0], 0xff, sizeof(scene.memory->loaded[0]));
	assert_int_equal(look(&scene, &code), 0);
	check_name(&code, CODE_AT, "made::outer()");
	assert_int_equal(rule_at(&code, CODE_AT).kind, RULE_NONE);
	check_cfa(&code, CODE_AT + 0x10000000, 8);
	jit_code_done(&code);
	scene_done(&scene);
}

static void of_two_that_say_of_the_same_code_what_it_is_none_is_believed(void **state)
{
	static const unsigned all[] = {0, 1, 2};
	struct scene scene;
	struct jit_code code;

	(void)state;
	scene_make(&scene);
	scene_describe(&scene, 2, CODE_AT + MADE_BYTES, true, "late", "later");
	scene_list(&scene, all, 3);
	assert_int_equal(look(&scene, &code), 0);
	assert_int_equal(code.lost[JIT_LOST_OVERLAPPING], 2);
	check_name(&code, CODE_AT, NULL);
	check_name(&code, CODE_AT + MADE_BYTES, NULL);
	assert_int_equal(rule_at(&code, CODE_AT).kind, RULE_NONE);
	check_name(&code, CODE_AT + 0x10000000, "other");
	jit_code_done(&code);
	scene_done(&scene);
}

/* It goes when the list, and the first file, were read. */
static void end_first(struct scene *scene)
{
	static const unsigned rest[] = {1};

	if (scene->reads == 5)
		scene_list(scene, rest, 1);
}

static void what_goes_while_it_is_read_is_left_out(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	scene.before_read = end_first;
	check_one_lost(&scene, JIT_LOST_CHANGED);
	scene_done(&scene);
}

static void any_byte_may_have_any_value(void **state)
{
	struct scene scene;
	uint64_t random = 1;

	(void)state;
	scene_make(&scene);
	for (unsigned i = 0; i < 20000; i++) {
		struct made_memory *memory = scene.memory;
		struct made_memory before = *memory;
		struct jit_code code;

		for (unsigned n = 1 + random_next(&random) % 4; n; n--) {
			uint64_t file = random_next(&random) % 2;
			size_t at = random_next(&random) % sizeof(memory->files[0]);

			((unsigned char *)&memory->files[file])[at] =
				(unsigned char)random_next(&random);
			memory->loaded[file][random_next(&random) % 200] =
				(unsigned char)random_next(&random);
		}
		if (look(&scene, &code) == 0)
			jit_code_done(&code);
		*memory = before;
	}
	scene_done(&scene);
}

static void a_user_has_no_more_than_a_share(void **state)
{
	struct scene scene;
	struct jit_code code;

	(void)state;
	assert_true(jit_memory_take(WHOSE, JIT_SHARE_MAX));
	assert_false(jit_memory_take(WHOSE, 1));
	scene_make(&scene);
	assert_int_equal(look(&scene, &code), 0);
	assert_int_equal(code.count, 0);
	assert_int_equal(code.lost[JIT_LOST_NO_ROOM], 2);
	jit_code_done(&code);
	for (unsigned i = 1; i < 4; i++)
		assert_true(jit_memory_take(WHOSE + i, JIT_SHARE_MAX));
	assert_false(jit_memory_take(WHOSE + 4, 1)); /* nobody may have more together */
	for (unsigned i = 0; i < 4; i++)
		jit_memory_give(WHOSE + i, JIT_SHARE_MAX);
	assert_int_equal(look(&scene, &code), 0);
	assert_int_equal(code.count, 2);
	assert_true(jit_memory_taken() > 0);
	jit_code_done(&code);
	assert_int_equal(jit_memory_taken(), 0);
	scene_done(&scene);
}

#define MANY	  40000 /* functions, each with two rows: JIT_ROWS_MAX is less than twice that */
#define MANY_ROWS (MADE_FRAMES + MANY * 32)

/* An object file of so many functions, of which two have names. */
static void describe_many(struct scene *scene, unsigned number, uint64_t code, const char *name)
{
	Elf64_Shdr *sections = scene->memory->files[number].sections;
	unsigned char *frames = scene->frames + (size_t)number * MANY_ROWS;

	scene_describe(scene, number, code, true, name, "inner");
	sections[MADE_CODE_SECTION].sh_size = MANY * MADE_BYTES;
	sections[MADE_EH_FRAME].sh_addr = at_of(frames);
	sections[MADE_EH_FRAME].sh_size = made_frames(frames, code, MANY);
}

static void a_file_whose_rows_find_no_room_has_names(void **state)
{
	static const unsigned all[] = {0, 1, 2};
	struct scene scene;
	struct jit_code code;

	(void)state;
	scene_make(&scene);
	scene.frames_bytes = (size_t)2 * MANY_ROWS;
	scene.frames = calloc(1, scene.frames_bytes);
	assert_non_null(scene.frames);
	describe_many(&scene, 0, CODE_AT, "first");
	describe_many(&scene, 1, CODE_AT + 0x10000000, "second");
	scene_describe(&scene, 2, CODE_AT + 0x20000000, true, "third", "inner");
	scene_list(&scene, all, 3);
	assert_int_equal(look(&scene, &code), 0);
	assert_int_equal(code.count, 3);
	assert_int_equal(code.lost[JIT_LOST_ROWS], 1);
	assert_int_equal(lost(&code), 1);
	check_name(&code, CODE_AT, "first");
	check_cfa(&code, CODE_AT + 4, 32);
	check_name(&code, CODE_AT + 0x10000000, "second");
	assert_int_equal(rule_at(&code, CODE_AT + 0x10000004).kind, RULE_NONE);
	check_name(&code, CODE_AT + 0x20000000, "third"); /* what comes after it has its rows */
	check_cfa(&code, CODE_AT + 0x20000004, 32);
	jit_code_done(&code);
	free(scene.frames);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_names_and_rows),
		cmocka_unit_test(an_empty_list_is_no_error),
		cmocka_unit_test(code_between_functions_keeps_frame_pointers_as_other_made_code),
		cmocka_unit_test(a_list_that_makes_no_sense_is_refused),
		cmocka_unit_test(a_file_that_makes_no_sense_costs_only_its_own_names),
		cmocka_unit_test(frames_that_make_no_sense_cost_only_rows),
		cmocka_unit_test(of_two_that_say_of_the_same_code_what_it_is_none_is_believed),
		cmocka_unit_test(what_goes_while_it_is_read_is_left_out),
		cmocka_unit_test(any_byte_may_have_any_value),
		cmocka_unit_test(a_user_has_no_more_than_a_share),
		cmocka_unit_test(a_file_whose_rows_find_no_room_has_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
