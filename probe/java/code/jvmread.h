/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounded reader of a Java VM's memory, and access to fields of its structs by the layout's
 * offsets.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "proc/process_memory.h"
#include "java/vm/jvmlayout.h"

#define JVM_READ_COST 64 /* bytes that each call costs, beside those that it reads */

struct jvm_reader {
	const struct jvm_layout *layout;
	const struct process_memory *memory;
	size_t left; /* bytes that may still be read */
};

/* Reads memory. Returns 0; -EBADMSG if that would be too much; or an errno of reading. */
static inline int jvm_read(struct jvm_reader *reader, uint64_t address, void *to, size_t bytes)
{
	if (bytes + JVM_READ_COST > reader->left)
		return -EBADMSG;
	reader->left -= bytes + JVM_READ_COST;
	return reader->memory->read(reader->memory->arg, address, to, bytes);
}

/* A copy of the begin of a struct. A field behind `bytes` reads as 0. */
#define JVM_SPAN_MAX 512
struct jvm_span {
	uint8_t data[JVM_SPAN_MAX];
	size_t bytes;
};

/* Lengthens the span if need be, so that it holds a field of 8 bytes at `at`. */
static inline void jvm_span_want(struct jvm_span *span, uint16_t at)
{
	if (at <= JVM_SPAN_MAX - 8 && at + 8U > span->bytes)
		span->bytes = at + 8U;
}

static inline int jvm_span_read(struct jvm_span *span, struct jvm_reader *reader, uint64_t address)
{
	return jvm_read(reader, address, span->data, span->bytes);
}

static inline uint64_t jvm_word(const struct jvm_span *span, uint16_t at)
{
	uint64_t word = 0;

	if (at + sizeof(word) <= span->bytes)
		memcpy(&word, span->data + at, sizeof(word));
	return word;
}

static inline int32_t jvm_int(const struct jvm_span *span, uint16_t at)
{
	int32_t value = 0;

	if (at + sizeof(value) <= span->bytes)
		memcpy(&value, span->data + at, sizeof(value));
	return value;
}

static inline uint16_t jvm_u2(const struct jvm_span *span, uint16_t at)
{
	uint16_t value = 0;

	if (at + sizeof(value) <= span->bytes)
		memcpy(&value, span->data + at, sizeof(value));
	return value;
}
