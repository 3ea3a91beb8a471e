// SPDX-License-Identifier: GPL-2.0-or-later
/* What processes hold of what they allocated or mapped: whose, since when, and what is forgotten.
 */
#include "unit/engine/engine_scene.h"

#include "bpf/shared/allocations.h"

/* A reading that was asked for. */
struct answer {
	bool done;
	int error;
	struct profile *profiles[VIEWS];
};

static void answered(void *arg, int error, struct profile *profiles[VIEWS])
{
	struct answer *answer = arg;

	answer->done = true;
	answer->error = error;
	for (int view = 0; view < VIEWS; view++)
		answer->profiles[view] = TAKE_PTR(profiles[view]);
}

static void forget(struct answer *answer)
{
	for (int view = 0; view < VIEWS; view++)
		profile_unref(answer->profiles[view]);
	*answer = (struct answer){0};
}

/* Asks for both views; the answer is to be forgotten. */
static int ask(struct scene *scene, const struct subscriber *subscriber, struct answer *answer)
{
	struct live_heap_request request = {
		.views = 1u << VIEW_INUSE | 1u << VIEW_MMAP,
		.filter = {.before_ns = UINT64_MAX},
		.done = answered,
		.arg = answer,
	};

	*answer = (struct answer){0};
	int r = engine_read_held(scene->engine, subscriber, &request);
	if (r < 0)
		return r;
	assert_false(answer->done); /* never inside */
	scripted_core_until(&scene->core, scripted_is_set, &answer->done);
	return answer->error;
}

/* Returns the weight of a view of what the subscriber's processes hold. */
static uint64_t held(struct scene *scene, const struct subscriber *subscriber, enum view view)
{
	struct answer answer;

	assert_int_equal(ask(scene, subscriber, &answer), 0);
	uint64_t weight = answer.profiles[view]->weight;
	forget(&answer);
	return weight;
}

static struct subscriber *subscribe(struct scene *scene, const struct process *process)
{
	struct subscriber *subscriber = scene_subscribe(scene, process, ON(MEM_GLIBC));

	scene_sampled(scene, process, ON(MEM_GLIBC));
	return subscriber;
}

/* The process allocates so much at an address and doesn't free it; the stack is known. */
static void allocate(struct scene *scene, const struct process *process, uint64_t address,
		     uint64_t bytes)
{
	struct allocation_key key = {.address = address, .tgid = (uint32_t)process->pid};
	struct allocation allocation = {
		.stack = scene_key(process, PROBE_MEM_GLIBC, 1),
		.time_ns = loop_now_ns(),
		.bytes = bytes,
		.objects = 1,
		.tid = (uint32_t)process->pid,
	};

	scripted_hold(&key, &allocation);
	scene_sample(process, PROBE_MEM_GLIBC, bytes);
	scripted_core_drain(&scene->core);
}

/* The process maps or unmaps a range; the stack is known. */
static void map(struct scene *scene, const struct process *process, enum mapped_kind kind,
		uint64_t start, uint64_t end)
{
	struct mapped_event event = {
		.kind = kind,
		.tid = (uint32_t)process->pid,
		.stack = scene_key(process, PROBE_MEM_GLIBC, 1),
		.start = start,
		.end = end,
		.time_ns = loop_now_ns(),
	};

	scripted->events.mapped(scripted->events.arg, &event);
	scene_sample(process, PROBE_MEM_GLIBC, 1);
	scripted_core_drain(&scene->core);
}

static struct live_heap_stats heap_stats(const struct scene *scene)
{
	return scene_stats(scene).live_heap;
}

/* ---- what is shown ---- */

static void what_is_not_freed_is_held(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene, &scene->process);
	struct answer answer;

	allocate(scene, &scene->process, 0x1000, 100);
	allocate(scene, &scene->process, 0x2000, 50);
	assert_int_equal(ask(scene, subscriber, &answer), 0);
	assert_int_equal(answer.profiles[VIEW_INUSE]->weight, 150);
	assert_int_equal(answer.profiles[VIEW_INUSE]->view, VIEW_INUSE);
	assert_int_equal(answer.profiles[VIEW_INUSE]->lost, 0);
	assert_int_equal(answer.profiles[VIEW_MMAP]->weight, 0);
	assert_null(answer.profiles[VIEW_ALL]);
	forget(&answer);
	assert_int_equal(heap_stats(scene).entries, 2);
	assert_int_equal(heap_stats(scene).unnamed, 0);
}

static void what_was_mapped_is_held_until_it_is_unmapped(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene, &scene->process);

	map(scene, &scene->process, MAPPED_CAME, 0x10000, 0x14000);
	assert_int_equal(held(scene, subscriber, VIEW_MMAP), 0x4000);
	map(scene, &scene->process, MAPPED_GONE, 0x11000, 0x12000);
	assert_int_equal(held(scene, subscriber, VIEW_MMAP), 0x3000);
	assert_int_equal(heap_stats(scene).ranges, 2);
}

