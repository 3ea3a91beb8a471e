// SPDX-License-Identifier: GPL-2.0-or-later
/* GET /flamegraph: the configuration as a PUT takes it, and the status. */
#include "unit/lib/scripted_api.h"

#include "api/request/container_json.h"
#include "api/resource/feature_table.h"

static const char *get(struct scripted_api *api)
{
	const struct reply *reply = api_get(api, "/flamegraph");

	assert_int_equal(reply->status, 200);
	return reply->body;
}

static void what_get_shows_can_be_put_again(void **state)
{
	struct scripted_api *api = *state;
	char body[1024];
	const char *keys[] = {"cmd", "params", "snoopers", "state"};
	char *before[4];

	snprintf(body, sizeof(body),
		 "{\"cmd\":{\"probe\":[\"oncpu\",\"offcpu\"]},\"state\":\"running\",\"snoopers\":{"
		 "\"proc_id\":[%d],\"proc_name\":[{\"comm\":\"^no such\",\"cmdline\":\"-x\","
		 "\"debugging_dir\":\"/no\",\"probe\":[\"offcpu\"]}],"
		 "\"container_name\":[\"web\"],\"pod\":[{\"name\":\"p\",\"namespace\":\"n\"}],"
		 "\"cgroup\":[\"/a/b\"]},\"params\":{\"frequency\":99,\"offcpu_state\":\"all\","
		 "\"svg_dir\":\"%s/s\",\"flame_dir\":\"%s/f\",\"maxblock\":9223372036854775807}}",
		 (int)api->process.pid, api->out, api->out);
	api_put(api, "/flamegraph", body);
	_cleanup_free_ char *whole = strdup(get(api));
	for (int i = 0; i < 4; i++)
		before[i] = json_at(whole, keys[i]);
	assert_json_at(whole, "snoopers.proc_name",
		       "[{\"comm\":\"^no such\",\"cmdline\":\"-x\",\"debugging_dir\":\"/no\","
		       "\"probe\":[\"offcpu\"]}]");
	assert_json_at(whole, "snoopers.container_name", "[\"web\"]");
	assert_json_at(whole, "snoopers.pod", "[{\"name\":\"p\",\"namespace\":\"n\"}]");
	assert_json_at(whole, "snoopers.cgroup", "[\"/a/b\"]");
	assert_json_at(whole, "params.frequency", "99");
	assert_has(whole, "\"maxblock\":9223372036854775807,"); /* to the last digit */
	assert_null(strstr(whole, "perf_sample_period"));	/* frequency is instead of it */
	assert_null(strstr(whole, "output_dir"));		/* another name of svg_dir */
	unsigned selections = scripted->selections;
	api_put(api, "/flamegraph", whole);
	assert_int_equal(scripted->selections, selections); /* it disturbs nothing */
	for (int i = 0; i < 4; i++) {
		assert_json_at(get(api), keys[i], before[i]);
		free(before[i]);
	}
}

static void a_process_has_its_name_and_what_was_truncated(void **state)
{
	const struct stack_count count = {.weight = 5, .samples = 5, .events = 5};
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\"", "");
	assert_json_at(get(api), "status.processes.0.truncated", "{}");
	api_stack(&api->process, PROBE_ONCPU, &count, TRUNCATED_DEPTH, (uintptr_t)get,
		  (uintptr_t)what_get_shows_can_be_put_again);
	scripted_core_drain(&api->core);
	const char *body = get(api);
	assert_json_at(body, "status.processes.0.comm", "\"worker\"");
	assert_json_at(body, "status.processes.0.runtime", "\"native\"");
	assert_json_at(body, "status.processes.0.truncated", "{\"depth\":5}");
	assert_json_at(body, "status.probes.oncpu.truncated.depth", "5");
	assert_json_at(body, "status.probes.oncpu.samples", "5");
}

static void what_was_lost_is_told_by_cause(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\",\"offcpu\"", "");
	scripted->sum.lost[PROBE_ONCPU][LOST_RING_FULL] = 2;
	scripted->sum.lost[PROBE_OFFCPU][LOST_RING_FULL] = 3;
	scripted->sum.lost[LOSERS_ALL][LOST_LIFE_FULL] = 4;
	scripted->sum.waits_over_maxblock = 6;
	const char *body = get(api);
	assert_json_at(body, "status.probes.oncpu.lost.ring_full", "2");
	assert_json_at(body, "status.probes.offcpu.lost.ring_full", "3");
	assert_json_at(body, "status.probes.oncpu.lost.life_ring_full", "4");
	assert_json_at(body, "status.probes.offcpu.lost.life_ring_full", "4");
	assert_json_at(body, "status.probes.offcpu.waits_over_maxblock", "6");
	assert_json_at(
		body, "status.process_counters",
		"\"running without process_runq_wait_seconds_total: the kernel doesn't count "
		"it (CONFIG_SCHED_INFO)\"");
}

static void memory_tells_what_it_does_not_see_and_what_is_held(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"mem\",\"mem_glibc\"", "");
	const char *body = get(api);
	assert_json_at(body, "status.probes.mem.unseen", "\"\"");
	assert_json_at(body, "status.probes.mem_glibc.points", "0");
	assert_json_at(body, "status.probes.mem_glibc.held.now", "0");
	assert_json_at(body, "status.probes.mem_glibc.held.max", "4096");
	assert_json_at(body, "status.probes.mem_glibc.mapped", "{\"now\":0,\"refused\":0}");
	_cleanup_free_ char *allocator = json_at(body, "status.processes.0.allocator");
	assert_non_null(allocator);
	assert_has(allocator, "\"points\":0,\"single_stepped\":0,\"why\":");
	assert_json_at(body, "status.process_counters",
		       "\"off: they come with offcpu and with /sched\"");
}

