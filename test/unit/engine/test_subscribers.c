// SPDX-License-Identifier: GPL-2.0-or-later
/* Subscribers come, change their probes and go; what cannot run, and how many there may be. */
#include "unit/engine/engine_scene.h"

/* ---- coming and going ---- */

static void a_subscriber_gets_what_its_process_does(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));

	scene_sampled(scene, &scene->process, ON(ONCPU));
	assert_true(scripted->period_ns > 0);
	assert_int_equal(scripted_probes(scene->other.pid), 0);
	scene_sample(&scene->process, PROBE_ONCPU, 7);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 7);
	assert_int_equal(subscriber_profile(subscriber, PROBE_ONCPU)->lost, 0);
	assert_null(subscriber_profile(subscriber, PROBE_OFFCPU));
}

static void the_last_ones_leaving_unloads_all(void **state)
{
	struct scene *scene = *state;
	uint32_t probes = ON(ONCPU) | ON(OFFCPU) | ON(MEM) | ON(MEM_GLIBC);
	struct subscriber *first = scene_subscribe(scene, &scene->process, probes);
	struct subscriber *last = scene_subscribe(scene, &scene->other, ON(ONCPU));

	assert_true(scripted->offcpu && scripted->faults && scripted->calls);
	uint64_t id = engine_target(scene->engine, scene->other.pid)->id;
	engine_unsubscribe(scene->engine, first);
	assert_true(scripted->started && scripted->period_ns > 0);
	assert_false(scripted->offcpu || scripted->faults || scripted->calls);
	scene_sampled(scene, &scene->other, ON(ONCPU)); /* nobody looks at it any more */
	engine_unsubscribe(scene->engine, last);
	assert_false(scripted->started);
	assert_int_equal(scripted->stops, 1);
	assert_int_equal(scene_stats(scene).targets.alive, 0);
	assert_null(engine_target_once(scene->engine, scene->other.pid, id));
}

static void one_that_comes_after_that_starts_it_anew(void **state)
{
	struct scene *scene = *state;

	engine_unsubscribe(scene->engine, scene_subscribe(scene, &scene->process, ON(ONCPU)));
	struct subscriber *again = scene_subscribe(scene, &scene->process, ON(ONCPU));
	assert_int_equal(scripted->starts, 2);
	scene_sampled(scene, &scene->process, ON(ONCPU));
	scene_sample(&scene->process, PROBE_ONCPU, 3);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(again, PROBE_ONCPU), 3);
}

static void there_is_room_for_so_many(void **state)
{
	struct scene *scene = *state;
	struct process_id id = {scene->process.pid, scene->process.start_ticks};
	struct subscription wish = {.probes = ON(ONCPU), .chosen = {.ids = &id, .count = 1}};
	struct subscriber *subscribers[SUBSCRIBERS_MAX], *more;

	for (int i = 0; i < SUBSCRIBERS_MAX; i++)
		subscribers[i] = scene_subscribe(scene, &scene->process, ON(ONCPU));
	assert_int_equal(scene_try(scene, &wish, &more), -EBUSY);
	assert_string_equal(scene->why.text, strerror(EBUSY));
	engine_unsubscribe(scene->engine, subscribers[5]);
	subscribers[5] = scene_subscribe(scene, &scene->process, ON(ONCPU));
	scene_sampled(scene, &scene->process, ON(ONCPU));
	scripted_core_drain(&scene->core); /* later ones begin with the next window */
	scene_sample(&scene->process, PROBE_ONCPU, 2);
	scripted_core_drain(&scene->core);
	for (int i = 0; i < SUBSCRIBERS_MAX; i++)
		assert_int_equal(scene_weight(subscribers[i], PROBE_ONCPU), 2);
}

/* ---- probes ---- */

static void each_probe_has_its_own_profile(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber =
		scene_subscribe(scene, &scene->process, ON(ONCPU) | ON(MEM));

	assert_int_equal(subscriber_probes(subscriber), ON(ONCPU) | ON(MEM));
	scene_sampled(scene, &scene->process, ON(ONCPU) | ON(MEM));
	scene_sample(&scene->process, PROBE_ONCPU, 4);
	scene_sample(&scene->process, PROBE_MEM, 4096);
	scripted_core_drain(&scene->core);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), 4);
	assert_int_equal(scene_weight(subscriber, PROBE_MEM), 4096);
	assert_int_equal(subscriber_profile(subscriber, PROBE_ONCPU)->period_ns,
			 scripted->period_ns);
	assert_int_equal(subscriber_profile(subscriber, PROBE_MEM)->period_ns, 0);
}

