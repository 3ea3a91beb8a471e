/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output formats: writers that turn a tree of frames into bytes. Each format has one writer and one
 * row in the table of output.c; a new format is one file and one row. Writers keep no state between
 * calls, except jsonl_write().
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

/* What the writers tell of a profile beside its tree. All pointers are borrowed. */
struct profile_meta {
	const char *title;	   /* "On-CPU Time Flame Graph" */
	const char *count_name;	   /* unit of the weights: "samples" */
	bool unit_unknown;	   /* count_name is a guess: folded text from somewhere */
	const char *event_name;	   /* "waits"; NULL: the weight already counts events */
	bool is_part_of_events;	   /* the weight is: titles of frames tell how large a part */
	const char *host;	   /* NULL: unknown */
	time_t from, until;	   /* CLOCK_REALTIME, s; 0: unknown */
	int64_t from_ns, until_ns; /* `from` and `until` in ns */
	uint64_t covered_ns;	   /* of a range of history: what of that was sampled; else 0 */
	uint64_t period_ns;	   /* sampling period; 0: the probe doesn't sample by time */
	uint64_t events, samples;  /* events, and the stacks taken for them; fewer if thinned */
	bool by_period;		   /* a sample is a period of a CPU's clock */
	unsigned deepflow;	   /* DeepFlow's number of such data */
	bool by_bytes;		   /* memory: events are drawn by bytes; left_out tells thinning */
	uint64_t left_out;  /* events drawn but left out by the guard; samples stand for them */
	uint64_t lost;	    /* lost samples */
	uint64_t truncated; /* weight of stacks that don't reach their root */
	uint32_t processes; /* processes in the profile */
	uint32_t recorded;  /* processes whose stacks their Java VM recorded (JFR) */
	bool icicle;	    /* draw the root on top */
	bool header;	    /* folded text begins with folded_header.h's line */
	bool by_value;	    /* lines of text in order of their values, the largest first */
	unsigned without;   /* 1 << enum frame_type: frames that folded text hasn't got */
	const struct pprof_shape *pprof;
	const struct places *places; /* source lines of the tree's places; NULL: unknown */
	enum pprof_labels pprof_labels;
	enum probe probe;
	const struct records *records; /* weights by thread, for jsonl; NULL: unknown */
};

/* Returns how long was sampled, ns; 0: it isn't known. */
static inline uint64_t profile_meta_length(const struct profile_meta *meta)
{
	if (meta->covered_ns || meta->until_ns <= meta->from_ns)
		return meta->covered_ns;
	return (uint64_t)(meta->until_ns - meta->from_ns);
}

/*
 * An output format. write() appends the subtree of node `start` (TREE_ROOT: the whole tree) to
 * `out`. write() returns 0 or a negative errno: -ENOMEM, or the error of `out`, which `out` keeps.
 */
struct output {
	const char *extension; /* "svg" */
	const char *content_type;
	bool picture; /* the format is a flame graph */
	bool places;  /* the format tells places within one function apart */
	bool modules; /* the format tells the files with the code, but no places in them */
	bool values;  /* the format has both weights and events */
	int (*write)(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		     struct buf *out);
};

/* Returns whether the format needs a profile with places. */
static inline bool output_has_places(const struct output *output)
{
	return output->places || output->modules;
}

/* Returns whether profiles of the format can follow one another (output/text/interval_text.h). */
static inline bool output_has_intervals(const struct output *output)
{
	return !output->picture && !output->values && !output->modules;
}

/* Returns the format of an extension, or NULL if the extension is unknown. */
const struct output *output_find(const char *extension);

/*
 * Writes folded text: a line `a;b;c 12` for each stack, root first, sorted by name or
 * meta->by_value. Names are escaped
 * (escape.h) and carry the suffix of their frame's kind ("_[k]"). Each line of a subtree begins
 * with the frames that lead to the subtree, without the root.
 */
int folded_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		 struct buf *out);

/* Writes SVG: one self-contained interactive flame graph. */
int svg_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
	      struct buf *out);

/* Writes the same as an HTML page, which small screens show in readable letters. */
int html_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
	       struct buf *out);

/* Writes JSON: nested {"name","kind","file","line","self","total","children"}; "file" and "line"
 * only where they are known. Names are as json_string() has them. */
int json_tree_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		    struct buf *out);

/* Writes the columns of the page at `/` (doc/formats.md). */
int frames_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		 struct buf *out);

/* Writes JSON lines: DeepFlow's record, one object for each of meta->records (doc/deepflow.md).
 * Bulk worker only, as stack_id(). */
int jsonl_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		struct buf *out);

/* Writes a pprof (output/format/pprof_shape.h), with all places and all values that the tree has.
 */
int pprof_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		struct buf *out);

/*
 * Writes one of several pprofs that together hold the stacks of a tree: the stacks from node *at on
 * (first call: TREE_ROOT), as many as the limits allow. *at becomes the node where the next pprof
 * begins; tree_count(): all are written. Returns 0, or a negative errno: as write(); -EMSGSIZE if
 * the stack at *at alone exceeds the limits: nothing was written, *at is the node after the stack.
 */
int pprof_write_part(const struct tree *tree, const struct profile_meta *meta,
		     const struct pprof_limits *limits, uint32_t *at, struct buf *out);
