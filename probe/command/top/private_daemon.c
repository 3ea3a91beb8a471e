// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/private_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "command/command.h"

#define GIVEN_FD 3 /* sd_listen_fds(3): the first socket */
#define CONF_FD	 4
#define LOG_MAX	 (1 << 20)

static const char conf[] = "global = { log_level = \"warn\"; probes_init = \"\"; restore = false;"
			   " state_dir = \"\"; };\n"
			   "rest_api_server = { bind_addr = \"\"; socket = \"\"; };\n";

/* Returns a socket that listens in a new folder. (Not in the abstract namespace, whose names
 * containers of this network namespace can use.) */
static int open_socket(struct private_daemon *daemon)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(daemon->folder, sizeof(daemon->folder), "%s/stackprobe-top-XXXXXX",
		 access("/run", W_OK) == 0 ? "/run" : "/tmp");
	if (fd < 0 || !mkdtemp(daemon->folder))
		return -errno;
	snprintf(daemon->socket, sizeof(daemon->socket), "%.48s/api.sock", daemon->folder);
	memcpy(address.sun_path, daemon->socket, sizeof(daemon->socket));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 16) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Gives a descriptor that number, at which the daemon looks for it. */
static bool move_fd(int fd, int number)
{
	return dup2(fd, number) == number && fcntl(number, F_SETFD, 0) == 0;
}

__attribute__((noreturn)) static void run_daemon(int socket_fd, int conf_fd, int log_fd)
{
	char *arguments[] = {"stackprobe daemon", "--config", "/proc/self/fd/4", NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char own_pid[16];

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setsid(); /* Ctrl-C at the terminal is for the parent */
	snprintf(own_pid, sizeof(own_pid), "%d", (int)getpid());
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(log_fd, STDERR_FILENO) < 0 || !move_fd(socket_fd, GIVEN_FD) ||
	    !move_fd(conf_fd, CONF_FD) || setenv("LISTEN_PID", own_pid, 1) < 0 ||
	    setenv("LISTEN_FDS", "1", 1) < 0)
		_exit(EXIT_FAILED);
	optind = 1;
	exit(daemon_command(3, arguments));
}

int private_daemon_start(struct private_daemon *daemon, struct why *why)
{
	/* Descriptors above those that the child's get, so that none is overwritten. */
	_cleanup_close_ int listening = open_socket(daemon);
	_cleanup_close_ int socket_fd = fcntl(listening, F_DUPFD_CLOEXEC, 16);
	_cleanup_close_ int conf_made = memfd_create("conf", MFD_CLOEXEC);
	_cleanup_close_ int conf_fd = fcntl(conf_made, F_DUPFD_CLOEXEC, 16);
	_cleanup_close_ int log_made = memfd_create("log", MFD_CLOEXEC);
	_cleanup_close_ int log_fd = fcntl(log_made, F_DUPFD_CLOEXEC, 16);

	why_set(why, "a daemon of its own can't be started");
	if (socket_fd < 0 || log_fd < 0 || conf_fd < 0 ||
	    file_write_all(conf_fd, conf, strlen(conf)) < 0 || lseek(conf_fd, 0, SEEK_SET) < 0 ||
	    fcntl(log_fd, F_SETFL, O_APPEND) < 0)
		return -EIO;
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		run_daemon(socket_fd, conf_fd, log_fd);
	daemon->pid = pid;
	daemon->log_fd = TAKE_FD(log_fd);
	return 0;
}

void private_daemon_explain(const struct private_daemon *daemon, struct why *why)
{
	_cleanup_buf_ struct buf log = BUF_INIT(LOG_MAX);

	if (!daemon->pid || lseek(daemon->log_fd, 0, SEEK_SET) < 0 ||
	    file_read_fd(daemon->log_fd, &log) < 0)
		return;
	while (log.len && log.data[log.len - 1] == '\n')
		log.len--;
	buf_char(&log, '\0');
	if (buf_error(&log) || log.len < 2)
		return;
	const char *line = strrchr(log.data, '\n');
	why_set(why, "%s", line ? line + 1 : log.data);
}

void private_daemon_stop(struct private_daemon *daemon)
{
	if (daemon->folder[0]) {
		unlink(daemon->socket);
		rmdir(daemon->folder);
	}
	if (!daemon->pid)
		return;
	kill(daemon->pid, SIGTERM);
	while (waitpid(daemon->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(daemon->log_fd);
	daemon->pid = 0;
}
