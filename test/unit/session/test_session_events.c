// SPDX-License-Identifier: GPL-2.0-or-later
/* Events that params name, and their slots among the probes. */
#include "unit/lib/unit.h"

#include "kind/kind.h"
#include "loop/loop.h"
#include "session/session_events.h"
#include "session/session_params.h"

#define TICK "u:/usr/lib/libx.so:tick"
#define TOCK "u:/usr/lib/libx.so:tock"

/* Params in force, and those of the next body. */
struct scene {
	struct params before, params;
	struct why why;
};

static struct kind_slot *slot_at(unsigned slot)
{
	return kind_get(PROBE_SLOT_FIRST + slot)->slot;
}

/* Nobody has named any event so far. */
static int begin_scene(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	for (unsigned i = 0; i < PROBE_SLOTS_COUNT; i++)
		*slot_at(i) = (struct kind_slot){0};
	params_default(flamegraph_params(), &scene->before);
	params_default(flamegraph_params(), &scene->params);
	*state = scene;
	return 0;
}

static int end_scene(void **state)
{
	free(*state);
	return 0;
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, begin_scene, end_scene)

/* Begins a body on top of those in force, which names its events anew. */
static void begin_body(struct scene *scene)
{
	scene->params = scene->before;
	events_clear(&scene->params);
}

static int add_event(struct scene *scene, const char *word, const char *what)
{
	scene->why.text[0] = '\0';
	return events_add(&scene->params, &scene->before, word, what, &scene->why);
}

static void add_numbered(struct scene *scene, unsigned from, unsigned to)
{
	char word[EVENT_WORD_BYTES];

	for (unsigned i = from; i < to; i++) {
		snprintf(word, sizeof(word), "e%u", i);
		if (add_event(scene, word, TICK) < 0)
			fail_msg("%s is refused: %s", word, scene->why.text);
	}
}

/* Takes the body over, as a PUT that is accepted. */
static void end_body(struct scene *scene)
{
	events_settle(&scene->params);
	events_define(&scene->params);
	scene->before = scene->params;
}

/* Returns the slot of a name in the body, or -ENOENT. */
static int slot_of(const struct scene *scene, const char *word)
{
	char name[80];

	snprintf(name, sizeof(name), "event:%s", word);
	int probe = events_find(&scene->params, name);
	return probe < 0 ? probe : probe - PROBE_SLOT_FIRST;
}

/* Lets the probes of all slots rest for so long. */
static void let_rest(uint64_t ns)
{
	for (unsigned i = 0; i < PROBE_SLOTS_COUNT; i++)
		slot_at(i)->free_ns = loop_now_ns() + ns;
}

/* ---- names and texts ---- */

static void an_event_is_kept_with_its_name_and_text(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(add_event(scene, "reads", TICK), 0);
	assert_int_equal(slot_of(scene, "reads"), 0);
	assert_string_equal(events_at(&scene->params, 0)->word, "reads");
	assert_string_equal(events_at(&scene->params, 0)->what, TICK);
	for (unsigned i = 1; i < PROBE_SLOTS_COUNT; i++)
		assert_string_equal(events_at(&scene->params, i)->word, "");
}

static void a_name_that_is_given_twice_is_one_event(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(add_event(scene, "reads", TICK), 0);
	assert_int_equal(add_event(scene, "reads", TOCK), 0);
	assert_string_equal(events_at(&scene->params, 0)->what, TOCK);
	assert_string_equal(events_at(&scene->params, 1)->word, "");
}

static void names_are_short_and_of_few_letters(void **state)
{
	static const char *const wrong[] = {
		"",    "Reads", "a b",	    "a.b", "a:b",
		"a/b", "..",	"\xc3\xa4", "a\n", "r23456789_123456789_123456789_123"};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (add_event(scene, wrong[i], TICK) != -EINVAL)
			fail_msg("it isn't refused: %s", wrong[i]);
		assert_has(scene->why.text, "must be 1 to 32 of the letters");
	}
	assert_int_equal(add_event(scene, "r23456789_123456789-123456789_12", TICK), 0);
	assert_int_equal(add_event(scene, "-", TICK), 0);
	assert_int_equal(add_event(scene, "0", TICK), 0);
	assert_string_equal(events_at(&scene->params, 0)->word, "r23456789_123456789-123456789_12");
}

