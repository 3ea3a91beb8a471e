// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes as the memory of a Python process: a code object anywhere in it, by the layout of each
 * version. The first 16 bytes tell which layout, where the object is, whether the sum is right, and
 * whether there are copies of the code, or one that was made at the sample (the last bytes);
 * from 3.13 on a layout comes from debug offsets, which may be the bytes' own.
 */
#include "fuzz_memory.h"

#include <string.h>

#include "python/pycode.h"
#include "python/pycode_copy.h"
#include "python/pypath.h"

#define MEMORY_AT    0x7f1234560000 /* pointers in the corpus lead there */
#define HEADER_BYTES 16
#define TEXT_MAX     4096

static bool is_utf8(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint8_t first = (uint8_t)text[i++];
		size_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
		uint32_t c = more ? first & (0x3f >> more) : first;

		if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || !first || len - i < more)
			return false;
		for (size_t j = 0; j < more; j++, i++) {
			if (((uint8_t)text[i] & 0xc0) != 0x80)
				return false;
			c = c << 6 | ((uint8_t)text[i] & 0x3f);
		}
		if ((more == 2 && c < 0x800) || (more == 3 && c < 0x10000) || c > 0x10ffff ||
		    (c >= 0xd800 && c < 0xe000))
			return false;
	}
	return true;
}

static void check_code(struct pycode *code, const struct python_layout *layout)
{
	size_t len, shown;
	struct pypath_script script = {(char[]){"/srv/app"}, (char[]){"/srv/bin/../app"}};
	const char *text = pycode_name(code, &len);

	demand(len <= TEXT_MAX && is_utf8(text, len));
	text = pycode_file(code, &len);
	demand(len <= TEXT_MAX && is_utf8(text, len));
	shown = len;
	const char *begin = pypath_shorten(text, &shown, &script);
	demand(begin >= text && begin + shown == text + len && (shown || !len));
	for (uint32_t i = 0; i < 200; i++) {
		uint32_t at = i < 100 ? i : i * i * 31;

		demand(pycode_line(code, layout->code_instructions + at) <= INT32_MAX);
		demand(pycode_line(code, at - 1) <= INT32_MAX);
		demand(pycode_has(code, at) || layout->code_copies != CPYTHON_NO);
	}
	demand(pycode_bytes(code) < (2 << 20));
	pycode_unref(code);
}

static bool find_layout(uint8_t which, const struct memory *memory, struct python_layout *layout)
{
	uint32_t version = 0x030800f0 + ((uint32_t)(which % 8) << 16);
	uint8_t offsets[PYTHON_DEBUG_OFFSETS_BYTES] = {0};

	memcpy(offsets, memory->data,
	       memory->bytes < sizeof(offsets) ? memory->bytes : sizeof(offsets));
	if (python_layout_of(version, offsets, sizeof(offsets), layout) == 0)
		return true;
	return python_layout_of(0x030c00f0, NULL, 0, layout) == 0;
}

/* As the kernel's side does. */
static uint32_t sum_of(const struct python_layout *layout, const struct process_memory *reader,
		       uint64_t address)
{
	const struct cpython *walk = &layout->walk;
	uint64_t words[CPYTHON_CODE_WORDS] = {0}, name, hash;

	if (reader->read(reader->arg, address + walk->code_sum_at, words,
			 walk->code_sum_words * sizeof(words[0])) < 0 ||
	    reader->read(reader->arg, address + walk->code_name, &name, sizeof(name)) < 0 ||
	    reader->read(reader->arg, name + walk->unicode_hash, &hash, sizeof(hash)) < 0)
		return 0;
	return (uint32_t)(cpython_code_sum(words, walk->code_sum_words, hash) >> 32);
}

/* As the kernel's side sends it: what it says of itself makes sense, nothing else does. */
static bool take_copy(struct code_copy *copy, const struct memory *memory)
{
	if (memory->bytes < sizeof(*copy))
		return false;
	memcpy(copy, memory->data + memory->bytes - sizeof(*copy), sizeof(*copy));
	return code_copy_is_valid(copy, sizeof(*copy));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct memory memory = {
		.data = data + HEADER_BYTES,
		.bytes = bytes - HEADER_BYTES,
		.at = MEMORY_AT,
		.zeroes = 1 << 20,
		.read_bytes_max = (1 << 20) + (1 << 17),
		.reads_max = 16,
	};
	struct process_memory reader = {.read = made_memory_read, .arg = &memory};
	struct code_copy copy;
	struct pycode_copy with = {.copy = &copy, .behind = reader};
	struct python_layout layout;
	struct pycode *code;
	uint64_t address;

	if (bytes < HEADER_BYTES)
		return 0;
	memcpy(&address, data + 8, sizeof(address));
	if (!find_layout(data[0], &memory, &layout))
		return 0;
	if (data[1] & 2)
		layout.code_copies = layout.code_lines + 8;
	if (data[1] & 4 && take_copy(&copy, &memory))
		reader = pycode_memory_with(&with);
	uint32_t sum = sum_of(&layout, &reader, address);
	memory.reads = 0;
	memory.read_bytes = 0;
	with.read_on = false;
	if (data[1] & 1)
		sum ^= 1;
	int r = pycode_read(&code, &layout, &reader, address, sum);
	demand(r <= 0 && !(r == 0 && data[1] & 1));
	if (r == 0)
		check_code(code, &layout);
	return 0;
}
