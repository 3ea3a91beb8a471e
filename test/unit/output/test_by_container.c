// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/output/profile_maker.h"

static void lines_begin_with_pod_and_container_where_there_is_one(void **state)
{
	_cleanup_container_ struct container *web = new_container(ID_ONE, "", "web", "");
	_cleanup_container_ struct container *app = new_container(ID_TWO, ID_ONE, "app", "shop");
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL;
	struct record_who in_web = who_in(7, "nginx", 1, web, 1);
	struct record_who in_pod = who_in(8, "java", 1, app, 1), bare = who_in(9, "sh", 1, NULL, 0);

	(void)state;
	add_stack(profile, &in_web, "main", 3);
	add_stack(profile, &in_pod, "main", 4);
	add_stack(profile, &bare, "main", 5);
	sorted = sort_profile(profile);
	_cleanup_free_ char *text = write_profile(sorted, "folded");
	assert_string_equal(text, "[9]sh;main 5\n"
				  "[Con]web;[7]nginx;main 3\n"
				  "[Pod]shop;[Con]app;[8]java;main 4\n");
	assert_int_equal(weight_of(sorted->tree), 12);
	assert_int_equal(sorted->weight, 12);
	_cleanup_free_ char *json = write_profile(sorted, "json");
	assert_int_equal(count_of(json, "\"kind\":\"pod\""), 1);
	assert_int_equal(count_of(json, "\"kind\":\"container\""), 2);
	assert_int_equal(count_of(json, "\"kind\":\"process\""), 3);
}

static void without_containers_nothing_is_sorted(void **state)
{
	_cleanup_profile_ struct profile *profile = new_profile();
	struct record_who one = who_in(7, "a", 1, NULL, 0), two = who_in(8, "a", 1, NULL, 0);

	(void)state;
	add_stack(profile, &one, "main", 3);
	add_stack(profile, &two, "main", 4);
	assert_false(tree_has_owners(profile->tree));
}

/* The window before knew nothing of it, or its id only. */
static void a_container_that_is_known_later_is_that_of_the_windows_before(void **state)
{
	_cleanup_container_ struct container *id = new_container(ID_ONE, "", "", "");
	_cleanup_container_ struct container *web = new_container(ID_ONE, "", "web", "");
	_cleanup_profile_ struct profile *period = new_profile(), *sorted = NULL;
	struct container *const known[] = {NULL, id, web, id, NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		_cleanup_profile_ struct profile *window = new_profile();
		struct record_who who = who_in(7, "nginx", 1, known[i], known[i] ? 1 : 0);

		add_stack(window, &who, "main", 2);
		assert_int_equal(profile_merge(period, window), 0);
	}
	sorted = sort_profile(period);
	_cleanup_free_ struct profile_process *processes = NULL;
	assert_int_equal(profile_processes(sorted, &processes), 1);
	assert_int_equal(processes[0].pid, 7);
	_cleanup_free_ char *text = write_profile(sorted, "folded");
	assert_string_equal(text, "[Con]web;[7]nginx;main 10\n");
	_cleanup_free_ struct record *list = NULL;
	assert_int_equal(records_list(sorted->records, &list), 1);
	assert_ptr_equal(list[0].who->container, web);
	assert_int_equal(list[0].who->ns_pid, 1);
}

static void a_pid_that_comes_again_is_in_its_own_container(void **state)
{
	_cleanup_container_ struct container *one = new_container(ID_ONE, "", "one", "");
	_cleanup_container_ struct container *two = new_container(ID_TWO, "", "two", "");
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL;
	struct record_who first = who_in(7, "sh", 1, one, 5), second = who_in(7, "sh", 2, two, 6);
	struct record_who third = who_in(7, "sh", 3, two, 8), bare = who_in(7, "sh", 4, NULL, 0);

	(void)state;
	add_stack(profile, &first, "main", 1);
	add_stack(profile, &second, "main", 2);
	add_stack(profile, &third, "main", 4);
	add_stack(profile, &bare, "main", 8);
	sorted = sort_profile(profile);
	_cleanup_free_ char *text = write_profile(sorted, "folded");
	assert_string_equal(text, "[7]sh;main 8\n"
				  "[Con]one;[7]sh;main 1\n"
				  "[Con]two;[7]sh;main 6\n");
	for (uint32_t node = 1; node < tree_count(sorted->tree); node++) {
		struct frame frame = tree_frame_of(sorted->tree, node);

		if (frame.owner && frame.owner->container == two)
			assert_int_equal(frame.owner->ns_pid, OWNER_SEVERAL);
		if (frame.owner && frame.owner->container == one)
			assert_int_equal(frame.owner->ns_pid, 5);
	}
}

