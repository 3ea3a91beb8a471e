// SPDX-License-Identifier: GPL-2.0-only
#include "profile/tracer_state.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "life.skel.h"
#include "sample.skel.h"

static void add_counters(struct counters *sum, const struct counters *more)
{
	for (int i = 0; i < PROBE_COUNT; i++)
		sum->samples[i] += more->samples[i];
	for (int i = 0; i < LOST_COUNT; i++)
		sum->lost[i] += more->lost[i];
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

static void wait_for_programs(const struct tracer *tracer)
{
	uint32_t zero = 0;
	int inner = bpf_map__fd(tracer->life->maps.control);

	bpf_map_update_elem(tracer->barrier_fd, &zero, &inner, BPF_ANY);
}

int tracer_swap(struct tracer *tracer,
		void (*each)(void *arg, const struct stack_key *key,
			     const struct stack_count *count),
		void *arg)
{
	if (!tracer->sample)
		return 0;
	uint32_t count = tracer->sizes.stacks, position;

	uint64_t ended = tracer->control->window;
	__atomic_store_n(&tracer->control->window, ended + 1, __ATOMIC_SEQ_CST);
	wait_for_programs(tracer);
	tracer_read_stacks(tracer);

	const struct bpf_map *map =
		ended & 1 ? tracer->sample->maps.counts_odd : tracer->sample->maps.counts_even;
	int r = bpf_map_lookup_and_delete_batch(bpf_map__fd(map), NULL, &position, tracer->keys,
						tracer->counts, &count, NULL);
	if (r < 0 && r != -ENOENT) /* -ENOENT: that was all */
		return r;
	for (uint32_t i = 0; i < count; i++)
		each(arg, &tracer->keys[i], &tracer->counts[i]);
	return 0;
}

static uint64_t program_time_ns(const struct bpf_object *object)
{
	struct bpf_program *program;
	uint64_t sum = 0;

	bpf_object__for_each_program(program, object)
	{
		struct bpf_prog_info info = {0};
		uint32_t bytes = sizeof(info);

		if (bpf_program__fd(program) >= 0 &&
		    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes) == 0)
			sum += info.run_time_ns;
	}
	return sum;
}

uint64_t tracer_bpf_time_ns(const struct tracer *tracer)
{
	uint64_t sum = 0;

	if (tracer->life)
		sum += program_time_ns(tracer->life->obj);
	if (tracer->sample)
		sum += program_time_ns(tracer->sample->obj);
	return sum;
}
