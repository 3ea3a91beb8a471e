// SPDX-License-Identifier: GPL-2.0-or-later
/* The same of what reads files and keeps what it found (failing_alloc.h). */
#include "unit/lib/failing_alloc.h"
#include "unit/proc/elf_maker.h"
#include "unit/api/requests.h"
#include "unit/output/tree_figures.h"

#include <fcntl.h>

#include "api/conf/conf.h"
#include "loop/loop.h"
#include "base/map.h"
#include "loop/worker.h"
#include "output/files/retention.h"
#include "proc/maps.h"
#include "heap/mmap_ranges.h"
#include "heap/stack_cache.h"
#include "profile/profile.h"
#include "sched/sched_data.h"
#include "mappings/address_space.h"
#include "elf/debugfile.h"
#include "elf/native.h"
#include "unwind/image.h"
#include "file/function_cache.h"
#include "unwind/tables.h"
#include "upload/http/auth.h"

static int resolve_two(int fd, int debug_fd)
{
	struct native_function functions[] = {{.offset = CODE_OFFSET + 0x15},
					      {.offset = CODE_OFFSET + 0x350}};
	_cleanup_buf_ struct buf names = BUF_INIT(1 << 20);

	return native_resolve(fd, debug_fd, true, functions, 2, &names, NULL);
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
	struct function_cache ranges = {0};
	int r = function_cache_add(&ranges, functions, 1, &names);

	if (r == 0) {
		r = function_cache_add(&ranges, functions, 2, &names);
		assert_int_equal(ranges.count, r == 0 ? 2 : 1);
		assert_string_equal(function_cache_name(&ranges, function_cache_find(&ranges, 7)),
				    "one");
	} else {
		assert_int_equal(ranges.count, 0);
	}
	function_cache_done(&ranges);
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
	int r = maps_read(getpid(), 0, &maps);

	if (r == 0)
		maps_done(&maps);
	else
		assert_true(maps.count == 77);
	return r;
}

/* A reading of one mapping of a file; the space takes the reference. */
static int update(struct address_space *space, struct symbol_file *file, uint64_t ns)
{
	struct mapping mapping = {.start = 0x1000, .end = 0x2000, .file_offset = ns};
	struct maps maps = {.mappings = &mapping, .count = 1};
	struct symbol_file *files[] = {symbol_file_ref(file)};
	int r = address_space_update(space, &maps, files, ns);

	if (r < 0)
		symbol_file_unref(file);
	return r;
}

static int use_space(void)
{
	struct address_space *space = NULL, *copy = NULL;
	struct symbol_file *file = symbol_file_nameless("/a");
	bool dropped = false;
	int r = file ? address_space_new(&space) : -ENOMEM;

	for (uint64_t ns = 10; r == 0 && ns <= 50; ns += 10) {
		bool before = failing.failed;

		r = update(space, file, ns);
		assert_int_equal(address_space_read_ns(space), r == 0 ? ns : ns - 10);
		/* What is retired without memory is forgotten; the update counts. */
		dropped |= r == 0 && failing.failed && !before;
		if (dropped)
			break;
	}
	if (r == 0 && !dropped)
		r = address_space_copy(&copy, space);
	address_space_free(space);
	address_space_free(copy);
	symbol_file_unref(file);
	return dropped ? -ENOMEM : r;
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
	struct mmap_ranges *mapped;
	struct mmap_ranges_stats stats;
	struct live_alloc *holdings = NULL;
	int64_t r = mmap_ranges_new(&mapped, 1000);

	if (r < 0)
		return (int)r;
	for (uint32_t i = 0; i < 20; i++) {
		event.stack.tgid = i % 4;
		event.start = i * 0x10000;
		event.end = event.start + 0x8000;
		mmap_ranges_on_event(mapped, &event);
	}
	event.kind = MAPPED_GONE;
	event.time_ns = 2;
	event.start += 0x1000; /* a hole */
	event.end -= 0x1000;
	mmap_ranges_on_event(mapped, &event);
	mmap_ranges_stats(mapped, &stats);
	assert_true(stats.refused ? failing.failed : stats.ranges == 21);
	r = mmap_ranges_list(mapped, &holdings);
	if (r >= 0)
		assert_int_equal(r, stats.ranges);
	free(holdings);
	mmap_ranges_free(mapped);
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
		struct symbol_file *vdso = symbol_files_vdso(files, false);

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

static int use_upload(void)
{
	const struct upload_options said = {.allow = {(char[]){"a:1"}, (char[]){"b"}},
					    .allow_count = 2,
					    .user = (char[]){"x"},
					    .password_file = (char[]){"/proc/self/comm"},
					    .tenant = (char[]){"t"}};
	struct upload_options options, copy = {0};
	struct auth *auth = NULL;
	struct why why = {0};
	int r = upload_options_init(&options);

	if (r < 0)
		return r;
	r = upload_options_copy(&copy, &said);
	if (r == 0)
		r = auth_read(&auth, &copy, &why);
	assert_true(r == 0 || (!auth && (!copy.user || why.text[0])));
	auth_free(auth);
	upload_options_done(&copy);
	upload_options_done(&options);
	return r;
}

SCENARIO(resolving_bears_it, use_native, false)
SCENARIO(known_functions_bear_it, use_ranges, true)
SCENARIO(resolving_in_a_real_file_bears_it, use_real_native, true)
SCENARIO(an_unwind_table_bears_it, use_image, true)
SCENARIO(the_search_for_a_debug_file_bears_it, use_debugfile, true)
SCENARIO(reading_maps_bears_it, use_maps, false)
SCENARIO(a_space_bears_it, use_space, false)
SCENARIO(what_is_mapped_bears_it, use_mapped, false)
SCENARIO(the_arena_bears_it, use_arena, false)
SCENARIO(tables_bear_it, use_tables, true)
SCENARIO(retention_bears_it, use_retention, false)
SCENARIO(what_is_said_of_uploads_bears_it, use_upload, false)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolving_bears_it),
		cmocka_unit_test(known_functions_bear_it),
		cmocka_unit_test(resolving_in_a_real_file_bears_it),
		cmocka_unit_test(an_unwind_table_bears_it),
		cmocka_unit_test(the_search_for_a_debug_file_bears_it),
		cmocka_unit_test(reading_maps_bears_it),
		cmocka_unit_test(a_space_bears_it),
		cmocka_unit_test(what_is_mapped_bears_it),
		cmocka_unit_test(the_arena_bears_it),
		cmocka_unit_test(tables_bear_it),
		cmocka_unit_test(retention_bears_it),
		cmocka_unit_test(what_is_said_of_uploads_bears_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
