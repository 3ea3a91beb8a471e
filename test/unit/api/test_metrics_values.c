// SPDX-License-Identifier: GPL-2.0-or-later
/* Each number of the owners' statistics stands under its name in /metrics, and under its key in
 * GET. */
#include <math.h>
#include <sys/resource.h>

#include "unit/lib/buf_text.h"
#include "unit/lib/scripted_api.h"

#include "api/metrics/metrics.h"
#include "api/metrics/metrics_lines.h"
#include "api/status/status.h"
#include "history/history_state.h"

/* The lines of a table without their heads. Freed by the caller. */
static char *lines_of(const struct measures *table, const void *stats)
{
	_cleanup_buf_ struct buf all = BUF_INIT(1 << 18), out = BUF_INIT(1 << 18);
	char *line, *rest = NULL;

	measures_lines(&all, table, stats);
	_cleanup_free_ char *text = take_text(&all, NULL);
	assert_non_null(text);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (line[0] != '#')
			buf_printf(&out, "%s\n", line + strlen("stackprobe_"));
	}
	return take_text(&out, NULL);
}

static void assert_lines(const struct measures *table, const void *stats, const char *expected)
{
	_cleanup_free_ char *text = lines_of(table, stats);

	assert_string_equal(text, expected);
}

static void assert_keys(const struct measures *table, const void *stats, const char *expected)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 16);
	struct json json = {.out = &out};

	measures_json(&json, table, stats);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_string_equal(text, expected);
}

static void windows_and_profiles(void **state)
{
	const struct drain_stats drain = {.refused = 1,
					  .unrecorded = 2,
					  .windows = 3,
					  .window_stacks = 4,
					  .inline_unknown = 5,
					  .untold = 6};
	const struct engine_stats engine = {.looks = {7, 8}, .unnamed_frames = 9, .cpus = 10};
	const struct engine_stats nameless = {.kernel_names_error = -EPERM};

	(void)state;
	assert_lines(&drain_measures, &drain,
		     "profile_refused_total 1\nrecords_refused_total 2\nwindows_total 3\n"
		     "window_stacks 4\n");
	assert_lines(&drain_java_measures, &drain,
		     "java_inline_unknown_total 5\njava_untold_total 6\n");
	assert_keys(&drain_java_measures, &drain, "\"inline_unknown\":5,\"untold\":6");
	assert_lines(&engine_measures, &engine,
		     "looks_total{cause=\"woken\"} 7\nlooks_total{cause=\"in_turn\"} 8\n"
		     "frames_unnamed_total 9\nkernel_names_readable 1\ncpus 10\n");
	assert_lines(&engine_measures, &nameless,
		     "looks_total{cause=\"woken\"} 0\nlooks_total{cause=\"in_turn\"} 0\n"
		     "frames_unnamed_total 0\nkernel_names_readable 0\ncpus 0\n");
}

static void processes_jobs_and_containers(void **state)
{
	const struct targets_stats targets = {.alive = 1,
					      .refused = 2,
					      .mappings_left_out = 3,
					      .searches_failed = 4,
					      .table = {.ended = 5, .refused = 60}};
	const struct engine_stats engine = {.given_up = 7, .refused_jobs = 8};
	const struct containers_stats containers = {10, 11, 12, 13, 14};

	(void)state;
	assert_lines(&target_measures, &targets,
		     "targets 1\ntargets_ended_total 5\ntargets_refused_total 62\n"
		     "mappings_left_out_total 3\n");
	assert_keys(&target_measures, &targets, "\"mappings_left_out\":3");
	assert_lines(&job_measures, &engine, "jobs_given_up_total 7\njobs_refused_total 8\n");
	assert_keys(&job_measures, &engine, "\"given_up\":7,\"refused\":8");
	assert_lines(&container_measures, &containers,
		     "containers 10\ncontainers_refused_total 12\ncontainers_unnamed_total 13\n"
		     "containers_given_up_total 14\n");
	assert_keys(&container_measures, &containers,
		    "\"known\":10,\"cgroups\":11,\"refused\":12,\"unnamed\":13,\"given_up\":14");
	assert_lines(&target_container_measures, &targets, "containers_searches_failed_total 4\n");
	assert_keys(&target_container_measures, &targets, "\"searches_failed\":4");
}