static void each_subscriber_sees_its_own_processes(void **state)
{
	struct scene *scene = *state;
	struct subscriber *one = subscribe(scene, &scene->process);
	struct subscriber *two = subscribe(scene, &scene->other);

	allocate(scene, &scene->process, 0x1000, 100);
	allocate(scene, &scene->other, 0x1000, 7);
	assert_int_equal(held(scene, one, VIEW_INUSE), 100);
	assert_int_equal(held(scene, two, VIEW_INUSE), 7);
}

static void one_that_comes_later_sees_what_was_held_before(void **state)
{
	struct scene *scene = *state;

	subscribe(scene, &scene->process);
	allocate(scene, &scene->process, 0x1000, 100);
	struct subscriber *later = subscribe(scene, &scene->process);
	assert_int_equal(held(scene, later, VIEW_INUSE), 100);
}

static void what_found_no_room_is_told_from_where_one_began(void **state)
{
	struct scene *scene = *state;
	uint64_t *lost = scripted->sum.lost[PROBE_MEM_GLIBC];
	struct answer answer;

	lost[LOST_HELD_FULL] = 3;
	lost[LOST_MAPPED_FULL] = 1;
	struct subscriber *subscriber = subscribe(scene, &scene->process);
	lost[LOST_HELD_FULL] = 5;
	lost[LOST_MAPPED_FULL] = 7;
	scripted_core_drain(&scene->core);
	assert_int_equal(ask(scene, subscriber, &answer), 0);
	assert_int_equal(answer.profiles[VIEW_INUSE]->lost, 2);
	assert_int_equal(answer.profiles[VIEW_MMAP]->lost, 6);
	forget(&answer);
	/* The samples of the window are whole. */
	assert_int_equal(subscriber_profile(subscriber, PROBE_MEM_GLIBC)->lost, 0);
}

static void a_young_allocation_without_a_name_is_left_out(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene, &scene->process);
	struct allocation_key key = {.address = 0x1000, .tgid = (uint32_t)scene->process.pid};

	allocate(scene, &scene->process, 0x2000, 10);
	struct allocation allocation = {
		.stack = scene_key(&scene->process, PROBE_MEM_GLIBC, 2), /* in no window yet */
		.time_ns = loop_now_ns(),
		.bytes = 100,
		.objects = 1,
	};
	scripted_hold(&key, &allocation);
	assert_int_equal(held(scene, subscriber, VIEW_INUSE), 10);
	assert_int_equal(heap_stats(scene).young, 1);
	scripted_core_drain(&scene->core);
	assert_int_equal(held(scene, subscriber, VIEW_INUSE), 110); /* it won't get a name */
	assert_int_equal(heap_stats(scene).unnamed, 1);
}

/* ---- what is forgotten ---- */

static void what_a_process_held_goes_with_it(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene, &scene->process);
	struct subscriber *other = subscribe(scene, &scene->other);

	allocate(scene, &scene->process, 0x1000, 100);
	allocate(scene, &scene->other, 0x2000, 7);
	map(scene, &scene->process, MAPPED_CAME, 0x10000, 0x14000);
	struct life_event end = {
		.kind = LIFE_EXIT,
		.tgid = (uint32_t)scene->process.pid,
		.id = engine_target(scene->engine, scene->process.pid)->id,
		.time_ns = loop_now_ns(),
	};
	scripted_life(&end);
	assert_int_equal(held(scene, subscriber, VIEW_INUSE), 0);
	assert_int_equal(held(scene, subscriber, VIEW_MMAP), 0);
	assert_int_equal(held(scene, other, VIEW_INUSE), 7);
	assert_false(scripted_is_held(0x1000)); /* nor does the kernel keep it */
	assert_true(scripted_is_held(0x2000));
	assert_int_equal(heap_stats(scene).dead, 1);
	assert_int_equal(heap_stats(scene).entries, 1);
}

static void a_new_program_holds_nothing_of_the_old_one(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene, &scene->process);
	struct target_value value;

	allocate(scene, &scene->process, 0x1000, 100);
	map(scene, &scene->process, MAPPED_CAME, 0x10000, 0x14000);
	assert_int_equal(tracer_target_get(scripted, scene->process.pid, &value), 0);
	struct life_event exec = {.kind = LIFE_EXEC,
				  .tgid = (uint32_t)scene->process.pid,
				  .id = value.id + 1,
				  .old_id = value.id,
				  .time_ns = loop_now_ns(),
				  .comm = "next"};
	value.id++;
	scripted_target(scene->process.pid, &value);
	scripted_life(&exec);
	assert_int_equal(held(scene, subscriber, VIEW_INUSE), 0);
	assert_int_equal(held(scene, subscriber, VIEW_MMAP), 0);
	allocate(scene, &scene->process, 0x3000, 9);
	assert_int_equal(held(scene, subscriber, VIEW_INUSE), 9);
}

