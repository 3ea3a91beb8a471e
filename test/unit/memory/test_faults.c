// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <math.h>

#include "bpf/shared/faults.h"
#include "hooks/fault_sampling.h"

#define PAGE 4096

static const struct fault_sizes sizes = {.huge_pages = 512, .batch = 32};

/* ---- this CPU's part, or this thread's ---- */

/* What lib/percpu_counter.c does with a CPU's part. */
static void add(int32_t *own, int64_t *sum, int32_t pages)
{
	if (abs(*own + pages) >= sizes.batch) {
		*sum += *own + pages;
		*own = 0;
	} else {
		*own += pages;
	}
}

static void one_add_is_told_from_any_part(void **state)
{
	static const int32_t added[] = {-1, 0, 1, 2, 7, 15, 16, 32, 64, 128, 256, 512};

	(void)state;
	for (int32_t before = -31; before < 32; before++) {
		for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++) {
			int32_t own = before;
			int64_t sum = 0;

			add(&own, &sum, added[i]);
			assert_int_equal(grown_by_cpu(before, own, sum, &sizes), added[i]);
		}
	}
}

static void pages_that_are_added_one_by_one_are_told(void **state)
{
	(void)state;
	for (int32_t before = -31; before < 32; before++) {
		int32_t own = before;
		int64_t sum = 0;

		for (int i = 0; i < FAULT_AROUND_PAGES; i++)
			add(&own, &sum, 1);
		assert_int_equal(grown_by_cpu(before, own, sum, &sizes), FAULT_AROUND_PAGES);
	}
}

static void another_cpus_part_that_came_to_the_sum_is_not_ours(void **state)
{
	(void)state;
	/* Ours didn't. */
	assert_int_equal(grown_by_cpu(3, 4, 32, &sizes), 1);
	assert_int_equal(grown_by_cpu(3, 19, 47, &sizes), 16);
	assert_int_equal(grown_by_cpu(3, 3, 544, &sizes), 0);
	assert_int_equal(grown_by_cpu(1, 0, 40, &sizes), -1);
	/* Both did. */
	assert_int_equal(grown_by_cpu(31, 0, 32 + 32, &sizes), 1);
	assert_int_equal(grown_by_cpu(16, 0, 32 + 33, &sizes), 16);
	assert_int_equal(grown_by_cpu(10, 0, 522 + 32, &sizes), 512);
}

static void a_threads_part_is_told_before_and_after_it_came_to_the_sum(void **state)
{
	(void)state;
	assert_int_equal(grown_by_task(5, 6, 0, ADDED_NOT, &sizes), 1);
	assert_int_equal(grown_by_task(5, 6, 900, ADDED_NOT, &sizes), 1); /* the others' */
	assert_int_equal(grown_by_task(60, 1, 60, ADDED_FIRST, &sizes), 1);
	assert_int_equal(grown_by_task(60, 0, 60, ADDED_FIRST, &sizes), 0);
	assert_int_equal(grown_by_task(5, 5, 512, ADDED_NOT, &sizes), 512);
	assert_int_equal(grown_by_task(60, 0, 572, ADDED_FIRST, &sizes), 512);
	assert_int_equal(grown_by_task(5, 4, 0, ADDED_NOT, &sizes), -1);
}

static void a_page_that_the_first_of_two_tries_brought_is_in_the_sum_only(void **state)
{
	struct resident before = {.events = 64}, after = {.events = 0};

	(void)state;
	/* The second of the two was the one that adds. */
	assert_int_equal(part_added(&before, &after), ADDED_AGAIN);
	assert_int_equal(grown_by_task(32, 0, 33, ADDED_AGAIN, &sizes), 1);
	assert_int_equal(grown_by_task(32, 0, 70, ADDED_AGAIN, &sizes), 1); /* others' too */
	assert_int_equal(grown_by_task(32, 0, 32, ADDED_AGAIN, &sizes), 0); /* it was there */
	assert_int_equal(grown_by_task(32, 1, 32, ADDED_AGAIN, &sizes), 1); /* the second one did */
	assert_int_equal(grown_by_task(32, 0, 544, ADDED_AGAIN, &sizes), 512);
	/* The first was: it counted what it brought from 0 on. */
	before.events = 65;
	assert_int_equal(part_added(&before, &after), ADDED_FIRST);
	after.events = 1;
	assert_int_equal(part_added(&before, &after), ADDED_FIRST);
	assert_int_equal(grown_by_task(32, 1, 32, ADDED_FIRST, &sizes), 1);
	assert_int_equal(grown_by_task(32, 0, 70, ADDED_FIRST, &sizes), 0); /* the others' */
	/* None was. */
	before.events = 62;
	after.events = 64;
	assert_int_equal(part_added(&before, &after), ADDED_NOT);
}