/* In no container, but shown once all the same. */
static void two_of_one_pid_and_name_are_one_line(void **state)
{
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL;
	struct record_who first = who_in(7, "sh", 1, NULL, 0), second = who_in(7, "sh", 2, NULL, 0);

	(void)state;
	add_stack(profile, &first, "main", 1);
	add_stack(profile, &second, "main", 2);
	sorted = sort_profile(profile);
	_cleanup_free_ char *text = write_profile(sorted, "folded");
	assert_string_equal(text, "[7]sh;main 3\n");
}

/* Names that look like what they aren't. */
static void hostile_names_stay_in_their_place(void **state)
{
	_cleanup_container_ struct container *init =
		new_container(ID_ONE, "", "[1]init;x\n<b>\xff_[k]", "");
	_cleanup_container_ struct container *pod =
		new_container(ID_TWO, ID_TWO, "[Pod]y", "[Con]z;[9]q");
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL, *one = NULL;
	struct record_who first = who_in(12, "[Con]x;[3]y", 1, init, 1);
	struct record_who second = who_in(13, "]", 1, pod, 1), third = who_in(1, "a", 1, NULL, 0);
	_cleanup_free_ struct profile_process *processes = NULL;

	(void)state;
	add_stack(profile, &first, "[Pod]f", 1);
	add_stack(profile, &second, "[4]g", 2);
	add_stack(profile, &third, "[Con]h", 4);
	sorted = sort_profile(profile);
	assert_int_equal(profile_processes(sorted, &processes), 3);
	for (int i = 0; i < 3; i++)
		assert_true(processes[i].pid == 12 || processes[i].pid == 13 ||
			    processes[i].pid == 1);
	_cleanup_free_ char *text = write_profile(sorted, "folded");
	assert_string_equal(text, "[1]a;[Con]h 4\n"
				  "[Con][1]init:x <b>\xef\xbf\xbd_[k];[12][Con]x:[3]y;[Pod]f 1\n"
				  "[Pod][Con]z:[9]q;[Con][Pod]y;[13]];[4]g 2\n");
	_cleanup_free_ char *svg = write_profile(sorted, "svg");
	check_xml(svg);
	_cleanup_free_ char *json = write_profile(sorted, "json");
	assert_int_equal(count_of(json, "\"kind\":\"process\""), 3);
	assert_int_equal(profile_select(&one, profile, 1, true), 0);
	assert_int_equal(weight_of(one->tree), 4);
	profile_unref(one);
	assert_int_equal(profile_select(&one, sorted, 12, true), 0);
	_cleanup_free_ char *alone = write_profile(one, "folded");
	assert_string_equal(alone, "[Con][1]init:x <b>\xef\xbf\xbd_[k];[12][Con]x:[3]y;[Pod]f 1\n");
}

static void without_a_name_it_is_called_by_its_id(void **state)
{
	_cleanup_container_ struct container *id =
		new_container(ID_ONE, "f3a1c0de-1111-2222-3333-444455556666", "", "");
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL;
	struct record_who who = who_in(7, "nginx", 1, id, 1);

	(void)state;
	add_stack(profile, &who, "main", 3);
	sorted = sort_profile(profile);
	_cleanup_free_ char *text = write_profile(sorted, "folded");
	assert_string_equal(text, "[Pod]f3a1c0de-1111-2222-3333-444455556666;[Con]111111111111;"
				  "[7]nginx;main 3\n");
}

static void records_of_waits_have_container_pod_and_its_own_pid(void **state)
{
	_cleanup_container_ struct container *app =
		new_container(ID_TWO, ID_ONE, "a\"p;p\xff", "shop");
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL;
	struct record_who in_pod = who_in(8, "java", 1, app, 1), bare = who_in(9, "sh", 1, NULL, 9);

	(void)state;
	add_stack(profile, &in_pod, "main", 4);
	add_stack(profile, &bare, "main", 5);
	sorted = sort_profile(profile);
	_cleanup_free_ char *text = write_profile(sorted, "jsonl");
	assert_int_equal(count_of(text, "\n"), 2);
	assert_int_equal(count_of(text, ",\"container_id\":\"" ID_TWO "\","
					"\"container\":\"a\\\"p;p\xef\xbf\xbd\",\"pod\":\"shop\","
					"\"container_pid\":1,"),
			 1);
	assert_int_equal(count_of(text, ",\"container_id\":\"null\",\"stack_data_len\""), 1);
	assert_int_equal(count_of(text, "\"stack_data\":\"[p] java;main\""), 1);
}

