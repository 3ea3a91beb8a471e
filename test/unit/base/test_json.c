// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/buf_text.h"

#include <cjson/cJSON.h>

#include "base/json.h"

static void assert_written(struct json *json, const char *expected)
{
	_cleanup_free_ char *text = take_text(json->out, NULL);

	assert_non_null(text);
	assert_string_equal(text, expected);
	json->has_value = false;
}

static void commas_stand_between_values_only(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1000);
	struct json json = {.out = &out};

	(void)state;
	json_object(&json, NULL);
	json_object(&json, "a");
	json_object_end(&json);
	json_array(&json, "b");
	json_array_end(&json);
	json_array(&json, "c");
	json_object(&json, NULL);
	json_raw(&json, "d", "null");
	json_raw(&json, "e", "true");
	json_object_end(&json);
	json_array(&json, NULL);
	json_raw(&json, NULL, "false");
	json_text(&json, NULL, "f");
	json_array_end(&json);
	json_u64(&json, NULL, 0);
	json_array_end(&json);
	json_raw(&json, "g", "");
	buf_str(&out, "1.50");
	json_string(&json, "h", "ij", 1);
	json_object_end(&json);
	assert_int_equal(json.depth, 0);
	assert_written(&json, "{\"a\":{},\"b\":[],\"c\":[{\"d\":null,\"e\":true},[false,\"f\"],0],"
			      "\"g\":1.50,\"h\":\"i\"}");
}

static void a_line_ends_behind_the_comma(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1000);
	struct json json = {.out = &out};

	(void)state;
	json_array(&json, NULL);
	json_line(&json);
	json_u64(&json, NULL, 1);
	json_line(&json);
	json_u64(&json, NULL, 2);
	json_array_end(&json);
	assert_written(&json, "[\n1,\n2]");
}

/* As deep as any stack, as no level is kept. */
static void depth_has_no_end(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
	struct json json = {.out = &out};

	(void)state;
	for (int i = 0; i < 10000; i++)
		json_array(&json, NULL);
	for (int i = 0; i < 10000; i++)
		json_array_end(&json);
	json_raw(&json, NULL, "null");
	assert_int_equal(json.depth, 0);
	assert_int_equal(out.len, 20005);
	assert_memory_equal(out.data + 9999, "[]", 2);
	assert_memory_equal(out.data + 19999, "],null", 6);
}

static void texts_have_short_escapes(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1000);
	struct json json = {.out = &out};

	(void)state;
	json_text(&json, NULL, "\"\\/\b\f\n\r\t\x01\x0b\x1f\x7f \xc3\xa4");
	assert_written(&json, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u000b\\u001f\x7f \xc3\xa4\"");
	json_text(&json, NULL, "");
	assert_written(&json, "\"\"");
	json_text(&json, NULL, "a\xff");
	assert_written(&json, "\"a\xef\xbf\xbd\"");
}

static void strings_may_have_any_bytes(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *written;
	} cases[] = {
		{"", 0, ""},
		{"a\0b", 3, "a\\u0000b"},
		{"\"\\/\n\t\x1f\x7f", 7, "\\\"\\\\/\\u000a\\u0009\\u001f\\u007f"},
		{"\xc2\x80\xe2\x80\xa8\xf0\x9f\x98\x80", 9, "\xc2\x80\xe2\x80\xa8\xf0\x9f\x98\x80"},
		{"\xff", 1, "\xef\xbf\xbd"},
		{"a\xc3", 2, "a\xef\xbf\xbd"},
		{"\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd"},			     /* overlong */
		{"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},	     /* surrogate */
		{"\xf0\x9f\x98\"b", 5, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\\"b"}, /* cut */
	};
	_cleanup_buf_ struct buf out = BUF_INIT(1000), quoted = BUF_INIT(1000);
	struct json json = {.out = &out};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		quoted.len = 0;
		buf_printf(&quoted, "\"%s\"%c", cases[i].written, 0);
		json_string(&json, NULL, cases[i].bytes, cases[i].len);
		assert_written(&json, quoted.data);
	}
}

/* Writes all that there is. */
static void write_all(struct json *json)
{
	static const double numbers[] = {0,
					 -1,
					 1.5,
					 0.1,
					 1e15,
					 1234567890123450,
					 1e300,
					 1 / 3.0,
					 1e-20,
					 1700000000.123,
					 9007199254740991};

	json_object(json, NULL);
	json_text(json, "text", "a\"\n");
	json_object(json, "none");
	json_object_end(json);
	json_array(json, "numbers");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_double(json, NULL, numbers[i]);
	json_array_end(json);
	json_array(json, "objects");
	for (int i = 0; i < 2; i++) {
		json_object(json, NULL);
		json_raw(json, "is", i ? "true" : "false");
		json_array(json, "nothing");
		json_array_end(json);
		json_object(json, "deep");
		json_raw(json, "null", "null");
		json_object_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

/* cJSON wrote what this writer writes now, and may not be told from it. */
static void bytes_are_those_of_cjson(void **state)
{
	(void)state;
	for (int indented = 0; indented < 2; indented++) {
		_cleanup_buf_ struct buf out = BUF_INIT(10000);
		struct json json = {.out = &out, .indented = indented};

		write_all(&json);
		_cleanup_free_ char *text = take_text(&out, NULL);
		cJSON *root = cJSON_Parse(text);
		assert_non_null(root);
		char *again = indented ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
		assert_string_equal(text, again);
		cJSON_free(again);
		cJSON_Delete(root);
	}
}

static void integers_are_exact_beyond_what_a_double_holds(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1000);
	struct json json = {.out = &out};

	(void)state;
	json_array(&json, NULL);
	json_u64(&json, NULL, 1000000000000000);
	json_u64(&json, NULL, (UINT64_C(1) << 53) + 1);
	json_u64(&json, NULL, UINT64_MAX);
	json_double(&json, NULL, 9007199254740991);
	json_double(&json, NULL, 0x1p64);
	json_double(&json, NULL, 0.1 + 0.2);
	json_array_end(&json);
	assert_written(&json, "[1000000000000000,9007199254740993,18446744073709551615,"
			      "9.00719925474099e+15,1.8446744073709552e+19,0.3]");
}

static void a_full_buffer_is_told_at_the_end(void **state)
{
	_cleanup_buf_ struct buf whole = BUF_INIT(10000);
	struct json json = {.out = &whole, .indented = true};

	(void)state;
	write_all(&json);
	for (size_t max = 0; max < whole.len; max++) {
		_cleanup_buf_ struct buf out = BUF_INIT(max);

		json = (struct json){.out = &out, .indented = true};
		write_all(&json);
		assert_int_equal(buf_error(&out), -ENOSPC);
		assert_int_equal(json.depth, 0);
		if (out.len)
			assert_memory_equal(out.data, whole.data, out.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_between_values_only),
		cmocka_unit_test(a_line_ends_behind_the_comma),
		cmocka_unit_test(depth_has_no_end),
		cmocka_unit_test(texts_have_short_escapes),
		cmocka_unit_test(strings_may_have_any_bytes),
		cmocka_unit_test(bytes_are_those_of_cjson),
		cmocka_unit_test(integers_are_exact_beyond_what_a_double_holds),
		cmocka_unit_test(a_full_buffer_is_told_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
