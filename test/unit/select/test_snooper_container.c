// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "select/snooper.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "3f2c0a7e-1111-4222-8333-0123456789ab"

static int try(enum container_by by, const char *text, const char *pod_namespace)
{
	_cleanup_snoopers_ struct snoopers *snoopers = NULL;

	assert_int_equal(snoopers_new(&snoopers), 0);
	int r = snoopers_add_container(snoopers, by, text, pod_namespace);
	assert_int_equal(snoopers_empty(snoopers), r < 0);
	return r;
}

static void what_is_no_id_path_or_name_is_refused(void **state)
{
	static const struct {
		enum container_by by;
		const char *text;
		int r;
	} cases[] = {
		{BY_CONTAINER_ID, "0123456789a", -EINVAL},
		{BY_CONTAINER_ID, "0123456789ab", 0},
		{BY_CONTAINER_ID, "0123456789AB", 0},
		{BY_CONTAINER_ID, "0123456789ag", -EINVAL},
		{BY_CONTAINER_ID, "0123-456789ab", -EINVAL},
		{BY_CONTAINER_ID, "", -EINVAL},
		{BY_CONTAINER_ID, ID, 0},
		{BY_CONTAINER_ID, ID "0", -EINVAL},
		{BY_POD_ID, UID, 0},
		{BY_POD_ID,
		 "3f2c0a7e111142228333"
		 "0123456789ab",
		 0},
		{BY_POD_ID, "------------", -EINVAL},
		{BY_POD_ID, "pod", -EINVAL},
		{BY_CONTAINER_NAME, "web", 0},
		{BY_CONTAINER_NAME, "", -EINVAL},
		{BY_CONTAINER_NAME, "/web", -EINVAL},
		{BY_CONTAINER_NAME, "a/../b", -EINVAL},
		{BY_CONTAINER_NAME, "/^web-[0-9]+$/", 0},
		{BY_CONTAINER_NAME, "//", -EINVAL},
		{BY_CONTAINER_NAME, "/", -EINVAL},
		{BY_CONTAINER_NAME, "/(/", -EINVAL},
		{BY_CONTAINER_NAME, "/^(a|aa|aaa)+[yz]$/", -EINVAL}, /* too many steps */
		{BY_CGROUP, "/", 0},
		{BY_CGROUP, "/a/b.slice/", 0},
		{BY_CGROUP, "/a/...", 0},
		{BY_CGROUP, "", -EINVAL},
		{BY_CGROUP, "a", -EINVAL},
		{BY_CGROUP, "//a", -EINVAL},
		{BY_CGROUP, "/a//b", -EINVAL},
		{BY_CGROUP, "/a/../b", -EINVAL},
		{BY_CGROUP, "/a/.", -EINVAL},
		{BY_POD, "", -EINVAL},
		{BY_POD, "web-0", 0},
		{BY_IMAGE, "docker.io/library/redis:7", 0},
		{BY_IMAGE, "/redis", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(try(cases[i].by, cases[i].text, ""), cases[i].r);
}

static void texts_are_no_longer_than_names_can_be(void **state)
{
	char text[5000];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[256] = '\0';
	assert_int_equal(try(BY_CONTAINER_NAME, text, ""), -E2BIG);
	assert_int_equal(try(BY_POD, text, ""), -E2BIG);
	assert_int_equal(try(BY_POD, "a", text), -E2BIG);
	text[255] = '\0';
	assert_int_equal(try(BY_CONTAINER_NAME, text, ""), 0);
	text[255] = text[256] = 'a';
	text[0] = text[299] = '/';
	text[300] = '\0';
	assert_int_equal(try(BY_CONTAINER_NAME, text, ""), -E2BIG);
	text[299] = text[300] = 'a';
	text[4096] = '\0';
	assert_int_equal(try(BY_CGROUP, text, ""), -E2BIG);
	text[4095] = '\0';
	assert_int_equal(try(BY_CGROUP, text, ""), 0);
}

static struct match match_one(enum container_by by, const char *text, const char *pod_namespace,
			      const struct identity *who)
{
	_cleanup_snoopers_ struct snoopers *snoopers = NULL;
	struct match match;

	assert_int_equal(snoopers_new(&snoopers), 0);
	assert_int_equal(snoopers_add_container(snoopers, by, text, pod_namespace), 0);
	snoopers_match(snoopers, who, &match);
	assert_int_equal(match.maybe, 0);
	assert_true(match.probes == 0 || match.probes == UINT32_MAX);
	return match;
}

static void containers_are_told_by_each_of_their_traits(void **state)
{
	static const struct {
		enum container_by by;
		const char *text, *pod_namespace;
		bool matches;
	} cases[] = {
		{BY_CONTAINER_ID, ID, "", true},
		{BY_CONTAINER_ID, "0123456789ab", "", true},
		{BY_CONTAINER_ID, "0123456789AB", "", true},
		{BY_CONTAINER_ID, "123456789abc", "", false},
		{BY_CONTAINER_ID, "fedcba987654", "", false},
		{BY_POD_ID, UID, "", true},
		{BY_POD_ID, "3F2C0A7E1111422283330123456789AB", "", true},
		{BY_POD_ID, "3f2c0a7e111142", "", false}, /* no prefix of Kubernetes' */
		{BY_CONTAINER_NAME, "redis-1", "", true},
		{BY_CONTAINER_NAME, "redis", "", false},
		{BY_CONTAINER_NAME, "/redis/", "", true},
		{BY_CONTAINER_NAME, "/^redis$/", "", false},
		{BY_POD, "cache", "", true},
		{BY_POD, "cache", "shop", true},
		{BY_POD, "cache", "sho", false},
		{BY_POD, "cach", "", false},
		{BY_IMAGE, "docker.io/library/redis:7", "", true},
		{BY_IMAGE, "docker.io/library/redis", "", true},
		{BY_IMAGE, "library/redis:7", "", true},
		{BY_IMAGE, "redis:7", "", true},
		{BY_IMAGE, "redis", "", true},
		{BY_IMAGE, "edis", "", false},
		{BY_IMAGE, "redis:6", "", false},
		{BY_IMAGE, "library", "", false},
		{BY_IMAGE, "/redis:[0-9]$/", "", true},
		{BY_CGROUP, "/", "", true},
		{BY_CGROUP, "/a", "", true},
		{BY_CGROUP, "/a/", "", true},
		{BY_CGROUP, "/a/bc", "", true},
		{BY_CGROUP, "/a/b", "", false},
		{BY_CGROUP, "/a/bc/d", "", false},
	};
	struct container_place place = {CONTAINER_CONTAINERD, .id = ID, .pod_uid = UID};
	_cleanup_container_ struct container *container = NULL;
	struct identity who = {.comm = "x", .cgroup = "/a/bc"}, outside = {.comm = "x"};

	(void)state;
	assert_int_equal(container_new(&container, &place, "redis-1", "cache", "shop",
				       "docker.io/library/redis:7"),
			 0);
	who.container = container;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(match_one(cases[i].by, cases[i].text, cases[i].pod_namespace, &who)
						 .probes != 0,
				 cases[i].matches);
		assert_int_equal(
			match_one(cases[i].by, cases[i].text, cases[i].pod_namespace, &outside)
				.probes,
			0);
	}
}

static void an_image_is_known_without_registry_tag_and_digest(void **state)
{
	static const char digest[] = "localhost:5000/web@sha256:" ID;
	struct container_place place = {CONTAINER_PODMAN, .id = ID, .pod_uid = POD};
	_cleanup_container_ struct container *container = NULL;
	struct identity who = {.comm = "x"};

	(void)state;
	assert_int_equal(container_new(&container, &place, "a", "", "", digest), 0);
	who.container = container;
	assert_true(match_one(BY_IMAGE, "localhost:5000/web", "", &who).probes);
	assert_true(match_one(BY_IMAGE, "web", "", &who).probes);
	assert_true(match_one(BY_IMAGE, digest, "", &who).probes);
	assert_false(match_one(BY_IMAGE, "localhost", "", &who).probes);
	assert_true(match_one(BY_POD_ID, "fedcba987654", "", &who).probes); /* podman's pod */
	assert_false(match_one(BY_POD_ID, "fedcba987655", "", &who).probes);
}

static void the_container_that_it_runs_in_counts_too(void **state)
{
	struct container_place place = {CONTAINER_DOCKER, .id = ID, .outer = POD};
	_cleanup_container_ struct container *container = NULL;
	struct identity who = {.comm = "x"};

	(void)state;
	assert_int_equal(container_new(&container, &place, "", "", "", ""), 0);
	who.container = container;
	assert_true(match_one(BY_CONTAINER_ID, "fedcba987654", "", &who).probes);
}

static void what_names_decide_waits_for_them(void **state)
{
	static const struct {
		enum container_by by;
		const char *text;
		bool waits, matches;
	} cases[] = {
		{BY_CONTAINER_ID, "0123456789ab", false, true},
		{BY_CONTAINER_ID, "fedcba987654", false, false},
		{BY_POD_ID, UID, true, false}, /* not all runtimes' cgroups tell */
		{BY_CONTAINER_NAME, "web", true, false},
		{BY_CONTAINER_NAME, "/./", true, false},
		{BY_POD, "web", true, false},
		{BY_IMAGE, "web", true, false},
		{BY_CGROUP, "/x", false, false},
	};
	struct container_place place = {CONTAINER_DOCKER, .id = ID};
	_cleanup_container_ struct container *container = NULL;
	struct identity who = {.comm = "x", .unnamed = true, .cgroup = "/a"};

	(void)state;
	assert_int_equal(container_new(&container, &place, "", "", "", ""), 0);
	who.container = container;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct match match = match_one(cases[i].by, cases[i].text, "", &who);

		assert_int_equal(match.unnamed != 0, cases[i].waits);
		assert_int_equal(match.probes != 0, cases[i].matches);
	}
}