static void a_new_name_changes_nothing_of_a_target(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene, &scene->process);
	struct target_value value;

	allocate(scene, &scene->process, 0x1000, 100);
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
	assert_int_equal(held(scene, subscriber, VIEW_INUSE), 100);
}

static bool is_forgotten(void *arg)
{
	const uint64_t *address = arg;

	return !scripted_is_held(*address);
}

static void one_that_is_no_target_any_more_is_forgotten(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene, &scene->process);
	uint64_t address = 0x1000;

	subscribe(scene, &scene->other);
	allocate(scene, &scene->process, address, 100);
	engine_unsubscribe(scene->engine, subscriber); /* its frees aren't seen from now on */
	scripted_core_until(&scene->core, is_forgotten, &address);
}

static void a_probe_that_stops_forgets_all(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene, &scene->process);
	struct answer answer;

	allocate(scene, &scene->process, 0x1000, 100);
	map(scene, &scene->process, MAPPED_CAME, 0x10000, 0x14000);
	assert_int_equal(subscriber_add_probes(subscriber, ON(ONCPU)), 0);
	subscriber_remove_probes(subscriber, ON(MEM_GLIBC));
	assert_int_equal(ask(scene, subscriber, &answer), -ENOENT);
	assert_int_equal(heap_stats(scene).entries, 0);
	assert_int_equal(heap_stats(scene).ranges, 0);
	scripted_core_drain(&scene->core);
	assert_int_equal(heap_stats(scene).stack_cache.stacks, 0);
	map(scene, &scene->process, MAPPED_CAME, 0x10000, 0x14000); /* it was on its way */
	assert_int_equal(heap_stats(scene).ranges, 0);

	assert_int_equal(subscriber_add_probes(subscriber, ON(MEM_GLIBC)), 0);
	scene_sampled(scene, &scene->process, ON(ONCPU) | ON(MEM_GLIBC));
	assert_int_equal(held(scene, subscriber, VIEW_INUSE), 0);
}

/* ---- errors ---- */

static void who_does_not_collect_it_cannot_ask(void **state)
{
	struct scene *scene = *state;
	struct subscriber *oncpu = scene_subscribe(scene, &scene->process, ON(ONCPU));
	struct answer answer;

	subscribe(scene, &scene->other);
	assert_int_equal(ask(scene, oncpu, &answer), -ENOENT);
}

static void without_a_descriptor_it_cannot_be_read(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene, &scene->process);
	struct answer answer;

	scripted_fail(SCRIPTED_HELD_FD, -EMFILE);
	assert_int_equal(ask(scene, subscriber, &answer), -EMFILE);
	scripted_fail(SCRIPTED_HELD_FD, 0);
	assert_int_equal(held(scene, subscriber, VIEW_INUSE), 0);
}

static void a_reading_that_fails_is_told_and_counted(void **state)
{
	struct scene *scene = *state;
	struct subscriber *subscriber = subscribe(scene, &scene->process);
	struct answer answer;

	allocate(scene, &scene->process, 0x1000, 100);
	held(scene, subscriber, VIEW_INUSE);
	scripted_fail(SCRIPTED_HELD_READ, -EIO);
	assert_int_equal(ask(scene, subscriber, &answer), -EIO);
	assert_null(answer.profiles[VIEW_INUSE]);
	assert_int_equal(heap_stats(scene).failed, 1);
	assert_int_equal(heap_stats(scene).entries, 1); /* as of the one before */
	scripted_fail(SCRIPTED_HELD_READ, 0);
	assert_int_equal(held(scene, subscriber, VIEW_INUSE), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_not_freed_is_held),
		TEST(what_was_mapped_is_held_until_it_is_unmapped),
		TEST(each_subscriber_sees_its_own_processes),
		TEST(one_that_comes_later_sees_what_was_held_before),
		TEST(what_found_no_room_is_told_from_where_one_began),
		TEST(a_young_allocation_without_a_name_is_left_out),
		TEST(what_a_process_held_goes_with_it),
		TEST(a_new_program_holds_nothing_of_the_old_one),
		TEST(a_new_name_changes_nothing_of_a_target),
		TEST(one_that_is_no_target_any_more_is_forgotten),
		TEST(a_probe_that_stops_forgets_all),
		TEST(who_does_not_collect_it_cannot_ask),
		TEST(without_a_descriptor_it_cannot_be_read),
		TEST(a_reading_that_fails_is_told_and_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
