/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows' profiles on their way to a Pyroscope: rendered in pieces, given names and labels, handed
 * to upload/sender/sender, which has them until the server has them. On the loop's thread.
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

/* -ENOMEM, or what upload/sender/sender.h says of the options, with a sentence in `why`. */
int uploads_new(struct uploads **ret, const struct uploads_setup *setup, char *why,
		size_t why_bytes);
void uploads_free(struct uploads *uploads);

/* Where to and how, from now on; what waits goes there as well. */
void uploads_apply(struct uploads *uploads, const struct params *params);

/* Others, read anew, but `period_s`, which stays. Negative errno and a sentence: those before count
 * on. */
int uploads_set_options(struct uploads *uploads, const struct upload_options *options, char *why,
			size_t why_bytes);

bool uploads_has_server(const struct uploads *uploads);
unsigned uploads_period_s(const struct uploads *uploads); /* of windows */

/* A window that has ended, of a probe that was sampled with these params. A reference is taken. */
void uploads_add(struct uploads *uploads, struct profile *window, const struct params *params);

/* The end is near: windows go without looking for source lines. */
void uploads_hurry(struct uploads *uploads);

/* When all windows are on disk, and what can be sent within seconds has been: done(arg). */
void uploads_close(struct uploads *uploads, void (*done)(void *arg), void *arg);

/* It didn't come so far, and won't: what is lost is counted and logged. */
void uploads_abandon(struct uploads *uploads);

void uploads_status(const struct uploads *uploads, struct upload_status *status);
