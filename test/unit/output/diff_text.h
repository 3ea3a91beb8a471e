/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two folded texts as struct stacks, for tests of output/diff and output/report. */
#pragma once

#include <string.h>

#include "output/svg/stacks.h"
#include "unit/lib/unit.h"

/* Texts need zeros behind them. */
struct diff_text {
	char after[4096], before[4096];
	struct stacks stacks;
};

static inline void diff_text_read(struct diff_text *text, const char *before, const char *after)
{
	memset(text, 0, sizeof(*text));
	assert_true(strlen(before) + STACKS_PADDING < sizeof(text->before));
	assert_true(strlen(after) + STACKS_PADDING < sizeof(text->after));
	strcpy(text->before, before);
	strcpy(text->after, after);
	assert_int_equal(stacks_read(&text->stacks, STACKS_BEFORE, text->before, strlen(before)),
			 0);
	assert_int_equal(stacks_read(&text->stacks, STACKS_AFTER, text->after, strlen(after)), 0);
}

static inline void diff_text_done(struct diff_text *text)
{
	stacks_done(&text->stacks);
}
#define _cleanup_diff_text_ _cleanup_(diff_text_done)
