/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check whether the folders that a PUT names can be used. A folder below a root may be on another
 * owner's file system, which need not answer: so the check runs in a job, under the worker's time
 * limit. The check makes no folder; that happens with the first file (output/files/store.h). The
 * functions are for the loop's thread.
 */
#pragma once

#include "api/request/request.h"
#include "loop/worker.h"

struct folder_check;

struct folder_question {
	struct worker *worker;
	const struct store_roots *roots; /* the roots in force when the body was read */
	const struct request_folders *folders;
	const struct params *params; /* params with the paths */
};

/*
 * Begins a check, and calls done(arg, status, message) on the loop's thread: status 0, the folders
 * can be used; 400: one can't; 503: one doesn't answer. *ret is valid until done() has been called.
 * All of `question` is copied but the worker. Returns 0, or a negative errno without a call of
 * done(): -ENOMEM.
 */
int folder_check_begin(struct folder_check **ret, const struct folder_question *question,
		       void (*done)(void *arg, unsigned status, const char *message), void *arg);

/* Makes the check forget done(), which is not called any more. */
void folder_check_forget(struct folder_check *check);

/* Checks the folders where there is no loop yet: waits for 3 s at most. Returns 0, 400 or 503. */
unsigned folder_check_wait(const struct folder_question *question, struct why *why);
