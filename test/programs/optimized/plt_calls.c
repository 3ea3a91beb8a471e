/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plt_calls SECONDS: main -> caller, which calls functions of a library (bound at first use) and
 * does nothing else for that much CPU time: the stubs of procedure linkage tables. */
#include "level.h"

uint64_t tiny_add(uint64_t x);
uint64_t tiny_twice(uint64_t x);

LEVEL static uint64_t caller(uint64_t ns)
{
	uint64_t x = 0;

	use_frame_register();
	while (thread_cpu_ns() < ns) {
		for (int i = 0; i < 100000; i++)
			x = tiny_twice(tiny_add(x));
	}
	return x;
}

int main(int argc, char **argv)
{
	return caller(seconds_ns(argc > 1 ? argv[1] : "1")) == 1;
}
