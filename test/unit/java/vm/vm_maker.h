/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a process with a Java VM, made by hand: the tables of gHotSpotVMStructs as 8, 17,
 * 21 and 25 have them (what is wanted of them), a code cache with some blobs, a class with a
 * method. All of it lies in one run of memory, which begins at VM_AT.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "java/vm/hotspot.h"

#define VM_AT		0x7f1234560000
#define VM_BYTES	0x40000
#define VM_STRUCTS	(VM_AT + 0x1000) /* entries */
#define VM_TYPES	(VM_AT + 0x3000)
#define VM_INTS		(VM_AT + 0x4000)
#define VM_STATICS	(VM_AT + 0x5000) /* a page of variables */
#define VM_OBJECTS	(VM_AT + 0x6000) /* what they refer to, one each 0x100 bytes */
#define VM_TEXTS	(VM_AT + 0x8000)
#define VM_CODE		(VM_AT + 0x10000) /* two heaps side by side, and a third one apart */
#define VM_HEAP_BYTES	0x8000
#define VM_SHIFT	7

#define VM_STRUCT_BYTES 48
#define VM_TYPE_BYTES	40
#define VM_INT_BYTES	16

/* Objects, by number. */
enum vm_object {
	VM_ARRAY,
	VM_POINTERS,
	VM_HEAP_0,
	VM_HEAP_1,
	VM_HEAP_2,
	VM_QUEUE,
	VM_KLASS,
	VM_KLASS_NAME,
	VM_METHODS,
	VM_METHOD,
	VM_CONST,
	VM_POOL,
	VM_METHOD_NAME
};

#define VM_OBJECT(number) (VM_OBJECTS + (uint64_t)(number)*0x100)
#define VM_STATIC(number) (VM_STATICS + (uint64_t)(number)*8)

struct vm_row {
	const char *type, *field, *string;
	uint64_t value;
	bool is_static;
};

enum {
	STATIC_HEAPS,
	STATIC_CODE,
	STATIC_MAJOR,
	STATIC_MINOR,
	STATIC_SECURITY,
	STATIC_RELEASE,
	STATIC_KLASSES
};

/* What all of them have alike. */
static const struct vm_row vm_rows_all[] = {
	{"CodeHeap", "_memory", "VirtualSpace", 8, false},
	{"CodeHeap", "_segmap", "VirtualSpace", 64, false},
	{"CodeHeap", "_log2_segment_size", "int", 128, false},
	{"VirtualSpace", "_low", "char*", 16, false},
	{"VirtualSpace", "_low_boundary", "char*", 0, false},
	{"VirtualSpace", "_high_boundary", "char*", 8, false},
	{"AbstractInterpreter", "_code", "StubQueue*", VM_STATIC(STATIC_CODE), true},
	{"StubQueue", "_stub_buffer", "address", 8, false},
	{"StubQueue", "_buffer_limit", "int", 20, false},
	{"Abstract_VM_Version", "_vm_major_version", "int", VM_STATIC(STATIC_MAJOR), true},
	{"Abstract_VM_Version", "_vm_minor_version", "int", VM_STATIC(STATIC_MINOR), true},
	{"Abstract_VM_Version", "_vm_security_version", "int", VM_STATIC(STATIC_SECURITY), true},
	{"Abstract_VM_Version", "_s_vm_release", "const char*", VM_STATIC(STATIC_RELEASE), true},
	{"PcDesc", "_pc_offset", "int", 0, false},
	{"PcDesc", "_scope_decode_offset", "int", 4, false},
	{"PcDesc", "_flags", "int", 12, false},
	{"Method", "_constMethod", "ConstMethod*", 8, false},
	{"Method", "_access_flags", "AccessFlags", 40, false},
	{"Method", "_code", "nmethod*", 72, false},
	{"ConstMethod", "_constants", "ConstantPool*", 8, false},
	{"ConstMethod", "_constMethod_size", "int", 24, false},
	{"ConstMethod", "_code_size", "u2", 34, false},
	{"ConstMethod", "_name_index", "u2", 36, false},
	{"ConstMethod", "_signature_index", "u2", 38, false},
	{"ConstantPool", "_pool_holder", "InstanceKlass*", 24, false},
	{"ConstantPool", "_length", "int", 60, false},
	{"Klass", "_name", "Symbol*", 24, false},
	{"InstanceKlass", "_methods", "Array<Method*>*", 56, false},
	{"Array<Klass*>", "_length", "int", 0, false},
	{"Array<Method*>", "_data", NULL, 8, false},
	{"Symbol", "_length", "u2", 4, false},
	{"Symbol", "_body", NULL, 6, false},
	{"CodeBlob", "_name", "const char*", 8, false},
	{"CodeBlob", "_size", "int", 16, false},
	{"nmethod", "_compile_id", "int", 212, false},
	{"nmethod", "_orig_pc_offset", "int", 208, false},
	{"nmethod", "_scopes_pcs_offset", "int", 196, false},
	{"SomethingElse", "_of_no_interest", "int", 4, false},
};

