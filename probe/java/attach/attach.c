// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proc/capset.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "jvm_agent/format.h"
#include "java/attach/attach_state.h"

#define FIRST_FD    3
#define FDS	    6 /* the answer's socket, pidfd, root, cwd, data folder, folder around it */
#define GRACE_MS    2000
#define NS_PER_MS   1000000ULL
#define MESSAGE_FDS 2

/* ---- in the child ---- */

/* Closes all files but `fds`, which get the numbers from FIRST_FD on, in this order. */
static bool keep_files(int fds[FDS])
{
	int high[FDS];

	for (int i = 0; i < FDS; i++) {
		high[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FD + FDS);
		if (fds[i] >= 0 && high[i] < 0)
			return false;
	}
	for (int i = 0; i < FDS; i++) {
		if (high[i] < 0) {
			close(FIRST_FD + i);
			fds[i] = -1;
		} else {
			if (dup3(high[i], FIRST_FD + i, O_CLOEXEC) < 0)
				return false;
			fds[i] = FIRST_FD + i;
		}
	}
	return syscall(SYS_close_range, FIRST_FD + FDS, ~0U, 0) == 0;
}

/* Takes the target's user and group, by direct system calls: libc's functions would wait for other
 * threads. */
static bool become_target(const struct attach_process *process)
{
	/* If we aren't root we can't change the user; then only our own processes can be asked. */
	if (geteuid() != 0 && geteuid() != process->uid)
		return false;
	if (geteuid() == 0 &&
	    (syscall(SYS_setgroups, 0, NULL) < 0 ||
	     syscall(SYS_setresgid, process->gid, process->gid, process->gid) < 0 ||
	     syscall(SYS_setresuid, process->uid, process->uid, process->uid) < 0))
		return false;
	/* Drop all capabilities: root in a container has fewer than we do, and another user may
	 * have some. The change of user may have made us dumpable, so that the target could look
	 * into us. */
	return capset_clear() == 0 && prctl(PR_SET_DUMPABLE, 0) == 0;
}

/* Makes sure that the child ends, even if it hangs, and that the target can't see the daemon's
 * memory in it. */
