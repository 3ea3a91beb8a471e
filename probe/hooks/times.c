// SPDX-License-Identifier: GPL-2.0-or-later
#include "hooks/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "container/container.h"
#include "stack/owners.h"
#include "kind/kind.h"

/*
 * Delay until an ended process is complete: a thread's last switch may come after its process was
 * waited for.
 */
#define COMPLETE_NS 1000000000ULL

struct times_entry {
	struct process_times process;
	struct times sum; /* of the reading under way */
	uint64_t reading; /* number of the last reading that saw it */
};

struct times_table {
	struct map *processes; /* pid (uint32_t) -> struct times_entry */
	uint64_t reading, now_ns;
	struct times_counted counted;
	struct times_stats stats;
};

int times_new(struct times_table **ret, size_t max)
{
	struct times_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	/* A reading may bring as many ended processes as are kept. */
	int r = map_new(&table->processes, sizeof(uint32_t), sizeof(struct times_entry),
			max + TIMES_ENDED_MAX + GONE_MAX);
	if (r < 0) {
		free(table);
		return r;
	}
	*ret = table;
	return 0;
}

void times_free(struct times_table *table)
{
	const struct times_entry *entry;
	const uint32_t *pid;

	if (!table)
		return;
	map_each (table->processes, pos, pid, entry)
		container_unref(entry->process.container);
	map_free(table->processes);
	free(table);
}

static void forget_waits(struct times *times)
{
	times->wakeups = 0;
	memset(times->waited_ns, 0, sizeof(times->waited_ns));
}

void times_begin(struct times_table *table, uint64_t now_ns, const struct times_counted *counted)
{
	const uint32_t *pid;
	struct times_entry *entry;

	table->reading++;
	table->now_ns = now_ns;
	map_each (table->processes, pos, pid, entry) {
		if (counted->session != table->counted.session && !entry->process.ended_ns)
			forget_waits(&entry->process.times);
	}
	table->counted = *counted;
}

/* Returns the entry of the process with this pid and start, made anew if need be. */
static struct times_entry *make_entry(struct times_table *table, uint32_t pid, uint64_t start_ns)
{
	struct times_entry *entry;

	if (map_put(table->processes, &pid, (void **)&entry) < 0) {
		table->stats.refused++;
		return NULL;
	}
	if (entry->process.start_ns != start_ns) {
		container_unref(entry->process.container);
		*entry = (struct times_entry){.process = {.pid = (pid_t)pid, .start_ns = start_ns}};
	}
	return entry;
}

static void sum_times(struct times *to, const struct times *more)
{
	to->run_ns += more->run_ns;
	for (int i = 0; i < SWITCH_KINDS; i++)
		to->switches[i] += more->switches[i];
	to->delay_ns += more->delay_ns;
	to->wakeups += more->wakeups;
	for (int i = 0; i < WAIT_KINDS; i++)
		to->waited_ns[i] += more->waited_ns[i];
}

static void raise_one(uint64_t *to, uint64_t value)
{
	if (value > *to)
		*to = value;
}

static void raise_times(struct times *to, const struct times *now)
{
	raise_one(&to->run_ns, now->run_ns);
	for (int i = 0; i < SWITCH_KINDS; i++)
		raise_one(&to->switches[i], now->switches[i]);
	raise_one(&to->delay_ns, now->delay_ns);
	raise_one(&to->wakeups, now->wakeups);
	for (int i = 0; i < WAIT_KINDS; i++)
		raise_one(&to->waited_ns[i], now->waited_ns[i]);
}

/* Notes which sums are counted. */
static void note_counted(const struct times_table *table, struct process_times *process,
			 uint32_t probes, bool has_delays)
{
	const struct times_counted *counted = &table->counted;
	bool each = counted->each && (counted->everybody || probes & WANTED_SCHED);

	process->has_delays = has_delays;
	process->has_wakeups = each && counted->wakeups;
	process->states = 0;
	if (each)
		process->states = (1u << WAIT_KINDS) - 1;
	else if (probes & kinds_at_switch())
		process->states = counted->offcpu_states;
}

void times_add(struct times_table *table, const struct thread_times *thread)
{
	struct times_entry *entry = make_entry(table, thread->tgid, thread->start_ns);

	if (!entry)
		return;
	/*
	 * Threads that had ended by the first thread read: one that ends later is read as a living
	 * one, or not at all, but never twice.
	 */
	if (entry->reading != table->reading)
		entry->sum = thread->ended;
	entry->reading = table->reading;
	entry->process.ended_ns = 0;
	note_counted(table, &entry->process, thread->probes, thread->delays_known);
	memcpy(entry->process.comm, thread->comm, sizeof(entry->process.comm));
	sum_times(&entry->sum, &thread->own);
}

