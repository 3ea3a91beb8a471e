// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the journal's lines to the disk, a moment after they were written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "journal/event_journal.h"
#include "base/log.h"
#include "history/history_state.h"

#define MOMENT_NS	  (2 * NS_PER_S)
#define JOURNAL_TAKEN_MAX (1u << 20)

struct journal_job {
	struct job job;
	struct history *history;
	struct buf lines;
	uint64_t taken; /* lines, for when a job that was given up still has them */
	int error;
};

static int append_lines(const struct history *history, const struct buf *lines)
{
	const struct history_store *store = &history->store;

	if (!store->files || !lines->len)
		return 0;
	return history_events_append(history_files_folder(store->files), lines, store->limits.days,
				     loop_real_ns());
}

static void write_lines(struct job *job)
{
	struct journal_job *lines = (struct journal_job *)job;

	lines->error = append_lines(lines->history, &lines->lines);
}

static uint64_t count_lines(const struct buf *lines)
{
	uint64_t count = 0;

	for (size_t i = 0; i < lines->len; i++)
		count += lines->data[i] == '\n';
	return count;
}

static void lines_written(struct job *job, bool finished)
{
	struct journal_job *lines = (struct journal_job *)job;
	struct history *history = lines->history;

	if (!finished)
		lines->error = -EAGAIN;
	if (lines->error < 0)
		history->stats.events_lost += lines->taken;
	if (lines->error < 0 && rate_take(&history->said, loop_now_ns()))
		log_error("what happened could not be kept: %s", strerror(-lines->error));
}

static void free_journal_job(struct job *job)
{
	struct journal_job *lines = (struct journal_job *)job;

	buf_done(&lines->lines);
	free(lines);
}

void history_journal_flush(struct history *history)
{
	struct journal_job *lines = calloc(1, sizeof(*lines));

	loop_timer_cancel(history->loop, &history->journal);
	if (!lines)
		return; /* they wait for the next time */
	*lines = (struct journal_job){
		.job = {.run = write_lines,
			.done = lines_written,
			.free = free_journal_job,
			.unlimited = true},
		.history = history,
		.lines = BUF_INIT(JOURNAL_TAKEN_MAX),
	};
	journal_take(&lines->lines);
	lines->taken = count_lines(&lines->lines);
	worker_submit(history->worker, &lines->job);
}

static void moment_over(void *arg)
{
	history_journal_flush(arg);
}

static void journal_woken(void *arg)
{
	struct history *history = arg;

	if (history->is_on)
		loop_timer_set(history->loop, &history->journal, loop_now_ns() + MOMENT_NS);
}

void history_journal_begin(struct history *history)
{
	history->journal =
		(struct loop_timer){.expired = moment_over, .arg = history, .name = "journal"};
	journal_watch(journal_woken, history);
}

void history_journal_hold(struct history *history)
{
	if (!history->journal.expired)
		return;
	journal_watch(NULL, NULL);
	loop_timer_cancel(history->loop, &history->journal);
}

void history_journal_end(struct history *history)
{
	_cleanup_buf_ struct buf lines = BUF_INIT(JOURNAL_TAKEN_MAX);

	if (!history->journal.expired)
		return;
	history_journal_hold(history);
	journal_take(&lines);
	append_lines(history, &lines);
}
