// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/files/retention.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "loop/loop.h"
#include "output/files/filename.h"
#include "output/files/latest.h"

/* Days with a sum of their own, from tomorrow back; all older days share the last sum. */
#define DAYS 4096

/* Entries looked at between two looks at the clock. */
#define STEPS 64

enum retention_pass {
	PASS_DAYS,    /* sum sizes by day */
	PASS_SECONDS, /* sum sizes of split_day by second */
	PASS_REMOVE,
	PASS_END
};

/* A folder that is being read: of a probe, a process or a date. */
struct level {
	DIR *dir;
	char name[NAME_MAX + 1];
	bool holds_processes, holds_dates, holds_files;
	int pid;      /* pid in the names of files below its dates; 0: none */
	int file_pid; /* pid in the names of its own files; 0: none */
	int64_t day;  /* of a date's folder */
};

/* One of the folders to clean: svg_dir, flame_dir, then the earlier ones. */
struct retention_place {
	char *path; /* NULL: not cleaned */
	const char *extension;
	bool folded;
	bool earlier; /* of an earlier setting */
	size_t found; /* see struct retention_folder */
	bool known;   /* dev and ino are set */
	bool same;    /* a place before this one is the same folder */
	enum retention_end end;
	dev_t dev;
	ino_t ino;
};

struct retention {
	struct retention_setup setup;
	struct retention_place *places;
	size_t places_count;
	size_t place, probe; /* place that is read, and the next probe's folder in it */
	int root_fd;	     /* the place's folder; negative: not there, or not opened yet */
	bool opened;	     /* open_place() was called for this place */
	struct level levels[3];
	size_t depth;
	enum retention_pass pass;

	int64_t today;
	int64_t threshold;     /* files before this moment are removed */
	bool drop_future;      /* files of the future are removed */
	int64_t split_day;     /* the day in which the limit of bytes falls */
	uint64_t excess;       /* bytes to be removed of that day */
	uint64_t days[DAYS];   /* bytes by day; [0] is tomorrow */
	uint64_t future_bytes; /* bytes of files more than a day in the future */
	uint64_t *seconds;     /* bytes of split_day by second */
	struct retention_result result;
};

static int add_place(struct retention *retention, const char *path, bool folded)
{
	struct retention_place *place = &retention->places[retention->places_count];

	place->folded = folded;
	place->extension = folded ? ".folded" : ".svg";
	retention->places_count++;
	if (!path)
		return 0;
	place->path = strdup(path);
	place->found = strlen(path);
	return place->path ? 0 : -ENOMEM;
}

static int add_places(struct retention *retention, const struct retention_setup *setup)
{
	retention->places = calloc(2 + setup->earlier_count, sizeof(*retention->places));
	int r = retention->places ? add_place(retention, setup->svg_dir, false) : -ENOMEM;

	if (r == 0)
		r = add_place(retention, setup->flame_dir, true);
	for (size_t i = 0; r == 0 && i < setup->earlier_count; i++) {
		const struct retention_folder *folder = &setup->earlier[i];

		r = add_place(retention, folder->path, folder->folded);
		if (r == 0) {
			retention->places[i + 2].earlier = true;
			retention->places[i + 2].found = folder->found;
		}
	}
	return r;
}

int retention_new(struct retention **ret, const struct retention_setup *setup)
{
	struct retention *retention = calloc(1, sizeof(*retention));

	if (!retention)
		return -ENOMEM;
	retention->root_fd = -1;
	retention->setup = *setup;
	retention->setup.roots = (struct store_roots){0};
	int r = store_roots_copy(&retention->setup.roots, &setup->roots);
	if (r == 0)
		r = add_places(retention, setup);
	if (setup->limits.bytes)
		retention->seconds = calloc(DAY_S, sizeof(*retention->seconds));
	if (r < 0 || (setup->limits.bytes && !retention->seconds)) {
		retention_free(retention);
		return -ENOMEM;
	}
	int64_t now = filename_moment(setup->now);
	retention->today = now / DAY_S;
	retention->threshold = setup->limits.days ? now - setup->limits.days * DAY_S : INT64_MIN;
	retention->pass = setup->limits.bytes ? PASS_DAYS : PASS_REMOVE;
	*ret = retention;
	return 0;
}

