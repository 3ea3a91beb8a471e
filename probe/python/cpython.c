// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/cpython.h"

#include <errno.h>

#include "base/cleanup.h"
#include "proc/symbol_lookup.h"
#include "python/cpython_state.h"

enum { NAME_RUNTIME, NAME_CODE_TYPE, NAME_FUNCTION_TYPE, NAME_LOOP, NAME_VERSION };

static const char *const names[] = {
	[NAME_RUNTIME] = "_PyRuntime",
	[NAME_CODE_TYPE] = "PyCode_Type",
	[NAME_FUNCTION_TYPE] = "PyFunction_Type",
	[NAME_LOOP] = "_PyEval_EvalFrameDefault",
	[NAME_VERSION] = "Py_Version",
};

static int meet_symbol(void *arg, size_t name, const Elf64_Sym *symbol)
{
	struct cpython_symbols *symbols = arg;
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	if (name == NAME_LOOP && type == STT_FUNC) {
		symbols->loop = symbol->st_value;
		symbols->loop_bytes = symbol->st_size;
	}
	if (type != STT_OBJECT)
		return 0;
	if (name == NAME_RUNTIME)
		symbols->runtime = symbol->st_value;
	if (name == NAME_CODE_TYPE)
		symbols->code_type = symbol->st_value;
	if (name == NAME_FUNCTION_TYPE)
		symbols->function_type = symbol->st_value;
	if (name == NAME_VERSION)
		symbols->version = symbol->st_value;
	return 0;
}

/* Looks for the symbols in one table. -ENOENT: not all of them are in the table. */
static int look_in(int fd, const struct elf_symbols *table, struct cpython_symbols *symbols)
{
	*symbols = (struct cpython_symbols){0};
	int r = symbol_lookup(fd, table, names, ARRAY_SIZE(names), meet_symbol, symbols);
	if (r < 0)
		return r;
	return symbols->runtime && symbols->code_type && symbols->loop ? 0 : -ENOENT;
}

static int find_symbols(int fd, const struct elf_image *image, int debug_fd,
			struct cpython_symbols *symbols)
{
	struct elf_image debug;
	int r = look_in(fd, &image->dynsym, symbols);

	if (r == -ENOENT)
		r = look_in(fd, &image->symtab, symbols);
	if (r == -ENOENT && debug_fd >= 0 && elf_read(debug_fd, &debug) == 0 && debug.wide)
		r = look_in(debug_fd, &debug.symtab, symbols);
	return r;
}

int cpython_find(int fd, const struct elf_image *image, int debug_fd, struct cpython_file *file)
{
	struct cpython_symbols symbols;

	*file = (struct cpython_file){0};
	if (!image->wide)
		return -ENOENT;
	int r = find_symbols(fd, image, debug_fd, &symbols);
	if (r < 0)
		return r;
	file->runtime = symbols.runtime;
	file->code_type = symbols.code_type;
	file->function_type = symbols.function_type;
	file->version = cpython_version(fd, image, symbols.version);
	return cpython_loop(fd, image, &symbols, file);
}
