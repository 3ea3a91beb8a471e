// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "heap/mmap_ranges.h"

#define PAGE   4096ULL
#define PAGES  256U /* of the model's address space */
#define TGIDS  3U
#define PLENTY 100000U

static struct mmap_ranges *make(size_t max)
{
	struct mmap_ranges *mapped = NULL;

	assert_int_equal(mmap_ranges_new(&mapped, max), 0);
	return mapped;
}

/* Pages [from, to) of process `tgid`. */
static void tell(struct mmap_ranges *mapped, enum mapped_kind kind, uint32_t tgid, uint64_t from,
		 uint64_t to, uint64_t time_ns)
{
	struct mapped_event event = {
		.kind = kind,
		.tid = tgid + 1,
		.stack = {.tgid = tgid},
		.start = from * PAGE,
		.end = to * PAGE,
		.time_ns = time_ns,
	};

	if (kind == MAPPED_CAME)
		event.stack.hash = time_ns;
	mmap_ranges_on_event(mapped, &event);
}

/* Each process's are sorted. */
static void sort_by_process(struct live_alloc *holdings, int64_t n)
{
	for (int64_t i = 1; i < n; i++) {
		for (int64_t j = i; j > 0 && holdings[j].stack.tgid < holdings[j - 1].stack.tgid;
		     j--) {
			struct live_alloc swap = holdings[j];

			holdings[j] = holdings[j - 1];
			holdings[j - 1] = swap;
		}
	}
}

static void assert_listed(const struct mmap_ranges *mapped, const struct live_alloc *expected,
			  size_t count)
{
	struct live_alloc *holdings = NULL;
	int64_t n = mmap_ranges_list(mapped, &holdings);

	assert_int_equal(n, count);
	sort_by_process(holdings, n);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(holdings[i].bytes, expected[i].bytes * PAGE);
		assert_int_equal(holdings[i].objects, expected[i].objects);
		assert_int_equal(holdings[i].time_ns, expected[i].time_ns);
		assert_int_equal(holdings[i].stack.hash, expected[i].time_ns);
		assert_int_equal(holdings[i].tid, holdings[i].stack.tgid + 1);
	}
	free(holdings);
}

static uint64_t refused(const struct mmap_ranges *mapped)
{
	struct mmap_ranges_stats stats;

	mmap_ranges_stats(mapped, &stats);
	return stats.refused;
}

#define ASSERT_LISTED(mapped, ...)                                                                 \
	do {                                                                                       \
		const struct live_alloc expected_[] = {__VA_ARGS__};                               \
		assert_listed(mapped, expected_, ARRAY_SIZE(expected_));                           \
	} while (0)

static void a_range_comes_and_goes(void **state)
{
	struct mmap_ranges *mapped = make(PLENTY);

	(void)state;
	tell(mapped, MAPPED_CAME, 1, 10, 20, 5);
	ASSERT_LISTED(mapped, {.bytes = 10, .objects = 1, .time_ns = 5});
	tell(mapped, MAPPED_GONE, 2, 10, 20, 7); /* another process's */
	ASSERT_LISTED(mapped, {.bytes = 10, .objects = 1, .time_ns = 5});
	tell(mapped, MAPPED_GONE, 1, 10, 20, 7);
	assert_listed(mapped, NULL, 0);
	mmap_ranges_free(mapped);
}

static void parts_of_a_range_count_as_one_object(void **state)
{
	struct mmap_ranges *mapped = make(PLENTY);

	(void)state;
	tell(mapped, MAPPED_CAME, 1, 10, 20, 5);
	tell(mapped, MAPPED_GONE, 1, 12, 14, 7);
	ASSERT_LISTED(mapped, {.bytes = 2, .objects = 1, .time_ns = 5},
		      {.bytes = 6, .objects = 0, .time_ns = 5});
	/* Whichever part is left is the one. */
	tell(mapped, MAPPED_GONE, 1, 9, 13, 8);
	ASSERT_LISTED(mapped, {.bytes = 6, .objects = 1, .time_ns = 5});
	tell(mapped, MAPPED_GONE, 1, 18, 40, 9);
	ASSERT_LISTED(mapped, {.bytes = 4, .objects = 1, .time_ns = 5});
	mmap_ranges_free(mapped);
}

static void what_is_mapped_over_is_gone(void **state)
{
	struct mmap_ranges *mapped = make(PLENTY);

	(void)state;
	tell(mapped, MAPPED_CAME, 1, 10, 20, 5);
	tell(mapped, MAPPED_CAME, 1, 15, 16, 6);
	ASSERT_LISTED(mapped, {.bytes = 5, .objects = 1, .time_ns = 5},
		      {.bytes = 1, .objects = 1, .time_ns = 6},
		      {.bytes = 4, .objects = 0, .time_ns = 5});
	tell(mapped, MAPPED_CAME, 1, 0, 30, 7);
	ASSERT_LISTED(mapped, {.bytes = 30, .objects = 1, .time_ns = 7});
	mmap_ranges_free(mapped);
}