static void the_loop(void **state)
{
	const struct loop_stalls loop = {.causes = {"other", "http"},
					 .longest_us = {1, 2000003},
					 .stalls = {4, 5},
					 .longest_turn_us = 6000007};

	(void)state;
	assert_lines(&loop_measures, &loop,
		     "loop_longest_stall_seconds{cause=\"other\"} 0.000001\n"
		     "loop_longest_stall_seconds{cause=\"http\"} 2.000003\n"
		     "loop_stalls_total{cause=\"other\"} 4\n"
		     "loop_stalls_total{cause=\"http\"} 5\nloop_longest_turn_seconds 6.000007\n");
	assert_keys(&loop_measures, &loop,
		    "\"longest_us\":{\"other\":1,\"http\":2000003},"
		    "\"stalls\":{\"other\":4,\"http\":5},\"longest_turn_us\":6000007");
}

static void names_of_functions(void **state)
{
	const struct symbol_files_stats stats = {
		1, 2, 3, 4, 5, {[SYMBOL_LOST_NO_ROOM] = 6}, {[PERFMAP_LOST_HUNG] = 7}};
	static const char head[] = "symbol_files 1\nsymbol_files_unreadable 2\n"
				   "symbol_files_held 3\nsymbol_bytes 4\n"
				   "symbol_readings_total 5\n";
	_cleanup_free_ char *text = lines_of(&symbol_measures, &stats);

	(void)state;
	assert_ptr_equal(strstr(text, head), text);
	assert_has(text, "\nsymbols_lost_total{cause=\"no_room\"} 6\n");
	assert_has(text, "\nsymbols_lost_total{cause=\"file_gone\"} 0\n");
	assert_has(text, "\nperf_maps_lost_total{cause=\"hung\"} 7\n");
	assert_has(text, "\nperf_maps_lost_total{cause=\"foreign\"} 0\n");
}

static void files(void **state)
{
	const struct session_stats session = {.files_written = 1, .unwritten = 2};
	const struct cleaner_stats cleaner = {3, 4, 5, 6, 7};
	_cleanup_free_ char *text = lines_of(&session_measures, &session);

	(void)state;
	assert_has(text, "files_written_total 1\n");
	assert_has(text, "\nunwritten_samples_total 2\n");
	assert_lines(&cleaner_measures, &cleaner,
		     "files_removed_total 3\nfiles_removed_bytes_total 4\n"
		     "files_remove_failed_total 5\nfiles_kept 6\nfiles_kept_bytes 7\n");
	assert_keys(&cleaner_measures, &cleaner, "\"removed\":3,\"remove_failed\":5");
}

static void the_trigger(void **state)
{
	const struct trigger_stats stats = {.fired = 3, .last_fired = 7 * (int64_t)NS_PER_S + 5};

	(void)state;
	assert_lines(&trigger_measures, &stats,
		     "trigger_fired_total 3\ntrigger_last_fired_timestamp_seconds 7\n");
	assert_keys(&trigger_measures, &stats, "\"fired\":3,\"last_fired\":7");
}

static void history(void **state)
{
	const struct history_stats stats = {
		.counts = {1, 2, 3, 4},
		.files = {.bytes = 5, .removed = 6, .damaged = 7},
		.events_lost = 9,
		.limit_bytes = 8,
	};

	(void)state;
	assert_lines(&history_measures, &stats,
		     "history_windows_total 1\nhistory_failed_total 2\nhistory_merged_total 3\n"
		     "history_damaged_total 4\nhistory_damaged_bytes 7\nhistory_bytes 5\n"
		     "history_limit_bytes 8\nhistory_removed_total 6\n"
		     "history_events_lost_total 9\n");
	assert_keys(&history_measures, &stats,
		    "\"windows\":1,\"failed\":2,\"merged\":3,\"damaged\":4,\"bytes\":5,"
		    "\"limit_bytes\":8,\"removed\":6,\"events_lost\":9");
}

static void unwind_tables(void **state)
{
	const struct tables_stats stats = {.tables = 1,
					   .rows = 2,
					   .bytes = 999, /* the arena's are shown */
					   .pending = 3,
					   .built = 4,
					   .shared = 5,
					   .evicted = 6,
					   .refused = 7,
					   .failed = 8,
					   .bare = 9,
					   .made = 15,
					   .made_functions = 16,
					   .made_refused = 17,
					   .unsupported = {10, 11},
					   .arena = {.bytes = 12, .bytes_max = 13, .used = 14}};

	(void)state;
	assert_lines(&unwind_measures, &stats,
		     "unwind_tables 1\nunwind_rows 2\nunwind_rows_unsupported 21\n"
		     "unwind_pending 3\nunwind_built_total 4\nunwind_shared_total 5\n"
		     "unwind_evicted_total 6\nunwind_refused_total 7\nunwind_failed_total 8\n"
		     "unwind_bare_total 9\nunwind_made_total 15\nunwind_made_functions 16\n"
		     "unwind_made_refused 17\nunwind_bytes{state=\"used\"} 14\n"
		     "unwind_bytes{state=\"allocated\"} 12\nunwind_bytes{state=\"max\"} 13\n");
	assert_keys(&unwind_measures, &stats,
		    "\"tables\":1,\"rows\":2,\"pending\":3,\"evicted\":6,\"refused\":7,"
		    "\"failed\":8,\"made\":15,\"made_functions\":16,\"made_refused\":17,\"bytes\":"
		    "14,\"bytes_max\":13");
}

