// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symbol.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbol/java_name.h"
#include "symbol/kernel_symbols.h"
#include "symbol/perfmap.h"
#include "python/pycode.h"
#include "python/pypath.h"

struct symbolizer {
	struct kernel_symbols *kernel;
	atomic_uint_fast64_t unnamed; /* the loop reads this and kernel_error */
	atomic_int kernel_error;
	struct java_place java;
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

void symbolizer_read_kernel(struct symbolizer *symbolizer)
{
	kernel_symbols_read(symbolizer->kernel);
	atomic_store(&symbolizer->kernel_error, kernel_symbols_error(symbolizer->kernel));
}

size_t symbolizer_kernel_section(const struct symbolizer *symbolizer, const char *first,
				 const char *last, uint64_t *starts, size_t max, uint64_t *end)
{
	return kernel_symbols_section(symbolizer->kernel, first, last, starts, max, end);
}

void symbolizer_begin(struct symbolizer *symbolizer)
{
	kernel_symbols_begin(symbolizer->kernel);
	symbolizer->java.code = NULL;
}

static void without_symbol(struct named *named, struct buf *name, const char *module,
			   const uint64_t *address)
{
	named->unnamed = true;
	buf_char(name, '[');
	buf_str(name, module);
	if (address) {
		buf_str(name, "+0x");
		buf_hex(name, *address);
	}
	buf_char(name, ']');
}

static void name_kernel(struct symbolizer *symbolizer, uint64_t address, struct named *named,
			struct buf *name)
{
	const char *found = kernel_symbols_find(symbolizer->kernel, address);

	atomic_store(&symbolizer->kernel_error, kernel_symbols_error(symbolizer->kernel));
	named->type = FRAME_TYPE_KERNEL;
	if (found)
		buf_str(name, found);
	else
		without_symbol(named, name, "kernel", NULL);
}

static void name_jit(const struct code *code, struct named *named, struct buf *name)
{
	size_t len = code->told_len;
	const char *told = code->told;

	if (!told && code->perfmap)
		told = perfmap_find(code->perfmap, code->made, &len);

	named->type = FRAME_TYPE_JIT;
	if (told)
		buf_add(name, told, len);
	else
		buf_str(name, "[jit]");
}

static void name_python(const struct code *code, struct named *named, struct buf *name)
{
	size_t len;

	named->type = FRAME_TYPE_PYTHON;
	if (!code->python) {
		without_symbol(named, name, "python", NULL);
		return;
	}
	const char *text = pycode_name(code->python, &len);
	buf_add(name, text, len);
	text = pycode_file(code->python, &len);
	text = pypath_shorten(text, &len, code->script);
	buf_add(name, text, len);
	named->file_len = len;
	named->line = pycode_line(code->python, code->instruction);
}

static void name_java(struct symbolizer *symbolizer, const struct code *code, struct named *named,
		      struct buf *name)
{
	named->type = java_unknown_type(code->java_pair);
	if (!code->java || !java_name(&symbolizer->java, code, named, name))
		without_symbol(named, name, "java", NULL);
}

static void name_in_file(const struct code *code, struct named *named, struct buf *name)
{
	const struct symbol_file *file = code->file;
	const char *module = symbol_file_module(file);
	struct symbol_function function;

	if (symbol_file_is_jit(file)) {
		name_jit(code, named, name);
		return;
	}
	if (!symbol_file_find(file, code->address, &function)) {
		without_symbol(named, name, module, NULL);
		return;
	}
	if (function.name)
		buf_str(name, function.name);
	else
		without_symbol(named, name, module, &function.address);
}

struct named symbolizer_name(struct symbolizer *symbolizer, const struct code *code,
			     struct buf *name)
{
	struct named named = {.type = FRAME_TYPE_NATIVE};
	size_t before = name->len;

	switch (code->place) {
	case CODE_KERNEL:
		name_kernel(symbolizer, code->address, &named, name);
		break;
	case CODE_FILE:
		name_in_file(code, &named, name);
		break;
	case CODE_VSYSCALL:
		buf_str(name, "[vsyscall]");
		break;
	case CODE_JIT:
		name_jit(code, &named, name);
		break;
	case CODE_PYTHON:
		name_python(code, &named, name);
		break;
	case CODE_JAVA:
		name_java(symbolizer, code, &named, name);
		break;
	}
	if (buf_error(name))
		named.file_len = 0;
	else
		named.name_len = name->len - before - named.file_len;
	return named;
}

void symbolizer_count_unnamed(struct symbolizer *symbolizer, uint64_t frames)
{
	atomic_fetch_add(&symbolizer->unnamed, frames);
}

int symbolizer_kernel_error(const struct symbolizer *symbolizer)
{
	return atomic_load(&symbolizer->kernel_error);
}

uint64_t symbolizer_unnamed(const struct symbolizer *symbolizer)
{
	return atomic_load(&symbolizer->unnamed);
}
