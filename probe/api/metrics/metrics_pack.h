/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forms of /metrics that a scraper may ask for. Loop thread only. */
#pragma once

#include <stdbool.h>

#include "api/feature/answer.h"

/* Returns whether the header Accept names OpenMetrics; NULL: the client hasn't sent it. */
bool metrics_are_open(const char *accept);

/*
 * Turns an answer in Prometheus' text format into OpenMetrics 1.0.0 if the header Accept names it,
 * and packs it if Accept-Encoding allows gzip; each NULL: the client hasn't sent it. Without memory
 * the answer stays as it is.
 */
void metrics_pack(struct answer *answer, const char *accept, const char *accept_encoding);
