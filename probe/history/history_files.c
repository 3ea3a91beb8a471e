// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/grow.h"

#define FOLDER	      "history"
#define NAME_BYTES    (HISTORY_SERIES_BYTES + 32)
#define FILES_MAX     65536
#define DAY_NS	      (86400 * (int64_t)NS_PER_S)
#define FILE_MAX      ((uint64_t)1 << 30)
#define FUTURE_NS     DAY_NS /* a file of more than that ahead was made by a wrong clock */
#define HEAD_AT(file) ((file) + HISTORY_HEAD_BYTES)

/* THE LEVELS: how long a slot is, the span of time in one file, and how long a record is kept. */
static const struct level_row {
	const char *name;
	uint64_t slot_ns;
	int64_t span_ns, kept_ns; /* 0: as the limits say */
} levels[HISTORY_LEVELS] = {
	[HISTORY_WINDOW] = {"window", 30 * NS_PER_S, DAY_NS / 24, DAY_NS},
	[HISTORY_BLOCK] = {"block", 300 * NS_PER_S, DAY_NS / 4, 0},
	[HISTORY_HOUR] = {"hour", 3600 * NS_PER_S, DAY_NS, 0},
};

uint64_t history_level_ns(enum history_level level)
{
	return levels[level].slot_ns;
}

struct history_files {
	int folder;
	struct history_file *rows;
	size_t count, capacity;
	struct history_files_stats stats;
};

static void files_freep(struct history_files **files)
{
	history_files_free(*files);
}

int history_files_open(struct history_files **ret, const char *state_dir, struct why *why)
{
	_cleanup_(files_freep) struct history_files *files = calloc(1, sizeof(*files));
	struct dir_steps steps;

	if (!files)
		return -ENOMEM;
	files->folder = -1;
	/* The folder for state is ours; its own folder may be missing at the first start. */
	int r = mkdir(state_dir, 0700) < 0 ? -errno : 0;
	if (r < 0 && r != -EEXIST) {
		why_set(why, "%s can't be made: %s", state_dir, strerror(-r));
		return r;
	}
	files->folder = dir_open_below(state_dir, FOLDER, &steps);
	if (files->folder < 0) {
		why_set(why, "%s/" FOLDER " can't be used: %s", state_dir,
			strerror(-files->folder));
		return files->folder;
	}
	if (flock(files->folder, LOCK_EX | LOCK_NB) < 0) {
		why_set(why, "another daemon keeps its history in %s/" FOLDER, state_dir);
		return -EBUSY;
	}
	*ret = TAKE_PTR(files);
	return 0;
}

void history_files_free(struct history_files *files)
{
	if (!files)
		return;
	if (files->folder >= 0)
		close(files->folder);
	free(files->rows);
	free(files);
}

int history_files_folder(const struct history_files *files)
{
	return files->folder;
}

static void name_file(const struct history_file *file, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%s.%s.%016" PRIx64, file->series, levels[file->level].name,
		 file->number);
}

/* Reads a name into a file. Returns whether it has the form of ours. */
static bool parse_name(const char *name, struct history_file *file)
{
	const char *number = strrchr(name, '.'), *level = number;
	char again[NAME_BYTES];

	while (level && level > name && *--level != '.')
		;
	if (!level || level == name || (size_t)(level - name) >= sizeof(file->series))
		return false;
	*file = (struct history_file){.number = strtoull(number + 1, NULL, 16)};
	memcpy(file->series, name, (size_t)(level - name));
	for (int i = 0; i < HISTORY_LEVELS; i++) {
		file->level = i;
		name_file(file, again);
		if (strcmp(name, again) == 0)
			return true;
	}
	return false;
}

int history_file_open(int folder, const char *name, int flags, struct stat *status)
{
	_cleanup_close_ int fd =
		openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd < 0)
		return -errno;
	if (fstat(fd, status) < 0)
		return -errno;
	if (!S_ISREG(status->st_mode) || status->st_nlink != 1 || status->st_uid != geteuid())
		return -EPERM;
	return TAKE_FD(fd);
}

static int open_file(const struct history_files *files, const struct history_file *file, int flags,
		     struct stat *status)
{
	char name[NAME_BYTES];

	name_file(file, name);
	return history_file_open(files->folder, name, flags, status);
}

static int unlink_file(const struct history_files *files, const struct history_file *file)
{
	char name[NAME_BYTES];

	name_file(file, name);
	return unlinkat(files->folder, name, 0) < 0 ? -errno : 0;
}

/* ---- reading what is there ---- */

struct head_scan {
	struct history_files *files;
	int (*found)(void *arg, const struct history_file *file, const struct history_head *head,
		     const struct history_place *place);
	void *arg;
};

static void note_record(struct history_file *file, const struct history_head *head)
{
	if (!file->bytes)
		file->from = head->from;
	if (!file->bytes || head->until > file->until)
		file->until = head->until;
}

