/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the memory of a Java VM: methods and compiled code, by a layout of its own. */
#pragma once

#include "unit/lib/unit.h"

#include "bpf/shared/sample.h"
#include "proc/process_memory.h"
#include "java/code/jvmcode.h"

#define JVM_AT	       0x7f0000000000
#define JVM_BYTES      (1 << 20)
#define JVM_HEAP_BYTES 0x2000 /* the code cache: its begin */
#define JVM_SHIFT      7
#define JVM_BLOB_BYTES 256 /* of an nmethod's header */
#define JVM_CODE_BYTES 1024

struct jvm_memory {
	uint8_t data[JVM_BYTES];
	uint64_t used, code_used;
	struct jvm_layout layout;
	/* Called before each read, with its number. */
	void (*before)(struct jvm_memory *memory, unsigned int read);
	unsigned int reads;
	uint64_t nmethod; /* the last one that was made */
};

static inline uint8_t *jvm_at(struct jvm_memory *memory, uint64_t address)
{
	assert_in_range(address, JVM_AT, JVM_AT + JVM_BYTES - 64);
	return memory->data + (address - JVM_AT);
}

static inline void jvm_put(struct jvm_memory *memory, uint64_t address, uint64_t value,
			   size_t bytes)
{
	memcpy(jvm_at(memory, address), &value, bytes);
}

static inline int jvm_memory_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct jvm_memory *memory = arg;

	if (memory->before)
		memory->before(memory, memory->reads);
	memory->reads++;
	if (address < JVM_AT || address > JVM_AT + JVM_BYTES ||
	    bytes > JVM_AT + JVM_BYTES - address)
		return -EFAULT;
	memcpy(to, memory->data + (address - JVM_AT), bytes);
	return 0;
}

static inline uint64_t jvm_new_space(struct jvm_memory *memory, size_t bytes)
{
	uint64_t address = JVM_AT + memory->used;

	memory->used += (bytes + 15) & ~15UL;
	assert_true(memory->used < JVM_BYTES);
	return address;
}

/* All structs have other offsets than any VM's. */
static inline void jvm_init_methods(struct jvm_layout *layout)
{
	layout->walk.method_const = 8;
	layout->method_access = 24;
	layout->walk.const_bytes = 40;
	layout->walk.const_pool = 0;
	layout->walk.const_code_size = 8;
	layout->walk.const_name = 10;
	layout->walk.const_signature = 12;
	layout->const_flags = 16;
	layout->const_flags_bytes = 4;
	layout->const_has_lines = 4;
	layout->const_method_bytes = 20;
	layout->pool_holder = 8;
	layout->pool_length = 16;
	layout->pool_source_file = 20;
	layout->pool_bytes = 32;
	layout->klass_name = 16;
	layout->symbol_length = 4;
	layout->symbol_body = 6;
}

static inline void jvm_init_places(struct jvm_layout *layout)
{
	layout->maps_count = 0;
	layout->maps_pairs = 8;
	layout->map_bytes = 8;
	layout->map_pc = 0;
	layout->pcdesc_bytes = 16;
	layout->pcdesc_pc = 0;
	layout->pcdesc_scope = 4;
}

/* A blob's are 25's in kind when `version` is at least 23: offsets, immutable and mutable data. */
static inline void jvm_init_blobs(struct jvm_layout *layout, uint32_t version)
{
	layout->walk.nmethod_header = JVM_BLOB_BYTES;
	layout->walk.blob_header = 8;
	layout->walk.blob_size = 12;
	layout->walk.blob_complete = 16;
	layout->walk.blob_code = 24;
	layout->blob_code_end = 32;
	layout->blob_name = 40;
	layout->blob_oop_maps = 48;
	layout->walk.nmethod_id = 56;
	layout->nmethod_method = 64;
	layout->nmethod_scopes_pcs = 76;
	layout->nmethod_scopes_pcs_end = 80;
	layout->nmethod_scopes_data = 88;
	layout->nmethod_scopes_data_is_address = version < 23;
	layout->nmethod_metadata = 96;
	if (version < 23) {
		layout->nmethod_metadata_end = 100;
		return;
	}
	layout->walk.flags = HOTSPOT_CODE_IS_OFFSET;
	layout->nmethod_immutable = 104;
	layout->nmethod_immutable_size = 112;
	layout->nmethod_mutable = 120;
	layout->nmethod_mutable_size = 128;
}

static inline void jvm_init(struct jvm_memory *memory, uint32_t version)
{
	struct jvm_layout *layout = &memory->layout;

	memset(memory, 0, sizeof(*memory));
	memset(layout, 0xff, sizeof(*layout));
	memset(&layout->walk, 0, sizeof(layout->walk));
	memory->used = JVM_HEAP_BYTES;
	layout->version = version;
	layout->walk.segment_shift = JVM_SHIFT;
	layout->walk.block_bytes = 16;
	layout->walk.heaps[1] =
		(struct hotspot_heap){JVM_AT, JVM_AT + JVM_HEAP_BYTES, jvm_new_space(memory, 1024)};
	memset(jvm_at(memory, layout->walk.heaps[1].segments), 0xff, 1024);
	jvm_init_blobs(layout, version);
	jvm_init_places(layout);
	jvm_init_methods(layout);
}

