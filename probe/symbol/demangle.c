// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define SYMBOL_MAX 4096
#define NAME_MAX_  4096

/*
 * Crafted symbols grow without end, and libiberty has no way to stop it but longjmp(). For C++ that
 * is fine: its printer keeps nothing on the heap. Rust's keeps decoded Punycode there, so it goes
 * on into the void when the name is full, and is left only if that takes too long. What is lost
 * then (1 KB) is bounded: after a few such symbols long Rust symbols stay as they are.
 */
#define RUST_CALLS_MAX 1000000
#define RUST_BOMBS_MAX 16
#define RUST_LONG      256

struct sink {
	char text[NAME_MAX_];
	size_t len;
	bool full;
	unsigned long ignored, ignored_max; /* calls when it is full */
	jmp_buf enough;
};

static void take(const char *text, size_t len, void *arg)
{
	struct sink *sink = arg;

	if (!len)
		return;
	if (sink->full || len > sizeof(sink->text) - sink->len) {
		sink->full = true;
		if (sink->ignored++ >= sink->ignored_max)
			longjmp(sink->enough, 1);
		return;
	}
	memcpy(sink->text + sink->len, text, len);
	sink->len += len;
}

static void sink_begin(struct sink *sink, unsigned long ignored_max)
{
	sink->len = 0;
	sink->full = false;
	sink->ignored = 0;
	sink->ignored_max = ignored_max;
}

static bool demangle_rust(const char *symbol, struct sink *sink)
{
	static atomic_uint bombs;

	sink_begin(sink, RUST_CALLS_MAX);
	if (atomic_load(&bombs) > RUST_BOMBS_MAX && strlen(symbol) > RUST_LONG)
		return false;
	if (setjmp(sink->enough)) {
		atomic_fetch_add(&bombs, 1);
		return false;
	}
	return rust_demangle_callback(symbol, DMGL_PARAMS | DMGL_ANSI, take, sink) && !sink->full;
}

static bool demangle_cxx(const char *symbol, struct sink *sink)
{
	sink_begin(sink, 0);
	if (setjmp(sink->enough))
		return false;
	return cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_ANSI, take, sink);
}

void demangle(const char *symbol, struct buf *out)
{
	static _Thread_local struct sink sink;
	static _Thread_local char plain[SYMBOL_MAX + 1];
	/* Linkers put "@VERSION" or "@@VERSION" behind a name. */
	size_t len = 1 + strcspn(symbol[0] ? symbol + 1 : "", "@");

	if (!symbol[0])
		return;
	if (len > SYMBOL_MAX || symbol[0] != '_') {
		buf_add(out, symbol, len);
		return;
	}
	memcpy(plain, symbol, len);
	plain[len] = '\0';
	if (demangle_rust(plain, &sink) || demangle_cxx(plain, &sink))
		buf_add(out, sink.text, sink.len);
	else
		buf_add(out, plain, len);
}
