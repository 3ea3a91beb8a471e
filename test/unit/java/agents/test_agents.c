// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose VM is asked for an agent, the places that its files have, and that all are told to stop. */
#include "unit/java/agents/attach_scene.h"

#include "java/agents/agents_state.h"

static struct {
	struct agents *agents;
} test;

static int set_up(void **unused)
{
	(void)unused;
	scene_begin();
	assert_int_equal(agents_new(&test.agents, scene.loop, scene.worker, scene.table), 0);
	agents_set(test.agents, true, NS_PER_S * 600);
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	agents_free(test.agents);
	scene_end();
	return 0;
}

/* The daemon ends. */
static void end(void)
{
	agents_free(TAKE_PTR(test.agents));
}

/* Where it may be asked again, it is. */
static void have_time_pass(void)
{
	agents_set(test.agents, true, 0);
}

static void assert_state(const struct target *target, const char *expected)
{
	char state[ATTACH_TEXT_BYTES + 32];

	agents_state(test.agents, target, state, sizeof(state));
	assert_string_equal(state, expected);
}

static void assert_not_asked(void)
{
	assert_null(scene.asked);
}

/* Its agent writes. */
static void attach(void)
{
	agents_meet(test.agents, scene.target);
	assert_int_equal(asked_for(), ATTACH_START);
	answer(ATTACH_DONE);
	assert_state(scene.target, "attached");
}

/* It is asked once more, for its agent may have ended. */
static void ask_again(void)
{
	have_time_pass();
	agents_sweep(test.agents, everybody, NULL);
	assert_int_equal(asked_for(), ATTACH_START);
	assert_non_null(scene.asked);
}

static void assert_told_to_stop(void)
{
	assert_int_equal(asked_for(), ATTACH_STOP);
	assert_false(scene.asked->look);
	assert_true(scene.asked->order.folder_fd >= 0);
	assert_true(scene.asked->order.tmp_fd >= 0);
	assert_state(scene.target, "none");
	assert_null(scene.target->jvmfile);
	assert_true(agents_has(test.agents, scene.target)); /* no other one comes meanwhile */
}

/* ---- whom ---- */

static void so_many_are_asked_at_most(void **unused)
{
	unsigned places = (unsigned)fd_budget_max() / AGENT_FDS;
	unsigned room = places < ASKING_VMS_MAX ? places : ASKING_VMS_MAX;
	struct target other = *scene.target;
	struct agents_stats stats;

	(void)unused;
	for (unsigned i = 0; i < ASKING_VMS_MAX; i++) {
		other.pid = (pid_t)(1000 + i);
		agents_meet(test.agents, &other);
	}
	agents_stats(test.agents, &stats);
	assert_int_equal(stats.unasked, 0);
	/* The others have no descriptors. */
	assert_int_equal(stats.attaching, room);
	assert_int_equal(stats.failed, ASKING_VMS_MAX - room);
	if (stats.failed)
		assert_state(&other, "failed: system: no descriptors left");
	other.pid = 1000 + ASKING_VMS_MAX;
	for (unsigned i = 1; i <= 2; i++) { /* each of its stacks counts */
		agents_meet(test.agents, &other);
		agents_stats(test.agents, &stats);
		assert_int_equal(stats.unasked, i);
	}
	assert_state(&other, "none");
	assert_false(agents_has(test.agents, &other));
	assert_int_equal(stats.attaching + stats.failed, ASKING_VMS_MAX);
	answer(ATTACH_REFUSED); /* the last one that was asked */
	agents_sweep(test.agents, nobody, NULL);
	assert_int_equal(test.agents->vms.count, room - 1);
	agents_meet(test.agents, &other);
	assert_state(&other, "attaching");
	agents_stats(test.agents, &stats);
	assert_int_equal(stats.unasked, 2);
}

