// SPDX-License-Identifier: GPL-2.0-or-later
/* What the agent of JFR mode says of a command; and how it is asked. */
#include "unit/lib/unit.h"

#include "java/attach/attach_state.h"

static enum attach_result judge(const char *state, char text[ATTACH_TEXT_BYTES])
{
	return attach_judge_jfr(state, strlen(state), "written", 12, text);
}

static void a_command_that_was_done(void **state)
{
	char text[ATTACH_TEXT_BYTES];

	(void)state;
	assert_int_equal(judge("stackprobe-jfr\t1\twritten\t12\tcputime\n", text), ATTACH_DONE);
	assert_string_equal(text, "cputime");
	assert_int_equal(judge("stackprobe-jfr\t1\twritten\t12\t\n", text), ATTACH_DONE);
	assert_string_equal(text, "");
}

static void all_else_was_not(void **state)
{
	static const char *const others[] = {
		"",
		"\n",
		"stackprobe-jfr\t1\twritten\t12\tno end",
		"stackprobe-jfr\t1\twritten\t12\n",
		"stackprobe-jfr\t2\twritten\t12\tx\n",
		"stackprobe-jfr\t1\twritten\t11\tx\n",
		"stackprobe-jfr\t1\twritten\t123\tx\n",
		"stackprobe-jfr\t1\tfailed\t12\tx\n",
		"other\t1\twritten\t12\tx\n",
	};
	char text[ATTACH_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(judge(others[i], text), ATTACH_REFUSED);
	assert_int_equal(judge("stackprobe-jfr\t1\tabsent\t12\tnot \x1b here\n", text),
			 ATTACH_REFUSED);
	assert_string_equal(text, "not ? here");
}

static void a_long_text_is_cut(void **state)
{
	char said[400], text[ATTACH_TEXT_BYTES];

	(void)state;
	snprintf(said, sizeof(said), "stackprobe-jfr\t1\twritten\t12\t%0300d\n", 0);
	assert_int_equal(judge(said, text), ATTACH_DONE);
	assert_int_equal(strlen(text), ATTACH_TEXT_BYTES - 1);
}

static void a_request_has_four_words(void **state)
{
	static const char expected[] = "1\0jcmd\0a b\0\0";
	const char *const words[ATTACH_WORDS] = {"jcmd", "a b", NULL, NULL};
	char out[64];

	(void)state;
	assert_int_equal(attach_request(out, sizeof(out), words), sizeof(expected));
	assert_memory_equal(out, expected, sizeof(expected));
	assert_int_equal(attach_request(out, sizeof(expected) - 1, words), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_that_was_done),
		cmocka_unit_test(all_else_was_not),
		cmocka_unit_test(a_long_text_is_cut),
		cmocka_unit_test(a_request_has_four_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