/* munmap() has given a range back, another thread was given it, and only then munmap() returned. */
static void a_call_takes_nothing_that_came_after_it_began(void **state)
{
	struct mmap_ranges *mapped = make(PLENTY);

	(void)state;
	tell(mapped, MAPPED_CAME, 1, 10, 20, 5);
	tell(mapped, MAPPED_CAME, 1, 12, 14, 8);
	tell(mapped, MAPPED_GONE, 1, 10, 20, 7);
	ASSERT_LISTED(mapped, {.bytes = 2, .objects = 1, .time_ns = 8});
	/* Nor a part of it. */
	tell(mapped, MAPPED_GONE, 1, 13, 20, 8);
	tell(mapped, MAPPED_GONE, 1, 10, 13, 8);
	ASSERT_LISTED(mapped, {.bytes = 2, .objects = 1, .time_ns = 8});
	mmap_ranges_free(mapped);
}

static void mremap_is_both(void **state)
{
	struct mmap_ranges *mapped = make(PLENTY);

	(void)state;
	tell(mapped, MAPPED_CAME, 1, 10, 20, 5);
	tell(mapped, MAPPED_GONE, 1, 10, 20, 7); /* it grows where it is */
	tell(mapped, MAPPED_CAME, 1, 10, 25, 8);
	ASSERT_LISTED(mapped, {.bytes = 15, .objects = 1, .time_ns = 8});
	tell(mapped, MAPPED_CAME, 1, 100, 115, 12); /* it moves; told the other way round */
	tell(mapped, MAPPED_GONE, 1, 10, 25, 11);
	ASSERT_LISTED(mapped, {.bytes = 15, .objects = 1, .time_ns = 12});
	mmap_ranges_free(mapped);
}

static void a_new_program_has_nothing_of_the_old_one(void **state)
{
	struct mmap_ranges *mapped = make(PLENTY);

	(void)state;
	tell(mapped, MAPPED_CAME, 1, 10, 20, 5);
	tell(mapped, MAPPED_CAME, 2, 10, 20, 6);
	tell(mapped, MAPPED_CAME, 1, 30, 40, 9);
	mmap_ranges_cut(mapped, 1, 8);
	ASSERT_LISTED(mapped, {.bytes = 10, .objects = 1, .time_ns = 9},
		      {.bytes = 10, .objects = 1, .time_ns = 6});
	mmap_ranges_cut(mapped, 3, 100);
	mmap_ranges_clear(mapped);
	assert_listed(mapped, NULL, 0);
	tell(mapped, MAPPED_CAME, 1, 10, 20, 10);
	ASSERT_LISTED(mapped, {.bytes = 10, .objects = 1, .time_ns = 10});
	mmap_ranges_free(mapped);
}

static void what_finds_no_room_is_counted(void **state)
{
	struct mmap_ranges *mapped = make(2);

	(void)state;
	tell(mapped, MAPPED_CAME, 1, 10, 20, 5);
	tell(mapped, MAPPED_CAME, 2, 10, 20, 6);
	tell(mapped, MAPPED_CAME, 3, 10, 20, 7);
	assert_int_equal(refused(mapped), 1);
	/* A hole in the middle: what lies behind it is another piece. */
	tell(mapped, MAPPED_GONE, 1, 12, 14, 8);
	assert_int_equal(refused(mapped), 2);
	ASSERT_LISTED(mapped, {.bytes = 2, .objects = 1, .time_ns = 5},
		      {.bytes = 10, .objects = 1, .time_ns = 6});
	/* Ends need none. */
	tell(mapped, MAPPED_GONE, 2, 9, 12, 8);
	tell(mapped, MAPPED_GONE, 2, 19, 22, 8);
	ASSERT_LISTED(mapped, {.bytes = 2, .objects = 1, .time_ns = 5},
		      {.bytes = 7, .objects = 1, .time_ns = 6});
	tell(mapped, MAPPED_GONE, 2, 0, 30, 8);
	tell(mapped, MAPPED_CAME, 3, 10, 20, 9);
	assert_int_equal(refused(mapped), 2);
	mmap_ranges_free(mapped);
}

