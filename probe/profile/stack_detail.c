// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/stack_detail.h"

void stack_detail_apply(enum frame_detail detail, struct frame *frame)
{
	bool is_python = frame->type == FRAME_TYPE_PYTHON;

	if (detail != FRAME_DETAIL_SIGNATURE)
		frame->name_len -= frame->signature_len;
	frame->signature_len = 0;
	if (detail == FRAME_DETAIL_NAME)
		frame->source.line = 0;
	/* The name of a Java method includes its class. */
	if (detail != FRAME_DETAIL_LINE && !is_python)
		frame->source = (struct frame_source){0};
}
