/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns probes on and off. A probe's hooks (probes/kind.h) are attached when somebody wants it, and
 * detached when nobody does; the other probes' hooks are left alone. Loop thread only.
 */
#pragma once

#include "bpf/shared/probe.h"
#include "probes/tracer_memory.h"
#include "probes/tracer_sched.h"

struct allocators;

struct probe_switch {
	struct tracer *tracer;
	struct allocators *allocators; /* borrowed; set before the first probe_switch_set() */
	uint64_t period_ns;
	struct offcpu_settings offcpu;
	struct memory_settings memory;
	uint32_t running; /* 1 << enum probe */
	struct sampling_failure {
		int error; /* 0: it could start, or wasn't wanted yet */
		struct why why;
	} failures[PROBE_COUNT];
};

/* Prepares it, with the default settings. */
void probe_switch_init(struct probe_switch *sampling, struct tracer *tracer);

/* Loads what can be loaded before targets' files are opened, as descriptors may be few. */
void probe_switch_prepare(struct probe_switch *sampling, uint32_t probes);

/*
 * Makes exactly these probes sample. One that can't is left out, with the reason in failures[]. The
 * tracer must have started.
 */
void probe_switch_set(struct probe_switch *sampling, uint32_t probes);

/* Change settings, at once if the probe samples. Errors as tracer_start(). */
int probe_switch_set_period(struct probe_switch *sampling, uint64_t period_ns, struct why *why);
int probe_switch_set_offcpu(struct probe_switch *sampling, const struct offcpu_settings *settings,
			    struct why *why);
int probe_switch_set_memory(struct probe_switch *sampling, const struct memory_settings *settings,
			    struct why *why);
