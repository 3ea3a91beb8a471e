// SPDX-License-Identifier: GPL-2.0-or-later
/* A sender and a real server: what goes when, and what answers do. */
#include "unit/upload/sender_scene.h"
#include "unit/lib/open_fds.h"

#define TEST_SCENE(scene)                                                                          \
	_cleanup_(scene_done) struct scene scene;                                                  \
	(void)state;                                                                               \
	scene_make(&(scene));                                                                      \
	scene_start(&(scene))

static void what_is_handed_over_arrives(void **state)
{
	TEST_SCENE(scene);
	unsigned fds = count_fds();

	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "a", 10);
	add_body(&scene, "b ", 5, 1 << 20);
	run_until(&scene, stats_of(&scene).stored == 2 && count_files(&scene, "") == 0);
	struct sender_stats stats = stats_of(&scene);
	assert_int_equal(stats.stored_bytes, 1 + (1 << 20));
	assert_int_equal(stats.waiting, 0);
	assert_int_equal(stats.waiting_bytes, 0);
	assert_int_equal(stats.retries, 0);
	assert_int_equal(stats.maybe_twice, 0);
	assert_true(stats.last_stored_ns > 0);
	assert_int_equal(stats.oldest_waiting_ns, 0);
	assert_string_equal(stats.last_failure, "");
	assert_has(scene.server->head, "POST /push HTTP/1.1");
	assert_has(scene.server->head, "application/proto");
	/* Nothing but the spool's folder is open while nothing is under way: the server's ends are
	 * closed, too. */
	run_until(&scene, count_fds() == fds + 1);
}

static void the_oldest_goes_first_four_at_a_time(void **state)
{
	TEST_SCENE(scene);
	char name[16];

	scene.server->delay_ms = 20;
	for (int i = 0; i < 40; i++) { /* in no order */
		snprintf(name, sizeof(name), "%02d", i * 7 % 40);
		add(&scene, name, 1000 - i * 7 % 40);
	}
	run_until(&scene, count_files(&scene, ".body") == 40);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).stored == 40);
	assert_int_equal(scene.server->most, 4);
	/* Those of one time may arrive in another order. */
	for (int i = 0; i < 40; i++)
		assert_in_range(atoi(scene.server->uploads[i].name) + 8, i, i + 16);
}

/* A part that a host draws for itself: one in sixty has less than a second. */
static void a_window_waits_for_a_part_of_the_spread(void **state)
{
	enum { HOSTS = 12 };
	unsigned waited = 0;

	(void)state;
	for (int host = 0; host < HOSTS; host++) {
		_cleanup_(scene_done) struct scene scene;

		scene_make(&scene);
		scene.options.spread_s = 60;
		scene_start(&scene);
		sender_set_server(scene.sender, scene.server->url);
		add(&scene, "new", 0);
		add(&scene, "old", 60);
		run_until(&scene, upload_times(scene.server, "old", "200") == 1);
		run_until(&scene, stats_of(&scene).stored >= 1);
		waited += stats_of(&scene).waiting;
		scene_close(&scene); /* doesn't wait for it */
		assert_int_equal(stats_of(&scene).stored, 2);
	}
	assert_in_range(waited, HOSTS / 2, HOSTS);
}

static void a_body_is_on_disk_while_it_is_sent(void **state)
{
	TEST_SCENE(scene);

	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "a hang", 10);
	run_until(&scene, scene.server->under_way == 1);
	assert_int_equal(count_files(&scene, ".sent"), 1);
	assert_int_equal(count_files(&scene, ".body"), 0);
	assert_int_equal(stats_of(&scene).waiting, 1);
}

static void a_body_that_fails_is_sent_again(void **state)
{
	TEST_SCENE(scene);
	static const char *const failures[] = {"500", "408", "505", "429", "503", "301", "307"};
	char words[64];

	sender_set_server(scene.sender, scene.server->url);
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		snprintf(words, sizeof(words), "b%zu %s %s 200", i, failures[i], failures[i]);
		add(&scene, words, 10);
		run_until(&scene, stats_of(&scene).stored == i + 1);
		assert_int_equal(stats_of(&scene).retries, 2 * (i + 1));
		assert_has(stats_of(&scene).last_failure, failures[i]);
	}
	assert_int_equal(stats_of(&scene).maybe_twice, 0);
	run_until(&scene, count_files(&scene, "") == 0);
}

