/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exceptions SECONDS: throws through frames with destructors and catches, rethrows, throws out of a
 * constructor and past a noexcept lambda's caller, all the time: most of it in the C++ runtime's
 * own unwinder and in what it lands on.
 */
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "burn.h"

#define NOINLINE __attribute__((noinline))

static uint64_t destroyed;

struct Guard {
	std::string name;
	NOINLINE explicit Guard(int i) : name("guard number " + std::to_string(i))
	{
	}
	NOINLINE ~Guard()
	{
		destroyed += name.size();
	}
};

struct Refused : std::runtime_error {
	int depth;
	NOINLINE explicit Refused(int at) : std::runtime_error("refused"), depth(at)
	{
	}
};

struct Broken {
	Guard member;
	NOINLINE explicit Broken(int i) : member(i)
	{
		if (i % 3 == 0)
			throw Refused(i);
	}
};

static NOINLINE int descend(int depth, int seed)
{
	Guard guard(depth);
	std::vector<int> some(static_cast<size_t>(depth) + 1, seed);

	if (depth == 0) {
		if (seed % 2)
			throw std::out_of_range("odd");
		throw Refused(seed);
	}
	return descend(depth - 1, seed) + some[0];
}

static NOINLINE int again(int seed)
{
	try {
		return descend(seed % 13, seed);
	} catch (const std::out_of_range &) {
		Guard guard(seed);
		throw;
	}
}

static NOINLINE int build(int seed)
{
	std::map<int, std::unique_ptr<Broken>> all;

	for (int i = 1; i < 6; i++)
		all[i] = std::make_unique<Broken>(seed + i);
	return static_cast<int>(all.size());
}

static NOINLINE int attempt(int seed)
{
	int sum = 0;

	try {
		sum += again(seed);
	} catch (const Refused &refused) {
		sum += refused.depth;
	} catch (const std::exception &other) {
		sum += other.what()[0];
	}
	try {
		sum += build(seed);
	} catch (const std::runtime_error &) {
		sum++;
	}
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t ns = seconds_ns(argc > 1 ? argv[1] : "1"), sum = 0;

	for (int seed = 0; thread_cpu_ns() < ns; seed++)
		sum += static_cast<uint64_t>(attempt(seed & 0xffff));
	return sum == 1;
}
