// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks of a VM's own recording in a profile. */
#include "unit/output/tree_figures.h"
#include "unit/output/tree_text.h"

#include "window/jfr_stacks.h"

#define HEAD(probe) "stackprobe-jfr\t1\t" probe "\t7\t1000\t2000\t0\t0\t0\t0\t0\n"
#define METHODS	    "m\ta.Main\trun\t(I)V\nm\ta.Part\tget\t()V\n"

static const struct record_who who = {.pid = 7, .process = "java"};

static struct profile *add(const char *text, const char *name, enum probe probe,
			   const struct stack_detail *detail)
{
	struct batch_result result = {0};
	struct profile *profile;
	struct jfrfile *file;

	assert_int_equal(profile_new(&profile, probe, 100, 10000000), 0);
	assert_int_equal(jfrfile_parse(&file, text, strlen(text), name), 0);
	jfr_stacks_add(profile, file, &who, detail, &result);
	jfrfile_free(file);
	assert_int_equal(result.refused + result.unrecorded, 0);
	return profile;
}

static void assert_folded(const struct profile *profile, const char *expected)
{
	_cleanup_free_ char *text = write_with("folded", profile->tree, TREE_ROOT, &plain_meta);

	assert_string_equal(text, expected);
}

static void samples_are_of_the_profiles_period(void **state)
{
	static const struct stack_detail detail = {.thread_frame = true};
	_cleanup_profile_ struct profile *profile =
		add(HEAD("oncpu") METHODS "s\t30000000\t2\twhole\tworker\t00:1 j1:2\n"
					  "s\t15000000\t1\twhole\tworker\t00:1\n"
					  "s\t15000000\t1\tcut\tworker\ti1:2\n"
					  "s\t10000000\t1\tcut\tother\t\n"
					  "s\t10000000\t1\twhole\t\tj1:2\n",
		    "oncpu", PROBE_ONCPU, &detail);

	(void)state;
	assert_int_equal(profile->weight, 8);
	assert_int_equal(profile->samples, 8);
	assert_true(profile_is_jfr(profile, 7));
	assert_false(profile_is_jfr(profile, 8));
	assert_folded(profile, "[7]java;a.Part.get_[j] 1\n"
			       "[7]java;other;[truncated];[unknown] 1\n"
			       "[7]java;worker;[truncated];a.Part.get_[i] 2\n"
			       "[7]java;worker;a.Main.run_[0] 1\n"
			       "[7]java;worker;a.Main.run_[0];a.Part.get_[j] 3\n");
}

static void waits_are_microseconds_and_counted(void **state)
{
	static const struct stack_detail detail = {.frames = FRAME_DETAIL_SIGNATURE};
	_cleanup_profile_ struct profile *profile =
		add(HEAD("offcpu") METHODS "s\t2500000\t3\twhole\tworker\tj0:1\n", "offcpu",
		    PROBE_OFFCPU, &detail);

	(void)state;
	assert_int_equal(profile->events, 3);
	assert_int_equal(weight_of(profile->tree), 2500);
	assert_int_equal(profile->samples, 3);
	assert_folded(profile, "[7]java;a.Main.run(int)_[j] 2500\n");
	profile_show_events(profile);
	assert_folded(profile, "[7]java;a.Main.run(int)_[j] 3\n");
}

static void lines_of_one_method_are_one_frame(void **state)
{
	static const struct stack_detail detail = {.frames = FRAME_DETAIL_LINE};
	_cleanup_profile_ struct profile *profile =
		add(HEAD("mem") METHODS "s\t10\t1\twhole\tw\tj0:1\ns\t5\t1\twhole\tw\tj0:2\n",
		    "mem", PROBE_MEM, &detail);

	(void)state;
	assert_folded(profile, "[7]java;a.Main.run_[j] 15\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_of_the_profiles_period),
		cmocka_unit_test(waits_are_microseconds_and_counted),
		cmocka_unit_test(lines_of_one_method_are_one_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
