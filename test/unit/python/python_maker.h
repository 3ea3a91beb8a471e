/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Made-up memory of a Python process, and objects in it as 3.12 has them. */
#pragma once

#include "unit/lib/unit.h"

#include "python/pycode.h"

#define PYTHON_MEMORY_AT    0x7f0000010000
#define PYTHON_MEMORY_BYTES (8 << 20)

#define MADE_CODE_NAME	    120
#define MADE_CODE_QUALNAME  128
#define MADE_CODE_FILENAME  112
#define MADE_CODE_LINES	    136
#define MADE_CODE_LINE	    68
#define MADE_CODE_SUM	    88
#define MADE_CODE_SUM_WORDS 7
#define MADE_CODE_BYTES	    192
#define MADE_CODE_TYPE	    0x7f0000001000

static const struct python_layout made_layout = {
	.walk =
		{
			.code_type = MADE_CODE_TYPE,
			.version = 0x030c01f0,
			.code_sum_at = MADE_CODE_SUM,
			.code_sum_words = MADE_CODE_SUM_WORDS,
			.code_name = MADE_CODE_NAME,
			.unicode_hash = 24,
			.object_type = 8,
			.code_file = MADE_CODE_FILENAME,
			.ascii_data = 40,
			.ascii_shift = 6,
		},
	.lines = PYTHON_LINES_LOCATIONS,
	.instruction_bytes = 1,
	.code_name = MADE_CODE_NAME,
	.code_qualname = MADE_CODE_QUALNAME,
	.code_filename = MADE_CODE_FILENAME,
	.code_lines = MADE_CODE_LINES,
	.code_first_line = MADE_CODE_LINE,
	.code_instructions = MADE_CODE_BYTES,
	.code_copies = CPYTHON_NO,
	.unicode_length = 16,
	.unicode_state = 32,
	.ascii_data = 40,
	.compact_data = 56,
	.unicode_kind_shift = 2,
	.unicode_compact_shift = 5,
	.unicode_ascii_shift = 6,
	.bytes_length = 16,
	.bytes_data = 32,
};

struct python_memory {
	uint8_t *data;
	uint64_t used; /* the pages behind it can't be read */
	unsigned int reads;
	/* Called before each read, with how many there were. */
	void (*change)(struct python_memory *memory, unsigned int reads);
	unsigned int change_at;
	uint64_t code;
};

static inline int python_memory_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct python_memory *memory = arg;
	uint64_t at = address - PYTHON_MEMORY_AT;

	if (memory->change)
		memory->change(memory, memory->reads);
	memory->reads++;
	uint64_t end = (memory->used + 4095) / 4096 * 4096;

	if (at > end || bytes > end - at)
		return -EFAULT;
	memcpy(to, memory->data + at, bytes);
	return 0;
}

static inline struct python_memory *python_memory_new(void)
{
	struct python_memory *memory = calloc(1, sizeof(*memory));

	assert_non_null(memory);
	memory->data = calloc(1, PYTHON_MEMORY_BYTES);
	assert_non_null(memory->data);
	memory->used = 64;
	return memory;
}

static inline void python_memory_done(struct python_memory **memory)
{
	free((*memory)->data);
	free(*memory);
}
#define _cleanup_memory_ _cleanup_(python_memory_done)

static inline void *python_at(struct python_memory *memory, uint64_t address)
{
	return memory->data + (address - PYTHON_MEMORY_AT);
}

static inline void put_word(struct python_memory *memory, uint64_t address, uint64_t word)
{
	memcpy(python_at(memory, address), &word, sizeof(word));
}

static inline uint64_t word_of(struct python_memory *memory, uint64_t address)
{
	uint64_t word;

	memcpy(&word, python_at(memory, address), sizeof(word));
	return word;
}

static inline uint64_t put_object(struct python_memory *memory, size_t bytes)
{
	uint64_t address = PYTHON_MEMORY_AT + memory->used;

	assert_true(memory->used + bytes + 16 <= PYTHON_MEMORY_BYTES);
	memory->used += (bytes + 15) / 16 * 16;
	return address;
}

