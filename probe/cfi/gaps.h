/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code without CFI, in a file that has CFI elsewhere: does it keep frame pointers (V8's embedded
 * builtins) or not (hand-written assembly, whose caller's frame pointer would lead past the
 * caller)? It does where functions begin by saving one, often enough: RULE_FRAMES instead of
 * RULE_NONE.
 */
#pragma once

#include "cfi/cfi.h"

/* As rows_read(), whose rows these are, with gaps told apart. */
int gaps_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
	      struct cfi_stats *stats);
