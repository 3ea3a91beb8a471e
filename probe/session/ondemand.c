// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/ondemand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/proc.h"
#include "profile/render.h"

/* For which a session of one process waits until that is sampled: its libraries may have to be read
 * and get points, on busy CPUs. */
#define ARMING_ONE_NS (10 * NS_PER_S)

struct ondemand {
	struct ondemands *all;
	struct ondemand_request request;
	struct subscriber *subscriber;
	bool armed;	  /* its time counts, from `began` on */
	unsigned left;	  /* intervals still to begin or end; 0: no number ends them */
	unsigned pending; /* calls that are to come: of the window that is read, of renders */
	bool given_up;	  /* it is freed behind the last of these */
	int64_t began;	  /* of loop_real_ns() */
	uint64_t began_ns;
	struct loop_timer end;
};

struct ondemands {
	struct ondemand_setup setup;
	struct ondemand *running[ONDEMAND_MAX];
};

int ondemands_new(struct ondemands **ret, const struct ondemand_setup *setup)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->setup = *setup;
	return 0;
}

static void stop_sampling(struct ondemand *ondemand)
{
	const struct ondemand_setup *setup = &ondemand->all->setup;

	loop_timer_cancel(setup->loop, &ondemand->end);
	engine_forget(setup->engine, ondemand);
	if (ondemand->subscriber)
		engine_unsubscribe(setup->engine, TAKE_PTR(ondemand->subscriber));
}

static void forget_ondemand(struct ondemand *ondemand)
{
	struct ondemands *all = ondemand->all;

	for (int i = 0; i < ONDEMAND_MAX; i++) {
		if (all->running[i] == ondemand)
			all->running[i] = NULL;
	}
	stop_sampling(ondemand);
	free(ondemand);
}

static void finish_ondemand(struct ondemand *ondemand, int error, struct buf *content)
{
	struct ondemand_request request = ondemand->request;
	bool is_told = ondemand->given_up;

	forget_ondemand(ondemand);
	if (is_told)
		return;
	if (request.interval)
		request.interval(request.arg, error, NULL, content);
	else
		request.done(request.arg, error, content);
}

/* Ends a session; while calls are to come it isn't freed. */
static void ondemand_cancel_with(struct ondemand *ondemand, int error)
{
	const struct ondemand_request *request = &ondemand->request;

	if (!ondemand->pending) {
		finish_ondemand(ondemand, error, NULL);
		return;
	}
	stop_sampling(ondemand);
	ondemand->given_up = true;
	request->interval(request->arg, error, NULL, NULL);
}

void ondemands_free(struct ondemands *ondemands)
{
	if (!ondemands)
		return;
	for (int i = 0; i < ONDEMAND_MAX; i++) {
		if (ondemands->running[i])
			finish_ondemand(ondemands->running[i], -ECANCELED, NULL);
	}
	free(ondemands);
}

static void ondemand_rendered(void *arg, struct render *render)
{
	finish_ondemand(arg, render->error, &render->content[0]);
}

/* Notes that a call has come. Returns whether nobody waits for it; the session may be freed then.
 */
static bool has_been_given_up(struct ondemand *ondemand)
{
	bool given_up = ondemand->given_up;

	if (--ondemand->pending == 0 && given_up)
		forget_ondemand(ondemand);
	return given_up;
}

static void interval_rendered(void *arg, struct render *render)
{
	struct ondemand *ondemand = arg;
	const struct ondemand_request *request = &ondemand->request;
	bool is_last = request->times && ondemand->left == 0;

	if (has_been_given_up(ondemand))
		return;
	if (render->error == 0 && (!is_last || ondemand->pending)) {
		request->interval(request->arg, 0, &render->meta, &render->content[0]);
		return;
	}
	if (render->error < 0) {
		ondemand_cancel_with(ondemand, render->error);
		return;
	}
	struct ondemand_request ended = *request;
	forget_ondemand(ondemand);
	ended.interval(ended.arg, 0, &render->meta, &render->content[0]);
}

static void show_profile(struct ondemand *ondemand, struct profile *profile)
{
	const struct ondemand_setup *setup = &ondemand->all->setup;
	struct render question = {
		.profile = profile,
		.second = ondemand->request.view == VIEW_SECOND,
		.node = TREE_ROOT,
		.icicle = ondemand->request.icicle,
		.header = ondemand->request.header,
		.events = ondemand->request.events,
		.choice = ondemand->request.choice,
		.host = setup->host,
		.lines = engine_lines(setup->engine),
		.outputs = {ondemand->request.output},
		.done = ondemand->request.interval ? interval_rendered : ondemand_rendered,
		.arg = ondemand,
	};

	int r = render_submit(setup->bulk, &question);

	if (r == 0)
		ondemand->pending++;
	else
		ondemand_cancel_with(ondemand, r);
}

static void held_read(void *arg, int error, struct profile *profiles[VIEWS])
{
	struct ondemand *ondemand = arg;

	if (error < 0)
		finish_ondemand(ondemand, error, NULL);
	else
		show_profile(ondemand, profiles[ondemand->request.view]);
}

