// SPDX-License-Identifier: GPL-2.0-or-later
/* Code objects as each version has them, and texts of every form. */
#include "unit/python/pycode_text.h"
#include "unit/python/python_maker.h"

static void a_code_object_has_its_qualified_name_its_file_and_its_lines(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct pycode *code;

	(void)state;
	put_code(memory);
	assert_int_equal(read_code(&code, memory, code_sum_now(memory)), 0);
	assert_name(code, "Shop.work");
	assert_file(code, "/srv/app.py");
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES - 2), 7); /* not begun */
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES), 7);
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES + 3), 7);
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES + 4), 8);
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES + 6), 9);
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES + 11), 9);
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES + 12), 0);
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES - 4), 0);
	assert_int_equal(pycode_line(code, 0), 0);
	assert_int_equal(pycode_line(code, UINT32_MAX), 0);
	assert_in_range(pycode_bytes(code), 30, 300);
	assert_true(memory->reads <= 9);
	pycode_unref(pycode_ref(code));
	assert_name(code, "Shop.work");
	pycode_unref(code);
}

static void without_a_qualified_name_it_has_the_functions(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct python_layout layout = made_layout;
	struct process_memory reader = {.read = python_memory_read, .arg = memory};
	struct pycode *code;

	(void)state;
	layout.code_qualname = CPYTHON_NO;
	put_code(memory);
	assert_int_equal(pycode_read(&code, &layout, &reader, memory->code, code_sum_now(memory)),
			 0);
	assert_name(code, "work");
	pycode_unref(code);
}

/* Its qualified name is the str at `name`. */
static struct pycode *read_named(struct python_memory *memory, uint64_t name)
{
	struct pycode *code;

	put_word(memory, memory->code + MADE_CODE_QUALNAME, name);
	assert_int_equal(read_code(&code, memory, code_sum_now(memory)), 0);
	return code;
}

static void assert_named(struct python_memory *memory, uint64_t name, const char *expected)
{
	struct pycode *code = read_named(memory, name);

	assert_name(code, expected);
	assert_file(code, "/srv/app.py");
	pycode_unref(code);
}

static void every_form_of_str_is_utf8(void **state)
{
	static const uint8_t latin1[] = {'n', 'a', 0xef, 'v', 0xe9, 0xff};
	static const uint16_t two[] = {0x540d, 0x524d, 'a', 0xfffd, 0xd7ff, 0xe000, 0x7ff, 0x800};
	static const uint32_t four[] = {0x1d4d0, 'b', 0xe9, 0x540d, 0x10ffff, 0x10000};
	_cleanup_memory_ struct python_memory *memory = python_memory_new();

	(void)state;
	put_code(memory);
	assert_named(memory, put_ascii(memory, "f.<locals>.<lambda>"), "f.<locals>.<lambda>");
	assert_named(memory, put_ascii(memory, ""), "");
	assert_named(memory, put_ascii(memory, "a\tb\nc\x1b"), "a\tb\nc\x1b");
	assert_named(memory, put_str(memory, 1, false, latin1, 6), "na\u00efv\u00e9\u00ff");
	assert_named(memory, put_str(memory, 2, false, two, 8),
		     "\u540d\u524da\ufffd\xed\x9f\xbf\ue000\xdf\xbf\u0800");
	assert_named(memory, put_str(memory, 4, false, four, 6),
		     "\U0001d4d0b\u00e9\u540d\U0010ffff\U00010000");
}

static void what_is_no_character_is_replaced(void **state)
{
	static const uint16_t two[] = {'/', 0xdcff, 0xd800, 0xdfff, 'x'};
	static const uint32_t four[] = {0x110000, 0xffffffff, 0xdc80, 'x', 0};
	_cleanup_memory_ struct python_memory *memory = python_memory_new();

	(void)state;
	put_code(memory);
	assert_named(memory, put_str(memory, 2, false, two, 5), "/\ufffd\ufffd\ufffdx");
	assert_named(memory, put_str(memory, 4, false, four, 5), "\ufffd\ufffd\ufffdx\ufffd");
	assert_named(memory, put_str(memory, 1, true, "a\0b", 3), "a\ufffdb");
	assert_named(memory, put_str(memory, 1, true, "a\xff", 2), "a\u00ff"); /* a liar */
}

static void a_class_derived_from_str_has_its_characters_elsewhere(void **state)
{
	static const uint16_t two[] = {0x540d, 0x524d};
	_cleanup_memory_ struct python_memory *memory = python_memory_new();

	(void)state;
	put_code(memory);
	uint64_t characters = put_object(memory, sizeof(two));
	uint64_t name = put_object(memory, 64);
	memcpy(python_at(memory, characters), two, sizeof(two));
	put_word(memory, name + 16, 2);
	put_word(memory, name + 32, 2 << 2);
	put_word(memory, name + 56, characters);
	assert_named(memory, name, "\u540d\u524d");
}

