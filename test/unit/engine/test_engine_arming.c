// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits until chosen processes are sampled; who is told of slow waits; an allocator's state. */
#include "unit/engine/engine_scene.h"

#include "bpf/shared/scheduler.h"

static void count(void *arg)
{
	unsigned *calls = arg;

	(*calls)++;
}

static bool is_armed(void *arg)
{
	struct scene *scene = arg;

	return !scene_stats(scene).arming && scripted_probes(scene->process.pid) != 0;
}

static void who_waits_is_told_once_all_are_sampled(void **state)
{
	struct scene *scene = *state;
	uint64_t began_ns = loop_now_ns();
	unsigned calls = 0;
	bool told = false;

	scene_subscribe(scene, &scene->process, ON(ONCPU));
	assert_int_equal(scripted_probes(scene->process.pid), 0); /* its tables aren't there */
	assert_true(scene_stats(scene).arming);
	assert_true(engine_when_armed(scene->engine, count, &calls));
	assert_true(engine_when_armed(scene->engine, scripted_set, &told));
	assert_int_equal(calls, 0);
	scripted_core_until(&scene->core, scripted_is_set, &told);
	assert_int_equal(calls, 1);
	/* A host that is busy for a second is no fault. */
	assert_true(scripted_probes(scene->process.pid) == ON(ONCPU) ||
		    loop_now_ns() - began_ns >= NS_PER_S);
}

static void nobody_waits_when_all_are_sampled(void **state)
{
	struct scene *scene = *state;
	unsigned calls = 0;

	assert_false(engine_when_armed(scene->engine, count, &calls)); /* nothing is wanted */
	scene_subscribe(scene, &scene->process, ON(ONCPU));
	scripted_core_until(&scene->core, is_armed, scene);
	assert_false(engine_when_armed(scene->engine, count, &calls));
	assert_int_equal(calls, 0);
}

static void a_wait_can_be_forgotten(void **state)
{
	struct scene *scene = *state;
	unsigned calls = 0;
	bool told = false;

	scene_subscribe(scene, &scene->process, ON(ONCPU));
	assert_true(engine_when_armed(scene->engine, count, &calls));
	assert_true(engine_when_armed(scene->engine, scripted_set, &told));
	assert_true(engine_when_armed(scene->engine, count, &calls));
	engine_forget(scene->engine, &calls);
	scripted_core_until(&scene->core, scripted_is_set, &told);
	assert_int_equal(calls, 0);
}

static void so_many_wait_at_most(void **state)
{
	struct scene *scene = *state;
	unsigned calls = 0;
	bool told = false;

	scene_subscribe(scene, &scene->process, ON(ONCPU));
	assert_true(engine_when_armed(scene->engine, scripted_set, &told));
	for (int i = 1; i < ARMING_WAITS_MAX; i++)
		assert_true(engine_when_armed(scene->engine, count, &calls));
	assert_false(engine_when_armed(scene->engine, count, &calls));
	scripted_core_until(&scene->core, scripted_is_set, &told);
	assert_int_equal(calls, ARMING_WAITS_MAX - 1);
}

struct renewal {
	struct scene *scene;
	unsigned calls;
};

static void wait_again(void *arg)
{
	struct renewal *renewal = arg;

	renewal->calls++;
	engine_forget(renewal->scene->engine, renewal);
	assert_false(engine_when_armed(renewal->scene->engine, count, &renewal->calls));
}

static void who_is_told_may_change_the_waits(void **state)
{
	struct scene *scene = *state;
	struct renewal renewal = {.scene = scene};
	bool told = false;

	scene_subscribe(scene, &scene->process, ON(ONCPU));
	assert_true(engine_when_armed(scene->engine, scripted_set, &told));
	assert_true(engine_when_armed(scene->engine, wait_again, &renewal));
	assert_true(engine_when_armed(scene->engine, wait_again, &renewal));
	scripted_core_until(&scene->core, scripted_is_set, &told);
	assert_int_equal(renewal.calls, 1); /* the other one was forgotten */
}

static void what_is_sampled_already_is_armed_for_a_second_subscriber(void **state)
{
	struct scene *scene = *state;
	unsigned calls = 0;

	scene_subscribe(scene, &scene->process, ON(ONCPU));
	scripted_core_until(&scene->core, is_armed, scene);
	scene_subscribe(scene, &scene->process, ON(ONCPU));
	assert_false(engine_when_armed(scene->engine, count, &calls));
}

/* ---- slow waits ---- */

struct slow_seen {
	unsigned count;
	uint64_t delay_ns;
};

static void see_slow(void *arg, const struct slow_event *event, const struct slice *slices)
{
	struct slow_seen *seen = arg;

	(void)slices;
	seen->count++;
	seen->delay_ns = event->delay_ns;
}

static void slow_waits_go_to_who_asked(void **state)
{
	struct scene *scene = *state;
	struct slow_event event = {.delay_ns = 5};
	struct slow_seen seen = {0};

	scripted->events.slow(scripted->events.arg, &event, NULL); /* nobody asked */
	engine_on_slow(scene->engine, see_slow, &seen);
	scripted->events.slow(scripted->events.arg, &event, NULL);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.delay_ns, 5);
	engine_on_slow(scene->engine, NULL, NULL);
	scripted->events.slow(scripted->events.arg, &event, NULL);
	assert_int_equal(seen.count, 1);
	assert_ptr_equal(engine_tracer(scene->engine), scripted);
}

/* ---- allocators ---- */

static void an_allocator_is_unknown_while_its_probe_is_off(void **state)
{
	struct scene *scene = *state;
	struct allocator_view view;

	scene_subscribe(scene, &scene->process, ON(ONCPU));
	scripted_core_until(&scene->core, is_armed, scene);
	engine_allocator(scene->engine, engine_target(scene->engine, scene->process.pid), &view);
	assert_int_equal(view.state, ALLOCATOR_UNKNOWN);
	assert_string_equal(view.why, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_waits_is_told_once_all_are_sampled),
		TEST(nobody_waits_when_all_are_sampled),
		TEST(a_wait_can_be_forgotten),
		TEST(so_many_wait_at_most),
		TEST(who_is_told_may_change_the_waits),
		TEST(what_is_sampled_already_is_armed_for_a_second_subscriber),
		TEST(slow_waits_go_to_who_asked),
		TEST(an_allocator_is_unknown_while_its_probe_is_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
