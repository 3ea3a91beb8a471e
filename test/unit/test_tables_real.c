// SPDX-License-Identifier: GPL-2.0-only
/* Our own process, as a target would be: what the kernel's side would find in the arena is what the
 * files' CFI says. */
#include "unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "proc/maps.h"
#include "symbol/file.h"
#include "unwind/image_row.h"
#include "unwind/tables.h"

#define CHUNKS_HERE 64U

struct scene {
	struct loop *loop;
	struct worker *worker;
	struct symbol_files *files;
	struct tables *tables;
	struct arena *arena;
	uint32_t *words;
	struct loop_timer alarm;
};

static void on_changed(void *arg)
{
	const struct scene *scene = arg;
	struct tables_stats stats;

	tables_stats(scene->tables, &stats);
	if (!stats.pending)
		loop_stop(scene->loop);
}

static void fail_in_vain(void *arg)
{
	const struct scene *scene = arg;

	loop_stop(scene->loop);
}

static int add_chunk(void *arg, unsigned chunk)
{
	(void)arg;
	return chunk < CHUNKS_HERE ? 0 : -ENOSPC;
}

static void remove_chunk(void *arg, unsigned chunk)
{
	(void)arg, (void)chunk;
}

static void scene_make(struct scene *scene)
{
	*scene = (struct scene){.alarm = {.expired = fail_in_vain, .arg = scene}};
	scene->words = calloc(CHUNKS_HERE, CHUNK_WORDS * 4);
	struct arena_memory memory = {scene->words, add_chunk, remove_chunk, scene};
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", 10 * NS_PER_S), 0);
	assert_int_equal(symbol_files_new(&scene->files, scene->worker), 0);
	assert_int_equal(arena_new(&scene->arena, &memory, CHUNKS_HERE * CHUNK_WORDS * 4), 0);
	assert_int_equal(tables_new(&scene->tables, scene->worker, on_changed, scene), 0);
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
}

static void wait_for_tables(struct scene *scene)
{
	struct tables_stats stats;

	loop_timer_set(scene->loop, &scene->alarm, loop_now_ns() + 30 * NS_PER_S);
	assert_int_equal(loop_run(scene->loop), 0);
	loop_timer_cancel(scene->loop, &scene->alarm);
	tables_stats(scene->tables, &stats);
	assert_int_equal(stats.pending, 0);
}

static struct symbol_file *file_of(const struct scene *scene, const struct mapping *mapping)
{
	struct stat stat;
	int fd = -1;

	if (mapping->kind == MAPPING_VDSO)
		return symbol_files_vdso(scene->files);
	if (mapping->kind != MAPPING_FILE || lstat(mapping->path, &stat) < 0)
		return NULL;
	return symbol_files_get(scene->files, &fd, &stat, mapping->path, NULL, NULL);
}

/* What bpf/ does with a pc. */
static void find(const struct scene *scene, const struct span *span, uint64_t pc, struct rule *rule)
{
	uint64_t distance = pc - span->base;
	const uint32_t *index = scene->words + span->index;

	*rule = (struct rule){.kind = RULE_NONE};
	assert_true(distance >> BLOCK_SHIFT < (span->what & TABLE_BLOCKS_MAX));
	uint32_t away = index[distance >> BLOCK_SHIFT];
	if (!away)
		return;
	const uint32_t *block = index + away;
	uint32_t count = block[0] >> ROW_ADDRESS_SHIFT, row = block[0];
	assert_true((block - scene->words) % CHUNK_WORDS + count < CHUNK_WORDS);
	for (uint32_t i = 1; i <= count; i++) {
		if (block[i] >> ROW_ADDRESS_SHIFT <= distance % BLOCK_BYTES)
			row = block[i];
	}
	if ((row >> ROW_KIND_SHIFT & ROW_KIND_MASK) == ROW_RULE) {
		struct table_rule packed;

		memcpy(&packed, index - (size_t)((row & ROW_PAYLOAD) + 1) * RULE_WORDS,
		       sizeof(packed));
		rule_unpack(&packed, rule);
	} else {
		row_unpack(row_format_of(EM_X86_64), row, rule);
	}
}

static struct table_image *image_of(const struct mapping *mapping)
{
	static struct table_image image;
	_cleanup_close_ int fd = open(mapping->path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(image_build(fd, &image), 0);
	return &image;
}

/* How far the loader moved what has that address. */
static uint64_t bias_of(uint64_t address)
{
	Dl_info info;
	struct link_map *map = NULL;

	assert_int_not_equal(dladdr1((void *)address, &info, (void **)&map, RTLD_DL_LINKMAP),
			     0); // NOLINT
	return map->l_addr;
}

static unsigned compare(const struct scene *scene, struct table *table,
			const struct mapping *mapping)
{
	struct span span = {.start = mapping->start, .end = mapping->end};
	struct rule here, there;
	unsigned found = 0;

	table_span(scene->tables, table, mapping->file_offset, &span);
	assert_int_equal(span.what >> SPAN_KIND_SHIFT & SPAN_KIND_MASK, SPAN_TABLE);
	if (mapping->kind == MAPPING_VDSO)
		return 1;
	struct table_image *image = image_of(mapping);
	uint64_t bias = bias_of(mapping->start);
	uint64_t end = image->low + ((uint64_t)image->blocks << BLOCK_SHIFT) + bias;
	for (uint64_t pc = mapping->start; pc < mapping->end && pc < end; pc += 7) {
		find(scene, &span, pc, &here);
		image_find(image, pc - bias, &there);
		assert_true(rule_is_equal(&here, &there));
		found += here.kind == RULE_CFA;
	}
	image_done(image);
	return found;
}

static void the_arena_has_what_the_files_say(void **state)
{
	struct scene scene;
	struct maps maps;
	struct table *tables[64] = {0};
	unsigned compared = 0;

	(void)state;
	scene_make(&scene);
	assert_int_equal(maps_read(getpid(), &maps), 0);
	assert_true(maps.count < ARRAY_SIZE(tables));
	for (size_t i = 0; i < maps.count; i++) {
		struct symbol_place place = {getpid(), maps.mappings[i].start,
					     maps.mappings[i].end};
		struct symbol_file *file = file_of(&scene, &maps.mappings[i]);

		if (file)
			tables[i] = tables_get(scene.tables, file, &place);
		symbol_file_unref(file);
	}
	wait_for_tables(&scene);
	for (size_t i = 0; i < maps.count; i++) {
		if (!tables[i])
			continue;
		assert_true(compare(&scene, tables[i], &maps.mappings[i]) > 0);
		table_unref(tables[i]);
		compared++;
	}
	assert_true(compared >= 4); /* we, libc, the loader, the vDSO */
	maps_done(&maps);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_arena_has_what_the_files_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