static void memory(void **state)
{
	const struct live_heap_stats heap = {.entries = 1,
					     .dead = 2,
					     .unnamed = 3,
					     .young = 4,
					     .refused = 5,
					     .failed = 6,
					     .mm_epochs_refused = 7,
					     .stack_cache = {.stacks = 8, .refused = 9},
					     .ranges = 10,
					     .ranges_refused = 11};
	struct figures figures = {.engine.live_heap = heap, .held_max = 12};
	const struct allocators_stats points = {.files = 13, .points = 14, .stepped = 15};

	(void)state;
	assert_lines(&held_measures, &figures, "held_allocations 1\nheld_allocations_max 12\n");
	assert_keys(&held_measures, &figures, "\"now\":1,\"max\":12");
	assert_lines(&heap_measures, &heap,
		     "held_dead_total 2\nheld_unnamed 3\nheld_young 4\nheld_refused_total 5\n"
		     "held_unread_total 6\nheld_ends_refused_total 7\nledger_stacks 8\n"
		     "ledger_refused_total 9\n");
	assert_keys(&heap_measures, &heap,
		    "\"unnamed\":3,\"young\":4,\"refused\":5,\"unread\":6,\"stacks\":8,"
		    "\"stacks_refused\":9");
	assert_lines(&range_measures, &heap, "mapped_ranges 10\nmapped_refused_total 11\n");
	assert_keys(&range_measures, &heap, "\"now\":10,\"refused\":11");
	assert_lines(&allocator_measures, &points,
		     "probed_files 13\nprobe_points 14\nprobe_points_single_stepped 15\n");
	assert_keys(&allocator_measures, &points,
		    "\"files\":13,\"points\":14,\"single_stepped\":15");
}

static void code_of_runtimes(void **state)
{
	const struct code_cache_stats stats = {1, 2, 3, 4, {5, 6, 7, 8, 9, 10}, 11, 12, 13};

	(void)state;
	assert_lines(&python_code_measures, &stats,
		     "python_code_objects 1\npython_code_bytes 2\n"
		     "python_code_objects_read_total 3\n"
		     "python_code_objects_lost_total{cause=\"gone\"} 5\n"
		     "python_code_objects_lost_total{cause=\"changed\"} 6\n"
		     "python_code_objects_lost_total{cause=\"unreadable\"} 7\n"
		     "python_code_objects_lost_total{cause=\"odd\"} 8\n"
		     "python_code_objects_lost_total{cause=\"hung\"} 9\n"
		     "python_code_objects_lost_total{cause=\"no_room\"} 10\n"
		     "python_code_objects_copied_total 4\n"
		     "python_function_searches_total 11\n"
		     "python_function_searches_cut_total 12\n"
		     "python_code_objects_qualified_total 13\n");
	assert_keys(&python_code_measures, &stats,
		    "\"code_objects\":1,\"bytes\":2,\"read\":3,\"lost\":{\"gone\":5,\"changed\":6,"
		    "\"unreadable\":7,\"odd\":8,\"hung\":9,\"no_room\":10},\"copied\":4,"
		    "\"searches\":11,\"searches_cut\":12,\"qualified\":13");
	assert_lines(&java_code_measures, &stats,
		     "java_methods 1\njava_method_bytes 2\njava_methods_read_total 3\n"
		     "java_methods_lost_total{cause=\"gone\"} 5\n"
		     "java_methods_lost_total{cause=\"changed\"} 6\n"
		     "java_methods_lost_total{cause=\"unreadable\"} 7\n"
		     "java_methods_lost_total{cause=\"odd\"} 8\n"
		     "java_methods_lost_total{cause=\"hung\"} 9\n"
		     "java_methods_lost_total{cause=\"no_room\"} 10\n");
	assert_keys(&java_code_measures, &stats,
		    "\"methods\":1,\"bytes\":2,\"read\":3,\"lost\":{\"gone\":5,\"changed\":6,"
		    "\"unreadable\":7,\"odd\":8,\"hung\":9,\"no_room\":10}");
}

