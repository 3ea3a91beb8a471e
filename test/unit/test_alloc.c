// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each scenario runs with the 1st, 2nd, 3rd … allocation failing, until none failed: once with that
 * one alone, once with all from there on. It must end with -ENOMEM, leave outputs untouched and
 * (with SAN=1) leak nothing.
 *
 * The linker turns our objects' malloc() and its kin into those below (UNITFLAGS_test_alloc).
 */
#include "elf_maker.h"
#include "requests.h"
#include "tree_figures.h"

#include <fcntl.h>

#include "api/conf.h"
#include "base/intern.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/worker.h"
#include "output/output.h"
#include "output/stacks_svg.h"
#include "output/retention.h"
#include "proc/maps.h"
#include "profile/mapped.h"
#include "profile/ledger.h"
#include "profile/profile.h"
#include "profile/sched_data.h"
#include "profile/space.h"
#include "profile/window.h"
#include "symbol/debugfile.h"
#include "symbol/native.h"
#include "unwind/image.h"
#include "symbol/ranges.h"
#include "unwind/tables.h"

/* Weak: without the linker's flags all tests are skipped. */
void *__real_malloc(size_t bytes) __attribute__((weak));
void *__real_calloc(size_t count, size_t bytes) __attribute__((weak));
void *__real_realloc(void *old, size_t bytes) __attribute__((weak));
void *__real_reallocarray(void *old, size_t count, size_t bytes) __attribute__((weak));
char *__real_strdup(const char *text) __attribute__((weak));
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_reallocarray(void *old, size_t count, size_t bytes);
char *__wrap_strdup(const char *text);

static struct {
	unsigned left; /* until an allocation fails; 0: none does */
	bool all;      /* and all after it */
	bool failed;
} plan;

