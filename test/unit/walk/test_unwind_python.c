// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/python/python_walks.h"
#include "unit/python/interpreter_maker.h"

static void until_3_10_each_frame_has_a_loop(void **state)
{
	uint64_t frame;

	(void)state;
	make(CPYTHON_ENTRY_EACH);
	frame = python_frame_add(code[0], 10, 0, 0);
	frame = python_frame_add(code[1], 20, frame, 0);
	make_thread(python_frame_add(code[2], UINT32_MAX, frame, 0));
	expect_frames(PYTHON_WHOLE, {ENTRY(code[2]), UINT32_MAX}, {ENTRY(code[1]), 20},
		      {ENTRY(code[0]), 10});
}

static void in_3_11_a_frame_says_whether_the_loop_was_entered(void **state)
{
	uint64_t frame;

	(void)state;
	make(CPYTHON_ENTRY_FLAG);
	frame = python_frame_add(code[0], 10, 0, 1);
	frame = python_frame_add(code[1], 20, frame, 0);
	frame = python_frame_add(code[2], 30, frame, 1);
	make_thread(python_frame_add(code[3], 40, frame, 0));
	expect_frames(PYTHON_WHOLE, {FRAME(code[3]), 40}, {ENTRY(code[2]), 30},
		      {FRAME(code[1]), 20}, {ENTRY(code[0]), 10});
}

static uint64_t shim(uint64_t previous)
{
	return python_frame_add(code[7], 0, previous, 3);
}

static void from_3_12_on_a_shim_is_behind_each_entry(void **state)
{
	uint64_t frame;

	(void)state;
	make(CPYTHON_ENTRY_SHIM);
	python.at.code_tag = 3;
	python_tell();
	frame = python_frame_add(code[0], 10, shim(0), 0);
	frame = python_frame_add(code[1], 20, frame, 1); /* a generator's */
	frame = python_frame_add(code[2], 30, shim(frame), 2);
	make_thread(frame);
	expect_frames(PYTHON_WHOLE, {ENTRY(code[2]), 30}, {FRAME(code[1]), 20},
		      {ENTRY(code[0]), 10});
}

static void a_loop_without_a_frame_is_told(void **state)
{
	uint64_t frame, thread;

	(void)state;
	make(CPYTHON_ENTRY_SHIM);
	frame = shim(python_frame_add(code[0], 10, shim(0), 0));
	thread = make_thread(frame); /* at the leaf */
	expect_frames(PYTHON_WHOLE, {ENTRY(0), 0}, {ENTRY(code[0]), 10});
	frame = python_frame_add(code[1], 20, shim(frame), 0); /* in between */
	maker_put(thread + THREAD_FRAME, frame);
	expect_frames(PYTHON_WHOLE, {ENTRY(code[1]), 20}, {ENTRY(0), 0}, {ENTRY(code[0]), 10});
	maker_put(thread + THREAD_FRAME, shim(0));
	expect_frames(PYTHON_WHOLE, {ENTRY(0), 0});
}

static void from_3_15_on_a_threads_first_frame_is_no_loop(void **state)
{
	uint64_t base;

	(void)state;
	make(CPYTHON_ENTRY_SHIM);
	python.at.version = 0x030f0000;
	python_tell();
	base = python_frame_add(0, 0, 0, 3);
	make_thread(python_frame_add(code[0], 10, shim(base), 0));
	expect_frames(PYTHON_WHOLE, {ENTRY(code[0]), 10});
}

static void a_chain_is_whole_up_to_1000_frames(void **state)
{
	(void)state;
	for (int depth = 999; depth <= 1001; depth++) {
		uint64_t frame = 0, words = 2 * (uint64_t)(depth > 1000 ? 1000 : depth);

		make(CPYTHON_ENTRY_SHIM);
		for (int i = 0; i < depth; i++) /* each called by native code */
			frame = python_frame_add(code[0], (uint32_t)i, shim(frame), 0);
		make_thread(frame);
		assert_int_equal(python_walk(), depth > 1000 ? PYTHON_DEPTH : PYTHON_WHOLE);
		assert_int_equal(maker.walk->python.words_count, words);
		assert_int_equal((uint32_t)maker.walk->words[PYTHON_AT + words - 1],
				 depth > 1000 ? 1 : 0);
		maker_done();
	}
}