static void close_level(struct level *level)
{
	if (level->dir)
		closedir(level->dir);
	level->dir = NULL;
}

void retention_free(struct retention *retention)
{
	if (!retention)
		return;
	while (retention->depth > 0)
		close_level(&retention->levels[--retention->depth]);
	if (retention->root_fd >= 0)
		close(retention->root_fd);
	for (size_t i = 0; i < retention->places_count; i++)
		free(retention->places[i].path);
	free(retention->places);
	store_roots_done(&retention->setup.roots);
	free(retention->seconds);
	free(retention);
}

const struct retention_result *retention_result(const struct retention *retention)
{
	return &retention->result;
}

/* Counts a failure, unless the file has vanished or is no file or folder of ours. Only the last
 * pass counts, which reaches all that matters, so that each failure is counted once. */
static void note_failure(struct retention *retention, int error)
{
	if (error == -ENOENT || error == -ENOTDIR || error == -ELOOP ||
	    retention->pass != PASS_REMOVE)
		return;
	retention->result.failed++;
	retention->result.error = error;
}

const char *retention_path(const struct retention *retention, bool *folded)
{
	const struct retention_place *place =
		&retention->places[__atomic_load_n(&retention->place, __ATOMIC_RELAXED)];

	*folded = place->folded;
	return place->path ? place->path : "";
}

enum retention_end retention_end(const struct retention *retention, size_t earlier)
{
	return retention->places[2 + earlier].end;
}

/* Whether a place before this one is the same folder: its files count once. */
static bool is_same(const struct retention *retention, const struct retention_place *place)
{
	for (const struct retention_place *other = retention->places; other < place; other++) {
		if (other->known && other->dev == place->dev && other->ino == place->ino &&
		    strcmp(other->extension, place->extension) == 0)
			return true;
	}
	return false;
}

/* Returns the end of an earlier folder that could not be opened. */
static enum retention_end end_of(int error)
{
	if (error == -EACCES || error == -ELOOP || error == -ENOTDIR)
		return RETENTION_TAKEN;
	return error == -ENOENT ? RETENTION_MISSING : RETENTION_STAYS;
}

static void open_place(struct retention *retention)
{
	struct retention_place *place = &retention->places[retention->place];
	struct stat stat;

	retention->opened = true;
	if (!place->path)
		return;
	_cleanup_close_ int fd = store_find_folder(&retention->setup.roots, place->path);
	if (fd >= 0 && fstat(fd, &stat) < 0) {
		note_failure(retention, -errno);
		return;
	}
	if (fd < 0) {
		place->end = end_of(fd);
		/* -EPERM: the roots were changed so that the earlier folder is no longer ours. */
		if (!place->earlier || (fd != -EPERM && place->end != RETENTION_TAKEN))
			note_failure(retention, fd);
		return;
	}
	place->known = true;
	place->dev = stat.st_dev;
	place->ino = stat.st_ino;
	place->same = is_same(retention, place);
	if (place->same)
		return;
	if (retention->pass == PASS_REMOVE)
		scratch_clean(fd);
	retention->root_fd = TAKE_FD(fd);
}

/* ---- reading folders ---- */

static const char *place_extension(const struct retention *retention)
{
	return retention->places[retention->place].extension;
}

/* Opens a folder of ours as the next level; `level` tells what the folder may hold. */
static void enter_folder(struct retention *retention, int parent_fd, const char *name,
			 const struct level *level)
{
	struct level *next = &retention->levels[retention->depth];
	_cleanup_close_ int fd =
		openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0) {
		note_failure(retention, -errno);
		return;
	}
	if (stat.st_uid != geteuid())
		return;
	*next = *level;
	next->dir = fdopendir(fd);
	if (!next->dir) {
		note_failure(retention, -errno);
		return;
	}
	(void)TAKE_FD(fd); /* next->dir owns it */
	snprintf(next->name, sizeof(next->name), "%s", name);
	retention->depth++;
}

