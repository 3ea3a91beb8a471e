// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes that are held until their values are set, and those that give up. */
#include "unit/engine/engine_scene.h"

#include "engine/engine_state.h"
#include "unit/lib/param_value.h"

/* Sets off-CPU's values: `us` is its minblock. */
static void set_minblock(struct scene *scene, int64_t us)
{
	struct params params;

	params_default(flamegraph_params(), &params);
	*param_value(&params, "minblock") = us;
	assert_int_equal(engine_set_values(scene->engine, PROBE_OFFCPU,
					   &params.probes[PROBE_OFFCPU], &scene->why),
			 0);
}

/* Checks whether off-CPU runs, and what its failure is. */
static void assert_offcpu(const struct scene *scene, bool on, int error, const char *reason)
{
	const char *why;

	assert_int_equal(scripted->offcpu, on);
	assert_int_equal(!!(scene->engine->sampling.running & ON(OFFCPU)), on);
	assert_int_equal(engine_failure(scene->engine, PROBE_OFFCPU, &why), error);
	assert_string_equal(why, reason);
}

static void give_up(struct scene *scene)
{
	struct probe_run *run = &scene->engine->sampling.runs[PROBE_OFFCPU];
	struct why why;

	why_set(&why, "it costs too much");
	(run->fail)(run, -EDQUOT, &why); /* fail() is a macro of cmocka */
}

/* ---- held ---- */

static void a_probe_that_is_held_stops_until_its_values_are_set(void **state)
{
	struct scene *scene = *state;

	set_minblock(scene, 7);
	scene_subscribe(scene, &scene->process, ON(OFFCPU) | ON(ONCPU));
	engine_hold(scene->engine, ON(OFFCPU));
	assert_offcpu(scene, false, 0, "");
	assert_int_not_equal(scripted->period_ns, 0); /* the other one goes on */
	set_minblock(scene, 9);
	assert_offcpu(scene, true, 0, "");
	assert_int_equal(scripted->offcpu_settings.minblock_ns, 9000);
}

static void the_same_values_end_that_as_well(void **state)
{
	struct scene *scene = *state;

	set_minblock(scene, 7);
	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	engine_hold(scene->engine, ON(OFFCPU));
	set_minblock(scene, 7);
	assert_offcpu(scene, true, 0, "");
}

static void no_other_subscriber_starts_a_probe_that_is_held(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	engine_hold(scene->engine, ON(OFFCPU));
	scene_subscribe(scene, &scene->other, ON(ONCPU));
	assert_offcpu(scene, false, 0, "");
}

static void a_probe_that_is_off_isnt_held(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(ONCPU));
	engine_hold(scene->engine, ON(OFFCPU));
	scene_subscribe(scene, &scene->other, ON(OFFCPU));
	assert_offcpu(scene, true, 0, "");
}

static void a_probe_that_is_held_and_left_out_is_free_again(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(OFFCPU));

	scene_subscribe(scene, &scene->other, ON(ONCPU));
	engine_hold(scene->engine, ON(OFFCPU));
	engine_unsubscribe(scene->engine, subscriber);
	set_minblock(scene, 5);
	assert_offcpu(scene, false, 0, ""); /* nobody wants it */
	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	assert_offcpu(scene, true, 0, "");
}

static void a_held_probe_that_cant_start_says_why(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU) | ON(ONCPU));
	engine_hold(scene->engine, ON(OFFCPU));
	scripted_fail(SCRIPTED_OFFCPU, -EIO);
	set_minblock(scene, 9); /* that is no failure of the others */
	assert_offcpu(scene, false, -EIO, "scripted error -5");
}

/* ---- given up ---- */

static void a_probe_that_gives_up_stops_and_says_why(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU) | ON(ONCPU));
	give_up(scene);
	assert_offcpu(scene, false, -EDQUOT, "it costs too much");
	assert_int_not_equal(scripted->period_ns, 0);
}

static void only_other_values_start_it_again(void **state)
{
	struct scene *scene = *state;

	set_minblock(scene, 7);
	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	give_up(scene);
	set_minblock(scene, 7);
	assert_offcpu(scene, false, -EDQUOT, "it costs too much");
	set_minblock(scene, 8);
	assert_offcpu(scene, true, 0, "");
	assert_int_equal(scripted->offcpu_settings.minblock_ns, 8000);
}

static void who_subscribes_to_it_is_told_why_it_gave_up(void **state)
{
	struct scene *scene = *state;
	struct process_id id = {scene->other.pid, scene->other.start_ticks};
	struct subscription subscription = {
		.probes = ON(OFFCPU), .all = true, .chosen = {.ids = &id, .count = 1}};
	struct subscriber *subscriber;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	give_up(scene);
	assert_int_equal(scene_try(scene, &subscription, &subscriber), -EDQUOT);
	assert_string_equal(scene->why.text, "it costs too much");
	assert_offcpu(scene, false, -EDQUOT, "it costs too much");
}

static void one_that_gave_up_and_was_left_out_starts_again(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(OFFCPU));

	scene_subscribe(scene, &scene->other, ON(ONCPU));
	give_up(scene);
	engine_unsubscribe(scene->engine, subscriber);
	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	assert_offcpu(scene, true, 0, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_probe_that_is_held_stops_until_its_values_are_set),
		TEST(the_same_values_end_that_as_well),
		TEST(no_other_subscriber_starts_a_probe_that_is_held),
		TEST(a_probe_that_is_off_isnt_held),
		TEST(a_probe_that_is_held_and_left_out_is_free_again),
		TEST(a_held_probe_that_cant_start_says_why),
		TEST(a_probe_that_gives_up_stops_and_says_why),
		TEST(only_other_values_start_it_again),
		TEST(who_subscribes_to_it_is_told_why_it_gave_up),
		TEST(one_that_gave_up_and_was_left_out_starts_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
