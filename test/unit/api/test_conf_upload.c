// SPDX-License-Identifier: GPL-2.0-or-later
/* The conf file's section `upload`, and the files that it names. */
#include "unit/lib/folder.h"

#include "api/conf/conf.h"
#include "upload/http/auth.h"
#include "upload/http/destination.h"
#include "upload/http/server_url.h"

/* A folder with a conf file; FOLDER in its text stands for the folder's path. */
struct scene {
	struct folder folder;
	struct conf conf;
	struct why why;
};

static void scene_make(struct scene *scene)
{
	folder_make(&scene->folder);
	assert_int_equal(conf_init(&scene->conf), 0);
	scene->why.text[0] = '\0';
}

static void scene_done(struct scene *scene)
{
	conf_done(&scene->conf);
	folder_done(&scene->folder);
}
#define _cleanup_scene_ _cleanup_(scene_done)

/* Reads a conf file whose section has these keys. */
static int scene_read(struct scene *scene, const char *keys)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	char path[128];

	buf_str(&text, "upload = {\n");
	for (const char *at = keys; *at;) {
		const char *place = strstr(at, "FOLDER");

		buf_add(&text, at, place ? (size_t)(place - at) : strlen(at));
		buf_str(&text, place ? scene->folder.path : "");
		at = place ? place + strlen("FOLDER") : at + strlen(at);
	}
	buf_str(&text, "\n};\n");
	assert_int_equal(buf_error(&text), 0);
	folder_put(&scene->folder, "conf", text.data, text.len);
	snprintf(path, sizeof(path), "%s/conf", scene->folder.path);
	return conf_read(&scene->conf, path, true, &scene->why);
}

static void put(const struct scene *scene, const char *name, const char *text, mode_t mode)
{
	folder_put(&scene->folder, name, text, strlen(text));
	assert_int_equal(fchmodat(scene->folder.fd, name, mode, 0), 0);
}

static void assert_bad(const char *keys, const char *reason)
{
	_cleanup_scene_ struct scene scene;

	scene_make(&scene);
	put(&scene, "secret", "s3cret\n", 0600);
	if (scene_read(&scene, keys) == 0)
		fail_msg("accepted: %s", keys);
	assert_has(scene.why.text, reason);
	assert_null(strstr(scene.why.text, "s3cret"));
}

static void assert_fine(const char *keys)
{
	_cleanup_scene_ struct scene scene;

	scene_make(&scene);
	put(&scene, "secret", "s3cret\n", 0600);
	if (scene_read(&scene, keys) != 0)
		fail_msg("%s: %s", keys, scene.why.text);
}

static void every_key_is_read(void **state)
{
	_cleanup_scene_ struct scene scene;
	_cleanup_(upload_options_done) struct upload_options copy;
	_cleanup_(auth_freep) struct auth *auth = NULL;

	(void)state;
	scene_make(&scene);
	put(&scene, "password", "correct horse", 0600);
	put(&scene, "pem", "", 0600);
	int r = scene_read(
		&scene,
		"spool_dir = \"/a/b\"; spool_mb = 1048576;"
		" allow = [\"a:1\", \"https://b/c\"]; service_name = \"caf\xc3\xa9 one\";"
		" period = 5; spread = 20; user = \"anna\"; password_file = \"FOLDER/password\";"
		" token_file = \"\"; tenant = \"team-7\"; ca_file = \"FOLDER/pem\";"
		" cert_file = \"FOLDER/pem\"; key_file = \"FOLDER/pem\";");
	assert_string_equal(scene.why.text, "");
	assert_int_equal(r, 0);
	assert_int_equal(upload_options_copy(&copy, &scene.conf.upload), 0);
	assert_string_equal(copy.spool_dir, "/a/b");
	assert_int_equal(copy.spool_bytes, INT64_C(1) << 40);
	assert_int_equal(copy.allow_count, 2);
	assert_string_equal(copy.allow[0], "a:1");
	assert_string_equal(copy.allow[1], "https://b/c");
	assert_string_equal(copy.service_name, "caf\xc3\xa9 one");
	assert_int_equal(copy.period_s, 5);
	assert_int_equal(copy.spread_s, 20);
	assert_null(copy.token_file);
	assert_int_equal(auth_read(&auth, &copy, &scene.why), 0);
	const struct http_auth *http = auth_http(auth);
	assert_string_equal(http->user, "anna");
	assert_string_equal(http->password, "correct horse");
	assert_null(http->token);
	assert_string_equal(http->tenant, "team-7");
	assert_string_equal(http->ca_file, copy.ca_file);
	assert_string_equal(http->cert_file, copy.cert_file);
	assert_string_equal(http->key_file, copy.key_file);
}