/* Whether this pass has to look at the files of a day. */
static bool wants_day(const struct retention *retention, int64_t day)
{
	switch (retention->pass) {
	case PASS_DAYS:
		return true;
	case PASS_SECONDS:
		return day == retention->split_day;
	default:
		return day * DAY_S < retention->threshold ||
		       (retention->drop_future && day > retention->today + 1);
	}
}

static void enter_child(struct retention *retention, const struct level *level, const char *name)
{
	struct level child = {.file_pid = level->pid};

	/* A process's name may make its folder look like a date's: then the folder is read as
	 * both. */
	if (level->holds_processes)
		child.holds_dates = filename_process(name, &child.pid);
	if (level->holds_dates && filename_date(name, &child.day))
		child.holds_files = wants_day(retention, child.day);
	if (child.holds_dates || child.holds_files)
		enter_folder(retention, dirfd(level->dir), name, &child);
}

/* ---- files ---- */

static void count_size(struct retention *retention, int64_t moment, uint64_t bytes)
{
	int64_t ago = retention->today + 1 - moment / DAY_S;

	if (retention->pass == PASS_SECONDS) {
		retention->seconds[moment % DAY_S] += bytes;
		return;
	}
	retention->result.files++;
	retention->result.bytes += bytes;
	if (ago < 0)
		retention->future_bytes += bytes;
	else
		retention->days[ago < DAYS ? ago : DAYS - 1] += bytes;
}

static bool has_to_go(const struct retention *retention, int64_t moment)
{
	if (moment / DAY_S > retention->today + 1)
		return retention->drop_future;
	return moment < retention->threshold;
}

static void take_file(struct retention *retention, const struct level *level, const char *name)
{
	int fd = dirfd(level->dir);
	struct stat stat;
	int64_t moment;

	if (!filename_profile(name, level->file_pid, place_extension(retention), &moment) ||
	    moment / DAY_S != level->day)
		return;
	if (retention->pass == PASS_REMOVE && !has_to_go(retention, moment))
		return;
	if (fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0) {
		note_failure(retention, -errno);
		return;
	}
	if (!S_ISREG(stat.st_mode) || stat.st_nlink != 1 || stat.st_uid != geteuid())
		return;
	if (retention->pass != PASS_REMOVE) {
		count_size(retention, moment, (uint64_t)stat.st_size);
		return;
	}
	if (unlinkat(fd, name, 0) < 0) {
		note_failure(retention, -errno);
		return;
	}
	retention->result.removed++;
	retention->result.removed_bytes += (uint64_t)stat.st_size;
}

/* ---- empty folders ---- */

/* Closes the folder of the top level and removes it if it is empty. Today's folder stays, for the
 * next file may be on its way. */
