// SPDX-License-Identifier: GPL-2.0-or-later
/* What a subscriber's profile gets of a window, and what is counted as lost. */
#include "unit/engine/engine_scene.h"

/* Subscribes to the first process and waits until it is sampled. */
static struct subscriber *subscribe(struct scene *scene)
{
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));

	scene_sampled(scene, &scene->process, ON(ONCPU));
	return subscriber;
}

static uint64_t lost(const struct subscriber *subscriber)
{
	return subscriber_profile(subscriber, PROBE_ONCPU)->lost;
}

/* ---- whose windows ---- */

static void windows_add_up(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);

	for (uint64_t samples = 1; samples <= 3; samples++) {
		scene_sample(&scene->process, PROBE_ONCPU, samples);
		scripted_core_drain(&scene->core);
	}
	const struct profile *profile = subscriber_profile(subscriber, PROBE_ONCPU);
	assert_int_equal(profile->weight, 6);
	assert_int_equal(profile->samples, 6);
	assert_int_equal(profile->events, 6);
	assert_int_equal(scene_stats(scene).drain.windows, 3);
	assert_int_equal(scene_stats(scene).samples[PROBE_ONCPU], 6);
}

static void each_subscriber_gets_its_own_process(void **state)
{
	struct scene *scene = *state;
	struct subscriber *one = subscribe(scene);
	struct subscriber *two = scene_subscribe(scene, &scene->other, ON(ONCPU));

	scene_sampled(scene, &scene->other, ON(ONCPU));
	scripted_core_drain(&scene->core);
	scene_sample(&scene->process, PROBE_ONCPU, 1);
	scene_sample(&scene->other, PROBE_ONCPU, 2);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(one, PROBE_ONCPU), 1);
	assert_int_equal(scene_weight(two, PROBE_ONCPU), 2);
}

static void a_window_that_began_before_a_subscriber_is_not_its(void **state)
{
	struct scene *scene = *state;
	struct subscriber *first = subscribe(scene);

	scene_sample(&scene->process, PROBE_ONCPU, 7);
	struct subscriber *second = scene_subscribe(scene, &scene->process, ON(ONCPU));
	struct stack_key key = scene_key(&scene->process, PROBE_ONCPU, 1);
	scene_count(&key, 5); /* as the window goes on, it isn't told apart */
	scripted->sum.lost[PROBE_ONCPU][LOST_RING_FULL] = 4;
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(first, PROBE_ONCPU), 12);
	assert_int_equal(scene_weight(second, PROBE_ONCPU), 0);
	assert_int_equal(lost(first), 4);
	assert_int_equal(lost(second), 0);

	scene_sample(&scene->process, PROBE_ONCPU, 3);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(first, PROBE_ONCPU), 15);
	assert_int_equal(scene_weight(second, PROBE_ONCPU), 3);
}

static void one_that_comes_soon_has_a_window_of_its_own(void **state)
{
	struct scene *scene = *state;

	subscribe(scene);
	scene_subscribe(scene, &scene->process, ON(ONCPU));
	scene_until_windows(scene, 1); /* though nobody asked */
}

static void one_that_comes_during_a_drain_gets_the_next_window(void **state)
{
	struct scene *scene = *state;
	bool drained = false;

	subscribe(scene);
	engine_drain(scene->engine, scripted_set, &drained);
	struct subscriber *second = scene_subscribe(scene, &scene->process, ON(ONCPU));
	scene_until_windows(scene, 2); /* the second one is for it alone */
	assert_true(drained);
	scene_sample(&scene->process, PROBE_ONCPU, 3);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(second, PROBE_ONCPU), 3);
}

static void a_probe_that_begins_has_the_current_window(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);

	assert_int_equal(subscriber_add_probes(subscriber, ON(MEM)), 0);
	scene_sampled(scene, &scene->process, ON(ONCPU) | ON(MEM));
	scene_sample(&scene->process, PROBE_MEM, 4096);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(subscriber, PROBE_MEM), 4096);
}

static void what_nobody_wants_is_no_sample(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);

	scene_sample(&scene->process, PROBE_MEM, 5);
	scene_sample(&scene->process, PROBE_ONCPU, 2);
	scripted_core_drain(&scene->core);
	struct engine_stats stats = scene_stats(scene);
	assert_int_equal(stats.samples[PROBE_MEM], 0);
	assert_int_equal(stats.samples[PROBE_ONCPU], 2);
	assert_int_equal(stats.drain.unwanted[PROBE_MEM], 5);
	assert_int_equal(lost(subscriber), 0);
}

