/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stream of profiles, one of each interval of some seconds. Loop thread only. */
#pragma once

#include "api/feature/answer.h"
#include "session/ondemand.h"

/*
 * Creates a stream of the profiles that `asking` wants, which needs no done() and no interval():
 * each as text with a line before that has its time, or as lines of JSON. The caller owns *ret.
 * Errors as ondemand_start().
 */
int flamegraph_intervals_new(struct stream **ret, struct ondemands *ondemands,
			     const struct ondemand_request *asking, struct why *why);
