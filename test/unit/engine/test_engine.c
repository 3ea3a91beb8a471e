// SPDX-License-Identifier: GPL-2.0-or-later
/* Subscribers and what they get, over a scripted tracer. */
#include "unit/lib/scripted_core.h"

#include "profile/profile.h"

struct scene {
	struct scripted_core core;
	struct process process;
	struct subscriber *subscriber;
};

static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scripted_core_begin(&scene->core);
	process_begin(&scene->process, "worker");
	*state = scene;
	return 0;
}

static int end(void **state)
{
	struct scene *scene = *state;

	if (scene->subscriber)
		engine_unsubscribe(scene->core.core.engine, scene->subscriber);
	process_end(&scene->process);
	scripted_core_end(&scene->core);
	free(scene);
	return 0;
}

/* Subscribes to the scene's process. */
static void subscribe(struct scene *scene, uint32_t probes)
{
	struct process_id id = {scene->process.pid, scene->process.start_ticks};
	struct subscription subscription = {
		.feature = FEATURE_FLAMEGRAPH,
		.probes = probes,
		.all = true,
		.chosen = {.ids = &id, .count = 1},
	};
	struct why why = {0};

	assert_int_equal(
		engine_subscribe(scene->core.core.engine, &subscription, &scene->subscriber, &why),
		0);
}

static bool is_sampled(void *arg)
{
	const struct scene *scene = arg;

	return scripted_probes(scene->process.pid) != 0;
}

/* Has the kernel's side count a stack of two addresses, `samples` times. */
static void sample(const struct scene *scene, uint64_t samples)
{
	uint64_t words[2] = {(uint64_t)FRAME_NATIVE << FRAME_KIND_SHIFT | 0x1000,
			     (uint64_t)FRAME_NATIVE_RETURN << FRAME_KIND_SHIFT | 0x2000};
	struct target_value value = {0};

	assert_int_equal(tracer_target_get(scripted, scene->process.pid, &value), 0);
	struct stack stack = {
		.key = {.hash = 1, .tgid = (uint32_t)scene->process.pid, .probe = PROBE_ONCPU},
		.target_id = value.id,
		.time_ns = loop_now_ns(),
		.comm = "worker",
		.words_count = 2,
	};
	struct count_key key = {.stack = stack.key, .tid = stack.key.tgid, .cpu = CPU_ANY};
	struct stack_count count = {.weight = samples, .samples = samples, .events = samples};

	scripted_stack(&stack, words);
	scripted_count(&key, &count);
}

static void a_subscriber_gets_what_its_process_does(void **state)
{
	struct scene *scene = *state;

	subscribe(scene, 1u << PROBE_ONCPU);
	scripted_core_until(&scene->core, is_sampled, scene);
	assert_true(scripted->period_ns > 0);
	sample(scene, 7);
	scripted_core_drain(&scene->core);

	const struct profile *profile = subscriber_profile(scene->subscriber, PROBE_ONCPU);
	assert_non_null(profile);
	assert_int_equal(profile->weight, 7);
	assert_int_equal(profile->lost, 0);
}

static void the_last_ones_leaving_unloads_all(void **state)
{
	struct scene *scene = *state;

	subscribe(scene, 1u << PROBE_ONCPU);
	engine_unsubscribe(scene->core.core.engine, scene->subscriber);
	scene->subscriber = NULL;
	assert_false(scripted->started);
	assert_int_equal(scripted->stops, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_subscriber_gets_what_its_process_does, begin,
						end),
		cmocka_unit_test_setup_teardown(the_last_ones_leaving_unloads_all, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