static void entries_are_a_union_with_names_and_pids(void **state)
{
	_cleanup_snoopers_ struct snoopers *snoopers = NULL, *joined = NULL;
	struct container_place place = {CONTAINER_DOCKER, .id = ID};
	_cleanup_container_ struct container *container = NULL;
	struct identity who = {.comm = "x"};
	struct match match;

	(void)state;
	assert_int_equal(container_new(&container, &place, "", "", "", ""), 0);
	assert_int_equal(snoopers_new(&snoopers), 0);
	assert_int_equal(snoopers_add_container(snoopers, BY_CONTAINER_ID, ID, NULL), 0);
	assert_int_equal(snoopers_add_name(snoopers, "^y$", "", "", 0), 0);
	struct snoopers_part part = {snoopers, 2};
	assert_int_equal(snoopers_join(&joined, &part, 1), 0);
	snoopers_match(joined, &who, &match);
	assert_int_equal(match.probes, 0);
	who.container = container;
	snoopers_match(joined, &who, &match);
	assert_int_equal(match.probes, 2);
	who.container = NULL;
	who.comm = "y";
	snoopers_match(joined, &who, &match);
	assert_int_equal(match.probes, 2);
}

static void sets_are_equal_when_they_choose_the_same_containers(void **state)
{
	_cleanup_snoopers_ struct snoopers *a = NULL, *b = NULL;

	(void)state;
	assert_int_equal(snoopers_new(&a), 0);
	assert_int_equal(snoopers_new(&b), 0);
	assert_int_equal(snoopers_add_container(a, BY_POD, "p", "n"), 0);
	assert_false(snoopers_equal(a, b));
	assert_int_equal(snoopers_add_container(b, BY_POD, "p", "m"), 0);
	assert_false(snoopers_equal(a, b));
	snoopers_unref(b);
	assert_int_equal(snoopers_new(&b), 0);
	assert_int_equal(snoopers_add_container(b, BY_POD, "p", "n"), 0);
	assert_true(snoopers_equal(a, b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_id_path_or_name_is_refused),
		cmocka_unit_test(texts_are_no_longer_than_names_can_be),
		cmocka_unit_test(containers_are_told_by_each_of_their_traits),
		cmocka_unit_test(an_image_is_known_without_registry_tag_and_digest),
		cmocka_unit_test(the_container_that_it_runs_in_counts_too),
		cmocka_unit_test(what_names_decide_waits_for_them),
		cmocka_unit_test(entries_are_a_union_with_names_and_pids),
		cmocka_unit_test(sets_are_equal_when_they_choose_the_same_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
