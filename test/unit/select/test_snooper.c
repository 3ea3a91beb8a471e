// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "proc/proc.h"
#include "select/snooper.h"

static struct snoopers *new_set(void)
{
	struct snoopers *snoopers;

	assert_int_equal(snoopers_new(&snoopers), 0);
	return snoopers;
}

static bool matches(const char *pattern, const char *comm)
{
	_cleanup_snoopers_ struct snoopers *snoopers = new_set();
	struct identity who = {.comm = comm};
	struct match match;

	assert_int_equal(snoopers_add_name(snoopers, pattern, "", "", 0), 0);
	snoopers_match(snoopers, &who, &match);
	assert_int_equal(match.maybe, 0);
	return match.probes == UINT32_MAX;
}

static void extended_expressions_work_as_users_know_them(void **state)
{
	static const struct {
		const char *pattern, *comm;
		bool matches;
	} cases[] = {
		{"redis", "redis-server", true},
		{"^redis", "redis-server", true},
		{"^redis$", "redis-server", false},
		{"server", "redis-server", true},
		{"", "anything", true},
		{"", "", true},
		{"^$", "", true},
		{"^$", "x", false},
		{"^(a|b)+$", "abba", true},
		{"[0-9]{2}", "a12", true},
		{"[0-9]{2}", "a1", false},
		{"[[:digit:]]", "x7", true},
		{"[^[:alnum:]]", "a_b", true},
		{"a.c", "abc", true},
		{"a\\.c", "abc", false},
		{"colou?r", "color", true},
		{"^java$|^python", "python3", true},
		{"REDIS", "redis", false},
		{"a+b", "aab", true},
		{"\\(sd-pam\\)", "(sd-pam)", true},
		{"^kworker/[0-9]", "kworker/0:1", true},
		{".", "\xff", true},
		{"\xff", "\xff", true},
		{"^a.*b$", "a\nb", true},
		{"^abc$", "abc\n", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (matches(cases[i].pattern, cases[i].comm) != cases[i].matches)
			fail_msg("/%s/ on %s", cases[i].pattern, cases[i].comm);
	}
}

static void invalid_patterns_are_refused_and_change_nothing(void **state)
{
	static const char *const patterns[] = {
		"(",	 ")",	 "[",  "*",	     "a{2,1}",
		"a**b(", "(?<n", "\\", "[[:nope:]]", "(?P<a>x)(?P<a>y)",
		"(?99)"};
	_cleanup_snoopers_ struct snoopers *snoopers = new_set();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		int r = snoopers_add_name(snoopers, patterns[i], "", "", 0);

		if (r != -EINVAL)
			fail_msg("%d for /%s/", r, patterns[i]);
	}
	assert_true(snoopers_empty(snoopers));
}

static void repeat(char *to, const char *part, size_t times)
{
	for (*to = '\0'; times; times--)
		to = stpcpy(to, part);
}

static void a_pattern_has_at_most_255_bytes(void **state)
{
	_cleanup_snoopers_ struct snoopers *snoopers = new_set();
	static char pattern[30001];

	(void)state;
	repeat(pattern, "x", 255);
	assert_int_equal(snoopers_add_name(snoopers, pattern, "", "", 0), 0);
	repeat(pattern, "x", 256);
	assert_int_equal(snoopers_add_name(snoopers, pattern, "", "", 0), -E2BIG);
	repeat(pattern, "(", 30000); /* glibc's regcomp crashes on it */
	assert_int_equal(snoopers_add_name(snoopers, pattern, "", "", 0), -E2BIG);
}

/* Each may be refused or accepted, but must not cost time or memory. */
static void no_pattern_can_hurt(void **state)
{
	static const char *const patterns[] = {
		"x{255}{255}{255}",
		"(((x{1,100}){1,100}){1,100})",
		"(a*)*b",
		"(a+)+$",
		"(a|a)*b",
		"(a|aa)+$",
		"^(([a-z])+.)+[A-Z]([a-z])+$",
		"(.*)*(.*)*(.*)*x",
		"(?R)",
		"(?R)*b",
		"((?1)*)*b",
		"(a(?1)?)*b",
		"((?2))((?1))",
		"(?:(?:(?:a?){9}){9}){9}b",
		"(?=(a*)*b)c",
		"(?<=(?1))(a(?2))(b)",
		"(*LIMIT_MATCH=4294967295)(a*)*b",
		"(*LIMIT_HEAP=4294967295)(a*)*b",
		"(*NO_START_OPT)(a*)*b",
		"(*UTF)(*UCP)\\w*\\w*x",
		"(\\1a*)*b",
		"(a*)\\1*\\1*\\1*b",
		"x*x*x*x*x*x*x*x*x*x*x*x*y",
		"[\\w\\W]{0,999}b",
		"(?C255)(?C255)a",
		"(?(R)a|(?0))*",
		"(?:a{0,65535}){0,65535}",
		"(?i)(?:(?:(?:(?:(?:a|b)*c)*d)*e)*f)*g",
	};
	static const char *const names[] = {"aaaaaaaaaaaaaaa", "abababababababa", "",
					    "xxxxxxxxxxxxxxx"};
	struct timespec begin, end;
	struct rusage before, after;

	(void)state;
	getrusage(RUSAGE_SELF, &before);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		_cleanup_snoopers_ struct snoopers *snoopers = new_set();
		int r = snoopers_add_name(snoopers, patterns[i], "", "", 0);

		assert_true(r == 0 || r == -EINVAL);
		for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
			struct match match;

			snoopers_match(snoopers, &(struct identity){.comm = names[n]}, &match);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_SELF, &after);
	assert_true(end.tv_sec - begin.tv_sec < 5);
	assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 64 * 1024);
}

