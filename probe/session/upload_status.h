/* SPDX-License-Identifier: GPL-2.0-only */
/* How the uploads of the configured feature go: what GET and /metrics show. */
#pragma once

#include "select/spec.h"
#include "upload/sender/sender.h"
#include "upload/http/server_url.h"

enum upload_state {
	UPLOAD_OFF,	/* `reason` says why */
	UPLOAD_RUNNING, /* also while nothing is to be sent */
	UPLOAD_FAILING, /* the server takes nothing at the moment */
};

struct upload_status {
	enum upload_state state;
	const char *reason;	       /* a sentence, static; "" unless it is off */
	char server[SERVER_URL_BYTES]; /* as it is asked; "" while it is off */
	enum pyroscope_api api;
	struct sender_stats sent;
};
