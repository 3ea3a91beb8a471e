// SPDX-License-Identifier: GPL-2.0-or-later
/* The registry of containers, with a docker's state on disk. */
#include "unit/lib/folder.h"

#include "loop/loop.h"
#include "select/containers.h"

#define ID     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FOLDER "var/lib/docker/containers/" ID
#define STATE  "{\"ID\":\"" ID "\",\"Name\":\"/web\",\"Config\":{\"Image\":\"nginx\"}}"

struct bench {
	struct folder folder;
	struct loop *loop;
	struct worker *worker;
	struct containers *containers;
	unsigned named, late, evicted;
	char name[64];
};

static void on_evicted(void *arg, const struct cgroup_key *key)
{
	struct bench *bench = arg;

	(void)key;
	bench->evicted++;
}

static void on_named(void *arg, const struct container *before, struct container *now, bool late)
{
	struct bench *bench = arg;

	(void)before;
	bench->named++;
	bench->late += late;
	snprintf(bench->name, sizeof(bench->name), "%s", now->name);
}

static void bench_make(struct bench *bench)
{
	struct containers_events events = {on_evicted, on_named, bench};

	*bench = (struct bench){0};
	folder_make(&bench->folder);
	assert_int_equal(loop_new(&bench->loop), 0);
	assert_int_equal(worker_new(&bench->worker, bench->loop, "test", 60 * NS_PER_S), 0);
	assert_int_equal(containers_new(&bench->containers, bench->loop, bench->worker), 0);
	assert_int_equal(containers_set_root(bench->containers, bench->folder.path), 0);
	containers_on(bench->containers, &events);
}

static void bench_done(struct bench *bench)
{
	worker_stop(bench->worker);
	loop_flush(bench->loop);
	containers_free(bench->containers);
	worker_free(bench->worker);
	loop_free(bench->loop);
	folder_done(&bench->folder);
}

static void put_state(const struct bench *bench, const char *text)
{
	static const char *const folders[] = {"var", "var/lib", "var/lib/docker",
					      "var/lib/docker/containers", FOLDER};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		mkdirat(bench->folder.fd, folders[i], 0755);
	folder_put(&bench->folder, FOLDER "/config.v2.json", text, strlen(text));
}

static void stop(void *arg)
{
	loop_stop(arg);
}

static void run_for(struct bench *bench, uint64_t ms)
{
	struct loop_timer timer = {.expired = stop, .arg = bench->loop};

	loop_timer_set(bench->loop, &timer, loop_now_ns() + ms * NS_PER_MS);
	assert_int_equal(loop_run(bench->loop), 0);
}

/* Until so many names were told, or it took too long. */
static void run_until_named(struct bench *bench, unsigned named)
{
	for (int i = 0; i < 1000 && bench->named < named; i++)
		run_for(bench, 10);
	assert_int_equal(bench->named, named);
}

static struct cgroup_key learn(struct bench *bench, uint64_t number, const char *id,
			       const char *path)
{
	struct cgroup_key key = {.v2 = number};
	struct container_place place = {.runtime = id[0] ? CONTAINER_DOCKER : CONTAINER_OTHER};

	snprintf(place.id, sizeof(place.id), "%s", id);
	containers_learn(bench->containers, &key, &place, path);
	return key;
}

static void cgroups_lead_to_one_container_with_its_names(void **state)
{
	struct bench bench;

	(void)state;
	bench_make(&bench);
	put_state(&bench, STATE);
	struct cgroup_key a = learn(&bench, 1, ID, "/docker/" ID);
	struct cgroup_key b = learn(&bench, 2, ID, "/docker/" ID "/inner");
	struct cgroup_key none = learn(&bench, 3, "", "/user.slice");
	struct known_cgroup *group = containers_find(bench.containers, &a);
	assert_ptr_equal(group_container(group),
			 group_container(containers_find(bench.containers, &b)));
	assert_null(group_container(containers_find(bench.containers, &none)));
	assert_true(group_is_named(containers_find(bench.containers, &none)));
	assert_null(containers_find(bench.containers, &(struct cgroup_key){.v2 = 4}));
	assert_string_equal(group_container(group)->place.id, ID);
	assert_false(group_is_named(group));
	run_for(&bench, 50); /* nobody asked */
	assert_int_equal(bench.named, 0);
	containers_ask(bench.containers, group);
	run_until_named(&bench, 1);
	assert_true(group_is_named(group));
	assert_string_equal(group_container(group)->name, "web");
	assert_string_equal(group_container(group)->image, "nginx");
	assert_int_equal(bench.late, 0);
	bench_done(&bench);
}

