/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader for a Java method's names and lines, from the VM's Method. Runs in a job. Functions return
 * 0, or a negative errno: -EBADMSG if the data makes no sense or is too much; an errno of reading.
 */
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
	struct jvm_span head;  /* the begin of the ConstMethod */
	struct jvmline *lines; /* the caller's buffer, for JVMMETHOD_TABLE_MAX lines */
	size_t lines_count;
	bool calls_nothing;
	uint8_t *bytes; /* the caller's buffer of JVMMETHOD_BYTES, for bytecodes and table */
};

#define JVMMETHOD_BYTES (UINT16_MAX + JVMMETHOD_TABLE_MAX)

static inline bool jvmmethod_is_native(const struct jvmmethod_reading *method)
{
	return method->access & 0x100;
}

/* Reads the Method at `address`, without names and lines. */
int jvmmethod_begin(struct jvmmethod_reading *method, struct jvm_reader *reader, uint64_t address);

/* Returns the method's hotspot_method_id(). */
uint32_t jvmmethod_id(const struct jvmmethod_reading *method);

/* Reads the lines, and sets calls_nothing. */
int jvmmethod_read_code(struct jvmmethod_reading *method, struct jvm_reader *reader);

/* Reads the names and adds them to `texts`. `like` is a method of the same class, whose class and
 * file are taken; or NULL. Also returns -ENOMEM, -ENOSPC. */
int jvmmethod_read_names(const struct jvmmethod_reading *method, struct jvm_reader *reader,
			 struct buf *texts, const struct jvmmethod *like, struct jvmmethod *names);
