// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "command/command.h"

int render_command(int argc, char **argv)
{
	(void)argc;
	fprintf(stderr, "stackprobe: not available in this version: %s\n", argv[0]);
	return EXIT_FAILED;
}
