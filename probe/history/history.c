// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/trim.h"
#include "history/history_state.h"
#include "profile/render.h"

#define LIMIT_NS (60 * NS_PER_S) /* of a job, but all jobs here are without limit */

/* ---- the store's life ---- */

/* A job without data of its own: opens, or puts together what is over. */
struct store_job {
	struct job job;
	struct history *history;
	struct history_limits limits;
	struct why why;
	int error;
	struct history_seen seen;
};

void history_note(struct history *history, const struct history_seen *seen)
{
	history->stats.counts = seen->counts;
	history->stats.counts.failed += history->unpacked;
	history->stats.files = seen->files;
}

void history_look(const struct history *history, struct history_seen *seen)
{
	seen->counts = history->store.counts;
	if (history->store.files)
		seen->files = *history_files_stats(history->store.files);
}

static void open_run(struct job *job)
{
	struct store_job *opening = (struct store_job *)job;
	struct history *history = opening->history;

	history->store.limits = opening->limits;
	opening->error = history_store_open(&history->store, history->state_dir, &opening->why);
	if (opening->error == 0) {
		history_store_settle(&history->store);
		history_store_trim(&history->store);
	}
	history_look(history, &opening->seen);
}

static void open_done(struct job *job, bool finished)
{
	struct store_job *opening = (struct store_job *)job;
	struct history *history = opening->history;

	if (!finished)
		return;
	history_note(history, &opening->seen);
	if (opening->error == 0)
		return;
	history->is_on = history->stats.is_on = false;
	history->stats.limit_bytes = 0;
	snprintf(history->stats.failure, sizeof(history->stats.failure), "%.255s",
		 opening->why.text[0] ? opening->why.text : strerror(-opening->error));
	log_error("no history is kept: %s", history->stats.failure);
}

static void free_store_job(struct job *job)
{
	free(job);
}

int history_new(struct history **ret, const struct history_setup *setup)
{
	struct history *history = calloc(1, sizeof(*history));
	struct store_job *opening = calloc(1, sizeof(*opening));
	bool is_wanted = setup->state_dir && setup->state_dir[0] && setup->options.limits.bytes;
	int r = history && opening ? 0 : -ENOMEM;

	if (r == 0) {
		history->loop = setup->loop;
		history->bulk = setup->bulk;
		history->options = setup->options;
		history->clock.offset = loop_real_ns() - (int64_t)loop_now_ns();
		history->said = (struct rate){.every_ns = 60 * NS_PER_S, .burst = 4};
		history->state_dir = strdup(setup->state_dir ? setup->state_dir : "");
		r = history->state_dir
			    ? worker_new(&history->worker, setup->loop, "history", LIMIT_NS)
			    : -ENOMEM;
	}
	if (r < 0 || !is_wanted) {
		free(opening);
		if (r < 0)
			history_free(history);
		else
			*ret = history;
		return r;
	}
	history->is_on = history->stats.is_on = true;
	history->stats.limit_bytes = (uint64_t)setup->options.limits.bytes;
	*opening = (struct store_job){
		.job = {.run = open_run,
			.done = open_done,
			.free = free_store_job,
			.unlimited = true},
		.history = history,
		.limits = setup->options.limits,
	};
	worker_submit(history->worker, &opening->job);
	history_journal_begin(history);
	*ret = history;
	return 0;
}

void history_stop(struct history *history)
{
	if (history && history->worker)
		worker_stop(history->worker);
}

void history_free(struct history *history)
{
	if (!history)
		return;
	history_stop(history);
	worker_free(history->worker);
	history_journal_end(history);
	history_store_done(&history->store);
	free(history->state_dir);
	for (int i = 0; i < PROBE_COUNT; i++)
		history_watched_done(&history->watched[i]);
	free(history);
}

bool history_is_on(const struct history *history)
{
	return history && history->is_on;
}