static void what_is_empty_is_not_said(void **state)
{
	_cleanup_scene_ struct scene scene;
	_cleanup_(auth_freep) struct auth *auth = NULL;

	(void)state;
	scene_make(&scene);
	assert_int_equal(scene_read(&scene, "spool_dir = \"\"; allow = (); user = \"\";"
					    " password_file = \"\"; token_file = \"\";"
					    " tenant = \"\"; ca_file = \"\"; cert_file = \"\";"
					    " key_file = \"\";"),
			 0);
	assert_string_equal(scene.conf.upload.spool_dir, "");
	assert_int_equal(scene.conf.upload.allow_count, 0);
	assert_int_equal(auth_read(&auth, &scene.conf.upload, &scene.why), 0);
	const struct http_auth *http = auth_http(auth);
	assert_true(!http->user && !http->password && !http->token && !http->tenant &&
		    !http->ca_file && !http->cert_file && !http->key_file);
}

static void the_spool_lies_where_the_other_state_is(void **state)
{
	static const char *const cases[][2] = {
		{"}; global = { state_dir = \"/x/y\";", "/x/y/spool"},
		{"}; global = { state_dir = \"\";", ""},
		{"spool_dir = \"/z\"; }; global = { state_dir = \"\";", "/z"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_scene_ struct scene scene;

		scene_make(&scene);
		assert_int_equal(scene_read(&scene, cases[i][0]), 0);
		assert_string_equal(scene.conf.upload.spool_dir, cases[i][1]);
	}
}

static void values_out_of_range_are_told_with_their_line(void **state)
{
	(void)state;
	assert_bad("spool_dir = \"relative\";", "line 2: spool_dir must be an absolute path");
	assert_bad("spool_mb = 0;", "spool_mb must be a number from 1 to 1048576");
	assert_bad("spool_mb = 1048577;", "spool_mb must be");
	assert_bad("spool_mb = \"1G\";", "spool_mb must be");
	assert_bad("allow = \"a:1\";", "allow must be a list of up to 64 servers");
	assert_bad("allow = [\"ftp://a\"];", "allow must be a list of servers");
	assert_bad("allow = [\"http://u:s3cret@a\"];", "allow must be a list of servers");
	assert_bad("allow = [\"\"];", "allow must be a list of servers");
	assert_bad("allow = (1);", "allow must be a list of servers");
	assert_bad("service_name = \"\";", "service_name must be 1 to 2048 bytes of UTF-8");
	assert_bad("service_name = \"a\\nb\";", "service_name must be");
	assert_bad("service_name = \"\xff\";", "service_name must be");
	assert_bad("service_name = 5;", "service_name must be");
	assert_bad("period = 4;", "period must be a number from 5 to 60");
	assert_bad("period = 7;", "period must be 5, 6, 10, 12, 15, 20, 30 or 60");
	assert_bad("period = 61;", "period must be");
	assert_bad("spread = 61;", "spread must be a number from 0 to 60");
	assert_bad("spread = -1;", "spread must be");
	assert_bad("user = \"a:b\"; password_file = \"FOLDER/secret\";", "user must be a name");
	assert_bad("user = \"a\\nb\"; password_file = \"FOLDER/secret\";", "user must be");
	assert_bad("tenant = \"a b\";", "tenant must be");
	assert_bad("tenant = \"a|b\";", "tenant must be");
	assert_bad("tenant = \"a\\r\\nX: 1\";", "tenant must be");
	assert_bad("ca_file = \"here.pem\";", "ca_file must be an absolute path");
	assert_fine("period = 60; spool_mb = 1; tenant = \"1\";");
}

static void as_many_servers_as_there_is_room_for(void **state)
{
	char keys[2048] = "allow = [";

	(void)state;
	for (int i = 0; i < UPLOAD_ALLOW_MAX; i++)
		snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s\"host%d:%d\"",
			 i ? ", " : "", i, i + 1);
	strcat(keys, "];");
	assert_fine(keys);
	strcpy(keys + strlen(keys) - 2, ", \"more:1\"];");
	assert_bad(keys, "up to 64 servers");
}