static const struct vm_row vm_rows_8[] = {
	{"CodeCache", "_heap", "CodeHeap*", VM_STATIC(STATIC_HEAPS), true},
	{"ConstMethod", "_flags", "u2", 28, false},
	{"InstanceKlass", "_source_file_name_index", "u2", 258, false},
	{"CodeBlob", "_header_size", "int", 20, false},
	{"CodeBlob", "_frame_complete_offset", "int", 36, false},
	{"CodeBlob", "_code_offset", "int", 32, false},
	{"CodeBlob", "_data_offset", "int", 40, false},
	{"CodeBlob", "_frame_size", "int", 44, false},
	{"nmethod", "_method", "Method*", 64, false},
	{"nmethod", "_deoptimize_offset", "int", 148, false},
	{"nmethod", "_deoptimize_mh_offset", "int", 152, false},
	{"nmethod", "_scopes_data_offset", "int", 176, false},
	{"nmethod", "_dependencies_offset", "int", 184, false},
	{"nmethod", "_metadata_offset", "int", 172, false},
};

#define VM_SEGMENTED                                                                               \
	{"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", VM_STATIC(STATIC_HEAPS), true},       \
		{"GrowableArrayBase", "_len", "int", 0, false},                                    \
		{"GrowableArray<int>", "_data", "int*", 8, false},                                 \
		{"ImmutableOopMapSet", "_count", "int", 0, false},                                 \
		{"ImmutableOopMapPair", "_pc_offset", "int", 0, false},                            \
		{"CodeBlob", "_oop_maps", "ImmutableOopMapSet*", 56, false},                       \
		{"ConstantPool", "_source_file_name_index", "u2", 54, false},                      \
		{"vmClasses", "_klasses[static_cast<int>(vmClassID::Object_klass_knum)]",          \
		 "InstanceKlass*", VM_STATIC(STATIC_KLASSES), true},                               \
	{                                                                                          \
		"HeapBlock::Header", "_used", "bool", 4, false                                     \
	}

static const struct vm_row vm_rows_21[] = {
	VM_SEGMENTED,
	{"HeapBlock::Header", "_length", "uint32_t", 0, false},
	{"ConstMethod", "_flags._flags", "u4", 28, false},
	{"CodeBlob", "_header_size", "int", 76, false},
	{"CodeBlob", "_frame_complete_offset", "int", 80, false},
	{"CodeBlob", "_code_begin", "address", 24, false},
	{"CodeBlob", "_code_end", "address", 32, false},
	{"CodeBlob", "_data_offset", "int", 40, false},
	{"CodeBlob", "_frame_size", "int", 88, false},
	{"CompiledMethod", "_method", "Method*", 112, false},
	{"CompiledMethod", "_deopt_handler_begin", "address", 128, false},
	{"CompiledMethod", "_deopt_mh_handler_begin", "address", 136, false},
	{"CompiledMethod", "_scopes_data_begin", "address", 120, false},
	{"nmethod", "_dependencies_offset", "int", 184, false},
	{"nmethod", "_metadata_offset", "int", 172, false},
};