static void random_patterns_of_full_length_cost_little(void **state)
{
	static const char *const parts[] = {"(",   ")",	   "(?",  "a",	   "*",	   "+",
					    "{9}", "|",	   ".",	  "[a-z]", "(?1)", "(?R)",
					    "\\1", "(?<=", "(?=", "(?:",   "?",	   "$"};
	uint64_t random = 13;
	struct timespec begin, now;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < 20000; i++) {
		_cleanup_snoopers_ struct snoopers *snoopers = new_set();
		char pattern[256] = "";
		struct match match;

		while (strlen(pattern) < 8 + (size_t)i % 240)
			strcat(pattern, parts[random_next(&random) % ARRAY_SIZE(parts)]);
		snoopers_add_name(snoopers, pattern, "", "", 0);
		snoopers_match(snoopers, &(struct identity){.comm = "aaaaaaaaaaaaaab"}, &match);
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_true(now.tv_sec - begin.tv_sec < 30);
}

static void entries_are_a_union_and_count_for_their_probes(void **state)
{
	_cleanup_snoopers_ struct snoopers *snoopers = new_set();
	struct match match;

	(void)state;
	assert_int_equal(snoopers_add_name(snoopers, "^a", "", "", 1), 0);
	assert_int_equal(snoopers_add_name(snoopers, "b$", "", "/debug/b", 2), 0);
	assert_int_equal(snoopers_add_name(snoopers, "^c", "", "/debug/c", 0), 0);
	snoopers_match(snoopers, &(struct identity){.comm = "ax"}, &match);
	assert_int_equal(match.probes, 1);
	assert_null(match.debugging_dir);
	snoopers_match(snoopers, &(struct identity){.comm = "ab"}, &match);
	assert_int_equal(match.probes, 3);
	assert_string_equal(match.debugging_dir, "/debug/b");
	snoopers_match(snoopers, &(struct identity){.comm = "cb"}, &match);
	assert_int_equal(match.probes, UINT32_MAX);
	assert_string_equal(match.debugging_dir, "/debug/b");
	snoopers_match(snoopers, &(struct identity){.comm = "x"}, &match);
	assert_int_equal(match.probes | match.maybe, 0);
}

static void a_command_line_that_matters_makes_a_match_a_maybe(void **state)
{
	_cleanup_snoopers_ struct snoopers *snoopers = new_set();
	struct identity self = {.comm = "a"};
	struct match match;

	(void)state;
	assert_int_equal(snoopers_add_name(snoopers, "^a", "no such argument", "", 1), 0);
	assert_int_equal(snoopers_add_name(snoopers, "^a", "test_snooper", "/d", 2), 0);
	assert_int_equal(snoopers_add_name(snoopers, "^z", "test_snooper", "", 4), 0);
	snoopers_match(snoopers, &self, &match);
	assert_int_equal(match.probes, 0);
	assert_int_equal(match.maybe, 3);
	assert_null(match.debugging_dir);
	snoopers_match_cmdline(snoopers, &self, getpid(), &match);
	assert_int_equal(match.probes, 2);
	assert_int_equal(match.maybe, 0);
	assert_string_equal(match.debugging_dir, "/d");
	snoopers_match_cmdline(snoopers, &self, 4194305, &match); /* more than any pid */
	assert_int_equal(match.probes, 0);
	assert_int_equal(match.maybe, 3); /* it could not be read */
	assert_int_equal(snoopers_add_name(snoopers, "a", "", "", 1), 0);
	snoopers_match(snoopers, &self, &match);
	assert_int_equal(match.probes, 1);
	assert_int_equal(match.maybe, 2); /* what is sure is no maybe */
}

static void a_pid_is_told_from_a_reused_one_by_its_start(void **state)
{
	_cleanup_snoopers_ struct snoopers *snoopers = new_set();
	struct proc_stat stat;
	struct match match;

	(void)state;
	assert_int_equal(snoopers_add_id(snoopers, getpid()), 0);
	assert_int_equal(proc_stat(getpid(), &stat), 0);
	struct identity who = {getpid(), stat.start_ticks, "x", NULL, false, NULL};
	snoopers_match(snoopers, &who, &match);
	assert_int_equal(match.probes, UINT32_MAX);
	who.line_start_ticks++;
	snoopers_match(snoopers, &who, &match);
	assert_int_equal(match.probes, 0);
}

