// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of lines: what the interpreter's documents show, and any bytes beside a plain decoder. */
#include "unit/lib/unit.h"

#include "python/pylines.h"

static void index_lines(struct pylines *lines)
{
	lines->marks = calloc(pylines_marks_max(lines->bytes) + 1, sizeof(*lines->marks));
	assert_non_null(lines->marks);
	pylines_index(lines);
	assert_true(lines->marks_count <= pylines_marks_max(lines->bytes));
}

static void assert_lines(struct pylines *lines, const uint32_t (*expected)[2], size_t count)
{
	index_lines(lines);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pylines_line(lines, expected[i][0]), expected[i][1]);
	free(lines->marks);
}

static void lnotab_tells_where_lines_begin(void **state)
{
	/* lnotab_notes.txt: bytes 0, 6, 50, 350, 361 at lines 1, 2, 7, 207, 208 */
	static const uint8_t table[] = {6, 1, 44, 5, 255, 0, 45, 127, 0, 73, 11, 1};
	static const uint32_t expected[][2] = {{0, 1},	   {5, 1},	 {6, 2},     {49, 2},
					       {50, 7},	   {349, 7},	 {350, 207}, {360, 207},
					       {361, 208}, {100000, 208}};
	static const uint8_t back[] = {4, 10, 2, 0xf8, 2, 0x80, 0, 0x80};
	static const uint32_t expected_back[][2] = {{0, 300}, {4, 310}, {6, 302}, {8, 46}};
	struct pylines lines = {.table = table,
				.bytes = sizeof(table),
				.first_line = 1,
				.form = PYTHON_LINES_LNOTAB};

	(void)state;
	assert_lines(&lines, expected, ARRAY_SIZE(expected));
	lines.bytes--; /* half an entry is none */
	assert_lines(&lines, (const uint32_t[][2]){{361, 207}}, 1);
	lines = (struct pylines){.table = back,
				 .bytes = sizeof(back),
				 .first_line = 300,
				 .form = PYTHON_LINES_LNOTAB};
	assert_lines(&lines, expected_back, ARRAY_SIZE(expected_back));
	lines.bytes = 0;
	assert_lines(&lines, (const uint32_t[][2]){{0, 300}, {12, 300}}, 2);
}

static void deltas_tell_where_lines_end(void **state)
{
	/* PEP 626 in 3.10: (bytes, lines); -128: none; (0, n) for long steps */
	static const uint8_t table[] = {6, 1, 44, 5, 4, 0x80, 0, 127, 254, 73, 46, 0, 2, 0xff};
	static const uint32_t expected[][2] = {{0, 11},	   {5, 11},    {6, 16},	   {49, 16},
					       {50, 0},	   {53, 0},    {54, 216},  {307, 216},
					       {308, 216}, {353, 216}, {354, 215}, {356, 0}};
	struct pylines lines = {.table = table,
				.bytes = sizeof(table),
				.first_line = 10,
				.form = PYTHON_LINES_DELTAS};

	(void)state;
	assert_lines(&lines, expected, ARRAY_SIZE(expected));
}

#define ENTRY(code, units) (0x80 | (code) << 3 | ((units)-1))

static void locations_tell_of_each_range(void **state)
{
	static const uint8_t table[] = {
		ENTRY(15, 1), /* none */
		ENTRY(13, 8),
		0x01 << 1 | 0, /* +1, without columns */
		ENTRY(14, 2),
		0x40 | 36,
		0x03,
		0x05,
		0,
		0, /* long: 36 + 3 * 64 = 228: +114 */
		ENTRY(0, 1),
		0x7f, /* short: the same line */
		ENTRY(9, 2),
		0x7f,
		ENTRY(10, 1),
		1,
		2,
		ENTRY(11, 1),
		1,
		2, /* +0, +1 */
		ENTRY(12, 3),
		1,
		2, /* +2 */
		ENTRY(14, 1),
		0x40 | 41,
		0x03,
		0x05,
		0,
		0, /* 233: -116 */
	};
	static const uint32_t expected[][2] = {
		{0, 0},	   {1, 0},    {2, 21},	 {17, 21},  {18, 135}, {21, 135}, {22, 135},
		{24, 135}, {28, 135}, {30, 136}, {32, 138}, {37, 138}, {38, 22},  {40, 0}};
	struct pylines lines = {.table = table,
				.bytes = sizeof(table),
				.first_line = 20,
				.form = PYTHON_LINES_LOCATIONS};

	(void)state;
	assert_lines(&lines, expected, ARRAY_SIZE(expected));
}

/* The table as the interpreter goes through it, a line for each byte of code; UINT32_MAX: behind.
 */
