// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "proc/proc.h"
#include "symbol/perfmap.h"

static pid_t child_that_waits(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return pid;
}

static void end_child(pid_t pid, const char *path)
{
	unlink(path);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static struct perfmap_found opened_map(pid_t pid)
{
	struct perfmap_process process = {.pid = pid, .id = 1};
	struct perfmap_found found = {0};
	struct proc_stat stat;

	assert_int_equal(proc_stat(pid, &stat), 0);
	process.start_ticks = stat.start_ticks;
	_cleanup_close_ int fd = perfmap_open(&process, &found);
	assert_true(fd >= 0);
	return found;
}

/* In each tick at another moment: file systems' clock lags by up to two of them. */
static void a_map_that_is_made_at_once_is_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		pid_t pid = child_that_waits();
		char path[64];

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
		unlink(path);
		make_file(path);
		assert_false(opened_map(pid).is_older);
		end_child(pid, path);
		usleep(10700);
	}
}

static void a_map_that_was_there_before_is_older(void **state)
{
	char before[] = "/tmp/perf-before-XXXXXX", path[64];
	int fd = mkstemp(before);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	usleep(300000);
	pid_t pid = child_that_waits();
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	assert_int_equal(rename(before, path), 0);
	assert_true(opened_map(pid).is_older);
	end_child(pid, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_that_is_made_at_once_is_its_own),
		cmocka_unit_test(a_map_that_was_there_before_is_older),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
