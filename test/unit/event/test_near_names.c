// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that somebody may have meant, and the sentence that says them. */
#include "unit/lib/unit.h"

#include "event/near_names.h"

static void meet_names(struct near_names *near, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		near_names_meet(near, names[i]);
}

static const char *sentence_of(const struct near_names *near)
{
	static struct why why;

	memset(&why, 'x', sizeof(why));
	near_names_write(near, &why);
	assert_non_null(memchr(why.text, '\0', sizeof(why.text)));
	return why.text;
}

static void only_near_ones_are_taken(void **state)
{
	static const char *const names[] = {"vfs_write", "vfs_reed", "", "ext4_read", "vfs_read"};
	struct near_names near = {.word = "vfs_read"};

	(void)state;
	meet_names(&near, names, ARRAY_SIZE(names));
	assert_int_equal(near.count, 2);
	assert_string_equal(near.found[0], "vfs_read"); /* the most like comes first */
	assert_string_equal(near.found[1], "vfs_reed");
	near_names_meet(&near, "vfs_raed");
	assert_string_equal(near.found[2], "vfs_raed");
}

static void of_names_that_are_alike_the_first_five_are_taken(void **state)
{
	static const char *const names[] = {"name_a", "name_b", "name_c", "name_d",
					    "name_e", "name_f", "name_g"};
	struct near_names near = {.word = "name_x"};

	(void)state;
	meet_names(&near, names, ARRAY_SIZE(names));
	assert_int_equal(near.count, NEAR_NAMES_MAX);
	assert_int_equal(near.count, 5);
	assert_string_equal(near.found[0], "name_a");
	assert_string_equal(near.found[4], "name_e");
	assert_string_equal(sentence_of(&near), " Is it name_a, name_b, name_c, name_d or name_e?");
}

static void a_name_that_was_met_before_takes_no_room(void **state)
{
	static const char *const names[] = {"name_a", "name_b", "name_a", "name_a", "name_b"};
	struct near_names near = {.word = "name_x"};

	(void)state;
	meet_names(&near, names, ARRAY_SIZE(names));
	assert_int_equal(near.count, 2);
	near_names_meet(&near, "name_c");
	assert_int_equal(near.count, 3);
	assert_string_equal(near.found[2], "name_c");
}

static void the_sentence_is_of_as_many_as_were_met(void **state)
{
	struct near_names near = {.word = "name_x"};

	(void)state;
	assert_string_equal(sentence_of(&near), "");
	near_names_meet(&near, "name_a");
	assert_string_equal(sentence_of(&near), " Is it name_a?");
	near_names_meet(&near, "name_b");
	assert_string_equal(sentence_of(&near), " Is it name_a or name_b?");
	near_names_meet(&near, "name_c");
	assert_string_equal(sentence_of(&near), " Is it name_a, name_b or name_c?");
}

static void the_longest_names_fit_into_a_sentence(void **state)
{
	struct near_names near = {.word = "x", .count = NEAR_NAMES_MAX};
	size_t names = 0;

	(void)state;
	for (size_t i = 0; i < near.count; i++)
		memset(near.found[i], 'n', NEAR_NAME_BYTES - 1);
	for (const char *c = sentence_of(&near); *c; c++)
		names += *c == 'n';
	assert_int_equal(names, NEAR_NAMES_MAX * (NEAR_NAME_BYTES - 1));
	assert_string_equal(sentence_of(&near) + strlen(sentence_of(&near)) - 2, "n?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_near_ones_are_taken),
		cmocka_unit_test(of_names_that_are_alike_the_first_five_are_taken),
		cmocka_unit_test(a_name_that_was_met_before_takes_no_room),
		cmocka_unit_test(the_sentence_is_of_as_many_as_were_met),
		cmocka_unit_test(the_longest_names_fit_into_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