static void what_is_no_range_is_nothing(void **state)
{
	struct mmap_ranges *mapped = make(PLENTY);

	(void)state;
	tell(mapped, MAPPED_CAME, 1, 20, 20, 5);
	tell(mapped, MAPPED_CAME, 1, 20, 10, 5);
	assert_listed(mapped, NULL, 0);
	tell(mapped, MAPPED_CAME, 1, 10, 20, 5);
	tell(mapped, MAPPED_GONE, 1, 20, 10, 9);
	tell(mapped, MAPPED_GONE, 1, 15, 15, 9);
	ASSERT_LISTED(mapped, {.bytes = 10, .objects = 1, .time_ns = 5});
	mmap_ranges_free(mapped);
}

/* Each page's mapping, by the time at which it came; 0: none. */
static uint64_t model[TGIDS][PAGES];

static void model_take(uint32_t tgid, uint64_t from, uint64_t to, uint64_t before)
{
	for (uint64_t page = from; page < to; page++) {
		if (model[tgid][page] < before)
			model[tgid][page] = 0;
	}
}

static void assert_like_model(const struct mmap_ranges *mapped)
{
	static uint64_t listed[PLENTY], expected[PLENTY];
	static unsigned objects[PLENTY];
	struct live_alloc *holdings = NULL;
	int64_t n = mmap_ranges_list(mapped, &holdings);

	memset(listed, 0, sizeof(listed));
	memset(expected, 0, sizeof(expected));
	memset(objects, 0, sizeof(objects));
	for (int64_t i = 0; i < n; i++) {
		listed[holdings[i].time_ns] += holdings[i].bytes;
		objects[holdings[i].time_ns] += (unsigned)holdings[i].objects;
		assert_int_not_equal(holdings[i].bytes, 0);
	}
	for (uint32_t tgid = 0; tgid < TGIDS; tgid++) {
		for (unsigned page = 0; page < PAGES; page++)
			expected[model[tgid][page]] += model[tgid][page] ? PAGE : 0;
	}
	for (uint64_t time = 0; time < PLENTY; time++) {
		assert_int_equal(listed[time], expected[time]);
		assert_int_equal(objects[time], expected[time] != 0);
	}
	free(holdings);
}

static void random_calls_agree_with_a_model_of_pages(void **state)
{
	struct mmap_ranges *mapped = make(PLENTY);

	(void)state;
	uint64_t random = 11;

	for (uint64_t time = 2; time < 20000; time++) {
		uint64_t bits = random_next(&random);
		uint32_t tgid = bits % TGIDS;
		uint64_t from = bits >> 8 & (PAGES - 1), to = from + (bits >> 16 & 31) + 1;
		uint64_t began = bits >> 32 & 1 && time > 40 ? time - (bits >> 33 & 31) : time;

		to = to > PAGES ? PAGES : to;
		if (bits >> 40 & 1) {
			tell(mapped, MAPPED_CAME, tgid, from, to, time);
			model_take(tgid, from, to, UINT64_MAX);
			for (uint64_t page = from; page < to; page++)
				model[tgid][page] = time;
		} else if (bits >> 41 & 63) {
			tell(mapped, MAPPED_GONE, tgid, from, to, began);
			model_take(tgid, from, to, began);
		} else {
			mmap_ranges_cut(mapped, tgid, began);
			model_take(tgid, 0, PAGES, began);
		}
		if (time % 64 == 0)
			assert_like_model(mapped);
	}
	assert_int_equal(refused(mapped), 0);
	mmap_ranges_free(mapped);
}

static bool is_second(void *arg, uint32_t tgid)
{
	(void)arg;
	return tgid == 2;
}

static void what_others_have_is_forgotten(void **state)
{
	struct mmap_ranges *mapped = make(PLENTY);

	(void)state;
	for (uint32_t tgid = 1; tgid <= 3; tgid++)
		tell(mapped, MAPPED_CAME, tgid, 0, 4, 10 * tgid);
	tell(mapped, MAPPED_CAME, 3, 8, 9, 50);
	mmap_ranges_keep(mapped, is_second, NULL, 40);
	ASSERT_LISTED(mapped, {.stack.tgid = 2, .bytes = 4, .objects = 1, .time_ns = 20},
		      {.stack.tgid = 3, .bytes = 1, .objects = 1, .time_ns = 50});
	mmap_ranges_free(mapped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_comes_and_goes),
		cmocka_unit_test(parts_of_a_range_count_as_one_object),
		cmocka_unit_test(what_is_mapped_over_is_gone),
		cmocka_unit_test(a_call_takes_nothing_that_came_after_it_began),
		cmocka_unit_test(mremap_is_both),
		cmocka_unit_test(a_new_program_has_nothing_of_the_old_one),
		cmocka_unit_test(what_others_have_is_forgotten),
		cmocka_unit_test(what_finds_no_room_is_counted),
		cmocka_unit_test(what_is_no_range_is_nothing),
		cmocka_unit_test(random_calls_agree_with_a_model_of_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
