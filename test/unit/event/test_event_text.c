// SPDX-License-Identifier: GPL-2.0-or-later
/* An event's text and its parts. */
#include "unit/lib/unit.h"

#include "event/event_text.h"

struct reading {
	const char *text;
	struct event_text event;
};

static void check_reading(const struct reading *expected)
{
	struct event_text event;
	struct why why = {0};

	memset(&event, 0xff, sizeof(event));
	if (event_text_read(&event, expected->text, &why) < 0)
		fail_msg("%s is refused: %s", expected->text, why.text);
	if (event.type != expected->event.type || strcmp(event.path, expected->event.path) != 0 ||
	    strcmp(event.group, expected->event.group) != 0 ||
	    strcmp(event.name, expected->event.name) != 0 || event.arg != expected->event.arg ||
	    event.arg_bytes != expected->event.arg_bytes)
		fail_msg("%s: type %d, path %s, group %s, name %s", expected->text, event.type,
			 event.path, event.group, event.name);
}

static void check_refusal(const char *text)
{
	struct event_text event;
	struct why why = {0};

	if (event_text_read(&event, text, &why) != -EINVAL)
		fail_msg("it isn't refused: %s", text);
	assert_has(why.text, "t:GROUP:TRACEPOINT, k:FUNCTION, u:/PATH:FUNCTION or "
			     "usdt:/PATH:PROVIDER:NAME");
}

#define CHECK_READINGS(rows)                                                                       \
	for (size_t i_ = 0; i_ < ARRAY_SIZE(rows); i_++)                                           \
	check_reading(&(rows)[i_])
#define CHECK_REFUSALS(texts)                                                                      \
	for (size_t i_ = 0; i_ < ARRAY_SIZE(texts); i_++)                                          \
	check_refusal((texts)[i_])

static void each_kind_has_its_parts(void **state)
{
	static const struct reading rows[] = {
		{"t:sched:sched_wakeup", {EVENT_TRACEPOINT, "", "sched", "sched_wakeup", 0, 0}},
		{"k:vfs_read", {EVENT_KERNEL, "", "", "vfs_read", 0, 0}},
		{"u:/usr/lib/libx.so:read", {EVENT_USER, "/usr/lib/libx.so", "", "read", 0, 0}},
		{"usdt:/usr/lib/libx.so:x:begin",
		 {EVENT_USDT, "/usr/lib/libx.so", "x", "begin", 0, 0}},
	};

	(void)state;
	CHECK_READINGS(rows);
}

static void an_argument_stands_behind_a_space(void **state)
{
	static const struct reading rows[] = {
		{"k:vfs_read arg=3", {EVENT_KERNEL, "", "", "vfs_read", 3, -8}},
		{"u:/x:f arg=12:-4", {EVENT_USER, "/x", "", "f", 12, -4}},
		{"usdt:/x:p:n arg=1:1", {EVENT_USDT, "/x", "p", "n", 1, 1}},
		{"t:a:b arg=2:8", {EVENT_TRACEPOINT, "", "a", "b", 2, 8}},
	};
	static const char *const texts[] = {
		"k:f arg=0",  "k:f arg=13", "k:f arg=",	  "k:f arg=x",	     "k:f arg=1:3",
		"k:f arg=1:", "k:f arg=-1", "k:f  arg=1", "k:f arg=1 ",	     "k:f arg=1:0",
		"k:f args=1", "k:f ret",    "k: arg=1",	  "k:f arg=1 arg=2", "k:f arg=+1",
	};

	(void)state;
	CHECK_READINGS(rows);
	CHECK_REFUSALS(texts);
}

static void a_path_may_have_colons(void **state)
{
	static const struct reading rows[] = {
		{"u:/a:b/c:d:f", {EVENT_USER, "/a:b/c:d", "", "f", 0, 0}},
		{"u:/a::f", {EVENT_USER, "/a:", "", "f", 0, 0}},
		{"u:/:f", {EVENT_USER, "/", "", "f", 0, 0}},
		{"usdt:/a:b/c:d:p:n", {EVENT_USDT, "/a:b/c:d", "p", "n", 0, 0}},
		{"usdt:/u:/x:p:n", {EVENT_USDT, "/u:/x", "p", "n", 0, 0}},
	};

	(void)state;
	CHECK_READINGS(rows);
}

