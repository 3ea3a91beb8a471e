// SPDX-License-Identifier: GPL-2.0-or-later
#include "hooks/tracer_times.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "life.skel.h"
#include "hooks/hooks_state.h"
#include "hooks/iterator.h"
#include "kernel/map_batches.h"
#include "sched.skel.h"
#include "times.skel.h"

static const char failed[] = "the program that reads processes' run time can't be loaded";

/* The records are where the scheduler's programs keep them. */
static void choose_records(struct times_bpf *times, bool in_tasks)
{
	times->rodata->has_task_storage = in_tasks;
	bpf_map__set_autocreate(times->maps.records, in_tasks);
	bpf_map__set_autocreate(times->maps.records_by_tid, !in_tasks);
}

static int share_maps(const struct load_from *from, struct times_bpf *times, bool in_tasks)
{
	const struct bpf_map *records =
		bpf_object__find_map_by_name(from->sched, in_tasks ? "records" : "records_by_tid");
	int r = tracer_share_maps(from->life, times->obj);

	return r < 0 ? r
		     : bpf_map__reuse_fd(in_tasks ? times->maps.records
						  : times->maps.records_by_tid,
					 bpf_map__fd(records));
}

LOADABLE_FUNCTIONS(times)

static void *load_times(const struct load_from *from)
{
	struct times_bpf *times = tracer_open(from->tracer, times);
	bool in_tasks = tracer_records_in_tasks(from->sched);

	if (!times)
		return NULL;
	choose_records(times, in_tasks);
	int r = share_maps(from, times, in_tasks);
	if (r == 0)
		r = times_bpf__load(times);
	return tracer_loaded(&loadable_times, times, r);
}

static bool has_times(const struct tracer *tracer)
{
	return tracer->times;
}

const struct loadable loadable_times = {
	.load = load_times,
	LOADABLE_FIELDS(times),
	.is_loaded = has_times,
};

static int begin_times(struct tracer *tracer)
{
	tracer->times = tracer_take(tracer, &loadable_times);
	if (!tracer->times)
		return -errno;
	loaded_add(tracer, &(struct loaded){tracer->times->obj, -1, NULL, NULL, NULL});
	return times_bpf__attach(tracer->times);
}

int tracer_times_load(struct tracer *tracer, struct why *why)
{
	if (tracer->times)
		return 0;
	if (!tracer->sched)
		return -ENOENT;
	int r = begin_times(tracer);
	if (r < 0) {
		tracer_explain(why, r, failed);
		tracer_times_unload(tracer);
	}
	return r;
}

/* Forgets all: nobody sees the end of processes whose threads have ended in part. */
static void forget_gone(struct tracer *tracer)
{
	int fd = bpf_map__fd(tracer->life->maps.gone);
	struct gone_key key;

	for (int i = 0; i < GONE_MAX && bpf_map_get_next_key(fd, NULL, &key) == 0; i++)
		bpf_map_delete_elem(fd, &key);
}

void tracer_times_unload(struct tracer *tracer)
{
	if (!tracer->times)
		return;
	forget_gone(tracer);
	loaded_remove(tracer, tracer->times->obj, -1);
	times_bpf__destroy(tracer->times);
	tracer->times = NULL;
}

static void tell_thread(void *arg, const void *record)
{
	const struct times_reading *reading = arg;

	reading->thread(reading->arg, record);
}

static int read_living(struct tracer *tracer, const struct times_reading *reading)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(tracer->times->links.read_times));

	return fd < 0 ? -errno
		      : iterator_read(fd, sizeof(struct thread_times), tell_thread,
				      (void *)reading);
}

static int tell_gone(void *arg, const void *keys_, const void *values, size_t count)
{
	const struct times_reading *reading = arg;
	const struct gone_key *keys = keys_;
	const struct gone *gone = values;

	for (size_t i = 0; i < count; i++)
		reading->gone(reading->arg, &keys[i], &gone[i]);
	return 0;
}

static int read_gone(struct tracer *tracer, const struct times_reading *reading)
{
	const struct map_batches batches = {bpf_map__fd(tracer->life->maps.gone),
					    sizeof(struct gone_key), sizeof(struct gone), tell_gone,
					    (void *)reading};

	return map_batches_read(&batches);
}

int tracer_times_read(struct tracer *tracer, const struct times_reading *reading)
{
	if (!tracer->times || !tracer->settings)
		return -ENOENT;
	tracer->times->bss->sched = *tracer->settings;
	int r = read_living(tracer, reading);
	return r < 0 ? r : read_gone(tracer, reading);
}

void tracer_times_counted(const struct tracer *tracer, struct times_counted *counted)
{
	const struct sched_settings *settings = tracer->settings;
	const struct sched_bpf *sched = tracer->sched;

	*counted = (struct times_counted){0};
	if (!settings)
		return;
	counted->session = settings->session;
	counted->each = settings->hists != 0;
	counted->everybody = settings->everybody;
	counted->wakeups = sched->links.on_wakeup && sched->links.on_wakeup_new;
	counted->offcpu_states = settings->wait_states;
}

void tracer_times_forget(struct tracer *tracer, const struct gone_key *key)
{
	if (tracer->life)
		bpf_map_delete_elem(bpf_map__fd(tracer->life->maps.gone), key);
}

void tracer_times_state(const struct tracer *tracer, struct times_state *state)
{
	*state = (struct times_state){
		.is_on = tracer->times != NULL,
		.has_delays = tracer->types.known.has_run_delay,
		.why = tracer->sched && !tracer->times ? tracer->times_why.text : "",
	};
}
