// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/uploads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kind/kind.h"
#include "session/upload_names.h"
#include "session/upload_pieces.h"
#include "upload/http/destination.h"
#include "upload/http/server_url.h"

#define MACHINE_ID_BYTES 64

struct uploads {
	struct uploads_setup setup;
	struct upload_options options;
	bool hurries;
	struct sender *sender;
	struct params params;	       /* applied last */
	char server[SERVER_URL_BYTES]; /* "": none */
	const char *why;	       /* why there is no server */
	char machine[MACHINE_ID_BYTES];
	size_t rendering; /* windows that aren't with the sender yet */
	void (*closed)(void *arg);
	void *closed_arg;
	uint32_t with_second; /* probes (1 << enum probe) whose second values were there */
};

/* A window that is being rendered. */
struct upload_window {
	struct uploads *uploads;
	enum probe probe;
	enum view view;
	enum pyroscope_api api;
	int64_t from, until;
	uint64_t period_ns;
};

int uploads_new(struct uploads **ret, const struct uploads_setup *setup, struct why *why)
{
	struct uploads *uploads = calloc(1, sizeof(*uploads));
	struct sender_setup sender = {.loop = setup->loop,
				      .foreign = setup->foreign,
				      .options = setup->options,
				      .why = why};

	why_set(why, "no memory");
	if (!uploads)
		return -ENOMEM;
	if (upload_options_copy(&uploads->options, setup->options) < 0) {
		free(uploads);
		return -ENOMEM;
	}
	uploads->setup = *setup;
	uploads->why = "nothing was told yet";
	machine_id(uploads->machine, sizeof(uploads->machine));
	int r = sender_new(&uploads->sender, &sender);
	if (r < 0) {
		upload_options_done(&uploads->options);
		free(uploads);
		return r;
	}
	*ret = uploads;
	return 0;
}

void uploads_free(struct uploads *uploads)
{
	if (!uploads)
		return;
	sender_free(uploads->sender);
	upload_options_done(&uploads->options);
	free(uploads);
}

/* ---- where to ---- */

/*
 * Sets the server. `asked`: a user named the server just now, and is told the outcome in any case.
 */
static void set_server(struct uploads *uploads, bool asked)
{
	char server[SERVER_URL_BYTES];
	const char *why = upload_destination(&uploads->options, uploads->params.pyroscope_server,
					     server, sizeof(server));

	bool same = strcmp(server, uploads->server) == 0;
	bool is_news = !same || strcmp(why ? why : "", uploads->why) != 0 || asked;

	uploads->why = why ? why : "";
	if (!same) {
		memcpy(uploads->server, server, sizeof(server));
		sender_set_server(uploads->sender, server[0] ? server : NULL);
	}
	if (same && (server[0] || !is_news || !uploads->params.pyroscope_server[0]))
		return;
	if (server[0])
		log_info("profiles go to %s", server);
	else
		log_info("profiles aren't uploaded%s%s", uploads->why[0] ? ": " : "", uploads->why);
}

void uploads_apply(struct uploads *uploads, const struct params *params)
{
	uploads->params = *params;
	set_server(uploads, true);
}

int uploads_set_options(struct uploads *uploads, const struct upload_options *options,
			struct why *why)
{
	struct upload_options copy;
	char server[SERVER_URL_BYTES];
	int r = upload_options_copy(&copy, options);

	if (r < 0) {
		why_set(why, "no memory");
		return r;
	}
	upload_destination(options, uploads->params.pyroscope_server, server, sizeof(server));
	/* the old server must not get the new secrets */
	if (strcmp(server, uploads->server) != 0) {
		uploads->server[0] = '\0';
		sender_set_server(uploads->sender, NULL);
	}
	r = sender_set_options(uploads->sender, options, why);
	if (r < 0) {
		upload_options_done(&copy);
	} else {
		copy.period_s = uploads->options.period_s;
		upload_options_done(&uploads->options);
		uploads->options = copy;
	}
	set_server(uploads, false);
	return r;
}

bool uploads_has_server(const struct uploads *uploads)
{
	return uploads->server[0];
}

unsigned uploads_period_s(const struct uploads *uploads)
{
	return uploads->options.period_s;
}

/* ---- windows ---- */

static void check_closed(struct uploads *uploads)
{
	if (!uploads->closed || uploads->rendering)
		return;
	sender_close(uploads->sender, TAKE_PTR(uploads->closed), uploads->closed_arg);
}

/* "oncpu 12:30:00" */
static void describe_window(const struct upload_window *window, char *what, size_t bytes)
{
	time_t from = (time_t)(window->from / (int64_t)NS_PER_S);
	struct tm local = {0};
	char moment[16] = "";

	localtime_r(&from, &local);
	strftime(moment, sizeof(moment), "%H:%M:%S", &local);
	snprintf(what, bytes, "%s %s", view_get(window->probe, window->view)->folder, moment);
}

