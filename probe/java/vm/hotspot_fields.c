// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of the fields, sizes and constants that are taken from the VM's tables, for each version.
 *
 * Source: OpenJDK's src/hotspot/share/runtime/vmStructs.cpp, of 8 to 25.
 */
#include <string.h>

#include "base/cleanup.h"
#include "java/vm/hotspot_state.h"

/* A name under which a version of the VM has a field. A field may have several rows. */
struct field_row {
	enum vm_field field;
	bool is_static;
	const char *type, *name;
	const char *whole;
	uint8_t further; /* bytes to add to the value */
};

#define OF(id, type, name)                                                                         \
	{                                                                                          \
		FIELD_##id, false, type, name, type "." name, 0                                    \
	}
#define STATIC(id, type, name)                                                                     \
	{                                                                                          \
		FIELD_##id, true, type, name, type "." name, 0                                     \
	}

static const struct field_row field_rows[] = {
	STATIC(HEAPS, "CodeCache", "_heaps"),
	STATIC(HEAP, "CodeCache", "_heap"),
	OF(HEAP_MEMORY, "CodeHeap", "_memory"),
	OF(HEAP_SEGMENTS, "CodeHeap", "_segmap"),
	OF(HEAP_SHIFT, "CodeHeap", "_log2_segment_size"),
	OF(SPACE_LOW, "VirtualSpace", "_low"),
	OF(SPACE_LOW_BOUNDARY, "VirtualSpace", "_low_boundary"),
	OF(SPACE_HIGH_BOUNDARY, "VirtualSpace", "_high_boundary"),
	OF(ARRAY_COUNT, "GrowableArrayBase", "_len"),
	OF(ARRAY_COUNT, "GenericGrowableArray", "_len"),
	OF(ARRAY_DATA, "GrowableArray<int>", "_data"),
	OF(BLOCK_LENGTH, "HeapBlock::Header", "_length"),
	OF(BLOCK_USED, "HeapBlock::Header", "_used"),
	STATIC(INTERPRETER, "AbstractInterpreter", "_code"),
	OF(QUEUE_BUFFER, "StubQueue", "_stub_buffer"),
	OF(QUEUE_BYTES, "StubQueue", "_buffer_limit"),
	STATIC(KLASSES, "vmClasses", "_klasses[static_cast<int>(vmClassID::Object_klass_knum)]"),
	OF(KLASS_METHODS, "InstanceKlass", "_methods"),
	OF(METHODS_COUNT, "Array<Klass*>", "_length"),
	OF(METHODS, "Array<Method*>", "_data"),
	OF(METHOD_CODE, "Method", "_code"),
	OF(CONT_ENTRY, "JavaThread", "_cont_entry"),
	STATIC(MAJOR, "Abstract_VM_Version", "_vm_major_version"),
	STATIC(MINOR, "Abstract_VM_Version", "_vm_minor_version"),
	STATIC(SECURITY, "Abstract_VM_Version", "_vm_security_version"),
	STATIC(RELEASE, "Abstract_VM_Version", "_s_vm_release"),
	OF(BLOB_NAME, "CodeBlob", "_name"),
	OF(BLOB_SIZE, "CodeBlob", "_size"),
	OF(BLOB_HEADER, "CodeBlob", "_header_size"),
	OF(BLOB_COMPLETE, "CodeBlob", "_frame_complete_offset"),
	OF(BLOB_FRAME_SIZE, "CodeBlob", "_frame_size"),
	OF(BLOB_CODE_BEGIN, "CodeBlob", "_code_begin"),
	OF(BLOB_CODE_END, "CodeBlob", "_code_end"),
	OF(BLOB_CODE_OFFSET, "CodeBlob", "_code_offset"),
	OF(BLOB_DATA_OFFSET, "CodeBlob", "_data_offset"),
	OF(BLOB_RELOCATION_SIZE, "CodeBlob", "_relocation_size"),
	OF(BLOB_MUTABLE, "CodeBlob", "_mutable_data"),
	OF(BLOB_MUTABLE_SIZE, "CodeBlob", "_mutable_data_size"),
	OF(BLOB_OOP_MAPS, "CodeBlob", "_oop_maps"),
	OF(MAPS_COUNT, "ImmutableOopMapSet", "_count"),
	OF(MAP_PC, "ImmutableOopMapPair", "_pc_offset"),
	OF(MAPS_POINTERS, "OopMapSet", "_om_data"),
	OF(MAPS_COUNT_OF_8, "OopMapSet", "_om_count"),
	OF(MAP_PC_OF_8, "OopMap", "_pc_offset"),
	OF(METHOD, "nmethod", "_method"),
	OF(METHOD, "CompiledMethod", "_method"),
	OF(COMPILE_ID, "nmethod", "_compile_id"),
	OF(ORIG_PC, "nmethod", "_orig_pc_offset"),
	OF(DEOPT_BEGIN, "CompiledMethod", "_deopt_handler_begin"),
	OF(DEOPT_MH_BEGIN, "CompiledMethod", "_deopt_mh_handler_begin"),
	OF(DEOPT_OFFSET, "nmethod", "_deopt_handler_offset"),
	OF(DEOPT_OFFSET, "nmethod", "_deopt_handler_entry_offset"),
	OF(DEOPT_OFFSET, "nmethod", "_deoptimize_offset"),
	OF(DEOPT_MH_OFFSET, "nmethod", "_deopt_mh_handler_offset"),
	OF(DEOPT_MH_OFFSET, "nmethod", "_deoptimize_mh_offset"),
	OF(SCOPES_PCS, "nmethod", "_scopes_pcs_offset"),
	OF(SCOPES_BEGIN, "CompiledMethod", "_scopes_data_begin"),
	OF(SCOPES_OFFSET, "nmethod", "_scopes_data_offset"),
	OF(DEPENDENCIES, "nmethod", "_dependencies_offset"),
	OF(METADATA, "nmethod", "_metadata_offset"),
	OF(IMMUTABLE, "nmethod", "_immutable_data"),
	OF(IMMUTABLE_SIZE, "nmethod", "_immutable_data_size"),
	OF(PCDESC_PC, "PcDesc", "_pc_offset"),
	OF(PCDESC_SCOPE, "PcDesc", "_scope_decode_offset"),
	OF(METHOD_CONST, "Method", "_constMethod"),
	OF(METHOD_ACCESS, "Method", "_access_flags"),
	OF(CONST_POOL, "ConstMethod", "_constants"),
	OF(CONST_FLAGS, "ConstMethod", "_flags"),
	OF(CONST_FLAGS, "ConstMethod", "_flags._flags"),
	OF(CONST_WORDS, "ConstMethod", "_constMethod_size"),
	OF(CONST_CODE_SIZE, "ConstMethod", "_code_size"),
	OF(CONST_NAME, "ConstMethod", "_name_index"),
	OF(CONST_SIGNATURE, "ConstMethod", "_signature_index"),
	OF(POOL_HOLDER, "ConstantPool", "_pool_holder"),
	OF(POOL_LENGTH, "ConstantPool", "_length"),
	OF(POOL_SOURCE, "ConstantPool", "_source_file_name_index"),
	OF(KLASS_SOURCE, "InstanceKlass", "_source_file_name_index"),
	OF(KLASS_NAME, "Klass", "_name"),
	OF(SYMBOL_LENGTH, "Symbol", "_length"),
	/* 12 and 13: the upper half */
	{FIELD_SYMBOL_LENGTH, false, "Symbol", "_length_and_refcount",
	 "Symbol._length_and_refcount", 2},
	OF(SYMBOL_BODY, "Symbol", "_body"),
	OF(SYMBOL_BODY, "Symbol", "_body[0]"),
};

