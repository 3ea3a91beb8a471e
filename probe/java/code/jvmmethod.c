// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/code/jvmmethod.h"

#include "java/code/jvmbytecodes.h"
#include "java/code/jvmnames.h"
#include "java/code/unsigned5.h"

#define POOL_ENTRY_BYTES   8
#define PAGE_BYTES	   4096
#define SYMBOL_GUESS_BYTES 128			   /* most Symbols are shorter */
#define SYMBOL_BYTES_MAX   (2 * JVMNAME_BYTES_MAX) /* more bytes than a name shows */

int jvmmethod_begin(struct jvmmethod_reading *method, struct jvm_reader *reader, uint64_t address)
{
	const struct jvm_layout *layout = reader->layout;
	const struct hotspot *walk = &layout->walk;
	struct jvm_span span = {0};

	jvm_span_want(&span, walk->method_const);
	jvm_span_want(&span, layout->method_access);
	int r = jvm_span_read(&span, reader, address);
	if (r < 0)
		return r;
	method->address = address;
	method->const_method = jvm_word(&span, walk->method_const);
	method->access = jvm_u2(&span, layout->method_access);
	method->head.bytes = walk->const_bytes;
	if (walk->const_bytes > JVM_SPAN_MAX)
		return -EBADMSG;
	r = jvm_span_read(&method->head, reader, method->const_method);
	if (r < 0)
		return r;
	method->pool = jvm_word(&method->head, walk->const_pool);
	method->name = jvm_u2(&method->head, walk->const_name);
	method->signature = jvm_u2(&method->head, walk->const_signature);
	method->code_size = jvm_u2(&method->head, walk->const_code_size);
	return 0;
}

uint32_t jvmmethod_id(const struct jvmmethod_reading *method)
{
	return hotspot_method_id(method->const_method, method->pool, method->name,
				 method->signature, method->code_size);
}

/* Returns the size of the table of lines, which reaches from the bytecodes' end to the
 * ConstMethod's. */
static size_t table_bytes(const struct jvmmethod_reading *method, const struct jvm_layout *layout)
{
	uint32_t flags = layout->const_flags_bytes == 2
				 ? jvm_u2(&method->head, layout->const_flags)
				 : (uint32_t)jvm_int(&method->head, layout->const_flags);
	uint64_t bytes = 8 * (uint64_t)(uint32_t)jvm_int(&method->head, layout->const_method_bytes);
	uint64_t before = layout->walk.const_bytes + method->code_size;

	if (!(flags & layout->const_has_lines) || bytes <= before)
		return 0;
	bytes -= before;
	return bytes < JVMMETHOD_TABLE_MAX ? (size_t)bytes : JVMMETHOD_TABLE_MAX;
}

int jvmmethod_read_code(struct jvmmethod_reading *method, struct jvm_reader *reader)
{
	const struct jvm_layout *layout = reader->layout;
	size_t table = table_bytes(method, layout), code = method->code_size;

	method->lines_count = 0;
	method->calls_nothing = false;
	int r = jvm_read(reader, method->const_method + layout->walk.const_bytes, method->bytes,
			 code + table);
	if (r < 0)
		return r;
	method->calls_nothing = jvmbytecodes_call_nothing(method->bytes, code, layout->version);
	method->lines_count =
		jvmlines_decode(method->lines, JVMMETHOD_TABLE_MAX, method->bytes + code, table,
				unsigned5_base(layout->version));
	return 0;
}