static void one_whose_files_hang_is_not_asked_again(void **unused)
{
	(void)unused;
	agents_meet(test.agents, scene.target);
	answer(ATTACH_HUNG);
	assert_state(scene.target, "failed: hung");
	assert_true(target_hangs(scene.target)); /* nor is it looked at in any other way */
	assert_false(agents_has(test.agents, scene.target));
	have_time_pass();
	agents_meet(test.agents, scene.target);
	agents_sweep(test.agents, everybody, NULL);
	assert_not_asked();
	agents_sweep(test.agents, nobody, NULL);
	assert_state(scene.target, "none");
	agents_meet(test.agents, scene.target);
	assert_not_asked();
}

static void under_another_name_it_is_not_asked_either(void **unused)
{
	(void)unused;
	agents_meet(test.agents, scene.target);
	answer(ATTACH_HUNG);
	change(false);
	scene.target->inspection = INSPECTION_IDLE;
	have_time_pass();
	for (int i = 0; i < 2; i++) {
		agents_meet(test.agents, scene.target);
		assert_not_asked();
		assert_state(scene.target, "failed: hung");
	}
}

/* Its agent has been in it since before. */
static void one_that_hangs_later_is_told_to_stop_all_the_same(void **unused)
{
	(void)unused;
	attach();
	ask_again();
	answer(ATTACH_HUNG);
	assert_state(scene.target, "failed: hung");
	agents_meet(test.agents, scene.target);
	agents_sweep(test.agents, everybody, NULL);
	assert_not_asked();
	agents_sweep(test.agents, nobody, NULL);
	assert_told_to_stop();
	answer(ATTACH_SILENT);
	assert_null(test.agents->vms.all);
}

static void one_that_refuses_is_asked_again_later(void **unused)
{
	(void)unused;
	agents_meet(test.agents, scene.target);
	answer(ATTACH_REFUSED);
	assert_state(scene.target, "failed: refused");
	agents_meet(test.agents, scene.target);
	assert_not_asked(); /* not before its interval */
	have_time_pass();
	scene.waits = true;
	agents_meet(test.agents, scene.target);
	assert_state(scene.target, "waiting");
}

static void one_that_is_asked_as_it_is_let_go_stops_then(void **unused)
{
	(void)unused;
	agents_meet(test.agents, scene.target);
	agents_sweep(test.agents, nobody, NULL);
	assert_int_equal(asked_for(), ATTACH_START);
	answer(ATTACH_DONE);
	assert_told_to_stop();
	agents_meet(test.agents, scene.target);
	agents_sweep(test.agents, everybody, NULL);
	assert_told_to_stop();
	answer(ATTACH_DONE);
	agents_meet(test.agents, scene.target);
	assert_int_equal(asked_for(), ATTACH_START);
	agents_set(test.agents, false, 0);
	answer(ATTACH_REFUSED);
	assert_null(test.agents->vms.all);
	agents_meet(test.agents, scene.target);
	assert_not_asked();
}

static void one_that_is_met_again_as_it_is_asked_goes_on(void **unused)
{
	(void)unused;
	agents_meet(test.agents, scene.target);
	agents_sweep(test.agents, nobody, NULL);
	assert_state(scene.target, "attaching");
	agents_meet(test.agents, scene.target);
	answer(ATTACH_DONE);
	assert_not_asked();
	assert_state(scene.target, "attached");
	struct jvmfile *file = jvmfile_ref(scene.target->jvmfile);
	ask_again();
	agents_sweep(test.agents, nobody, NULL);
	assert_null(scene.target->jvmfile);
	agents_meet(test.agents, scene.target);
	answer(ATTACH_DONE);
	assert_ptr_equal(scene.target->jvmfile, file); /* what it knows is kept */
	jvmfile_unref(file);
}

static void one_that_waits_is_let_go_at_once(void **unused)
{
	(void)unused;
	scene.waits = true;
	agents_meet(test.agents, scene.target);
	agents_sweep(test.agents, nobody, NULL);
	assert_not_asked();
	assert_null(test.agents->vms.all);
	scene.waits = false;
	attach();
	scene.waits = true;
	ask_again();
	agents_stop(test.agents);
	assert_told_to_stop();
}

