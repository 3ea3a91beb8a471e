// SPDX-License-Identifier: GPL-2.0-or-later
/* select/container_journal: what is told of containers whose processes are sampled. */
#include "unit/lib/buf_text.h"
#include "unit/lib/clock_ahead.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "journal/event_journal.h"
#include "proc/proc.h"
#include "select/container_journal.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
/* Longer than until a begin and an end are told, s. */
#define MOMENT 2
#define LONG   3

static struct {
	struct loop *loop;
	struct container_journal journal;
	struct container *web;
	struct container_process process; /* a child, which has begun just now */
} test;

static void let_process_be(void)
{
	struct proc_stat stat;
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(proc_stat(child, &stat), 0);
	test.process = (struct container_process){child, 1, stat.start_ticks, "web server"};
}

static void end_process(void)
{
	if (!test.process.pid)
		return;
	kill(test.process.pid, SIGKILL);
	waitpid(test.process.pid, NULL, 0);
	test.process.pid = 0;
}

static struct container *make_container(const char *id, const char *name)
{
	struct container_place place = {.runtime = CONTAINER_DOCKER};
	struct container *container;

	snprintf(place.id, sizeof(place.id), "%s", id);
	assert_int_equal(container_new(&container, &place, name, NULL, NULL, NULL), 0);
	return container;
}

static int begin(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	assert_int_equal(loop_new(&test.loop), 0);
	assert_int_equal(container_journal_init(&test.journal, test.loop), 0);
	test.web = make_container(ID, "web");
	let_process_be();
	return 0;
}

static int end(void **state)
{
	struct buf left = BUF_INIT(1 << 20);

	(void)state;
	end_process();
	container_unref(test.web);
	container_journal_done(&test.journal);
	loop_free(test.loop);
	journal_take(&left);
	buf_done(&left);
	return 0;
}

#define JOURNAL_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void stop_loop(void *arg)
{
	loop_stop(arg);
}

/* Lets a time pass, and what waits for it happen. */
static void pass_time(long seconds)
{
	struct loop_timer timer = {.expired = stop_loop, .arg = test.loop};

	clock_pass(seconds);
	loop_timer_set(test.loop, &timer, loop_now_ns() + NS_PER_MS);
	assert_int_equal(loop_run(test.loop), 0);
}

/* Adds a text in which numbers with a point are "N", and the process's pid is "PID". */
static void add_text(struct buf *texts, char *text)
{
	char pid[16], *rest;

	snprintf(pid, sizeof(pid), "%d", (int)test.process.pid);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		bool is_number = strspn(word, "0123456789.") == strlen(word);

		buf_str(texts, is_number && strchr(word, '.') ? "N"
			       : strcmp(word, pid) == 0	      ? "PID"
							      : word);
		buf_char(texts, rest && *rest ? ' ' : '\n');
	}
}

