/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a feature was told: the configuration behind GET and PUT. Plain data; the table of params
 * (api/param.c) points into struct params.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/snooper.h"

#define SPEC_PATH_MAX	1024
#define SPEC_SERVER_MAX 256

struct params {
	int64_t svg_period_s;
	int64_t perf_sample_period_ms;
	int64_t frequency_hz; /* 0: unset, perf_sample_period_ms counts */
	int64_t multi_instance;
	int64_t native_stack;
	int64_t thread_frame;
	int64_t max_overhead;
	int64_t icicle; /* pictures have their root on top */
	char pyroscope_server[SPEC_SERVER_MAX];
	char svg_dir[SPEC_PATH_MAX];
	char flame_dir[SPEC_PATH_MAX];
};

struct spec {
	uint32_t probes;	   /* 1 << enum probe, as they were asked for */
	struct snoopers *snoopers; /* a reference; never NULL */
	struct params params;
	bool running;
};

/* -ENOMEM. `params` are the defaults. */
int spec_init(struct spec *spec, const struct params *params);
void spec_copy(struct spec *to, const struct spec *from);
void spec_done(struct spec *spec);

/* ns between samples on each busy CPU. */
uint64_t params_period_ns(const struct params *params);

/* Whether two sets of params make the same profiles and files. */
bool params_equal(const struct params *a, const struct params *b);
