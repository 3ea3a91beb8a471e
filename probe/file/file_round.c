// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/registry_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

#define BYTES_KEPT (8u * 1024 * 1024)  /* of functions, between rounds */
#define BYTES_MAX  (64u * 1024 * 1024) /* of functions, in a round */
#define LATE_MAX   (16u * 1024 * 1024) /* of results that came too late for their round */
/* One user's part of these, so that other users' results find room, too. The names of one reading
 * fit (symbol_job.c). */
#define BYTES_SHARE (BYTES_MAX / 3)
#define LATE_SHARE  (LATE_MAX / 2)

int files_new_rooms(struct symbol_files *files)
{
	int r = shares_new(&files->room, BYTES_SHARE);

	return r < 0 ? r : shares_new(&files->late_room, LATE_SHARE);
}

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
	files->stats.bytes -= function_cache_bytes(&file->ranges);
	function_cache_done(&file->ranges);
}

static void take_late(struct symbol_files *files);

void symbol_files_begin(struct symbol_files *files)
{
	size_t count, bytes = 0;

	files_begin_perfmaps(files);
	shares_clear(files->room);
	take_late(files);
	if (files->stats.bytes <= BYTES_KEPT)
		return;
	_cleanup_free_ struct by_use *list = files_list(files, &count);
	for (size_t i = 0; list && i < count; i++) {
		bytes += function_cache_bytes(&list[i].file->ranges);
		if (bytes > BYTES_KEPT / 4 * 3)
			files_forget_functions(files, list[i].file);
	}
}

void symbol_file_want(struct symbol_files *files, struct symbol_file *file, uint64_t offset,
		      const struct symbol_place *place)
{
	file->last_used = ++files->uses;
	if (file->error || function_cache_find(&file->ranges, offset))
		return;
	if (array_grow(file->wanted, file->wanted_capacity, file->wanted_count + 1, 16) < 0) {
		files->stats.lost[SYMBOL_LOST_UNREADABLE]++;
		return;
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
	struct symbol_job reading;
	struct symbol_files *files;
	struct symbol_file *file; /* with a reference: the job may be given up */
	struct hung_run *run;
	uint64_t round;
	struct file_reading *next, **link; /* in files->under_way, until the reading is done */
};

/* The result of a reading. */
struct outcome {
	uint64_t whose; /* the job's */
	int error;
	bool refused; /* a debug file was refused */
	struct native_function *functions;
	size_t count;
	struct buf names;
};

/* A result that came too late for its round, kept for the next. */
struct late_reading {
	struct symbol_file *file; /* with a reference */
	struct outcome outcome;
	struct native_file found;
	struct late_reading *next;
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
	case -ENOSPC:
		return SYMBOL_LOST_NO_ROOM;
	default:
		return SYMBOL_LOST_UNREADABLE;
	}
}

static bool is_lasting(int error)
{
	return error == -ENOEXEC || error == -EBADMSG || error == -EFBIG;
}

/* Counts the functions without a name that the refused debug file might have named. */
static void count_refused(struct symbol_files *files, const struct outcome *outcome)
{
	for (size_t i = 0; outcome->refused && outcome->error == 0 && i < outcome->count; i++)
		files->stats.lost[SYMBOL_LOST_DEBUG] +=
			outcome->functions[i].name == NATIVE_NO_NAME;
}

static size_t bytes_of(const struct outcome *outcome)
{
	return outcome->names.capacity + outcome->count * sizeof(*outcome->functions);
}

static int add_functions(struct symbol_files *files, struct symbol_file *file,
			 const struct outcome *outcome)
{
	size_t before = function_cache_bytes(&file->ranges), bytes = bytes_of(outcome);

	if (outcome->error)
		return outcome->error;
	if (files->stats.bytes > BYTES_MAX || bytes > shares_left(files->room, outcome->whose))
		return -ENOSPC;
	int r = function_cache_add(&file->ranges, outcome->functions, outcome->count,
				   &outcome->names);
	files->stats.bytes += function_cache_bytes(&file->ranges) - before;
	shares_take(files->room, outcome->whose, bytes);
	return r;
}

