// SPDX-License-Identifier: GPL-2.0-or-later
/* VMs that record: how they are let go, and the daemon's end. */
#include "unit/java/agents/jfr_life.h"

/* ---- end ---- */

static void one_that_waits_is_let_go_at_once(void **unused)
{
	(void)unused;
	scene.waits = true;
	jfr_meet(test.jfr, scene.target);
	jfr_sweep(test.jfr, nobody, NULL);
	assert_removed();
	assert_held(0);
}

static void one_that_waits_to_end_its_window_is_told_to_stop(void **unused)
{
	(void)unused;
	record();
	scene.waits = true;
	assert_true(end_window());
	jfr_stop(test.jfr);
	assert_asked(ATTACH_JFR_STOP);
	assert_int_equal(joined(), 0); /* nobody waits for it */
	answer(ATTACH_SILENT);
	assert_removed();
	assert_none_fell_back();
}

static void one_that_failed_and_waits_to_be_told_is_let_go(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	scene.waits = true;
	answer(ATTACH_REFUSED);
	assert_int_equal(joined(), 0);
	assert_int_equal(state(), JFR_FAILED);
	jfr_stop(test.jfr);
	assert_asked(ATTACH_JFR_STOP);
	assert_int_equal(state(), JFR_NONE);
	answer(ATTACH_DONE);
	assert_removed();
}

static void one_that_is_met_again_as_it_is_asked_goes_on(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	jfr_sweep(test.jfr, nobody, NULL);
	assert_int_equal(joined(), 0);
	assert_counted(0, 1, 0);
	assert_false(end_window()); /* it isn't told */
	assert_none_fell_back();
	jfr_meet(test.jfr, scene.target);
	answer(ATTACH_DONE);
	assert_null(scene.asked);
	assert_null(test.read);
	assert_int_equal(state(), JFR_RECORDING);
	assert_true(end_window());
	assert_asked(ATTACH_JFR_DUMP);
	answer(ATTACH_DONE);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_BORDER), 1);
}

static void one_that_is_let_go_as_it_is_asked_stops_then(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	jfr_stop(test.jfr);
	jfr_stop(test.jfr);
	jfr_sweep(test.jfr, everybody, NULL); /* only a stack has it stay */
	assert_int_equal(state(), JFR_RECORDING);
	answer(ATTACH_REFUSED);
	assert_asked(ATTACH_JFR_STOP);
	assert_int_equal(state(), JFR_NONE);
	jfr_sweep(test.jfr, everybody, NULL);
	answer(ATTACH_DONE);
	assert_removed();
	assert_none_fell_back();
}

static void what_is_read_of_one_that_was_let_go_is_dropped(void **unused)
{
	(void)unused;
	read_window();
	jfr_stop(test.jfr);
	assert_asked(ATTACH_JFR_STOP);
	tell(0, false);
	assert_int_equal(joined(), 0);
	answer(ATTACH_DONE);
	assert_removed();
}

static void one_that_comes_back_begins_anew(void **unused)
{
	(void)unused;
	record();
	scene.waits = true;
	assert_true(end_window());
	jfr_stop(test.jfr);
	assert_int_equal(joined(), 0);
	jfr_meet(test.jfr, scene.target);
	jfr_sweep(test.jfr, nobody, NULL); /* not while it stops */
	scene.waits = false;
	answer(ATTACH_SILENT);
	assert_asked(ATTACH_JFR_START);
	assert_held(2);
	answer(ATTACH_DONE);
	assert_int_equal(state(), JFR_STARTING);
	assert_true(end_window());
	assert_asked(ATTACH_JFR_DUMP);
}

static void one_that_comes_back_and_becomes_another_program_is_removed(void **unused)
{
	(void)unused;
	record();
	jfr_sweep(test.jfr, nobody, NULL);
	jfr_meet(test.jfr, scene.target);
	change(true);
	jfr_meet(test.jfr, scene.target);
	assert_asked(ATTACH_JFR_STOP);
	answer(ATTACH_DONE);
	assert_removed();
}

static void one_that_comes_back_and_is_let_go_again_is_removed(void **unused)
{
	(void)unused;
	record();
	jfr_stop(test.jfr);
	jfr_meet(test.jfr, scene.target);
	jfr_stop(test.jfr);
	answer(ATTACH_DONE);
	assert_removed();
}

