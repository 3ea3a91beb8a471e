// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "access/browser.h"

static char *const listed[] = {"profiles.example", "Other.Example"};
static const struct browser_names names = {"node7.lab.example", listed, 2};

static enum browser_verdict of_host(const char *host)
{
	return browser_judge(&(struct browser_headers){.host = host}, &names, true, true);
}

static void assert_ours(const char *host)
{
	if (of_host(host) != BROWSER_FINE)
		fail_msg("refused: %s", host);
}

static void assert_not_ours(const char *host)
{
	if (of_host(host) != BROWSER_MISDIRECTED)
		fail_msg("taken: %s", host);
}

static void addresses_are_ours_with_a_port_and_without(void **state)
{
	(void)state;
	assert_ours("127.0.0.1");
	assert_ours("127.0.0.1:9999");
	assert_ours("192.0.2.1:80");
	assert_ours("[::1]");
	assert_ours("[::1]:9999");
	assert_ours("[2001:db8::77]:1");
	assert_ours("[::ffff:192.0.2.1]:9");
	assert_ours("127.0.0.1:"); /* an empty port is the scheme's: RFC 3986 3.2.3 */
}

static void the_hosts_names_are_ours_in_any_case(void **state)
{
	(void)state;
	assert_ours("localhost");
	assert_ours("LocalHost:9999");
	assert_ours("node7.lab.example");
	assert_ours("NODE7.lab.example:9999");
	assert_ours("node7");
	assert_ours("Node7:1");
	assert_ours("profiles.example");
	assert_ours("PROFILES.example:443");
	assert_ours("other.example");
}

static void other_names_are_not(void **state)
{
	static const char *const foreign[] = {
		"attacker.example",
		"127.0.0.1.evil.example",
		"localhost.evil",
		"localhost.",
		"127.0.0.1.",
		"node7.",
		"node7.lab",
		"node7.lab.example.",
		"node",
		"node77",
		"ode7",
		"x.profiles.example",
		"profiles",
		"profiles.example.evil",
		"user@127.0.0.1",
		"127.0.0.1@evil.example",
		"localhost:9@evil.example",
		"localhost:9/evil",
		"localhost:x",
		"localhost:-1",
		"localhost:9:9",
		"localhost: 9",
		"localhost ",
		" localhost",
		"localhost,evil",
		"0x7f000001",
		"2130706433",
		"127.1",
		"0177.0.0.1",
		"::1",
		"::1:9999",
		"[::1",
		"[::1]x",
		"[::1].evil",
		"[]",
		"[127.0.0.1]",
		"[localhost]",
		"[::1%lo]",
		"[fe80::1%25lo]",
		"",
		":",
		":9999",
		"/",
		"*",
		"0.0.0.0",
		"0.0.0.0:9999",
		"[::]",
		"[::]:9999",
		"[0:0::0]",
		"[::ffff:0.0.0.0]:9999",
		"%6cocalhost",
		"loc\xc3\xa4lhost",
		"\xff",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		assert_not_ours(foreign[i]);
}

static void a_name_of_any_length_is_read_within_bounds(void **state)
{
	char text[5000];

	(void)state;
	for (size_t len = 1; len < sizeof(text); len++) {
		memset(text, '1', len);
		text[len] = '\0';
		assert_not_ours(text);
		text[0] = '[';
		assert_not_ours(text);
		text[len - 1] = ']';
		assert_not_ours(text);
	}
}

static void a_host_without_a_name_has_no_empty_one(void **state)
{
	const struct browser_names none = {"", NULL, 0};
	const struct browser_headers dot = {.host = "."}, empty = {.host = ""};

	(void)state;
	assert_int_equal(browser_judge(&empty, &none, true, false), BROWSER_MISDIRECTED);
	assert_int_equal(browser_judge(&dot, &none, true, false), BROWSER_MISDIRECTED);
}

static void a_missing_host_is_that_of_http_1_0(void **state)
{
	const struct browser_headers none = {0};

	(void)state;
	assert_int_equal(browser_judge(&none, &names, false, true), BROWSER_FINE);
	assert_int_equal(browser_judge(&none, &names, true, true), BROWSER_MISDIRECTED);
	assert_int_equal(browser_judge(&none, &names, true, false), BROWSER_MISDIRECTED);
}

static enum browser_verdict of_origin(const char *host, const char *origin, bool tls)
{
	const struct browser_headers headers = {.host = host, .origin = origin, .tls = tls};

	return browser_judge(&headers, &names, false, true);
}

static void the_origin_has_to_be_the_host_with_its_port_and_scheme(void **state)
{
	static const char *const foreign[] = {
		"null",
		"",
		"http://",
		"http://127.0.0.1",
		"http://127.0.0.1:9998",
		"http://127.0.0.1:99999",
		"http://127.0.0.1:9999/",
		"http://127.0.0.1:9999.evil",
		"https://127.0.0.1:9999",
		"http://localhost:9999",
		"http://evil@127.0.0.1:9999",
		"127.0.0.1:9999",
		"file://",
		"http://127.0.0.1:9999 http://127.0.0.1:9999",
	};

	(void)state;
	assert_int_equal(of_origin("127.0.0.1:9999", "http://127.0.0.1:9999", false), BROWSER_FINE);
	assert_int_equal(of_origin("LOCALHOST:9", "HTTP://localhost:9", false), BROWSER_FINE);
	assert_int_equal(of_origin("[::1]:9", "http://[::1]:9", false), BROWSER_FINE);
	assert_int_equal(of_origin("node7", "https://node7", true), BROWSER_FINE);
	assert_int_equal(of_origin("node7", "http://node7", true), BROWSER_FOREIGN);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		if (of_origin("127.0.0.1:9999", foreign[i], false) != BROWSER_FOREIGN)
			fail_msg("taken: %s", foreign[i]);
	}
	/* the name is looked at first: an attacker's page has its own in both */
	assert_int_equal(of_origin("evil.example", "http://evil.example", false),
			 BROWSER_MISDIRECTED);
	assert_int_equal(of_origin(NULL, "http://", false), BROWSER_FOREIGN);
}