static void what_cannot_be_meant_together_stops_the_start(void **state)
{
	(void)state;
	assert_bad("user = \"anna\";", "conf: upload: user needs password_file");
	assert_bad("password_file = \"FOLDER/secret\";", "password_file needs user");
	assert_bad("user = \"anna\"; password_file = \"FOLDER/secret\";"
		   " token_file = \"FOLDER/secret\";",
		   "user and token_file exclude each other");
	assert_bad("cert_file = \"FOLDER/secret\";", "cert_file needs key_file");
	assert_bad("key_file = \"FOLDER/secret\";", "key_file needs cert_file");
	assert_fine("user = \"anna\"; password_file = \"FOLDER/secret\";");
	assert_fine("token_file = \"FOLDER/secret\"; tenant = \"x\";");
}

static void a_file_that_cannot_be_used_stops_the_start(void **state)
{
	(void)state;
	assert_bad("token_file = \"FOLDER/none\";", "/none: No such file");
	assert_bad("token_file = \"FOLDER\";", "upload: token_file /tmp/");
	assert_bad("token_file = \"/dev/zero\";", "is no regular file");
	assert_bad("user = \"a\"; password_file = \"FOLDER/none\";", "/none: No such file");
	assert_bad("ca_file = \"FOLDER/none\";", "/none: No such file");
	assert_bad("ca_file = \"FOLDER\";", "is no regular file");
	assert_bad("cert_file = \"FOLDER/none\"; key_file = \"FOLDER/secret\";", "/none: No such");
	assert_bad("cert_file = \"FOLDER/secret\"; key_file = \"FOLDER/none\";", "/none: No such");
}

static void nobody_waits_for_a_fifo(void **state)
{
	_cleanup_scene_ struct scene scene;

	(void)state;
	scene_make(&scene);
	assert_int_equal(mkfifoat(scene.folder.fd, "fifo", 0600), 0);
	assert_true(scene_read(&scene, "token_file = \"FOLDER/fifo\";") < 0);
	assert_has(scene.why.text, "is no regular file");
}

/* What a file's bytes are as a token; NULL: refused. */
static void assert_token(const void *bytes, size_t len, const char *token)
{
	_cleanup_scene_ struct scene scene;
	_cleanup_(auth_freep) struct auth *auth = NULL;

	scene_make(&scene);
	folder_put(&scene.folder, "token", bytes, len);
	int r = scene_read(&scene, "token_file = \"FOLDER/token\";");
	assert_int_equal(r, token ? 0 : -EINVAL);
	if (!token) {
		assert_has(scene.why.text, "upload: token_file ");
		assert_null(strstr(scene.why.text, "ab-c"));
		return;
	}
	assert_int_equal(auth_read(&auth, &scene.conf.upload, &scene.why), 0);
	assert_string_equal(auth_http(auth)->token, token);
}
#define assert_token_text(text, token) assert_token(text, sizeof(text) - 1, token)

