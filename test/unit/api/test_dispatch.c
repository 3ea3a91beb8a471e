// SPDX-License-Identifier: GPL-2.0-or-later
/* api/http/dispatch: what a path and a method ask for. */
#include "unit/lib/unit.h"

#include "api/http/dispatch.h"

static struct call call_of(const char *method, const char *path)
{
	return (struct call){.method = method, .path = path};
}

static void a_put_changes_something_only_of_a_feature(void **state)
{
	static const char *const features[] = {"/flamegraph", "/sched", "/FlameGraph"};
	static const char *const others[] = {
		"/healthz", "/metrics",	    "/nothing",	    "/",
		"",	    "/flamegraph/", "/sched/x.txt", "/debug/pprof/profile"};
	static const char *const methods[] = {"GET", "HEAD", "POST", "put", "DELETE"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		struct call call = call_of("PUT", features[i]);

		assert_true(call_is_put(&call));
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct call call = call_of("PUT", others[i]);

		if (call_is_put(&call))
			fail_msg("%s", others[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		struct call call = call_of(methods[i], "/flamegraph");

		assert_false(call_is_put(&call));
	}
}

static void a_put_of_a_feature_is_an_administrators(void **state)
{
	struct need need;
	struct call call = call_of("PUT", "/sched");

	(void)state;
	call_need(&call, &need);
	assert_int_equal(need.role, ROLE_ADMIN);
	call = call_of("GET", "/sched");
	call_need(&call, &need);
	assert_int_equal(need.role, ROLE_READ);
	call = call_of("PUT", "/healthz");
	call_need(&call, &need);
	assert_int_equal(need.role, ROLE_METRICS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_put_changes_something_only_of_a_feature),
		cmocka_unit_test(a_put_of_a_feature_is_an_administrators),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
