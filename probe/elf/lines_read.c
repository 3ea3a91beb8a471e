// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "proc/capset.h"
#include "base/cleanup.h"
#include "loop/loop.h"
#include "loop/reaper.h"
#include "line_reader/protocol.h"
#include "elf/lines_state.h"

#define ANSWERS_MAX (32u * 1024 * 1024)
#define PIECE	    65536
#define NOBODY	    65534
/* A reader that we may not kill ends by itself this long after its time limit; and this long we
 * wait for the reader's exec and for its end: its file may hang, or other processes of the user
 * nobody may stop it. */
#define GRACE_MS 500

/* line_reader.S */
extern const char line_reader_image[], line_reader_image_end[];

struct reader_process {
	pid_t pid;
	int question, answers; /* pipes' ends */
};

static void let_go(int *fd)
{
	cleanup_close(fd);
	*fd = -1;
}

/* Moves a descriptor above the numbers at which the reader expects its files. */
static int move_up(int *fd)
{
	int moved = fcntl(*fd, F_DUPFD_CLOEXEC, LINE_READER_ALT + 1);

	if (moved < 0)
		return -errno;
	close(*fd);
	*fd = moved;
	return 0;
}

/* Opens the reader's program as a file without a name. Its mode allows executing but not reading:
 * so the kernel lets nobody look into the reader's process, from its first instruction on, not even
 * other processes of its user. */
