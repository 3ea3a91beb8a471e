// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes a piece of code from a record: the tree of inlined methods, the places, and the names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "java/code/jvmcode_struct.h"
#include "java/files/jvmfile_state.h"
#include "java/code/jvmnames.h"

#define TEXTS_BYTES_MAX (1 << 20)
#define METHODS_MAX	4096 /* in one piece */
#define METHOD_BYTES	(JAVA_NAMES_BYTES + 4 * JAVA_SYMBOLS_TEXT_MAX + 8)
/* After the agent's start a compiler may still finish code that it began before: without the
 * agent's request it kept debug information only for some places. */
#define BEGINNING_NS 3000000000ULL

struct piece_cursor {
	const uint8_t *at, *end;
};

static int read_varint(struct piece_cursor *cursor, uint32_t *value)
{
	uint64_t sum = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		if (cursor->at >= cursor->end)
			return -EBADMSG;
		uint8_t byte = *cursor->at++;
		sum |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = (uint32_t)sum;
			return sum > UINT32_MAX ? -EBADMSG : 0;
		}
	}
	return -EBADMSG;
}

static int read_nodes(struct jvmcode_reading *reading, struct piece_cursor *cursor, uint32_t count)
{
	struct jvmscope *scopes = reading->scopes.scopes;

	for (uint32_t i = 0; i < count; i++) {
		int r = read_varint(cursor, &scopes[i].caller);

		if (r == 0)
			r = read_varint(cursor, &scopes[i].method);
		if (r == 0)
			r = read_varint(cursor, &scopes[i].line);
		if (r < 0)
			return r;
		/* Callers come first, so there are no cycles. */
		if (scopes[i].caller > i)
			return -EBADMSG;
	}
	reading->scopes.scopes_count = count;
	return 0;
}

static int read_places(struct jvmcode_reading *reading, struct piece_cursor *cursor, uint32_t count,
		       uint32_t size)
{
	struct jvmplace *places = reading->scopes.places;
	uint64_t pc = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t distance = 0, node = 0;
		int r = read_varint(cursor, &distance);

		if (r == 0)
			r = read_varint(cursor, &node);
		if (r < 0)
			return r;
		pc += distance;
		if (pc > size || !node || node > reading->scopes.scopes_count)
			return -EBADMSG;
		places[i] = (struct jvmplace){.pc = (uint32_t)pc, .scope = node};
	}
	reading->scopes.places_count = count;
	return 0;
}

static int read_tree(struct jvmcode_reading *reading, const struct java_record *record)
{
	uint32_t nodes = record->code.nodes, places = record->code.places;
	struct piece_cursor cursor = {record->code.data, (const uint8_t *)record + record->bytes};

	/* Each of them takes at least a byte. */
	if (nodes > record->bytes || places > record->bytes)
		return -EBADMSG;
	reading->scopes.scopes = calloc(nodes + 1, sizeof(*reading->scopes.scopes));
	reading->scopes.places = calloc(places + 1, sizeof(*reading->scopes.places));
	if (!reading->scopes.scopes || !reading->scopes.places)
		return -ENOMEM;
	int r = read_nodes(reading, &cursor, nodes);
	return r < 0 ? r : read_places(reading, &cursor, places, record->code.size);
}

/* ---- names ---- */

static struct jvmtext add_text(struct buf *texts, const struct jvmname *name)
{
	struct jvmtext text = {.at = (uint32_t)texts->len, .len = (uint16_t)name->len};

	if (name->len)
		buf_add(texts, name->text, name->len);
	return text;
}

/* Decodes a Symbol's text; a text that is no modified UTF-8 is shown as it is. */
static void decode_name(struct jvmname *name, const char *text, size_t len)
{
	if (jvmname_decode(name, (const uint8_t *)text, len) < 0)
		jvmname_text(name, text, len);
}

static int set_names(struct buf *texts, const struct java_record *record, struct jvmmethod *method)
{
	uint16_t lengths[] = {record->names.class_len, record->names.name_len,
			      record->names.signature_len, record->names.file_len};
	struct jvmname name, signature;
	const char *at = record->names.text;

	if ((size_t)JAVA_NAMES_BYTES + lengths[0] + lengths[1] + lengths[2] + lengths[3] >
	    record->bytes)
		return -EBADMSG;
	/* Lcom/acme/Main; */
	if (lengths[0] > 2 && at[0] == 'L' && at[lengths[0] - 1] == ';') {
		decode_name(&name, at + 1, lengths[0] - 2);
		jvmname_class(&name);
		method->class_name = add_text(texts, &name);
	}
	at += lengths[0];
	decode_name(&name, at, lengths[1]);
	method->name = add_text(texts, &name);
	at += lengths[1];
	decode_name(&name, at, lengths[2]);
	if (jvmname_signature(&signature, &name) == 0)
		method->signature = add_text(texts, &signature);
	at += lengths[2];
	if (lengths[3]) {
		decode_name(&name, at, lengths[3]);
		method->file = add_text(texts, &name);
	}
	return buf_error(texts);
}

