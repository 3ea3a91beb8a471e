// SPDX-License-Identifier: GPL-2.0-or-later
/* A sender and its folder: what is kept, what goes when there is no room, what a restart finds. */
#include "unit/upload/sender_scene.h"
#include "unit/lib/open_fds.h"

#include "base/log.h"

#define TEST_SCENE(scene)                                                                          \
	_cleanup_(scene_done) struct scene scene;                                                  \
	(void)state;                                                                               \
	scene_make(&(scene))

/* What is written to standard error from begin to end. */
struct caught {
	int before, fd;
};

static void catch_begin(struct caught *caught)
{
	caught->before = dup(STDERR_FILENO);
	caught->fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(caught->fd >= 0 && dup2(caught->fd, STDERR_FILENO) >= 0);
}

static void catch_end(const struct caught *caught, char *text, size_t bytes)
{
	dup2(caught->before, STDERR_FILENO);
	ssize_t n = pread(caught->fd, text, bytes - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(caught->before);
	close(caught->fd);
}

static unsigned count_words(const char *text, const char *word)
{
	unsigned count = 0;

	for (const char *at = text; (at = strstr(at, word)); at++)
		count++;
	return count;
}

static void put_file(const struct scene *scene, const char *name, const char *content)
{
	char path[256];

	snprintf(path, sizeof(path), "spool/%s", name);
	folder_put(&scene->folder, path, content, strlen(content));
}

static void what_a_daemon_left_is_sent_by_the_next_one(void **state)
{
	TEST_SCENE(scene);

	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "a hang 200", 30);
	run_until(&scene, scene.server->count == 1);
	sender_set_server(scene.sender, NULL);
	add(&scene, "b", 20);
	add(&scene, "c", 10);
	run_until(&scene, count_files(&scene, ".body") == 2);
	scene_kill(&scene);
	assert_int_equal(count_files(&scene, ".sent"), 1);
	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).stored == 3 && count_files(&scene, "") == 0);
	assert_int_equal(stats_of(&scene).maybe_twice, 1);
	assert_int_equal(stats_of(&scene).retries, 1);
}

/* The one before may have stored it, and the one that was killed as well. */
static void what_was_sent_again_may_be_there_three_times(void **state)
{
	TEST_SCENE(scene);

	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "a drop hang 500 200", 30);
	run_until(&scene, scene.server->count == 2 && count_files(&scene, ".again") == 1);
	assert_int_equal(stats_of(&scene).maybe_twice, 0);
	scene_kill(&scene);
	scene_start(&scene);
	run_until(&scene, stats_of(&scene).maybe_twice == 1);
	run_until(&scene, count_files(&scene, ".sent") == 1);
	scene_kill(&scene); /* it was counted */
	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).stored == 1);
	assert_int_equal(stats_of(&scene).maybe_twice, 1);
}

static void an_end_loses_nothing(void **state)
{
	TEST_SCENE(scene);
	char name[16];
	unsigned fds = count_fds();

	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "a hang 200", 100);
	run_until(&scene, scene.server->count == 1);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "b%d", i);
		add(&scene, name, 50 - i);
	}
	sender_set_server(scene.sender, NULL);
	add(&scene, "c", 5); /* isn't written yet */
	scene_close(&scene);
	assert_int_equal(count_files(&scene, "") + stats_of(&scene).stored, 22);
	assert_int_equal(count_files(&scene, ".sent"), 1);
	assert_int_equal(count_files(&scene, ".tmp"), 0);
	scene_kill(&scene);
	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).waiting == 0 && count_files(&scene, "") == 0);
	assert_int_equal(stats_of(&scene).maybe_twice, 1);
	scene_close(&scene);
	upload_stop(scene.server);
	run_until(&scene, count_fds() == fds); /* the listening one has gone, the spool has come */
}

static void what_can_be_sent_at_the_end_is(void **state)
{
	TEST_SCENE(scene);
	char name[16];

	scene_start(&scene);
	scene.server->delay_ms = 5;
	sender_set_server(scene.sender, scene.server->url);
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "b%d", i);
		add(&scene, name, 50 - i);
	}
	scene_close(&scene);
	assert_int_equal(stats_of(&scene).stored, 12);
	assert_int_equal(count_files(&scene, ""), 0);
}

