/* SPDX-License-Identifier: GPL-2.0-only */
/* What java/vm/hotspot*.c share. Nobody else includes it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "java/vm/hotspot.h"

/* ---- java/vm/hotspot_memory.c ---- */

#define VM_PAGE_BYTES 4096
#define VM_PAGES      64 /* that are kept; a power of two */

/* A process's memory, of which the pages read last are kept: texts and blocks lie close together.
 * It is as it was when a page was read. */
struct vm_memory {
	const struct process_memory *of;
	uint64_t kept[VM_PAGES]; /* address + 1 of what is in that place; 0: nothing */
	unsigned char pages[VM_PAGES][VM_PAGE_BYTES];
};

int vm_read(struct vm_memory *memory, uint64_t address, void *to, size_t bytes);
int vm_word(struct vm_memory *memory, uint64_t address, uint64_t *word);
/* A number of `bytes` bytes (1, 2, 4 or 8), without its sign. */
int vm_number(struct vm_memory *memory, uint64_t address, unsigned bytes, uint64_t *to);

/* A text with its NUL, of which at most `bytes` - 1 are taken: a longer one is cut. */
int vm_text(struct vm_memory *memory, uint64_t address, char *to, size_t bytes);

/* ---- java/vm/hotspot_fields.c ---- */

/* What is wanted of the tables: fields. */
enum vm_field {
	FIELD_HEAPS,
	FIELD_HEAP, /* JDK 8: one for all */
	FIELD_HEAP_MEMORY,
	FIELD_HEAP_SEGMENTS,
	FIELD_HEAP_SHIFT,
	FIELD_SPACE_LOW,
	FIELD_SPACE_LOW_BOUNDARY,
	FIELD_SPACE_HIGH_BOUNDARY,
	FIELD_ARRAY_COUNT,
	FIELD_ARRAY_DATA,
	FIELD_BLOCK_LENGTH,
	FIELD_BLOCK_USED,
	FIELD_INTERPRETER,
	FIELD_QUEUE_BUFFER,
	FIELD_QUEUE_BYTES,
	FIELD_CONT_ENTRY,
	FIELD_KLASSES, /* those that the VM knows itself; one of them */
	FIELD_KLASS_METHODS,
	FIELD_METHODS_COUNT,
	FIELD_METHODS,
	FIELD_METHOD_CODE,
	FIELD_MAJOR,
	FIELD_MINOR,
	FIELD_SECURITY,
	FIELD_RELEASE,
	FIELD_BLOB_NAME,
	FIELD_BLOB_SIZE,
	FIELD_BLOB_HEADER,
	FIELD_BLOB_COMPLETE,
	FIELD_BLOB_FRAME_SIZE,
	FIELD_BLOB_CODE_BEGIN,	/* address */
	FIELD_BLOB_CODE_END,	/* address */
	FIELD_BLOB_CODE_OFFSET, /* int, as those below */
	FIELD_BLOB_DATA_OFFSET,
	FIELD_BLOB_RELOCATION_SIZE,
	FIELD_BLOB_MUTABLE,
	FIELD_BLOB_MUTABLE_SIZE,
	FIELD_BLOB_OOP_MAPS,
	FIELD_MAPS_COUNT,
	FIELD_MAP_PC,
	FIELD_MAPS_POINTERS,
	FIELD_MAPS_COUNT_OF_8,
	FIELD_MAP_PC_OF_8,
	FIELD_METHOD,
	FIELD_COMPILE_ID,
	FIELD_ORIG_PC,
	FIELD_DEOPT_BEGIN, /* address */
	FIELD_DEOPT_MH_BEGIN,
	FIELD_DEOPT_OFFSET, /* int */
	FIELD_DEOPT_MH_OFFSET,
	FIELD_SCOPES_PCS,
	FIELD_SCOPES_BEGIN,  /* address */
	FIELD_SCOPES_OFFSET, /* int */
	FIELD_DEPENDENCIES,
	FIELD_METADATA,
	FIELD_IMMUTABLE,
	FIELD_IMMUTABLE_SIZE,
	FIELD_PCDESC_PC,
	FIELD_PCDESC_SCOPE,
	FIELD_METHOD_CONST,
	FIELD_METHOD_ACCESS,
	FIELD_CONST_POOL,
	FIELD_CONST_FLAGS,
	FIELD_CONST_WORDS,
	FIELD_CONST_CODE_SIZE,
	FIELD_CONST_NAME,
	FIELD_CONST_SIGNATURE,
	FIELD_POOL_HOLDER,
	FIELD_POOL_LENGTH,
	FIELD_POOL_SOURCE,
	FIELD_KLASS_SOURCE,
	FIELD_KLASS_NAME,
	FIELD_SYMBOL_LENGTH,
	FIELD_SYMBOL_BODY,
	FIELD_COUNT
};

