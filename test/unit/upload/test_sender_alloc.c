// SPDX-License-Identifier: GPL-2.0-or-later
/* The sender without memory, on the loop and on the worker (failing_alloc.h). */
#include "unit/lib/failing_alloc.h"
#include "unit/upload/sender_scene.h"

#include "base/log.h"

static struct scene scene;

static void give(const char *text)
{
	struct sender_body body = {
		.texts = {"oncpu 12:30:00", "/push", "application/proto"},
		.until_ns = real_now_ns(),
		.bytes = BUF_INIT(1000),
	};

	buf_str(&body.bytes, text);
	if (buf_error(&body.bytes) == 0)
		sender_add(scene.sender, &body);
	buf_done(&body.bytes);
}

/* A daemon that keeps three bodies, or one that sends what it finds to nobody. */
static int use_sender(bool sends)
{
	struct sender_setup setup = {
		.loop = scene.loop,
		.foreign = scene.foreign,
		.options = &scene.options,
		.times = &scene.times,
	};
	int r = sender_new(&scene.sender, &setup);

	if (r < 0)
		return r;
	if (sends)
		sender_set_server(scene.sender, "http://127.0.0.1:1");
	else
		for (int i = 0; i < 3; i++)
			give("hello");
	run_for(&scene, 5);
	scene.closed = false;
	sender_close(scene.sender, note_closed, &scene);
	for (int i = 0; i < 1000 && !scene.closed; i++)
		run_for(&scene, 2);
	assert_true(scene.closed);
	assert_int_equal(stats_of(&scene).stored, 0);
	return 0;
}

static int use(bool sends)
{
	int r = loop_new(&scene.loop);

	if (r == 0)
		r = worker_new(&scene.foreign, scene.loop, "foreign", 8 * NS_PER_S);
	if (r == 0)
		r = use_sender(sends);
	worker_stop(scene.foreign);
	if (scene.loop)
		loop_flush(scene.loop);
	sender_free(scene.sender);
	worker_free(scene.foreign);
	loop_free(scene.loop);
	scene.loop = NULL;
	scene.foreign = NULL;
	scene.sender = NULL;
	return r;
}

static int use_keeping(void)
{
	nftw(scene.spool, folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	return use(false);
}

static int use_sending(void)
{
	return use(true);
}

static int begin(void **state)
{
	(void)state;
	scene_make(&scene);
	worker_stop(scene.foreign);
	worker_free(scene.foreign);
	loop_free(scene.loop);
	scene.loop = NULL;
	scene.foreign = NULL;
	scene.times.close_ns = 5 * NS_PER_MS;
	scene.times.disk_pause_ns = NS_PER_MS;
	log_set_level(LOG_ERROR); /* hundreds of lines */
	return 0;
}

static int end(void **state)
{
	(void)state;
	upload_end(scene.server);
	upload_options_done(&scene.options);
	folder_done(&scene.folder);
	return 0;
}

SCENARIO(keeping_bodies_bears_it, use_keeping, true)
SCENARIO(sending_what_is_there_bears_it, use_sending, true)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeping_bodies_bears_it),
		cmocka_unit_test(sending_what_is_there_bears_it),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
