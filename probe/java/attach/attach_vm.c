// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The dialogue with the VM, in the child. At SIGQUIT HotSpot looks for the file `.attach_pidN`, and
 * from then on listens on its socket. A request is a version and four strings, each with a NUL. The
 * answer is a number and a line end, then the command's output; then the VM closes the connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "jvm_agent/format.h"
#include "java/attach/attach_state.h"

#define REPLY_BYTES   4096
#define REQUEST_BYTES 512
#define POLL_MS	      20
#define TRIES	      5 /* of giving the agent, beside other readers */
#define STATUS_BYTES  16384
#define NS_PER_MS     1000000ULL

static bool dialogue_fail(struct attach_dialogue *mine, enum attach_result result, int error)
{
	mine->answer.result = result;
	mine->answer.error = error;
	return false;
}

int attach_left_ms(const struct attach_dialogue *mine)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	return now_ns < mine->deadline_ns ? (int)((mine->deadline_ns - now_ns) / NS_PER_MS) : 0;
}

/* ---- the socket ---- */

/* Connects to the VM's socket. Returns the descriptor, or a negative errno: -ENOENT if none listens
 * there; -EACCES if the socket isn't the VM's. */
static int connect_vm(struct attach_dialogue *mine)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[ATTACH_NAME_BYTES], link[ATTACH_NAME_BYTES];
	struct ucred peer = {0};
	socklen_t bytes = sizeof(peer);
	struct stat stat;

	attach_name(name, ".java_pid", (uint64_t)mine->process.inner_pid);
	_cleanup_close_ int place = openat(mine->tmp_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (place < 0)
		return errno == ENOENT ? -ENOENT : -EACCES;
	if (fstat(place, &stat) < 0 || !S_ISSOCK(stat.st_mode) || stat.st_uid != mine->process.uid)
		return -EACCES;
	/* Connect to the very file that was checked. */
	attach_name(link, "/proc/self/fd/", (uint64_t)place);
	memcpy(address.sun_path, link, strlen(link) + 1);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == ECONNREFUSED ? -ENOENT : -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0 ||
	    peer.pid != mine->process.pid)
		return -EACCES;
	return TAKE_FD(fd);
}

/* Returns whether an existing file can be used: left by a killed child of ours, or made by another
 * tool, it is an empty file of the VM's own user. */
static bool is_trigger(const struct attach_dialogue *mine, int folder, const char *name)
{
	struct stat stat;

	return fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(stat.st_mode) &&
	       stat.st_uid == mine->process.uid && stat.st_size == 0 && stat.st_nlink == 1;
}

/* Creates the file, which the VM accepts only from its own user. Returns the folder's descriptor;
 * -1 if it can't be created in either folder. */
static int make_trigger(const struct attach_dialogue *mine, const char *name)
{
	const int folders[] = {mine->process.cwd_fd, mine->tmp_fd};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		int fd = folders[i] < 0
				 ? -1
				 : openat(folders[i], name,
					  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					  0600);
		if (fd >= 0)
			close(fd);
		if (fd >= 0 || (errno == EEXIST && is_trigger(mine, folders[i], name)))
			return folders[i];
	}
	return -1;
}

/* Returns whether the process still catches SIGQUIT: creating the files may have taken time, and
 * the process may run another program by now. Also true if that can't be read. */
static bool catches_quit(const struct attach_dialogue *mine)
{
	char path[ATTACH_NAME_BYTES], text[STATUS_BYTES];
	struct attach_status status;

	attach_name(path, "/proc/", (uint64_t)mine->process.pid);
	memcpy(path + strlen(path), "/status", sizeof("/status"));
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return true;
	text[n] = '\0';
	return !attach_parse_status(text, &status) ||
	       (status.catches_quit && status.uid == mine->process.uid && !status.set_id);
}

