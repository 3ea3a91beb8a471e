// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/symbol.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbol/demangle.h"
#include "symbol/kernel.h"

struct symbolizer {
	struct kernel_symbols *kernel;
	atomic_uint_fast64_t unnamed; /* read by the loop, as is */
	atomic_int kernel_error;
};

/* Where threads begin: the program's entry and what C libraries put between it and main, and
 * between clone and a thread's function (glibc, musl). */
static const char *const entries[] = {
	"_start",
	"__libc_start_call_main",
	"__libc_start_main",
	"__libc_start_main_impl",
	"__libc_start_main@@GLIBC_2.34",
	"libc_start_main_stage2",
	"_start_c",
	"start_thread",
	"clone",
	"__clone",
	"clone3",
	"__clone3",
	"start",
	"start_c11",
};

int symbolizer_new(struct symbolizer **ret)
{
	_cleanup_free_ struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return -ENOMEM;
	int r = kernel_symbols_new(&symbolizer->kernel);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(symbolizer);
	return 0;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	kernel_symbols_free(symbolizer->kernel);
	free(symbolizer);
}

void symbolizer_begin(struct symbolizer *symbolizer)
{
	kernel_symbols_begin(symbolizer->kernel);
}

/* In a stripped glibc they have no name, but lie right before functions that it exports:
 * __libc_start_call_main before the first of these, start_thread before the second. */
static const char *const behind_entries[] = {"__libc_start_main", "pthread_create"};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; name && i < count; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static bool is_entry(const struct native_function *function)
{
	if (function->name)
		return is_one_of(function->name, entries, ARRAY_SIZE(entries));
	return is_one_of(function->next, behind_entries, ARRAY_SIZE(behind_entries));
}

static void unnamed(struct symbolizer *symbolizer, struct buf *name, const char *module,
		    const uint64_t *address)
{
	atomic_fetch_add(&symbolizer->unnamed, 1);
	buf_char(name, '[');
	buf_str(name, module);
	if (address) {
		buf_str(name, "+0x");
		buf_hex(name, *address);
	}
	buf_char(name, ']');
}

static void name_kernel(struct symbolizer *symbolizer, uint64_t address, struct buf *name)
{
	const char *found = kernel_symbols_find(symbolizer->kernel, address);

	atomic_store(&symbolizer->kernel_error, kernel_symbols_error(symbolizer->kernel));

	if (found)
		buf_str(name, found);
	else
		unnamed(symbolizer, name, "kernel", NULL);
}

static enum frame_type name_in_file(struct symbolizer *symbolizer, const struct symbol_file *file,
				    uint64_t offset, struct buf *name, bool *entry)
{
	const struct native_table *table = symbol_file_table(file);
	const char *module = symbol_file_module(file);
	struct native_function function;

	if (symbol_file_is_jit(file)) {
		buf_str(name, "[jit]");
		return FRAME_TYPE_JIT;
	}
	if (!table || native_table_find(table, offset, &function) < 0) {
		unnamed(symbolizer, name, module, NULL);
	} else if (!function.name) {
		unnamed(symbolizer, name, module, &function.address);
		*entry = is_entry(&function);
	} else {
		demangle(function.name, name);
		*entry = is_entry(&function);
	}
	return FRAME_TYPE_NATIVE;
}

enum frame_type symbolizer_name(struct symbolizer *symbolizer, const struct code *code,
				struct buf *name, bool *entry)
{
	uint64_t address = code->address - (code->is_return ? 1 : 0);

	*entry = false;
	switch (code->place) {
	case CODE_KERNEL:
		name_kernel(symbolizer, address, name);
		return FRAME_TYPE_KERNEL;
	case CODE_FILE:
		return name_in_file(symbolizer, code->file, address, name, entry);
	case CODE_VSYSCALL:
		buf_str(name, "[vsyscall]");
		return FRAME_TYPE_NATIVE;
	case CODE_JIT:
		break;
	}
	buf_str(name, "[jit]");
	return FRAME_TYPE_JIT;
}

int symbolizer_kernel_error(const struct symbolizer *symbolizer)
{
	return atomic_load(&symbolizer->kernel_error);
}

uint64_t symbolizer_unnamed(const struct symbolizer *symbolizer)
{
	return atomic_load(&symbolizer->unnamed);
}
