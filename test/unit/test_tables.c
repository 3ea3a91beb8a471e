// SPDX-License-Identifier: GPL-2.0-only
/* Images are made up here (--wrap): a file's content tells what its table is like. */
#include "folder.h"

#include <elf.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/loop.h"
#include "symbol/file.h"
#include "symbol/held.h"
#include "unwind/tables.h"

#define LIMIT_NS    (100 * NS_PER_MS)
#define CHUNK_BYTES (CHUNK_WORDS * 4U)
#define CHUNKS_HERE 4U
#define LOW	    0x400000u
#define LARGE	    20000u /* words: such a table may cross chunks */
#define LEFT_OVER   3u

int __wrap_image_build(int fd, struct table_image *image);
void __wrap_image_done(struct table_image *image);
size_t __wrap_image_room(const struct table_image *image);
uint32_t __wrap_image_place(const struct table_image *image, uint32_t start, uint32_t *to);

/* What is in a file. */
#define MAGIC 0x6e616c70
struct plan {
	uint32_t magic; /* put() */
	int32_t error;
	uint32_t words;
	uint64_t content, checksum;
	bool hangs, tracks_bx, foreign;
};

static atomic_int builds;
static sem_t may_go_on; /* those that hang wait for it */

static uint16_t own_machine(void)
{
	Elf64_Ehdr header = {0};
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, &header, sizeof(header)), sizeof(header));
	return header.e_machine;
}

int __wrap_image_build(int fd, struct table_image *image)
{
	struct plan plan;

	if (pread(fd, &plan, sizeof(plan), 0) != sizeof(plan))
		return -EIO;
	atomic_fetch_add(&builds, 1);
	if (plan.magic != MAGIC)
		return -ENOEXEC;
	if (plan.hangs)
		sem_wait(&may_go_on);
	*image = (struct table_image){
		.segments = {{0x140, 0x80, 0x400140}, {0x1040, 0x2000, 0x402040}},
		.segments_count = 2,
		.low = LOW,
		.blocks = 7,
		.index = plan.words / 2,
		.checksum = plan.checksum,
		.tracks_bx = plan.tracks_bx,
		.machine = plan.foreign ? EM_S390 : own_machine(),
		.stats = {.rows = plan.words, .unsupported = {1, 2}},
	};
	if (plan.error)
		return plan.error;
	image->words = calloc(plan.words, sizeof(uint32_t));
	image->count = plan.words;
	for (size_t i = 0; i < plan.words; i++)
		image->words[i] = (uint32_t)plan.content + (uint32_t)i;
	return 0;
}

void __wrap_image_done(struct table_image *image)
{
	free(image->words);
	image->words = NULL;
}

size_t __wrap_image_room(const struct table_image *image)
{
	return image->count + LEFT_OVER;
}

uint32_t __wrap_image_place(const struct table_image *image, uint32_t start, uint32_t *to)
{
	memcpy(to, image->words, image->count * sizeof(*to));
	to[0] = start;
	return start + image->index;
}

/* ---- the scene ---- */

struct scene {
	struct loop *loop;
	struct worker *worker;
	struct symbol_files *files;
	struct tables *tables;
	struct arena *arena;
	uint32_t *words;
	struct folder folder;
	struct loop_timer alarm;
	int changes;
	bool asleep;
};

static void on_changed(void *arg)
{
	struct scene *scene = arg;
	struct tables_stats stats;

	scene->changes++;
	tables_stats(scene->tables, &stats);
	if (!stats.pending && scene->asleep)
		loop_stop(scene->loop);
}

static void fail_in_vain(void *arg)
{
	const struct scene *scene = arg;

	loop_stop(scene->loop);
}

static int add_chunk(void *arg, unsigned chunk)
{
	const struct scene *scene = arg;

	memset(scene->words + (size_t)chunk * CHUNK_WORDS, 0, CHUNK_BYTES);
	return 0;
}

static void remove_chunk(void *arg, unsigned chunk)
{
	const struct scene *scene = arg;

	memset(scene->words + (size_t)chunk * CHUNK_WORDS, 0xff, CHUNK_BYTES);
}

static void new_arena(struct scene *scene, unsigned chunks)
{
	struct arena_memory memory = {scene->words, add_chunk, remove_chunk, scene};

	arena_free(scene->arena);
	assert_int_equal(arena_new(&scene->arena, &memory, (size_t)chunks * CHUNK_BYTES), 0);
}

