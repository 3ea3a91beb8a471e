// SPDX-License-Identifier: GPL-2.0-or-later
/* A server that fails at random and a daemon that is killed at random: no body is missing, and
 * those that came twice are counted. What came whole and wasn't answered by a failure counts as
 * stored. */
#include "unit/upload/sender_scene.h"

#define BODIES 60

static const char *const faults[] = {"500", "503", "429", "408", "drop", "hang", "drop"};

static void add_some(const struct scene *scene, uint64_t *random, unsigned first, unsigned count)
{
	char words[128];

	for (unsigned i = first; i < first + count; i++) {
		int len = snprintf(words, sizeof(words), "b%u", i);
		unsigned failures = random_next(random) % 4;

		for (unsigned k = 0; k < failures; k++)
			len += snprintf(words + len, sizeof(words) - (size_t)len, " %s",
					faults[random_next(random) % ARRAY_SIZE(faults)]);
		snprintf(words + len, sizeof(words) - (size_t)len, " 200");
		add_body(scene, words, 1000 - (int)i, random_next(random) % 20000);
	}
}

/* How often each came beyond the first time; all have to have come. */
static unsigned count_copies(const struct scene *scene, unsigned count)
{
	unsigned copies = 0;
	char name[16];

	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "b%u", i);
		unsigned times = upload_times(scene->server, name, "200") +
				 upload_times(scene->server, name, "drop") +
				 upload_times(scene->server, name, "hang");

		assert_true(upload_times(scene->server, name, "200") > 0);
		copies += times - 1;
	}
	return copies;
}

static void what_comes_twice_is_counted(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	uint64_t random = 7;

	(void)state;
	scene_make(&scene);
	scene.times.request_ns = 150 * NS_PER_MS;
	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	add_some(&scene, &random, 0, BODIES);
	run_until(&scene, stats_of(&scene).stored == BODIES);
	assert_int_equal(count_copies(&scene, BODIES), stats_of(&scene).maybe_twice);
	assert_int_equal(stats_of(&scene).retries, scene.server->count - BODIES);
	run_until(&scene, count_files(&scene, "") == 0);
	for (int i = 0; i < SENDER_LOSSES; i++)
		assert_int_equal(stats_of(&scene).lost[i], 0);
}

static void what_a_killed_daemon_sent_is_counted_by_the_next(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	uint64_t random = 8;
	unsigned maybe = 0, added = 0;

	(void)state;
	scene_make(&scene);
	scene.times.request_ns = 150 * NS_PER_MS;
	for (int life = 0; life < 12; life++) {
		scene_start(&scene);
		add_some(&scene, &random, added, 10);
		added += 10;
		run_until(&scene,
			  count_files(&scene, ".tmp") == 0 &&
				  stats_of(&scene).waiting <= count_files(&scene, ".body") +
								      count_files(&scene, ".sent"));
		sender_set_server(scene.sender, scene.server->url);
		run_for(&scene, random_next(&random) % 150);
		maybe += (unsigned)stats_of(&scene).maybe_twice;
		scene_kill(&scene);
	}
	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).stored && stats_of(&scene).waiting == 0);
	maybe += (unsigned)stats_of(&scene).maybe_twice;
	unsigned copies = count_copies(&scene, added);
	assert_true(copies <= maybe);
	/* Of each life at most what was in flight may not have got out. */
	assert_in_range(maybe - copies, 0, 12 * 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_twice_is_counted),
		cmocka_unit_test(what_a_killed_daemon_sent_is_counted_by_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
