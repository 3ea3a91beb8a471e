/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a code object is called. */
#pragma once

#include "unit/python/python_maker.h"

static inline void assert_text(const char *text, size_t len, const char *expected)
{
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(text, expected, len);
}

static inline void assert_name(const struct pycode *code, const char *expected)
{
	size_t len;
	const char *name = pycode_name(code, &len);

	assert_text(name, len, expected);
}

static inline void assert_file(const struct pycode *code, const char *expected)
{
	size_t len;
	const char *file = pycode_file(code, &len);

	assert_text(file, len, expected);
}
