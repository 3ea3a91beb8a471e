// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/request/param.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/stack_detail.h"
#include "bpf/shared/scheduler.h"

#define NUMBER(field) .type = PARAM_NUMBER, .offset = offsetof(struct params, field)
#define TEXT(kind, field)                                                                          \
	.type = kind, .offset = offsetof(struct params, field),                                    \
	.bytes = sizeof(((struct params *)NULL)->field)
#define CHOICE(field, texts)                                                                       \
	.type = PARAM_CHOICE, .offset = offsetof(struct params, field), .choices = (texts)
#define SVG_DIR	      "/var/log/stackprobe/stacktrace"
#define FLAME_DIR     "/var/log/stackprobe/flamegraph"
#define MEM_BYTES_MAX (1LL << 32)

/* By enum offcpu_state. */
static const char *const offcpu_states[] = {"sd", "d", "all", NULL};

/* By enum frame_detail. */
static const char *const frame_details[] = {"line", "name", "signature", NULL};

/* By enum java_source. */
static const char *const java_sources[] = {"auto", "native", "agent", "jfr", NULL};

/* By enum pyroscope_api. */
static const char *const apis[] = {"push", "ingest", NULL};

/* By enum group_by. */
static const char *const groups[] = {"none", "pid", "tid", "pidns", "cgroup", "cpu", NULL};

/* clang-format off */
static const struct param table[] = {
	{"svg_period", NUMBER(svg_period_s), .min = 30, .max = 600, .number = 180,
	 .zero_is_default = true},
	{"perf_sample_period", NUMBER(perf_sample_period_ms), .min = 10, .max = 1000, .number = 10,
	 .zero_is_default = true},
	{"frequency", NUMBER(frequency_hz), .min = 1, .max = 1000,
	 .instead_of = "perf_sample_period"},
	{"multi_instance", NUMBER(multi_instance), .max = 1},
	{"native_stack", NUMBER(native_stack), .max = 1},
	{"thread_frame", NUMBER(thread_frame), .max = 1, .number = 1},
	{"frame_detail", CHOICE(frame_detail, frame_details), .number = FRAME_DETAIL_LINE},
	{"java_source", CHOICE(java_source, java_sources), .number = JAVA_AUTO},
	{"java_symbol_refresh_interval", NUMBER(java_symbol_refresh_interval_s), .min = 5,
	 .max = 3600, .number = 600},
	{"max_overhead", NUMBER(max_overhead), .max = 100, .number = 3},
	{"icicle", NUMBER(icicle), .max = 1},
	{"pyroscope_server", TEXT(PARAM_SERVER, pyroscope_server), .text = ""},
	{"pyroscope_api", CHOICE(pyroscope_api, apis), .number = PYROSCOPE_PUSH},
	{"svg_dir", TEXT(PARAM_FOLDER, svg_dir), .text = SVG_DIR},
	{"output_dir", TEXT(PARAM_FOLDER, svg_dir), .text = SVG_DIR, .alias = true},
	{"flame_dir", TEXT(PARAM_FOLDER, flame_dir), .text = FLAME_DIR},
	{"minblock", NUMBER(minblock_us), .max = UINT32_MAX - 1, .number = 50},
	{"maxblock", NUMBER(maxblock_us), .min = 1, .max = INT64_MAX, .number = 3600000000},
	{"offcpu_state", CHOICE(offcpu_state, offcpu_states), .number = OFFCPU_SD},
	{"offcpu_split", NUMBER(offcpu_split), .max = 1},
	{"offcpu_depth", NUMBER(offcpu_depth), .min = 16, .max = 1000, .number = 256},
	{"aggregate_by_cpu", NUMBER(aggregate_by_cpu), .max = 1},
	{"mem_fault_bytes", NUMBER(mem_fault_bytes), .max = MEM_BYTES_MAX, .number = 65536},
	{"mem_sample_bytes", NUMBER(mem_sample_bytes), .max = MEM_BYTES_MAX, .number = 524288},
};

static const struct param sched_table[] = {
	{"min_us", NUMBER(sched.min_us), .max = UINT32_MAX, .number = 10000},
	{"latency_thr", NUMBER(sched.latency_thr_ms), .max = UINT32_MAX / 1000,
	 .number = SCHED_THR_UNSET, .instead_of = "min_us"},
	{"group_by", CHOICE(sched.group_by, groups), .number = GROUP_NONE},
	{"report_period", NUMBER(sched.report_period_s), .min = 5, .max = 600, .number = 60},
};
/* clang-format on */

const struct param_table flamegraph_params = {table, ARRAY_SIZE(table)};
const struct param_table sched_params = {sched_table, ARRAY_SIZE(sched_table)};

const char *java_source_name(enum java_source source)
{
	return java_sources[source];
}

int64_t *param_number(const struct param *param, const struct params *params)
{
	return (int64_t *)(void *)((char *)params + param->offset);
}

char *param_text(const struct param *param, const struct params *params)
{
	return (char *)params + param->offset;
}

const char *pyroscope_api_name(enum pyroscope_api api)
{
	return apis[api];
}

void params_default(const struct param_table *of, struct params *params)
{
	*params = (struct params){0};
	for (size_t i = 0; i < of->count; i++) {
		const struct param *param = &of->rows[i];

		if (param->type == PARAM_NUMBER || param->type == PARAM_CHOICE)
			*param_number(param, params) = param->number;
		else
			snprintf(param_text(param, params), param->bytes, "%s", param->text);
	}
}

bool param_shown(const struct param_table *of, const struct param *param,
		 const struct params *params)
{
	if (param->alias)
		return false;
	if (param->instead_of)
		return *param_number(param, params) != param->number;
	for (size_t i = 0; i < of->count; i++) {
		const struct param *other = &of->rows[i];

		if (other->instead_of && strcmp(other->instead_of, param->name) == 0 &&
		    *param_number(other, params) != other->number)
			return false;
	}
	return true;
}
