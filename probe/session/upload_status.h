/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Status of the configured feature's uploads, as GET and /metrics show it. */
#pragma once

#include "select/spec.h"
#include "upload/sender/sender.h"
#include "upload/http/server_url.h"

enum upload_state {
	UPLOAD_OFF,	/* `reason` says why */
	UPLOAD_RUNNING, /* also while there is nothing to send */
	UPLOAD_FAILING, /* the server accepts nothing at the moment */
};

struct upload_status {
	enum upload_state state;
	const char *reason;	       /* a sentence, static; "" unless it is off */
	char server[SERVER_URL_BYTES]; /* as it is called; "" while off */
	enum pyroscope_api api;
	struct sender_stats sent;
};
