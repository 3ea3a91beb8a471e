// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/folder.h"

#include "api/conf/conf.h"

/* Reads a conf file of this text; returns the result. */
static int read_text(struct conf *conf, const char *text, struct why *why)
{
	_cleanup_folder_ struct folder folder;
	char path[128];

	folder_make(&folder);
	folder_put(&folder, "conf", text, strlen(text));
	snprintf(path, sizeof(path), "%s/conf", folder.path);
	assert_int_equal(conf_init(conf), 0);
	why->text[0] = '\0';
	return conf_read(conf, path, true, why);
}

static void assert_fine(const char *text)
{
	_cleanup_(conf_done) struct conf conf;
	struct why why;

	if (read_text(&conf, text, &why) != 0)
		fail_msg("%s: %s", text, why.text);
}

static void assert_bad(const char *text, const char *reason)
{
	_cleanup_(conf_done) struct conf conf;
	struct why why;

	if (read_text(&conf, text, &why) == 0)
		fail_msg("accepted: %s", text);
	assert_has(why.text, reason);
}

static void assert_texts(const char *a, const char *b)
{
	if (a && b)
		assert_string_equal(a, b);
	else
		assert_ptr_equal(a, b);
}

/* What two conf files say of uploads. */
static void assert_uploads(const struct upload_options *a, const struct upload_options *b)
{
	assert_texts(a->spool_dir, b->spool_dir);
	assert_int_equal(a->spool_bytes, b->spool_bytes);
	assert_int_equal(a->allow_count, b->allow_count);
	for (size_t i = 0; i < a->allow_count; i++)
		assert_string_equal(a->allow[i], b->allow[i]);
	assert_texts(a->service_name, b->service_name);
	assert_int_equal(a->period_s, b->period_s);
	assert_texts(a->user, b->user);
	assert_texts(a->password_file, b->password_file);
	assert_texts(a->token_file, b->token_file);
	assert_texts(a->tenant, b->tenant);
	assert_texts(a->ca_file, b->ca_file);
	assert_texts(a->cert_file, b->cert_file);
	assert_texts(a->key_file, b->key_file);
}

static void without_a_file_the_defaults_count(void **state)
{
	_cleanup_(conf_done) struct conf conf;
	struct why why = {0};

	(void)state;
	assert_int_equal(conf_init(&conf), 0);
	assert_int_equal(conf_read(&conf, "/nonexistent/conf", true, &why), -ENOENT);
	assert_has(why.text, "/nonexistent/conf: No such file");
	assert_string_equal(conf.bind_addr, "127.0.0.1");
	assert_int_equal(conf.port, 9999);
	assert_int_equal(conf.log_level, LOG_INFO);
	assert_int_equal(conf.roots_count, 2);
	assert_string_equal(conf.roots[0], "/var/log");
	assert_string_equal(conf.roots[1], "/tmp");
	assert_int_equal(conf.retention.days, 7);
	assert_int_equal(conf.retention.bytes, 1 << 30);
	assert_uploads(&conf.upload,
		       &(struct upload_options){.spool_bytes = 256 << 20,
						.service_name = (char[]){"stackprobe"},
						.period_s = 30});
	assert_int_equal(conf.retention.interval, 300);
	assert_int_equal(conf.sizes.allocations, 1 << 18);
	assert_int_equal(conf.sizes.python, 1);
	assert_int_equal(conf.sizes.java, 1);
	assert_int_equal(conf_read(&conf, "/nonexistent/conf", false, &why), 0);
	assert_string_equal(conf.upload.spool_dir, "/var/lib/stackprobe/spool");
}

static void every_key_is_read(void **state)
{
	_cleanup_(conf_done) struct conf conf;
	struct why why;

	(void)state;
	int r = read_text(
		&conf,
		"global = { log_level = \"Error\"; output_roots = [\"/a\", \"/b/c\", \"/d\"];"
		" state_dir = \"\"; };\n"
		"rest_api_server = { bind_addr = \"::1\"; port = 0; ssl_auth = \"OFF\";"
		" private_key = \"\"; cert_file = \"\"; ca_file = \"\"; };\n"
		"bpf = { stacks = 256; targets = 64; stack_ring_bytes = 65536;"
		" life_ring_bytes = 131072; allocations = 1024; python = false; java = false; };\n"
		"retention = { days = 30; bytes = 5000000000L; interval = 60; };\n",
		&why);
	assert_string_equal(why.text, "");
	assert_int_equal(r, 0);
	assert_int_equal(conf.log_level, LOG_ERROR);
	assert_string_equal(conf.bind_addr, "::1");
	assert_int_equal(conf.port, 0);
	assert_int_equal(conf.roots_count, 3);
	assert_string_equal(conf.roots[2], "/d");
	assert_int_equal(conf.sizes.stacks, 256);
	assert_int_equal(conf.sizes.targets, 64);
	assert_int_equal(conf.sizes.stack_ring, 65536);
	assert_int_equal(conf.sizes.life_ring, 131072);
	assert_int_equal(conf.sizes.allocations, 1024);
	assert_int_equal(conf.sizes.python, 0);
	assert_int_equal(conf.sizes.java, 0);
	assert_int_equal(conf.retention.days, 30);
	assert_int_equal(conf.retention.bytes, 5000000000);
	assert_int_equal(conf.retention.interval, 60);
}

