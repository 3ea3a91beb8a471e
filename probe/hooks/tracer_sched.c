// SPDX-License-Identifier: GPL-2.0-or-later
#include "hooks/tracer_sched.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "hooks/hooks_state.h"
#include "kernel/tracer_waits.h"
#include "capability/trial.h"
#include "sched.skel.h"
#include "sched_native.skel.h"

#define RECORDS_MAX 32768 /* threads, where the kernel has no task storage */

static const char failed[] = "the programs that follow the scheduler can't be loaded";

bool tracer_has_task_storage(const struct tracer *tracer)
{
	return tracer->sched->rodata->has_task_storage;
}

/* Makes only one of the two kinds of records. */
static void choose_records(struct sched_bpf *sched)
{
	struct finding finding;

	/* By a trial, at a switch: a kernel may have the map but give no room there. */
	trial_program(CAN_TASK_STORAGE, &finding);
	bool in_tasks = finding.state == FINDING_YES;

	sched->rodata->has_task_storage = in_tasks;
	bpf_map__set_autocreate(sched->maps.records, in_tasks);
	bpf_map__set_autocreate(sched->maps.records_by_tid, !in_tasks);
	bpf_map__set_max_entries(sched->maps.records_by_tid, RECORDS_MAX);
}

LOADABLE_FUNCTIONS(sched)
WALKING_OBJECT(sched)

static struct sched_bpf *open_sched(const struct load_from *from, bool is_first)
{
	struct sched_bpf *sched = open_walking_sched(from);

	if (!sched)
		return NULL;
	choose_records(sched);
	sched->rodata->has_switch_state = from->tracer->types.known.has_switch_state;
	sched->rodata->walks_at_return = from->tracer->types.known.has_switch_end;
	bpf_program__set_autoload(sched->progs.on_sched_exit, sched->rodata->walks_at_return);
	tracer_set_stacks(sched);
	tracer_set_slot(sched, switch_slot, is_first);
	tracer_set_slot(sched, exit_slot, is_first);
	return sched;
}

static void *load_sched(const struct load_from *from)
{
	struct sched_bpf *sched = open_sched(from, true);

	if (!sched)
		return NULL;
	int r = tracer_share_maps(from->life, sched->obj);
	if (r == 0)
		r = sched_bpf__load(sched);
	return tracer_loaded(&loadable_sched, sched, r);
}

static bool has_sched(const struct tracer *tracer)
{
	return tracer->sched;
}

const struct loadable loadable_sched = {
	.load = load_sched,
	LOADABLE_FIELDS(sched),
	.shared_at = offsetof(struct load_from, sched),
	.is_loaded = has_sched,
	.is_taken_over = true,
};

LOADABLE_AGAIN(sched, sched, open_sched, on_switch, switch_slot, tracer->sched)
LOADABLE_AGAIN(exit, sched, open_sched, on_sched_exit, exit_slot, tracer->sched)

const struct loadable *const sched_loads[] = {&loadable_sched, &loadable_times, NULL};

static void unload_sched(void *arg);

static int begin_sched(struct tracer *tracer)
{
	struct sched_bpf *sched = tracer_take(tracer, &loadable_sched);

	if (!sched)
		return -errno;
	tracer->sched = sched;
	tracer->sched_object = sched->obj;
	loaded_add(tracer, &(struct loaded){sched->obj, -1, unload_sched, tracer, NULL});
	tracer->settings = &sched->bss->sched;
	tracer->settings->session = ++tracer->session;
	sched->links.on_switch = bpf_program__attach(sched->progs.on_switch);
	if (!sched->links.on_switch)
		return -errno;
	walkers_add(tracer, &(struct walker){.which = &loadable_sched_again,
					     .first = sched->obj,
					     .has = sched->rodata->runtimes_walked,
					     .take_over = take_over_sched});
	if (sched->rodata->walks_at_return)
		walkers_add(tracer, &(struct walker){.which = &loadable_exit_again,
						     .first = sched->obj,
						     .has = sched->rodata->runtimes_walked,
						     .take_over = take_over_exit});
	return 0;
}

int tracer_sched_load(struct tracer *tracer, struct why *why)
{
	if (tracer->sched)
		return 0;
	int r = tracer_start(tracer, why);
	if (r < 0)
		return r;
	r = begin_sched(tracer);
	if (r < 0) {
		tracer_explain(why, r, failed);
		unload_sched(tracer);
		return r;
	}
	tracer_times_load(tracer, &tracer->times_why);
	return 0;
}

static bool needs_wakeups(const struct sched_settings *settings)
{
	if (settings->hists & sched_probes_at(RUNQ_ENDED))
		return true;
	return settings->wait_states && settings->wait_split;
}

static void detach_link(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

int tracer_sched_wakeups(struct tracer *tracer)
{
	struct sched_bpf *sched = tracer->sched;

	if (!sched)
		return 0;
	if (!needs_wakeups(tracer->settings)) {
		detach_link(&sched->links.on_wakeup);
		detach_link(&sched->links.on_wakeup_new);
		return 0;
	}
	if (!sched->links.on_wakeup)
		sched->links.on_wakeup = bpf_program__attach(sched->progs.on_wakeup);
	if (!sched->links.on_wakeup)
		return -errno;
	if (!sched->links.on_wakeup_new)
		sched->links.on_wakeup_new = bpf_program__attach(sched->progs.on_wakeup_new);
	return sched->links.on_wakeup_new ? 0 : -errno;
}

int tracer_sched_returns(struct tracer *tracer, bool wanted)
{
	struct sched_bpf *sched = tracer->sched;

	if (!sched || !sched->rodata->walks_at_return)
		return 0;
	if (!wanted)
		detach_link(&sched->links.on_sched_exit);
	else if (!sched->links.on_sched_exit)
		sched->links.on_sched_exit = bpf_program__attach(sched->progs.on_sched_exit);
	return !wanted || sched->links.on_sched_exit ? 0 : -errno;
}

void tracer_sched_release(struct tracer *tracer)
{
	if (tracer->settings && !tracer->settings->wait_states && !tracer->settings->hists)
		unload_sched(tracer);
}

static void unload_sched(void *arg)
{
	struct tracer *tracer = arg;

	tracer_waits_unload(tracer);
	tracer_hists_unload(tracer);
	tracer->settings = NULL;
	tracer_times_unload(tracer);
	walkers_remove(tracer, &loadable_sched_again);
	walkers_remove(tracer, &loadable_exit_again);
	if (tracer->sched)
		loaded_remove(tracer, tracer->sched->obj, -1);
	tracer->sched_object = NULL;
	preload_retire(tracer->preload, &loadable_sched, TAKE_PTR(tracer->sched));
}
