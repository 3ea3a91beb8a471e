// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A frame is known by where it begins and ends in the text of its line, with one `;` assumed behind
 * the stack. So the frames of a stack of n bytes are the bytes 0 to n + 1, and the frames that a
 * line shares with the line before are a number of bytes: the line's *cut*.
 *
 * All frames that open at a line are one segment, for they begin together; a segment is divided
 * only where the cut of a later line lies within it. So the pass takes a step for each line, not
 * for each frame, and reads the names only of frames that are heavy enough.
 */
#include "output/svg/stacks_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

#define AHEAD	      8 /* lines whose text is prefetched */
#define WEIGHT_BITS   40
#define WEIGHT_MASK   ((UINT64_C(1) << WEIGHT_BITS) - 1) /* as a weight: read it from the text */
#define DEPTH_UNKNOWN 0

/* After sorting the key holds cut : 24 | weight : 40. */
static uint32_t line_cut(const struct stacks_line *line)
{
	return (uint32_t)(line->key >> WEIGHT_BITS);
}

static uint64_t line_weight(const struct stacks *stacks, const struct stacks_line *line)
{
	uint64_t weight = line->key & WEIGHT_MASK;

	return weight == WEIGHT_MASK ? stacks_weight(stacks, line) : weight;
}

/* Returns where the frames of a line end; an empty stack has none. */
static uint32_t line_end(const struct stacks_line *line)
{
	size_t len = stacks_length(line);

	return len ? (uint32_t)len + 1 : 0;
}

/* Returns the cut: how far the frames of two neighbours are the same. `first` sorts first. */
static uint32_t cut_between(const struct stacks *stacks, const struct stacks_line *first,
			    const struct stacks_line *second)
{
	const char *a = stacks_text(stacks, first), *b = stacks_text(stacks, second);
	size_t a_len = stacks_length(first), b_len = stacks_length(second);
	size_t same = stacks_same_bytes(a, b, a_len < b_len ? a_len : b_len);

	if (same == a_len && a_len && (same == b_len || b[same] == ';'))
		return (uint32_t)same + 1;
	const char *separator = same ? memrchr(b, ';', same) : NULL;
	return separator ? (uint32_t)(separator + 1 - b) : 0;
}

static void look_ahead(const struct stacks *stacks, size_t at)
{
	if (at >= stacks->count)
		return;
	const char *text = stacks_text(stacks, &stacks->lines[at]);
	const char *end = text + stacks_length(&stacks->lines[at]);

	for (const char *p = text; p < end && p < text + 512; p += 64)
		__builtin_prefetch(p);
	__builtin_prefetch(end);
}

bool stacks_are_by_time(const struct stacks *stacks)
{
	return stacks->took_ns[STACKS_AFTER] && stacks->took_ns[STACKS_BEFORE];
}

/* Returns what weights of `before` are multiplied with, as a fraction: [STACKS_AFTER] /
 * [STACKS_BEFORE]; NULL: they stay as they are. */
static const uint64_t *scale_of(const struct stacks *stacks)
{
	if (stacks->normalize)
		return stacks->totals[STACKS_BEFORE] ? stacks->totals : NULL;
	return stacks_are_by_time(stacks) ? stacks->took_ns : NULL;
}

double stacks_scale(const struct stacks *stacks)
{
	const uint64_t *scale = scale_of(stacks);

	return scale ? (double)scale[STACKS_AFTER] / (double)scale[STACKS_BEFORE] : 0;
}

uint64_t stacks_before(const struct stacks *stacks, uint64_t weight)
{
	const uint64_t *scale = scale_of(stacks);

	if (!scale)
		return weight;
	unsigned __int128 scaled =
		(unsigned __int128)weight * scale[STACKS_AFTER] / scale[STACKS_BEFORE];
	return scaled < UINT64_MAX ? (uint64_t)scaled : UINT64_MAX;
}

static uint64_t change_of(const struct stacks *stacks, const uint64_t own[2])
{
	uint64_t after = own[STACKS_AFTER], before = stacks_before(stacks, own[STACKS_BEFORE]);

	return after > before ? after - before : before - after;
}

uint64_t stacks_link(struct stacks *stacks)
{
	uint64_t own[2] = {0}, most = 0;

	for (size_t i = 0; i < stacks->count; i++) {
		struct stacks_line *line = &stacks->lines[i];
		uint32_t cut = i ? cut_between(stacks, line - 1, line) : 0;
		uint64_t weight = stacks_weight(stacks, line);

		look_ahead(stacks, i + AHEAD);
		line->key = (uint64_t)cut << WEIGHT_BITS |
			    (weight < WEIGHT_MASK ? weight : WEIGHT_MASK);
		if (cut < line_end(line)) { /* another stack than the line before */
			uint64_t change = change_of(stacks, own);

			most = change > most ? change : most;
			own[STACKS_AFTER] = own[STACKS_BEFORE] = 0;
		}
		if (line_end(line))
			own[stacks_side(line)] += weight;
	}
	uint64_t change = change_of(stacks, own);
	return change > most ? change : most;
}

