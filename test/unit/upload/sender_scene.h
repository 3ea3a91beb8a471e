/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sender with a folder, a loop and a worker of its own, and a server (upload_server.h). */
#pragma once

#include "unit/lib/folder.h"
#include "unit/upload/upload_server.h"

#include <dirent.h>
#include <time.h>

#include "upload/http/upload_options.h"
#include "upload/sender/sender.h"

struct scene {
	struct folder folder;
	char spool[128];
	struct upload_options options;
	struct sender_times times;
	struct loop *loop;
	struct worker *foreign;
	struct sender *sender;
	struct upload_server *server;
	bool closed;
};

static inline int64_t real_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec;
}

static inline void scene_make(struct scene *scene)
{
	*scene = (struct scene){
		.times = {.first_ns = 20 * NS_PER_MS,
			  .most_ns = 160 * NS_PER_MS,
			  .row_most_ns = 40 * NS_PER_MS,
			  .told_most_ns = 600 * NS_PER_S,
			  .age_ns = 3590 * NS_PER_S,
			  .request_ns = 30 * NS_PER_S,
			  .close_ns = 500 * NS_PER_MS,
			  .disk_pause_ns = 50 * NS_PER_MS},
	};
	folder_make(&scene->folder);
	snprintf(scene->spool, sizeof(scene->spool), "%s/spool", scene->folder.path);
	assert_int_equal(upload_options_init(&scene->options), 0);
	free(scene->options.spool_dir);
	scene->options.spool_dir = strdup(scene->spool);
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->foreign, scene->loop, "foreign", 8 * NS_PER_S), 0);
	scene->server = upload_begin();
}

/* A daemon begins. */
static inline void scene_start(struct scene *scene)
{
	struct why why = {0};
	struct sender_setup setup = {scene->loop, scene->foreign, &scene->options, &scene->times,
				     &why};

	scene->closed = false;
	assert_int_equal(sender_new(&scene->sender, &setup), 0);
	assert_string_equal(why.text, "");
}

/* It is killed, with what it has in memory. */
static inline void scene_kill(struct scene *scene)
{
	worker_stop(scene->foreign);
	loop_flush(scene->loop);
	sender_free(scene->sender);
	scene->sender = NULL;
	worker_free(scene->foreign);
	assert_int_equal(worker_new(&scene->foreign, scene->loop, "foreign", 8 * NS_PER_S), 0);
}

static inline void scene_done(struct scene *scene)
{
	worker_stop(scene->foreign);
	loop_flush(scene->loop);
	sender_free(scene->sender);
	worker_free(scene->foreign);
	loop_free(scene->loop);
	upload_end(scene->server);
	upload_options_done(&scene->options);
	folder_done(&scene->folder);
}

static inline void stop_loop(void *arg)
{
	loop_stop(arg);
}

static inline void run_for(const struct scene *scene, uint64_t ms)
{
	struct loop_timer timer = {.expired = stop_loop, .arg = scene->loop};

	loop_timer_set(scene->loop, &timer, loop_now_ns() + ms * NS_PER_MS);
	assert_int_equal(loop_run(scene->loop), 0);
}

static inline struct sender_stats stats_of(const struct scene *scene)
{
	struct sender_stats stats;

	sender_stats(scene->sender, &stats);
	return stats;
}

/* Lets it work until that is so. */
#define run_until(scene, what)                                                                     \
	do {                                                                                       \
		for (int i_ = 0; i_ < 6000 && !(what); i_++)                                       \
			run_for(scene, 5);                                                         \
		if (!(what))                                                                       \
			fail_msg("in vain: %s", #what);                                            \
	} while (0)

/* A window's body that ended so many seconds ago, padded to `bytes`. */
static inline void add_body(const struct scene *scene, const char *words, int ago_s, size_t bytes)
{
	struct sender_body body = {
		.texts = {"oncpu 12:30:00", "/push", "application/proto"},
		.until_ns = real_now_ns() - (int64_t)ago_s * (int64_t)NS_PER_S,
		.bytes = BUF_INIT(BODY_BYTES_MAX + 1),
	};

	buf_str(&body.bytes, words);
	if (body.bytes.len < bytes) {
		size_t more = bytes - body.bytes.len;

		memset(buf_reserve(&body.bytes, more), ' ', more);
		body.bytes.len += more;
	}
	sender_add(scene->sender, &body);
}

static inline void add(const struct scene *scene, const char *words, int ago_s)
{
	add_body(scene, words, ago_s, 0);
}

/* How many files of the spool end so; "": all. */
static inline size_t count_files(const struct scene *scene, const char *suffix)
{
	DIR *dir = opendir(scene->spool);
	size_t count = 0;

	if (!dir)
		return 0;
	for (struct dirent *entry; (entry = readdir(dir));) {
		size_t len = strlen(entry->d_name), end = strlen(suffix);

		count += entry->d_type == DT_REG && len >= end &&
			 strcmp(entry->d_name + len - end, suffix) == 0;
	}
	closedir(dir);
	return count;
}

static inline void note_closed(void *arg)
{
	struct scene *scene = arg;

	scene->closed = true;
}

/* The daemon ends as it should. */
static inline void scene_close(struct scene *scene)
{
	sender_close(scene->sender, note_closed, scene);
	assert_false(scene->closed);
	run_until(scene, scene->closed);
}
