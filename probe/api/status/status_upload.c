// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_upload.h"

#include <string.h>

#include "api/request/param.h"
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

static double age_s(int64_t since_ns, int64_t now_ns)
{
	int64_t seconds = since_ns ? (now_ns - since_ns) / (int64_t)NS_PER_S : 0;

	return seconds > 0 ? (double)seconds : 0;
}

void status_upload(cJSON *to, const struct upload_status *status, int64_t now_ns)
{
	const struct sender_stats *sent = &status->sent;
	int64_t last_stored_s = sent->last_stored_ns / (int64_t)NS_PER_S;
	cJSON *upload = cJSON_AddObjectToObject(to, "upload");

	cJSON_AddStringToObject(upload, "state", states[status->state]);
	cJSON_AddStringToObject(upload, "reason", status->reason);
	cJSON_AddStringToObject(upload, "server", status->server);
	cJSON_AddStringToObject(upload, "api", pyroscope_api_name(status->api));
	cJSON_AddNumberToObject(upload, "stored", (double)sent->stored);
	cJSON_AddNumberToObject(upload, "last_stored", (double)last_stored_s);
	cJSON_AddNumberToObject(upload, "waiting", (double)sent->waiting);
	cJSON_AddNumberToObject(upload, "waiting_bytes", (double)sent->waiting_bytes);
	cJSON_AddNumberToObject(upload, "oldest_waiting_s", age_s(sent->oldest_waiting_ns, now_ns));
	cJSON_AddNumberToObject(upload, "retries", (double)sent->retries);
	cJSON_AddNumberToObject(upload, "maybe_twice", (double)sent->maybe_twice);
	cJSON *lost = cJSON_AddObjectToObject(upload, "lost");
	for (int i = 0; i < SENDER_LOSSES; i++)
		cJSON_AddNumberToObject(lost, losses[i], (double)sent->lost[i]);
	/* TLS's words may have some of a certificate's. */
	status_add_text(upload, "last_failure", sent->last_failure,
			strnlen(sent->last_failure, sizeof(sent->last_failure)));
}
