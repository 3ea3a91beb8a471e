// SPDX-License-Identifier: GPL-2.0-or-later
/* What Java VMs have recorded, on its way to its subscribers; without memory it is counted. */
#include "unit/lib/failing_alloc.h"

#include "window/batch.h"

#define EVENTS 7
#define BIT    1 /* of the subscriber that it is for */

/* Who subscribes: the first one alone is to have it. */
static const struct {
	uint32_t bit;
	enum probe probe;
} subscribers[] = {{BIT, PROBE_ONCPU}, {BIT, PROBE_MEM}, {BIT << 1, PROBE_ONCPU}};

#define COUNT ARRAY_SIZE(subscribers)

static struct {
	struct batch *batch;
	struct stack_cache *stack_cache;
	struct symbolizer *symbolizer;
	struct profile *profiles[COUNT];
} test;

static int set_up(void **unused)
{
	static const struct stack_cache_limits limits = {10, 100, 1 << 10};

	(void)unused;
	memset(&failing, 0, sizeof(failing));
	assert_int_equal(batch_new(&test.batch), 0);
	assert_int_equal(stack_cache_new(&test.stack_cache, &limits), 0);
	assert_int_equal(symbolizer_new(&test.symbolizer), 0);
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(profile_new(&test.profiles[i], subscribers[i].probe, 1, 1), 0);
		struct sink sink = {.bit = subscribers[i].bit,
				    .profile = profile_ref(test.profiles[i])};
		assert_int_equal(batch_add_sink(test.batch, &sink), 0);
	}
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT; i++)
		profile_unref(test.profiles[i]);
	symbolizer_free(test.symbolizer);
	stack_cache_free(test.stack_cache);
	batch_free(test.batch);
	return 0;
}

/* Two stacks without frames, of EVENTS events together. */
static int add(bool without_memory)
{
	struct target target = {.pid = 7, .comm = "java"};
	struct jfrfile *file = calloc(1, sizeof(*file));

	assert_non_null(file);
	file->text = strdup("");
	file->stacks = calloc(2, sizeof(*file->stacks));
	assert_non_null(file->text);
	assert_non_null(file->stacks);
	file->stacks_count = 2;
	file->stacks[0] = (struct jfr_stack){.weight = 2, .events = 2};
	file->stacks[1] = (struct jfr_stack){.weight = EVENTS - 2, .events = EVENTS - 2};
	failing.left = without_memory;
	return batch_add_recorded(test.batch, &target, PROBE_ONCPU, BIT, file);
}

static void assert_events(uint64_t expected)
{
	uint64_t events[PROBE_COUNT] = {0};

	batch_events(test.batch, events);
	for (int probe = 0; probe < PROBE_COUNT; probe++)
		assert_int_equal(events[probe], probe == PROBE_ONCPU ? expected : 0);
}

static void assert_named(uint64_t samples, uint64_t lost)
{
	struct batch_result result = {0};

	batch_name(test.batch, test.symbolizer, test.stack_cache, 2, &result);
	assert_int_equal(result.refused + result.unrecorded, 0);
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(test.profiles[i]->samples, i == 0 ? samples : 0);
		assert_int_equal(test.profiles[i]->lost, i == 0 ? lost : 0);
	}
}

static void who_subscribes_to_the_probe_gets_it(void **unused)
{
	(void)unused;
	assert_int_equal(add(false), 0);
	assert_int_equal(add(false), 0);
	assert_events(2 * EVENTS);
	assert_named(2 * EVENTS, 0);
}

static void what_finds_no_memory_is_lost_for_him(void **unused)
{
	(void)unused;
	if (!__real_malloc) {
		print_message("not linked with --wrap=malloc\n");
		skip();
	}
	assert_int_equal(add(false), 0);
	assert_int_equal(add(true), -ENOMEM);
	assert_int_equal(add(false), 0); /* that one alone */
	assert_events(2 * EVENTS);
	assert_named(2 * EVENTS, EVENTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_subscribes_to_the_probe_gets_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_finds_no_memory_is_lost_for_him, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
