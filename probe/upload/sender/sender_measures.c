// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/loop.h"
#include "measure/measure.h"
#include "upload/sender/sender.h"

static const char *loss_name_of(unsigned loss)
{
	static const char *const names[] = {SENDER_LOSS_LIST(NAMED_NAME)};

	return names[loss];
}

static const struct measure_label cause = {"cause", loss_name_of, 0, SENDER_LOSSES};

static uint64_t last_stored_s(const void *stats)
{
	const struct sender_stats *sent = stats;

	return (uint64_t)(sent->last_stored_ns / (int64_t)NS_PER_S);
}

static uint64_t oldest_age_s(const void *stats)
{
	const struct sender_stats *sent = stats;
	int64_t age_ns = sent->oldest_waiting_ns ? loop_real_ns() - sent->oldest_waiting_ns : 0;

	return age_ns > 0 ? (uint64_t)age_ns / NS_PER_S : 0;
}

#define AT(member) MEASURE_AT(sender_stats, member)

static const struct measure rows[] = {
	{"upload_stored_total", "stored", COUNTER,
	 "Profiles that the Pyroscope server says it has.", AT(stored)},
	{"upload_stored_bytes_total", NULL, COUNTER,
	 "Bytes of the profiles that the Pyroscope server says it has, as they were sent.",
	 AT(stored_bytes)},
	{"upload_last_stored_timestamp_seconds", "last_stored", GAUGE,
	 "When the Pyroscope server said last that it has a profile, in seconds since 1970; 0: not "
	 "yet.",
	 .count = last_stored_s},
	{"upload_waiting", "waiting", GAUGE, "Profiles that the server doesn't have yet.",
	 AT(waiting)},
	{"upload_waiting_bytes", "waiting_bytes", GAUGE,
	 "Bytes of the profiles that wait to be sent.", AT(waiting_bytes)},
	{NULL, "oldest_waiting_s", GAUGE, "Age of the oldest of these, in seconds; 0: none waits.",
	 .count = oldest_age_s},
	{"upload_retries_total", "retries", COUNTER, "Profiles that were sent again.", AT(retries)},
	{"upload_maybe_twice_total", "maybe_twice", COUNTER,
	 "Profiles sent again that the Pyroscope server may have had already.", AT(maybe_twice)},
	{"upload_lost_total", "lost", COUNTER,
	 "Profiles that the server will never have, by cause.",
	 MEASURE_EACH(sender_stats, lost, &cause)},
};

const struct measures sender_measures = {"Uploads", "status.upload", MEASURE_ROWS(rows)};