/* Reads what came since it began and is still held. */
static void read_held(struct ondemand *ondemand)
{
	const struct ondemand_request *request = &ondemand->request;
	struct live_heap_request reading = {
		.views = 1u << request->view,
		.filter = {.since_ns = ondemand->began_ns,
			   .before_ns = live_alloc_before(loop_now_ns(), request->min_age_ns)},
		.from = ondemand->began,
		.done = held_read,
		.arg = ondemand,
	};

	int r = engine_read_held(ondemand->all->setup.engine, ondemand->subscriber, &reading);
	if (r < 0)
		finish_ondemand(ondemand, r, NULL);
}

/* Has the interval that has ended shown, and begins the next one. */
static void show_interval(struct ondemand *ondemand)
{
	const struct ondemand_request *request = &ondemand->request;
	struct profile *profile = subscriber_take_profile(ondemand->subscriber, request->probe);

	if (!profile) {
		ondemand_cancel_with(ondemand, -ENOMEM);
		return;
	}
	if (request->times)
		ondemand->left--;
	if (!request->times || ondemand->left) {
		ondemand->began_ns += request->seconds * NS_PER_S;
		loop_timer_set(ondemand->all->setup.loop, &ondemand->end,
			       ondemand->began_ns + request->seconds * NS_PER_S);
	}
	show_profile(ondemand, profile);
	profile_unref(profile);
}

static void ondemand_drained(void *arg)
{
	struct ondemand *ondemand = arg;
	enum probe probe = ondemand->request.probe;

	if (has_been_given_up(ondemand))
		return;
	if (ondemand->request.interval)
		show_interval(ondemand);
	else if (!view_is_held(ondemand->request.view))
		show_profile(ondemand, subscriber_profile(ondemand->subscriber, probe));
	else
		read_held(ondemand);
}

static void time_is_over(void *arg)
{
	struct ondemand *ondemand = arg;

	ondemand->pending++;
	engine_drain(ondemand->all->setup.engine, ondemand_drained, ondemand);
}

/* Starts its time. */
static void ondemand_armed(void *arg)
{
	struct ondemand *ondemand = arg;

	ondemand->armed = true;
	ondemand->began = loop_real_ns();
	ondemand->began_ns = loop_now_ns();
	subscriber_begin(ondemand->subscriber);
	loop_timer_set(ondemand->all->setup.loop, &ondemand->end,
		       loop_now_ns() + ondemand->request.seconds * NS_PER_S);
}

static int free_place(const struct ondemands *ondemands)
{
	for (int i = 0; i < ONDEMAND_MAX; i++) {
		if (!ondemands->running[i])
			return i;
	}
	return -EBUSY;
}

/* Fills in the processes that a request names and that there are. Returns how many. */
static size_t find_processes(const struct ondemand_request *request,
			     struct process_id ids[1 + ONDEMAND_OTHERS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i <= request->others_count; i++) {
		pid_t pid = i ? request->others[i - 1] : request->pid;
		struct proc_stat stat;

		if (pid && proc_stat(pid, &stat) == 0)
			ids[count++] = (struct process_id){pid, stat.start_ticks};
	}
	return count;
}

int ondemand_start(struct ondemands *ondemands, const struct ondemand_request *request,
		   struct ondemand **ret, struct why *why)
{
	struct subscription subscription = {
		.probes = 1u << request->probe,
		.detail = request->detail,
	};
	int place = free_place(ondemands);
	struct process_id ids[1 + ONDEMAND_OTHERS_MAX];
	size_t count = find_processes(request, ids);

	if (place < 0) {
		why_set(why, "%d sessions on demand run already", ONDEMAND_MAX);
		return place;
	}
	if (request->pid && !count) {
		why_set(why, "no process has the pid %d%s", request->pid,
			request->others_count ? ", or one of the others" : "");
		return -ESRCH;
	}
	if (request->pid) {
		subscription.chosen = (struct chosen){
			.ids = ids,
			.count = count,
			.of_user = request->of_user,
			.user = request->user,
		};
	}
	struct ondemand *ondemand = calloc(1, sizeof(*ondemand));
	if (!ondemand) {
		why_set(why, "no memory");
		return -ENOMEM;
	}
	ondemand->all = ondemands;
	ondemand->request = *request;
	ondemand->left = request->times;
	ondemand->end =
		(struct loop_timer){.expired = time_is_over, .arg = ondemand, .name = "ondemand"};
	int r = engine_subscribe(ondemands->setup.engine, &subscription, &ondemand->subscriber,
				 why);
	if (r < 0) {
		free(ondemand);
		return r;
	}
	ondemands->running[place] = ondemand;
	*ret = ondemand;
	if (!engine_when_armed_within(ondemands->setup.engine,
				      request->pid ? ARMING_ONE_NS : ARMING_NS, ondemand_armed,
				      ondemand))
		ondemand_armed(ondemand);
	return 0;
}

void ondemand_cancel(struct ondemand *ondemand)
{
	if (ondemand->request.interval || ondemand->end.active || !ondemand->armed)
		ondemand_cancel_with(ondemand, -ECANCELED);
}

unsigned ondemands_count(const struct ondemands *ondemands)
{
	unsigned count = 0;

	for (int i = 0; i < ONDEMAND_MAX; i++)
		count += ondemands->running[i] != NULL;
	return count;
}
