// SPDX-License-Identifier: GPL-2.0-only
#include "profile/cleaner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "profile/spec.h"
#include "profile/view.h"

#define SLICE_NS (100 * NS_PER_MS)
#define HOUR_S	 3600
#define SHARE	 100 /* of its time that it may take: one part of so many */

struct cleaner {
	struct cleaner_setup setup;
	char svg_dir[SPEC_PATH_MAX], flame_dir[SPEC_PATH_MAX]; /* "": not told yet */
	struct loop_timer timer;
	bool running;
	bool again; /* at once: folders or limits are others */
	bool woken; /* when it may: files were written during a run */
	uint64_t begun_ns, not_before_ns;
	int64_t clock_s; /* how far the clock is ahead of the time since boot; 0: never looked */
	int64_t ageless_until_s;      /* time since boot */
	struct retention_result seen; /* of this run, that stats have */
	struct cleaner_stats stats;
};

/* One slice of a run. Owns all it uses, for it may be given up. */
struct slice {
	struct job job;
	struct cleaner *cleaner; /* on the loop's thread only */
	struct retention *retention;
	bool more;
};

static void run_slice(struct job *job)
{
	struct slice *slice = (struct slice *)job;

	slice->more = retention_step(slice->retention, SLICE_NS);
}

static void slice_done(struct job *job, bool finished);

static void free_slice(struct job *job)
{
	struct slice *slice = (struct slice *)job;

	retention_free(slice->retention);
	free(slice);
}

static int submit(struct cleaner *cleaner, struct retention *retention)
{
	struct slice *slice = calloc(1, sizeof(*slice));

	if (!slice)
		return -ENOMEM;
	slice->job = (struct job){.run = run_slice, .done = slice_done, .free = free_slice};
	slice->cleaner = cleaner;
	slice->retention = retention;
	worker_submit(cleaner->setup.foreign, &slice->job);
	return 0;
}

static void begin(void *arg);

static void end_run(struct cleaner *cleaner)
{
	uint64_t now_ns = loop_now_ns();
	uint64_t pause_ns = (uint64_t)cleaner->setup.limits.interval * NS_PER_S;

	if ((now_ns - cleaner->begun_ns) * SHARE > pause_ns)
		pause_ns = (now_ns - cleaner->begun_ns) * SHARE;
	cleaner->running = false;
	cleaner->not_before_ns = now_ns + pause_ns;
	loop_timer_set(cleaner->setup.loop, &cleaner->timer,
		       cleaner->woken ? cleaner->not_before_ns : now_ns + HOUR_S * NS_PER_S);
	cleaner->woken = false;
	if (cleaner->again)
		begin(cleaner);
}

/* A run over many files takes minutes: what it has done so far counts. */
static void count(struct cleaner *cleaner, const struct retention_result *result)
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
		log_warn("retention: %llu files or folders below %s or %s can't be read or "
			 "removed: %s",
			 (unsigned long long)result->failed, cleaner->svg_dir, cleaner->flame_dir,
			 strerror(-result->error));
}

static void slice_done(struct job *job, bool finished)
{
	struct slice *slice = (struct slice *)job;
	struct cleaner *cleaner = slice->cleaner;

	if (finished)
		count(cleaner, retention_result(slice->retention));
	if (!finished) {
		log_error("retention: reading %s or %s takes too long; old files stay",
			  cleaner->svg_dir, cleaner->flame_dir);
		cleaner->stats.failed++;
	} else if (slice->more && submit(cleaner, slice->retention) == 0) {
		slice->retention = NULL;
		return;
	} else {
		take_result(cleaner, retention_result(slice->retention));
	}
	end_run(cleaner);
}

static int64_t clock_now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec;
}

/* Whether the clock can be trusted to tell ages. */
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

/* Of all probes and their views; returns their number. */
static size_t list_folders(const char *folders[PROBE_COUNT * VIEWS])
{
	size_t count = 0;

	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		for (int view = 0; view < VIEWS; view++) {
			const struct view_row *row = view_get(probe, view);

			if (row)
				folders[count++] = row->folder;
		}
	}
	return count;
}

static void begin(void *arg)
{
	struct cleaner *cleaner = arg;
	static const char *folders[PROBE_COUNT * VIEWS];
	struct retention *retention;
	struct retention_setup setup = {
		.roots = cleaner->setup.roots,
		.svg_dir = cleaner->svg_dir,
		.flame_dir = cleaner->flame_dir,
		.probes = folders,
		.limits = cleaner->setup.limits,
		.now = time(NULL),
	};

	cleaner->again = cleaner->running;
	if (cleaner->running || !cleaner->svg_dir[0])
		return;
	setup.probes_count = list_folders(folders);
	cleaner->begun_ns = loop_now_ns();
	cleaner->seen = (struct retention_result){0};
	cleaner->running = true;
	if (!watch_clock(cleaner))
		setup.limits.days = 0;
	if (retention_new(&retention, &setup) < 0) {
		end_run(cleaner);
		return;
	}
	if (submit(cleaner, retention) < 0) {
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
	cleaner->timer = (struct loop_timer){.expired = begin, .arg = cleaner};
	*ret = cleaner;
	return 0;
}

void cleaner_free(struct cleaner *cleaner)
{
	if (!cleaner)
		return;
	loop_timer_cancel(cleaner->setup.loop, &cleaner->timer);
	free(cleaner);
}

void cleaner_set_folders(struct cleaner *cleaner, const char *svg_dir, const char *flame_dir)
{
	if (strcmp(cleaner->svg_dir, svg_dir) == 0 && strcmp(cleaner->flame_dir, flame_dir) == 0)
		return;
	snprintf(cleaner->svg_dir, sizeof(cleaner->svg_dir), "%s", svg_dir);
	snprintf(cleaner->flame_dir, sizeof(cleaner->flame_dir), "%s", flame_dir);
	begin(cleaner);
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
	begin(cleaner);
}

void cleaner_wake(struct cleaner *cleaner)
{
	if (cleaner->running)
		cleaner->woken = true;
	else if (loop_now_ns() >= cleaner->not_before_ns)
		begin(cleaner);
	else if (!cleaner->timer.active || cleaner->timer.at_ns > cleaner->not_before_ns)
		loop_timer_set(cleaner->setup.loop, &cleaner->timer, cleaner->not_before_ns);
}

const struct cleaner_stats *cleaner_stats(const struct cleaner *cleaner)
{
	return &cleaner->stats;
}
