// SPDX-License-Identifier: GPL-2.0-or-later
/* GET of /flamegraph/PROBE.EXTENSION: profiles of what was collected, and what is refused. */
#include "unit/lib/scripted_api.h"

/* Functions that stacks show; they are in the worker, too, which was forked. */
__attribute__((noinline)) static int burn_cpu(int of)
{
	return of + 1;
}

__attribute__((noinline)) static int run_all(int of)
{
	return burn_cpu(of) * 2;
}

static void sample(const struct scripted_api *api, enum probe probe, uint64_t weight,
		   uint64_t events)
{
	const struct stack_count count = {.weight = weight, .samples = events, .events = events};

	api_stack(&api->process, probe, &count, TRUNCATED_NOT, (uintptr_t)burn_cpu,
		  (uintptr_t)run_all);
}

/* GET of a folded profile, which is a line of the worker with that weight. */
static void assert_folded(struct scripted_api *api, const char *path, unsigned weight)
{
	char expected[128];
	const struct reply *reply = api_get(api, path);

	snprintf(expected, sizeof(expected), "[%d]worker;thread;run_all;burn_cpu %u\n",
		 (int)api->process.pid, weight);
	assert_int_equal(reply->status, 200);
	assert_string_equal(reply->body, weight ? expected : "");
}

static void a_fetch_has_all_that_was_counted_so_far(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\"", "");
	assert_folded(api, "/flamegraph/oncpu.folded", 0);
	sample(api, PROBE_ONCPU, 7, 7);
	assert_folded(api, "/flamegraph/oncpu.folded", 7);
	sample(api, PROBE_ONCPU, 4, 4);
	assert_folded(api, "/FlameGraph/ONCPU.folded", 11);
	assert_json_at(api_get(api, "/flamegraph")->body, "status.probes.oncpu.samples", "11");
}

static void each_output_has_its_type(void **state)
{
	static const struct {
		const char *path, *type, *begin;
	} outputs[] = {
		{"/flamegraph/oncpu.folded", "text/plain; charset=utf-8", "["},
		{"/flamegraph/oncpu.json", "application/json", "{\"name\":\"all\","},
		{"/flamegraph/oncpu.jsonl", "application/x-ndjson", "{\"profiler_type\":1,"},
		{"/flamegraph/oncpu.svg", "image/svg+xml", "<?xml version=\"1.0\""},
		{"/flamegraph/oncpu.html", "text/html; charset=utf-8", "<!DOCTYPE html>"},
		{"/flamegraph/oncpu.pb.gz", "application/octet-stream", "\x1f\x8b"},
	};
	struct scripted_api *api = *state;
	char line[80];

	api_choose(api, "\"oncpu\"", "");
	sample(api, PROBE_ONCPU, 7, 7);
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		const struct reply *reply = api_get(api, outputs[i].path);

		snprintf(line, sizeof(line), "\r\nContent-Type: %s\r\n", outputs[i].type);
		assert_int_equal(reply->status, 200);
		assert_has(reply->head, line);
		assert_memory_equal(reply->body, outputs[i].begin, strlen(outputs[i].begin));
	}
}

static void a_pid_has_its_own_stacks_alone(void **state)
{
	struct scripted_api *api = *state;
	char path[64];

	api_choose(api, "\"oncpu\"", "");
	sample(api, PROBE_ONCPU, 7, 7);
	snprintf(path, sizeof(path), "/flamegraph/oncpu.folded?pid=%d", (int)api->process.pid);
	assert_folded(api, path, 7);
	assert_folded(api, "/flamegraph/oncpu.folded?pid=1", 0);
}

static void value_count_has_events_instead_of_weights(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"offcpu\",\"mem\"", "");
	sample(api, PROBE_OFFCPU, 5000000, 3);
	sample(api, PROBE_MEM, 4096, 1);
	assert_folded(api, "/flamegraph/offcpu.folded", 5000);
	assert_folded(api, "/flamegraph/offcpu.folded?value=count", 3);
	assert_folded(api, "/flamegraph/mem.folded", 4096);
	assert_folded(api, "/flamegraph/mem.folded?value=COUNT", 1);
}

/* Returns the y of the frame "all", the root. */
static long root_place(struct scripted_api *api, const char *path)
{
	const char *root = strstr(api_get(api, path)->body, "<title>all ");
	const char *place = root ? strstr(root, " y=\"") : NULL;

	assert_non_null(place);
	return strtol(place + 4, NULL, 10);
}

