// SPDX-License-Identifier: GPL-2.0-or-later
/* Questions: the window that runs is packed by the bulk worker, then the disk is read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/trim.h"
#include "history/history_state.h"
#include "kind/kind.h"

#define BY_WINDOWS_NS (6 * 3600 * (int64_t)NS_PER_S)

static bool has_side(const struct history_ask *ask, enum history_side side)
{
	return side == HISTORY_AFTER || ask->compares;
}

/* ---- the running window ---- */

static bool is_in_range(const struct history_head *head, const struct history_range *range)
{
	return head->windows && history_range_has(range, head);
}

static void pack_running(struct history_ask *ask)
{
	const struct profile *running =
		ask->view == VIEW_SECOND ? ask->running->second : ask->running;

	if (running)
		ask->error = history_pack_profile(running, ask->lasted_ns, &ask->running_head,
						  &ask->running_payload);
}

/* Adds the window that hasn't ended, as if it were a record. */
static int blend_running(const struct history_ask *ask, enum history_side side, struct blend *blend)
{
	struct history_payload payload;

	if (!is_in_range(&ask->running_head, &ask->ranges[side]))
		return 0;
	int r = history_unpack(&payload, &ask->running_head, ask->running_payload.data);
	if (r == 0)
		r = blend_add(blend, &ask->running_head, &payload);
	history_payload_done(&payload);
	return r;
}

/* ---- reading ---- */

/*
 * Returns the largest records that are taken. Where a filter chooses, or functions are told by
 * process, each counts as one window, so that how much these vary is told by small ones, as long as
 * they aren't too many.
 */
static enum history_level coarsest_of(const struct history_ask *ask, const struct blend *blend)
{
	const struct history_range *range = &ask->ranges[blend->side];
	int64_t length = range->until - range->from;

	bool is_one =
		blend->by_process || (blend->functions && history_filter_chooses(&blend->filter));

	if (!is_one)
		return HISTORY_HOUR;
	return length <= BY_WINDOWS_NS ? HISTORY_WINDOW : HISTORY_BLOCK;
}

/* Returns the period that samples are counted by on both sides; 0: they are none. */
static uint64_t shortest_period(const struct history_ask *ask)
{
	const struct history_head *running = &ask->running_head;
	uint64_t shortest = UINT64_MAX;

	for (int side = 0; side < HISTORY_SIDES; side++) {
		if (!has_side(ask, side))
			continue;
		shortest = history_store_period(&ask->history->store, ask->series,
						&ask->ranges[side], shortest);
		if (is_in_range(running, &ask->ranges[side]) && running->period_ns &&
		    running->period_ns < shortest)
			shortest = running->period_ns;
	}
	return shortest == UINT64_MAX ? 0 : shortest;
}

static int blend_side(struct history_ask *ask, enum history_side side, struct blend *blend)
{
	blend->side = side;
	blend->filter = ask->filters[side];
	blend->period_ns = shortest_period(ask);
	int r = history_store_blend(&ask->history->store, ask->series, &ask->ranges[side],
				    coarsest_of(ask, blend), blend, &ask->damaged);
	/* Of a probe whose first window runs there is nothing on disk yet. */
	if (r == 0 || (r == -ENOENT && ask->running))
		r = blend_running(ask, side, blend);
	ask->sums[side] = blend->sum;
	return r;
}

/* Makes the profile of a side. */
static int read_profile(struct history_ask *ask, enum history_side side)
{
	_cleanup_profile_ struct profile *made = NULL;
	struct blend blend = {0};
	int r = profile_new(&made, ask->probe, ask->ranges[side].from, 0);

	if (r < 0)
		return r;
	profile_unref(TAKE_PTR(made->second));
	if (!ask->modules)
		profile_drop_places(made);
	blend.tree = TAKE_PTR(made->tree);
	r = blend_side(ask, side, &blend);
	made->tree = blend.tree;
	if (r < 0)
		return r;
	made->view = ask->view;
	made->by_container = true;
	made->places = ask->modules;
	if (blend.sum.windows) {
		made->from = blend.sum.from;
		made->until = blend.sum.until;
		made->covered_ns = blend.sum.covered_ns;
	}
	made->period_ns = blend.sum.period_ns;
	made->weight = blend.weight;
	made->events = blend.events;
	made->samples = blend.sum.samples;
	made->left_out = blend.sum.left_out;
	made->lost = blend.sum.lost;
	ask->profiles[side] = TAKE_PTR(made);
	return 0;
}

static struct history_span span_of(const struct history_ask *ask, const struct blend *blend)
{
	struct history_span span = {blend->length, blend->squares, 0, view_is_held(ask->view)};
	const struct history_head *sum = &blend->sum;

	/* A view of its own, of what waits took say, has no samples of one weight. */
	if (kind_get(ask->probe)->by_period && ask->view == VIEW_ALL && sum->samples)
		span.noise = (double)sum->weight / (double)sum->samples;
	return span;
}