/* Makes it that long ago that the VM was asked. */
static void pass(uint64_t ns)
{
	test.agents->vms.all->asked_ns -= ns;
}

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
	agents_meet(test.agents, scene.target);
	for (size_t i = 0; i < ARRAY_SIZE(each); i++) {
		answer(each[i].result);
		pass(each[i].after_ns / 2);
		agents_meet(test.agents, scene.target);
		assert_not_asked();
		pass(each[i].after_ns / 2);
		agents_meet(test.agents, scene.target);
		assert_non_null(scene.asked);
	}
	answer(ATTACH_STOPPED);
	pass(NS_PER_S);
	agents_meet(test.agents, scene.target);
	answer(ATTACH_DONE);
	pass(300 * NS_PER_S); /* what failed before doesn't matter any more */
	agents_sweep(test.agents, everybody, NULL);
	assert_not_asked();
	pass(300 * NS_PER_S);
	agents_sweep(test.agents, everybody, NULL);
	assert_int_equal(asked_for(), ATTACH_START);
	assert_non_null(scene.asked);
}

static void another_name_is_the_same_agent(void **unused)
{
	struct target *before = scene.target;

	(void)unused;
	attach();
	const struct jvmfile *file = before->jvmfile;
	change(false);
	agents_meet(test.agents, scene.target);
	assert_not_asked();
	assert_state(scene.target, "attached");
	assert_ptr_equal(scene.target->jvmfile, file);
	assert_null(before->jvmfile);
	agents_sweep(test.agents, everybody, NULL);
	assert_not_asked();
	assert_int_equal(test.agents->vms.count, 1);
}

static void another_program_is_asked_anew(void **unused)
{
	(void)unused;
	attach();
	change(true);
	assert_state(scene.target, "none");
	attach();
	assert_int_equal(test.agents->vms.count, 2);
	agents_sweep(test.agents, everybody, NULL);
	assert_int_equal(asked_for(), ATTACH_STOP);
	agents_meet(test.agents, scene.target); /* not while the other one stops */
	assert_int_equal(asked_for(), ATTACH_STOP);
	answer(ATTACH_DONE);
	assert_int_equal(test.agents->vms.count, 1);
	assert_state(scene.target, "attached");
	assert_non_null(scene.target->jvmfile);
}

/* ---- what is known ---- */

static void why_one_failed_is_told(void **unused)
{
	(void)unused;
	agents_meet(test.agents, scene.target);
	scene.says = "no room";
	answer(ATTACH_REFUSED);
	assert_state(scene.target, "failed: refused: no room");
	have_time_pass();
	agents_meet(test.agents, scene.target);
	scene.says = NULL;
	scene.error = ENOMEM;
	answer(ATTACH_SYSTEM);
	assert_state(scene.target, "failed: system");
}

static void assert_counted(unsigned attaching, unsigned attached, unsigned failed)
{
	struct agents_stats stats;

	agents_stats(test.agents, &stats);
	assert_int_equal(stats.attaching, attaching);
	assert_int_equal(stats.attached, attached);
	assert_int_equal(stats.failed, failed);
}

static void they_are_counted_by_state(void **unused)
{
	(void)unused;
	assert_counted(0, 0, 0);
	agents_meet(test.agents, scene.target);
	assert_counted(1, 0, 0);
	answer(ATTACH_REFUSED);
	assert_counted(0, 0, 1);
	have_time_pass();
	attach();
	assert_counted(0, 1, 0);
	ask_again();
	assert_counted(1, 0, 0);
	agents_stop(test.agents);
	assert_counted(1, 0, 0); /* until it has answered */
	answer(ATTACH_DONE);
	assert_told_to_stop();
	assert_counted(0, 0, 0);
}

static void a_file_in_another_folder_is_opened(void **unused)
{
	(void)unused;
	attach();
	struct jvmfile *file = jvmfile_ref(scene.target->jvmfile);
	ask_again();
	answer(ATTACH_DONE);
	assert_ptr_equal(scene.target->jvmfile, file);
	ask_again();
	scene.folder_inode = 5;
	answer(ATTACH_DONE);
	assert_non_null(scene.target->jvmfile);
	assert_ptr_not_equal(scene.target->jvmfile, file);
	jvmfile_unref(file);
}

