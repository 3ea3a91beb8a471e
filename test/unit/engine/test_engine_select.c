// SPDX-License-Identifier: GPL-2.0-or-later
/* Snoopers of the features, joined for those that are followed; and questions about targets. */
#include "unit/engine/engine_scene.h"

static void a_follower_gets_what_its_snoopers_choose(void **state)
{
	struct scene *scene = *state;

	scene_snoop(scene, FEATURE_FLAMEGRAPH, &scene->process);
	assert_int_equal(scripted->selections, 0); /* nobody follows */
	scene_follow(scene, FEATURE_FLAMEGRAPH, ON(ONCPU));
	scene_sampled(scene, &scene->process, ON(ONCPU));
	assert_int_equal(scripted_probes(scene->other.pid), 0);
}

static void other_snoopers_take_the_place_of_the_former(void **state)
{
	struct scene *scene = *state;

	scene_follow(scene, FEATURE_FLAMEGRAPH, ON(ONCPU));
	assert_int_equal(scripted_probes(scene->process.pid), 0); /* there are none yet */
	scene_snoop(scene, FEATURE_FLAMEGRAPH, &scene->process);
	scene_sampled(scene, &scene->process, ON(ONCPU));
	scene_snoop(scene, FEATURE_FLAMEGRAPH, &scene->other);
	scene_sampled(scene, &scene->other, ON(ONCPU));
	assert_int_equal(scripted_probes(scene->process.pid), 0);
	scene_snoop(scene, FEATURE_FLAMEGRAPH, NULL);
	assert_int_equal(scripted_probes(scene->other.pid), 0);
}

static void the_same_snoopers_change_nothing(void **state)
{
	struct scene *scene = *state;
	_cleanup_snoopers_ struct snoopers *snoopers = NULL;

	assert_int_equal(snoopers_new(&snoopers), 0);
	assert_int_equal(snoopers_add_id(snoopers, scene->process.pid), 0);
	scene_follow(scene, FEATURE_FLAMEGRAPH, ON(ONCPU));
	assert_int_equal(engine_set_snoopers(scene->engine, FEATURE_FLAMEGRAPH, snoopers), 0);
	unsigned selections = scripted->selections;
	assert_int_equal(engine_set_snoopers(scene->engine, FEATURE_FLAMEGRAPH, snoopers), 0);
	assert_int_equal(scripted->selections, selections);
}

static void features_choose_apart(void **state)
{
	struct scene *scene = *state;

	scene_snoop(scene, FEATURE_FLAMEGRAPH, &scene->process);
	scene_snoop(scene, FEATURE_SCHED, &scene->other);
	struct subscriber *stacks = scene_follow(scene, FEATURE_FLAMEGRAPH, ON(ONCPU));
	scene_sampled(scene, &scene->process, ON(ONCPU));
	assert_int_equal(scripted_probes(scene->other.pid), 0); /* /sched has no follower */

	struct subscriber *sched = scene_follow(scene, FEATURE_SCHED, WANTED_SCHED);
	assert_int_equal(subscriber_probes(sched), 0); /* it has no stacks */
	scene_sampled(scene, &scene->other, WANTED_SCHED);
	scene_sampled(scene, &scene->process, ON(ONCPU));

	engine_unsubscribe(scene->engine, stacks);
	scene_sampled(scene, &scene->other, WANTED_SCHED);
	assert_int_equal(scripted_probes(scene->process.pid), 0);
	assert_int_equal(scripted->period_ns, 0);
	assert_true(scripted->started);
}

static void a_process_of_both_features_is_wanted_for_both(void **state)
{
	struct scene *scene = *state;

	scene_snoop(scene, FEATURE_FLAMEGRAPH, &scene->process);
	scene_snoop(scene, FEATURE_SCHED, &scene->process);
	scene_follow(scene, FEATURE_FLAMEGRAPH, ON(MEM));
	struct subscriber *sched = scene_follow(scene, FEATURE_SCHED, WANTED_SCHED);
	scene_sampled(scene, &scene->process, ON(MEM) | WANTED_SCHED);
	engine_unsubscribe(scene->engine, sched);
	scene_sampled(scene, &scene->process, ON(MEM));
}