static enum browser_verdict of_site(const char *site, const char *mode, const char *dest,
				    bool costs)
{
	const struct browser_headers headers = {
		.host = "localhost", .site = site, .mode = mode, .dest = dest};

	return browser_judge(&headers, &names, true, costs);
}

static void a_page_of_ours_and_the_address_bar_may_all(void **state)
{
	(void)state;
	assert_int_equal(of_site("same-origin", "cors", "empty", true), BROWSER_FINE);
	assert_int_equal(of_site("none", "navigate", "document", true), BROWSER_FINE);
	assert_int_equal(of_site("None", NULL, NULL, true), BROWSER_FINE);
	assert_int_equal(of_site(NULL, NULL, NULL, true), BROWSER_FINE);
}

static void a_page_elsewhere_may_lead_to_what_costs_nothing_and_no_more(void **state)
{
	static const char *const sites[] = {"cross-site", "same-site", "", "x"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(of_site(sites[i], "navigate", "document", false), BROWSER_FINE);
		assert_int_equal(of_site(sites[i], "navigate", "document", true), BROWSER_FOREIGN);
		assert_int_equal(of_site(sites[i], "navigate", "iframe", false), BROWSER_FOREIGN);
		assert_int_equal(of_site(sites[i], "no-cors", "document", false), BROWSER_FOREIGN);
		assert_int_equal(of_site(sites[i], "no-cors", "image", false), BROWSER_FOREIGN);
		assert_int_equal(of_site(sites[i], NULL, "document", false), BROWSER_FOREIGN);
		assert_int_equal(of_site(sites[i], "navigate", NULL, false), BROWSER_FOREIGN);
		assert_int_equal(of_site(sites[i], NULL, NULL, false), BROWSER_FOREIGN);
	}
}

static enum browser_verdict of_referer(const char *referer, const char *site, bool costs)
{
	const struct browser_headers headers = {
		.host = "node7:9999", .referer = referer, .site = site};

	return browser_judge(&headers, &names, true, costs);
}

/* As to an address that isn't loopback's, without TLS. */
static void where_a_browser_does_not_say_whose_page_it_is_the_referer_does(void **state)
{
	static const char *const foreign[] = {
		"http://evil.example/",
		"http://node7/",
		"http://node7:9998/",
		"http://node7:99999/",
		"http://node7:9999.evil.example/",
		"http://node7:9999@evil.example/",
		"https://node7:9999/",
		"node7:9999",
		"",
		"about:blank",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		if (of_referer(foreign[i], NULL, true) != BROWSER_FOREIGN)
			fail_msg("taken: %s", foreign[i]);
		assert_int_equal(of_referer(foreign[i], NULL, false), BROWSER_FINE);
		assert_int_equal(of_referer(foreign[i], "same-origin", true), BROWSER_FINE);
	}
	assert_int_equal(of_referer("http://node7:9999/flamegraph", NULL, true), BROWSER_FINE);
	assert_int_equal(of_referer("HTTP://NODE7:9999/", NULL, true), BROWSER_FINE);
	assert_int_equal(of_referer("http://node7:9999", NULL, true), BROWSER_FINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_ours_with_a_port_and_without),
		cmocka_unit_test(the_hosts_names_are_ours_in_any_case),
		cmocka_unit_test(other_names_are_not),
		cmocka_unit_test(a_name_of_any_length_is_read_within_bounds),
		cmocka_unit_test(a_host_without_a_name_has_no_empty_one),
		cmocka_unit_test(a_missing_host_is_that_of_http_1_0),
		cmocka_unit_test(the_origin_has_to_be_the_host_with_its_port_and_scheme),
		cmocka_unit_test(a_page_of_ours_and_the_address_bar_may_all),
		cmocka_unit_test(where_a_browser_does_not_say_whose_page_it_is_the_referer_does),
		cmocka_unit_test(a_page_elsewhere_may_lead_to_what_costs_nothing_and_no_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
