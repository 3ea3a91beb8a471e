// SPDX-License-Identifier: GPL-2.0-or-later
/* What an engine tells its tracer of settings: at once, at a start, and what a refusal says. */
#include "unit/engine/engine_scene.h"

#include "probes/tracer_memory.h"

static const struct offcpu_settings long_waits = {.minblock_ns = NS_PER_S,
						  .maxblock_ns = 2 * NS_PER_S,
						  .states = 1,
						  .depth = 5,
						  .split = true};

static int set_period(struct scene *scene, uint64_t period_ns)
{
	scene->why.text[0] = '\0';
	return engine_set_period(scene->engine, period_ns, &scene->why);
}

static int set_offcpu(struct scene *scene, const struct offcpu_settings *settings)
{
	scene->why.text[0] = '\0';
	return engine_set_offcpu(scene->engine, settings, &scene->why);
}

static int set_memory(struct scene *scene, uint64_t fault_bytes, uint64_t sample_bytes)
{
	struct memory_settings settings = {fault_bytes, sample_bytes};

	scene->why.text[0] = '\0';
	return engine_set_memory(scene->engine, &settings, &scene->why);
}

static void a_period_is_kept_for_the_start(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(set_period(scene, 7 * NS_PER_MS), 0);
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));
	assert_int_equal(scripted->period_ns, 7 * NS_PER_MS);
	assert_int_equal(subscriber_profile(subscriber, PROBE_ONCPU)->period_ns, 7 * NS_PER_MS);
}

static void a_period_changes_at_once_and_outlives_a_stop(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));

	assert_int_equal(set_period(scene, 3 * NS_PER_MS), 0);
	assert_int_equal(scripted->period_ns, 3 * NS_PER_MS);
	engine_unsubscribe(scene->engine, subscriber);
	assert_int_equal(scripted->period_ns, 0);
	scene_subscribe(scene, &scene->process, ON(ONCPU));
	assert_int_equal(scripted->period_ns, 3 * NS_PER_MS);
}

static void a_refused_period_is_told(void **state)
{
	struct scene *scene = *state;

	scripted_fail(SCRIPTED_SAMPLE, -EINVAL);
	assert_int_equal(set_period(scene, NS_PER_MS), 0); /* nobody samples */
	scripted_fail(SCRIPTED_SAMPLE, 0);
	scene_subscribe(scene, &scene->process, ON(ONCPU));
	scripted_fail(SCRIPTED_SAMPLE, -EINVAL);
	assert_int_equal(set_period(scene, 2 * NS_PER_MS), -EINVAL);
	assert_string_equal(scene->why.text, "scripted error -22");
}

static void the_clock_stays_as_it_is_for_other_probes(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	assert_int_equal(set_period(scene, NS_PER_MS), 0);
	assert_int_equal(scripted->period_ns, 0);
}

static void waits_are_chosen_now_or_for_the_start(void **state)
{
	struct scene *scene = *state;
	struct offcpu_settings brief = long_waits;

	assert_int_equal(set_offcpu(scene, &long_waits), 0);
	assert_false(scripted->offcpu);
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(OFFCPU));
	assert_memory_equal(&scripted->offcpu_settings, &long_waits, sizeof(long_waits));
	brief.minblock_ns = 1;
	assert_int_equal(set_offcpu(scene, &brief), 0);
	assert_int_equal(scripted->offcpu_settings.minblock_ns, 1);

	scripted_fail(SCRIPTED_OFFCPU, -EIO);
	assert_int_equal(set_offcpu(scene, &long_waits), -EIO);
	assert_string_equal(scene->why.text, "scripted error -5");
	scripted_fail(SCRIPTED_OFFCPU, 0);
	engine_unsubscribe(scene->engine, subscriber);
	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	assert_int_equal(scripted->offcpu_settings.minblock_ns, NS_PER_S);
}

static void memory_is_set_for_the_probes_that_run(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(MEM));

	assert_true(scripted->fault_bytes > 0);
	assert_int_equal(set_memory(scene, 100, 200), 0);
	assert_int_equal(scripted->fault_bytes, 100);
	assert_false(scripted->calls);
	assert_int_equal(subscriber_add_probes(subscriber, ON(MEM_GLIBC)), 0);
	assert_int_equal(scripted->sample_bytes, 200);
	assert_int_equal(set_memory(scene, 300, 400), 0);
	assert_int_equal(scripted->fault_bytes, 300);
	assert_int_equal(scripted->sample_bytes, 400);
}

static void the_first_refusal_of_memory_is_told(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(MEM) | ON(MEM_GLIBC));
	scripted_fail(SCRIPTED_FAULTS, -EIO);
	assert_int_equal(set_memory(scene, 1, 2), -EIO);
	assert_string_equal(scene->why.text, "scripted error -5");
	scripted_fail(SCRIPTED_FAULTS, 0);
	scripted_fail(SCRIPTED_CALLS, -ENOMEM);
	assert_int_equal(set_memory(scene, 3, 4), -ENOMEM);
	assert_int_equal(scripted->fault_bytes, 3);
}

static void budget_and_counts_by_cpu_are_told_at_once(void **state)
{
	struct scene *scene = *state;

	assert_true(scripted->budget_percent > 0); /* a limit that nobody asked for */
	engine_set_max_overhead(scene->engine, 0);
	assert_int_equal(scripted->budget_percent, 0);
	engine_set_max_overhead(scene->engine, 20);
	engine_set_by_cpu(scene->engine, ON(ONCPU) | ON(MEM));
	scene_subscribe(scene, &scene->process, ON(ONCPU));
	assert_int_equal(scripted->budget_percent, 20);
	assert_int_equal(scripted->by_cpu, ON(ONCPU) | ON(MEM));
}

static void the_detail_is_seen_from_the_next_profile_on(void **state)
{
	struct scene *scene = *state;
	struct stack_detail detail = {.places = true};
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));

	subscriber_set_detail(subscriber, &detail);
	assert_false(subscriber_profile(subscriber, PROBE_ONCPU)->places);
	profile_unref(subscriber_take_profile(subscriber, PROBE_ONCPU));
	assert_true(subscriber_profile(subscriber, PROBE_ONCPU)->places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_period_is_kept_for_the_start),
		TEST(a_period_changes_at_once_and_outlives_a_stop),
		TEST(a_refused_period_is_told),
		TEST(the_clock_stays_as_it_is_for_other_probes),
		TEST(waits_are_chosen_now_or_for_the_start),
		TEST(memory_is_set_for_the_probes_that_run),
		TEST(the_first_refusal_of_memory_is_told),
		TEST(budget_and_counts_by_cpu_are_told_at_once),
		TEST(the_detail_is_seen_from_the_next_profile_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
