/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library whose functions are so short that the way to them takes longer. */
#include <stdint.h>

uint64_t tiny_add(uint64_t x);
uint64_t tiny_twice(uint64_t x);

uint64_t tiny_add(uint64_t x)
{
	return x + 1;
}

/* By the library's own procedure linkage table. */
uint64_t tiny_twice(uint64_t x)
{
	return tiny_add(x) + tiny_add(x + 1);
}
