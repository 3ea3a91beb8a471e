// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks for anomalies for /metrics: one probe after the other, when somebody asks, not too often.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "history/history_state.h"

#define LATELY_WINDOWS 20
#define PAST_WINDOWS   120
#define REST_WINDOWS   10 /* between two looks */

static void watch_next(struct history *history);

static int64_t window_ns(const struct history *history)
{
	return (int64_t)history_window_s(history) * (int64_t)NS_PER_S;
}

void history_lately(const struct history *history, int64_t until,
		    struct history_range ranges[HISTORY_SIDES])
{
	int64_t from = until - LATELY_WINDOWS * window_ns(history);

	ranges[HISTORY_AFTER] = (struct history_range){from, until};
	ranges[HISTORY_BEFORE] =
		(struct history_range){from - PAST_WINDOWS * window_ns(history), from};
}

void history_watched_done(struct history_watched *watched)
{
	for (size_t i = 0; i < watched->rows_count; i++) {
		free(watched->rows[i].name);
		free(watched->rows[i].container);
	}
	*watched = (struct history_watched){0};
}

/* Takes the names of the answer over. */
static void take_rows(struct history_watched *watched, struct history_anomalies *anomalies)
{
	for (size_t i = 0; i < anomalies->count && i < WATCHED_ROWS; i++) {
		struct history_anomaly *anomaly = &anomalies->anomalies[i];

		watched->rows[watched->rows_count++] =
			(struct watched_row){anomaly->name, anomaly->container, anomaly->rate};
		anomaly->name = anomaly->container = NULL;
	}
}

static void watch_answered(void *arg, struct history_ask *ask)
{
	struct history *history = arg;
	struct history_watched *watched = &history->watched[ask->probe];

	history->is_watching = false;
	history_watched_done(watched);
	if (ask->error == 0 && ask->tells) {
		watched->at = ask->ranges[HISTORY_AFTER].until;
		watched->processes = ask->anomalies.processes;
		watched->anomalies = ask->anomalies.count;
		take_rows(watched, &ask->anomalies);
	}
	watch_next(history);
}

/* Asks of the next probe. */
static void watch_next(struct history *history)
{
	while (history->watching) {
		int probe = __builtin_ctz(history->watching);
		struct history_ask question = {.wish = HISTORY_ANOMALIES,
					       .probe = (enum probe)probe,
					       .view = VIEW_ALL,
					       .compares = true,
					       .done = watch_answered,
					       .arg = history};

		history->watching &= history->watching - 1;
		history_lately(history, loop_real_ns(), question.ranges);
		if (history_submit(history, &question) == 0) {
			history->is_watching = true;
			return;
		}
	}
}

void history_watch(struct history *history, uint32_t probes)
{
	uint64_t now = loop_now_ns();

	for (int i = 0; i < PROBE_COUNT; i++) {
		if (!(probes & 1u << i))
			history_watched_done(&history->watched[i]);
	}
	if (history->is_watching ||
	    (history->watched_ns &&
	     now < history->watched_ns + REST_WINDOWS * (uint64_t)window_ns(history)))
		return;
	history->watched_ns = now;
	history->watching = probes;
	watch_next(history);
}

const struct history_watched *history_watched(const struct history *history, enum probe probe)
{
	return &history->watched[probe];
}
