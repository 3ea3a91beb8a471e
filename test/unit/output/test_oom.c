// SPDX-License-Identifier: GPL-2.0-or-later
/* Without memory: texts, trees, what is asked for and what is counted (failing_alloc.h). */
#include "unit/lib/failing_alloc.h"
#include "unit/proc/elf_maker.h"
#include "unit/api/requests.h"
#include "unit/output/tree_figures.h"

#include "api/conf/conf.h"
#include "base/intern.h"
#include "loop/loop.h"
#include "base/map.h"
#include "loop/worker.h"
#include "output/format/output.h"
#include "output/svg/stacks_svg.h"
#include "output/files/retention.h"
#include "heap/mmap_ranges.h"
#include "heap/stack_cache.h"
#include "profile/profile.h"
#include "sched/sched_data.h"
#include "window/window.h"
#include "file/function_cache.h"
#include "unwind/tables.h"

static int use_buf(void)
{
	_cleanup_buf_ struct buf buf = BUF_INIT(1 << 20);

	for (int i = 0; i < 300; i++)
		buf_printf(&buf, "%d %*s", i, i * 5, "x");
	return buf_error(&buf);
}

static int use_map(void)
{
	_cleanup_map_ struct map *map = NULL;
	int r = map_new(&map, 4, 4, 1000);

	for (uint32_t i = 0; r == 0 && i < 500; i++) {
		uint32_t *value = NULL;

		r = map_put(map, &i, (void **)&value);
		if (r < 0) {
			assert_int_equal(map_count(map), i);
			assert_null(map_get(map, &i));
			return r;
		}
		*value = i;
		r = 0;
	}
	return r;
}

static int use_intern(void)
{
	struct intern *intern;
	char name[16];
	int64_t r = intern_new(&intern, 1 << 20);

	if (r < 0)
		return (int)r;
	for (int i = 0; r >= 0 && i < 2000; i++) {
		int len = snprintf(name, sizeof(name), "name %d", i);

		r = intern_add(intern, name, (size_t)len);
		assert_true(r == i || r == -ENOMEM);
		if (r == -ENOMEM) { /* all is as before */
			no_more_failures();
			assert_int_equal(intern_add(intern, name, (size_t)len), i);
		}
	}
	intern_free(intern);
	return r < 0 ? (int)r : 0;
}

/* Adds some hundred stacks; negative errno. */
static int fill(struct tree *tree)
{
	for (int i = 0; i < 400; i++) {
		char name[32];
		int len = snprintf(name, sizeof(name), "[%d]process", i % 7);
		int64_t node = tree_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, name, (size_t)len);

		for (int depth = 0; node >= 0 && depth < 3; depth++) {
			len = snprintf(name, sizeof(name), "function %d", i / (depth + 1));
			node = tree_child(tree, (uint32_t)node, FRAME_TYPE_NATIVE, name,
					  (size_t)len);
		}
		if (node < 0)
			return (int)node;
		tree_add(tree, (uint32_t)node, 1);
	}
	return 0;
}

static int use_tree(void)
{
	_cleanup_tree_ struct tree *tree = NULL, *other = NULL;
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
	int r = tree_new(&tree, 10000, 1 << 20);

	if (r < 0) {
		assert_null(tree);
		return r;
	}
	r = fill(tree);
	if (r == 0)
		r = tree_new(&other, 10000, 1 << 20);
	if (r == 0)
		r = merge(other, tree, TREE_ROOT);
	if (r == 0)
		return 0;
	/* What was built so far is a tree. */
	no_more_failures();
	assert_int_equal(
		folded_write(other ? other : tree, TREE_ROOT, &(struct profile_meta){0}, &out), 0);
	return r;
}

static int use_output(const char *extension)
{
	_cleanup_tree_ struct tree *tree = NULL;
	_cleanup_buf_ struct buf out = BUF_INIT(16 << 20);
	static const struct pprof_shape shape = {.values = {{"samples", "count", PPROF_WEIGHT}},
						 .period_type = "",
						 .period_unit = ""};
	struct profile_meta meta = {
		.title = "T", .count_name = "samples", .host = "h", .pprof = &shape};
	int r = tree_new(&tree, 10000, 1 << 20);

	if (r == 0)
		r = fill(tree);
	return r < 0 ? r : output_find(extension)->write(tree, TREE_ROOT, &meta, &out);
}

static int use_folded(void)
{
	return use_output("folded");
}

static int use_svg(void)
{
	return use_output("svg");
}

static int use_json(void)
{
	return use_output("json");
}

static int use_pprof(void)
{
	return use_output("pb.gz");
}

