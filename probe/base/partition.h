/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binary search. Any thread. */
#pragma once

#include <stddef.h>

/*
 * Returns how many of the `count` items of a sorted array lie before what is sought, which is also
 * the index of the first one that doesn't (`count`: all lie before). `is_before`, an expression of
 * the index `at`, tells it of one item: true of all up to some item, false from there on.
 */
#define PARTITION_POINT(at, count, is_before)                                                      \
	({                                                                                         \
		size_t low_ = 0, high_ = (count);                                                  \
		while (low_ < high_) {                                                             \
			size_t at = low_ + (high_ - low_) / 2;                                     \
			if (is_before)                                                             \
				low_ = at + 1;                                                     \
			else                                                                       \
				high_ = at;                                                        \
		}                                                                                  \
		low_;                                                                              \
	})
