/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resources that free themselves: _cleanup_(fn) calls fn(&variable) when the variable leaves its
 * scope. TAKE_PTR and TAKE_FD hand a resource over and leave nothing behind to free.
 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_free_	_cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
