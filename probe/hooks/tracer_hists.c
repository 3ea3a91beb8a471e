// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns the histograms of /sched on and off. (tracer_hists_read.c reads them.) */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hooks/tracer_sched.h"
#include "hooks/hooks_state.h"
#include "sched.skel.h"

static const uint32_t zero;

static bool is_grouped(enum group_by by)
{
	return by != GROUP_NONE && by != GROUP_CPU;
}

/* Returns those of the probes that count at a switch; the others have a program of their own. */
static uint32_t of_switches(uint32_t probes)
{
	return probes & ~sched_probes_at(CPU_LOOKED_AT);
}

static bool has_events(uint32_t probes)
{
	return probes & sched_probes_of(SCHED_EVENTS);
}

/* ---- the map of groups ---- */

static void drop_groups(struct tracer *tracer)
{
	if (tracer->groups_fd < 0)
		return;
	bpf_map_delete_elem(bpf_map__fd(tracer->sched->maps.hists_grouped), &zero);
	close(tracer->groups_fd);
	tracer->groups_fd = -1;
}

static int make_groups(struct tracer *tracer, uint32_t groups_max)
{
	_cleanup_close_ int fd =
		bpf_map_create(BPF_MAP_TYPE_HASH, "sched_groups", sizeof(struct hist_key),
			       sizeof(struct hist), groups_max, NULL);

	if (fd < 0 ||
	    bpf_map_update_elem(bpf_map__fd(tracer->sched->maps.hists_grouped), &zero, &fd, 0))
		return -errno;
	tracer->groups_fd = TAKE_FD(fd);
	return 0;
}

/* Keeps the map of groups while a probe needs it. */
static int keep_groups(struct tracer *tracer, const struct sched_hists_settings *wanted)
{
	bool needed = false;

	for (int i = 0; i < SCHED_COUNT; i++)
		needed |= of_switches(wanted->probes) & 1U << i && is_grouped(wanted->group_by[i]);
	if (!needed)
		drop_groups(tracer);
	return needed && tracer->groups_fd < 0 ? make_groups(tracer, wanted->groups_max) : 0;
}

/* ---- beginning at zero ---- */

static void clear_groups(const struct tracer *tracer, uint32_t probes)
{
	struct hist_key key, next;
	int end = tracer->groups_fd < 0 ? -1 : bpf_map_get_next_key(tracer->groups_fd, NULL, &key);

	while (!end) {
		end = bpf_map_get_next_key(tracer->groups_fd, &key, &next);
		if (probes & 1U << key.probe)
			bpf_map_delete_elem(tracer->groups_fd, &key);
		key = next;
	}
}

static int clear_percpu(const struct bpf_map *map, uint32_t key)
{
	_cleanup_free_ void *zeros =
		calloc((size_t)libbpf_num_possible_cpus(), bpf_map__value_size(map));

	if (!zeros)
		return -ENOMEM;
	return bpf_map_update_elem(bpf_map__fd(map), &key, zeros, BPF_ANY);
}

/* Nothing may be counted there meanwhile. */
static int clear_hists(const struct tracer *tracer, uint32_t probes)
{
	int r = 0;

	clear_groups(tracer, probes);
	for (uint32_t i = 0; i < SCHED_COUNT && r == 0; i++) {
		if (probes & 1U << i)
			r = clear_percpu(tracer->sched->maps.hists_all, i);
	}
	/* Slices are runqslower's; they aren't cleared while it goes on. */
	if (r == 0 && has_events(probes & sched_probes_at(RUNQ_ENDED)))
		r = clear_percpu(tracer->sched->maps.slices, 0);
	return r;
}

/* ---- slow waits, as they are reported ---- */

static int on_slow(void *arg, void *data, size_t bytes)
{
	struct tracer *tracer = arg;
	const struct slow_event *event = data;

	if (tracer->events.slow && bytes >= sizeof(*event) &&
	    bytes >= sizeof(*event) + event->slices_count * sizeof(struct slice))
		tracer->events.slow(tracer->events.arg, event, (const struct slice *)(event + 1));
	return 0;
}

void tracer_read_slow(struct tracer *tracer)
{
	tracer_ring_read(&tracer->slow_ring);
}

