// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/cleaner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kind/kind.h"
#include "profile/folder_list.h"
#include "select/spec.h"
#include "profile/view.h"

#define SLICE_NS  (100 * NS_PER_MS)
#define HOUR_S	  3600
#define MISSING_S (24 * HOUR_S) /* a folder missing for so long is forgotten */
#define SHARE	  100		/* part of the time that it may take: 1 / SHARE */

/*
 * Most jobs that may hang in folders at a time: a quarter of what the worker bears. The last two
 * are for the present folders.
 */
#define HANGING_MAX 16

/*
 * One job, a slice of a run. It owns all it uses, as it may be given up. Then the cleaner keeps it,
 * too, and leaves alone the folder that it was busy with.
 */
struct slice {
	struct job job;
	struct cleaner *cleaner; /* loop thread only */
	struct retention *retention;
	bool more;
	unsigned users; /* atomic; the job, and the cleaner once it gave it up */
	/* The folder it was in when it was given up, and when that may be looked at again. */
	const char *path; /* borrowed from the retention */
	bool folded;
	uint64_t not_before_ns;
};

struct cleaner {
	struct cleaner_setup setup;
	char svg_dir[SPEC_PATH_MAX], flame_dir[SPEC_PATH_MAX]; /* "": not set yet */
	struct folder_list list;
	/* Of a run: the rows of its earlier folders, and how often each had been used. */
	struct {
		char *path;
		bool folded;
		uint64_t used;
	} earlier[FOLDER_LIST_MAX];
	size_t earlier_count;
	struct slice *hanging[HANGING_MAX];
	size_t hanging_count;
	struct loop_timer timer;
	bool running;
	bool again; /* run again at once: folders or limits changed */
	bool woken; /* run again when allowed: files were written during a run */
	uint64_t begun_ns, not_before_ns;
	int64_t clock_s;	      /* the clock minus the time since boot; 0: never read */
	int64_t ageless_until_s;      /* no removal by age before; time since boot */
	struct retention_result seen; /* results of this run that are in the stats */
	struct cleaner_stats stats;
};

static void save_list(const struct cleaner *cleaner)
{
	int r = folder_list_write(&cleaner->list);

	if (r < 0)
		log_warn("the list of folders with profiles can't be saved in %s: %s; after the "
			 "next "
			 "start old files stay in those that aren't used any more",
			 cleaner->list.state_dir, strerror(-r));
}

static struct folder_row *find_earlier(struct cleaner *cleaner, size_t i, size_t *row)
{
	for (*row = 0; *row < cleaner->list.count; ++*row) {
		struct folder_row *found = &cleaner->list.rows[*row];

		if (found->folded == cleaner->earlier[i].folded &&
		    strcmp(found->path, cleaner->earlier[i].path) == 0)
			return found;
	}
	return NULL;
}

static int64_t clock_now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec;
}

/*
 * Returns whether a folder can be forgotten. One that is missing, or another's, may be so for a
 * while: it may be mounted after the daemon's start.
 */
static bool is_over(struct folder_row *row, enum retention_end end)
{
	int64_t now_s = clock_now_s(CLOCK_BOOTTIME);

	if (end == RETENTION_EMPTIED)
		return true;
	if (end == RETENTION_STAYS) {
		row->missing_since_s = 0;
		return false;
	}
	if (!row->missing_since_s) {
		row->missing_since_s = now_s;
		if (end == RETENTION_TAKEN)
			log_warn("retention: %s, which files were written to, isn't stackprobe's "
				 "alone any more; old files in it stay",
				 row->path);
	}
	return now_s - row->missing_since_s >= MISSING_S;
}

/* Forgets folders, except those that came into use meanwhile. */
static void forget_gone(struct cleaner *cleaner, const struct retention *retention)
{
	bool changed = false;

	for (size_t i = 0; i < cleaner->earlier_count; i++) {
		size_t at;
		struct folder_row *row = find_earlier(cleaner, i, &at);

		if (!row || row->used != cleaner->earlier[i].used ||
		    !is_over(row, retention_end(retention, i)))
			continue;
		folder_list_remove(&cleaner->list, at);
		changed = true;
	}
	if (changed)
		save_list(cleaner);
}

static void run_slice(struct job *job)
{
	struct slice *slice = (struct slice *)job;

	slice->more = retention_step(slice->retention, SLICE_NS);
}

static void slice_done(struct job *job, bool finished);

