/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by java/vm/hotspot*.c; only these include it. All functions run in a job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "java/vm/hotspot.h"

/* ---- java/vm/hotspot_memory.c ---- */

#define VM_PAGE_BYTES 4096
#define VM_PAGES      64 /* pages in the cache; a power of two */

/* Cache of a process's memory, by pages: texts and blocks lie close together. A page stays as it
 * was when it was read. */
struct vm_memory {
	const struct process_memory *of;
	uint64_t kept[VM_PAGES]; /* address + 1 of the page in each slot; 0: none */
	unsigned char pages[VM_PAGES][VM_PAGE_BYTES];
};

/* Read memory; return 0 or an errno of reading. */
int vm_read(struct vm_memory *memory, uint64_t address, void *to, size_t bytes);
int vm_word(struct vm_memory *memory, uint64_t address, uint64_t *word);
/* Reads an unsigned number of `bytes` bytes (1, 2, 4 or 8). */
int vm_number(struct vm_memory *memory, uint64_t address, unsigned bytes, uint64_t *to);

/* Reads a text with its NUL into `to`, cut to `bytes`. */
int vm_text(struct vm_memory *memory, uint64_t address, char *to, size_t bytes);

/* ---- java/vm/hotspot_fields.c ---- */

/* The fields that are taken from the tables. */
enum vm_field {
	FIELD_HEAPS,
	FIELD_HEAP, /* JDK 8: one heap for all code */
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
	FIELD_KLASSES, /* one of the classes that the VM itself knows */
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
	FIELD_BLOB_CODE_OFFSET, /* int, as the next fields */
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

/* The types whose sizes are taken, and the constants. */
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
	uint8_t bytes;	/* the field's size, by its type's name; 0: no plain number or pointer */
	uint64_t value; /* a field's offset, a static field's address, a size or a constant */
};

struct vm_tables {
	struct vm_value fields[FIELD_COUNT];
	struct vm_value sizes[SIZE_COUNT];
	struct vm_value constants[CONSTANT_COUNT];
};

/* Return a name like "CodeBlob._size", from the first of the field's rows. */
const char *vm_field_name(enum vm_field field);
const char *vm_size_name(enum vm_size size);

/* Returns whether fields of that type are taken. */
bool vm_is_type_wanted(const char *type);

/* Keep an entry of a table if it is wanted. `value` is a field's offset, or a static field's
 * address. */
void vm_take_field(struct vm_tables *tables, const char *type, const char *name,
		   const char *type_string, bool is_static, uint64_t value);
void vm_take_size(struct vm_tables *tables, const char *type, uint64_t bytes);
void vm_take_constant(struct vm_tables *tables, const char *name, int32_t value);

/* ---- java/vm/hotspot_tables.c ---- */

/* Reads the VM's tables. Returns 0; -EAGAIN if they aren't filled in yet; -EBADMSG if they are no
 * tables; or an errno of reading. */
int vm_tables(struct vm_memory *memory, const struct hotspot_file *file, uint64_t bias,
	      struct vm_tables *tables);

/* ---- java/vm/hotspot_layout.c ---- */

/* Fills in what doesn't depend on the process's memory. Returns 0, -ENOTSUP (*missing), or
 * -EBADMSG.
 */
int vm_layout(const struct vm_tables *tables, struct jvm_layout *layout, const char **missing);

/* ---- java/vm/hotspot_heaps.c ---- */

/* Fills in the code cache and the interpreter. Errors as hotspot_of_memory(). */
int vm_heaps(struct vm_memory *memory, const struct vm_tables *tables, struct jvm_layout *layout,
	     const char **missing);

/* Returns the heap that holds the address; NULL: none. */
const struct hotspot_heap *vm_heap_of(const struct hotspot *walk, uint64_t address);

/* ---- java/vm/hotspot_virtual.c ---- */

/* Fills in where a virtual thread's stack ends, if that is found. */
void vm_virtual(struct vm_memory *memory, const struct vm_tables *tables,
		struct jvm_layout *layout);

/* Sets [*from, *to) to the code of a blob. Returns 0; -EBADMSG if that makes no sense; or an errno
 * of reading. */
int vm_code_of(struct vm_memory *memory, const struct jvm_layout *layout, uint64_t blob,
	       uint64_t *from, uint64_t *to);

/* ---- java/vm/hotspot_carrier.c ---- */

/* Sets [*from, *to) to the code of Continuation.enterSpecial. Returns 0; or -ENOENT if the method
 * has no code yet or isn't found. */
int vm_carrier(struct vm_memory *memory, const struct vm_tables *tables,
	       const struct jvm_layout *layout, uint64_t *from, uint64_t *to);