static int read_method(struct jvmfile *file, struct jvmcode_reading *reading, uint32_t number)
{
	_cleanup_free_ struct java_record *record = NULL;
	uint32_t place = reading->methods_count;

	if (number >= file->methods_room || !file->methods[number])
		return -EBADMSG;
	record = malloc(METHOD_BYTES);
	if (!record)
		return -ENOMEM;
	int r = jvmfile_load(file, file->methods[number], record, METHOD_BYTES);
	if (r < 0)
		return r == -EAGAIN ? -ESTALE : r;
	if (record->kind != JAVA_METHOD || record->method != number ||
	    record->bytes < JAVA_NAMES_BYTES)
		return -ESTALE;
	r = set_names(&reading->texts, record, &reading->methods[place]);
	if (r == 0)
		reading->methods_count++;
	return r;
}

/* Replaces a method's number in the file by its place in the piece's list, in which each method is
 * once; reads the method if it is new. */
static int place_method(struct jvmfile *file, struct jvmcode_reading *reading, struct map *known,
			uint32_t *number)
{
	uint32_t *place;
	int r = map_put(known, number, (void **)&place);

	if (r < 0)
		return r == -ENOSPC ? -EBADMSG : r;
	if (r == 1) {
		*place = reading->methods_count;
		r = read_method(file, reading, *number);
		if (r < 0)
			return r;
	}
	*number = *place;
	return 0;
}

static int read_methods(struct jvmfile *file, struct jvmcode_reading *reading, uint32_t outermost)
{
	_cleanup_map_ struct map *known = NULL;

	reading->methods = calloc(METHODS_MAX, sizeof(*reading->methods));
	if (!reading->methods ||
	    map_new(&known, sizeof(uint32_t), sizeof(uint32_t), METHODS_MAX) < 0)
		return -ENOMEM;
	int r = place_method(file, reading, known, &outermost);
	for (uint32_t i = 0; r == 0 && i < reading->scopes.scopes_count; i++) {
		struct jvmscope *scope = &reading->scopes.scopes[i];

		r = place_method(file, reading, known, &scope->method);
		/* Each chain ends with the outermost method. */
		if (r == 0 && !scope->caller && scope->method)
			r = -EBADMSG;
	}
	return r;
}

static int read_stub(struct jvmcode_reading *reading, const struct java_record *record)
{
	uint32_t len = record->code.nodes;
	struct jvmname name;

	if (len > record->bytes - JAVA_CODE_BYTES)
		return -EBADMSG;
	reading->methods = calloc(1, sizeof(*reading->methods));
	if (!reading->methods)
		return -ENOMEM;
	jvmname_text(&name, (const char *)record->code.data, len);
	reading->methods[0].name = add_text(&reading->texts, &name);
	reading->methods_count = 1;
	return buf_error(&reading->texts);
}

int jvmfile_piece(struct jvmfile *file, const struct jvmfile_code *code,
		  const struct java_record *record, uint32_t id, struct jvmcode **ret)
{
	_cleanup_(jvmcode_reading_done) struct jvmcode_reading reading = {
		.texts = BUF_INIT(TEXTS_BYTES_MAX),
	};
	int r;

	reading.code.kind = code->kind == JAVA_STUB ? JVMCODE_STUB : JVMCODE_COMPILED;
	reading.code.id = id;
	reading.code.from = code->from;
	reading.code.to = code->to + 1; /* a call may be the last instruction */
	reading.code.is_told = true;
	reading.code.calls_nothing = code->flags & JAVA_CODE_NATIVE;
	reading.code.is_known_everywhere = !(code->flags & JAVA_CODE_BEFORE) &&
					   code->loaded_ns - file->began_ns > BEGINNING_NS;
	if (code->kind == JAVA_STUB) {
		r = read_stub(&reading, record);
	} else {
		r = read_tree(&reading, record);
		if (r == 0)
			r = read_methods(file, &reading, record->method);
	}
	return r < 0 ? r : jvmcode_make(ret, &reading);
}
