// SPDX-License-Identifier: GPL-2.0-only
#include "profile/render.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define CONTENT_MAX (256u * 1024 * 1024)

/* A copy, for a profile is shared. */
static int copy(const struct profile *from, struct profile **ret)
{
	_cleanup_profile_ struct profile *made = NULL;
	int r = profile_new(&made, from->probe, from->from, from->period_ns);

	if (r == 0) {
		made->view = from->view;
		r = profile_merge(made, from);
	}
	if (r == 0)
		*ret = TAKE_PTR(made);
	return r;
}

static int prepare(const struct render *render, struct profile **made)
{
	const struct profile *from = render->profile;
	_cleanup_profile_ struct profile *merged = NULL;
	int r = 0;

	if (render->before) {
		r = copy(from, &merged);
		if (r == 0)
			r = profile_merge(merged, render->before);
		if (r == 0) { /* one after the other, by the newer one's clock */
			merged->until = from->until;
			merged->from = from->from - (render->before->until - render->before->from);
		}
		from = merged;
	}
	if (r == 0 && render->pid)
		r = profile_select(made, from, render->pid);
	else if (r == 0)
		*made = TAKE_PTR(merged);
	if (r == 0 && render->events && !*made)
		r = copy(from, made);
	if (r == 0 && render->events)
		profile_show_events(*made);
	return r;
}

static void run(struct job *job)
{
	struct render *render = (struct render *)job;
	_cleanup_profile_ struct profile *made = NULL;
	struct profile_meta meta;

	render->error = prepare(render, &made);
	if (render->error)
		return;
	const struct profile *profile = made ? made : render->profile;
	render->error = tree_weigh(profile->tree, render->node, &render->total);
	profile_describe(profile, render->node, render->host, &meta);
	meta.icicle = render->icicle;
	for (int i = 0; i < RENDER_OUTPUTS_MAX && render->error == 0; i++) {
		if (!render->outputs[i])
			continue;
		render->error = render->outputs[i]->write(profile->tree, render->node, &meta,
							  &render->content[i]);
		if (render->error == 0)
			render->error = buf_error(&render->content[i]);
	}
}

static void done(struct job *job, bool finished)
{
	struct render *render = (struct render *)job;

	if (!finished) /* no thread could be started */
		render->error = -EAGAIN;
	render->done(render->arg, render);
}

static void free_render(struct job *job)
{
	struct render *render = (struct render *)job;

	profile_unref(render->profile);
	profile_unref(render->before);
	for (int i = 0; i < RENDER_OUTPUTS_MAX; i++)
		buf_done(&render->content[i]);
	free(render);
}

int render_submit(struct worker *bulk, const struct render *question)
{
	struct render *render = malloc(sizeof(*render));

	if (!render)
		return -ENOMEM;
	*render = *question;
	render->job =
		(struct job){.run = run, .done = done, .free = free_render, .unlimited = true};
	profile_ref(render->profile);
	profile_ref(render->before);
	for (int i = 0; i < RENDER_OUTPUTS_MAX; i++)
		render->content[i] = (struct buf)BUF_INIT(CONTENT_MAX);
	worker_submit(bulk, &render->job);
	return 0;
}
