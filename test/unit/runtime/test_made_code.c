// SPDX-License-Identifier: GPL-2.0-or-later
/* Which name made code had at a time: what looks at different times found is put together. */
#include "unit/jit/jit_scene.h"

#include "base/clock.h"
#include "jit/jit_memory.h"
#include "runtime/made_code.h"

static struct made_code *look(struct scene *scene, struct made_code *before)
{
	const struct process_memory memory = scene_memory(scene);
	struct made_code *code = calloc(1, sizeof(*code));

	assert_non_null(code);
	code->runtime.refs = 1;
	code->found = before ? made_code_place(before)
			     : (struct jit_place){.descriptor = scene_descriptor(scene)};
	made_code_kind.ask(1, &memory, &code->runtime);
	if (before && !made_code_kind.follow(&code->runtime, &before->runtime)) {
		assert_true(code->is_unchanged);
		made_code_kind.unref(&code->runtime);
		return before;
	}
	if (before)
		made_code_kind.unref(&before->runtime);
	return code;
}

static void check_name(const struct made_code *code, uint64_t address, uint64_t ns,
		       const char *name)
{
	struct jit_object *object;
	size_t len = 0;
	const char *found = made_code_find(code, address, ns, &object, &len);

	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_int_equal(len, strlen(name));
	assert_memory_equal(found, name, len);
}

static void end_look(struct made_code *code, struct scene *scene)
{
	made_code_kind.unref(&code->runtime);
	scene_done(scene);
	assert_int_equal(jit_memory_taken(), 0); /* all was given back */
}

static void what_is_there_has_its_name_before_the_first_look_too(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	struct made_code *code = look(&scene, NULL);
	check_name(code, CODE_AT, code->read_ns - 1000000, "made::outer()");
	check_name(code, CODE_AT, code->read_ns + 1000000, "made::outer()");
	check_name(code, CODE_AT + MADE_CODE, code->read_ns, NULL);
	end_look(code, &scene);
}

static void what_is_gone_has_its_name_until_it_was_seen_last(void **state)
{
	static const unsigned rest[] = {1};
	struct scene scene;

	(void)state;
	scene_make(&scene);
	struct made_code *code = look(&scene, NULL);
	uint64_t seen_ns = code->read_ns;
	scene_list(&scene, rest, 1);
	code = look(&scene, code);
	check_name(code, CODE_AT, seen_ns, "made::outer()");
	check_name(code, CODE_AT, seen_ns + 1, NULL);
	check_name(code, CODE_AT, code->read_ns, NULL);
	code = look(&scene, code); /* looks later it still has */
	check_name(code, CODE_AT, seen_ns, "made::outer()");
	check_name(code, CODE_AT + 0x10000000, seen_ns, "other");
	end_look(code, &scene);
}

static void a_look_that_finds_the_same_only_says_when(void **state)
{
	static const unsigned rest[] = {1};
	struct scene scene;

	(void)state;
	scene_make(&scene);
	struct made_code *code = look(&scene, NULL), *first = code;
	jit_rows_done(&code->code.rows); /* nobody has put its rows into an arena here */
	uint64_t seen_ns = code->read_ns;
	code = look(&scene, code);
	assert_ptr_equal(code, first);
	assert_true(code->read_ns > seen_ns);
	seen_ns = code->read_ns;
	scene_list(&scene, rest, 1);
	code = look(&scene, code);
	assert_ptr_not_equal(code, first);
	check_name(code, CODE_AT, seen_ns, "made::outer()");
	check_name(code, CODE_AT, seen_ns + 1, NULL);
	end_look(code, &scene);
}

static void of_two_names_between_two_looks_none_is_guessed(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	struct made_code *code = look(&scene, NULL);
	uint64_t seen_ns = code->read_ns;
	scene_describe(&scene, 0, CODE_AT, true, "newer", "inner");
	code = look(&scene, code);
	check_name(code, CODE_AT, seen_ns - 1, "made::outer()");
	check_name(code, CODE_AT, seen_ns + 1, NULL);
	check_name(code, CODE_AT + MADE_BYTES, seen_ns + 1, "inner"); /* both say so */
	check_name(code, CODE_AT, code->read_ns, "newer");
	end_look(code, &scene);
}

