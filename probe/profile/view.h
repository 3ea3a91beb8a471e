/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Views of a probe: the window's stacks (VIEW_ALL), and for mem_glibc what is held: allocated since
 * the probe started and not freed (VIEW_INUSE), mapped by the program itself and not unmapped
 * (VIEW_MMAP). Each has files and titles of its own.
 */
#pragma once

#include "output/format/pprof_shape.h"
#include "bpf/shared/probe.h"

enum view { VIEW_ALL, VIEW_INUSE, VIEW_MMAP, VIEWS };

struct view_row {
	const char *name;	/* in queries: "inuse"; VIEW_ALL: "alloc" */
	const char *folder;	/* of its files: "mem_glibc-inuse" */
	const char *title;	/* of its pictures */
	const char *event_name; /* as struct kind's */
	const char *event_title;
	const struct pprof_shape *pprof;
};

/* NULL: the probe has no such view. VIEW_ALL: each has, by its kind. */
const struct view_row *view_get(enum probe probe, enum view view);

/* The view of that name (any case); -ENOENT: the probe has none of it. */
int view_find(enum probe probe, const char *name);