static void scene_make(struct scene *scene, unsigned chunks)
{
	*scene = (struct scene){.alarm = {.expired = fail_in_vain, .arg = scene}};
	builds = 0;
	sem_init(&may_go_on, 0, 0);
	folder_make(&scene->folder);
	scene->words = malloc(CHUNKS_HERE * CHUNK_BYTES);
	assert_non_null(scene->words);
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", LIMIT_NS), 0);
	assert_int_equal(symbol_files_new(&scene->files, scene->worker), 0);
	assert_int_equal(tables_new(&scene->tables, scene->worker, on_changed, scene), 0);
	new_arena(scene, chunks);
	tables_set_arena(scene->tables, scene->arena);
}

static void scene_done(struct scene *scene)
{
	worker_stop(scene->worker);
	loop_flush(scene->loop);
	tables_free(scene->tables);
	arena_free(scene->arena);
	symbol_files_free(scene->files);
	worker_free(scene->worker);
	loop_free(scene->loop);
	free(scene->words);
	folder_done(&scene->folder);
}

static struct tables_stats stats_of(const struct scene *scene)
{
	struct tables_stats stats;

	tables_stats(scene->tables, &stats);
	return stats;
}

/* Until no table is on its way. */
static void wait_for_tables(struct scene *scene)
{
	if (!stats_of(scene).pending)
		return;
	scene->asleep = true;
	loop_timer_set(scene->loop, &scene->alarm, loop_now_ns() + 20 * NS_PER_S);
	assert_int_equal(loop_run(scene->loop), 0);
	loop_timer_cancel(scene->loop, &scene->alarm);
	scene->asleep = false;
	assert_int_equal(stats_of(scene).pending, 0);
}

static void put(const struct scene *scene, const char *name, const struct plan *plan)
{
	struct plan marked = *plan;

	marked.magic = MAGIC;
	folder_put(&scene->folder, name, &marked, sizeof(marked));
}

/* Windows pass. */
static void sweep(struct scene *scene, int times)
{
	for (int i = 0; i < times; i++) {
		tables_sweep(scene->tables);
		wait_for_tables(scene);
	}
}

/* A file as somebody has it who has just looked; `held`: he holds it open. */
static struct symbol_file *look_at(struct scene *scene, const char *name, bool held)
{
	char path[512];
	struct stat stat;
	int fd = openat(scene->folder.fd, name, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &stat), 0);
	snprintf(path, sizeof(path), "%s/%s", scene->folder.path, name);
	if (!held) {
		close(fd);
		fd = -1;
	} else {
		assert_true(held_take());
	}
	struct symbol_file *file = symbol_files_get(scene->files, &fd, &stat, path, NULL, NULL);
	assert_non_null(file);
	if (fd >= 0) {
		close(fd);
		held_give();
	}
	return file;
}

static struct table *get_as(struct scene *scene, const char *name, bool held, pid_t pid)
{
	struct symbol_place place = {.pid = pid, .start = 1, .end = 2};
	struct symbol_file *file = look_at(scene, name, held);
	struct table *table = tables_get(scene->tables, file, &place);

	assert_non_null(table);
	symbol_file_unref(file);
	return table;
}

static struct table *get(struct scene *scene, const char *name)
{
	return get_as(scene, name, true, 1);
}

/* A file with a table of its own. */
static struct table *get_new(struct scene *scene, const char *name, uint32_t words)
{
	static uint64_t content;
	struct plan plan = {.words = words};

	content += 1000000;
	plan.content = plan.checksum = content;
	put(scene, name, &plan);
	return get(scene, name);
}

/* The mapping of its code. */
static struct span span_of(struct scene *scene, struct table *table)
{
	struct span span = {.start = 0x7f0000001000, .end = 0x7f0000004000};

	table_span(scene->tables, table, 0x1000, &span);
	return span;
}

static enum span_kind kind_of(struct scene *scene, struct table *table)
{
	return span_of(scene, table).what >> SPAN_KIND_SHIFT & SPAN_KIND_MASK;
}

/* ---- tests ---- */

static void a_table_is_pending_until_it_is_built(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *table = get_new(&scene, "a", 1000);
	assert_true(table_is_pending(table));
	assert_int_equal(kind_of(&scene, table), SPAN_PENDING);
	assert_int_equal(scene.changes, 0);
	wait_for_tables(&scene);
	assert_int_equal(scene.changes, 1);
	assert_false(table_is_pending(table));
	assert_int_equal(kind_of(&scene, table), SPAN_TABLE);
	struct tables_stats stats = stats_of(&scene);
	assert_int_equal(stats.tables, 1);
	assert_int_equal(stats.built, 1);
	assert_int_equal(stats.rows, 1000);
	assert_int_equal(stats.bytes, 1000 * 4);
	assert_int_equal(stats.unsupported[1], 2);
	assert_int_equal(stats.arena.used, stats.bytes);
	table_unref(table);
	scene_done(&scene);
}