static void a_secret_is_one_line_of_text(void **state)
{
	static char longest[HTTP_SECRET_MAX + 4];

	(void)state;
	assert_token_text("ab-c", "ab-c");
	assert_token_text("ab-c\n", "ab-c");
	assert_token_text("ab-c\r\n", "ab-c");
	assert_token_text(" a b ", " a b ");
	assert_token_text("p\xc3\xa4ss", "p\xc3\xa4ss");
	assert_token_text("", NULL);
	assert_token_text("\n", NULL);
	assert_token_text("ab-c\n\n", NULL);
	assert_token_text("ab-c\ndef", NULL);
	assert_token_text("ab-c\rX: y", NULL);
	assert_token_text("a\0b", NULL);
	assert_token_text("a\tb", NULL);
	assert_token_text("a\x7f", NULL);
	assert_token_text("a\xff", NULL);
	memset(longest, 'x', sizeof(longest));
	assert_token(longest, HTTP_SECRET_MAX + 1, NULL);
	assert_token(longest, sizeof(longest), NULL);
	longest[HTTP_SECRET_MAX] = '\r';
	longest[HTTP_SECRET_MAX + 1] = '\n';
	longest[HTTP_SECRET_MAX + 2] = '\n';
	assert_token(longest, HTTP_SECRET_MAX + 3, NULL);
	longest[HTTP_SECRET_MAX + 2] = '\0';
	char *expected = strndup(longest, HTTP_SECRET_MAX);
	assert_token(longest, HTTP_SECRET_MAX + 2, expected);
	free(expected);
}

static void links_to_secrets_are_followed(void **state)
{
	_cleanup_scene_ struct scene scene;
	_cleanup_(auth_freep) struct auth *auth = NULL;

	(void)state;
	scene_make(&scene);
	assert_int_equal(mkdirat(scene.folder.fd, "..data", 0700), 0);
	put(&scene, "..data/token", "ab-c\n", 0600);
	assert_int_equal(symlinkat("..data/token", scene.folder.fd, "token"), 0);
	assert_int_equal(scene_read(&scene, "token_file = \"FOLDER/token\";"), 0);
	assert_int_equal(auth_read(&auth, &scene.conf.upload, &scene.why), 0);
	assert_string_equal(auth_http(auth)->token, "ab-c");
}

static void secrets_that_everybody_may_read_are_told(void **state)
{
	_cleanup_scene_ struct scene scene;
	const char *exposed[AUTH_SECRETS_MAX];

	(void)state;
	scene_make(&scene);
	put(&scene, "token", "ab-c", 0604);
	put(&scene, "cert", "", 0644);
	put(&scene, "key", "", 0640);
	assert_int_equal(scene_read(&scene,
				    "token_file = \"FOLDER/token\";"
				    " cert_file = \"FOLDER/cert\"; key_file = \"FOLDER/key\";"),
			 0);
	assert_int_equal(auth_exposed(&scene.conf.upload, exposed), 1);
	assert_string_equal(exposed[0], scene.conf.upload.token_file);
}

static void only_what_is_allowed_is_a_destination(void **state)
{
	char *allow[] = {(char[]){"pyro:4040"}, (char[]){"https://far/away"}};
	struct upload_options any = {0}, some = {.allow = {allow[0], allow[1]}, .allow_count = 2};
	char url[SERVER_URL_BYTES] = "x";

	(void)state;
	assert_has(upload_destination(&any, "", url, sizeof(url)), "is empty");
	assert_string_equal(url, "");
	assert_has(upload_destination(&any, "ftp://x", url, sizeof(url)), "neither host:port nor");
	assert_string_equal(url, "");
	assert_null(upload_destination(&any, "pyro:1", url, sizeof(url)));
	assert_string_equal(url, "http://pyro:1");
	assert_null(upload_destination(&some, "http://PYRO:4040/", url, sizeof(url)));
	assert_string_equal(url, "http://pyro:4040");
	assert_has(upload_destination(&some, "pyro:1", url, sizeof(url)), "not in upload.allow");
	assert_string_equal(url, "");
	assert_false(upload_is_forbidden(&some, ""));
	assert_false(upload_is_forbidden(&some, "a b:1"));
	assert_false(upload_is_forbidden(&some, "pyro:4040"));
	assert_true(upload_is_forbidden(&some, "pyro:4041"));
	assert_true(upload_is_forbidden(&some, "https://far"));
	assert_false(upload_is_forbidden(&any, "pyro:4041"));
}

