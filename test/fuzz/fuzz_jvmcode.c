// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes as the memory of a Java VM: an nmethod, a stub or an interpreted method anywhere in it. The
 * first 64 bytes tell the layout (where each field lies is a byte), which kind is asked for, and
 * where.
 */
#include "fuzz_memory.h"

#include <string.h>

#include "base/utf8.h"
#include "bpf/shared/sample.h"
#include "java/code/jvmcode_struct.h"

#define MEMORY_AT    0x7f0000000000 /* pointers in the corpus lead there */
#define HEAP_BYTES   0x2000	    /* of it is the code cache, behind which is its map */
#define HEADER_BYTES 64
#define TEXT_MAX     4096

static void check_text(const char *text, size_t len)
{
	demand(len <= TEXT_MAX && !text == !len);
	for (size_t i = 0; i < len;) {
		size_t sequence = utf8_sequence(text + i, len - i);

		demand(sequence && text[i]);
		i += sequence;
	}
}

static void check_frames(const struct jvmcode *code, uint64_t word, uint64_t detail)
{
	struct jvm_frame frames[JVM_FRAMES_MAX];
	bool unsure;
	size_t count = jvmcode_frames(code, word, detail, frames, &unsure);

	demand(count >= 1 && count <= JVM_FRAMES_MAX && (!unsure || count == 1));
	for (size_t i = 0; i < count; i++) {
		check_text(frames[i].class_name, frames[i].class_len);
		check_text(frames[i].method, frames[i].method_len);
		check_text(frames[i].signature, frames[i].signature_len);
		check_text(frames[i].file, frames[i].file_len);
		demand(frames[i].line <= UINT16_MAX && (!unsure || !frames[i].line));
		demand((frames[i].kind == JVM_INLINED) == (i + 1 < count));
	}
}

static void check_code(struct jvmcode *code, uint64_t word, uint64_t detail)
{
	const uint64_t java = (uint64_t)FRAME_JAVA << FRAME_KIND_SHIFT;
	const uint64_t returns = (uint64_t)FRAME_JAVA_RETURN << FRAME_KIND_SHIFT;
	uint64_t from = code->from, to = code->to;

	demand(jvmcode_is(code, word, detail) && !jvmcode_is(code, word, detail ^ 1));
	demand(from < to && jvmcode_bytes(code) < 8 << 20);
	check_frames(code, word, detail);
	for (uint64_t i = 0; i < 64; i++) {
		if (word >> FRAME_KIND_SHIFT == FRAME_JAVA_METHOD) {
			check_frames(code, word, hotspot_detail(FRAME_JAVA_DETAIL, (uint32_t)i, 0));
			continue;
		}
		check_frames(code, java | (from + i * i) % to, detail);
		check_frames(code, returns | (from + i), detail);
	}
	jvmcode_unref(code);
}

/* Of two bytes each, in the order in which the input has them. */
static const size_t fields[] = {
	offsetof(struct jvm_layout, walk.blob_header),
	offsetof(struct jvm_layout, walk.blob_size),
	offsetof(struct jvm_layout, walk.blob_complete),
	offsetof(struct jvm_layout, walk.blob_code),
	offsetof(struct jvm_layout, blob_code_end),
	offsetof(struct jvm_layout, blob_name),
	offsetof(struct jvm_layout, blob_oop_maps),
	offsetof(struct jvm_layout, walk.nmethod_id),
	offsetof(struct jvm_layout, nmethod_method),
	offsetof(struct jvm_layout, nmethod_scopes_pcs),
	offsetof(struct jvm_layout, nmethod_scopes_pcs_end),
	offsetof(struct jvm_layout, nmethod_scopes_data),
	offsetof(struct jvm_layout, nmethod_metadata),
	offsetof(struct jvm_layout, nmethod_metadata_end),
	offsetof(struct jvm_layout, nmethod_immutable),
	offsetof(struct jvm_layout, nmethod_immutable_size),
	offsetof(struct jvm_layout, nmethod_mutable),
	offsetof(struct jvm_layout, nmethod_mutable_size),
	offsetof(struct jvm_layout, maps_count),
	offsetof(struct jvm_layout, maps_pairs),
	offsetof(struct jvm_layout, map_bytes),
	offsetof(struct jvm_layout, map_pc),
	offsetof(struct jvm_layout, pcdesc_bytes),
	offsetof(struct jvm_layout, pcdesc_pc),
	offsetof(struct jvm_layout, pcdesc_scope),
	offsetof(struct jvm_layout, walk.method_const),
	offsetof(struct jvm_layout, method_access),
	offsetof(struct jvm_layout, walk.const_bytes),
	offsetof(struct jvm_layout, walk.const_pool),
	offsetof(struct jvm_layout, walk.const_code_size),
	offsetof(struct jvm_layout, walk.const_name),
	offsetof(struct jvm_layout, walk.const_signature),
	offsetof(struct jvm_layout, const_flags),
	offsetof(struct jvm_layout, const_method_bytes),
	offsetof(struct jvm_layout, pool_holder),
	offsetof(struct jvm_layout, pool_length),
	offsetof(struct jvm_layout, pool_source_file),
	offsetof(struct jvm_layout, pool_bytes),
	offsetof(struct jvm_layout, klass_source_file),
	offsetof(struct jvm_layout, klass_name),
	offsetof(struct jvm_layout, symbol_length),
	offsetof(struct jvm_layout, symbol_body),
};

