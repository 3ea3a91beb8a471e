/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Outputs: a tree -> bytes. One writer a format, one row a format in the table below; a new
 * format is one file and one row.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "output/format/pprof_shape.h"
#include "bpf/shared/probe.h"
#include "stack/places.h"
#include "stack/records.h"
#include "stack/tree.h"

/* What a profile is about: the words around the numbers. Strings are borrowed. */
struct profile_meta {
	const char *title;	/* "On-CPU Time Flame Graph" */
	const char *count_name; /* unit of the weights: "samples" */
	const char *event_name; /* of the events, where they are something else than the weight */
	const char *host;
	time_t from, until;	   /* 0 = unknown */
	int64_t from_ns, until_ns; /* the same, exactly */
	uint64_t period_ns;	   /* of the sampling, 0 = not sampled by time */
	uint64_t events, samples;  /* fewer samples than events: stacks were thinned … */
	bool by_bytes;		   /* … or, of memory, drawn by their bytes: then … */
	uint64_t left_out;  /* … so many of those drawn were left out, for others to tell */
	uint64_t lost;	    /* samples that were lost */
	uint64_t truncated; /* weight of stacks that don't reach their root */
	uint32_t processes; /* how many processes are in it */
	uint32_t recorded;  /* of these: with stacks that their Java VM recorded */
	bool icicle;	    /* the picture has its root on top */
	const struct pprof_shape *pprof;
	const struct places
		*places; /* the source lines of the tree's places; NULL: none are known */
	enum pprof_labels pprof_labels;
	enum probe probe;
	const struct records *records; /* whose the stacks are; NULL: not known */
};

/*
 * write() appends what lies below and including `start` (TREE_ROOT: all of it). Errors: those of
 * the buffer (it keeps them as well) and -ENOMEM.
 */
struct output {
	const char *extension; /* "svg" */
	const char *content_type;
	bool places; /* it tells places of one function apart */
	bool values; /* it has the events beside the weights */
	int (*write)(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		     struct buf *out);
};

/* NULL for an unknown extension. */
const struct output *output_find(const char *extension);

/*
 * folded: `a;b;c 12` a line, root first, sorted; a name's `;` becomes `:`, control bytes and line
 * ends a blank, invalid UTF-8 U+FFFD. A subtree's lines begin with the frames that lead to it
 * (without the root). Frames carry their kind's suffix ("_[k]").
 */
int folded_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		 struct buf *out);

/* svg: one self-contained interactive flame graph. */
int svg_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
	      struct buf *out);

/* json: {"name","kind","self","total","children"}, names as they are (valid UTF-8). */
int json_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
	       struct buf *out);

/* jsonl: DeepFlow's record, a JSON object a line for each of meta->records (doc/deepflow.md). Only
 * on the thread that stack_id() is for. */
int jsonl_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		struct buf *out);

/* pprof (output/format/pprof_shape.h); of the tree's places and values all that there is. */
int pprof_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		struct buf *out);

/*
 * One of several pprofs that hold a tree's stacks together: those from node *at on (the first one:
 * TREE_ROOT), as many as the limits allow; *at is where the next one begins, tree_count() at the
 * end. -EMSGSIZE: the stack there doesn't fit by itself; it is passed over and nothing was written.
 */
int pprof_write_part(const struct tree *tree, const struct profile_meta *meta,
		     const struct pprof_limits *limits, uint32_t *at, struct buf *out);