/* Leaves processes out that aren't sampled any more. */
static void leave_out_ended(const struct history_ask *ask, struct functions *functions)
{
	for (size_t i = 0; ask->sampled && i < functions_count(functions); i++) {
		const struct function_row *row = functions_at(functions, i);

		if (row->type == FRAME_TYPE_PROCESS &&
		    intern_find(ask->sampled, row->name, strlen(row->name)) < 0)
			functions_leave_out(functions, i);
	}
}

static int judge_functions(struct history_ask *ask, const struct functions *functions,
			   const struct history_span spans[HISTORY_SIDES])
{
	struct judged_functions *judged = NULL;
	int r = judged_new(&judged);

	if (r == 0)
		r = history_judge(functions, spans, judged);
	if (r == 0)
		ask->judged = TAKE_PTR(judged);
	judged_free(judged);
	return r;
}

static int compare_sides(struct history_ask *ask, struct functions *functions,
			 const struct history_span spans[HISTORY_SIDES])
{
	if (history_store_is_stopped(&ask->history->store))
		return -ECANCELED;
	if (ask->wish == HISTORY_PROFILES)
		return judge_functions(ask, functions, spans);
	if (ask->wish == HISTORY_ANOMALIES) {
		leave_out_ended(ask, functions);
		return history_anomalies_make(functions, spans, &ask->anomalies);
	}
	int64_t count = history_changes(functions, spans, HISTORY_ROWS, &ask->changes);

	ask->changes_count = count < 0 ? 0 : (size_t)count;
	return count < 0 ? (int)count : 0;
}

static int read_changes(struct history_ask *ask)
{
	struct functions *functions = NULL;
	struct history_span spans[HISTORY_SIDES];
	int r = functions_new(&functions);

	for (int side = 0; r == 0 && side < HISTORY_SIDES; side++) {
		struct blend blend = {.functions = functions,
				      .by_process = ask->wish == HISTORY_ANOMALIES};

		r = blend_side(ask, side, &blend);
		spans[side] = span_of(ask, &blend);
	}
	if (r == 0) {
		ask->functions = functions_count(functions);
		ask->tells = history_span_tells(&spans[HISTORY_BEFORE]) &&
			     history_span_tells(&spans[HISTORY_AFTER]);
	}
	if (r == 0 && ask->tells)
		r = compare_sides(ask, functions, spans);
	functions_free(functions);
	return r;
}

/* Makes the profiles. Functions are judged before, so that memory has the table or the trees. */
static int read_profiles(struct history_ask *ask)
{
	int r = ask->compares && ask->judges ? read_changes(ask) : 0;

	ask->is_crowded = r == -ENOSPC;
	if (ask->is_crowded)
		r = 0;
	for (int side = 0; side < HISTORY_SIDES && r == 0; side++) {
		if (has_side(ask, side))
			r = read_profile(ask, side);
	}
	return r;
}

/* Chooses windows, or blocks or hours if these are too many. */
static int64_t choose_rows(const struct history_series *series, const struct history_range *range,
			   const struct history_entry ***chosen)
{
	int64_t count = 0;

	for (int level = 0; level < HISTORY_LEVELS; level++) {
		free(*chosen);
		*chosen = NULL;
		count = history_series_choose(series, range, level, chosen);
		if (count <= HISTORY_ROWS)
			break;
	}
	return count;
}

/* Adds a row. Where a filter chooses, its weight is that of the stacks that are chosen. */
static int add_row(struct history_ask *ask, const struct history_entry *entry)
{
	struct history_head *head = &ask->heads[ask->heads_count++];
	struct blend blend = {.filter = ask->filters[HISTORY_AFTER]};
	int r = 0;

	*head = entry ? entry->head : ask->running_head;
	if (!history_filter_chooses(&blend.filter))
		return 0;
	r = entry ? history_store_blend_entry(&ask->history->store, entry, &blend, &ask->damaged)
		  : blend_running(ask, HISTORY_AFTER, &blend);
	head->weight = blend.weight;
	head->events = blend.events;
	return r;
}

static int read_windows(struct history_ask *ask)
{
	const struct history_series *series =
		history_index_find(&ask->history->store.index, ask->series, false);
	const struct history_range *range = &ask->ranges[HISTORY_AFTER];
	const struct history_entry **chosen = NULL;
	int64_t count = series ? choose_rows(series, range, &chosen) : 0;
	int r = count < 0 ? (int)count : 0;

	ask->runs = is_in_range(&ask->running_head, range);
	ask->running_head.begun = ask->history->store.begun;
	if (r == 0) {
		ask->heads = calloc((size_t)count + 1, sizeof(*ask->heads));
		r = ask->heads ? 0 : -ENOMEM;
	}
	for (int64_t i = 0; r == 0 && i < count; i++)
		r = history_store_is_stopped(&ask->history->store) ? -ECANCELED
								   : add_row(ask, chosen[i]);
	if (r == 0 && ask->runs)
		r = add_row(ask, NULL);
	free(chosen);
	return r;
}