/* A byte for each field; those of an nmethod are four bytes apart. */
static void find_layout(const uint8_t *data, struct jvm_layout *layout)
{
	struct hotspot *walk = &layout->walk;

	memset(layout, 0xff, sizeof(*layout));
	memset(walk, 0, sizeof(*walk));
	layout->version = data[0] & 31;
	walk->flags = data[1] & 15;
	walk->segment_shift = 3 + data[2] % 16;
	walk->block_bytes = data[3] % 32;
	walk->heaps[0] =
		(struct hotspot_heap){MEMORY_AT, MEMORY_AT + HEAP_BYTES, MEMORY_AT + HEAP_BYTES};
	walk->nmethod_header = (uint16_t)(2 * data[4]);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint16_t offset = data[6 + i] == 0xff ? HOTSPOT_NO : (uint16_t)(2 * data[6 + i]);

		memcpy((char *)layout + fields[i], &offset, sizeof(offset));
	}
	if (data[59] & 1)
		layout->maps_pointers = layout->maps_pairs;
	layout->nmethod_scopes_data_is_address = data[5] & 1;
	layout->const_flags_bytes = data[5] & 2 ? 2 : 4;
	layout->const_has_lines = data[5] >> 4;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct memory memory = {
		.data = data + HEADER_BYTES,
		.bytes = bytes - HEADER_BYTES,
		.at = MEMORY_AT,
		.zeroes = 1 << 16,
		.read_bytes_max = 4 << 20,
	};
	struct process_memory reader = {.read = made_memory_read, .arg = &memory};
	struct jvm_layout layout;
	struct jvmcode *code;
	uint64_t word, detail = 0;

	if (bytes < HEADER_BYTES)
		return 0;
	find_layout(data, &layout);
	word = MEMORY_AT + ((uint64_t)data[60] << 8 | data[61]);
	word |= (uint64_t)(FRAME_JAVA + data[62] % 3) << FRAME_KIND_SHIFT;
	detail = hotspot_detail(FRAME_JAVA_DETAIL, HOTSPOT_BCI_NONE, data[63]);
	if (word >> FRAME_KIND_SHIFT == FRAME_JAVA_METHOD) { /* as the kernel's side does */
		uint64_t method = word & FRAME_ADDRESS, constant = 0, pool = 0;
		uint16_t name = 0, signature = 0, size = 0;

		made_memory_read(&memory, method + layout.walk.method_const, &constant, 8);
		made_memory_read(&memory, constant + layout.walk.const_pool, &pool, 8);
		made_memory_read(&memory, constant + layout.walk.const_name, &name, 2);
		made_memory_read(&memory, constant + layout.walk.const_signature, &signature, 2);
		made_memory_read(&memory, constant + layout.walk.const_code_size, &size, 2);
		detail = hotspot_detail(FRAME_JAVA_DETAIL, 0,
					hotspot_method_id(constant, pool, name, signature, size));
	}
	memory.read_bytes = 0;
	int r = jvmcode_read(&code, &layout, &reader, word, detail);
	demand(r <= 0);
	if (r == 0)
		check_code(code, word, detail);
	return 0;
}
