// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <sys/mman.h>

#include "bpf/shared/packed.h"
#include "unwind/arena.h"

#define CHUNK_BYTES (CHUNK_WORDS * 4U)
#define CHUNKS	    8U

/* Memory of which only the chunks that were added can be touched. */
struct memory {
	uint32_t *words;
	unsigned chunks;
	unsigned fails_from; /* add() does, from this chunk on */
	struct arena *arena;
};

static int add(void *arg, unsigned chunk)
{
	struct memory *memory = arg;
	uint32_t *at = memory->words + (size_t)chunk * CHUNK_WORDS;

	assert_int_equal(chunk, memory->chunks);
	if (chunk >= memory->fails_from)
		return -EPERM;
	assert_int_equal(mprotect(at, CHUNK_BYTES, PROT_READ | PROT_WRITE), 0);
	memory->chunks++;
	return 0;
}

static void drop(void *arg, unsigned chunk)
{
	struct memory *memory = arg;
	uint32_t *at = memory->words + (size_t)chunk * CHUNK_WORDS;

	assert_int_equal(chunk, memory->chunks - 1);
	assert_int_equal(madvise(at, CHUNK_BYTES, MADV_DONTNEED), 0);
	assert_int_equal(mprotect(at, CHUNK_BYTES, PROT_NONE), 0);
	memory->chunks--;
}

static void memory_make(struct memory *memory, unsigned chunks_max)
{
	struct arena_memory setup = {.add = add, .remove = drop, .arg = memory};

	*memory = (struct memory){.fails_from = UINT32_MAX};
	memory->words = mmap(NULL, (size_t)CHUNKS * CHUNK_BYTES, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory->words != MAP_FAILED);
	setup.words = memory->words;
	assert_int_equal(arena_new(&memory->arena, &setup, (size_t)chunks_max * CHUNK_BYTES), 0);
}

static void memory_done(struct memory *memory)
{
	arena_free(memory->arena);
	assert_int_equal(memory->chunks, 0);
	munmap(memory->words, (size_t)CHUNKS * CHUNK_BYTES);
}

static int64_t take(const struct memory *memory, size_t count)
{
	return arena_take(memory->arena, count, false);
}

static void give(const struct memory *memory, int64_t start, size_t count)
{
	arena_give(memory->arena, (uint32_t)start, count);
}

/* Twice: what is given back waits for the second one. */
static void settle(struct arena *arena)
{
	arena_settle(arena);
	arena_settle(arena);
}

static struct arena_stats stats_of(const struct memory *memory)
{
	struct arena_stats stats;

	arena_stats(memory->arena, &stats);
	return stats;
}

static void nothing_is_there_before_something_is_taken(void **state)
{
	struct memory memory;

	(void)state;
	memory_make(&memory, 4);
	assert_int_equal(memory.chunks, 0);
	assert_int_equal(stats_of(&memory).bytes, 0);
	assert_int_equal(stats_of(&memory).bytes_max, 4 * CHUNK_BYTES);
	memory_done(&memory);
}

static void an_arena_has_at_least_a_chunk(void **state)
{
	struct arena_memory setup = {0};
	struct arena *arena = NULL;

	(void)state;
	assert_int_equal(arena_new(&arena, &setup, CHUNK_BYTES - 1), -EINVAL);
	assert_null(arena);
}

static void word_0_is_nobodys(void **state)
{
	struct memory memory;

	(void)state;
	memory_make(&memory, 2);
	int64_t first = take(&memory, 1);
	assert_int_equal(first, 1);
	int64_t rest = take(&memory, CHUNK_WORDS - 2);
	assert_int_equal(rest, 2);
	assert_int_equal(memory.chunks, 1);
	give(&memory, first, 1);
	give(&memory, rest, CHUNK_WORDS - 2);
	settle(memory.arena);
	assert_int_equal(memory.chunks, 0);
	assert_int_equal(take(&memory, 2 * CHUNK_WORDS - 1), 1);
	memory_done(&memory);
}