static void a_wrong_text_is_refused_with_what_is_expected(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(add_event(scene, "reads", "u:libx.so:tick"), -EINVAL);
	assert_has(scene->why.text, "params.events.reads invalid value: an event is t:GROUP");
	assert_string_equal(events_at(&scene->params, 0)->word, "");
}

static void a_name_is_found_in_any_case_with_its_prefix(void **state)
{
	struct scene *scene = *state;

	add_event(scene, "ticks", TICK);
	add_event(scene, "reads-2", TICK);
	assert_int_equal(events_find(&scene->params, "event:reads-2"), PROBE_EVENT_1);
	assert_int_equal(events_find(&scene->params, "EVENT:Reads-2"), PROBE_EVENT_1);
	assert_int_equal(events_find(&scene->params, "event:reads"), -ENOENT);
	assert_int_equal(events_find(&scene->params, "event:reads-22"), -ENOENT);
	assert_int_equal(events_find(&scene->params, "event:"), -ENOENT);
	assert_int_equal(events_find(&scene->params, "reads-2"), -ENOENT);
	assert_int_equal(events_find(&scene->params, ""), -ENOENT);
	assert_int_equal(events_find(&scene->before, "event:reads-2"), -ENOENT);
	assert_int_equal(events_find(NULL, "event:reads-2"), -ENOENT);
}

/* ---- slots ---- */

static void a_slot_stays_while_its_event_is_named(void **state)
{
	struct scene *scene = *state;

	add_numbered(scene, 0, 3);
	end_body(scene);
	begin_body(scene);
	assert_int_equal(add_event(scene, "e2", TOCK), 0);
	assert_int_equal(add_event(scene, "new", TICK), 0);
	assert_int_equal(add_event(scene, "e0", TICK), 0);
	assert_int_equal(slot_of(scene, "e0"), 0);
	assert_int_equal(slot_of(scene, "e2"), 2);
	assert_int_equal(slot_of(scene, "new"), 3);
	assert_int_equal(slot_of(scene, "e1"), -ENOENT);
	assert_string_equal(events_at(&scene->params, 2)->what, TOCK);
}

/* Returns how many probes are called by a name. */
static unsigned called(const char *word)
{
	unsigned count = 0;

	for (unsigned i = 0; i < PROBE_SLOTS_COUNT; i++)
		count += strcmp(slot_at(i)->word, word) == 0;
	return count;
}

static void name_again(struct scene *scene, const char *word, int slot)
{
	begin_body(scene);
	assert_int_equal(add_event(scene, word, TOCK), 0);
	assert_int_equal(slot_of(scene, word), slot);
	end_body(scene);
	assert_int_equal(called(word), 1);
}

static void a_name_that_is_dropped_and_comes_again_has_its_slot_again(void **state)
{
	struct scene *scene = *state;

	add_numbered(scene, 0, 3);
	end_body(scene);
	begin_body(scene);
	end_body(scene);
	name_again(scene, "e1", 1);
	assert_int_equal(kind_find("event:e1"), PROBE_EVENT_1);
	begin_body(scene);
	end_body(scene);
	let_rest(60 * NS_PER_S);
	name_again(scene, "e2", 2);
	begin_body(scene);
	end_body(scene);
	slot_at(0)->is_on = true; /* by a session on demand */
	name_again(scene, "e0", 0);
}

static void two_probes_never_have_one_name(void **state)
{
	struct scene *scene = *state;

	add_numbered(scene, 0, PROBE_SLOTS_COUNT);
	end_body(scene);
	begin_body(scene);
	end_body(scene);
	begin_body(scene);
	add_event(scene, "new", TICK); /* in the place of e0 */
	add_event(scene, "e0", TICK);
	end_body(scene);
	assert_int_equal(called("new"), 1);
	assert_int_equal(called("e0"), 1);
}

