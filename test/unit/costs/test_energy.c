// SPDX-License-Identifier: GPL-2.0-or-later
/* The host's energy, from a tree as the kernel's powercap has it: names, sums, counters that begin
 * again, how often it is read. */
#include "unit/lib/folder.h"
#include "unit/lib/unit.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "costs/energy.h"

static struct folder folder;
#define root folder.path

static void write_file(const char *zone, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, zone);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", root, zone, file);
	FILE *stream = fopen(path, "w");
	assert_non_null(stream);
	fprintf(stream, "%s\n", text);
	assert_int_equal(fclose(stream), 0);
}

static void add_zone(const char *zone, const char *name, const char *uj)
{
	write_file(zone, "name", name);
	write_file(zone, "energy_uj", uj);
	write_file(zone, "max_energy_range_uj", "1000");
}

static int begin(void **state)
{
	(void)state;
	folder_make(&folder);
	return 0;
}

static int end(void **state)
{
	(void)state;
	folder_done(&folder);
	return 0;
}

static uint64_t uj_of(const struct energy *energy, const char *name)
{
	const struct energy_counts *counts = energy_counts(energy);

	for (unsigned i = 0; i < counts->count; i++) {
		if (strcmp(counts->zones[i].name, name) == 0)
			return counts->zones[i].uj;
	}
	fail_msg("no zone %s", name);
	return 0;
}

static void zones_have_the_names_of_their_packages(void **state)
{
	struct energy *energy;

	(void)state;
	assert_int_equal(energy_open(&energy, "/nowhere"), -ENOENT);
	assert_int_equal(energy_open(&energy, root), -ENOENT);
	add_zone("intel-rapl:0", "package-0", "5");
	add_zone("intel-rapl:0:0", "core", "5");
	add_zone("intel-rapl:0:1", "dram", "5");
	add_zone("intel-rapl:1", "package-1", "5");
	add_zone("intel-rapl-mmio:0", "package-0", "5"); /* the same once more */
	assert_int_equal(energy_open(&energy, root), 0);
	assert_int_equal(energy_counts(energy)->count, 4);
	uj_of(energy, "package-0/core");
	uj_of(energy, "package-0/dram");
	uj_of(energy, "package-1");
	energy_close(energy);
}

static void it_is_read_every_ten_seconds_at_most(void **state)
{
	struct energy *energy;

	(void)state;
	add_zone("intel-rapl:0", "package-0", "100");
	assert_int_equal(energy_open(&energy, root), 0);
	energy_read(energy, 5 * NS_PER_S);
	assert_int_equal(uj_of(energy, "package-0"), 0);
	add_zone("intel-rapl:0", "package-0", "400");
	energy_read(energy, 14 * NS_PER_S);
	assert_int_equal(uj_of(energy, "package-0"), 0);
	assert_int_equal(energy_counts(energy)->time_ns, 5 * NS_PER_S);
	energy_read(energy, 15 * NS_PER_S);
	assert_int_equal(uj_of(energy, "package-0"), 300);
	energy_close(energy);
}

static void a_counter_that_begins_again_goes_on(void **state)
{
	struct energy *energy;

	(void)state;
	add_zone("intel-rapl:0", "package-0", "900");
	assert_int_equal(energy_open(&energy, root), 0);
	energy_read(energy, 10 * NS_PER_S);
	add_zone("intel-rapl:0", "package-0", "50");
	energy_read(energy, 20 * NS_PER_S);
	assert_int_equal(uj_of(energy, "package-0"), 150);
	write_file("intel-rapl:0", "energy_uj", "nonsense");
	energy_read(energy, 30 * NS_PER_S);
	assert_int_equal(uj_of(energy, "package-0"), 150);
	write_file("intel-rapl:0", "energy_uj", "60");
	energy_read(energy, 40 * NS_PER_S);
	assert_int_equal(uj_of(energy, "package-0"), 160);
	energy_close(energy);
}

static void packages_are_summed_up_and_what_was_before_subtracted(void **state)
{
	struct energy *energy;

	(void)state;
	add_zone("intel-rapl:0", "package-0", "100");
	add_zone("intel-rapl:0:0", "core", "100");
	add_zone("intel-rapl:1", "package-1", "100");
	add_zone("intel-rapl:2", "psys", "100");
	assert_int_equal(energy_open(&energy, root), 0);
	energy_read(energy, 10 * NS_PER_S);
	const struct energy_counts before = *energy_counts(energy);
	add_zone("intel-rapl:0", "package-0", "110");
	add_zone("intel-rapl:0:0", "core", "105");
	add_zone("intel-rapl:1", "package-1", "107");
	add_zone("intel-rapl:2", "psys", "130");
	energy_read(energy, 25 * NS_PER_S);
	struct energy_counts since = *energy_counts(energy);
	energy_subtract(&since, &before);
	assert_int_equal(since.time_ns, 15 * NS_PER_S);
	assert_int_equal(energy_of_packages(&since), 17);
	energy_subtract(&since, &since);
	assert_int_equal(since.time_ns, 0);
	energy_close(energy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(zones_have_the_names_of_their_packages, begin, end),
		cmocka_unit_test_setup_teardown(it_is_read_every_ten_seconds_at_most, begin, end),
		cmocka_unit_test_setup_teardown(a_counter_that_begins_again_goes_on, begin, end),
		cmocka_unit_test_setup_teardown(
			packages_are_summed_up_and_what_was_before_subtracted, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
