// SPDX-License-Identifier: GPL-2.0-or-later
/* What survives a restart: state.json, and the file of the first configuration. */
#include "unit/lib/scripted_api.h"

#define SCHED_BODY "{\"cmd\":{\"probe\":[\"runqlat\"]},\"state\":\"running\"}"

/* Puts a text in the place of another one in state.json. */
static void change_state(const struct scripted_api *api, const char *from, const char *to)
{
	char text[8192] = "", *at;
	_cleanup_close_ int fd = openat(api->folder.fd, "state.json", O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 512) > 0);
	at = strstr(text, from);
	if (!at)
		fail_msg("no %s in: %s", from, text);
	memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
	memcpy(at, to, strlen(to));
	folder_put(&api->folder, "state.json", text, strlen(text));
}

static void put_both(struct scripted_api *api)
{
	api_choose(api, "\"oncpu\"", ",\"params\":{\"frequency\":50}");
	api_put(api, "/sched", SCHED_BODY);
}

static void a_restart_goes_on_with_what_was_put(void **state)
{
	struct scripted_api *api = *state;
	struct stat stat;

	put_both(api);
	assert_int_equal(fstatat(api->folder.fd, "state.json", &stat, 0), 0);
	assert_int_equal(stat.st_mode & 07777, 0600);
	_cleanup_free_ char *params = json_at(api_get(api, "/flamegraph")->body, "params");
	api_restart(api);
	scripted_core_until(&api->core, api_is_sampled, api);
	assert_int_equal(scripted->period_ns, 20 * NS_PER_MS);
	assert_true(scripted->hists);
	const char *body = api_get(api, "/flamegraph")->body;
	assert_json_at(body, "state", "\"running\"");
	assert_json_at(body, "params", params);
	assert_json_at(api_get(api, "/sched")->body, "cmd.probe", "[\"runqlat\"]");
}

static void what_was_stopped_stays_stopped(void **state)
{
	struct scripted_api *api = *state;

	put_both(api);
	api_put(api, "/flamegraph", "{\"state\":\"stopped\"}");
	api_put(api, "/sched", "{\"state\":\"stopped\"}");
	api_restart(api);
	assert_false(scripted->started);
	assert_json_at(api_get(api, "/flamegraph")->body, "state", "\"stopped\"");
	assert_json_at(api_get(api, "/flamegraph")->body, "cmd.probe", "[\"oncpu\"]");
}

static void after_a_boot_a_pid_is_another_process(void **state)
{
	struct scripted_api *api = *state;

	put_both(api);
	change_state(api, "\"boot_id\":\"", "\"boot_id\":\"another ");
	api_restart(api);
	char pid[16];
	snprintf(pid, sizeof(pid), "[%d]", (int)api->process.pid);
	const char *body = api_get(api, "/flamegraph")->body;
	assert_json_at(body, "snoopers.proc_id", pid);
	assert_json_at(body, "status.processes", "[]");
	assert_int_equal(scripted_probes(api->process.pid), 0);
}

static void a_pid_that_has_another_process_now_is_not_it(void **state)
{
	struct scripted_api *api = *state;

	put_both(api);
	change_state(api, "\"proc_id_start\":[", "\"proc_id_start\":[1");
	api_restart(api);
	assert_json_at(api_get(api, "/flamegraph")->body, "status.processes", "[]");
}

static void a_damaged_file_is_left_out(void **state)
{
	static const char *const texts[] = {"",
					    "{",
					    "[]",
					    "{\"features\":[]}",
					    "{\"features\":{\"flamegraph\":{\"cmd\":1}}}",
					    "{\"features\":{\"flamegraph\":null,\"sched\":7}}"};
	struct scripted_api *api = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		folder_put(&api->folder, "state.json", texts[i], strlen(texts[i]));
		api_restart(api);
		assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n");
		assert_string_equal(api_get(api, "/sched")->body, "{}\n");
	}
}

static void a_feature_that_cannot_go_on_leaves_the_other_one(void **state)
{
	struct scripted_api *api = *state;

	put_both(api);
	change_state(api, "\"runqlat\"", "\"unknown\"");
	api_restart(api);
	assert_string_equal(api_get(api, "/sched")->body, "{}\n");
	assert_json_at(api_get(api, "/flamegraph")->body, "state", "\"running\"");
}

static void without_a_state_dir_nothing_is_kept(void **state)
{
	struct scripted_api *api = *state;

	api_stop(api);
	api->conf.state_dir[0] = '\0';
	api_start(api);
	put_both(api);
	assert_false(folder_has(&api->folder, "state.json"));
	api_restart(api);
	assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n");
}

static void a_state_dir_that_is_gone_loses_nothing_but_the_state(void **state)
{
	struct scripted_api *api = *state;

	api_stop(api);
	strcpy(strrchr(api->conf.state_dir, '/'), "/none");
	api_start(api);
	put_both(api);
	assert_json_at(api_get(api, "/flamegraph")->body, "state", "\"running\"");
}

static bool has_lost_files(void *arg)
{
	struct session_stats stats;

	session_stats(((struct scripted_api *)arg)->services.flamegraph, &stats);
	return stats.files_causes[FILES_NOT_WRITABLE] > 0;
}