static void agents_and_recordings(void **state)
{
	const struct agents_stats agents = {1, 2, 3, 4, 5, 6, 7};
	const struct jfr_stats jfr = {.recording = 1,
				      .starting = 2,
				      .failed = 3,
				      .windows = 4,
				      .fell_back = 5,
				      .fell_back_by = {6, 7, 8, 9, 10, 11, 12},
				      .lost_samples = 13,
				      .lost_bytes = 14,
				      .refused = 15,
				      .unasked = 16};

	(void)state;
	assert_lines(&agent_measures, &agents,
		     "java_agents{state=\"attached\"} 1\njava_agents{state=\"attaching\"} 2\n"
		     "java_agents{state=\"failed\"} 3\njava_agent_codes 4\n"
		     "java_agent_codes_given 5\njava_agent_codes_lost 6\n"
		     "java_agents_unasked_total 7\n");
	assert_keys(&agent_measures, &agents,
		    "\"attached\":1,\"attaching\":2,\"failed\":3,\"codes\":4,\"given\":5,"
		    "\"lost\":6,\"unasked\":7");
	assert_lines(&jfr_measures, &jfr,
		     "java_recordings{state=\"recording\"} 1\n"
		     "java_recordings{state=\"starting\"} 2\njava_recordings{state=\"failed\"} 3\n"
		     "java_jfr_windows_total 4\n"
		     "java_jfr_fell_back_total{cause=\"silent\"} 6\n"
		     "java_jfr_fell_back_total{cause=\"ended\"} 7\n"
		     "java_jfr_fell_back_total{cause=\"stopped\"} 8\n"
		     "java_jfr_fell_back_total{cause=\"refused\"} 9\n"
		     "java_jfr_fell_back_total{cause=\"file\"} 10\n"
		     "java_jfr_fell_back_total{cause=\"cut\"} 11\n"
		     "java_jfr_fell_back_total{cause=\"border\"} 12\n"
		     "java_jfr_lost_samples_total 13\njava_jfr_lost_bytes_total 14\n"
		     "java_jfr_refused_total 15\njava_jfr_unasked_total 16\n");
	assert_keys(&jfr_measures, &jfr,
		    "\"recording\":1,\"starting\":2,\"failed\":3,\"windows\":4,\"fell_back\":5,"
		    "\"fell_back_by\":{\"silent\":6,\"ended\":7,\"stopped\":8,\"refused\":9,"
		    "\"file\":10,\"cut\":11,\"border\":12},\"lost_samples\":13,\"lost_bytes\":14,"
		    "\"refused\":15,\"unasked\":16");
}

static void off_cpu(void **state)
{
	const union kind_stats figures = {{1, 2}};

	(void)state;
	assert_lines(kind_get(PROBE_OFFCPU)->measures, &figures,
		     "waits_over_maxblock_total 1\nunseen_waits 2\n");
	assert_keys(kind_get(PROBE_OFFCPU)->measures, &figures,
		    "\"waits_over_maxblock\":1,\"unseen_waits\":2");
}

static void io(void **state)
{
	const union kind_stats figures = {{1}};

	(void)state;
	assert_lines(kind_get(PROBE_IO)->measures, &figures, "io_ring_thread_requests_total 1\n");
	assert_keys(kind_get(PROBE_IO)->measures, &figures, "\"ring_thread_requests\":1");
}

static void block_io(void **state)
{
	const union kind_stats figures = {{1, 2, 3, 4}};

	(void)state;
	assert_lines(kind_get(PROBE_BLKIO)->measures, &figures,
		     "blkio_unseen_bios_total{cause=\"no_requests\"} 1\n"
		     "blkio_unseen_bios_total{cause=\"disks_below\"} 2\n"
		     "blkio_unseen_bytes_total{cause=\"no_requests\"} 3\n"
		     "blkio_unseen_bytes_total{cause=\"disks_below\"} 4\n");
	assert_keys(kind_get(PROBE_BLKIO)->measures, &figures,
		    "\"unseen_bios\":{\"no_requests\":1,\"disks_below\":2},"
		    "\"unseen_bytes\":{\"no_requests\":3,\"disks_below\":4}");
}

/* ---- what isn't read out of statistics ---- */

static struct figures figures_of(struct scripted_api *api)
{
	struct figures figures;

	figures_read(&figures, &api->services);
	return figures;
}

/* Returns the number of a metric without labels. */
static double number_in(const char *lines, const char *name)
{
	const char *at = strstr(lines, name);

	assert_non_null(at);
	assert_int_equal(at[strlen(name)], ' ');
	return strtod(at + strlen(name), NULL);
}