static void assert_part(int32_t file, int32_t anon, int32_t shmem, enum count_part part,
			uint32_t pages)
{
	int32_t grown[RSS_KINDS] = {0};
	uint32_t got = 0;

	grown[RSS_FILE] = file;
	grown[RSS_ANON] = anon;
	grown[RSS_SHMEM] = shmem;
	assert_int_equal(fault_part(grown, &sizes, &got), part);
	assert_int_equal(got, pages);
}

static void the_counters_tell_the_kind(void **state)
{
	(void)state;
	assert_part(0, 1, 0, PART_ANON, 1);
	assert_part(0, 256, 0, PART_ANON, 256);
	assert_part(0, 512, 0, PART_THP, 512);
	assert_part(16, 0, 0, PART_FILE, 16);
	assert_part(0, 0, 1, PART_SHMEM, 1);
	assert_part(-1, 1, 0, PART_COW, 1);
	assert_part(0, 1, -1, PART_COW, 1);
	assert_part(0, 0, 0, PART_ALL, 0);
	assert_part(-1, 0, 0, PART_ALL, 0);
}

/* ---- chances ---- */

static struct fault_chance chances[FAULT_PAGES_MAX + 1];

static double chance(uint32_t pages)
{
	return (chances[pages].last + 1.0) / 4294967296.0;
}

static void a_fault_weighs_its_bytes_over_its_chance(void **state)
{
	static const uint64_t means[] = {1, 4096, 65536, 524288, 1ULL << 40};

	(void)state;
	for (size_t i = 0; i < sizeof(means) / sizeof(*means); i++) {
		fault_sampling_fill(chances, PAGE, means[i]);
		for (uint32_t pages = 1; pages <= FAULT_PAGES_MAX; pages++) {
			double bytes = pages * (double)PAGE;
			double wanted = -expm1(-bytes / (double)means[i]);

			/* 32 bits have room for chances down to 2^-32. */
			assert_true(fabs(chance(pages) - wanted) <= 1 / 4294967296.0);
			assert_true(fabs(chance(pages) * (double)chances[pages].bytes - bytes) <=
				    1e-4 * bytes);
		}
	}
}

static void without_a_mean_each_fault_is_taken_as_it_is(void **state)
{
	(void)state;
	fault_sampling_fill(chances, PAGE, 0);
	for (uint32_t pages = 1; pages <= FAULT_PAGES_MAX; pages++) {
		assert_int_equal(chances[pages].last, UINT32_MAX);
		assert_int_equal(chances[pages].bytes, pages * PAGE);
	}
}

static void a_huge_page_is_never_missed_at_the_default(void **state)
{
	(void)state;
	fault_sampling_fill(chances, PAGE, 65536);
	assert_true(chance(512) > 0.9999999);
	assert_true(chance(1) < 0.061 && chance(1) > 0.060);
	assert_in_range(chances[1].bytes, 67500, 67700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_add_is_told_from_any_part),
		cmocka_unit_test(pages_that_are_added_one_by_one_are_told),
		cmocka_unit_test(another_cpus_part_that_came_to_the_sum_is_not_ours),
		cmocka_unit_test(a_threads_part_is_told_before_and_after_it_came_to_the_sum),
		cmocka_unit_test(a_page_that_the_first_of_two_tries_brought_is_in_the_sum_only),
		cmocka_unit_test(the_counters_tell_the_kind),
		cmocka_unit_test(a_fault_weighs_its_bytes_over_its_chance),
		cmocka_unit_test(without_a_mean_each_fault_is_taken_as_it_is),
		cmocka_unit_test(a_huge_page_is_never_missed_at_the_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