static void credentials_need_a_list_of_servers(void **state)
{
	char *allow[] = {(char[]){"https://pyro"}};
	char file[] = "/some/file", tenant[] = "team";
	struct upload_options of[] = {{.user = file, .password_file = file},
				      {.token_file = file},
				      {.cert_file = file, .key_file = file}};
	struct upload_options harmless = {.tenant = tenant, .ca_file = file};
	char url[SERVER_URL_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		assert_has(upload_destination(&of[i], "https://pyro", url, sizeof(url)),
			   "name these in upload.allow");
		assert_string_equal(url, "");
		assert_non_null(upload_credentials_refused(&of[i]));
		of[i].allow[0] = allow[0];
		of[i].allow_count = 1;
		assert_null(upload_destination(&of[i], "https://pyro", url, sizeof(url)));
		assert_non_null(upload_destination(&of[i], "https://other", url, sizeof(url)));
		assert_null(upload_credentials_refused(&of[i]));
	}
	assert_null(upload_destination(&harmless, "http://pyro", url, sizeof(url)));
}

static void credentials_do_not_leave_the_host_by_plain_http(void **state)
{
	char file[] = "/some/file";
	static const char *const servers[] = {
		"pyro:4040",	      "http://pyro",	   "http://10.0.0.1:4040", "127.0.0.1:4040",
		"http://localhost:1", "http://[::1]:4040", "https://pyro",
	};
	struct upload_options options = {.token_file = file};
	char url[SERVER_URL_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
		options.allow[options.allow_count++] = (char *)servers[i];
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		const char *why = upload_destination(&options, servers[i], url, sizeof(url));

		assert_int_equal(why == NULL, i > 2);
		if (why)
			assert_has(why, "upload.insecure_credentials");
	}
	options.insecure_credentials = true;
	assert_null(upload_destination(&options, servers[0], url, sizeof(url)));
	options.insecure_credentials = false;
	options.token_file = NULL; /* a certificate's key isn't sent */
	options.cert_file = options.key_file = file;
	assert_null(upload_destination(&options, servers[0], url, sizeof(url)));
}

static int be_quiet(void **state)
{
	(void)state;
	log_set_level(LOG_ERROR);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_read),
		cmocka_unit_test(what_is_empty_is_not_said),
		cmocka_unit_test(the_spool_lies_where_the_other_state_is),
		cmocka_unit_test(values_out_of_range_are_told_with_their_line),
		cmocka_unit_test(as_many_servers_as_there_is_room_for),
		cmocka_unit_test(what_cannot_be_meant_together_stops_the_start),
		cmocka_unit_test(a_file_that_cannot_be_used_stops_the_start),
		cmocka_unit_test(nobody_waits_for_a_fifo),
		cmocka_unit_test(a_secret_is_one_line_of_text),
		cmocka_unit_test(links_to_secrets_are_followed),
		cmocka_unit_test(secrets_that_everybody_may_read_are_told),
		cmocka_unit_test(only_what_is_allowed_is_a_destination),
		cmocka_unit_test(credentials_need_a_list_of_servers),
		cmocka_unit_test(credentials_do_not_leave_the_host_by_plain_http),
	};

	return cmocka_run_group_tests(tests, be_quiet, NULL);
}
