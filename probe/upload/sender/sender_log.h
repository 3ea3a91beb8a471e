/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sender's log lines, with limits so that there is no line for each body: that a server fails
 * and is well again (at most every ten minutes, as a server that says 429 fails now and then); that
 * a server refuses (once for each status); that bodies are lost (at most once an hour for each
 * cause, with their number).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "upload/sender/sender.h"

#define LOG_STATUS_MAX 600 /* all higher statuses count as this one */

struct sender_log {
	bool refusals[LOG_STATUS_MAX + 1]; /* by status: was logged */
	uint64_t failing_ns;		   /* when a failure was logged last; 0: never */
	bool failing_told;		   /* the present failure was logged */
	struct {
		uint64_t untold, told_ns; /* bodies not logged yet; when logged last, 0: never */
	} losses[SENDER_LOSSES];
};

/* Each function logs the event of its name, if the limits allow it. */
void sender_log_init(struct sender_log *log);
void sender_log_failing(struct sender_log *log, const char *url, const char *why);
void sender_log_well(struct sender_log *log, const char *url, size_t waiting);
/* Resets the limits for failures and refusals: another server is used. */
void sender_log_other_server(struct sender_log *log);
void sender_log_refusal(struct sender_log *log, const char *url, int status, const char *why,
			const char *what);
/* Logs the text of the server's answer, at level debug only. */
void sender_log_words(const char *url, int status, const char *text, const char *what);
/* `why`: more of the cause (the error of the disk, the last failure), or "". */
void sender_log_loss(struct sender_log *log, enum sender_loss cause, uint64_t bodies,
		     const char *why);
/* Resets the limit of a cause: the next loss is logged. */
void sender_log_at_once(struct sender_log *log, enum sender_loss cause);
void sender_log_found(const char *folder, size_t count, int error);
/* Logs that bodies can't be written; `error`: negative errno. */
void sender_log_unwritable(const char *folder, int error);
void sender_log_disk(const char *folder, bool out);
void sender_log_exposed(const char *path);
