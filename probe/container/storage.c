// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/storage.h"

#include <stdio.h>
#include <string.h>

#define CONF_BYTES_MAX (64 << 10)

const char *const storage_drivers[STORAGE_DRIVERS] = {"overlay", "vfs", "btrfs", "zfs"};

/* Takes the path of a line KEY = "VALUE", if it is absolute and short enough. */
static void take_path(const char *line, size_t len, const char *key, char path[STATE_PATH_BYTES])
{
	const char *end = line + len;

	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	if ((size_t)(end - line) < strlen(key) || memcmp(line, key, strlen(key)) != 0)
		return;
	line += strlen(key);
	while (line < end && (*line == ' ' || *line == '\t' || *line == '='))
		line++;
	if (line == end || (*line != '"' && *line != '\''))
		return;
	const char *close = memchr(line + 1, *line, (size_t)(end - line - 1));
	if (!close || line[1] != '/' || close - line - 1 >= STATE_PATH_BYTES)
		return;
	snprintf(path, STATE_PATH_BYTES, "%.*s", (int)(close - line - 1), line + 1);
}

static bool read_conf(const struct state_root *root, const char *path, struct storage *storage)
{
	_cleanup_buf_ struct buf text = BUF_INIT(CONF_BYTES_MAX);

	if (state_read(root, path, CONF_BYTES_MAX, &text) < 0)
		return false;
	for (size_t at = 0; at < text.len;) {
		const char *line = text.data + at;
		const char *end = memchr(line, '\n', text.len - at);
		size_t len = end ? (size_t)(end - line) : text.len - at;

		take_path(line, len, "graphroot", storage->graph);
		take_path(line, len, "runroot", storage->run);
		at += len + 1;
	}
	return true;
}

void storage_find(const struct state_root *root, struct storage *ret)
{
	/* A user's storage is at the default place, unless the user's own storage.conf, which isn't
	 * read, says otherwise. */
	snprintf(ret->graph, sizeof(ret->graph), "%s",
		 root->user ? ".local/share/containers/storage" : "var/lib/containers/storage");
	snprintf(ret->run, sizeof(ret->run), "%s", root->user ? "" : "run/containers/storage");
	if (!root->user && !read_conf(root, "etc/containers/storage.conf", ret))
		read_conf(root, "usr/share/containers/storage.conf", ret);
}