static int use_places(void)
{
	static const uint8_t build_id[] = {1, 2, 3};
	_cleanup_tree_ struct tree *tree = NULL;
	struct places *places = NULL;
	int r = tree_new(&tree, 10000, 1 << 20);

	for (uint64_t i = 0; r >= 0 && i < 400; i++) {
		struct module module = {.path = &"/bin/a"[i % 3],
					.path_len = 2,
					.build_id = build_id,
					.build_id_len = i % 2 ? sizeof(build_id) : 0,
					.from = i % 5};
		struct frame frame = {.type = FRAME_TYPE_NATIVE,
				      .name = "f",
				      .name_len = 1,
				      .module = &module,
				      .address = i};

		r = (int)tree_child_with(tree, TREE_ROOT, &frame);
	}
	if (r >= 0)
		r = places_new(&places, tree);
	places_free(places);
	return r;
}

static int keep(void *arg, struct buf *out)
{
	buf_add(arg, out->data, out->len);
	out->len = 0;
	return buf_error(arg);
}

static int use_stacks(void)
{
	static const char text[] = "a;b;c 3\na;b 4\nd 5\n\0\0\0\0\0\0\0";
	_cleanup_stacks_ struct stacks stacks = {0};
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
	struct stacks_svg svg = {.width = 1200, .flush = keep, .arg = &out};
	int r = stacks_read(&stacks, STACKS_AFTER, text, sizeof(text) - STACKS_PADDING);

	return r < 0 ? r : stacks_svg_write(&stacks, &svg);
}

static int use_judged(void)
{
	struct judged_functions *judged = NULL;
	int r = judged_new(&judged);

	for (int i = 0; r == 0 && i < 500; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		r = judged_add(judged, FRAME_TYPE_NATIVE, name, (struct judged_function){1, 1});
	}
	judged_free(judged);
	return r;
}

static int use_snoopers(void)
{
	_cleanup_snoopers_ struct snoopers *snoopers = NULL;
	const struct name_snooper *names;
	const struct id_snooper *ids;
	int r = snoopers_new(&snoopers);

	for (int i = 0; r == 0 && i < 5; i++) {
		r = snoopers_add_name(snoopers, "^a(b|c)*", "cmdline", "/dir", 0);
		assert_int_equal(snoopers_names(snoopers, &names), r == 0 ? i + 1 : i);
	}
	for (int i = 0; r == 0 && i < 5; i++) {
		r = snoopers_add_id(snoopers, i + 1);
		assert_true(snoopers_ids(snoopers, &ids) >= (size_t)i);
	}
	return r;
}

static int use_request(void)
{
	static const char body[] = "json=%7B\"cmd\":{\"probe\":[\"oncpu\"]},\"snoopers\":{\"proc_"
				   "id\":[1,2],\"proc_name\":"
				   "[{\"comm\":\"a*\",\"cmdline\":\"c\"},{\"comm\":\"b\"}]},"
				   "\"params\":{\"svg_period\":"
				   "60,\"svg_dir\":\"/proc/self/task\"},\"state\":\"running\"}";
	struct bounds bounds = {{(const char *const[]){REQUEST_ROOT}, 1}, NULL, false};
	char data[sizeof(body)];
	struct why why = {0};
	struct spec spec = {.probes = 77};

	memcpy(data, body, sizeof(body));
	int r = request_parse(data, sizeof(body) - 1, &flamegraph_rules, NULL, &bounds, &spec, NULL,
			      NULL, &why);
	if (r == 0)
		spec_done(&spec);
	else
		assert_true(spec.probes == 77 && !spec.snoopers && why.text[0]);
	return r;
}

static int use_sched_data(void)
{
	static struct slow_log log;
	_cleanup_sched_data_ struct sched_data data = {.probe = SCHED_RUNQSLOWER};

	for (log.next = 0; log.next < 40;)
		slow_log_add(&log, &(struct slow_entry){.tid = 1});
	return sched_data_add_events(&data, &log, 0);
}

static int use_profile(void)
{
	_cleanup_profile_ struct profile *profile = NULL, *other = NULL, *selected = NULL;
	_cleanup_free_ struct profile_process *processes = NULL;
	int r = profile_new(&profile, PROBE_ONCPU, 1, 2);

	if (r == 0)
		r = profile_new(&other, PROBE_ONCPU, 1, 2);
	if (r == 0)
		r = fill(profile->tree);
	if (r == 0)
		r = profile_merge(other, profile);
	if (r == 0) {
		int64_t count = profile_processes(other, &processes);

		r = count < 0 ? (int)count : 0;
		assert_true(count == 7 || !processes);
	}
	if (r == 0)
		r = profile_select(&selected, other, 3, true);
	return r;
}

