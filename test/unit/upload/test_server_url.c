// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "upload/http/server_url.h"

static void a_server_becomes_a_url_without_a_slash_at_its_end(void **state)
{
	static const char *const cases[][2] = {
		{"pyroscope", "http://pyroscope"},
		{"pyroscope:4040", "http://pyroscope:4040"},
		{"127.0.0.1:4040", "http://127.0.0.1:4040"},
		{"127.1", "http://127.0.0.1"},
		{"[::1]:4040", "http://[::1]:4040"},
		{"[0:0:0:0:0:0:0:1]", "http://[::1]"},
		{"pyroscope:4040/", "http://pyroscope:4040"},
		{"http://h", "http://h"},
		{"http://h:80", "http://h:80"},
		{"https://h:443//", "https://h:443"},
		{"HTTP://Host.Example:4040/Some/Path//", "http://host.example:4040/Some/Path"},
		{"h/a/../b", "http://h/b"},
		{"ftp.example.com", "http://ftp.example.com"},
		{"my_host-1", "http://my_host-1"},
		{"h:00080", "http://h:80"},
	};
	char url[SERVER_URL_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(server_url(cases[i][0], url, sizeof(url)), 0);
		assert_string_equal(url, cases[i][1]);
		/* What came out goes in again. */
		assert_int_equal(server_url(cases[i][1], url, sizeof(url)), 0);
		assert_string_equal(url, cases[i][1]);
	}
}

static void what_is_no_server_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		" ",
		"h:0",
		"h:65536",
		"h:x",
		"h:",
		":4040",
		"/h",
		"//h",
		"http://",
		"http:///x",
		"http:h",
		"ftp://h",
		"file:///etc",
		"unix://h",
		"user@h",
		"u:p@h:1",
		"http://@h",
		"http://:@h",
		"h?x",
		"h?",
		"h#",
		"h/p?q=1",
		"h/p#f",
		"h\n",
		"h\r\nX: y",
		"h x",
		"h\tx",
		"h/\x7f",
		"h\xc3\xa4",
		"h%41",
		"h|x",
		"h\\x",
		"[::1",
		"[::1]x",
		"::1",
		"[fe80::1%25lo]",
		"[x]",
		"h:1:2",
		"http://http://h",
		"h/a\nb",
		"h:1e3",
		"://h",
		"http:/%h://:40/a",
		"http:/h://x",
		"h:-1",
		"h:+1",
	};
	char url[SERVER_URL_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		strcpy(url, "before");
		if (server_url(cases[i], url, sizeof(url)) != -EINVAL)
			fail_msg("\"%s\" is \"%s\"", cases[i], url);
		assert_string_equal(url, "");
	}
}

static void what_is_too_long_is_refused_and_the_longest_fits(void **state)
{
	char text[SERVER_URL_MAX + 1], url[SERVER_URL_BYTES];

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "1/", 2); /* grows most: http://0.0.0.1/ */
	text[SERVER_URL_MAX] = '\0';
	assert_int_equal(server_url(text, url, sizeof(url)), -EINVAL);
	text[SERVER_URL_MAX - 1] = '\0';
	assert_int_equal(server_url(text, url, sizeof(url)), 0);
	assert_int_equal(strlen(url), SERVER_URL_MAX - 1 + strlen("http://0.0.0."));
	assert_int_equal(server_url(text, url, strlen(url)), -EINVAL);
	assert_string_equal(url, "");
	assert_int_equal(server_url("h", NULL, 0), -EINVAL);
	assert_int_equal(server_url("h", url, 1), -EINVAL);
}

static void only_servers_of_the_list_are_allowed(void **state)
{
	char *allow[] = {"pyroscope:4040", "https://Cloud.example/tenant", "[::1]", "no url"};
	static const char *const allowed[] = {
		"http://pyroscope:4040", "PYROSCOPE:4040/", "https://cloud.example:443/tenant/",
		"http://[::1]:80",	 "[::1]",
	};
	static const char *const others[] = {
		"pyroscope",
		"https://pyroscope:4040",
		"pyroscope:4041",
		"pyroscope:4040/x",
		"https://cloud.example",
		"http://cloud.example/tenant",
		"cloud.example:443/tenant",
		"https://cloud.example/Tenant",
		"xpyroscope:4040",
		"pyroscope.:4040",
		"127.0.0.1",
		"no url",
		"",
		"pyroscope:4040@evil",
		"evil/pyroscope:4040",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		assert_true(server_is_allowed(allowed[i], allow, ARRAY_SIZE(allow)));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_false(server_is_allowed(others[i], allow, ARRAY_SIZE(allow)));
		assert_true(server_is_allowed(others[i], NULL, 0));
	}
}

static void a_user_is_not_shown_and_all_else_is(void **state)
{
	static const char *const cases[][2] = {
		{"http://user:secret@host:4040/base", "http://***@host:4040/base"},
		{"user:secret@host", "***@host"},
		{"https://secret@host", "https://***@host"},
		{"https://:secret@host", "https://***@host"},
		{"http://@host", "http://***@host"},
		{"http://user:se@cret@host", "http://***@host"},
		{"http://user:se/cret@host", "http://***@host"},
		{"http://user:se?cret@host", "http://***@host"},
		{"http://user:se#cret@host/", "http://***@host/"},
		{"user:se://cret@host", "***@host"},
		{"ftp://user:secret@host", "ftp://***@host"},
		{"http://***@host", "http://***@host"},
		{"http://host/base@1/x", "http://host/base@1/x"},
		{"host:4040", "host:4040"},
		{"http://ho st", "http://ho st"},
		{"", ""},
	};
	char shown[SERVER_URL_MAX], again[SERVER_URL_MAX], url[SERVER_URL_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		server_url_show(cases[i][0], shown, sizeof(shown));
		assert_string_equal(shown, cases[i][1]);
		server_url_show(shown, again, sizeof(again));
		assert_string_equal(again, shown);
		assert_int_equal(server_url(shown, url, sizeof(url)),
				 server_url(cases[i][0], url, sizeof(url)));
	}
	server_url_show("http://user:secret@host", shown, 12);
	assert_string_equal(shown, "http://***@");
}

static void only_an_address_of_this_host_is_a_loopback(void **state)
{
	static const char *const here[] = {
		"127.0.0.1",
		"127.1:4040",
		"127.255.255.254",
		"http://LOCALHOST:4040/x",
		"localhost:4040",
		"https://[::1]",
		"[::ffff:127.0.0.1]:4040",
		"0x7f.0.0.1",
	};
	static const char *const elsewhere[] = {
		"128.0.0.1",
		"127.0.0.1.example",
		"localhost.example",
		"127.example",
		"[::2]",
		"[::ffff:8.8.8.8]",
		"0.0.0.0",
		"[::]",
		"pyroscope",
		"",
		"no url",
		"localhost@evil",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(here); i++) {
		if (!server_is_loopback(here[i]))
			fail_msg("%s is none", here[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
		if (server_is_loopback(elsewhere[i]))
			fail_msg("%s is one", elsewhere[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_an_address_of_this_host_is_a_loopback),
		cmocka_unit_test(a_server_becomes_a_url_without_a_slash_at_its_end),
		cmocka_unit_test(what_is_no_server_is_refused),
		cmocka_unit_test(what_is_too_long_is_refused_and_the_longest_fits),
		cmocka_unit_test(only_servers_of_the_list_are_allowed),
		cmocka_unit_test(a_user_is_not_shown_and_all_else_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
