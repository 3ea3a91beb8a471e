// SPDX-License-Identifier: GPL-2.0-or-later
/* VMs that hang, fail, lie, are many, or become others. */
#include "unit/java/agents/jfr_vm.h"

static void one_that_could_not_be_asked_once_goes_on(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_SYSTEM);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_SILENT), 1);
	assert_int_equal(state(), JFR_RECORDING);
}

static void one_that_failed_may_be_let_go_while_it_is_told_to_stop(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_REFUSED);
	assert_int_equal(joined(), 0);
	assert_int_equal(asked_for(), ATTACH_JFR_STOP);
	jfr_sweep(test.jfr, nobody, NULL);
	answer(ATTACH_DONE);
	assert_null(scene.asked);
	assert_null(test.jfr->vms.all);
}

static void one_whose_files_hang_is_not_asked_again(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_DONE);
	assert_non_null(test.read);
	assert_int_equal(joined(), 0); /* five seconds later */
	assert_true(end_window());
	jfr_hangs(TAKE_PTR(test.read));
	assert_int_equal(state(), JFR_FAILED);
	assert_true(target_hangs(scene.target));
	assert_true(test.jfr->vms.all->folder_fd >= 0); /* it is still asked */
	answer(ATTACH_REFUSED);
	assert_false(jfr_has(test.jfr, scene.target));
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_SILENT), 2);
	assert_int_equal(fallen(JFR_REFUSED), 0);
	assert_false(end_window());
	test.jfr->vms.interval_ns = 0;
	scene.target->inspection = INSPECTION_IDLE; /* under another name */
	jfr_meet(test.jfr, scene.target);
	assert_int_not_equal(asked_for(), ATTACH_JFR_START);
}

static void a_look_that_hangs_is_the_last_one(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_HUNG);
	assert_int_equal(joined(), 0);
	assert_int_equal(state(), JFR_FAILED);
	assert_true(target_hangs(scene.target));
}

static void windows_that_are_not_told_are_misses(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	answer(ATTACH_DONE);
	assert_int_equal(joined(), 0); /* it is read for too long */
	assert_int_equal(jfr_first(test.jfr)->misses, 1);
	TAKE_PTR(test.read);
	assert_true(end_window());
	answer(ATTACH_DONE);
	assert_int_equal(jfr_first(test.jfr)->misses, 1);
	tell(0, false);
	assert_int_equal(joined(), 1);
	assert_int_equal(jfr_first(test.jfr)->misses, 0);
}

static void what_all_tell_of_a_window_is_bounded(void **unused)
{
	const struct jfr_head head = {0};

	(void)unused;
	record();
	for (int i = 0; i < 2; i++) { /* each window's sum is its own */
		assert_true(end_window());
		answer(ATTACH_DONE);
		tell_head(&head, 200 << 20);
		assert_int_equal(joined(), 1);
		assert_int_equal(test.jfr->bytes, 0);
	}
	assert_true(end_window());
	answer(ATTACH_DONE);
	test.jfr->bytes = 100 << 20; /* others' */
	tell_head(&head, 200 << 20);
	assert_int_equal(test.jfr->bytes, 100 << 20);
	assert_int_equal(joined(), 0);
	assert_int_equal(fallen(JFR_CUT), 1);
}

static void so_many_are_asked_at_most(void **unused)
{
	unsigned room = fd_budget_max() / 2 < ASKING_VMS_MAX ? fd_budget_max() / 2 : ASKING_VMS_MAX;
	struct jfr_counts counts;
	struct target other = *scene.target;
	struct why why = {0};

	(void)unused;
	for (unsigned i = 0; i < ASKING_VMS_MAX + 1; i++) {
		other.pid = (pid_t)(1000 + i);
		jfr_meet(test.jfr, &other);
	}
	jfr_counts(test.jfr, &counts);
	assert_int_equal(counts.unasked, 1);
	/* The others have no descriptors. */
	assert_int_equal(counts.starting, room);
	assert_int_equal(counts.failed, ASKING_VMS_MAX - room);
	other.pid = 1000 + ASKING_VMS_MAX - 1;
	if (counts.failed) {
		assert_int_equal(jfr_state(test.jfr, &other, &why), JFR_FAILED);
		assert_string_equal(why.text, "system: no descriptors left");
	}
	answer(ATTACH_REFUSED); /* the last one that was asked */
	jfr_sweep(test.jfr, nobody, NULL);
	assert_int_equal(test.jfr->vms.count, room - 1);
	jfr_meet(test.jfr, &other);
	assert_int_equal(jfr_state(test.jfr, &other, &why), JFR_STARTING);
}

