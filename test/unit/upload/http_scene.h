/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client beside a scripted server; both have to leave nothing behind. */
#pragma once

#include "unit/upload/http_server.h"
#include "unit/lib/open_fds.h"

#include "loop/loop.h"
#include "upload/http/http.h"

#define SMALL	100
#define LARGE	(16u << 20) /* more than the kernel takes for a connection */
#define TIMEOUT 10000	    /* where nothing is timed out */

/* What came of a request. */
struct told {
	struct http_scene *scene;
	struct http_call *call;
	bool is_done;
	enum http_outcome outcome;
	int status;
	unsigned retry_after_s;
	char text[HTTP_TEXT_MAX + 1], why[1024];
	void (*then)(struct told *told); /* inside done() */
};

struct http_scene {
	struct http_server server;
	bool has_server;
	struct loop *loop;
	struct http *http;
	char url[128];
	char *body; /* LARGE bytes */
	unsigned wanted;
	unsigned fds; /* before all */
	struct loop_timer end;
};

static inline void scene_is_late(void *arg)
{
	(void)arg;
	fail_msg("no answer");
}

static inline void scene_begin(struct http_scene *scene, server_script *script, const char *words)
{
	uint64_t random = 1;

	static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY",
					      "all_proxy",  "ALL_PROXY",   "no_proxy",
					      "NO_PROXY"};

	for (size_t i = 0; i < ARRAY_SIZE(proxies); i++)
		unsetenv(proxies[i]);
	scene->fds = count_fds();
	scene->body = malloc(LARGE);
	assert_non_null(scene->body);
	for (size_t i = 0; i < LARGE; i += sizeof(uint64_t)) {
		uint64_t word = random_next(&random);

		memcpy(scene->body + i, &word, sizeof(word));
	}
	if (script) {
		scene->has_server = true;
		assert_int_equal(server_begin(&scene->server, script, words), 0);
		snprintf(scene->url, sizeof(scene->url),
			 scene->server.family == AF_INET6 ? "http://[::1]:%u/push"
							  : "http://127.0.0.1:%u/push",
			 scene->server.port);
	}
	assert_int_equal(loop_new(&scene->loop), 0);
	unsigned before = count_fds();
	assert_int_equal(http_new(&scene->http, scene->loop), 0);
	assert_int_equal(count_fds(), before);
}

/* Leaves no descriptor. */
static inline void scene_end(struct http_scene *scene)
{
	if (scene->has_server)
		server_end(&scene->server);
	http_free(scene->http);
	loop_free(scene->loop);
	free(scene->body);
	assert_int_equal(count_fds(), scene->fds);
}

static inline void take_answer(void *arg, const struct http_answer *answer)
{
	struct told *told = arg;

	assert_false(told->is_done);
	told->is_done = true;
	told->outcome = answer->outcome;
	told->status = answer->status;
	told->retry_after_s = answer->retry_after_s;
	assert_true(strlen(answer->text) <= HTTP_TEXT_MAX && strlen(answer->why) < 1024);
	assert_int_equal(answer->outcome == HTTP_ANSWERED, answer->why[0] == '\0');
	assert_int_equal(answer->outcome == HTTP_ANSWERED, answer->status >= 200);
	strcpy(told->text, answer->text);
	strcpy(told->why, answer->why);
	if (told->then)
		told->then(told);
	if (--told->scene->wanted == 0)
		loop_stop(told->scene->loop);
}

static inline struct http_post scene_request(struct http_scene *scene, struct told *told,
					     size_t bytes, unsigned timeout_ms)
{
	told->scene = scene;
	return (struct http_post){
		.url = scene->url,
		.content_type = "application/proto",
		.body = scene->body,
		.body_bytes = bytes,
		.timeout_ms = timeout_ms,
		.done = take_answer,
		.arg = told,
	};
}

static inline void scene_post(struct http_scene *scene, struct told *told, size_t bytes,
			      unsigned timeout_ms)
{
	struct http_post request = scene_request(scene, told, bytes, timeout_ms);

	assert_int_equal(http_post(scene->http, &request, &told->call), 0);
	assert_false(told->is_done);
}

static inline void scene_run(struct http_scene *scene, unsigned answers)
{
	scene->wanted = answers;
	scene->end.expired = scene_is_late;
	loop_timer_set(scene->loop, &scene->end, loop_now_ns() + 60 * NS_PER_S);
	assert_int_equal(loop_run(scene->loop), 0);
	loop_timer_cancel(scene->loop, &scene->end);
}

static inline void scene_stop(void *arg)
{
	loop_stop(arg);
}

/* The loop goes on until that is so. */
static inline void scene_let_go(struct http_scene *scene, bool (*until)(struct http_scene *scene))
{
	struct loop_timer tick = {.expired = scene_stop, .arg = scene->loop};

	scene->wanted = UINT32_MAX;
	for (int i = 0; !until(scene); i++) {
		assert_true(i < 6000);
		loop_timer_set(scene->loop, &tick, loop_now_ns() + 10 * NS_PER_MS);
		assert_int_equal(loop_run(scene->loop), 0);
	}
}
