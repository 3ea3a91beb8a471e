// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/input_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "command/command.h"
#include "output/diff/difference.h"

#define READ_BYTES (1024 * 1024)

/* Maps the file and a page behind it, so that the bytes behind the text are 0. */
static int map_file(int fd, size_t bytes, struct input_text *text)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), reserved = bytes + page;
	char *data = mmap(NULL, reserved, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (data == MAP_FAILED)
		return -errno;
	*text = (struct input_text){data, bytes, reserved};
	if (mmap(data, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		return -errno;
	return 0;
}

/* Reads to the end; the kernel moves the growing memory (mremap) instead of copying it. */
static int read_whole(int fd, struct input_text *text)
{
	ssize_t n;

	for (;;) {
		if (text->reserved - text->bytes < READ_BYTES) {
			size_t wanted = text->reserved ? text->reserved * 2 : 4 * READ_BYTES;
			void *data = text->reserved ? mremap(text->data, text->reserved, wanted,
							     MREMAP_MAYMOVE)
						    : mmap(NULL, wanted, PROT_READ | PROT_WRITE,
							   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (data == MAP_FAILED)
				return -errno;
			text->data = data;
			text->reserved = wanted;
		}
		/* Leave STACKS_PADDING bytes unread, so that 0 follows the text. */
		n = read(fd, text->data + text->bytes,
			 text->reserved - text->bytes - STACKS_PADDING);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0;
		text->bytes += n > 0 ? (size_t)n : 0;
	}
}

static int load_text(const char *path, bool maps, struct input_text *text)
{
	bool is_stdin = strcmp(path, "-") == 0;
	_cleanup_close_ int opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	int fd = is_stdin ? STDIN_FILENO : opened;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	/* A file of /proc has size 0; a file on standard input may be half read already. */
	if (maps && S_ISREG(status.st_mode) && status.st_size > 0 && !is_stdin)
		return map_file(fd, (size_t)status.st_size, text);
	return read_whole(fd, text);
}

static void print_unread(const char *path, int error)
{
	fprintf(stderr, "stackprobe: can't read %s: %s\n",
		strcmp(path, "-") == 0 ? "standard input" : path, strerror(-error));
}

int input_text_read(const char *path, struct input_text *text)
{
	int r = load_text(path, false, text);

	if (r < 0)
		print_unread(path, r);
	return r;
}

static void on_bus_error(int signal)
{
	static const char message[] =
		"stackprobe: a file became shorter or unreadable while it was read; try again\n";

	(void)signal;
	if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		_exit(EXIT_FAILED);
	_exit(EXIT_FAILED);
}

void input_text_left_out(const struct stacks *stacks)
{
	if (stacks->malformed)
		fprintf(stderr,
			"stackprobe: ignored %" PRIu64 " lines that are not a stack and a number\n",
			stacks->malformed);
	if (stacks->too_large)
		fprintf(stderr,
			"stackprobe: ignored %" PRIu64 " lines that are longer than 16 MB or "
			"bring the total over 2^64\n",
			stacks->too_large);
	if (stacks->fractions)
		fprintf(stderr,
			"stackprobe: left out the fraction of the number in %" PRIu64 " lines\n",
			stacks->fractions);
}

int input_text_add(struct stacks *stacks, enum stacks_side side, const char *path,
		   struct input_text *text)
{
	int r = load_text(path, true, text);

	if (r == 0)
		r = stacks_read(stacks, side, text->data, text->bytes);
	if (r < 0)
		print_unread(path, r);
	return r;
}

void input_text_begin(void)
{
	signal(SIGPIPE, SIG_IGN); /* a reader that has gone is an error of write() */
	signal(SIGBUS, on_bus_error);
}

void input_text_done(struct input_text *text)
{
	if (text->reserved)
		munmap(text->data, text->reserved);
}

void difference_print(const struct difference *difference, bool negate)
{
	_cleanup_buf_ struct buf warnings = BUF_INIT(65536);

	difference_warnings(difference, negate, &warnings);
	for (size_t at = 0; at < warnings.len;) {
		const char *line = warnings.data + at;
		const char *end = memchr(line, '\n', warnings.len - at);
		int len = end ? (int)(end - line) : (int)(warnings.len - at);

		fprintf(stderr, "stackprobe: %.*s\n", len, line);
		at += (size_t)len + 1;
	}
}