static void processes_of_others_are_not_in_the_list(void **state)
{
	struct scripted_api *api = *state;

	api_put(api, "/sched", api_body(api, "\"runqlat\"", ""));
	api_put(api, "/flamegraph",
		"{\"cmd\":{\"probe\":[\"oncpu\"]},\"snoopers\":{\"proc_name\":[{\"comm\":\"^no "
		"such\"}]},\"state\":\"running\"}");
	assert_json_at(get(api), "status.processes", "[]");
}

static void status_has_all_its_parts(void **state)
{
	static const struct {
		const char *path, *value;
	} parts[] = {
		{"unwind.evicted", "0"},
		{"files.written", "0"},
		{"files.failed.no_space", "0"},
		{"files.last_failure", "\"\""},
		{"python.processes", "0"},
		{"python.lost.gone", "0"},
		{"java.agents.attached", "0"},
		{"java.jfr.fell_back", "0"},
		{"jobs", "{\"given_up\":0,\"refused\":0}"},
		{"mappings_left_out", "0"},
		{"upload.state", "\"off\""},
		{"containers.unnamed", "0"},
		{"containers.searches_failed", "0"},
	};
	struct scripted_api *api = *state;
	char path[64];

	api_choose(api, "\"oncpu\"", "");
	const char *body = get(api);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(path, sizeof(path), "status.%s", parts[i].path);
		assert_json_at(body, path, parts[i].value);
	}
}

/* Has a container written, and compares. */
static void assert_container(const struct container *container, const char *expected)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	struct json json = {.out = &text};

	json_object(&json, NULL);
	status_container(&json, container);
	json_object_end(&json);
	buf_char(&text, '\0');
	assert_string_equal(text.data, expected);
}

static void a_container_has_its_names_whatever_their_bytes(void **state)
{
	const struct container_place place = {
		.runtime = CONTAINER_CONTAINERD, .id = "0123", .pod_uid = "4-5"};
	struct container *container;

	(void)state;
	assert_int_equal(container_new(&container, &place, "a\"b\xff", "pod", "ns", "redis:7"), 0);
	assert_container(container,
			 "{\"container\":{\"id\":\"0123\",\"name\":\"a\\\"b\xef\xbf\xbd\","
			 "\"pod\":\"pod\",\"pod_id\":\"4-5\",\"namespace\":\"ns\","
			 "\"image\":\"redis:7\",\"runtime\":\"containerd\"}}");
	assert_container(NULL, "{\"container\":null}");
	container_unref(container);
}

/* ---- a CPython ---- */

static bool has_runtime(void *arg)
{
	struct scripted_api *api = arg;
	struct answer answer = {.body = BUF_INIT(1 << 20)};

	fresh_forget(api->fresh);
	feature_find("flamegraph", strlen("flamegraph"))->get(&api->services, &answer);
	buf_char(&answer.body, '\0');
	assert_int_equal(buf_error(&answer.body), 0);
	bool has = strstr(answer.body.data, "\"runtime\":\"python 3.") != NULL;
	buf_done(&answer.body);
	return has;
}

/* Starts a Python that waits for its standard input to end. Returns that input's writing end. */
static int python_begin(struct process *process)
{
	int input[2], ready[2];
	char byte;

	assert_int_equal(pipe(input), 0);
	assert_int_equal(pipe(ready), 0);
	process->pid = fork();
	if (process->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(input[0], 0);
		dup2(ready[1], 1);
		close(input[1]);
		execl("/usr/bin/python3", "python3", "-c",
		      "print('ready', flush=True); import sys; sys.stdin.read()", NULL);
		_exit(1);
	}
	close(input[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return input[1];
}

static void a_python_is_told_by_its_version(void **state)
{
	struct scripted_api *api = *state;

	if (access("/usr/bin/python3", X_OK) < 0) {
		print_message("no /usr/bin/python3\n");
		skip();
	}
	_cleanup_close_ int input = python_begin(&api->process);
	assert_true(input >= 0);
	api_choose(api, "\"oncpu\"", "");
	scripted_core_until(&api->core, has_runtime, api);
	assert_json_at(get(api), "status.python.processes", "1");
	assert_has(api_get(api, "/metrics")->body, "\nstackprobe_python_processes{version=\"3.");
}

#define WORKER(test) cmocka_unit_test_setup_teardown(test, api_begin_worker, api_end)
#define NOBODY(test) cmocka_unit_test_setup_teardown(test, api_begin, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKER(what_get_shows_can_be_put_again),
		WORKER(a_process_has_its_name_and_what_was_truncated),
		WORKER(what_was_lost_is_told_by_cause),
		WORKER(memory_tells_what_it_does_not_see_and_what_is_held),
		WORKER(processes_of_others_are_not_in_the_list),
		WORKER(status_has_all_its_parts),
		cmocka_unit_test(a_container_has_its_names_whatever_their_bytes),
		NOBODY(a_python_is_told_by_its_version),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
