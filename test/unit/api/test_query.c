// SPDX-License-Identifier: GPL-2.0-or-later
/* Queries that GET /flamegraph/PROBE.EXTENSION refuses, before it looks at anything else. */
#include "unit/lib/unit.h"

#include "api/resource/flamegraph.h"

static const struct query none = {.pid = QUERY_NONE,
				  .seconds = QUERY_NONE,
				  .icicle = QUERY_NONE,
				  .follow = QUERY_NONE,
				  .min_age = QUERY_NONE,
				  .top = QUERY_NONE,
				  .min = QUERY_NONE,
				  .max = QUERY_NONE,
				  .every = QUERY_NONE,
				  .count = QUERY_NONE};

static void assert_answer(const char *name, const struct query *query, unsigned status,
			  const char *message)
{
	static const struct services services;
	struct answer answer = {.body = BUF_INIT(4096)};

	flamegraph_fetch(&services, name, query, &answer, NULL, NULL);
	buf_char(&answer.body, '\0');
	assert_int_equal(buf_error(&answer.body), 0);
	if (!strstr(answer.body.data, message))
		fail_msg("%s: %s", name, answer.body.data);
	assert_int_equal(answer.status, status);
	buf_done(&answer.body);
}

static void numbers_have_a_range(void **state)
{
	struct query query = none;

	(void)state;
	query.pid = 0;
	assert_answer("oncpu.svg", &query, 400, "pid must be a number from 1 to 4194304");
	query.pid = 1;
	query.seconds = 601;
	assert_answer("oncpu.svg", &query, 400, "seconds must be a number from 1 to 600");
	query.seconds = 600;
	query.icicle = QUERY_NONSENSE;
	assert_answer("oncpu.svg", &query, 400, "icicle must be 0 or 1");
}

static void several_processes_are_numbers_with_commas(void **state)
{
	static const char *const wrong[] = {"",	 ",",	"1,", ",1",	 "1,,2",
					    "0", "1,0", "x",  "4194305", "1;2"};
	struct query query = none;
	char many[4 * 66] = "1";

	(void)state;
	query.pids = "1,2";
	assert_answer("oncpu.svg", &query, 400, "pids is in the place of pid, with seconds");
	query.seconds = 1;
	struct need need = {0}; /* a user's own processes are asked for one by one */
	flamegraph_need("oncpu.svg", &query, &need);
	assert_int_equal(need.role, ROLE_PROFILE);
	assert_false(need.own);
	query.pid = 1;
	assert_answer("oncpu.svg", &query, 400, "pids is in the place of pid, with seconds");
	query.pid = QUERY_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		query.pids = wrong[i];
		assert_answer("oncpu.svg", &query, 400, "pids must be up to 64 numbers");
	}
	for (int i = 0; i < 64; i++)
		strcat(many, ",1");
	query.pids = many;
	assert_answer("oncpu.svg", &query, 400, "pids must be up to 64 numbers");
	many[2 * 63 + 1] = '\0';
	query.icicle = QUERY_NONSENSE; /* the 64 are right */
	assert_answer("oncpu.svg", &query, 400, "icicle must be 0 or 1");
}

static void a_probe_without_views_has_none_of_any_name(void **state)
{
	static const char *const names[] = {"alloc", "inuse", "mmap", "", "x"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct query query = none;

		query.view = names[i];
		assert_answer("oncpu.svg", &query, 400, "oncpu has no views");
		assert_answer("mem.folded", &query, 400, "mem has no views");
	}
}

static void an_unknown_view_is_told_the_known_ones(void **state)
{
	struct query query = none;

	(void)state;
	query.view = "leak";
	assert_answer("mem_glibc.svg", &query, 400, "view must be one of alloc, inuse, mmap");
	query.view = "";
	assert_answer("mem_glibc.svg", &query, 400, "view must be one of alloc, inuse, mmap");
}

static void only_what_is_held_has_an_age(void **state)
{
	static const char *const views[] = {NULL, "alloc", "ALLOC"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		struct query query = none;

		query.view = views[i];
		query.min_age = 0;
		assert_answer("mem_glibc.svg", &query, 400, "min_age is for what is held");
	}
	struct query query = none;
	query.min_age = 60;
	assert_answer("oncpu.svg", &query, 400, "min_age is for what is held");
}

static void an_age_is_a_number_of_seconds_up_to_a_year(void **state)
{
	static const long long ages[] = {QUERY_NONSENSE, 31536001, INT64_MAX};
	struct query query = none;

	(void)state;
	query.view = "InUse";
	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		query.min_age = ages[i];
		assert_answer("mem_glibc.svg", &query, 400,
			      "min_age must be a number from 0 to 31536000");
	}
	query.seconds = 10;
	query.min_age = 10;
	assert_answer("mem_glibc.svg", &query, 400, "min_age must be less than seconds");
}

static void a_count_is_of_probes_that_have_one(void **state)
{
	struct query query = none;

	(void)state;
	query.value = "count";
	assert_answer("oncpu.svg", &query, 400, "value=count is for offcpu, mem, mem_glibc");
	query.value = "bytes";
	assert_answer("mem.svg", &query, 400, "value must be count");
	query.value = "count";
	assert_answer("mem.pb.gz", &query, 400, "value is not for pb.gz: it has both values");
}

static void stacks_are_chosen_by_numbers(void **state)
{
	struct query query = none;

	(void)state;
	query.top = 0;
	assert_answer("oncpu.folded", &query, 400, "top must be a number from 1 to 1000000");
	query = none;
	query.max = 0;
	assert_answer("oncpu.folded", &query, 400, "min and max must be whole numbers");
	query.max = 3;
	query.min = 4;
	assert_answer("oncpu.svg", &query, 400, "min must not be more than max");
	query = none;
	query.sort = "size";
	assert_answer("oncpu.folded", &query, 400, "sort must be name or value");
	query.sort = "Value";
	assert_answer("oncpu.svg", &query, 400, "sort is for folded and jsonl");
}

static void names_are_probes_and_formats(void **state)
{
	(void)state;
	assert_answer("oncpu", &none, 404, "url not found");
	assert_answer("bogus.svg", &none, 404, "url not found");
	assert_answer("oncpu.png", &none, 404, "url not found");
	assert_answer(".svg", &none, 404, "url not found");
	assert_answer("oncpu.pb", &none, 404, "url not found");
	assert_answer("oncpu.gz", &none, 404, "url not found");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_a_range),
		cmocka_unit_test(several_processes_are_numbers_with_commas),
		cmocka_unit_test(a_probe_without_views_has_none_of_any_name),
		cmocka_unit_test(an_unknown_view_is_told_the_known_ones),
		cmocka_unit_test(only_what_is_held_has_an_age),
		cmocka_unit_test(an_age_is_a_number_of_seconds_up_to_a_year),
		cmocka_unit_test(a_count_is_of_probes_that_have_one),
		cmocka_unit_test(stacks_are_chosen_by_numbers),
		cmocka_unit_test(names_are_probes_and_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
