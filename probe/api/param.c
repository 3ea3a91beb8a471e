// SPDX-License-Identifier: GPL-2.0-only
#include "api/param.h"

#include <stdio.h>

#include "base/cleanup.h"

#define NUMBER(field) .type = PARAM_NUMBER, .offset = offsetof(struct params, field)
#define TEXT(kind, field)                                                                          \
	.type = kind, .offset = offsetof(struct params, field),                                    \
	.bytes = sizeof(((struct params *)NULL)->field)
#define SVG_DIR	  "/var/log/stackprobe/stacktrace"
#define FLAME_DIR "/var/log/stackprobe/flamegraph"

/* clang-format off */
static const struct param table[] = {
	{"svg_period", NUMBER(svg_period_s), .min = 30, .max = 600, .number = 180,
	 .zero_is_default = true},
	{"perf_sample_period", NUMBER(perf_sample_period_ms), .min = 10, .max = 1000, .number = 10,
	 .zero_is_default = true},
	{"frequency", NUMBER(frequency_hz), .min = 1, .max = 1000},
	{"multi_instance", NUMBER(multi_instance), .max = 1},
	{"native_stack", NUMBER(native_stack), .max = 1},
	{"thread_frame", NUMBER(thread_frame), .max = 1, .number = 1},
	{"max_overhead", NUMBER(max_overhead), .max = 100, .number = 3},
	{"icicle", NUMBER(icicle), .max = 1},
	{"pyroscope_server", TEXT(PARAM_TEXT, pyroscope_server), .text = ""},
	{"svg_dir", TEXT(PARAM_FOLDER, svg_dir), .text = SVG_DIR},
	{"output_dir", TEXT(PARAM_FOLDER, svg_dir), .text = SVG_DIR, .alias = true},
	{"flame_dir", TEXT(PARAM_FOLDER, flame_dir), .text = FLAME_DIR},
	{"offcpu_depth", .missing = true},
	{"offcpu_state", .missing = true},
	{"offcpu_split", .missing = true},
	{"minblock", .missing = true},
	{"maxblock", .missing = true},
	{"aggregate_by_cpu", .missing = true},
	{"mem_fault_bytes", .missing = true},
	{"mem_sample_bytes", .missing = true},
	{"java_symbol_refresh_interval", .missing = true},
	{"frame_detail", .missing = true},
	{"pyroscope_api", .missing = true},
};
/* clang-format on */

size_t params_table(const struct param **rows)
{
	*rows = table;
	return ARRAY_SIZE(table);
}

int64_t *param_number(const struct param *param, const struct params *params)
{
	return (int64_t *)(void *)((char *)params + param->offset);
}

char *param_text(const struct param *param, const struct params *params)
{
	return (char *)params + param->offset;
}

void params_default(struct params *params)
{
	*params = (struct params){0};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const struct param *param = &table[i];

		if (param->missing)
			continue;
		if (param->type == PARAM_NUMBER)
			*param_number(param, params) = param->number;
		else
			snprintf(param_text(param, params), param->bytes, "%s", param->text);
	}
}
