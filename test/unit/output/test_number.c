// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers and names as the picture writes them. */
#include <inttypes.h>

#include "output/text/number.h"
#include "output/text/xml.h"
#include "unit/lib/unit.h"

static const uint64_t values[] = {0,
				  1,
				  9,
				  10,
				  99,
				  100,
				  999,
				  1000,
				  1001,
				  12340,
				  999999,
				  1000000,
				  4294967296,
				  UINT64_MAX / 10,
				  UINT64_MAX - 1,
				  UINT64_MAX};

static void digits_are_those_of_printf(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		char text[NUMBER_MAX + 1] = "", expected[NUMBER_MAX + 1];

		*number_put(text, values[i]) = '\0';
		snprintf(expected, sizeof(expected), "%" PRIu64, values[i]);
		assert_string_equal(text, expected);
		*number_put_fixed(text, values[i], 3, false) = '\0';
		snprintf(expected, sizeof(expected), "%" PRIu64 ".%03" PRIu64, values[i] / 1000,
			 values[i] % 1000);
		assert_string_equal(text, expected);
	}
}

static void thousands_are_set_apart(void **state)
{
	static const char *const expected[] = {"0",
					       "1",
					       "9",
					       "10",
					       "99",
					       "100",
					       "999",
					       "1,000",
					       "1,001",
					       "12,340",
					       "999,999",
					       "1,000,000",
					       "4,294,967,296",
					       "1,844,674,407,370,955,161",
					       "18,446,744,073,709,551,614",
					       "18,446,744,073,709,551,615"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		char text[NUMBER_MAX + 1];

		*number_put_grouped(text, values[i]) = '\0';
		assert_string_equal(text, expected[i]);
		assert_true(strlen(text) < NUMBER_MAX);
	}
}

static void zeros_at_the_end_of_a_fraction_are_left_out(void **state)
{
	static const struct {
		uint64_t value;
		int decimals;
		const char *text;
	} cases[] = {{10000, 3, "10"},	   {10100, 3, "10.1"},	 {10120, 3, "10.12"},
		     {10123, 3, "10.123"}, {10003, 3, "10.003"}, {0, 2, "0"},
		     {5, 2, "0.05"},	   {50, 2, "0.5"},	 {7, 0, "7"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[NUMBER_MAX + 1];

		*number_put_fixed(text, cases[i].value, cases[i].decimals, true) = '\0';
		assert_string_equal(text, cases[i].text);
	}
}

static void shares_are_exact_for_any_weight(void **state)
{
	(void)state;
	assert_int_equal(number_share(1, 10000, 3), 3333);
	assert_int_equal(number_share(2, 10000, 3), 6667);
	assert_int_equal(number_share(5, 10, 0), 0);
	for (size_t i = 1; i < ARRAY_SIZE(values); i++) {
		assert_int_equal(number_share(values[i], 1180000, values[i]), 1180000);
		assert_int_equal(number_share(values[i] / 2, 10, values[i]), values[i] == 1   ? 0
									     : values[i] == 9 ? 4
											      : 5);
	}
}

static void every_byte_becomes_xml_within_its_room(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		char text[4] = {'a', (char)c, 'b', '\0'}, room[3 * XML_GROWTH + 1];
		char *end = xml_put(room, text, 3);

		*end = '\0';
		assert_true(end <= room + 3 * XML_GROWTH);
		assert_true(room[0] == 'a' && end[-1] == 'b');
		if (c < 0x20 || c == 0x7f)
			assert_string_equal(room, "a b");
		else if (c >= 0x80)
			assert_string_equal(room, "a\xef\xbf\xbd"
						  "b");
		else if (!strchr("<>&\"", c))
			assert_string_equal(room, text);
		else
			assert_true(room[1] == '&' && end[-2] == ';');
	}
}

static void amounts_are_as_people_read_them(void **state)
{
	static const struct {
		uint64_t value;
		const char *unit, *text;
	} amounts[] = {
		{9999, "us", ""},
		{10000, "us", "10 ms"},
		{48754908, "us", "48.8 s"},
		{90000000, "us", "1.5 min"},
		{UINT64_C(7200000000), "us", "2 h"},
		{10239, "bytes", ""},
		{10240, "bytes", "10 KiB"},
		{7340032, "bytes", "7 MiB"},
		{UINT64_MAX, "bytes", "16777216 TiB"},
		{123456, "samples", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
		char text[NUMBER_MAX + 1];

		*number_put_amount(text, amounts[i].value, amounts[i].unit) = '\0';
		assert_string_equal(text, amounts[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits_are_those_of_printf),
		cmocka_unit_test(thousands_are_set_apart),
		cmocka_unit_test(zeros_at_the_end_of_a_fraction_are_left_out),
		cmocka_unit_test(shares_are_exact_for_any_weight),
		cmocka_unit_test(amounts_are_as_people_read_them),
		cmocka_unit_test(every_byte_becomes_xml_within_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
