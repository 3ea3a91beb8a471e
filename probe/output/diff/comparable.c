// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/diff/comparable.h"

#include <string.h>

#include "base/cleanup.h"
#include "output/diff/frame_place.h"
#include "output/diff/versions.h"
#include "output/text/head_frame.h"

struct rewriting {
	struct comparable *result;
	struct file_versions *versions;
	enum places_wish places;
};

static void rewriting_done(struct rewriting *rewriting)
{
	versions_free(rewriting->versions);
}

/* Calls frame() for each frame of a line, root first. */
static int each_frame(const struct stacks *stacks, const struct stacks_line *line,
		      int (*frame)(void *arg, const char *name, size_t len), void *arg)
{
	const char *name = stacks_text(stacks, line), *end = name + stacks_length(line);
	int r = 0;

	while (r == 0 && name) {
		const char *separator = memchr(name, ';', (size_t)(end - name));

		r = frame(arg, name, (size_t)((separator ? separator : end) - name));
		name = separator ? separator + 1 : NULL;
	}
	return r;
}

struct told_line {
	struct file_versions *versions;
	enum stacks_side side;
	uint64_t weight;
};

static int tell_frame(void *arg, const char *name, size_t len)
{
	const struct told_line *line = arg;

	return versions_add(line->versions, line->side, line->weight, name, len);
}

static int compare_versions(struct rewriting *rewriting, const struct stacks *stacks)
{
	int r = versions_new(&rewriting->versions);

	for (size_t i = 0; r == 0 && i < stacks->count; i++) {
		const struct stacks_line *line = &stacks->lines[i];
		struct told_line told = {rewriting->versions, stacks_side(line),
					 stacks_weight(stacks, line)};

		r = each_frame(stacks, line, tell_frame, &told);
	}
	return r < 0 ? r : versions_compare(rewriting->versions, stacks->totals);
}

/* A line that is written anew. */
struct fresh_line {
	const struct rewriting *rewriting;
	struct buf *out;
	uint32_t row;			   /* of the frame before */
	enum frame_type on;		   /* type of the frame before, in the rows of heads */
	size_t process, process_end, leaf; /* offsets in `out`; process 0: there is none */
	bool has_pid;
};

static bool leaves_out(const struct rewriting *rewriting, const char *name,
		       const struct place_in_name *place)
{
	if (rewriting->places != PLACES_BY_VERSION)
		return rewriting->places == PLACES_DROP;
	return versions_differ(rewriting->versions, name + place->group_begin,
			       place->group_end - place->group_begin);
}

static void write_head(struct fresh_line *line, const char *name, size_t len)
{
	size_t pid = line->on == FRAME_TYPE_PROCESS ? head_frame_pid(name, len) : 0;

	line->leaf = line->out->len;
	buf_add(line->out, name + pid, len - pid);
	if (!pid)
		return;
	line->has_pid = true;
	line->process = line->leaf;
	line->process_end = line->out->len;
}

static int write_frame(void *arg, const char *name, size_t len)
{
	struct fresh_line *line = arg;
	struct place_in_name place;

	if (line->row++ > 0)
		buf_char(line->out, ';');
	line->on =
		line->row <= HEAD_ROWS ? head_frame_type(name, len, line->on) : FRAME_TYPE_NATIVE;
	if (line->on != FRAME_TYPE_NATIVE) {
		write_head(line, name, len);
		return 0;
	}
	line->leaf = line->out->len;
	if (frame_place_find(name, len, &place) && leaves_out(line->rewriting, name, &place)) {
		buf_add(line->out, name, place.begin);
		buf_add(line->out, name + place.end, len - place.end);
	} else {
		buf_add(line->out, name, len);
	}
	return 0;
}

static int write_line(const struct rewriting *rewriting, const struct stacks *stacks,
		      const struct stacks_line *old)
{
	enum stacks_side side = stacks_side(old);
	struct comparable *result = rewriting->result;
	struct buf *out = &result->texts[side];
	struct fresh_line line = {rewriting, out, .on = FRAME_TYPE_ROOT};
	uint64_t weight = stacks_weight(stacks, old);

	/* A name may be empty: there is an address then, too. */
	int r = buf_reserve(out, 1) ? each_frame(stacks, old, write_frame, &line) : 0;
	r = r == 0 ? buf_error(out) : r;
	if (r == 0)
		r = common_add(result->common, COMMON_LEAVES, side, weight, out->data + line.leaf,
			       out->len - line.leaf);
	if (r == 0 && line.has_pid)
		r = common_add(result->common, COMMON_PROCESSES, side, weight,
			       out->data + line.process, line.process_end - line.process);
	result->has_pids |= line.has_pid;
	buf_char(out, ' ');
	buf_u64(out, weight);
	buf_char(out, '\n');
	return r < 0 ? r : buf_error(out);
}

int comparable_make(struct comparable *ret, const struct stacks *stacks, enum places_wish places)
{
	static const char padding[STACKS_PADDING];
	_cleanup_(rewriting_done) struct rewriting rewriting = {.result = ret, .places = places};
	int r;

	*ret = (struct comparable){.texts = {BUF_INIT(SIZE_MAX), BUF_INIT(SIZE_MAX)}};
	r = common_new(&ret->common);
	if (r == 0 && places == PLACES_BY_VERSION)
		r = compare_versions(&rewriting, stacks);
	if (rewriting.versions)
		ret->versions = versions_different(rewriting.versions);
	for (size_t i = 0; r == 0 && i < stacks->count; i++)
		r = write_line(&rewriting, stacks, &stacks->lines[i]);
	for (int side = 0; r == 0 && side < 2; side++) {
		buf_add(&ret->texts[side], padding, sizeof(padding));
		r = buf_error(&ret->texts[side]);
		ret->texts[side].len -= r == 0 ? sizeof(padding) : 0;
	}
	return r;
}

void comparable_done(struct comparable *comparable)
{
	for (int side = 0; side < 2; side++)
		buf_done(&comparable->texts[side]);
	common_free(comparable->common);
	*comparable = (struct comparable){0};
}