static void the_description_counts_processes_in_containers_and_what_is_truncated(void **state)
{
	_cleanup_container_ struct container *web = new_container(ID_ONE, "", "web", "");
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL;
	struct record_who one = who_in(7, "nginx", 1, web, 1), two = who_in(8, "nginx", 1, web, 2);
	struct profile_meta meta;

	(void)state;
	add_stack(profile, &one, "main", 3);
	add_stack(profile, &two, "main", 3);
	int64_t node = profile_thread(profile, &two, false);
	node = tree_child(profile->tree, (uint32_t)node, FRAME_TYPE_MARKER, FRAME_TRUNCATED,
			  strlen(FRAME_TRUNCATED));
	tree_add(profile->tree, (uint32_t)node, 5);
	sorted = sort_profile(profile);
	profile_describe(sorted, TREE_ROOT, "host", &meta);
	assert_int_equal(meta.processes, 2);
	assert_int_equal(meta.truncated, 5);
}

/* Each has references of its own: names that come swap the target's. */
static void a_container_lives_as_long_as_who_shows_it(void **state)
{
	struct container *web = new_container(ID_ONE, "", "web", "");
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL;
	struct record_who who = who_in(7, "nginx", 1, web, 1);

	(void)state;
	add_stack(profile, &who, "main", 3);
	container_unref(web);
	sorted = sort_profile(profile);
	profile_unref(profile);
	profile = new_profile();
	_cleanup_free_ char *text = write_profile(sorted, "folded");
	assert_string_equal(text, "[Con]web;[7]nginx;main 3\n");
	_cleanup_free_ struct record *list = NULL;
	assert_int_equal(records_list(sorted->records, &list), 1);
	assert_string_equal(list[0].who->container->name, "web");
	assert_int_equal(web->refs, 2); /* the tree's and the records' */
}

/* A tree at its bound: the frames of pods and containers come to it all the same. */
static void a_full_profile_can_be_sorted(void **state)
{
	_cleanup_container_ struct container *app =
		new_container(ID_TWO, "f3a1c0de-1111-2222-3333-444455556666", "app", "shop");
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL;
	struct record_who who = who_in(7, "nginx", 1, app, 1);

	(void)state;
	add_stack(profile, &who, "main", 3);
	int64_t node = tree_child(profile->tree, TREE_ROOT, FRAME_TYPE_NATIVE, "f", 1);
	int64_t under = node;
	uint32_t frame = tree_node_of(profile->tree, (uint32_t)node).frame;
	while (under >= 0) /* one deep stack, of one function */
		under = tree_child_of(profile->tree, (uint32_t)under, frame);
	assert_int_equal(under, -ENOSPC);
	sorted = sort_profile(profile);
	assert_int_equal(tree_count(sorted->tree), tree_count(profile->tree) + 2);
	assert_int_equal(weight_of(sorted->tree), 3);
}

/* Kubernetes tells three names, podman one: they aren't compared. */
static void a_process_that_moves_is_in_the_last_container(void **state)
{
	struct container_place place = {.runtime = CONTAINER_CONTAINERD, .id = ID_ONE};
	_cleanup_container_ struct container *known = NULL;
	_cleanup_container_ struct container *web = new_container(ID_TWO, "", "web", "");
	_cleanup_profile_ struct profile *profile = new_profile(), *sorted = NULL;

	(void)state;
	assert_int_equal(container_new(&known, &place, "app", "shop", "default", NULL), 0);
	struct record_who first = who_in(7, "sh", 1, known, 5), second = who_in(7, "sh", 1, web, 5);

	add_stack(profile, &first, "main", 1);
	add_stack(profile, &second, "main", 2);
	sorted = sort_profile(profile);
	_cleanup_free_ char *text = write_profile(sorted, "folded");
	assert_string_equal(text, "[Con]web;[7]sh;main 3\n");
	_cleanup_free_ struct record *list = NULL;
	assert_int_equal(records_list(sorted->records, &list), 1);
	assert_ptr_equal(list[0].who->container, web);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_begin_with_pod_and_container_where_there_is_one),
		cmocka_unit_test(without_containers_nothing_is_sorted),
		cmocka_unit_test(a_container_that_is_known_later_is_that_of_the_windows_before),
		cmocka_unit_test(a_pid_that_comes_again_is_in_its_own_container),
		cmocka_unit_test(two_of_one_pid_and_name_are_one_line),
		cmocka_unit_test(hostile_names_stay_in_their_place),
		cmocka_unit_test(without_a_name_it_is_called_by_its_id),
		cmocka_unit_test(records_of_waits_have_container_pod_and_its_own_pid),
		cmocka_unit_test(
			the_description_counts_processes_in_containers_and_what_is_truncated),
		cmocka_unit_test(a_container_lives_as_long_as_who_shows_it),
		cmocka_unit_test(a_full_profile_can_be_sorted),
		cmocka_unit_test(a_process_that_moves_is_in_the_last_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
