// SPDX-License-Identifier: GPL-2.0-or-later
/* Qualified names in running Pythons of 3.8 to 3.10: what 3.11 has as co_qualname, or none. */
#include "unit/python/pythons.h"

#include "unit/python/functions/functions_maker.h"

#include "base/clock.h"
#include "proc/proc.h"

#define SOUGHT_MAX 64

struct told {
	struct pyfunction_sought sought[SOUGHT_MAX];
	char names[SOUGHT_MAX][128];
	size_t count;
};

static int read_memory(void *arg, uint64_t address, void *to, size_t bytes)
{
	return process_memory_read(*(const int *)arg, address, to, bytes);
}

static char *read_script(void)
{
	FILE *file = fopen("test/unit/python/functions/functions.py", "r");
	char *text = calloc(1, 1 << 16);

	assert_non_null(file);
	assert_non_null(text);
	assert_in_range(fread(text, 1, (1 << 16) - 1, file), 1000, (1 << 16) - 2);
	fclose(file);
	return text;
}

static void read_told(const struct python *python, char *line, size_t room, struct told *told,
		      const struct python_layout *layout, const struct process_memory *memory)
{
	told->count = 0;
	do {
		struct pyfunction_sought *sought = &told->sought[told->count];
		uint64_t address;

		assert_int_equal(
			sscanf(line, "%" SCNx64 " %127s", &address, told->names[told->count]), 2);
		sought->address = address;
		sought->sum = code_sum_of(layout, memory, address);
		told->count++;
		assert_true(told->count < SOUGHT_MAX);
		assert_true(python_line(python, line, room));
	} while (strcmp(line, "end") != 0);
}

static void check_told(struct told *told)
{
	for (size_t i = 0; i < told->count; i++) {
		struct pycode *found = told->sought[i].found;
		const char *expected = told->names[i];
		size_t len = 1;
		const char *name = found ? pycode_name(found, &len) : "-";

		if (len != strlen(expected) || memcmp(name, expected, len) != 0)
			fail_msg("%zu: %.*s, not %s", i, (int)len, name, expected);
		pycode_unref(found);
	}
}

static struct told told;

/* With damaged words at random among what a search reads. */
struct damage {
	const struct process_memory *behind;
	uint64_t seed;
	unsigned int one_in;
};

static int read_damaged(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct damage *damage = arg;
	int r = damage->behind->read(damage->behind->arg, address, to, bytes);

	for (size_t at = 0; r == 0 && at + 8 <= bytes; at += 8) {
		uint64_t random = random_next(&damage->seed), word = random;

		if (random % damage->one_in)
			continue;
		if (random / damage->one_in % 2)
			memcpy(&word, (uint8_t *)to + random % (bytes / 8) * 8, 8);
		memcpy((uint8_t *)to + at, &word, 8);
	}
	return r;
}

static void search_damaged(const struct python_layout *layout, const struct process_memory *memory)
{
	for (uint64_t round = 0; round < 30; round++) {
		struct damage damage = {memory, round, 10u << round % 10};
		struct process_memory damaged = {.read = read_damaged, .arg = &damage};
		struct pyfunctions_result result;

		pyfunctions_search(told.sought, told.count, layout, &damaged, &result);
		for (size_t i = 0; i < told.count; i++)
			pycode_unref(told.sought[i].found);
	}
}

static void search_real(const char *program, void *arg)
{
	_cleanup_free_ char *script = read_script();
	struct python_layout layout;
	struct python python;
	struct pyfunctions_result result;
	char line[256];

	if (!python_start(&python, program, script, line, sizeof(line)))
		return;
	struct process_memory_id id = {python.pid, 0, proc_program(python.pid)};
	_cleanup_close_ int fd = process_memory_open(&id);
	const struct process_memory memory = {.read = read_memory, .arg = &fd};

	if (cpython_of_process(&memory, &python.file, python.bias, &layout) == 0 &&
	    python_has_functions(&layout)) {
		read_told(&python, line, sizeof(line), &told, &layout, &memory);
		uint64_t begin = clock_ns(CLOCK_MONOTONIC);

		assert_int_equal(
			pyfunctions_search(told.sought, told.count, &layout, &memory, &result), 0);
		print_message("%s: %" PRIu64 " objects, %" PRIu64 " KiB, %.1f ms CPU, %.1f ms%s\n",
			      program, result.objects, result.bytes / 1024,
			      (double)result.cpu_ns / 1e6,
			      (double)(clock_ns(CLOCK_MONOTONIC) - begin) / 1e6,
			      result.cut ? ", cut" : "");
		if (result.cut)
			print_message("\tnot checked: it is too slow here\n");
		else
			check_told(&told);
		if (arg)
			search_damaged(&layout, &memory);
		++*(int *)(arg ? arg : &(int){0});
	}
	python_end(&python);
}

static void names_are_those_of_3_11_or_none(void **state)
{
	int seen = 0;

	(void)state;
	setenv("MODULES", "0", 1);
	pythons_each(search_real, &seen);
	if (!seen) {
		print_message("skipped: no Python of 3.8 to 3.10; PYTHONS names them\n");
		skip();
	}
}

/* Prints how long it takes; doc/python.md has these figures. */
static void a_large_process_is_searched_within_the_limits(void **state)
{
	(void)state;
	setenv("MODULES", "300", 1);
	pythons_each(search_real, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_3_11_or_none),
		cmocka_unit_test(a_large_process_is_searched_within_the_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
