// SPDX-License-Identifier: GPL-2.0-or-later
/* Sampling by bytes: its arithmetic beside the C library's, and totals that come out of it. */
#include <math.h>
#include <stdlib.h>

#include "unit/lib/unit.h"

#include "bpf/memory/byte_sampler.h"

#define KIB (1ULL << 10)

static const uint64_t means[] = {1, 2, 100, 4096, 16384, 524288, 1 << 30, COUNTDOWN_MEAN_MAX};

/* A generator of its own, always from the same seed: SplitMix64 (S. Vigna, public domain). */
static uint32_t next_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (uint32_t)((z ^ z >> 31) >> 32);
}

static void a_distance_is_the_logarithm_rounded_down(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
		for (int n = 0; n < 200000; n++) {
			uint32_t random = next_random(&seed);

			if (n < 64) /* few zeros and ones at its ends, too */
				random = n < 32 ? 1U << n : ~(1U << (n - 32));
			double exact = -log((random + 0.5) / 4294967296.0) * (double)means[i];
			double got = (double)countdown_distance(random, means[i]);

			assert_true(fabs(got + 0.5 - exact) <=
				    0.5 + 1e-7 * (double)means[i] + 1e-3);
		}
	}
}

static void the_ends_of_the_random_numbers_are_distances(void **state)
{
	(void)state;
	assert_int_equal(countdown_distance(UINT32_MAX, 524288), 0);
	assert_int_equal(countdown_distance(0, 524288), (uint64_t)(33 * log(2) * 524288));
	assert_true(countdown_distance(0, COUNTDOWN_MEAN_MAX) < 23 * COUNTDOWN_MEAN_MAX);
}

static void the_mean_distance_is_the_mean(void **state)
{
	const uint64_t mean = 524288, steps = 1 << 22;
	double sum = 0;

	(void)state;
	/* Evenly over all random numbers: no chance is left. */
	for (uint64_t i = 0; i < steps; i++)
		sum += (double)countdown_distance((uint32_t)(i << 10 | 512), mean) + 0.5;
	assert_true(fabs(sum / (double)steps / (double)mean - 1) < 1e-5);
}

static double exact_weight(uint64_t size, uint64_t mean)
{
	return (double)size / -expm1(-(double)size / (double)mean);
}

static void expect_weight(uint64_t size, uint64_t mean)
{
	double exact = exact_weight(size, mean);
	double got = (double)countdown_weight(size, mean) / (1 << COUNTDOWN_PLACES);

	/* And what the fixed point can't tell. */
	assert_true(fabs(got - exact) <= exact * 1e-6 + 1.0 / (1 << COUNTDOWN_PLACES));
}

static void a_weight_is_the_size_over_its_chance(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
		double most = (double)(SIZE_MAX >> 12);

		for (double size = 1; size < most && size < 1e4 * (double)means[i]; size *= 1.01)
			expect_weight((uint64_t)size, means[i]);
		for (int around = -2; around <= 2; around++) {
			expect_weight(means[i] + 2 + (uint64_t)around, means[i]);
			expect_weight(means[i] * COUNTDOWN_SURE + 2 + (uint64_t)around, means[i]);
		}
	}
}

static void without_a_mean_each_stands_for_itself(void **state)
{
	(void)state;
	for (uint64_t size = 1; size < 1ULL << 53; size *= 3) {
		uint64_t weight = countdown_weight(size, 0);

		assert_int_equal(weight, size << COUNTDOWN_PLACES);
		assert_int_equal(countdown_objects(weight, size, UINT32_MAX), 1);
		assert_int_equal(round_places(weight, COUNTDOWN_PLACES, UINT32_MAX), size);
	}
}

static void objects_are_rounded_by_chance(void **state)
{
	const uint64_t size = 300 * KIB, mean = 512 * KIB;
	uint64_t weight = countdown_weight(size, mean), sum = 0, bytes = 0;

	(void)state;
	for (uint32_t i = 0; i < 1 << COUNTDOWN_OBJECTS; i++) {
		sum += countdown_objects(weight, size, i);
		bytes += round_places(weight, COUNTDOWN_PLACES, i);
	}
	double objects = (double)sum / (1 << COUNTDOWN_OBJECTS);
	double exact = exact_weight(size, mean);
	assert_true(fabs(objects * (double)size / exact - 1) < 1e-5);
	assert_true(fabs((double)bytes / (1 << COUNTDOWN_OBJECTS) / exact - 1) < 1e-6);
}

/* Counts down over many allocations of mixed sizes, as the program does. */
static void totals_of_each_size_come_out_true(void **state)
{
	static const uint64_t sizes[] = {1, 8, 64, 1000, 16384, 300000, 2 << 20};
	enum { SIZES = ARRAY_SIZE(sizes) };
	const uint64_t mean = 16384;
	uint64_t seed = 7, made[SIZES] = {0}, bytes[SIZES] = {0}, objects[SIZES] = {0};
	double spread[SIZES] = {0};
	int64_t left = (int64_t)countdown_distance(next_random(&seed), mean);

	(void)state;
	for (long n = 0; n < 20000000; n++) {
		/* Small ones as often as the seventh power says, all in one order by chance. */
		uint32_t pick = next_random(&seed);
		int which = 0;

		while (which < SIZES - 1 && (pick >> (3 * which) & 7) == 0)
			which++;
		uint64_t size = sizes[which];
		made[which]++;
		left -= (int64_t)size;
		if (left >= 0)
			continue;
		left = (int64_t)countdown_distance(next_random(&seed), mean);
		uint64_t weight = countdown_weight(size, mean);
		bytes[which] += round_places(weight, COUNTDOWN_PLACES, next_random(&seed));
		objects[which] += countdown_objects(weight, size, next_random(&seed));
	}
	for (int i = 0; i < SIZES; i++) {
		double p = -expm1(-(double)sizes[i] / (double)mean), n = (double)made[i];

		/* Seven deviations of the number that is drawn; of the rounding as well. */
		spread[i] = 7 * sqrt(n * (1 - p) / p + n * 0.25) / n;
		assert_true(fabs((double)objects[i] / n - 1) < spread[i] + 1e-5);
		assert_true(fabs((double)bytes[i] / n / (double)sizes[i] - 1) < spread[i] + 1e-5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_distance_is_the_logarithm_rounded_down),
		cmocka_unit_test(the_ends_of_the_random_numbers_are_distances),
		cmocka_unit_test(the_mean_distance_is_the_mean),
		cmocka_unit_test(a_weight_is_the_size_over_its_chance),
		cmocka_unit_test(without_a_mean_each_stands_for_itself),
		cmocka_unit_test(objects_are_rounded_by_chance),
		cmocka_unit_test(totals_of_each_size_come_out_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