/* Returns the texts since the last call, each with a line end; the caller frees them. */
static char *told(void)
{
	static const char kind[] = " container ";
	struct buf lines = BUF_INIT(1 << 20), texts = BUF_INIT(1 << 20);
	char *rest;

	journal_take(&lines);
	_cleanup_free_ char *all = take_text(&lines, NULL);
	for (char *line = strtok_r(all, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *text = strstr(line, kind);

		assert_non_null(text);
		add_text(&texts, text + strlen(kind));
	}
	return take_text(&texts, NULL);
}

static void assert_told(const char *expected)
{
	_cleanup_free_ char *texts = told();

	assert_string_equal(texts, expected);
}

static struct sampled_container *enter(void)
{
	struct sampled_container *in =
		container_journal_enter(&test.journal, test.web, true, &test.process);

	assert_non_null(in);
	return in;
}

static void leave(struct sampled_container *in)
{
	container_journal_leave(&test.journal, in, &test.process);
}

#define BEGUN_WITHOUT_PID "web (0123456789ab) is sampled: PID (web server) began N s before\n"
#define BEGUN		  "web (0123456789ab) is sampled: its first process PID (web server) began N s before\n"
#define ENDED		  "web (0123456789ab) hasn't been sampled for N s: PID (web server) has ended\n"
#define LEFT                                                                                       \
	"web (0123456789ab) hasn't been sampled for N s: PID (web server) isn't chosen any more\n"

static void the_first_process_of_a_container_is_told_and_no_other(void **state)
{
	(void)state;
	enter();
	assert_told("");
	pass_time(MOMENT);
	assert_told(BEGUN);
	enter();
	pass_time(MOMENT);
	assert_told("");
}

/* A container's runtime is there before it, with a name of its own. */
static void the_process_with_pid_1_is_told_as_what_it_has_become(void **state)
{
	struct container_process maker = test.process, inner = test.process;
	struct sampled_container *in[3];

	(void)state;
	maker.ns_pid = 7;
	maker.comm = "runc:[0:PARENT]";
	inner.comm = "runc:[2:INIT]";
	in[0] = container_journal_enter(&test.journal, test.web, true, &maker);
	in[1] = container_journal_enter(&test.journal, test.web, true, &inner);
	in[2] = enter();
	container_journal_leave(&test.journal, in[1], &inner);
	container_journal_leave(&test.journal, in[0], &maker);
	pass_time(MOMENT);
	assert_told(BEGUN);
	leave(in[2]);
}

static void a_maker_that_has_gone_is_not_told_where_no_pid_is_known(void **state)
{
	struct container_process maker = {4194305, 0, 7, "runc:[0:PARENT]"};

	(void)state;
	container_journal_enter(&test.journal, test.web, true, &maker);
	test.process.ns_pid = 0;
	enter();
	pass_time(MOMENT);
	assert_told(BEGUN_WITHOUT_PID);
}

static void a_process_that_is_not_the_first_of_its_container_is_not_called_so(void **state)
{
	(void)state;
	test.process.ns_pid = 0; /* not known */
	enter();
	pass_time(MOMENT);
	assert_told(BEGUN_WITHOUT_PID);
}

static void how_long_the_process_has_been_there_is_told(void **state)
{
	uint64_t hour_ticks = proc_ticks_of_ns(3600 * NS_PER_S);
	struct buf lines = BUF_INIT(4096);

	(void)state;
	test.process.start_ticks -= test.process.start_ticks < hour_ticks ? 0 : hour_ticks;
	enter();
	pass_time(MOMENT);
	journal_take(&lines);
	_cleanup_free_ char *text = take_text(&lines, NULL);
	const char *began = strstr(text, "began ");
	assert_non_null(began);
	double age_s = strtod(began + strlen("began "), NULL);
	uint64_t now_ticks = proc_ticks_of_ns(clock_ns(CLOCK_BOOTTIME));
	double now_s =
		(double)(now_ticks - test.process.start_ticks) / (double)proc_ticks_of_ns(NS_PER_S);
	assert_true(age_s <= now_s && age_s > now_s - 60);
}

static void the_end_is_told_when_no_process_was_there_for_a_while(void **state)
{
	struct sampled_container *one = enter(), *other = enter();

	(void)state;
	pass_time(MOMENT);
	assert_told(BEGUN);
	leave(one);
	pass_time(LONG);
	assert_told("");
	pid_t pid = test.process.pid;
	end_process();
	test.process.pid = pid;
	leave(other);
	assert_told("");
	pass_time(LONG);
	assert_told(ENDED);
	test.process.pid = 0;
	pass_time(LONG);
	assert_told("");
}

static void a_process_that_lives_on_is_not_chosen_any_more(void **state)
{
	(void)state;
	leave(enter());
	pass_time(LONG);
	assert_told(BEGUN LEFT);
}

static void one_process_after_the_other_is_no_end(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		leave(enter());
		pass_time(1);
	}
	assert_told(BEGUN);
	pass_time(LONG);
	assert_told(LEFT);
	enter(); /* it begins anew */
	pass_time(MOMENT);
	assert_told(BEGUN);
}

static void the_begin_waits_for_the_name(void **state)
{
	struct container *unnamed = make_container(ID, "");

	(void)state;
	struct sampled_container *before =
		container_journal_enter(&test.journal, unnamed, false, &test.process);
	pass_time(LONG);
	assert_told("");
	struct sampled_container *now = enter();
	leave(before);
	assert_ptr_equal(now, before); /* an id is a container */
	pass_time(0);
	assert_told(BEGUN);
	container_unref(unnamed);
}

static void what_ended_before_it_had_a_name_has_both(void **state)
{
	struct container *unnamed = make_container(ID, "");

	(void)state;
	leave(container_journal_enter(&test.journal, unnamed, false, &test.process));
	pass_time(LONG);
	assert_told(
		"(0123456789ab) is sampled: its first process PID (web server) began N s before\n"
		"(0123456789ab) hasn't been sampled for N s: PID (web server) isn't chosen any "
		"more\n");
	container_unref(unnamed);
}

static void of_many_most_are_only_counted(void **state)
{
	enum { MANY = 100 };
	struct sampled_container *in[MANY];
	char id[CONTAINER_ID_BYTES];
	size_t lines = 0;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(id, sizeof(id), "%064d", i);
		struct container *one = make_container(id, "");
		in[i] = container_journal_enter(&test.journal, one, true, &test.process);
		container_unref(one);
	}
	pass_time(MOMENT);
	_cleanup_free_ char *texts = told();
	for (const char *at = texts; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 32);
	container_journal_rest(&test.journal);
	assert_told("68 more sampled and 0 no longer\n");
	container_journal_rest(&test.journal);
	assert_told("");
	for (int i = 0; i < MANY; i++)
		leave(in[i]);
	pass_time(LONG);
	container_journal_rest(&test.journal);
	assert_told("0 more sampled and 100 no longer\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOURNAL_TEST(the_first_process_of_a_container_is_told_and_no_other),
		JOURNAL_TEST(the_process_with_pid_1_is_told_as_what_it_has_become),
		JOURNAL_TEST(a_maker_that_has_gone_is_not_told_where_no_pid_is_known),
		JOURNAL_TEST(a_process_that_is_not_the_first_of_its_container_is_not_called_so),
		JOURNAL_TEST(how_long_the_process_has_been_there_is_told),
		JOURNAL_TEST(the_end_is_told_when_no_process_was_there_for_a_while),
		JOURNAL_TEST(a_process_that_lives_on_is_not_chosen_any_more),
		JOURNAL_TEST(one_process_after_the_other_is_no_end),
		JOURNAL_TEST(the_begin_waits_for_the_name),
		JOURNAL_TEST(what_ended_before_it_had_a_name_has_both),
		JOURNAL_TEST(of_many_most_are_only_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
