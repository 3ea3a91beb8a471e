// SPDX-License-Identifier: GPL-2.0-or-later
#include "hooks/iterator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define RECORDS_AT_ONCE 256

int iterator_read(int fd, size_t bytes, void (*each)(void *arg, const void *record), void *arg)
{
	_cleanup_free_ char *records = calloc(RECORDS_AT_ONCE, bytes);
	size_t have = 0;

	if (!records)
		return -ENOMEM;
	for (;;) { /* the beginning of the next record is kept at the front */
		ssize_t n = read(fd, records + have, RECORDS_AT_ONCE * bytes - have);

		if (n < 0 && errno == EAGAIN) /* the kernel walked a million other objects */
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		have += (size_t)n;
		size_t count = have / bytes;
		for (size_t i = 0; i < count; i++)
			each(arg, records + i * bytes);
		have -= count * bytes;
		memmove(records, records + count * bytes, have);
	}
}
