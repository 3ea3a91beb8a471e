/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All numbers of /metrics and of GET's status, read once for an answer. Loop thread only. */
#pragma once

#include "api/feature/feature.h"
#include "api/status/runtime_versions.h"
#include "measure/measure.h"
#include "session/upload_status.h"

struct process_choice;

struct figures {
	const struct services *services; /* borrowed */
	/* processes that have series; borrowed. NULL: all */
	const struct process_choice *processes;
	/* what processes cost, by container; borrowed. NULL: not asked */
	const struct last_costs *costs;
	bool exemplars; /* lines may have them: OpenMetrics was asked for */
	struct engine_stats engine;
	struct session_stats files;
	struct history_stats history;
	struct upload_status upload;
	struct agents_stats agents;
	struct jfr_stats jfr;
	struct runtime_versions python, java;
	uint64_t held_max;		     /* allocations that there may be in the kernel's map */
	uint64_t truncated[TRUNCATED_COUNT]; /* of all probes */
	uint64_t refused[REFUSALS];	     /* requests */
	struct probe_figures {
		uint64_t samples;
		uint32_t thinned;
		uint64_t lost[LOST_COUNT]; /* with what all probes lost there */
		uint64_t truncated[TRUNCATED_COUNT];
	} probes[PROBE_COUNT];
};

/* Fills in the figures. `services` must outlive them. */
void figures_read(struct figures *figures, const struct services *services);

/* The labels of losses and of truncated stacks: enum loss, enum truncation without TRUNCATED_NOT.
 */
extern const struct measure_label loss_label, truncation_label;

/* Rows of an array of struct probe_figures: what stands before a probe's own numbers, and behind.
 */
extern const struct measures probe_measures, probe_loss_measures;

/* Rows of struct figures, on the live heap. */
extern const struct measures held_measures;
