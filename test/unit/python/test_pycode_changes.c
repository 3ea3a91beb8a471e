// SPDX-License-Identifier: GPL-2.0-or-later
/* Code objects that change while they are read, and copies that were made at the sample. */
#include "unit/python/pycode_text.h"
#include "unit/python/python_maker.h"

#include "python/pycode_copy.h"

static void another_code_object_is_told(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct pycode *code;

	(void)state;
	put_code(memory);
	uint32_t sum = code_sum_now(memory);
	for (unsigned int at = 0; at < MADE_CODE_SUM_WORDS * 8; at++) {
		uint8_t *byte = python_at(memory, memory->code + MADE_CODE_SUM + at);
		uint64_t name = MADE_CODE_NAME - MADE_CODE_SUM;
		uint64_t file = MADE_CODE_FILENAME - MADE_CODE_SUM;

		if ((at >= name && at < name + 8) || (at >= file && at < file + 8))
			continue; /* these pointers lead nowhere then */
		*byte ^= 1;
		assert_int_equal(read_code(&code, memory, sum), -ESTALE);
		*byte ^= 1;
	}
	put_word(memory, memory->code + MADE_CODE_NAME, put_ascii(memory, "other"));
	assert_int_equal(read_code(&code, memory, sum), -ESTALE);
	put_word(memory, memory->code + 8, MADE_CODE_TYPE + 16);
	assert_int_equal(read_code(&code, memory, code_sum_now(memory)), -EBADMSG);
}

/* exec() makes modules again and again, all at the same addresses and all called <module>. */
static void another_file_at_the_same_address_is_told(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct pycode *code;

	(void)state;
	put_code(memory);
	uint64_t file = word_of(memory, memory->code + MADE_CODE_FILENAME);
	uint32_t sum = code_sum_now(memory);
	uint8_t *text = python_at(memory, file + made_layout.ascii_data);
	text[4] ^= 1;
	assert_int_equal(read_code(&code, memory, sum), -ESTALE);
	text[4] ^= 1;
	text[strlen("/srv/app.py") + 1] ^= 1; /* what lies behind it is nobody's */
	put_word(memory, file + made_layout.walk.unicode_hash, 77); /* somebody has asked for it */
	assert_int_equal(read_code(&code, memory, sum), 0);
	pycode_unref(code);
}

/* The code object becomes another, with names and lines of its own, before one of the reads. */
static uint64_t becomes[4];
static void replace(struct python_memory *memory, unsigned int reads)
{
	static const uint16_t fields[] = {MADE_CODE_NAME, MADE_CODE_QUALNAME, MADE_CODE_FILENAME,
					  MADE_CODE_LINES};

	if (reads != memory->change_at)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (becomes[i])
			put_word(memory, memory->code + fields[i], becomes[i]);
}

static void what_is_freed_is_not_taken(void **state)
{
	static const uint64_t counts[] = {0, 0x7f1234567890};
	static const uint64_t alive[] = {1, UINT32_MAX, 1ULL << 50 | 1};
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct pycode *code;

	(void)state;
	put_code(memory);
	uint32_t sum = code_sum_now(memory);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		put_word(memory, memory->code, counts[i]);
		assert_int_equal(read_code(&code, memory, sum), -ESTALE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(alive); i++) {
		put_word(memory, memory->code, alive[i]);
		assert_int_equal(read_code(&code, memory, sum), 0);
		pycode_unref(code);
	}
}

static void what_changes_while_it_is_read_is_not_taken(void **state)
{
	struct pycode *code;

	(void)state;
	for (unsigned int all = 0; all < 2; all++) {
		for (unsigned int at = 0; at < 10; at++) {
			_cleanup_memory_ struct python_memory *memory = python_memory_new();

			put_code(memory);
			uint32_t sum = code_sum_now(memory);
			for (size_t i = all ? 0 : 1; i < 3; i++)
				becomes[i] = put_ascii(memory, "other");
			becomes[0] = all ? becomes[0] : 0;
			becomes[3] = put_bytes(memory, "", 0);
			memory->change = replace;
			memory->change_at = at;
			int r = read_code(&code, memory, sum);
			if (r < 0) {
				assert_int_equal(r, -ESTALE);
				continue;
			}
			/* Before all reads the names alone are another object's, by the sum. */
			assert_true(at >= memory->reads - 2);
			assert_name(code, "Shop.work");
			assert_file(code, "/srv/app.py");
			assert_int_equal(pycode_line(code, MADE_CODE_BYTES), 7);
			pycode_unref(code);
		}
	}
}

static uint16_t copy_part(struct python_memory *memory, struct code_copy *copy, enum code_part part,
			  void *to, uint64_t at, size_t bytes)
{
	copy->at[part] = at;
	memcpy(to, python_at(memory, at), bytes);
	return (uint16_t)bytes;
}

