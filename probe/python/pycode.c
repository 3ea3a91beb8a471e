// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "python/pycode_state.h"

struct pycode *pycode_ref(struct pycode *code)
{
	code->refs++;
	return code;
}

void pycode_unref(struct pycode *code)
{
	if (code && --code->refs == 0)
		free(code);
}

const char *pycode_name(const struct pycode *code, size_t *len)
{
	*len = code->name_len;
	return (const char *)code->lines.table + code->lines.bytes;
}

const char *pycode_file(const struct pycode *code, size_t *len)
{
	*len = code->file_len;
	return (const char *)code->lines.table + code->lines.bytes + code->name_len;
}

static bool is_inside(const struct pycode *code, int64_t offset)
{
	return offset >= code->not_begun && offset < code->lines.code_bytes;
}

/* Returns an instruction's offset in the code, bytes; outside of the code if it lies in no copy. */
static int64_t offset_of(const struct pycode *code, uint32_t instruction)
{
	int64_t offset = (int32_t)(instruction - code->first_instruction);

	for (uint32_t i = 0; i < code->copies_count && !is_inside(code, offset); i++)
		offset = (int32_t)(instruction - code->copies[i]);
	return offset * code->unit_bytes;
}

bool pycode_has(const struct pycode *code, uint32_t instruction)
{
	return !code->has_copies || is_inside(code, offset_of(code, instruction));
}

bool pycode_is_alone(const struct pycode *code)
{
	return code->is_alone;
}

bool pycode_is_shim(const struct pycode *code)
{
	size_t name_len, file_len;
	const char *name = pycode_name(code, &name_len), *file = pycode_file(code, &file_len);

	return code->lines.first_line == 0 && name_len == file_len &&
	       memcmp(name, file, name_len) == 0;
}

uint32_t pycode_line(const struct pycode *code, uint32_t instruction)
{
	int64_t offset = offset_of(code, instruction);

	if (!code->lines_known)
		return 0;
	if (offset == code->not_begun) /* the interpreter gives the line of the definition */
		return code->lines.first_line > 0 ? (uint32_t)code->lines.first_line : 0;
	if (offset < 0)
		return 0;
	return pylines_line(&code->lines, (uint32_t)offset);
}

/* Returns the bytes of the data behind the fields: marks, copies, table, name, file. */
static size_t data_bytes(const struct pycode *code)
{
	return code->bytes - sizeof(*code);
}

bool pycode_is_equal(const struct pycode *a, const struct pycode *b)
{
	const struct pylines *left = &a->lines, *right = &b->lines;

	return a->bytes == b->bytes && a->name_len == b->name_len && a->file_len == b->file_len &&
	       a->first_instruction == b->first_instruction && a->unit_bytes == b->unit_bytes &&
	       a->not_begun == b->not_begun && a->lines_known == b->lines_known &&
	       a->has_copies == b->has_copies && a->is_alone == b->is_alone &&
	       a->copies_count == b->copies_count && left->bytes == right->bytes &&
	       left->first_line == right->first_line && left->form == right->form &&
	       left->code_bytes == right->code_bytes &&
	       memcmp(a->marks, b->marks, data_bytes(a)) == 0;
}

uint64_t pycode_hash(const struct pycode *code, uint64_t seed)
{
	uint64_t fields = (uint32_t)code->lines.first_line | (uint64_t)code->is_alone << 32;

	return hash_bytes(seed ^ fields, code->marks, data_bytes(code));
}

size_t pycode_bytes(const struct pycode *code)
{
	return code->bytes;
}