/* ---- places for descriptors ---- */

static void places_are_kept_while_there_are_files(void **unused)
{
	(void)unused;
	agents_meet(test.agents, scene.target);
	assert_held(AGENT_FDS);
	answer(ATTACH_DONE);
	assert_held(AGENT_FDS);
	ask_again();
	assert_held(AGENT_FDS);
	answer(ATTACH_REFUSED); /* its folder is there all the same */
	assert_held(AGENT_FDS);
	agents_sweep(test.agents, nobody, NULL);
	assert_held(AGENT_FDS);
	answer(ATTACH_DONE);
	assert_held(0);
}

static void who_has_no_agent_has_no_places(void **unused)
{
	static const enum attach_result results[] = {ATTACH_REFUSED, ATTACH_SILENT, ATTACH_HUNG};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		have_time_pass();
		agents_meet(test.agents, scene.target);
		assert_held(AGENT_FDS);
		answer(results[i]);
		assert_held(0);
	}
}

/* ---- the daemon's end ---- */

static void at_the_end_those_that_have_one_are_told_to_stop(void **unused)
{
	(void)unused;
	attach();
	scene.waits = true; /* no turn is taken any more */
	end();
	assert_int_equal(scene.told_last, 1);
	assert_null(scene.target->jvmfile);
}

static void at_the_end_those_that_are_asked_are_told_to_stop(void **unused)
{
	(void)unused;
	attach();
	ask_again();
	end();
	assert_int_equal(scene.told_last, 1);
}

static void at_the_end_those_that_failed_later_are_told_to_stop(void **unused)
{
	(void)unused;
	attach();
	ask_again();
	answer(ATTACH_SILENT);
	scene.waits = true;
	end();
	assert_int_equal(scene.told_last, 1);
}

/* Who asks it has it stop, when nobody takes the answer (java/attach/attach.c). */
static void at_the_end_those_that_begin_are_left(void **unused)
{
	(void)unused;
	agents_meet(test.agents, scene.target);
	end();
	assert_int_equal(scene.told_last, 0);
}

static void at_the_end_those_that_wait_are_never_asked(void **unused)
{
	(void)unused;
	scene.waits = true;
	agents_meet(test.agents, scene.target);
	end();
	assert_int_equal(scene.told_last, 0);
}

static void at_the_end_those_that_stop_are_told_once(void **unused)
{
	(void)unused;
	attach();
	agents_stop(test.agents);
	assert_told_to_stop();
	end();
	assert_int_equal(scene.told_last, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(so_many_are_asked_at_most),
		TEST(one_whose_files_hang_is_not_asked_again),
		TEST(under_another_name_it_is_not_asked_either),
		TEST(one_that_hangs_later_is_told_to_stop_all_the_same),
		TEST(one_that_refuses_is_asked_again_later),
		TEST(one_that_is_asked_as_it_is_let_go_stops_then),
		TEST(one_that_is_met_again_as_it_is_asked_goes_on),
		TEST(one_that_waits_is_let_go_at_once),
		TEST(what_passes_is_asked_again_soon),
		TEST(another_name_is_the_same_agent),
		TEST(another_program_is_asked_anew),
		TEST(why_one_failed_is_told),
		TEST(they_are_counted_by_state),
		TEST(a_file_in_another_folder_is_opened),
		TEST(places_are_kept_while_there_are_files),
		TEST(who_has_no_agent_has_no_places),
		TEST(at_the_end_those_that_have_one_are_told_to_stop),
		TEST(at_the_end_those_that_are_asked_are_told_to_stop),
		TEST(at_the_end_those_that_failed_later_are_told_to_stop),
		TEST(at_the_end_those_that_begin_are_left),
		TEST(at_the_end_those_that_wait_are_never_asked),
		TEST(at_the_end_those_that_stop_are_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
