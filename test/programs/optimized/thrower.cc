/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * thrower SECONDS: throws through ten frames with things to clean up, over and over, for that much
 * CPU time: main -> rounds -> round_trip -> down … -> the C++ runtime.
 */
#include "level.h"

namespace
{
volatile uint64_t cleaned;

struct Thing {
	~Thing()
	{
		cleaned = cleaned + 1;
	}
};
} // namespace

LEVEL int down(int depth)
{
	Thing thing;

	if (depth == 0)
		throw depth;
	return down(depth - 1) + 1;
}

LEVEL int round_trip(void)
{
	try {
		return down(10);
	} catch (int value) {
		return value;
	}
}

LEVEL int rounds(uint64_t ns)
{
	int sum = 0;

	use_frame_register();
	while (thread_cpu_ns() < ns)
		sum += round_trip();
	return sum;
}

int main(int argc, char **argv)
{
	return rounds(seconds_ns(argc > 1 ? argv[1] : "1"));
}
