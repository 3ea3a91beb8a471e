/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by lines*.c: the parser of the reader's answers. */
#pragma once

#include "elf/lines.h"

/* Makes *ret of `answers` (line_reader/protocol.h), and takes them over. The bytes are hostile: the
 * first answer that makes no sense, and all behind it, are dropped. Returns 0 or -ENOMEM. */
int lines_take(struct lines **ret, struct buf *answers);
