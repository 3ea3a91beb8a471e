// SPDX-License-Identifier: GPL-2.0-only
/* Python's half of a stack, of interpreters made by hand. */
#include "interpreter_maker.h"

#define ENTRY(code) (code), true
#define FRAME(code) (code), false

struct expected {
	uint64_t code;
	bool entry;
	uint32_t at;
};

static uint64_t code[8]; /* of the process */

static void make(enum cpython_entry entry)
{
	python_make(entry);
	for (size_t i = 0; i < ARRAY_SIZE(code); i++)
		code[i] = python_code_add(i * 77);
}

/* The thread has these frames, in the only interpreter. */
static uint64_t make_thread(uint64_t leaf)
{
	uint64_t interpreter = python_interpreter_add(), state;

	python_thread_add(interpreter, SELF - 4096, 0);
	state = python_thread_add(interpreter, SELF, leaf);
	python_thread_add(interpreter, SELF + 4096, 0);
	return state;
}

static void check_frames(int line, unsigned why, const struct expected *expected, size_t count)
{
	unsigned is = python_walk();
	const uint64_t *words = maker.walk->words + PYTHON_AT;

	for (size_t i = 0; i < count && 2 * i < maker.walk->python.words_count; i++) {
		unsigned kind = expected[i].entry ? FRAME_PYTHON_ENTRY : FRAME_PYTHON;

		if (words[2 * i] != frame_word(kind, expected[i].code) ||
		    (uint32_t)words[2 * i + 1] != expected[i].at)
			fail_msg("line %d: frame %zu is %#llx at %u", line, i,
				 (unsigned long long)words[2 * i], (uint32_t)words[2 * i + 1]);
	}
	if (is != why || maker.walk->python.words_count != 2 * count)
		fail_msg("line %d: %u words, end %u", line, maker.walk->python.words_count, is);
}

#define expect_frames(why, ...)                                                                    \
	do {                                                                                       \
		const struct expected expected_[] = {__VA_ARGS__};                                 \
		check_frames(__LINE__, why, expected_, ARRAY_SIZE(expected_));                     \
	} while (0)

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

static void a_threads_state_is_remembered(void **state)
{
	uint64_t reads;

	(void)state;
	make(CPYTHON_ENTRY_EACH);
	make_thread(python_frame_add(code[0], 10, 0, 0));
	expect_frames(PYTHON_WHOLE, {ENTRY(code[0]), 10});
	reads = maker.reads;
	expect_frames(PYTHON_WHOLE, {ENTRY(code[0]), 10});
	assert_int_equal(maker.reads - reads, 5); /* heads, state; frame, code, name */
}

static void a_state_that_was_remembered_may_be_gone(void **state)
{
	uint64_t thread, interpreter, frame;

	(void)state;
	make(CPYTHON_ENTRY_EACH);
	frame = python_frame_add(code[0], 10, 0, 0);
	thread = make_thread(frame);
	expect_frames(PYTHON_WHOLE, {ENTRY(code[0]), 10});
	memcpy(&interpreter, maker_memory(RUNTIME + HEADS, 8), 8);
	maker_put(thread + THREAD_FRAME, 0); /* it has another one */
	python_thread_add(interpreter, SELF, python_frame_add(code[1], 20, 0, 0));
	expect_frames(PYTHON_WHOLE, {ENTRY(code[1]), 20});
	maker_put(interpreter + INTERPRETER_THREADS, thread);
	maker_put(thread + THREAD_FRAME, frame); /* that it remembers is another's by now */
	memo_at(maker.walk->memo)->python_state = interpreter;
	expect_frames(PYTHON_WHOLE, {ENTRY(code[0]), 10});
	memo_at(maker.walk->memo)->python_state = 0x1000; /* … isn't mapped any more */
	expect_frames(PYTHON_WHOLE, {ENTRY(code[0]), 10});
	assert_int_equal(memo_at(maker.walk->memo)->python_state, thread);
}

