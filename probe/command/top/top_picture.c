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
#include "costs/cost_kind.h"

#define MEMBERS_MAX	  64 /* processes of which one picture may be */
#define MEMBERS_BYTES	  768
#define MEMBERS_ASKED	  100000U

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
	if (picture->owner.pid > 0)
		snprintf(stem, bytes, "stackprobe-%s-%d-%s-%s", kind_get(picture->probe)->name,
			 (int)picture->owner.pid, name, when);
	else
		snprintf(stem, bytes, "stackprobe-%s-%s-%s", kind_get(picture->probe)->name, name,
			 when);
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

/* Asks for the picture of these processes: `pid=1`, `pids=1,2`. */
static void ask_picture(struct top_picture *picture, const char *processes)
{
	char path[128 + MEMBERS_BYTES];
	const struct client_asking asking = {.path = path, .done = picture_came, .arg = picture};

	snprintf(path, sizeof(path), "/flamegraph/%s.svg?%s&seconds=%d",
		 kind_get(picture->probe)->name, processes, PICTURE_SECONDS);
	if (client_get(picture->client, &asking, &picture->request) < 0)
		say(picture, "no memory for a flame graph");
	else if (picture->owner.pid > 0)
		say(picture, "%s of %d %s, %d s ...", kind_get(picture->probe)->name,
		    (int)picture->owner.pid, picture->owner.name, PICTURE_SECONDS);
	else
		say(picture, "%s of %s, %d s ...", kind_get(picture->probe)->name,
		    picture->owner.name, PICTURE_SECONDS);
}

/* Writes the living processes of the row, those with the most CPU time first. Returns how many. */
static unsigned list_members(const struct top_picture *picture, const struct top_reading *reading,
			     char processes[MEMBERS_BYTES])
{
	size_t len = (size_t)snprintf(processes, MEMBERS_BYTES, "pids=");
	unsigned count = 0;

	for (size_t i = 0; i < reading->count && count < MEMBERS_MAX; i++) {
		const struct top_owner *owner = &reading->rows[i].owner;

		if (owner->pid <= 0 || owner->has_ended ||
		    owner->is_kernel != picture->owner.is_kernel ||
		    strcmp(owner->name, picture->owner.name) != 0)
			continue;
		len += (size_t)snprintf(processes + len, MEMBERS_BYTES - len, "%s%d",
					count ? "," : "", (int)owner->pid);
		count++;
	}
	return count;
}

static void ask_members(struct top_picture *picture);

static void members_came(void *arg, int error, struct buf *body, const char *why)
{
	struct top_picture *picture = arg;
	char processes[MEMBERS_BYTES];
	struct top_reading reading = {0};

	picture->request = NULL;
	if (error < 0 && picture->asks_all) { /* /proc doesn't run */
		picture->asks_all = false;
		ask_members(picture);
		return;
	}
	if (error < 0)
		say(picture, "no flame graph: %.200s", why);
	else if (top_reading_parse_members(&reading, body->data, body->len, picture->group) != 0)
		say(picture, "no flame graph: the daemon's answer can't be read");
	else if (!list_members(picture, &reading, processes))
		say(picture, "no flame graph: none of %s has run", picture->owner.name);
	else
		ask_picture(picture, processes);
	top_reading_done(&reading);
}

/* Asks which processes the row is of. */
static void ask_members(struct top_picture *picture)
{
	char path[128];
	const struct client_asking asking = {.path = path, .done = members_came, .arg = picture};

	snprintf(path, sizeof(path), "/proc/%s.json?group_by=pid&by=%s&top=%u%s",
		 cost_kind_get(PROC_ALL)->name, cost_name(COST_RUN), MEMBERS_ASKED,
		 picture->asks_all ? "" : "&seconds=1");
	if (client_get(picture->client, &asking, &picture->request) < 0)
		say(picture, "no memory for a flame graph");
	else
		say(picture, "the processes of %s ...", picture->owner.name);
}

void top_picture_begin(struct top_picture *picture, struct daemon_client *client, enum probe probe,
		       const struct top_owner *owner, const char *group)
{
	char process[32];

	if (picture->request) {
		say(picture, "one flame graph at a time");
		return;
	}
	if (!owner || (owner->pid <= 0 && !owner->name[0])) {
		say(picture, "a flame graph is of a process or a container: g shows others");
		return;
	}
	if (owner->pid <= 0 && strcmp(group, cost_groups[COST_BY_CGROUP]) == 0) {
		say(picture, "no flame graph of a cgroup: g shows its processes and containers");
		return;
	}
	picture->client = client;
	picture->owner = *owner;
	picture->group = group;
	picture->probe = probe;
	picture->asks_all = true;
	snprintf(process, sizeof(process), "pid=%d", (int)owner->pid);
	if (owner->pid > 0)
		ask_picture(picture, process);
	else
		ask_members(picture);
}