static void a_run_crosses_chunks_unless_it_is_whole(void **state)
{
	struct memory memory;

	(void)state;
	memory_make(&memory, 6);
	assert_int_equal(take(&memory, CHUNK_WORDS - 10), 1);
	assert_int_equal(take(&memory, 100), CHUNK_WORDS - 9);
	assert_int_equal(take(&memory, CHUNK_WORDS - 100), CHUNK_WORDS + 91);
	assert_int_equal(memory.chunks, 2);
	/* 9 words are left in chunk 1, 8 of them in a row as spans want them. */
	assert_int_equal(arena_take(memory.arena, 9, true), 2 * CHUNK_WORDS);
	assert_int_equal(arena_take(memory.arena, 8, true), 2 * CHUNK_WORDS - 8);
	assert_int_equal(arena_take(memory.arena, CHUNK_WORDS, true), 3 * CHUNK_WORDS);
	assert_int_equal(memory.chunks, 4);
	/* What a whole run left out is free. */
	assert_int_equal(take(&memory, CHUNK_WORDS - 10), 2 * CHUNK_WORDS + 9);
	memory_done(&memory);
}

static void what_never_fits_is_told_from_what_does_not_fit_now(void **state)
{
	struct memory memory;

	(void)state;
	memory_make(&memory, 2);
	assert_int_equal(take(&memory, 0), -EINVAL);
	assert_int_equal(take(&memory, 2 * CHUNK_WORDS), -EINVAL);
	assert_int_equal(take(&memory, SIZE_MAX), -EINVAL);
	assert_int_equal(arena_take(memory.arena, CHUNK_WORDS + 1, true), -EINVAL);
	assert_int_equal(take(&memory, CHUNK_WORDS), 1);
	assert_int_equal(take(&memory, CHUNK_WORDS), -ENOSPC);
	assert_int_equal(arena_take(memory.arena, CHUNK_WORDS, true), -ENOSPC);
	assert_int_equal(memory.chunks, 1 + 1);
	assert_int_equal(take(&memory, CHUNK_WORDS - 1), CHUNK_WORDS + 1);
	assert_int_equal(take(&memory, 1), -ENOSPC);
	memory_done(&memory);
	memory_make(&memory, 1);
	assert_int_equal(arena_take(memory.arena, CHUNK_WORDS, true), -EINVAL);
	memory_done(&memory);
}

static void what_was_given_back_is_used_only_when_settled(void **state)
{
	struct memory memory;

	(void)state;
	memory_make(&memory, 1);
	int64_t all = take(&memory, CHUNK_WORDS - 1);
	memory.words[1] = 77;
	give(&memory, all, CHUNK_WORDS - 1);
	assert_int_equal(take(&memory, 1), -ENOSPC);
	assert_int_equal(memory.chunks, 1);
	assert_int_equal(memory.words[1], 77); /* a program may still read it */
	assert_int_equal(stats_of(&memory).used, 0);
	assert_int_equal(stats_of(&memory).given, CHUNK_BYTES - 4);
	arena_settle(memory.arena);
	assert_int_equal(take(&memory, 1), -ENOSPC);
	arena_settle(memory.arena);
	assert_int_equal(stats_of(&memory).given, 0);
	assert_int_equal(memory.chunks, 0);
	assert_int_equal(take(&memory, 1), 1);
	assert_ptr_equal(arena_words(memory.arena, 1), memory.words + 1);
	assert_int_equal(memory.words[1], 0);
	memory_done(&memory);
}