static int open_image(void)
{
	size_t bytes = (size_t)(line_reader_image_end - line_reader_image);
	_cleanup_close_ int fd = memfd_create("stackprobe-lines", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (size_t done = 0; done < bytes;) {
		ssize_t n = write(fd, line_reader_image + done, bytes - done);

		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	if (fchmod(fd, 0111) < 0)
		return -errno;
	int r = move_up(&fd);
	return r < 0 ? r : TAKE_FD(fd);
}

/* Descriptors for the reader, all above the numbers at which the reader expects its files. */
struct gift {
	int image, file, alt, in, out; /* alt: -1 if there is none */
};

static void close_gift(struct gift *gift)
{
	cleanup_close(&gift->image);
	cleanup_close(&gift->file);
	cleanup_close(&gift->alt);
	cleanup_close(&gift->in);
	cleanup_close(&gift->out);
}

static int copy_up(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, LINE_READER_ALT + 1);

	return copy < 0 ? -errno : copy;
}

/* Fills *gift; our ends of the pipes become reader->question and reader->answers. */
static int prepare_gift(struct gift *gift, struct reader_process *reader, int fd, int alt_fd)
{
	int question[2], answers[2];

	if (pipe2(question, O_CLOEXEC) < 0)
		return -errno;
	gift->in = question[0];
	reader->question = question[1];
	if (pipe2(answers, O_CLOEXEC) < 0)
		return -errno;
	gift->out = answers[1];
	reader->answers = answers[0];
	int r = move_up(&gift->in);
	if (r == 0)
		r = move_up(&gift->out);
	gift->image = open_image();
	gift->file = copy_up(fd);
	if (alt_fd >= 0)
		gift->alt = copy_up(alt_fd);
	if (r == 0 && gift->image < 0)
		r = gift->image;
	return r == 0 && gift->file < 0 ? gift->file : r;
}

/* ---- in the child of a process with threads: system calls alone ---- */

/* Makes sure that the reader ends, even if it hangs and we may not kill it. */
static void set_alarm(unsigned limit_ms)
{
	unsigned ms = limit_ms + GRACE_MS;
	struct itimerval timer = {.it_value = {ms / 1000, ms % 1000 * 1000L}};
	sigset_t none;

	signal(SIGALRM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Changes the user before the exec: an exec by root would leave the reader the capabilities of the
 * bounding set, which may be empty, so that the reader couldn't change its user any more. */
static bool become_nobody(void)
{
	if (geteuid() == 0 && (syscall(SYS_setgroups, 0, NULL) < 0 ||
			       syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) < 0 ||
			       syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) < 0))
		return false;
	return capset_clear() == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static _Noreturn void run_reader(const struct gift *gift, int error_fd, unsigned limit_ms)
{
	static char *const arguments[] = {"stackprobe-lines", NULL}, *const environment[] = {NULL};

	set_alarm(limit_ms);
	if (dup2(gift->in, STDIN_FILENO) >= 0 && dup2(gift->out, STDOUT_FILENO) >= 0 &&
	    dup2(gift->file, LINE_READER_FILE) >= 0 &&
	    (gift->alt < 0 || dup2(gift->alt, LINE_READER_ALT) >= 0) && become_nobody())
		fexecve(gift->image, arguments, environment);
	int error = errno;
	_exit(write(error_fd, &error, sizeof(error)) < 0 ? 126 : 127);
}

/* ---- in the daemon ---- */

/* Waits until the child has execed. Returns 0 if it has, or has ended before it could tell why not;
 * the errno of the child; -ETIME if neither happened, as the child was stopped. */
static int hear_of_exec(int fd, unsigned limit_ms)
{
	struct pollfd told = {.fd = fd, .events = POLLIN};
	int error = 0;

	if (poll(&told, 1, (int)limit_ms + GRACE_MS) == 0)
		return -ETIME;
	while (read(fd, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	return -error;
}

static int spawn_reader(const struct gift *gift, unsigned limit_ms, pid_t *pid)
{
	int ends[2], r = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (move_up(&ends[1]) < 0) { /* away from the reader's own numbers */
		close(ends[0]);
		close(ends[1]);
		return -EMFILE;
	}
	*pid = fork();
	if (*pid == 0)
		run_reader(gift, ends[1], limit_ms);
	if (*pid < 0)
		r = -errno;
	close(ends[1]);
	if (*pid > 0)
		r = hear_of_exec(ends[0], limit_ms);
	close(ends[0]);
	return r;
}

static int start_reader(struct reader_process *reader, int fd, int alt_fd, unsigned limit_ms)
{
	_cleanup_(close_gift) struct gift gift = {-1, -1, -1, -1, -1};
	int r = prepare_gift(&gift, reader, fd, alt_fd);

	return r < 0 ? r : spawn_reader(&gift, limit_ms, &reader->pid);
}

/* Waits for the child's end; a child that hasn't ended then is left to the reaper. */
static void bury_reader(pid_t pid)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = {.fd = fd, .events = POLLIN};

	if (fd >= 0)
		poll(&ended, 1, GRACE_MS);
	reaper_leave(pid);
	reaper_bury();
}

static void stop_reader(struct reader_process *reader)
{
	let_go(&reader->question);
	let_go(&reader->answers);
	if (reader->pid <= 0)
		return;
	/* The reader has answered, or its time is over. If we may not kill it, its alarm ends it.
	 */
	kill(reader->pid, SIGKILL);
	bury_reader(reader->pid);
}

/* Writes as much of the question as the pipe has room for. -EPIPE: the reader has ended. */
static int write_question(struct reader_process *reader, const struct buf *question, size_t *done)
{
	ssize_t n = write(reader->question, question->data + *done, question->len - *done);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	*done += (size_t)n;
	if (*done == question->len)
		let_go(&reader->question);
	return 0;
}

/* Reads a part of the answers. Returns 0 at their end or if there are too many bytes, -1 on an
 * error, else a positive number. */
static ssize_t read_answers(struct reader_process *reader, struct buf *answers)
{
	char *room = buf_reserve(answers, PIECE);

	if (!room)
		return 0; /* too many answers, or no memory */
	ssize_t n = read(reader->answers, room, PIECE);
	if (n > 0)
		answers->len += (size_t)n;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 1 : n;
}

/* Asks, and reads the answers. Returns true if the reader ended by itself; false if its time is
 * over or it sends too much. */
static bool talk_to_reader(struct reader_process *reader, const struct buf *question,
			   struct buf *answers, unsigned limit_ms)
{
	uint64_t end_ns = loop_now_ns() + limit_ms * NS_PER_MS;
	ssize_t heard = 1;
	size_t done = 0;

	fcntl(reader->question, F_SETFL, O_NONBLOCK);
	fcntl(reader->answers, F_SETFL, O_NONBLOCK);
	while (heard > 0) {
		uint64_t now_ns = loop_now_ns();
		struct pollfd fds[] = {{.fd = reader->answers, .events = POLLIN},
				       {.fd = reader->question, .events = POLLOUT}};

		if (now_ns >= end_ns || poll(fds, 2, (int)((end_ns - now_ns) / NS_PER_MS) + 1) == 0)
			return false;
		if (fds[1].revents && write_question(reader, question, &done) < 0)
			let_go(&reader->question);
		if (fds[0].revents)
			heard = read_answers(reader, answers);
	}
	return heard == 0 && !buf_error(answers);
}

int lines_read(struct lines **ret, int fd, int alt_fd, const uint64_t *addresses, size_t count,
	       unsigned limit_ms, bool *whole)
{
	_cleanup_buf_ struct buf question = BUF_INIT(SIZE_MAX), answers = BUF_INIT(ANSWERS_MAX);
	_cleanup_(stop_reader) struct reader_process reader = {.question = -1, .answers = -1};
	struct line_question head = {.addresses = (uint32_t)count};

	if (!reaper_has_room())
		return -EAGAIN;
	buf_add(&question, &head, sizeof(head));
	buf_add(&question, addresses, count * sizeof(*addresses));
	int r = buf_error(&question);
	if (r == 0)
		r = start_reader(&reader, fd, alt_fd, limit_ms);
	if (r < 0)
		return r;
	*whole = talk_to_reader(&reader, &question, &answers, limit_ms);
	return lines_take(ret, &answers);
}
