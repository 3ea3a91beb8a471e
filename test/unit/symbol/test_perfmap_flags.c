// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "symbol/perfmap_flags.h"

static void a_program_is_known_by_its_name_whatever_its_version(void **state)
{
	static const char *const programs[] = {
		"/usr/bin/node", "node",       "/opt/n/node20",	     "/usr/bin/php8.2",
		"/x/php-fpm8.2", "/x/ruby3.3", "/erts/bin/beam.smp", "/usr/bin/nodejs"};
	static const char *const libraries[] = {"/usr/lib/libnode.so.108", "/dotnet/libcoreclr.so",
						"/usr/lib/libruby-3.3.so.3.3", "/x/libphp8.2.so"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		assert_non_null(perfmap_flag(programs[i], true));
		assert_null(perfmap_flag(programs[i], false));
	}
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		assert_non_null(perfmap_flag(libraries[i], false));
		assert_null(perfmap_flag(libraries[i], true));
	}
	assert_non_null(strstr(perfmap_flag("/usr/bin/node", true), "--perf-basic-prof"));
	assert_non_null(strstr(perfmap_flag("/x/libcoreclr.so", false), "DOTNET_PerfMapEnabled=1"));
}

static void others_are_not_taken_for_it(void **state)
{
	static const char *const others[] = {"/usr/bin/nodemon",
					     "/x/node-problem-detector",
					     "/x/node_exporter",
					     "/x/libnodes.so",
					     "/node/bin/other",
					     "",
					     "/",
					     "/usr/bin/phpunit",
					     "/usr/bin/rubyist",
					     "beams"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_null(perfmap_flag(others[i], true));
		assert_null(perfmap_flag(others[i], false));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_is_known_by_its_name_whatever_its_version),
		cmocka_unit_test(others_are_not_taken_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
