// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/event_check.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "event/event_points.h"
#include "event/near_names.h"
#include "proc/foreign.h"

#define KALLSYMS   "/proc/kallsyms"
#define TRACEPOINT "btf_trace_" /* begins the typedefs of tracepoints in the kernel's types */
#define SYSTEM_CALL                                                                                \
	"a system call has no tracepoint of its own for BPF programs: t:raw_syscalls:sys_enter "   \
	"is that of all, and the probe io has those that move bytes"

static void free_btf(struct btf **btf)
{
	btf__free(*btf);
}

static int refuse(const struct event_text *event, const char *what, const struct near_names *near,
		  struct why *message, struct why *detail)
{
	struct why meant;

	near_names_write(near, &meant);
	why_set(message, "the kernel has no %s %s", what, event->name);
	why_set(detail, "the kernel has no %s %s.%.500s", what, event->name, meant.text);
	return -ENOENT;
}

static int check_tracepoint(const struct event_text *event, struct why *message, struct why *detail)
{
	_cleanup_(free_btf) struct btf *btf = btf__load_vmlinux_btf();
	struct near_names near = {.word = event->name};
	size_t prefix = strlen(TRACEPOINT);

	if (!btf)
		return 0; /* GET says why it can't run */
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name =
			btf_is_typedef(type) ? btf__name_by_offset(btf, type->name_off) : NULL;

		if (!name || strncmp(name, TRACEPOINT, prefix) != 0)
			continue;
		if (strcmp(name + prefix, event->name) == 0)
			return 0;
		near_names_meet(&near, name + prefix);
	}
	int r = refuse(event, "tracepoint", &near, message, detail);
	if (strcmp(event->group, "syscalls") == 0)
		why_set(detail, "%s", SYSTEM_CALL);
	return r;
}

static int check_kernel(const struct event_text *event, struct why *message, struct why *detail)
{
	struct near_names near = {.word = event->name};
	FILE *symbols = fopen(KALLSYMS, "re");
	char line[512], name[256], type;
	bool found = false;

	while (symbols && !found && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%*x %c %255s", &type, name) != 2 || !strchr("tTwW", type))
			continue;
		found = strcmp(name, event->name) == 0;
		if (!found)
			near_names_meet(&near, name);
	}
	bool is_read = symbols != NULL;
	if (symbols)
		fclose(symbols);
	return found || !is_read ? 0 : refuse(event, "function", &near, message, detail);
}

static int check_file(const struct event_text *event, struct why *message, struct why *detail)
{
	const struct foreign foreign = {.root_fd = FOREIGN_HERE, .path = event->path};
	_cleanup_close_ int fd = foreign_open(&foreign, NULL);
	_cleanup_free_ struct event_points *points = malloc(sizeof(*points));
	char whole[2 * EVENT_WHAT_BYTES];
	struct near_names near = {.word = event->name};

	if (event->type == EVENT_USDT) {
		snprintf(whole, sizeof(whole), "%s:%s", event->group, event->name);
		near.word = whole;
	}
	if (fd < 0 || !points)
		return 0; /* a container may have it */
	int r = event_points_find(fd, event, false, points, &near, detail);
	if (r != -ENOENT && r != -ENOEXEC && r != -ENODATA)
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
