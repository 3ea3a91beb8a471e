// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/open_fds.h"

#include <sys/socket.h>

#include "java/attach/attach_state.h"
#include "proc/proc.h"

static void a_request_is_its_version_and_four_strings(void **state)
{
	static const char expected[] = "1\0load\0/tmp/a.so\0true\0start,1,/tmp";
	static const char *const words[ATTACH_WORDS] = {"load", "/tmp/a.so", "true",
							"start,1,/tmp"};
	char request[64];

	(void)state;
	assert_int_equal(attach_request(request, sizeof(request), words), sizeof(expected));
	assert_memory_equal(request, expected, sizeof(expected));
	assert_int_equal(attach_request(request, 20, words), 0);
}

static void answers_of_each_release_are_understood(void **state)
{
	static const struct {
		const char *reply;
		enum attach_result result;
		const char *text;
	} cases[] = {
		{"0\n0\n", ATTACH_DONE, ""},		  /* JDK 8 */
		{"0\nreturn code: 0\n", ATTACH_DONE, ""}, /* 9 and later */
		{"0\nreturn code: 0", ATTACH_DONE, ""},
		{"0\nreturn code: 3\n", ATTACH_NOT_NOW, ""},
		{"0\nreturn code: 2\n", ATTACH_REFUSED, "return code: 2"},
		{"0\nreturn code: -1\n", ATTACH_REFUSED, "return code: -1"},
		{"-1\n", ATTACH_REFUSED, ""},
		{"0\n/tmp/a.so was not loaded.\n/tmp/a.so: no \x1b[31m such\tfile\n",
		 ATTACH_REFUSED, "/tmp/a.so was not loaded. /tmp/a.so: no ?[31m such file"},
		{"0\nDynamic agent loading is only permitted in the live phase\n", ATTACH_NOT_NOW,
		 ""},
		{"101\nBad request", ATTACH_REFUSED, "Bad request"},
		{"0\nreturn code: 00x\n", ATTACH_REFUSED, "return code: 00x"},
		{"0\n", ATTACH_REFUSED, ""},
		{"nonsense", ATTACH_REFUSED, "nonsense"},
		{"0\n99999999999999999999\n", ATTACH_REFUSED, "99999999999999999999"},
		{"", ATTACH_SILENT, ""},
	};
	char text[ATTACH_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum attach_result result =
			attach_judge(cases[i].reply, strlen(cases[i].reply), text);

		if (result != cases[i].result)
			fail_msg("\"%s\": %s", cases[i].reply, attach_result_name(result));
		if (result == ATTACH_REFUSED)
			assert_string_equal(text, cases[i].text);
	}
}

static void a_long_answer_is_cut(void **state)
{
	char reply[4096], text[ATTACH_TEXT_BYTES];

	(void)state;
	memset(reply, 'x', sizeof(reply));
	assert_int_equal(attach_judge(reply, sizeof(reply), text), ATTACH_REFUSED);
	assert_int_equal(strlen(text), ATTACH_TEXT_BYTES - 1);
}

static void a_status_tells_user_pid_and_signals(void **state)
{
	static const char text[] = "Name:\tjava\nState:\tS (sleeping)\nUid:\t1\t1000\t3\t4\n"
				   "Gid:\t5\t1001\t6\t7\nNSpid:\t4242\t17\t3\n"
				   "SigCgt:\t2000000181005ccf\n";
	struct attach_status status;

	(void)state;
	assert_true(attach_parse_status(text, &status));
	assert_int_equal(status.uid, 1000);
	assert_int_equal(status.gid, 1001);
	assert_int_equal(status.inner_pid, 3);
	assert_true(status.catches_quit);
	assert_false(status.stopped);
	assert_true(attach_parse_status("Name:\tx\nState:\tT (stopped)\nUid:\t0\t0\nGid:\t0\t0\n"
					"NSpid:\t9\nSigCgt:\t0000000000000003\n",
					&status));
	assert_int_equal(status.inner_pid, 9);
	assert_false(status.catches_quit);
	assert_true(status.stopped);
	assert_false(status.set_id);
	assert_true(attach_parse_status("Name:\tx\nState:\tS\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\n"
					"NSpid:\t9\nSigCgt:\t0\n",
					&status));
	assert_true(status.set_id);
	assert_false(attach_parse_status("Name:\tjava\n", &status));
}

static void the_option_that_turns_it_off_is_seen(void **state)
{
	static const char on[] = "java\0-XX:+DisableAttachMechanism\0Main",
			  again[] = "java\0-XX:+DisableAttachMechanism\0"
				    "-XX:-DisableAttachMechanism",
			  other[] = "java\0-Dx=-XX:+DisableAttachMechanism\0",
			  tool[] = "A=b\0JAVA_TOOL_OPTIONS=-Xmx1g -XX:+DisableAttachMechanism\0",
			  not_it[] = "X=-XX:+DisableAttachMechanism\0JAVA_TOOL_OPTIONS=\0";

	(void)state;
	assert_true(attach_is_disabled(on, sizeof(on)));
	assert_false(attach_is_disabled(again, sizeof(again)));
	assert_false(attach_is_disabled(other, sizeof(other)));
	assert_true(attach_is_disabled_by(tool, sizeof(tool)));
	assert_false(attach_is_disabled_by(not_it, sizeof(not_it)));
	assert_false(attach_is_disabled(NULL, 0));
}

