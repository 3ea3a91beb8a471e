// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe mem: resident memory that page faults add. */
#include "bpf/shared/sample.h"
#include "hooks/tracer_memory.h"
#include "probes/probe_needs.h"
#include "select/param.h"

#define NO_COPIES "copies of anonymous pages at a write aren't told"

struct mem_params {
	int64_t fault_bytes; /* mean bytes between samples; 0: each fault */
};
PARAMS_FIT(struct mem_params);

static const struct param params[] = {
	{"mem_fault_bytes", PARAM_NUMBER_OF(struct mem_params, fault_bytes), .max = 1LL << 32,
	 .number = 65536, .unit = "bytes",
	 .help = "one sample for each so many bytes that page faults add, in the mean. 0: a "
		 "sample for each fault"},
	{0},
};

static const struct part_row parts[] = {
	[PART_ANON] = {{"[anon]"}},   [PART_THP] = {{"[thp]"}}, [PART_FILE] = {{"[file]"}},
	[PART_SHMEM] = {{"[shmem]"}}, [PART_COW] = {{"[cow]"}},
};

static int start_faults(struct probe_run *run, struct why *why)
{
	const struct mem_params *wanted = run->settings;

	return tracer_faults(run->tracer, (uint64_t)wanted->fault_bytes, why);
}

static void stop_faults(struct probe_run *run)
{
	tracer_faults_stop(run->tracer);
}

const struct kind probe_mem = {
	.name = "mem",
	.title = "Resident Memory Growth",
	.count_name = "bytes",
	.by_bytes = true,
	.for_users = true,
	.event_name = "faults",
	.event_title = "Page Faults",
	.pprof = PPROF_ALLOCATED,
	.upload = {"memory", "gala-gopher-mem", ".alloc_space", "bytes", 100},
	.deepflow = 3,
	.recorded_max = 1ULL << 48,
	.params = params,
	PARTS(parts),
	.needs = {NEEDS_PROGRAMS,
		  {CAN_TYPED_TRACEPOINT},
		  {CAN_PAGE_FAULTS},
		  {CAN_FAULT_CODES, .limit = NO_COPIES},
		  NEEDS_DATA,
		  NEEDS_KERNEL_NAMES,
		  NEEDS_FILE_NAMES},
	.loads = faults_loads,
	.start = start_faults,
	.stop = stop_faults,
	.lack = tracer_faults_lack,
	.limit = tracer_faults_limit,
	.never = "pages that the kernel gets for itself (MAP_POPULATE, mlock, direct I/O) show no "
		 "event",
};
