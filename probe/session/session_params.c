// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/session_params.h"

#include <pthread.h>

#include "base/cleanup.h"
#include "kind/kind.h"
#include "profile/stack_detail.h"

#define NUMBER(field)	     PARAM_NUMBER_OF(struct params, field)
#define TEXT(kind, field)    PARAM_TEXT_OF(kind, struct params, field)
#define CHOICE(field, texts) PARAM_CHOICE_OF(struct params, field, texts)
#define SVG_DIR		     "/var/log/stackprobe/stacktrace"
#define FLAME_DIR	     "/var/log/stackprobe/flamegraph"

/* By enum frame_detail. */
static const char *const frame_details[] = {"line", "name", "signature", NULL};

/* By enum java_source. */
static const char *const java_sources[] = {"auto", "native", "agent", "jfr", NULL};

/* By enum pyroscope_api. */
static const char *const apis[] = {"push", "ingest", NULL};

/* clang-format off */
static const struct param rows[] = {
	{"svg_period", NUMBER(svg_period_s), .min = 30, .max = 600, .number = 180,
	 .zero_is_default = true, .unit = "s",
	 .help = "the time that one file covers"},
	{"perf_sample_period", NUMBER(perf_sample_period_ms), .min = 10, .max = 1000, .number = 10,
	 .zero_is_default = true, .unit = "ms",
	 .help = "the time between samples on each busy CPU"},
	{"frequency", NUMBER(frequency_hz), .min = 1, .max = 1000,
	 .instead_of = "perf_sample_period", .unit = "Hz",
	 .help = "the samples a second on each busy CPU"},
	{"multi_instance", NUMBER(multi_instance), .max = 1,
	 .help = "0: one graph for all processes; 1: one graph for each process"},
	{"native_stack", NUMBER(native_stack), .max = 1,
	 .help = "1: stacks also show the own frames of the Python interpreter and of the Java "
		 "VM ([python.md](python.md#native_stack), [java.md](java.md#native_stack))"},
	{"thread_frame", NUMBER(thread_frame), .max = 1, .number = 1,
	 .help = "1: the thread's name is a frame below the process"},
	{"frame_detail", CHOICE(frame_detail, frame_details), .number = FRAME_DETAIL_LINE,
	 .help = "`line`: a Python or Java frame is a function and the line that runs. `name`: "
		 "the function alone. `signature`: a Java frame is the method with the types of "
		 "its parameters, a Python frame is as with `line`"},
	{"java_source", CHOICE(java_source, java_sources), .number = JAVA_AUTO,
	 .help = "where [Java stacks](#java_source) come from"},
	{"java_symbol_refresh_interval", NUMBER(java_symbol_refresh_interval_s), .min = 5,
	 .max = 3600, .number = 600, .unit = "s",
	 .help = "after that time stackprobe asks a JVM again for an agent, or to record, when "
		 "the attempt failed or when the agent or the recording may have ended"},
	{"max_overhead", NUMBER(max_overhead), .max = 100, .number = 3, .unit = "percent",
	 .help = "the share of one CPU that the BPF programs may use. Above the limit stackprobe "
		 "takes the stacks of only a part of the events, drawn at random, and gives each "
		 "stack its weight. 0: no limit"},
	{"icicle", NUMBER(icicle), .max = 1,
	 .help = "1: pictures have their root on top"},
	{"pyroscope_server", TEXT(PARAM_SERVER, pyroscope_server), .text = "",
	 .scope = PARAM_OF_UPLOADS,
	 .help = "`host:port` or an http(s) URL, at most 255 bytes: stackprobe also sends "
		 "profiles there ([upload.md](upload.md)). With an empty or malformed value "
		 "stackprobe sends none, and GET says why. GET shows `***` for a user and "
		 "password in the URL. 400: `upload.allow` of the conf file doesn't have this "
		 "server"},
	{"pyroscope_api", CHOICE(pyroscope_api, apis), .number = PYROSCOPE_PUSH,
	 .scope = PARAM_OF_UPLOADS,
	 .help = "`push`: `push.v1` with pprof. `ingest`: folded text, for old servers"},
	{"svg_dir", TEXT(PARAM_FOLDER, svg_dir), .text = SVG_DIR,
	 .help = "the [folder](#folders) of pictures"},
	{"output_dir", TEXT(PARAM_FOLDER, svg_dir), .text = SVG_DIR, .alias = true},
	{"flame_dir", TEXT(PARAM_FOLDER, flame_dir), .text = FLAME_DIR,
	 .help = "the [folder](#folders) of folded text"},
	{"aggregate_by_cpu", NUMBER(aggregate_by_cpu), .max = 1,
	 .help = "1: counts are apart for each CPU (visible in `.jsonl`)"},
	{"events", .type = PARAM_EVENTS, .offset = offsetof(struct params, probes[PROBE_SLOT_FIRST]),
	 .bytes = PROBE_SLOTS_COUNT * sizeof(union probe_settings), .text = "{}",
	 .help = "the [events](event.md) that are probes, at most 16: of "
		 "`{\"reads\": \"u:/usr/lib/libx.so:read\"}` the probe is `event:reads`"},
	{"event_time", NUMBER(event_time), .max = 1,
	 .help = "1: of events that are functions, the time of each call is counted as well "
		 "(`view=time`)"},
	{"event_min_us", NUMBER(event_min_us), .max = 3600000000LL, .unit = "us",
	 .help = "with `event_time`, only calls that take that long are counted"},
	{"trigger", TEXT(PARAM_TRIGGER, trigger), .text = "", .scope = PARAM_OF_START,
	 .help = "`RESOURCE some STALL_US WINDOW_US [CGROUP]`, such as `cpu some 300000 2000000`: "
		 "the probes wait for that [pressure](#trigger), then run for one `svg_period`. "
		 "`RESOURCE`: `cpu`, `memory` or `io`. `full` in the place of `some`: all tasks are "
		 "stalled at once"},
};

/* clang-format on */

/* All rows: those above, and those of the probes, whose values are behind them in struct params. */
static struct param all[ARRAY_SIZE(rows) + (size_t)PROBE_COUNT * PROBE_PARAMS_MAX];
static struct param_table table = {.rows = all};
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void add_row(const struct param *row, size_t base)
{
	all[table.count] = *row;
	all[table.count++].offset += base;
}

static void make_table(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add_row(&rows[i], 0);
	for (size_t probe = 0; probe < PROBE_COUNT; probe++) {
		const struct param *row = kind_get(probe)->params;

		for (size_t i = 0; row && row[i].name && i < PROBE_PARAMS_MAX; i++)
			add_row(&row[i], offsetof(struct params, probes) +
						 probe * sizeof(union probe_settings));
	}
}

const struct param_table *flamegraph_params(void)
{
	pthread_once(&made, make_table);
	return &table;
}

const char *java_source_name(enum java_source source)
{
	return java_sources[source];
}

const char *pyroscope_api_name(enum pyroscope_api api)
{
	return apis[api];
}
