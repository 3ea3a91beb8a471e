// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/map_batches.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define AT_ONCE 512 /* entries that are read by one system call */

int map_batches_read(const struct map_batches *batches)
{
	_cleanup_free_ void *keys = calloc(AT_ONCE, batches->key_bytes);
	_cleanup_free_ void *values = calloc(AT_ONCE, batches->value_bytes);
	uint32_t position, *last = NULL;
	int r = 0, taken = 0;

	if (!keys || !values)
		return -ENOMEM;
	while (r == 0 && taken == 0) {
		uint32_t count = AT_ONCE;

		r = bpf_map_lookup_batch(batches->fd, last, &position, keys, values, &count, NULL);
		if (r < 0 && r != -ENOENT)
			return r;
		taken = batches->take(batches->arg, keys, values, count);
		last = &position;
	}
	return taken; /* -ENOENT: that was all */
}
