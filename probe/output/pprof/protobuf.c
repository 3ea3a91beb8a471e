// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/pprof/protobuf.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

void protobuf_varint(struct buf *out, uint64_t value)
{
	char *at = buf_reserve(out, PROTOBUF_VARINT_MAX);
	size_t len = 0;

	if (!at)
		return;
	for (; value >= 0x80; value >>= 7)
		at[len++] = (char)(value | 0x80);
	at[len++] = (char)value;
	out->len += len;
}

void protobuf_number(struct buf *out, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	protobuf_varint(out, field << 3 | WIRE_VARINT);
	protobuf_varint(out, value);
}

void protobuf_head(struct buf *out, uint32_t field, size_t len)
{
	protobuf_varint(out, field << 3 | WIRE_BYTES);
	protobuf_varint(out, len);
}

void protobuf_bytes(struct buf *out, uint32_t field, const void *bytes, size_t len)
{
	protobuf_head(out, field, len);
	buf_add(out, bytes, len);
}
