// SPDX-License-Identifier: GPL-2.0-or-later
/* What is counted as lost, of which probe, and which profiles say so. */
#include "unit/engine/engine_scene.h"

/* Subscribes to the first process, on-CPU and page faults, and waits until it is sampled. */
static struct subscriber *subscribe(struct scene *scene)
{
	struct subscriber *subscriber =
		scene_subscribe(scene, &scene->process, ON(ONCPU) | ON(MEM));

	scene_sampled(scene, &scene->process, ON(ONCPU) | ON(MEM));
	return subscriber;
}

static uint64_t lost(const struct subscriber *subscriber, enum probe probe)
{
	return subscriber_profile(subscriber, probe)->lost;
}

/* Asserts what the statistics say of one place, for on-CPU. */
static void assert_lost(const struct scene *scene, enum loss where, uint64_t expected)
{
	struct engine_stats stats = scene_stats(scene);

	assert_int_equal(engine_stats_lost(&stats, PROBE_ONCPU, where), expected);
}

/* ---- by the kernel's side ---- */

static void a_window_has_what_was_lost_in_it(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);
	struct counters *sum = &scripted->sum;

	sum->lost[PROBE_ONCPU][LOST_COUNTS_FULL] = 3;
	scripted_core_drain(&scene->core);
	assert_int_equal(lost(subscriber, PROBE_ONCPU), 3);
	assert_int_equal(lost(subscriber, PROBE_MEM), 0);

	profile_unref(subscriber_take_profile(subscriber, PROBE_ONCPU));
	sum->lost[PROBE_ONCPU][LOST_WALK_BUSY] = 1;
	scripted_core_drain(&scene->core);
	assert_int_equal(lost(subscriber, PROBE_ONCPU), 1); /* not the three again */
	assert_lost(scene, LOST_COUNTS_FULL, 3);
	assert_lost(scene, LOST_WALK_BUSY, 1);
}

static void what_all_probes_lost_is_lost_to_each(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);

	scripted->sum.lost[LOSERS_ALL][LOST_RING_FULL] = 2;
	scripted->sum.lost[PROBE_MEM][LOST_RING_FULL] = 5;
	scripted_core_drain(&scene->core);
	assert_int_equal(lost(subscriber, PROBE_ONCPU), 2);
	assert_int_equal(lost(subscriber, PROBE_MEM), 7);
	assert_lost(scene, LOST_RING_FULL, 2);
}

static void lost_events_leave_the_samples_whole(void **state)
{
	static const enum loss events[] = {LOST_TARGETS_FULL, LOST_GONE_FULL, LOST_HELD_FULL,
					   LOST_MAPPED_FULL};
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		scripted->sum.lost[LOSERS_ALL][events[i]] = 9;
		assert_lost(scene, events[i], 9);
	}
	scripted_core_drain(&scene->core);
	assert_int_equal(lost(subscriber, PROBE_ONCPU), 0);
}

static void the_guards_rest_is_told_by_window(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);

	scripted->sum.left_out[PROBE_MEM] = 10;
	scripted->thinned = 4;
	scripted_core_drain(&scene->core);
	assert_int_equal(subscriber_profile(subscriber, PROBE_MEM)->left_out, 10);
	assert_int_equal(subscriber_profile(subscriber, PROBE_ONCPU)->left_out, 0);
	scripted->sum.left_out[PROBE_MEM] = 15;
	profile_unref(subscriber_take_profile(subscriber, PROBE_MEM));
	scripted_core_drain(&scene->core);
	assert_int_equal(subscriber_profile(subscriber, PROBE_MEM)->left_out, 5);

	struct engine_stats stats = scene_stats(scene);
	assert_int_equal(stats.left_out[PROBE_MEM], 15);
	assert_int_equal(stats.thinned[PROBE_MEM], 4);
	assert_int_equal(lost(subscriber, PROBE_MEM), 0);
}

/* ---- by us ---- */

static void a_count_without_its_stack_is_lost(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);
	struct stack_key key = scene_key(&scene->process, PROBE_ONCPU, 77);

	scene_count(&key, 6);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 0);
	assert_int_equal(lost(subscriber, PROBE_ONCPU), 6);
	assert_lost(scene, LOST_STACK_MISSING, 6);
}

static void a_stack_without_a_count_is_nothing(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);
	struct stack_key key = scene_key(&scene->process, PROBE_ONCPU, 1);

	scene_send(&key);
	scripted_core_drain(&scene->core);
	scene_count(&key, 2); /* it came in another window */
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 0);
	assert_lost(scene, LOST_STACK_MISSING, 2);
	assert_int_equal(scene_stats(scene).drain.window_stacks, 1);
}