/* A container that has just begun: its state comes a moment later. */
static void state_that_is_half_written_is_read_again(void **state)
{
	struct bench bench;

	(void)state;
	bench_make(&bench);
	put_state(&bench, "{\"ID\":\"" ID "\",\"Na");
	struct cgroup_key key = learn(&bench, 1, ID, "/docker/" ID);
	struct known_cgroup *group = containers_find(bench.containers, &key);
	containers_ask(bench.containers, group);
	run_for(&bench, 20);
	assert_int_equal(bench.named, 0);
	put_state(&bench, STATE);
	run_until_named(&bench, 1);
	assert_string_equal(bench.name, "web");
	assert_int_equal(bench.late, 0);
	bench_done(&bench);
}

static void a_container_without_state_keeps_its_id_until_there_is_one(void **state)
{
	struct containers_stats stats;
	struct bench bench;

	(void)state;
	bench_make(&bench);
	struct cgroup_key key = learn(&bench, 1, ID, "/docker/" ID);
	struct known_cgroup *group = containers_find(bench.containers, &key);
	containers_ask(bench.containers, group);
	run_until_named(&bench, 1);
	assert_true(group_is_named(group));
	assert_string_equal(bench.name, "");
	containers_stats(bench.containers, &stats);
	assert_int_equal(stats.unnamed, 1);
	put_state(&bench, STATE);
	run_until_named(&bench, 2);
	assert_int_equal(bench.late, 1);
	assert_string_equal(group_container(group)->name, "web");
	bench_done(&bench);
}

/* One whose state is there, and asked for. */
static struct known_cgroup *ask_for_one(struct bench *bench)
{
	put_state(bench, STATE);
	struct cgroup_key key = learn(bench, 1, ID, "/docker/" ID);
	struct known_cgroup *group = containers_find(bench->containers, &key);
	containers_ask(bench->containers, group);
	run_until_named(bench, 1);
	return group;
}

#define RENAMED "{\"ID\":\"" ID "\",\"Name\":\"/other\",\"Config\":{\"Image\":\"nginx\"}}"

static void a_container_that_is_renamed_has_its_new_name(void **state)
{
	struct bench bench;

	(void)state;
	bench_make(&bench);
	struct known_cgroup *group = ask_for_one(&bench);
	put_state(&bench, RENAMED);
	run_for(&bench, 100); /* nobody wants to know */
	assert_int_equal(bench.named, 1);
	containers_keep_fresh(bench.containers, 20 * NS_PER_MS);
	run_until_named(&bench, 2);
	assert_int_equal(bench.late, 1);
	assert_string_equal(group_container(group)->name, "other");
	assert_string_equal(group_container(group)->image, "nginx");
	run_for(&bench, 100); /* it is the same, and nobody is told */
	assert_int_equal(bench.named, 2);
	put_state(&bench, "{\"ID\":\"" ID "\",\"Na"); /* half written */
	run_for(&bench, 30);
	put_state(&bench, STATE);
	run_until_named(&bench, 3);
	assert_string_equal(bench.name, "web");
	bench_done(&bench);
}

static void a_container_that_is_gone_keeps_its_name_and_is_looked_for_no_more(void **state)
{
	struct bench bench;

	(void)state;
	bench_make(&bench);
	containers_keep_fresh(bench.containers, 10 * NS_PER_MS);
	struct known_cgroup *group = ask_for_one(&bench);
	unlinkat(bench.folder.fd, FOLDER "/config.v2.json", 0);
	run_for(&bench, 300);
	put_state(&bench, RENAMED);
	run_for(&bench, 100);
	assert_int_equal(bench.named, 1);
	assert_string_equal(group_container(group)->name, "web");
	bench_done(&bench);
}

