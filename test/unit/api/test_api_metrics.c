// SPDX-License-Identifier: GPL-2.0-or-later
/* /metrics: the form of all lines, and what they say. */
#include "unit/lib/buf_text.h"
#include "unit/lib/scripted_api.h"

#include "api/metrics/metrics_lines.h"
#include "container/container.h"

#define NAME_BYTES 96

/* The family whose lines are being read. */
struct family {
	char name[NAME_BYTES], type[NAME_BYTES];
	unsigned count;
	const char *text;
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Reads {name="value",…}; returns what follows. */
static const char *skip_labels(const char *at)
{
	do {
		const char *name = ++at;

		while (is_word(*at))
			at++;
		if (at == name || at[0] != '=' || at[1] != '"')
			fail_msg("no label: %.80s", name);
		for (at += 2; *at != '"'; at++) {
			if (*at == '\\')
				at++;
			if (*at == '\n' || !*at)
				fail_msg("no end: %.80s", name);
		}
		at++;
	} while (*at == ',');
	assert_int_equal(*at, '}');
	return at + 1;
}

static void read_head(struct family *family, const char *line)
{
	char name[NAME_BYTES];

	if (sscanf(line, "# HELP %95s", name) == 1) {
		char head[NAME_BYTES + 16];

		snprintf(head, sizeof(head), "# HELP %s ", name);
		assert_ptr_equal(strstr(family->text, head), line); /* the only one */
		assert_true(strncmp(name, "stackprobe_", 11) == 0 ||
			    strncmp(name, "process_", 8) == 0);
		strcpy(family->name, name);
		family->type[0] = '\0';
		family->count++;
	} else if (sscanf(line, "# TYPE %95s %95s", name, family->type) == 2) {
		assert_string_equal(name, family->name);
		size_t len = strlen(name);
		bool is_total = len > 6 && strcmp(name + len - 6, "_total") == 0;
		if (is_total != (strcmp(family->type, "counter") == 0) &&
		    strcmp(name, "stackprobe_cpu_seconds_total") != 0)
			fail_msg("%s is a %s", name, family->type);
	} else {
		fail_msg("%.80s", line);
	}
}

static void read_sample(const struct family *family, const char *line)
{
	size_t len = strlen(family->name);
	const char *at = line + len;
	char *end;

	if (strncmp(line, family->name, len) != 0 || !family->type[0])
		fail_msg("in %s: %.80s", family->name, line);
	if (strcmp(family->type, "histogram") == 0)
		at += strcspn(at, "{ ");
	if (*at == '{')
		at = skip_labels(at);
	assert_int_equal(*at, ' ');
	strtod(at + 1, &end);
	if (end == at + 1 || *end != '\n')
		fail_msg("no number: %.80s", line);
}

/* Reads a page of metrics as Prometheus does. Returns the number of its families. */
static unsigned read_all(const char *text)
{
	struct family family = {.text = text};

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		assert_non_null(strchr(line, '\n'));
		if (line[0] == '#')
			read_head(&family, line);
		else
			read_sample(&family, line);
	}
	return family.count;
}