static void a_span_tells_where_its_code_is_in_the_table(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 100, .content = 5000, .checksum = 1, .tracks_bx = true};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	struct table *table = get(&scene, "a");
	wait_for_tables(&scene);
	struct span span = span_of(&scene, table);
	/* Its segment begins at 0x1040 in the file and at 0x402040 as linked. */
	assert_int_equal(span.start + 0x40 - span.base, 0x402040 - LOW);
	assert_int_equal(span.what, 7 | SPAN_TABLE << SPAN_KIND_SHIFT | SPAN_TRACKS_BX);
	assert_int_equal(*arena_words(scene.arena, span.index), 5000 + 50);
	/* A part of it, as mprotect() makes them. */
	struct span part = {.start = 0x7f0000002000, .end = 0x7f0000003000};
	table_span(scene.tables, table, 0x2000, &part);
	assert_int_equal(part.base, span.base);
	/* A mapping with the end of one segment, or none of them. */
	struct span other = {.start = 0x10000, .end = 0x11000};
	table_span(scene.tables, table, 0, &other);
	assert_int_equal(other.start + 0x140 - other.base, 0x400140 - LOW);
	struct span none = {.start = 0x10000, .end = 0x11000};
	table_span(scene.tables, table, 0x5000, &none);
	assert_int_equal(none.what, SPAN_BARE << SPAN_KIND_SHIFT);
	table_unref(table);
	scene_done(&scene);
}

static void no_offset_of_a_mapping_reaches_too_far(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *table = get_new(&scene, "a", 100);
	wait_for_tables(&scene);
	static const uint64_t offsets[] = {UINT64_MAX, UINT64_MAX - 0xfff, 1ULL << 63, 0x3040};
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		struct span span = {.start = 0x10000, .end = 0x20000};

		table_span(scene.tables, table, offsets[i], &span);
		assert_int_equal(span.what, SPAN_BARE << SPAN_KIND_SHIFT);
	}
	table_unref(table);
	scene_done(&scene);
}

static void one_file_is_read_once(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *table = get_new(&scene, "a", 1000);
	struct table *again = get(&scene, "a");
	assert_ptr_equal(table, again);
	wait_for_tables(&scene);
	struct table *late = get(&scene, "a");
	assert_ptr_equal(table, late);
	assert_int_equal(builds, 1);
	assert_int_equal(stats_of(&scene).shared, 0);
	table_unref(table);
	table_unref(again);
	table_unref(late);
	scene_done(&scene);
}

static void a_large_table_crosses_chunks_a_small_one_does_not(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	assert_int_equal(arena_take(scene.arena, CHUNK_WORDS - 100, false), 1);
	struct table *large = get_new(&scene, "a", LARGE), *small = get_new(&scene, "b", 1000);
	wait_for_tables(&scene);
	uint32_t at = span_of(&scene, large).index;
	assert_int_equal(at, CHUNK_WORDS - 99 + LARGE / 2);
	assert_int_equal(*arena_words(scene.arena, at - LARGE / 2), CHUNK_WORDS - 99);
	assert_int_equal(span_of(&scene, small).index % SPAN_WORDS, 500 % SPAN_WORDS);
	assert_int_equal(stats_of(&scene).bytes, (LARGE + LEFT_OVER + 1000) * 4);
	table_unref(large);
	table_unref(small);
	scene_done(&scene);
}

static void files_of_equal_content_share_a_table(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 1000, .content = 7, .checksum = 7};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	put(&scene, "b", &plan);
	struct table *a = get(&scene, "a"), *b = get(&scene, "b");
	wait_for_tables(&scene);
	assert_ptr_not_equal(a, b);
	assert_int_equal(builds, 2);
	struct tables_stats stats = stats_of(&scene);
	assert_int_equal(stats.built, 1);
	assert_int_equal(stats.shared, 1);
	assert_int_equal(stats.tables, 1);
	assert_int_equal(stats.arena.used, 1000 * 4);
	assert_int_equal(span_of(&scene, a).index, span_of(&scene, b).index);
	/* It stays as long as one of them is there. */
	table_unref(a);
	sweep(&scene, 3);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	assert_int_equal(stats_of(&scene).tables, 1);
	table_unref(b);
	scene_done(&scene);
}

static void a_forged_checksum_does_not_get_a_file_into_anothers_table(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 1000, .content = 7, .checksum = 7};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	plan.content = 8;
	put(&scene, "b", &plan);
	struct table *a = get(&scene, "a"), *b = get(&scene, "b");
	wait_for_tables(&scene);
	assert_int_equal(stats_of(&scene).shared, 0);
	assert_int_equal(*arena_words(scene.arena, span_of(&scene, a).index), 7 + 500);
	assert_int_equal(*arena_words(scene.arena, span_of(&scene, b).index), 8 + 500);
	table_unref(a);
	table_unref(b);
	scene_done(&scene);
}