/* … sizes of types, and constants. */
enum vm_size {
	SIZE_NMETHOD,
	SIZE_BLOCK,
	SIZE_CONST_METHOD,
	SIZE_POOL,
	SIZE_PCDESC,
	SIZE_MAPS,
	SIZE_MAP,
	SIZE_COUNT
};

enum vm_constant { CONSTANT_LINES, CONSTANT_SENDER_SP, CONSTANT_COUNT };

struct vm_value {
	bool known;
	uint8_t bytes;	/* of the field, as its type is called; 0: not a plain number or pointer */
	uint64_t value; /* offset, or of a static one the address */
};

struct vm_tables {
	struct vm_value fields[FIELD_COUNT];
	struct vm_value sizes[SIZE_COUNT];
	struct vm_value constants[CONSTANT_COUNT];
};

/* "CodeBlob._size", as the first version that has it calls it. */
const char *vm_field_name(enum vm_field field);
const char *vm_size_name(enum vm_size size);

/* Whether a type has fields that are wanted. */
bool vm_is_type_wanted(const char *type);

/* An entry of a table, kept if it is wanted. `value`: an offset, or of a static field its address.
 */
void vm_take_field(struct vm_tables *tables, const char *type, const char *name,
		   const char *type_string, bool is_static, uint64_t value);
void vm_take_size(struct vm_tables *tables, const char *type, uint64_t bytes);
void vm_take_constant(struct vm_tables *tables, const char *name, int32_t value);

/* ---- java/vm/hotspot_tables.c ---- */

/* -EAGAIN: they are not filled in yet; -EBADMSG: no tables; or the errno of reading. */
int vm_tables(struct vm_memory *memory, const struct hotspot_file *file, uint64_t bias,
	      struct vm_tables *tables);

/* ---- java/vm/hotspot_layout.c ---- */

/* All that doesn't depend on what the process has made. -ENOTSUP (*missing), -EBADMSG. */
int vm_layout(const struct vm_tables *tables, struct jvm_layout *layout, const char **missing);

/* ---- java/vm/hotspot_heaps.c ---- */

/* The code cache, the interpreter. Errors as hotspot_of_memory(). */
int vm_heaps(struct vm_memory *memory, const struct vm_tables *tables, struct jvm_layout *layout,
	     const char **missing);

/* The heap that holds the address; NULL: none. */
const struct hotspot_heap *vm_heap_of(const struct hotspot *walk, uint64_t address);

/* ---- java/vm/hotspot_virtual.c ---- */

/* Where a virtual thread's stack ends, as far as that is found. */
void vm_virtual(struct vm_memory *memory, const struct vm_tables *tables,
		struct jvm_layout *layout);

/* The code of a blob. */
int vm_code_of(struct vm_memory *memory, const struct jvm_layout *layout, uint64_t blob,
	       uint64_t *from, uint64_t *to);

/* ---- java/vm/hotspot_carrier.c ---- */

/* The code of Continuation.enterSpecial. -ENOENT: it has none yet, or it isn't found. */
int vm_carrier(struct vm_memory *memory, const struct vm_tables *tables,
	       const struct jvm_layout *layout, uint64_t *from, uint64_t *to);
