// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes the counters of uploads. */
#include "api/metrics/metrics_lines.h"
#include "api/status/status_upload.h"
#include "loop/loop.h"

void metrics_upload(struct buf *out, const struct upload_status *status)
{
	const struct sender_stats *sent = &status->sent;
	int64_t last_stored_s = sent->last_stored_ns / (int64_t)NS_PER_S;

	metrics_one(out, "upload_stored_total", "counter",
		    "Profiles that the Pyroscope server says it has.", (double)sent->stored);
	metrics_one(out, "upload_stored_bytes_total", "counter", "Their bytes, as they were sent.",
		    (double)sent->stored_bytes);
	metrics_one(out, "upload_last_stored_timestamp_seconds", "gauge",
		    "When it said so last, in seconds since 1970; 0: not yet.",
		    (double)last_stored_s);
	metrics_one(out, "upload_retries_total", "counter", "Profiles that were sent again.",
		    (double)sent->retries);
	metrics_one(out, "upload_maybe_twice_total", "counter",
		    "Of these, those that the server may have had already.",
		    (double)sent->maybe_twice);
	metrics_head(out, "upload_lost_total", "counter",
		     "Profiles that the server will never have, by cause.");
	for (int i = 0; i < SENDER_LOSSES; i++)
		buf_printf(out, "stackprobe_upload_lost_total{cause=\"%s\"} %llu\n",
			   upload_loss_name(i), (unsigned long long)sent->lost[i]);
	metrics_one(out, "upload_waiting", "gauge", "Profiles that the server doesn't have yet.",
		    (double)sent->waiting);
	metrics_one(out, "upload_waiting_bytes", "gauge", "Their bytes.",
		    (double)sent->waiting_bytes);
}