static const char *const size_names[] = {
	[SIZE_NMETHOD] = "nmethod",
	[SIZE_BLOCK] = "HeapBlock",
	[SIZE_CONST_METHOD] = "ConstMethod",
	[SIZE_POOL] = "ConstantPool",
	[SIZE_PCDESC] = "PcDesc",
	[SIZE_MAPS] = "ImmutableOopMapSet",
	[SIZE_MAP] = "ImmutableOopMapPair",
};

static const struct {
	enum vm_constant constant;
	const char *name;
} constant_rows[] = {
	{CONSTANT_LINES, "ConstMethod::_has_linenumber_table"},
	{CONSTANT_LINES, "ConstMethodFlags::_misc_has_linenumber_table"},
	{CONSTANT_SENDER_SP, "frame::interpreter_frame_sender_sp_offset"},
};

const char *vm_field_name(enum vm_field field)
{
	for (size_t i = 0; i < ARRAY_SIZE(field_rows); i++) {
		if (field_rows[i].field == field)
			return field_rows[i].whole;
	}
	return "";
}

const char *vm_size_name(enum vm_size size)
{
	return size_names[size];
}

bool vm_is_type_wanted(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(field_rows); i++) {
		if (strcmp(field_rows[i].type, type) == 0)
			return true;
	}
	return false;
}

/* Returns the size of a field of that type; 0 if that isn't known. */
static uint8_t bytes_of(const char *type)
{
	static const struct {
		const char *name;
		uint8_t bytes;
	} types[] = {
		{"u1", 1},	 {"bool", 1},	  {"unsigned char", 1}, {"u2", 2},
		{"int16_t", 2},	 {"uint16_t", 2}, {"jushort", 2},	{"unsigned short", 2},
		{"int", 4},	 {"jint", 4},	  {"uint", 4},		{"juint", 4},
		{"u4", 4},	 {"int32_t", 4},  {"uint32_t", 4},	{"unsigned int", 4},
		{"size_t", 8},	 {"address", 8},  {"intptr_t", 8},	{"uintptr_t", 8},
		{"uint64_t", 8},
	};
	size_t len = strlen(type);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(type, types[i].name) == 0)
			return types[i].bytes;
	}
	return len && type[len - 1] == '*' ? 8 : 0;
}

void vm_take_field(struct vm_tables *tables, const char *type, const char *name,
		   const char *type_string, bool is_static, uint64_t value)
{
	for (size_t i = 0; i < ARRAY_SIZE(field_rows); i++) {
		const struct field_row *row = &field_rows[i];

		if (row->is_static != is_static || strcmp(row->name, name) != 0 ||
		    strcmp(row->type, type) != 0)
			continue;
		tables->fields[row->field] =
			(struct vm_value){true, bytes_of(type_string), value + row->further};
	}
}

void vm_take_size(struct vm_tables *tables, const char *type, uint64_t bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(size_names); i++) {
		if (strcmp(size_names[i], type) == 0)
			tables->sizes[i] = (struct vm_value){true, 8, bytes};
	}
}

void vm_take_constant(struct vm_tables *tables, const char *name, int32_t value)
{
	for (size_t i = 0; i < ARRAY_SIZE(constant_rows); i++) {
		if (strcmp(constant_rows[i].name, name) == 0)
			tables->constants[constant_rows[i].constant] =
				(struct vm_value){true, 4, (uint64_t)(int64_t)value};
	}
}
