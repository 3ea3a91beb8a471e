/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares keys of hash tables: most are some words long, and a call of memcmp() costs more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool keys_equal(const void *a, const void *b, size_t bytes)
{
	const char *left = a, *right = b;

	for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
		uint64_t one, other;

		memcpy(&one, left, sizeof(one));
		memcpy(&other, right, sizeof(other));
		if (one != other)
			return false;
		left += sizeof(one);
		right += sizeof(other);
	}
	return !bytes || memcmp(left, right, bytes) == 0;
}