struct segment {
	const char *text;
	uint32_t begin, end; /* of its frames, in the text */
	uint32_t depth;	     /* of its first frame; DEPTH_UNKNOWN until it is needed */
	uint64_t start;	     /* weight of all lines before */
	uint64_t own[2];     /* by side: own weight of its last frame */
	bool leaves_out;     /* children of its last frame were too light */
};

struct walk {
	struct segment *segments; /* open segments, each above the one before */
	size_t count, capacity;
	uint64_t least;
	uint64_t weight; /* of all lines so far */
	bool (*chain)(void *arg, const struct stacks_chain *chain);
	void *arg;
};

static void walk_done(struct walk *walk)
{
	free(walk->segments);
}

static uint32_t count_frames(const char *begin, const char *end)
{
	uint32_t count = 1;

	for (; begin < end; begin++)
		count += *begin == ';';
	return count;
}

uint32_t stacks_chain_frames(const struct stacks_chain *chain)
{
	return count_frames(chain->begin, chain->end);
}

static uint32_t find_depth(struct walk *walk, size_t at)
{
	size_t known = at;

	while (known > 0 && walk->segments[known].depth == DEPTH_UNKNOWN)
		known--;
	if (known == 0)
		walk->segments[0].depth = 1;
	for (; known < at; known++) {
		const struct segment *below = &walk->segments[known];

		walk->segments[known + 1].depth =
			below->depth +
			count_frames(below->text + below->begin, below->text + below->end - 1);
	}
	return walk->segments[at].depth;
}

/* Ends the frames of the topmost segment from `cut` on. Returns false to stop. */
static bool close_frames(struct walk *walk, uint32_t cut)
{
	struct segment *top = &walk->segments[walk->count - 1];
	uint64_t weight = walk->weight - top->start;

	if (weight >= walk->least) {
		uint32_t depth = find_depth(walk, walk->count - 1);
		struct stacks_chain chain = {
			.text = top->text,
			.begin = top->text + cut,
			.end = top->text + top->end - 1,
			.depth = depth,
			.offset = top->start,
			.weight = weight,
			.own = {top->own[0], top->own[1]},
			.leaves_out = top->leaves_out,
		};

		if (cut > top->begin)
			chain.depth += count_frames(top->text + top->begin, top->text + cut - 1);
		if (!walk->chain(walk->arg, &chain))
			return false;
	}
	bool is_light = weight && weight < walk->least;
	if (cut == top->begin) {
		walk->count--;
		if (walk->count > 0)
			top[-1].leaves_out |= is_light;
	} else {
		top->end = cut;
		top->own[0] = top->own[1] = 0;
		top->leaves_out = is_light;
	}
	return true;
}

static bool close_above(struct walk *walk, uint32_t cut)
{
	while (walk->count > 0) {
		const struct segment *top = &walk->segments[walk->count - 1];

		if (top->end <= cut)
			break;
		if (!close_frames(walk, top->begin > cut ? top->begin : cut))
			return false;
	}
	return true;
}

static int open_segment(struct walk *walk, const char *text, uint32_t begin, uint32_t end)
{
	if (array_grow(walk->segments, walk->capacity, walk->count + 1, 64) < 0)
		return -ENOMEM;
	walk->segments[walk->count++] =
		(struct segment){.text = text, .begin = begin, .end = end, .start = walk->weight};
	return 0;
}

int stacks_walk(const struct stacks *stacks, uint64_t least,
		bool (*chain)(void *arg, const struct stacks_chain *chain), void *arg)
{
	_cleanup_(walk_done) struct walk walk = {.least = least, .chain = chain, .arg = arg};

	for (size_t i = 0; i < stacks->count; i++) {
		const struct stacks_line *line = &stacks->lines[i];
		uint32_t cut = line_cut(line), end = line_end(line);
		uint64_t weight = line_weight(stacks, line);
		int r = 0;

		if (!close_above(&walk, cut))
			return 0;
		if (end > cut)
			r = open_segment(&walk, stacks_text(stacks, line), cut, end);
		if (r < 0)
			return r;
		if (walk.count > 0)
			walk.segments[walk.count - 1].own[stacks_side(line)] += weight;
		if (stacks_side(line) == STACKS_AFTER)
			walk.weight += weight;
	}
	close_above(&walk, 0);
	return 0;
}
