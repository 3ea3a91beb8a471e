// SPDX-License-Identifier: GPL-2.0-or-later
#include "alloc/uprobes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "elf/fd_budget.h"
#include "loop/beside.h"

#define PMU	      "/sys/bus/event_source/devices/uprobe/"
#define POINTS_MAX    128

#define COUNTER_SHIFT 32 /* of perf_event_attr.config; 4.20 and later */

/* A number of Linux's include/uapi/linux/bpf.h that is younger than the headers we build with. */
#define ATTACH_UPROBE_MULTI 48

/* union bpf_attr of BPF_LINK_CREATE, with uprobe_multi. */
struct multi_attr {
	uint32_t program_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t count, multi_flags, pid;
	uint32_t pad;
};

struct uprobes {
	size_t count;
	int fds[]; /* room for the most there can be; each has its place */
};

struct attaching {
	const struct uprobe_point *points;
	size_t count;
	const struct call_programs *programs;
	struct uprobes *uprobes;
	char path[40];
	uint32_t pmu;	    /* number of the PMU's type */
	uint64_t at_return; /* the PMU's bit for returns */
};

/* Takes over the descriptor. For fd < 0 returns the negative of errno. */
static int keep_fd(struct uprobes *uprobes, int fd)
{
	int error = errno;

	if (fd < 0) {
		fd_budget_give();
		return -error;
	}
	uprobes->fds[uprobes->count++] = fd;
	return 0;
}

/* ---- one link for all points of a call ---- */

static int attach_call(const struct attaching *attaching, enum call call)
{
	uint64_t offsets[POINTS_MAX], cookies[POINTS_MAX], counters[POINTS_MAX];
	struct multi_attr attr = {
		.program_fd = (uint32_t)attaching->programs->fds[call],
		.attach_type = UPROBES_SESSION_TYPE,
		.path = (uintptr_t)attaching->path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.counters = (uintptr_t)counters,
	};

	for (size_t i = 0; i < attaching->count; i++) {
		if (attaching->points[i].call != call)
			continue;
		offsets[attr.count] = attaching->points[i].offset;
		counters[attr.count] = attaching->points[i].counter;
		cookies[attr.count++] = attaching->points[i].cookie;
	}
	if (!attr.count || attaching->programs->fds[call] < 0)
		return 0;
	if (!fd_budget_take())
		return -EMFILE;
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (fd < 0 && errno == EINVAL) { /* a program that has no use for a return */
		attr.attach_type = ATTACH_UPROBE_MULTI;
		fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	}
	return keep_fd(attaching->uprobes, fd);
}

/* The order of attaching, lest a free in between go unseen: calls that only free, calls that free
 * and give (realloc), calls that give. */
#define PHASES 3
static int phase_of(enum call call)
{
	if (call == CALL_FREE || call == CALL_MUNMAP)
		return 0;
	return CALLS_LETTING_GO >> call & 1 ? 1 : 2;
}

static int attach_sessions(const struct attaching *attaching)
{
	int r = 0;

	for (int phase = 0; phase < PHASES; phase++) {
		for (enum call call = 0; r == 0 && call < CALL_COUNT_OF; call++) {
			if (phase_of(call) == phase)
				r = attach_call(attaching, call);
		}
	}
	return r;
}

/* ---- one perf event for each point ---- */

/* Returns the number after `prefix` in a file of the PMU, or a negative errno. */
static long read_pmu(const char *file, const char *prefix)
{
	_cleanup_buf_ struct buf text = BUF_INIT(256);
	char path[80];

	snprintf(path, sizeof(path), PMU "%s", file);
	int r = file_read(AT_FDCWD, path, &text);
	buf_char(&text, '\0');
	if (r < 0 || buf_error(&text))
		return r < 0 ? r : buf_error(&text);
	size_t len = strlen(prefix);
	return strncmp(text.data, prefix, len) == 0 ? strtol(text.data + len, NULL, 10) : -EPROTO;
}

static int ask_pmu(struct attaching *attaching)
{
	long type = read_pmu("type", ""), bit = read_pmu("format/retprobe", "config:");

	if (type < 0 || bit < 0)
		return (int)(type < 0 ? type : bit);
	attaching->pmu = (uint32_t)type;
	attaching->at_return = 1ULL << (bit & 63);
	return 0;
}