/* A server that drops the connection, and gateways that got no answer. */
static void what_may_have_arrived_is_counted_when_it_may_have_again(void **state)
{
	TEST_SCENE(scene);

	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "b drop 500 drop 429 200", 9);
	run_until(&scene, stats_of(&scene).stored == 1);
	assert_int_equal(stats_of(&scene).maybe_twice, 2);
	add(&scene, "c 504 502 200", 8);
	run_until(&scene, stats_of(&scene).stored == 2);
	assert_int_equal(stats_of(&scene).maybe_twice, 4);
	add(&scene, "d drop 400", 8); /* may be there once */
	run_until(&scene, stats_of(&scene).lost[SENDER_REFUSED] == 1);
	assert_int_equal(stats_of(&scene).maybe_twice, 4);
	assert_int_equal(stats_of(&scene).retries, 4 + 2 + 1);
	add(&scene, "a drop hang", 10);
	run_until(&scene, upload_times(scene.server, "a", "hang") == 1);
	assert_int_equal(count_files(&scene, ".again"), 1);
	assert_int_equal(stats_of(&scene).maybe_twice, 4);
}

static void a_body_that_is_never_taken_blocks_none(void **state)
{
	TEST_SCENE(scene);
	static const char *const never[] = {"500", "429", "drop", "408", "503"};
	char words[32];

	for (size_t turn = 0; turn < ARRAY_SIZE(never); turn++) {
		uint64_t before = stats_of(&scene).stored;

		sender_set_server(scene.sender, NULL);
		for (int i = 0; i < 6; i++) {
			snprintf(words, sizeof(words), "n%zu%d %s", turn, i, never[turn]);
			add(&scene, words, 1000 - (int)turn);
		}
		for (int i = 0; i < 20; i++) {
			snprintf(words, sizeof(words), "g%zu%d", turn, i);
			add(&scene, words, 500 - (int)turn);
		}
		sender_set_server(scene.sender, scene.server->url);
		run_until(&scene, stats_of(&scene).stored == before + 20);
		assert_int_equal(stats_of(&scene).waiting, 6 * (turn + 1));
	}
}

static void a_server_that_fails_is_asked_by_one_at_a_time(void **state)
{
	TEST_SCENE(scene);
	char words[32];

	scene.times.first_ns = 20 * NS_PER_MS;
	scene.server->delay_ms = 10;
	for (int i = 0; i < 20; i++) {
		snprintf(words, sizeof(words), "b%d 503 503 503", i);
		add(&scene, words, 1000 - i);
	}
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).failing && scene.server->under_way == 0);
	scene.server->most = 0;
	unsigned count = scene.server->count;
	run_until(&scene, scene.server->count >= count + 8);
	assert_int_equal(scene.server->most, 1);
	/* Each time another one. */
	for (unsigned i = 0; i < 16 && i < scene.server->count; i++) {
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(scene.server->uploads[i].name,
						scene.server->uploads[k].name);
	}
}

/* As a server that starts: 500 for all. */
static void bodies_in_a_row_that_fail_are_the_servers_fault(void **state)
{
	TEST_SCENE(scene);
	char words[32];

	for (int i = 0; i < 10; i++) {
		snprintf(words, sizeof(words), "b%d 500 200", i);
		add(&scene, words, 1000 - i);
	}
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).failing);
	run_until(&scene, stats_of(&scene).stored == 10);
	assert_false(stats_of(&scene).failing);
	assert_int_equal(stats_of(&scene).retries, 10);
}

static void a_server_is_given_the_time_that_it_asks_for(void **state)
{
	TEST_SCENE(scene);

	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "a 429r1 200", 10);
	run_until(&scene, scene.server->count == 1);
	uint64_t begun_ns = loop_now_ns();
	add(&scene, "b", 9);
	run_until(&scene, stats_of(&scene).stored == 2);
	assert_true(loop_now_ns() - begun_ns > 900 * NS_PER_MS);
	/* But not for ever. */
	scene_kill(&scene);
	scene.times.told_most_ns = 50 * NS_PER_MS;
	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "c 503r3000 200", 8);
	run_until(&scene, stats_of(&scene).stored == 1);
}