/* ---- drains ---- */

static void drains_asked_for_during_one_are_one(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);
	bool drained[4] = {false};

	scene_sample(&scene->process, PROBE_ONCPU, 1);
	engine_drain(scene->engine, scripted_set, &drained[0]); /* ends the window */
	assert_false(drained[0]);				/* never inside */
	scene_sample(&scene->process, PROBE_ONCPU, 10);
	for (int i = 1; i < 4; i++)
		engine_drain(scene->engine, scripted_set, &drained[i]);
	engine_drain(scene->engine, NULL, NULL);
	scripted_core_until(&scene->core, scripted_is_set, &drained[3]);
	assert_true(drained[0] && drained[1] && drained[2]);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 11);
	assert_int_equal(scene_stats(scene).drain.windows, 2);
}

static void a_drain_ends_though_nothing_runs(void **state)
{
	struct scene *scene = *state;

	scripted_core_drain(&scene->core);
	assert_int_equal(scripted->starts, 0);
}

static void one_that_leaves_during_a_drain_takes_nothing_away(void **state)
{
	struct scene *scene = *state;
	struct subscriber *stays = subscribe(scene);
	struct subscriber *leaves = scene_subscribe(scene, &scene->process, ON(ONCPU));
	bool drained = false;

	scene_until_windows(scene, 1);
	scripted_core_drain(&scene->core);
	scene_sample(&scene->process, PROBE_ONCPU, 4);
	engine_drain(scene->engine, scripted_set, &drained);
	engine_unsubscribe(scene->engine, leaves);
	scripted_core_until(&scene->core, scripted_is_set, &drained);
	assert_int_equal(scene_weight(stays, PROBE_ONCPU), 4);
}

static void the_last_one_may_leave_during_a_drain(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);
	bool drained = false;

	scene_sample(&scene->process, PROBE_ONCPU, 4);
	engine_drain(scene->engine, scripted_set, &drained);
	engine_unsubscribe(scene->engine, subscriber);
	scripted_core_until(&scene->core, scripted_is_set, &drained);
	assert_false(scripted->started);
}

/* ---- profiles ---- */

static void a_profile_that_is_taken_goes_on_as_a_new_one(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);

	scene_sample(&scene->process, PROBE_ONCPU, 5);
	scripted_core_drain(&scene->core);
	_cleanup_profile_ struct profile *taken = subscriber_take_profile(subscriber, PROBE_ONCPU);
	const struct profile *next = subscriber_profile(subscriber, PROBE_ONCPU);
	assert_int_equal(taken->weight, 5);
	assert_ptr_not_equal(next, taken);
	assert_int_equal(next->weight, 0);
	assert_int_equal(next->from, taken->until);
	assert_int_equal(next->until, taken->until);
	scene_sample(&scene->process, PROBE_ONCPU, 2);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 2);
	assert_int_equal(taken->weight, 5);
}

static void what_is_on_its_way_goes_to_the_next_profile(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);
	bool drained = false;

	scene_sample(&scene->process, PROBE_ONCPU, 5);
	engine_drain(scene->engine, scripted_set, &drained);
	_cleanup_profile_ struct profile *early = subscriber_take_profile(subscriber, PROBE_ONCPU);
	scripted_core_until(&scene->core, scripted_is_set, &drained);
	assert_int_equal(early->weight, 0);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(windows_add_up),
		TEST(each_subscriber_gets_its_own_process),
		TEST(a_window_that_began_before_a_subscriber_is_not_its),
		TEST(one_that_comes_soon_has_a_window_of_its_own),
		TEST(one_that_comes_during_a_drain_gets_the_next_window),
		TEST(a_probe_that_begins_has_the_current_window),
		TEST(what_nobody_wants_is_no_sample),
		TEST(drains_asked_for_during_one_are_one),
		TEST(a_drain_ends_though_nothing_runs),
		TEST(one_that_leaves_during_a_drain_takes_nothing_away),
		TEST(the_last_one_may_leave_during_a_drain),
		TEST(a_profile_that_is_taken_goes_on_as_a_new_one),
		TEST(what_is_on_its_way_goes_to_the_next_profile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
