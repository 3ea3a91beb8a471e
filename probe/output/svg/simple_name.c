// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/svg/simple_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool has_simple_names(enum frame_type type)
{
	return type == FRAME_TYPE_JIT || type == FRAME_TYPE_INLINED ||
	       type == FRAME_TYPE_INTERPRETED || type == FRAME_TYPE_PYTHON;
}

/* Returns the length of the name before its file, its line and its parameters. */
static size_t qualified_length(const char *name, size_t len)
{
	size_t end = 0;

	while (end < len && name[end] != ' ' && name[end] != '(')
		end++;
	return end;
}

/* Returns whether the part is words with `::` between them: no template, no operator. */
static bool is_scoped(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool colons = i > 0 && i + 2 < len && name[i] == ':' && name[i + 1] == ':' &&
			      name[i + 2] != ':';

		if (!colons && !isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '~')
			return false;
		i += colons;
	}
	return memchr(name, ':', len) != NULL;
}

size_t simple_name(enum frame_type type, const char *name, size_t len, unsigned step,
		   const char **begin)
{
	size_t end = qualified_length(name, len);
	bool scoped = (end == len || name[end] == '(') && is_scoped(name, end);
	const char *last = memrchr(name, scoped ? ':' : '.', end);

	/* Another colon: what is compiled or inlined may be JavaScript, or C++ with templates. */
	if (!scoped &&
	    (!has_simple_names(type) || !last || last + 1 == name + end || memchr(name, ':', end)))
		return 0;
	if (step == 1)
		last = memrchr(name, *last, (size_t)(last - name) - scoped);
	*begin = step && last ? last + 1 : name;
	return (size_t)(name + end - *begin);
}
