/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a target's allocator, for display. */
#pragma once

#include <stdbool.h>

#include "alloc/allocator_kind.h"

enum allocator_state {
	ALLOCATOR_UNKNOWN, /* not looked at yet */
	ALLOCATOR_PROBED,
	ALLOCATOR_UNSUPPORTED, /* `why` says the reason, a sentence */
	ALLOCATOR_FAILED,      /* likewise */
};

/* One target's allocator. Strings are borrowed until the loop goes on. */
struct allocator_view {
	enum allocator_state state;
	enum allocator_kind kind;
	const char *file; /* its path as the process maps it; "": the program itself */
	unsigned points;  /* attached probe points */
	unsigned stepped; /* points among them that the kernel has to single-step */
	bool session;	  /* returns are probed only for calls that want it */
	const char *why;  /* "": nothing to add */
};

/* Totals of all targets. */
struct allocators_stats {
	unsigned files;	  /* with attached points */
	unsigned points;  /* in those files */
	unsigned stepped; /* points among them that the kernel has to single-step */
	/* returns are probed only for calls that want it; false without points */
	bool session;
	bool arming; /* files of some target are being looked at for the first time */
};

/* Rows of struct allocators_stats (measure/measure.h). */
extern const struct measures allocator_measures;
