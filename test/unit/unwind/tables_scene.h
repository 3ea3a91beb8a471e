/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of made-up files (--wrap, UNITFLAGS): a file's content tells what its table is like. */
#pragma once

#include "unit/unwind/arena_scene.h"

#include <elf.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "file/symbol_file.h"
#include "elf/fd_budget.h"

#define LIMIT_NS    (100 * NS_PER_MS)
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

static inline uint16_t own_machine(void)
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

static inline void scene_make(struct scene *scene, unsigned chunks)
{
	builds = 0;
	sem_init(&may_go_on, 0, 0);
	scene_begin(scene, LIMIT_NS, CHUNKS_HERE, chunks);
}

static inline void put(const struct scene *scene, const char *name, const struct plan *plan)
{
	struct plan marked = *plan;

	marked.magic = MAGIC;
	folder_put(&scene->folder, name, &marked, sizeof(marked));
}

/* Windows pass. */
static inline void sweep(struct scene *scene, int times)
{
	for (int i = 0; i < times; i++) {
		tables_sweep(scene->tables);
		wait_for_tables(scene);
	}
}

/* A file as somebody has it who has just looked; `held`: he holds it open. */
static inline struct symbol_file *look_at(struct scene *scene, const char *name, bool held)
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
		assert_true(fd_budget_take());
	}
	struct symbol_file *file = symbol_files_get(scene->files, &fd, &stat, path,
						    &(struct symbol_search){.payer = job_of(0, 0)});
	assert_non_null(file);
	if (fd >= 0) {
		close(fd);
		fd_budget_give();
	}
	return file;
}

static inline struct table *get_as(struct scene *scene, const char *name, bool held, pid_t pid)
{
	struct symbol_place place = {.pid = pid, .start = 1, .end = 2};
	struct symbol_file *file = look_at(scene, name, held);
	struct table *table = tables_get(scene->tables, file, &place);

	assert_non_null(table);
	symbol_file_unref(file);
	return table;
}

static inline struct table *get(struct scene *scene, const char *name)
{
	return get_as(scene, name, true, 1);
}

/* A file with a table of its own. */
static inline struct table *get_new(struct scene *scene, const char *name, uint32_t words)
{
	static uint64_t content;
	struct plan plan = {.words = words};

	content += 1000000;
	plan.content = plan.checksum = content;
	put(scene, name, &plan);
	return get(scene, name);
}

/* The mapping of its code. */
static inline struct span span_of(struct scene *scene, struct table *table)
{
	struct span span = {.start = 0x7f0000001000, .end = 0x7f0000004000};

	table_span(scene->tables, table, 0x1000, &span);
	return span;
}

static inline enum span_kind kind_of(struct scene *scene, struct table *table)
{
	return span_of(scene, table).what >> SPAN_KIND_SHIFT & SPAN_KIND_MASK;
}

/* ---- tests ---- */