static inline uint64_t jvm_symbol(struct jvm_memory *memory, const char *text)
{
	uint64_t address = jvm_new_space(memory, strlen(text) + 6);

	jvm_put(memory, address + 4, strlen(text), 2);
	memcpy(jvm_at(memory, address + 6), text, strlen(text));
	return address;
}

/* A number as the version writes it; returns its bytes. */
static inline size_t jvm_number(uint8_t *to, uint32_t value, uint32_t version)
{
	uint8_t base = version >= 20;
	uint32_t low = 192 - base;
	size_t i;

	for (i = 0; i < 4 && value >= low; i++) {
		value -= low;
		to[i] = (uint8_t)(192 + value % 64);
		value /= 64;
	}
	to[i] = (uint8_t)(value + base);
	return i + 1;
}

static inline size_t jvm_signed(uint8_t *to, int32_t value, uint32_t version)
{
	return jvm_number(to, (uint32_t)value << 1 ^ (uint32_t)(value >> 31), version);
}

struct jvm_made {
	const char *class_name, *name, *signature, *file; /* file NULL: none */
	uint16_t access;
	uint8_t code[16];
	uint16_t code_bytes;
	struct {
		uint16_t bci, line;
	} lines[8];
	size_t lines_count;
};

/* Returns its Method. */
static inline uint64_t jvm_method(struct jvm_memory *memory, const struct jvm_made *made)
{
	uint32_t version = memory->layout.version;
	uint64_t pool = jvm_new_space(memory, 32 + 8 * 4), klass = jvm_new_space(memory, 32);
	uint64_t constant = jvm_new_space(memory, 256), method = jvm_new_space(memory, 32);
	uint8_t *table = jvm_at(memory, constant) + 40 + made->code_bytes, *at = table;
	int32_t bci = 0, line = 0;

	jvm_put(memory, klass + 16, jvm_symbol(memory, made->class_name), 8);
	jvm_put(memory, pool + 8, klass, 8);
	jvm_put(memory, pool + 16, 4, 4);
	jvm_put(memory, pool + 20, made->file ? 3 : 0, 2);
	jvm_put(memory, pool + 32 + 8, jvm_symbol(memory, made->name), 8);
	jvm_put(memory, pool + 32 + 16, jvm_symbol(memory, made->signature), 8);
	jvm_put(memory, pool + 32 + 24, made->file ? jvm_symbol(memory, made->file) : 0, 8);
	jvm_put(memory, constant, pool, 8);
	jvm_put(memory, constant + 8, made->code_bytes, 2);
	jvm_put(memory, constant + 10, 1, 2);
	jvm_put(memory, constant + 12, 2, 2);
	jvm_put(memory, constant + 16, made->lines_count ? 4 : 0, 4);
	jvm_put(memory, constant + 20, 256 / 8, 4);
	memcpy(jvm_at(memory, constant + 40), made->code, made->code_bytes);
	for (size_t i = 0; i < made->lines_count; i++) {
		*at++ = 0xff;
		at += jvm_signed(at, made->lines[i].bci - bci, version);
		at += jvm_signed(at, made->lines[i].line - line, version);
		bci = made->lines[i].bci;
		line = made->lines[i].line;
	}
	*at = 0;
	jvm_put(memory, method + 8, constant, 8);
	jvm_put(memory, method + 24, made->access, 2);
	return method;
}

static inline uint32_t jvm_method_id(struct jvm_memory *memory, uint64_t method)
{
	uint64_t constant, pool;
	uint16_t size;

	memcpy(&constant, jvm_at(memory, method + 8), 8);
	memcpy(&pool, jvm_at(memory, constant), 8);
	memcpy(&size, jvm_at(memory, constant + 8), 2);
	return hotspot_method_id(constant, pool, 1, 2, size);
}

/* A blob with JVM_CODE_BYTES of code; header 0: no nmethod. Returns where its code begins. */
static inline uint64_t jvm_blob(struct jvm_memory *memory, uint32_t id, const char *name)
{
	uint64_t block = JVM_AT + memory->code_used, blob = block + 16;
	uint64_t code = blob + JVM_BLOB_BYTES, end = code + JVM_CODE_BYTES, bytes;
	uint64_t segments = memory->layout.walk.heaps[1].segments;
	bool offsets = memory->layout.walk.flags & HOTSPOT_CODE_IS_OFFSET;

	bytes = (end - block + 127) & ~127UL;
	for (uint64_t i = 0; i < bytes >> JVM_SHIFT; i++)
		*jvm_at(memory, segments + (memory->code_used >> JVM_SHIFT) + i) =
			(uint8_t)(i > 3 ? 3 : i); /* by hops */
	memory->code_used += bytes;
	jvm_put(memory, blob + 8, id ? JVM_BLOB_BYTES : 64, 4);
	jvm_put(memory, blob + 12, end - blob, 4);
	jvm_put(memory, blob + 16, 8, 4);
	jvm_put(memory, blob + 24, offsets ? code - blob : code, 8);
	jvm_put(memory, blob + 32, offsets ? end - blob : end, 8);
	uint64_t text = jvm_new_space(memory, strlen(name) + 1);
	memcpy(jvm_at(memory, text), name, strlen(name) + 1);
	jvm_put(memory, blob + 40, text, 8);
	jvm_put(memory, blob + 56, id, 4);
	memory->nmethod = blob;
	return code;
}

