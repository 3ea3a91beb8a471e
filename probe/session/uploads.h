/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uploads of windows' profiles to a Pyroscope: renders them in pieces, adds names and labels, and
 * hands them to upload/sender/sender, which keeps them until the server has them. Loop thread only;
 * rendering is done by jobs of the bulk worker.
 */
#pragma once

#include "profile/profile.h"
#include "profile/render.h"
#include "select/spec.h"
#include "session/upload_status.h"
#include "upload/http/upload_options.h"

struct uploads;

struct uploads_setup {
	struct loop *loop;
	struct worker *bulk, *foreign;
	const struct render_lines *lines;
	const struct upload_options *options; /* copied */
	const char *host;
};

/*
 * Creates it; the caller owns *ret. Returns 0, -ENOMEM or an error that upload/sender/sender.h has
 * for options, with a sentence in `why`.
 */
int uploads_new(struct uploads **ret, const struct uploads_setup *setup, struct why *why);
void uploads_free(struct uploads *uploads);

/* Sets where to and how to upload from now on; waiting windows go there, too. */
void uploads_apply(struct uploads *uploads, const struct params *params);

/*
 * Sets other options, except `period_s`, which stays. Returns 0, or a negative errno and a
 * sentence; then the old ones stay.
 */
int uploads_set_options(struct uploads *uploads, const struct upload_options *options,
			struct why *why);

bool uploads_has_server(const struct uploads *uploads);
unsigned uploads_period_s(const struct uploads *uploads); /* length of a window, s */

/* Uploads an ended window of a probe that was sampled with these params. Takes a new reference. */
void uploads_add(struct uploads *uploads, struct profile *window, const struct params *params);

/* Uploads windows without source lines from now on, as the end is near. */
void uploads_hurry(struct uploads *uploads);

/*
 * Calls done(arg) when all windows are on disk and those that can be sent within seconds have been.
 */
void uploads_close(struct uploads *uploads, void (*done)(void *arg), void *arg);

/* Gives up uploads_close(), which takes too long: what is lost is counted and logged. */
void uploads_abandon(struct uploads *uploads);

/* Fills in the status. */
void uploads_status(const struct uploads *uploads, struct upload_status *status);
