// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_upload.h"

#include "session/session_params.h"
#include "api/status/status.h"
#include "loop/loop.h"

static const char *const states[] = {
	[UPLOAD_OFF] = "off",
	[UPLOAD_RUNNING] = "running",
	[UPLOAD_FAILING] = "failing",
};

static const char *const losses[] = {SENDER_LOSS_LIST(NAMED_NAME)};

const char *upload_loss_name(enum sender_loss loss)
{
	return losses[loss];
}

static uint64_t age_s(int64_t since_ns, int64_t now_ns)
{
	int64_t seconds = since_ns ? (now_ns - since_ns) / (int64_t)NS_PER_S : 0;

	return seconds > 0 ? (uint64_t)seconds : 0;
}

void status_upload(struct json *json, const struct upload_status *status, int64_t now_ns)
{
	const struct sender_stats *sent = &status->sent;

	json_object(json, "upload");
	json_text(json, "state", states[status->state]);
	json_text(json, "reason", status->reason);
	json_text(json, "server", status->server);
	json_text(json, "api", pyroscope_api_name(status->api));
	json_numbers(json, {"stored", sent->stored},
		     {"last_stored", sent->last_stored_ns / (int64_t)NS_PER_S},
		     {"waiting", sent->waiting}, {"waiting_bytes", sent->waiting_bytes},
		     {"oldest_waiting_s", age_s(sent->oldest_waiting_ns, now_ns)},
		     {"retries", sent->retries}, {"maybe_twice", sent->maybe_twice});
	json_counts(json, "lost", 0, SENDER_LOSSES, upload_loss_name, sent->lost);
	/* TLS's words may have some of a certificate's. */
	json_name(json, "last_failure", sent->last_failure);
	json_object_end(json);
}
