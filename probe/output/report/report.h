/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heaviest functions of folded text, as a table of text. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "output/svg/stacks.h"

struct report_wish {
	const char *unit; /* of the weights */
	uint32_t rows;	  /* functions at most */
	bool callers;	  /* below each function the functions that call it */
};

/*
 * Adds the table of the side STACKS_AFTER: functions by the weight of the stacks that end in them
 * ("self"), with the weight of all stacks that they are in ("total"; a stack that a function is in
 * twice counts once). Returns 0 or -ENOMEM, or the error of `out`.
 */
int report_write(const struct stacks *stacks, const struct report_wish *wish, struct buf *out);
