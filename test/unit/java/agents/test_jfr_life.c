// SPDX-License-Identifier: GPL-2.0-or-later
/* VMs that record: how they begin, and their windows. */
#include "unit/java/agents/jfr_life.h"

/* ---- begin ---- */

static void what_passes_is_asked_again_soon(void **unused)
{
	static const struct {
		enum attach_result result;
		uint64_t after_ns;
	} each[] = {
		{ATTACH_STOPPED, NS_PER_S},
		{ATTACH_SIGNALS, 2 * NS_PER_S},
		{ATTACH_NOT_NOW, 2 * NS_PER_S},
		{ATTACH_GONE, 600 * NS_PER_S},
	};

	(void)unused;
	jfr_meet(test.jfr, scene.target);
	for (size_t i = 0; i < ARRAY_SIZE(each); i++) {
		answer(each[i].result);
		assert_int_equal(state(), JFR_FAILED);
		pass(each[i].after_ns / 2);
		jfr_meet(test.jfr, scene.target);
		assert_null(scene.asked);
		pass(each[i].after_ns / 2);
		jfr_meet(test.jfr, scene.target);
		assert_asked(ATTACH_JFR_START);
	}
}

static void begun_is_told_when_all_have_answered(void **unused)
{
	struct target other = *scene.target;

	(void)unused;
	other.pid = 1000;
	for (unsigned i = 0; i < 2; i++) {
		jfr_meet(test.jfr, scene.target);
		struct attach_request *first = scene.asked;
		jfr_meet(test.jfr, &other);
		struct attach_request *second = scene.asked;
		assert_ptr_not_equal(first, second);
		scene.asked = first;
		answer(ATTACH_DONE);
		assert_int_equal(test.began, i);
		assert_int_equal(state(), JFR_STARTING);
		scene.asked = second;
		answer(i ? ATTACH_DONE : ATTACH_REFUSED);
		assert_int_equal(test.began, i + 1);
		jfr_free(test.jfr);
		test.jfr = make();
	}
}

static void states_are_counted_and_explained(void **unused)
{
	(void)unused;
	assert_counted(0, 0, 0);
	jfr_meet(test.jfr, scene.target);
	assert_counted(1, 0, 0);
	scene.says = "no room";
	answer(ATTACH_REFUSED);
	assert_counted(0, 0, 1);
	assert_why("no room");
	pass(600 * NS_PER_S);
	jfr_meet(test.jfr, scene.target);
	scene.says = NULL;
	answer(ATTACH_REFUSED);
	assert_why("refused");
	pass(600 * NS_PER_S);
	jfr_meet(test.jfr, scene.target);
	scene.error = ENOMEM;
	answer(ATTACH_SYSTEM);
	assert_why("system: Cannot allocate memory");
	pass(600 * NS_PER_S);
	scene.says = "every 10 ms";
	record();
	assert_counted(0, 1, 0);
	assert_why("every 10 ms");
	jfr_stop(test.jfr);
	assert_counted(0, 0, 0);
	assert_why("");
}

static void places_are_kept_while_there_are_files(void **unused)
{
	(void)unused;
	jfr_meet(test.jfr, scene.target);
	assert_held(2);
	answer(ATTACH_REFUSED);
	assert_held(0);
	pass(600 * NS_PER_S);
	fail_once();
	assert_held(2);
	answer(ATTACH_DONE);
	assert_held(0);
	pass(600 * NS_PER_S);
	jfr_meet(test.jfr, scene.target);
	answer(ATTACH_DONE);
	assert_held(2);
	jfr_stop(test.jfr);
	assert_held(2);
	answer(ATTACH_DONE);
	assert_held(0);
}

/* ---- another wish ---- */

