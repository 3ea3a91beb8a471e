// SPDX-License-Identifier: GPL-2.0-or-later
/* The scheduler's frames that a stack of a waiting thread lacks, from those that have them. */
#include "unit/lib/unit.h"

#include "window/scheduler_frames.h"

#define TEXT	  0xffffffff82000000ULL
#define PC(at)	  ((uint64_t)FRAME_KERNEL << FRAME_KIND_SHIFT | ((at)&FRAME_ADDRESS))
#define RET(at)	  ((uint64_t)FRAME_KERNEL_RETURN << FRAME_KIND_SHIFT | ((at)&FRAME_ADDRESS))
#define USER(at)  ((uint64_t)FRAME_NATIVE_RETURN << FRAME_KIND_SHIFT | (at))
#define NANOSLEEP 0xffffffff81000123ULL /* returns from do_nanosleep() to there */
#define POLL	  0xffffffff81000777ULL
#define PROGRAM	  0xffffffffc0000010ULL /* our program and what calls it */

/* __schedule, schedule, do_nanosleep, schedule_timeout */
static const uint64_t starts[] = {TEXT, TEXT + 0x100, TEXT + 0x200, TEXT + 0x300};
#define TEXT_END (TEXT + 0x400)

static int begin(void **state)
{
	struct scheduler_frames *frames;

	assert_int_equal(scheduler_frames_new(&frames), 0);
	scheduler_frames_set(frames, starts, 4, TEXT_END);
	*state = frames;
	return 0;
}

static int end(void **state)
{
	scheduler_frames_free(*state);
	return 0;
}

static struct stack head_of(size_t count)
{
	return (struct stack){.words_count = (uint16_t)count};
}

static void learn(struct scheduler_frames *frames, const uint64_t *words, size_t count)
{
	struct stack head = head_of(count);

	scheduler_frames_learn(frames, &head, words);
}

static const uint64_t at_switch[] = {PC(PROGRAM),	RET(PROGRAM + 64), RET(TEXT + 0x50),
				     RET(TEXT + 0x130), RET(TEXT + 0x280), RET(NANOSLEEP),
				     USER(0x4000)};
static const uint64_t waiting[] = {PC(NANOSLEEP), USER(0x4000), USER(0x5000)};

static bool complete(struct scheduler_frames *frames, const uint64_t *words, size_t count,
		     struct stack *whole, const uint64_t **all)
{
	struct stack head = head_of(count);

	return scheduler_frames_complete(frames, &head, words, whole, all);
}

static void a_waiting_thread_gets_the_frames_of_a_switch(void **state)
{
	const uint64_t expected[] = {RET(TEXT + 0x50), RET(TEXT + 0x130), RET(TEXT + 0x280),
				     RET(NANOSLEEP),   USER(0x4000),	  USER(0x5000)};
	const uint64_t *all;
	struct stack whole;

	assert_false(complete(*state, waiting, 3, &whole, &all)); /* nothing was seen yet */
	learn(*state, at_switch, 7);
	assert_true(complete(*state, waiting, 3, &whole, &all));
	assert_int_equal(whole.words_count, 6);
	assert_memory_equal(all, expected, sizeof(expected));
	/* A stack of a switch lacks nothing. */
	assert_false(complete(*state, at_switch, 7, &whole, &all));
	assert_false(complete(*state, at_switch + 2, 5, &whole, &all));
}

/* Another place in the same functions is the same; another function isn't. */
static void another_way_on_is_no_guess(void **state)
{
	const uint64_t same[] = {RET(TEXT + 0x90), RET(TEXT + 0x150), RET(TEXT + 0x2f0),
				 RET(NANOSLEEP), USER(0x4000)};
	const uint64_t other[] = {RET(TEXT + 0x50), RET(TEXT + 0x130), RET(TEXT + 0x380),
				  RET(NANOSLEEP), USER(0x4000)};
	const uint64_t *all;
	struct stack whole;

	learn(*state, at_switch, 7);
	learn(*state, same, 5);
	assert_true(complete(*state, waiting, 3, &whole, &all));
	learn(*state, other, 5);
	assert_false(complete(*state, waiting, 3, &whole, &all));
}

static void each_call_has_a_way_of_its_own(void **state)
{
	const uint64_t poll[] = {RET(TEXT + 0x50), RET(POLL), USER(0x7000)};
	const uint64_t waits[] = {PC(POLL), USER(0x7000)};
	const uint64_t *all;
	struct stack whole;

	learn(*state, at_switch, 7);
	assert_false(complete(*state, waits, 2, &whole, &all));
	learn(*state, poll, 3);
	assert_true(complete(*state, waits, 2, &whole, &all));
	assert_int_equal(whole.words_count, 3);
	assert_memory_equal(all, poll, sizeof(poll));
}

static void what_is_no_way_is_not_learned(void **state)
{
	const uint64_t deep[] = {RET(TEXT + 1), RET(TEXT + 2), RET(TEXT + 3), RET(TEXT + 4),
				 RET(TEXT + 5), RET(TEXT + 6), RET(TEXT + 7), RET(TEXT + 8),
				 RET(TEXT + 9), RET(NANOSLEEP)};
	const uint64_t alone[] = {RET(TEXT + 0x50), RET(TEXT + 0x130)};
	const uint64_t user[] = {RET(TEXT + 0x50), USER(NANOSLEEP & FRAME_ADDRESS)};
	const uint64_t *all;
	struct stack whole;

	learn(*state, deep, 10);
	learn(*state, alone, 2);
	learn(*state, user, 2);
	learn(*state, waiting, 3);
	learn(*state, waiting, 0);
	assert_false(complete(*state, waiting, 3, &whole, &all));
	assert_false(complete(*state, waiting, 0, &whole, &all));
}

static void without_the_kernels_names_nothing_is_completed(void **state)
{
	struct scheduler_frames *frames;
	const uint64_t *all;
	struct stack whole;

	(void)state;
	assert_int_equal(scheduler_frames_new(&frames), 0);
	learn(frames, at_switch, 7);
	assert_false(complete(frames, waiting, 3, &whole, &all));
	scheduler_frames_set(frames, starts, 0, 0);
	learn(frames, at_switch, 7);
	assert_false(complete(frames, waiting, 3, &whole, &all));
	scheduler_frames_free(frames);
	scheduler_frames_free(NULL);
}

#define FRAMES_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRAMES_TEST(a_waiting_thread_gets_the_frames_of_a_switch),
		FRAMES_TEST(another_way_on_is_no_guess),
		FRAMES_TEST(each_call_has_a_way_of_its_own),
		FRAMES_TEST(what_is_no_way_is_not_learned),
		FRAMES_TEST(without_the_kernels_names_nothing_is_completed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
