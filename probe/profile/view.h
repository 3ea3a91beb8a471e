/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views of a probe: the window's stacks (VIEW_ALL), and these stacks with a second value
 * (VIEW_SECOND: the time of calls whose bytes are the first value); for mem_glibc also what is
 * held: allocated since the probe started and not freed (VIEW_INUSE), mapped by the program itself
 * and not unmapped (VIEW_MMAP). Each view has its own files and titles. Constant; any thread.
 */
#pragma once

#include <stdbool.h>

#include "output/format/pprof_shape.h"
#include "bpf/shared/probe.h"

enum view { VIEW_ALL, VIEW_SECOND, VIEW_INUSE, VIEW_MMAP, VIEWS };

struct view_row {
	const char *name; /* in queries: "inuse"; of VIEW_ALL, which may have this alone: "alloc" */
	const char *folder;	/* of its files: "mem_glibc-inuse" */
	const char *title;	/* of its pictures */
	const char *count_name; /* unit of its weights; NULL: as in struct kind */
	const char *event_name; /* as in struct kind */
	const char *event_title;
	const struct pprof_shape *pprof;
};

/* Returns a probe's view, or NULL if it has none such. Each probe has VIEW_ALL, by its kind. */
const struct view_row *view_get(enum probe probe, enum view view);

/* Returns whether a view is of what is held, not of a time. */
static inline bool view_is_held(enum view view)
{
	return view == VIEW_INUSE || view == VIEW_MMAP;
}

/* Returns the view of that name (any case), or -ENOENT if the probe has none such. */
int view_find(enum probe probe, const char *name);