static void leave_folder(struct retention *retention)
{
	struct level *level = &retention->levels[retention->depth - 1];

	if (retention->pass == PASS_REMOVE && level->holds_dates &&
	    strcmp(place_extension(retention), ".svg") == 0) {
		int mended = latest_mend(level->dir, retention->root_fd, level->pid);

		if (mended < 0)
			note_failure(retention, mended);
	}
	close_level(level);
	retention->depth--;
	if (retention->pass != PASS_REMOVE || retention->depth == 0 ||
	    (level->holds_files && level->day >= retention->today))
		return;
	if (unlinkat(dirfd(level[-1].dir), level->name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY &&
	    errno != EEXIST)
		note_failure(retention, -errno);
}

static void step_entry(struct retention *retention)
{
	struct level *level = &retention->levels[retention->depth - 1];

	errno = 0;
	struct dirent *entry = readdir(level->dir);
	if (!entry) {
		if (errno)
			note_failure(retention, -errno);
		leave_folder(retention);
		return;
	}
	if (level->holds_files)
		take_file(retention, level, entry->d_name);
	if (level->holds_dates || level->holds_processes)
		enter_child(retention, level, entry->d_name);
}

/* ---- passes ---- */

/* Decides, from the sizes by day, which days are removed as a whole and which day is split. */
static enum retention_pass weigh_days(struct retention *retention)
{
	uint64_t max = (uint64_t)retention->setup.limits.bytes;
	uint64_t excess = retention->result.bytes > max ? retention->result.bytes - max : 0;

	if (excess == 0)
		return PASS_REMOVE;
	retention->drop_future = retention->future_bytes > 0;
	excess -= excess < retention->future_bytes ? excess : retention->future_bytes;
	for (int ago = DAYS - 1; excess > 0 && ago >= 0; ago--) {
		int64_t day = retention->today + 1 - ago;

		if (ago < DAYS - 1 && retention->days[ago] > excess) {
			retention->split_day = day;
			retention->excess = excess;
			return PASS_SECONDS;
		}
		if (retention->days[ago] && (day + 1) * DAY_S > retention->threshold)
			retention->threshold = (day + 1) * DAY_S;
		excess -= excess < retention->days[ago] ? excess : retention->days[ago];
	}
	return PASS_REMOVE;
}

static enum retention_pass weigh_seconds(struct retention *retention)
{
	uint64_t excess = retention->excess;
	int64_t second = 0;

	for (; excess > 0 && second < DAY_S; second++)
		excess -= excess < retention->seconds[second] ? excess : retention->seconds[second];
	if (retention->split_day * DAY_S + second > retention->threshold)
		retention->threshold = retention->split_day * DAY_S + second;
	return PASS_REMOVE;
}

static void go_to_place(struct retention *retention, size_t place)
{
	if (retention->root_fd >= 0)
		close(TAKE_FD(retention->root_fd));
	retention->opened = false;
	retention->probe = 0;
	__atomic_store_n(&retention->place, place, __ATOMIC_RELAXED);
}

static void end_pass(struct retention *retention)
{
	go_to_place(retention, 0);
	switch (retention->pass) {
	case PASS_DAYS:
		retention->pass = weigh_days(retention);
		break;
	case PASS_SECONDS:
		retention->pass = weigh_seconds(retention);
		break;
	default:
		retention->pass = PASS_END;
	}
}

/* Ends an earlier folder: removes the probes' folders, and the part of the path that stackprobe
 * made, as far as they are empty. */
static void leave_earlier(struct retention *retention)
{
	struct retention_place *place = &retention->places[retention->place];
	struct stat stat;

	place->end = RETENTION_MISSING;
	for (size_t i = 0; i < retention->setup.probes_count; i++) {
		const char *name = retention->setup.probes[i];

		if (fstatat(retention->root_fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(stat.st_mode) || stat.st_uid != geteuid())
			continue;
		if (unlinkat(retention->root_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			place->end = RETENTION_STAYS;
		else if (place->end == RETENTION_MISSING)
			place->end = RETENTION_EMPTIED;
	}
	if (place->end != RETENTION_STAYS)
		store_remove_made(&retention->setup.roots, place->path, place->found);
}

/* Enters the next probe's folder, or goes on to the next place or the next pass. */
static void next_folder(struct retention *retention)
{
	static const struct level top = {.holds_processes = true, .holds_dates = true};

	if (!retention->opened)
		open_place(retention);
	if (retention->root_fd >= 0 && retention->probe < retention->setup.probes_count) {
		enter_folder(retention, retention->root_fd,
			     retention->setup.probes[retention->probe++], &top);
		return;
	}
	if (retention->root_fd >= 0 && retention->pass == PASS_REMOVE &&
	    retention->places[retention->place].earlier)
		leave_earlier(retention);
	if (retention->place + 1 == retention->places_count)
		end_pass(retention);
	else
		go_to_place(retention, retention->place + 1);
}

bool retention_step(struct retention *retention, uint64_t limit_ns)
{
	uint64_t begun_ns = loop_now_ns();

	for (unsigned i = 1; retention->pass != PASS_END; i++) {
		if (retention->depth == 0)
			next_folder(retention);
		else
			step_entry(retention);
		if (i % STEPS == 0 && loop_now_ns() - begun_ns >= limit_ns)
			return true;
	}
	return false;
}
