// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/files/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "output/files/filename.h"

int store_roots_copy(struct store_roots *to, const struct store_roots *from)
{
	size_t bytes = from->count * sizeof(char *);

	for (size_t i = 0; i < from->count; i++)
		bytes += strlen(from->paths[i]) + 1;
	const char **paths = malloc(bytes + 1);
	if (!paths)
		return -ENOMEM;
	char *text = (char *)(paths + from->count);
	for (size_t i = 0; i < from->count; i++) {
		paths[i] = text;
		text = stpcpy(text, from->paths[i]) + 1;
	}
	*to = (struct store_roots){paths, from->count};
	return 0;
}

void store_roots_done(struct store_roots *copy)
{
	free((void *)copy->paths);
	*copy = (struct store_roots){0};
}

static bool has_parent_step(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at++) {
		bool begins = at == path || at[-1] == '/';

		if (begins && (at[2] == '/' || at[2] == '\0'))
			return true;
	}
	return false;
}

/* Returns the root that holds the path, the longest if there are several; NULL: none. */
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

int store_split_path(const struct store_roots *roots, const char *path, char root[STORE_PATH_MAX],
		     const char **below)
{
	if (path[0] != '/' || has_parent_step(path) || strlen(path) >= STORE_PATH_MAX)
		return -EINVAL;
	const char *found = root_of(roots, path);
	if (!found)
		return -EPERM;
	size_t len = strlen(found);
	while (len > 1 && found[len - 1] == '/')
		len--;
	snprintf(root, STORE_PATH_MAX, "%.*s", (int)len, found);
	*below = path + len;
	return 0;
}

int store_open_folder(const struct store_roots *roots, const char *path, size_t *found)
{
	char root[STORE_PATH_MAX];
	const char *below;
	struct dir_steps steps;
	int fd = store_split_path(roots, path, root, &below);

	*found = strlen(path);
	if (fd < 0)
		return fd;
	fd = dir_open_below(root, below, &steps);
	*found = (size_t)(below - path) + steps.found;
	if (fd >= 0)
		scratch_clean(fd);
	return fd;
}

int store_find_folder(const struct store_roots *roots, const char *path)
{
	char root[STORE_PATH_MAX];
	const char *below;
	struct dir_steps steps;
	int r = store_split_path(roots, path, root, &below);

	return r < 0 ? r : dir_find_below(root, below, &steps);
}

const char *store_error_text(int error)
{
	if (error == -EACCES)
		return "a folder on its way isn't stackprobe's alone (it belongs to another user, "
		       "its "
		       "group or others may write to it, or it is setgid), or can't be entered";
	return strerror(-error);
}

/* Says what is wrong with a folder that isn't ours alone, looked at by its path. */
static void explain_foreign(const char *path, struct why *why)
{
	struct stat stat;

	if (lstat(path, &stat) < 0)
		why_set(why, "can't be used: %s", store_error_text(-EACCES));
	else
		why_set(why,
			"can't be used: %s has mode %04o and the owner %u; it must be %u's, not "
			"writable by its group and others, not setgid",
			path, stat.st_mode & 07777u, (unsigned)stat.st_uid, (unsigned)geteuid());
}

/* Checks that the name of each folder that will be made is short enough. */
static int check_names(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		path += len + (path[len] == '/');
	}
	return 0;
}

/* Checks that the folder, or the last existing folder on the way to it, is writable for us. Cuts
 * `below` to that folder. */
static int check_writable(const char *root, char *below, struct dir_steps *steps)
{
	_cleanup_close_ int fd = dir_find_below(root, below, steps);

	while (fd == -ENOENT && steps->tried) {
		int r = check_names(below + steps->tried);

		if (r < 0)
			return r;
		below[steps->tried] = '\0';
		char *slash = strrchr(below, '/');
		*(slash ? slash : below) = '\0';
		fd = dir_find_below(root, below, steps);
	}
	if (fd < 0)
		return fd;
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return errno == EACCES ? -EPERM : -errno;
	return 0;
}

int store_check_folder(const char *root, const char *below, struct why *why)
{
	_cleanup_free_ char *path = strdup(below);
	struct dir_steps steps = {0};
	char foreign[STORE_PATH_MAX + 1];

	why->text[0] = '\0';
	int r = path ? check_writable(root, path, &steps) : -ENOMEM;
	if (r == -EACCES) {
		snprintf(foreign, sizeof(foreign), "%s%.*s", root, (int)steps.tried, below);
		explain_foreign(foreign, why);
	} else if (r == -ELOOP) {
		why_set(why, "leads through a symbolic link");
	} else if (r == -EPERM) {
		why_set(why,
			"can't be used: the daemon may not write to %s%s: give that folder to its "
			"user, %u",
			root, path, (unsigned)geteuid());
	} else if (r < 0) {
		why_set(why, "can't be used: %s", strerror(-r));
	}
	return r;
}

void store_remove_made(const struct store_roots *roots, const char *path, size_t found)
{
	char root[STORE_PATH_MAX], above[STORE_PATH_MAX];
	const char *below;
	struct dir_steps steps;

	if (store_split_path(roots, path, root, &below) < 0)
		return;
	snprintf(above, sizeof(above), "%s", below);
	size_t first = found > (size_t)(below - path) ? found - (size_t)(below - path) : 0;
	for (size_t len = strlen(above); len > first; len = strlen(above)) {
		char *slash = strrchr(above, '/');
		const char *name = slash ? slash + 1 : above;

		if (slash && name[0] == '\0') { /* slashes at its end */
			*slash = '\0';
			continue;
		}
		if (slash)
			*slash = '\0';
		_cleanup_close_ int fd = dir_find_below(root, slash ? above : "", &steps);
		int r = fd < 0 ? fd : unlinkat(fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
		if ((r < 0 && r != -ENOENT) || !slash)
			return;
	}
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

/* Whether this local time occurs twice, as in the hour that the end of summer time repeats. */
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

/* Where a file lies: its folder below the root (`<probe>` or `<probe>/<comm>-<pid>`), its date. */
struct store_place {
	char folder[128];
	char date[16];
};

static void find_place(const struct store_entry *entry, struct store_place *place, char stem[128])
{
	const char *before = entry->before ? FILENAME_BEFORE : "";
	char moment[64], instance[64];

	store_time_name(entry->until, moment, sizeof(moment));
	snprintf(place->date, sizeof(place->date), "%.10s", moment);
	if (!entry->comm) {
		snprintf(place->folder, sizeof(place->folder), "%s", entry->probe);
		if (!stem[0])
			snprintf(stem, 128, "%s%s", moment, before);
		return;
	}
	store_safe_name(entry->comm, instance, sizeof(instance));
	snprintf(place->folder, sizeof(place->folder), "%s/%s-%d", entry->probe, instance,
		 entry->pid);
	if (!stem[0])
		snprintf(stem, 128, "%s-%d%s", moment, entry->pid, before);
}

int store_write(const struct store_roots *roots, const char *folder,
		const struct store_entry *entry, const struct buf *content, char stem[128],
		size_t *found)
{
	_cleanup_close_ int root_fd = store_open_folder(roots, folder, found);
	char name[160], target[192];
	struct store_place place = {0};

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