static bool fails(void)
{
	if (!plan.left || (plan.failed && !plan.all))
		return false;
	if (!plan.failed && --plan.left > 0)
		return false;
	plan.left = 1;
	plan.failed = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_reallocarray(void *old, size_t count, size_t bytes)
{
	return fails() ? NULL : __real_reallocarray(old, count, bytes);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

/* From here on nothing fails: for looking at what is left. */
static void no_more_failures(void)
{
	plan.left = 0;
}

/* `lenient`: it may do with less (a build id that could not be read is left out). */
static void run(int (*scenario)(void), bool lenient)
{
	unsigned failures = 0;

	if (!__real_malloc) {
		print_message("not linked with --wrap=malloc\n");
		skip();
	}
	for (int all = 0; all < 2; all++) {
		for (unsigned n = 1;; n++) {
			plan.left = n;
			plan.all = all;
			plan.failed = false;
			int r = scenario();
			bool failed = plan.failed;

			plan.left = 0;
			if (!failed) {
				assert_int_equal(r, 0);
				break;
			}
			if (r != -ENOMEM && !(lenient && r == 0))
				fail_msg("allocation %u%s: %d", n, all ? " and all after it" : "",
					 r);
			failures++;
		}
	}
	assert_true(failures > 0);
}

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
	struct profile_meta meta = {.title = "T", .count_name = "samples", .host = "h"};
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
	struct store_roots roots = {(const char *const[]){REQUEST_ROOT}, 1};
	char data[sizeof(body)], message[REQUEST_MESSAGE_MAX] = "";
	struct spec spec = {.probes = 77};

	memcpy(data, body, sizeof(body));
	int r = request_parse(data, sizeof(body) - 1, &flamegraph_rules, NULL, &roots, &spec,
			      message);
	if (r == 0)
		spec_done(&spec);
	else
		assert_true(spec.probes == 77 && !spec.snoopers && message[0]);
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

static int resolve_two(int fd, int debug_fd)
{
	struct native_function functions[] = {{.offset = CODE_OFFSET + 0x15},
					      {.offset = CODE_OFFSET + 0x350}};
	_cleanup_buf_ struct buf names = BUF_INIT(1 << 20);

	return native_resolve(fd, debug_fd, functions, 2, &names);
}

static int use_native(void)
{
	static const uint32_t starts[] = {0x10, 0x40, 0x80, 0x300};
	static const struct symbol_plan symbols[] = {FUNCTION("a", 0x10, 0x20),
						     FUNCTION("b", 0x40, 0x20)};
	struct elf_plan elf = {.symbols = symbols,
			       .symbols_count = 2,
			       .dynamic = symbols,
			       .dynamic_count = 1,
			       .unwind = starts,
			       .unwind_count = 4};
	static struct elf_maker maker;
	_cleanup_close_ int fd = file_of(maker.image, elf_make(&maker, &elf));

	return resolve_two(fd, fd);
}

static int use_real_native(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return resolve_two(fd, -1);
}

static int use_ranges(void)
{
	static char text[] = "one\0two";
	struct native_function functions[] = {{.offset = 8, .from = 5, .to = 9},
					      {.offset = 20, .from = 15, .to = 30, .name = 4}};
	struct buf names = {.data = text, .len = sizeof(text)};
	struct ranges ranges = {0};
	int r = ranges_add(&ranges, functions, 1, &names);

	if (r == 0) {
		r = ranges_add(&ranges, functions, 2, &names);
		assert_int_equal(ranges.count, r == 0 ? 2 : 1);
		assert_string_equal(ranges_name(&ranges, ranges_find(&ranges, 7)), "one");
	} else {
		assert_int_equal(ranges.count, 0);
	}
	ranges_done(&ranges);
	return r;
}

static int use_debugfile(void)
{
	static struct elf_maker maker;
	struct elf_plan elf = {.build_id = "12345678", .build_id_bytes = 8};
	_cleanup_close_ int fd = file_of(maker.image, elf_make(&maker, &elf));
	struct debug_search search = {.root_fd = -1, .path = "/bin/nothing", .debugging_dir = NULL};
	struct debug_found found = {0};
	int r = debugfile_open(fd, &search, &found);

	return r == -ENOENT ? 0 : r;
}

static int use_maps(void)
{
	struct maps maps = {.count = 77};
	int r = maps_read(getpid(), &maps);

	if (r == 0)
		maps_done(&maps);
	else
		assert_true(maps.count == 77);
	return r;
}

/* A reading of one mapping of a file; the space takes the reference. */
static int update(struct space *space, struct symbol_file *file, uint64_t ns)
{
	struct mapping mapping = {.start = 0x1000, .end = 0x2000, .file_offset = ns};
	struct maps maps = {.mappings = &mapping, .count = 1};
	struct symbol_file *files[] = {symbol_file_ref(file)};
	int r = space_update(space, &maps, files, ns);

	if (r < 0)
		symbol_file_unref(file);
	return r;
}

static int use_space(void)
{
	struct space *space = NULL, *copy = NULL;
	struct symbol_file *file = symbol_file_nameless("/a");
	bool dropped = false;
	int r = file ? space_new(&space) : -ENOMEM;

	for (uint64_t ns = 10; r == 0 && ns <= 50; ns += 10) {
		bool before = plan.failed;

		r = update(space, file, ns);
		assert_int_equal(space_read_ns(space), r == 0 ? ns : ns - 10);
		/* What is retired without memory is forgotten; the update counts. */
		dropped |= r == 0 && plan.failed && !before;
		if (dropped)
			break;
	}
	if (r == 0 && !dropped)
		r = space_copy(&copy, space);
	space_free(space);
	space_free(copy);
	symbol_file_unref(file);
	return dropped ? -ENOMEM : r;
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
		r = profile_select(&selected, other, 3);
	return r;
}

/* Until nothing is refused: what found no memory is tried again. */
static int use_ledger(void)
{
	static const struct ledger_limits limits = {10000, 10000, 1 << 20};
	struct ledger *ledger;
	int r = ledger_new(&ledger, &limits);

	if (r < 0)
		return r;
	ledger_begin(ledger);
	for (uint64_t i = 0; i < 1500 && r == 0; i++) {
		struct stack_key key = {.hash = i, .probe = PROBE_MEM_GLIBC};
		struct ledger_stack stack = {.who = {.pid = (pid_t)i}};
		int64_t node = tree_child(ledger_tree(ledger), TREE_ROOT, FRAME_TYPE_NATIVE,
					  (const char *)&i, sizeof(i));

		stack.node = node < 0 ? 0 : (uint32_t)node;
		r = node < 0 ? (int)node : ledger_put(ledger, &key, &stack);
	}
	ledger_begin(ledger);
	ledger_purge(ledger); /* it does with the memory that it gets */
	ledger_clear(ledger);
	ledger_free(ledger);
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

/* This program's own table. */
static int use_image(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct table_image image;
	int r = image_build(fd, &image);

	assert_true(r == 0 ? image.words && image.count > image.blocks : !image.words);
	image_done(&image);
	return r;
}

static int use_conf(void)
{
	struct conf conf;
	int r = conf_init(&conf);

	conf_done(&conf);
	return r;
}

static int use_retention(void)
{
	struct retention *retention = NULL;
	struct retention_setup setup = {.roots = {(const char *const[]){REQUEST_ROOT}, 1},
					.svg_dir = REQUEST_ROOT,
					.flame_dir = REQUEST_ROOT,
					.limits = {.bytes = 1}};
	int r = retention_new(&retention, &setup);

	assert_true(r == 0 || !retention);
	retention_free(retention);
	return r;
}

static uint32_t arena_memory[4 * CHUNK_WORDS];

static int add_chunk(void *arg, unsigned chunk)
{
	(void)arg, (void)chunk;
	return 0;
}

static void remove_chunk(void *arg, unsigned chunk)
{
	(void)arg, (void)chunk;
}

/* What finds no memory is refused, and what is left stays as it was. */
static int use_mapped(void)
{
	struct mapped_event event = {.kind = MAPPED_CAME, .time_ns = 1};
	struct mapped *mapped;
	struct mapped_stats stats;
	struct holding *holdings = NULL;
	int64_t r = mapped_new(&mapped, 1000);

	if (r < 0)
		return (int)r;
	for (uint32_t i = 0; i < 20; i++) {
		event.stack.tgid = i % 4;
		event.start = i * 0x10000;
		event.end = event.start + 0x8000;
		mapped_on_event(mapped, &event);
	}
	event.kind = MAPPED_GONE;
	event.time_ns = 2;
	event.start += 0x1000; /* a hole */
	event.end -= 0x1000;
	mapped_on_event(mapped, &event);
	mapped_stats(mapped, &stats);
	assert_true(stats.refused ? plan.failed : stats.ranges == 21);
	r = mapped_list(mapped, &holdings);
	if (r >= 0)
		assert_int_equal(r, stats.ranges);
	free(holdings);
	mapped_free(mapped);
	return r < 0 || stats.refused ? -ENOMEM : 0;
}

static int use_arena(void)
{
	struct arena_memory memory = {arena_memory, add_chunk, remove_chunk, NULL};
	struct arena_stats stats;
	struct arena *arena;
	int64_t runs[300], r = arena_new(&arena, &memory, sizeof(arena_memory));
	size_t count = 0;

	if (r < 0)
		return (int)r;
	while (r >= 0 && count < ARRAY_SIZE(runs)) {
		r = arena_take(arena, 100, count % 2);
		if (r >= 0)
			runs[count++] = r;
	}
	arena_stats(arena, &stats);
	assert_int_equal(stats.used, count * 400);
	/* Giving back needs no memory. */
	for (size_t i = 0; i < count; i += 2)
		arena_give(arena, (uint32_t)runs[i], 100);
	for (size_t i = 1; i < count; i += 2)
		arena_give(arena, (uint32_t)runs[i], 100);
	arena_settle(arena);
	arena_settle(arena);
	arena_stats(arena, &stats);
	assert_int_equal(stats.bytes, 0);
	arena_free(arena);
	return r < 0 ? (int)r : 0;
}

static void nothing_changed(void *arg)
{
	(void)arg;
}

/* The worker is stopped: it frees jobs unread. */
static int use_tables_of(struct worker *worker, struct arena *arena)
{
	struct symbol_place place = {getpid(), 1, 2};
	struct symbol_file *file = symbol_file_nameless("/a");
	struct symbol_files *files = NULL;
	struct tables *tables = NULL;
	struct table *table[2] = {0};
	int r = file ? tables_new(&tables, worker, nothing_changed, NULL) : -ENOMEM;

	if (r == 0)
		r = symbol_files_new(&files, worker);
	if (r == 0) {
		tables_set_arena(tables, arena);
		struct symbol_file *vdso = symbol_files_vdso(files);

		table[0] = tables_get(tables, file, &place);
		table[1] = vdso ? tables_get(tables, vdso, &place) : NULL;
		r = table[0] && table[1] ? 0 : -ENOMEM;
		symbol_file_unref(vdso);
	}
	table_unref(table[0]);
	table_unref(table[1]);
	tables_free(tables);
	symbol_files_free(files);
	symbol_file_unref(file);
	return r;
}

static int use_tables(void)
{
	struct arena_memory memory = {arena_memory, add_chunk, remove_chunk, NULL};
	_cleanup_(loop_freep) struct loop *loop = NULL;
	struct worker *worker = NULL;
	struct arena *arena = NULL;
	int r = loop_new(&loop);

	if (r == 0)
		r = worker_new(&worker, loop, "test", NS_PER_S);
	worker_stop(worker);
	if (r == 0)
		r = arena_new(&arena, &memory, sizeof(arena_memory));
	if (r == 0)
		r = use_tables_of(worker, arena);
	arena_free(arena);
	worker_free(worker);
	return r;
}

#define SCENARIO(name, scenario, lenient)                                                          \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		run(scenario, lenient);                                                            \
	}

SCENARIO(a_buffer_bears_it, use_buf, false)
SCENARIO(a_map_bears_it, use_map, false)
SCENARIO(interned_names_bear_it, use_intern, false)
SCENARIO(a_tree_bears_it, use_tree, false)
SCENARIO(folded_text_bears_it, use_folded, false)
SCENARIO(svg_bears_it, use_svg, false)
SCENARIO(json_bears_it, use_json, false)
SCENARIO(stacks_bear_it, use_stacks, false)
SCENARIO(snoopers_bear_it, use_snoopers, false)
SCENARIO(a_request_bears_it, use_request, false)
SCENARIO(events_of_sched_bear_it, use_sched_data, false)
SCENARIO(resolving_bears_it, use_native, false)
SCENARIO(known_functions_bear_it, use_ranges, true)
SCENARIO(resolving_in_a_real_file_bears_it, use_real_native, true)
SCENARIO(an_unwind_table_bears_it, use_image, true)
SCENARIO(the_search_for_a_debug_file_bears_it, use_debugfile, true)
SCENARIO(reading_maps_bears_it, use_maps, false)
SCENARIO(a_space_bears_it, use_space, false)
SCENARIO(a_profile_bears_it, use_profile, false)
SCENARIO(a_ledger_bears_it, use_ledger, true)
SCENARIO(records_bear_it, use_records, false)
SCENARIO(a_window_bears_it, use_window, false)
SCENARIO(loop_and_worker_bear_it, use_loop_and_worker, false)
SCENARIO(what_is_mapped_bears_it, use_mapped, false)
SCENARIO(the_arena_bears_it, use_arena, false)
SCENARIO(tables_bear_it, use_tables, true)
SCENARIO(the_conf_bears_it, use_conf, false)
SCENARIO(retention_bears_it, use_retention, false)

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
		cmocka_unit_test(stacks_bear_it),
		cmocka_unit_test(snoopers_bear_it),
		cmocka_unit_test(a_request_bears_it),
		cmocka_unit_test(events_of_sched_bear_it),
		cmocka_unit_test(resolving_bears_it),
		cmocka_unit_test(known_functions_bear_it),
		cmocka_unit_test(resolving_in_a_real_file_bears_it),
		cmocka_unit_test(an_unwind_table_bears_it),
		cmocka_unit_test(the_search_for_a_debug_file_bears_it),
		cmocka_unit_test(reading_maps_bears_it),
		cmocka_unit_test(a_space_bears_it),
		cmocka_unit_test(a_profile_bears_it),
		cmocka_unit_test(a_ledger_bears_it),
		cmocka_unit_test(records_bear_it),
		cmocka_unit_test(a_window_bears_it),
		cmocka_unit_test(loop_and_worker_bear_it),
		cmocka_unit_test(what_is_mapped_bears_it),
		cmocka_unit_test(the_arena_bears_it),
		cmocka_unit_test(tables_bear_it),
		cmocka_unit_test(the_conf_bears_it),
		cmocka_unit_test(retention_bears_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