/* Until nothing is refused: what found no memory is tried again. */
static int use_ledger(void)
{
	static const struct stack_cache_limits limits = {10000, 10000, 1 << 20};
	struct stack_cache *ledger;
	int r = stack_cache_new(&ledger, &limits);

	if (r < 0)
		return r;
	stack_cache_begin(ledger);
	for (uint64_t i = 0; i < 1500 && r == 0; i++) {
		struct stack_key key = {.hash = i, .probe = PROBE_MEM_GLIBC};
		struct cached_stack stack = {.who = {.pid = (pid_t)i}};
		int64_t node = tree_child(stack_cache_tree(ledger), TREE_ROOT, FRAME_TYPE_NATIVE,
					  (const char *)&i, sizeof(i));

		stack.node = node < 0 ? 0 : (uint32_t)node;
		r = node < 0 ? (int)node : stack_cache_put(ledger, &key, &stack);
	}
	stack_cache_begin(ledger);
	stack_cache_purge(ledger); /* it does with the memory that it gets */
	stack_cache_clear(ledger);
	stack_cache_free(ledger);
	return r;
}

static int use_records(void)
{
	_cleanup_profile_ struct profile *profile = NULL, *other = NULL;
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
	struct record_who who = {.pid = 1};
	struct record record = {{.node = 1}, 7, 1, &who, {0}};
	int r = profile_new(&profile, PROBE_ONCPU, 1, 2);

	if (r == 0)
		r = profile_new(&other, PROBE_ONCPU, 1, 2);
	if (r == 0)
		r = fill(profile->tree);
	for (record.key.tid = 0; r == 0 && record.key.tid < 100; record.key.tid++)
		r = records_add(profile->records, &record);
	if (r == 0)
		r = profile_merge(other, profile);
	if (r < 0)
		return r;
	struct profile_meta meta = {.records = other->records};
	return jsonl_write(other->tree, TREE_ROOT, &meta, &out);
}

static int use_window(void)
{
	struct window *window;
	uint64_t words[100] = {0};
	int r = window_new(&window, 1000, 1 << 20);

	if (r < 0)
		return r;
	for (uint64_t i = 0; r == 0 && i < 200; i++) {
		struct stack stack = {.key = {.hash = i}, .words_count = 100};

		r = window_add(window, &stack, words);
		assert_int_equal(window_count(window, 0), r == 0 ? i + 1 : i);
		assert_true(r == 0 || !window_find(window, 0, &stack.key));
	}
	window_free(window);
	return r;
}

static int use_loop_and_worker(void)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	struct worker *worker;
	int r = loop_new(&loop);

	if (r == 0)
		r = worker_new(&worker, loop, "test", NS_PER_S);
	if (r < 0)
		return r;
	/* A fence isn't submitted here: the thread's own memory would be counted by chance. */
	worker_stop(worker);
	worker_free(worker);
	return 0;
}

static int use_conf(void)
{
	struct conf conf;
	int r = conf_init(&conf);

	conf_done(&conf);
	return r;
}

SCENARIO(a_buffer_bears_it, use_buf, false)
SCENARIO(a_map_bears_it, use_map, false)
SCENARIO(interned_names_bear_it, use_intern, false)
SCENARIO(a_tree_bears_it, use_tree, false)
SCENARIO(folded_text_bears_it, use_folded, false)
SCENARIO(svg_bears_it, use_svg, false)
SCENARIO(json_bears_it, use_json, false)
SCENARIO(pprof_bears_it, use_pprof, false)
SCENARIO(places_bear_it, use_places, false)
SCENARIO(stacks_bear_it, use_stacks, false)
SCENARIO(judged_functions_bear_it, use_judged, false)
SCENARIO(snoopers_bear_it, use_snoopers, false)
SCENARIO(a_request_bears_it, use_request, false)
SCENARIO(events_of_sched_bear_it, use_sched_data, false)
SCENARIO(a_profile_bears_it, use_profile, false)
SCENARIO(a_ledger_bears_it, use_ledger, true)
SCENARIO(records_bear_it, use_records, false)
SCENARIO(a_window_bears_it, use_window, false)
SCENARIO(loop_and_worker_bear_it, use_loop_and_worker, false)
SCENARIO(the_conf_bears_it, use_conf, false)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_bears_it),
		cmocka_unit_test(a_map_bears_it),
		cmocka_unit_test(interned_names_bear_it),
		cmocka_unit_test(a_tree_bears_it),
		cmocka_unit_test(folded_text_bears_it),
		cmocka_unit_test(svg_bears_it),
		cmocka_unit_test(json_bears_it),
		cmocka_unit_test(pprof_bears_it),
		cmocka_unit_test(places_bear_it),
		cmocka_unit_test(stacks_bear_it),
		cmocka_unit_test(judged_functions_bear_it),
		cmocka_unit_test(snoopers_bear_it),
		cmocka_unit_test(a_request_bears_it),
		cmocka_unit_test(events_of_sched_bear_it),
		cmocka_unit_test(a_profile_bears_it),
		cmocka_unit_test(a_ledger_bears_it),
		cmocka_unit_test(records_bear_it),
		cmocka_unit_test(a_window_bears_it),
		cmocka_unit_test(loop_and_worker_bear_it),
		cmocka_unit_test(the_conf_bears_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
