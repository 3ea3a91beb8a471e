// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/times_read.h"

#include <errno.h>

#include "loop/loop.h"
#include "hooks/tracer_times.h"

#define EVERY_NS     NS_PER_S
#define UNDECIDED_NS (5 * NS_PER_S)

struct times_reader {
	struct times_table *table;
	struct tracer *tracer;
	const struct targets *targets;
};

/* Skips processes that aren't decided on yet: they come with the next reading. */
static void on_thread(void *arg, const struct thread_times *thread)
{
	const struct times_reader *reader = arg;
	const struct target *target =
		target_table_find(targets_table(reader->targets), thread->tgid, thread->id);

	if (!target || target_is_undecided(target) || !targets_want_times(reader->targets, target))
		return;
	times_add(reader->table, thread);
	times_see_container(reader->table, thread->tgid, thread->start_ns, target->container);
}

/* A process forgotten by now was wanted if it was shown before. */
static bool was_wanted(const struct times_reader *reader, uint32_t pid, const struct gone *gone)
{
	const struct target *target =
		target_table_find(targets_table(reader->targets), pid, gone->id);

	if (times_knows(reader->table, pid, gone->start_ns))
		return true;
	return target && !target_is_undecided(target) &&
	       targets_want_times(reader->targets, target);
}

static void see_container(const struct times_reader *reader, uint32_t pid, const struct gone *gone)
{
	const struct target *target =
		target_table_find(targets_table(reader->targets), pid, gone->id);

	if (target)
		times_see_container(reader->table, pid, gone->start_ns, target->container);
}

static void on_gone(void *arg, const struct gone_key *key, const struct gone *gone)
{
	const struct times_reader *reader = arg;
	bool forget;

	if (!gone->id || was_wanted(reader, (uint32_t)key->tgid, gone)) {
		forget = times_add_gone(reader->table, key, gone);
		see_container(reader, (uint32_t)key->tgid, gone);
	} else { /* it may be decided on later, or its event be on its way */
		forget = gone->reaped_ns && gone->reaped_ns + UNDECIDED_NS < loop_now_ns();
	}
	if (forget)
		tracer_times_forget(reader->tracer, key);
}

int times_read(struct times_table *table, struct tracer *tracer, const struct targets *targets)
{
	struct times_reader reader = {table, tracer, targets};
	struct times_reading reading = {on_thread, on_gone, &reader};
	uint64_t now_ns = loop_now_ns();
	struct times_counted counted;

	tracer_read_life(tracer);
	if (now_ns < times_read_ns(table) + EVERY_NS)
		return 0;
	tracer_times_counted(tracer, &counted);
	times_begin(table, now_ns, &counted);
	int r = tracer_times_read(tracer, &reading);
	if (r < 0 && r != -ENOENT)
		return r;
	times_end(table);
	return 0;
}