/* A str of `length` characters of `kind` bytes each. */
static inline uint64_t put_str(struct python_memory *memory, unsigned int kind, bool ascii,
			       const void *characters, size_t length)
{
	size_t header = ascii ? made_layout.ascii_data : made_layout.compact_data;
	uint64_t address = put_object(memory, header + (length + 1) * kind);
	static uint64_t hash = 0x1234567;

	hash = hash * 0x9e3779b97f4a7c15 + 1;
	put_word(memory, address + made_layout.unicode_length, length);
	put_word(memory, address + made_layout.walk.unicode_hash, hash);
	put_word(memory, address + made_layout.unicode_state, kind << 2 | 1 << 5 | ascii << 6);
	memcpy(python_at(memory, address + header), characters, length * kind);
	return address;
}

static inline uint64_t put_ascii(struct python_memory *memory, const char *text)
{
	return put_str(memory, 1, true, text, strlen(text));
}

static inline uint64_t put_bytes(struct python_memory *memory, const void *data, size_t bytes)
{
	uint64_t address = put_object(memory, made_layout.bytes_data + bytes + 1);

	put_word(memory, address + made_layout.bytes_length, bytes);
	memcpy(python_at(memory, address + made_layout.bytes_data), data, bytes);
	return address;
}

/* A code object `work` of `/srv/app.py`, of lines 7 to 9; the caller changes its fields. */
static inline uint64_t put_code(struct python_memory *memory)
{
	static const uint8_t table[] = {0x80 | 10 << 3 | 1, 0x00, 0x80 | 11 << 3 | 0, 0x00,
					0x80 | 11 << 3 | 2, 0x00};
	uint64_t name = put_ascii(memory, "work"), qualified = put_ascii(memory, "Shop.work");
	uint64_t file = put_ascii(memory, "/srv/app.py");
	uint64_t lines = put_bytes(memory, table, sizeof(table));
	uint64_t code = put_object(memory, MADE_CODE_BYTES);
	uint32_t line = 7;

	for (uint64_t at = 16; at < MADE_CODE_BYTES; at += 8)
		put_word(memory, code + at, 0x5555000000000000 + at);
	put_word(memory, code, 1); /* of references */
	put_word(memory, code + 8, MADE_CODE_TYPE);
	put_word(memory, code + MADE_CODE_NAME, name);
	put_word(memory, code + MADE_CODE_QUALNAME, qualified);
	put_word(memory, code + MADE_CODE_FILENAME, file);
	put_word(memory, code + MADE_CODE_LINES, lines);
	memcpy(python_at(memory, code + MADE_CODE_LINE), &line, sizeof(line));
	memory->code = code;
	return code;
}

/* As the kernel's side sums it up. */
static inline uint32_t code_sum_now(struct python_memory *memory)
{
	uint64_t words[CPYTHON_CODE_WORDS] = {0}, file[CPYTHON_FILE_WORDS], sum;
	uint64_t name = word_of(memory, memory->code + MADE_CODE_NAME);
	uint64_t text = word_of(memory, memory->code + MADE_CODE_FILENAME);

	memcpy(words, python_at(memory, memory->code + MADE_CODE_SUM), sizeof(words[0]) * 7);
	sum = cpython_code_sum(words, MADE_CODE_SUM_WORDS,
			       word_of(memory, name + made_layout.walk.unicode_hash));
	if (python_memory_read(memory, text + made_layout.unicode_length, file, sizeof(file)) == 0)
		sum = cpython_file_sum(sum, file, &made_layout.walk);
	return (uint32_t)(sum >> 32);
}

static inline int read_code(struct pycode **code, struct python_memory *memory, uint32_t sum)
{
	struct process_memory reader = {.read = python_memory_read, .arg = memory};

	memory->reads = 0;
	return pycode_read(code, &made_layout, &reader, memory->code, sum);
}
