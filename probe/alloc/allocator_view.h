/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known of a target's allocator, to be shown. */
#pragma once

#include <stdbool.h>

#include "alloc/allocator_kind.h"

enum allocator_state {
	ALLOCATOR_UNKNOWN, /* not looked at yet */
	ALLOCATOR_PROBED,
	ALLOCATOR_UNSUPPORTED, /* why: a sentence */
	ALLOCATOR_FAILED,      /* … */
};

/* What is known of a target's allocator. Strings are borrowed until the loop goes on. */
struct allocator_view {
	enum allocator_state state;
	enum allocator_kind kind;
	const char *file; /* its path as the process maps it; "": the program itself */
	unsigned points;  /* attached */
	unsigned stepped; /* of these, on instructions that the kernel has to single-step */
	bool session;	  /* returns are probed only where they are wanted */
	const char *why;  /* "": there's no more to say */
};

/* Of all targets together. */
struct allocators_stats {
	unsigned files;	  /* that have points */
	unsigned points;  /* in them */
	unsigned stepped; /* of these, … */
	bool session;	  /* returns are probed only where they are wanted; there are points */
	bool arming;	  /* files are being looked at */
};
