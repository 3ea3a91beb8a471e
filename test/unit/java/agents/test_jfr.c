// SPDX-License-Identifier: GPL-2.0-or-later
/* Which windows are a VM's. */
#include "unit/java/agents/jfr_vm.h"

static void the_second_window_is_its_own(void **unused)
{
	struct jfr_counts counts;

	(void)unused;
	assert_false(end_window());
	record();
	assert_int_equal(test.began, 1);
	assert_int_equal(state(), JFR_RECORDING);
	for (int i = 0; i < 2; i++) {
		assert_true(end_window());
		answer(ATTACH_DONE);
		tell(0, false);
		assert_int_equal(joined(), 1);
	}
	jfr_counts(test.jfr, &counts);
	assert_int_equal(counts.windows, 2);
	assert_int_equal(counts.lost_samples, 6);
	assert_int_equal(counts.recording, 1);
	for (int i = 0; i < JFR_CAUSES; i++)
		assert_int_equal(counts.fell_back[i], 0);
}

static void what_it_is_told_of_borders(void **unused)
{
	(void)unused;
	record();
	uint64_t first_us = test.jfr->to_us;
	assert_true(end_window());
	/* Waits count from where its own windows began. */
	assert_int_equal(scene.asked->order.since_us, first_us);
	assert_int_equal(scene.asked->order.to_us, test.jfr->to_us);
	answer(ATTACH_DONE);
	tell(0, true);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_CUT), 1);
	uint64_t second_us = test.jfr->to_us;
	assert_true(end_window());
	assert_int_equal(scene.asked->order.since_us, second_us);
	answer(ATTACH_DONE);
	tell(0, false);
	assert_int_equal(joined(), 1);
}

static void one_that_begins_elsewhere_is_not_taken(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell(1, false);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_BORDER), 1);
}

static void after_one_without_an_answer_is_one_that_does_not_join(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_STOPPED);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_STOPPED), 1);
	assert_int_equal(state(), JFR_RECORDING);
	assert_true(end_window());
	answer(ATTACH_DONE);
	assert_null(test.read);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_BORDER), 1);
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell(0, false);
	assert_int_equal(joined(), 1);
}

static void one_that_is_silent_is_given_up(void **unused)
{
	(void)unused;
	record();
	for (int i = 0; i < 3; i++) {
		assert_true(end_window());
		answer(ATTACH_SILENT);
		assert_int_equal(joined(), 0);
	}
	assert_int_equal(fallen(JFR_SILENT), 3);
	assert_int_equal(state(), JFR_FAILED);
	assert_int_equal(asked_for(), ATTACH_JFR_STOP);
	assert_true(jfr_has(test.jfr, scene.target));
	answer(ATTACH_SILENT);
	assert_int_equal(state(), JFR_FAILED);
	assert_false(jfr_has(test.jfr, scene.target)); /* another agent may come */
	jfr_meet(test.jfr, scene.target);
	assert_null(scene.asked); /* not before its interval */
	assert_false(end_window());
}

static void time_is_bounded(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	assert_int_equal(joined(), 0); /* five seconds later */
	assert_int_equal(fallen(JFR_SILENT), 1);
	answer(ATTACH_DONE); /* too late, but its next window begins there */
	assert_null(test.read);
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell(0, false);
	assert_int_equal(joined(), 1);
}

static void one_that_lost_its_recording_is_asked_again_later(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_REFUSED);
	assert_int_equal(joined(), 0);
	assert_int_equal(state(), JFR_FAILED);
	test.jfr->vms.interval_ns = 0;
	jfr_meet(test.jfr, scene.target);
	assert_int_equal(asked_for(), ATTACH_JFR_STOP); /* what is left of it, first */
	answer(ATTACH_DONE);
	jfr_meet(test.jfr, scene.target);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
	answer(ATTACH_DONE);
	assert_int_equal(state(), JFR_STARTING);
}

static void another_wish_begins_anew(void **unused)
{
	struct jfr_wish wish = {1U << PROBE_ONCPU | 1U << PROBE_MEM, 10, NS_PER_S};

	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell(0, false);
	jfr_set(test.jfr, &wish);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
	assert_string_equal(scene.asked->order.recorded, "oncpu+mem");
	assert_int_equal(joined(), 0);
	wish.probes = 0;
	jfr_set(test.jfr, &wish);
	assert_int_equal(asked_for(), ATTACH_JFR_START); /* it is still asked that */
	answer(ATTACH_DONE);
	assert_int_equal(asked_for(), ATTACH_JFR_STOP);
	answer(ATTACH_DONE);
	assert_null(test.jfr->vms.all);
}

static void one_that_is_not_wanted_stops_and_may_come_back(void **unused)
{
	(void)unused;
	record();
	jfr_sweep(test.jfr, nobody, NULL);
	assert_int_equal(asked_for(), ATTACH_JFR_STOP);
	assert_int_equal(state(), JFR_NONE);
	assert_true(jfr_has(test.jfr, scene.target));
	jfr_meet(test.jfr, scene.target);
	answer(ATTACH_DONE);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
	answer(ATTACH_DONE);
	jfr_stop(test.jfr);
	answer(ATTACH_SILENT);
	assert_false(jfr_has(test.jfr, scene.target));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_second_window_is_its_own),
		TEST(what_it_is_told_of_borders),
		TEST(one_that_begins_elsewhere_is_not_taken),
		TEST(after_one_without_an_answer_is_one_that_does_not_join),
		TEST(one_that_is_silent_is_given_up),
		TEST(time_is_bounded),
		TEST(one_that_lost_its_recording_is_asked_again_later),
		TEST(another_wish_begins_anew),
		TEST(one_that_is_not_wanted_stops_and_may_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