/* ---- files that hang ---- */

static void one_whose_files_hang_is_left_if_it_is_asked_nothing(void **unused)
{
	(void)unused;
	read_window();
	jfr_hangs(TAKE_PTR(test.read));
	assert_null(scene.asked);
	assert_int_equal(state(), JFR_FAILED);
	assert_why("hung");
	assert_false(jfr_has(test.jfr, scene.target));
	assert_held(0);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_SILENT), 1);
	jfr_stop(test.jfr);
	assert_removed();
}

static void one_whose_files_hang_as_it_is_asked_may_be_let_go(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	jfr_hangs(the_vm());
	assert_true(jfr_has(test.jfr, scene.target));
	assert_counted(0, 0, 1);
	jfr_stop(test.jfr);
	assert_asked(ATTACH_JFR_DUMP);
	answer(ATTACH_DONE);
	assert_asked(ATTACH_JFR_STOP);
	answer(ATTACH_DONE);
	assert_removed();
}

static void files_that_hang_do_not_matter_to_one_that_begins_or_stops(void **unused)
{
	const struct jfr_wish wish = {1U << PROBE_ONCPU, 20, NS_PER_S * 600};

	(void)unused;
	record();
	jfr_set(test.jfr, &wish);
	jfr_hangs(the_vm());
	assert_int_equal(state(), JFR_STARTING);
	answer(ATTACH_DONE);
	jfr_stop(test.jfr);
	jfr_hangs(the_vm());
	assert_asked(ATTACH_JFR_STOP);
	jfr_meet(test.jfr, scene.target);
	answer(ATTACH_DONE);
	assert_asked(ATTACH_JFR_START);
	assert_false(target_hangs(scene.target));
}

/* ---- the daemon's end ---- */

static void end_tells(unsigned count)
{
	jfr_free(TAKE_PTR(test.jfr));
	assert_int_equal(scene.told_last, count);
}

static void at_the_end_those_that_record_are_told_to_stop(void **unused)
{
	(void)unused;
	record();
	scene.waits = true; /* no turn is taken any more */
	end_tells(1);
}

static void at_the_end_those_that_begin_are_left(void **unused)
{
	(void)unused;
	jfr_meet(test.jfr, scene.target);
	end_tells(0);
}

static void at_the_end_those_that_begin_anew_are_told_to_stop(void **unused)
{
	const struct jfr_wish wish = {1U << PROBE_ONCPU, 20, NS_PER_S * 600};

	(void)unused;
	record();
	jfr_set(test.jfr, &wish);
	assert_asked(ATTACH_JFR_START);
	end_tells(1);
}

static void at_the_end_those_that_failed_are_told_once(void **unused)
{
	(void)unused;
	fail_once();
	end_tells(0);
}

static void at_the_end_those_whose_files_hang_are_told_to_stop(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	jfr_hangs(the_vm());
	end_tells(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_that_waits_is_let_go_at_once),
		TEST(one_that_waits_to_end_its_window_is_told_to_stop),
		TEST(one_that_failed_and_waits_to_be_told_is_let_go),
		TEST(one_that_is_met_again_as_it_is_asked_goes_on),
		TEST(one_that_is_let_go_as_it_is_asked_stops_then),
		TEST(what_is_read_of_one_that_was_let_go_is_dropped),
		TEST(one_that_comes_back_begins_anew),
		TEST(one_that_comes_back_and_becomes_another_program_is_removed),
		TEST(one_that_comes_back_and_is_let_go_again_is_removed),
		TEST(one_whose_files_hang_is_left_if_it_is_asked_nothing),
		TEST(one_whose_files_hang_as_it_is_asked_may_be_let_go),
		TEST(files_that_hang_do_not_matter_to_one_that_begins_or_stops),
		TEST(at_the_end_those_that_record_are_told_to_stop),
		TEST(at_the_end_those_that_begin_are_left),
		TEST(at_the_end_those_that_begin_anew_are_told_to_stop),
		TEST(at_the_end_those_that_failed_are_told_once),
		TEST(at_the_end_those_whose_files_hang_are_told_to_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
