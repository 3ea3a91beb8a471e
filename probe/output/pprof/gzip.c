// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/pprof/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#define PIECE	    16384
#define WINDOW_GZIP (15 + 16) /* zlib.h: the largest window; 16: write gzip's head and end */
#define MEMORY	    8	      /* zlib's default */

int gzip_begin(struct gzip *gzip, struct buf *out)
{
	gzip->stream = (z_stream){0};
	gzip->out = out;
	gzip->error = 0;
	gzip->pending_len = 0;
	return deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, MEMORY,
			    Z_DEFAULT_STRATEGY) == Z_OK
		       ? 0
		       : -ENOMEM;
}

/* Packs the input of the stream. */
static void pack_input(struct gzip *gzip, int flush)
{
	z_stream *stream = &gzip->stream;
	bool goes_on = true;

	while (goes_on && !gzip->error) {
		char *room = buf_reserve(gzip->out, PIECE);

		if (!room) {
			gzip->error = buf_error(gzip->out);
			return;
		}
		stream->next_out = (Bytef *)room;
		stream->avail_out = PIECE;
		int r = deflate(stream, flush);
		gzip->out->len += PIECE - stream->avail_out;
		if (r == Z_STREAM_ERROR)
			gzip->error = -EIO;
		goes_on = flush == Z_FINISH ? r != Z_STREAM_END : stream->avail_out == 0;
	}
}

/* Packs bytes now. */
static void pack_bytes(struct gzip *gzip, const void *bytes, size_t len)
{
	const Bytef *at = bytes;

	while (len && !gzip->error) {
		uInt piece = len < UINT_MAX ? (uInt)len : UINT_MAX;

		gzip->stream.next_in = at;
		gzip->stream.avail_in = piece;
		pack_input(gzip, Z_NO_FLUSH);
		at += piece;
		len -= piece;
	}
}

static void pack_pending(struct gzip *gzip)
{
	pack_bytes(gzip, gzip->pending, gzip->pending_len);
	gzip->pending_len = 0;
}

void gzip_add(struct gzip *gzip, const void *bytes, size_t len)
{
	if (len > GZIP_PENDING - gzip->pending_len)
		pack_pending(gzip);
	if (len > GZIP_PENDING) {
		pack_bytes(gzip, bytes, len);
	} else if (len) {
		memcpy(gzip->pending + gzip->pending_len, bytes, len);
		gzip->pending_len += len;
	}
}

int gzip_end(struct gzip *gzip)
{
	pack_pending(gzip);
	pack_input(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
	return gzip->error;
}
