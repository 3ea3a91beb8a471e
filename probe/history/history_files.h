/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of history, in one folder of the daemon's own, which one daemon has at a time:
 *
 *	<state_dir>/history/<series>.<level>.<number of its first window, 16 hex digits>
 *
 * A file has records one after the other (history_record.h) and is only ever appended to, by the
 * daemon that made it. So after a power cut at most its end is damaged, which is left out and
 * counted. An empty file is removed when it is met again. One thread at a time; each call may block
 *as the file system does.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/why.h"
#include "history/history_record.h"

#define HISTORY_SERIES_BYTES 80

/* How long a record is. Whatever ends earlier, a window say, is kept as it is. */
enum history_level { HISTORY_WINDOW, HISTORY_BLOCK, HISTORY_HOUR, HISTORY_LEVELS };

/* Returns the length of a level's slots, ns, by which windows are put together. */
uint64_t history_level_ns(enum history_level level);

struct history_limits {
	int64_t days;  /* 0: no limit */
	int64_t bytes; /* 0: no limit */
};

/* Where a payload is. */
struct history_place {
	uint32_t file;
	uint64_t offset;
};

struct history_file {
	char series[HISTORY_SERIES_BYTES];
	enum history_level level;
	uint64_t number;     /* in its name */
	uint64_t bytes;	     /* 0: it was removed */
	uint64_t damaged;    /* bytes of them that can't be read */
	int64_t from, until; /* of its first record; the latest of all */
	bool is_ours;	     /* this daemon made it, and appends to it */
};

struct history_files_stats {
	uint64_t bytes, removed; /* of all files; files that were removed */
	uint64_t damaged;	 /* bytes that can't be read */
};

struct history_files;

/*
 * Opens the folder below `state_dir`, and makes it if it is missing. The caller owns *ret. Returns
 * 0, or a negative errno and a sentence in `why`: -EBUSY if another daemon has it.
 */
int history_files_open(struct history_files **ret, const char *state_dir, struct why *why);
void history_files_free(struct history_files *files);

/*
 * Reads the heads of all records, those of one file in their order. found() gets each; its error
 * ends the scan. Returns 0 or a negative errno.
 */
int history_files_scan(struct history_files *files,
		       int (*found)(void *arg, const struct history_file *file,
				    const struct history_head *head,
				    const struct history_place *place),
		       void *arg);

/* Appends a record: its head and its packed payload. Returns 0 with the payload's place, or a
 * negative errno: nothing was added. */
int history_files_append(struct history_files *files, const char *series, enum history_level level,
			 const struct history_head *head, const struct buf *payload,
			 struct history_place *place);

/* Reads the payload of a record. Returns 0, a negative errno, or -EBADMSG: it is damaged. The
 * caller calls history_payload_done() in any case. */
int history_files_read(struct history_files *files, const struct history_place *place,
		       const struct history_head *head, struct history_payload *payload);

/*
 * Removes files that are too old (`by_age`; windows after a day, the rest after limits->days) and
 * then the oldest until all fit. A file that says it is of the future counts as the oldest, and has
 * no age. `now`: ns since 1970. Returns how many were removed; their `bytes` are 0 then.
 */
size_t history_files_trim(struct history_files *files, const struct history_limits *limits,
			  bool by_age, int64_t now);

/* Opens a file of ours in the folder, which is made with O_CREAT: -EPERM if it isn't regular, has
 * another link, or is somebody else's. Returns it, or a negative errno. */
int history_file_open(int folder, const char *name, int flags, struct stat *status);

/* Returns the open folder; borrowed. */
int history_files_folder(const struct history_files *files);

/* Return the number of files, and a file by its number, as in struct history_place; borrowed until
 * the next call. */
size_t history_files_count(const struct history_files *files);
const struct history_file *history_files_at(const struct history_files *files, uint32_t file);
const struct history_files_stats *history_files_stats(const struct history_files *files);
