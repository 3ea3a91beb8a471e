// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/tables_state.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "loop/retry.h"

#define SWEEPS_MAX 64

#if defined(__aarch64__)
#define MACHINE	       EM_AARCH64
#define MACHINE_NARROW EM_AARCH64 /* 32-bit code isn't walked */
#else
#define MACHINE	       EM_X86_64
#define MACHINE_NARROW EM_386 /* of 32-bit processes */
#endif

#define TELL_NS (10 * NS_PER_MS)

struct build {
	struct job job;
	struct hung_run *run_state;
	struct tables *tables;
	struct table *table;	  /* for the loop's thread only, not for run() */
	struct symbol_file *file; /* owns the path of `opening` */
	struct open_request opening;
	struct table_image image;
	struct cpython_file *python;
	struct hotspot_file *hotspot;
	struct jit_place jit;
	bool python_elsewhere;
	bool ahead;	       /* rows are made from code before a stack asks for them */
	struct made_want want; /* rows made from code */
	uint64_t cpu_ns;
	int error;
};

/* Marks a table as failed: it is tried again after 1, 2, 4 … SWEEPS_MAX sweeps. The first failure
 * counts in *counter. */
static void table_fail(struct table *table, enum table_state state, uint64_t *counter)
{
	table->state = state;
	if (!table->failures++)
		++*counter;
	table->waits = (unsigned)retry_wait(table->failures, 1, SWEEPS_MAX);
}

/* ---- on the worker's thread ---- */

static int build_made(struct build *build, int fd)
{
	build->image.made = build->want.rows;
	build->want.rows = (struct made_rows){0};
	return image_build_made(fd, &build->want.wanted, &build->image);
}

static int read_file(struct build *build)
{
	_cleanup_close_ int root_fd = open_request_open_root(&build->opening);
	_cleanup_close_ int own = -1;
	int fd = open_request_open(&build->opening, root_fd, &own);

	if (fd < 0)
		return fd;
	int r = build->ahead ? image_build(fd, &build->image) : build_made(build, fd);
	if (r == 0 || r == -ENOENT) {
		python_look(fd, symbol_file_debugging_dir(build->file), &build->python,
			    &build->python_elsewhere);
		hotspot_look(fd, &build->hotspot);
		jit_look(fd, &build->jit);
	}
	if (r < 0)
		return r;
	if (build->image.machine != MACHINE && build->image.machine != MACHINE_NARROW)
		return -ENOEXEC;			/* not for this processor */
	return open_request_check(&build->opening, fd); /* somebody may have written meanwhile */
}