/* What was in those words before is no part of it. */
static void a_table_in_used_words_is_shared_too(void **state)
{
	struct scene scene;
	struct plan plan = {.words = LARGE, .content = 7, .checksum = 7};

	(void)state;
	scene_make(&scene, 4);
	int64_t start = arena_take(scene.arena, 2 * LARGE, false);
	int64_t lid = arena_take(scene.arena, CHUNK_WORDS - 2 * LARGE - 1, false);
	assert_true(lid > start);
	memset(arena_words(scene.arena, (uint32_t)start), 0x77, 8 * LARGE);
	arena_give(scene.arena, (uint32_t)start, 2 * LARGE);
	arena_settle(scene.arena);
	arena_settle(scene.arena);
	put(&scene, "a", &plan);
	put(&scene, "b", &plan);
	struct table *a = get(&scene, "a"), *b = get(&scene, "b");
	wait_for_tables(&scene);
	assert_true(span_of(&scene, a).index < lid);
	assert_int_equal(stats_of(&scene).shared, 1);
	table_unref(a);
	table_unref(b);
	scene_done(&scene);
}

static void files_without_tables_are_told_from_files_that_can_not_be_read(void **state)
{
	static const struct {
		const char *name;
		int error;
		enum span_kind kind;
	} cases[] = {
		{"no_elf", -ENOEXEC, SPAN_BARE},    {"foreign", 0, SPAN_BARE},
		{"no_cfi", -ENOENT, SPAN_BARE},	    {"broken", -EBADMSG, SPAN_NO_TABLE},
		{"too_big", -EFBIG, SPAN_NO_TABLE}, {"io_error", -EIO, SPAN_NO_TABLE},
	};
	struct scene scene;
	struct table *tables[ARRAY_SIZE(cases)];

	(void)state;
	scene_make(&scene, 4);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan plan = {.error = cases[i].error, .foreign = true, .words = 10};

		put(&scene, cases[i].name, &plan);
		tables[i] = get(&scene, cases[i].name);
	}
	wait_for_tables(&scene);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(kind_of(&scene, tables[i]), cases[i].kind);
	assert_int_equal(stats_of(&scene).bare, 3);
	assert_int_equal(stats_of(&scene).failed, 3);
	/* Only the last may become better. */
	sweep(&scene, 1);
	assert_int_equal(builds, ARRAY_SIZE(cases) + 1);
	assert_int_equal(stats_of(&scene).failed, 3);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		table_unref(tables[i]);
	scene_done(&scene);
}

static void a_file_that_could_not_be_looked_at_is_never_asked_for(void **state)
{
	struct scene scene;
	struct symbol_place place = {1, 1, 2};
	struct symbol_file *file = symbol_file_nameless("/gone");

	(void)state;
	scene_make(&scene, 4);
	struct table *table = tables_get(scene.tables, file, &place);
	assert_non_null(table);
	assert_false(table_is_pending(table));
	assert_int_equal(kind_of(&scene, table), SPAN_NO_TABLE);
	table_unref(table);
	symbol_file_unref(file);
	scene_done(&scene);
}

static void the_vdso_is_a_file_like_others(void **state)
{
	struct scene scene;
	struct symbol_place place = {0};

	(void)state;
	scene_make(&scene, 4);
	struct symbol_file *file = symbol_files_vdso(scene.files);
	assert_non_null(file);
	struct table *table = tables_get(scene.tables, file, &place);
	assert_true(table_is_pending(table));
	symbol_files_trim(scene.files, 0); /* it can't be opened anew */
	wait_for_tables(&scene);
	assert_int_equal(builds, 1);
	assert_int_equal(kind_of(&scene, table),
			 SPAN_BARE); /* it was read: its bytes are no plan */
	table_unref(table);
	symbol_file_unref(file);
	scene_done(&scene);
}

/* ---- time ---- */

static void tables_leave_after_a_whole_window_without_a_reference(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *table = get_new(&scene, "a", 1000);
	wait_for_tables(&scene);
	tables_sweep(scene.tables);
	tables_sweep(scene.tables);
	assert_int_equal(stats_of(&scene).tables, 1);
	table_unref(table);
	tables_sweep(scene.tables);
	assert_int_equal(stats_of(&scene).tables, 1);
	table = get(&scene, "a"); /* back in time */
	assert_int_equal(kind_of(&scene, table), SPAN_TABLE);
	assert_int_equal(builds, 1);
	table_unref(table);
	tables_sweep(scene.tables);
	tables_sweep(scene.tables);
	struct tables_stats stats = stats_of(&scene);
	assert_int_equal(stats.tables, 0);
	assert_int_equal(stats.arena.used, 0);
	assert_int_equal(stats.arena.given, 1000 * 4);
	sweep(&scene, 2);
	assert_int_equal(stats_of(&scene).arena.bytes, 0);
	scene_done(&scene);
}