static void read_answer(struct history_ask *ask)
{
	if (!ask->history->store.files) {
		ask->error = -ENOENT;
		return;
	}
	switch (ask->wish) {
	case HISTORY_PROFILES:
		ask->error = read_profiles(ask);
		break;
	case HISTORY_CHANGES:
	case HISTORY_ANOMALIES:
		ask->error = read_changes(ask);
		break;
	case HISTORY_WINDOWS:
		ask->error = read_windows(ask);
		break;
	case HISTORY_EVENTS:
		ask->error = history_events_read(history_files_folder(ask->history->store.files),
						 &ask->ranges[HISTORY_AFTER], HISTORY_ROWS,
						 &ask->events, &ask->events_left_out);
		break;
	}
}

/* ---- jobs ---- */

static void ask_run(struct job *job)
{
	struct history_ask *ask = (struct history_ask *)job;

	if (ask->is_read)
		read_answer(ask);
	else
		pack_running(ask);
}

static void free_ask(struct job *job)
{
	struct history_ask *ask = (struct history_ask *)job;

	profile_unref(ask->running);
	for (int side = 0; side < HISTORY_SIDES; side++)
		profile_unref(ask->profiles[side]);
	buf_done(&ask->running_payload);
	history_changes_free(ask->changes, ask->changes_count);
	history_anomalies_done(&ask->anomalies);
	judged_free(ask->judged);
	free(ask->heads);
	buf_done(&ask->events);
	intern_free(ask->sampled);
	free(ask);
	trim_memory(); /* a range is large */
}

static void finish_ask(struct history_ask *ask)
{
	struct history_ask **at = &ask->history->asked;

	while (*at && *at != ask)
		at = &(*at)->next;
	if (!*at)
		return; /* it was cancelled */
	*at = ask->next;
	ask->done(ask->arg, ask);
}

static void ask_done(struct job *job, bool finished);

static void submit_reading(struct history_ask *ask)
{
	ask->is_read = true;
	ask->job =
		(struct job){.run = ask_run, .done = ask_done, .free = free_ask, .unlimited = true};
	worker_submit(ask->history->worker, &ask->job);
}

/* Moves the question to a second job; the first one is freed. */
static void go_on_reading(struct history_ask *first)
{
	struct history_ask *second = malloc(sizeof(*second)), **at = &first->history->asked;

	while (*at && *at != first)
		at = &(*at)->next;
	if (!*at) {
		free(second);
		return; /* it was cancelled */
	}
	if (!second) {
		first->error = -ENOMEM;
		finish_ask(first);
		return;
	}
	*second = *first;
	*at = second;
	first->running = NULL;
	first->sampled = NULL;
	first->running_payload = (struct buf){0};
	submit_reading(second);
}

static void ask_done(struct job *job, bool finished)
{
	struct history_ask *ask = (struct history_ask *)job;

	if (!finished)
		ask->error = -EAGAIN;
	if (ask->error == 0 && !ask->is_read)
		go_on_reading(ask);
	else
		finish_ask(ask);
}

int history_submit(struct history *history, const struct history_ask *question)
{
	struct history_ask *ask;

	if (!history_is_on(history))
		return -ENOENT;
	if (history_store_is_stopped(&history->store))
		return -ECANCELED;
	ask = malloc(sizeof(*ask));
	if (!ask)
		return -ENOMEM;
	*ask = *question;
	ask->history = history;
	/* An event's names change on the loop's thread. */
	snprintf(ask->series, sizeof(ask->series), "%s", view_get(ask->probe, ask->view)->folder);
	ask->running_payload = (struct buf)BUF_INIT(2 * HISTORY_PAYLOAD_MAX);
	ask->events = (struct buf)BUF_INIT(2 * EVENTS_FILE_MAX);
	if (ask->wish == HISTORY_EVENTS)
		history_journal_flush(history);
	if (ask->wish == HISTORY_ANOMALIES && history->sampled)
		ask->sampled = history->sampled(history->sampled_arg, ask->probe);
	ask->next = history->asked;
	history->asked = ask;
	if (ask->running) {
		profile_ref(ask->running);
		ask->lasted_ns = history_lasted_ns(&history->clock, loop_real_ns(), loop_now_ns(),
						   ask->running->began_ns);
		ask->job = (struct job){
			.run = ask_run, .done = ask_done, .free = free_ask, .unlimited = true};
		worker_submit(history->bulk, &ask->job);
	} else {
		submit_reading(ask);
	}
	return 0;
}

void history_cancel(struct history *history)
{
	if (!history)
		return;
	history_journal_hold(history);
	__atomic_store_n(&history->store.is_stopped, true, __ATOMIC_RELAXED);
	while (history->asked) {
		struct history_ask *ask = history->asked; /* its job may run: it isn't touched */
		struct history_ask told = {.wish = ask->wish,
					   .probe = ask->probe,
					   .compares = ask->compares,
					   .error = -ECANCELED};

		history->asked = ask->next;
		ask->done(ask->arg, &told);
	}
}