/* All of a body has to have gone out before the server may have it. */
static void a_body_that_went_out_in_part_is_not_counted(void **state)
{
	TEST_SCENE(scene);
	struct upload_server *silent = calloc(1, sizeof(*silent));

	scene_start(&scene);
	pthread_mutex_init(&silent->lock, NULL);
	silent->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(address);
	assert_int_equal(bind(silent->fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(silent->fd, 4), 0);
	assert_int_equal(getsockname(silent->fd, (struct sockaddr *)&address, &len), 0);
	snprintf(silent->url, sizeof(silent->url), "http://127.0.0.1:%u", ntohs(address.sin_port));
	sender_set_server(scene.sender, silent->url);
	add_body(&scene, "a ", 10, 15 << 20);
	run_until(&scene, count_files(&scene, ".sent") == 1);
	run_for(&scene, 50);
	scene_close(&scene);
	assert_int_equal(count_files(&scene, ".body"), 1);
	scene_kill(&scene);
	close(silent->fd);
	silent->fd = -1;
	free(silent);
	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).stored == 1);
	assert_int_equal(stats_of(&scene).maybe_twice, 0);
}

static void damaged_files_go_and_foreign_ones_stay(void **state)
{
	TEST_SCENE(scene);

	scene_start(&scene);
	add(&scene, "a", 20);
	run_until(&scene, count_files(&scene, ".body") == 1);
	scene_kill(&scene);
	put_file(&scene, "00000000000000000001-00000000000000000001.body", "x");
	char name[64];
	snprintf(name, sizeof(name), "%020lld-00000000000000000001.body",
		 (long long)real_now_ns() - 5000000000LL);
	put_file(&scene, name, "SPPL, but not quite");
	snprintf(name, sizeof(name), "%020lld-00000000000000000002.body",
		 (long long)real_now_ns() - 5000000000LL);
	_cleanup_close_ int fd = openat(scene.folder.fd, "spool", O_RDONLY | O_DIRECTORY);
	assert_int_equal(symlinkat("/etc/passwd", fd, name), 0);
	put_file(&scene, "README", "mine");
	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).stored == 1 && stats_of(&scene).waiting == 0);
	assert_int_equal(stats_of(&scene).lost[SENDER_UNREADABLE], 1);
	assert_int_equal(stats_of(&scene).lost[SENDER_TOO_OLD], 1); /* of 1970 */
	run_until(&scene, count_files(&scene, "") == 1);
	folder_assert_content(&scene.folder, "spool/README", "mine");
	struct stat stat;
	assert_int_equal(fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(scene.server->count, 1);
}

static void a_file_that_is_taken_away_is_counted(void **state)
{
	TEST_SCENE(scene);

	scene_start(&scene);
	add(&scene, "a", 20);
	run_until(&scene, count_files(&scene, ".body") == 1);
	DIR *dir = opendir(scene.spool);
	for (struct dirent *entry; (entry = readdir(dir));)
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).waiting == 0);
	assert_int_equal(stats_of(&scene).lost[SENDER_UNREADABLE], 1);
	add(&scene, "b", 20);
	run_until(&scene, stats_of(&scene).stored == 1);
}

static void what_is_an_hour_old_goes(void **state)
{
	TEST_SCENE(scene);

	scene_start(&scene);
	add(&scene, "a", 3590); /* and began 30 s before */
	assert_int_equal(stats_of(&scene).lost[SENDER_TOO_OLD], 1);
	add(&scene, "b", 3550);
	run_until(&scene, count_files(&scene, ".body") == 1);
	assert_int_equal(stats_of(&scene).lost[SENDER_TOO_OLD], 1);
	scene_kill(&scene);
	scene.times.age_ns = 31 * NS_PER_S;
	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "c 500", 0);
	run_until(&scene, stats_of(&scene).lost[SENDER_TOO_OLD] == 2);
	run_until(&scene, count_files(&scene, "") == 0);
	assert_int_equal(stats_of(&scene).waiting, 0);
}

