// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "base/why.h"

static void a_sentence_is_cut_to_what_fits(void **state)
{
	struct {
		struct why why;
		char behind;
	} room = {.behind = 'b'};

	(void)state;
	why_set(&room.why, "%s: line %d", "conf", 7);
	assert_string_equal(room.why.text, "conf: line 7");
	why_set(&room.why, "%2000d", 7);
	assert_int_equal(strlen(room.why.text), sizeof(room.why.text) - 1);
	assert_int_equal(room.behind, 'b');
}

static void nobody_has_to_want_it(void **state)
{
	(void)state;
	why_set(NULL, "%s", "no memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sentence_is_cut_to_what_fits),
		cmocka_unit_test(nobody_has_to_want_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
