// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/file_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define BYTES_KEPT (8u * 1024 * 1024)  /* of functions, between rounds */
#define BYTES_MAX  (64u * 1024 * 1024) /* in one */

void files_forget_wanted(struct symbol_files *files)
{
	while (files->wanted) {
		struct symbol_file *file = files->wanted;

		files->wanted = file->next_wanted;
		file->wanted_count = 0;
		symbol_file_unref(file);
	}
}

void files_forget_functions(struct symbol_files *files, struct symbol_file *file)
{
	files->stats.bytes -= ranges_bytes(&file->ranges);
	ranges_done(&file->ranges);
}

void symbol_files_begin(struct symbol_files *files)
{
	size_t count, bytes = 0;

	files_begin_perfmaps(files);
	if (files->stats.bytes <= BYTES_KEPT)
		return;
	_cleanup_free_ struct by_use *list = files_list(files, &count);
	for (size_t i = 0; list && i < count; i++) {
		bytes += ranges_bytes(&list[i].file->ranges);
		if (bytes > BYTES_KEPT / 4 * 3)
			files_forget_functions(files, list[i].file);
	}
}

void symbol_file_want(struct symbol_files *files, struct symbol_file *file, uint64_t offset,
		      const struct symbol_place *place)
{
	file->last_used = ++files->uses;
	if (file->error || ranges_find(&file->ranges, offset))
		return;
	if (file->wanted_count == file->wanted_capacity) {
		size_t capacity = file->wanted_capacity ? file->wanted_capacity * 2 : 16;
		struct native_function *grown =
			reallocarray(file->wanted, capacity, sizeof(*grown));

		if (!grown) {
			files->stats.lost[SYMBOL_LOST_UNREADABLE]++;
			return;
		}
		file->wanted = grown;
		file->wanted_capacity = capacity;
	}
	if (!file->wanted_count) {
		file->next_wanted = files->wanted;
		files->wanted = symbol_file_ref(file);
	}
	file->wanted[file->wanted_count++] = (struct native_function){.offset = offset};
	if (place->pid)
		file->place = *place;
}

struct file_reading {
	struct reading reading;
	struct symbol_files *files;
	struct symbol_file *file; /* with a reference: the job may be given up */
};

static enum symbol_loss loss_of(int error)
{
	switch (error) {
	case -ESRCH:
		return SYMBOL_LOST_GONE;
	case -ESTALE:
		return SYMBOL_LOST_CHANGED;
	case -ETIMEDOUT:
		return SYMBOL_LOST_HUNG;
	case -EMFILE:
	case -ENFILE:
		return SYMBOL_LOST_NO_DESCRIPTOR;
	default:
		return SYMBOL_LOST_UNREADABLE;
	}
}

static bool is_lasting(int error)
{
	return error == -ENOEXEC || error == -EBADMSG || error == -EFBIG;
}

/* Those that the debug file might have named. */
static void count_refused(struct symbol_files *files, const struct reading *reading)
{
	for (size_t i = 0; i < reading->count; i++)
		files->stats.lost[SYMBOL_LOST_REFUSED] +=
			reading->functions[i].name == NATIVE_NO_NAME;
}

static void keep_functions(struct symbol_files *files, struct symbol_file *file,
			   const struct reading *reading)
{
	int r = reading->error;
	size_t before = ranges_bytes(&file->ranges);

	if (r == 0 && files->stats.bytes > BYTES_MAX)
		r = -ENOSPC;
	if (r == 0)
		r = ranges_add(&file->ranges, reading->functions, reading->count, &reading->names);
	files->stats.bytes += ranges_bytes(&file->ranges) - before;
	if (is_lasting(r))
		file->error = r;
	else if (r < 0)
		files->stats.lost[loss_of(r)] += reading->count;
}

/* Once; without memory it has no places in this round. */
static void keep_code(struct symbol_file *file, const struct native_file *found)
{
	size_t bytes = found->segments_count * sizeof(found->segments[0]);
	struct file_code *code;

	if (file->code || !found->segments_count)
		return;
	code = malloc(sizeof(*code) + bytes);
	if (!code)
		return;
	memcpy(code->build_id, found->build_id, sizeof(code->build_id));
	code->build_id_bytes = found->build_id_bytes;
	code->segments_count = found->segments_count;
	memcpy(code->segments, found->segments, bytes);
	file->code = code;
}

void files_one_less(struct symbol_files *files)
{
	if (--files->readings == 0)
		files->passed(files->arg);
}

static void reading_done(struct reading *reading, bool finished)
{
	struct file_reading *mine = (struct file_reading *)reading;
	struct symbol_files *files = mine->files;
	struct symbol_file *file = mine->file;

	if (finished) {
		file->debug = reading->debug;
		reading->debug = (struct debug_found){0};
		symbol_file_hold(file, &reading->opening);
		if (file->debug.refused && reading->error == 0)
			count_refused(files, reading);
		keep_functions(files, file, reading);
		keep_code(file, &reading->file);
	} else {
		file_let_go(file);
		hung_add(&files->hung, file->stat.st_dev);
		files->stats.lost[SYMBOL_LOST_HUNG] += reading->count;
	}
	files_one_less(files);
}

static void reading_free(struct reading *reading)
{
	struct file_reading *mine = (struct file_reading *)reading;

	symbol_file_unref(mine->file);
	free(mine);
}

static void start_reading(struct symbol_files *files, struct symbol_file *file)
{
	struct file_reading *mine = calloc(1, sizeof(*mine));

	if (!mine) {
		files->stats.lost[SYMBOL_LOST_UNREADABLE] += file->wanted_count;
		file->wanted_count = 0;
		return;
	}
	mine->files = files;
	mine->file = symbol_file_ref(file);
	mine->reading = (struct reading){
		.debugging_dir = file->debugging_dir,
		.debug = file->debug,
		.functions = file->wanted,
		.count = file->wanted_count,
		.done = reading_done,
		.free = reading_free,
	};
	symbol_file_opening(file, &file->place, &mine->reading.opening);
	file->debug = (struct debug_found){0};
	file->wanted = NULL;
	file->wanted_count = file->wanted_capacity = 0;
	file->place.pid = 0; /* it may be another's by the next time */
	files->readings++;
	files->stats.readings++;
	reading_submit(&mine->reading, files->worker);
}

void symbol_files_read(struct symbol_files *files, void (*passed)(void *arg), void *arg)
{
	files->passed = passed;
	files->arg = arg;
	files->readings++; /* until all are on their way */
	files_read_perfmaps(files);
	while (files->wanted) {
		_cleanup_(file_unref) struct symbol_file *file = files->wanted;

		files->wanted = file->next_wanted;
		if (!hung_has(&files->hung, file->stat.st_dev)) {
			start_reading(files, file);
			continue;
		}
		files->stats.lost[SYMBOL_LOST_HUNG] += file->wanted_count;
		file->wanted_count = 0;
	}
	files_one_less(files);
}

const char *symbol_loss_name(enum symbol_loss loss)
{
	static const char *const names[SYMBOL_LOST_COUNT] = {
		[SYMBOL_LOST_GONE] = "file_gone",
		[SYMBOL_LOST_CHANGED] = "file_changed",
		[SYMBOL_LOST_HUNG] = "file_hung",
		[SYMBOL_LOST_NO_DESCRIPTOR] = "no_descriptor",
		[SYMBOL_LOST_UNREADABLE] = "unreadable",
		[SYMBOL_LOST_REFUSED] = "debug_refused",
	};

	return names[loss];
}
