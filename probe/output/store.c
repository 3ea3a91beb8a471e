// SPDX-License-Identifier: GPL-2.0-only
#include "output/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"

static bool has_parent_step(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at++) {
		bool begins = at == path || at[-1] == '/';

		if (begins && (at[2] == '/' || at[2] == '\0'))
			return true;
	}
	return false;
}

/* The root that holds the path, the longest where there are several. */
static const char *root_of(const struct store_roots *roots, const char *path)
{
	const char *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < roots->count; i++) {
		const char *root = roots->paths[i];
		size_t len = strlen(root);

		while (len > 1 && root[len - 1] == '/')
			len--;
		if (strncmp(path, root, len) != 0 || len < longest ||
		    (len > 1 && path[len] != '/' && path[len] != '\0'))
			continue;
		found = root;
		longest = len;
	}
	return found;
}

/* Where below its root a path lies, and that root without slashes at its end. */
static int split_path(const struct store_roots *roots, const char *path, const char **root,
		      const char **below)
{
	if (path[0] != '/' || has_parent_step(path) || strlen(path) >= STORE_PATH_MAX)
		return -EINVAL;
	*root = root_of(roots, path);
	if (!*root)
		return -EPERM;
	size_t len = strlen(*root);
	while (len > 1 && (*root)[len - 1] == '/')
		len--;
	*below = path + len;
	return 0;
}

int store_open_folder(const struct store_roots *roots, const char *path)
{
	const char *root, *below;
	int fd = split_path(roots, path, &root, &below);

	if (fd == 0)
		fd = dir_open_below(root, below);
	if (fd >= 0)
		scratch_clean(fd);
	return fd;
}

int store_find_folder(const struct store_roots *roots, const char *path)
{
	const char *root, *below;
	int r = split_path(roots, path, &root, &below);

	return r < 0 ? r : dir_find_below(root, below);
}

void store_safe_name(const char *name, char *safe, size_t bytes)
{
	size_t i = 0;

	for (; name[i] && i + 1 < bytes; i++) {
		char c = name[i];
		bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			     (c >= '0' && c <= '9') || strchr("._+-", c);

		safe[i] = plain && !(i == 0 && c == '.') ? c : '_';
	}
	safe[i] = '\0';
}

/* Whether the same local time comes twice around this moment. */
static bool is_repeated(time_t moment, const struct tm *local)
{
	static const time_t shifts[] = {-7200, -3600, -1800, 1800, 3600, 7200};

	for (size_t i = 0; i < ARRAY_SIZE(shifts); i++) {
		time_t other = moment + shifts[i];
		struct tm tm;

		localtime_r(&other, &tm);
		if (tm.tm_hour == local->tm_hour && tm.tm_min == local->tm_min &&
		    tm.tm_sec == local->tm_sec && tm.tm_mday == local->tm_mday)
			return true;
	}
	return false;
}

void store_time_name(time_t moment, char *name, size_t bytes)
{
	struct tm local;

	localtime_r(&moment, &local);
	strftime(name, bytes,
		 is_repeated(moment, &local) ? "%Y-%m-%d-%H-%M-%S%z" : "%Y-%m-%d-%H-%M-%S", &local);
}

/* Where a file lies: the folder of its instance, below it the date, and the file's stem. */
struct place {
	char folder[128];
	char date[16];
};

static void find_place(const struct store_entry *entry, struct place *place, char stem[128])
{
	char moment[64], instance[64];

	store_time_name(entry->until, moment, sizeof(moment));
	snprintf(place->date, sizeof(place->date), "%.10s", moment);
	if (!entry->comm) {
		snprintf(place->folder, sizeof(place->folder), "%s", entry->probe);
		if (!stem[0])
			snprintf(stem, 128, "%s", moment);
		return;
	}
	store_safe_name(entry->comm, instance, sizeof(instance));
	snprintf(place->folder, sizeof(place->folder), "%s/%s-%d", entry->probe, instance,
		 entry->pid);
	if (!stem[0])
		snprintf(stem, 128, "%s-%d", moment, entry->pid);
}

int store_write(const struct store_roots *roots, const char *folder,
		const struct store_entry *entry, const struct buf *content, char stem[128])
{
	_cleanup_close_ int root_fd = store_open_folder(roots, folder);
	char name[160], target[192];
	struct place place = {0};

	if (root_fd < 0)
		return root_fd;
	find_place(entry, &place, stem);
	_cleanup_close_ int instance_fd = dir_open_in(root_fd, place.folder);
	if (instance_fd < 0)
		return instance_fd;
	_cleanup_close_ int date_fd = dir_open_in(instance_fd, place.date);
	if (date_fd < 0)
		return date_fd;
	int r = file_write_new(date_fd, root_fd, stem, entry->extension, content->data,
			       content->len, name, sizeof(name));
	if (r < 0)
		return r;
	snprintf(stem, 128, "%.*s", (int)(strlen(name) - strlen(entry->extension)), name);
	if (!entry->latest)
		return 0;
	snprintf(target, sizeof(target), "%s/%s", place.date, name);
	return file_link_new(instance_fd, root_fd, target, entry->latest);
}