static uint32_t plain_line(const uint8_t *table, size_t bytes, enum python_lines form, int64_t line,
			   uint32_t wanted)
{
	uint32_t end = 0;
	size_t at = 0;

	while (form != PYTHON_LINES_LOCATIONS && at + 2 <= bytes) {
		int8_t delta = (int8_t)table[at + 1];
		bool none = form == PYTHON_LINES_DELTAS && delta == -128;

		end += table[at];
		if (form == PYTHON_LINES_DELTAS && !none)
			line += delta;
		if (wanted < end)
			return none || line < 0 ? 0 : (uint32_t)line;
		if (form == PYTHON_LINES_LNOTAB)
			line += delta;
		at += 2;
	}
	if (form == PYTHON_LINES_LNOTAB)
		return line < 0 ? 0 : (uint32_t)line;
	while (form == PYTHON_LINES_LOCATIONS && at < bytes) {
		unsigned int code = table[at] >> 3 & 15;

		if (code >= 10 && code <= 12)
			line += code - 10;
		if (code == 13 || code == 14)
			line += table[at + 1] & 1 ? -(table[at + 1] >> 1) : table[at + 1] >> 1;
		end += 2 * ((table[at] & 7) + 1);
		if (wanted < end)
			return code == 15 || line < 0 ? 0 : (uint32_t)line;
		for (at++; at < bytes && !(table[at] & 0x80);)
			at++;
	}
	return 0;
}

/* Bytes that are a table of this form, near to a real one in its length's kinds. */
static void make_table(uint8_t *table, size_t bytes, enum python_lines form, uint64_t *seed)
{
	static const uint8_t lengths[16] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 2, 5, 1};

	for (size_t at = 0; at < bytes;) {
		uint64_t random = random_next(seed);
		size_t length = form == PYTHON_LINES_LOCATIONS ? lengths[random & 15] : 2;

		table[at] = form == PYTHON_LINES_LOCATIONS
				    ? (uint8_t)(0x80 | (random & 15) << 3 | (random >> 8 & 7))
				    : (uint8_t)(random >> 16 & 3 ? random >> 8 & 14 : 0);
		for (size_t i = 1; i < length && at + i < bytes; i++)
			table[at + i] = form == PYTHON_LINES_LOCATIONS
						? (uint8_t)(random >> (8 * i) & 0x3f)
						: (uint8_t)(random >> 24);
		at += length;
	}
}

static void long_tables_have_the_same_lines_at_every_place(void **state)
{
	static uint8_t table[100000];
	uint64_t seed = 1;

	(void)state;
	for (int form = PYTHON_LINES_LNOTAB; form <= PYTHON_LINES_LOCATIONS; form++) {
		for (size_t bytes = 0; bytes < sizeof(table); bytes = bytes * 2 + 511) {
			make_table(table, bytes, (enum python_lines)form, &seed);
			struct pylines lines = {.table = table,
						.bytes = (uint32_t)bytes,
						.first_line = 100000,
						.form = (enum python_lines)form};
			index_lines(&lines);
			for (int i = 0; i < 500; i++) {
				uint32_t offset = (uint32_t)(random_next(&seed) % (bytes * 8 + 20));
				assert_int_equal(pylines_line(&lines, offset),
						 plain_line(table, bytes, (enum python_lines)form,
							    100000, offset));
			}
			free(lines.marks);
		}
	}
}

static void any_bytes_have_an_answer(void **state)
{
	static uint8_t table[1 << 14];
	uint64_t seed = 2;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct pylines lines = {.table = table,
					.bytes = (uint32_t)(random_next(&seed) % sizeof(table)),
					.first_line = (int32_t)random_next(&seed),
					.form = (enum python_lines)(round % 3)};
		uint8_t mask = round & 4 ? 0x7f : 0xff, set = round & 8 ? 0x40 : 0;

		for (size_t i = 0; i < sizeof(table); i++)
			table[i] = (uint8_t)((random_next(&seed) & mask) | set);
		index_lines(&lines);
		for (int i = 0; i < 200; i++)
			assert_true(pylines_line(&lines, (uint32_t)random_next(&seed) %
								 (lines.bytes * 4 + 1)) <=
				    INT32_MAX);
		pylines_line(&lines, UINT32_MAX);
		free(lines.marks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lnotab_tells_where_lines_begin),
		cmocka_unit_test(deltas_tell_where_lines_end),
		cmocka_unit_test(locations_tell_of_each_range),
		cmocka_unit_test(long_tables_have_the_same_lines_at_every_place),
		cmocka_unit_test(any_bytes_have_an_answer),
	};

	return cmocka_run_group_tests_name("pylines", tests, NULL, NULL);
}