static void another_code_object_at_the_same_address_has_another_sum(void **state)
{
	const uint64_t *words;
	uint64_t name, hash, sum;

	(void)state;
	make(CPYTHON_ENTRY_EACH);
	make_thread(python_frame_add(code[0], 10, 0, 0));
	words = maker.walk->words + PYTHON_AT;
	python_walk();
	sum = words[1];
	hash = maker.walk->python.hash;
	python_walk();
	assert_int_equal(words[1], sum);
	assert_int_equal(maker.walk->python.hash, hash);
	for (int i = 0; i < CODE_SUM_WORDS; i++) {
		maker_put(code[0] + CODE_SUM + 8 * (uint64_t)i, 1);
		python_walk();
		assert_int_not_equal(words[1] >> 32, sum >> 32);
		assert_int_not_equal(maker.walk->python.hash, hash);
		sum = words[1];
	}
	memcpy(&name, maker_memory(code[0] + CODE_NAME, 8), 8);
	maker_put(name + UNICODE_HASH, 1);
	python_walk();
	assert_int_not_equal(words[1] >> 32, sum >> 32);
}

static void a_function_that_recurs_is_read_once(void **state)
{
	uint64_t frame = 0, reads;

	(void)state;
	make(CPYTHON_ENTRY_EACH);
	for (uint32_t i = 0; i < 500; i++)
		frame = python_frame_add(code[i % 2], i, frame, 0);
	make_thread(frame);
	python_walk();
	reads = maker.reads;
	python_walk();
	assert_int_equal(maker.reads - reads, 2 + 500 + 2 * 2);
}

/* Reads of a chain's second walk. */
static uint64_t reads_of(uint64_t leaf)
{
	uint64_t reads;

	make_thread(leaf);
	python_walk();
	reads = maker.reads;
	assert_int_equal(python_walk(), PYTHON_WHOLE);
	return maker.reads - reads;
}

static void check_lasti(uint32_t frames, uint32_t words_count)
{
	const uint64_t *words = maker.walk->words + PYTHON_AT;

	assert_int_equal(words_count, 2 * frames);
	for (uint32_t i = 0; i < frames; i++) {
		assert_int_equal(words[2 * i] & FRAME_ADDRESS, code[(frames - 1 - i) % 3]);
		assert_int_equal((uint32_t)words[2 * i + 1], frames - 1 - i);
	}
}

static void frames_side_by_side_are_read_together(void **state)
{
	(void)state;
	for (uint64_t gap = OBJECT_BYTES; gap >= FRAME_BYTES; gap -= 8) {
		uint64_t frame = 0, reads;

		make(CPYTHON_ENTRY_FLAG);
		python.frame_bytes = gap;
		for (uint32_t i = 0; i < 300; i++)
			frame = python_frame_add(code[i % 3], i, frame, i % 7 == 0);
		reads = reads_of(frame);
		check_lasti(300, maker.walk->python.words_count);
		if (gap == OBJECT_BYTES)
			assert_int_equal(reads, 3 + 300 + 2 * 3);
		else
			assert_in_range(reads, 3 + 300 * gap / 1024, 300 * gap / 1024 * 3 / 2 + 40);
		maker_done();
	}
}

static void no_read_leaves_the_page_of_its_frame(void **state)
{
	uint64_t frame = 0, free;

	(void)state;
	make(CPYTHON_ENTRY_FLAG);
	maker_map(HEAP - 0x2000, 0x2000); /* before it is nothing */
	free = python.next;
	python.next = HEAP - 0x2000;
	python.frame_bytes = FRAME_BYTES + 8;
	for (uint32_t i = 0; i < 60; i++)
		frame = python_frame_add(code[i % 3], i, frame, 0);
	python.next = free;
	make_thread(frame);
	assert_int_equal(python_walk(), PYTHON_WHOLE);
	check_lasti(60, maker.walk->python.words_count);
}

