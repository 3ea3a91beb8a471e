// SPDX-License-Identifier: GPL-2.0-or-later
/* Our own process, as a target would be: what the kernel's side would find in the arena is what the
 * files' CFI says. */
#include "unit/unwind/arena_scene.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include "proc/maps.h"
#include "file/symbol_file.h"
#include "unwind/image_row.h"

#define CHUNKS_HERE 64U

static struct symbol_file *file_of(const struct scene *scene, const struct mapping *mapping)
{
	struct stat stat;
	int fd = -1;

	if (mapping->kind == MAPPING_VDSO)
		return symbol_files_vdso(scene->files, false);
	if (mapping->kind != MAPPING_FILE || lstat(mapping->path, &stat) < 0)
		return NULL;
	return symbol_files_get(scene->files, &fd, &stat, mapping->path,
				&(struct symbol_search){.payer = job_of(0, 0)});
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
	scene_begin(&scene, 10 * NS_PER_S, CHUNKS_HERE, CHUNKS_HERE);
	assert_int_equal(maps_read(getpid(), 0, &maps), 0);
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
