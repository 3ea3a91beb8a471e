// SPDX-License-Identifier: GPL-2.0-or-later
/* Real processes of uid 65534, in the states that ptrace(2) tells apart. */
#include "unit/lib/folder.h"

#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "proc/permission.h"

#define NOBODY 65534
#define GROUP  54321

struct child {
	pid_t pid;
};

static void child_done(struct child *child)
{
	if (child->pid <= 0)
		return;
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
}
#define _cleanup_child_ _cleanup_(child_done)

static bool become_of_groups(const uid_t uids[3], const gid_t gids[3])
{
	return setgroups(0, NULL) == 0 && setresgid(gids[0], gids[1], gids[2]) == 0 &&
	       setresuid(uids[0], uids[1], uids[2]) == 0;
}

static bool become(uid_t real, uid_t effective, uid_t saved)
{
	const uid_t uids[] = {real, effective, saved};

	return become_of_groups(uids, (const gid_t[]){NOBODY, NOBODY, NOBODY});
}

/* A child that does that and then waits; false: it couldn't. */
static bool child_start(struct child *child, bool (*prepare)(const void *arg), const void *arg)
{
	int pipes[2];
	char done = 0;

	assert_int_equal(pipe(pipes), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		done = prepare(arg);
		if (write(pipes[1], &done, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	ssize_t got = read(pipes[0], &done, 1);
	close(pipes[0]);
	return got == 1 && done;
}

/* An execve() closes the pipe's end, and after it the process is that program. */
static void child_exec(struct child *child, const char *path)
{
	char *const argv[] = {(char *)path, "1000", NULL};
	int pipes[2];
	char byte;

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(fcntl(pipes[1], F_SETFD, FD_CLOEXEC), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		if (become(NOBODY, NOBODY, NOBODY))
			execv(path, argv);
		if (write(pipes[1], "x", 1) != 1)
			_exit(1);
		_exit(1);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 0);
	close(pipes[0]);
}

/* A copy of sleep(1) with that mode, owned by root. */
static void copy_sleep(const struct folder *folder, char path[128], mode_t mode)
{
	static char bytes[1 << 20];
	_cleanup_close_ int from = open("/bin/sleep", O_RDONLY | O_CLOEXEC);
	ssize_t len = read(from, bytes, sizeof(bytes));

	assert_true(len > 0 && len < (ssize_t)sizeof(bytes));
	assert_int_equal(fchmod(folder->fd, 0755), 0);
	folder_put(folder, "sleep", bytes, (size_t)len);
	snprintf(path, 128, "%s/sleep", folder->path);
	assert_int_equal(chmod(path, mode), 0);
}

static bool be_nobody(const void *arg)
{
	(void)arg;
	return become(NOBODY, NOBODY, NOBODY) && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool be_root(const void *arg)
{
	(void)arg;
	return true;
}

static bool be_not_dumpable(const void *arg)
{
	return be_nobody(arg) && prctl(PR_SET_DUMPABLE, 0) == 0;
}

/* What a daemon does that gives up its rights: it isn't dumpable from then on. */
static bool be_nobody_that_was_root(const void *arg)
{
	(void)arg;
	return become(NOBODY, NOBODY, NOBODY);
}

static bool be_with_one_other_id(const void *arg)
{
	const uid_t *ids = arg;

	return become(ids[0], ids[1], ids[2]) && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool be_of_groups(const void *arg)
{
	return become_of_groups((const uid_t[]){NOBODY, NOBODY, NOBODY}, arg) &&
	       prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool be_with_a_capability(const void *arg)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{.permitted = 1u << CAP_NET_BIND_SERVICE}};

	(void)arg;
	return prctl(PR_SET_KEEPCAPS, 1) == 0 && become(NOBODY, NOBODY, NOBODY) &&
	       syscall(SYS_capset, &header, data) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool be_in_a_namespace(const void *arg)
{
	return be_nobody(arg) && unshare(CLONE_NEWUSER) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static void assert_may(pid_t pid, uid_t uid, int result)
{
	const struct viewer viewer = {uid, NOBODY};

	assert_int_equal(permission_to_look(pid, &viewer), result);
}

static int needs_root(void **state)
{
	(void)state;
	if (geteuid() != 0)
		print_message("needs root\n");
	return 0;
}

#define NEEDS_ROOT()                                                                               \
	do {                                                                                       \
		if (geteuid() != 0)                                                                \
			skip();                                                                    \
	} while (0)

static void a_process_of_the_users_own_may_be_looked_at(void **state)
{
	_cleanup_child_ struct child child = {0};

	(void)state;
	NEEDS_ROOT();
	assert_true(child_start(&child, be_nobody, NULL));
	assert_may(child.pid, NOBODY, 0);
	assert_may(child.pid, NOBODY - 1, -EACCES);
	assert_may(child.pid, 0, -EACCES);
}

static void another_users_may_not(void **state)
{
	_cleanup_child_ struct child child = {0};

	(void)state;
	NEEDS_ROOT();
	assert_true(child_start(&child, be_root, NULL));
	assert_may(child.pid, NOBODY, -EACCES);
	assert_may(1, NOBODY, -EACCES);
	assert_may(getpid(), NOBODY, -EACCES);
}

static void one_that_is_not_dumpable_may_not(void **state)
{
	_cleanup_child_ struct child one = {0}, other = {0};

	(void)state;
	NEEDS_ROOT();
	assert_true(child_start(&one, be_not_dumpable, NULL));
	assert_may(one.pid, NOBODY, -EACCES);
	assert_true(child_start(&other, be_nobody_that_was_root, NULL));
	assert_may(other.pid, NOBODY, -EACCES);
}

static void each_of_its_ids_has_to_be_the_users(void **state)
{
	static const uid_t rows[][3] = {
		{0, NOBODY, NOBODY}, {NOBODY, 0, NOBODY}, {NOBODY, NOBODY, 0},
		{0, 0, NOBODY},	     {NOBODY, 0, 0},
	};

	(void)state;
	NEEDS_ROOT();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_child_ struct child child = {0};

		assert_true(child_start(&child, be_with_one_other_id, rows[i]));
		assert_may(child.pid, NOBODY, -EACCES);
		assert_may(child.pid, 0, -EACCES);
	}
}

/* A set-gid program may have become it; no exec has. */
static void each_of_its_group_ids_has_to_be_the_users(void **state)
{
	static const gid_t rows[][3] = {
		{GROUP, NOBODY, NOBODY}, {NOBODY, GROUP, NOBODY}, {NOBODY, NOBODY, GROUP},
		{GROUP, GROUP, NOBODY},	 {NOBODY, GROUP, GROUP},
	};
	static const gid_t other[] = {GROUP, GROUP, GROUP};
	const struct viewer any = {NOBODY, GID_UNKNOWN}, same = {NOBODY, GROUP};

	(void)state;
	NEEDS_ROOT();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_child_ struct child child = {0};

		assert_true(child_start(&child, be_of_groups, rows[i]));
		assert_may(child.pid, NOBODY, -EACCES);
		assert_int_equal(permission_to_look(child.pid, &any), -EACCES);
		assert_int_equal(permission_to_look(child.pid, &same), -EACCES);
	}
	_cleanup_child_ struct child child = {0};
	assert_true(child_start(&child, be_of_groups, other));
	assert_may(child.pid, NOBODY, -EACCES);
	assert_int_equal(permission_to_look(child.pid, &any), 0);
	assert_int_equal(permission_to_look(child.pid, &same), 0);
}

static void one_with_a_capability_may_not(void **state)
{
	_cleanup_child_ struct child child = {0};

	(void)state;
	NEEDS_ROOT();
	if (!child_start(&child, be_with_a_capability, NULL))
		skip();
	assert_may(child.pid, NOBODY, -EACCES);
}

static void one_of_another_user_namespace_may_not(void **state)
{
	_cleanup_child_ struct child child = {0};

	(void)state;
	NEEDS_ROOT();
	if (!child_start(&child, be_in_a_namespace, NULL)) {
		print_message("no user namespaces here\n");
		skip();
	}
	assert_may(child.pid, NOBODY, -EACCES);
}

static void an_ordinary_program_may_and_a_set_uid_one_may_not(void **state)
{
	static const struct {
		mode_t mode;
		int result;
	} rows[] = {
		{0755, 0},
		{04755, -EACCES},
		{02755, -EACCES},
		{0711, -EACCES}, /* its user may not read it: it isn't dumpable */
	};

	(void)state;
	NEEDS_ROOT();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_folder_ struct folder folder;
		_cleanup_child_ struct child child = {0};
		char path[128];

		folder_make(&folder);
		copy_sleep(&folder, path, rows[i].mode);
		child_exec(&child, path);
		assert_may(child.pid, NOBODY, rows[i].result);
	}
}

static void a_process_that_is_not_there_is_told_apart(void **state)
{
	_cleanup_child_ struct child child = {0};
	pid_t pid;

	(void)state;
	NEEDS_ROOT();
	assert_true(child_start(&child, be_nobody, NULL));
	pid = child.pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	child.pid = 0;
	assert_may(pid, NOBODY, -ESRCH);
	assert_may(4194304, NOBODY, -ESRCH);
	assert_may(-1, NOBODY, -ESRCH);
}

/* `Name:` comes before `Uid:` and is the process's own choice. */
static bool be_named_like_a_line(const void *arg)
{
	return prctl(PR_SET_NAME, "x\nUid:\t65534\t6") == 0 && be_root(arg);
}

static void a_name_does_not_make_up_its_ids(void **state)
{
	_cleanup_child_ struct child child = {0};

	(void)state;
	NEEDS_ROOT();
	assert_true(child_start(&child, be_named_like_a_line, NULL));
	assert_may(child.pid, NOBODY, -EACCES);
}

static void a_zombie_has_nothing_to_be_looked_at(void **state)
{
	const struct viewer viewer = {NOBODY, NOBODY};
	_cleanup_child_ struct child child = {0};
	siginfo_t info;

	(void)state;
	NEEDS_ROOT();
	assert_true(child_start(&child, be_nobody, NULL));
	kill(child.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(permission_to_look(child.pid, &viewer) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_of_the_users_own_may_be_looked_at),
		cmocka_unit_test(another_users_may_not),
		cmocka_unit_test(one_that_is_not_dumpable_may_not),
		cmocka_unit_test(each_of_its_ids_has_to_be_the_users),
		cmocka_unit_test(each_of_its_group_ids_has_to_be_the_users),
		cmocka_unit_test(one_with_a_capability_may_not),
		cmocka_unit_test(one_of_another_user_namespace_may_not),
		cmocka_unit_test(an_ordinary_program_may_and_a_set_uid_one_may_not),
		cmocka_unit_test(a_process_that_is_not_there_is_told_apart),
		cmocka_unit_test(a_name_does_not_make_up_its_ids),
		cmocka_unit_test(a_zombie_has_nothing_to_be_looked_at),
	};
	return cmocka_run_group_tests(tests, needs_root, NULL);
}
