/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the sender tells people: one line an event, never one a body. A server begins to fail, and
 * is well again (told every ten minutes at most: one that says 429 fails now and then); it refuses,
 * once for each status; bodies are lost, at most once an hour for each cause, with their number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "upload/sender/sender.h"

#define LOG_STATUS_MAX 600 /* higher ones are one */

struct sender_log {
	bool refusals[LOG_STATUS_MAX + 1]; /* that were told, by status */
	uint64_t failing_ns;		   /* when it was last told that the server fails */
	bool failing_told;		   /* of this time */
	struct {
		uint64_t untold, told_ns;
	} losses[SENDER_LOSSES];
};

void sender_log_init(struct sender_log *log);
void sender_log_failing(struct sender_log *log, const char *url, const char *why);
void sender_log_well(struct sender_log *log, const char *url, size_t waiting);
void sender_log_other_server(struct sender_log *log); /* what it does is news */
void sender_log_refusal(struct sender_log *log, const char *url, int status, const char *why,
			const char *what);
/* The server's own words, for who looks for an error: at level debug only. */
void sender_log_words(const char *url, int status, const char *text, const char *what);
/* `why`: what the disk says, or "" */
void sender_log_loss(struct sender_log *log, enum sender_loss cause, uint64_t bodies,
		     const char *why);
/* The next one of that cause is told, whenever one was before. */
void sender_log_at_once(struct sender_log *log, enum sender_loss cause);
void sender_log_found(const char *folder, size_t count, int error);
/* The disk doesn't take bodies; `error`: negative errno. */
void sender_log_unwritable(const char *folder, int error);
void sender_log_disk(const char *folder, bool out);
void sender_log_exposed(const char *path);
