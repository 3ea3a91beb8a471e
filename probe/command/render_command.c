// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/trim.h"
#include "command/command.h"
#include "command/input_text.h"
#include "output/diff/difference.h"
#include "output/svg/picture.h"
#include "output/svg/stacks_svg.h"

#define WIDTH_MIN 100
#define WIDTH_MAX 100000

struct render_request {
	const char *after, *before; /* paths; "-": standard input; before NULL: no difference */
	struct stacks_svg svg;
	enum places_wish places;
	bool normalize, is_help, counts_told;
};

static void print_help(void)
{
	puts("usage: stackprobe render [OPTION]... [FILE]\n"
	     "Folded text (`main;work;read 12` a line; from FILE or standard input) to an\n"
	     "interactive flame graph as SVG on standard output.\n\n"
	     "  --html          an HTML page instead, which small screens show readable\n"
	     "  --title T       above the picture (default: Flame Graph)\n"
	     "  --width N       pixels (100-100000, default 1200)\n"
	     "  --countname C   what is counted (default: as FILE's first line says, else "
	     "samples)\n"
	     "  --icicle        the root on top\n"
	     "  --diff BEFORE   compare with the folded text BEFORE: the widths are FILE's, red "
	     "is\n"
	     "                  what has more weight of its own than before, blue what has less.\n"
	     "                  Processes are compared by name; changes within noise are grey\n"
	     "  --places P      diff: lines and addresses in names: auto (default: left out "
	     "where\n"
	     "                  versions differ), keep, drop\n"
	     "  --normalize     diff: scale BEFORE to the total of FILE\n"
	     "  --negate        diff: swap the colours, to see what is only in the older one:\n"
	     "                  `--diff NEW --negate OLD`\n"
	     "  -h, --help      this text");
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

static int read_places(const char *text, enum places_wish *places)
{
	static const char *const wishes[] = {
		[PLACES_BY_VERSION] = "auto", [PLACES_KEEP] = "keep", [PLACES_DROP] = "drop"};

	for (size_t i = 0; i < ARRAY_SIZE(wishes); i++) {
		if (strcmp(text, wishes[i]) == 0) {
			*places = (enum places_wish)i;
			return 0;
		}
	}
	return usage_error("--places is none of auto, keep, drop", text);
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
		request->counts_told = true;
		return 0;
	case 'w':
		return read_width(optarg, &request->svg.width)
			       ? 0
			       : usage_error("--width is not a number from 100 to 100000", optarg);
	case 'p':
		return read_places(optarg, &request->places);
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
	case 'm':
		request->svg.form = PICTURE_HTML;
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
		{"places", required_argument, NULL, 'p'},
		{"normalize", no_argument, NULL, 'z'},
		{"negate", no_argument, NULL, 'n'},
		{"icicle", no_argument, NULL, 'i'},
		{"html", no_argument, NULL, 'm'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, r = 0;

	opterr = 0;
	while (r == 0 && (option = getopt_long(argc, argv, ":h", options, NULL)) >= 0)
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
	if (!request->before && (request->normalize || request->svg.negate || request->places))
		return usage_error("this option needs --diff BEFORE",
				   request->normalize	 ? "--normalize"
				   : request->svg.negate ? "--negate"
							 : "--places");
	return 0;
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

/* Takes the unit from the text's first line, where nobody told it. */
static void find_unit(const struct stacks *stacks, struct render_request *request)
{
	const struct folded_header *header = &stacks->headers[STACKS_AFTER];

	if (request->counts_told)
		return;
	if (header->unit[0])
		request->svg.meta.count_name = header->unit;
	else
		request->svg.meta.unit_unknown = true;
}

static int draw_difference(const struct stacks *raw, struct render_request *request)
{
	_cleanup_difference_ struct difference difference;
	int r = difference_make(&difference, raw, request->places, request->counts_told,
				&request->svg);

	if (r < 0)
		return r;
	difference_print(&difference, request->svg.negate);
	return stacks_svg_write(&difference.stacks, &request->svg);
}

int render_command(int argc, char **argv)
{
	struct render_request request = {
		.after = "-",
		.svg = {.meta = {.title = "Flame Graph", .count_name = "samples"},
			.width = PICTURE_WIDTH,
			.flush = write_out},
	};
	_cleanup_input_text_ struct input_text after = {0}, before = {0};
	_cleanup_stacks_ struct stacks stacks = {0};
	int r = read_arguments(argc, argv, &request);

	if (r)
		return r;
	if (request.is_help) {
		print_help();
		return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
	}
	trim_code();
	input_text_begin();
	stacks.normalize = request.normalize;
	if (input_text_add(&stacks, STACKS_AFTER, request.after, &after) < 0)
		return EXIT_FAILED;
	if (request.before && input_text_add(&stacks, STACKS_BEFORE, request.before, &before) < 0)
		return EXIT_FAILED;
	input_text_left_out(&stacks);
	find_unit(&stacks, &request);
	r = request.before ? draw_difference(&stacks, &request)
			   : stacks_svg_write(&stacks, &request.svg);
	if (r < 0) {
		fprintf(stderr, "stackprobe: can't write the picture: %s\n", strerror(-r));
		return EXIT_FAILED;
	}
	return 0;
}
