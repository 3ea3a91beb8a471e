// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/trim.h"
#include "command/command.h"
#include "command/input_text.h"
#include "output/report/report.h"

#define ROWS	     20
#define ROWS_MAX     10000
#define TEXT_MAX     ((size_t)1 << 30)
#define UNIT_UNKNOWN "(unit unknown)"

static const char help[] =
	"Usage: stackprobe report [OPTION]... [FILE]\n"
	"The heaviest functions of folded text (FILE or standard input), as a table.\n"
	"\n"
	"  -n, --top N      that many functions, 1 to 10000 (default 20)\n"
	"      --callers    below each function who calls it\n"
	"  -h, --help       say this\n"
	"\n"
	"self: weight of the stacks that end in the function; total: of all stacks that it is "
	"in.\n";

int report_rows(const char *text, uint32_t *rows)
{
	char *end;

	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value < 1 || value > ROWS_MAX)
		return usage_error("--top is not a number from 1 to 10000", text);
	*rows = (uint32_t)value;
	return 0;
}

/* Returns -1 to go on, or the exit status. */
static int read_arguments(int argc, char **argv, struct report_wish *wish, const char **path)
{
	static const struct option known[] = {
		{"top", required_argument, NULL, 'n'},
		{"callers", no_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int r = 0;

	for (int c; r == 0 && (c = getopt_long(argc, argv, "n:h", known, NULL)) != -1;) {
		if (c == 'n') {
			r = report_rows(optarg, &wish->rows);
		} else if (c == 'c') {
			wish->callers = true;
		} else if (c == 'h') {
			fputs(help, stdout);
			return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
		} else {
			return usage_hint(); /* getopt said why */
		}
	}
	if (r)
		return r;
	if (argc - optind > 1)
		return usage_error("more than one file", argv[optind + 1]);
	if (optind < argc)
		*path = argv[optind];
	return -1;
}

int report_command(int argc, char **argv)
{
	struct report_wish wish = {.rows = ROWS};
	_cleanup_input_text_ struct input_text text = {0};
	_cleanup_stacks_ struct stacks stacks = {0};
	_cleanup_buf_ struct buf out = BUF_INIT(TEXT_MAX);
	const char *path = "-";
	int r = read_arguments(argc, argv, &wish, &path);

	if (r >= 0)
		return r;
	trim_code();
	input_text_begin();
	if (input_text_add(&stacks, STACKS_AFTER, path, &text) < 0)
		return EXIT_FAILED;
	input_text_left_out(&stacks);
	wish.unit = stacks.headers[STACKS_AFTER].unit[0] ? stacks.headers[STACKS_AFTER].unit
							 : UNIT_UNKNOWN;
	r = report_write(&stacks, &wish, &out);
	if (r == 0 && (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0))
		r = -errno;
	if (r == 0)
		return 0;
	fprintf(stderr, "stackprobe: can't write the table: %s\n", strerror(-r));
	return EXIT_FAILED;
}
