/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CFI programs and the rows that they have. */
#pragma once

#include "unit/cfi/cfi_maker.h"

#include <zlib.h>

struct example {
	const uint8_t *program;
	size_t bytes;
	const char *rows;
};

/* Each program is that of a function of 0x100 bytes, at the start of the code. */
static inline void expect(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct frames frames = frames_usual();

		frames_fde(&frames, 0, 0x100, examples[i].program, examples[i].bytes);
		struct rows_text *rows = frames_rows(&frames);
		assert_int_equal(rows->error, 0);
		assert_string_equal(rows->text, examples[i].rows);
	}
}

#define EXPECT(...)                                                                                \
	do {                                                                                       \
		const struct example examples_[] = {__VA_ARGS__};                                  \
		expect(examples_, ARRAY_SIZE(examples_));                                          \
	} while (0)
