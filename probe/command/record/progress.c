// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/progress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Whether we may draw. A command that reads single keys (not ICANON) draws the whole screen, which
 * a line of ours would spoil. */
static bool is_ours(void)
{
	struct termios modes;

	return tcgetattr(STDERR_FILENO, &modes) == 0 && modes.c_lflag & ICANON &&
	       tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* Returns the terminal's columns less one, as some terminals wrap after the last column. */
static int terminal_width(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1
									       : 79;
}

void progress_draw(struct progress *progress, uint64_t seconds, uint64_t samples, uint64_t lost)
{
	char line[128];

	if (!is_ours())
		return;
	int len = snprintf(line, sizeof(line),
			   "stackprobe: %" PRIu64 " s, %" PRIu64 " samples, %" PRIu64 " lost",
			   seconds, samples, lost);
	if (len > terminal_width())
		len = terminal_width();
	int blanks = progress->columns > len ? progress->columns - len : 0;
	fprintf(stderr, "\r%.*s%*s", len, line, blanks, "");
	progress->columns = len;
}

void progress_erase(struct progress *progress)
{
	if (progress->columns && is_ours())
		fprintf(stderr, "\r%*s\r", progress->columns, "");
	progress->columns = 0;
}