#define VM_APART                                                                                   \
	VM_SEGMENTED, {"HeapBlock::Header", "_length", "uint32_t", 0, false},                      \
		{"ConstMethod", "_flags._flags", "u4", 28, false},                                 \
		{"CodeBlob", "_header_size", "u2", 52, false},                                     \
		{"CodeBlob", "_frame_complete_offset", "int16_t", 54, false},                      \
		{"CodeBlob", "_code_offset", "int", 36, false},                                    \
		{"CodeBlob", "_data_offset", "int", 40, false},                                    \
		{"CodeBlob", "_frame_size", "int", 44, false},                                     \
		{"nmethod", "_method", "Method*", 80, false},                                      \
		{"nmethod", "_deopt_handler_offset", "int", 176, false},                           \
		{"nmethod", "_scopes_data_offset", "int", 200, false},                             \
		{"nmethod", "_immutable_data", "address", 96, false},                              \
	{                                                                                          \
		"nmethod", "_immutable_data_size", "int", 160, false                               \
	}

static const struct vm_row vm_rows_23[] = {
	VM_APART,
	{"nmethod", "_metadata_offset", "u2", 172, false},
};

static const struct vm_row vm_rows_25[] = {
	VM_APART,
	{"JavaThread", "_cont_entry", "ContinuationEntry*", 1560, false},
	{"CodeBlob", "_mutable_data", "address", 64, false},
	{"CodeBlob", "_mutable_data_size", "int", 48, false},
	{"CodeBlob", "_relocation_size", "int", 28, false},
};

/* As in its tables: an entry's fields, of one kind after the other. */
struct vm_type {
	const char *name;
	uint64_t bytes;
};

static const struct vm_type vm_types[] = {
	{"nmethod", 224}, {"HeapBlock", 8}, {"ConstMethod", 56}, {"ConstantPool", 72},
	{"PcDesc", 16},	  {"Method", 88},   {"CodeBlob", 64},
};

struct vm_made {
	uint8_t *bytes; /* VM_BYTES */
	uint64_t texts; /* the next one */
	size_t structs, types, ints;
	struct hotspot_file file;
	uint64_t reads;
};

static inline void *vm_at(struct vm_made *vm, uint64_t address)
{
	if (address < VM_AT || address - VM_AT > VM_BYTES - 8)
		abort();
	return vm->bytes + (address - VM_AT);
}

static inline void vm_put(struct vm_made *vm, uint64_t address, uint64_t word)
{
	memcpy(vm_at(vm, address), &word, sizeof(word));
}

static inline void vm_put_int(struct vm_made *vm, uint64_t address, uint32_t number)
{
	memcpy(vm_at(vm, address), &number, sizeof(number));
}

static inline void vm_put_short(struct vm_made *vm, uint64_t address, uint16_t number)
{
	memcpy(vm_at(vm, address), &number, sizeof(number));
}

static inline uint64_t vm_put_text(struct vm_made *vm, const char *text)
{
	uint64_t at = vm->texts;

	if (!text)
		return 0;
	memcpy(vm_at(vm, at), text, strlen(text) + 1);
	vm->texts += strlen(text) + 1;
	return at;
}

static inline int vm_read_made(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct vm_made *vm = arg;
	uint64_t at = address - VM_AT;

	vm->reads++;
	if (at > VM_BYTES || bytes > VM_BYTES - at)
		return -EFAULT;
	memcpy(to, vm->bytes + at, bytes);
	return 0;
}

/* ---- its tables ---- */

