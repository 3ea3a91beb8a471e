// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/command.h"

#include <stdio.h>

int usage_error(const char *what, const char *value)
{
	fprintf(stderr, "stackprobe: %s%s%s\nTry 'stackprobe --help'.\n", what, value ? ": " : "",
		value ? value : "");
	return EXIT_USAGE;
}
