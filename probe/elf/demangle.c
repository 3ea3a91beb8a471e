// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "loop/worker.h"
#include "base/clock.h"

#define SYMBOL_MAX 4096
#define NAME_MAX_  4096

/*
 * The readable form of a crafted symbol grows without end, and only longjmp() stops libiberty. For
 * C++ that is fine: the printer keeps nothing on the heap. Rust's printer keeps decoded Punycode on
 * the heap. So when the name is full, Rust's printer runs on and its text is dropped; longjmp()
 * ends the printer only after CALLS_MAX calls, more than any name that fits takes. That leaks 1 KB
 * if the symbol has Punycode; the leak is bounded: after LOST_MAX of these, the user's symbols with
 * Punycode stay as they are. Root has a count of its own; other users share USERS - 1 counts by a
 * hash, as one user may own the files of many.
 */
#define CALLS_MAX 10000
#define BOMBS_MAX 16 /* in a file */
#define LOST_MAX  64 /* for each of USERS counts */
#define USERS	  64
#define CPU_MAX	  500000000ULL /* ns; for a file */

struct demangle_sink {
	char text[NAME_MAX_];
	size_t len;
	bool full;
	unsigned calls;
	bool leave_full; /* call longjmp() as soon as the text is full */
	jmp_buf enough;
};

static void collect_text(const char *text, size_t len, void *arg)
{
	struct demangle_sink *sink = arg;

	if (sink->calls++ >= CALLS_MAX || (sink->full && sink->leave_full))
		longjmp(sink->enough, 1);
	if (!len)
		return;
	if (sink->full || len > sizeof(sink->text) - sink->len) {
		sink->full = true;
		return;
	}
	memcpy(sink->text + sink->len, text, len);
	sink->len += len;
}

static void sink_begin(struct demangle_sink *sink, bool leave_full)
{
	sink->len = 0;
	sink->full = false;
	sink->calls = 0;
	sink->leave_full = leave_full;
}

static bool may_have_punycode(const char *symbol)
{
	for (const char *at = strchr(symbol, 'u'); at; at = strchr(at + 1, 'u')) {
		if (at[1] >= '0' && at[1] <= '9')
			return true;
	}
	return false;
}

static bool demangle_rust(struct demangling *demangling, const char *symbol,
			  struct demangle_sink *sink)
{
	static atomic_uint lost_of[USERS];
	uint64_t whose = demangling->whose;
	atomic_uint *lost = &lost_of[whose <= job_of(0, 0) ? 0 : 1 + whose % (USERS - 1)];

	if (strncmp(symbol, "_R", 2) == 0 && demangling->bombs >= BOMBS_MAX)
		return false;
	if (may_have_punycode(symbol) && atomic_load(lost) >= LOST_MAX)
		return false;
	sink_begin(sink, false);
	if (setjmp(sink->enough)) {
		demangling->bombs++;
		if (may_have_punycode(symbol))
			atomic_fetch_add(lost, 1);
		return false;
	}
	return rust_demangle_callback(symbol, DMGL_PARAMS | DMGL_ANSI, collect_text, sink) &&
	       !sink->full;
}

static bool demangle_cxx(const char *symbol, struct demangle_sink *sink)
{
	sink_begin(sink, true);
	if (setjmp(sink->enough))
		return false;
	return cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_ANSI, collect_text, sink) &&
	       !sink->full;
}

void demangle(const char *symbol, struct buf *out)
{
	struct demangling alone = {0};

	demangle_within(&alone, symbol, out);
}

void demangle_within(struct demangling *demangling, const char *symbol, struct buf *out)
{
	static _Thread_local struct demangle_sink sink;
	static _Thread_local char plain[SYMBOL_MAX + 1];
	/* Linkers put "@VERSION" or "@@VERSION" behind a name. */
	size_t len = 1 + strcspn(symbol[0] ? symbol + 1 : "", "@");

	if (!symbol[0])
		return;
	if (len > SYMBOL_MAX || symbol[0] != '_' || demangling->cpu_ns > CPU_MAX) {
		buf_add(out, symbol, len);
		return;
	}
	memcpy(plain, symbol, len);
	plain[len] = '\0';
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (demangle_rust(demangling, plain, &sink) || demangle_cxx(plain, &sink))
		buf_add(out, sink.text, sink.len);
	else
		buf_add(out, plain, len);
	demangling->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}
