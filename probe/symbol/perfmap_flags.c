// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/perfmap_flags.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

#define NODE "node --perf-basic-prof, or that in NODE_OPTIONS"
#define RUBY "ruby --yjit --yjit-perf (3.3 and later); only what YJIT has compiled has names"
#define PHP                                                                                        \
	"opcache.jit_debug=16 in php.ini, with opcache's JIT on; only what it has compiled has "   \
	"names"

static const struct {
	const char
		*begin;	 /* of the file's name, before a version: a digit, '-' or '.', or the end */
	bool is_program; /* else a library */
	const char *flag;
} rows[] = {
	{"node", true, NODE},
	{"nodejs", true, NODE},
	{"libnode", false, NODE},
	{"libcoreclr", false, "DOTNET_PerfMapEnabled=1 in the environment"},
	{"ruby", true, RUBY},
	{"libruby", false, RUBY},
	{"php", true, PHP},
	{"php-fpm", true, PHP},
	{"php-cgi", true, PHP},
	{"libphp", false, PHP},
	{"beam.smp", true, "erl +JPperf true, or that in ERL_FLAGS (Erlang/OTP 24 and later)"},
};

/* Returns whether the rest of a name is a version: 20, 8.2; of a library's, -3.3.so.3.3, .so. */
static bool is_version(const char *rest, bool is_program)
{
	size_t digits = strspn(rest, is_program ? "0123456789." : "-0123456789.");

	return !rest[digits] || (!is_program && strncmp(rest + digits, "so", 2) == 0);
}

const char *perfmap_flag(const char *path, bool is_program)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = strlen(rows[i].begin);

		if (rows[i].is_program != is_program || strncmp(name, rows[i].begin, len) != 0)
			continue;
		if (is_version(name + len, is_program))
			return rows[i].flag;
	}
	return NULL;
}
