/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns probes on and off. A probe is started (kind/kind.h) when somebody wants it, and stopped
 * when nobody does; the other probes are left alone. Loop thread only.
 */
#pragma once

#include "kind/kind.h"
#include "select/spec.h"

struct probe_switch {
	uint64_t period_ns; /* of the sampling clock */
	uint32_t running;   /* 1 << enum probe */
	struct probe_run runs[PROBE_COUNT];
	union probe_settings settings[PROBE_COUNT];
	struct sampling_failure {
		int error; /* 0: it could start, or wasn't wanted yet */
		/* It isn't started until its values are changed (it gave up) or set (it is held),
		 * or it is left out. */
		bool gave_up, held;
		struct why why;
	} failures[PROBE_COUNT];
};

/* Prepares it, with the default settings. Both are borrowed; those with points may be set later. */
void probe_switch_init(struct probe_switch *sampling, struct tracer *tracer);
void probe_switch_set_points(struct probe_switch *sampling, struct allocators *allocators,
			     struct event_files *event_files);

/* Loads what can be loaded before targets' files are opened, as descriptors may be few. */
void probe_switch_prepare(struct probe_switch *sampling, uint32_t probes);

/*
 * Makes exactly these probes sample. One that can't is left out, with the reason in failures[]. The
 * tracer must have started.
 */
void probe_switch_set(struct probe_switch *sampling, uint32_t probes);

/* Stops these of the probes that sample until their values are changed. */
void probe_switch_hold(struct probe_switch *sampling, uint32_t probes);

/* Starts those again that gave up. */
void probe_switch_retry(struct probe_switch *sampling);

/*
 * Change the clock's period, or the values of a probe's own params; at once if it samples. Errors
 * as tracer_start().
 */
int probe_switch_set_period(struct probe_switch *sampling, uint64_t period_ns, struct why *why);
int probe_switch_set_values(struct probe_switch *sampling, enum probe probe,
			    const union probe_settings *values, struct why *why);