static void long_texts_are_cut_at_a_character(void **state)
{
	static uint32_t four[5000];
	static char one[5000], expected[5000];
	_cleanup_memory_ struct python_memory *memory = python_memory_new();

	(void)state;
	put_code(memory);
	memset(one, 'x', sizeof(one));
	memset(expected, 'x', 4096);
	assert_named(memory, put_str(memory, 1, true, one, 4096), expected);
	strcpy(expected + 4093, "\u2026");
	assert_named(memory, put_str(memory, 1, true, one, 4097), expected);
	assert_named(memory, put_str(memory, 1, true, one, 5000), expected);

	for (size_t i = 0; i < 5000; i++)
		four[i] = 0x1d4d0;
	for (size_t i = 0; i < 1024; i++)
		memcpy(expected + 4 * i, "\U0001d4d0", 4);
	expected[4096] = '\0';
	assert_named(memory, put_str(memory, 4, false, four, 1024), expected);
	strcpy(expected + 4092, "\u2026");
	assert_named(memory, put_str(memory, 4, false, four, 1025), expected);
	assert_named(memory, put_str(memory, 4, false, four, 5000), expected);
}

static void a_str_may_end_where_memory_does(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();

	(void)state;
	put_code(memory);
	for (size_t before = 0; before < 128; before++) {
		uint64_t page = (memory->used / 4096 + 2) * 4096;

		memory->used = page - 48 - before;
		uint64_t name = PYTHON_MEMORY_AT + memory->used;
		memory->used = page;
		put_word(memory, name + 16, 8 + before);
		put_word(memory, name + 32, 1 << 2 | 1 << 5 | 1 << 6);
		memset(python_at(memory, name + 40), 'y', 8 + before);
		struct pycode *code = read_named(memory, name);
		size_t len;
		pycode_name(code, &len);
		assert_int_equal(len, 8 + before);
		pycode_unref(code);
	}
}

static void what_is_no_str_is_no_name(void **state)
{
	static const uint64_t states[] = {0, 3 << 2 | 1 << 5, 7 << 2 | 1 << 5, 2 << 2 | 3 << 5,
					  4 << 2 | 3 << 5};
	static const uint64_t lengths[] = {UINT64_MAX, 1ULL << 63, 1ULL << 62, 1ULL << 41};
	static const uint16_t fields[] = {MADE_CODE_NAME, MADE_CODE_QUALNAME, MADE_CODE_FILENAME};
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct pycode *code;

	(void)state;
	put_code(memory);
	for (size_t field = 0; field < ARRAY_SIZE(fields); field++) {
		uint64_t right = word_of(memory, memory->code + fields[field]);
		uint64_t wrong = put_ascii(memory, "wrong");

		put_word(memory, memory->code + fields[field], wrong);
		for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
			put_word(memory, wrong + 32, states[i]);
			assert_int_equal(read_code(&code, memory, code_sum_now(memory)), -EBADMSG);
		}
		put_word(memory, wrong + 32, 1 << 2 | 1 << 5);
		for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
			put_word(memory, wrong + 16, lengths[i]);
			assert_int_equal(read_code(&code, memory, code_sum_now(memory)), -EBADMSG);
		}
		put_word(memory, wrong + 16, PYTHON_MEMORY_BYTES);
		assert_int_equal(read_code(&code, memory, code_sum_now(memory)),
				 memory->used > 4096 + wrong ? 0 : -EFAULT);
		put_word(memory, memory->code + fields[field], right);
	}
}

static void pointers_may_lead_nowhere(void **state)
{
	static const uint16_t fields[] = {MADE_CODE_QUALNAME, MADE_CODE_FILENAME, MADE_CODE_LINES};
	static const uint64_t nowhere[] = {0,
					   8,
					   UINT64_MAX,
					   UINT64_MAX - 4096,
					   PYTHON_MEMORY_AT - 1,
					   PYTHON_MEMORY_AT + PYTHON_MEMORY_BYTES - 8};
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct pycode *code;

	(void)state;
	put_code(memory);
	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		for (size_t field = 0; field < ARRAY_SIZE(fields); field++) {
			uint64_t right = word_of(memory, memory->code + fields[field]);

			put_word(memory, memory->code + fields[field], nowhere[i]);
			assert_int_equal(read_code(&code, memory, code_sum_now(memory)), -EFAULT);
			put_word(memory, memory->code + fields[field], right);
		}
		uint64_t right = memory->code;
		memory->code = nowhere[i];
		assert_int_equal(read_code(&code, memory, 0), -EFAULT);
		memory->code = right;
	}
}