static void names_may_have_what_compilers_put_into_them(void **state)
{
	static const struct reading rows[] = {
		{"k:read_pages.isra.0", {EVENT_KERNEL, "", "", "read_pages.isra.0", 0, 0}},
		{"k:_ZN4core$3", {EVENT_KERNEL, "", "", "_ZN4core$3", 0, 0}},
		{"u:/x:runtime.(*mheap).alloc",
		 {EVENT_USER, "/x", "", "runtime.(*mheap).alloc", 0, 0}},
		{"u:/b\xc3\xa4r:f\xc3\xb6", {EVENT_USER, "/b\xc3\xa4r", "", "f\xc3\xb6", 0, 0}},
	};

	(void)state;
	CHECK_READINGS(rows);
}

static void an_empty_text_or_part_is_refused(void **state)
{
	static const char *const texts[] = {
		"",	     "t:",	   "t::",   "t:sched:", "t::sched_wakeup", "k:",
		"u:",	     "u::",	   "u:/x:", "u::f",	"usdt:",	   "usdt:::",
		"usdt:/x::", "usdt:/x::n", ":",	    "/x:f",	"usdt:::n",	   "usdt::p:n"};

	(void)state;
	CHECK_REFUSALS(texts);
}

static void a_text_without_enough_colons_is_refused(void **state)
{
	static const char *const texts[] = {"t:sched_wakeup", "u:/x",	      "usdt:/x",
					    "usdt:/x:n",      "sched_wakeup", "/x"};

	(void)state;
	CHECK_REFUSALS(texts);
}

static void an_unknown_prefix_is_refused(void **state)
{
	static const char *const texts[] = {"x:y",	 "T:sched:sched_wakeup", "uprobe:/x:f",
					    "tt:a:b",	 "K:vfs_read",		 " k:vfs_read",
					    "usd:/x:p:n"};

	(void)state;
	CHECK_REFUSALS(texts);
}

static void a_relative_path_is_refused(void **state)
{
	static const char *const texts[] = {"u:libx.so:read",	"u:./libx.so:read",
					    "u:a/libx.so:read", "usdt:libx.so:x:begin",
					    "u: /libx.so:read", "usdt:x/y:x:begin"};

	(void)state;
	CHECK_REFUSALS(texts);
}

static void a_name_of_the_kernels_is_an_identifier(void **state)
{
	static const char *const texts[] = {"k:vfs/read",    "k:vfs:read",	"k:vfs+8",
					    "k:vfs-read",    "t:sched/x:y",	"t:sched:../x",
					    "t:a:b:c",	     "k:f\xc3\xb6",	"k:vfs*",
					    "t:sc hed:read", "t:sched:wake\nup"};

	(void)state;
	CHECK_REFUSALS(texts);
}

/* Each of them in each place where a text of a file has something. */
static void spaces_and_control_characters_are_refused_everywhere(void **state)
{
	static const char whole[] = "usdt:/usr/lib/libx.so:x:begin";
	char text[sizeof(whole)];

	(void)state;
	for (int c = 1; c <= 0x7f; c++) {
		if (c > ' ' && c != 0x7f)
			continue;
		for (size_t i = 0; whole[i]; i++) {
			strcpy(text, whole);
			text[i] = (char)c;
			check_refusal(text);
		}
	}
}

/* Makes u:/xxx…:f of that length. */
static void make_long(char *text, size_t len)
{
	memset(text, 'x', len);
	memcpy(text, "u:/", 3);
	memcpy(text + len - 2, ":f", 3);
}

static void the_longest_text_is_read_and_a_longer_one_is_refused(void **state)
{
	char text[2 * EVENT_WHAT_BYTES];
	struct event_text event;
	struct why why;

	(void)state;
	make_long(text, EVENT_WHAT_BYTES - 1);
	assert_int_equal(event_text_read(&event, text, &why), 0);
	assert_int_equal(strlen(event.path), EVENT_WHAT_BYTES - 1 - strlen("u::f"));
	assert_string_equal(event.name, "f");
	make_long(text, EVENT_WHAT_BYTES);
	check_refusal(text);
	make_long(text, 2 * EVENT_WHAT_BYTES - 1);
	check_refusal(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_has_its_parts),
		cmocka_unit_test(an_argument_stands_behind_a_space),
		cmocka_unit_test(a_path_may_have_colons),
		cmocka_unit_test(names_may_have_what_compilers_put_into_them),
		cmocka_unit_test(an_empty_text_or_part_is_refused),
		cmocka_unit_test(a_text_without_enough_colons_is_refused),
		cmocka_unit_test(an_unknown_prefix_is_refused),
		cmocka_unit_test(a_relative_path_is_refused),
		cmocka_unit_test(a_name_of_the_kernels_is_an_identifier),
		cmocka_unit_test(spaces_and_control_characters_are_refused_everywhere),
		cmocka_unit_test(the_longest_text_is_read_and_a_longer_one_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
