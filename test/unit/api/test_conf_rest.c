// SPDX-License-Identifier: GPL-2.0-or-later
/* The conf file's rest_api_server: who may ask, and how (api/conf/conf_rest,
 * api/conf/rest_options). */
#include "unit/lib/folder.h"

#include <grp.h>

#include "api/conf/conf.h"

static struct folder folder;

static int make(void **state)
{
	(void)state;
	folder_make(&folder);
	folder_put(&folder, "token", "0123456789abcdef\n", 17);
	folder_put(&folder, "short", "0123\n", 5);
	return 0;
}

static int remove_all(void **state)
{
	(void)state;
	folder_done(&folder);
	return 0;
}

/* Reads a conf file with these lines in rest_api_server; @ in them is the folder. */
static int read_lines(struct conf *conf, const char *lines, struct why *why)
{
	char text[4096] = "rest_api_server = { ", path[128];
	size_t len = strlen(text);

	for (const char *at = lines; *at; at++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s", *at == '@' ? 64 : 1,
					*at == '@' ? folder.path : at);
	snprintf(text + len, sizeof(text) - len, " };");
	folder_put(&folder, "conf", text, strlen(text));
	snprintf(path, sizeof(path), "%s/conf", folder.path);
	assert_int_equal(conf_init(conf), 0);
	why->text[0] = '\0';
	return conf_read(conf, path, true, why);
}

static void assert_bad(const char *lines, const char *reason)
{
	_cleanup_(conf_done) struct conf conf;
	struct why why;

	if (read_lines(&conf, lines, &why) == 0)
		fail_msg("accepted: %s", lines);
	assert_has(why.text, reason);
}

static void without_keys_loopback_is_trusted_and_nothing_is_open(void **state)
{
	_cleanup_(conf_done) struct conf conf;
	const struct rest_options *rest = &conf.rest;
	struct why why;

	(void)state;
	assert_int_equal(read_lines(&conf, "", &why), 0);
	assert_string_equal(rest->socket, "/run/stackprobe/api.sock");
	assert_false(rest->socket_given);
	assert_string_equal(rest->metrics_address, "");
	assert_true(rest->rules.loopback_uid);
	assert_false(rest->rules.open);
	assert_false(rest->rules.has_group);
	assert_int_equal(rest->rules.certificate_role, ROLE_ADMIN);
	assert_int_equal(rest->hosts_count, 0);
	assert_null(rest->keys);
	for (int i = 0; i < ROLES; i++)
		assert_int_equal(rest->rules.tokens[i].len, 0);
}

static void each_key_is_taken(void **state)
{
	const struct group *group = getgrgid(1);
	_cleanup_(conf_done) struct conf conf;
	const struct rest_options *rest = &conf.rest;
	struct why why;
	char lines[1024];

	(void)state;
	if (!group)
		skip();
	snprintf(lines, sizeof(lines),
		 "metrics_addr = \"0.0.0.0:9100\"; socket = \"@/api.sock\"; admin_group = \"%s\"; "
		 "read_token_file = \"@/token\"; certificate_role = \"Read\"; loopback_uid = "
		 "false; "
		 "open = true; hosts = (\"a.example\", \"b\");",
		 group->gr_name);
	assert_int_equal(read_lines(&conf, lines, &why), 0);
	assert_string_equal(rest->metrics_address, "0.0.0.0");
	assert_int_equal(rest->metrics_port, 9100);
	assert_true(rest->socket_given);
	assert_true(rest->rules.has_group);
	assert_int_equal(rest->rules.group, 1);
	assert_string_equal(rest->rules.tokens[ROLE_READ].text, "0123456789abcdef");
	assert_int_equal(rest->rules.tokens[ROLE_ADMIN].len, 0);
	assert_int_equal(rest->rules.certificate_role, ROLE_READ);
	assert_false(rest->rules.loopback_uid);
	assert_true(rest->rules.open);
	assert_int_equal(rest->hosts_count, 2);
	assert_string_equal(rest->hosts[1], "b");
}

static void an_empty_value_is_none(void **state)
{
	_cleanup_(conf_done) struct conf conf;
	struct why why;

	(void)state;
	assert_int_equal(read_lines(&conf,
				    "metrics_addr = \"\"; socket = \"\"; admin_group = \"\"; "
				    "admin_token_file = \"\"; hosts = ( ); private_key = \"\";",
				    &why),
			 0);
	assert_string_equal(conf.rest.socket, "");
	assert_true(conf.rest.socket_given);
	assert_false(conf.rest.rules.has_group);
	assert_int_equal(conf.rest.rules.tokens[ROLE_ADMIN].len, 0);
}

static void what_cannot_be_meant_stops_the_start(void **state)
{
	char text[256];

	(void)state;
	assert_bad("metrics_addr = \"9100\";", "metrics_addr must be");
	assert_bad("metrics_addr = \"localhost:9100\";", "metrics_addr must be");
	assert_bad("metrics_addr = \"0.0.0.0:65536\";", "metrics_addr must be");
	assert_bad("metrics_addr = 9100;", "metrics_addr must be");
	assert_bad("socket = \"api.sock\";", "socket");
	assert_bad("socket = 1;", "socket");
	snprintf(text, sizeof(text), "socket = \"/%0107d\";", 0);
	assert_bad(text, "at most 107 bytes long");
	assert_bad("admin_group = \"no-such-group-here\";", "there is no group no-such-group-here");
	assert_bad("admin_group = 0;", "admin_group must be");
	assert_bad("admin_token_file = \"@/nothing\";", "nothing: No such file");
	assert_bad("admin_token_file = \"@/short\";", "a token is one line");
	assert_bad("admin_token_file = \"token\";", "admin_token_file");
	assert_bad("certificate_role = \"own\";", "certificate_role must be");
	assert_bad("certificate_role = \"root\";", "certificate_role must be");
	assert_bad("certificate_role = true;", "certificate_role must be");
	assert_bad("loopback_uid = \"no\";", "loopback_uid must be");
	assert_bad("open = \"yes\";", "open must be");
	assert_bad("hosts = \"a.example\";", "hosts must be");
	assert_bad("hosts = (1);", "hosts must be");
	assert_bad("hosts = (\"\");", "hosts must be");
	assert_bad("hosts = (\"a.example:9999\");", "hosts must be");
	assert_bad("hosts = (\"http://a\");", "hosts must be");
	assert_bad("ssl_auth = \"on\"; private_key = \"@/token\";", "have to be named");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_keys_loopback_is_trusted_and_nothing_is_open),
		cmocka_unit_test(each_key_is_taken),
		cmocka_unit_test(an_empty_value_is_none),
		cmocka_unit_test(what_cannot_be_meant_stops_the_start),
	};
	return cmocka_run_group_tests(tests, make, remove_all);
}
