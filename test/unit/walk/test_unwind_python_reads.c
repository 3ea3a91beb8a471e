// SPDX-License-Identifier: GPL-2.0-or-later
/* What a walk of Python's frames reads of its process, and remembers. */
#include "unit/python/python_walks.h"
#include "unit/python/interpreter_maker.h"

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

/* Returns the reads of a walk of one frame, whose code object is read with its name or alone. */
static uint64_t reads_of_a_walk(void)
{
	uint64_t reads = maker.reads;

	assert_int_equal(python_walk(), PYTHON_WHOLE);
	return maker.reads - reads;
}

#define READS	   5 /* heads, state; frame, code, name */
#define READS_LESS 4

static void make_numbered(void)
{
	make(CPYTHON_ENTRY_EACH);
	python.at.code_version = CODE_SUM + 4;
	python_tell();
	make_thread(python_frame_add(code[0], 10, 0, 0));
	reads_of_a_walk();
	assert_int_equal(reads_of_a_walk(), READS_LESS);
}

static void a_code_object_with_a_number_needs_no_name(void **state)
{
	const uint64_t *words;
	uint64_t sum, hash;

	(void)state;
	make_numbered();
	words = maker.walk->words + PYTHON_AT;
	sum = words[1];
	hash = maker.walk->python.hash;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(reads_of_a_walk(), READS_LESS);
		assert_false(maker.walk->python.flags & PYTHON_UNSEEN);
		assert_int_equal(words[1], sum);
		assert_int_equal(maker.walk->python.hash, hash);
	}
	for (uint64_t i = 0; i < CODE_SUM_WORDS; i++) {
		maker_put(code[0] + CODE_SUM + 8 * i, 77ULL << 32);
		assert_int_equal(reads_of_a_walk(), READS);
		assert_true(maker.walk->python.flags & PYTHON_UNSEEN);
		assert_int_equal(reads_of_a_walk(), READS_LESS);
		assert_int_not_equal(words[1] >> 32, sum >> 32);
		sum = words[1];
	}
}

static void a_number_counts_in_its_process_and_window(void **state)
{
	(void)state;
	make_numbered();
	maker.walk->head.window++;
	assert_int_equal(reads_of_a_walk(), READS);
	assert_int_equal(reads_of_a_walk(), READS_LESS);
	maker.walk->head.target_id++;
	assert_int_equal(reads_of_a_walk(), READS + 3); /* … and looks for the state */
	assert_int_equal(reads_of_a_walk(), READS_LESS);
	maker.walk->head.key.tgid++; /* a fork */
	assert_int_equal(reads_of_a_walk(), READS);
	assert_int_equal(reads_of_a_walk(), READS_LESS);
	maker.walk->head.key.tgid--;
}

static void without_a_number_each_walk_reads_the_name(void **state)
{
	(void)state;
	make_numbered();
	maker_put(code[0] + CODE_SUM, 5); /* no number is left */
	for (int i = 0; i < 3; i++)
		assert_int_equal(reads_of_a_walk(), READS);
}

static void a_second_interpreter_has_numbers_of_its_own(void **state)
{
	uint64_t name, sum;

	(void)state;
	make_numbered();
	memcpy(&name, maker_memory(code[0] + CODE_NAME, 8), 8);
	python_interpreter_add();
	for (uint64_t i = 0; i < 3; i++) {
		sum = maker.walk->words[PYTHON_AT + 1];
		maker_put(name + UNICODE_HASH, 1000 + i);
		assert_int_equal(python_walk(), PYTHON_WHOLE);
		assert_int_not_equal(maker.walk->words[PYTHON_AT + 1] >> 32, sum >> 32);
	}
}

static void a_function_that_recurs_is_read_once(void **state)
{
	uint64_t frame = 0, reads;

	(void)state;
	make(CPYTHON_ENTRY_EACH);
	python.frame_bytes = PYTHON_NEAR; /* each is read alone */
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
	for (uint64_t gap = PYTHON_NEAR; gap >= FRAME_BYTES; gap -= 8) {
		uint64_t frame = 0, reads;

		make(CPYTHON_ENTRY_FLAG);
		python.frame_bytes = gap;
		for (uint32_t i = 0; i < 300; i++)
			frame = python_frame_add(code[i % 3], i, frame, i % 7 == 0);
		reads = reads_of(frame);
		check_lasti(300, maker.walk->python.words_count);
		if (gap == PYTHON_NEAR)
			assert_int_equal(reads, 3 + 300 + 2 * 3);
		else
			assert_in_range(reads, 3 + 300 * gap / PYTHON_BLOCK_BYTES,
					300 * gap / PYTHON_BLOCK_BYTES * 3 / 2 + 120);
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

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, end)
	const struct CMUnitTest tests[] = {
		WALK(a_threads_state_is_remembered),
		WALK(a_state_that_was_remembered_may_be_gone),
		WALK(another_code_object_at_the_same_address_has_another_sum),
		WALK(a_code_object_with_a_number_needs_no_name),
		WALK(a_number_counts_in_its_process_and_window),
		WALK(without_a_number_each_walk_reads_the_name),
		WALK(a_second_interpreter_has_numbers_of_its_own),
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
