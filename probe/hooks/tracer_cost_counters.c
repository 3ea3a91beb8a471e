// SPDX-License-Identifier: GPL-2.0-or-later
#include "hooks/tracer_cost_counters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/tracer_part.h"
#include "pagecost.skel.h"
#include "softirq.skel.h"

#define BITS(from, to) (((1ULL << (to)) - 1) & ~((1ULL << (from)) - 1))

/* Leaves out the maps of headers that an object only includes. */
static void drop_others(struct bpf_object *object, const struct bpf_map *const *used)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		bool is_used = bpf_map__is_internal(map);

		for (size_t i = 0; used[i] && !is_used; i++)
			is_used = used[i] == map;
		if (!is_used)
			bpf_map__set_autocreate(map, false);
	}
}

/* ---- softirqs ---- */

static int start_softirq(struct tracer *tracer)
{
	struct softirq_bpf *bpf = tracer_open(tracer, softirq);

	if (!bpf)
		return -errno;
	const struct bpf_map *used[] = {bpf->maps.cost_counters, bpf->maps.softirq_cpus,
					bpf->maps.softirq_began, NULL};
	drop_others(bpf->obj, used);
	int r = softirq_bpf__load(bpf);
	if (r == 0)
		r = softirq_bpf__attach(bpf);
	if (r < 0) {
		softirq_bpf__destroy(bpf);
		return r;
	}
	tracer->softirq = bpf;
	loaded_add(tracer, &(struct loaded){bpf->obj, -1, NULL, NULL, NULL});
	return 0;
}

static void stop_softirq(struct tracer *tracer)
{
	if (!tracer->softirq)
		return;
	loaded_remove(tracer, tracer->softirq->obj, -1);
	softirq_bpf__destroy(TAKE_PTR(tracer->softirq));
}

/* ---- the page cache ---- */

static void choose_hooks(struct pagecost_bpf *bpf, const struct ktypes *types)
{
	bool has_reads = types && types->has_uses;

	bpf->rodata->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	bpf->rodata->has_reads = has_reads;
	bpf_program__set_autoload(bpf->progs.on_pages_got, has_reads);
	bpf_program__set_autoload(bpf->progs.on_reader_exit, has_reads);
	bpf_program__set_autoload(bpf->progs.on_folio_dirty, types && types->has_dirty_folio);
	bpf_program__set_autoload(bpf->progs.on_page_dirty, types && !types->has_dirty_folio);
	if (!has_reads)
		bpf_map__set_autocreate(bpf->maps.page_reads, false);
}

static int start_cache(struct tracer *tracer)
{
	struct pagecost_bpf *bpf = tracer_open(tracer, pagecost);

	if (!bpf)
		return -errno;
	const struct bpf_map *used[] = {bpf->maps.cost_counters, bpf->maps.page_reads, NULL};
	drop_others(bpf->obj, used);
	choose_hooks(bpf, tracer_ktypes(tracer));
	int r = pagecost_bpf__load(bpf);
	if (r == 0)
		r = pagecost_bpf__attach(bpf);
	if (r < 0) {
		pagecost_bpf__destroy(bpf);
		return r;
	}
	tracer->pagecost = bpf;
	loaded_add(tracer, &(struct loaded){bpf->obj, -1, NULL, NULL, NULL});
	return 0;
}

static void stop_cache(struct tracer *tracer)
{
	if (!tracer->pagecost)
		return;
	loaded_remove(tracer, tracer->pagecost->obj, -1);
	pagecost_bpf__destroy(TAKE_PTR(tracer->pagecost));
}

/* ---- both ---- */

static bool is_started(const struct tracer *tracer, enum cost_counter which)
{
	return which == COUNTER_SOFTIRQ ? tracer->softirq != NULL : tracer->pagecost != NULL;
}

int tracer_counter_start(struct tracer *tracer, enum cost_counter which, struct why *why)
{
	if (is_started(tracer, which))
		return 0;
	int r = which == COUNTER_SOFTIRQ ? start_softirq(tracer) : start_cache(tracer);
	if (r < 0)
		tracer_explain(why, r,
			       which == COUNTER_SOFTIRQ
				       ? "the program that counts softirqs can't be loaded"
				       : "the program that counts pages can't be loaded");
	return r;
}

void tracer_counter_stop(struct tracer *tracer, enum cost_counter which)
{
	if (which == COUNTER_SOFTIRQ)
		stop_softirq(tracer);
	else
		stop_cache(tracer);
}

static int map_of(const struct tracer *tracer, enum cost_counter which)
{
	return bpf_map__fd(which == COUNTER_SOFTIRQ ? tracer->softirq->maps.cost_counters
						    : tracer->pagecost->maps.cost_counters);
}

int tracer_counter_open(const struct tracer *tracer, enum cost_counter which,
			struct counter_fds *fds)
{
	*fds = (struct counter_fds){-1, -1, (unsigned)libbpf_num_possible_cpus()};
	if (!is_started(tracer, which))
		return 0;
	_cleanup_close_ int by_process = fcntl(map_of(tracer, which), F_DUPFD_CLOEXEC, 3);
	if (by_process < 0)
		return -errno;
	if (which == COUNTER_SOFTIRQ) {
		fds->by_cpu =
			fcntl(bpf_map__fd(tracer->softirq->maps.softirq_cpus), F_DUPFD_CLOEXEC, 3);
		if (fds->by_cpu < 0)
			return -errno;
	}
	fds->by_process = TAKE_FD(by_process);
	return 0;
}

void tracer_counter_forget(struct tracer *tracer, enum cost_counter which,
			   const struct cost_counter_key *key)
{
	if (is_started(tracer, which))
		bpf_map_delete_elem(map_of(tracer, which), key);
}

uint64_t tracer_counter_lost(const struct tracer *tracer, enum cost_counter which)
{
	if (!is_started(tracer, which))
		return 0;
	return which == COUNTER_SOFTIRQ ? tracer->softirq->bss->lost_events
					: tracer->pagecost->bss->lost_events;
}

uint64_t tracer_counter_known(const struct tracer *tracer, enum cost_counter which)
{
	if (!is_started(tracer, which))
		return 0;
	if (which == COUNTER_SOFTIRQ)
		return BITS(COST_SOFTIRQ, COST_CACHE_HIT);
	uint64_t known = BITS(COST_CACHE_HIT, COST_VALUES);
	return tracer->pagecost->rodata->has_reads ? known : known & ~(1ULL << COST_CACHE_HIT);
}