static void slice_unref(struct slice *slice)
{
	if (__atomic_sub_fetch(&slice->users, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	retention_free(slice->retention);
	free(slice);
}

static void free_slice(struct job *job)
{
	slice_unref((struct slice *)job);
}

static int submit_slice(struct cleaner *cleaner, struct retention *retention)
{
	struct slice *slice = calloc(1, sizeof(*slice));

	if (!slice)
		return -ENOMEM;
	slice->job = (struct job){.run = run_slice, .done = slice_done, .free = free_slice};
	slice->cleaner = cleaner;
	slice->retention = retention;
	slice->users = 1;
	worker_submit(cleaner->setup.foreign, &slice->job);
	return 0;
}

static void begin_run(void *arg);

static void end_run(struct cleaner *cleaner)
{
	uint64_t now_ns = loop_now_ns();
	uint64_t pause_ns = (uint64_t)cleaner->setup.limits.interval * NS_PER_S;

	if ((now_ns - cleaner->begun_ns) * SHARE > pause_ns)
		pause_ns = (now_ns - cleaner->begun_ns) * SHARE;
	for (size_t i = 0; i < cleaner->earlier_count; i++)
		free(cleaner->earlier[i].path);
	cleaner->earlier_count = 0;
	cleaner->running = false;
	cleaner->not_before_ns = now_ns + pause_ns;
	loop_timer_set(cleaner->setup.loop, &cleaner->timer,
		       cleaner->woken ? cleaner->not_before_ns : now_ns + HOUR_S * NS_PER_S);
	cleaner->woken = false;
	if (cleaner->again)
		begin_run(cleaner);
}

/* Counts what a run has done so far, as a run over many files takes minutes. */
static void count_result(struct cleaner *cleaner, const struct retention_result *result)
{
	struct cleaner_stats *stats = &cleaner->stats;

	stats->removed += result->removed - cleaner->seen.removed;
	stats->removed_bytes += result->removed_bytes - cleaner->seen.removed_bytes;
	stats->failed += result->failed - cleaner->seen.failed;
	cleaner->seen = *result;
}

static void take_result(struct cleaner *cleaner, const struct retention_result *result)
{
	struct cleaner_stats *stats = &cleaner->stats;

	stats->files = stats->bytes = 0;
	if (cleaner->setup.limits.bytes && result->files > result->removed) {
		stats->files = result->files - result->removed;
		stats->bytes = result->bytes - result->removed_bytes;
	}
	if (result->removed)
		log_info("retention: %llu old files removed, %llu bytes",
			 (unsigned long long)result->removed,
			 (unsigned long long)result->removed_bytes);
	if (result->failed)
		log_warn("retention: %llu files or folders below %s%s%s%sfolders of before can't "
			 "be read or removed: %s",
			 (unsigned long long)result->failed, cleaner->svg_dir,
			 cleaner->svg_dir[0] ? ", " : "", cleaner->flame_dir,
			 cleaner->svg_dir[0] ? " or " : "", store_error_text(result->error));
}

/* Forgets jobs in hanging folders that have returned, an hour after they were given up. */
static void drop_returned(struct cleaner *cleaner)
{
	size_t left = 0;

	for (size_t i = 0; i < cleaner->hanging_count; i++) {
		struct slice *slice = cleaner->hanging[i];

		if (loop_now_ns() < slice->not_before_ns ||
		    __atomic_load_n(&slice->users, __ATOMIC_ACQUIRE) > 1)
			cleaner->hanging[left++] = slice;
		else
			slice_unref(slice);
	}
	cleaner->hanging_count = left;
}

static bool is_hanging(const struct cleaner *cleaner, const char *path, bool folded)
{
	for (size_t i = 0; i < cleaner->hanging_count; i++) {
		const struct slice *slice = cleaner->hanging[i];

		if (slice->folded == folded && strcmp(slice->path, path) == 0)
			return true;
	}
	return false;
}

/* Goes on with the other folders. */
static void give_up(struct cleaner *cleaner, struct slice *slice)
{
	slice->path = retention_path(slice->retention, &slice->folded);
	log_error("retention: reading %s takes too long; old files stay", slice->path);
	cleaner->stats.failed++;
	if (slice->job.end == JOB_REFUSED)
		return;
	slice->not_before_ns = loop_now_ns() + HOUR_S * NS_PER_S;
	__atomic_add_fetch(&slice->users, 1, __ATOMIC_ACQ_REL);
	cleaner->hanging[cleaner->hanging_count++] = slice;
	cleaner->again = true;
}

static void slice_done(struct job *job, bool finished)
{
	struct slice *slice = (struct slice *)job;
	struct cleaner *cleaner = slice->cleaner;

	if (finished)
		count_result(cleaner, retention_result(slice->retention));
	if (!finished) {
		give_up(cleaner, slice);
	} else if (slice->more && submit_slice(cleaner, slice->retention) == 0) {
		slice->retention = NULL;
		return;
	} else {
		take_result(cleaner, retention_result(slice->retention));
		forget_gone(cleaner, slice->retention);
	}
	end_run(cleaner);
}

/* Returns whether the clock can be trusted to tell ages. */
static bool watch_clock(struct cleaner *cleaner)
{
	int64_t boot_s = clock_now_s(CLOCK_BOOTTIME);
	int64_t clock_s = clock_now_s(CLOCK_REALTIME) - boot_s;

	if (cleaner->clock_s && clock_s > cleaner->clock_s + HOUR_S) {
		log_warn("retention: the clock jumped ahead by %lld s; for an hour no file is "
			 "removed for its age",
			 (long long)(clock_s - cleaner->clock_s));
		cleaner->ageless_until_s = boot_s + HOUR_S;
	}
	cleaner->clock_s = clock_s;
	return boot_s >= cleaner->ageless_until_s;
}

#define FOLDER_BYTES 64

/* Lists the folders of all probes and their views; returns their number. */
static size_t list_folders(const char *folders[PROBE_COUNT * VIEWS])
{
	static char names[PROBE_COUNT * VIEWS][FOLDER_BYTES]; /* those of events may change */
	size_t count = 0;

	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		for (int view = 0; kind_exists(probe) && view < VIEWS; view++) {
			const struct view_row *row = view_get(probe, view);

			if (!row)
				continue;
			snprintf(names[count], FOLDER_BYTES, "%s", row->folder);
			folders[count] = names[count];
			count++;
		}
	}
	return count;
}

static bool is_current(const struct cleaner *cleaner, const struct folder_row *row)
{
	return strcmp(row->path, row->folded ? cleaner->flame_dir : cleaner->svg_dir) == 0;
}

/* Opens the folders of earlier settings that can be read; returns their number. */
static size_t list_earlier(struct cleaner *cleaner, struct retention_folder earlier[])
{
	size_t count = 0;

	if (cleaner->hanging_count >= HANGING_MAX - 2)
		return 0;
	for (size_t i = 0; i < cleaner->list.count; i++) {
		const struct folder_row *row = &cleaner->list.rows[i];

		if (is_current(cleaner, row) || is_hanging(cleaner, row->path, row->folded))
			continue;
		cleaner->earlier[count].path = strdup(row->path);
		if (!cleaner->earlier[count].path)
			break;
		cleaner->earlier[count].folded = row->folded;
		cleaner->earlier[count].used = row->used;
		earlier[count++] = (struct retention_folder){row->path, row->folded, row->found};
	}
	return count;
}

/* Returns the folder; NULL: not set, or it hangs. */
static const char *usable_folder(const struct cleaner *cleaner, bool folded)
{
	const char *path = folded ? cleaner->flame_dir : cleaner->svg_dir;

	return !path[0] || is_hanging(cleaner, path, folded) ? NULL : path;
}

static void begin_run(void *arg)
{
	struct cleaner *cleaner = arg;
	static const char *folders[PROBE_COUNT * VIEWS];
	static struct retention_folder earlier[FOLDER_LIST_MAX];
	struct retention *retention;
	struct retention_setup setup = {
		.roots = cleaner->setup.roots,
		.probes = folders,
		.limits = cleaner->setup.limits,
		.now = time(NULL),
	};

	cleaner->again = cleaner->running;
	if (cleaner->running || (!cleaner->svg_dir[0] && cleaner->list.count == 0))
		return;
	loop_timer_cancel(cleaner->setup.loop, &cleaner->timer);
	drop_returned(cleaner);
	if (cleaner->hanging_count == HANGING_MAX) {
		loop_timer_set(cleaner->setup.loop, &cleaner->timer,
			       loop_now_ns() + HOUR_S * NS_PER_S);
		return;
	}
	setup.svg_dir = usable_folder(cleaner, false);
	setup.flame_dir = usable_folder(cleaner, true);
	setup.probes_count = list_folders(folders);
	setup.earlier = earlier;
	setup.earlier_count = cleaner->earlier_count = list_earlier(cleaner, earlier);
	cleaner->begun_ns = loop_now_ns();
	cleaner->seen = (struct retention_result){0};
	cleaner->running = true;
	if (!watch_clock(cleaner))
		setup.limits.days = 0;
	if (retention_new(&retention, &setup) < 0) {
		end_run(cleaner);
		return;
	}
	if (submit_slice(cleaner, retention) < 0) {
		retention_free(retention);
		end_run(cleaner);
	}
}

int cleaner_new(struct cleaner **ret, const struct cleaner_setup *setup)
{
	struct cleaner *cleaner = calloc(1, sizeof(*cleaner));

	if (!cleaner)
		return -ENOMEM;
	cleaner->setup = *setup;
	cleaner->timer =
		(struct loop_timer){.expired = begin_run, .arg = cleaner, .name = "cleaner"};
	cleaner->list.state_dir = setup->state_dir;
	int r = folder_list_read(&cleaner->list);
	if (r < 0 && r != -ENOENT)
		log_error("%s/folders can't be read: %s; old files stay in folders of earlier "
			  "settings",
			  setup->state_dir,
			  r == -EPERM	 ? "it isn't ours alone"
			  : r == -EINVAL ? "it is damaged"
					 : strerror(-r));
	/* First run when the loop runs: by then the present folders are set, if there are any. */
	if (cleaner->list.count > 0)
		loop_timer_set(setup->loop, &cleaner->timer, loop_now_ns());
	*ret = cleaner;
	return 0;
}

void cleaner_free(struct cleaner *cleaner)
{
	if (!cleaner)
		return;
	loop_timer_cancel(cleaner->setup.loop, &cleaner->timer);
	for (size_t i = 0; i < cleaner->earlier_count; i++)
		free(cleaner->earlier[i].path);
	for (size_t i = 0; i < cleaner->hanging_count; i++)
		slice_unref(cleaner->hanging[i]);
	folder_list_done(&cleaner->list);
	free(cleaner);
}

void cleaner_set_folders(struct cleaner *cleaner, const char *svg_dir, const char *flame_dir)
{
	if (strcmp(cleaner->svg_dir, svg_dir) == 0 && strcmp(cleaner->flame_dir, flame_dir) == 0)
		return;
	snprintf(cleaner->svg_dir, sizeof(cleaner->svg_dir), "%s", svg_dir);
	snprintf(cleaner->flame_dir, sizeof(cleaner->flame_dir), "%s", flame_dir);
	begin_run(cleaner);
}

/* Returns 1 if the list has changed. */
static int note_folder(struct cleaner *cleaner, const char *path, bool folded, size_t found)
{
	_cleanup_free_ char *forgotten = NULL;
	int r = folder_list_add(&cleaner->list, path, folded, found, &forgotten);

	if (r < 0)
		log_error("retention: no memory to remember %s", path);
	if (forgotten)
		log_warn("retention: files were written to more than %d folders; those in %s stay",
			 FOLDER_LIST_MAX, forgotten);
	return r > 0;
}

void cleaner_note_made(struct cleaner *cleaner, const char *svg_dir, size_t svg_found,
		       const char *flame_dir, size_t flame_found)
{
	int changed = note_folder(cleaner, svg_dir, false, svg_found);

	if (note_folder(cleaner, flame_dir, true, flame_found) || changed)
		save_list(cleaner);
}

void cleaner_note_use(struct cleaner *cleaner, const char *svg_dir, const char *flame_dir)
{
	cleaner_note_made(cleaner, svg_dir, strlen(svg_dir), flame_dir, strlen(flame_dir));
}

void cleaner_set_state(struct cleaner *cleaner, const char *state_dir)
{
	const char *before = cleaner->list.state_dir;

	cleaner->list.state_dir = state_dir;
	if (before && strcmp(before, state_dir) != 0)
		save_list(cleaner);
}

void cleaner_set_roots(struct cleaner *cleaner, const struct store_roots *roots)
{
	cleaner->setup.roots = *roots;
}

void cleaner_set_limits(struct cleaner *cleaner, const struct retention_limits *limits)
{
	const struct retention_limits *old = &cleaner->setup.limits;

	if (old->days == limits->days && old->bytes == limits->bytes &&
	    old->interval == limits->interval)
		return;
	cleaner->setup.limits = *limits;
	begin_run(cleaner);
}

void cleaner_wake(struct cleaner *cleaner)
{
	if (cleaner->running)
		cleaner->woken = true;
	else if (loop_now_ns() >= cleaner->not_before_ns)
		begin_run(cleaner);
	else if (!cleaner->timer.active || cleaner->timer.at_ns > cleaner->not_before_ns)
		loop_timer_set(cleaner->setup.loop, &cleaner->timer, cleaner->not_before_ns);
}

const struct cleaner_stats *cleaner_stats(const struct cleaner *cleaner)
{
	return &cleaner->stats;
}