static void what_nobody_wants_any_more_is_not_built(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *a = get_new(&scene, "a", 10), *b = get_new(&scene, "b", 10);
	table_unref(b); /* while `a` is being built */
	wait_for_tables(&scene);
	assert_int_equal(builds, 1);
	b = get(&scene, "b");
	wait_for_tables(&scene);
	assert_int_equal(builds, 2);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	table_unref(a);
	table_unref(b);
	scene_done(&scene);
}

static void tables_come_back_with_a_new_arena(void **state)
{
	struct scene scene;
	struct plan bare = {.error = -ENOENT};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "bare", &bare);
	struct table *a = get_new(&scene, "a", 1000), *b = get(&scene, "bare");
	struct table *c = get_new(&scene, "c", 1000);
	wait_for_tables(&scene);
	table_unref(c);
	new_arena(&scene, 4); /* the one before is gone, with all its memory */
	tables_set_arena(scene.tables, NULL);
	assert_int_equal(kind_of(&scene, a), SPAN_NO_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_BARE);
	assert_int_equal(stats_of(&scene).tables, 0);
	struct table *d = get_new(&scene, "d", 500);
	assert_false(table_is_pending(d));
	assert_false(tables_evict(scene.tables, 1));
	tables_sweep(scene.tables);
	assert_int_equal(builds, 3);
	tables_set_arena(scene.tables, scene.arena);
	assert_true(table_is_pending(a));
	wait_for_tables(&scene);
	assert_int_equal(builds, 5); /* `a` and `d` */
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, d), SPAN_TABLE);
	assert_int_equal(stats_of(&scene).arena.used, (1000 + 500) * 4);
	table_unref(a);
	table_unref(b);
	table_unref(d);
	scene_done(&scene);
}

static void a_build_that_outlives_its_arena_lands_in_the_next(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *a = get_new(&scene, "a", 1000), *b = get_new(&scene, "b", 1000);
	new_arena(&scene, 4);
	tables_set_arena(scene.tables, NULL);
	tables_set_arena(scene.tables, scene.arena);
	assert_true(table_is_pending(a) && table_is_pending(b));
	wait_for_tables(&scene);
	assert_int_equal(builds, 2);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	/* And where there is none any more it is thrown away. */
	struct table *c = get_new(&scene, "c", 1000);
	tables_set_arena(scene.tables, NULL);
	worker_stop(scene.worker);
	loop_flush(scene.loop);
	assert_int_equal(kind_of(&scene, c), SPAN_NO_TABLE);
	table_unref(a);
	table_unref(b);
	table_unref(c);
	scene_done(&scene);
}

/* ---- room ---- */

#define HALF (CHUNK_WORDS / 2 - 100)

static void those_that_nobody_wants_go_first_then_those_used_least(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 2);
	struct table *a = get_new(&scene, "a", HALF), *b = get_new(&scene, "b", HALF);
	struct table *c = get_new(&scene, "c", HALF), *d = get_new(&scene, "d", HALF);
	wait_for_tables(&scene);
	kind_of(&scene, b);
	kind_of(&scene, a);
	kind_of(&scene, c);
	kind_of(&scene, d);
	table_unref(d);
	scene.changes = 0;
	assert_true(tables_evict(scene.tables, 1));
	assert_int_equal(scene.changes, 0);
	assert_int_equal(stats_of(&scene).evicted, 1);
	assert_true(tables_evict(scene.tables, HALF + LEFT_OVER)); /* it is on its way */
	assert_int_equal(stats_of(&scene).evicted, 1);
	assert_true(tables_evict(scene.tables, HALF + LEFT_OVER + 1));
	assert_int_equal(stats_of(&scene).evicted, 2);
	assert_int_equal(scene.changes, 1);
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, c), SPAN_TABLE);
	assert_true(tables_evict(scene.tables, SIZE_MAX));
	assert_int_equal(scene.changes, 2);
	assert_int_equal(stats_of(&scene).evicted, 4);
	assert_int_equal(stats_of(&scene).tables, 0);
	assert_false(tables_evict(scene.tables, SIZE_MAX));
	table_unref(a);
	table_unref(b);
	table_unref(c);
	scene_done(&scene);
}

