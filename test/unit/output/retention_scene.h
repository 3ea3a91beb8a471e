/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folders of files whose names have times, and their cleaning at NOW. */
#pragma once

#include "unit/lib/folder.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <time.h>

#include "output/files/retention.h"

/* Europe/Berlin, written out: tzdata may be missing. */
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"

/* 2026-11-21 12:00:00 UTC, the tests' now. */
#define NOW 1795262400

static const char *const probes[] = {"oncpu", "offcpu"};

static inline int use_utc(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

/* Runs to the end, in steps that are as short as can be. */
static inline struct retention_result clean_at(const struct folder *folder, int64_t days,
					       int64_t bytes, time_t now)
{
	struct retention *retention;
	struct retention_result result;
	char svg_dir[128], flame_dir[128];
	struct retention_setup setup = {
		.roots = {(const char *const[]){folder->path}, 1},
		.svg_dir = svg_dir,
		.flame_dir = flame_dir,
		.probes = probes,
		.probes_count = ARRAY_SIZE(probes),
		.limits = {.days = days, .bytes = bytes},
		.now = now,
	};

	snprintf(svg_dir, sizeof(svg_dir), "%s/svg", folder->path);
	snprintf(flame_dir, sizeof(flame_dir), "%s/flame", folder->path);
	assert_int_equal(retention_new(&retention, &setup), 0);
	while (retention_step(retention, 0))
		;
	result = *retention_result(retention);
	retention_free(retention);
	return result;
}

static inline struct retention_result clean(const struct folder *folder, int64_t days,
					    int64_t bytes)
{
	return clean_at(folder, days, bytes, NOW);
}

/* A file of so many bytes, with the folders that lead to it. */
static inline void put(const struct folder *folder, const char *path, size_t bytes)
{
	char part[256];

	for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdirat(folder->fd, part, 0750) < 0)
			assert_int_equal(errno, EEXIST);
	}
	folder_put(folder, path, "", 0);
	_cleanup_close_ int fd = openat(folder->fd, path, O_WRONLY | O_NOFOLLOW);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
}

static inline void assert_there(const struct folder *folder, const char *path)
{
	if (!folder_has(folder, path))
		fail_msg("is gone: %s", path);
}

static inline void assert_gone(const struct folder *folder, const char *path)
{
	if (folder_has(folder, path))
		fail_msg("is still there: %s", path);
}
