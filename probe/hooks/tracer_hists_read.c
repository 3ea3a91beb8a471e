// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "hooks/tracer_sched.h"
#include "hooks/hooks_state.h"
#include "sched.skel.h"

#define BATCH 1024

static bool is_empty(const struct hist *hist)
{
	for (int i = 0; i < HIST_SLOTS; i++) {
		if (hist->slots[i])
			return false;
	}
	return true;
}

static void add_hist(struct hist *sum, const struct hist *more)
{
	for (int i = 0; i < HIST_SLOTS; i++)
		sum->slots[i] += more->slots[i];
	sum->sum_ns += more->sum_ns;
}

/* Each CPU's histogram, or the sum of all. */
static int read_all(const struct tracer *tracer, uint32_t probe, bool by_cpu,
		    void (*each)(void *arg, const struct hist_row *row), void *arg)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct hist *hists = cpus > 0 ? calloc((size_t)cpus, sizeof(*hists)) : NULL;
	struct hist_row sum = {0};

	if (!hists)
		return -ENOMEM;
	int r = bpf_map_lookup_elem(bpf_map__fd(tracer->sched->maps.hists_all), &probe, hists);
	if (r < 0)
		return r;
	for (int cpu = 0; cpu < cpus; cpu++) {
		struct hist_row row = {.group = (uint64_t)cpu, .hist = hists[cpu]};

		if (!by_cpu)
			add_hist(&sum.hist, &row.hist);
		else if (!is_empty(&row.hist))
			each(arg, &row);
	}
	if (!by_cpu)
		each(arg, &sum);
	return 0;
}

static int read_groups(const struct tracer *tracer, uint32_t probe,
		       void (*each)(void *arg, const struct hist_row *row), void *arg)
{
	_cleanup_free_ struct hist_key *keys = calloc(BATCH, sizeof(*keys));
	_cleanup_free_ struct hist *hists = calloc(BATCH, sizeof(*hists));
	uint32_t position, *from = NULL;

	if (!keys || !hists)
		return -ENOMEM;
	for (int r = 0; r == 0; from = &position) {
		uint32_t count = BATCH;

		r = bpf_map_lookup_batch(tracer->groups_fd, from, &position, keys, hists, &count,
					 NULL);
		if (r < 0 && r != -ENOENT) /* -ENOENT: that was all */
			return r;
		for (uint32_t i = 0; i < count; i++) {
			struct hist_row row = {.group = keys[i].group, .hist = hists[i]};

			if (keys[i].probe == probe && !is_empty(&row.hist))
				each(arg, &row);
		}
	}
	return 0;
}

int tracer_hists_read(struct tracer *tracer, enum sched_probe probe,
		      void (*each)(void *arg, const struct hist_row *row), void *arg)
{
	if (sched_form(probe) != SCHED_HIST)
		return -EINVAL;
	if (!tracer->settings || !(tracer->settings->hists & 1U << probe))
		return -ENOENT;
	switch (tracer->settings->group_by[probe]) {
	case GROUP_NONE:
		return read_all(tracer, probe, false, each, arg);
	case GROUP_CPU:
		return read_all(tracer, probe, true, each, arg);
	default:
		return read_groups(tracer, probe, each, arg);
	}
}
