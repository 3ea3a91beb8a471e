/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the folders that a PUT names can be used. What lies below a root may be another's file
 * system, which need not answer: it is looked at in a job, under the worker's time limit. Nothing
 * is made; that is done with the first file (output/files/store.h).
 */
#pragma once

#include "api/request/request.h"
#include "loop/worker.h"

struct folder_check;

struct folder_question {
	struct worker *worker;
	const struct store_roots *roots; /* as they were when the body was read */
	const struct request_folders *folders;
	const struct params *params; /* they have the paths */
};

/*
 * done(arg, status, message) on the loop's thread: 0, they can be used; 400: one can't; 503: one
 * doesn't answer. -ENOMEM: done() isn't called.
 */
int folder_check_begin(struct folder_check **ret, const struct folder_question *question,
		       void (*done)(void *arg, unsigned status, const char *message), void *arg);

/* done() isn't called any more. */
void folder_check_forget(struct folder_check *check);

/* The same where there is no loop yet: waits for 3 s at most. 0, 400 or 503. */
unsigned folder_check_wait(const struct folder_question *question,
			   char message[REQUEST_MESSAGE_MAX]);
