// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/trim.h"
#include "command/command.h"
#include "output/svg/picture.h"
#include "output/svg/stacks_svg.h"

#define WIDTH_MIN  100
#define WIDTH_MAX  100000
#define READ_BYTES (1024 * 1024)

struct render_request {
	const char *after, *before; /* paths; "-": standard input; before NULL: no difference */
	struct stacks_svg svg;
	bool normalize, is_help;
};

struct input_text {
	char *data;
	size_t bytes;
	size_t reserved; /* of address space */
};

static void text_done(struct input_text *text)
{
	if (text->reserved)
		munmap(text->data, text->reserved);
}

static void print_help(void)
{
	puts("usage: stackprobe render [OPTION]... [FILE]\n"
	     "Folded text (`main;work;read 12` a line; from FILE or standard input) to an\n"
	     "interactive flame graph as SVG on standard output.\n\n"
	     "  --title T       above the picture (default: Flame Graph)\n"
	     "  --width N       pixels (100-100000, default 1200)\n"
	     "  --countname C   what is counted (default: samples)\n"
	     "  --icicle        the root on top\n"
	     "  --diff BEFORE   compare with the folded text BEFORE: the widths are FILE's, red "
	     "is\n"
	     "                  what has more weight of its own than before, blue what has less\n"
	     "  --normalize     diff: scale BEFORE to the total of FILE\n"
	     "  --negate        diff: swap the colours, to see what is only in the older one:\n"
	     "                  `--diff NEW --negate OLD`\n"
	     "  --help          this text");
}

static bool read_width(const char *text, uint32_t *width)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value < WIDTH_MIN || value > WIDTH_MAX)
		return false;
	*width = (uint32_t)value;
	return true;
}

/* Reads one option. Returns 0, or EXIT_USAGE after printing why. */
static int read_option(int option, const char *name, struct render_request *request)
{
	switch (option) {
	case 't':
		request->svg.meta.title = optarg;
		return 0;
	case 'c':
		request->svg.meta.count_name = optarg;
		return 0;
	case 'w':
		return read_width(optarg, &request->svg.width)
			       ? 0
			       : usage_error("--width is not a number from 100 to 100000", optarg);
	case 'd':
		request->before = optarg;
		request->svg.is_diff = true;
		return 0;
	case 'z':
		request->normalize = true;
		return 0;
	case 'n':
		request->svg.negate = true;
		return 0;
	case 'i':
		request->svg.meta.icicle = true;
		return 0;
	case 'h':
		request->is_help = true;
		return 0;
	case ':':
		return usage_error("this option needs a value", name);
	default:
		return usage_error("unknown option", name);
	}
}

static int read_arguments(int argc, char **argv, struct render_request *request)
{
	static const struct option options[] = {
		{"title", required_argument, NULL, 't'},
		{"countname", required_argument, NULL, 'c'},
		{"width", required_argument, NULL, 'w'},
		{"diff", required_argument, NULL, 'd'},
		{"normalize", no_argument, NULL, 'z'},
		{"negate", no_argument, NULL, 'n'},
		{"icicle", no_argument, NULL, 'i'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, r = 0;

	opterr = 0;
	while (r == 0 && (option = getopt_long(argc, argv, ":", options, NULL)) >= 0)
		r = read_option(option, argv[optind - 1], request);
	if (r)
		return r;
	if (argc - optind > 1)
		return usage_error("more than one file", argv[optind + 1]);
	if (optind < argc)
		request->after = argv[optind];
	if (request->before && strcmp(request->before, "-") == 0 &&
	    strcmp(request->after, "-") == 0)
		return usage_error("only one of the two can be standard input", NULL);
	if (!request->before && (request->normalize || request->svg.negate))
		return usage_error("this option needs --diff BEFORE",
				   request->normalize ? "--normalize" : "--negate");
	return 0;
}

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

static int load_text(const char *path, struct input_text *text)
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
	if (S_ISREG(status.st_mode) && status.st_size > 0 && !is_stdin)
		return map_file(fd, (size_t)status.st_size, text);
	return read_whole(fd, text);
}

static int write_out(void *arg, struct buf *out)
{
	size_t done = 0;

	(void)arg;
	while (done < out->len) {
		ssize_t n = write(STDOUT_FILENO, out->data + done, out->len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	out->len = 0;
	return 0;
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

static void report_left_out(const struct stacks *stacks)
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

static int add_text(struct stacks *stacks, enum stacks_side side, const char *path,
		    struct input_text *text)
{
	int r = load_text(path, text);

	if (r == 0)
		r = stacks_read(stacks, side, text->data, text->bytes);
	if (r < 0)
		fprintf(stderr, "stackprobe: can't read %s: %s\n",
			strcmp(path, "-") == 0 ? "standard input" : path, strerror(-r));
	return r;
}

int render_command(int argc, char **argv)
{
	struct render_request request = {
		.after = "-",
		.svg = {.meta = {.title = "Flame Graph", .count_name = "samples"},
			.width = PICTURE_WIDTH,
			.flush = write_out},
	};
	_cleanup_(text_done) struct input_text after = {0}, before = {0};
	_cleanup_stacks_ struct stacks stacks = {0};
	int r = read_arguments(argc, argv, &request);

	if (r)
		return r;
	if (request.is_help) {
		print_help();
		return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
	}
	trim_code();
	signal(SIGPIPE, SIG_IGN); /* a reader that has gone is an error of write() */
	signal(SIGBUS, on_bus_error);
	stacks.normalize = request.normalize;
	if (add_text(&stacks, STACKS_AFTER, request.after, &after) < 0)
		return EXIT_FAILED;
	if (request.before && add_text(&stacks, STACKS_BEFORE, request.before, &before) < 0)
		return EXIT_FAILED;
	report_left_out(&stacks);
	r = stacks_svg_write(&stacks, &request.svg);
	if (r < 0) {
		fprintf(stderr, "stackprobe: can't write the picture: %s\n", strerror(-r));
		return EXIT_FAILED;
	}
	return 0;
}
