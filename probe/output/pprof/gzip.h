/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes packed as a gzip file (RFC 1952), as they come. */
#pragma once

#define ZLIB_CONST /* it doesn't write to what it packs */
#include <stddef.h>
#include <zlib.h>

#include "base/buf.h"

#define GZIP_PENDING 16384

struct gzip {
	z_stream stream;
	struct buf *out;
	int error;
	size_t pending_len; /* what isn't packed yet: zlib takes large pieces only at its speed */
	char pending[GZIP_PENDING];
};

/* What is packed is added to `out`. -ENOMEM */
int gzip_begin(struct gzip *gzip, struct buf *out);

void gzip_add(struct gzip *gzip, const void *bytes, size_t len);

/* The file's end; to be called once after gzip_begin(). The first error: -ENOMEM, or the buffer's.
 */
int gzip_end(struct gzip *gzip);