static void read_slow(void *arg)
{
	tracer_read_slow(arg);
}

static void slow_ready(void *arg)
{
	struct tracer *tracer = arg;

	tracer_read_slow(tracer);
	loop_timer_set(tracer->loop, &tracer->slow_late, loop_now_ns() + TRACER_LATE_NS);
}

static int watch_slow(struct tracer *tracer)
{
	if (tracer->slow_ring.ring)
		return 0;
	tracer->slow_late =
		(struct loop_timer){.expired = read_slow, .arg = tracer, .name = "rings"};
	return tracer_ring_watch(tracer, &tracer->slow_ring, bpf_map__fd(tracer->sched->maps.slow),
				 on_slow, slow_ready);
}

static void unwatch_slow(struct tracer *tracer)
{
	if (tracer->slow_ring.ring)
		loop_timer_cancel(tracer->loop, &tracer->slow_late);
	tracer_ring_unwatch(tracer, &tracer->slow_ring);
}

/* ---- on and off ---- */

static uint32_t regrouped_probes(const struct sched_settings *now,
				 const struct sched_hists_settings *wanted)
{
	uint32_t probes = 0;

	for (int i = 0; i < SCHED_COUNT; i++)
		probes |= (uint32_t)(now->group_by[i] != wanted->group_by[i]) << i;
	return probes;
}

static void switch_hists(struct sched_settings *settings, uint32_t probes)
{
	__atomic_store_n(&settings->hists, probes, __ATOMIC_SEQ_CST);
}

/* Probes that go on unchanged aren't touched. */
static int begin_hists(struct tracer *tracer, const struct sched_hists_settings *wanted)
{
	struct sched_settings *settings = tracer->settings;
	uint32_t probes = of_switches(wanted->probes), before = settings->hists;
	uint32_t same = probes & before & ~regrouped_probes(settings, wanted);

	if (settings->everybody != wanted->everybody)
		same = 0; /* what is there counts other tasks */

	switch_hists(settings, same);
	tracer_scaled_end_others(tracer, same);
	if (same != before)
		tracer_wait_for_programs(tracer);
	int r = clear_hists(tracer, (before | probes) & ~same);
	if (r == 0)
		r = keep_groups(tracer, wanted);
	if (r == 0 && has_events(probes))
		r = watch_slow(tracer);
	if (r < 0)
		return r;
	for (int i = 0; i < SCHED_COUNT; i++)
		settings->group_by[i] = wanted->group_by[i];
	if (!settings->hists)
		settings->hists_since_ns = loop_now_ns();
	settings->slow_ns = wanted->slow_ns;
	settings->everybody = wanted->everybody;
	switch_hists(settings, probes);
	if (!has_events(probes))
		unwatch_slow(tracer);
	return tracer_sched_wakeups(tracer);
}

static void end_hists(struct tracer *tracer)
{
	if (!tracer->settings)
		return;
	switch_hists(tracer->settings, 0);
	tracer_hists_unload(tracer);
	tracer_sched_wakeups(tracer);
	tracer_sched_release(tracer);
}

int tracer_hists(struct tracer *tracer, const struct sched_hists_settings *settings,
		 struct why *why)
{
	int r = 0;

	if (settings->probes & sched_probes_at(CPU_LOOKED_AT))
		r = tracer_lengths(tracer, why);
	else
		tracer_lengths_stop(tracer);
	if (r == 0 && !of_switches(settings->probes)) {
		end_hists(tracer);
	} else if (r == 0) {
		r = tracer_sched_load(tracer, why);
		if (r == 0) {
			r = begin_hists(tracer, settings);
			if (r < 0)
				tracer_explain(why, r, "histograms can't be made");
		}
	}
	if (r < 0)
		tracer_hists_stop(tracer);
	return r;
}

void tracer_hists_stop(struct tracer *tracer)
{
	tracer_lengths_stop(tracer);
	end_hists(tracer);
}

void tracer_hists_unload(struct tracer *tracer)
{
	unwatch_slow(tracer);
	drop_groups(tracer);
	tracer_scaled_end_others(tracer, 0);
}
