// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/target_log.h"

#include <stdio.h>
#include <string.h>

#include "journal/event_journal.h"
#include "base/log.h"
#include "loop/loop.h"
#include "kind/kind.h"
#include "select/containers.h"
#include "target/target.h"

/* Limits: a host where processes come and go all the time has some thousand lines a day. */
#define LINES	      32
#define LINE_EVERY_NS (10 * NS_PER_S)

int target_log_init(struct target_log *log, struct loop *loop)
{
	*log = (struct target_log){.rate = {.every_ns = LINE_EVERY_NS, .burst = LINES}};
	return container_journal_init(&log->containers, loop);
}

void target_log_done(struct target_log *log)
{
	container_journal_done(&log->containers);
}

/* The journal says whose container it is as well. */
static void note_change(enum journal_kind kind, const struct target *target, const char *what,
			const char *of)
{
	char label[CONTAINER_NAME_MAX] = "";

	journal_note(kind, "%d (%.*s)%s%s %s %s", (int)target->pid, COMM_BYTES, target->comm,
		     target->container ? " of " : "",
		     target->container ? container_label(target->container, label, sizeof(label))
				       : "",
		     what, of);
}

static void log_change(struct target_log *log, const struct target *target, uint32_t probes,
		       const char *what)
{
	enum log_level level = rate_take(&log->rate, loop_now_ns()) ? LOG_INFO : LOG_DEBUG;
	char names[128] = "";

	for (int i = 0; i < WANTED_COUNT; i++) {
		const char *name = i < PROBE_COUNT ? kind_get(i)->name : "sched";

		if (!(probes & 1u << i))
			continue;
		strncat(names, *names ? "," : "", sizeof(names) - strlen(names) - 1);
		strncat(names, name, sizeof(names) - strlen(names) - 1);
	}
	log_write(level, "target %d (%.*s): %s %s", (int)target->pid, COMM_BYTES, target->comm,
		  what, names);
	if (level == LOG_INFO) {
		note_change(JOURNAL_TARGET, target, what, names);
		return;
	}
	if (target->probes_said & probes)
		log->removed++;
	else
		log->added++;
}

void target_log_probes(struct target_log *log, struct target *target, uint32_t probes)
{
	uint32_t known = probes & ((1u << WANTED_COUNT) - 1);
	uint32_t added = known & ~target->probes_said, removed = target->probes_said & ~known;

	if (added)
		log_change(log, target, added, "added for");
	if (removed)
		log_change(log, target, removed, "removed from");
	target->probes_said = known;
	target_log_container(log, target);
}

/* The stacks from the exec on have the new name, so the change of names is one line, not an end and
 * a begin. */
void target_log_exec(struct target_log *log, struct target *before, struct target *next)
{
	enum log_level level;
	char program[COMM_BYTES + 3];

	if (!before->probes_said)
		return;
	next->probes_said = before->probes_said;
	before->probes_said = 0;
	level = rate_take(&log->rate, loop_now_ns()) ? LOG_INFO : LOG_DEBUG;
	snprintf(program, sizeof(program), "(%.*s)", COMM_BYTES, next->comm);
	log_write(level, "target %d (%.*s): executes %s", (int)before->pid, COMM_BYTES,
		  before->comm, program);
	if (level == LOG_INFO)
		note_change(JOURNAL_EXEC, before, "executes", program);
	else
		log->execs++;
}

/* It enters before it leaves: a container that it stays in has no end between. */
void target_log_container(struct target_log *log, struct target *target)
{
	const struct container *container = target->probes_said ? target->container : NULL;
	struct sampled_container *before = target->sampled_in;
	const struct container_process process = {target->pid, target->ns_pid, target->start_ticks,
						  target->comm};

	target->sampled_in = NULL;
	if (container && container->place.id[0])
		target->sampled_in = container_journal_enter(
			&log->containers, container, group_is_named(target->group), &process);
	if (before)
		container_journal_leave(&log->containers, before, &process);
}

void target_log_rest(struct target_log *log)
{
	if (log->added || log->removed)
		log_info("targets: %llu more were added and %llu removed since the last line",
			 (unsigned long long)log->added, (unsigned long long)log->removed);
	if (log->added || log->removed)
		journal_note(JOURNAL_TARGET, "%llu more added and %llu removed",
			     (unsigned long long)log->added, (unsigned long long)log->removed);
	if (log->execs) {
		log_info("targets: %llu more execs since the last line",
			 (unsigned long long)log->execs);
		journal_note(JOURNAL_EXEC, "%llu more", (unsigned long long)log->execs);
	}
	log->added = log->removed = log->execs = 0;
	container_journal_rest(&log->containers);
}