static void a_newcomer_gets_its_room_at_the_next_sweep(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 1);
	struct table *a = get_new(&scene, "a", HALF), *b = get_new(&scene, "b", HALF);
	wait_for_tables(&scene);
	kind_of(&scene, a); /* `b` is used least */
	struct table *c = get_new(&scene, "c", HALF);
	wait_for_tables(&scene);
	assert_int_equal(kind_of(&scene, c), SPAN_NO_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	struct tables_stats stats = stats_of(&scene);
	assert_int_equal(stats.refused, 1);
	assert_int_equal(stats.evicted, 1);
	sweep(&scene, 2);
	assert_int_equal(kind_of(&scene, c), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	/* Who was let go chases nobody: it waits until there is room. */
	int before = builds;
	sweep(&scene, 10);
	assert_int_equal(builds, before);
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	assert_int_equal(stats_of(&scene).evicted, 1);
	table_unref(a);
	sweep(&scene, 4);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	assert_int_equal(stats_of(&scene).refused, 1);
	table_unref(b);
	table_unref(c);
	scene_done(&scene);
}

static void several_newcomers_get_room_together(void **state)
{
	struct scene scene;
	struct table *old[4], *new[2];
	char name[2] = "a";

	(void)state;
	scene_make(&scene, 1);
	for (int i = 0; i < 4; i++, name[0]++)
		old[i] = get_new(&scene, name, CHUNK_WORDS / 4 - 10);
	wait_for_tables(&scene);
	for (int i = 0; i < 2; i++, name[0]++)
		new[i] = get_new(&scene, name, CHUNK_WORDS / 4 - 10);
	wait_for_tables(&scene);
	assert_int_equal(stats_of(&scene).evicted, 2);
	sweep(&scene, 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(kind_of(&scene, old[i]), i < 2 ? SPAN_NO_TABLE : SPAN_TABLE);
	for (int i = 0; i < 2; i++)
		assert_int_equal(kind_of(&scene, new[i]), SPAN_TABLE);
	for (int i = 0; i < 4; i++)
		table_unref(old[i]);
	for (int i = 0; i < 2; i++)
		table_unref(new[i]);
	scene_done(&scene);
}

static void a_giant_drives_nobody_out(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 1);
	struct table *a = get_new(&scene, "a", HALF + 200);
	wait_for_tables(&scene);
	struct table *b = get_new(&scene, "b", HALF + 200);
	wait_for_tables(&scene);
	sweep(&scene, 4);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	assert_int_equal(stats_of(&scene).refused, 1);
	/* Once there is room it is welcome. */
	table_unref(a);
	sweep(&scene, 8);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	assert_int_equal(stats_of(&scene).evicted, 0);
	table_unref(b);
	scene_done(&scene);
}

/* There are words enough, but not in a row. */
static void a_large_newcomer_gets_words_in_a_row(void **state)
{
	enum { MANY = 16, EACH = CHUNK_WORDS / MANY - 8 };
	struct scene scene;
	struct table *small[MANY];
	char name[2] = "a";
	int left = 0;

	(void)state;
	scene_make(&scene, 1);
	for (int i = 0; i < MANY; i++, name[0]++)
		small[i] = get_new(&scene, name, EACH);
	wait_for_tables(&scene);
	for (int i = 0; i < MANY; i++)
		kind_of(&scene, small[i]);
	for (int i = 0; i < MANY; i += 2)
		table_unref(small[i]);
	sweep(&scene, 4);
	assert_int_equal(stats_of(&scene).tables, MANY / 2);
	struct table *large = get_new(&scene, "large", 3 * EACH);
	wait_for_tables(&scene);
	assert_int_equal(stats_of(&scene).evicted, 1);
	sweep(&scene, 2);
	assert_int_equal(kind_of(&scene, large), SPAN_TABLE);
	for (int i = 1; i < MANY; i += 2) {
		left += kind_of(&scene, small[i]) == SPAN_TABLE;
		table_unref(small[i]);
	}
	assert_int_equal(left, MANY / 2); /* who was let go has found another place */
	table_unref(large);
	scene_done(&scene);
}

static void what_never_fits_drives_nobody_out(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 1);
	struct table *a = get_new(&scene, "a", 1000), *b = get_new(&scene, "b", CHUNK_WORDS);
	wait_for_tables(&scene);
	sweep(&scene, 3);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	assert_int_equal(stats_of(&scene).refused, 1);
	assert_int_equal(stats_of(&scene).evicted, 0);
	assert_int_equal(builds, 2);
	/* There is more room in another arena. */
	new_arena(&scene, 2);
	tables_set_arena(scene.tables, scene.arena);
	wait_for_tables(&scene);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	table_unref(a);
	table_unref(b);
	scene_done(&scene);
}

/* ---- files that change, go, or hang ---- */

