// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/render_difference.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/trim.h"
#include "output/diff/difference.h"
#include "stack/tree_rest.h"

#define CONTENT_MAX (256u * 1024 * 1024)
#define TEXT_MAX    (64u * 1024 * 1024) /* of a side: both are held at a time */
#define NODES_MAX   65536u		/* a picture shows no more of a side */

static int add_to_picture(void *arg, struct buf *out)
{
	struct buf *picture = arg;

	buf_add(picture, out->data, out->len);
	out->len = 0;
	return buf_error(picture);
}

/* Writes a profile as folded text, and reads it as one side. */
static int read_side(const struct render_difference *render, struct profile *profile,
		     enum stacks_side side, struct buf *text, struct stacks *stacks)
{
	static const char padding[STACKS_PADDING];
	struct profile_meta meta;
	_cleanup_tree_ struct tree *smaller = NULL;
	int r = 0;

	if (render->events)
		profile_show_events(profile);
	profile_describe(profile, TREE_ROOT, render->host, &meta);
	meta.header = true;
	meta.without = render->without;
	if (tree_count(profile->tree) > NODES_MAX)
		r = tree_within(&smaller, profile->tree, NODES_MAX, TEXT_MAX);
	if (r == 0)
		r = folded_write(smaller ? smaller : profile->tree, TREE_ROOT, &meta, text);
	if (r < 0)
		return r;
	stacks->took_ns[side] = profile->covered_ns;
	size_t bytes = text->len;
	buf_add(text, padding, sizeof(padding));
	return buf_error(text) ? buf_error(text) : stacks_read(stacks, side, text->data, bytes);
}

static int draw_difference(struct render_difference *render)
{
	_cleanup_buf_ struct buf before = BUF_INIT(TEXT_MAX), after = BUF_INIT(TEXT_MAX);
	struct stacks_svg svg = {
		.form = render->form,
		.width = PICTURE_WIDTH,
		.is_diff = true,
		.negate = render->negate,
		.judged = render->judged,
		.remark = render->remark,
		.flush = add_to_picture,
		.arg = &render->picture,
	};
	_cleanup_stacks_ struct stacks raw = {0};
	_cleanup_difference_ struct difference difference = {0};
	enum stacks_side sides[2] = {STACKS_BEFORE, STACKS_AFTER};
	int r = read_side(render, render->before, sides[render->negate], &before, &raw);

	if (r == 0)
		r = read_side(render, render->after, sides[!render->negate], &after, &raw);
	if (r < 0)
		return r;
	profile_describe(render->negate ? render->before : render->after, TREE_ROOT, render->host,
			 &svg.meta);
	svg.meta.icicle = render->icicle;
	r = difference_make(&difference, &raw, PLACES_BY_VERSION, false, &svg);
	return r < 0 ? r : stacks_svg_write(&difference.stacks, &svg);
}

static void difference_run(struct job *job)
{
	struct render_difference *render = (struct render_difference *)job;

	render->error = draw_difference(render);
}

static void difference_end(struct job *job, bool finished)
{
	struct render_difference *render = (struct render_difference *)job;

	if (!finished) /* no thread could be started */
		render->error = -EAGAIN;
	render->done(render->arg, render);
}

static void free_difference(struct job *job)
{
	struct render_difference *render = (struct render_difference *)job;

	profile_unref(render->before);
	profile_unref(render->after);
	buf_done(&render->picture);
	free(render);
	trim_memory(); /* texts of profiles are large */
}

int render_difference_submit(struct worker *bulk, const struct render_difference *question)
{
	struct render_difference *render = malloc(sizeof(*render));

	if (!render)
		return -ENOMEM;
	*render = *question;
	profile_ref(render->before);
	profile_ref(render->after);
	render->picture = (struct buf)BUF_INIT(CONTENT_MAX);
	render->job = (struct job){.run = difference_run,
				   .done = difference_end,
				   .free = free_difference,
				   .unlimited = true};
	worker_submit(bulk, &render->job);
	return 0;
}
