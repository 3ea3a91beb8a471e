// SPDX-License-Identifier: GPL-2.0-or-later
/* The configured session with a real server for its uploads, up to the end. */
#include "unit/session/session_scene.h"
#include "unit/upload/upload_server.h"

static struct upload_server *server;

static int begin(void **state)
{
	int r = scene_begin(state);
	struct scene *scene = *state;
	struct params *params = &scene->spec.params;

	if (r < 0)
		return r;
	server = upload_begin();
	server->takes_all = true;
	snprintf(params->pyroscope_server, sizeof(params->pyroscope_server), "%s", server->url);
	session_free(scene->session);
	scene->upload.period_s = 60; /* of which a body isn't too old at once */
	scene_begin_session(scene);
	return 0;
}

static int end(void **state)
{
	int r = scene_end(state);

	upload_end(server);
	return r;
}

#define SERVER_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

static struct upload_status status_of(const struct scene *scene)
{
	struct upload_status status;

	session_uploads_status(scene->session, &status);
	return status;
}

static void a_periods_end_reaches_the_server(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	end_period();
	run_until(scene, status_of(scene).sent.stored > 0);
	assert_int_equal(status_of(scene).state, UPLOAD_RUNNING);
	assert_has(server->head, "POST /push.v1.PusherService/Push HTTP/1.1");
	run_until(scene, stats_of(scene).files_written == 1);
}

static void closing_sends_the_last_window(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_close(scene);
	run_until(scene, scene->closed);
	assert_true(server->count > 0);
	assert_int_equal(status_of(scene).sent.stored, server->count);
	assert_int_equal(stats_of(scene).files_written, 1);
}

static void a_server_that_is_gone_is_failing(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	upload_stop(server);
	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	end_period();
	run_until(scene, status_of(scene).state == UPLOAD_FAILING);
	assert_true(status_of(scene).sent.last_failure[0]);
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(status_of(scene).sent.stored, 0);
	scene_quiet(scene); /* closing would try for seconds */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(a_periods_end_reaches_the_server),
		SERVER_TEST(closing_sends_the_last_window),
		SERVER_TEST(a_server_that_is_gone_is_failing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
