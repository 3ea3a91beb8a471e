// SPDX-License-Identifier: GPL-2.0-or-later
/* Snoopers of a body that choose containers. */
#include "unit/api/requests.h"

#define SNOOPERS(s) "{\"snoopers\":{" s "}}"

static void a_cgroup_needs_a_host_that_has_such_paths(void **state)
{
	static const char body[] = SNOOPERS("\"cgroup\":[\"/a\"]");

	(void)state;
	assert_accepted(NULL, body);
	request_without_v2 = true;
	assert_refused(NULL, body,
		       "Error occurs when parsing snooper cgroup: this host has cgroups of version "
		       "1 alone, and these paths are of version 2");
	assert_accepted(NULL, SNOOPERS("\"proc_id\":[1],\"cgroup\":[]"));
	request_without_v2 = false;
}

static void containers_are_chosen_in_all_ways_at_once(void **state)
{
	_cleanup_outcome_ struct outcome outcome;
	const struct container_snooper *entries;

	(void)state;
	request_text(
		&outcome, NULL,
		SNOOPERS("\"container_id\":[\"0123456789ab\"],\"pod_id\":[\"3f2c0a7e-1111-4222-"
			 "8333-0123456789ab\"],\"container_name\":[\"web\",\"/^db/\"],"
			 "\"cgroup\":[\"/a\"],\"image\":[\"redis\"],\"pod\":{\"name\":\"p\"}"));
	assert_int_equal(outcome.result, 0);
	assert_int_equal(snoopers_containers(outcome.spec.snoopers, &entries), 7);
	assert_int_equal(entries[0].by, BY_POD_ID);
	assert_string_equal(entries[0].id, "3f2c0a7e1111422283330123456789ab");
	assert_int_equal(entries[5].by, BY_POD);
	assert_string_equal(entries[5].text, "p");
	assert_string_equal(entries[5].pod_namespace, "");
}

static void a_hundred_entries_of_a_kind_are_taken(void **state)
{
	_cleanup_buf_ struct buf body = BUF_INIT(1 << 16);

	(void)state;
	buf_printf(&body, "{\"snoopers\":{\"container_name\":[\"a\"");
	for (int i = 1; i < 100; i++)
		buf_printf(&body, ",\"a%d\"", i);
	size_t len = body.len;
	buf_printf(&body, "]}}");
	buf_char(&body, '\0');
	assert_accepted(NULL, body.data);
	body.len = len;
	buf_printf(&body, ",\"b\"]}}");
	buf_char(&body, '\0');
	assert_refused(NULL, body.data,
		       "Error occurs when parsing snooper container_name: more than 100 entries");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cgroup_needs_a_host_that_has_such_paths),
		cmocka_unit_test(containers_are_chosen_in_all_ways_at_once),
		cmocka_unit_test(a_hundred_entries_of_a_kind_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
