// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/command.h"

#include <stdio.h>

static const char *running = "stackprobe";

void usage_begin(const char *command)
{
	running = command;
}

int usage_hint(void)
{
	fprintf(stderr, "Try '%s --help'.\n", running);
	return EXIT_USAGE;
}

int usage_error(const char *what, const char *value)
{
	fprintf(stderr, "stackprobe: %s%s%s\n", what, value ? ": " : "", value ? value : "");
	return usage_hint();
}
