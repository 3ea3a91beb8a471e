// SPDX-License-Identifier: GPL-2.0-or-later
// newer: operator new by what a program writes: main -> strings, arrays, objects, vectors; 100 of
// each, kept. Stands by before, and when it has told bytes and objects of each.
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "level.h"

namespace
{

struct Thing {
	virtual ~Thing() = default;
	char room[192]; // and the pointer to its functions
};

struct alignas(64) Aligned {
	char room[128];
};

constexpr int TIMES = 100;
std::vector<std::string> *kept_strings;
std::vector<std::vector<char>> *kept_vectors;
void *volatile kept;

} // namespace

#define SITE extern "C" LEVEL void

SITE strings()
{
	for (int i = 0; i < TIMES; i++)
		(*kept_strings)[i] = std::string(999, 'x');
	keep_frame();
}

SITE arrays()
{
	for (int i = 0; i < TIMES; i++)
		kept = new int[250];
	keep_frame();
}

SITE objects()
{
	for (int i = 0; i < TIMES; i++)
		kept = new Thing;
	keep_frame();
}

SITE aligned_objects()
{
	for (int i = 0; i < TIMES; i++)
		kept = new Aligned;
	keep_frame();
}

SITE vectors()
{
	for (int i = 0; i < TIMES; i++)
		(*kept_vectors)[i].reserve(5000);
	keep_frame();
}

SITE deleted()
{
	for (int i = 0; i < TIMES; i++) {
		auto mine = std::make_unique<char[]>(300);
		kept = mine.get();
	}
	keep_frame();
}

// operator new throws, through the function that was called.
SITE refused()
{
	size_t bytes = static_cast<size_t>(1) << 47;

	__asm__ volatile("" : "+r"(bytes));
	for (int i = 0; i < TIMES; i++) {
		try {
			kept = new char[bytes];
			abort();
		} catch (const std::bad_alloc &) {
		}
	}
	keep_frame();
}

int main()
{
	kept_strings = new std::vector<std::string>(TIMES);
	kept_vectors = new std::vector<std::vector<char>>(TIMES);
	raise(SIGSTOP);
	strings();
	arrays();
	objects();
	aligned_objects();
	vectors();
	deleted();
	refused();
	printf("{\"sites\": {\"strings\": [100000, 100, 100000, 100], "
	       "\"arrays\": [100000, 100, 100000, 100], \"objects\": [20000, 100, 20000, 100], "
	       "\"aligned_objects\": [12800, 100, 12800, 100], "
	       "\"vectors\": [500000, 100, 500000, 100], \"deleted\": [30000, 100, 0, 0]}}\n");
	fflush(stdout);
	raise(SIGSTOP);
}