static void folders_that_are_not_allowed_any_more_lose_their_files_alone(void **state)
{
	const struct stack_count once = {.weight = 1, .samples = 1, .events = 1};
	struct scripted_api *api = *state;
	char more[256];

	snprintf(more, sizeof(more), ",\"params\":{\"svg_dir\":\"%s/a\",\"flame_dir\":\"%s/b\"}",
		 api->out, api->out);
	api_choose(api, "\"oncpu\"", more);
	strcat(strcpy(api->conf.roots[0], api->folder.path), "/no");
	api_restart(api);
	scripted_core_until(&api->core, api_is_sampled, api);
	api_stack(&api->process, PROBE_ONCPU, &once, TRUNCATED_NOT, 0x1000, 0x2000);
	api_put(api, "/flamegraph", "{\"state\":\"stopped\"}");
	scripted_core_until(&api->core, has_lost_files, api);
	assert_false(folder_has(&api->folder, "no") || folder_has(&api->folder, "out/a"));
}

/* Writes probes.init, and begins with it. */
static void begin_with(struct scripted_api *api, const char *text)
{
	char path[API_PATH_BYTES + 16];
	struct why why = {0};

	folder_put(&api->folder, "probes.init", text, strlen(text));
	snprintf(path, sizeof(path), "%s/probes.init", api->folder.path);
	api_stop(api);
	api_start_features(api);
	state_apply_init(&api->services, path);
	assert_int_equal(scripted_api_listen(api, &why), 0);
}

static void the_first_configuration_is_lines_of_puts(void **state)
{
	struct scripted_api *api = *state;
	char text[2048];

	snprintf(text, sizeof(text), "# comment\n\n  \nflamegraph %s\nSched%s",
		 api_body(api, "\"oncpu\"", ""), SCHED_BODY);
	begin_with(api, text);
	assert_json_at(api_get(api, "/flamegraph")->body, "state", "\"running\"");
	assert_json_at(api_get(api, "/sched")->body, "state", "\"running\"");
	assert_true(scripted->hists);
}

static void a_line_that_is_refused_leaves_the_others(void **state)
{
	struct scripted_api *api = *state;

	begin_with(api, "tprofiling {\"state\":\"running\"}\n"
			"flamegraph {\"cmd\":{\"probe\":[\"nothing\"]}}\n"
			"sched " SCHED_BODY "\n");
	assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n");
	assert_json_at(api_get(api, "/sched")->body, "state", "\"running\"");
}

static void its_folders_are_checked_as_those_of_a_put(void **state)
{
	struct scripted_api *api = *state;
	char text[2048], more[256];

	snprintf(more, sizeof(more), ",\"params\":{\"svg_dir\":\"%s/a\"}", api->out);
	folder_put(&api->folder, "out/a", "", 0); /* a file */
	snprintf(text, sizeof(text), "flamegraph %s\n", api_body(api, "\"oncpu\"", more));
	begin_with(api, text);
	assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n");
	assert_int_equal(unlinkat(api->folder.fd, "out/a", 0), 0);
	begin_with(api, text);
	assert_json_at(api_get(api, "/flamegraph")->body, "state", "\"running\"");
}

/* What the start loads, before anything begins: that of running configurations. */
static void the_start_knows_what_will_begin(void **state)
{
	struct scripted_api *api = *state;
	const char *none = "/nonexistent/probes.init";
	char path[API_PATH_BYTES + 16], text[2048];

	assert_int_equal(state_begins(&api->services, none, true), 0);
	api_choose(api, "\"oncpu\",\"mem\"", "");
	assert_int_equal(state_begins(&api->services, none, true),
			 1u << PROBE_ONCPU | 1u << PROBE_MEM);
	assert_int_equal(state_begins(&api->services, none, false), 0);
	api_put(api, "/sched", SCHED_BODY);
	api_put(api, "/flamegraph", "{\"state\":\"stopped\"}");
	assert_int_equal(state_begins(&api->services, none, true), WANTED_SCHED);
	snprintf(text, sizeof(text), "# flamegraph {}\nnothing {}\nsched {\nflamegraph %s",
		 api_body(api, "\"offcpu\"", ""));
	folder_put(&api->folder, "probes.init", text, strlen(text));
	snprintf(path, sizeof(path), "%s/probes.init", api->folder.path);
	assert_int_equal(state_begins(&api->services, path, false), 1u << PROBE_OFFCPU);
}

static void without_such_a_file_nothing_begins(void **state)
{
	struct scripted_api *api = *state;

	state_apply_init(&api->services, "/nonexistent/probes.init");
	state_apply_init(&api->services, api->folder.path); /* a folder can't be read */
	assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n");
}

#define WORKER(test) cmocka_unit_test_setup_teardown(test, api_begin_worker, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKER(a_restart_goes_on_with_what_was_put),
		WORKER(what_was_stopped_stays_stopped),
		WORKER(after_a_boot_a_pid_is_another_process),
		WORKER(a_pid_that_has_another_process_now_is_not_it),
		WORKER(a_damaged_file_is_left_out),
		WORKER(a_feature_that_cannot_go_on_leaves_the_other_one),
		WORKER(without_a_state_dir_nothing_is_kept),
		WORKER(a_state_dir_that_is_gone_loses_nothing_but_the_state),
		WORKER(folders_that_are_not_allowed_any_more_lose_their_files_alone),
		WORKER(the_first_configuration_is_lines_of_puts),
		WORKER(a_line_that_is_refused_leaves_the_others),
		WORKER(its_folders_are_checked_as_those_of_a_put),
		WORKER(the_start_knows_what_will_begin),
		WORKER(without_such_a_file_nothing_begins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
