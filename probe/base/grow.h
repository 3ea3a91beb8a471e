/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow by doubling, a sorted array's parts, and memory for hash tables. Any thread,
 * each array by one at a time. */
#pragma once

#include <errno.h>
#include <stddef.h>

/* Returns `array` with room for `needed` items of `bytes` each, and updates *capacity: at least
 * `first`, else doubled. NULL: no memory, and the array stays as it is. Use array_grow(). */
void *array_grown(void *array, size_t *capacity, size_t needed, size_t first, size_t bytes);

/*
 * Makes room for `needed` items in `array`, a pointer that malloc() gave, or NULL. `capacity`
 * counts items and is an lvalue of any unsigned type; the first room is for `first` items.
 * Evaluates to 0 or -ENOMEM; then both stay as they are.
 */
#define array_grow(array, capacity, needed, first)                                                 \
	({                                                                                         \
		size_t capacity_ = (capacity);                                                     \
		void *grown_ = array_grown((array), &capacity_, (needed), (first),                 \
					   sizeof(__typeof__(*(array))));                          \
                                                                                                   \
		if (grown_) {                                                                      \
			(array) = grown_;                                                          \
			(capacity) = (__typeof__(capacity))capacity_;                              \
		}                                                                                  \
		grown_ ? 0 : -ENOMEM;                                                              \
	})

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

/*
 * Returns `count` items of `bytes` each, all zeros, for free(); NULL: no memory. The pages of a
 * large one are there, which those of calloc() aren't: who reads such a page before writing it, as
 * a hash table does, has a second fault, which interrupts each CPU that runs another of our
 * threads.
 */
void *zeroed(size_t count, size_t bytes);
