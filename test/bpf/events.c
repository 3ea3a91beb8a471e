// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes RATE events a second for SECONDS, each with the stack main;make_events, under a guard of
 * PERCENT of one CPU (0: none), and prints as JSON: events made, their weights as counted, samples
 * lost, stacks taken, the BPF programs' run time as the kernel's statistics have it, wall time.
 * usage: events RATE SECONDS PERCENT
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "events.skel.h"
#include "bpf/shared/sample.h"

#define STACKS	 1024
#define NS_PER_S 1000000000ULL

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* A hundred events at a time, as the clock asks for them. */
static uint64_t __attribute__((noinline)) make_events(uint64_t rate, uint64_t seconds)
{
	uint64_t begin = now_ns(), made = 0;

	for (uint64_t elapsed; (elapsed = now_ns() - begin) < seconds * NS_PER_S;) {
		if (made >= elapsed * rate / NS_PER_S)
			continue;
		for (int i = 0; i < 100; i++)
			syscall(SYS_getppid);
		made += 100;
	}
	return made;
}

static uint64_t run_time_ns(const struct bpf_program *program)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);

	bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes);
	return info.run_time_ns;
}

static void add_counts(const struct bpf_map *map, struct stack_count *sum)
{
	struct count_key key, *last = NULL;
	struct stack_count count;

	for (; bpf_map_get_next_key(bpf_map__fd(map), last, &key) == 0; last = &key) {
		if (bpf_map_lookup_elem(bpf_map__fd(map), &key, &count))
			continue;
		sum->weight += count.weight;
		sum->samples += count.samples;
	}
}

static uint64_t lost(const struct bpf_map *map)
{
	int cpus = libbpf_num_possible_cpus();
	struct counters *each = calloc((size_t)cpus, sizeof(*each));
	uint32_t zero = 0;
	uint64_t sum = 0;

	if (each && bpf_map_lookup_elem(bpf_map__fd(map), &zero, each) == 0) {
		for (int i = 0; i < cpus * LOSERS_COUNT * LOST_COUNT; i++)
			sum += each[i / (LOSERS_COUNT * LOST_COUNT)]
				       .lost[i / LOST_COUNT % LOSERS_COUNT][i % LOST_COUNT];
	}
	free(each);
	return sum;
}

static struct events_bpf *load(unsigned percent)
{
	struct events_bpf *object = events_bpf__open();
	struct control settings = {.window = 2, .budget_ppm = percent * 10000u};
	uint32_t zero = 0;

	if (!object)
		return NULL;
	object->rodata->wanted_tgid = (uint32_t)getpid();
	object->rodata->wanted_syscall = SYS_getppid;
	bpf_map__set_max_entries(object->maps.sent_even, STACKS);
	bpf_map__set_max_entries(object->maps.counts_even, STACKS);
	bpf_map__set_max_entries(object->maps.counts_odd, STACKS);
	bpf_map__set_max_entries(object->maps.stacks, 1 << 20);
	if (events_bpf__load(object) ||
	    bpf_map_update_elem(bpf_map__fd(object->maps.control), &zero, &settings, BPF_ANY))
		return NULL;
	return object;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	struct events_bpf *object = load((unsigned)atoi(argv[3]));
	int statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
	struct stack_count sum = {0};

	if (!object || statistics < 0 || events_bpf__attach(object)) {
		perror("events");
		return 1;
	}
	uint64_t begin = now_ns();
	uint64_t made = make_events((uint64_t)atoll(argv[1]), (uint64_t)atoll(argv[2]));
	uint64_t wall = now_ns() - begin;
	events_bpf__detach(object);
	add_counts(object->maps.counts_even, &sum);
	printf("{\"made\": %llu, \"weight\": %llu, \"lost\": %llu, \"samples\": %llu, "
	       "\"bpf_ns\": %llu, \"empty_ns\": %llu, \"wall_ns\": %llu}\n",
	       (unsigned long long)made, (unsigned long long)sum.weight,
	       (unsigned long long)lost(object->maps.counters), (unsigned long long)sum.samples,
	       (unsigned long long)run_time_ns(object->progs.on_event),
	       (unsigned long long)run_time_ns(object->progs.on_event_empty),
	       (unsigned long long)wall);
	events_bpf__destroy(object);
	return 0;
}
