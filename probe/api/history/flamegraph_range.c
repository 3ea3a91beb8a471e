// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/history/flamegraph_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/history/history_question.h"
#include "base/cleanup.h"
#include "profile/render_difference.h"

struct range_request {
	const struct services *services;
	struct worker *bulk;
	struct render form; /* what to make of it */
	bool has_widths_of_before;
	unsigned without;		 /* of a difference: struct profile_meta.without */
	struct judged_functions *judged; /* of a difference; NULL: there are none */
	struct answer *answer;
	void (*ready)(void *arg);
	void *arg;
};

static void end_request(struct range_request *request)
{
	request->ready(request->arg);
	judged_free(request->judged);
	free(request);
}

static void answer_content(struct range_request *request, int error, struct buf *content)
{
	struct answer *answer = request->answer;

	if (error) {
		history_question_fail(request->services, error, answer);
	} else {
		answer->status = 200;
		answer->content_type = request->form.outputs[0]->content_type;
		buf_done(&answer->body);
		answer->body = *content;
		*content = (struct buf){0};
	}
	end_request(request);
}

static void profile_rendered(void *arg, struct render *render)
{
	answer_content(arg, render->error, &render->content[0]);
}

static void difference_drawn(void *arg, struct render_difference *render)
{
	answer_content(arg, render->error, &render->picture);
}

/* Returns why changes aren't judged though they could be; NULL: they are. */
static const char *remark_on(const struct history_ask *ask)
{
	if (!ask->judges || ask->judged)
		return NULL;
	return ask->is_crowded ? "there are too many functions to tell changes from noise"
			       : "fewer than six windows on a side: noise isn't known";
}

/* Has the difference of both sides drawn. */
static int submit_difference(struct range_request *request, struct history_ask *ask)
{
	const struct render *form = &request->form;
	const char *remark = remark_on(ask);

	request->judged = TAKE_PTR(ask->judged);
	struct render_difference question = {
		.before = ask->profiles[HISTORY_BEFORE],
		.after = ask->profiles[HISTORY_AFTER],
		.form = strcmp(form->outputs[0]->extension, "html") == 0 ? PICTURE_HTML
									 : PICTURE_SVG,
		.icicle = form->icicle,
		.events = form->events,
		.negate = request->has_widths_of_before,
		.without = request->without,
		.judged = request->judged,
		.remark = remark,
		.host = form->host,
		.done = difference_drawn,
		.arg = request,
	};

	return render_difference_submit(request->bulk, &question);
}

static void range_read(void *arg, struct history_ask *ask)
{
	struct range_request *request = arg;
	int r = ask->error;

	if (r == 0 && ask->compares) {
		r = submit_difference(request, ask);
	} else if (r == 0) {
		request->form.profile = ask->profiles[HISTORY_AFTER];
		request->form.done = profile_rendered;
		request->form.arg = request;
		r = render_submit(request->bulk, &request->form);
	}
	if (r < 0)
		answer_content(request, r, NULL);
}

/* Two processes, or containers, are compared by their functions: their own names differ. */
static unsigned heads_of_two(const struct query *query)
{
	const unsigned places = 1u << FRAME_TYPE_POD | 1u << FRAME_TYPE_CONTAINER;

	if ((query->before_pid || query->before_comm) && (query->pid > 0 || query->comm))
		return places | 1u << FRAME_TYPE_PROCESS | 1u << FRAME_TYPE_THREAD;
	return query->before_container && query->container ? places : 0;
}

/* Returns what of the query history can't do; NULL: nothing. */
static const char *check_range(const struct query *query, const struct history_ask *ask,
			       const struct render *form)
{
	const struct output *output = form->outputs[0];

	if (query->seconds != QUERY_NONE || query->every != QUERY_NONE)
		return "from and until are of the past: not for seconds and every";
	if (strcmp(output->extension, "jsonl") == 0)
		return "jsonl is not for from and until: history has no threads' records";
	if (ask->compares && !output->picture)
		return "before_from and its like are for svg and html; /changes has them as a list";
	if (query->widths && !ask->compares)
		return "widths is for a difference: give before_from or its like";
	if (query->widths && strcmp(query->widths, "before") != 0 &&
	    strcmp(query->widths, "after") != 0)
		return "widths must be before or after";
	return ask->compares && stack_choice_chooses(&form->choice)
		       ? "min, max and top are not for a difference"
		       : NULL;
}

void flamegraph_range(const struct services *services, enum probe probe, enum view view,
		      const struct query *query, const struct render *form, struct answer *answer,
		      void (*ready)(void *arg), void *arg)
{
	struct history_ask question = {.wish = HISTORY_PROFILES,
				       .probe = probe,
				       .view = view,
				       .modules = form->outputs[0]->modules,
				       .judges = !form->events && !view_is_held(view),
				       .done = range_read};
	struct range_request *request;

	if (!history_question_read(services, query, &question, answer))
		return;
	const char *wrong = check_range(query, &question, form);
	if (wrong) {
		answer_failed(answer, 400, wrong);
		return;
	}
	request = malloc(sizeof(*request));
	if (!request) {
		answer_failed(answer, 503, "no memory");
		return;
	}
	*request = (struct range_request){
		.services = services,
		.bulk = services->bulk,
		.form = *form,
		.has_widths_of_before = query->widths && strcmp(query->widths, "before") == 0,
		.without = heads_of_two(query),
		.answer = answer,
		.ready = ready,
		.arg = arg,
	};
	question.arg = request;
	int r = session_ask_history(services->flamegraph, &question);
	if (r < 0) {
		history_question_fail(services, r, answer);
		free(request);
	}
}
