/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Protocol buffers' wire format, as far as messages of numbers, texts and messages need it. Fields
 * that are 0 or empty are left out, as its third version has it.
 *
 * Source: protobuf.dev, "Encoding".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PROTOBUF_VARINT_MAX 10 /* bytes */

void protobuf_varint(struct buf *out, uint64_t value);

/* A number (int64, uint64, bool). */
void protobuf_number(struct buf *out, uint32_t field, uint64_t value);

/* Texts, bytes, and messages that were written before. They are written even where empty. */
void protobuf_bytes(struct buf *out, uint32_t field, const void *bytes, size_t len);

/* The head alone of such a field; its `len` bytes are to follow. */
void protobuf_head(struct buf *out, uint32_t field, size_t len);
