/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check whether the folders that a PUT names can be used, and whether its events exist. A folder
 * below a root may be on another owner's file system, which need not answer: so the check runs in a
 * job, under the worker's time limit. The check makes no folder; that happens with the first file
 * (output/files/store.h). The functions are for the loop's thread.
 */
#pragma once

#include "api/request/request.h"
#include "loop/worker.h"

struct put_check;

struct put_question {
	struct worker *worker;
	const struct store_roots *roots; /* the roots in force when the body was read */
	const struct request_folders *folders;
	const struct params *params; /* params with the paths and the events */
	const struct event_rules *events;
};

struct put_verdict {
	/* 0: all can be used; 400: a folder can't, or there is no such event; 503: no answer */
	unsigned status;
	struct why message, detail; /* detail: "" if there is none beside the message */
};

/*
 * Begins a check, and calls done(arg, verdict) on the loop's thread. *ret is valid until done() has
 * been called. All of `question` is copied but the worker. Returns 0, or a negative errno without a
 * call of done(): -ENOMEM.
 */
int put_check_begin(struct put_check **ret, const struct put_question *question,
		    void (*done)(void *arg, const struct put_verdict *verdict), void *arg);

/* Makes the check forget done(), which is not called any more. */
void put_check_forget(struct put_check *check);

/* Checks where there is no loop yet: waits for 3 s at most. */
void put_check_wait(const struct put_question *question, struct put_verdict *verdict);