static int scan_records(const struct head_scan *scan, int fd, uint32_t number, uint64_t size)
{
	struct history_files *files = scan->files;
	struct history_file *file = &files->rows[number];
	char bytes[HISTORY_HEAD_BYTES];
	struct history_head head;
	uint64_t at = 0;

	while (at < size) {
		if (pread(fd, bytes, sizeof(bytes), (off_t)at) != (ssize_t)sizeof(bytes) ||
		    history_head_read(bytes, &head) < 0 ||
		    head.packed > size - at - HISTORY_HEAD_BYTES)
			break;
		note_record(file, &head);
		struct history_place place = {number, HEAD_AT(at)};
		at = HEAD_AT(at) + head.packed;
		file->bytes = at;
		int r = scan->found(scan->arg, file, &head, &place);
		if (r < 0)
			return r;
	}
	file->damaged = size - at;
	files->stats.damaged += file->damaged;
	file->bytes = size;
	files->stats.bytes += size;
	return 0;
}

/* Adds a file, in the place of one that was removed: to these nothing leads any more. */
static int add_row(struct history_files *files, const struct history_file *file, uint32_t *number)
{
	for (*number = 0; *number < files->count; ++*number) {
		struct history_file *row = &files->rows[*number];

		if (row->bytes || row->is_ours)
			continue;
		*row = *file;
		return 0;
	}
	if (files->count >= FILES_MAX)
		return -ENOSPC;
	if (array_grow(files->rows, files->capacity, files->count + 1, 64) < 0)
		return -ENOMEM;
	files->rows[files->count++] = *file;
	return 0;
}

