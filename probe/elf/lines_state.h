/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by lines*.c: what the reader answered becomes what is known. */
#pragma once

#include "elf/lines.h"

/* Takes over `answers` (line_reader/protocol.h), which may be anything: what makes no sense ends
 * them. -ENOMEM */
int lines_take(struct lines **ret, struct buf *answers);