static void a_dropped_events_slot_is_given_to_another_one_later(void **state)
{
	struct scene *scene = *state;

	add_numbered(scene, 0, PROBE_SLOTS_COUNT);
	end_body(scene);
	let_rest(60 * NS_PER_S);
	begin_body(scene);
	add_numbered(scene, 1, PROBE_SLOTS_COUNT);
	end_body(scene);
	begin_body(scene);
	add_numbered(scene, 1, PROBE_SLOTS_COUNT);
	assert_int_equal(add_event(scene, "new", TICK), -EBUSY);
	let_rest(0);
	assert_int_equal(add_event(scene, "new", TICK), 0);
	assert_int_equal(slot_of(scene, "new"), 0);
}

static void a_slot_that_never_had_a_name_comes_first(void **state)
{
	struct scene *scene = *state;

	add_numbered(scene, 0, 2);
	end_body(scene);
	begin_body(scene);
	end_body(scene);
	begin_body(scene);
	add_numbered(scene, 10, 10 + PROBE_SLOTS_COUNT);
	assert_int_equal(slot_of(scene, "e10"), 2);
	assert_int_equal(slot_of(scene, "e23"), 15);
	assert_int_equal(slot_of(scene, "e24"), 0);
	assert_int_equal(slot_of(scene, "e25"), 1);
}

static void the_slot_of_an_event_in_force_isnt_given_away_in_the_body_that_drops_it(void **state)
{
	struct scene *scene = *state;

	add_numbered(scene, 0, PROBE_SLOTS_COUNT);
	end_body(scene);
	begin_body(scene);
	add_numbered(scene, 1, PROBE_SLOTS_COUNT);
	assert_int_equal(add_event(scene, "new", TICK), -EBUSY);
	assert_has(scene->why.text, "leave them out first");
	assert_int_equal(add_event(scene, "e0", TICK), 0);
}

static void a_seventeenth_event_is_refused(void **state)
{
	struct scene *scene = *state;

	add_numbered(scene, 0, PROBE_SLOTS_COUNT);
	for (unsigned i = 0; i < PROBE_SLOTS_COUNT; i++)
		assert_int_not_equal(events_at(&scene->params, i)->word[0], '\0');
	assert_int_equal(add_event(scene, "e16", TICK), -E2BIG);
	assert_has(scene->why.text, "params.events has more than 16 events");
	assert_int_equal(add_event(scene, "e7", TOCK), 0); /* that is no further one */
}

static void a_slot_whose_probe_is_on_isnt_given_away(void **state)
{
	struct scene *scene = *state;

	slot_at(0)->is_on = slot_at(2)->is_on = true;
	add_event(scene, "a", TICK);
	add_event(scene, "b", TICK);
	assert_int_equal(slot_of(scene, "a"), 1);
	assert_int_equal(slot_of(scene, "b"), 3);
}

static void a_slot_whose_probe_rests_isnt_given_away(void **state)
{
	struct scene *scene = *state;

	slot_at(0)->free_ns = loop_now_ns() + 60 * NS_PER_S;
	slot_at(1)->free_ns = loop_now_ns();
	add_event(scene, "a", TICK);
	assert_int_equal(slot_of(scene, "a"), 1);
}

static void where_all_slots_are_on_or_rest_one_has_to_wait(void **state)
{
	struct scene *scene = *state;

	let_rest(60 * NS_PER_S);
	slot_at(3)->is_on = true;
	slot_at(3)->free_ns = 0;
	assert_int_equal(add_event(scene, "a", TICK), -EBUSY);
	assert_has(scene->why.text, "less than a minute ago");
	assert_int_equal(slot_of(scene, "a"), -ENOENT);
	slot_at(3)->is_on = false;
	assert_int_equal(add_event(scene, "a", TICK), 0);
	assert_int_equal(slot_of(scene, "a"), 3);
}

/* ---- all of them ---- */

