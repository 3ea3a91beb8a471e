/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of its stacks a subscriber sees. */
#pragma once

#include <stdbool.h>

#include "stack/frames.h"

/* What distinguishes frames of one Python or Java function. */
enum frame_detail {
	FRAME_DETAIL_LINE,	/* the line that runs */
	FRAME_DETAIL_NAME,	/* nothing */
	FRAME_DETAIL_SIGNATURE, /* Java: the types of its parameters; Python: the line */
};

struct stack_detail {
	bool thread_frame; /* a frame for the thread, below its process */
	bool native_stack; /* a runtime's own frames are shown */
	enum frame_detail frames;
	bool places;	     /* frames of native code have their place in it */
	bool without_kernel; /* no kernel frames, as the user may not see them */
};

/* Reduces a frame with all that is known of it to what is seen. */
void stack_detail_apply(enum frame_detail detail, struct frame *frame);