void times_see_container(struct times_table *table, uint32_t pid, uint64_t start_ns,
			 struct container *container)
{
	struct times_entry *entry = map_get(table->processes, &pid);

	if (entry && entry->process.start_ns == start_ns)
		owner_see_container(&entry->process.container, container);
}

bool times_knows(const struct times_table *table, uint32_t pid, uint64_t start_ns)
{
	const struct times_entry *entry = map_get(table->processes, &pid);

	return entry && entry->process.start_ns == start_ns;
}

bool times_add_gone(struct times_table *table, const struct gone_key *key, const struct gone *gone)
{
	uint32_t pid = (uint32_t)key->tgid;
	const struct times_entry *before = map_get(table->processes, &pid);
	bool complete = gone->reaped_ns && gone->reaped_ns + COMPLETE_NS < table->now_ns;

	if (!gone->id) /* it lives, or was no target any more when it ended */
		return complete;
	if (before && before->process.start_ns > gone->start_ns)
		return complete; /* the pid belongs to a later process already */
	if (before && before->process.start_ns == gone->start_ns &&
	    before->reading == table->reading)
		return false; /* a zombie, which was read among the threads */
	struct times_entry *entry = make_entry(table, pid, gone->start_ns);
	if (!entry)
		return complete;
	entry->reading = table->reading;
	entry->sum = gone->times;
	if (gone->session != table->counted.session)
		forget_waits(&entry->sum);
	note_counted(table, &entry->process, gone->probes, gone->delays_known);
	memcpy(entry->process.comm, gone->comm, sizeof(entry->process.comm));
	if (gone->reaped_ns || !entry->process.ended_ns)
		entry->process.ended_ns = gone->reaped_ns ? gone->reaped_ns : table->now_ns;
	return complete;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Returns the time up to which ended processes are dropped, so that at most TIMES_ENDED_MAX stay.
 */
static uint64_t ended_until(const struct times_table *table)
{
	uint64_t old = table->now_ns > TIMES_KEPT_NS ? table->now_ns - TIMES_KEPT_NS : 0;
	_cleanup_free_ uint64_t *ends = calloc(map_count(table->processes) + 1, sizeof(*ends));
	const struct times_entry *entry;
	const uint32_t *pid;
	size_t count = 0;

	if (!ends)
		return old;
	map_each (table->processes, pos, pid, entry) {
		if (entry->process.ended_ns)
			ends[count++] = entry->process.ended_ns;
	}
	if (count <= TIMES_ENDED_MAX)
		return old;
	qsort(ends, count, sizeof(*ends), compare_ns);
	uint64_t needed = ends[count - TIMES_ENDED_MAX - 1];
	return needed > old ? needed : old;
}

static bool has_to_go(const struct times_table *table, const struct times_entry *entry,
		      uint64_t until_ns)
{
	if (entry->process.ended_ns)
		return entry->process.ended_ns <= until_ns;
	return entry->reading != table->reading;
}

void times_end(struct times_table *table)
{
	size_t room = map_count(table->processes), count = 0;
	_cleanup_free_ uint32_t *going = calloc(room + 1, sizeof(*going));
	uint64_t until_ns = ended_until(table);
	struct times_entry *entry;
	const uint32_t *pid;

	map_each (table->processes, pos, pid, entry) {
		if (entry->reading == table->reading)
			raise_times(&entry->process.times, &entry->sum);
		if (!going || !has_to_go(table, entry, until_ns))
			continue;
		going[count++] = *pid;
		if (entry->process.ended_ns &&
		    entry->process.ended_ns + TIMES_KEPT_NS > table->now_ns)
			table->stats.dropped++;
	}
	for (size_t i = 0; i < count; i++) {
		entry = map_get(table->processes, &going[i]);
		container_unref(entry->process.container);
		map_del(table->processes, &going[i]);
	}
}

uint64_t times_read_ns(const struct times_table *table)
{
	return table->now_ns;
}

void times_each(const struct times_table *table,
		void (*each)(void *arg, const struct process_times *process), void *arg)
{
	const struct times_entry *entry;
	const uint32_t *pid;

	map_each (table->processes, pos, pid, entry)
		each(arg, &entry->process);
}

const struct times_stats *times_stats(const struct times_table *table)
{
	return &table->stats;
}
