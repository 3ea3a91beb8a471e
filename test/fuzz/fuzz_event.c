// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes as a file in which events are looked for, and as an event's text. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "event/event_points.h"

#define FAR 64 /* a point is at most that far behind its function's begin */

static void check_points(const struct event_points *points, size_t bytes)
{
	demand(points->count > 0 && points->count <= EVENT_POINTS_MAX);
	for (size_t i = 0; i < points->count; i++) {
		const struct uprobe_point *point = &points->all[i];

		demand(point->call == CALL_SIZE && point->offset < bytes + FAR);
		demand(point->counter <= bytes);
		for (size_t k = 0; k < i; k++)
			demand(points->all[k].offset != point->offset);
	}
}

static void check_near(const struct near_names *near)
{
	demand(near->count <= NEAR_NAMES_MAX);
	for (size_t i = 0; i < near->count; i++)
		demand(near->found[i][0] && memchr(near->found[i], '\0', NEAR_NAME_BYTES));
}

/* A second search, where the near names aren't wanted, has to find the same. */
static void find_points(int fd, size_t bytes, const struct event_text *event, const char *word,
			bool with_return)
{
	static struct event_points points, again;
	struct near_names near = {.word = word};
	struct why why = {0};
	int r = event_points_find(fd, event, with_return, &points, &near, &why);

	demand(r <= 0 && (r == 0 || why.text[0]));
	demand(memchr(why.text, '\0', sizeof(why.text)) != NULL);
	if (r == 0)
		check_points(&points, bytes);
	check_near(&near);
	demand(event_points_find(fd, event, with_return, &again, NULL, &why) == r);
	demand(r < 0 || memcmp(points.all, again.all, points.count * sizeof(points.all[0])) == 0);
}

static void check_text(const struct event_text *event)
{
	demand(event->name[0] && memchr(event->name, '\0', sizeof(event->name)));
	demand(memchr(event->path, '\0', sizeof(event->path)) != NULL);
	demand(memchr(event->group, '\0', sizeof(event->group)) != NULL);
	demand((event->type == EVENT_TRACEPOINT || event->type == EVENT_USDT) == !!event->group[0]);
	demand((event->type == EVENT_USER || event->type == EVENT_USDT) == (event->path[0] == '/'));
	demand(!strpbrk(event->path, " \n\t") && !strpbrk(event->group, " \n\t") &&
	       !strpbrk(event->name, " \n\t"));
}

static void read_text(const uint8_t *data, size_t bytes)
{
	size_t len = bytes < 2 * EVENT_WHAT_BYTES ? bytes : 2 * EVENT_WHAT_BYTES;
	char *text = strndup((const char *)data, len);
	struct event_text event;
	struct why why = {0};

	demand(text != NULL);
	int r = event_text_read(&event, text, &why);
	demand(r == 0 || (r == -EINVAL && why.text[0]));
	if (r == 0)
		check_text(&event);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const struct event_text function = {EVENT_USER, "/file", "", "event_tick"};
	static const struct event_text other = {EVENT_USER, "/file", "", "event_tuck"};
	static const struct event_text probe = {EVENT_USDT, "/file", "points", "gated"};

	if (bytes > FUZZ_FILE_MAX)
		return 0;
	read_text(data, bytes);
	int fd = fuzz_file(data, bytes);
	find_points(fd, bytes, &function, function.name, false);
	find_points(fd, bytes, &other, other.name, true);
	find_points(fd, bytes, &probe, "points:gatet", false);
	return 0;
}
