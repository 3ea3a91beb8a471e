// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of a trigger: what is one, what is none and where it is wrong. */
#include "unit/lib/unit.h"

#include "pressure/pressure_text.h"

static void a_text_has_the_words_of_the_kernel_and_a_cgroup(void **state)
{
	static const struct {
		const char *written;
		struct pressure_text text;
	} good[] = {
		{"cpu some 300000 2000000", {PRESSURE_ON_CPU, false, 300000, 2000000, ""}},
		{"memory full 1 500000", {PRESSURE_ON_MEMORY, true, 1, 500000, ""}},
		{"io some 10000000 10000000", {PRESSURE_ON_IO, false, 10000000, 10000000, ""}},
		{"  CPU\tSome  500000   500000  ", {PRESSURE_ON_CPU, false, 500000, 500000, ""}},
		{"io full 1 1000000 /a.slice/b", {PRESSURE_ON_IO, true, 1, 1000000, "/a.slice/b"}},
		{"io full 1 1000000 /a b ", {PRESSURE_ON_IO, true, 1, 1000000, "/a b"}},
		{"io full 1 1000000 /a..b/..c/d..",
		 {PRESSURE_ON_IO, true, 1, 1000000, "/a..b/..c/d.."}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		const struct pressure_text *expected = &good[i].text;
		struct pressure_text text;
		struct why why = {0};

		if (pressure_text_read(&text, good[i].written, &why) < 0)
			fail_msg("%s: %s", good[i].written, why.text);
		assert_int_equal(text.on, expected->on);
		assert_int_equal(text.full, expected->full);
		assert_int_equal(text.stall_us, expected->stall_us);
		assert_int_equal(text.window_us, expected->window_us);
		assert_string_equal(text.cgroup, expected->cgroup);
	}
}

static void what_is_wrong_is_said_and_where(void **state)
{
	static const char *const wrong[][2] = {
		{" ", "word 1 is missing: it must be cpu, memory or io"},
		{"disk some 1 500000", "word 1, disk, must be cpu, memory or io"},
		{"cp some 1 500000", "word 1, cp, must be cpu, memory or io"},
		{"cpu", "word 2 is missing: it must be some or full"},
		{"cpu 1 500000", "word 2, 1, must be some or full"},
		{"cpu some", "word 3 is missing: it must be the stall in microseconds, from 1 to "
			     "10000000"},
		{"cpu some 0 500000",
		 "word 3, 0, must be the stall in microseconds, from 1 to 10000000"},
		{"cpu some -1 500000",
		 "word 3, -1, must be the stall in microseconds, from 1 to 10000000"},
		{"cpu some 1ms 500000",
		 "word 3, 1ms, must be the stall in microseconds, from 1 to 10000000"},
		{"cpu some 4294967297 500000",
		 "word 3, 4294967297, must be the stall in microseconds, from 1 to 10000000"},
		{"cpu some 1", "word 4 is missing: it must be the window in microseconds, from "
			       "500000 to 10000000"},
		{"cpu some 1 499999",
		 "word 4, 499999, must be the window in microseconds, from 500000 to 10000000"},
		{"cpu some 1 10000001",
		 "word 4, 10000001, must be the window in microseconds, from 500000 to 10000000"},
		{"cpu some 500001 500000",
		 "word 3, 500001, must be no longer than the window, which is word 4"},
		{"cpu some 1 500000 a", "word 5, a, must be a cgroup's path, which begins with /"},
		{"cpu some 1 500000 /a/../b", "the cgroup's path must not have \"..\""},
		{"cpu some 1 500000 /..", "the cgroup's path must not have \"..\""},
		{"cpu some 1 500000 /a\nb", "the cgroup's path has a control character"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct pressure_text text, untouched;
		struct why why = {0};

		memset(&text, 0x55, sizeof(text));
		untouched = text;
		assert_int_equal(pressure_text_read(&text, wrong[i][0], &why), -EINVAL);
		assert_string_equal(why.text, wrong[i][1]);
		assert_memory_equal(&text, &untouched, sizeof(text));
	}
}

static void a_path_has_a_longest_one(void **state)
{
	char written[PRESSURE_CGROUP_BYTES + 64] = "io some 1 500000 /";
	size_t len = strlen(written), longest = len - 1 + PRESSURE_CGROUP_BYTES - 1;
	struct pressure_text text;
	struct why why;

	(void)state;
	memset(written + len, 'x', longest - len);
	assert_int_equal(pressure_text_read(&text, written, &why), 0);
	assert_int_equal(strlen(text.cgroup), PRESSURE_CGROUP_BYTES - 1);
	written[longest] = 'x';
	assert_int_equal(pressure_text_read(&text, written, &why), -EINVAL);
	assert_string_equal(why.text, "the cgroup's path is longer than 1023 bytes");
}

static void words_say_what_is_waited_for(void **state)
{
	const struct pressure_text host = {PRESSURE_ON_CPU, false, 300000, 2000000, ""};
	const struct pressure_text cgroup = {PRESSURE_ON_IO, true, 1500, 500000, "/a"};
	char words[PRESSURE_WORDS_BYTES];

	(void)state;
	pressure_text_say(&host, words, sizeof(words));
	assert_string_equal(
		words, "some tasks stalled on cpu for 300 ms within 2000 ms, on the whole host");
	pressure_text_say(&cgroup, words, sizeof(words));
	assert_string_equal(words,
			    "all tasks stalled on io for 1.5 ms within 500 ms, in the cgroup /a");
}

static void only_full_of_the_hosts_cpu_never_fires(void **state)
{
	struct pressure_text text = {PRESSURE_ON_CPU, true, 1, 500000, ""};

	(void)state;
	assert_true(pressure_text_is_idle(&text));
	text.full = false;
	assert_false(pressure_text_is_idle(&text));
	text.full = true;
	text.on = PRESSURE_ON_MEMORY;
	assert_false(pressure_text_is_idle(&text));
	text = (struct pressure_text){PRESSURE_ON_CPU, true, 1, 500000, "/a"};
	assert_false(pressure_text_is_idle(&text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_has_the_words_of_the_kernel_and_a_cgroup),
		cmocka_unit_test(what_is_wrong_is_said_and_where),
		cmocka_unit_test(a_path_has_a_longest_one),
		cmocka_unit_test(words_say_what_is_waited_for),
		cmocka_unit_test(only_full_of_the_hosts_cpu_never_fires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
