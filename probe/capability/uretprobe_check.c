// SPDX-License-Identifier: GPL-2.0-or-later
#include "capability/uretprobe_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "capability/self_offset.h"

#define TYPE_FILE "/sys/bus/event_source/devices/uprobe/type"
#define AT_RETURN 1 /* …/format/retprobe: config:0 */

/* The function with a return probe, which the child calls. */
__attribute__((noinline, used)) static int probed(void)
{
	__asm__ volatile("");
	return 0;
}

/* Opens a perf event at the returns of probed(). Returns its descriptor, or a negative errno. */
static int attach_uretprobe(void)
{
	_cleanup_buf_ struct buf type = BUF_INIT(32);
	uint64_t offset;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = AT_RETURN,
		.config1 = (uintptr_t) "/proc/self/exe",
		.sample_period = 1,
	};
	int r = file_read(AT_FDCWD, TYPE_FILE, &type), fd = -1;

	buf_char(&type, '\0');
	if (r < 0 || buf_error(&type))
		return r < 0 ? r : buf_error(&type);
	r = self_offset((uintptr_t)probed, &offset);
	if (r < 0)
		return r;
	attr.type = (uint32_t)strtoul(type.data, NULL, 10);
	attr.config2 = offset;
	/* An event of all processes has to be of one CPU: take the first that is online. */
	for (long cpu = 0; fd < 0 && cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				  PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno != ENODEV)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* Runs in the child, with system calls only: another thread may have held a lock at the fork. */
static void run_child(long forbidden)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)forbidden, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) {
		probed();
		syscall(SYS_getppid);
		_exit(0);
	}
	_exit(1);
}

int uretprobe_check_try(long forbidden)
{
	int status = 0;
	_cleanup_close_ int event = attach_uretprobe();

	if (event < 0)
		return event;
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL); /* no SIGCHLD */
	if (pid == 0)
		run_child(forbidden);
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, __WALL) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if (WIFSIGNALED(status))
		return 0;
	return WEXITSTATUS(status) == 0 ? 1 : -ENOTSUP;
}

int uretprobes_are_safe(void)
{
#if defined(__x86_64__)
	static int known = -EAGAIN;

	if (known == -EAGAIN)
		known = uretprobe_check_try(SANDBOX_URETPROBE);
	return known;
#else
	return 1;
#endif
}
