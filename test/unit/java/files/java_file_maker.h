/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes java-symbols.bin as the agent does (jvm_agent/format.h). */
#pragma once

#include "unit/lib/folder.h"

#include "base/buf.h"
#include "loop/loop.h"
#include "jvm_agent/format.h"

static inline void maker_begin(struct buf *out, uint32_t rewrites)
{
	struct java_symbols_header header = {
		.magic = JAVA_SYMBOLS_MAGIC,
		.version = JAVA_SYMBOLS_VERSION,
		.bytes = sizeof(header),
		.pid = 7,
		.rewrites = rewrites,
		.began_ns = 1,
	};

	buf_add(out, &header, sizeof(header));
}

/* From `begin` on it is a record: its length and its check. */
static inline void maker_end(struct buf *out, size_t begin)
{
	while ((out->len - begin) % 8)
		buf_char(out, '\0');
	struct java_record *record = (struct java_record *)(out->data + begin);
	record->bytes = (uint32_t)(out->len - begin);
	record->check = java_record_check(record, record->bytes);
}

static inline void maker_method(struct buf *out, uint32_t number, const char *class,
				const char *name, const char *signature, const char *file)
{
	struct java_record head = {.kind = JAVA_METHOD, .method = number};
	size_t begin = out->len;

	head.names.class_len = (uint16_t)strlen(class);
	head.names.name_len = (uint16_t)strlen(name);
	head.names.signature_len = (uint16_t)strlen(signature);
	head.names.file_len = (uint16_t)strlen(file);
	buf_add(out, &head, JAVA_NAMES_BYTES);
	buf_str(out, class);
	buf_str(out, name);
	buf_str(out, signature);
	buf_str(out, file);
	maker_end(out, begin);
}

/* `data`: nodes and places, numbers below 128. */
static inline void maker_code(struct buf *out, uint16_t kind, uint16_t flags, uint32_t method,
			      uint64_t time_ns, uint64_t address, uint32_t size, uint32_t nodes,
			      uint32_t places, const char *data, size_t bytes)
{
	struct java_record head = {
		.kind = kind, .flags = flags, .method = method, .time_ns = time_ns};
	size_t begin = out->len;

	head.code.address = address;
	head.code.size = size;
	head.code.nodes = nodes;
	head.code.places = places;
	buf_add(out, &head, JAVA_CODE_BYTES);
	buf_add(out, data, bytes);
	maker_end(out, begin);
}

static inline void maker_unload(struct buf *out, uint64_t address, uint64_t time_ns)
{
	maker_code(out, JAVA_UNLOAD, 0, 0, time_ns, address, 0, 0, 0, "", 0);
}
