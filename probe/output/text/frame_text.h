/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a frame, with its source file and line, as all outputs show it. */
#pragma once

#include "base/buf.h"
#include "stack/frames.h"

/*
 * Returns `name (file:line)`; `name (file)` if the line is unknown; the name if the file is unknown
 * or `scratch` has an error. The text is not escaped and has no suffix for the frame's kind. The
 * text is borrowed from the frame or from `scratch`, which is emptied first; no NUL ends it.
 */
const char *frame_text(struct buf *scratch, const struct frame *frame, size_t *len);