static void the_daemon_itself(void **state)
{
	struct scripted_api *api = *state;
	unsigned long long pages = 0;
	struct rusage before, after;

	api->refused[REFUSED_ROLE] = 5;
	struct figures figures = figures_of(api);
	figures.engine.bpf_time_ns = 1500000000;
	getrusage(RUSAGE_SELF, &before);
	_cleanup_free_ char *text = lines_of(&daemon_measures, &figures);
	getrusage(RUSAGE_SELF, &after);
	assert_has(text, "\nhttp_refused_total{cause=\"role\"} 5\n");
	assert_has(text, "\nhttp_refused_total{cause=\"token\"} 0\n");
	assert_has(text, "\nondemand_sessions 0\nchildren_left 0\nbpf_runtime_seconds_total 1.5\n");
	FILE *statm = fopen("/proc/self/statm", "r");
	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%*u %llu", &pages), 1);
	fclose(statm);
	double resident = (double)pages * (double)sysconf(_SC_PAGESIZE);
	assert_true(fabs(number_in(text, "resident_memory_bytes") - resident) < resident / 5);
	double seconds = number_in(text, "cpu_seconds_total");
	assert_true(seconds >= (double)before.ru_utime.tv_sec + (double)before.ru_stime.tv_sec);
	assert_true(seconds > 0);
	assert_true(seconds <=
		    (double)(after.ru_utime.tv_sec + after.ru_stime.tv_sec) +
			    (double)(after.ru_utime.tv_usec + after.ru_stime.tv_usec) / 1e6 + 1e-6);
}

static void times_that_found_no_room(void **state)
{
	struct scripted_api *api = *state;
	struct figures figures = figures_of(api);

	figures.engine.times = (struct times_stats){.refused = 3, .dropped = 4};
	assert_lines(&process_measures, &figures,
		     "process_times_refused_total 3\nprocess_times_dropped_total 4\n"
		     "process_series_left_out 0\n");
}

