/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Java VM made by hand for the unwinder: a code cache with blobs, an interpreter, methods. */
#pragma once

#include "unit/walk/walk_rules.h"

#define HEAP	      0x10000000 /* the code cache */
#define HEAP_BYTES    0x20000
#define SEGMENTS      0x20000000 /* its segment map */
#define SEGMENT_SHIFT 7
#define BLOCK_HEADER  16
#define BLOB_BYTES    64 /* before its code */
#define METHODS	      0x30000000
#define VM_PLACE      2049 /* in the arena; at no even word */
#define NMETHOD	      0x160
#define INTERPRETER   (HEAP + 0x10000)
#define RETURN_ENTRY  (INTERPRETER + 0x800) /* behind no call */
#define FROZEN	      (HEAP + 0x8000)
#define CALLER	      (CODE + 0x110) /* of 2 words, in C */

static struct hotspot vm;

static inline void vm_tell(void)
{
	uint32_t words[HOTSPOT_WORDS];

	memcpy(words, &vm, sizeof(words));
	for (uint32_t i = 0; i < HOTSPOT_WORDS; i++)
		maker_word(VM_PLACE + i, words[i]);
	maker.walk->hotspot_at = VM_PLACE;
}

static inline void vm_make(void)
{
	make_process({CODE + 0x100, cfa(7, 16)}, {CODE + 0x200, {.kind = RULE_NONE}});
	maker_code(HEAP, HEAP_BYTES, SPAN_HOTSPOT);
	maker_map(SEGMENTS, HEAP_BYTES >> SEGMENT_SHIFT);
	maker_map(METHODS, 0x1000);
	for (uint64_t i = 0; i < HEAP_BYTES >> SEGMENT_SHIFT; i++)
		maker_poke(SEGMENTS + i, "\xff", 1);
	vm = (struct hotspot){
		.heaps = {{HEAP, HEAP + HEAP_BYTES, SEGMENTS}},
		.interpreter_from = INTERPRETER,
		.interpreter_to = INTERPRETER + 0x2000,
		.frozen_from = FROZEN,
		.frozen_to = FROZEN + 0x20,
		.segment_shift = SEGMENT_SHIFT,
		.block_bytes = BLOCK_HEADER,
		.blob_words = BLOB_BYTES / 8,
		.nmethod_header = NMETHOD,
		.blob_header = 8,
		.blob_size = 12,
		.blob_complete = 16,
		.blob_frame_size = 20,
		.blob_code = 24,
		.nmethod_id = 32,
		.nmethod_orig_pc = 36,
		.nmethod_deopt = 40,
		.nmethod_deopt_mh = 48,
		.method_const = 8,
		.const_bytes = 48,
		.const_pool = 8,
		.const_code_size = 36,
		.const_name = 38,
		.const_signature = 40,
		.frame_sender = -1,
		.frame_method = -3,
		.frame_bcp = -8,
	};
	vm_tell();
}

struct blob {
	uint32_t header, size, complete, frame_words;
	uint64_t code;
	uint32_t id, orig_pc;
	uint64_t deopt, deopt_mh;
};

/* Puts a blob's block at HEAP + offset; its code begins at what is returned. */
static inline uint64_t vm_blob(uint32_t offset, struct blob blob)
{
	uint64_t segment = offset >> SEGMENT_SHIFT, at = HEAP + offset + BLOCK_HEADER;
	uint64_t count = (BLOCK_HEADER + blob.size + (1 << SEGMENT_SHIFT) - 1) >> SEGMENT_SHIFT;

	for (uint64_t i = 0; i < count; i++) {
		uint8_t back = (uint8_t)(i > 0xfe ? 0xfe : i);

		maker_poke(SEGMENTS + segment + i, &back, 1);
	}
	if (!blob.code)
		blob.code = at + BLOB_BYTES;
	maker_poke(at + 8, &blob, sizeof(blob));
	return blob.code;
}

static inline uint64_t vm_nmethod(uint32_t offset, uint32_t bytes, uint32_t complete,
				  uint32_t words, uint32_t id)
{
	return vm_blob(offset, (struct blob){.header = NMETHOD,
					     .size = BLOB_BYTES + bytes,
					     .complete = complete,
					     .frame_words = words,
					     .id = id});
}

static inline uint64_t vm_stub(uint32_t offset, uint32_t bytes, uint32_t words)
{
	return vm_blob(offset, (struct blob){.header = 8,
					     .size = BLOB_BYTES + bytes,
					     .complete = UINT32_MAX,
					     .frame_words = words});
}

/* A method with that many bytes of code, which begins at *code. */
static inline uint64_t vm_method(uint32_t number, uint16_t bytes, uint64_t *code)
{
	uint64_t method = METHODS + number * 0x100ULL, constant = method + 0x40;
	uint16_t name = (uint16_t)number;

	maker_put(method + vm.method_const, constant);
	maker_put(constant + vm.const_pool, METHODS);
	maker_poke(constant + vm.const_code_size, &bytes, 2);
	maker_poke(constant + vm.const_name, &name, 2);
	*code = constant + vm.const_bytes;
	return method;
}

static inline void vm_interpreted(uint64_t fp, uint64_t caller_fp, uint64_t pc, uint64_t sender,
				  uint64_t method, uint64_t bcp)
{
	maker_put(fp, caller_fp);
	maker_put(fp + 8, pc);
	maker_put(fp - 8, sender);
	maker_put(fp - 24, method);
	maker_put(fp - 64, bcp);
}

/* A frame in C that ends the stack. */
static inline void vm_root(uint64_t sp)
{
	maker_call(CALLER, CODE);
	maker_put(sp + 8, ROOT_AT);
}

static inline uint64_t vm_detail(size_t number)
{
	return maker.walk->words[PYTHON_AT + number];
}

#define expect_java(why, count, ...)                                                               \
	do {                                                                                       \
		expect_walk(why, __VA_ARGS__);                                                     \
		assert_int_equal(maker.walk->hotspot.details, count);                              \
	} while (0)