static void the_oldest_go_when_there_is_no_room(void **state)
{
	TEST_SCENE(scene);
	char name[16];

	scene.options.spool_bytes = 1 << 20;
	scene_start(&scene);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "b%d ", i);
		add_body(&scene, name, 500 - i, 100000);
		if (i == 10) /* some are on disk then, some on their way */
			run_until(&scene, count_files(&scene, ".body") > 5);
	}
	run_until(&scene, count_files(&scene, ".body") == 10 && count_files(&scene, "") == 10);
	assert_int_equal(stats_of(&scene).lost[SENDER_NO_ROOM], 10);
	assert_in_range(stats_of(&scene).waiting_bytes, 1000000, 1 << 20);
	scene.options.spool_bytes = 500000;
	struct why why;
	assert_int_equal(sender_set_options(scene.sender, &scene.options, &why), 0);
	assert_int_equal(stats_of(&scene).waiting, 4);
	assert_int_equal(stats_of(&scene).lost[SENDER_NO_ROOM], 16);
	add_body(&scene, "whole", 10, 600000); /* more than all the room */
	assert_int_equal(stats_of(&scene).lost[SENDER_NO_ROOM], 17);
	assert_int_equal(stats_of(&scene).waiting, 4);
	sender_set_server(scene.sender, scene.server->url);
	add(&scene, "c", 5);
	run_until(&scene, stats_of(&scene).stored == 5);
	/* Also at a start. */
	sender_set_server(scene.sender, NULL);
	for (int i = 0; i < 4; i++)
		add_body(&scene, "d ", 100 - i, 100000);
	run_until(&scene, count_files(&scene, ".body") == 4);
	scene_kill(&scene);
	scene.options.spool_bytes = 250000;
	scene_start(&scene);
	run_until(&scene, stats_of(&scene).waiting == 2 && count_files(&scene, "") == 2);
	assert_int_equal(stats_of(&scene).lost[SENDER_NO_ROOM], 2);
}

static void what_cannot_be_written_is_sent_all_the_same(void **state)
{
	TEST_SCENE(scene);

	folder_put(&scene.folder, "spool", "a file", 6);
	scene_start(&scene);
	add(&scene, "a", 20);
	add(&scene, "b", 10);
	run_until(&scene, stats_of(&scene).waiting == 2);
	for (int i = 0; i < 10; i++)
		add_body(&scene, "c ", 9 - i, 1 << 20);
	run_until(&scene, stats_of(&scene).lost[SENDER_UNWRITABLE] == 3);
	assert_int_equal(stats_of(&scene).waiting, 9);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).stored == 9);
	assert_int_equal(stats_of(&scene).waiting, 0);
	sender_set_server(scene.sender, NULL);
	add(&scene, "d", 5);
	run_until(&scene, stats_of(&scene).waiting == 1);
	/* At the end there is room: it is kept. */
	assert_int_equal(unlinkat(scene.folder.fd, "spool", 0), 0);
	scene_close(&scene);
	assert_int_equal(count_files(&scene, ".body"), 1);
	assert_int_equal(stats_of(&scene).lost[SENDER_UNWRITABLE], 3);
}

static void without_a_spool_a_little_waits_in_memory(void **state)
{
	TEST_SCENE(scene);

	free(scene.options.spool_dir);
	scene.options.spool_dir = strdup("");
	scene_start(&scene);
	add(&scene, "a", 1000);
	for (int i = 0; i < 8; i++)
		add_body(&scene, "b ", 900 - i, 1 << 20);
	assert_int_equal(stats_of(&scene).lost[SENDER_NO_ROOM], 2); /* the oldest */
	assert_int_equal(stats_of(&scene).waiting, 7);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).stored == 7);
	assert_int_equal(upload_times(scene.server, "a", NULL), 0);
	add(&scene, "c 500 drop 200", 5);
	run_until(&scene, stats_of(&scene).stored == 8);
	assert_int_equal(stats_of(&scene).maybe_twice, 1);
	sender_set_server(scene.sender, NULL);
	add(&scene, "d", 5);
	scene_close(&scene);
	assert_int_equal(stats_of(&scene).lost[SENDER_UNWRITABLE], 1);
}

static void what_no_server_takes_is_not_even_kept(void **state)
{
	TEST_SCENE(scene);

	scene_start(&scene);
	add_body(&scene, "a ", 10, BODY_BYTES_MAX + 1);
	assert_int_equal(stats_of(&scene).lost[SENDER_TOO_LARGE], 1);
	sender_count_loss(scene.sender, SENDER_TOO_LARGE, 3);
	assert_int_equal(stats_of(&scene).lost[SENDER_TOO_LARGE], 4);
	assert_int_equal(stats_of(&scene).waiting, 0);
}

