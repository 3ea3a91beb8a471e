/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trigger of the session (params.trigger): what GET and /metrics show of it. */
#pragma once

#include <stdint.h>

#include "measure/measure.h"
#include "pressure/pressure_text.h"

struct trigger_stats {
	uint64_t fired;	    /* how often it began to sample a period */
	int64_t last_fired; /* CLOCK_REALTIME, ns; 0: never */
};

struct trigger_status {
	const char *state;  /* "off", "waiting", "sampling", "failed" or "unsupported" */
	const char *how;    /* who tells that tasks are stalled: "kernel", "each second", "" */
	const char *reason; /* why the kernel doesn't tell; why nothing is waited for */
	char waits_for[PRESSURE_WORDS_BYTES];
};

/* Rows of struct trigger_stats (measure/measure.h). */
extern const struct measures trigger_measures;
