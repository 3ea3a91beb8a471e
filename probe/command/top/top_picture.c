// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/top_picture.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/file.h"

#define say(picture, ...) snprintf((picture)->message, sizeof((picture)->message), __VA_ARGS__)

/* Writes the file's name without its extension: letters of the process's name that any file system
 * takes. */
static void write_stem(const struct top_picture *picture, char *stem, size_t bytes)
{
	char name[OWNER_BYTES], when[32] = "";
	time_t now = time(NULL);
	struct tm tm;
	size_t len = 0;

	for (const char *from = picture->owner.name; *from; from++)
		name[len++] = isalnum((unsigned char)*from) || *from == '_' ? *from : '-';
	name[len] = '\0';
	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	snprintf(stem, bytes, "stackprobe-%s-%d-%s-%s", kind_get(picture->probe)->name,
		 (int)picture->owner.pid, name, when);
}

static void keep_picture(struct top_picture *picture, const struct buf *body)
{
	char stem[OWNER_BYTES * 2], name[OWNER_BYTES * 2 + 16];
	_cleanup_close_ int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	write_stem(picture, stem, sizeof(stem));
	int r = folder < 0 ? -errno
			   : file_write_new(folder, folder, stem, ".svg", body->data, body->len,
					    name, sizeof(name));
	if (r < 0)
		say(picture, "the flame graph can't be written here: %s", strerror(-r));
	else
		say(picture, "written: %s", name);
}

static void picture_came(void *arg, int error, struct buf *body, const char *why)
{
	struct top_picture *picture = arg;

	picture->request = NULL;
	if (error < 0)
		say(picture, "no flame graph: %.200s", why);
	else
		keep_picture(picture, body);
}

void top_picture_begin(struct top_picture *picture, struct daemon_client *client, enum probe probe,
		       const struct top_owner *owner)
{
	char path[128];
	const struct client_asking asking = {.path = path, .done = picture_came, .arg = picture};

	if (picture->request) {
		say(picture, "one flame graph at a time");
		return;
	}
	if (!owner || owner->pid <= 0) {
		say(picture, "a flame graph is of one process: g shows processes");
		return;
	}
	picture->owner = *owner;
	picture->probe = probe;
	snprintf(path, sizeof(path), "/flamegraph/%s.svg?pid=%d&seconds=%d", kind_get(probe)->name,
		 (int)owner->pid, PICTURE_SECONDS);
	if (client_get(client, &asking, &picture->request) < 0)
		say(picture, "no memory for a flame graph");
	else
		say(picture, "%s of %d %s, %d s ...", kind_get(probe)->name, (int)owner->pid,
		    owner->name, PICTURE_SECONDS);
}