static void chunks_leave_only_from_the_top(void **state)
{
	struct memory memory;
	int64_t runs[4];

	(void)state;
	memory_make(&memory, 4);
	for (int i = 0; i < 4; i++) {
		runs[i] = arena_take(memory.arena, CHUNK_WORDS - 8, true);
		assert_int_equal(runs[i], i * CHUNK_WORDS + (i == 0 ? 8 : 0));
	}
	give(&memory, runs[1], CHUNK_WORDS - 8);
	give(&memory, runs[2], CHUNK_WORDS - 8);
	settle(memory.arena);
	assert_int_equal(memory.chunks, 4);
	give(&memory, runs[3], CHUNK_WORDS - 8);
	settle(memory.arena);
	assert_int_equal(memory.chunks, 1);
	assert_int_equal(stats_of(&memory).bytes, CHUNK_BYTES);
	assert_int_equal(take(&memory, 5), 1);
	memory_done(&memory);
}

/* The smallest hole that does is filled, neighbours become one. */
static void holes_are_filled_and_joined(void **state)
{
	struct memory memory;
	int64_t runs[100];

	(void)state;
	memory_make(&memory, 4);
	for (int i = 0; i < 100; i++)
		runs[i] = take(&memory, 1000);
	for (int i = 10; i < 20; i++)
		give(&memory, runs[i], 1000);
	for (int i = 30; i < 100; i += 2)
		give(&memory, runs[i], 1000);
	settle(memory.arena);
	uint64_t bytes = stats_of(&memory).bytes;
	assert_int_equal(take(&memory, 999), runs[30]);
	assert_int_equal(take(&memory, 1001), runs[10]);
	assert_int_equal(take(&memory, 1), runs[30] + 999);
	assert_int_equal(take(&memory, 8999), runs[11] + 1);
	assert_int_equal(stats_of(&memory).bytes, bytes);
	assert_int_equal(stats_of(&memory).used, (55 * 1000 + 11000) * 4);
	memory_done(&memory);
}

static void a_chunk_that_can_not_be_had_changes_nothing(void **state)
{
	struct memory memory;

	(void)state;
	memory_make(&memory, 6);
	assert_int_equal(take(&memory, 100), 1);
	memory.fails_from = 3;
	assert_int_equal(take(&memory, 3 * CHUNK_WORDS), -EPERM);
	assert_int_equal(memory.chunks, 1); /* those that came in vain have left */
	assert_int_equal(stats_of(&memory).used, 400);
	assert_int_equal(take(&memory, 2 * CHUNK_WORDS), 101);
	assert_int_equal(memory.chunks, 3);
	assert_int_equal(take(&memory, CHUNK_WORDS), -EPERM);
	memory.fails_from = UINT32_MAX;
	assert_int_equal(take(&memory, CHUNK_WORDS), 2 * CHUNK_WORDS + 101);
	memory_done(&memory);
}

/* ---- against a model: who has each word ---- */

#define RUNS  200
#define SPACE (CHUNKS * CHUNK_WORDS)

enum { FREE, TAKEN, GIVEN };

struct model {
	struct memory memory;
	unsigned char words[SPACE];
	struct {
		uint32_t start, count;
	} runs[RUNS];
	unsigned count;
	uint64_t random;
};

static void model_mark(struct model *model, uint32_t start, uint32_t count, int from, int to)
{
	for (uint32_t i = start; i < start + count; i++) {
		if (model->words[i] != from)
			fail_msg("word %u is %d, not %d", i, model->words[i], from);
		model->words[i] = (unsigned char)to;
	}
}

/* Whether there is room for it in what is free, or is `free` too, by looking at each word. */
static bool model_has_room(const struct model *model, uint32_t count, bool whole, int free)
{
	uint32_t row = 0;

	for (uint32_t i = 1; i < SPACE; i++) {
		if (whole && i % CHUNK_WORDS == 0)
			row = 0;
		bool may = !whole || row || i % SPAN_WORDS == 0;
		bool is_free = model->words[i] == FREE || model->words[i] == free;
		row = is_free && may ? row + 1 : 0;
		if (row >= count)
			return true;
	}
	return false;
}

