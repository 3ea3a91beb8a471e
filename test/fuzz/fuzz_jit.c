// SPDX-License-Identifier: GPL-2.0-or-later
/* What a process tells debuggers of the code that it makes: its list and the ELF files in it, which
 * lie in its memory. */
#include "fuzz_memory.h"

#include "jit/jit_code.h"
#include "jit/jit_memory.h"

#define AT UINT64_C(0x10000)

static void demand_code(const struct jit_code *code)
{
	uint64_t end = 0;

	for (size_t i = 0; i < code->sections_count; i++) {
		const struct jit_section *section = &code->sections[i];
		size_t len;

		demand(section->start >= end && section->end > section->start);
		demand(section->object < code->count);
		end = section->end;
		demand(jit_code_find(code, section->start) == (int64_t)section->object);
		const char *name =
			jit_object_find(code->objects[section->object], section->start, &len);
		demand(!name || (len > 0 && len <= JIT_NAMES_MAX));
	}
	for (size_t i = 0; i < code->rows.count; i++) {
		const struct jit_piece *piece = &code->rows.pieces[i];
		struct rule rule;

		demand(piece->end > piece->start);
		demand(!i || piece->start > code->rows.pieces[i - 1].end);
		image_find(&code->rows.image, piece->at + (piece->end - piece->start) / 2, &rule);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct memory memory = {.data = data, .bytes = bytes, .at = AT, .read_bytes_max = SIZE_MAX};
	const struct process_memory reader = {.read = made_memory_read, .arg = &memory};
	struct jit_code code;

	if (jit_code_read(&code, &reader, AT, 1) < 0)
		return 0;
	demand_code(&code);
	jit_code_done(&code);
	demand(jit_memory_taken() == 0); /* all was given back */
	return 0;
}