static void a_name_is_followed_among_what_begins_later(void **state)
{
	struct scene *scene = *state;
	_cleanup_snoopers_ struct snoopers *snoopers = NULL;
	char comm[COMM_BYTES];

	snprintf(comm, sizeof(comm), "n%d", (int)getpid()); /* no other test's process has it */
	assert_int_equal(snoopers_new(&snoopers), 0);
	assert_int_equal(snoopers_add_name(snoopers, comm, "", "", 0), 0);
	process_end(&scene->other);
	process_begin(&scene->other, comm);
	assert_int_equal(engine_set_snoopers(scene->engine, FEATURE_FLAMEGRAPH, snoopers), 0);
	struct subscriber *subscriber = scene_follow(scene, FEATURE_FLAMEGRAPH, ON(ONCPU));
	scene_sampled(scene, &scene->other, ON(ONCPU));
	assert_int_equal(scripted_probes(scene->process.pid), 0);
	assert_true(scripted->follow);
	assert_int_equal(scripted->pending_probes, ON(ONCPU));

	struct subscriber *chosen = scene_subscribe(scene, &scene->process, ON(OFFCPU));
	engine_unsubscribe(scene->engine, subscriber);
	assert_false(scripted->follow); /* names choose nobody any more */
	assert_int_equal(scripted_probes(scene->other.pid), 0);
	assert_int_equal(subscriber_probes(chosen), ON(OFFCPU));
}

static void chosen_processes_do_not_depend_on_snoopers(void **state)
{
	struct scene *scene = *state;

	scene_snoop(scene, FEATURE_FLAMEGRAPH, &scene->other);
	scene_subscribe(scene, &scene->process, ON(ONCPU));
	scene_sampled(scene, &scene->process, ON(ONCPU));
	assert_int_equal(scripted_probes(scene->other.pid), 0);
}

/* ---- targets ---- */

struct seen {
	size_t count;
	pid_t pid;
};

static void see(void *arg, const struct target *target)
{
	struct seen *seen = arg;

	seen->count++;
	seen->pid = target->pid;
}

static void a_target_is_found_by_its_pid(void **state)
{
	struct scene *scene = *state;
	struct seen seen = {0};

	engine_targets(scene->engine, see, &seen);
	assert_int_equal(seen.count, 0);
	assert_null(engine_target(scene->engine, scene->process.pid));
	scene_subscribe(scene, &scene->process, ON(ONCPU));
	engine_targets(scene->engine, see, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.pid, scene->process.pid);
	const struct target *target = engine_target(scene->engine, scene->process.pid);
	assert_non_null(target);
	assert_string_equal(target->comm, "worker");
	assert_null(engine_target(scene->engine, scene->other.pid));
}

static void one_that_ended_is_known_until_its_window_is_read(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(ONCPU));
	scene_sampled(scene, &scene->process, ON(ONCPU));
	uint64_t id = engine_target(scene->engine, scene->process.pid)->id;
	struct life_event end = {.kind = LIFE_EXIT,
				 .tgid = (uint32_t)scene->process.pid,
				 .id = id,
				 .time_ns = loop_now_ns()};
	scripted_life(&end);
	engine_refresh(scene->engine);
	assert_null(engine_target(scene->engine, scene->process.pid));
	assert_non_null(engine_target_once(scene->engine, scene->process.pid, id));
	assert_null(engine_target_once(scene->engine, scene->process.pid, id + 1));
	scripted_core_drain(&scene->core);
	scripted_core_drain(&scene->core);
	assert_null(engine_target_once(scene->engine, scene->process.pid, id));
}

static void the_last_window_of_one_that_ended_is_shown(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));

	scene_sampled(scene, &scene->process, ON(ONCPU));
	scene_sample(&scene->process, PROBE_ONCPU, 6);
	struct life_event end = {.kind = LIFE_EXIT,
				 .tgid = (uint32_t)scene->process.pid,
				 .id = engine_target(scene->engine, scene->process.pid)->id,
				 .time_ns = loop_now_ns()};
	scripted_life(&end);
	tracer_target_del(scripted, scene->process.pid);
	process_end(&scene->process);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_follower_gets_what_its_snoopers_choose),
		TEST(other_snoopers_take_the_place_of_the_former),
		TEST(the_same_snoopers_change_nothing),
		TEST(features_choose_apart),
		TEST(a_process_of_both_features_is_wanted_for_both),
		TEST(a_name_is_followed_among_what_begins_later),
		TEST(chosen_processes_do_not_depend_on_snoopers),
		TEST(a_target_is_found_by_its_pid),
		TEST(one_that_ended_is_known_until_its_window_is_read),
		TEST(the_last_window_of_one_that_ended_is_shown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