static void a_server_that_is_not_there_gets_all_when_it_comes(void **state)
{
	TEST_SCENE(scene);
	char name[16];

	upload_stop(scene.server);
	sender_set_server(scene.sender, scene.server->url);
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "b%d", i);
		add(&scene, name, 100 - i);
	}
	run_until(&scene, stats_of(&scene).failing && stats_of(&scene).retries > 2);
	assert_true(stats_of(&scene).last_failure[0] != '\0');
	run_until(&scene, count_files(&scene, ".body") == 30);
	upload_listen(scene.server, scene.server->port);
	run_until(&scene, stats_of(&scene).stored == 30);
	assert_int_equal(scene.server->count, 30);
	assert_int_equal(stats_of(&scene).maybe_twice, 0);
	assert_false(stats_of(&scene).failing);
}

static void what_is_there_goes_to_another_server(void **state)
{
	TEST_SCENE(scene);
	struct upload_server *other = upload_begin();

	other->takes_all = true;
	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "a hang", 20);
	run_until(&scene, scene.server->under_way == 1);
	for (int i = 0; i < 5; i++)
		add(&scene, "b 503", 10);
	run_until(&scene, stats_of(&scene).failing);
	sender_set_server(scene.sender, NULL);
	assert_false(stats_of(&scene).failing);
	run_for(&scene, 100); /* what is in flight arrives: up to four at a time */
	unsigned count = scene.server->count;
	assert_in_range(count, 2, 5);
	add(&scene, "c", 5);
	run_for(&scene, 100);
	assert_int_equal(scene.server->count, count);
	assert_int_equal(scene.server->under_way, 1); /* it may still be answered */
	sender_set_server(scene.sender, other->url);
	run_until(&scene, stats_of(&scene).stored == 7);
	assert_int_equal(other->count, 7);
	assert_int_equal(stats_of(&scene).maybe_twice, 1);
	scene_close(&scene);
	upload_end(other);
}

static void who_sends_tells_who_he_is(void **state)
{
	TEST_SCENE(scene);
	char path[128];
	struct why why = {0};

	sender_set_server(scene.sender, scene.server->url);
	folder_put(&scene.folder, "token", "s3cret\n", 7);
	assert_int_equal(fchmodat(scene.folder.fd, "token", 0600, 0), 0);
	snprintf(path, sizeof(path), "%s/token", scene.folder.path);
	scene.options.token_file = strdup(path);
	scene.options.tenant = strdup("team");
	assert_int_equal(sender_set_options(scene.sender, &scene.options, &why), 0);
	add(&scene, "a", 10);
	run_until(&scene, stats_of(&scene).stored == 1);
	assert_has(scene.server->head, "Authorization: Bearer s3cret\r\n");
	assert_has(scene.server->head, "X-Scope-OrgID: team");
	/* What can't be read changes nothing. */
	assert_int_equal(unlinkat(scene.folder.fd, "token", 0), 0);
	assert_true(sender_set_options(scene.sender, &scene.options, &why) < 0);
	assert_has(why.text, path);
	add(&scene, "b", 10);
	run_until(&scene, stats_of(&scene).stored == 2);
	assert_has(scene.server->head, "Authorization: Bearer s3cret\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_handed_over_arrives),
		cmocka_unit_test(the_oldest_goes_first_four_at_a_time),
		cmocka_unit_test(a_window_waits_for_a_part_of_the_spread),
		cmocka_unit_test(a_body_is_on_disk_while_it_is_sent),
		cmocka_unit_test(a_body_that_fails_is_sent_again),
		cmocka_unit_test(what_may_have_arrived_is_counted_when_it_may_have_again),
		cmocka_unit_test(a_body_that_is_never_taken_blocks_none),
		cmocka_unit_test(a_server_that_fails_is_asked_by_one_at_a_time),
		cmocka_unit_test(bodies_in_a_row_that_fail_are_the_servers_fault),
		cmocka_unit_test(a_server_is_given_the_time_that_it_asks_for),
		cmocka_unit_test(a_server_that_is_not_there_gets_all_when_it_comes),
		cmocka_unit_test(what_is_there_goes_to_another_server),
		cmocka_unit_test(who_sends_tells_who_he_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
