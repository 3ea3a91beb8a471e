// SPDX-License-Identifier: GPL-2.0-or-later
/* Code objects of running Pythons: names, files and the lines of all instructions. */
#include <inttypes.h>

#include "unit/python/python_process.h"

#include "python/pycode.h"

#define LINE_MAX_BYTES (1 << 20)
#define NUMBERS_MAX    (1 << 20)

struct tested {
	struct python_process process;
	struct python_layout layout;
	struct process_memory memory;
	unsigned int objects, instructions;
	bool *numbers; /* those that code objects have (struct cpython.code_version) */
};

static void learn_layout(struct tested *tested, const char *line)
{
	uint8_t offsets[PYTHON_DEBUG_OFFSETS_BYTES];
	uint64_t runtime, code_type;
	uint32_t version;

	assert_int_equal(
		sscanf(line, "version %x %" SCNx64 " %" SCNx64, &version, &runtime, &code_type), 3);
	tested->memory = python_memory(&tested->process);
	assert_int_equal(tested->memory.read(tested->memory.arg, runtime, offsets, sizeof(offsets)),
			 0);
	assert_int_equal(python_layout_of(version, offsets, sizeof(offsets), &tested->layout), 0);
	tested->layout.walk.runtime = runtime;
	tested->layout.walk.code_type = code_type;
}

/* As the kernel's side does. */
static uint32_t sum_of(const struct tested *tested, uint64_t address)
{
	const struct cpython *walk = &tested->layout.walk;
	const struct process_memory *memory = &tested->memory;
	uint64_t words[CPYTHON_CODE_WORDS], name, hash, file[CPYTHON_FILE_WORDS];

	assert_in_range(walk->code_sum_words, 1, CPYTHON_CODE_WORDS);
	assert_int_equal(memory->read(memory->arg, address + walk->code_sum_at, words,
				      walk->code_sum_words * sizeof(words[0])),
			 0);
	assert_int_equal(memory->read(memory->arg, address + walk->code_name, &name, sizeof(name)),
			 0);
	assert_int_equal(memory->read(memory->arg, name + walk->unicode_hash, &hash, sizeof(hash)),
			 0);
	hash = cpython_code_sum(words, walk->code_sum_words, hash);
	if (!walk->code_file)
		return (uint32_t)(hash >> 32);
	assert_int_equal(memory->read(memory->arg, address + walk->code_file, &name, sizeof(name)),
			 0);
	assert_int_equal(
		memory->read(memory->arg, name + walk->unicode_hash - 8, file, sizeof(file)), 0);
	return (uint32_t)(cpython_file_sum(hash, file, walk) >> 32);
}

static void assert_told(const char *hex, const char *text, size_t len)
{
	assert_int_equal(strlen(hex), 2 * len);
	for (size_t i = 0; i < len; i++) {
		char byte[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		assert_int_equal(strtoul(byte, NULL, 16), (uint8_t)text[i]);
	}
}

/* The instruction at that many bytes in the code, as stacks have it. */
static uint32_t instruction_at(const struct python_layout *layout, long bytes)
{
	if (layout->code_instructions == CPYTHON_NO)
		return (uint32_t)(bytes / layout->instruction_bytes);
	return layout->code_instructions + (uint32_t)bytes;
}

static void check_lines(struct tested *tested, const struct pycode *code, char *runs)
{
	char *rest = NULL;
	long at = 0;

	for (char *run = strtok_r(runs, ",", &rest); run; run = strtok_r(NULL, ",", &rest)) {
		unsigned int line, count;

		assert_int_equal(sscanf(run, "%u*%u", &line, &count), 2);
		for (; count; count--, at += 2, tested->instructions++)
			assert_int_equal(pycode_line(code, instruction_at(&tested->layout, at)),
					 line);
	}
}

/* Checks that the code object has a number, and that no other one has it. */
static void check_number(const struct tested *tested, uint64_t address)
{
	const struct cpython *walk = &tested->layout.walk;
	uint32_t number;

	if (!walk->code_version)
		return;
	assert_int_equal(tested->memory.read(tested->memory.arg, address + walk->code_version,
					     &number, sizeof(number)),
			 0);
	assert_in_range(number, 1, NUMBERS_MAX - 1);
	assert_false(tested->numbers[number]);
	tested->numbers[number] = true;
}

static void check_code(struct tested *tested, char *line)
{
	char *rest = NULL;
	struct pycode *code;
	size_t len;

	strtok_r(line, " \n", &rest);
	uint64_t address = strtoull(strtok_r(NULL, " ", &rest), NULL, 16);
	uint32_t sum = sum_of(tested, address);
	check_number(tested, address);
	assert_int_equal(pycode_read(&code, &tested->layout, &tested->memory, address, sum ^ 1),
			 -ESTALE);
	assert_int_equal(pycode_read(&code, &tested->layout, &tested->memory, address, sum), 0);
	const char *text = pycode_name(code, &len);
	assert_told(strtok_r(NULL, " ", &rest), text, len);
	text = pycode_file(code, &len);
	assert_told(strtok_r(NULL, " ", &rest), text, len);
	uint32_t first_line = (uint32_t)strtoul(strtok_r(NULL, " ", &rest), NULL, 10);
	uint32_t not_begun = tested->layout.code_instructions == CPYTHON_NO
				     ? UINT32_MAX
				     : (uint32_t)tested->layout.code_instructions - 2;
	assert_int_equal(pycode_line(code, not_begun), first_line);
	check_lines(tested, code, strtok_r(NULL, " \n", &rest));
	tested->objects++;
	pycode_unref(code);
}

static void check_python(const char *path)
{
	const char *const arguments[] = {path, "-E", "test/unit/python/code_objects.py", NULL};
	_cleanup_free_ char *line = malloc(LINE_MAX_BYTES);
	_cleanup_free_ bool *numbers = calloc(NUMBERS_MAX, sizeof(*numbers));
	struct tested tested = {.numbers = numbers};

	assert_non_null(line);
	assert_non_null(numbers);
	python_start(&tested.process, path, arguments);
	assert_non_null(fgets(line, LINE_MAX_BYTES, tested.process.output));
	learn_layout(&tested, line);
	while (fgets(line, LINE_MAX_BYTES, tested.process.output) && strcmp(line, "end\n") != 0)
		check_code(&tested, line);
	assert_string_equal(line, "end\n");
	assert_int_equal(python_end(&tested.process), 0);
	print_message("%s: %u code objects, %u instructions\n", path, tested.objects,
		      tested.instructions);
	assert_true(tested.objects > 1000 && tested.instructions > 50000);
}

static void code_of_each_python(void **state)
{
	int minor = *(const int *)*state;

	if (each_python(minor, check_python))
		return;
	print_message("no Python 3.%d is installed (PYTHONS)\n", minor);
	skip();
}

#define WITH_MINOR(name, number)                                                                   \
	{                                                                                          \
		"code_of_python_3_" name, code_of_each_python, NULL, NULL, (int[])                 \
		{                                                                                  \
			number                                                                     \
		}                                                                                  \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MINOR("8", 8),   WITH_MINOR("9", 9),   WITH_MINOR("10", 10),
		WITH_MINOR("11", 11), WITH_MINOR("12", 12), WITH_MINOR("13", 13),
		WITH_MINOR("14", 14), WITH_MINOR("15", 15),
	};

	return cmocka_run_group_tests_name("pycode_real", tests, NULL, NULL);
}
