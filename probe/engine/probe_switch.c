// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/probe_switch.h"

#include <string.h>

#include "base/container_of.h"
#include "base/log.h"
#include "loop/loop.h"
#include "select/param.h"

#define DEFAULT_PERIOD_NS (10 * NS_PER_MS)

static void stop_probe(struct probe_switch *sampling, enum probe probe)
{
	kind_get(probe)->stop(&sampling->runs[probe]);
	sampling->running &= ~(1u << probe);
}

static void fail_probe(struct probe_run *run, int error, const struct why *why)
{
	struct probe_switch *sampling =
		CONTAINER_OF(run - run->probe, struct probe_switch, runs[0]);

	log_error("%s is given up: %s", kind_get(run->probe)->name, why->text);
	sampling->failures[run->probe] =
		(struct sampling_failure){.error = error, .gave_up = true, .why = *why};
	stop_probe(sampling, run->probe);
}

void probe_switch_init(struct probe_switch *sampling, struct tracer *tracer)
{
	*sampling = (struct probe_switch){.period_ns = DEFAULT_PERIOD_NS};
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		params_default_rows(kind_get(probe)->params, &sampling->settings[probe]);
		sampling->runs[probe] = (struct probe_run){
			.probe = probe,
			.tracer = tracer,
			.fail = fail_probe,
			.period_ns = DEFAULT_PERIOD_NS,
			.settings = &sampling->settings[probe],
		};
	}
}

void probe_switch_set_points(struct probe_switch *sampling, struct allocators *allocators,
			     struct event_files *event_files)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		sampling->runs[probe].allocators = allocators;
		sampling->runs[probe].event_files = event_files;
	}
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

	if (failure->gave_up || failure->held)
		return;
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

void probe_switch_set(struct probe_switch *sampling, uint32_t probes)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		bool wanted = probes & 1u << probe, runs = sampling->running & 1u << probe;

		if (wanted && !runs)
			start_probe(sampling, probe);
		else if (runs && !wanted)
			stop_probe(sampling, probe);
		if (!wanted)
			sampling->failures[probe].gave_up = sampling->failures[probe].held = false;
	}
}

void probe_switch_hold(struct probe_switch *sampling, uint32_t probes)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (!(probes & sampling->running & 1u << probe))
			continue;
		stop_probe(sampling, probe);
		sampling->failures[probe].held = true;
	}
}

void probe_switch_retry(struct probe_switch *sampling)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (!sampling->failures[probe].gave_up)
			continue;
		sampling->failures[probe].gave_up = false;
		start_probe(sampling, probe);
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
	struct sampling_failure *failure = &sampling->failures[probe];
	bool waits = failure->gave_up || failure->held;

	if (!failure->held && memcmp(&sampling->settings[probe], values, sizeof(*values)) == 0)
		return 0;
	sampling->settings[probe] = *values;
	failure->gave_up = failure->held = false;
	if (!waits && !kind_get(probe)->slot)
		return restart_probe(sampling, probe, why);
	/* An event fails by itself alone. */
	if (sampling->running & 1u << probe)
		stop_probe(sampling, probe);
	else if (!waits)
		return 0;
	start_probe(sampling, probe); /* it is still wanted */
	return 0;
}
