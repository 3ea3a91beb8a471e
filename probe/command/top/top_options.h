/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command line of `top` asks for. */
#pragma once

#include <stdbool.h>

#include "command/top/top_reading.h"

struct top_options {
	unsigned seconds;   /* of an interval */
	unsigned rows;	    /* of --once */
	unsigned column;    /* by which it sorts: top_column.h */
	int group;	    /* enum cost_group */
	const char *filter; /* NULL: none */
	const char *socket; /* NULL: the daemon's usual one, or a daemon of its own */
	bool alone;	    /* a daemon of its own in any case */
	bool once, json;
	bool is_plain; /* no colours */
};

/* Reads the arguments. Returns -1, or the exit status of a command that ends here. */
int top_options_parse(int argc, char **argv, struct top_options *options);