/* Reads a Symbol: in one read mostly, in two if the Symbol is long. */
static int read_symbol(struct jvm_reader *reader, uint64_t address, struct jvmname *name)
{
	const struct jvm_layout *layout = reader->layout;
	uint8_t bytes[SYMBOL_BYTES_MAX];
	size_t got = PAGE_BYTES - address % PAGE_BYTES, least = layout->symbol_body;
	uint16_t length;

	if (least < layout->symbol_length + sizeof(length))
		least = layout->symbol_length + sizeof(length);
	if (least > SYMBOL_GUESS_BYTES)
		return -EBADMSG;
	if (got > SYMBOL_GUESS_BYTES || got < least)
		got = got < least ? least : SYMBOL_GUESS_BYTES;
	int r = jvm_read(reader, address, bytes, got);
	if (r < 0)
		return r;
	memcpy(&length, bytes + layout->symbol_length, sizeof(length));
	if (layout->symbol_body + (size_t)length <= got)
		return jvmname_decode(name, bytes + layout->symbol_body, length);
	got = length < sizeof(bytes) ? length : sizeof(bytes);
	r = jvm_read(reader, address + layout->symbol_body, bytes, got);
	return r < 0 ? r : jvmname_decode(name, bytes, got);
}

/* Reads the Symbol in entry `number` of the constant pool. */
static int read_entry(struct jvm_reader *reader, uint64_t pool, uint16_t number,
		      struct jvmname *name)
{
	uint64_t symbol, at = pool + reader->layout->pool_bytes + number * POOL_ENTRY_BYTES;

	int r = jvm_read(reader, at, &symbol, sizeof(symbol));
	return r < 0 ? r : read_symbol(reader, symbol, name);
}

static struct jvmtext add_text(struct buf *texts, const struct jvmname *name)
{
	struct jvmtext text = {.at = (uint32_t)texts->len, .len = (uint16_t)name->len};

	if (name->len)
		buf_add(texts, name->text, name->len);
	return text;
}

static int read_class(struct jvm_reader *reader, uint64_t pool, struct buf *texts,
		      struct jvmmethod *names)
{
	const struct jvm_layout *layout = reader->layout;
	struct jvm_span head = {0}, holder = {0};
	struct jvmname name;

	jvm_span_want(&head, layout->pool_holder);
	jvm_span_want(&head, layout->pool_length);
	jvm_span_want(&head, layout->pool_source_file);
	int r = jvm_span_read(&head, reader, pool);
	if (r < 0)
		return r;
	jvm_span_want(&holder, layout->klass_name);
	jvm_span_want(&holder, layout->klass_source_file);
	r = jvm_span_read(&holder, reader, jvm_word(&head, layout->pool_holder));
	if (r == 0)
		r = read_symbol(reader, jvm_word(&holder, layout->klass_name), &name);
	if (r < 0)
		return r;
	jvmname_class(&name);
	names->class_name = add_text(texts, &name);
	uint16_t file = layout->pool_source_file == HOTSPOT_NO
				? jvm_u2(&holder, layout->klass_source_file)
				: jvm_u2(&head, layout->pool_source_file);
	/* The wrapper of a method handle has the number of an entry in another pool. */
	if (!file || file >= jvm_int(&head, layout->pool_length))
		return 0;
	r = read_entry(reader, pool, file, &name);
	if (r == 0)
		names->file = add_text(texts, &name);
	return r;
}

int jvmmethod_read_names(const struct jvmmethod_reading *method, struct jvm_reader *reader,
			 struct buf *texts, const struct jvmmethod *like, struct jvmmethod *names)
{
	struct jvmname name, signature;

	*names = (struct jvmmethod){0};
	if (like) {
		names->class_name = like->class_name;
		names->file = like->file;
	}
	int r = like ? 0 : read_class(reader, method->pool, texts, names);
	if (r < 0)
		return r;
	r = read_entry(reader, method->pool, method->name, &name);
	if (r < 0)
		return r;
	names->name = add_text(texts, &name);
	r = read_entry(reader, method->pool, method->signature, &name);
	if (r < 0)
		return r;
	if (jvmname_signature(&signature, &name) == 0)
		names->signature = add_text(texts, &signature);
	else if (name.len < JVMNAME_BYTES_MAX / 2) /* so short that it wasn't cut */
		return -EBADMSG;
	return buf_error(texts);
}