static inline void vm_add_row(struct vm_made *vm, const struct vm_row *row)
{
	uint64_t at = VM_STRUCTS + vm->structs++ * VM_STRUCT_BYTES;

	vm_put(vm, at, vm_put_text(vm, row->type));
	vm_put(vm, at + 8, vm_put_text(vm, row->field));
	vm_put(vm, at + 16, vm_put_text(vm, row->string));
	vm_put_int(vm, at + 24, row->is_static);
	vm_put(vm, at + 32, row->is_static ? 0 : row->value);
	vm_put(vm, at + 40, row->is_static ? row->value : 0);
}

static inline void vm_add_rows(struct vm_made *vm, const struct vm_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		vm_add_row(vm, &rows[i]);
}

/* Where the entry of a field is; 0: there is none. */
static inline uint64_t vm_entry(struct vm_made *vm, const char *type, const char *field)
{
	for (size_t i = 0; i < vm->structs; i++) {
		uint64_t at = VM_STRUCTS + i * VM_STRUCT_BYTES, names[2];

		memcpy(names, vm_at(vm, at), sizeof(names));
		if (strcmp(vm_at(vm, names[0]), type) == 0 &&
		    strcmp(vm_at(vm, names[1]), field) == 0)
			return at;
	}
	return 0;
}

static inline void vm_add_type(struct vm_made *vm, const char *name, uint64_t bytes)
{
	uint64_t at = VM_TYPES + vm->types++ * VM_TYPE_BYTES;

	vm_put(vm, at, vm_put_text(vm, name));
	vm_put(vm, at + 32, bytes);
}

static inline void vm_add_int(struct vm_made *vm, const char *name, int32_t value)
{
	uint64_t at = VM_INTS + vm->ints++ * VM_INT_BYTES;

	vm_put(vm, at, vm_put_text(vm, name));
	vm_put_int(vm, at + 8, (uint32_t)value);
}

/* The variables of libjvm that tell where the tables are. */
static inline void vm_make_symbols(struct vm_made *vm)
{
	static const uint64_t values[HOTSPOT_SYMBOL_COUNT] = {
		[HOTSPOT_STRUCTS] = VM_STRUCTS,	   [HOTSPOT_TYPES] = VM_TYPES,
		[HOTSPOT_INT_CONSTANTS] = VM_INTS, [HOTSPOT_STRUCT_STRIDE] = VM_STRUCT_BYTES,
		[HOTSPOT_STRUCT_FIELD_NAME] = 8,   [HOTSPOT_STRUCT_TYPE_STRING] = 16,
		[HOTSPOT_STRUCT_IS_STATIC] = 24,   [HOTSPOT_STRUCT_OFFSET] = 32,
		[HOTSPOT_STRUCT_ADDRESS] = 40,	   [HOTSPOT_TYPE_STRIDE] = VM_TYPE_BYTES,
		[HOTSPOT_TYPE_SIZE] = 32,	   [HOTSPOT_INT_STRIDE] = VM_INT_BYTES,
		[HOTSPOT_INT_VALUE] = 8,
	};

	for (size_t i = 0; i < HOTSPOT_SYMBOL_COUNT; i++) {
		vm->file.symbols[i] = 0x100 + i * 8; /* as linked */
		vm_put(vm, VM_AT + vm->file.symbols[i], values[i]);
	}
}

/* ---- what it has made ---- */

/* A heap's blocks: an interpreter, or nothing; the first one's stubs for virtual threads. */
static inline void vm_make_heap(struct vm_made *vm, enum vm_object object, uint64_t low)
{
	uint64_t at = VM_OBJECT(object);

	vm_put(vm, at + 8, low);
	vm_put(vm, at + 8 + 8, low + VM_HEAP_BYTES);
	vm_put(vm, at + 8 + 16, low);
	vm_put(vm, at + 64 + 16, VM_AT + 0x38000 + object * 0x400);
	vm_put_int(vm, at + 128, VM_SHIFT);
}

static inline void vm_make_symbol(struct vm_made *vm, uint64_t at, const char *text)
{
	vm_put_short(vm, at + 4, (uint16_t)strlen(text));
	memcpy(vm_at(vm, at + 6), text, strlen(text));
}

