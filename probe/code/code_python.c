// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/code_python.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "code/code_cache.h"
#include "python/functions/pyfunctions.h"
#include "runtime/interpreter.h"
#include "bpf/shared/sample.h"

/* Finds the next pair. Python's pairs follow all native words. */
static bool next_python_pair(struct code_cursor *cursor, uint64_t pair[2], struct code_key *key)
{
	while (cursor->at < cursor->count) {
		const uint64_t *words = cursor->words + cursor->at;
		uint64_t kind = words[0] >> FRAME_KIND_SHIFT;

		if (!cursor->behind && kind != FRAME_PYTHON && kind != FRAME_PYTHON_ENTRY) {
			cursor->at++;
			continue;
		}
		cursor->behind = cursor->at;
		cursor->at += 2;
		if (cursor->at > cursor->count)
			return false;
		if (!(words[0] & FRAME_ADDRESS)) /* an evaluation loop without a frame yet */
			continue;
		pair[0] = words[0];
		pair[1] = words[1];
		*key = (struct code_key){words[0] & FRAME_ADDRESS, words[1] >> 32};
		return true;
	}
	return false;
}

static bool copy_python_layout(const struct target *target, void *to)
{
	if (!interpreter_is_supported(target_interpreter(target)))
		return false;
	if (to)
		*(struct python_layout *)to = target_interpreter(target)->layout;
	return true;
}

static int read_piece(void **piece, const void *layout_of, const struct process_memory *memory,
		      const uint64_t pair[2])
{
	struct pycode *code = NULL;
	int r = pycode_read(&code, layout_of, memory, pair[0] & FRAME_ADDRESS,
			    (uint32_t)(pair[1] >> 32));

	*piece = code;
	return r;
}

static bool python_piece_has(const void *piece, const uint64_t pair[2])
{
	return pycode_has(piece, (uint32_t)pair[1]);
}

static uint64_t python_piece_hash(const void *piece, uint64_t seed)
{
	return pycode_hash(piece, seed);
}

static bool is_equal(const void *a, const void *b)
{
	return pycode_is_equal(a, b);
}

static size_t python_piece_bytes(const void *piece)
{
	return pycode_bytes(piece);
}

static void python_piece_unref(void *piece)
{
	pycode_unref(piece);
}

static bool is_alone(const void *piece)
{
	return pycode_is_alone(piece);
}

static void search_functions(struct code_sought *sought, size_t count, const void *layout,
			     const struct process_memory *memory, struct code_searched *result)
{
	_cleanup_free_ struct pyfunction_sought *asked = calloc(count, sizeof(*asked));
	struct pyfunctions_result took = {0};

	*result = (struct code_searched){.error = -ENOMEM};
	if (!asked)
		return;
	for (size_t i = 0; i < count; i++) {
		asked[i].address = sought[i].key.address;
		asked[i].sum = (uint32_t)sought[i].key.sum;
	}
	result->error = pyfunctions_search(asked, count, layout, memory, &took);
	result->took_ns = took.cpu_ns;
	result->cut = took.cut;
	for (size_t i = 0; i < count; i++)
		sought[i].piece = asked[i].found;
}

const struct code_kind code_kind_python = {
	.number = CODES_PYTHON,
	.next = next_python_pair,
	.layout = copy_python_layout,
	.layout_bytes = sizeof(struct python_layout),
	.read = read_piece,
	.has = python_piece_has,
	.is_alone = is_alone,
	.search = search_functions,
	.hash = python_piece_hash,
	.is_equal = is_equal,
	.bytes = python_piece_bytes,
	.unref = python_piece_unref,
};

struct pycode *codes_find_python(const struct target *target, uint64_t address, uint32_t sum)
{
	struct code_key key = {address, sum};

	return code_cache_find(target, &code_kind_python, &key);
}
