// SPDX-License-Identifier: GPL-2.0-or-later
/* Pieces that lack their whole names are searched for: soon, all at once, rarely, not for ever. */
#include "unit/code/code_world.h"

#include "python/functions/pyfunctions.h"

int __wrap_pyfunctions_search(struct pyfunction_sought *sought, size_t count,
			      const struct python_layout *layout,
			      const struct process_memory *memory,
			      struct pyfunctions_result *result);

static atomic_int searches, sought_codes;
static bool finds, cuts, hangs;
static uint64_t takes_ns;

int __wrap_pyfunctions_search(struct pyfunction_sought *sought, size_t count,
			      const struct python_layout *layout,
			      const struct process_memory *memory,
			      struct pyfunctions_result *result)
{
	(void)layout, (void)memory;
	atomic_fetch_add(&searches, 1);
	atomic_fetch_add(&sought_codes, (int)count);
	if (hangs)
		sem_wait(&may_go_on);
	*result = (struct pyfunctions_result){.cpu_ns = takes_ns, .cut = cuts};
	for (size_t i = 0; i < count; i++) {
		sought[i].found = NULL;
		if (!finds)
			continue;
		sought[i].found = calloc(1, code_bytes);
		sought[i].found->refs = 1;
		sought[i].found->bytes = (uint32_t)code_bytes;
		sought[i].found->lines.first_line = (int32_t)(sought[i].address >> 12);
	}
	return 0;
}

static void begin_search(void)
{
	begin(1 << 20);
	codes_alone = finds = true;
	cuts = hangs = false;
	takes_ns = 0;
	atomic_store(&searches, 0);
	atomic_store(&sought_codes, 0);
}

/* As a window's end does it. */
static void search_at_end(bool any)
{
	assert_true(code_cache_search(w.codes) == any);
	settle();
}

static bool is_alone(const struct target *target, uint64_t address)
{
	const struct pycode *code = codes_find_python(target, address, 1);

	assert_non_null(code);
	return pycode_is_alone(code);
}

static void one_search_is_for_all_pieces(void **state)
{
	(void)state;
	begin_search();
	for (uint64_t i = 1; i <= 5; i++)
		want(w.target, i << 12, 1);
	settle();
	assert_int_equal(atomic_load(&searches), 0);
	assert_true(is_alone(w.target, 0x1000));
	search_at_end(true);
	assert_int_equal(atomic_load(&searches), 1);
	assert_int_equal(atomic_load(&sought_codes), 5);
	for (uint64_t i = 1; i <= 5; i++)
		assert_false(is_alone(w.target, i << 12));
	assert_int_equal(figures().known, 5);
	assert_int_equal(figures().completed, 5);
	assert_int_equal(figures().searches, 1);
	search_at_end(false);
	want(w.target, 0x1000, 1);
	search_at_end(false);
	end();
}

static void whole_pieces_cost_no_search(void **state)
{
	(void)state;
	begin_search();
	codes_alone = false;
	want(w.target, 0x1000, 1);
	settle();
	want(w.target, 0x1000, 1);
	search_at_end(false);
	assert_int_equal(atomic_load(&searches), 0);
	end();
}

static void stop_when_found(void *arg)
{
	if (is_alone(w.target, 0x1000))
		loop_timer_set(w.loop, arg, loop_now_ns() + 10 * NS_PER_MS);
	else
		loop_stop(w.loop);
}

static void a_process_is_searched_soon_without_a_drain(void **state)
{
	struct loop_timer timer = {.expired = stop_when_found, .arg = &timer};

	(void)state;
	begin_search();
	want(w.target, 0x1000, 1);
	settle();
	loop_timer_set(w.loop, &timer, loop_now_ns());
	assert_int_equal(loop_run(w.loop), 0);
	assert_int_equal(atomic_load(&searches), 1);
	end();
}

static void what_is_not_found_is_not_looked_for_again_and_again(void **state)
{
	(void)state;
	begin_search();
	finds = false;
	want(w.target, 0x1000, 1);
	settle();
	for (int i = 0; i < 3; i++)
		search_at_end(true);
	search_at_end(false);
	want(w.target, 0x1000, 1); /* another stack that has it */
	search_at_end(false);
	assert_int_equal(figures().searches, 3);
	assert_int_equal(figures().searches_cut, 0);
	assert_true(is_alone(w.target, 0x1000));
	finds = true;
	want(w.target, 0x2000, 1); /* new code is */
	settle();
	search_at_end(true);
	assert_int_equal(atomic_load(&sought_codes), 4);
	assert_false(is_alone(w.target, 0x2000));
	end();
}

