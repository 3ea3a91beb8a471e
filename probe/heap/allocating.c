// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocating.h"

#include <string.h>

#include "base/cleanup.h"

static bool is_any(const char *const *words, size_t count, const char *name, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(words[i]) == len && memcmp(words[i], name, len) == 0)
			return true;
	}
	return false;
}

/* Cuts off `prefix`; false: it has none. */
static bool skip_prefix(const char **name, size_t *len, const char *prefix)
{
	size_t bytes = strlen(prefix);

	if (*len < bytes || memcmp(*name, prefix, bytes) != 0)
		return false;
	*name += bytes;
	*len -= bytes;
	return true;
}

/* "operator new", "operator new[](unsigned long)"; not "operator newish". */
static bool is_operator(const char *name, size_t len)
{
	if (!skip_prefix(&name, &len, "operator new") &&
	    !skip_prefix(&name, &len, "operator delete"))
		return false;
	return !len || *name == '(' || *name == '[';
}

bool allocating_function(const char *name, size_t len)
{
	static const char *const words[] = {
		"malloc",	 "calloc", "realloc",	     "memalign", "reallocarray",
		"aligned_alloc", "valloc", "posix_memalign", "pvalloc",	 "free"};
	static const char *const prefixes[] = {"je_", "_rjem_", "__libc_", "tc_"};

	if (is_operator(name, len))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (skip_prefix(&name, &len, prefixes[i]))
			break;
	}
	return is_any(words, ARRAY_SIZE(words), name, len);
}

bool allocating_module(const char *module)
{
	return module && (strstr(module, "jemalloc") || strstr(module, "tcmalloc"));
}

bool allocating_above(const struct allocating_frame *leaf, const struct allocating_frame *frame,
		      size_t above, const void *program)
{
	if (above == 1 && frame->file && frame->file == leaf->file && frame->file != program)
		return true;
	return allocating_function(frame->name, frame->len) || allocating_module(frame->module);
}