unsigned history_window_s(const struct history *history)
{
	return (unsigned)history->options.window_s;
}

const struct history_stats *history_stats(const struct history *history)
{
	return &history->stats;
}

static void limits_run(struct job *job)
{
	struct store_job *setting = (struct store_job *)job;

	setting->history->store.limits = setting->limits;
	if (setting->history->store.files)
		history_store_trim(&setting->history->store);
	history_look(setting->history, &setting->seen);
}

static void limits_done(struct job *job, bool finished)
{
	struct store_job *setting = (struct store_job *)job;

	if (finished)
		history_note(setting->history, &setting->seen);
}

void history_set_sampled(struct history *history,
			 struct intern *(*sampled)(void *arg, enum probe probe), void *arg)
{
	history->sampled = sampled;
	history->sampled_arg = arg;
}

void history_set_limits(struct history *history, const struct history_limits *limits)
{
	struct store_job *setting = calloc(1, sizeof(*setting));

	if (!setting) {
		log_error("history keeps its limits: no memory");
		return;
	}
	if (history->is_on)
		history->stats.limit_bytes = (uint64_t)limits->bytes;
	*setting = (struct store_job){
		.job = {.run = limits_run,
			.done = limits_done,
			.free = free_store_job,
			.unlimited = true},
		.history = history,
		.limits = *limits,
	};
	worker_submit(history->worker, &setting->job);
}

/* ---- windows ---- */

#define PARTS 2 /* a profile and its second one */

/* A window on its way to the disk: packed by the bulk worker, then written. */
struct window_job {
	struct job job;
	struct history *history;
	struct profile *window; /* a reference */
	struct window_part {
		char series[HISTORY_SERIES_BYTES];
		struct history_head head;
		struct buf payload;
		int error;
	} parts[PARTS];
	void (*done)(void *arg);
	void *arg;
	uint64_t lasted_ns; /* of history_lasted_ns() */
	bool is_packed;
	struct history_seen seen;
};

/* Packs a profile. In a job of the bulk worker. */
int history_pack_profile(const struct profile *profile, uint64_t lasted_ns,
			 struct history_head *head, struct buf *payload)
{
	_cleanup_profile_ struct profile *copy = NULL;
	struct frames_columns columns = {0};
	struct profile_meta meta;
	uint64_t length = history_length_ns(profile->from, profile->until, lasted_ns);

	if (view_is_held(profile->view))
		length = 0; /* a state has none */
	uint64_t length_ms = length / NS_PER_MS;
	profile_describe(profile, TREE_ROOT, NULL, &meta);
	*head = (struct history_head){
		.from = profile->until - (int64_t)length,
		.until = profile->until,
		.covered_ns = length,
		.squares_ms2 = length_ms * length_ms,
		.windows = 1,
		.period_ns = meta.by_period ? profile->period_ns : 0,
		.is_state = view_is_held(profile->view),
		.weight = profile->weight,
		.events = profile->events,
		.samples = profile->samples,
		.left_out = profile->left_out,
		.lost = profile->lost + profile->refused,
		.truncated = meta.truncated,
		.processes = meta.processes,
	};
	int r = render_copy(profile, true, &copy);
	if (r == 0)
		r = frames_columns_make(&columns, copy->tree, TREE_ROOT, HISTORY_PAYLOAD_MAX);
	if (r == 0)
		r = history_pack(payload, head, &columns, NULL, 0);
	frames_columns_done(&columns);
	return r;
}

static const struct profile *part_of(const struct profile *window, int part)
{
	return part && window ? window->second : window;
}

static void pack_window(struct window_job *window)
{
	for (int i = 0; i < PARTS; i++) {
		const struct profile *profile = part_of(window->window, i);
		struct window_part *part = &window->parts[i];

		if (!profile)
			continue;
		part->payload = (struct buf)BUF_INIT(2 * HISTORY_PAYLOAD_MAX);
		part->error = history_pack_profile(profile, window->lasted_ns, &part->head,
						   &part->payload);
	}
}