static uint32_t some_count(struct model *model)
{
	uint64_t random = random_next(&model->random);

	switch (random % 4) {
	case 0:
		return 8 + (uint32_t)(random >> 8) % 1000;
	case 1:
		return 1 + (uint32_t)(random >> 8) % CHUNK_WORDS;
	case 2:
		return 1 + (uint32_t)(random >> 8) % (3 * CHUNK_WORDS);
	default:
		return 1 + (uint32_t)(random >> 8) % 64;
	}
}

static void model_take(struct model *model)
{
	uint32_t count = some_count(model);
	bool whole = count <= CHUNK_WORDS && random_next(&model->random) % 2;
	assert_int_equal(arena_has_room(model->memory.arena, count, whole),
			 model_has_room(model, count, whole, FREE));
	assert_int_equal(arena_will_have_room(model->memory.arena, count, whole),
			 model_has_room(model, count, whole, GIVEN));
	int64_t start = arena_take(model->memory.arena, count, whole);

	if (start < 0) {
		assert_int_equal(start, -ENOSPC);
		assert_false(model_has_room(model, count, whole, FREE));
		return;
	}
	assert_true(start > 0 && (uint64_t)start + count <= SPACE);
	assert_true(!whole || start % CHUNK_WORDS + count <= CHUNK_WORDS);
	assert_true(!whole || start % SPAN_WORDS == 0);
	model_mark(model, (uint32_t)start, count, FREE, TAKEN);
	*arena_words(model->memory.arena, (uint32_t)start) = 1; /* it can be touched */
	*arena_words(model->memory.arena, (uint32_t)start + count - 1) = 1;
	model->runs[model->count].start = (uint32_t)start;
	model->runs[model->count++].count = count;
}

static void model_give(struct model *model)
{
	unsigned i = (unsigned)(random_next(&model->random) % model->count);
	uint32_t start = model->runs[i].start, count = model->runs[i].count;

	arena_give(model->memory.arena, start, count);
	model_mark(model, start, count, TAKEN, GIVEN);
	model->runs[i] = model->runs[--model->count];
}

static void model_settle(struct model *model)
{
	uint64_t used = 0, top = 0;

	settle(model->memory.arena);
	for (uint32_t i = 0; i < SPACE; i++) {
		if (model->words[i] == GIVEN)
			model->words[i] = FREE;
		used += model->words[i] == TAKEN;
		top = model->words[i] == TAKEN ? i / CHUNK_WORDS + 1 : top;
	}
	struct arena_stats stats = stats_of(&model->memory);
	assert_int_equal(stats.used, used * 4);
	assert_int_equal(stats.given, 0);
	assert_int_equal(stats.bytes, top * CHUNK_BYTES);
	assert_int_equal(model->memory.chunks, top);
}

static void taking_and_giving_at_random_agrees_with_a_model(void **state)
{
	static struct model model;

	(void)state;
	model.random = 1;
	memory_make(&model.memory, CHUNKS);
	for (int i = 0; i < 2500; i++) {
		uint64_t random = random_next(&model.random) % 100;

		if (random < 3)
			model_settle(&model);
		else if (model.count && (random < 48 || model.count == RUNS))
			model_give(&model);
		else
			model_take(&model);
	}
	while (model.count)
		model_give(&model);
	model_settle(&model);
	memory_done(&model.memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_there_before_something_is_taken),
		cmocka_unit_test(an_arena_has_at_least_a_chunk),
		cmocka_unit_test(word_0_is_nobodys),
		cmocka_unit_test(a_run_crosses_chunks_unless_it_is_whole),
		cmocka_unit_test(what_never_fits_is_told_from_what_does_not_fit_now),
		cmocka_unit_test(what_was_given_back_is_used_only_when_settled),
		cmocka_unit_test(chunks_leave_only_from_the_top),
		cmocka_unit_test(holes_are_filled_and_joined),
		cmocka_unit_test(a_chunk_that_can_not_be_had_changes_nothing),
		cmocka_unit_test(taking_and_giving_at_random_agrees_with_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
