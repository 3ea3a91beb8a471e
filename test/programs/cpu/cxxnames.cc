/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cxxnames SECONDS: burns in a method of a class template and in a virtual method, half each. */
#include "burn.h"

namespace shop
{
template <typename T> struct Basket {
	__attribute__((noinline)) void fill(T ns)
	{
		burn_ns(ns);
	}
};

struct Till {
	virtual ~Till() = default;
	virtual void count(uint64_t ns) const = 0;
};

namespace
{
struct Corner : Till {
	__attribute__((noinline)) void count(uint64_t ns) const override
	{
		burn_ns(ns);
	}
};
} // namespace
} // namespace shop

int main(int argc, char **argv)
{
	uint64_t ns = seconds_ns(argc > 1 ? argv[1] : "1") / 2;
	shop::Basket<unsigned long> basket;
	shop::Corner corner;
	const shop::Till &till = corner;

	basket.fill(ns);
	till.count(ns);
	return 0;
}