static void another_wish_waits_for_what_is_asked(void **unused)
{
	const struct jfr_wish wish = {1U << PROBE_ONCPU | 1U << PROBE_MEM, 10, NS_PER_S * 600};

	(void)unused;
	record();
	assert_true(end_window());
	jfr_set(test.jfr, &wish);
	jfr_sweep(test.jfr, everybody, NULL);
	assert_asked(ATTACH_JFR_DUMP);
	answer(ATTACH_DONE);
	tell(0, false);
	assert_int_equal(joined(), 1);
	assert_null(scene.asked);
	jfr_sweep(test.jfr, everybody, NULL);
	assert_asked(ATTACH_JFR_START);
	assert_string_equal(scene.asked->order.recorded, "oncpu+mem");
	assert_int_equal(state(), JFR_STARTING);
	assert_held(2);
	answer(ATTACH_REFUSED);
	assert_int_equal(state(), JFR_FAILED);
	assert_asked(ATTACH_JFR_STOP); /* what it began before */
	answer(ATTACH_DONE);
	assert_held(0);
	assert_none_fell_back();
}

/* ---- windows ---- */

static void one_that_begins_anew_has_a_window_that_joins_nothing(void **unused)
{
	const struct jfr_wish wish = {1U << PROBE_ONCPU, 20, NS_PER_S * 600};

	(void)unused;
	record();
	jfr_set(test.jfr, &wish);
	answer(ATTACH_DONE);
	assert_int_equal(state(), JFR_STARTING);
	assert_true(end_window());
	assert_int_equal(scene.asked->order.since_us, test.jfr->to_us);
	answer(ATTACH_DONE);
	assert_null(test.read);
	assert_int_equal(joined(), 0);
	assert_int_equal(state(), JFR_RECORDING);
	assert_none_fell_back();
}

static void files_that_cannot_be_read_are_the_kernels_window(void **unused)
{
	struct jfrfile *none[PROBE_COUNT] = {NULL};

	(void)unused;
	read_window();
	uint64_t border_us = test.jfr->to_us;
	jfr_was_read(TAKE_PTR(test.read), -EIO, none);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_FILE), 1);
	test.read_error = -EMFILE;
	assert_true(end_window());
	assert_int_equal(scene.asked->order.since_us, border_us);
	answer(ATTACH_DONE);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_FILE), 2);
	test.read_error = 0;
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell(0, false);
	assert_int_equal(joined(), 1);
}

static void one_that_has_ended_is_the_kernels(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_GONE);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_ENDED), 1);
	assert_int_equal(state(), JFR_RECORDING); /* until the sweep */
	assert_null(scene.asked);
}

static void one_that_is_late_is_not_told_of_the_next(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	struct attach_request *first = scene.asked;
	uint64_t sequence = first->order.sequence;
	assert_int_equal(joined(), 0); /* five seconds later */
	assert_false(end_window());
	assert_ptr_equal(scene.asked, first);
	assert_int_equal(first->order.sequence, sequence);
	assert_int_equal(fallen(JFR_SILENT), 2);
	assert_int_equal(the_vm()->misses, 2);
	jfr_hangs(the_vm()); /* files of a window before that */
	assert_int_equal(fallen(JFR_SILENT), 2);
	assert_int_equal(state(), JFR_FAILED);
	answer(ATTACH_DONE);
	assert_null(test.read);
	assert_false(jfr_has(test.jfr, scene.target));
	assert_held(0);
}

static void those_that_are_many_have_more_time(void **unused)
{
	struct target other = *scene.target;

	(void)unused;
	for (other.pid = 1000; other.pid < 1012; other.pid++) {
		jfr_meet(test.jfr, &other);
		if (other.pid % 2) /* these fail */
			answer(ATTACH_REFUSED);
		else
			answer(ATTACH_DONE);
	}
	for (other.pid = 2000; other.pid < 2012; other.pid++) {
		jfr_meet(test.jfr, &other);
		answer(ATTACH_DONE);
	}
	assert_true(end_window());
	assert_int_equal(scene.asked->order.limit_ms, 18 * 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_passes_is_asked_again_soon),
		TEST(begun_is_told_when_all_have_answered),
		TEST(states_are_counted_and_explained),
		TEST(places_are_kept_while_there_are_files),
		TEST(another_wish_waits_for_what_is_asked),
		TEST(one_that_begins_anew_has_a_window_that_joins_nothing),
		TEST(files_that_cannot_be_read_are_the_kernels_window),
		TEST(one_that_has_ended_is_the_kernels),
		TEST(one_that_is_late_is_not_told_of_the_next),
		TEST(those_that_are_many_have_more_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
