// SPDX-License-Identifier: GPL-2.0-or-later
#include "select/container_journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "journal/event_journal.h"
#include "proc/proc.h"

#define EVENTS_BURST   32
#define EVENT_EVERY_NS (10 * NS_PER_S)
#define CONTAINERS_MAX (1u << 20) /* more than there can be targets */

struct named_process {
	pid_t pid;
	bool is_first; /* it has pid 1 in its container */
	uint64_t start_ticks;
	char comm[PROC_COMM_BYTES];
};

struct sampled_container {
	char id[CONTAINER_ID_BYTES];
	char name[CONTAINER_NAME_MAX]; /* with a blank behind it; "": it has none */
	unsigned processes;
	bool is_named, is_begun; /* is_begun: its begin was told, or counted */
	uint64_t entered_ns;	 /* its first process, CLOCK_MONOTONIC */
	uint64_t left_ns;	 /* its last process, if it has none */
	/* which was the first and the latest to enter, until its begin is told; the last to leave
	 */
	struct named_process first, latest, last;
};

static struct named_process name_process(const struct container_process *process)
{
	struct named_process named = {
		.pid = process->pid,
		.is_first = process->ns_pid == 1 && process->pid != 1,
		.start_ticks = process->start_ticks,
	};

	snprintf(named.comm, sizeof(named.comm), "%.*s", PROC_COMM_BYTES - 1, process->comm);
	return named;
}

/* ---- events ---- */

/* Returns how long the process has been there, s. */
static double age_of(const struct named_process *process)
{
	uint64_t now_ticks = proc_ticks_of_ns(clock_ns(CLOCK_BOOTTIME));
	uint64_t ticks_of_s = proc_ticks_of_ns(NS_PER_S);

	return now_ticks > process->start_ticks
		       ? (double)(now_ticks - process->start_ticks) / (double)ticks_of_s
		       : 0;
}

/* Returns whether the process is still there, so that it isn't sampled for another reason. */
static bool is_there(const struct named_process *process)
{
	struct proc_stat stat;

	return proc_stat(process->pid, &stat) == 0 && stat.start_ticks == process->start_ticks &&
	       stat.state != 'Z' && stat.state != 'X';
}

/* A runtime's process that made the container is of less interest, if it has gone. */
static const struct named_process *main_process(const struct sampled_container *container)
{
	const struct named_process *first = &container->first;

	return first->is_first || is_there(first) ? first : &container->latest;
}

static void tell_begin(struct container_journal *journal, struct sampled_container *container)
{
	const struct named_process *process = main_process(container);

	container->is_begun = true;
	if (!rate_take(&journal->rate, loop_now_ns())) {
		journal->begun++;
		return;
	}
	journal_note(JOURNAL_CONTAINER, "%s(%.*s) is sampled: %s%d (%s) began %.1f s before",
		     container->name, CONTAINER_SHORT_ID, container->id,
		     process->is_first ? "its first process " : "", (int)process->pid,
		     process->comm, age_of(process));
}

static void tell_end(struct container_journal *journal, struct sampled_container *container,
		     uint64_t now_ns)
{
	const struct named_process *process = &container->last;

	if (!container->is_begun)
		tell_begin(journal, container);
	if (!rate_take(&journal->rate, now_ns)) {
		journal->ended++;
		return;
	}
	journal_note(JOURNAL_CONTAINER, "%s(%.*s) hasn't been sampled for %.1f s: %d (%s) %s",
		     container->name, CONTAINER_SHORT_ID, container->id,
		     (double)(now_ns - container->left_ns) / (double)NS_PER_S, (int)process->pid,
		     process->comm, is_there(process) ? "isn't chosen any more" : "has ended");
}

void container_journal_rest(struct container_journal *journal)
{
	if (journal->begun || journal->ended)
		journal_note(JOURNAL_CONTAINER, "%llu more sampled and %llu no longer",
			     (unsigned long long)journal->begun,
			     (unsigned long long)journal->ended);
	journal->begun = journal->ended = 0;
}

/* ---- time ---- */