/* A blob behind its block's header of 8 bytes; where the code is has to be told by itself. */
static inline uint64_t vm_make_blob(struct vm_made *vm, uint64_t block, uint32_t segments,
				    const char *name)
{
	vm_put_int(vm, block, segments);
	vm_put_int(vm, block + 4, 1);
	vm_put(vm, block + 8 + 8, vm_put_text(vm, name));
	return block + 8;
}

#define VM_STUBS	     (VM_CODE + VM_HEAP_BYTES + (4 << VM_SHIFT)) /* in the second heap */
#define VM_STUBS_CODE	     (VM_STUBS + 0x80)
#define VM_BARRIER	     (VM_STUBS_CODE + 0x21)
#define VM_STUBS_END	     (VM_STUBS_CODE + 0x80)
#define VM_ENTER	     (VM_CODE + 0x1000 + 8) /* the nmethod of enterSpecial, in the first one */
#define VM_ENTER_CODE	     (VM_ENTER + 0xf8)
#define VM_ENTER_END	     (VM_ENTER + 0x180)
#define VM_INTERPRETER	     (VM_CODE + VM_HEAP_BYTES + 0x1000)
#define VM_INTERPRETER_BYTES 0x2000

static inline void vm_put_code(struct vm_made *vm, unsigned version, uint64_t blob, uint64_t from,
			       uint64_t to)
{
	if (version == 21) {
		vm_put(vm, blob + 24, from);
		vm_put(vm, blob + 32, to);
	} else {
		vm_put_int(vm, blob + 36, (uint32_t)(from - blob));
		vm_put_int(vm, blob + 40, (uint32_t)(to - blob));
	}
}

static inline void vm_make_virtual(struct vm_made *vm, unsigned version)
{
	static const uint8_t barrier[] = {0xc3, 0x49, 0x8b, 0xa7, 0x18, 0x06, 0x00, 0x00};
	uint64_t second = VM_CODE + VM_HEAP_BYTES;

	vm_make_blob(vm, second, 2, "flush_icache_stub");
	vm_put_int(vm, second + (2 << VM_SHIFT), 2); /* free */
	uint64_t stubs = vm_make_blob(vm, VM_STUBS, 8, "StubRoutines (continuation stubs)");
	vm_put_code(vm, version, stubs, VM_STUBS_CODE, VM_STUBS_END);
	memcpy(vm_at(vm, VM_BARRIER - 1), barrier, sizeof(barrier));
	vm_put_code(vm, version, VM_ENTER, VM_ENTER_CODE, VM_ENTER_END);
	vm_put_short(vm, VM_ENTER + (uint64_t)(version == 21 ? 76 : 52), 224);
	vm_put(vm, VM_STATIC(STATIC_KLASSES) + 3 * 8, VM_OBJECT(VM_KLASS));
	vm_put(vm, VM_OBJECT(VM_KLASS) + 24, VM_OBJECT(VM_KLASS_NAME));
	vm_put(vm, VM_OBJECT(VM_KLASS) + 56, VM_OBJECT(VM_METHODS));
	vm_make_symbol(vm, VM_OBJECT(VM_KLASS_NAME), "jdk/internal/vm/Continuation");
	vm_put_int(vm, VM_OBJECT(VM_METHODS), 2);
	vm_put(vm, VM_OBJECT(VM_METHODS) + 16, VM_OBJECT(VM_METHOD));
	vm_put(vm, VM_OBJECT(VM_METHOD) + 8, VM_OBJECT(VM_CONST));
	vm_put(vm, VM_OBJECT(VM_METHOD) + 72, VM_ENTER);
	vm_put(vm, VM_OBJECT(VM_CONST) + 8, VM_OBJECT(VM_POOL));
	vm_put_short(vm, VM_OBJECT(VM_CONST) + 36, 5);
	vm_put(vm, VM_OBJECT(VM_POOL) + 72 + 5 * 8, VM_OBJECT(VM_METHOD_NAME));
	vm_make_symbol(vm, VM_OBJECT(VM_METHOD_NAME), "enterSpecial");
}