static void a_frame_elsewhere_is_read_there(void **state)
{
	uint64_t frame = 0, apart;

	(void)state;
	make(CPYTHON_ENTRY_SHIM);
	python.frame_bytes = FRAME_BYTES + 16;
	for (uint32_t i = 0; i < 60; i++) {
		frame = python_frame_add(code[i % 3], i, frame, 0);
		apart = python_frame_add(code[5], 77, 0, 0); /* one that has returned */
		if (i % 11 == 5) {			     /* a generator's, on the heap */
			apart = python_object();
			maker_put(apart + FRAME_CODE, code[++i % 3]);
			maker_put(apart + FRAME_INSTR, code[i % 3] + i);
			maker_put(apart + FRAME_PREVIOUS, frame);
			frame = apart;
		}
	}
	make_thread(frame);
	assert_int_equal(python_walk(), PYTHON_WHOLE);
	check_lasti(60, maker.walk->python.words_count);
}

static void stacks_of_other_entries_have_other_hashes(void **state)
{
	uint64_t frame, entered;

	(void)state;
	make(CPYTHON_ENTRY_FLAG);
	frame = python_frame_add(code[0], 10, 0, 1);
	frame = python_frame_add(code[1], 20, frame, 1);
	make_thread(frame);
	python_walk();
	entered = maker.walk->python.hash;
	maker_poke(frame + FRAME_OWNER, "", 1);
	expect_frames(PYTHON_WHOLE, {FRAME(code[1]), 20}, {ENTRY(code[0]), 10});
	assert_int_not_equal(maker.walk->python.hash, entered);
}

static void code_that_is_new_in_its_window_is_told(void **state)
{
	uint64_t name;

	(void)state;
	make(CPYTHON_ENTRY_EACH);
	make_thread(python_frame_add(code[0], 10, 0, 0));
	for (int i = 0; i < 3; i++) {
		python_walk();
		assert_true(maker.walk->python.flags & PYTHON_UNSEEN);
		python_walk();
		assert_false(maker.walk->python.flags & PYTHON_UNSEEN);
		if (i)
			maker.walk->head.window++;
		memcpy(&name, maker_memory(code[0] + CODE_NAME, 8), 8);
		maker_put(name + UNICODE_HASH, 1);
	}
}

/* Whatever lies there and whatever is told, the walk ends and stays inside (ASan sees it). */
static void nothing_of_a_process_is_believed(void **state)
{
	uint64_t seed = 8;

	(void)state;
	for (int round = 0; round < 4000; round++) {
		uint64_t frame = 0;

		make(round % 3);
		python.frame_bytes = FRAME_BYTES + random_next(&seed) % 200;
		for (uint32_t i = 0; i < 20; i++)
			frame = python_frame_add(code[i % 7], i, frame, i % 4);
		make_thread(frame);
		python_interpreter_add();
		for (int i = 0; i < 8; i++) /* words that point anywhere */
			maker_put(HEAP + random_next(&seed) % (python.next - HEAP) / 8 * 8,
				  HEAP + random_next(&seed) % (python.next - HEAP));
		if (round % 2)
			((uint8_t *)&python.at)[16 + random_next(&seed) % 48] =
				(uint8_t)random_next(&seed);
		python_tell();
		assert_in_range(python_walk(), PYTHON_NONE, PYTHON_END_COUNT - 1);
		assert_in_range(maker.walk->python.words_count, 0, PYTHON_WORDS_MAX);
		maker_done();
	}
}

static int end(void **state)
{
	(void)state;
	maker_done();
	return 0;
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
		WALK(a_threads_state_is_remembered),
		WALK(a_state_that_was_remembered_may_be_gone),
		WALK(another_code_object_at_the_same_address_has_another_sum),
		WALK(a_function_that_recurs_is_read_once),
		WALK(frames_side_by_side_are_read_together),
		WALK(no_read_leaves_the_page_of_its_frame),
		WALK(a_frame_elsewhere_is_read_there),
		WALK(stacks_of_other_entries_have_other_hashes),
		WALK(code_that_is_new_in_its_window_is_told),
		WALK(nothing_of_a_process_is_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
