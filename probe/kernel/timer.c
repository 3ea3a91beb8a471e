// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/timer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define IN_MAP 0 /* the map holds the event: no descriptor is needed */

struct timer {
	struct loop *loop;
	int program_fd; /* -1: the events are put into a map */
	struct timer_places places;
	uint32_t type;
	uint64_t event;
	uint64_t period;
	bool idle;
	int cpus_max;
	int *events; /* one a CPU: its descriptor, or IN_MAP; -1: not sampled */
	struct loop_watch uevents;
};

static int open_event(const struct timer *timer, int cpu)
{
	struct perf_event_attr attr = {
		.type = timer->type,
		.size = sizeof(attr),
		.config = timer->event,
		.sample_period = timer->period,
		.exclude_idle = !timer->idle,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static uint32_t place_of(const struct timer *timer, int cpu)
{
	return (uint32_t)cpu * timer->places.stride + timer->places.at;
}

static int attach_cpu(struct timer *timer, int cpu)
{
	_cleanup_close_ int fd = open_event(timer, cpu);
	uint32_t place = place_of(timer, cpu);
	int r = fd;

	if (fd < 0)
		return fd;
	if (timer->program_fd < 0)
		r = bpf_map_update_elem(timer->places.map_fd, &place, &fd, BPF_ANY);
	else
		r = ioctl(fd, PERF_EVENT_IOC_SET_BPF, timer->program_fd);
	if (r < 0)
		return -errno;
	timer->events[cpu] = timer->program_fd < 0 ? IN_MAP : TAKE_FD(fd);
	return 0;
}

static void detach_cpu(struct timer *timer, int cpu)
{
	uint32_t place = place_of(timer, cpu);

	if (timer->events[cpu] < 0)
		return;
	if (timer->program_fd < 0)
		bpf_map_delete_elem(timer->places.map_fd, &place);
	else
		close(timer->events[cpu]);
	timer->events[cpu] = -1;
}

/*
 * Attaches to each on-line CPU that isn't sampled. Any CPU's error fails the whole, except that it
 * is off-line: half a profile would be wrong.
 */
static int attach_all(struct timer *timer)
{
	int error = 0;

	for (int cpu = 0; cpu < timer->cpus_max; cpu++) {
		int r = timer->events[cpu] >= 0 ? 0 : attach_cpu(timer, cpu);

		if (r < 0 && r != -ENODEV)
			error = r;
	}
	return error;
}

/* A uevent begins with "ACTION@DEVPATH". */
static void on_uevent(void *arg)
{
	struct timer *timer = arg;
	char message[4096];
	bool changed = false;

	for (;;) {
		ssize_t n = recv(timer->uevents.fd, message, sizeof(message) - 1, MSG_DONTWAIT);
		int cpu;

		if (n < 0)
			break;
		message[n] = '\0';
		const char *path = strchr(message, '@');
		if (!path || sscanf(path, "@/devices/system/cpu/cpu%d", &cpu) != 1)
			continue;
		changed = true;
		if (cpu >= 0 && cpu < timer->cpus_max)
			detach_cpu(timer, cpu); /* the event of a CPU that went off-line is dead */
	}
	if (changed)
		attach_all(timer);
}

/* Watches uevents. Where there are none (a network namespace without them) new CPUs aren't seen. */
static void watch_uevents(struct timer *timer)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};

	if (timer->uevents.fd >= 0)
		return;
	_cleanup_close_ int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return;
	timer->uevents.fd = fd;
	if (loop_watch(timer->loop, &timer->uevents) < 0)
		timer->uevents.fd = -1;
	else
		(void)TAKE_FD(fd);
}

static int new_timer(struct timer **ret, const struct timer *wanted)
{
	_cleanup_free_ struct timer *timer = calloc(1, sizeof(*timer));

	if (!timer)
		return -ENOMEM;
	*timer = *wanted;
	timer->uevents =
		(struct loop_watch){.fd = -1, .ready = on_uevent, .arg = timer, .name = "uevents"};
	timer->cpus_max = libbpf_num_possible_cpus();
	if (timer->cpus_max < 0)
		return timer->cpus_max;
	timer->events = calloc((size_t)timer->cpus_max, sizeof(*timer->events));
	if (!timer->events)
		return -ENOMEM;
	for (int cpu = 0; cpu < timer->cpus_max; cpu++)
		timer->events[cpu] = -1;
	*ret = TAKE_PTR(timer);
	return 0;
}

int timer_new(struct timer **ret, struct loop *loop, int program_fd, uint32_t type, uint64_t event,
	      bool idle)
{
	return new_timer(ret, &(struct timer){.loop = loop,
					      .program_fd = program_fd,
					      .type = type,
					      .event = event,
					      .idle = idle});
}

int timer_new_counting(struct timer **ret, struct loop *loop, const struct timer_places *places,
		       uint32_t type, uint64_t event)
{
	return new_timer(ret, &(struct timer){.loop = loop,
					      .program_fd = -1,
					      .places = *places,
					      .type = type,
					      .event = event,
					      .idle = true});
}

bool timer_has_no_counter(int error)
{
	return error == -ENOENT || error == -ENODEV || error == -EOPNOTSUPP;
}

void timer_free(struct timer *timer)
{
	if (!timer)
		return;
	if (timer->uevents.fd >= 0) {
		loop_unwatch(timer->loop, &timer->uevents);
		close(timer->uevents.fd);
	}
	for (int cpu = 0; cpu < timer->cpus_max; cpu++)
		detach_cpu(timer, cpu);
	free(timer->events);
	free(timer);
}

int timer_start(struct timer *timer, uint64_t period)
{
	if (timer->period != period) {
		for (int cpu = 0; cpu < timer->cpus_max; cpu++)
			detach_cpu(timer, cpu);
	}
	timer->period = period;
	watch_uevents(timer);
	return attach_all(timer);
}

unsigned timer_cpus(const struct timer *timer)
{
	unsigned count = 0;

	for (int cpu = 0; cpu < timer->cpus_max; cpu++)
		count += timer->events[cpu] >= 0;
	return count;
}