static void another_program_is_asked_anew(void **unused)
{
	(void)unused;
	record();
	change(true);
	assert_false(end_window());
	assert_int_equal(fallen(JFR_ENDED), 1);
	assert_int_equal(state(), JFR_NONE);
	jfr_meet(test.jfr, scene.target);
	assert_null(scene.asked);
	jfr_sweep(test.jfr, everybody, NULL);
	assert_int_equal(asked_for(), ATTACH_CLEAN); /* its socket isn't the same VM's */
	assert_non_null(scene.asked);
	answer(ATTACH_DONE);
	assert_null(test.jfr->vms.all);
	jfr_meet(test.jfr, scene.target);
	assert_int_equal(asked_for(), ATTACH_JFR_START);
}

static void one_that_begins_as_another_program_comes_is_let_go(void **unused)
{
	(void)unused;
	jfr_meet(test.jfr, scene.target);
	change(true);
	jfr_meet(test.jfr, scene.target);
	jfr_sweep(test.jfr, everybody, NULL);
	target_table_sweep(scene.table, UINT64_MAX); /* who it was isn't known any more */
	jfr_meet(test.jfr, scene.target);
	answer(ATTACH_DONE);
	assert_int_equal(asked_for(), ATTACH_CLEAN);
	assert_non_null(scene.asked);
	answer(ATTACH_DONE);
	assert_null(test.jfr->vms.all);
}

static void another_name_is_the_same_program(void **unused)
{
	(void)unused;
	record();
	change(false);
	assert_true(end_window());
	answer(ATTACH_DONE);
	jfr_meet(test.jfr, scene.target);
	tell(0, false);
	assert_int_equal(joined(), 1);
	jfr_sweep(test.jfr, everybody, NULL);
	assert_int_equal(state(), JFR_RECORDING);
}

static void counts_that_make_no_sense_are_not_taken(void **unused)
{
	const uint64_t most = 1ULL << 40;
	const struct jfr_head heads[] = {
		{.lost_samples = most + 1}, {.lost_bytes = INT64_MAX}, {.refused = INT64_MAX}};
	const struct jfr_head sane = {
		.lost_samples = most, .lost_bytes = most, .refused = most, .refused_weight = most};

	(void)unused;
	record();
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		assert_true(end_window());
		answer(ATTACH_DONE);
		tell_head(&heads[i], 0);
		assert_int_equal(joined(), 0);
	}
	assert_int_equal(fallen(JFR_FILE), ARRAY_SIZE(heads));
	assert_true(end_window());
	answer(ATTACH_DONE);
	tell_head(&sane, 0);
	assert_int_equal(joined(), 1);
}

static void one_that_is_asked_as_the_daemon_ends_is_told_to_stop(void **unused)
{
	(void)unused;
	record();
	assert_true(end_window());
	assert_int_equal(asked_for(), ATTACH_JFR_DUMP);
	jfr_free(test.jfr);
	assert_int_equal(scene.told_last, 1);
	test.jfr = make();
	record();
	jfr_stop(test.jfr); /* what it is asked is that already */
	assert_int_equal(asked_for(), ATTACH_JFR_STOP);
	jfr_free(test.jfr);
	assert_int_equal(scene.told_last, 1);
	test.jfr = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_that_could_not_be_asked_once_goes_on),
		TEST(one_that_failed_may_be_let_go_while_it_is_told_to_stop),
		TEST(one_whose_files_hang_is_not_asked_again),
		TEST(a_look_that_hangs_is_the_last_one),
		TEST(windows_that_are_not_told_are_misses),
		TEST(what_all_tell_of_a_window_is_bounded),
		TEST(so_many_are_asked_at_most),
		TEST(another_program_is_asked_anew),
		TEST(one_that_begins_as_another_program_comes_is_let_go),
		TEST(another_name_is_the_same_program),
		TEST(counts_that_make_no_sense_are_not_taken),
		TEST(one_that_is_asked_as_the_daemon_ends_is_told_to_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
