// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers of probes. */
#include "api/status/figures.h"
#include "kind/kind.h"
#include "kind/loss_names.h"

static const char *probe_name(unsigned probe)
{
	return kind_exists(probe) ? kind_get(probe)->name : NULL;
}

static const struct measure_label of_probe = {"probe", probe_name, 0, PROBE_COUNT};
const struct measure_label loss_label = {"where", loss_name, 0, LOST_COUNT};
const struct measure_label truncation_label = {"cause", truncation_name, TRUNCATED_NOT + 1,
					       TRUNCATED_COUNT};

static const struct measure rows[] = {
	{"samples_total", "samples", COUNTER, "Stacks counted, by probe.",
	 MEASURE_AT(probe_figures, samples)},
	{"thinned", "thinned", GAUGE,
	 "The stack of one event in so many is taken (max_overhead); 1: of each.",
	 MEASURE_AT(probe_figures, thinned)},
};

const struct measures probe_measures = {"Probes",	    "status.probes.*",
					MEASURE_ROWS(rows), .scope = OF_EACH,
					.each = &of_probe,  .stride = sizeof(struct probe_figures)};

static const struct measure loss_rows[] = {
	{NULL, "lost", COUNTER,
	 "Samples and events that the probe lost, with what all probes lost, by place.",
	 MEASURE_EACH(probe_figures, lost, &loss_label)},
	{NULL, "truncated", COUNTER, "Events whose stacks do not reach their root, by cause.",
	 MEASURE_EACH(probe_figures, truncated, &truncation_label)},
};

const struct measures probe_loss_measures = {
	"Probes",	  "status.probes.*", MEASURE_ROWS(loss_rows),
	.scope = OF_EACH, .each = &of_probe, .stride = sizeof(struct probe_figures)};

static const struct measure held_rows[] = {
	{"held_allocations", "now", GAUGE,
	 "Sampled allocations that weren't freed when they were counted last.",
	 MEASURE_AT(figures, engine.live_heap.entries)},
	{"held_allocations_max", "max", GAUGE,
	 "The most held allocations that there can be in the kernel's map (bpf.allocations).",
	 MEASURE_AT(figures, held_max)},
};

const struct measures held_measures = {"Memory: what is held", "status.probes.mem_glibc.held",
				       MEASURE_ROWS(held_rows)};