static void what_processes_cost(void **state)
{
	struct scripted_api *api = *state;
	struct figures figures = figures_of(api);
	struct last_costs last = {.known = (1ULL << COSTS) - 1};
	struct cost_table *table;

	for (uint64_t i = 0; i < COSTS; i++)
		last.sum.costs.of[i] = 10 + i;
	assert_lines(&node_cost_measures, &figures, "");
	figures.costs = &last;
	assert_lines(&node_cost_measures, &figures, ""); /* it doesn't run */
	assert_int_equal(cost_table_new(&table, engine_containers(api->services.engine)), 0);
	last.table = table;
	assert_lines(&container_cost_measures, &figures, "");
	assert_lines(&process_cost_measures, &figures, "");
	struct series_entry entry = {.row = {.pid = 7, .comm = "a\"b"}};
	for (uint64_t i = 0; i < COSTS; i++)
		entry.row.costs.of[i] = 2 + i;
	struct cost_series series = {.all = &entry, .count = 1};
	for (uint64_t i = 0; i < COSTS; i++)
		series.others.of[i] = 8;
	last.series = &series;
	assert_lines(
		&process_cost_measures, &figures,
		"process_cost_cpu_seconds_total{pid=\"7\",comm=\"a\\\"b\"} 0.000000002\n"
		"process_cost_cpu_seconds_total{pid=\"others\"} 0.000000008\n"
		"process_cost_runq_wait_seconds_total{pid=\"7\",comm=\"a\\\"b\"} 0.000000005\n"
		"process_cost_runq_wait_seconds_total{pid=\"others\"} 0.000000008\n"
		"process_cost_context_switches_total{pid=\"7\",comm=\"a\\\"b\",type=\"voluntary\"} "
		"3\n"
		"process_cost_context_switches_total{pid=\"7\",comm=\"a\\\"b\",type="
		"\"involuntary\"} 4\n"
		"process_cost_context_switches_total{pid=\"others\",type=\"voluntary\"} 8\n"
		"process_cost_context_switches_total{pid=\"others\",type=\"involuntary\"} 8\n"
		"process_cost_page_faults_total{pid=\"7\",comm=\"a\\\"b\",kind=\"minor\"} 8\n"
		"process_cost_page_faults_total{pid=\"7\",comm=\"a\\\"b\",kind=\"major\"} 9\n"
		"process_cost_page_faults_total{pid=\"others\",kind=\"minor\"} 8\n"
		"process_cost_page_faults_total{pid=\"others\",kind=\"major\"} 8\n"
		"process_cost_io_bytes_total{pid=\"7\",comm=\"a\\\"b\",direction=\"read\"} 12\n"
		"process_cost_io_bytes_total{pid=\"7\",comm=\"a\\\"b\",direction=\"write\"} 13\n"
		"process_cost_io_bytes_total{pid=\"others\",direction=\"read\"} 8\n"
		"process_cost_io_bytes_total{pid=\"others\",direction=\"write\"} 8\n"
		"process_cost_disk_bytes_total{pid=\"7\",comm=\"a\\\"b\",direction=\"read\"} 14\n"
		"process_cost_disk_bytes_total{pid=\"7\",comm=\"a\\\"b\",direction=\"write\"} 15\n"
		"process_cost_disk_bytes_total{pid=\"others\",direction=\"read\"} 8\n"
		"process_cost_disk_bytes_total{pid=\"others\",direction=\"write\"} 8\n");
	assert_lines(&node_cost_measures, &figures,
		     "node_process_cpu_seconds_total 0.000000010\n"
		     "node_runq_wait_seconds_total 0.000000013\n"
		     "node_context_switches_total{type=\"voluntary\"} 11\n"
		     "node_context_switches_total{type=\"involuntary\"} 12\n"
		     "node_cpu_migrations_total 15\n"
		     "node_page_faults_total{kind=\"minor\"} 16\n"
		     "node_page_faults_total{kind=\"major\"} 17\n"
		     "node_io_calls_total{direction=\"read\"} 18\n"
		     "node_io_calls_total{direction=\"write\"} 19\n"
		     "node_io_bytes_total{direction=\"read\"} 20\n"
		     "node_io_bytes_total{direction=\"write\"} 21\n"
		     "node_disk_bytes_total{direction=\"read\"} 22\n"
		     "node_disk_bytes_total{direction=\"write\"} 23\n");
	figures.exemplars = true;
	last.known = 1ULL << COST_RUN | 1ULL << COST_MAJOR;
	assert_lines(&node_cost_measures, &figures,
		     "node_process_cpu_seconds_total 0.000000010 # {pid=\"7\",comm=\"a\\\"b\"} "
		     "0.000000002\n"
		     "node_page_faults_total{kind=\"major\"} 17 # {pid=\"7\",comm=\"a\\\"b\"} 9\n");
	figures.exemplars = false;
	last.known = 1ULL << COST_WAKE_WOKEN | 1ULL << COST_CACHE_ADDED |
		     1ULL << COST_SOFTIRQ_NET_RX | 1ULL << COST_SOFTIRQ_RCU_NS;
	assert_lines(&node_cost_measures, &figures,
		     "node_page_cache_pages_total{event=\"added\"} 0\n"
		     "node_softirqs_total{vector=\"net_rx\"} 0\n"
		     "node_softirq_seconds_total{vector=\"rcu\"} 0.000000000\n"
		     "node_wakeups_total 0\n");
	last.sum.more = &last.sum_more;
	for (uint64_t i = 0; i < COSTS_MORE; i++)
		last.sum_more.of[i] = COSTS + i;
	assert_lines(&node_cost_measures, &figures,
		     "node_page_cache_pages_total{event=\"added\"} 38\n"
		     "node_softirqs_total{vector=\"net_rx\"} 23\n"
		     "node_softirq_seconds_total{vector=\"rcu\"} 0.000000036\n"
		     "node_wakeups_total 40\n");
	last.known = 1ULL << COST_PMU_REF_CYCLES | 1ULL << COST_PMU_NS;
	assert_lines(&node_cost_measures, &figures,
		     "node_cpu_events_total{event=\"ref_cycles\"} 43\n"
		     "node_cpu_counted_seconds_total 0.000000047\n");
	last.known = 0;
	last.rows.energy = (struct energy_counts){
		.time_ns = 1, .count = 2, .zones = {{"package-0", 1500000}, {"psys", 7}}};
	assert_lines(&node_cost_measures, &figures,
		     "node_energy_joules_total{zone=\"package-0\"} 1.500000\n"
		     "node_energy_joules_total{zone=\"psys\"} 0.000007\n");
	last.rows.energy.time_ns = 0;
	last.known = 1ULL << COST_RUN;
	_cleanup_free_ char *lines = lines_of(&node_cost_measures, &figures);
	assert_null(strstr(lines, "runq_wait"));
	cost_table_free(table);
}

static void a_probe_has_its_own_losses_and_those_of_all(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\"", "");
	scripted->sum.samples[PROBE_MEM] = 9;
	scripted->sum.lost[PROBE_MEM][LOST_RING_FULL] = 2;
	scripted->sum.lost[LOSERS_ALL][LOST_RING_FULL] = 30;
	struct figures figures = figures_of(api);
	assert_keys(&probe_measures, &figures.probes[PROBE_MEM], "\"samples\":9,\"thinned\":1");
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 16);
	struct json json = {.out = &out};
	measures_json(&json, &probe_loss_measures, &figures.probes[PROBE_MEM]);
	_cleanup_free_ char *keys = take_text(&out, NULL);
	assert_ptr_equal(strstr(keys, "\"lost\":{\"ring_full\":32,"), keys);
	_cleanup_free_ char *lines = lines_of(&loss_measures, &figures);
	assert_has(lines, "lost_total{probe=\"mem\",where=\"ring_full\"} 2\n");
	assert_has(lines, "lost_total{probe=\"all\",where=\"ring_full\"} 30\n");
}