static void a_circle_of_frames_is_damage(void **state)
{
	(void)state;
	for (int size = 1; size < 40; size++) {
		uint64_t first, frame;

		make(CPYTHON_ENTRY_EACH);
		first = frame = python_frame_add(code[0], 1, 0, 0);
		for (int i = 1; i < size; i++)
			frame = python_frame_add(code[1], 2, frame, 0);
		maker_put(first + FRAME_PREVIOUS, frame);
		make_thread(python_frame_add(code[2], 3, frame, 0));
		assert_int_equal(python_walk(), PYTHON_DAMAGED);
		assert_in_range(maker.walk->python.words_count, 2 * size, 8 * size + 8);
		maker_done();
	}
}

static void what_is_no_code_object_ends_the_walk(void **state)
{
	uint64_t frame;

	(void)state;
	make(CPYTHON_ENTRY_FLAG);
	frame = python_frame_add(code[1], 20, 0, 1);
	make_thread(python_frame_add(code[0], 10, frame, 0));
	maker_put(code[1] + 8, CODE_TYPE + 8);
	expect_frames(PYTHON_DAMAGED, {FRAME(code[0]), 10});
}

static void what_can_not_be_read_ends_the_walk(void **state)
{
	uint64_t frame, thread, interpreter = 0;

	(void)state;
	make(CPYTHON_ENTRY_EACH);
	frame = python_frame_add(code[1], 20, 0x1000, 0);
	thread = make_thread(python_frame_add(code[0], 10, frame, 0));
	expect_frames(PYTHON_MEMORY, {ENTRY(code[0]), 10}, {ENTRY(code[1]), 20});
	maker_put(frame + FRAME_CODE, 0x1000);
	expect_frames(PYTHON_MEMORY, {ENTRY(code[0]), 10});
	maker_put(code[0] + CODE_NAME, 0x1000);
	assert_int_equal(python_walk(), PYTHON_MEMORY);
	maker_put(thread + THREAD_FRAME, 0x1000);
	assert_int_equal(python_walk(), PYTHON_MEMORY);
	maker.walk->head.target_id++;
	memcpy(&interpreter, maker_memory(RUNTIME + HEADS, 8), 8);
	maker_put(interpreter + INTERPRETER_THREADS, 0x1000);
	assert_int_equal(python_walk(), PYTHON_MEMORY);
	maker_put(RUNTIME + HEADS, 0x1000);
	assert_int_equal(python_walk(), PYTHON_MEMORY);
	python.at.runtime = 0x1000;
	python_tell();
	assert_int_equal(python_walk(), PYTHON_MEMORY);
	assert_int_equal(maker.walk->python.words_count, 0);
}

static void a_thread_without_python_has_no_frames(void **state)
{
	(void)state;
	make(CPYTHON_ENTRY_SHIM);
	assert_int_equal(python_walk(), PYTHON_NONE); /* nor an interpreter yet */
	make_thread(0);
	assert_int_equal(python_walk(), PYTHON_NONE);
	python.self = SELF + 8;
	assert_int_equal(python_walk(), PYTHON_NONE);
	python.self = 0; /* not known */
	assert_int_equal(python_walk(), PYTHON_NONE);
	maker.walk->python_at = 0;
	assert_int_equal(python_walk(), PYTHON_NONE);
	assert_int_equal(maker.walk->python.words_count, 0);
}

static void the_search_ends(void **state)
{
	uint64_t interpreter, last;

	(void)state;
	make(CPYTHON_ENTRY_EACH);
	interpreter = python_interpreter_add();
	python_thread_add(interpreter, SELF, python_frame_add(code[0], 10, 0, 0));
	for (int i = 1; i < PYTHON_THREADS_MAX; i++)
		last = python_thread_add(interpreter, (uint64_t)i, 0);
	expect_frames(PYTHON_WHOLE, {ENTRY(code[0]), 10});
	maker.walk->tid++; /* nothing is remembered */
	last = python_thread_add(interpreter, 1, 0);
	assert_int_equal(python_walk(), PYTHON_SEARCHED);
	maker_put(last + THREAD_NEXT, last);
	assert_int_equal(python_walk(), PYTHON_SEARCHED);
	maker_put(interpreter + INTERPRETER_THREADS, 0);
	maker_put(interpreter + INTERPRETER_NEXT, interpreter);
	assert_int_equal(python_walk(), PYTHON_SEARCHED);
}

