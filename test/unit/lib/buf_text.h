/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a buffer holds, as a string. */
#pragma once

#include "base/buf.h"
#include "unit/lib/unit.h"

/* Takes the content over, with a NUL; the caller frees it. NULL: the buffer failed. */
static inline char *take_text(struct buf *buf, size_t *len)
{
	buf_char(buf, '\0');
	if (buf_error(buf))
		return NULL;
	if (len)
		*len = buf->len - 1;
	buf->len = buf->capacity = 0;
	return TAKE_PTR(buf->data);
}