static void send_piece(const struct upload_window *window, const struct upload_piece *piece)
{
	struct uploads *uploads = window->uploads;
	const struct upload_names names = {uploads->options.service_name, uploads->setup.host,
					   uploads->machine};
	_cleanup_buf_ struct buf target = BUF_INIT(16384);
	struct sender_body body = {.until_ns = window->until, .bytes = BUF_INIT(BODY_BYTES_MAX)};
	char what[64];

	describe_window(window, what, sizeof(what));
	body.texts.what = what;
	if (window->api == PYROSCOPE_PUSH) {
		buf_str(&target, PUSH_TARGET);
		body.texts.content_type = PUSH_TYPE;
		push_request(&body.bytes, &names, window->probe, window->view, piece);
	} else {
		ingest_target(&target, &names, window->probe, piece, window->from, window->until,
			      window->period_ns);
		body.texts.content_type = INGEST_TYPE;
		buf_add(&body.bytes, piece->data, piece->bytes);
	}
	buf_char(&target, '\0');
	if (buf_error(&target) || buf_error(&body.bytes)) {
		log_error("%s can't be uploaded: no memory", what);
		sender_count_loss(uploads->sender, SENDER_UNWRITABLE, 1);
		buf_done(&body.bytes);
		return;
	}
	body.texts.target = target.data;
	sender_add(uploads->sender, &body);
}

static void window_rendered(void *arg, struct render *render)
{
	struct upload_window *window = arg;
	struct uploads *uploads = window->uploads;
	struct upload_piece piece;
	size_t at = 0;

	if (render->error) {
		log_error("a window of %s can't be uploaded: %s", kind_get(window->probe)->name,
			  strerror(-render->error));
		sender_count_loss(uploads->sender, SENDER_UNWRITABLE, 1);
	}
	while (!render->error && upload_piece_next(&render->content[0], &at, &piece)) {
		if (piece.bytes)
			send_piece(window, &piece);
		else
			sender_count_loss(uploads->sender, SENDER_TOO_LARGE, 1);
	}
	uploads->rendering--;
	free(window);
	check_closed(uploads);
}

/* Has a view of a profile rendered and sent. */
static void add_view(struct uploads *uploads, struct profile *profile, const struct params *params,
		     enum view view)
{
	struct upload_window *window = malloc(sizeof(*window));
	bool push = uploads->params.pyroscope_api == PYROSCOPE_PUSH;
	struct render question = {
		.profile = profile,
		.second = view == VIEW_SECOND,
		.node = TREE_ROOT,
		.host = uploads->setup.host,
		.lines = uploads->hurries ? NULL : uploads->setup.lines,
		.sparing = true,
		.labels = params->multi_instance ? PPROF_LABELS_PROCESS : PPROF_LABELS_NONE,
		.outputs = {push ? &upload_push : &upload_ingest},
		.done = window_rendered,
		.arg = window,
	};

	if (window)
		*window = (struct upload_window){uploads,
						 profile->probe,
						 view,
						 push ? PYROSCOPE_PUSH : PYROSCOPE_INGEST,
						 profile->from,
						 profile->until,
						 profile->period_ns};
	if (!window || render_submit(uploads->setup.bulk, &question) < 0) {
		log_error("no memory to upload a window of %s", kind_get(profile->probe)->name);
		sender_count_loss(uploads->sender, SENDER_UNWRITABLE, 1);
		free(window);
		return;
	}
	uploads->rendering++;
}

void uploads_add(struct uploads *uploads, struct profile *profile, const struct params *params)
{
	add_view(uploads, profile, params, VIEW_ALL);
	/* /ingest has no name for it. From the first window on that has any, all are sent. */
	if (profile->second && profile->second->weight)
		uploads->with_second |= 1u << profile->probe;
	if (uploads->params.pyroscope_api == PYROSCOPE_PUSH && profile->second &&
	    uploads->with_second & 1u << profile->probe)
		add_view(uploads, profile, params, VIEW_SECOND);
}

void uploads_hurry(struct uploads *uploads)
{
	uploads->hurries = true;
}

void uploads_close(struct uploads *uploads, void (*done)(void *arg), void *arg)
{
	uploads->closed = done;
	uploads->closed_arg = arg;
	check_closed(uploads);
}

void uploads_abandon(struct uploads *uploads)
{
	sender_abandon(uploads->sender, uploads->rendering);
}

void uploads_status(const struct uploads *uploads, struct upload_status *status)
{
	*status = (struct upload_status){
		.state = UPLOAD_RUNNING,
		.reason = uploads->why,
		.api = (enum pyroscope_api)uploads->params.pyroscope_api,
	};
	memcpy(status->server, uploads->server, sizeof(status->server));
	sender_stats(uploads->sender, &status->sent);
	status->sent.waiting += uploads->rendering; /* the server doesn't have these either */
	if (!uploads->server[0])
		status->state = UPLOAD_OFF;
	else if (status->sent.failing)
		status->state = UPLOAD_FAILING;
}
