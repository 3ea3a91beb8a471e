/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encoder of the protocol buffers' wire format, for messages of numbers, texts and messages. Errors
 * stick to `out` (buf_error()).
 *
 * Source: protobuf.dev, "Encoding".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PROTOBUF_VARINT_MAX 10 /* bytes */

/* Adds a varint without a field. */
void protobuf_varint(struct buf *out, uint64_t value);

/* Adds a field with a number (int64, uint64, bool); a 0 is left out, as in proto3. */
void protobuf_number(struct buf *out, uint32_t field, uint64_t value);

/* Adds a field with text, bytes or an encoded message; an empty one is added too. */
void protobuf_bytes(struct buf *out, uint32_t field, const void *bytes, size_t len);

/* Adds the head alone of such a field; the caller adds its `len` bytes. */
void protobuf_head(struct buf *out, uint32_t field, size_t len);
