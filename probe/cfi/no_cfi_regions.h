/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filter over a file's rows that finds out whether code without CFI keeps frame pointers (V8's
 * embedded builtins do) or not (hand-written assembly, where the frame pointer would lead past the
 * caller). A gap gets RULE_FRAMES instead of RULE_NONE if enough of its functions begin by saving
 * the frame pointer.
 */
#pragma once

#include "cfi/cfi.h"

/* Does what rows_read() does, but gives RULE_FRAMES for gaps that keep frame pointers. */
int no_cfi_regions_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
			struct cfi_stats *stats);
