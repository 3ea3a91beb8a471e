// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/top_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/command.h"
#include "command/top/top_column.h"
#include "costs/cost_kind.h"

#define SECONDS_MAX 600
#define ROWS_MAX    100000
#define GO_ON	    (-1)

enum {
	OPTION_ONCE = 256,
	OPTION_JSON,
	OPTION_BY,
	OPTION_GROUP,
	OPTION_SOCKET,
	OPTION_ALONE,
	OPTION_FILTER,
	OPTION_PLAIN
};

static const char help[] =
	"Usage: stackprobe top [OPTION]...\n"
	"What processes cost, as they run: through the daemon, or without one.\n"
	"\n"
	"  -d, --interval SECONDS  look again after so long (default 1)\n"
	"      --by COLUMN         sort by it (default cpu)\n"
	"      --group GROUP       a row for each pid, comm, container, pod or cgroup\n"
	"      --filter TEXT       only rows with it in their name or container, or of that pid\n"
	"      --once              look once, as text, and end\n"
	"  -n, --rows N            so many rows of it (default 20)\n"
	"      --json              JSON, a line for each interval; with --once: one\n"
	"      --no-color          (also if the environment has NO_COLOR)\n"
	"      --socket PATH       the daemon's socket, if it isn't the usual one\n"
	"      --alone             through no daemon that runs\n"
	"  -h, --help              say this\n"
	"\n"
	"In a terminal '?' lists the keys. Columns:";

static int print_help(void)
{
	fputs(help, stdout);
	for (unsigned i = 0; i < TOP_COLUMNS; i++)
		printf("%s %s", i ? "," : "", top_columns[i].name);
	putchar('\n');
	return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
}

static int take_number(const char *text, unsigned max, unsigned *number)
{
	char *end;

	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value < 1 || value > max)
		return usage_error("not a number that fits", text);
	*number = (unsigned)value;
	return GO_ON;
}

static int take_column(const char *text, struct top_options *options)
{
	int column = top_column_find(text);

	if (column < 0)
		return usage_error("--by is no column", text);
	options->column = (unsigned)column;
	return GO_ON;
}

static int take_group(const char *text, struct top_options *options)
{
	options->group = cost_group_find(text);
	return options->group < 0 || options->group == COST_BY_NONE
		       ? usage_error("--group is pid, comm, container, pod or cgroup", text)
		       : GO_ON;
}

static int take_option(struct top_options *options, int option)
{
	switch (option) {
	case 'd':
		return take_number(optarg, SECONDS_MAX, &options->seconds);
	case 'n':
		return take_number(optarg, ROWS_MAX, &options->rows);
	case OPTION_BY:
		return take_column(optarg, options);
	case OPTION_GROUP:
		return take_group(optarg, options);
	case OPTION_FILTER:
		options->filter = optarg;
		return GO_ON;
	case OPTION_ONCE:
		options->once = true;
		return GO_ON;
	case OPTION_JSON:
		options->json = true;
		return GO_ON;
	case OPTION_PLAIN:
		options->is_plain = true;
		return GO_ON;
	case OPTION_SOCKET:
		options->socket = optarg;
		return GO_ON;
	case OPTION_ALONE:
		options->alone = true;
		return GO_ON;
	case 'h':
		return print_help();
	default:
		return usage_hint(); /* getopt said why */
	}
}

int top_options_parse(int argc, char **argv, struct top_options *options)
{
	static const struct option known[] = {
		{"interval", required_argument, NULL, 'd'},
		{"rows", required_argument, NULL, 'n'},
		{"by", required_argument, NULL, OPTION_BY},
		{"group", required_argument, NULL, OPTION_GROUP},
		{"filter", required_argument, NULL, OPTION_FILTER},
		{"once", no_argument, NULL, OPTION_ONCE},
		{"json", no_argument, NULL, OPTION_JSON},
		{"no-color", no_argument, NULL, OPTION_PLAIN},
		{"socket", required_argument, NULL, OPTION_SOCKET},
		{"alone", no_argument, NULL, OPTION_ALONE},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *without = getenv("NO_COLOR");
	int r = GO_ON;

	*options = (struct top_options){.seconds = 1, .rows = 20, .group = COST_BY_PID};
	options->is_plain = without && *without;
	for (int c; r == GO_ON && (c = getopt_long(argc, argv, "d:n:h", known, NULL)) != -1;)
		r = take_option(options, c);
	if (r == GO_ON && optind < argc)
		r = usage_error("top takes options alone", argv[optind]);
	if (r == GO_ON && options->alone && options->socket)
		r = usage_error("--alone and --socket exclude each other", NULL);
	return r;
}
