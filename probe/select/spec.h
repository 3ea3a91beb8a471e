/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A feature's configuration, as set by PUT and shown by GET. Plain data; tables of params
 * (select/param.h) point into struct params.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared/probe.h"
#include "select/snooper.h"

#define SPEC_PATH_MAX	 1024
#define SPEC_SERVER_MAX	 256
#define SPEC_TRIGGER_MAX 1100

/* Where Java's frames come from. */
enum java_source {
	JAVA_AUTO,   /* the first of the following that the VM allows */
	JAVA_NATIVE, /* walked by the kernel's side */
	JAVA_AGENT,
	JAVA_JFR,
};

/* How profiles are sent to the server. */
enum pyroscope_api {
	PYROSCOPE_PUSH,	  /* push.v1 with pprof */
	PYROSCOPE_INGEST, /* folded text to /ingest, for old servers */
};

/* Params of the feature /sched. */
struct sched_params {
	int64_t min_us;
	int64_t latency_thr_ms; /* SCHED_THR_UNSET: min_us counts */
	int64_t group_by;	/* enum group_by */
	int64_t report_period_s;
};
#define SCHED_THR_UNSET (-1)

/* Params of the feature /proc. */
struct proc_params {
	int64_t group_by; /* enum cost_group */
	int64_t report_period_s;
};

/* Values of a probe's own params, in a struct of its own (probes/NAME.c). */
#define PROBE_SETTINGS_BYTES 448
union probe_settings {
	int64_t numbers[PROBE_SETTINGS_BYTES / sizeof(int64_t)];
	char bytes[PROBE_SETTINGS_BYTES];
};

struct params {
	int64_t svg_period_s;
	int64_t perf_sample_period_ms;
	int64_t frequency_hz; /* 0: unset, perf_sample_period_ms counts */
	int64_t multi_instance;
	int64_t native_stack;
	int64_t thread_frame;
	int64_t frame_detail; /* enum frame_detail */
	int64_t java_source;  /* enum java_source */
	int64_t java_symbol_refresh_interval_s;
	int64_t max_overhead;
	int64_t icicle; /* pictures with the root on top */
	int64_t aggregate_by_cpu;
	int64_t event_time, event_min_us; /* of all probes event:NAME (session/session_events.h) */
	char pyroscope_server[SPEC_SERVER_MAX];
	int64_t pyroscope_api; /* enum pyroscope_api */
	char svg_dir[SPEC_PATH_MAX];
	char flame_dir[SPEC_PATH_MAX];
	char trigger[SPEC_TRIGGER_MAX]; /* pressure/pressure_text.h; "": none */
	union probe_settings probes[PROBE_COUNT];
	struct sched_params sched;
	struct proc_params proc;
};

struct spec {
	uint32_t probes;	   /* 1 << the feature's number of each probe, as asked for */
	struct snoopers *snoopers; /* a reference; never NULL */
	struct params params;
	bool running;
};

/* Creates a spec with an empty set of snoopers. `params` are the defaults. Returns 0 or -ENOMEM. */
int spec_init(struct spec *spec, const struct params *params);
void spec_copy(struct spec *to, const struct spec *from);
void spec_done(struct spec *spec);
