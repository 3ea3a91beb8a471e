// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a profile that is to be sorted by container finds no memory (failing_alloc.h). */
#include "unit/lib/failing_alloc.h"
#include "unit/output/profile_maker.h"

static struct container *web, *app;

static int add(struct profile *profile, int pid, struct container *container)
{
	struct record_who who = who_in(pid, "sh", 1, container, 1);
	int64_t node = profile_thread(profile, &who, true);
	struct record record = {{.node = (uint32_t)node, .tid = 1}, 2, 5, &who, {0}};

	if (node < 0)
		return (int)node;
	tree_add(profile->tree, (uint32_t)node, 2);
	profile->weight += 2;
	return records_add(profile->records, &record);
}

/* All or nothing is sorted; what it was made of is as it was. */
static int use_by_container(void)
{
	_cleanup_profile_ struct profile *profile = NULL, *sorted = NULL;
	int r = profile_new(&profile, PROBE_OFFCPU, 100, 0);

	for (int pid = 1; r == 0 && pid <= 60; pid++)
		r = add(profile, pid, pid % 3 ? web : pid % 2 ? app : NULL);
	if (r == 0)
		r = profile_by_container(&sorted, profile, true);
	no_more_failures();
	assert_true(r == 0 || !sorted);
	if (sorted)
		assert_int_equal(weight_of(sorted->tree), 120);
	return r;
}

SCENARIO(a_profile_is_sorted_or_not, use_by_container, false)

static int make_containers(void **state)
{
	(void)state;
	web = new_container(ID_ONE, "", "web", "");
	app = new_container(ID_TWO, ID_ONE, "app", "shop");
	return 0;
}

/* Whatever failed, all references were given back. */
static int check_containers(void **state)
{
	(void)state;
	bool given_back = web->refs == 1 && app->refs == 1;
	container_unref(web);
	container_unref(app);
	return given_back ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_profile_is_sorted_or_not)};

	return cmocka_run_group_tests(tests, make_containers, check_containers);
}
