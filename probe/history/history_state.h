/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to history.c (windows) and history_ask.c (questions). */
#pragma once

#include "history/history.h"
#include "history/history_length.h"
#include "loop/rate.h"

/* What a job of the worker saw, for the loop. */
struct history_seen {
	struct history_counts counts;
	struct history_files_stats files;
};

struct history {
	struct loop *loop;
	struct worker *bulk, *worker;
	struct loop_timer journal; /* when its lines are taken */
	struct history_options options;
	char *state_dir;
	bool is_on;
	uint64_t unpacked; /* windows that never came to the worker */
	struct rate said;  /* of failures in the log */
	struct history_stats stats;
	struct history_ask *asked; /* questions under way */
	uint64_t watched_ns;	   /* when the last look began, CLOCK_MONOTONIC; 0: never */
	uint32_t watching;	   /* probes that the look has still to come to */
	bool is_watching;	   /* a question of it is under way */
	bool has_failed;	   /* a question of it came to nothing */
	unsigned rests;		   /* times that looks rest longer, after failures */
	uint64_t watch_failures;
	struct history_clock clock;
	struct intern *(*sampled)(void *arg, enum probe probe);
	void *sampled_arg;
	struct history_watched watched[PROBE_COUNT];

	struct history_store store; /* of the worker's jobs */
};

/*
 * Packs a profile that has lasted so long (of history_lasted_ns()) into a payload and its head
 * without a number. In a job of the bulk worker. Returns 0 or a negative errno.
 */
int history_pack_profile(const struct profile *profile, uint64_t lasted_ns,
			 struct history_head *head, struct buf *payload);

/* Take the journal's lines: at first; to the worker; at last, when the worker has stopped. */
void history_journal_begin(struct history *history);
void history_journal_flush(struct history *history);
void history_journal_hold(struct history *history); /* what comes from now on waits for the end */
void history_journal_end(struct history *history);

/* Frees what a look saw of a probe. */
void history_watched_done(struct history_watched *watched);

/* Copy what was counted: in a job of the worker, and then on the loop's thread. */
void history_look(const struct history *history, struct history_seen *seen);
void history_note(struct history *history, const struct history_seen *seen);
