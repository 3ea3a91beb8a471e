// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the boundary between a virtual thread and its carrier: the code of the method enterSpecial
 * of jdk.internal.vm.Continuation, which the VM makes for the first virtual thread. The class is
 * one of those that the VM itself knows; the tables have the address of their array. (JDK 25 also
 * has ContinuationEntry::_return_pc, which is in that code; but threads whose frames were never put
 * away in the heap return to another pc.)
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "java/vm/hotspot_state.h"

#define KLASSES_MAX 256 /* JDK 25 knows 170 */
#define METHODS_MAX 256 /* of Continuation; 60 are usual */
#define NAME_BYTES  64

struct carrier_search {
	struct vm_memory *memory;
	const struct vm_value *fields;
	const struct jvm_layout *layout;
};

/* Returns whether the Symbol is that text; false if the Symbol is missing or can't be read. */
static bool is_symbol(const struct carrier_search *looking, uint64_t symbol, const char *wanted)
{
	const struct jvm_layout *layout = looking->layout;
	char text[NAME_BYTES];
	size_t len = strlen(wanted);
	uint64_t bytes;

	return symbol && len <= sizeof(text) &&
	       vm_number(looking->memory, symbol + layout->symbol_length, 2, &bytes) == 0 &&
	       bytes == len &&
	       vm_read(looking->memory, symbol + layout->symbol_body, text, len) == 0 &&
	       memcmp(text, wanted, len) == 0;
}

static bool is_continuation(const struct carrier_search *looking, uint64_t klass)
{
	uint64_t name;

	return klass && vm_word(looking->memory, klass + looking->layout->klass_name, &name) == 0 &&
	       is_symbol(looking, name, "jdk/internal/vm/Continuation");
}

static bool is_enter(const struct carrier_search *looking, uint64_t method)
{
	const struct jvm_layout *layout = looking->layout;
	uint64_t constant, pool, name, symbol;

	return method &&
	       vm_word(looking->memory, method + layout->walk.method_const, &constant) == 0 &&
	       constant &&
	       vm_word(looking->memory, constant + layout->walk.const_pool, &pool) == 0 && pool &&
	       vm_number(looking->memory, constant + layout->walk.const_name, 2, &name) == 0 &&
	       vm_word(looking->memory, pool + layout->pool_bytes + name * sizeof(symbol),
		       &symbol) == 0 &&
	       is_symbol(looking, symbol, "enterSpecial");
}

static int find_klass(const struct carrier_search *looking, uint64_t *klass)
{
	for (size_t i = 0; i < KLASSES_MAX; i++) {
		uint64_t at = looking->fields[FIELD_KLASSES].value + i * sizeof(*klass);

		if (vm_word(looking->memory, at, klass) < 0)
			break;
		if (is_continuation(looking, *klass))
			return 0;
	}
	return -ENOENT;
}

static int find_method(const struct carrier_search *looking, uint64_t klass, uint64_t *method)
{
	const struct vm_value *fields = looking->fields;
	uint64_t methods, count;

	if (vm_word(looking->memory, klass + fields[FIELD_KLASS_METHODS].value, &methods) < 0 ||
	    !methods ||
	    vm_number(looking->memory, methods + fields[FIELD_METHODS_COUNT].value, 4, &count) < 0)
		return -ENOENT;
	for (size_t i = 0; i < count && i < METHODS_MAX; i++) {
		uint64_t at = methods + fields[FIELD_METHODS].value + i * sizeof(*method);

		if (vm_word(looking->memory, at, method) < 0)
			break;
		if (is_enter(looking, *method))
			return 0;
	}
	return -ENOENT;
}

static bool is_nmethod(const struct carrier_search *looking, uint64_t blob)
{
	const struct hotspot *walk = &looking->layout->walk;
	uint64_t header;

	return vm_heap_of(walk, blob) &&
	       vm_number(looking->memory, blob + walk->blob_header,
			 walk->flags & HOTSPOT_HEADER_IS_SHORT ? 2 : 4, &header) == 0 &&
	       header == walk->nmethod_header;
}

int vm_carrier(struct vm_memory *memory, const struct vm_tables *tables,
	       const struct jvm_layout *layout, uint64_t *from, uint64_t *to)
{
	static const enum vm_field wanted[] = {FIELD_KLASSES, FIELD_KLASS_METHODS,
					       FIELD_METHODS_COUNT, FIELD_METHODS,
					       FIELD_METHOD_CODE};
	const struct carrier_search looking = {memory, tables->fields, layout};
	uint64_t klass, method, blob, begin, end;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (!tables->fields[wanted[i]].known)
			return -ENOENT;
	}
	if (find_klass(&looking, &klass) < 0 || find_method(&looking, klass, &method) < 0 ||
	    vm_word(memory, method + tables->fields[FIELD_METHOD_CODE].value, &blob) < 0 ||
	    !is_nmethod(&looking, blob) || vm_code_of(memory, layout, blob, &begin, &end) < 0)
		return -ENOENT;
	*from = begin;
	*to = end;
	return 0;
}
