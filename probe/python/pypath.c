// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/pypath.h"

#include <stdbool.h>
#include <string.h>

/* A folder's name, without slashes. */
struct path_part {
	const char *name;
	size_t len;
};

static bool is_part(const struct path_part *part, const char *name)
{
	return strlen(name) == part->len && memcmp(part->name, name, part->len) == 0;
}

static bool takes_prefix(struct path_part *part, const char *prefix)
{
	size_t len = strlen(prefix);

	if (part->len < len || memcmp(part->name, prefix, len) != 0)
		return false;
	part->name += len;
	part->len -= len;
	return true;
}

static bool takes_digits(struct path_part *part)
{
	size_t before = part->len;

	while (part->len && *part->name >= '0' && *part->name <= '9') {
		part->name++;
		part->len--;
	}
	return part->len != before;
}

/* Returns whether the part is python3.11, python3.13t, … */
static bool is_library(struct path_part part)
{
	if (!takes_prefix(&part, "python3.") || !takes_digits(&part))
		return false;
	takes_prefix(&part, "t");
	return !part.len;
}

/* Returns whether the part is python311.zip, … */
static bool is_library_zip(struct path_part part)
{
	return takes_prefix(&part, "python3") && takes_digits(&part) && is_part(&part, ".zip");
}

/* The offsets behind the last root of each kind, with its slash; 0: none. */
struct roots {
	size_t packages, library;
};

static struct roots find_roots(const char *path, size_t len)
{
	struct path_part part, before = {"", 0};
	struct roots roots = {0};

	if (!len || *path == '<')
		return roots;
	for (size_t from = *path == '/'; from < len; from += part.len + 1, before = part) {
		const char *slash = memchr(path + from, '/', len - from);

		if (!slash || slash + 1 == path + len)
			break;
		part = (struct path_part){path + from, (size_t)(slash - path) - from};
		size_t behind = from + part.len + 1;
		if (is_part(&part, "site-packages") || is_part(&part, "dist-packages"))
			roots.packages = behind;
		else if (is_library_zip(part) || (is_library(part) && (is_part(&before, "lib") ||
								       is_part(&before, "lib64"))))
			roots.library = behind;
	}
	return roots;
}

/* Returns the offset behind the folder in the path; 0: the path doesn't lie in the folder. */
static size_t behind_folder(const char *path, size_t len, const char *folder)
{
	size_t bytes = folder ? strlen(folder) : 0;

	while (bytes && folder[bytes - 1] == '/')
		bytes--;
	if (!folder || !*folder || len < bytes + 2 || memcmp(path, folder, bytes) != 0 ||
	    path[bytes] != '/')
		return 0;
	return bytes + 1;
}

static size_t behind_script(const char *path, size_t len, const struct pypath_script *script)
{
	size_t dir = script ? behind_folder(path, len, script->dir) : 0;
	size_t called = script ? behind_folder(path, len, script->called) : 0;

	return called > dir ? called : dir;
}

const char *pypath_shorten(const char *path, size_t *len, const struct pypath_script *script)
{
	struct roots roots = find_roots(path, *len);
	size_t from = roots.packages;

	if (!from)
		from = roots.library;
	if (!from)
		from = behind_script(path, *len, script);
	*len -= from;
	return path + from;
}
