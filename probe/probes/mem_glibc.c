// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe mem_glibc: what functions of allocators give out, and what is held of it. */
#include "alloc/allocators.h"
#include "hooks/tracer_memory.h"
#include "probes/probe_needs.h"
#include "profile/view.h"
#include "select/param.h"

#define ALL_RETURNS "each return of a probed function costs a trap as well"

struct mem_glibc_params {
	int64_t sample_bytes; /* mean bytes between samples; 0: each allocation */
	int64_t realloc_age;  /* enum realloc_age */
};
PARAMS_FIT(struct mem_glibc_params);

enum realloc_age { AGE_NEW, AGE_FIRST };
static const char *const ages[] = {"new", "first", NULL};

static const struct param params[] = {
	{"mem_sample_bytes", PARAM_NUMBER_OF(struct mem_glibc_params, sample_bytes),
	 .max = 1LL << 32, .number = 524288, .unit = "bytes",
	 .help = "one sample for each so many bytes that are allocated, in the mean. 0: a sample "
		 "for each allocation"},
	{"mem_realloc_age", PARAM_CHOICE_OF(struct mem_glibc_params, realloc_age, ages),
	 .number = AGE_NEW,
	 .help = "age of what `realloc` gives: `new`, from the call on; or `first`, from the "
		 "allocation that it goes on with, so that a list that grows for hours is as old "
		 "as the list. Of a block that wasn't sampled before it is `new`"},
	{0},
};

static const struct pprof_page pages[] = {
	{"heap", "inuse", 0,
	 "memory that is in use: of what was allocated for seconds=N, or since the probe mem_glibc "
	 "runs"},
	{"allocs", NULL, 0,
	 "memory that was allocated, for seconds=N, or since the probe mem_glibc has written "
	 "files"},
	{0},
};

static const struct pprof_shape inuse = {
	.values = {{"inuse_objects", "count", PPROF_EVENTS},
		   {"inuse_space", "bytes", PPROF_WEIGHT}},
	.period_type = "space",
	.period_unit = "bytes",
};

static const struct view_row views[VIEWS] = {
	[VIEW_ALL] = {.name = "alloc"},
	[VIEW_INUSE] = {.name = "inuse",
			.folder = "mem_glibc-inuse",
			.title = "Memory In Use",
			.event_name = "objects",
			.event_title = "Objects In Use",
			.pprof = &inuse},
	[VIEW_MMAP] = {.name = "mmap",
		       .folder = "mem_glibc-mmap",
		       .title = "Mapped Memory",
		       .event_name = "mappings",
		       .event_title = "Mappings",
		       .pprof = &inuse},
};

static int start_calls(struct probe_run *run, struct why *why)
{
	const struct mem_glibc_params *wanted = run->settings;
	const struct calls_settings settings = {
		.sample_bytes = (uint64_t)wanted->sample_bytes,
		.keeps_age = wanted->realloc_age == AGE_FIRST,
	};
	int r = tracer_calls(run->tracer, &settings, why);

	if (r == 0)
		allocators_start(run->allocators);
	return r;
}

static void calls_detached(void *arg)
{
	const struct probe_run *run = arg;

	tracer_calls_stop(run->tracer);
}

/* Stops allocators' probes; the programs stay until nothing is attached to them any more. */
static void stop_calls(struct probe_run *run)
{
	allocators_stop(run->allocators, calls_detached, run);
}

const struct kind probe_mem_glibc = {
	.name = "mem_glibc",
	.title = "Memory Allocation",
	.count_name = "bytes",
	.by_bytes = true,
	.holds = true,
	.event_name = "objects",
	.event_title = "Allocated Objects",
	.pprof = PPROF_ALLOCATED,
	.upload = {"memory", "gala-gopher-mem_glibc", ".alloc_space", "bytes", 100},
	.deepflow = 3,
	.pages = pages,
	.views = views,
	.params = params,
	.needs = {NEEDS_PROGRAMS,
		  {CAN_UPROBE_SESSION, .instead = CAN_URETPROBE, .limit = ALL_RETURNS},
		  NEEDS_DATA,
		  NEEDS_FILE_NAMES},
	.loads = calls_loads,
	.start = start_calls,
	.stop = stop_calls,
};