static void what_came_later_has_no_name_before_the_look_without_it(void **state)
{
	static const unsigned one[] = {1}, both[] = {0, 1};
	struct scene scene;

	(void)state;
	scene_make(&scene);
	scene_list(&scene, one, 1);
	struct made_code *code = look(&scene, NULL);
	uint64_t before_ns = code->read_ns;
	scene_list(&scene, both, 2);
	code = look(&scene, code);
	check_name(code, CODE_AT, before_ns - 1, NULL);
	check_name(code, CODE_AT, before_ns + 1, "made::outer()");
	end_look(code, &scene);
}

/* The list is another one while the second look reads it. */
static void change_for_a_look(struct scene *scene)
{
	bool is_read = scene->lists == 4 || scene->lists == 5;

	scene_describe(scene, 0, CODE_AT, true, is_read ? "short" : "before_and_after", "inner");
}

static void a_list_that_was_another_one_only_while_it_was_read_is_read_again(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	struct made_code *code = look(&scene, NULL); /* reads the list at its begin and its end */
	assert_int_equal(scene.lists, 2);
	jit_rows_done(&code->code.rows);
	scene.before_read = change_for_a_look;
	code = look(&scene, code); /* reads it for the checksum, too */
	assert_int_equal(scene.lists, 5);
	check_name(code, CODE_AT, code->read_ns, "short");
	jit_rows_done(&code->code.rows);
	code = look(&scene, code);
	assert_int_equal(scene.lists, 8);
	check_name(code, CODE_AT, code->read_ns, "before_and_after");
	end_look(code, &scene);
}

#define GONE 70 /* more than are remembered */

static void before_what_is_forgotten_there_are_no_names(void **state)
{
	static const unsigned one[] = {0};
	unsigned numbers[GONE];
	struct scene scene;

	(void)state;
	scene_make(&scene);
	scene_describe(&scene, 2, CODE_AT, true, "older", "inner");
	for (unsigned i = 0; i < GONE; i++) { /* the last one has code of its own */
		numbers[i] = ENTRIES_MAX - GONE + i;
		scene.memory->entries[numbers[i]] = scene.memory->entries[i + 1 < GONE ? 1 : 2];
	}
	scene_list(&scene, numbers, GONE);
	struct made_code *code = look(&scene, NULL);
	uint64_t seen_ns = code->read_ns;
	check_name(code, CODE_AT, seen_ns, "older");
	scene_describe(&scene, 0, CODE_AT, true, "newer", "inner");
	scene_list(&scene, one, 1);
	code = look(&scene, code);
	check_name(code, CODE_AT, seen_ns, NULL);
	check_name(code, CODE_AT, code->read_ns - 1, NULL); /* it may have been the older one */
	check_name(code, CODE_AT, code->read_ns, "newer");
	end_look(code, &scene);
}

static void looks_that_fail_tell_nothing(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	scene.memory->descriptor.version = 7;
	struct made_code *code = look(&scene, NULL);
	assert_int_equal(code->runtime.error, -ENOTSUP);
	check_name(code, CODE_AT, code->read_ns, NULL);
	assert_null(made_code_rows(code, NULL));
	assert_null(made_code_rows(NULL, NULL));
	end_look(code, &scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_has_its_name_before_the_first_look_too),
		cmocka_unit_test(what_is_gone_has_its_name_until_it_was_seen_last),
		cmocka_unit_test(a_look_that_finds_the_same_only_says_when),
		cmocka_unit_test(of_two_names_between_two_looks_none_is_guessed),
		cmocka_unit_test(what_came_later_has_no_name_before_the_look_without_it),
		cmocka_unit_test(a_list_that_was_another_one_only_while_it_was_read_is_read_again),
		cmocka_unit_test(before_what_is_forgotten_there_are_no_names),
		cmocka_unit_test(looks_that_fail_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