/*
 * Attaches a perf event for all processes and, as it needs one, some CPU. Its program runs at hits
 * on every CPU: the kernel calls it before it looks at whose event it is.
 */
static int attach_event(const struct attaching *attaching, const struct uprobe_point *point,
			int program_fd, bool at_return)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = attaching->pmu,
		.config = (at_return ? attaching->at_return : 0) | point->counter << COUNTER_SHIFT,
		.config1 = (uintptr_t)attaching->path,
		.config2 = point->offset,
		.sample_period = 1,
	};
	int fd = -1;

	if (!fd_budget_take())
		return -EMFILE;
	for (long cpu = 0; fd < 0 && cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				  PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno != ENODEV) /* that CPU is off */
			break;
	}
	int r = keep_fd(attaching->uprobes, fd);
	if (r < 0)
		return r;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return 0;
}

/* Attaches both ends, the return first: a return seen without its entry is dropped. */
static int attach_both(const struct attaching *attaching, const struct uprobe_point *point)
{
	const struct call_programs *programs = attaching->programs;
	bool is_alone = point->call == CALL_REALLOC && point->cookie & COOKIE_NULL_IS_MALLOC;
	int r = 0, fd = is_alone ? programs->realloc_fd : programs->fds[point->call];

	if (fd < 0)
		return 0;
	if (programs->return_fds[point->call] >= 0)
		r = attach_event(attaching, point, programs->return_fds[point->call], true);
	return r < 0 ? r : attach_event(attaching, point, fd, false);
}

static int attach_events(struct attaching *attaching)
{
	int r = ask_pmu(attaching);

	for (int phase = 0; phase < PHASES; phase++) {
		for (size_t i = 0; r == 0 && i < attaching->count; i++) {
			if (phase_of(attaching->points[i].call) == phase)
				r = attach_both(attaching, &attaching->points[i]);
		}
	}
	return r;
}

/* ---- both ---- */

static void explain_error(struct why *why, int error)
{
	const char *remedy = "";

	if (error == -EMFILE || error == -ENFILE)
		remedy = "; raise the limit of open files (RLIMIT_NOFILE)";
	else if (error == -EPERM || error == -EACCES)
		remedy = "; run as root, or add CAP_BPF and CAP_PERFMON";
	else if (error == -ENOENT)
		remedy = "; boot a kernel with CONFIG_UPROBE_EVENTS=y";
	why_set(why, "its functions can't be probed: %s%s",
		error == -524 ? "Not supported by the kernel" : strerror(-error), remedy);
}

int uprobes_open(struct uprobes **ret, int file_fd, const struct uprobe_point *points, size_t count,
		 const struct call_programs *programs, struct why *why)
{
	struct attaching attaching = {.points = points, .count = count, .programs = programs};
	int r = count <= POINTS_MAX ? 0 : -E2BIG;

	if (r == 0) {
		attaching.uprobes = calloc(1, sizeof(*attaching.uprobes) +
						      (CALL_COUNT_OF + 2 * count) * sizeof(int));
		r = attaching.uprobes ? 0 : -ENOMEM;
	}
	snprintf(attaching.path, sizeof(attaching.path), "/proc/self/fd/%d", file_fd);
	if (r == 0)
		r = programs->session ? attach_sessions(&attaching) : attach_events(&attaching);
	if (r < 0) {
		explain_error(why, r);
		uprobes_close(attaching.uprobes);
		return r;
	}
	*ret = attaching.uprobes;
	return 0;
}

static void close_one(void *arg)
{
	close(*(const int *)arg);
}

/* Each close waits some 50 ms for the kernel's readers, so threads let them wait together. */
void uprobes_close(struct uprobes *uprobes)
{
	if (!uprobes)
		return;
	struct beside closings[CALL_COUNT_OF + 2 * POINTS_MAX];
	for (size_t i = 0; i < uprobes->count; i++) {
		closings[i] = (struct beside){.run = close_one, .arg = &uprobes->fds[i]};
		beside_begin(&closings[i]);
	}
	for (size_t i = 0; i < uprobes->count; i++) {
		beside_end(&closings[i]);
		fd_budget_give();
	}
	free(uprobes);
}