static void bind_child(uint32_t limit_ms)
{
	uint32_t ms = limit_ms + GRACE_MS;
	struct itimerval timer = {.it_value = {ms / 1000, ms % 1000 * 1000L}};
	sigset_t alarm_only;

	setsid(); /* no signals from a terminal */
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGALRM, SIG_DFL);
	sigfillset(&alarm_only);
	sigdelset(&alarm_only, SIGALRM);
	sigprocmask(SIG_SETMASK, &alarm_only, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void start_options(const struct attach_dialogue *mine, char options[3 * ATTACH_NAME_BYTES])
{
	char folder[ATTACH_NAME_BYTES];

	attach_name(options, "start,", mine->order.bytes_max);
	attach_name(folder, ",/tmp/java-data-", (uint64_t)mine->process.inner_pid);
	memcpy(options + strlen(options), folder, strlen(folder) + 1);
}

static void do_start(struct attach_dialogue *mine)
{
	char options[3 * ATTACH_NAME_BYTES];

	start_options(mine, options);
	if (!attach_open_tmp(mine) || !attach_make_folder(mine))
		return;
	if (attach_give_agent(mine, options))
		return;
	/* Another reader's file stays. */
	if (flock(mine->folder_fd, LOCK_EX | LOCK_NB) == 0)
		attach_remove_folder(mine);
}

/* Removes the file and tells the agent to stop. Removing would be enough: the agent sees it with
 * its next record, also if the VM doesn't answer now. */
static void do_stop(struct attach_dialogue *mine)
{
	char options[ATTACH_NAME_BYTES];

	if (flock(mine->folder_fd, LOCK_EX | LOCK_NB) < 0)
		return;
	unlinkat(mine->folder_fd, JAVA_SYMBOLS_NAME, 0);
	attach_name(options, "stop,/tmp/java-data-", (uint64_t)mine->process.inner_pid);
	attach_load(mine, options);
	attach_remove_folder(mine);
}

static bool is_start(enum attach_task task)
{
	return task == ATTACH_START || task == ATTACH_JFR_START;
}

static bool send_answer(const struct attach_dialogue *mine, int fd)
{
	bool with_fds = is_start(mine->order.task) && mine->answer.result == ATTACH_DONE;
	struct iovec data = {(void *)&mine->answer, sizeof(mine->answer)};
	int fds[MESSAGE_FDS] = {mine->folder_fd, mine->tmp_fd};
	union {
		char bytes[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr head;
	} control = {0};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	if (with_fds) {
		control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(fds)),
						.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
}

static void run_child(struct attach_dialogue *mine, int fds[FDS])
{
	bind_child(mine->order.limit_ms);
	if (!keep_files(fds) || !become_target(&mine->process)) {
		mine->answer.result = ATTACH_SYSTEM;
		mine->answer.error = errno ? errno : EPERM;
		send_answer(mine, fds[0]);
		return;
	}
	mine->process.pidfd = fds[1];
	mine->process.root_fd = fds[2];
	mine->process.cwd_fd = fds[3];
	mine->folder_fd = fds[4];
	mine->tmp_fd = fds[5];
	if (mine->order.task == ATTACH_START)
		do_start(mine);
	else if (mine->order.task == ATTACH_STOP)
		do_stop(mine);
	else if (attach_is_jfr(mine->order.task))
		attach_do_jfr(mine);
	else if (flock(mine->folder_fd, LOCK_EX | LOCK_NB) == 0)
		attach_remove_folder(mine);
	/* If the answer can't be sent, the daemon has ended: then end what was started. */
	if (send_answer(mine, fds[0]) || !is_start(mine->order.task) ||
	    mine->answer.result != ATTACH_DONE)
		return;
	if (mine->order.task == ATTACH_START) {
		do_stop(mine);
	} else {
		mine->order.task = ATTACH_JFR_STOP;
		attach_do_jfr(mine);
	}
}

/* ---- in the daemon ---- */

int attach_begin(struct attach *attach, const struct attach_process *process,
		 const struct attach_order *order)
{
	struct attach_dialogue dialogue = {
		.process = *process,
		.order = *order,
		.deadline_ns = clock_ns(CLOCK_MONOTONIC) + order->limit_ms * NS_PER_MS,
		.tmp_fd = -1,
		.folder_fd = -1,
		.answer = {.folder_fd = -1, .tmp_fd = -1},
	};
	bool start = is_start(order->task);
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	int fds[FDS] = {ends[1],
			process->pidfd,
			process->root_fd,
			process->cwd_fd,
			start ? -1 : order->folder_fd,
			start ? -1 : order->tmp_fd};
	pid_t child = fork();
	if (child == 0) {
		run_child(&dialogue, fds);
		_exit(0);
	}
	int error = errno;
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return -error;
	}
	*attach = (struct attach){.child = child, .fd = ends[0]};
	return 0;
}

/* Takes the answer's descriptors; closes them if the answer isn't whole or their number is wrong.
 */
static void take_fds(struct msghdr *message, bool whole, struct attach_answer *answer)
{
	int fds[MESSAGE_FDS];
	struct cmsghdr *head = CMSG_FIRSTHDR(message);

	answer->folder_fd = answer->tmp_fd = -1;
	if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len < CMSG_LEN(0))
		return;
	size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(*fds);
	if (count > MESSAGE_FDS)
		count = MESSAGE_FDS; /* there was no room for more */
	memcpy(fds, CMSG_DATA(head), count * sizeof(*fds));
	if (whole && count == MESSAGE_FDS) {
		answer->folder_fd = fds[0];
		answer->tmp_fd = fds[1];
		return;
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

void attach_finish(struct attach *attach, struct attach_answer *answer)
{
	struct iovec data = {answer, sizeof(*answer)};
	union {
		char bytes[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
		struct cmsghdr head;
	} control = {0};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(attach->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n >= 0)
		take_fds(&message, n == sizeof(*answer), answer);
	if (n == sizeof(*answer)) {
		answer->text[ATTACH_TEXT_BYTES - 1] = '\0';
	} else {
		*answer = (struct attach_answer){
			.result = ATTACH_SILENT, .folder_fd = -1, .tmp_fd = -1};
	}
	close(attach->fd);
	attach->fd = -1;
}

/* Kills the child. Without CAP_KILL we can't kill a child with another user: its alarm ends that
 * child (bind_child()), unless that user stops it. */
void attach_kill(struct attach *attach)
{
	if (attach->child)
		kill(attach->child, SIGKILL);
}

bool attach_bury(struct attach *attach)
{
	if (!attach->child)
		return true;
	pid_t r = waitpid(attach->child, NULL, WNOHANG);
	if (r == 0)
		return false;
	attach->child = 0;
	return true;
}
