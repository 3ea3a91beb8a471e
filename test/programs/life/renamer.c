/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * renamer SECONDS SECONDS NAME: burns the first in before_rename, takes the name, burns the second
 * in after_rename.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "burn.h"

static uint64_t before_rename(uint64_t ns)
{
	return burn_ns(ns);
}

static uint64_t after_rename(uint64_t ns)
{
	return burn_ns(ns);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: renamer SECONDS SECONDS NAME\n");
		return 2;
	}
	uint64_t before_ns = before_rename(seconds_ns(argv[1]));
	prctl(PR_SET_NAME, argv[3]);
	uint64_t after_ns = after_rename(seconds_ns(argv[2]));
	printf("{\"before_ns\": %" PRIu64 ", \"after_ns\": %" PRIu64 "}\n", before_ns, after_ns);
	return 0;
}