static void write_window(struct window_job *window)
{
	struct history_store *store = &window->history->store;

	for (int i = 0; i < PARTS && store->files; i++) {
		struct window_part *part = &window->parts[i];

		if (part->series[0] && !part->error)
			part->error =
				history_store_add(store, part->series, &part->head, &part->payload);
		else if (part->error)
			store->counts.failed++;
	}
	if (store->files) {
		history_store_settle(store);
		history_store_trim(store);
	}
	history_look(window->history, &window->seen);
}

static void window_run(struct job *job)
{
	struct window_job *window = (struct window_job *)job;

	if (window->is_packed)
		write_window(window);
	else
		pack_window(window);
}

static void free_window(struct job *job)
{
	struct window_job *window = (struct window_job *)job;

	profile_unref(window->window);
	for (int i = 0; i < PARTS; i++)
		buf_done(&window->parts[i].payload);
	free(window);
}

static void tell_failure(struct history *history, const char *series, int error)
{
	snprintf(history->stats.failure, sizeof(history->stats.failure),
		 "a window of %s is missing in history: %s", series, strerror(-error));
	if (rate_take(&history->said, loop_now_ns()))
		log_error("%s", history->stats.failure);
}

/* Counts and tells a window that never came to the worker. */
static void lose_window(struct history *history, const char *series, int error)
{
	history->unpacked++;
	history->stats.counts.failed++;
	tell_failure(history, series, error);
}

static void window_done(struct job *job, bool finished);

/* Hands what was packed over to the worker that writes. */
static void go_on_writing(struct window_job *packed)
{
	struct window_job *writing = malloc(sizeof(*writing));

	if (!writing) {
		lose_window(packed->history, packed->parts[0].series, -ENOMEM);
		packed->done(packed->arg);
		return;
	}
	*writing = *packed;
	writing->is_packed = true;
	writing->job = (struct job){
		.run = window_run, .done = window_done, .free = free_window, .unlimited = true};
	profile_unref(packed->window); /* its tree is large, and isn't needed any more */
	packed->window = writing->window = NULL;
	memset(packed->parts, 0, sizeof(packed->parts));
	worker_submit(writing->history->worker, &writing->job);
}

static void window_done(struct job *job, bool finished)
{
	struct window_job *window = (struct window_job *)job;

	if (finished && !window->is_packed) {
		go_on_writing(window);
		return;
	}
	if (finished)
		history_note(window->history, &window->seen);
	if (!finished)
		lose_window(window->history, window->parts[0].series, -EAGAIN);
	for (int i = 0; finished && i < PARTS; i++) {
		if (window->parts[i].error)
			tell_failure(window->history, window->parts[i].series,
				     window->parts[i].error);
	}
	window->done(window->arg);
}

int history_add(struct history *history, struct profile *window, void (*done)(void *arg), void *arg)
{
	struct window_job *packing = calloc(1, sizeof(*packing));

	if (!packing) {
		lose_window(history, view_get(window->probe, window->view)->folder, -ENOMEM);
		return -ENOMEM;
	}
	*packing = (struct window_job){
		.job = {.run = window_run,
			.done = window_done,
			.free = free_window,
			.unlimited = true},
		.history = history,
		.window = profile_ref(window),
		.done = done,
		.arg = arg,
	};
	packing->lasted_ns =
		history_lasted_ns(&history->clock, loop_real_ns(), loop_now_ns(), window->began_ns);
	for (int i = 0; i < PARTS; i++) {
		const struct profile *profile = part_of(window, i);

		/* An event's names change on the loop's thread. */
		if (profile)
			snprintf(packing->parts[i].series, HISTORY_SERIES_BYTES, "%s",
				 view_get(profile->probe, profile->view)->folder);
	}
	worker_submit(history->bulk, &packing->job);
	return 0;
}