/* A scope: its caller's offset, its method's number, bci. */
struct jvm_scope_made {
	uint32_t caller, method;
	int32_t bci;
};

struct jvm_place_made {
	uint32_t pc, scope; /* number of a scope from 1, which are written in order */
	bool stops;
};

struct jvm_nmethod_made {
	uint32_t id;
	const uint64_t *methods; /* the first is the outermost */
	size_t methods_count;
	struct jvm_scope_made scopes[16]; /* callers by number from 1 */
	size_t scopes_count;
	struct jvm_place_made places[16];
	size_t places_count;
};

static inline uint64_t jvm_scopes(struct jvm_memory *memory, const struct jvm_nmethod_made *made,
				  uint32_t offsets[17], uint64_t *end)
{
	uint64_t data = jvm_new_space(memory, 512);
	uint8_t *begin = jvm_at(memory, data), *at = begin;
	uint32_t version = memory->layout.version;

	*at++ = 0xff;
	offsets[0] = 0;
	for (size_t i = 0; i < made->scopes_count; i++) {
		const struct jvm_scope_made *scope = &made->scopes[i];

		offsets[i + 1] = (uint32_t)(at - begin);
		at += jvm_number(at, offsets[scope->caller], version);
		at += jvm_number(at, scope->method, version);
		at += jvm_number(at, (uint32_t)(scope->bci + 1), version);
		for (int j = 0; j < 3; j++)
			at += jvm_number(at, 0, version);
	}
	*end = data + (uint64_t)(at - begin);
	return data;
}

/* PcDescs between sentinels, and the oop maps. Returns where the PcDescs begin. */
static inline uint64_t jvm_places(struct jvm_memory *memory, const struct jvm_nmethod_made *made,
				  const uint32_t offsets[17])
{
	uint64_t pcs = jvm_new_space(memory, 16 * (made->places_count + 2));
	uint64_t maps = jvm_new_space(memory, 8 + 8 * 16);
	uint32_t stops = 0;

	jvm_put(memory, pcs, UINT32_MAX, 4);
	for (size_t i = 0; i < made->places_count; i++) {
		const struct jvm_place_made *place = &made->places[i];

		jvm_put(memory, pcs + 16 * (i + 1), place->pc, 4);
		jvm_put(memory, pcs + 16 * (i + 1) + 4, offsets[place->scope], 4);
		if (place->stops)
			jvm_put(memory, maps + 8 + 8 * (uint64_t)stops++, place->pc, 4);
	}
	jvm_put(memory, pcs + 16 * (made->places_count + 1), INT32_MAX, 4);
	jvm_put(memory, maps, stops, 4);
	jvm_put(memory, memory->nmethod + 48, maps, 8);
	return pcs;
}

/* Returns where its code begins; memory->nmethod is the nmethod. */
static inline uint64_t jvm_nmethod(struct jvm_memory *memory, const struct jvm_nmethod_made *made)
{
	uint64_t code = jvm_blob(memory, made->id, "nmethod"), blob = memory->nmethod;
	uint32_t offsets[17];
	uint64_t end, data = jvm_scopes(memory, made, offsets, &end);
	uint64_t pcs = jvm_places(memory, made, offsets);
	uint64_t metadata = jvm_new_space(memory, 8 * made->methods_count);
	bool old = memory->layout.version < 23;
	uint64_t base = old ? blob : data - 32;

	for (size_t i = 0; i < made->methods_count; i++)
		jvm_put(memory, metadata + 8 * i, made->methods[i], 8);
	jvm_put(memory, blob + 64, made->methods[0], 8);
	jvm_put(memory, blob + 76, pcs - base, 4);
	jvm_put(memory, blob + 80, pcs + 16 * (made->places_count + 2) - base, 4);
	jvm_put(memory, blob + 88, old ? data : data - base, old ? 8 : 4);
	if (old) {
		jvm_put(memory, blob + 96, metadata - base, 4);
		jvm_put(memory, blob + 100, metadata + 8 * made->methods_count - base, 4);
	} else {
		jvm_put(memory, blob + 96, 16, 4);
		jvm_put(memory, blob + 104, base, 8);
		jvm_put(memory, blob + 112, end - base, 4);
		jvm_put(memory, blob + 120, metadata - 16, 8);
		jvm_put(memory, blob + 128, 16 + 8 * made->methods_count, 4);
	}
	return code;
}