static const char *metrics(struct scripted_api *api)
{
	const struct reply *reply = api_get(api, "/metrics");

	assert_int_equal(reply->status, 200);
	assert_has(reply->head, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
	return reply->body;
}

static void all_lines_have_the_form_that_prometheus_reads(void **state)
{
	struct scripted_api *api = *state;
	unsigned idle = read_all(metrics(api));

	assert_true(idle > 80);
	api_put(api, "/sched", api_all_sched(api));
	api_choose(api, "\"oncpu\",\"offcpu\",\"mem\",\"mem_glibc\"", "");
	scripted->hists_rows[0] = (struct hist_row){.hist = {.slots = {1, 2, 3}}};
	scripted->hists_count = 1;
	scripted->lengths.slots[1] = 1;
	/* a family for each histogram, two for runqlen */
	unsigned families = (unsigned)__builtin_popcount(sched_probes_of(SCHED_HIST)) + 2;
	assert_int_equal(read_all(metrics(api)), idle + families);
}

static void each_probe_of_sched_has_its_metric(void **state)
{
	struct scripted_api *api = *state;

	api_put(api, "/sched", api_all_sched(api));
	scripted->hists_rows[0] = (struct hist_row){.hist = {.slots = {1, 2, 3}}};
	scripted->hists_count = 1;
	scripted->lengths.slots[1] = 1;
	const char *text = metrics(api);
	for (int i = 0; i < SCHED_COUNT; i++) {
		const struct sched_kind *kind = sched_kind_get(i);
		char head[256];

		snprintf(head, sizeof(head), "\n# HELP stackprobe_%s %s\n", kind->metric_name,
			 kind->metric_help);
		assert_has(text, head);
		snprintf(head, sizeof(head), "\nstackprobe_%s%s", kind->metric_name,
			 sched_form(i) == SCHED_EVENTS ? " " : "_bucket{");
		assert_has(text, head);
	}
}

static void probes_are_up_while_they_collect_and_down_where_they_can_not(void **state)
{
	struct scripted_api *api = *state;
	const char *text;

	text = metrics(api);
	assert_has(text, "\nstackprobe_probe_up{feature=\"flamegraph\",probe=\"oncpu\"} 0\n");
	assert_has(text, "\nstackprobe_probe_down{feature=\"flamegraph\",probe=\"mem\"} 0\n");
	assert_has(text, "\nstackprobe_probe_up{feature=\"sched\",probe=\"runqlat\"} 0\n");
	scripted_fail(SCRIPTED_FAULTS, -EPERM);
	api_choose(api, "\"oncpu\",\"mem\"", "");
	api_put(api, "/sched", "{\"cmd\":{\"probe\":[\"runqlat\"]},\"state\":\"running\"}");
	text = metrics(api);
	assert_has(text, "\nstackprobe_probe_up{feature=\"flamegraph\",probe=\"oncpu\"} 1\n");
	assert_has(text, "\nstackprobe_probe_up{feature=\"flamegraph\",probe=\"mem\"} 0\n");
	assert_has(text, "\nstackprobe_probe_down{feature=\"flamegraph\",probe=\"oncpu\"} 0\n");
	assert_has(text, "\nstackprobe_probe_down{feature=\"flamegraph\",probe=\"mem\"} 1\n");
	assert_has(text, "\nstackprobe_probe_down{feature=\"flamegraph\",probe=\"offcpu\"} 0\n");
	assert_has(text, "\nstackprobe_probe_up{feature=\"sched\",probe=\"runqlat\"} 1\n");
	assert_has(text, "\nstackprobe_probe_down{feature=\"sched\",probe=\"runqlat\"} 0\n");
	assert_has(text, "\nstackprobe_probe_up{feature=\"sched\",probe=\"cpudist\"} 0\n");
	assert_has(text, "\nstackprobe_targets 1\n");
	assert_has(text, "\nstackprobe_cpus 1\n");
}

static void what_the_start_could_not_begin_is_down_and_what_is_stopped_is_not(void **state)
{
	struct scripted_api *api = *state;
	const char *text;

	api->services.wanted_at_start = 1u << PROBE_ONCPU;
	api->services.starting = 1u << PROBE_ONCPU;
	assert_has(metrics(api),
		   "\nstackprobe_probe_down{feature=\"flamegraph\",probe=\"oncpu\"} 0\n");
	api->services.starting = 0; /* nothing is configured: it was refused */
	text = metrics(api);
	assert_has(text, "\nstackprobe_probe_down{feature=\"flamegraph\",probe=\"oncpu\"} 1\n");
	assert_has(text, "\nstackprobe_probe_up{feature=\"flamegraph\",probe=\"oncpu\"} 0\n");
	assert_has(text, "\nstackprobe_probe_down{feature=\"flamegraph\",probe=\"mem\"} 0\n");
	scripted_fail(SCRIPTED_FAULTS, -EPERM);
	api_choose(api, "\"oncpu\",\"mem\"", "");
	text = metrics(api);
	assert_has(text, "\nstackprobe_probe_down{feature=\"flamegraph\",probe=\"oncpu\"} 0\n");
	assert_has(text, "\nstackprobe_probe_down{feature=\"flamegraph\",probe=\"mem\"} 1\n");
	api_put(api, "/flamegraph", "{\"state\":\"stopped\"}");
	assert_has(metrics(api),
		   "\nstackprobe_probe_down{feature=\"flamegraph\",probe=\"mem\"} 0\n");
}

static void counters_of_the_kernels_side_are_shown(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\"", "");
	scripted->sum = (struct counters){.waits_over_maxblock = 3,
					  .unseen_bytes = {[BARE_DISK] = 14},
					  .slow_waits = {[SCHED_RUNQSLOWER] = 4},
					  .slow_lost = 5,
					  .hists_refused = 6};
	scripted->sum.samples[PROBE_OFFCPU] = 7;
	scripted->sum.lost[PROBE_MEM][LOST_RING_FULL] = 8;
	scripted->sum.lost[LOSERS_ALL][LOST_LIFE_FULL] = 9;
	scripted->sum.lost[LOSERS_SCHED][LOST_RECORDS_FULL] = 10;
	scripted->looks = (struct tracer_looks){11, 12};
	scripted->thinned = 13;
	static const char *const lines[] = {
		"\nstackprobe_waits_over_maxblock_total 3\n",
		"\nstackprobe_blkio_unseen_bytes_total{cause=\"no_requests\"} 14\n",
		"\nstackprobe_sched_runq_slow_total 4\n",
		"\nstackprobe_sched_runq_slow_lost_total 5\n",
		"\nstackprobe_sched_groups_refused_total 6\n",
		"\nstackprobe_samples_total{probe=\"offcpu\"} 7\n",
		"\nstackprobe_lost_total{probe=\"mem\",where=\"ring_full\"} 8\n",
		"\nstackprobe_lost_total{probe=\"all\",where=\"life_ring_full\"} 9\n",
		"\nstackprobe_lost_total{probe=\"sched\",where=\"records_full\"} 10\n",
		"\nstackprobe_looks_total{cause=\"woken\"} 11\n",
		"\nstackprobe_looks_total{cause=\"in_turn\"} 12\n",
		"\nstackprobe_thinned{probe=\"oncpu\"} 13\n",
	};
	const char *text = metrics(api);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_has(text, lines[i]);
}

