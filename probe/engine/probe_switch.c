// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/probe_switch.h"

#include <string.h>

#include "loop/loop.h"
#include "select/param.h"

#define DEFAULT_PERIOD_NS (10 * NS_PER_MS)

void probe_switch_init(struct probe_switch *sampling, struct tracer *tracer)
{
	*sampling = (struct probe_switch){.period_ns = DEFAULT_PERIOD_NS};
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		params_default_rows(kind_get(probe)->params, &sampling->settings[probe]);
		sampling->runs[probe] = (struct probe_run){
			.tracer = tracer,
			.period_ns = DEFAULT_PERIOD_NS,
			.settings = &sampling->settings[probe],
		};
	}
}

void probe_switch_set_allocators(struct probe_switch *sampling, struct allocators *allocators)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++)
		sampling->runs[probe].allocators = allocators;
}

void probe_switch_prepare(struct probe_switch *sampling, uint32_t probes)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (probes & 1u << probe && kind_get(probe)->prepare)
			kind_get(probe)->prepare(&sampling->runs[probe]);
	}
}

static void start_probe(struct probe_switch *sampling, enum probe probe)
{
	struct sampling_failure *failure = &sampling->failures[probe];

	failure->why.text[0] = '\0';
	failure->error = kind_get(probe)->start(&sampling->runs[probe], &failure->why);
	if (failure->error == 0) {
		sampling->running |= 1u << probe;
		return;
	}
	kind_get(probe)->stop(&sampling->runs[probe]);
	if (!failure->why.text[0])
		why_set(&failure->why, "%s", strerror(-failure->error));
}

static void stop_probe(struct probe_switch *sampling, enum probe probe)
{
	kind_get(probe)->stop(&sampling->runs[probe]);
	sampling->running &= ~(1u << probe);
}

void probe_switch_set(struct probe_switch *sampling, uint32_t probes)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		bool wanted = probes & 1u << probe, runs = sampling->running & 1u << probe;

		if (wanted && !runs)
			start_probe(sampling, probe);
		else if (runs && !wanted)
			stop_probe(sampling, probe);
	}
}

/* Has a probe that samples take over what was changed. */
static int restart_probe(struct probe_switch *sampling, enum probe probe, struct why *why)
{
	if (!(sampling->running & 1u << probe))
		return 0;
	return kind_get(probe)->start(&sampling->runs[probe], why);
}

int probe_switch_set_period(struct probe_switch *sampling, uint64_t period_ns, struct why *why)
{
	int error = 0;

	sampling->period_ns = period_ns;
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		sampling->runs[probe].period_ns = period_ns;
		if (kind_get(probe)->by_period && error == 0)
			error = restart_probe(sampling, probe, why);
	}
	return error;
}

int probe_switch_set_values(struct probe_switch *sampling, enum probe probe,
			    const union probe_settings *values, struct why *why)
{
	sampling->settings[probe] = *values;
	return kind_get(probe)->params ? restart_probe(sampling, probe, why) : 0;
}