static void who_wasnt_asked_for_longest_goes_unless_somebody_has_it(void **state)
{
	struct containers_stats stats;
	struct bench bench;
	char id[CONTAINER_ID_BYTES], path[128];

	(void)state;
	bench_make(&bench);
	struct cgroup_key first = learn(&bench, 1, ID, "/docker/" ID);
	struct known_cgroup *held = group_ref(containers_find(bench.containers, &first));
	for (unsigned i = 2; i < 20000; i++) {
		snprintf(id, sizeof(id), "%064x", i);
		snprintf(path, sizeof(path), "/docker/%s", id);
		learn(&bench, i, i % 2 ? id : "", i % 2 ? path : "/x");
	}
	containers_stats(bench.containers, &stats);
	assert_in_range(stats.groups, 4096, 8192);
	assert_in_range(stats.containers, 1, 4096);
	assert_int_equal(stats.refused, 0);
	assert_int_equal(bench.evicted, 19999 - stats.groups);
	assert_ptr_equal(containers_find(bench.containers, &first), held);
	assert_null(containers_find(bench.containers, &(struct cgroup_key){.v2 = 2}));
	assert_non_null(containers_find(bench.containers, &(struct cgroup_key){.v2 = 19999}));
	group_unref(held);
	bench_done(&bench);
}

/* Its cgroups are new ones each time, at the same place. */
static void a_container_that_begins_again_and_again_takes_no_room_for_ever(void **state)
{
	struct containers_stats stats;
	struct bench bench;

	(void)state;
	bench_make(&bench);
	for (unsigned i = 1; i < 20000; i++)
		learn(&bench, i, ID, "/docker/" ID);
	containers_stats(bench.containers, &stats);
	assert_int_equal(stats.groups, 8192);
	assert_int_equal(stats.containers, 1);
	assert_int_equal(stats.refused, 0);
	assert_non_null(containers_find(bench.containers, &(struct cgroup_key){.v2 = 19999}));
	bench_done(&bench);
}

static void what_finds_no_room_is_counted(void **state)
{
	enum { COUNT = 4200 };
	static struct known_cgroup *held[COUNT];
	struct containers_stats stats;
	struct bench bench;

	(void)state;
	bench_make(&bench);
	for (unsigned i = 0; i < COUNT; i++) {
		struct container_place place = {.runtime = CONTAINER_DOCKER};

		snprintf(place.id, sizeof(place.id), "%064x", i);
		held[i] = containers_place(bench.containers, &place, "");
	}
	containers_stats(bench.containers, &stats);
	assert_int_equal(stats.containers, 4096);
	assert_int_equal(stats.refused, COUNT - 4096);
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(held[i] != NULL, i < 4096);
		group_unref(held[i]);
	}
	containers_stats(bench.containers, &stats);
	assert_int_equal(stats.containers, 0);
	bench_done(&bench);
}

static void processes_of_one_path_share_it(void **state)
{
	struct container_place place = {CONTAINER_DOCKER, .id = ID};
	struct bench bench;

	(void)state;
	bench_make(&bench);
	struct known_cgroup *a = containers_place(bench.containers, &place, "/a");
	struct known_cgroup *b = containers_place(bench.containers, &place, "/a");
	struct known_cgroup *c = containers_place(bench.containers, &place, "/c");
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	assert_ptr_equal(group_container(a), group_container(c));
	group_unref(a);
	group_unref(c);
	assert_string_equal(group_container(b)->place.id, ID);
	group_unref(b);
	bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cgroups_lead_to_one_container_with_its_names),
		cmocka_unit_test(state_that_is_half_written_is_read_again),
		cmocka_unit_test(a_container_without_state_keeps_its_id_until_there_is_one),
		cmocka_unit_test(a_container_that_is_renamed_has_its_new_name),
		cmocka_unit_test(a_container_that_is_gone_keeps_its_name_and_is_looked_for_no_more),
		cmocka_unit_test(who_wasnt_asked_for_longest_goes_unless_somebody_has_it),
		cmocka_unit_test(a_container_that_begins_again_and_again_takes_no_room_for_ever),
		cmocka_unit_test(what_finds_no_room_is_counted),
		cmocka_unit_test(processes_of_one_path_share_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
