/* SPDX-License-Identifier: GPL-2.0-only */
/* How much of its stacks a subscriber wants to see. */
#pragma once

#include <stdbool.h>

#include "stack/frames.h"

/* What tells two frames of one Python or Java function apart. */
enum frame_detail {
	FRAME_DETAIL_LINE,	/* the line that runs */
	FRAME_DETAIL_NAME,	/* nothing */
	FRAME_DETAIL_SIGNATURE, /* Java: its parameters' types; Python: the line */
};

struct stack_detail {
	bool thread_frame; /* the thread's name, below its process */
	bool native_stack; /* a runtime's own frames too */
	enum frame_detail frames;
	bool places;	     /* frames of native code by their place in it, too */
	bool without_kernel; /* the kernel's frames are left out, for who asks may not see them */
};

/* Makes of a frame with all that is known of it the one that is seen. */
void stack_detail_apply(enum frame_detail detail, struct frame *frame);
