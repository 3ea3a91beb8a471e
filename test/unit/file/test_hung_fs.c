// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "file/hung_fs.h"

#define MOUNTED 7

static void hang(struct hung_fs *hung, uint64_t inode, uint64_t whose)
{
	hung_fs_add(hung, &(struct hung_file){MOUNTED, inode, whose, 0}, JOB_HANGS, NULL, false);
}

static void slow(struct hung_fs *hung, const struct hung_file *file)
{
	hung_fs_add(hung, file, JOB_SLOW, NULL, false);
}

static enum hung_verdict verdict(struct hung_fs *hung, uint64_t inode, uint64_t whose)
{
	return hung_fs_has(hung, &(struct hung_file){MOUNTED, inode, whose, 0});
}

static void a_slow_file_says_nothing_of_others(void **state)
{
	struct hung_fs hung = {0};

	(void)state;
	for (uint64_t inode = 1; inode < 10; inode++)
		slow(&hung, &(struct hung_file){MOUNTED, inode, inode, 0});
	assert_int_equal(verdict(&hung, 1, 1), HUNG_SLOW);
	assert_int_equal(verdict(&hung, 9, 9), HUNG_SLOW);
	assert_int_equal(verdict(&hung, 10, 1), HUNG_NOT);
	hung_fs_done(&hung);
}

static void one_owners_files_condemn_his_own_alone(void **state)
{
	struct hung_fs hung = {0};

	(void)state;
	hang(&hung, 1, 100);
	hang(&hung, 2, 100);
	hang(&hung, 2, 100);
	assert_int_equal(verdict(&hung, 1, 100), HUNG_HANGS);
	assert_int_equal(verdict(&hung, 3, 100), HUNG_NOT);
	hang(&hung, 3, 100);
	assert_int_equal(verdict(&hung, 4, 100), HUNG_HANGS);
	assert_int_equal(verdict(&hung, 4, 200), HUNG_NOT);
	hung_fs_done(&hung);
}

static void several_owners_files_condemn_their_file_system(void **state)
{
	struct hung_fs hung = {0};

	(void)state;
	hang(&hung, 1, 100);
	hang(&hung, 2, 200);
	assert_int_equal(verdict(&hung, 4, 300), HUNG_NOT);
	hang(&hung, 3, 200);
	assert_int_equal(verdict(&hung, 4, 300), HUNG_HANGS);
	assert_int_equal(hung_fs_has(&hung, &(struct hung_file){MOUNTED + 1, 4, 300, 0}), HUNG_NOT);
	hung_fs_done(&hung);
}

static void what_hung_perhaps_in_another_file_condemns_its_own_alone(void **state)
{
	struct hung_fs hung = {0};

	(void)state;
	for (uint64_t inode = 1; inode < 10; inode++)
		hung_fs_add(&hung, &(struct hung_file){MOUNTED, inode, inode, 0}, JOB_HANGS, NULL,
			    true);
	assert_int_equal(verdict(&hung, 1, 1), HUNG_HANGS);
	assert_int_equal(verdict(&hung, 10, 1), HUNG_NOT);
	hung_fs_done(&hung);
}

static void who_has_answered_at_last_is_forgiven(void **state)
{
	struct hung_run *runs[3];
	struct hung_fs hung = {0};

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		runs[i] = hung_run_new();
		assert_non_null(runs[i]);
		hung_fs_add(&hung, &(struct hung_file){MOUNTED, i, i, 0}, JOB_HANGS, runs[i],
			    false);
	}
	assert_int_equal(verdict(&hung, 9, 9), HUNG_HANGS);
	hung_run_end(runs[0]);
	assert_int_equal(verdict(&hung, 0, 0), HUNG_NOT);
	assert_int_equal(verdict(&hung, 1, 1), HUNG_HANGS);
	assert_int_equal(verdict(&hung, 9, 9), HUNG_NOT);
	hung_fs_done(&hung);
	hung_run_end(runs[1]);
	hung_run_end(runs[2]);
}

static void the_oldest_makes_room(void **state)
{
	struct hung_fs hung = {0};

	(void)state;
	for (uint64_t inode = 1; inode <= HUNG_FILES_MAX + 1; inode++)
		slow(&hung, &(struct hung_file){MOUNTED, inode, 1, 0});
	assert_int_equal(verdict(&hung, 1, 1), HUNG_NOT);
	assert_int_equal(verdict(&hung, 2, 1), HUNG_SLOW);
	assert_int_equal(verdict(&hung, HUNG_FILES_MAX + 1, 1), HUNG_SLOW);
	hung_fs_done(&hung);
}

static void a_slow_file_is_not_forgiven_when_its_job_returns(void **state)
{
	const struct hung_file file = {MOUNTED, 1, 1, 0};
	struct hung_run *run = hung_run_new();
	struct hung_fs hung = {0};

	(void)state;
	hung_fs_add(&hung, &file, JOB_SLOW, run, false);
	hung_run_end(run);
	assert_int_equal(hung_fs_has(&hung, &file), HUNG_SLOW);
	hung_fs_done(&hung);
}

static void a_job_that_ended_or_was_refused_says_nothing(void **state)
{
	const struct hung_file file = {MOUNTED, 1, 1, 0};
	struct hung_fs hung = {0};

	(void)state;
	hung_fs_add(&hung, &file, JOB_FINISHED, NULL, false);
	hung_fs_add(&hung, &file, JOB_REFUSED, NULL, false);
	assert_int_equal(hung_fs_has(&hung, &file), HUNG_NOT);
	hung_fs_done(&hung);
}

/* Of a container's root, say, in which a debug file of the host's C library is slow to read. */
static void what_was_slow_elsewhere_says_nothing_of_the_file_here(void **state)
{
	struct hung_file elsewhere = {MOUNTED, 1, 0, 5}, here = {MOUNTED, 1, 0, 7};
	struct hung_fs hung = {0};

	(void)state;
	slow(&hung, &elsewhere);
	assert_int_equal(hung_fs_has(&hung, &elsewhere), HUNG_SLOW);
	assert_int_equal(hung_fs_has(&hung, &here), HUNG_NOT);
	hung_fs_add(&hung, &elsewhere, JOB_HANGS, NULL, true);
	assert_int_equal(hung_fs_has(&hung, &here), HUNG_NOT);
	/* The file itself is the same for all. */
	hung_fs_add(&hung, &(struct hung_file){MOUNTED, 1, 0, 0}, JOB_HANGS, NULL, false);
	assert_int_equal(hung_fs_has(&hung, &here), HUNG_HANGS);
	hung_fs_done(&hung);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_file_says_nothing_of_others),
		cmocka_unit_test(one_owners_files_condemn_his_own_alone),
		cmocka_unit_test(several_owners_files_condemn_their_file_system),
		cmocka_unit_test(what_hung_perhaps_in_another_file_condemns_its_own_alone),
		cmocka_unit_test(who_has_answered_at_last_is_forgiven),
		cmocka_unit_test(a_slow_file_is_not_forgiven_when_its_job_returns),
		cmocka_unit_test(a_job_that_ended_or_was_refused_says_nothing),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(what_was_slow_elsewhere_says_nothing_of_the_file_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
