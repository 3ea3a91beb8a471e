/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads all entries of a BPF hash map, many by one system call. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct map_batches {
	int fd;
	size_t key_bytes, value_bytes; /* of a value as user space has it: of all CPUs */
	/* Gets `count` keys and values, which are valid until it returns. Returns 0, or a negative
	 * errno, which ends the reading. */
	int (*take)(void *arg, const void *keys, const void *values, size_t count);
	void *arg;
};

/* Returns 0; take()'s error; -ENOMEM; or a negative errno of reading. Entries that come or go
 * meanwhile may be missing. */
int map_batches_read(const struct map_batches *batches);
