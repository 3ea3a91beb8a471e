// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether there is an event that somebody named: on this host, in this kernel. */
#include "unit/lib/unit.h"

#include <limits.h>

#include "event/event_check.h"

#define PROGRAM "build/test/programs/points"
#define BTF	"/sys/kernel/btf/vmlinux"

static struct why message, detail;

static int check(const char *text)
{
	struct event_text event;

	if (event_text_read(&event, text, &message) < 0)
		fail_msg("%s: %s", text, message.text);
	message.text[0] = detail.text[0] = '\0';
	return event_check(&event, &message, &detail);
}

/* Checks an event of the program: the text is that before the path, and that behind it. */
static int check_in_program(const char *before, const char *behind)
{
	char path[PATH_MAX], text[PATH_MAX + 80];

	if (!realpath(PROGRAM, path))
		fail_msg(PROGRAM " is not built");
	snprintf(text, sizeof(text), "%s%s%s", before, path, behind);
	return check(text);
}

static void what_the_hosts_file_has_is_there(void **state)
{
	(void)state;
	assert_int_equal(check_in_program("u:", ":event_tick"), 0);
	assert_int_equal(check_in_program("usdt:", ":points:begun"), 0);
	assert_int_equal(check_in_program("usdt:", ":points:gated"), 0);
}

static void what_the_hosts_file_lacks_is_said_with_what_may_be_meant(void **state)
{
	(void)state;
	assert_int_equal(check_in_program("u:", ":event_tuck"), -ENOENT);
	assert_has(message.text, "/points has no such function");
	assert_has(detail.text, "/points has no function event_tuck. Is it event_tick?");
	assert_int_equal(check_in_program("usdt:", ":points:began"), -ENOENT);
	assert_has(message.text, "/points has no such static probe");
	assert_has(detail.text, "has no static probe points:began. Is it points:begun?");
}

static void a_file_that_the_host_lacks_may_be_in_a_container(void **state)
{
	(void)state;
	assert_int_equal(check("u:/nowhere/libx.so:read"), 0);
	assert_int_equal(check("usdt:/nowhere/libx.so:x:read"), 0);
	assert_int_equal(check("u:/tmp:read"), 0);
	assert_int_equal(check("u:/dev/null:read"), 0);
}

static void a_file_that_has_no_code_has_no_function(void **state)
{
	(void)state;
	assert_int_equal(check("u:/etc/passwd:read"), -ENOENT);
	assert_has(detail.text, "/etc/passwd is no 64-bit ELF file of this machine");
}

static void a_tracepoint_is_one_of_the_kernels_types(void **state)
{
	(void)state;
	if (access(BTF, R_OK) < 0)
		skip();
	assert_int_equal(check("t:sched:sched_wakeup"), 0);
	assert_int_equal(check("t:sched:sched_wakeupp"), -ENOENT);
	assert_string_equal(message.text, "the kernel has no tracepoint sched_wakeupp");
	assert_has(detail.text, "the kernel has no tracepoint sched_wakeupp. Is it sched_wak");
	assert_int_equal(check("t:sched:sched_wake"), -ENOENT);
	assert_int_equal(check("t:sched:zzzzzz"), -ENOENT);
	assert_string_equal(detail.text, "the kernel has no tracepoint zzzzzz.");
}

static void of_a_system_call_it_is_said_what_there_is_instead(void **state)
{
	(void)state;
	if (access(BTF, R_OK) < 0)
		skip();
	assert_int_equal(check("t:syscalls:sys_enter_openat"), -ENOENT);
	assert_has(message.text, "the kernel has no tracepoint sys_enter_openat");
	assert_has(detail.text, "t:raw_syscalls:sys_enter");
}

/* Names are there for everybody, addresses or not. */
static void a_function_of_the_kernel_is_one_of_its_symbols(void **state)
{
	(void)state;
	if (access("/proc/kallsyms", R_OK) < 0)
		skip();
	assert_int_equal(check("k:vfs_read"), 0);
	assert_int_equal(check("k:vfs_reed"), -ENOENT);
	assert_string_equal(message.text, "the kernel has no function vfs_reed");
	assert_has(detail.text, "the kernel has no function vfs_reed. Is it ");
	assert_has(detail.text, "vfs_read");
	assert_int_equal(check("k:vfs_rea"), -ENOENT);
	assert_int_equal(check("k:jiffies"), -ENOENT); /* a variable */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_hosts_file_has_is_there),
		cmocka_unit_test(what_the_hosts_file_lacks_is_said_with_what_may_be_meant),
		cmocka_unit_test(a_file_that_the_host_lacks_may_be_in_a_container),
		cmocka_unit_test(a_file_that_has_no_code_has_no_function),
		cmocka_unit_test(a_tracepoint_is_one_of_the_kernels_types),
		cmocka_unit_test(of_a_system_call_it_is_said_what_there_is_instead),
		cmocka_unit_test(a_function_of_the_kernel_is_one_of_its_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