static void keep_functions(struct symbol_files *files, struct symbol_file *file,
			   const struct outcome *outcome)
{
	int r = add_functions(files, file, outcome);

	count_refused(files, outcome);
	if (is_lasting(r))
		file->error = r;
	else if (r < 0)
		files->stats.lost[loss_of(r)] += outcome->count;
}

/* Keeps the file's segments, once; without memory symbol_file_locate() fails in this round. */
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

static void end_round(struct symbol_files *files)
{
	files->reads = false;
	files->passed(files->arg);
}

void files_one_less(struct symbol_files *files)
{
	if (--files->readings == 0)
		end_round(files);
}

/* ---- readings that take longer than their round ---- */

static void late_free(struct late_reading *late)
{
	symbol_file_unref(late->file);
	free(late->outcome.functions);
	buf_done(&late->outcome.names);
	free(late);
}

void files_forget_late(struct symbol_files *files)
{
	while (files->late) {
		struct late_reading *late = files->late;

		files->late = late->next;
		late_free(late);
	}
	files->late_bytes = 0;
	shares_clear(files->late_room);
}

/* Returns a reading's result, which borrows from the reading. */
static struct outcome outcome_of(const struct symbol_job *reading, const struct symbol_file *file)
{
	return (struct outcome){
		.whose = reading->job.whose,
		.error = reading->error,
		.refused = file->debug.refused,
		.functions = reading->functions,
		.count = reading->count,
		.names = reading->names,
	};
}

/* Keeps a result for the next round, as other threads now look up names in the file's functions.
 * Without room the file is read again. */
static void keep_for_later(struct symbol_files *files, struct file_reading *mine)
{
	struct symbol_job *reading = &mine->reading;
	struct outcome outcome = outcome_of(reading, mine->file);
	size_t bytes = bytes_of(&outcome);
	bool fits = files->late_bytes + bytes <= LATE_MAX &&
		    bytes <= shares_left(files->late_room, outcome.whose);
	struct late_reading *late = fits ? calloc(1, sizeof(*late)) : NULL;

	if (!late) {
		files->stats.lost[SYMBOL_LOST_NO_ROOM] += outcome.count;
		return;
	}
	late->file = symbol_file_ref(mine->file);
	late->outcome = outcome;
	late->found = reading->file;
	late->next = files->late;
	reading->functions = NULL;
	reading->names = (struct buf){0};
	files->late = late;
	files->late_bytes += bytes;
	shares_take(files->late_room, outcome.whose, bytes);
}

static void take_late(struct symbol_files *files)
{
	for (const struct late_reading *late = files->late; late; late = late->next) {
		keep_functions(files, late->file, &late->outcome);
		keep_code(late->file, &late->found);
	}
	files_forget_late(files);
}

/* ---- a reading ---- */

static bool is_of_round(const struct file_reading *mine)
{
	return mine->files->reads && mine->round == mine->files->rounds;
}

static void was_read(struct file_reading *mine)
{
	struct symbol_file *file = mine->file;
	struct symbol_job *reading = &mine->reading;

	free(file->debug.path);
	file->debug = reading->debug;
	reading->debug = (struct debug_found){0};
	file->demangling = reading->demangling;
	symbol_file_hold(file, &reading->opening);
	if (!is_of_round(mine)) {
		keep_for_later(mine->files, mine);
		return;
	}
	const struct outcome outcome = outcome_of(reading, file);
	keep_functions(mine->files, file, &outcome);
	keep_code(file, &reading->file);
}

static void was_given_up(struct file_reading *mine)
{
	struct symbol_files *files = mine->files;
	struct hung_file hung = open_request_hung_file(&mine->reading.opening);
	enum symbol_loss loss = SYMBOL_LOST_REFUSED;
	enum job_end end = mine->reading.job.end;
	bool past_own = atomic_load(&mine->reading.past_own);

	if (past_own)
		hung.where = symbol_file_where(mine->file);
	hung_fs_add(&files->hung, &hung, end, mine->run, past_own);
	if (end == JOB_SLOW) {
		loss = SYMBOL_LOST_SLOW;
	} else if (end == JOB_HANGS) {
		file_let_go(mine->file);
		loss = SYMBOL_LOST_HUNG;
	}
	if (is_of_round(mine)) /* else it was counted as late */
		files->stats.lost[loss] += mine->reading.count;
}