static void names_have_their_number(void **state)
{
	char name[ATTACH_NAME_BYTES], again[ATTACH_NAME_BYTES];

	(void)state;
	attach_name(name, ".attach_pid", 0);
	assert_string_equal(name, ".attach_pid0");
	attach_name(name, "java-data-", 4194304);
	assert_string_equal(name, "java-data-4194304");
	attach_agent_name(name, ATTACH_START);
	attach_agent_name(again, ATTACH_START);
	assert_string_equal(name, again);
	assert_has(name, ".so");
}

static void who_is_no_vm_is_left_alone(void **state)
{
	struct attach_process process;
	struct proc_stat stat;

	(void)state;
	assert_int_equal(proc_stat(getpid(), &stat), 0);
	assert_int_equal(attach_look(&process, getpid(), stat.start_ticks), ATTACH_NO_VM);
	attach_process_done(&process);
	assert_int_equal(attach_look(&process, getpid(), stat.start_ticks + 1), ATTACH_GONE);
	attach_process_done(&process);
}

/* ---- what the child answers ---- */

#define FDS_MOST 8

static const struct attach_answer done = {.folder_fd = 70, .tmp_fd = 71, .folder_inode = 5};

static void send_answer(int fd, size_t bytes, size_t fds_count)
{
	char text[sizeof(done) + 8] = "";
	struct iovec data = {text, bytes};
	union {
		char bytes[CMSG_SPACE(FDS_MOST * sizeof(int))];
		struct cmsghdr head;
	} control = {.head = {.cmsg_len = CMSG_LEN(fds_count * sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	memcpy(text, &done, sizeof(done));
	for (size_t i = 0; i < fds_count; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(fd), &fd, sizeof(fd));
	if (fds_count) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(fds_count * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), bytes);
}

/* The answer to so many bytes with so many descriptors; nothing stays open but what is in it. */
static void take(struct attach_answer *answer, size_t bytes, size_t fds_count, bool names_sender)
{
	unsigned before = count_fds();
	const int on = 1;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	if (names_sender)
		assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	struct attach attach = {.fd = ends[0]};
	send_answer(ends[1], bytes, fds_count);
	attach_finish(&attach, answer);
	assert_int_equal(attach.fd, -1);
	close(ends[1]);
	assert_int_equal(answer->folder_fd < 0, answer->tmp_fd < 0);
	assert_int_equal(count_fds(), before + (answer->folder_fd >= 0 ? 2 : 0));
	if (answer->folder_fd >= 0) {
		assert_int_equal(close(answer->folder_fd), 0);
		assert_int_equal(close(answer->tmp_fd), 0);
	}
	assert_int_equal(count_fds(), before);
}

static void a_whole_answer_has_both_descriptors(void **state)
{
	struct attach_answer answer;

	(void)state;
	take(&answer, sizeof(done), 2, false);
	assert_int_equal(answer.result, ATTACH_DONE);
	assert_int_equal(answer.folder_inode, 5);
	assert_true(answer.folder_fd >= 0);
	take(&answer, sizeof(done), 0, false);
	assert_int_equal(answer.result, ATTACH_DONE);
	assert_int_equal(answer.folder_fd, -1); /* not the number in it */
}

static void a_cut_answer_is_none(void **state)
{
	static const size_t sizes[] = {0, 1, sizeof(done) - 1};
	struct attach_answer answer;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (size_t fds = 0; fds <= FDS_MOST; fds++) {
			take(&answer, sizes[i], fds, false);
			assert_int_equal(answer.result, ATTACH_SILENT);
			assert_int_equal(answer.folder_fd, -1);
		}
	}
}

static void in_another_number_none_stays_open(void **state)
{
	struct attach_answer answer;

	(void)state;
	take(&answer, sizeof(done), 1, false);
	assert_int_equal(answer.folder_fd, -1);
	for (size_t fds = 3; fds <= FDS_MOST; fds++) {
		take(&answer, sizeof(done), fds, false);
		take(&answer, sizeof(done) + 8, fds, false);
	}
}

static void beside_other_control_data_there_are_none(void **state)
{
	struct attach_answer answer;

	(void)state;
	for (size_t fds = 0; fds <= FDS_MOST; fds++) {
		take(&answer, sizeof(done), fds, true);
		assert_int_equal(answer.folder_fd, -1);
	}
}

static void who_ended_or_says_nothing_was_silent(void **state)
{
	struct attach_answer answer;
	int ends[2];

	(void)state;
	for (int lives = 0; lives < 2; lives++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		struct attach attach = {.fd = ends[0]};
		if (!lives)
			close(ends[1]);
		attach_finish(&attach, &answer);
		assert_int_equal(answer.result, ATTACH_SILENT);
		assert_int_equal(answer.folder_fd, -1);
		assert_int_equal(answer.tmp_fd, -1);
		if (lives)
			close(ends[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_its_version_and_four_strings),
		cmocka_unit_test(answers_of_each_release_are_understood),
		cmocka_unit_test(a_long_answer_is_cut),
		cmocka_unit_test(a_status_tells_user_pid_and_signals),
		cmocka_unit_test(the_option_that_turns_it_off_is_seen),
		cmocka_unit_test(names_have_their_number),
		cmocka_unit_test(who_is_no_vm_is_left_alone),
		cmocka_unit_test(a_whole_answer_has_both_descriptors),
		cmocka_unit_test(a_cut_answer_is_none),
		cmocka_unit_test(in_another_number_none_stays_open),
		cmocka_unit_test(beside_other_control_data_there_are_none),
		cmocka_unit_test(who_ended_or_says_nothing_was_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