static void probes_are_added_and_removed_one_by_one(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));
	const struct profile *oncpu = subscriber_profile(subscriber, PROBE_ONCPU);

	assert_int_equal(subscriber_add_probes(subscriber, ON(ONCPU) | ON(OFFCPU)), 0);
	assert_true(scripted->offcpu);
	assert_ptr_equal(subscriber_profile(subscriber, PROBE_ONCPU), oncpu);
	assert_int_equal(subscriber_probes(subscriber), ON(ONCPU) | ON(OFFCPU));
	scene_sampled(scene, &scene->process, ON(ONCPU) | ON(OFFCPU));

	subscriber_remove_probes(subscriber, ON(ONCPU));
	assert_int_equal(scripted->period_ns, 0);
	assert_true(scripted->offcpu);
	assert_null(subscriber_profile(subscriber, PROBE_ONCPU));
	scene_sampled(scene, &scene->process, ON(OFFCPU));

	subscriber_remove_probes(subscriber, ON(OFFCPU));
	assert_int_equal(subscriber_probes(subscriber), 0);
	assert_true(scripted->started); /* it is still there */
	assert_int_equal(scripted_probes(scene->process.pid), 0);
}

static void a_probe_runs_while_anybody_wants_it(void **state)
{
	struct scene *scene = *state;
	struct subscriber *one = scene_subscribe(scene, &scene->process, ON(OFFCPU));
	struct subscriber *two = scene_subscribe(scene, &scene->other, ON(OFFCPU));

	subscriber_remove_probes(one, ON(OFFCPU));
	assert_true(scripted->offcpu);
	scene_sampled(scene, &scene->other, ON(OFFCPU));
	assert_int_equal(scripted_probes(scene->process.pid), 0);
	subscriber_remove_probes(two, ON(OFFCPU));
	assert_false(scripted->offcpu);
}

/* ---- what can't run ---- */

static void who_wants_all_gets_nothing_if_one_cannot_run(void **state)
{
	struct scene *scene = *state;
	struct process_id id = {scene->process.pid, scene->process.start_ticks};
	struct subscription wish = {
		.probes = ON(ONCPU) | ON(OFFCPU), .all = true, .chosen = {.ids = &id, .count = 1}};
	struct subscriber *subscriber = NULL;

	scripted_fail(SCRIPTED_OFFCPU, -EPERM);
	assert_int_equal(scene_try(scene, &wish, &subscriber), -EPERM);
	assert_string_equal(scene->why.text, "scripted error -1");
	assert_null(subscriber);
	assert_false(scripted->started);
}

static void who_wants_any_gets_those_that_run(void **state)
{
	struct scene *scene = *state;
	struct process_id id = {scene->process.pid, scene->process.start_ticks};
	struct subscription wish = {.probes = ON(ONCPU) | ON(OFFCPU) | ON(MEM_GLIBC),
				    .chosen = {.ids = &id, .count = 1}};
	struct subscriber *subscriber;
	const char *why;

	scripted_fail(SCRIPTED_OFFCPU, -EPERM);
	scripted_fail(SCRIPTED_CALLS, -ENOTSUP);
	assert_int_equal(scene_try(scene, &wish, &subscriber), 0);
	assert_int_equal(subscriber_probes(subscriber), ON(ONCPU));
	assert_null(subscriber_profile(subscriber, PROBE_OFFCPU));
	assert_int_equal(engine_failure(scene->engine, PROBE_OFFCPU, &why), -EPERM);
	assert_string_equal(why, "scripted error -1");
	assert_int_equal(engine_failure(scene->engine, PROBE_MEM_GLIBC, &why), -ENOTSUP);
	assert_int_equal(engine_failure(scene->engine, PROBE_ONCPU, &why), 0);
	assert_int_equal(engine_failure(scene->engine, PROBE_MEM, &why), 0);
	scene_sampled(scene, &scene->process, ON(ONCPU));
}

static void who_wants_any_gets_nothing_if_none_runs(void **state)
{
	struct scene *scene = *state;
	struct process_id id = {scene->process.pid, scene->process.start_ticks};
	struct subscription wish = {.probes = ON(OFFCPU) | ON(MEM),
				    .chosen = {.ids = &id, .count = 1}};
	struct subscriber *subscriber;

	scripted_fail(SCRIPTED_OFFCPU, -EPERM);
	scripted_fail(SCRIPTED_FAULTS, -ENOTSUP);
	assert_int_equal(scene_try(scene, &wish, &subscriber), -EPERM); /* the first one's */
	assert_string_equal(scene->why.text, "scripted error -1");
	assert_false(scripted->started);
}

