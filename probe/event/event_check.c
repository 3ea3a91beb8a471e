// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/event_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "capability/ktypes.h"
#include "event/event_points.h"
#include "event/near_names.h"
#include "proc/foreign.h"

#define KALLSYMS    "/proc/kallsyms"
#define SYMBOLS_MAX (64U << 20)
#define SYSTEM_CALL                                                                                \
	"a system call has no tracepoint of its own for BPF programs: t:raw_syscalls:sys_enter "   \
	"is that of all, and the probe io has those that move bytes"

static int refuse_name(const struct event_text *event, const char *what,
		       const struct near_names *near, struct why *message, struct why *detail)
{
	struct why meant;

	near_names_write(near, &meant);
	why_set(message, "the kernel has no %s %s", what, event->name);
	why_set(detail, "the kernel has no %s %s.%.500s", what, event->name, meant.text);
	return -ENOENT;
}

static void meet_name(void *arg, const char *name)
{
	near_names_meet(arg, name);
}

static int check_tracepoint(const struct event_text *event, struct why *message, struct why *detail)
{
	struct near_names near = {.word = event->name};

	if (ktypes_tracepoint(event->name, meet_name, &near) != 0)
		return 0; /* or nobody knows; GET says why it can't run */
	int r = refuse_name(event, "tracepoint", &near, message, detail);
	if (strcmp(event->group, "syscalls") == 0)
		why_set(detail, "%s", SYSTEM_CALL);
	return r;
}

static int check_kernel(const struct event_text *event, struct why *message, struct why *detail)
{
	_cleanup_buf_ struct buf symbols = BUF_INIT(SYMBOLS_MAX);
	struct near_names near = {.word = event->name};
	char name[256], type, *rest = NULL;

	if (file_read(AT_FDCWD, KALLSYMS, &symbols) < 0)
		return 0;
	buf_char(&symbols, '\0');
	if (buf_error(&symbols))
		return 0;
	for (char *line = strtok_r(symbols.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "%*x %c %255s", &type, name) != 2 || !strchr("tTwW", type))
			continue;
		if (strcmp(name, event->name) == 0)
			return 0;
		near_names_meet(&near, name);
	}
	return refuse_name(event, "function", &near, message, detail);
}

static int check_file(const struct event_text *event, struct why *message, struct why *detail)
{
	const struct foreign foreign = {.root_fd = FOREIGN_HERE, .path = event->path};
	_cleanup_close_ int fd = foreign_open(&foreign, NULL);
	_cleanup_free_ struct event_points *points = malloc(sizeof(*points));
	char whole[2 * EVENT_WHAT_BYTES], real[PATH_MAX];
	struct near_names near = {.word = event->name};

	if (event->type == EVENT_USDT) {
		snprintf(whole, sizeof(whole), "%s:%s", event->group, event->name);
		near.word = whole;
	}
	if (fd < 0 || !points)
		return 0; /* a container may have it */
	if (realpath(event->path, real) && strcmp(real, event->path) != 0) {
		why_set(message, "%s is a link", event->path);
		why_set(detail, "%s is a link: processes have mapped %.800s, name that",
			event->path, real);
		return -ENOENT;
	}
	int r = event_points_find(fd, event, false, points, &near, detail);
	if (r != -ENOENT && r != -ENOEXEC && r != -ENODATA && r != -ENOLINK)
		return 0;
	why_set(message, "%s has no such %s", event->path,
		r == -ENODATA		    ? "argument"
		: event->type == EVENT_USDT ? "static probe"
					    : "function");
	return -ENOENT;
}

int event_check(const struct event_text *event, struct why *message, struct why *detail)
{
	switch (event->type) {
	case EVENT_TRACEPOINT:
		return check_tracepoint(event, message, detail);
	case EVENT_KERNEL:
		return check_kernel(event, message, detail);
	default:
		return check_file(event, message, detail);
	}
}
