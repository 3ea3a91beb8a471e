// SPDX-License-Identifier: GPL-2.0-or-later
#include "alloc/allocator.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "alloc/allocator_state.h"
#include "proc/symbol_lookup.h"

_Static_assert(ALLOCATOR_NAMES_MAX <= SYMBOL_LOOKUP_MAX, "they can be looked for");

struct allocator_reading {
	int fd;
	const struct elf_image *image;
	struct allocator *allocator;
	bool signs[SIGN_COUNT];
	bool has_malloc, has_free;
	const struct allocator_name *named[ALLOCATOR_FUNCTIONS_MAX];
};

/* ---- the symbols ---- */

static void add_function(struct allocator_reading *reading, const struct allocator_name *name,
			 const Elf64_Sym *symbol)
{
	struct allocator *allocator = reading->allocator;
	uint64_t offset;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
	    !symbol_offset(reading->image, symbol->st_value, &offset))
		return;
	if (!name->prefixed && name->call == CALL_SIZE && strcmp(name->name, "malloc") == 0)
		reading->has_malloc = true;
	if (!name->prefixed && name->call == CALL_FREE && strcmp(name->name, "free") == 0)
		reading->has_free = true;
	for (size_t i = 0; i < allocator->count; i++) {
		if (allocator->functions[i].address != symbol->st_value)
			continue;
		/* of two names for an address the plainer: free, not tc_free */
		if (name < reading->named[i]) {
			reading->named[i] = name;
			allocator->functions[i].name = name->name;
			allocator->functions[i].call = name->call;
			allocator->functions[i].arguments = name->arguments;
		}
		return;
	}
	if (allocator->count == ALLOCATOR_FUNCTIONS_MAX)
		return;
	reading->named[allocator->count] = name;
	allocator->functions[allocator->count++] = (struct allocator_function){
		.name = name->name,
		.call = name->call,
		.address = symbol->st_value,
		.file_offset = offset,
		.bytes = symbol->st_size,
		.arguments = name->arguments,
	};
}

static int meet_symbol(void *arg, size_t index, const Elf64_Sym *symbol)
{
	struct allocator_reading *reading = arg;
	const struct allocator_name *name = &allocator_names[index];

	reading->signs[name->sign] = true;
	if (name->call != CALL_COUNT_OF)
		add_function(reading, name, symbol);
	return 0;
}

/* ---- what it is ---- */

/* Returns whether it defines malloc and free; a static program may lack free. */
static bool is_default(const struct allocator_reading *reading)
{
	bool is_static = !reading->image->dynsym.symbols.bytes;

	return reading->has_malloc && (reading->has_free || is_static);
}

static enum allocator_kind kind_of(const struct allocator_reading *reading)
{
	const bool *signs = reading->signs;

	if (signs[SIGN_LOADER])
		return ALLOCATOR_NONE;
	if (signs[SIGN_JEMALLOC])
		return ALLOCATOR_JEMALLOC;
	if (signs[SIGN_TCMALLOC])
		return ALLOCATOR_TCMALLOC;
	if (!is_default(reading))
		return ALLOCATOR_NONE;
	if (signs[SIGN_GLIBC])
		return ALLOCATOR_GLIBC;
	return signs[SIGN_MUSL] ? ALLOCATOR_MUSL : ALLOCATOR_OTHER;
}

/*
 * Returns whether the function belongs to the allocator. C libraries have no operators: those in a
 * static program are libstdc++'s, which call malloc. Whether operator new of an unknown allocator
 * throws isn't known, and an exception would end the program (bpf/malloc.bpf.c).
 */
static bool function_belongs(const struct allocator *allocator, const struct allocator_name *name)
{
	if (allocator->kind == ALLOCATOR_OTHER && name->call == CALL_NEW)
		return false;
	return !name->is_operator || (allocator->is_default && allocator->kind != ALLOCATOR_GLIBC &&
				      allocator->kind != ALLOCATOR_MUSL);
}

static int judge_allocator(struct allocator_reading *reading)
{
	struct allocator *allocator = reading->allocator;
	bool wraps[ALLOCATOR_FUNCTIONS_MAX];
	size_t kept = 0;

	allocator->kind = kind_of(reading);
	allocator->is_default = allocator->kind != ALLOCATOR_NONE && is_default(reading);
	if (allocator->kind == ALLOCATOR_NONE)
		allocator->count = 0;
	for (size_t i = 0; i < allocator->count; i++) {
		if (!function_belongs(allocator, reading->named[i]))
			continue;
		wraps[kept] = reading->named[i]->wraps;
		allocator->functions[kept++] = allocator->functions[i];
	}
	allocator->count = kept;
	return allocator_leave_out_wrappers(reading->fd, reading->image, allocator, wraps);
}

int allocator_read(int fd, const struct elf_image *image, struct allocator *allocator)
{
	struct allocator_reading reading = {.fd = fd, .image = image, .allocator = allocator};
	const char *names[ALLOCATOR_NAMES_MAX];

	*allocator = (struct allocator){.kind = ALLOCATOR_NONE};
	if (!image->wide)
		return 0;
	for (size_t i = 0; i < allocator_names_count; i++)
		names[i] = allocator_names[i].name;
	int r = symbol_lookup(fd, &image->dynsym, names, allocator_names_count, meet_symbol,
			      &reading);
	if (r == 0)
		r = symbol_lookup(fd, &image->symtab, names, allocator_names_count, meet_symbol,
				  &reading);
	if (r == 0)
		r = judge_allocator(&reading);
	if (r < 0)
		*allocator = (struct allocator){.kind = ALLOCATOR_NONE};
	return r;
}