static void a_probe_that_fails_later_is_left_out(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));
	const char *why;

	scripted_fail(SCRIPTED_FAULTS, -ENOSYS);
	scripted_silent = true;
	assert_int_equal(subscriber_add_probes(subscriber, ON(MEM)), 0);
	assert_int_equal(subscriber_probes(subscriber), ON(ONCPU));
	assert_int_equal(engine_failure(scene->engine, PROBE_MEM, &why), -ENOSYS);
	assert_string_equal(why, strerror(ENOSYS)); /* nothing better was said */

	scripted_fail(SCRIPTED_FAULTS, 0);
	assert_int_equal(subscriber_add_probes(subscriber, ON(MEM)), 0);
	assert_int_equal(subscriber_probes(subscriber), ON(ONCPU) | ON(MEM));
	assert_int_equal(engine_failure(scene->engine, PROBE_MEM, &why), 0);
	assert_string_equal(why, "");
}

static void what_was_loaded_for_one_that_fails_is_unloaded(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(MEM));

	scripted_fail(SCRIPTED_SAMPLE, -EMFILE);
	assert_int_equal(subscriber_add_probes(subscriber, ON(ONCPU)), 0);
	assert_int_equal(subscriber_probes(subscriber), ON(MEM));
	assert_false(scripted->loaded);
	assert_true(scripted->faults);
}

static void one_that_fails_leaves_the_others_alone(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));
	struct process_id id = {scene->other.pid, scene->other.start_ticks};
	struct subscription wish = {.probes = ON(MEM), .chosen = {.ids = &id, .count = 1}};
	struct subscriber *failed;

	scripted_fail(SCRIPTED_FAULTS, -ENOSYS);
	assert_int_equal(scene_try(scene, &wish, &failed), -ENOSYS);
	assert_true(scripted->started && scripted->period_ns > 0);
	assert_int_equal(scripted_probes(scene->other.pid), 0);
	scene_sampled(scene, &scene->process, ON(ONCPU));
	assert_int_equal(subscriber_probes(subscriber), ON(ONCPU));
}

static void without_a_tracer_nobody_subscribes(void **state)
{
	struct scene *scene = *state;
	struct process_id id = {scene->process.pid, scene->process.start_ticks};
	struct subscription wish = {.probes = ON(ONCPU), .chosen = {.ids = &id, .count = 1}};
	struct subscriber *subscriber;

	scripted_fail(SCRIPTED_START, -EACCES);
	assert_int_equal(scene_try(scene, &wish, &subscriber), -EACCES);
	assert_string_equal(scene->why.text, "scripted error -13");
	scripted_fail(SCRIPTED_START, 0);
	scene_subscribe(scene, &scene->process, ON(ONCPU));
	scene_sampled(scene, &scene->process, ON(ONCPU));
}

static void an_engine_needs_a_tracer(void **unused)
{
	struct scripted_core scene = {0};

	(void)unused;
	scripted_fail(SCRIPTED_NEW, -ENOMEM);
	assert_int_equal(core_init(&scene.core, &scripted_sizes), -ENOMEM);
	assert_null(scene.core.engine);
	scripted_fail(SCRIPTED_NEW, 0);
	core_quiet(&scene.core);
	core_done(&scene.core);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_subscriber_gets_what_its_process_does),
		TEST(the_last_ones_leaving_unloads_all),
		TEST(one_that_comes_after_that_starts_it_anew),
		TEST(there_is_room_for_so_many),
		TEST(each_probe_has_its_own_profile),
		TEST(probes_are_added_and_removed_one_by_one),
		TEST(a_probe_runs_while_anybody_wants_it),
		TEST(who_wants_all_gets_nothing_if_one_cannot_run),
		TEST(who_wants_any_gets_those_that_run),
		TEST(who_wants_any_gets_nothing_if_none_runs),
		TEST(a_probe_that_fails_later_is_left_out),
		TEST(what_was_loaded_for_one_that_fails_is_unloaded),
		TEST(one_that_fails_leaves_the_others_alone),
		TEST(without_a_tracer_nobody_subscribes),
		cmocka_unit_test(an_engine_needs_a_tracer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