static void truncated_stacks_are_counted_by_cause_and_process(void **state)
{
	const struct stack_count count = {.weight = 5, .samples = 5, .events = 5};
	struct scripted_api *api = *state;
	char line[128];

	api_choose(api, "\"oncpu\"", "");
	api_stack(&api->process, PROBE_ONCPU, &count, TRUNCATED_MEMORY, (uintptr_t)is_word,
		  (uintptr_t)read_all);
	scripted_core_drain(&api->core);
	const char *text = metrics(api);
	assert_has(text, "\nstackprobe_stack_truncated_total{cause=\"memory\"} 5\n");
	snprintf(line, sizeof(line),
		 "\nstackprobe_process_stack_truncated_total{pid=\"%d\",comm=\"worker\","
		 "cause=\"memory\"} 5\n",
		 (int)api->process.pid);
	assert_has(text, line);
	assert_has(text, "\nstackprobe_windows_total 1\n");
}

static void histograms_of_sched_add_up(void **state)
{
	struct scripted_api *api = *state;
	const char *text;

	api_put(api, "/sched", api_all_sched(api));
	scripted->hists_rows[0] = (struct hist_row){
		.hist = {.slots = {[0] = 1, [2] = 3, [HIST_SLOTS - 1] = 2}, .sum_ns = 1500000000}};
	scripted->hists_count = 1;
	scripted->lengths = (struct lengths){.slots = {[0] = 6, [3] = 2}};
	text = metrics(api);
	assert_has(text, "\nstackprobe_sched_runq_latency_seconds_bucket{le=\"1e-06\"} 1\n");
	assert_has(text, "\nstackprobe_sched_runq_latency_seconds_bucket{le=\"2e-06\"} 1\n");
	assert_has(text, "\nstackprobe_sched_runq_latency_seconds_bucket{le=\"4e-06\"} 4\n");
	assert_has(text, "\nstackprobe_sched_runq_latency_seconds_bucket{le=\"+Inf\"} 6\n"
			 "stackprobe_sched_runq_latency_seconds_sum 1.500000000\n"
			 "stackprobe_sched_runq_latency_seconds_count 6\n");
	assert_has(text, "\n# TYPE stackprobe_sched_oncpu_seconds histogram\n");
	assert_has(text, "\n# TYPE stackprobe_sched_offcpu_seconds histogram\n");
	assert_has(text, "\nstackprobe_sched_runq_length_bucket{cpu=\"0\",le=\"2\"} 6\n");
	assert_has(text, "\nstackprobe_sched_runq_length_bucket{cpu=\"0\",le=\"4\"} 8\n");
	assert_has(text, "\nstackprobe_sched_runq_length_sum{cpu=\"0\"} 6\n"
			 "stackprobe_sched_runq_length_count{cpu=\"0\"} 8\n");
	assert_has(text, "\nstackprobe_sched_runq_occupancy_ratio{cpu=\"0\"} 0.250000\n");
}

/* Has the kernel's side tell the times of a process with one thread. */
static void tell_times(const struct process *process, const char *comm)
{
	struct thread_times *times = &scripted->times[scripted->times_count++];
	struct target_value value = {0};

	assert_int_equal(tracer_target_get(scripted, process->pid, &value), 0);
	*times = (struct thread_times){
		.start_ns = 1,
		.id = value.id,
		.tgid = (uint32_t)process->pid,
		.tid = (uint32_t)process->pid,
		.own = {.run_ns = 2500000000,
			.switches = {3, 4},
			.delay_ns = 5,
			.wakeups = 6,
			.waited_ns = {[WAIT_SLEEP] = 7000000001}},
		.probes = value.probes,
		.delays_known = 1,
	};
	memcpy(times->comm, comm, strlen(comm));
}

