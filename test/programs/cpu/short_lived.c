/* SPDX-License-Identifier: GPL-2.0-or-later */
/* short_lived [SECONDS]: burns 50 ms of CPU time in main -> short_work and is gone. */
#include "burn.h"

static void short_work(uint64_t ns)
{
	burn_ns(ns);
}

int main(int argc, char **argv)
{
	short_work(seconds_ns(argc > 1 ? argv[1] : "0.05"));
	return 0;
}