/* ---- processes that are unlike their own past ---- */

static void watch_row(struct history_watched *watched, const char *name, const char *container,
		      double before, double after)
{
	watched->rows[watched->rows_count++] =
		(struct watched_row){strdup(name),
				     container ? strdup(container) : NULL,
				     {.before = before, .after = after, .is_change = true}};
}

/* As the last look at a probe saw it. */
static struct history_watched *watched_of(struct scripted_api *api, enum probe probe, int64_t s)
{
	struct history_watched *watched = &api->services.history->watched[probe];

	*watched = (struct history_watched){
		.at = s * (int64_t)NS_PER_S + 999999999, .processes = 41, .anomalies = 23};
	return watched;
}

static void anomalies_that_the_last_look_saw(void **state)
{
	struct scripted_api *api = *state;
	struct figures figures = figures_of(api);

	assert_lines(&anomaly_measures, &figures, "anomaly_looks_failed_total 0\n");
	api->services.history->watch_failures = 5;
	watched_of(api, PROBE_ONCPU, 1700000000);
	struct history_watched *waits = watched_of(api, PROBE_OFFCPU, 4000000000);
	waits->processes = UINT64_MAX;
	waits->anomalies = 0;
	assert_lines(&anomaly_measures, &figures,
		     "anomalies{probe=\"oncpu\"} 23\nanomalies{probe=\"offcpu\"} 0\n"
		     "anomaly_compared_processes{probe=\"oncpu\"} 41\n"
		     "anomaly_compared_processes{probe=\"offcpu\"} 18446744073709551615\n"
		     "anomaly_look_timestamp_seconds{probe=\"oncpu\"} 1700000000\n"
		     "anomaly_look_timestamp_seconds{probe=\"offcpu\"} 4000000000\n"
		     "anomaly_looks_failed_total 5\n");
	assert_keys(&anomaly_measures, &figures, "");
}

static void rates_of_processes_that_are_unlike_their_past(void **state)
{
	struct scripted_api *api = *state;
	struct figures figures = figures_of(api);
	struct history_watched *watched = watched_of(api, PROBE_ONCPU, 1700000000);

	assert_lines(&process_anomaly_measures, &figures, "");
	watch_row(watched, "[7]a\"b", "[Con]web", 21.25, 49.125);
	watch_row(watched, "[4194304]x]\\", "[Pod]p\nq", 0, 1e-9);
	/* Names that once were, and containers: a series would be there twice. */
	watch_row(watched, "[7]a\"b", "[Con]other", 1, 2);
	watch_row(watched, "[7]sh", NULL, 3, 4);
	watch_row(watched_of(api, PROBE_IO, 1), "[8]c", NULL, 123456789012.0, 0);
	assert_lines(&process_anomaly_measures, &figures,
		     "process_anomaly_rate{probe=\"oncpu\",pid=\"7\",comm=\"a\\\"b\","
		     "container=\"web\",when=\"before\"} 21.25\n"
		     "process_anomaly_rate{probe=\"oncpu\",pid=\"7\",comm=\"a\\\"b\","
		     "container=\"web\",when=\"after\"} 49.125\n"
		     "process_anomaly_rate{probe=\"oncpu\",pid=\"4194304\",comm=\"x]\\\\\","
		     "pod=\"p\\nq\",when=\"before\"} 0\n"
		     "process_anomaly_rate{probe=\"oncpu\",pid=\"4194304\",comm=\"x]\\\\\","
		     "pod=\"p\\nq\",when=\"after\"} 1e-09\n"
		     "process_anomaly_rate{probe=\"io\",pid=\"8\",comm=\"c\",when=\"before\"} "
		     "1.23456789e+11\n"
		     "process_anomaly_rate{probe=\"io\",pid=\"8\",comm=\"c\",when=\"after\"} 0\n");
	api->services.process_metrics = -1;
	_cleanup_free_ char *all = lines_of(&process_anomaly_measures, &figures);
	assert_has(all, "{probe=\"io\",pid=\"8\"");
	api->services.process_metrics = 0; /* nobody wants series of processes */
	assert_lines(&process_anomaly_measures, &figures, "");
}