static void all_events_are_forgotten(void **state)
{
	struct scene *scene = *state;
	struct params defaults;

	params_default(flamegraph_params(), &defaults);
	add_numbered(scene, 0, PROBE_SLOTS_COUNT);
	events_settle(&scene->params);
	events_clear(&scene->params);
	assert_memory_equal(&scene->params, &defaults, sizeof(defaults));
}

static void events_share_their_time_and_the_unnamed_have_none(void **state)
{
	struct scene *scene = *state;

	add_numbered(scene, 0, 2);
	scene->params.event_time = 1;
	scene->params.event_min_us = 250;
	events_settle(&scene->params);
	for (unsigned i = 0; i < PROBE_SLOTS_COUNT; i++) {
		assert_int_equal(events_at(&scene->params, i)->time, i < 2 ? 1 : 0);
		assert_int_equal(events_at(&scene->params, i)->min_us, i < 2 ? 250 : 0);
	}
	scene->params.event_time = scene->params.event_min_us = 0;
	events_settle(&scene->params);
	assert_int_equal(events_at(&scene->params, 0)->time, 0);
	assert_int_equal(events_at(&scene->params, 0)->min_us, 0);
}

static void the_unnamed_are_all_other_slots(void **state)
{
	const uint32_t all = (1u << PROBE_COUNT) - (1u << PROBE_SLOT_FIRST);
	struct scene *scene = *state;

	assert_int_equal(events_unnamed(&scene->params), all);
	slot_at(0)->is_on = true;
	add_event(scene, "a", TICK);
	assert_int_equal(events_unnamed(&scene->params), all & ~(1u << PROBE_EVENT_1));
	slot_at(0)->is_on = false;
	add_numbered(scene, 0, PROBE_SLOTS_COUNT - 1);
	assert_int_equal(events_unnamed(&scene->params), 0);
}

static void probes_are_called_by_the_names_of_the_params(void **state)
{
	struct scene *scene = *state;

	add_event(scene, "a-1", TICK);
	assert_false(kind_exists(PROBE_EVENT_0));
	events_define(&scene->params);
	assert_int_equal(kind_find("event:A-1"), PROBE_EVENT_0);
	assert_string_equal(kind_get(PROBE_EVENT_0)->upload.series, "event_a_1");
	assert_false(kind_exists(PROBE_EVENT_1));
	begin_body(scene);
	events_define(&scene->params); /* what is still written has its name for a while */
	assert_int_equal(kind_find("event:a-1"), -ENOENT);
	assert_string_equal(kind_get(PROBE_EVENT_0)->name, "event:a-1");
	assert_true(kind_exists(PROBE_EVENT_0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(an_event_is_kept_with_its_name_and_text),
		SCENE_TEST(a_name_that_is_given_twice_is_one_event),
		SCENE_TEST(names_are_short_and_of_few_letters),
		SCENE_TEST(a_wrong_text_is_refused_with_what_is_expected),
		SCENE_TEST(a_name_is_found_in_any_case_with_its_prefix),
		SCENE_TEST(a_slot_stays_while_its_event_is_named),
		SCENE_TEST(a_name_that_is_dropped_and_comes_again_has_its_slot_again),
		SCENE_TEST(two_probes_never_have_one_name),
		SCENE_TEST(a_dropped_events_slot_is_given_to_another_one_later),
		SCENE_TEST(a_slot_that_never_had_a_name_comes_first),
		SCENE_TEST(the_slot_of_an_event_in_force_isnt_given_away_in_the_body_that_drops_it),
		SCENE_TEST(a_seventeenth_event_is_refused),
		SCENE_TEST(a_slot_whose_probe_is_on_isnt_given_away),
		SCENE_TEST(a_slot_whose_probe_rests_isnt_given_away),
		SCENE_TEST(where_all_slots_are_on_or_rest_one_has_to_wait),
		SCENE_TEST(all_events_are_forgotten),
		SCENE_TEST(events_share_their_time_and_the_unnamed_have_none),
		SCENE_TEST(the_unnamed_are_all_other_slots),
		SCENE_TEST(probes_are_called_by_the_names_of_the_params),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
