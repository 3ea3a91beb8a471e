/* SPDX-License-Identifier: GPL-2.0-only */
/* How much of its stacks a subscriber wants to see. */
#pragma once

#include <stdbool.h>

struct detail {
	bool thread_frame; /* the thread's name, below its process */
	bool native_stack; /* an interpreter's own frames too */
	bool lines;	   /* Python's lines, not only its functions */
};
