/* SPDX-License-Identifier: GPL-2.0-only */
/* What all outputs show of a frame that has a source. */
#pragma once

#include "base/buf.h"
#include "stack/frames.h"

/*
 * `name (file:line)`, `name (file)` without a line, and the name alone without a file: as they are,
 * neither escaped nor with the kind's suffix. Borrowed from the frame or from `scratch`, which is
 * emptied first. After an error of `scratch` it is the name.
 */
const char *frame_text(struct buf *scratch, const struct frame *frame, size_t *len);