static void symbol_job_done(struct symbol_job *reading, bool finished)
{
	struct file_reading *mine = (struct file_reading *)reading;
	bool awaited = is_of_round(mine);

	*mine->link = mine->next;
	if (mine->next)
		mine->next->link = mine->link;
	mine->file->is_read = false;
	if (finished)
		was_read(mine);
	else
		was_given_up(mine);
	if (awaited)
		files_one_less(mine->files);
}

static void symbol_job_free(struct symbol_job *reading)
{
	struct file_reading *mine = (struct file_reading *)reading;

	hung_run_end(mine->run);
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
	mine->run = hung_run_new();
	mine->round = files->rounds;
	mine->link = &files->under_way;
	mine->next = files->under_way;
	if (mine->next)
		mine->next->link = &mine->next;
	files->under_way = mine;
	mine->reading = (struct symbol_job){
		.debugging_dir = file->debugging_dir,
		.demangling = file->demangling,
		.functions = file->wanted,
		.count = file->wanted_count,
		.done = symbol_job_done,
		.free = symbol_job_free,
	};
	symbol_file_opening(file, &file->place, &mine->reading.opening);
	file->is_read = true;
	if (debug_found_copy(&mine->reading.debug, &file->debug) < 0)
		mine->reading.debug = (struct debug_found){0}; /* search the debug file again */
	file->wanted = NULL;
	file->wanted_count = file->wanted_capacity = 0;
	file->place.pid = 0; /* another process may have the pid in the next round */
	files->readings++;
	files->stats.readings++;
	symbol_job_submit(&mine->reading, files->worker);
}

/* Returns why the file isn't read in this round; SYMBOL_LOST_COUNT if it is read. */
static enum symbol_loss why_not(struct symbol_files *files, const struct symbol_file *file)
{
	struct open_request opening = {.stat = file->stat, .whose = file->payer};
	struct hung_file hung = open_request_hung_file(&opening);

	hung.where = symbol_file_where(file);
	if (file->is_read)
		return SYMBOL_LOST_LATE;
	switch (hung_fs_has(&files->hung, &hung)) {
	case HUNG_HANGS:
		return SYMBOL_LOST_HUNG;
	case HUNG_SLOW:
		return SYMBOL_LOST_SLOW;
	default:
		return SYMBOL_LOST_COUNT;
	}
}

/* Ends a round before all is read: unfinished readings are late, and come in the next round. */
static void time_passed(void *arg)
{
	struct symbol_files *files = arg;

	if (--files->fences || !files->reads || files->rounds != files->fenced_round)
		return; /* that round has ended */
	for (const struct file_reading *mine = files->under_way; mine; mine = mine->next) {
		if (is_of_round(mine))
			files->stats.lost[SYMBOL_LOST_LATE] += mine->reading.count;
	}
	files_leave_perfmaps(files);
	files->readings = 0;
	end_round(files);
}

static bool is_enough(void *arg)
{
	struct symbol_files *files = arg;

	return files->reads && files->rounds == files->fenced_round && files->enough(files->arg);
}

static void limit_round(struct symbol_files *files)
{
	if (!files->enough || worker_fence(files->worker, is_enough, time_passed, files) < 0)
		return;
	files->fences++;
	files->fenced_round = files->rounds;
}

void symbol_files_read(struct symbol_files *files, bool (*enough)(void *arg),
		       void (*passed)(void *arg), void *arg)
{
	files->enough = enough;
	files->passed = passed;
	files->arg = arg;
	files->reads = true;
	files->readings = 1; /* so that the round can't end before all are submitted */
	while (files->wanted) {
		_cleanup_(file_unref) struct symbol_file *file = files->wanted;
		enum symbol_loss loss = why_not(files, file);

		files->wanted = file->next_wanted;
		if (loss == SYMBOL_LOST_COUNT) {
			start_reading(files, file);
			continue;
		}
		files->stats.lost[loss] += file->wanted_count;
		file->wanted_count = 0;
	}
	files_read_perfmaps(files); /* behind the files, in each user's queue */
	if (files->readings > 1)
		limit_round(files);
	files_one_less(files);
}

const char *symbol_loss_name(enum symbol_loss loss)
{
	static const char *const names[] = {SYMBOL_LOSSES(NAMED_NAME)};

	return names[loss];
}