static void a_threads_states_in_several_interpreters_follow_each_other(void **state)
{
	uint64_t interpreter;

	(void)state;
	make(CPYTHON_ENTRY_SHIM);
	interpreter = python_interpreter_add();
	python_thread_add(interpreter, SELF, python_frame_add(code[0], 10, shim(0), 0));
	interpreter = python_interpreter_add();
	python_thread_add(interpreter, SELF + 8, python_frame_add(code[1], 20, shim(0), 0));
	interpreter = python_interpreter_add();
	python_thread_add(interpreter, SELF, 0);
	interpreter = python_interpreter_add();
	python_thread_add(interpreter, SELF, python_frame_add(code[2], 30, shim(0), 0));
	for (int i = 0; i < 2; i++)
		expect_frames(PYTHON_WHOLE, {ENTRY(code[2]), 30}, {ENTRY(code[0]), 10});
}

#define LOOP 0x555500001000ULL

/* A thread in the interpreter's loop (or right behind its end), called by `caller`; the newest
 * CFrame has `leaf`. Returns where `leaf` is. */
static uint64_t make_in_loop(uint64_t leaf, uint64_t caller, bool behind)
{
	uint64_t cframe, before = python_object(), thread;

	python.at.loop = LOOP;
	python.at.loop_bytes = 0x100;
	python_tell();
	maker.walk->user.pc = LOOP + (behind ? 0x100 : 0xff);
	thread = make_thread(leaf);
	memcpy(&cframe, maker_memory(thread + THREAD_FRAME, 8), sizeof(cframe));
	maker_put(before + CFRAME, caller);
	maker_put(cframe + CFRAME + 8, caller ? before : thread + OBJECT_BYTES - 16);
	return cframe + CFRAME;
}

static void make_with_cframe(enum cpython_entry entry)
{
	make(entry);
	python.at.cframe = CFRAME;
}

static void a_loop_that_begins_has_no_frame_yet(void **state)
{
	/* What may lie on the stack, at the place of the loop's frame. */
	for (int what = 0; what < 4; what++) {
		uint64_t caller, leaf[] = {0, 0x1000, HEAP + 0x900, code[1]};

		make_with_cframe(what % 2 ? CPYTHON_ENTRY_SHIM : CPYTHON_ENTRY_FLAG);
		caller = what % 2 ? python_frame_add(code[0], 10, shim(0), 0)
				  : python_frame_add(code[0], 10, 0, 1);
		make_in_loop(leaf[what], caller, false);
		expect_frames(PYTHON_WHOLE, {ENTRY(0), 0}, {ENTRY(code[0]), 10});
		maker_done();
	}
	make_with_cframe(CPYTHON_ENTRY_FLAG); /* of the thread's first frame */
	make_in_loop(0x1000, 0, false);
	expect_frames(PYTHON_WHOLE, {ENTRY(0), 0});
	(void)state;
}

/* The CFrame before isn't there yet either. */
static void a_loop_whose_caller_is_not_known_is_told(void **state)
{
	uint64_t leaf;

	(void)state;
	make_with_cframe(CPYTHON_ENTRY_SHIM);
	leaf = make_in_loop(0, python_frame_add(code[0], 10, shim(0), 0), false);
	expect_frames(PYTHON_WHOLE, {ENTRY(0), 0}, {ENTRY(code[0]), 10});
	maker_put(leaf + 8, 0x1000);
	assert_int_equal(python_walk(), PYTHON_MEMORY);
	python_place(PYTHON_STATE_BYTES);
	maker_put(leaf + 8, python_object()); /* zeros, not near the state */
	assert_int_equal(python_walk(), PYTHON_MEMORY);
	assert_int_equal(maker.walk->python.words_count, 0);
}