static void a_pid_that_was_free_when_named_matches_nobody(void **state)
{
	_cleanup_snoopers_ struct snoopers *snoopers = new_set();
	const struct id_snooper *ids;
	struct match match;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_int_equal(snoopers_add_id(snoopers, child), 0);
	assert_int_equal(snoopers_ids(snoopers, &ids), 1);
	assert_false(ids[0].existed);
	snoopers_match(snoopers, &(struct identity){child, 0, "x", NULL, false, NULL}, &match);
	assert_int_equal(match.probes, 0);
	assert_false(snoopers_empty(snoopers));
}

static void sets_are_equal_when_they_choose_the_same(void **state)
{
	static const char *const differences[][4] = {{"b", "c", "/d", "1"},
						     {"a", "x", "/d", "1"},
						     {"a", "c", "/x", "1"},
						     {"a", "c", "/d", "2"}};
	_cleanup_snoopers_ struct snoopers *one = new_set(), *same = new_set(), *ids = new_set();

	(void)state;
	assert_true(snoopers_equal(one, same));
	assert_int_equal(snoopers_add_name(one, "a", "c", "/d", 1), 0);
	assert_false(snoopers_equal(one, same));
	assert_int_equal(snoopers_add_name(same, "a", "c", "/d", 1), 0);
	assert_true(snoopers_equal(one, same));
	assert_int_equal(snoopers_add_id(ids, getpid()), 0);
	assert_false(snoopers_equal(one, ids));
	for (size_t i = 0; i < ARRAY_SIZE(differences); i++) {
		_cleanup_snoopers_ struct snoopers *other = new_set();
		const char *const *d = differences[i];

		assert_int_equal(snoopers_add_name(other, d[0], d[1], d[2], (uint32_t)atoi(d[3])),
				 0);
		assert_false(snoopers_equal(one, other));
	}
}

static void a_shared_set_lives_until_its_last_reference(void **state)
{
	struct snoopers *snoopers = new_set(), *shared = snoopers_ref(snoopers);
	const struct name_snooper *names;

	(void)state;
	assert_int_equal(snoopers_add_name(snoopers, "a", "", "", 0), 0);
	snoopers_unref(snoopers);
	assert_int_equal(snoopers_names(shared, &names), 1);
	assert_string_equal(names[0].comm, "a");
	assert_false(names[0].probes_given);
	snoopers_unref(shared);
	snoopers_unref(NULL);
}

static void sets_that_are_joined_count_for_their_own_probes(void **state)
{
	_cleanup_snoopers_ struct snoopers *one = new_set(), *other = new_set(), *joined = NULL;
	struct identity who = {.comm = "both"};
	const struct name_snooper *names;
	struct match match;

	(void)state;
	assert_int_equal(snoopers_add_name(one, "^both$", "", "/debug", 0), 0);
	assert_int_equal(snoopers_add_name(one, "^one$", "", "", 2), 0);
	assert_int_equal(snoopers_add_name(other, "^both$", "x", "", 0), 0);
	assert_int_equal(snoopers_add_name(other, "^none$", "", "", 2), 0);
	assert_int_equal(snoopers_add_id(other, getpid()), 0);
	const struct snoopers_part parts[] = {{one, 3}, {NULL, 8}, {other, 4}};
	assert_int_equal(snoopers_join(&joined, parts, ARRAY_SIZE(parts)), 0);
	assert_int_equal(snoopers_names(joined, &names), 3); /* one counts for nothing */
	snoopers_unref(one);				     /* it lives on in the union */
	one = NULL;
	snoopers_match(joined, &who, &match);
	assert_int_equal(match.probes, 3);
	assert_int_equal(match.maybe, 4);
	assert_string_equal(match.debugging_dir, "/debug");
	snoopers_match(joined, &(struct identity){.comm = "one"}, &match);
	assert_int_equal(match.probes, 2);
	snoopers_match(joined, &(struct identity){.comm = "none"}, &match);
	assert_int_equal(match.probes | match.maybe, 0);
	const struct id_snooper *ids;
	assert_int_equal(snoopers_ids(joined, &ids), 1);
	who = (struct identity){getpid(), ids[0].start_ticks, "me", NULL, false, NULL};
	snoopers_match(joined, &who, &match);
	assert_int_equal(match.probes, 4);
	assert_true(snoopers_serial(joined) != snoopers_serial(other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extended_expressions_work_as_users_know_them),
		cmocka_unit_test(invalid_patterns_are_refused_and_change_nothing),
		cmocka_unit_test(a_pattern_has_at_most_255_bytes),
		cmocka_unit_test(no_pattern_can_hurt),
		cmocka_unit_test(random_patterns_of_full_length_cost_little),
		cmocka_unit_test(entries_are_a_union_and_count_for_their_probes),
		cmocka_unit_test(a_command_line_that_matters_makes_a_match_a_maybe),
		cmocka_unit_test(a_pid_is_told_from_a_reused_one_by_its_start),
		cmocka_unit_test(a_pid_that_was_free_when_named_matches_nobody),
		cmocka_unit_test(sets_are_equal_when_they_choose_the_same),
		cmocka_unit_test(a_shared_set_lives_until_its_last_reference),
		cmocka_unit_test(sets_that_are_joined_count_for_their_own_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
