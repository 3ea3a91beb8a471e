// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jit_object.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "jit/jit_cfi.h"
#include "jit/jit_memory.h"

struct jit_function {
	uint64_t start, end;
	uint32_t name, len; /* in the names */
	bool is_local;
};

struct jit_object {
	atomic_uint refs;
	struct jit_entry entry;
	uint64_t checksum; /* of all that was read */
	uint64_t whose;
	size_t memory; /* taken of what is `whose` */
	struct jit_range *code;
	size_t code_count;
	struct jit_function *functions; /* by address */
	size_t functions_count, functions_room;
	struct buf names;
	size_t rows_first, rows_count;
};

struct jit_object *jit_object_ref(struct jit_object *object)
{
	if (object)
		atomic_fetch_add(&object->refs, 1);
	return object;
}

void jit_object_unref(struct jit_object *object)
{
	if (!object || atomic_fetch_sub(&object->refs, 1) > 1)
		return;
	jit_memory_give(object->whose, object->memory);
	free(object->code);
	free(object->functions);
	buf_done(&object->names);
	free(object);
}

static void drop_object(struct jit_object **object)
{
	jit_object_unref(*object);
}

/* ---- reading ---- */

struct jit_naming {
	struct jit_object *object;
	struct demangling *demangling;
};

static int take_symbol(void *arg, const struct jit_symbol *symbol)
{
	struct jit_naming *naming = arg;
	struct jit_object *object = naming->object;
	size_t before = object->names.len;

	if (object->functions_count == JIT_FUNCTIONS_MAX)
		return -EFBIG;
	int r = array_grow(object->functions, object->functions_room, object->functions_count + 1,
			   16);
	if (r < 0)
		return r;
	demangle_within(naming->demangling, symbol->name, &object->names);
	if (buf_error(&object->names))
		return buf_error(&object->names) == -ENOSPC ? -EFBIG : -ENOMEM;
	object->functions[object->functions_count++] = (struct jit_function){
		.start = symbol->start,
		.end = symbol->end,
		.name = (uint32_t)before,
		.len = (uint32_t)(object->names.len - before),
		.is_local = symbol->is_local,
	};
	return 0;
}

/* By address; of several at one address that one is last which names it: the longest, then one that
 * isn't local. */
static int compare_functions(const void *a, const void *b)
{
	const struct jit_function *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->end != right->end)
		return left->end < right->end ? -1 : 1;
	if (left->is_local != right->is_local)
		return left->is_local ? -1 : 1;
	return left->name > right->name ? -1 : left->name < right->name;
}

static int take_names(struct jit_object *object, const struct jit_elf *elf,
		      struct demangling *demangling)
{
	struct jit_naming naming = {object, demangling};
	int r = jit_elf_symbols(elf, take_symbol, &naming);

	if (r == 0 && object->functions_count)
		qsort(object->functions, object->functions_count, sizeof(*object->functions),
		      compare_functions);
	return r;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct jit_range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int take_code(struct jit_object *object, const struct jit_elf *elf)
{
	object->code = calloc(elf->code_count, sizeof(*object->code));
	if (!object->code)
		return -ENOMEM;
	memcpy(object->code, elf->code, elf->code_count * sizeof(*object->code));
	object->code_count = elf->code_count;
	qsort(object->code, object->code_count, sizeof(*object->code), compare_ranges);
	return 0;
}

static int take_memory(struct jit_object *object, struct jit_reading *reading)
{
	size_t bytes = sizeof(*object) + object->code_count * sizeof(*object->code) +
		       object->functions_room * sizeof(*object->functions) + object->names.capacity;

	if (bytes > reading->left || !jit_memory_take(reading->whose, bytes))
		return -ENOSPC;
	reading->left -= bytes;
	object->whose = reading->whose;
	object->memory = bytes;
	return 0;
}

int jit_object_read(struct jit_object **ret, const struct jit_entry *entry,
		    const struct jit_file *file, struct jit_reading *reading)
{
	struct jit_row_list *rows = &reading->rows;
	_cleanup_(drop_object) struct jit_object *object = calloc(1, sizeof(*object));

	if (!object)
		return -ENOMEM;
	object->refs = 1;
	object->entry = *entry;
	object->checksum = file->checksum;
	object->names.max = JIT_NAMES_MAX;
	object->rows_first = rows->count;
	int r = take_code(object, &file->elf);
	if (r == 0)
		r = take_names(object, &file->elf, &reading->demangling);
	if (r == 0)
		r = take_memory(object, reading);
	if (r == 0)
		r = jit_cfi_read(file, rows);
	if (r < 0) {
		rows->count = object->rows_first;
		return r;
	}
	object->rows_count = rows->count - object->rows_first;
	*ret = TAKE_PTR(object);
	return 0;
}

/* ---- what it says ---- */

const struct jit_range *jit_object_code(const struct jit_object *object, size_t *count)
{
	*count = object->code_count;
	return object->code;
}

static int compare_address(const void *a, const void *b)
{
	const struct jit_range *range = b;
	uint64_t address = *(const uint64_t *)a;

	return address < range->start ? -1 : address >= range->end;
}

bool jit_object_has(const struct jit_object *object, uint64_t address)
{
	return bsearch(&address, object->code, object->code_count, sizeof(*object->code),
		       compare_address);
}

const struct jit_entry *jit_object_entry(const struct jit_object *object)
{
	return &object->entry;
}

size_t jit_object_rows(const struct jit_object *object, size_t *count)
{
	*count = object->rows_count;
	return object->rows_first;
}

size_t jit_object_functions(const struct jit_object *object)
{
	return object->functions_count;
}

bool jit_object_is_same(const struct jit_object *a, const struct jit_object *b)
{
	return a->entry.at == b->entry.at && a->entry.elf == b->entry.elf &&
	       a->entry.elf_bytes == b->entry.elf_bytes && a->checksum == b->checksum;
}

const char *jit_object_find(const struct jit_object *object, uint64_t address, size_t *len)
{
	size_t behind = PARTITION_POINT(at, object->functions_count,
					object->functions[at].start <= address);

	if (!behind || address >= object->functions[behind - 1].end ||
	    !object->functions[behind - 1].len)
		return NULL;
	*len = object->functions[behind - 1].len;
	return object->names.data + object->functions[behind - 1].name;
}