static void times_of_processes_have_their_names_as_they_are(void **state)
{
	static const struct {
		const char *name, *more, *value;
	} lines[] = {
		{"process_cpu_seconds_total", "", "2.500000000"},
		{"process_runq_wait_seconds_total", "", "0.000000005"},
		{"process_offcpu_seconds_total", ",state=\"sleep\"", "7.000000001"},
		{"process_context_switches_total", ",type=\"voluntary\"", "3"},
		{"process_context_switches_total", ",type=\"involuntary\"", "4"},
		{"process_wakeups_total", "", "6"},
	};
	struct scripted_api *api = *state;
	char line[160];

	api_put(api, "/sched", api_body(api, "\"runqlat\"", ""));
	scripted_core_until(&api->core, api_is_sampled, api);
	tell_times(&api->process, "a\"\\\n\xff");
	const char *text = metrics(api);
	read_all(text);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		snprintf(line, sizeof(line),
			 "\nstackprobe_%s{pid=\"%d\",comm=\"a\\\"\\\\\\n\xef\xbf\xbd\"%s} %s\n",
			 lines[i].name, (int)api->process.pid, lines[i].more, lines[i].value);
		assert_has(text, line);
	}
}

static void labels_of_a_container_are_those_that_are_known(void **state)
{
	const struct container_place place = {.id = "0123456789abcdef0123456789abcdef",
					      .pod_uid = "1-2-3"};
	struct container *named, *bare;
	_cleanup_buf_ struct buf out = BUF_INIT(4096);

	(void)state;
	assert_int_equal(container_new(&named, &place, "we\"b", "front", "shop", "image"), 0);
	assert_int_equal(container_new(&bare, &place, NULL, NULL, NULL, NULL), 0);
	metrics_container(&out, named);
	buf_char(&out, '\n');
	metrics_container(&out, bare);
	buf_char(&out, '\n');
	metrics_container(&out, NULL);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_string_equal(text, ",container=\"we\\\"b\",pod=\"front\",namespace=\"shop\"\n"
				  ",container=\"0123456789ab\",pod=\"1-2-3\"\n");
	container_unref(named);
	container_unref(bare);
}

static void versions_beyond_those_that_there_is_room_for_are_one(void **state)
{
	struct runtime_versions versions = {.count = 0};
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 16);
	_cleanup_buf_ struct buf object = BUF_INIT(1 << 10);
	struct json json = {.out = &object};
	char version[16];

	(void)state;
	for (int i = 0; i < RUNTIME_VERSIONS_MAX + 10; i++) {
		snprintf(version, sizeof(version), "3.%d", i);
		runtime_versions_count(&versions, version, true);
		runtime_versions_count(&versions, "3.0", true);
	}
	runtime_versions_count(&versions, "3.0", false);
	measures_lines(&out, &python_measures, &versions);
	_cleanup_free_ char *text = take_text(&out, NULL);
	read_all(text);
	assert_has(text, "\nstackprobe_python_processes{version=\"3.0\",supported=\"true\"} 75\n");
	assert_has(text, "\nstackprobe_python_processes{version=\"3.62\",supported=\"true\"} 1\n");
	assert_has(text,
		   "\nstackprobe_python_processes{version=\"other\",supported=\"true\"} 12\n");
	measures_json_object(&json, &python_measures, &versions);
	_cleanup_free_ char *shown = take_text(&object, NULL);
	assert_string_equal(shown, "\"python\":{\"processes\":149,\"unsupported\":1}");
}

#define WORKER(test) cmocka_unit_test_setup_teardown(test, api_begin_worker, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKER(all_lines_have_the_form_that_prometheus_reads),
		WORKER(each_probe_of_sched_has_its_metric),
		WORKER(probes_are_up_while_they_collect_and_down_where_they_can_not),
		WORKER(what_the_start_could_not_begin_is_down_and_what_is_stopped_is_not),
		WORKER(counters_of_the_kernels_side_are_shown),
		WORKER(truncated_stacks_are_counted_by_cause_and_process),
		WORKER(histograms_of_sched_add_up),
		WORKER(times_of_processes_have_their_names_as_they_are),
		cmocka_unit_test(labels_of_a_container_are_those_that_are_known),
		cmocka_unit_test(versions_beyond_those_that_there_is_room_for_are_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
