// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/code/jvmcode_struct.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "java/code/jvmnames.h"

#define READ_BYTES_MAX	(4 << 20) /* read for one piece of code */
#define TEXTS_BYTES_MAX (1 << 20)

static int read_stub(struct jvmcode_reading *reading)
{
	char text[JVMBLOB_NAME_MAX];
	struct jvmname name;

	long got = jvmblob_name(&reading->blob, &reading->reader, text);
	if (got < 0)
		return (int)got;
	jvmname_text(&name, text, (size_t)got);
	reading->methods[0].name = (struct jvmtext){.len = (uint16_t)name.len};
	reading->methods_count = 1;
	if (name.len)
		buf_add(&reading->texts, name.text, name.len);
	return buf_error(&reading->texts);
}

static int read_blob(struct jvmcode_reading *reading, uint64_t word, uint64_t detail)
{
	struct jvmblob *blob = &reading->blob;
	struct jvmcode *code = &reading->code;

	int r = jvmblob_find(blob, &reading->reader, word & FRAME_ADDRESS);
	if (r < 0)
		return r;
	if (blob->id != (uint32_t)detail)
		return -ESTALE;
	code->id = blob->id;
	code->from = blob->code;
	code->to = blob->code_end + 1; /* a call may be the last instruction */
	code->kind = blob->is_nmethod ? JVMCODE_COMPILED : JVMCODE_STUB;
	r = blob->is_nmethod ? jvmcode_read_compiled(reading) : read_stub(reading);
	return r < 0 ? r : jvmblob_check(blob, &reading->reader);
}

static int read_interpreted(struct jvmcode_reading *reading, uint64_t word, uint64_t detail)
{
	struct jvmmethod_reading *method = &reading->method, again;
	uint64_t address = word & FRAME_ADDRESS;

	int r = jvmmethod_begin(method, &reading->reader, address);
	if (r < 0)
		return r;
	if (jvmmethod_id(method) != (uint32_t)detail)
		return -ESTALE;
	r = jvmmethod_read_code(method, &reading->reader);
	if (r == 0)
		r = jvmmethod_read_names(method, &reading->reader, &reading->texts, NULL,
					 &reading->methods[0]);
	if (r == 0)
		r = jvmmethod_begin(&again, &reading->reader, address);
	if (r < 0)
		return r;
	if (jvmmethod_id(&again) != (uint32_t)detail)
		return -ESTALE;
	reading->methods_count = 1;
	reading->code.lines_count = (uint32_t)method->lines_count;
	reading->code.id = (uint32_t)detail;
	reading->code.kind = JVMCODE_INTERPRETED;
	reading->code.from = address;
	reading->code.to = address + 1;
	return 0;
}

/* Copies the next part of the block to *to and moves *to behind it; returns the copy. */
static void *put_part(uint8_t **to, const void *from, size_t bytes)
{
	void *at = *to;

	if (bytes)
		memcpy(at, from, bytes);
	*to += (bytes + 7) & ~(size_t)7;
	return at;
}

int jvmcode_make(struct jvmcode **ret, const struct jvmcode_reading *reading)
{
	const struct jvmscopes *scopes = &reading->scopes;
	size_t places = scopes->places_count * sizeof(*scopes->places);
	size_t scopes_bytes = scopes->scopes_count * sizeof(*scopes->scopes);
	size_t methods = reading->methods_count * sizeof(*reading->methods);
	size_t lines = reading->code.lines_count * sizeof(struct jvmline);
	size_t bytes = sizeof(struct jvmcode) + places + scopes_bytes + methods + lines +
		       reading->texts.len + 5 * 8;
	struct jvmcode *code = malloc(bytes);

	if (!code)
		return -ENOMEM;
	uint8_t *behind = (uint8_t *)(code + 1);
	*code = reading->code;
	code->refs = 1;
	code->bytes = (uint32_t)bytes;
	code->places_count = scopes->places_count;
	code->scopes_count = scopes->scopes_count;
	code->methods_count = reading->methods_count;
	code->places = put_part(&behind, scopes->places, places);
	code->scopes = put_part(&behind, scopes->scopes, scopes_bytes);
	code->methods = put_part(&behind, reading->methods, methods);
	code->lines = put_part(&behind, reading->method.lines, lines);
	code->texts = put_part(&behind, reading->texts.data, reading->texts.len);
	*ret = code;
	return 0;
}

void jvmcode_reading_done(struct jvmcode_reading *reading)
{
	free(reading->scopes.places);
	free(reading->scopes.scopes);
	free(reading->methods);
	free(reading->pools);
	free(reading->method.lines);
	free(reading->method.bytes);
	buf_done(&reading->texts);
}

int jvmcode_read(struct jvmcode **ret, const struct jvm_layout *layout,
		 const struct process_memory *memory, uint64_t word, uint64_t detail)
{
	_cleanup_(jvmcode_reading_done) struct jvmcode_reading reading = {
		.reader = {.layout = layout, .memory = memory, .left = READ_BYTES_MAX},
		.texts = BUF_INIT(TEXTS_BYTES_MAX),
	};

	reading.methods = calloc(1, sizeof(*reading.methods));
	reading.method.lines = malloc(JVMMETHOD_TABLE_MAX * sizeof(*reading.method.lines));
	reading.method.bytes = malloc(JVMMETHOD_BYTES);
	if (!reading.methods || !reading.method.lines || !reading.method.bytes)
		return -ENOMEM;
	int r = word >> FRAME_KIND_SHIFT == FRAME_JAVA_METHOD
			? read_interpreted(&reading, word, detail)
			: read_blob(&reading, word, detail);
	return r < 0 ? r : jvmcode_make(ret, &reading);
}

int jvmcode_check(const struct jvm_layout *layout, const struct process_memory *memory,
		  uint64_t word, uint64_t detail, uint64_t *from, uint64_t *to)
{
	struct jvm_reader reader = {.layout = layout, .memory = memory, .left = READ_BYTES_MAX};
	struct jvmblob blob = {0};
	int r = jvmblob_find(&blob, &reader, word & FRAME_ADDRESS);

	if (r < 0)
		return r;
	*from = blob.code;
	*to = blob.code_end;
	return blob.id == (uint32_t)detail ? 0 : -ESTALE;
}
