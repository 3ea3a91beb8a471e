// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/tracer_part.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "life.skel.h"

static void add_counters(struct counters *sum, const struct counters *more)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		sum->samples[i] += more->samples[i];
		sum->left_out[i] += more->left_out[i];
	}
	for (int of = 0; of < LOSERS_COUNT; of++) {
		for (int i = 0; i < LOST_COUNT; i++)
			sum->lost[of][i] += more->lost[of][i];
	}
	sum->waits_over_maxblock += more->waits_over_maxblock;
	sum->ring_thread_requests += more->ring_thread_requests;
	for (int i = 0; i < BARE_DISK_COUNT; i++) {
		sum->unseen_bios[i] += more->unseen_bios[i];
		sum->unseen_bytes[i] += more->unseen_bytes[i];
	}
	for (int i = 0; i < SCHED_COUNT; i++)
		sum->slow_waits[i] += more->slow_waits[i];
	sum->slow_lost += more->slow_lost;
	sum->hists_refused += more->hists_refused;
	sum->spans_backwards += more->spans_backwards;
}

void tracer_counters(const struct tracer *tracer, struct counters *sum)
{
	*sum = tracer->before;
	if (!tracer->life)
		return;
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct counters *each = calloc((size_t)cpus, sizeof(*each));
	uint32_t zero = 0;
	if (!each || bpf_map_lookup_elem(bpf_map__fd(tracer->life->maps.counters), &zero, each))
		return;
	for (int i = 0; i < cpus; i++)
		add_counters(sum, &each[i]);
}

static uint64_t program_time_ns(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0)
		return 0;
	return info.run_time_ns;
}

static uint64_t object_time_ns(const struct bpf_object *object)
{
	struct bpf_program *program;
	uint64_t sum = 0;

	bpf_object__for_each_program(program, object) sum +=
		program_time_ns(bpf_program__fd(program));
	return sum;
}

uint64_t tracer_bpf_time_ns(const struct tracer *tracer)
{
	uint64_t sum = 0;

	if (tracer->life)
		sum += object_time_ns(tracer->life->obj);
	for (size_t i = 0; i < tracer->loaded_count; i++) {
		const struct loaded *loaded = &tracer->loaded[i];

		sum += loaded->object ? object_time_ns(loaded->object)
				      : program_time_ns(loaded->program_fd);
	}
	return sum;
}