static void a_name_without_a_process_has_no_number(void **state)
{
	static const char *const names[] = {"", "x", "[", "[7"};
	struct scripted_api *api = *state;
	struct figures figures = figures_of(api);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct history_watched *watched = watched_of(api, PROBE_ONCPU, 1);

		watch_row(watched, names[i], NULL, 1, 2);
		assert_lines(&process_anomaly_measures, &figures,
			     "process_anomaly_rate{probe=\"oncpu\",pid=\"0\",comm=\"\","
			     "when=\"before\"} 1\n"
			     "process_anomaly_rate{probe=\"oncpu\",pid=\"0\",comm=\"\","
			     "when=\"after\"} 2\n");
		history_watched_done(watched);
	}
}

/* Returns what /metrics has for a caller of that role, which the caller frees. */
static char *metrics_for(struct scripted_api *api, enum role role)
{
	struct caller caller = {.role = role};
	struct answer answer = {.body = BUF_INIT(16 << 20)};

	metrics_write(&api->services, &caller, false, &answer);
	assert_int_equal(answer.status, 200);
	char *text = take_text(&answer.body, NULL);
	buf_done(&answer.body);
	return text;
}

static void processes_are_shown_to_who_may_read_them(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\"", "");
	api->services.history->watched_ns = loop_now_ns(); /* the next look comes later */
	watch_row(watched_of(api, PROBE_ONCPU, 1700000000), "[7]secret", NULL, 1, 2);
	_cleanup_free_ char *reader = metrics_for(api, ROLE_READ);
	_cleanup_free_ char *anybody = metrics_for(api, ROLE_METRICS);
	assert_has(reader, "\nstackprobe_process_anomaly_rate{probe=\"oncpu\",pid=\"7\",");
	assert_has(reader, "\nstackprobe_anomalies{probe=\"oncpu\"} 23\n");
	assert_has(anybody, "\nstackprobe_anomalies{probe=\"oncpu\"} 23\n");
	assert_null(strstr(anybody, "secret"));
	assert_null(strstr(anybody, "process_anomaly_rate"));
}

static void a_look_begins_for_who_may_read_what_it_sees(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\"", "");
	watched_of(api, PROBE_ONCPU, 1700000000);
	_cleanup_free_ char *anybody = metrics_for(api, ROLE_METRICS);
	assert_int_equal(api->services.history->watched_ns, 0);
	assert_has(anybody, "\nstackprobe_anomaly_looks_failed_total 0\n");
	_cleanup_free_ char *reader = metrics_for(api, ROLE_READ);
	assert_true(api->services.history->watched_ns > 0);
	assert_has(reader, "\nstackprobe_anomalies{probe=\"oncpu\"} 23\n"); /* of the look before */
}

static void what_was_seen_of_a_probe_that_has_stopped_is_forgotten(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\"", "");
	api->services.history->watched_ns = loop_now_ns();
	watched_of(api, PROBE_ONCPU, 1700000000);
	watch_row(watched_of(api, PROBE_IO, 1700000000), "[7]a", NULL, 1, 2);
	_cleanup_free_ char *text = metrics_for(api, ROLE_READ);
	assert_has(text, "anomalies{probe=\"oncpu\"}");
	assert_null(strstr(text, "anomalies{probe=\"io\"}"));
	assert_null(strstr(text, "process_anomaly_rate{"));
	api_put(api, "/flamegraph", "{\"cmd\":{\"probe\":[\"oncpu\"]},\"state\":\"stopped\"}");
	_cleanup_free_ char *stopped = metrics_for(api, ROLE_READ);
	assert_null(strstr(stopped, "anomalies{"));
}

#define API(test) cmocka_unit_test_setup_teardown(test, api_begin_worker, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_and_profiles),
		cmocka_unit_test(processes_jobs_and_containers),
		cmocka_unit_test(the_loop),
		cmocka_unit_test(names_of_functions),
		cmocka_unit_test(files),
		cmocka_unit_test(the_trigger),
		cmocka_unit_test(history),
		cmocka_unit_test(unwind_tables),
		cmocka_unit_test(memory),
		cmocka_unit_test(code_of_runtimes),
		cmocka_unit_test(agents_and_recordings),
		cmocka_unit_test(off_cpu),
		cmocka_unit_test(io),
		cmocka_unit_test(block_io),
		API(the_daemon_itself),
		API(times_that_found_no_room),
		API(what_processes_cost),
		API(a_probe_has_its_own_losses_and_those_of_all),
		API(anomalies_that_the_last_look_saw),
		API(rates_of_processes_that_are_unlike_their_past),
		API(a_name_without_a_process_has_no_number),
		API(processes_are_shown_to_who_may_read_them),
		API(a_look_begins_for_who_may_read_what_it_sees),
		API(what_was_seen_of_a_probe_that_has_stopped_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