/* Relative to where `make unit` runs. */
#define SHIPPED "conf/stackprobe.conf"

static void the_shipped_file_says_the_defaults(void **state)
{
	_cleanup_(conf_done) struct conf conf, defaults;
	struct why why = {0};

	(void)state;
	assert_int_equal(conf_init(&conf), 0);
	assert_int_equal(conf_init(&defaults), 0);
	if (access(SHIPPED, R_OK) < 0) {
		print_message("not run in the source's folder\n");
		skip();
	}
	conf.port = 1;
	conf.log_level = LOG_DEBUG;
	memset(&conf.sizes, 0, sizeof(conf.sizes));
	memset(&conf.retention, 0, sizeof(conf.retention));
	assert_int_equal(conf_read(&conf, SHIPPED, true, &why), 0);
	assert_string_equal(why.text, "");
	assert_int_equal(conf.log_level, defaults.log_level);
	assert_int_equal(conf.port, defaults.port);
	assert_string_equal(conf.bind_addr, defaults.bind_addr);
	assert_memory_equal(&conf.sizes, &defaults.sizes, sizeof(conf.sizes));
	assert_memory_equal(&conf.retention, &defaults.retention, sizeof(conf.retention));
	assert_int_equal(conf.roots_count, defaults.roots_count);
	for (size_t i = 0; i < conf.roots_count; i++)
		assert_string_equal(conf.roots[i], defaults.roots[i]);
	assert_string_equal(conf.state_dir, defaults.state_dir);
	assert_string_equal(conf.probes_init, defaults.probes_init);
	assert_int_equal(conf.restore, defaults.restore);
	assert_int_equal(conf_read(&defaults, "/nonexistent/conf", false, &why), 0);
	assert_uploads(&conf.upload, &defaults.upload);
}

static void unknown_keys_and_sections_are_ignored(void **state)
{
	(void)state;
	assert_fine("");
	assert_fine("# a comment only\n");
	assert_fine("global = { surprise = 1; log_level = \"warn\"; };");
	assert_fine("kafka = { broker = \"x\"; nested = { a = [1, 2]; }; };");
	assert_fine("loose = 5; list = [1, 2]; text = \"x\";");
	assert_fine("global = { }; rest_api_server = { };");
}

static void tls_that_cannot_be_done_stops_the_start(void **state)
{
	(void)state;
	assert_bad("rest_api_server = { ssl_auth = \"on\"; };",
		   "ssl_auth is on: private_key and cert_file have to be named");
	assert_bad("rest_api_server = { ssl_auth = \"on\"; private_key = \"/nowhere\"; "
		   "cert_file = \"/nowhere\"; };",
		   "/nowhere: No such file");
	assert_bad("rest_api_server = { ssl_auth = \"server_auth\"; };", "ssl_auth");
	assert_bad("rest_api_server = { ssl_auth = true; };", "ssl_auth");
	assert_bad("rest_api_server = { ssl_auth = \"\"; };", "ssl_auth");
	assert_fine("rest_api_server = { ssl_auth = \"off\"; };");
}

