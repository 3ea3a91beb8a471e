// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * demo SECONDS: the demo's workload, a small shop that parses, prices and packs orders, with known
 * shares of its time: parse_order 35 %, price_order 20 % (of it find_price 15, add_tax 5),
 * pack_order 45 % (compress 30, checksum 15), beside what new_key takes in the kernel.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

#define UNIT 20011 /* rounds, about 30 us; prime */

static uint64_t value;

static void parse_order(void)
{
	value = burn_rounds(value, 35 * UNIT);
}

static void find_price(void)
{
	value = burn_rounds(value, 15 * UNIT);
}

static void add_tax(void)
{
	value = burn_rounds(value, 5 * UNIT);
}

static void price_order(void)
{
	find_price();
	add_tax();
}

static void compress(void)
{
	value = burn_rounds(value, 30 * UNIT);
}

static void checksum(void)
{
	value = burn_rounds(value, 15 * UNIT);
}

static void pack_order(void)
{
	compress();
	checksum();
}

/* Asks the kernel itself: libc's wrapper has no frame pointer and would hide its caller. */
static void new_key(void)
{
	static char key[100000];
	long result;

	keep_frame();
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_getrandom), "D"(key), "S"(sizeof(key)), "d"(0)
			 : "rcx", "r11", "memory");
	value += (uint64_t)result;
}

static void serve_order(void)
{
	parse_order();
	price_order();
	pack_order();
	new_key();
}

int main(int argc, char **argv)
{
	uint64_t end = seconds_ns(argc > 1 ? argv[1] : "60");

	while (thread_cpu_ns() < end)
		serve_order();
	return (int)(value >> 63) & 0;
}
