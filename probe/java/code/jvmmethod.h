/* SPDX-License-Identifier: GPL-2.0-only */
/* A method of a Java VM: its names and its lines, read from its Method. */
#pragma once

#include "base/buf.h"
#include "java/code/jvmlines.h"
#include "java/code/jvmread.h"

/* A text in a piece of code's texts. */
struct jvmtext {
	uint32_t at;
	uint16_t len;
};

struct jvmmethod {
	struct jvmtext class_name, name, signature, file; /* len 0: none */
};

#define JVMMETHOD_TABLE_MAX (1 << 16) /* bytes of a table of lines */

/* A method while it is read. */
struct jvmmethod_reading {
	uint64_t address, const_method, pool;
	uint16_t name, signature, code_size, access;
	struct jvm_span head;  /* its ConstMethod */
	struct jvmline *lines; /* room for JVMMETHOD_TABLE_MAX, the caller's */
	size_t lines_count;
	bool calls_nothing;
	uint8_t *bytes; /* room for the bytecodes and the table, the caller's */
};

#define JVMMETHOD_BYTES (UINT16_MAX + JVMMETHOD_TABLE_MAX)

static inline bool jvmmethod_is_native(const struct jvmmethod_reading *method)
{
	return method->access & 0x100;
}

/* What is there at `address`, but for names and lines. */
int jvmmethod_begin(struct jvmmethod_reading *method, struct jvm_reader *reader, uint64_t address);

/* hotspot_method_id() */
uint32_t jvmmethod_id(const struct jvmmethod_reading *method);

/* Its lines, and whether it calls anything. */
int jvmmethod_read_code(struct jvmmethod_reading *method, struct jvm_reader *reader);

/* Its names, added to `texts`; where `like` isn't NULL, it is of the same class, whose names are
 * taken. */
int jvmmethod_read_names(const struct jvmmethod_reading *method, struct jvm_reader *reader,
			 struct buf *texts, const struct jvmmethod *like, struct jvmmethod *names);