static void a_picture_has_its_root_where_the_query_or_the_param_says(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\"", "");
	sample(api, PROBE_ONCPU, 7, 7);
	long below = root_place(api, "/flamegraph/oncpu.svg");
	long above = root_place(api, "/flamegraph/oncpu.svg?icicle=1");
	assert_true(above < below);
	api_put(api, "/flamegraph", "{\"params\":{\"icicle\":1}}");
	assert_int_equal(root_place(api, "/flamegraph/oncpu.svg"), above);
	assert_int_equal(root_place(api, "/flamegraph/oncpu.svg?icicle=0"), below);
}

static void what_is_held_has_views_of_its_own(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"mem_glibc\"", "");
	sample(api, PROBE_MEM_GLIBC, 1024, 2);
	assert_folded(api, "/flamegraph/mem_glibc.folded?view=alloc", 1024);
	assert_folded(api, "/flamegraph/mem_glibc.folded?view=inuse", 0);
	assert_folded(api, "/flamegraph/mem_glibc.folded?view=mmap&min_age=60", 0);
	assert_int_equal(api_get(api, "/debug/pprof/heap")->status, 200);
	assert_int_equal(api_get(api, "/debug/pprof/allocs")->status, 200);
}

static void without_a_put_there_is_no_profile_yet(void **state)
{
	struct scripted_api *api = *state;
	const char *message = "there is no profile yet: PUT a configuration with state running "
			      "first, or ask with seconds=N";

	assert_get_fails(api, "/flamegraph/oncpu.svg", 404, message);
	assert_get_fails(api, "/debug/pprof/allocs", 404, message);
	assert_get_fails(api, "/debug/pprof/heap", 404, message);
}

static void a_resource_is_a_probe_and_an_output(void **state)
{
	static const char *const paths[] = {
		"/flamegraph/oncpu",	    "/flamegraph/oncpu.",
		"/flamegraph/.svg",	    "/flamegraph/oncpu.gif",
		"/flamegraph/nothing.svg",  "/flamegraph/oncpu.svg/x",
		"/flamegraph/oncpu%00.svg", "/flamegraph/a_name_that_no_probe_of_this_has.svg",
	};
	struct scripted_api *api = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_get_fails(api, paths[i], 404, "url not found");
}

static void a_query_that_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *path, *message;
	} queries[] = {
		{"oncpu.svg?pid=0", "pid must be a number from 1 to 4194304"},
		{"oncpu.svg?pid=4194305", "pid must be a number from 1 to 4194304"},
		{"oncpu.svg?pid=x", "pid must be a number from 1 to 4194304"},
		{"oncpu.svg?seconds=0", "seconds must be a number from 1 to 600"},
		{"oncpu.svg?seconds=601", "seconds must be a number from 1 to 600"},
		{"oncpu.svg?seconds=1s", "seconds must be a number from 1 to 600"},
		{"oncpu.svg?icicle=2", "icicle must be 0 or 1"},
		{"oncpu.svg?icicle=-1", "icicle must be 0 or 1"},
		{"offcpu.svg?value=sum", "value must be count"},
		{"offcpu.pb.gz?value=count", "value is not for pb.gz: it has both values"},
		{"oncpu.svg?view=inuse", "oncpu has no views"},
		{"mem_glibc.svg?view=x", "view must be one of alloc, inuse, mmap"},
		{"mem_glibc.svg?view=inuse&min_age=31536001",
		 "min_age must be a number from 0 to 31536000"},
		{"mem_glibc.svg?min_age=1",
		 "min_age is for what is held: view=inuse or view=mmap of mem_glibc"},
		{"mem_glibc.svg?view=inuse&min_age=5&seconds=5",
		 "min_age must be less than seconds: what came before isn't seen then"},
	};
	struct scripted_api *api = *state;
	char path[96];

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		snprintf(path, sizeof(path), "/flamegraph/%s", queries[i].path);
		assert_get_fails(api, path, 400, queries[i].message);
	}
}

#define WORKER(test) cmocka_unit_test_setup_teardown(test, api_begin_worker, api_end)
#define NOBODY(test) cmocka_unit_test_setup_teardown(test, api_begin, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKER(a_fetch_has_all_that_was_counted_so_far),
		WORKER(each_output_has_its_type),
		WORKER(a_pid_has_its_own_stacks_alone),
		WORKER(value_count_has_events_instead_of_weights),
		WORKER(a_picture_has_its_root_where_the_query_or_the_param_says),
		WORKER(what_is_held_has_views_of_its_own),
		NOBODY(without_a_put_there_is_no_profile_yet),
		NOBODY(a_resource_is_a_probe_and_an_output),
		NOBODY(a_query_that_makes_no_sense_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
