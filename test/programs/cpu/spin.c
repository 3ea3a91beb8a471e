/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spin SECONDS [NAME]: burns that much CPU time in main -> outer -> middle -> inner_spin. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "burn.h"

static void inner_spin(uint64_t ns)
{
	burn_ns(ns);
}

static void middle(uint64_t ns)
{
	inner_spin(ns);
}

static void outer(uint64_t ns)
{
	middle(ns);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: spin SECONDS [NAME]\n");
		return 2;
	}
	if (argc > 2)
		prctl(PR_SET_NAME, argv[2]);
	outer(seconds_ns(argv[1]));
	printf("{\"cpu_ns\": %" PRIu64 "}\n", thread_cpu_ns());
	return 0;
}