static void values_out_of_range_are_told_with_their_line(void **state)
{
	(void)state;
	assert_bad("rest_api_server = {\n port = 65536;\n};",
		   "line 2: port must be a number from 0");
	assert_bad("rest_api_server = { port = -1; };", "port must be");
	assert_bad("rest_api_server = { port = \"80\"; };", "port must be");
	assert_bad("rest_api_server = { port = 80.5; };", "port must be");
	assert_bad("rest_api_server = { port = 99999999999L; };", "port must be");
	assert_bad("rest_api_server = { bind_addr = \"localhost\"; };", "bind_addr must be");
	assert_bad("rest_api_server = { bind_addr = 127; };", "bind_addr must be");
	assert_bad("global = { log_level = \"loud\"; };", "log_level must be");
	assert_bad("global = { log_level = 3; };", "log_level must be");
	assert_bad("global = { output_roots = []; };", "output_roots must be");
	assert_bad("global = { output_roots = \"/a\"; };", "output_roots must be");
	assert_bad("global = { output_roots = [\"relative\"]; };", "output_roots must be");
	assert_bad("global = { output_roots = [\"\"]; };", "output_roots must be");
	assert_bad("global = { output_roots = [1]; };", "output_roots must be");
	assert_bad("global = { output_roots = "
		   "[\"/1\",\"/2\",\"/3\",\"/4\",\"/5\",\"/6\",\"/7\",\"/8\","
		   "\"/9\",\"/a\",\"/b\",\"/c\",\"/d\",\"/e\",\"/f\",\"/g\",\"/h\"]; };",
		   "output_roots must be");
	assert_bad("bpf = { stacks = 255; };", "stacks must be a number from 256");
	assert_bad("bpf = { stacks = 2000000; };", "stacks must be");
	assert_bad("bpf = { targets = 63; };", "targets must be");
	assert_bad("bpf = { stack_ring_bytes = 65537; };",
		   "stack_ring_bytes must be a power of two");
	assert_bad("bpf = { life_ring_bytes = 4096; };", "life_ring_bytes must be");
	assert_bad("retention = { days = -1; };", "days must be a number from 0 to 36500");
	assert_bad("retention = { days = 36501; };", "days must be");
	assert_bad("retention = { days = 1.5; };", "days must be");
	assert_bad("retention = { bytes = \"1G\"; };", "bytes must be");
	assert_bad("retention = { bytes = -1L; };", "bytes must be");
	assert_bad("retention = { bytes = 9223372036854775807L; };", "bytes must be");
	assert_bad("retention = { interval = 0; };", "interval must be a number from 1 to");
	assert_fine("retention = { days = 0; bytes = 0; };");
}

static void what_is_no_conf_file_is_told_with_its_line(void **state)
{
	(void)state;
	assert_bad("global = {\n log_level = \n};", "line 3: ");
	assert_bad("{", "line 1: ");
	assert_bad("\x01\x02\xff", "line 1: ");
}

static void listening_addresses_are_parsed(void **state)
{
	static const struct {
		const char *text, *address;
		int port;
	} good[] = {{"127.0.0.1:80", "127.0.0.1", 80},
		    {"[::1]:0", "::1", 0},
		    {"0.0.0.0:65535", "0.0.0.0", 65535},
		    {"[fe80::1]:99", "fe80::1", 99}};
	static const char *const bad[] = {"",
					  ":",
					  ":80",
					  "127.0.0.1",
					  "127.0.0.1:",
					  "127.0.0.1:x",
					  "127.0.0.1:80x",
					  "127.0.0.1:65536",
					  "127.0.0.1:-1",
					  "localhost:80",
					  "[]:80",
					  "[:80",
					  "]:80",
					  "[127.0.0.1:80",
					  "300.0.0.1:80",
					  "127.0.0.1:99999999999999999999"};
	_cleanup_(conf_done) struct conf conf;
	static char huge[300];

	(void)state;
	assert_int_equal(conf_init(&conf), 0);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(conf_set_listen(&conf, good[i].text), 0);
		assert_string_equal(conf.bind_addr, good[i].address);
		assert_int_equal(conf.port, good[i].port);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (conf_set_listen(&conf, bad[i]) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
	}
	memset(huge, '1', sizeof(huge) - 1);
	huge[250] = ':';
	assert_int_equal(conf_set_listen(&conf, huge), -EINVAL);
	assert_string_equal(conf.bind_addr, "fe80::1");
	assert_int_equal(conf.port, 99);
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
		cmocka_unit_test(without_a_file_the_defaults_count),
		cmocka_unit_test(every_key_is_read),
		cmocka_unit_test(the_shipped_file_says_the_defaults),
		cmocka_unit_test(unknown_keys_and_sections_are_ignored),
		cmocka_unit_test(tls_that_cannot_be_done_stops_the_start),
		cmocka_unit_test(values_out_of_range_are_told_with_their_line),
		cmocka_unit_test(what_is_no_conf_file_is_told_with_its_line),
		cmocka_unit_test(listening_addresses_are_parsed),
	};

	return cmocka_run_group_tests(tests, be_quiet, NULL);
}