static int scan_file(const struct head_scan *scan, const char *name)
{
	struct history_files *files = scan->files;
	struct history_file file;
	struct stat status = {0};
	uint32_t number;

	if (!parse_name(name, &file))
		return 0;
	_cleanup_close_ int fd = open_file(files, &file, O_RDONLY, &status);
	if (fd < 0)
		return 0; /* it isn't ours, or is gone */
	if (status.st_size == 0) {
		unlinkat(files->folder, name, 0);
		return 0;
	}
	int r = add_row(files, &file, &number);
	if (r == -ENOSPC)
		return 0; /* of too many files the last ones are left alone */
	return r < 0 ? r : scan_records(scan, fd, number, (uint64_t)status.st_size);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the names in the folder, sorted: of one series and level in the order of time. */
static int list_names(const struct history_files *files, char ***names, size_t *count)
{
	size_t capacity = 0;
	int fd = openat(files->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	for (const struct dirent *entry; r == 0 && (entry = readdir(dir));) {
		char *name = array_grow(*names, capacity, *count + 1, 64) < 0
				     ? NULL
				     : strdup(entry->d_name);

		if (name)
			(*names)[(*count)++] = name;
		else
			r = -ENOMEM;
	}
	closedir(dir);
	if (*count)
		qsort(*names, *count, sizeof(**names), compare_names);
	return r;
}

int history_files_scan(struct history_files *files,
		       int (*found)(void *arg, const struct history_file *file,
				    const struct history_head *head,
				    const struct history_place *place),
		       void *arg)
{
	struct head_scan scan = {files, found, arg};
	char **names = NULL;
	size_t count = 0;
	int r = list_names(files, &names, &count);

	for (size_t i = 0; i < count; i++) {
		if (r == 0)
			r = scan_file(&scan, names[i]);
		free(names[i]);
	}
	free(names);
	return r;
}

/* ---- appending ---- */

static bool remove_file(struct history_files *files, struct history_file *file);

static bool has_room(const struct history_file *file, const struct history_head *head,
		     uint64_t bytes)
{
	return file->bytes + bytes <= FILE_MAX && head->from >= file->from &&
	       head->from < file->from + levels[file->level].span_ns;
}

/* Opens the file that is appended to, if there is one with room for the record. Returns the
 * descriptor, or -ENOENT: a new file has to be made. */
static int open_last(struct history_files *files, const char *series, enum history_level level,
		     const struct history_head *head, uint64_t bytes, uint32_t *number)
{
	for (*number = 0; *number < files->count; ++*number) {
		struct history_file *file = &files->rows[*number];
		struct stat status = {0};

		if (!file->is_ours || file->level != level || strcmp(file->series, series) != 0)
			continue;
		int fd = has_room(file, head, bytes)
				 ? open_file(files, file, O_WRONLY | O_APPEND, &status)
				 : -ENOENT;
		/* What somebody has cut or lengthened stays as it is. */
		if (fd >= 0 && (uint64_t)status.st_size == file->bytes)
			return fd;
		if (fd >= 0)
			close(fd);
		file->is_ours = false;
		break;
	}
	return -ENOENT;
}

/*
 * Removes a file of ours of which not even the first record can be read: after a power cut or a
 * full disk its records are made again, under the same name. Returns whether it did.
 */
static bool drop_unreadable(struct history_files *files, const struct history_file *file)
{
	for (size_t i = 0; i < files->count; i++) {
		struct history_file *row = &files->rows[i];

		if (row->bytes && row->number == file->number && row->level == file->level &&
		    strcmp(row->series, file->series) == 0)
			return row->damaged == row->bytes && remove_file(files, row);
	}
	return false;
}

static int make_file(struct history_files *files, const char *series, enum history_level level,
		     const struct history_head *head, uint32_t *number)
{
	struct history_file file = {.level = level, .number = head->first, .is_ours = true};
	struct stat status = {0};

	snprintf(file.series, sizeof(file.series), "%s", series);
	_cleanup_close_ int fd = open_file(files, &file, O_WRONLY | O_CREAT | O_EXCL, &status);
	if (fd == -EEXIST && drop_unreadable(files, &file))
		fd = open_file(files, &file, O_WRONLY | O_CREAT | O_EXCL, &status);
	if (fd < 0)
		return fd;
	int r = add_row(files, &file, number);
	if (r < 0)
		unlink_file(files, &file);
	return r < 0 ? r : TAKE_FD(fd);
}

int history_files_append(struct history_files *files, const char *series, enum history_level level,
			 const struct history_head *head, const struct buf *payload,
			 struct history_place *place)
{
	uint32_t number;
	_cleanup_buf_ struct buf record = BUF_INIT(FILE_MAX);

	history_head_write(&record, head);
	buf_add(&record, payload->data, payload->len);
	if (buf_error(&record))
		return buf_error(&record);
	_cleanup_close_ int fd = open_last(files, series, level, head, record.len, &number);
	if (fd < 0)
		fd = make_file(files, series, level, head, &number);
	if (fd < 0)
		return fd;
	struct history_file *file = &files->rows[number];
	int r = file_write_all(fd, record.data, record.len);
	if (r < 0) {
		file->is_ours = file->bytes && ftruncate(fd, (off_t)file->bytes) == 0;
		if (!file->bytes)
			unlink_file(files, file); /* its name is needed again */
		return r;
	}
	note_record(file, head);
	*place = (struct history_place){number, HEAD_AT(file->bytes)};
	file->bytes += record.len;
	files->stats.bytes += record.len;
	return 0;
}

int history_files_read(struct history_files *files, const struct history_place *place,
		       const struct history_head *head, struct history_payload *payload)
{
	_cleanup_buf_ struct buf packed = BUF_INIT(2 * HISTORY_PAYLOAD_MAX);
	struct stat status = {0};

	*payload = (struct history_payload){0};
	char *room = buf_reserve(&packed, head->packed);
	if (!room)
		return buf_error(&packed);
	_cleanup_close_ int fd = open_file(files, &files->rows[place->file], O_RDONLY, &status);
	if (fd < 0)
		return fd;
	ssize_t len = pread(fd, room, head->packed, (off_t)place->offset);
	if (len != (ssize_t)head->packed)
		return len < 0 ? -errno : -EBADMSG;
	return history_unpack(payload, head, room);
}

/* ---- removing ---- */

static bool is_too_old(const struct history_file *file, const struct history_limits *limits,
		       int64_t now)
{
	int64_t kept_ns = levels[file->level].kept_ns, limit_ns = limits->days * DAY_NS;

	if (!kept_ns || (limit_ns && limit_ns < kept_ns))
		kept_ns = limit_ns;
	return kept_ns && file->until < now - kept_ns;
}

/* Returns the time by which files go when there are too many bytes. */
static int64_t age_key(const struct history_file *file, int64_t now)
{
	return file->until > now + FUTURE_NS ? INT64_MIN : file->until;
}

static bool remove_file(struct history_files *files, struct history_file *file)
{
	int r = unlink_file(files, file);

	if (r < 0 && r != -ENOENT)
		return false;
	files->stats.bytes -= file->bytes;
	files->stats.damaged -= file->damaged;
	files->stats.removed++;
	file->bytes = 0;
	file->is_ours = false;
	return true;
}

/* Finds the oldest file; NULL: there is none. */
static struct history_file *find_oldest(const struct history_files *files, int64_t now)
{
	struct history_file *oldest = NULL;

	for (size_t i = 0; i < files->count; i++) {
		struct history_file *file = &files->rows[i];

		if (file->bytes && (!oldest || age_key(file, now) < age_key(oldest, now)))
			oldest = file;
	}
	return oldest;
}

size_t history_files_trim(struct history_files *files, const struct history_limits *limits,
			  bool by_age, int64_t now)
{
	struct history_file *oldest;
	size_t removed = 0;

	for (size_t i = 0; by_age && i < files->count; i++) {
		if (files->rows[i].bytes && is_too_old(&files->rows[i], limits, now))
			removed += remove_file(files, &files->rows[i]);
	}
	while (limits->bytes && files->stats.bytes > (uint64_t)limits->bytes &&
	       (oldest = find_oldest(files, now))) {
		if (!remove_file(files, oldest))
			break;
		removed++;
	}
	return removed;
}

size_t history_files_count(const struct history_files *files)
{
	return files->count;
}

const struct history_file *history_files_at(const struct history_files *files, uint32_t file)
{
	return &files->rows[file];
}

const struct history_files_stats *history_files_stats(const struct history_files *files)
{
	return &files->stats;
}