static void frames_of_an_earlier_call_are_not_shown(void **state)
{
	uint64_t caller, old;

	(void)state;
	make_with_cframe(CPYTHON_ENTRY_FLAG);
	old = python_frame_add(code[1], 20, python_frame_add(code[0], 10, 0, 1), 1);
	old = python_frame_add(code[2], 30, old, 0);
	caller = python_frame_add(code[3], 40, 0, 1);
	make_in_loop(old, caller, false);
	expect_frames(PYTHON_WHOLE, {ENTRY(0), 0}, {ENTRY(code[3]), 40});
	maker_done();

	make_with_cframe(CPYTHON_ENTRY_SHIM);
	caller = python_frame_add(code[3], 40, shim(0), 0);
	make_in_loop(python_frame_add(code[1], 20, 0, 1), caller, false); /* a generator's */
	expect_frames(PYTHON_WHOLE, {ENTRY(0), 0}, {ENTRY(code[3]), 40});
}

static void a_loop_with_its_frame_shows_it(void **state)
{
	uint64_t caller, frame;

	(void)state;
	make_with_cframe(CPYTHON_ENTRY_FLAG);
	caller = python_frame_add(code[0], 10, 0, 1);
	frame = python_frame_add(code[2], 30, python_frame_add(code[1], 20, caller, 1), 0);
	make_in_loop(frame, caller, false);
	expect_frames(PYTHON_WHOLE, {FRAME(code[2]), 30}, {ENTRY(code[1]), 20},
		      {ENTRY(code[0]), 10});
	maker_done();

	make_with_cframe(CPYTHON_ENTRY_SHIM);
	caller = python_frame_add(code[0], 10, shim(0), 0);
	frame = python_frame_add(code[2], 30, python_frame_add(code[1], 20, shim(caller), 0), 0);
	make_in_loop(frame, caller, false);
	expect_frames(PYTHON_WHOLE, {FRAME(code[2]), 30}, {ENTRY(code[1]), 20},
		      {ENTRY(code[0]), 10});
}

static void damage_elsewhere_is_told(void **state)
{
	uint64_t caller, frame, leaf;

	(void)state;
	make_with_cframe(CPYTHON_ENTRY_FLAG);
	caller = python_frame_add(code[0], 10, 0, 1);
	leaf = make_in_loop(0x1000, caller, true); /* not in the loop's function */
	assert_int_equal(python_walk(), PYTHON_MEMORY);
	maker.walk->user.pc = LOOP;
	frame = python_frame_add(code[1], 20, 0x1000, 0); /* a caller that isn't in memory */
	maker_put(leaf, frame);
	expect_frames(PYTHON_MEMORY, {FRAME(code[1]), 20});
	maker_put(caller + FRAME_CODE, 0x1000); /* behind the newest loop */
	maker_put(leaf, python_frame_add(code[1], 20, caller, 1));
	expect_frames(PYTHON_MEMORY, {ENTRY(code[1]), 20});
}

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, end)
	const struct CMUnitTest tests[] = {
		WALK(until_3_10_each_frame_has_a_loop),
		WALK(in_3_11_a_frame_says_whether_the_loop_was_entered),
		WALK(from_3_12_on_a_shim_is_behind_each_entry),
		WALK(a_loop_without_a_frame_is_told),
		WALK(from_3_15_on_a_threads_first_frame_is_no_loop),
		WALK(a_chain_is_whole_up_to_1000_frames),
		WALK(a_circle_of_frames_is_damage),
		WALK(what_is_no_code_object_ends_the_walk),
		WALK(what_can_not_be_read_ends_the_walk),
		WALK(a_thread_without_python_has_no_frames),
		WALK(the_search_ends),
		WALK(a_threads_states_in_several_interpreters_follow_each_other),
		WALK(a_loop_that_begins_has_no_frame_yet),
		WALK(a_loop_whose_caller_is_not_known_is_told),
		WALK(frames_of_an_earlier_call_are_not_shown),
		WALK(a_loop_with_its_frame_shows_it),
		WALK(damage_elsewhere_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
