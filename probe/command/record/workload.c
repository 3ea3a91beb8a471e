// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "command/command.h"
#include "command/record/inherited.h"

struct pipes {
	int go[2], exec[2];
};

static void pipes_done(struct pipes *pipes)
{
	for (int i = 0; i < 2; i++) {
		cleanup_close(&pipes->go[i]);
		cleanup_close(&pipes->exec[i]);
	}
}

/* Runs in the child: waits for the byte, then execs. If the parent ends or closes its descriptor
 * first, the child exits. */
static _Noreturn void become_command(char *const *argv, const struct pipes *pipes, bool to_stderr,
				     const struct sigaction *child_action)
{
	char go;

	close(pipes->go[1]); /* read() sees the end when the parent closes its descriptor */
	if (read(pipes->go[0], &go, 1) != 1)
		_exit(EXIT_FAILED);
	inherited_restore();
	sigaction(SIGCHLD, child_action, NULL);
	if (!to_stderr || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		execvp(argv[0], argv);
	int error = errno;
	_exit(write(pipes->exec[1], &error, sizeof(error)) == sizeof(error) ? EXIT_NOT_RUN
									    : EXIT_FAILED);
}

int workload_start(struct workload *workload, char *const *argv, bool to_stderr)
{
	_cleanup_(pipes_done) struct pipes pipes = {{-1, -1}, {-1, -1}};
	struct sigaction child_action, int_action, plain = {.sa_handler = SIG_DFL};

	if (pipe2(pipes.go, O_CLOEXEC) < 0 || pipe2(pipes.exec, O_CLOEXEC) < 0)
		return -errno;
	/* We may have inherited SIGCHLD ignored; then waitpid() would find no child. */
	sigaction(SIGCHLD, &plain, &child_action);
	sigaction(SIGINT, NULL, &int_action);
	workload->ignores_int = int_action.sa_handler == SIG_IGN;
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_command(argv, &pipes, to_stderr, &child_action);
	workload->pid = pid;
	workload->go_fd = TAKE_FD(pipes.go[1]);
	workload->exec_fd = TAKE_FD(pipes.exec[0]);
	workload->pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* always close-on-exec */
	if (workload->pidfd < 0) {
		int r = -errno;

		workload_done(workload);
		return r;
	}
	return 0;
}

int workload_release(struct workload *workload)
{
	ssize_t n = write(workload->go_fd, "", 1);

	close(TAKE_FD(workload->go_fd));
	return n == 1 ? 0 : -ECHILD;
}

int workload_exec_error(const struct workload *workload)
{
	int error = 0;

	return read(workload->exec_fd, &error, sizeof(error)) == sizeof(error) ? error : 0;
}

void workload_wait(struct workload *workload)
{
	if (!workload->pid || workload->ended)
		return;
	while (waitpid(workload->pid, &workload->status, 0) < 0 && errno == EINTR)
		;
	workload->ended = true;
}

void workload_signal(const struct workload *workload, int signal_number)
{
	if (workload->pid && !workload->ended)
		kill(workload->pid, signal_number);
}

void workload_done(struct workload *workload)
{
	if (!workload->pid)
		return;
	if (workload->go_fd >= 0) {
		close(TAKE_FD(workload->go_fd));
		workload_wait(workload);
	}
	if (workload->exec_fd >= 0)
		close(TAKE_FD(workload->exec_fd));
	if (workload->pidfd >= 0)
		close(TAKE_FD(workload->pidfd));
}
