// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "runtime/interpreter.h"

static void its_version(void **state)
{
	static const struct {
		uint32_t version;
		const char *text;
	} cases[] = {
		{0x030812f0, "3.8.18"},	  {0x030d00f0, "3.13.0"},   {0x030e00c1, "3.14.0rc1"},
		{0x030f00a7, "3.15.0a7"}, {0x031001b2, "3.16.1b2"}, {0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct interpreter interpreter = {.found.version = cases[i].version};
		char text[32];

		interpreter_version(&interpreter, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void why_it_is_not_walked(void **state)
{
	struct interpreter interpreter = {.found.version = 0x031100f0, .runtime.error = -ENOTSUP};

	(void)state;
	assert_false(interpreter_is_supported(NULL));
	assert_false(interpreter_is_supported(&interpreter));
	assert_string_equal(interpreter_problem(&interpreter), "unsupported version");
	interpreter.found.version = 0;
	assert_string_equal(interpreter_problem(&interpreter), "unknown version");
	interpreter.runtime.error = -EPERM;
	assert_string_equal(interpreter_problem(&interpreter), "its memory can't be read");
	interpreter.runtime.error = 0;
	assert_true(interpreter_is_supported(&interpreter));
	assert_string_equal(interpreter_problem(&interpreter), "");
}

static void whose_code_a_frame_is(void **state)
{
	struct symbol_file *file = symbol_file_nameless("/usr/lib/engine"), *other;
	struct interpreter interpreter = {
		.runtime.file = file,
		.found = {.loop = {{0x1000, 0x2000}, {0x100, 0x180}}, .loop_count = 2},
	};
	static const struct {
		uint64_t address;
		bool is_loop;
	} cases[] = {{0xfff, false},  {0x1000, true}, {0x1fff, true},
		     {0x2000, false}, {0x100, true},  {0x180, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct code code = {.place = CODE_FILE, .file = file, .address = cases[i].address};

		assert_true(interpreter_owns(&interpreter, &code));
		assert_false(interpreter_owns(NULL, &code));
		assert_int_equal(interpreter_is_loop(&interpreter, &code), cases[i].is_loop);
		assert_false(interpreter_is_loop(NULL, &code));
	}
	other = symbol_file_nameless("/usr/lib/other");
	struct code code = {.place = CODE_FILE, .file = other, .address = 0x1000};
	assert_false(interpreter_owns(&interpreter, &code));
	assert_false(interpreter_is_loop(&interpreter, &code));
	symbol_file_unref(other);
	symbol_file_unref(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_version),
		cmocka_unit_test(why_it_is_not_walked),
		cmocka_unit_test(whose_code_a_frame_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