/* Wakes the VM and waits for its socket. */
static int wake_vm(struct attach_dialogue *mine)
{
	char name[ATTACH_NAME_BYTES];
	int r = -ENOENT;

	attach_name(name, ".attach_pid", (uint64_t)mine->process.inner_pid);
	int folder = make_trigger(mine, name);
	if (folder < 0)
		return -EEXIST;
	if (!catches_quit(mine))
		r = -ECANCELED;
	else if (syscall(SYS_pidfd_send_signal, mine->process.pidfd, SIGQUIT, NULL, 0) < 0)
		r = -errno;
	while (r == -ENOENT && attach_left_ms(mine) > 0) {
		poll(NULL, 0, POLL_MS);
		r = connect_vm(mine);
	}
	unlinkat(folder, name, 0);
	return r;
}

static int reach_vm(struct attach_dialogue *mine)
{
	int fd = connect_vm(mine);

	/* To stop an agent the VM isn't woken: the agent also stops by itself. */
	if (fd == -ENOENT && mine->order.task != ATTACH_STOP && mine->order.task != ATTACH_JFR_STOP)
		fd = wake_vm(mine);
	if (fd >= 0)
		return fd;
	switch (fd) {
	case -ENOENT:
	case -EAGAIN: /* the socket's queue is full: the VM doesn't accept */
		dialogue_fail(mine, ATTACH_SILENT, 0);
		break;
	case -ESRCH:
		dialogue_fail(mine, ATTACH_GONE, 0);
		break;
	case -ECANCELED:
		dialogue_fail(mine, ATTACH_SIGNALS, 0);
		break;
	case -EACCES:
		dialogue_fail(mine, ATTACH_SOCKET, 0);
		break;
	case -EEXIST:
		dialogue_fail(mine, ATTACH_FILE, EEXIST);
		break;
	default:
		dialogue_fail(mine, ATTACH_SYSTEM, -fd);
	}
	return -1;
}

/* ---- request and answer ---- */

static bool add_word(char *out, size_t room, size_t *len, const char *word)
{
	size_t bytes = strlen(word) + 1;

	if (bytes > room - *len)
		return false;
	memcpy(out + *len, word, bytes);
	*len += bytes;
	return true;
}

size_t attach_request(char *out, size_t room, const char *const words[ATTACH_WORDS])
{
	size_t len = 0;

	if (!add_word(out, room, &len, "1"))
		return 0;
	for (size_t i = 0; i < ATTACH_WORDS; i++) {
		if (!add_word(out, room, &len, words[i] ? words[i] : ""))
			return 0;
	}
	return len;
}

static void keep_text(const char *reply, size_t len, char text[ATTACH_TEXT_BYTES])
{
	size_t kept = 0;

	for (size_t i = 0; i < len && kept < ATTACH_TEXT_BYTES - 1; i++) {
		char c = reply[i] == '\n' || reply[i] == '\t' ? ' ' : reply[i];

		if (c == ' ' && (kept == 0 || text[kept - 1] == ' '))
			continue;
		text[kept++] = (char)(c < ' ' || c > '~' ? '?' : c);
	}
	while (kept && text[kept - 1] == ' ')
		kept--;
	text[kept] = '\0';
}

/* Reads a line that is only a number, and moves *at behind it. */
static bool read_number(const char **at, const char *end, long *number)
{
	const char *text = *at;
	bool negative = text < end && *text == '-';
	long value = 0;

	text += negative;
	if (text >= end || *text < '0' || *text > '9')
		return false;
	for (; text < end && *text >= '0' && *text <= '9' && value < 1000000; text++)
		value = 10 * value + *text - '0';
	while (text < end && *text == '\r')
		text++;
	if (text < end && *text != '\n')
		return false;
	*at = text + (text < end);
	*number = negative ? -value : value;
	return true;
}

/* The reply is the command's own code, then what the agent returned: a number (JDK 8), or `return
 * code: N`. */
enum attach_result attach_judge(const char *reply, size_t len, char text[ATTACH_TEXT_BYTES])
{
	static const char said[] = "return code: ", early[] = "only permitted in the live phase";
	const char *at = reply, *end = reply + len;
	long code, returned = 0;