/* As the kernel's side does (bpf/python/python_copy.h). */
static void copy_code(struct python_memory *memory, struct code_copy *copy)
{
	uint64_t code = memory->code, lines = word_of(memory, code + MADE_CODE_LINES);
	uint64_t bytes = word_of(memory, lines + made_layout.bytes_length) + made_layout.bytes_data;

	memset(copy, 0, sizeof(*copy));
	copy->bytes[CODE_PART_OBJECT] =
		copy_part(memory, copy, CODE_PART_OBJECT, copy->object, code, sizeof(copy->object));
	copy->bytes[CODE_PART_NAME] =
		copy_part(memory, copy, CODE_PART_NAME, copy->name,
			  word_of(memory, code + MADE_CODE_NAME), CODE_TEXT_BYTES);
	copy->bytes[CODE_PART_QUALNAME] =
		copy_part(memory, copy, CODE_PART_QUALNAME, copy->qualname,
			  word_of(memory, code + MADE_CODE_QUALNAME), CODE_TEXT_BYTES);
	copy->bytes[CODE_PART_FILE] =
		copy_part(memory, copy, CODE_PART_FILE, copy->file,
			  word_of(memory, code + MADE_CODE_FILENAME), CODE_TEXT_BYTES);
	if (bytes <= CODE_LINES_BYTES)
		copy->bytes[CODE_PART_LINES] =
			copy_part(memory, copy, CODE_PART_LINES, copy->lines, lines, bytes);
}

static int read_copied(struct pycode **code, struct python_memory *memory,
		       const struct code_copy *copy, uint32_t sum)
{
	struct pycode_copy mine = {.copy = copy,
				   .behind = {.read = python_memory_read, .arg = memory}};
	struct process_memory reader = pycode_memory_with(&mine);

	memory->reads = 0;
	return pycode_read(code, &made_layout, &reader, memory->code, sum);
}

static void wipe(struct python_memory *memory)
{
	memset(memory->data, 0xdb, PYTHON_MEMORY_BYTES);
}

static void what_was_copied_is_named_though_it_is_gone(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct code_copy copy;
	struct pycode *code;

	(void)state;
	put_code(memory);
	copy_code(memory, &copy);
	uint32_t sum = code_sum_now(memory);
	wipe(memory);
	assert_true(read_code(&code, memory, sum) < 0);
	assert_int_equal(read_copied(&code, memory, &copy, sum), 0);
	assert_int_equal(memory->reads, 0);
	assert_name(code, "Shop.work");
	assert_file(code, "/srv/app.py");
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES + 4), 8);
	pycode_unref(code);
	assert_int_equal(read_copied(&code, memory, &copy, sum ^ 1), -ESTALE);
}

/* Its file's name is longer than what is copied of it. */
static void what_a_copy_lacks_is_read_if_it_is_still_the_same(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	struct code_copy copy;
	struct pycode *code;
	char file[400] = "";

	(void)state;
	memset(file, 'f', sizeof(file) - 1);
	put_code(memory);
	put_word(memory, memory->code + MADE_CODE_FILENAME, put_ascii(memory, file));
	copy_code(memory, &copy);
	uint32_t sum = code_sum_now(memory);
	assert_int_equal(read_copied(&code, memory, &copy, sum), 0);
	assert_file(code, file);
	assert_true(memory->reads > 0);
	pycode_unref(code);
	put_word(memory, memory->code, 0); /* it is freed, and its file's name may be another's */
	assert_int_equal(read_copied(&code, memory, &copy, sum), -ESTALE);
	put_word(memory, memory->code, 1);
	put_word(memory, memory->code + MADE_CODE_SUM, 0x77); /* another one */
	assert_int_equal(read_copied(&code, memory, &copy, sum), -ESTALE);
}

static void lines_that_were_not_copied_are_read(void **state)
{
	_cleanup_memory_ struct python_memory *memory = python_memory_new();
	static const uint8_t table[] = {0x80 | 11 << 3 | 0, 0x02};
	struct code_copy copy;
	struct pycode *code;

	(void)state;
	put_code(memory);
	put_object(memory, 1024); /* they don't lie behind what is copied */
	put_word(memory, memory->code + MADE_CODE_LINES, put_bytes(memory, table, sizeof(table)));
	copy_code(memory, &copy);
	uint32_t sum = code_sum_now(memory);
	copy.bytes[CODE_PART_LINES] = 0;
	assert_int_equal(read_copied(&code, memory, &copy, sum), 0);
	assert_true(memory->reads > 0);
	assert_int_equal(pycode_line(code, MADE_CODE_BYTES), 8);
	pycode_unref(code);
	wipe(memory);
	assert_int_equal(read_copied(&code, memory, &copy, sum), -EBADMSG);
}

static void a_copy_without_sense_is_refused(void **state)
{
	struct code_copy copy = {.bytes = {[CODE_PART_LINES] = 100}};

	(void)state;
	assert_true(code_copy_is_valid(&copy, CODE_COPY_LEAST + 100));
	assert_true(code_copy_is_valid(&copy, sizeof(copy)));
	assert_false(code_copy_is_valid(&copy, CODE_COPY_LEAST + 99));
	assert_false(code_copy_is_valid(&copy, CODE_COPY_LEAST - 1));
	copy.bytes[CODE_PART_FILE] = CODE_TEXT_BYTES + 1;
	assert_false(code_copy_is_valid(&copy, sizeof(copy)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_code_object_is_told),
		cmocka_unit_test(another_file_at_the_same_address_is_told),
		cmocka_unit_test(what_is_freed_is_not_taken),
		cmocka_unit_test(what_changes_while_it_is_read_is_not_taken),
		cmocka_unit_test(what_was_copied_is_named_though_it_is_gone),
		cmocka_unit_test(what_a_copy_lacks_is_read_if_it_is_still_the_same),
		cmocka_unit_test(lines_that_were_not_copied_are_read),
		cmocka_unit_test(a_copy_without_sense_is_refused),
	};

	return cmocka_run_group_tests_name("pycode", tests, NULL, NULL);
}
