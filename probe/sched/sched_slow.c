// SPDX-License-Identifier: GPL-2.0-or-later
/* Slow waits: received from the tracer, and read again. */
#include <string.h>
#include <time.h>

#include "container/container.h"
#include "proc/proc.h"
#include "sched/cpu_holder.h"
#include "sched/sched_state.h"
#include "base/clock.h"

static void blame_holder(struct slow_entry *entry, const struct cpu_holder *holder)
{
	entry->before.tid = holder->before.tid;
	memcpy(entry->before.comm, holder->before.comm, COMM_BYTES);
	entry->most.tid = holder->most_tid;
	memcpy(entry->most.comm, holder->most_comm, COMM_BYTES);
	entry->most_ns = holder->most_ns;
}

/*
 * Returns the target of an event. A wait may be longer than its process has lived: then the pid may
 * be another one's. (Within one tick of the process's start that can't be told.)
 */
static bool had_begun(const struct target *target, const struct slow_event *event)
{
	uint64_t event_ns = clock_ns(CLOCK_BOOTTIME) - (loop_now_ns() - event->time_ns);

	return target->start_ticks <= proc_ticks_of_ns(event_ns);
}

void sched_on_slow(void *arg, const struct slow_event *event, const struct slice *slices)
{
	struct sched *sched = arg;
	struct cpu_holder holder;
	const struct target *target;
	struct slow_entry entry = {
		.probe = (enum sched_probe)event->probe,
		.state = (enum wait_state)event->state,
		.time_ns = sched_time_ns() - (loop_now_ns() - event->time_ns),
		.delay_ns = event->delay_ns,
		.tgid = event->tgid,
		.tid = event->tid,
		.cpu = event->cpu,
	};

	if (event->probe >= SCHED_COUNT || !(sched->on & 1u << event->probe) ||
	    !sched->probes[event->probe].log)
		return;
	memcpy(entry.comm, event->comm, sizeof(entry.comm));
	target = engine_target(sched->setup.engine, (pid_t)event->tgid);
	if (target && had_begun(target, event)) {
		entry.target_id = target->id;
		entry.ns_pid = target->ns_pid;
		entry.container = target->container;
	}
	cpu_holder_find(&holder, event, slices);
	blame_holder(&entry, &holder);
	slow_log_add(sched->probes[event->probe].log, &entry);
	sched_wake_followers(sched);
}

/* Sets the container, which may have become known after the event. */
static void find_place(struct sched *sched, struct slow_entry *event)
{
	const struct target *target =
		event->target_id ? engine_target_once(sched->setup.engine, (pid_t)event->tgid,
						      event->target_id)
				 : NULL;

	if (!target || !target->container)
		return;
	container_ref(target->container);
	container_unref(event->container);
	event->container = target->container;
	event->ns_pid = target->ns_pid;
}

uint64_t sched_next_event(const struct sched *sched, enum sched_probe probe)
{
	return sched->probes[probe].log ? sched->probes[probe].log->next : 0;
}

int sched_slow_events(struct sched *sched, struct sched_data *data, uint64_t from)
{
	int r = sched_data_add_events(data, sched->probes[data->probe].log, from);

	for (size_t i = 0; i < data->count; i++)
		find_place(sched, &data->events[i]);
	return r;
}
