// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/trim.h"
#include "profile/by_container.h"
#include "file/file_lines.h"

#define CONTENT_MAX    (256u * 1024 * 1024)
#define LINES_LIMIT_MS 3000

static int copy_plain(const struct profile *from, bool places, struct profile **ret)
{
	_cleanup_profile_ struct profile *made = NULL;
	int r = profile_new(&made, from->probe, from->from, from->period_ns);

	if (r < 0)
		return r;
	profile_unref(TAKE_PTR(made->second));
	made->view = from->view;
	made->places = places && from->places;
	if (!made->places)
		profile_drop_places(made);
	r = profile_merge(made, from);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(made);
	return 0;
}

int render_copy(const struct profile *from, bool places, struct profile **ret)
{
	return tree_has_owners(from->tree) && !from->by_container
		       ? profile_by_container(ret, from, places)
		       : copy_plain(from, places, ret);
}

static bool wants_places(const struct render *render)
{
	for (int i = 0; i < RENDER_OUTPUTS_MAX; i++) {
		if (render->outputs[i] && output_has_places(render->outputs[i]))
			return true;
	}
	return false;
}

static bool wants_lines(const struct render *render)
{
	for (int i = 0; render->lines && i < RENDER_OUTPUTS_MAX; i++) {
		if (render->outputs[i] && render->outputs[i]->places)
			return true;
	}
	return false;
}

/* Returns the profile of the view that is asked for. */
static const struct profile *view_of(const struct render *render, const struct profile *profile)
{
	return render->second ? profile->second : profile;
}

/*
 * Merges the earlier profiles into a copy, the oldest first: what is known last of a process
 * counts, a new name of its container. The times are by the newest one's clock.
 */
static int merge_earlier_profiles(const struct render *render, bool places, struct profile **ret)
{
	const struct profile *newest = view_of(render, render->profile);
	_cleanup_profile_ struct profile *merged = NULL;
	int64_t from = newest->from;
	int count = 0;

	while (count < RENDER_BEFORE_MAX && render->before[count])
		count++;
	int r = copy_plain(view_of(render, render->before[count - 1]), places, &merged);

	for (int i = count - 1; r == 0 && i >= 0; i--) {
		const struct profile *before = view_of(render, render->before[i]);

		from -= before->until - before->from;
		r = profile_merge(merged, i ? view_of(render, render->before[i - 1]) : newest);
	}
	if (r < 0)
		return r;
	merged->period_ns = newest->period_ns;
	merged->until = newest->until;
	merged->from = from;
	*ret = TAKE_PTR(merged);
	return 0;
}

/* Sorts by container what was made so far, or else `from`, into *made. */
static int sort_by_container(const struct profile *from, bool places, struct profile **made)
{
	struct profile *sorted;

	if (*made)
		from = *made;
	if (!tree_has_owners(from->tree) || from->by_container)
		return 0;
	int r = profile_by_container(&sorted, from, places);
	if (r < 0)
		return r;
	profile_unref(*made);
	*made = sorted;
	return 0;
}

/* Leaves out what isn't chosen, of what was made so far or else of `from`. */
static int choose_stacks(const struct render *render, const struct profile *from,
			 struct profile **made)
{
	struct profile *chosen;

	if (!stack_choice_chooses(&render->choice))
		return 0;
	int r = profile_choose(&chosen, *made ? *made : from, &render->choice);
	if (r < 0)
		return r;
	profile_unref(*made);
	*made = chosen;
	return 0;
}

static int prepare_profile(const struct render *render, struct profile **made)
{
	const struct profile *from = view_of(render, render->profile);
	_cleanup_profile_ struct profile *merged = NULL;
	bool places = wants_places(render);
	int r = 0;

	if (render->before[0]) {
		r = merge_earlier_profiles(render, places, &merged);
		from = merged;
	}
	if (r == 0 && render->pid)
		r = profile_select(made, from, render->pid, places);
	else if (r == 0)
		*made = TAKE_PTR(merged);
	if (r == 0)
		r = sort_by_container(from, places, made);
	if (r == 0 && !*made && (render->events || (from->places && !places)))
		r = render_copy(from, places, made);
	if (r == 0 && render->events)
		profile_show_events(*made);
	return r == 0 ? choose_stacks(render, from, made) : r;
}

