/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thrower SECONDS: throws through ten frames, one with a thing to clean up, over and over, for that
 * much CPU time: main -> rounds -> round_trip -> down … -> the C++ runtime. About half of it goes
 * by in flight.
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

LEVEL int down(int depth);

LEVEL int down_with_thing(int depth)
{
	Thing thing;

	return down(depth - 1) + 1;
}

LEVEL int down(int depth)
{
	if (depth == 0)
		throw depth;
	return (depth == 5 ? down_with_thing : down)(depth - 1) + 1;
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
	while (thread_cpu_ns() < ns) {
		sum += round_trip();
		cleaned = burn_rounds(cleaned, 20011);
	}
	return sum;
}

int main(int argc, char **argv)
{
	return rounds(seconds_ns(argc > 1 ? argv[1] : "1"));
}