static void build_run(struct job *job)
{
	struct build *mine = (struct build *)job;

	uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	mine->error = read_file(mine);
	mine->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

static void build_free(struct job *job)
{
	struct build *mine = (struct build *)job;

	image_done(&mine->image);
	made_want_done(&mine->want);
	free(mine->python);
	free(mine->hotspot);
	open_request_done(&mine->opening);
	symbol_file_unref(mine->file);
	hung_run_end(mine->run_state);
	free(mine);
}

/* ---- an image is there ---- */

/* Returns the words needed by tables that came for the first time and found no room. */
static uint64_t awaited_words(const struct tables *tables, uint64_t most)
{
	uint64_t words = 0;

	for (const struct table *table = tables->all; table; table = table->next) {
		if (table->state == TABLE_HOMELESS && table->refs && table->failures == 1 &&
		    table->words <= most)
			words += table->words;
	}
	return words;
}

static bool will_have_room(const struct tables *tables, size_t words, uint64_t most)
{
	struct arena_stats arena;

	arena_stats(tables->arena, &arena);
	return (arena.bytes_max - arena.used) / sizeof(uint32_t) >= awaited_words(tables, most) &&
	       arena_will_have_room(tables->arena, words, content_is_whole(words));
}

/* Evicts the least used tables for one that came for the first time; their words are free after a
 * sweep. A table that was evicted itself waits until there is room, so that tables don't evict each
 * other for ever. A table larger than half of the arena evicts none. */
static void make_room(struct tables *tables, size_t words)
{
	struct arena_stats arena;
	bool missed = false;

	arena_stats(tables->arena, &arena);
	uint64_t most = arena.bytes_max / sizeof(uint32_t) / 2;
	if (words > most)
		return;
	while (!will_have_room(tables, words, most) && contents_evict(tables, 1, &missed))
		;
}

static void keep_segments(struct table *table, const struct table_image *image)
{
	size_t bytes = image->segments_count * sizeof(*image->segments);

	free(TAKE_PTR(table->segments));
	table->segments_count = 0;
	if (!bytes)
		return;
	table->segments = malloc(bytes);
	if (!table->segments)
		return;
	memcpy(table->segments, image->segments, bytes);
	table->segments_count = image->segments_count;
}

static void take_image(struct tables *tables, struct table *table, const struct table_image *image)
{
	struct content *content;

	keep_segments(table, image);
	int r = image->segments_count && !table->segments_count ? -ENOMEM : 0;
	if (r == 0)
		r = content_get(tables, &content, image);
	if (r == 0) {
		table_take_content(table, content);
		table->failures = 0;
	} else { /* -EINVAL too: a table that never fits waits for a larger arena */
		table->words = content_words(image);
		bool first = table->failures == 0;
		table_fail(table, TABLE_HOMELESS, &tables->stats.refused);
		if (first && r == -ENOSPC)
			make_room(tables, table->words);
	}
}

static void take_build(struct tables *tables, struct table *table, const struct build *mine)
{
	switch (mine->error) {
	case 0:
		take_image(tables, table, &mine->image);
		break;
	case -ENOENT:
		keep_segments(table, &mine->image); /* the file may have a runtime nevertheless */
		table->state = TABLE_BARE;
		tables->stats.bare++;
		break;
	case -ENOEXEC:
		table->state = TABLE_BARE;
		tables->stats.bare++;
		break;
	case -EBADMSG:
	case -EFBIG:
		table_fail(table, TABLE_BROKEN, &tables->stats.failed);
		break;
	default:
		table_fail(table, TABLE_UNREAD, &tables->stats.failed);
	}
}

/* A table that was built again takes the place of the one before, if there is room for it. */
static bool take_renewed(struct tables *tables, struct table *table, struct build *mine)
{
	struct content *content;

	if (mine->error == -ENOENT && table->state == TABLE_BARE)
		return true; /* nothing is understood there */
	if (mine->error != 0 || content_get(tables, &content, &mine->image) < 0)
		return false;
	tables->stats.made++;
	if (content != table->content) { /* else there was nothing to be made */
		table_leave_content(table);
		table_take_content(table, content);
	}
	return true;
}

static void take_runtimes(struct table *table, struct build *mine)
{
	if (mine->error && mine->error != -ENOENT)
		return;
	free(table->hotspot);
	table->hotspot = TAKE_PTR(mine->hotspot);
	table->jit = mine->jit;
	table->has_luajit = mine->image.has_luajit;
	if (mine->python_elsewhere) { /* keep what an earlier search found */
		if (!table->python)
			python_search(table->tables, table, mine->file);
		return;
	}
	free(table->python);
	table->python = TAKE_PTR(mine->python);
	symbol_root_unref(TAKE_PTR(table->python_root));
}

/* ---- one after the other ---- */

static void begin_next(struct tables *tables);

static void build_done(struct job *job, bool finished)
{
	struct build *mine = (struct build *)job;
	struct tables *tables = mine->tables;
	struct table *table = mine->table;
	bool expected = table->state == TABLE_QUEUED; /* else the arena was replaced meanwhile */
	bool renewed = table->making.renewing && !expected;
	struct hung_file hung = open_request_hung_file(&mine->opening);

	table->building = false;
	table->making.renewing = false;
	tables->building = NULL;
	bool taken = false;
	if (finished) {
		symbol_file_hold(mine->file, &mine->opening);
		if (expected) {
			take_build(tables, table, mine);
			take_runtimes(table, mine);
			taken = mine->error == 0 || mine->error == -ENOENT;
		} else if (renewed) {
			taken = take_renewed(tables, table, mine);
		}
	} else {
		hung_fs_add(&tables->hung, &hung, job->end, mine->run_state, false);
		if (expected)
			table_fail(table, TABLE_UNREAD, &tables->stats.failed);
	}
	if (mine->ahead && mine->image.made.count)
		tables->ahead.spent_ns += mine->cpu_ns;
	if (taken)
		made_take(table, &mine->image.made, mine->cpu_ns);
	else
		made_fail(table);
	if (tables->arena)
		table_show(table);
	begin_next(tables);
	/* changed() isn't called each time while other tables follow closely. */
	uint64_t now = loop_now_ns();
	if (tables->building && now - tables->told_ns < TELL_NS)
		return;
	tables->told_ns = now;
	tables->changed(tables->arg);
}

static int begin_build(struct tables *tables, struct table *table)
{
	struct build *mine = calloc(1, sizeof(*mine));

	if (!mine)
		return -ENOMEM;
	mine->job = (struct job){.run = build_run, .done = build_done, .free = build_free};
	mine->run_state = hung_run_new();
	mine->tables = tables;
	mine->table = table;
	mine->file = symbol_file_ref(table->file);
	int r = made_want(table, &mine->want);
	mine->ahead = made_is_empty(&mine->want) && made_has_room(tables);
	if (r == 0)
		r = symbol_file_opening(mine->file, &table->place, &mine->opening);
	struct hung_file hung = open_request_hung_file(&mine->opening);
	mine->job.whose = hung.whose;
	if (r == 0 && hung_fs_has(&tables->hung, &hung) != HUNG_NOT)
		r = -ETIMEDOUT;
	if (r < 0) {
		build_free(&mine->job);
		return r;
	}
	table->building = true;
	tables->building = table;
	worker_submit(tables->worker, &mine->job);
	return 0;
}

static void begin_next(struct tables *tables)
{
	while (tables->queue && !tables->building) {
		struct table *table = tables->queue;

		tables->queue = TAKE_PTR(table->next_queued);
		if (!tables->queue)
			tables->queue_end = &tables->queue;
		bool renewing = table->making.renewing && table->state != TABLE_QUEUED;

		if (!renewing && !table->refs)
			table->state = TABLE_UNASKED;
		else if (begin_build(tables, table) == 0)
			continue;
		else if (!renewing)
			table_fail(table, TABLE_UNREAD, &tables->stats.failed);
		made_fail(table);
		table->making.renewing = false;
	}
}

static void queue_table(struct tables *tables, struct table *table)
{
	*tables->queue_end = table;
	tables->queue_end = &table->next_queued;
	begin_next(tables);
}

void table_ask(struct tables *tables, struct table *table)
{
	if (table->state == TABLE_QUEUED || !tables->arena || !table->file)
		return;
	table->state = TABLE_QUEUED;
	if (!table->building && !table->making.renewing)
		queue_table(tables, table);
}

void table_renew(struct tables *tables, struct table *table)
{
	table->making.renewing = true;
	queue_table(tables, table);
}

void queue_clear(struct tables *tables)
{
	while (tables->queue) {
		struct table *table = tables->queue;

		tables->queue = TAKE_PTR(table->next_queued);
		table->state = TABLE_UNASKED;
		table->making.renewing = false;
	}
	tables->queue_end = &tables->queue;
	if (tables->building) {
		tables->building->state = TABLE_UNASKED;
		tables->building->making.renewing = false;
	}
}