static const struct profile *shown_profile(const struct render *render)
{
	return render->made ? render->made : view_of(render, render->profile);
}

static void write_all(struct render *render)
{
	const struct profile *profile = shown_profile(render);
	struct profile_meta *meta = &render->meta;

	render->error = tree_weigh(profile->tree, render->node, &render->total);
	profile_describe(profile, render->node, render->host, meta);
	meta->icicle = render->icicle;
	meta->header = render->header;
	meta->by_value = render->choice.by_value;
	meta->places = render->places;
	meta->pprof_labels = render->labels;
	for (int i = 0; i < RENDER_OUTPUTS_MAX && render->error == 0; i++) {
		if (!render->outputs[i])
			continue;
		render->error = render->outputs[i]->write(profile->tree, render->node, meta,
							  &render->content[i]);
		if (render->error == 0)
			render->error = buf_error(&render->content[i]);
	}
}

static void render_run(struct job *job)
{
	struct render *render = (struct render *)job;

	if (render->step == RENDER_BEGINS)
		render->error = prepare_profile(render, &render->made);
	if (render->error == 0 && render->step == RENDER_BEGINS && wants_lines(render)) {
		render->error = places_new(&render->places, shown_profile(render)->tree);
		render->step = RENDER_PREPARED;
		return;
	}
	if (render->error == 0)
		write_all(render);
	render->step = RENDER_WRITTEN;
}

static void submit_job(struct render *render);

/* Submits the second half, with the lines that were found. */
static void lines_read_passed(void *arg)
{
	submit_job(arg);
}

/* Looks for source lines; what isn't found has none. */
static void find_lines(struct render *render)
{
	struct places *places = render->places;
	_cleanup_free_ struct lines_wish *wishes = calloc(places->count + 1, sizeof(*wishes));
	int r = wishes ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < places->count; i++) {
		struct places_file *file = &places->files[i];

		wishes[i] = (struct lines_wish){file->module, file->addresses, file->count,
						&file->lines};
	}
	if (r == 0 && places->count)
		r = symbol_files_read_lines(render->lines->files, render->lines->worker, wishes,
					    places->count, LINES_LIMIT_MS, render->sparing,
					    lines_read_passed, render);
	if (r < 0 || !places->count)
		submit_job(render);
}

/* Moves what the job has to another one, its second half. */
static void go_on(struct render *first)
{
	struct render *second = malloc(sizeof(*second));

	if (!second) {
		first->error = -ENOMEM;
		first->done(first->arg, first);
		return;
	}
	*second = *first;
	first->profile = first->made = NULL;
	memset(first->before, 0, sizeof(first->before));
	first->places = NULL;
	find_lines(second);
}

static void render_done(struct job *job, bool finished)
{
	struct render *render = (struct render *)job;

	if (!finished) /* no thread could be started */
		render->error = -EAGAIN;
	if (render->error == 0 && render->step == RENDER_PREPARED)
		go_on(render);
	else
		render->done(render->arg, render);
}

static void free_render(struct job *job)
{
	struct render *render = (struct render *)job;

	places_free(render->places);
	profile_unref(render->made);
	profile_unref(render->profile);
	for (int i = 0; i < RENDER_BEFORE_MAX; i++)
		profile_unref(render->before[i]);
	for (int i = 0; i < RENDER_OUTPUTS_MAX; i++)
		buf_done(&render->content[i]);
	free(render);
	trim_memory(); /* copies of a profile are large */
}

static void submit_job(struct render *render)
{
	render->job = (struct job){
		.run = render_run, .done = render_done, .free = free_render, .unlimited = true};
	worker_submit(render->bulk, &render->job);
}

int render_submit(struct worker *bulk, const struct render *question)
{
	struct render *render = malloc(sizeof(*render));

	if (!render)
		return -ENOMEM;
	*render = *question;
	render->bulk = bulk;
	profile_ref(render->profile);
	for (int i = 0; i < RENDER_BEFORE_MAX; i++)
		profile_ref(render->before[i]);
	for (int i = 0; i < RENDER_OUTPUTS_MAX; i++)
		render->content[i] = (struct buf)BUF_INIT(CONTENT_MAX);
	submit_job(render);
	return 0;
}
