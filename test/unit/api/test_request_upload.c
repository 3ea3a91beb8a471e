// SPDX-License-Identifier: GPL-2.0-or-later
/* What a PUT says of uploads. */
#include "unit/api/requests.h"

#define PARAMS(p) "{\"snoopers\":{\"proc_name\":[{\"comm\":\"x\"}]},\"params\":{" p "}}"

static void only_servers_that_are_allowed_may_be_named(void **state)
{
	char *allowed = (char[]){"pyro:4040"};

	(void)state;
	assert_accepted(NULL, PARAMS("\"pyroscope_server\":\"other:4040\""));
	request_upload = (struct upload_options){.allow = {allowed}, .allow_count = 1};
	assert_accepted(NULL, PARAMS("\"pyroscope_server\":\"pyro:4040\""));
	assert_accepted(NULL, PARAMS("\"pyroscope_server\":\"http://PYRO:4040/\""));
	assert_accepted(NULL, PARAMS("\"pyroscope_server\":\"\""));
	assert_accepted(NULL, PARAMS("\"pyroscope_server\":\"http://no one\""));
	assert_accepted(NULL, PARAMS("\"svg_period\":60"));
	assert_refused(NULL, PARAMS("\"pyroscope_server\":\"other:4040\""),
		       "params.pyroscope_server other:4040 is not in upload.allow of the conf "
		       "file");
	assert_refused(NULL, PARAMS("\"pyroscope_server\":\"https://pyro:4040\""), NULL);
	assert_refused(NULL, PARAMS("\"pyroscope_server\":\"pyro:4040/there\""), NULL);
	request_upload = (struct upload_options){0};
}

static void where_profiles_are_sent_is_nothing_of_files(void **state)
{
	_cleanup_outcome_ struct outcome a, b;

	(void)state;
	request_text(&a, NULL, PARAMS("\"pyroscope_server\":\"pyro:4040\""));
	assert_int_equal(a.result, 0);
	assert_int_equal(a.spec.params.pyroscope_api, PYROSCOPE_PUSH);
	request_text(&b, &a.spec, PARAMS("\"pyroscope_api\":\"Ingest\""));
	assert_int_equal(b.result, 0);
	assert_int_equal(b.spec.params.pyroscope_api, PYROSCOPE_INGEST);
	assert_string_equal(pyroscope_api_name(PYROSCOPE_INGEST), "ingest");
	assert_true(
		params_equal(flamegraph_params(), PARAM_OF_FILES, &a.spec.params, &b.spec.params));
	assert_true(params_equal(flamegraph_params(), PARAM_OF_UPLOADS, &a.spec.params,
				 &a.spec.params));
	assert_false(params_equal(flamegraph_params(), PARAM_OF_UPLOADS, &a.spec.params,
				  &b.spec.params));
	b.spec.params.pyroscope_api = PYROSCOPE_PUSH;
	strcpy(b.spec.params.pyroscope_server, "x:1");
	assert_false(params_equal(flamegraph_params(), PARAM_OF_UPLOADS, &a.spec.params,
				  &b.spec.params));
}

static void a_password_is_not_kept(void **state)
{
	_cleanup_outcome_ struct outcome outcome;

	(void)state;
	request_text(&outcome, NULL, PARAMS("\"pyroscope_server\":\"http://user:secret@host\""));
	assert_int_equal(outcome.result, 0);
	assert_string_equal(outcome.spec.params.pyroscope_server, "http://***@host");
}

static void what_is_neither_is_refused(void **state)
{
	(void)state;
	assert_refused(NULL, PARAMS("\"pyroscope_api\":\"x\""),
		       "params.pyroscope_api invalid value x, must be one of push, ingest");
	assert_refused(NULL, PARAMS("\"pyroscope_api\":1"),
		       "params.pyroscope_api invalid data type");
	assert_refused(NULL, PARAMS("\"pyroscope_server\":1"),
		       "params.pyroscope_server invalid data type");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_servers_that_are_allowed_may_be_named),
		cmocka_unit_test(where_profiles_are_sent_is_nothing_of_files),
		cmocka_unit_test(a_password_is_not_kept),
		cmocka_unit_test(what_is_neither_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