static void a_stack_of_an_unknown_process_is_lost(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);
	struct stack_key key = scene_key(&scene->other, PROBE_ONCPU, 1);

	scene_send_as(&key, 12345);
	scene_count(&key, 8);
	scripted_core_drain(&scene->core);
	assert_int_equal(lost(subscriber, PROBE_ONCPU), 8);
	assert_lost(scene, LOST_PROCESS_UNKNOWN, 8);
}

static void a_stack_may_come_before_the_event_of_its_program(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);
	struct target_value value;

	assert_int_equal(tracer_target_get(scripted, scene->process.pid, &value), 0);
	struct life_event rename = {.kind = LIFE_RENAME,
				    .tgid = (uint32_t)scene->process.pid,
				    .id = value.id + 1,
				    .old_id = value.id,
				    .time_ns = loop_now_ns(),
				    .comm = "renamed"};
	value.id++;
	scripted_target(scene->process.pid, &value);
	scripted_life(&rename);
	scene_sample(&scene->process, PROBE_ONCPU, 3);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 3);
	assert_int_equal(lost(subscriber, PROBE_ONCPU), 0);
}

static void a_stack_of_a_new_program_has_its_event_read(void **state)
{
	struct scene *scene = *state;
	struct target_value value;

	subscribe(scene);
	assert_int_equal(tracer_target_get(scripted, scene->process.pid, &value), 0);
	struct life_event rename = {.kind = LIFE_RENAME,
				    .tgid = (uint32_t)scene->process.pid,
				    .id = value.id + 1,
				    .old_id = value.id,
				    .time_ns = loop_now_ns(),
				    .comm = "renamed"};
	struct stack stack = {.key = scene_key(&scene->process, PROBE_ONCPU, 1),
			      .target_id = value.id};
	value.id++;
	scripted_target(scene->process.pid, &value);
	scripted_life(&rename);
	scripted->events.stack(scripted->events.arg, &stack, NULL); /* of the program before */
	assert_string_equal(engine_target(scene->engine, scene->process.pid)->comm, "worker");
	stack.target_id = value.id;
	scripted->events.stack(scripted->events.arg, &stack, NULL);
	assert_string_equal(engine_target(scene->engine, scene->process.pid)->comm, "renamed");
}

static void a_window_that_cannot_be_read_is_lost_to_all(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);

	scene_sample(&scene->process, PROBE_ONCPU, 3);
	scripted_fail(SCRIPTED_SWAP, -EIO);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 0);
	assert_int_equal(lost(subscriber, PROBE_ONCPU), 1); /* its stacks, as far as is known */
	assert_int_equal(lost(subscriber, PROBE_MEM), 1);
	assert_lost(scene, LOST_READ_FAILED, 1);

	scripted_fail(SCRIPTED_SWAP, 0);
	scene_sample(&scene->process, PROBE_ONCPU, 3);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 3);
}

static void statistics_outlive_all_subscribers(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);
	struct stack_key key = scene_key(&scene->process, PROBE_ONCPU, 77);

	scripted->looks = (struct tracer_looks){.woken = 3, .in_turn = 4};
	scripted->sum.waits_over_maxblock = 2;
	assert_int_equal(scene_stats(scene).cpus, 1);
	assert_int_equal(scene_stats(scene).targets.alive, 1);
	scene_count(&key, 6);
	scripted_core_drain(&scene->core);
	engine_unsubscribe(scene->engine, subscriber);

	struct engine_stats stats = scene_stats(scene);
	assert_int_equal(stats.cpus, 0);
	assert_int_equal(stats.targets.alive, 0);
	assert_false(stats.arming);
	assert_int_equal(stats.looks.woken, 3);
	assert_int_equal(stats.looks.in_turn, 4);
	assert_int_equal(stats.own[PROBE_OFFCPU].numbers[0], 2);
	assert_int_equal(stats.drain.windows, 1);
	assert_lost(scene, LOST_STACK_MISSING, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_window_has_what_was_lost_in_it),
		TEST(what_all_probes_lost_is_lost_to_each),
		TEST(lost_events_leave_the_samples_whole),
		TEST(the_guards_rest_is_told_by_window),
		TEST(a_count_without_its_stack_is_lost),
		TEST(a_stack_without_a_count_is_nothing),
		TEST(a_stack_of_an_unknown_process_is_lost),
		TEST(a_stack_may_come_before_the_event_of_its_program),
		TEST(a_stack_of_a_new_program_has_its_event_read),
		TEST(a_window_that_cannot_be_read_is_lost_to_all),
		TEST(statistics_outlive_all_subscribers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
