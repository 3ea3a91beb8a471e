// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#define SYMBOL_MAX 4096
#define NAME_MAX_  4096

struct sink {
	char text[NAME_MAX_];
	size_t len;
	jmp_buf full;
};

/* libiberty has no way to stop it from the callback; its printers keep nothing on the heap. */
static void take(const char *text, size_t len, void *arg)
{
	struct sink *sink = arg;

	if (len > sizeof(sink->text) - sink->len)
		longjmp(sink->full, 1);
	memcpy(sink->text + sink->len, text, len);
	sink->len += len;
}

/* Compilers and linkers put "@VERSION", ".part.0", ".cold", ".llvm.123" behind a name. libiberty
 * knows the dotted ones; versions are cut off. */
static bool demangled(const char *symbol, struct sink *sink)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	if (symbol[0] != '_')
		return false;
	if (setjmp(sink->full))
		return false;
	if (rust_demangle_callback(symbol, options, take, sink))
		return true;
	sink->len = 0;
	return cplus_demangle_v3_callback(symbol, options, take, sink);
}

void demangle(const char *symbol, struct buf *out)
{
	static _Thread_local struct sink sink;

	sink.len = 0;
	if (strlen(symbol) <= SYMBOL_MAX && demangled(symbol, &sink))
		buf_add(out, sink.text, sink.len);
	else
		buf_str(out, symbol);
}
