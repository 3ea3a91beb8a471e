// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/tracer_part.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "life.skel.h"
#include "kernel/tracer_waits.h"
#include "bpf/shared/scheduler.h"

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
	sum->slow_waits += more->slow_waits;
	sum->slow_lost += more->slow_lost;
	sum->hists_refused += more->hists_refused;
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

void tracer_wait_for_programs(const struct tracer *tracer)
{
	uint32_t zero = 0;
	int inner = bpf_map__fd(tracer->life->maps.control);

	bpf_map_update_elem(tracer->barrier_fd, &zero, &inner, BPF_ANY);
}

/* Forgets which stacks were sent in a window that is over. */
static void clear_sent(struct tracer *tracer, uint64_t window)
{
	const struct bpf_map *map =
		window & 1 ? tracer->life->maps.sent_odd : tracer->life->maps.sent_even;
	uint32_t count = tracer->sizes.stacks, position;

	bpf_map_lookup_and_delete_batch(bpf_map__fd(map), NULL, &position, tracer->keys,
					tracer->counts, &count, NULL);
}

static int read_counts(struct tracer *tracer, uint64_t window,
		       void (*each)(void *arg, const struct count_key *key,
				    const struct stack_count *count),
		       void *arg)
{
	const struct bpf_map *map =
		window & 1 ? tracer->life->maps.counts_odd : tracer->life->maps.counts_even;
	uint32_t count = tracer_counts_max(tracer), position;
	int r = bpf_map_lookup_and_delete_batch(bpf_map__fd(map), NULL, &position, tracer->keys,
						tracer->counts, &count, NULL);

	if (r < 0 && r != -ENOENT) /* -ENOENT: that was all */
		return r;
	for (uint32_t i = 0; i < count; i++)
		each(arg, &tracer->keys[i], &tracer->counts[i]);
	return 0;
}

int tracer_swap(struct tracer *tracer,
		void (*each)(void *arg, const struct count_key *key,
			     const struct stack_count *count),
		void *arg)
{
	if (!tracer->keys)
		return 0;
	uint64_t ended = tracer->control->window;
	tracer_waits_close(tracer, ended);
	__atomic_store_n(&tracer->control->window, ended + 1, __ATOMIC_SEQ_CST);
	tracer_wait_for_programs(tracer);
	tracer_waits_flush(tracer);
	tracer_read_stacks(tracer);
	int r = read_counts(tracer, ended, each, arg);
	clear_sent(tracer, ended);
	return r;
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