/* Who has not seen all can't say that it isn't there. */
static void a_search_that_was_cut_is_no_try(void **state)
{
	(void)state;
	begin_search();
	finds = false;
	cuts = true;
	want(w.target, 0x1000, 1);
	settle();
	for (int i = 0; i < 5; i++)
		search_at_end(true);
	assert_int_equal(figures().searches_cut, 5);
	finds = true;
	search_at_end(true);
	assert_false(is_alone(w.target, 0x1000));
	end();
}

static void a_search_that_took_long_is_not_soon_followed_by_another(void **state)
{
	(void)state;
	begin_search();
	takes_ns = 100 * NS_PER_MS;
	want(w.target, 0x1000, 1);
	settle();
	search_at_end(true);
	want(w.target, 0x2000, 1);
	settle();
	search_at_end(false);
	assert_true(is_alone(w.target, 0x2000));
	end();
}

static void searches_of_a_window_share_a_time(void **state)
{
	struct target *others[30];

	(void)state;
	begin_search();
	takes_ns = 100 * NS_PER_MS;
	for (pid_t i = 0; i < 30; i++) {
		others[i] = add_target(200 + i, NULL);
		want(others[i], 0x1000, 1);
		settle();
		code_cache_search(w.codes);
		settle();
	}
	assert_int_equal(atomic_load(&searches), 20); /* 2 s */
	code_cache_sweep(w.codes);
	for (int i = 0; i < 10; i++) { /* few at once */
		code_cache_search(w.codes);
		settle();
	}
	assert_int_equal(atomic_load(&searches), 30);
	end();
}

static void a_child_looks_for_what_its_parent_had_not_found(void **state)
{
	(void)state;
	begin_search();
	want(w.target, 0x1000, 1);
	settle();
	struct target *child = add_target(CHILD, w.target);
	want(child, 0x1000, 1);
	search_at_end(true);
	assert_int_equal(atomic_load(&searches), 2);
	assert_false(is_alone(child, 0x1000));
	assert_false(is_alone(w.target, 0x1000));
	child = add_target(CHILD + 1, w.target);
	want(child, 0x1000, 1);
	search_at_end(false);
	end();
}

static void who_makes_code_all_the_time_is_bounded(void **state)
{
	(void)state;
	begin(64 << 20);
	codes_alone = true;
	finds = cuts = hangs = false;
	for (uint64_t i = 1; i <= 9000; i++)
		want(w.target, i << 12, 1);
	settle();
	code_cache_search(w.codes);
	settle();
	code_cache_sweep(w.codes);
	search_at_end(false);
	end();
}

static void a_search_that_hangs_is_the_last(void **state)
{
	(void)state;
	sem_init(&may_go_on, 0, 0);
	begin_search();
	hangs = true;
	want(w.target, 0x1000, 1);
	settle();
	search_at_end(true);
	want(w.target, 0x2000, 1); /* its names are still read */
	settle();
	assert_true(is_alone(w.target, 0x2000));
	search_at_end(false);
	assert_int_equal(figures().searches, 0);
	sem_post(&may_go_on);
	end();
	usleep(10000);
}

static void a_process_that_went_meanwhile_is_forgotten(void **state)
{
	(void)state;
	begin_search();
	want(w.target, 0x1000, 1);
	settle();
	assert_true(code_cache_search(w.codes));
	target_table_end(w.table, w.target, 5);
	target_table_sweep(w.table, 6);
	settle();
	assert_int_equal(figures().known, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_search_is_for_all_pieces),
		cmocka_unit_test(whole_pieces_cost_no_search),
		cmocka_unit_test(a_process_is_searched_soon_without_a_drain),
		cmocka_unit_test(what_is_not_found_is_not_looked_for_again_and_again),
		cmocka_unit_test(a_search_that_was_cut_is_no_try),
		cmocka_unit_test(a_search_that_took_long_is_not_soon_followed_by_another),
		cmocka_unit_test(searches_of_a_window_share_a_time),
		cmocka_unit_test(a_child_looks_for_what_its_parent_had_not_found),
		cmocka_unit_test(who_makes_code_all_the_time_is_bounded),
		cmocka_unit_test(a_search_that_hangs_is_the_last),
		cmocka_unit_test(a_process_that_went_meanwhile_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