static void a_changed_file_has_another_table(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *before = get_new(&scene, "a", 1000);
	wait_for_tables(&scene);
	usleep(20000);					  /* file times are coarse */
	struct table *after = get_new(&scene, "a", 2000); /* written anew */
	wait_for_tables(&scene);
	assert_ptr_not_equal(before, after);
	assert_int_equal(kind_of(&scene, before), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, after), SPAN_TABLE);
	assert_int_equal(stats_of(&scene).rows, 3000);
	table_unref(before);
	table_unref(after);
	scene_done(&scene);
}

static void a_file_written_to_before_it_was_read_has_no_table(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 10};
	struct symbol_place place = {1, 1, 2};

	(void)state;
	scene_make(&scene, 4);
	for (int held = 0; held < 2; held++) {
		put(&scene, "a", &plan);
		struct symbol_file *file = look_at(&scene, "a", held);
		int fd = openat(scene.folder.fd, "a", O_WRONLY | O_APPEND | O_CLOEXEC);
		assert_int_equal(write(fd, "more", 4), 4);
		close(fd);
		struct table *table = tables_get(scene.tables, file, &place);
		wait_for_tables(&scene);
		assert_int_equal(kind_of(&scene, table), SPAN_NO_TABLE);
		table_unref(table);
		symbol_file_unref(file);
		assert_int_equal(unlinkat(scene.folder.fd, "a", 0), 0);
	}
	assert_int_equal(builds, 0);
	assert_int_equal(stats_of(&scene).failed, 2);
	scene_done(&scene);
}

static void a_file_whose_process_has_gone_is_read_when_another_has_it(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 10};
	struct symbol_place place = {999999998, 1, 2}, other = {999999999, 1, 2};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	struct symbol_file *file = look_at(&scene, "a", false);
	assert_int_equal(renameat(scene.folder.fd, "a", scene.folder.fd, "b"), 0);
	struct table *table = tables_get(scene.tables, file, &place);
	wait_for_tables(&scene);
	assert_int_equal(kind_of(&scene, table), SPAN_NO_TABLE);
	assert_int_equal(renameat(scene.folder.fd, "b", scene.folder.fd, "a"), 0);
	table_unref(tables_get(scene.tables, file, &place));
	assert_false(table_is_pending(table)); /* the same process won't do better */
	table_unref(tables_get(scene.tables, file, &other));
	assert_true(table_is_pending(table));
	wait_for_tables(&scene);
	assert_int_equal(kind_of(&scene, table), SPAN_TABLE);
	table_unref(table);
	symbol_file_unref(file);
	scene_done(&scene);
}

/* Two processes that have it ask in turn, each time they hear that it changed. */
static void other_processes_are_not_asked_without_end(void **state)
{
	struct scene scene;
	struct plan plan = {.error = -EIO};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	struct table *table = get_as(&scene, "a", true, 1);
	for (int i = 0; i < 50; i++) {
		wait_for_tables(&scene);
		table_unref(get_as(&scene, "a", true, 2 + i % 2));
	}
	assert_int_equal(builds, 1 + 4);
	table_unref(table);
	scene_done(&scene);
}

static void what_can_not_be_read_is_asked_ever_less(void **state)
{
	struct scene scene;
	struct plan plan = {.error = -EIO};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	struct table *table = get(&scene, "a");
	wait_for_tables(&scene);
	sweep(&scene, 100);
	assert_int_equal(builds, 1 + 6); /* after 1, 3, 7, 15, 31 and 63 */
	assert_int_equal(stats_of(&scene).failed, 1);
	table_unref(table);
	scene_done(&scene);
}

static void a_build_that_hangs_is_given_up_and_others_go_on(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 10, .hangs = true};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "hanging", &plan);
	struct table *a = get_new(&scene, "a", 10);
	wait_for_tables(&scene);
	struct table *hanging = get(&scene, "hanging");
	struct table *b = get_new(&scene, "b", 10);
	wait_for_tables(&scene);
	assert_int_equal(kind_of(&scene, hanging), SPAN_NO_TABLE);
	assert_int_equal(worker_given_up(scene.worker), 1);
	assert_int_equal(stats_of(&scene).failed, 2);
	/* Their file system isn't asked again. */
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	tables_sweep(scene.tables);
	assert_false(table_is_pending(hanging));
	assert_int_equal(builds, 2);
	/* What is there stays, other file systems are asked. */
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	struct symbol_place place = {0};
	struct symbol_file *vdso = symbol_files_vdso(scene.files);
	struct table *other = tables_get(scene.tables, vdso, &place);
	assert_true(table_is_pending(other));
	wait_for_tables(&scene);
	assert_int_equal(builds, 3);
	table_unref(other);
	symbol_file_unref(vdso);
	/* When the answer comes at last, it is asked for what is missing. */
	sem_post(&may_go_on);
	sem_post(&may_go_on);
	for (int i = 0; i < 1000 && !table_is_pending(hanging); i++) {
		usleep(1000);
		tables_sweep(scene.tables);
	}
	wait_for_tables(&scene);
	sweep(&scene, 1);
	assert_int_equal(kind_of(&scene, hanging), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	table_unref(a);
	table_unref(b);
	table_unref(hanging);
	scene_done(&scene);
}

