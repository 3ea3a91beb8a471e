/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a query into a question to history. Loop thread only. */
#pragma once

#include "api/feature/feature.h"

/*
 * Fills in ranges and filters. `from` is an hour ago if it isn't given, `until` is now; what it is
 * compared with is as long as the range and ends where that begins, unless the query says so. For
 * anomalies both are those of history_lately(). Fills
 * in the answer with a 400 and returns false if the query is wrong.
 */
bool history_question_read(const struct services *services, const struct query *query,
			   struct history_ask *ask, struct answer *answer);

/* Fills in the answer for an error of history_submit() or of the answer to a question. */
void history_question_fail(const struct services *services, int error, struct answer *answer);
