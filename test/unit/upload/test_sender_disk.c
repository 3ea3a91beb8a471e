// SPDX-License-Identifier: GPL-2.0-or-later
/* A disk that doesn't answer: the linker turns the spool's calls into those below
 * (UNITFLAGS_test_sender_disk), which wait until they are let go. */
#include "unit/upload/sender_scene.h"

#include <semaphore.h>

#include "upload/spool/spool.h"

int __real_spool_write(const char *folder, const struct spool_key *key, const struct body *body)
	__attribute__((weak));
int __real_spool_load(const char *folder, const struct spool_key *key, struct body **ret)
	__attribute__((weak));
int __real_spool_list(const char *folder, struct spool_list *list) __attribute__((weak));
int __wrap_spool_write(const char *folder, const struct spool_key *key, const struct body *body);
int __wrap_spool_load(const char *folder, const struct spool_key *key, struct body **ret);
int __wrap_spool_list(const char *folder, struct spool_list *list);

static struct {
	atomic_bool writes, loads, lists; /* hang */
	atomic_uint hanging;
	sem_t go;
} disk;

static void hang_if(atomic_bool *hangs)
{
	if (!*hangs)
		return;
	disk.hanging++;
	sem_wait(&disk.go);
	disk.hanging--;
}

int __wrap_spool_write(const char *folder, const struct spool_key *key, const struct body *body)
{
	hang_if(&disk.writes);
	return __real_spool_write(folder, key, body);
}

int __wrap_spool_load(const char *folder, const struct spool_key *key, struct body **ret)
{
	hang_if(&disk.loads);
	return __real_spool_load(folder, key, ret);
}

int __wrap_spool_list(const char *folder, struct spool_list *list)
{
	hang_if(&disk.lists);
	return __real_spool_list(folder, list);
}

static void begin(struct scene *scene)
{
	if (!__real_spool_write) {
		print_message("not linked with --wrap=spool_write\n");
		skip();
	}
	disk.writes = disk.loads = disk.lists = false;
	sem_init(&disk.go, 0, 0);
	scene_make(scene);
	worker_stop(scene->foreign);
	worker_free(scene->foreign);
	assert_int_equal(worker_new(&scene->foreign, scene->loop, "foreign", 100 * NS_PER_MS), 0);
}

static void let_go(void)
{
	disk.writes = disk.loads = disk.lists = false;
	sem_post(&disk.go);
	while (disk.hanging)
		usleep(1000);
}

static void while_the_disk_hangs_memory_is_sent(void **state)
{
	_cleanup_(scene_done) struct scene scene;

	(void)state;
	begin(&scene);
	scene_start(&scene);
	add(&scene, "a", 100);
	run_until(&scene, count_files(&scene, ".body") == 1);
	disk.writes = true;
	for (int i = 0; i < 40; i++)
		add_body(&scene, "b ", 90 - i, 1 << 20);
	/* No more than may be on the way to the disk, and the rest of what memory has room for. */
	assert_int_equal(stats_of(&scene).waiting, 1 + 31 + 7);
	run_until(&scene, worker_given_up(scene.foreign) == 1);
	assert_int_equal(stats_of(&scene).waiting, 1 + 7);
	assert_int_equal(stats_of(&scene).lost[SENDER_UNWRITABLE], 33);
	run_for(&scene, 300); /* nothing more is tried */
	assert_int_equal(disk.hanging, 1);
	sender_set_server(scene.sender, scene.server->url);
	run_until(&scene, stats_of(&scene).stored == 7);
	assert_int_equal(stats_of(&scene).waiting, 1);
	assert_int_equal(upload_times(scene.server, "a", NULL), 0);
	let_go();
	run_until(&scene, stats_of(&scene).stored == 8);
	/* What was written too late has gone again. */
	run_until(&scene, count_files(&scene, "") == 0);
	assert_int_equal(worker_given_up(scene.foreign), 1);
	assert_int_equal(stats_of(&scene).maybe_twice, 0);
}

static void a_body_that_cannot_be_read_in_time_waits(void **state)
{
	_cleanup_(scene_done) struct scene scene;

	(void)state;
	begin(&scene);
	scene_start(&scene);
	disk.loads = true;
	sender_set_server(scene.sender, scene.server->url);
	for (int i = 0; i < 10; i++)
		add(&scene, "b", 90 - i);
	run_until(&scene, worker_given_up(scene.foreign) == 1);
	assert_int_equal(stats_of(&scene).waiting, 10);
	run_for(&scene, 200);
	assert_int_equal(disk.hanging, 1);
	let_go();
	run_until(&scene, stats_of(&scene).stored == 10);
	assert_int_equal(worker_given_up(scene.foreign), 1);
	assert_int_equal(stats_of(&scene).maybe_twice, 0);
	run_until(&scene, count_files(&scene, "") == 0);
}

static void what_is_there_is_looked_at_again(void **state)
{
	_cleanup_(scene_done) struct scene scene;

	(void)state;
	begin(&scene);
	scene_start(&scene);
	add(&scene, "a", 90);
	run_until(&scene, count_files(&scene, ".body") == 1);
	scene_kill(&scene);
	worker_free(scene.foreign);
	assert_int_equal(worker_new(&scene.foreign, scene.loop, "foreign", 100 * NS_PER_MS), 0);
	disk.lists = true;
	scene_start(&scene);
	sender_set_server(scene.sender, scene.server->url);
	/* 30 s are given to that: it is let go before. */
	run_until(&scene, disk.hanging == 1);
	add(&scene, "b", 80);
	run_for(&scene, 200);
	assert_int_equal(stats_of(&scene).stored, 0);
	let_go();
	run_until(&scene, stats_of(&scene).stored == 2);
}

static void an_end_does_not_wait_for_a_disk_that_hangs(void **state)
{
	_cleanup_(scene_done) struct scene scene;

	(void)state;
	begin(&scene);
	scene_start(&scene);
	run_for(&scene, 20);
	disk.writes = true;
	add(&scene, "a", 90);
	scene_close(&scene);
	assert_int_equal(stats_of(&scene).lost[SENDER_UNWRITABLE], 1);
	let_go();
}

static void what_nobody_waits_for_any_more_is_counted(void **state)
{
	_cleanup_(scene_done) struct scene scene;

	(void)state;
	begin(&scene);
	scene_start(&scene);
	add(&scene, "a", 90);
	run_until(&scene, count_files(&scene, ".body") == 1);
	disk.writes = true;
	add(&scene, "b", 80);
	run_until(&scene, disk.hanging == 1);
	add(&scene, "c", 70);
	sender_abandon(scene.sender, 2);
	assert_int_equal(stats_of(&scene).lost[SENDER_UNWRITABLE], 4);
	let_go();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_the_disk_hangs_memory_is_sent),
		cmocka_unit_test(a_body_that_cannot_be_read_in_time_waits),
		cmocka_unit_test(what_is_there_is_looked_at_again),
		cmocka_unit_test(an_end_does_not_wait_for_a_disk_that_hangs),
		cmocka_unit_test(what_nobody_waits_for_any_more_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