static void what_still_hangs_at_the_end_hinders_nobody(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 10, .hangs = true};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "hanging", &plan);
	struct table *table = get(&scene, "hanging");
	wait_for_tables(&scene);
	assert_int_equal(worker_given_up(scene.worker), 1);
	table_unref(table);
	scene_done(&scene);
	sem_post(&may_go_on);
	usleep(20000); /* it returns and finds nobody */
}

static void many_files_are_built_one_after_the_other(void **state)
{
	enum { MANY = 300 };
	struct scene scene;
	struct table *tables[MANY];
	char name[16];

	(void)state;
	scene_make(&scene, 4);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i);
		tables[i] = get_new(&scene, name, (uint32_t)(1 + i));
	}
	assert_int_equal(stats_of(&scene).pending, MANY);
	wait_for_tables(&scene);
	for (int i = 0; i < MANY; i++) {
		struct span span = span_of(&scene, tables[i]);
		struct span next = span_of(&scene, tables[(i + 1) % MANY]);

		assert_int_equal(span.what >> SPAN_KIND_SHIFT, SPAN_TABLE);
		assert_int_not_equal(span.index, next.index);
	}
	for (int i = 0; i < MANY; i++) {
		table_unref(tables[i]);
		tables_sweep(scene.tables);
		assert_int_equal(stats_of(&scene).tables, i ? MANY - i : MANY);
	}
	sweep(&scene, 4);
	assert_int_equal(stats_of(&scene).arena.bytes, 0);
	scene_done(&scene);
}

static void who_has_a_table_may_outlive_them_all(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *table = table_ref(get_new(&scene, "a", 10));
	wait_for_tables(&scene);
	table_unref(table);
	scene_done(&scene);
	assert_false(table_is_pending(table));
	table_unref(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_pending_until_it_is_built),
		cmocka_unit_test(a_span_tells_where_its_code_is_in_the_table),
		cmocka_unit_test(no_offset_of_a_mapping_reaches_too_far),
		cmocka_unit_test(one_file_is_read_once),
		cmocka_unit_test(a_large_table_crosses_chunks_a_small_one_does_not),
		cmocka_unit_test(files_of_equal_content_share_a_table),
		cmocka_unit_test(a_forged_checksum_does_not_get_a_file_into_anothers_table),
		cmocka_unit_test(a_table_in_used_words_is_shared_too),
		cmocka_unit_test(files_without_tables_are_told_from_files_that_can_not_be_read),
		cmocka_unit_test(a_file_that_could_not_be_looked_at_is_never_asked_for),
		cmocka_unit_test(the_vdso_is_a_file_like_others),
		cmocka_unit_test(tables_leave_after_a_whole_window_without_a_reference),
		cmocka_unit_test(what_nobody_wants_any_more_is_not_built),
		cmocka_unit_test(tables_come_back_with_a_new_arena),
		cmocka_unit_test(a_build_that_outlives_its_arena_lands_in_the_next),
		cmocka_unit_test(those_that_nobody_wants_go_first_then_those_used_least),
		cmocka_unit_test(a_newcomer_gets_its_room_at_the_next_sweep),
		cmocka_unit_test(several_newcomers_get_room_together),
		cmocka_unit_test(a_giant_drives_nobody_out),
		cmocka_unit_test(a_large_newcomer_gets_words_in_a_row),
		cmocka_unit_test(what_never_fits_drives_nobody_out),
		cmocka_unit_test(a_changed_file_has_another_table),
		cmocka_unit_test(a_file_written_to_before_it_was_read_has_no_table),
		cmocka_unit_test(a_file_whose_process_has_gone_is_read_when_another_has_it),
		cmocka_unit_test(other_processes_are_not_asked_without_end),
		cmocka_unit_test(what_can_not_be_read_is_asked_ever_less),
		cmocka_unit_test(a_build_that_hangs_is_given_up_and_others_go_on),
		cmocka_unit_test(what_still_hangs_at_the_end_hinders_nobody),
		cmocka_unit_test(many_files_are_built_one_after_the_other),
		cmocka_unit_test(who_has_a_table_may_outlive_them_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
