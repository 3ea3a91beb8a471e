/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A canvas of `top` that is text. */
#pragma once

#include "base/buf.h"
#include "command/top/top_view.h"

/* Draws the view and adds it to `out`: lines without blanks at their ends, as many as have
 * something. Errors are the buffer's. */
void top_text_draw(struct buf *out, const struct top_view *view, unsigned rows, unsigned columns,
		   bool is_utf8);
