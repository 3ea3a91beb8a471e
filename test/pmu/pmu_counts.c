// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pmu_counts software|hardware: counts a child's work by bpf/pmucost.bpf.c, with these perf events
 * in the place of the CPU's counters, and by perf's own events of that child. Writes a line of
 * JSON: for each counter what both say, for each round; and the time that the child had on CPUs. In
 * the second round more events are wanted than a CPU has counters, so that they take turns.
 *
 * As the first process of a guest (test/pmu/check-arm64) it mounts what it needs, counts by
 * hardware, and turns the machine off.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/shared/process_cost.h"
#include "pmucost.skel.h"

#define PAGES 2000
#define NAPS  20
#define NONE  (~0ULL)

static const uint64_t hardware[PMU_COUNTS] = {
	PERF_COUNT_HW_CPU_CYCLES,	PERF_COUNT_HW_REF_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
	PERF_COUNT_HW_CACHE_REFERENCES, PERF_COUNT_HW_CACHE_MISSES,
};
static const uint64_t software[PMU_COUNTS] = {
	PERF_COUNT_SW_CPU_CLOCK,
	PERF_COUNT_SW_PAGE_FAULTS_MIN,
	PERF_COUNT_SW_PAGE_FAULTS,
	NONE,
	NONE,
};
#define NAME(number, name) [number] = (name),
static const char *const names[PMU_COUNTS] = {PMU_LIST(NAME)};

static struct pmucost_bpf *bpf;
static uint32_t type;
static const uint64_t *events;
static long cpus;

static void fail(const char *what)
{
	printf("{\"failed\": \"%s: %s\"}\n", what, strerror(errno));
	exit(1);
}

static int open_event(int i, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {.type = type,
				       .size = sizeof(attr),
				       .config = events[i],
				       .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
						      PERF_FORMAT_TOTAL_TIME_RUNNING};

	if (events[i] == NONE) {
		errno = ENOENT;
		return -1;
	}
	return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint32_t open_counters(void)
{
	uint32_t known = 0;

	for (int i = 0; i < PMU_COUNTS; i++) {
		for (int cpu = 0; cpu < cpus; cpu++) {
			uint32_t place = (uint32_t)(cpu * PMU_COUNTS + i);
			int fd = open_event(i, -1, cpu);

			if (fd < 0)
				continue;
			if (bpf_map_update_elem(bpf_map__fd(bpf->maps.pmu_counters), &place, &fd,
						BPF_ANY) < 0)
				fail("an event can't be put into the map");
			known |= 1U << i;
		}
	}
	return known;
}

static void load(void)
{
	struct bpf_map *map;

	bpf = pmucost_bpf__open();
	if (!bpf)
		fail("it can't be opened");
	bpf_object__for_each_map(map, bpf->obj)
	{
		if (!bpf_map__is_internal(map) && map != bpf->maps.cost_counters &&
		    map != bpf->maps.pmu_counters && map != bpf->maps.pmu_before)
			bpf_map__set_autocreate(map, false);
	}
	bpf_map__set_max_entries(bpf->maps.pmu_counters, (uint32_t)(cpus * PMU_COUNTS));
	if (pmucost_bpf__load(bpf) < 0)
		fail("it can't be loaded");
	bpf->bss->pmu_known = open_counters();
	if (pmucost_bpf__attach(bpf) < 0)
		fail("it can't be attached");
}

static void count_running(void)
{
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, run, .cpu = cpu, .flags = BPF_F_TEST_RUN_ON_CPU);

		if (bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.count_running), &run) < 0)
			fail("it can't be run on a CPU");
	}
}

/* Returns what has been counted of a process. */
static struct pmu_counts counts_of(pid_t pid)
{
	int fd = bpf_map__fd(bpf->maps.cost_counters);
	struct cost_counter_key key, *last = NULL;
	struct pmu_counts counts = {0};

