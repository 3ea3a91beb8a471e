// SPDX-License-Identifier: GPL-2.0-or-later
#include "hooks/tracer_cost_counters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hooks/cost_counters_state.h"
#include "hooks/hooks_state.h"
#include "kernel/tracer_part.h"
#include "pagecost.skel.h"
#include "softirq.skel.h"
#include "wakecost.skel.h"

void tracer_keep_maps(struct bpf_object *object, const struct bpf_map *const *used)
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

void tracer_counter_note(struct tracer *tracer, enum cost_counter which,
			 const struct counter_object *object)
{
	tracer->counters[which] = *object;
	loaded_add(tracer, &(struct loaded){object->object, -1, NULL, NULL, NULL});
}

/* ---- softirqs ---- */

static void destroy_softirq(void *bpf)
{
	softirq_bpf__destroy(bpf);
}

static int start_softirq(struct tracer *tracer)
{
	struct softirq_bpf *bpf = tracer_open(tracer, softirq);

	if (!bpf)
		return -errno;
	const struct bpf_map *used[] = {bpf->maps.cost_counters, bpf->maps.softirq_cpus,
					bpf->maps.softirq_began, NULL};
	tracer_keep_maps(bpf->obj, used);
	int r = softirq_bpf__load(bpf);
	if (r == 0)
		r = softirq_bpf__attach(bpf);
	if (r < 0) {
		softirq_bpf__destroy(bpf);
		return r;
	}
	tracer_counter_note(tracer, COUNTER_SOFTIRQ,
			    &(struct counter_object){
				    .bpf = bpf,
				    .object = bpf->obj,
				    .destroy = destroy_softirq,
				    .by_process = bpf_map__fd(bpf->maps.cost_counters),
				    .beside = bpf_map__fd(bpf->maps.softirq_cpus),
				    .lost = &bpf->bss->lost_events,
				    .known = COST_BITS(COST_SOFTIRQ, COST_CACHE_HIT),
			    });
	return 0;
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

static void destroy_cache(void *bpf)
{
	pagecost_bpf__destroy(bpf);
}

static int start_cache(struct tracer *tracer)
{
	struct pagecost_bpf *bpf = tracer_open(tracer, pagecost);
	uint64_t known = COST_BITS(COST_CACHE_HIT, COST_WAKE_WOKEN);

	if (!bpf)
		return -errno;
	const struct bpf_map *used[] = {bpf->maps.cost_counters, bpf->maps.page_reads,
					bpf->maps.cache_evictions, NULL};
	tracer_keep_maps(bpf->obj, used);
	choose_hooks(bpf, tracer_ktypes(tracer));
	int r = pagecost_bpf__load(bpf);
	if (r == 0)
		r = pagecost_bpf__attach(bpf);
	if (r < 0) {
		pagecost_bpf__destroy(bpf);
		return r;
	}
	if (!bpf->rodata->has_reads) {
		known &= ~(1ULL << COST_CACHE_HIT);
		why_set(&tracer->counters_absent[COUNTER_CACHE],
			"page_hits: this kernel has no tracepoint mm_filemap_get_pages (since "
			"6.12)");
	}
	tracer_counter_note(tracer, COUNTER_CACHE,
			    &(struct counter_object){
				    .bpf = bpf,
				    .object = bpf->obj,
				    .destroy = destroy_cache,
				    .by_process = bpf_map__fd(bpf->maps.cost_counters),
				    .beside = bpf_map__fd(bpf->maps.cache_evictions),
				    .lost = &bpf->bss->lost_events,
				    .known = known,
			    });
	return 0;
}

/* ---- wake-ups ---- */

static void destroy_wake(void *bpf)
{
	wakecost_bpf__destroy(bpf);
}

static int start_wake(struct tracer *tracer)
{
	struct wakecost_bpf *bpf = tracer_open(tracer, wakecost);

	if (!bpf)
		return -errno;
	const struct bpf_map *used[] = {bpf->maps.cost_counters, bpf->maps.wake_pairs, NULL};
	tracer_keep_maps(bpf->obj, used);
	int r = wakecost_bpf__load(bpf);
	if (r == 0)
		r = wakecost_bpf__attach(bpf);
	if (r < 0) {
		wakecost_bpf__destroy(bpf);
		return r;
	}
	tracer_counter_note(tracer, COUNTER_WAKE,
			    &(struct counter_object){
				    .bpf = bpf,
				    .object = bpf->obj,
				    .destroy = destroy_wake,
				    .by_process = bpf_map__fd(bpf->maps.cost_counters),
				    .beside = bpf_map__fd(bpf->maps.wake_pairs),
				    .lost = &bpf->bss->lost_events,
				    .known = COST_BITS(COST_WAKE_WOKEN, COST_PMU_CYCLES),
			    });
	return 0;
}

/* ---- all of them ---- */

static const struct {
	int (*start)(struct tracer *tracer);
	const char *failed;
} counters[COST_COUNTERS] = {
	[COUNTER_SOFTIRQ] = {start_softirq, "the program that counts softirqs can't be loaded"},
	[COUNTER_CACHE] = {start_cache, "the program that counts pages can't be loaded"},
	[COUNTER_WAKE] = {start_wake, "the program that counts wake-ups can't be loaded"},
	[COUNTER_PMU] = {tracer_pmu_start, "the CPUs' counters can't be read"},
};

int tracer_counter_start(struct tracer *tracer, enum cost_counter which, struct why *why)
{
	if (tracer->counters[which].bpf)
		return 0;
	tracer->counters_absent[which] = (struct why){0};
	int r = counters[which].start(tracer);
	if (r < 0)
		tracer_explain(why, r, counters[which].failed);
	return r;
}

void tracer_counter_stop(struct tracer *tracer, enum cost_counter which)
{
	struct counter_object *object = &tracer->counters[which];

	if (!object->bpf)
		return;
	loaded_remove(tracer, object->object, -1);
	object->destroy(object->bpf);
	*object = (struct counter_object){0};
}

int tracer_counter_open(const struct tracer *tracer, enum cost_counter which,
			struct counter_fds *fds)
{
	const struct counter_object *object = &tracer->counters[which];

	*fds = (struct counter_fds){-1, -1, (unsigned)libbpf_num_possible_cpus()};
	if (!object->bpf)
		return 0;
	_cleanup_close_ int by_process = fcntl(object->by_process, F_DUPFD_CLOEXEC, 3);
	if (by_process < 0)
		return -errno;
	if (object->beside >= 0) {
		fds->beside = fcntl(object->beside, F_DUPFD_CLOEXEC, 3);
		if (fds->beside < 0)
			return -errno;
	}
	fds->by_process = TAKE_FD(by_process);
	return 0;
}

void tracer_counter_forget(struct tracer *tracer, enum cost_counter which,
			   const struct cost_counter_key *key)
{
	if (tracer->counters[which].bpf)
		bpf_map_delete_elem(tracer->counters[which].by_process, key);
}

void tracer_counter_forget_pair(struct tracer *tracer, const struct wake_pair *pair)
{
	if (tracer->counters[COUNTER_WAKE].bpf)
		bpf_map_delete_elem(tracer->counters[COUNTER_WAKE].beside, pair);
}

uint64_t tracer_counter_lost(const struct tracer *tracer, enum cost_counter which)
{
	return tracer->counters[which].bpf ? *tracer->counters[which].lost : 0;
}

const char *tracer_counter_absent(const struct tracer *tracer, enum cost_counter which)
{
	const char *text = tracer->counters_absent[which].text;

	return *text ? text : NULL;
}

uint64_t tracer_counter_known(const struct tracer *tracer, enum cost_counter which)
{
	return tracer->counters[which].known;
}
