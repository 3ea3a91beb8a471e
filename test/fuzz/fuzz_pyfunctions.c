// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes as the memory of a Python process in which functions are looked for: modules, classes,
 * dicts, code anywhere in it. The first 16 bytes tell the version, and which code objects are
 * sought; types and _PyRuntime lie where test/unit/python/functions/functions_maker.h puts them.
 */
#include "fuzz_memory.h"

#include <string.h>

#include "python/functions/pyfunctions.h"

#define MEMORY_AT    0x7f1234560000 /* pointers in the corpus lead there */
#define RUNTIME_AT   (MEMORY_AT + 64)
#define CODE_TYPE_AT (RUNTIME_AT + 256)
#define HEADER_BYTES 16
#define SOUGHT	     4
#define TEXT_MAX     4096

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

static void check_found(struct pycode *code)
{
	size_t len;

	if (!code)
		return;
	pycode_name(code, &len);
	demand(len <= TEXT_MAX && !pycode_is_alone(code));
	pycode_unref(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct memory memory = {
		.data = data + HEADER_BYTES,
		.bytes = bytes - HEADER_BYTES,
		.at = MEMORY_AT,
		.zeroes = 1 << 20,
		.read_bytes_max = PYFUNCTIONS_BYTES_MAX + (1 << 20),
	};
	struct process_memory reader = {.read = made_memory_read, .arg = &memory};
	struct pyfunction_sought sought[SOUGHT] = {0};
	struct pyfunctions_result result;
	struct python_layout layout;
	uint16_t at;

	if (bytes < HEADER_BYTES)
		return 0;
	demand(python_layout_of(0x030800f0 + ((uint32_t)(data[0] % 3) << 16), NULL, 0, &layout) ==
	       0);
	layout.walk.runtime = RUNTIME_AT;
	layout.walk.code_type = CODE_TYPE_AT;
	layout.function_type = CODE_TYPE_AT + 400;
	for (size_t i = 0; i < SOUGHT; i++) {
		memcpy(&at, data + 8 + 2 * i, sizeof(at));
		sought[i].address = MEMORY_AT + at;
		sought[i].sum = sum_of(&layout, &reader, sought[i].address);
	}
	int r = pyfunctions_search(sought, SOUGHT, &layout, &reader, &result);
	demand(r <= 0 && result.bytes <= PYFUNCTIONS_BYTES_MAX + 4096);
	for (size_t i = 0; i < SOUGHT; i++)
		check_found(sought[i].found);
	return 0;
}
