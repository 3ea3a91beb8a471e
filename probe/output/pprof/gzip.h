/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streaming gzip writer (RFC 1952): packs bytes into a buffer as they come. */
#pragma once

#define ZLIB_CONST /* next_in is const: zlib doesn't write to its input */
#include <stddef.h>
#include <zlib.h>

#include "base/buf.h"

#define GZIP_PENDING 16384

struct gzip {
	z_stream stream;
	struct buf *out;
	int error;
	size_t pending_len;	    /* bytes of `pending` */
	char pending[GZIP_PENDING]; /* bytes not packed yet: zlib is fast with large pieces only */
};

/* Starts a file, which is added to `out`. Returns 0, or -ENOMEM: then gzip_end() isn't called. */
int gzip_begin(struct gzip *gzip, struct buf *out);

/* Adds bytes; gzip_end() returns the error, if there was one. */
void gzip_add(struct gzip *gzip, const void *bytes, size_t len);

/* Ends the file and frees the stream; to be called once after gzip_begin(). Returns 0, or the first
 * error: that of `out`, or -EIO from zlib. */
int gzip_end(struct gzip *gzip);