	text[0] = '\0';
	if (len == 0)
		return ATTACH_SILENT;
	if (read_number(&at, end, &code) && code == 0) {
		const char *rest = at;

		if ((size_t)(end - at) >= sizeof(said) - 1 &&
		    memcmp(at, said, sizeof(said) - 1) == 0)
			at += sizeof(said) - 1;
		if (read_number(&at, end, &returned) && returned == 0)
			return ATTACH_DONE;
		if (at != rest && returned == JAVA_AGENT_NOT_NOW)
			return ATTACH_NOT_NOW;
		at = rest;
	}
	/* JDK 21 and later have this text. */
	if (memmem(at, (size_t)(end - at), early, sizeof(early) - 1))
		return ATTACH_NOT_NOW;
	keep_text(at, (size_t)(end - at), text);
	return ATTACH_REFUSED;
}

static bool wait_for(const struct attach_dialogue *mine, int fd, short events)
{
	struct pollfd wanted = {.fd = fd, .events = events};
	int r;

	do {
		r = poll(&wanted, 1, attach_left_ms(mine));
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

static bool send_all(const struct attach_dialogue *mine, int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = wait_for(mine, fd, POLLOUT) ? send(fd, data, bytes, MSG_NOSIGNAL) : -1;

		if (n < 0 && (errno == EINTR || errno == EAGAIN) && attach_left_ms(mine) > 0)
			continue;
		if (n <= 0)
			return false;
		data += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* Reads the reply until the VM closes; returns false if time is over. Bytes behind REPLY_BYTES are
 * read and dropped. */
static bool receive_reply(const struct attach_dialogue *mine, int fd, char *reply, size_t *len)
{
	*len = 0;
	for (;;) {
		char spare[512];
		bool room = *len < REPLY_BYTES;

		if (!wait_for(mine, fd, POLLIN))
			return false;
		ssize_t n = room ? recv(fd, reply + *len, REPLY_BYTES - *len, 0)
				 : recv(fd, spare, sizeof(spare), 0);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n == 0;
		*len += room ? (size_t)n : 0;
	}
}

bool attach_ask(struct attach_dialogue *mine, const char *const words[ATTACH_WORDS])
{
	char request[REQUEST_BYTES], reply[REPLY_BYTES];
	size_t len = attach_request(request, sizeof(request), words);

	if (!len)
		return dialogue_fail(mine, ATTACH_SYSTEM, EOVERFLOW);
	_cleanup_close_ int fd = reach_vm(mine);
	if (fd < 0)
		return false;
	if (!send_all(mine, fd, request, len) || !receive_reply(mine, fd, reply, &len))
		return dialogue_fail(mine, ATTACH_SILENT, 0);
	mine->answer.result = attach_judge(reply, len, mine->answer.text);
	return mine->answer.result == ATTACH_DONE;
}

/* Loads a library by its path, a jar by the VM's own agent `instrument` with the option
 * PATH=OPTIONS.
 */
bool attach_load(struct attach_dialogue *mine, const char *options)
{
	char name[ATTACH_NAME_BYTES], path[REQUEST_BYTES];
	bool jfr = attach_is_jfr(mine->order.task);
	const char *const words[] = {"load", jfr ? "instrument" : path, jfr ? "false" : "true",
				     jfr ? path : options};

	attach_name(path, "/tmp/java-data-", (uint64_t)mine->process.inner_pid);
	attach_agent_name(name, mine->order.task);
	const char *const parts[] = {"/", name, jfr ? "=" : "", jfr ? options : ""};
	for (size_t i = 0, len = strlen(path); i < ARRAY_SIZE(parts); i++) {
		size_t bytes = strlen(parts[i]);

		if (bytes >= sizeof(path) - len)
			return dialogue_fail(mine, ATTACH_SYSTEM, EOVERFLOW);
		memcpy(path + len, parts[i], bytes + 1);
		len += bytes;
	}
	return attach_ask(mine, words);
}

bool attach_give_agent(struct attach_dialogue *mine, const char *options)
{
	bool done = false, taken = true;

	for (int tries = 0; tries < TRIES && taken && !done; tries++) {
		if (!attach_write_agent(mine))
			return false;
		done = attach_load(mine, options);
		taken = !attach_has_agent(mine);
		if (!taken)
			attach_remove_agent(mine);
		if (!done && attach_left_ms(mine) <= 0)
			break;
	}
	return done;
}
