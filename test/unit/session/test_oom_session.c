// SPDX-License-Identifier: GPL-2.0-or-later
/* Each allocation of making a session, sessions on demand and uploads fails once. */
#include "unit/lib/failing_alloc.h"
#include "unit/lib/scripted_core.h"

#include "base/log.h"
#include "session/ondemand.h"
#include "session/session.h"

/* The core is made once: the scenarios neither run its loop nor submit jobs. */
static struct scripted_core scene;
static struct upload_options options;

static struct session *make_session(int *error)
{
	static const char *const root = "/nowhere";
	struct session_setup setup = {
		.loop = scene.core.loop,
		.engine = scene.core.engine,
		.files = {scene.core.bulk, scene.core.foreign, {&root, 1}, "host"},
		.upload = &options,
	};
	struct session *session = NULL;
	struct why why = {0};

	*error = session_new(&session, &setup, &why);
	if (*error < 0) {
		assert_null(session);
		assert_has(why.text, "no memory");
	}
	return session;
}

static int sessions_making(void)
{
	int error;
	struct session *session = make_session(&error);

	no_more_failures();
	session_free(session);
	return error;
}
SCENARIO(a_session_needs_all_its_parts, sessions_making, false)

static int ondemands_making(void)
{
	struct ondemands *ondemands = NULL;
	struct ondemand_setup setup = {scene.core.loop, scene.core.engine, scene.core.bulk, "host"};
	int r = ondemands_new(&ondemands, &setup);

	no_more_failures();
	ondemands_free(ondemands);
	return r;
}
SCENARIO(sessions_on_demand_need_all_their_parts, ondemands_making, false)

static int options_change(void)
{
	unsigned left = failing.left;
	struct upload_status status;
	struct why why = {0};
	int r;

	failing.left = 0;
	struct session *session = make_session(&r);
	failing.left = left;
	r = session_set_upload(session, &options, &why);
	no_more_failures();
	if (r < 0)
		assert_has(why.text, "no memory");
	session_uploads_status(session, &status);
	assert_int_equal(status.state, UPLOAD_OFF);
	session_free(session);
	return r;
}
SCENARIO(options_that_cannot_be_copied_leave_the_old_ones, options_change, false)

static int begin(void **state)
{
	(void)state;
	log_set_level(LOG_ERROR + 1);
	scripted_core_begin(&scene);
	assert_int_equal(upload_options_init(&options), 0);
	free(options.spool_dir);
	options.spool_dir = strdup("");
	return 0;
}

static int end(void **state)
{
	(void)state;
	upload_options_done(&options);
	scripted_core_end(&scene);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_needs_all_its_parts),
		cmocka_unit_test(sessions_on_demand_need_all_their_parts),
		cmocka_unit_test(options_that_cannot_be_copied_leave_the_old_ones),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