	count_running();
	while (bpf_map_get_next_key(fd, last, &key) == 0) {
		if (key.tgid == (uint64_t)pid && bpf_map_lookup_elem(fd, &key, &counts) < 0)
			fail("counts can't be read");
		last = &key;
	}
	return counts;
}

/* ---- the child ---- */

static volatile uint64_t sink;

static void work(void)
{
	for (int nap = 0; nap < NAPS; nap++) {
		char *room = mmap(NULL, PAGES * 4096UL, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (room == MAP_FAILED)
			_exit(1);
		madvise(room, PAGES * 4096UL, MADV_NOHUGEPAGE);
		for (int i = 0; i < PAGES; i++)
			room[i * 4096UL] = 1;
		munmap(room, PAGES * 4096UL);
		for (int i = 0; i < 4000000; i++)
			sink += (uint64_t)i;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

/* Works whenever it is told to. */
static void be_child(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1) {
		work();
		if (write(out, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void have_worked(int in, int out)
{
	char byte = 0;

	if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
		fail("the child has ended");
	usleep(100000); /* it waits again */
}

/* ---- a round ---- */

struct perf_count {
	uint64_t value, enabled, running;
};

/* Counts the child's work; with a crowd of events of which not all can count at a time. */
static void count_round(pid_t child, int in, int out, int crowd)
{
	int truths[PMU_COUNTS], *others = calloc((size_t)crowd + 1, sizeof(*others));
	struct pmu_counts before, after;

	for (int i = 0; i < PMU_COUNTS; i++)
		truths[i] = open_event(i, child, -1);
	for (int i = 0; i < crowd; i++)
		others[i] = open_event(0, -1, i % (int)cpus);
	before = counts_of(child);
	have_worked(in, out);
	after = counts_of(child);
	printf("{\"counted_ns\": %llu", (unsigned long long)(after.ns - before.ns));
	for (int i = 0; i < PMU_COUNTS; i++) {
		struct perf_count truth;

		if (truths[i] < 0 || !(bpf->bss->pmu_known & 1U << i))
			continue;
		if (read(truths[i], &truth, sizeof(truth)) != sizeof(truth))
			fail("perf's own event can't be read");
		printf(", \"%s\": {\"counted\": %llu, \"truth\": %llu, \"enabled\": %llu, "
		       "\"running\": %llu}",
		       names[i], (unsigned long long)(after.of[i] - before.of[i]),
		       (unsigned long long)truth.value, (unsigned long long)truth.enabled,
		       (unsigned long long)truth.running);
		close(truths[i]);
	}
	for (int i = 0; i < crowd; i++)
		close(others[i]);
	printf("}");
	free(others);
}

static void count_all(bool is_hardware)
{
	int to[2], from[2];

	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	type = is_hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
	events = is_hardware ? hardware : software;
	load();
	if (pipe(to) < 0 || pipe(from) < 0)
		fail("pipe");
	count_running(); /* the first reading of a CPU tells nothing */
	pid_t child = fork();
	if (child == 0) {
		close(to[1]);
		be_child(to[0], from[1]);
	}
	have_worked(from[0], to[1]);
	printf("{\"known\": %u, \"lost\": %llu, \"rounds\": [", bpf->bss->pmu_known,
	       (unsigned long long)bpf->bss->lost_events);
	count_round(child, from[0], to[1], 0);
	printf(", ");
	count_round(child, from[0], to[1], is_hardware ? 20 * (int)cpus : 0);
	printf("]}\n");
	fflush(stdout);
	close(to[1]);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	bool is_init = getpid() == 1;

	if (is_init) {
		mount("proc", "/proc", "proc", 0, NULL);
		mount("sysfs", "/sys", "sysfs", 0, NULL);
	} else if (argc < 2) {
		return 2;
	}
	if (is_init) {
		pid_t pid = fork(); /* so that a failure ends the guest, too */
		if (pid == 0) {
			count_all(true);
			exit(0);
		}
		waitpid(pid, NULL, 0);
		sync();
		reboot(RB_POWER_OFF);
	}
	count_all(strcmp(argv[1], "hardware") == 0);
	return 0;
}