static void a_table_that_is_too_long_is_not_read(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	static const uint64_t lengths[] = {(1 << 20) + 1, 1ULL << 40, INT64_MAX};
	struct pycode *code;

	(void)state;
	put_code(memory);
	uint64_t table = word_of(memory, memory->code + MADE_CODE_LINES);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		put_word(memory, table + made_layout.bytes_length, lengths[i]);
		assert_int_equal(read_code(&code, memory, code_sum_now(memory)), 0);
		assert_name(code, "Shop.work");
		assert_int_equal(pycode_line(code, MADE_CODE_BYTES), 0);
		assert_int_equal(pycode_line(code, MADE_CODE_BYTES - 2), 0);
		pycode_unref(code);
	}
	put_word(memory, table + made_layout.bytes_length, UINT64_MAX);
	assert_int_equal(read_code(&code, memory, code_sum_now(memory)), -EBADMSG);
	put_word(memory, table + made_layout.bytes_length, 4096);
	assert_int_equal(read_code(&code, memory, code_sum_now(memory)), -EFAULT);
}

static void instructions_may_lie_in_copies_of_the_code(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct process_memory reader = {.read = python_memory_read, .arg = memory};
	struct python_layout layout = made_layout;
	struct pycode *code;

	(void)state;
	layout.code_copies = 160;
	uint64_t object = put_code(memory), array = put_object(memory, 32);
	put_word(memory, object + 160, array);
	put_word(memory, array, 3);
	put_word(memory, array + 8, object + MADE_CODE_BYTES);
	put_word(memory, array + 16, 0);
	put_word(memory, array + 24, object - (3ULL << 32) - 4096);
	uint32_t sum = code_sum_now(memory);
	assert_int_equal(pycode_read(&code, &layout, &reader, object, sum), 0);
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES + 4), 8);
	assert_int_equal(pycode_line(code, (uint32_t)-4096 + 4), 8);
	assert_int_equal(pycode_line(code, (uint32_t)-4096 + 6), 9);
	assert_int_equal(pycode_line(code, (uint32_t)-4096 + 12), 0);
	assert_int_equal(pycode_line(code, 100000), 0);
	assert_true(pycode_has(code, MADE_CODE_BYTES));
	assert_true(pycode_has(code, (uint32_t)-4096 + 11));
	assert_false(pycode_has(code, (uint32_t)-4096 + 12));
	assert_false(pycode_has(code, 100000));
	pycode_unref(code);

	put_word(memory, array, UINT64_MAX); /* so many are not looked at */
	assert_int_equal(pycode_read(&code, &layout, &reader, object, sum), 0);
	pycode_unref(code);
	put_word(memory, object + 160, 0); /* none yet */
	assert_int_equal(pycode_read(&code, &layout, &reader, object, sum), 0);
	assert_true(pycode_has(code, MADE_CODE_BYTES));
	assert_false(pycode_has(code, 100000));
	pycode_unref(code);
	put_word(memory, object + 160, 8);
	assert_int_equal(pycode_read(&code, &layout, &reader, object, sum), -EFAULT);
}

static void layouts_without_sense_are_refused(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct process_memory reader = {.read = python_memory_read, .arg = memory};
	struct python_layout layout;
	struct pycode *code;

	(void)state;
	put_code(memory);
	uint32_t sum = code_sum_now(memory);
	uint16_t *const fields[] = {
		&layout.code_name,	 &layout.code_filename,	   &layout.code_lines,
		&layout.code_first_line, &layout.walk.code_sum_at, &layout.walk.object_type,
		&layout.unicode_length,	 &layout.unicode_state,	   &layout.bytes_length,
		&layout.bytes_data,	 &layout.walk.unicode_hash};
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		for (uint32_t value = 2000; value <= UINT16_MAX; value += 21178 + 1) {
			layout = made_layout;
			*fields[i] = value > 60000 ? CPYTHON_NO : (uint16_t)value;
			assert_true(pycode_read(&code, &layout, &reader, memory->code, sum) < 0);
		}
	}
	layout = made_layout;
	layout.walk.code_sum_words = CPYTHON_CODE_WORDS + 1;
	assert_int_equal(pycode_read(&code, &layout, &reader, memory->code, sum), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_code_object_has_its_qualified_name_its_file_and_its_lines),
		cmocka_unit_test(without_a_qualified_name_it_has_the_functions),
		cmocka_unit_test(every_form_of_str_is_utf8),
		cmocka_unit_test(what_is_no_character_is_replaced),
		cmocka_unit_test(a_class_derived_from_str_has_its_characters_elsewhere),
		cmocka_unit_test(long_texts_are_cut_at_a_character),
		cmocka_unit_test(a_str_may_end_where_memory_does),
		cmocka_unit_test(what_is_no_str_is_no_name),
		cmocka_unit_test(pointers_may_lead_nowhere),
		cmocka_unit_test(a_table_that_is_too_long_is_not_read),
		cmocka_unit_test(instructions_may_lie_in_copies_of_the_code),
		cmocka_unit_test(layouts_without_sense_are_refused),
	};

	return cmocka_run_group_tests_name("pycode", tests, NULL, NULL);
}
