// SPDX-License-Identifier: GPL-2.0-or-later
/* Code objects are read once, soon, and by whom they are. */
#include "unit/code/code_world.h"
#include "unit/lib/unit.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "loop/loop.h"
#include "bpf/shared/code_copy.h"
#include "code/code_cache.h"
#include "code/code_python.h"

static void what_a_stack_has_is_read_once(void **state)
{
	(void)state;
	begin(1 << 20);
	want(w.target, 0x1000, 1);
	want(w.target, 0x1000, 1);
	assert_null(codes_find_python(w.target, 0x1000, 1));
	settle();
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	assert_null(codes_find_python(w.target, 0x1000, 2));
	want(w.target, 0x1000, 1);
	code_cache_sweep(w.codes);
	want(w.target, 0x1000, 1);
	settle();
	assert_int_equal(atomic_load(&reads), 1);
	want(w.target, 0x1000, 2); /* another one at that address */
	settle();
	assert_int_equal(atomic_load(&reads), 2);
	assert_int_equal(figures().known, 2);
	end();
}

static void it_is_read_soon_without_a_drain(void **state)
{
	(void)state;
	begin(1 << 20);
	want(w.target, 0x1000, 1);
	while (!codes_find_python(w.target, 0x1000, 1)) {
		assert_int_equal(worker_fence(w.worker, NULL, stop, w.loop), 0);
		assert_int_equal(loop_run(w.loop), 0);
	}
	end();
}

static void a_deep_recursion_costs_one_reading(void **state)
{
	uint64_t words[1000];

	(void)state;
	begin(1 << 20);
	for (size_t i = 0; i < 1000; i += 2) {
		words[i] = (uint64_t)FRAME_PYTHON << FRAME_KIND_SHIFT | 0x1000;
		words[i + 1] = (uint64_t)1 << 32 | i;
	}
	words[998] = (uint64_t)FRAME_PYTHON << FRAME_KIND_SHIFT; /* a loop without a frame */
	code_cache_want(w.codes, w.target, words, 1000);
	settle();
	assert_int_equal(atomic_load(&reads), 1);
	end();
}

static void a_new_copy_of_the_code_has_it_read_again(void **state)
{
	(void)state;
	begin(1 << 20);
	copies_until = 7; /* 7 isn't */
	want(w.target, 0x1000, 1);
	settle();
	want(w.target, 0x1000, 1);
	settle();
	assert_int_equal(atomic_load(&reads), 1); /* in vain: not again in this window */
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	code_cache_sweep(w.codes);
	copies_until = 8;
	want(w.target, 0x1000, 1);
	settle();
	want(w.target, 0x1000, 1);
	settle();
	assert_int_equal(atomic_load(&reads), 2);
	assert_true(pycode_has(codes_find_python(w.target, 0x1000, 1), 7));
	assert_int_equal(figures().known, 1);
	for (int loss = 0; loss < CODE_LOST_COUNT; loss++)
		assert_int_equal(lost((enum code_loss)loss), 0);
	end();
}

static void failures_are_counted_once_a_window(void **state)
{
	(void)state;
	begin(1 << 20);
	for (int window = 1; window <= 2; window++) {
		for (int i = 0; i < 3; i++) {
			want(w.target, STALE | 1, 1);
			want(w.target, FAULTS | 1, 1);
			want(w.target, NO_CODE | 1, 1);
			want(w.target, ONLY_PARENT | 1, 1);
			settle();
		}
		assert_int_equal(atomic_load(&reads), 4 * window - (window - 1));
		assert_int_equal(lost(CODE_LOST_CHANGED), window);
		assert_int_equal(lost(CODE_LOST_UNREADABLE), window);
		assert_int_equal(lost(CODE_LOST_ODD), window);
		assert_int_equal(lost(CODE_LOST_GONE), 0);
		code_cache_sweep(w.codes);
	}
	assert_int_equal(figures().known, 1);
	end();
}

static void a_fork_has_its_parents(void **state)
{
	(void)state;
	begin(1 << 20);
	want(w.target, 0x1000, 1);
	settle();
	struct code_cache_stats before = figures();
	struct target *child = add_target(CHILD, w.target);
	assert_ptr_equal(codes_find_python(child, 0x1000, 1),
			 codes_find_python(w.target, 0x1000, 1));
	assert_int_equal(figures().bytes, before.bytes); /* shared */
	want(w.target, 0x2000, 1);
	want(child, 0x3000, 1);
	settle();
	assert_null(codes_find_python(child, 0x2000, 1));
	assert_null(codes_find_python(w.target, 0x3000, 1));
	assert_non_null(codes_find_python(child, 0x3000, 1));
	assert_ptr_equal(codes_find_python(child, 0x1000, 1),
			 codes_find_python(w.target, 0x1000, 1));
	end();
}

static void who_forks_and_learns_again_and_again_knows_all(void **state)
{
	struct target *children[20];

	(void)state;
	begin(1 << 20);
	for (uint64_t i = 0; i < 20; i++) {
		want(w.target, (i + 1) << 12, 1);
		settle();
		children[i] = add_target(CHILD + (pid_t)i, w.target);
	}
	for (uint64_t i = 0; i < 20; i++) {
		want(children[i], 0x99000, 1);
		settle();
		for (uint64_t k = 0; k < 20; k++) {
			assert_non_null(codes_find_python(w.target, (k + 1) << 12, 1));
			assert_true(!codes_find_python(children[i], (k + 1) << 12, 1) == (k > i));
		}
	}
	assert_int_equal(figures().known, 21); /* what all children learned is the same */
	assert_int_equal(atomic_load(&reads), 40);
	code_cache_sweep(w.codes);
	end();
}