static void a_refusal_is_told_once(void **state)
{
	TEST_SCENE(scene);
	struct caught caught;
	char text[8192], words[32];
	static const char *const refused[] = {"400", "401", "403", "404", "405",
					      "413", "415", "422", "501"};

	scene_start(&scene);
	scene.server->text = "profile of 30 MB\nis too\nlarge";
	sender_set_server(scene.sender, scene.server->url);
	catch_begin(&caught);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		for (int k = 0; k < 3; k++) {
			snprintf(words, sizeof(words), "b%zu%d %s", i, k, refused[i]);
			add(&scene, words, 10);
		}
	}
	run_until(&scene, stats_of(&scene).lost[SENDER_REFUSED] == 27);
	scene.server->text = "profile of 31 MB\nis too\nlarge"; /* the same cause */
	add(&scene, "c 400", 5);
	run_until(&scene, stats_of(&scene).lost[SENDER_REFUSED] == 28);
	scene.server->text = "the label x is bad";
	add(&scene, "d 400", 5);
	run_until(&scene, stats_of(&scene).lost[SENDER_REFUSED] == 29);
	catch_end(&caught, text, sizeof(text));
	assert_int_equal(count_words(text, "refuses oncpu 12:30:00: "), 9);
	assert_int_equal(count_words(text, ": 400: it refuses this;"), 1);
	assert_int_equal(count_words(text, "\n"), 9);
	assert_int_equal(count_words(text, "MB is"), 0);
	assert_string_equal(stats_of(&scene).last_failure, "oncpu 12:30:00: 400: it refuses this");
	assert_int_equal(stats_of(&scene).retries, 0);
	assert_int_equal(scene.server->count, 29);
	run_until(&scene, count_files(&scene, "") == 0);
}

static void a_servers_own_words_are_for_the_log_at_debug_alone(void **state)
{
	TEST_SCENE(scene);
	struct caught caught;
	char text[8192];

	scene_start(&scene);
	scene.server->text = "internal page: db=10.0.0.5";
	sender_set_server(scene.sender, scene.server->url);
	log_set_level(LOG_DEBUG);
	catch_begin(&caught);
	add(&scene, "a 400", 10);
	add(&scene, "b 503 200", 10);
	run_until(&scene,
		  stats_of(&scene).lost[SENDER_REFUSED] == 1 && stats_of(&scene).stored == 1);
	catch_end(&caught, text, sizeof(text));
	log_set_level(LOG_INFO);
	assert_int_equal(count_words(text, "answers 400 to oncpu 12:30:00: internal page: db="), 1);
	assert_int_equal(count_words(text, "answers 503 to oncpu 12:30:00: internal page: db="), 1);
	assert_int_equal(count_words(text, "internal"), 2);
	assert_null(strstr(stats_of(&scene).last_failure, "internal"));
}

static void a_server_that_fails_is_told_once(void **state)
{
	TEST_SCENE(scene);
	struct caught caught;
	char text[8192], name[64];

	scene_start(&scene);
	catch_begin(&caught);
	sender_set_server(scene.sender, scene.server->url);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "b%d 503 500 drop 503 200", i);
		add(&scene, name, 50 - i);
	}
	run_until(&scene, stats_of(&scene).stored == 20);
	catch_end(&caught, text, sizeof(text));
	assert_int_equal(count_words(text, " fails: 503: it can't take it now; "), 1);
	assert_int_equal(count_words(text, " takes profiles again; "), 1);
	assert_int_equal(count_words(text, "\n"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_daemon_left_is_sent_by_the_next_one),
		cmocka_unit_test(what_was_sent_again_may_be_there_three_times),
		cmocka_unit_test(an_end_loses_nothing),
		cmocka_unit_test(what_can_be_sent_at_the_end_is),
		cmocka_unit_test(a_body_that_went_out_in_part_is_not_counted),
		cmocka_unit_test(damaged_files_go_and_foreign_ones_stay),
		cmocka_unit_test(a_file_that_is_taken_away_is_counted),
		cmocka_unit_test(what_is_an_hour_old_goes),
		cmocka_unit_test(the_oldest_go_when_there_is_no_room),
		cmocka_unit_test(what_cannot_be_written_is_sent_all_the_same),
		cmocka_unit_test(without_a_spool_a_little_waits_in_memory),
		cmocka_unit_test(what_no_server_takes_is_not_even_kept),
		cmocka_unit_test(a_refusal_is_told_once),
		cmocka_unit_test(a_servers_own_words_are_for_the_log_at_debug_alone),
		cmocka_unit_test(a_server_that_fails_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