static inline void vm_make_heaps(struct vm_made *vm, unsigned version)
{
	uint64_t pointers = VM_OBJECT(VM_POINTERS);

	vm_make_heap(vm, VM_HEAP_0, VM_CODE);
	vm_make_heap(vm, VM_HEAP_1, VM_CODE + VM_HEAP_BYTES);
	vm_make_heap(vm, VM_HEAP_2, VM_CODE + 4 * VM_HEAP_BYTES);
	vm_put(vm, pointers, VM_OBJECT(VM_HEAP_1)); /* not by address */
	vm_put(vm, pointers + 8, VM_OBJECT(VM_HEAP_0));
	vm_put(vm, pointers + 16, VM_OBJECT(VM_HEAP_2));
	vm_put_int(vm, VM_OBJECT(VM_ARRAY), 3);
	vm_put(vm, VM_OBJECT(VM_ARRAY) + 8, pointers);
	vm_put(vm, VM_STATIC(STATIC_HEAPS), VM_OBJECT(version == 8 ? VM_HEAP_1 : VM_ARRAY));
	vm_put(vm, VM_STATIC(STATIC_CODE), VM_OBJECT(VM_QUEUE));
	vm_put(vm, VM_OBJECT(VM_QUEUE) + 8, VM_INTERPRETER);
	vm_put_int(vm, VM_OBJECT(VM_QUEUE) + 20, VM_INTERPRETER_BYTES);
}

static inline void vm_make_rows(struct vm_made *vm, unsigned version)
{
#define VM_ADD(rows) vm_add_rows(vm, rows, sizeof(rows) / sizeof((rows)[0]))
	VM_ADD(vm_rows_all);
	if (version == 8)
		VM_ADD(vm_rows_8);
	else if (version == 21)
		VM_ADD(vm_rows_21);
	else if (version == 23)
		VM_ADD(vm_rows_23);
	else
		VM_ADD(vm_rows_25);
#undef VM_ADD
}

/* A VM of version 8, 21, 23 or 25; VM_AT is its bias. */
static inline void vm_make(struct vm_made *vm, unsigned version)
{
	*vm = (struct vm_made){.bytes = calloc(1, VM_BYTES), .texts = VM_TEXTS};
	if (!vm->bytes)
		abort();
	vm_make_symbols(vm);
	vm_make_rows(vm, version);
	for (size_t i = 0; i < sizeof(vm_types) / sizeof(vm_types[0]); i++)
		vm_add_type(vm, vm_types[i].name, vm_types[i].bytes);
	vm_add_int(vm, "frame::interpreter_frame_sender_sp_offset", -1);
	vm_add_int(vm,
		   version == 8 ? "ConstMethod::_has_linenumber_table"
				: "ConstMethodFlags::_misc_has_linenumber_table",
		   version == 8 ? 2 : 1);
	vm_put_int(vm, VM_STATIC(STATIC_MAJOR), version);
	vm_put_int(vm, VM_STATIC(STATIC_SECURITY), 7);
	vm_put(vm, VM_STATIC(STATIC_RELEASE), vm_put_text(vm, "25.402-b06"));
	vm_make_heaps(vm, version);
	if (version != 8)
		vm_make_virtual(vm, version);
}

static inline void vm_made_done(struct vm_made *vm)
{
	free(vm->bytes);
}
#define _cleanup_vm_ _cleanup_(vm_made_done)

static inline int vm_ask(struct vm_made *vm, struct jvm_layout *layout, const char **missing)
{
	const struct process_memory memory = {.read = vm_read_made, .arg = vm};

	vm->reads = 0;
	return hotspot_of_memory(&memory, &vm->file, VM_AT, layout, missing);
}