/* Return when its begin and its end are to be told; UINT64_MAX: not as things are. */
static uint64_t begin_due_ns(const struct sampled_container *container)
{
	return container->is_named && !container->is_begun
		       ? container->entered_ns + CONTAINER_MOMENT_NS
		       : UINT64_MAX;
}

static uint64_t end_due_ns(const struct sampled_container *container)
{
	return container->processes ? UINT64_MAX : container->left_ns + CONTAINER_GRACE_NS;
}

static void await_due(struct container_journal *journal, const struct sampled_container *container)
{
	uint64_t begin = begin_due_ns(container), end = end_due_ns(container);
	uint64_t due = begin < end ? begin : end;

	if (due != UINT64_MAX && (!journal->timer.active || due < journal->timer.at_ns))
		loop_timer_set(journal->loop, &journal->timer, due);
}

static void tell_due(void *arg)
{
	struct container_journal *journal = arg;
	_cleanup_free_ struct sampled_container **ended =
		calloc(map_count(journal->all) + 1, sizeof(struct sampled_container *));
	uint64_t now_ns = loop_now_ns();
	struct sampled_container **slot;
	size_t count = 0;
	const char *id;

	map_each (journal->all, pos, id, slot) {
		if (begin_due_ns(*slot) <= now_ns)
			tell_begin(journal, *slot);
		if (end_due_ns(*slot) > now_ns)
			await_due(journal, *slot);
		else if (ended)
			ended[count++] = *slot;
	}
	for (size_t i = 0; i < count; i++) {
		tell_end(journal, ended[i], now_ns);
		map_del(journal->all, ended[i]->id);
		free(ended[i]);
	}
}

/* ---- processes ---- */

int container_journal_init(struct container_journal *journal, struct loop *loop)
{
	*journal = (struct container_journal){
		.loop = loop,
		.timer = {.expired = tell_due, .arg = journal, .name = "containers"},
		.rate = {.every_ns = EVENT_EVERY_NS, .burst = EVENTS_BURST},
	};
	return map_new(&journal->all, CONTAINER_ID_BYTES, sizeof(struct sampled_container *),
		       CONTAINERS_MAX);
}

void container_journal_done(struct container_journal *journal)
{
	const char *id;
	struct sampled_container **slot;

	if (!journal->all)
		return;
	loop_timer_cancel(journal->loop, &journal->timer);
	map_each (journal->all, pos, id, slot)
		free(*slot);
	map_free(journal->all);
	journal->all = NULL;
}

/* Returns the container of that id, made anew if need be; NULL: no memory. */
static struct sampled_container *find_container(struct container_journal *journal,
						const struct container *container,
						const struct container_process *process)
{
	char id[CONTAINER_ID_BYTES] = {0};
	struct sampled_container **slot;

	memcpy(id, container->place.id, strnlen(container->place.id, sizeof(id) - 1));
	int r = map_put(journal->all, id, (void **)&slot);
	if (r == 1) {
		*slot = calloc(1, sizeof(**slot));
		if (!*slot) {
			map_del(journal->all, id);
			return NULL;
		}
		memcpy((*slot)->id, id, sizeof(id));
		(*slot)->first = name_process(process);
		(*slot)->entered_ns = loop_now_ns();
	}
	return r < 0 ? NULL : *slot;
}

struct sampled_container *container_journal_enter(struct container_journal *journal,
						  const struct container *container, bool is_named,
						  const struct container_process *process)
{
	struct sampled_container *found = find_container(journal, container, process);

	if (!found)
		return NULL;
	found->processes++;
	if (container->name[0])
		snprintf(found->name, sizeof(found->name), "%s ", container->name);
	found->is_named |= is_named;
	if (!found->is_begun)
		found->latest = name_process(process);
	if (!found->is_begun && found->latest.is_first) /* also as another program */
		found->first = found->latest;
	await_due(journal, found);
	return found;
}

void container_journal_leave(struct container_journal *journal, struct sampled_container *from,
			     const struct container_process *process)
{
	if (--from->processes)
		return;
	from->last = name_process(process);
	from->left_ns = loop_now_ns();
	await_due(journal, from);
}
