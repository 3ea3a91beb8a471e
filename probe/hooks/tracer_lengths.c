// SPDX-License-Identifier: GPL-2.0-or-later
/* Run-queue lengths, sampled by a program and a clock of their own. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "kernel/timer.h"
#include "hooks/tracer_sched.h"
#include "hooks/hooks_state.h"
#include "runqlen.skel.h"

#define PERIOD_NS (NS_PER_S / 99) /* out of step with periodic work */

static void stop_lengths(void *arg)
{
	tracer_lengths_stop(arg);
}

static int load_lengths(struct tracer *tracer)
{
	tracer->runqlen = tracer_open(tracer, runqlen);
	if (!tracer->runqlen)
		return -errno;
	loaded_add(tracer, &(struct loaded){tracer->runqlen->obj, -1, stop_lengths, tracer, NULL});
	int r = runqlen_bpf__load(tracer->runqlen);
	if (r == 0)
		r = timer_new(&tracer->length_timer, tracer->loop,
			      bpf_program__fd(tracer->runqlen->progs.sample_length),
			      PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true);
	return r < 0 ? r : timer_start(tracer->length_timer, PERIOD_NS);
}

int tracer_lengths(struct tracer *tracer, struct why *why)
{
	if (tracer->runqlen)
		return 0;
	int r = load_lengths(tracer);
	if (r == 0 && !tracer->types.known.has_group_queues) {
		why_set(why, "run-queue lengths can't be read: this kernel was built "
			     "without CONFIG_FAIR_GROUP_SCHED");
		r = -EOPNOTSUPP;
	} else if (r < 0) {
		tracer_explain(why, r, "run-queue lengths can't be sampled");
	}
	if (r < 0)
		tracer_lengths_stop(tracer);
	return r;
}

void tracer_lengths_stop(struct tracer *tracer)
{
	if (tracer->runqlen)
		loaded_remove(tracer, tracer->runqlen->obj, -1);
	timer_free(tracer->length_timer);
	tracer->length_timer = NULL;
	runqlen_bpf__destroy(tracer->runqlen);
	tracer->runqlen = NULL;
}

static bool is_sampled(const struct lengths *lengths)
{
	for (int i = 0; i < LENGTH_SLOTS; i++) {
		if (lengths->slots[i])
			return true;
	}
	return false;
}

int tracer_lengths_read(struct tracer *tracer,
			void (*each)(void *arg, unsigned cpu, const struct lengths *lengths),
			void *arg)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct lengths *all = cpus > 0 ? calloc((size_t)cpus, sizeof(*all)) : NULL;
	uint32_t zero = 0;

	if (!tracer->runqlen)
		return -ENOENT;
	if (!all)
		return -ENOMEM;
	int r = bpf_map_lookup_elem(bpf_map__fd(tracer->runqlen->maps.lengths), &zero, all);
	for (int cpu = 0; cpu < cpus && r == 0; cpu++) {
		if (is_sampled(&all[cpu]))
			each(arg, (unsigned)cpu, &all[cpu]);
	}
	return r;
}
