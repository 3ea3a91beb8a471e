// SPDX-License-Identifier: GPL-2.0-or-later
/* What an engine tells its tracer of settings: at once, at a start, and what a refusal says. */
#include "unit/engine/engine_scene.h"

#include "unit/lib/param_value.h"

#define STATES_ALL (1u << WAIT_RUNNABLE | 1u << WAIT_SLEEP | 1u << WAIT_DISK | 1u << WAIT_OTHER)

static int set_period(struct scene *scene, uint64_t period_ns)
{
	scene->why.text[0] = '\0';
	return engine_set_period(scene->engine, period_ns, &scene->why);
}

/* Sets a probe's params to those of `params`. */
static int set_values(struct scene *scene, enum probe probe, const struct params *params)
{
	scene->why.text[0] = '\0';
	return engine_set_values(scene->engine, probe, &params->probes[probe], &scene->why);
}

static int set_minblock(struct scene *scene, int64_t us)
{
	struct params params;

	params_default(flamegraph_params(), &params);
	*param_value(&params, "minblock") = us;
	return set_values(scene, PROBE_OFFCPU, &params);
}

static int set_memory(struct scene *scene, int64_t fault_bytes, int64_t sample_bytes)
{
	struct params params;

	params_default(flamegraph_params(), &params);
	*param_value(&params, "mem_fault_bytes") = fault_bytes;
	*param_value(&params, "mem_sample_bytes") = sample_bytes;
	int r = set_values(scene, PROBE_MEM, &params);
	return r < 0 ? r : set_values(scene, PROBE_MEM_GLIBC, &params);
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

	assert_int_equal(set_minblock(scene, 1000000), 0);
	assert_false(scripted->offcpu);
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(OFFCPU));
	assert_int_equal(scripted->offcpu_settings.minblock_ns, NS_PER_S);
	assert_int_equal(set_minblock(scene, 1), 0);
	assert_int_equal(scripted->offcpu_settings.minblock_ns, 1000);

	scripted_fail(SCRIPTED_OFFCPU, -EIO);
	assert_int_equal(set_minblock(scene, 1000000), -EIO);
	assert_string_equal(scene->why.text, "scripted error -5");
	scripted_fail(SCRIPTED_OFFCPU, 0);
	engine_unsubscribe(scene->engine, subscriber);
	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	assert_int_equal(scripted->offcpu_settings.minblock_ns, NS_PER_S);
}

static void waits_have_the_defaults_of_the_rows(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	assert_int_equal(scripted->offcpu_settings.minblock_ns, 50000);
	assert_int_equal(scripted->offcpu_settings.maxblock_ns, 3600 * NS_PER_S);
	assert_int_equal(scripted->offcpu_settings.states, 1u << WAIT_SLEEP | 1u << WAIT_DISK);
	assert_int_equal(scripted->offcpu_settings.depth, 256);
	assert_false(scripted->offcpu_settings.split);
}

static void waits_are_told_in_nanoseconds_and_states(void **state)
{
	static const struct {
		const char *name;
		uint32_t states;
	} cases[] = {
		{"sd", 1u << WAIT_SLEEP | 1u << WAIT_DISK},
		{"d", 1u << WAIT_DISK},
		{"all", STATES_ALL},
	};
	struct scene *scene = *state;
	struct params params;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	params_default(flamegraph_params(), &params);
	*param_value(&params, "maxblock") = 3000000;
	*param_value(&params, "offcpu_depth") = 12;
	*param_value(&params, "offcpu_split") = 1;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		param_choose(&params, "offcpu_state", cases[i].name);
		assert_int_equal(set_values(scene, PROBE_OFFCPU, &params), 0);
		assert_int_equal(scripted->offcpu_settings.states, cases[i].states);
	}
	assert_int_equal(scripted->offcpu_settings.maxblock_ns, 3000000000U);
	assert_int_equal(scripted->offcpu_settings.depth, 12);
	assert_true(scripted->offcpu_settings.split);
}

static void a_wait_too_long_for_nanoseconds_is_the_longest_one(void **state)
{
	struct scene *scene = *state;
	struct params params;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	params_default(flamegraph_params(), &params);
	*param_value(&params, "maxblock") = INT64_MAX;
	*param_value(&params, "minblock") = INT64_MAX / 1000;
	assert_int_equal(set_values(scene, PROBE_OFFCPU, &params), 0);
	assert_true(scripted->offcpu_settings.maxblock_ns == UINT64_MAX);
	assert_true(scripted->offcpu_settings.minblock_ns == (uint64_t)(INT64_MAX / 1000) * 1000);
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
		TEST(waits_have_the_defaults_of_the_rows),
		TEST(waits_are_told_in_nanoseconds_and_states),
		TEST(a_wait_too_long_for_nanoseconds_is_the_longest_one),
		TEST(memory_is_set_for_the_probes_that_run),
		TEST(the_first_refusal_of_memory_is_told),
		TEST(budget_and_counts_by_cpu_are_told_at_once),
		TEST(the_detail_is_seen_from_the_next_profile_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