static void what_a_child_had_of_its_parent_is_read_there(void **state)
{
	(void)state;
	begin(1 << 20);
	struct target *child = add_target(CHILD, w.target);
	want(child, ONLY_PARENT | 1, 1);
	settle();
	assert_non_null(codes_find_python(child, ONLY_PARENT | 1, 1));
	child->forked_from = 0;
	want(child, ONLY_PARENT | 2, 1);
	settle();
	assert_null(codes_find_python(child, ONLY_PARENT | 2, 1));
	assert_int_equal(lost(CODE_LOST_GONE), 1);
	end();
}

static void who_ended_keeps_its_own_until_its_window_was_named(void **state)
{
	(void)state;
	begin(1 << 20);
	want(w.target, 0x1000, 1);
	settle();
	target_table_end(w.table, w.target, 5);
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	code_cache_sweep(w.codes);
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	want(w.target, 0x2000, 1); /* a late stack, and the process goes while it is read */
	code_cache_flush(w.codes);
	target_table_sweep(w.table, 6);
	settle();
	assert_int_equal(figures().known, 0);
	end();
}

static void offer(uint64_t address, uint32_t sum)
{
	struct code_copy copy = {.address = address, .sum = sum};

	code_cache_offer(w.codes, w.target, &copy, CODE_COPY_LEAST);
}

static void a_copy_is_for_the_stack_that_follows(void **state)
{
	(void)state;
	begin(1 << 20);
	offer(0x1000, 1);
	offer(0x1000, 1); /* two CPUs came to it at once */
	offer(0x2000, 1);
	offer(0x3000, 1); /* nobody asks for it */
	want(w.target, 0x1000, 1);
	want(w.target, 0x2000, 2); /* another sum */
	settle();
	assert_int_equal(atomic_load(&copied_reads), 1);
	assert_int_equal(atomic_load(&reads), 1);
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	offer(0x1000, 1);
	assert_int_equal(figures().copied, 4); /* it is known */
	code_cache_sweep(w.codes);
	want(w.target, 0x3000, 1); /* it was kept until then */
	settle();
	assert_int_equal(atomic_load(&copied_reads), 1);
	end();
}

static void a_copy_is_read_though_it_could_not_be_before(void **state)
{
	(void)state;
	begin(1 << 20);
	want(w.target, STALE | 0x1000, 1);
	settle();
	want(w.target, STALE | 0x1000, 1);
	settle();
	assert_int_equal(atomic_load(&reads), 1);
	offer(STALE | 0x1000, 1);
	want(w.target, STALE | 0x1000, 1);
	settle();
	assert_int_equal(atomic_load(&copied_reads), 1);
	end();
}

static void copies_are_bounded(void **state)
{
	(void)state;
	begin(1 << 20);
	for (uint64_t i = 1; i <= 5000; i++)
		offer(i << 12, 1);
	assert_int_equal(figures().copied, 4096);
	code_cache_sweep(w.codes);
	offer(1 << 12, 1);
	assert_int_equal(figures().copied, 4097);
	end();
}

static void a_process_that_hangs_is_not_asked_again(void **state)
{
	(void)state;
	sem_init(&may_go_on, 0, 0);
	begin(1 << 20);
	want(w.target, 0x1000, 1);
	settle();
	want(w.target, HANGS | 1, 1);
	settle();
	assert_int_equal(lost(CODE_LOST_HUNG), 1);
	want(w.target, 0x2000, 1);
	settle();
	assert_int_equal(lost(CODE_LOST_HUNG), 2);
	assert_null(codes_find_python(w.target, 0x2000, 1));
	assert_non_null(codes_find_python(w.target, 0x1000, 1));
	sem_post(&may_go_on);
	end();
	usleep(10000);
}

static void a_reading_that_is_slow_is_done_again_in_the_next_window(void **state)
{
	(void)state;
	atomic_store(&enough, false);
	limit_ns = 20 * LIMIT_NS; /* also on a busy machine it computes in this time */
	begin(1 << 20);
	limit_ns = LIMIT_NS;
	want(w.target, COMPUTES | 0x1000, 1);
	settle();
	assert_int_equal(lost(CODE_LOST_HUNG), 1);
	want(w.target, 0x2000, 1);
	settle();
	assert_non_null(codes_find_python(w.target, 0x2000, 1));
	atomic_store(&enough, true);
	code_cache_sweep(w.codes);
	want(w.target, COMPUTES | 0x1000, 1);
	settle();
	assert_non_null(codes_find_python(w.target, COMPUTES | 0x1000, 1));
	assert_int_equal(lost(CODE_LOST_HUNG), 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_stack_has_is_read_once),
		cmocka_unit_test(it_is_read_soon_without_a_drain),
		cmocka_unit_test(a_deep_recursion_costs_one_reading),
		cmocka_unit_test(a_new_copy_of_the_code_has_it_read_again),
		cmocka_unit_test(failures_are_counted_once_a_window),
		cmocka_unit_test(a_fork_has_its_parents),
		cmocka_unit_test(who_forks_and_learns_again_and_again_knows_all),
		cmocka_unit_test(what_a_child_had_of_its_parent_is_read_there),
		cmocka_unit_test(who_ended_keeps_its_own_until_its_window_was_named),
		cmocka_unit_test(a_process_that_hangs_is_not_asked_again),
		cmocka_unit_test(a_reading_that_is_slow_is_done_again_in_the_next_window),
		cmocka_unit_test(a_copy_is_for_the_stack_that_follows),
		cmocka_unit_test(a_copy_is_read_though_it_could_not_be_before),
		cmocka_unit_test(copies_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
