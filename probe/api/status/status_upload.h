/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of uploads. */
#pragma once

#include "api/feature/feature.h"
#include "base/json.h"
#include "session/upload_status.h"

/* Returns the name of a cause of loss, like "too_old". Static text. */
const char *upload_loss_name(enum sender_loss loss);

/* Adds "upload": { "state": "off"|"running"|"failing", "reason", "server", "api", "stored",
 * "last_stored" (seconds since 1970, 0: not yet), "waiting", "waiting_bytes", "oldest_waiting_s",
 * "retries", "maybe_twice", "lost": {cause: n}, "last_failure" }. `now_ns` is CLOCK_REALTIME. */
void status_upload(struct json *json, const struct upload_status *status, int64_t now_ns);
