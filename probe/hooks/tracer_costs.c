// SPDX-License-Identifier: GPL-2.0-or-later
#include "hooks/tracer_costs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "costs.skel.h"
#include "hooks/hooks_state.h"
#include "hooks/tracer_cost_counters.h"
#include "kernel/tracer_part.h"

#define BIT(cost) (1ULL << (cost))

struct tracer_costs {
	struct costs_bpf *bpf;
	struct cost_events events;
	struct tracer_ring ring;
	uint64_t missed; /* processes whose end was */
};

LOADABLE_FUNCTIONS(costs)

static const struct loadable loadable_costs;

static void *load_costs(const struct load_from *from)
{
	struct costs_bpf *bpf = tracer_open(from->tracer, costs);

	if (!bpf)
		return NULL;
	const struct bpf_map *used[] = {bpf->maps.cost_ended, bpf->maps.costs_ring, NULL};
	tracer_keep_maps(bpf->obj, used);
	return tracer_loaded(&loadable_costs, bpf, costs_bpf__load(bpf));
}

static bool has_costs(const struct tracer *tracer)
{
	return tracer->costs;
}

static const struct loadable loadable_costs = {
	.load = load_costs,
	LOADABLE_FIELDS(costs),
	.is_loaded = has_costs,
};

const struct loadable *const cost_loads[] = {&loadable_costs, NULL};

static int take_ended(void *arg, void *record, size_t bytes)
{
	const struct tracer *tracer = arg;
	const struct cost_events *events = &tracer->costs->events;

	if (bytes >= sizeof(struct ended_cost))
		events->ended(events->arg, record);
	return 0;
}

void tracer_costs_poll(struct tracer *tracer)
{
	if (tracer->costs)
		tracer_ring_read(&tracer->costs->ring);
}

static int begin_costs(struct tracer *tracer)
{
	struct tracer_costs *costs = tracer->costs;

	costs->bpf = tracer_take(tracer, &loadable_costs);
	if (!costs->bpf)
		return -errno;
	loaded_add(tracer, &(struct loaded){costs->bpf->obj, -1, NULL, NULL, NULL});
	int r = costs_bpf__attach(costs->bpf);
	return r < 0 ? r
		     : tracer_ring_watch(tracer, &costs->ring,
					 bpf_map__fd(costs->bpf->maps.costs_ring), take_ended,
					 (void (*)(void *))tracer_costs_poll);
}

int tracer_costs_start(struct tracer *tracer, const struct cost_events *events, struct why *why)
{
	if (tracer->costs)
		return 0;
	tracer->costs = calloc(1, sizeof(*tracer->costs));
	if (!tracer->costs) {
		why_set(why, "no memory");
		return -ENOMEM;
	}
	tracer->costs->events = *events;
	int r = begin_costs(tracer);
	if (r < 0) {
		tracer_explain(why, r,
			       "the program that reads what processes cost can't be loaded");
		tracer_costs_stop(tracer);
	}
	return r;
}

void tracer_costs_stop(struct tracer *tracer)
{
	struct tracer_costs *costs = tracer->costs;

	if (!costs)
		return;
	tracer_ring_unwatch(tracer, &costs->ring);
	if (costs->bpf)
		loaded_remove(tracer, costs->bpf->obj, -1);
	costs_bpf__destroy(costs->bpf);
	free(costs);
	tracer->costs = NULL;
}

int tracer_costs_open(struct tracer *tracer)
{
	if (!tracer->costs)
		return -ENOENT;
	int fd = bpf_iter_create(bpf_link__fd(tracer->costs->bpf->links.read_costs));

	return fd < 0 ? -errno : fd;
}

int tracer_costs_open_ended(const struct tracer *tracer)
{
	if (!tracer->costs)
		return -ENOENT;
	int fd = fcntl(bpf_map__fd(tracer->costs->bpf->maps.cost_ended), F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? -errno : fd;
}

void tracer_costs_miss(struct tracer *tracer, const struct cost_ended_key *key)
{
	struct tracer_costs *costs = tracer->costs;

	if (costs && bpf_map_delete_elem(bpf_map__fd(costs->bpf->maps.cost_ended), key) == 0)
		costs->missed++;
}

void tracer_costs_lost(const struct tracer *tracer, struct costs_lost *lost)
{
	*lost = (struct costs_lost){0};
	if (tracer->costs)
		*lost = (struct costs_lost){.threads = tracer->costs->bpf->bss->lost_threads,
					    .processes = tracer->costs->bpf->bss->lost_processes +
							 tracer->costs->missed};
}

uint64_t tracer_costs_known(const struct tracer *tracer)
{
	const struct ktypes *types = tracer_ktypes(tracer);
	uint64_t known = (BIT(COSTS) - 1) | BIT(COST_RSS);

	if (types && !types->has_run_delay)
		known &= ~(BIT(COST_DELAY) | BIT(COST_SLICES));
	if (types && !types->has_call_counts)
		known &= ~(BIT(COST_READ_CALLS) | BIT(COST_WRITE_CALLS) | BIT(COST_READ_CHARS) |
			   BIT(COST_WRITE_CHARS));
	if (types && !types->has_disk_counts)
		known &=
			~(BIT(COST_READ_BYTES) | BIT(COST_WRITE_BYTES) | BIT(COST_CANCELLED_BYTES));
	for (int i = 0; i < COST_COUNTERS; i++)
		known |= tracer_counter_known(tracer, (enum cost_counter)i);
	return known;
}

void tracer_costs_kinds(const struct tracer *tracer, bool *interrupts, bool *steal)
{
	const struct ktypes *types = tracer_ktypes(tracer);

	*interrupts = types && types->has_irq_times;
	*steal = types && types->has_steal_times;
}
