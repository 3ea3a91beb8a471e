// SPDX-License-Identifier: GPL-2.0-or-later
/* A window with much in it is read piece by piece: others come between. */
#include "unit/engine/engine_scene.h"

#define STACKS SCRIPTED_EVENTS
#define WORDS  SCRIPTED_WORDS /* in all, more than two pieces */

static struct subscriber *subscribe(struct scene *scene)
{
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));

	scene_sampled(scene, &scene->process, ON(ONCPU));
	return subscriber;
}

/* Fills a window; each stack was met once. */
static void fill(const struct scene *scene)
{
	uint64_t words[WORDS];
	struct target_value value = {0};

	assert_int_equal(tracer_target_get(scripted, scene->process.pid, &value), 0);
	for (uint64_t number = 0; number < STACKS; number++) {
		struct stack stack = {.key = scene_key(&scene->process, PROBE_ONCPU, number),
				      .target_id = value.id,
				      .time_ns = loop_now_ns(),
				      .comm = "worker",
				      .words_count = WORDS};

		for (uint64_t i = 0; i < WORDS; i++)
			words[i] = (uint64_t)FRAME_KERNEL << FRAME_KIND_SHIFT |
				   (0x1000 + (i ? i : number * 64));
		scripted_stack(&stack, words);
		scene_count(&stack.key, 1);
	}
}

static void a_large_window_is_whole(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);

	fill(scene);
	scripted->stacks_part = 100; /* its stacks come by and by, too */
	scripted_core_drain(&scene->core);
	assert_int_equal(scripted->stacks_count, 0);
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), STACKS);
	assert_int_equal(scene_stats(scene).drain.window_stacks, STACKS);
	assert_int_equal(subscriber_profile(subscriber, PROBE_ONCPU)->lost, 0);
	assert_int_equal(subscriber_profile(subscriber, PROBE_ONCPU)->refused, 0);
}

/* Does something at each turn of the loop while a window is read. */
struct meanwhile {
	struct scene *scene;
	struct loop_call call;
	struct subscriber *leaving; /* NULL: it has left */
	unsigned turns, leave_at;
	bool drained;
};

static void each_turn(void *arg)
{
	struct meanwhile *meanwhile = arg;

	if (meanwhile->drained)
		return;
	if (meanwhile->turns++ == meanwhile->leave_at && meanwhile->leaving) {
		engine_unsubscribe(meanwhile->scene->engine, meanwhile->leaving);
		meanwhile->leaving = NULL;
	}
	loop_post(meanwhile->scene->core.core.loop, &meanwhile->call);
}

static void drained(void *arg)
{
	struct meanwhile *meanwhile = arg;

	meanwhile->drained = true;
}

/* Reads the window; a subscriber leaves at that turn. Returns the turns it took. */
static unsigned drain_beside(struct scene *scene, struct subscriber *leaving, unsigned leave_at)
{
	struct meanwhile meanwhile = {.scene = scene, .leaving = leaving, .leave_at = leave_at};

	meanwhile.call = (struct loop_call){.run = each_turn, .arg = &meanwhile};
	engine_drain(scene->engine, drained, &meanwhile);
	loop_post(scene->core.core.loop, &meanwhile.call);
	scripted_core_until(&scene->core, scripted_is_set, &meanwhile.drained);
	if (meanwhile.leaving)
		engine_unsubscribe(scene->engine, meanwhile.leaving);
	loop_flush(scene->core.core.loop);
	return meanwhile.turns;
}

static void others_come_between_its_pieces(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene);

	fill(scene);
	assert_true(drain_beside(scene, NULL, 0) >= 6); /* looking and joining, three pieces each */
	assert_int_equal(scene_weight(subscriber, PROBE_ONCPU), STACKS);
}

static void a_subscriber_may_leave_at_any_turn(void **state)
{
	struct scene *scene = *state;
	struct subscriber *stays = subscribe(scene);

	for (unsigned turn = 0; turn < 16; turn++) {
		struct subscriber *leaves = scene_subscribe(scene, &scene->process, ON(ONCPU));

		scripted_core_drain(&scene->core); /* so that the next window is its, too */
		uint64_t before = scene_weight(stays, PROBE_ONCPU);
		fill(scene);
		drain_beside(scene, leaves, turn);
		assert_int_equal(scene_weight(stays, PROBE_ONCPU), before + STACKS);
	}
}

static void the_last_subscriber_may_leave_at_any_turn(void **state)
{
	struct scene *scene = *state;

	for (unsigned turn = 0; turn < 16; turn++) {
		struct subscriber *last = subscribe(scene);

		fill(scene);
		drain_beside(scene, last, turn);
		assert_false(scripted->started);
		struct subscriber *next = subscribe(scene);
		scene_sample(&scene->process, PROBE_ONCPU, 3);
		scripted_core_drain(&scene->core);
		assert_int_equal(scene_weight(next, PROBE_ONCPU), 3);
		engine_unsubscribe(scene->engine, next);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_large_window_is_whole),
		TEST(others_come_between_its_pieces),
		TEST(a_subscriber_may_leave_at_any_turn),
		TEST(the_last_subscriber_may_leave_at_any_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
