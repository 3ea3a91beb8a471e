// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the unwinder needs of targets: their mappings, and the tables of the mapped files. A process
 * that was there before it was chosen is sampled once it has all of that, or it is clear that it
 * won't.
 */
#include <errno.h>

#include "runtime/interpreter.h"
#include "runtime/jvm.h"
#include "runtime/made_code.h"
#include "runtime/made_dump.h"
#include "target/target_state.h"

#define ARMING_NS (2 * NS_PER_S) /* tables that take longer aren't waited for */

static void end_arming(struct targets *targets, struct target *target)
{
	if (!target->arming_ns)
		return;
	target->arming_ns = 0;
	target_correct_kernel(targets, target);
}

/* Returns whether the walker of its runtime is on its way. */
static bool awaits_walkers(const struct targets *targets, const struct target *target)
{
	for (unsigned i = 0; i < RUNTIMES; i++) {
		if (target->spans->runtimes[i].walk)
			return tracer_awaits_walkers(targets->tracer);
	}
	return false;
}

/* Returns whether it has all that the walks of its stacks need. */
static bool is_armed(const struct targets *targets, const struct target *target)
{
	return target->spans && !target->spans->pending && !target_is_asked(target) &&
	       !awaits_walkers(targets, target);
}

static int write_spans(struct targets *targets, const struct target *target, struct spans **ret,
		       struct runtime_place found[RUNTIMES])
{
	const struct interpreter *python = target_interpreter(target);
	const struct jvm *jvm = target_jvm(target);
	struct made_code *made = target_made_code(target);
	struct spans_of of = {
		.space = target->space,
		.pid = target->pid,
		.python = interpreter_is_supported(python) ? &python->layout.walk : NULL,
		.hotspot = jvm_is_supported(jvm) ? &jvm->layout.walk : NULL,
		.made = {{made_code_rows(made, targets->tables), NULL}},
	};
	struct arena *arena = tracer_arena(targets->tracer);

	of.made[0].table = made ? made->table : NULL;
	of.made[1].rows = made_dump_rows(target->dump, targets->tables, &of.made[1].table);
	int r = spans_write(ret, arena, targets->tables, &of, found);

	if (r == -ENOSPC) /* there will be room at the next look */
		tables_evict(targets->tables, SPANS_MAX * SPAN_WORDS);
	return r;
}

void target_publish(struct targets *targets, struct target *target)
{
	struct spans *written, *old;
	struct runtime_place found[RUNTIMES];

	if (!target_is_alive(target) || !tracer_arena(targets->tracer) ||
	    !address_space_read_ns(target->space) || !target_is_walked(targets, target))
		return;
	int r = write_spans(targets, target, &written, found);
	target->unpublished = r < 0;
	if (r < 0) {
		end_arming(targets, target);
		return;
	}
	old = written;
	if (!spans_are_equal(target->spans, written)) {
		old = target->spans;
		target->spans = written;
	}
	target_meet_runtimes(targets, target, found);
	target_correct_kernel(targets, target);
	spans_unref(old); /* after the kernel's side was told */
	if (is_armed(targets, target))
		end_arming(targets, target);
}

void target_give_up_arming(struct targets *targets, struct target *target)
{
	end_arming(targets, target);
}

/*
 * Publishes targets that wait for tables; all targets, if tables were taken away or have more to
 * tell.
 */
static void publish_again(void *arg, struct target *target)
{
	struct targets *targets = arg;

	if (targets->all_change || target->unpublished || (target->spans && target->spans->pending))
		target_publish(targets, target);
	if (target->arming_ns && loop_now_ns() > target->arming_ns + ARMING_NS)
		end_arming(targets, target);
}

void targets_publish(struct targets *targets)
{
	struct tables_stats stats;

	tables_stats(targets->tables, &stats);
	uint64_t changed = stats.evicted + stats.pythons_late + stats.made;
	targets->all_change = changed != targets->changed_before;
	targets->changed_before = changed;
	target_table_each(targets->table, publish_again, targets);
	targets->all_change = false;
}

static void see_walkers(void *arg, struct target *target)
{
	struct targets *targets = arg;

	if (is_armed(targets, target))
		end_arming(targets, target);
}

void targets_meet_walkers(struct targets *targets)
{
	target_table_each(targets->table, see_walkers, targets);
}

void targets_begin_arming(struct targets *targets)
{
	loop_timer_set(targets->loop, &targets->late, loop_now_ns() + ARMING_NS + NS_PER_MS);
}

static void drop_spans(void *arg, struct target *target)
{
	(void)arg;
	spans_unref(target->spans);
	target->spans = NULL;
	target->arming_ns = 0;
}

static void see_arming(void *arg, struct target *target)
{
	bool *arming = arg;

	*arming |= target->arming_ns != 0;
}

bool targets_are_arming(const struct targets *targets)
{
	bool arming = targets->where.running || targets->where.awaiting_count;

	target_table_each(targets->table, see_arming, &arming);
	return arming;
}

static int put_known(void *arg, const struct known_file_key *key, const struct known_file *file)
{
	const struct targets *targets = arg;

	return tracer_known_file_put(targets->tracer, key, file);
}

static void drop_known(void *arg, const struct known_file_key *key)
{
	const struct targets *targets = arg;

	tracer_known_file_drop(targets->tracer, key);
}

void targets_kernel_there(struct targets *targets)
{
	tables_tell_known(targets->tables, &(struct known_ops){put_known, drop_known, targets});
	tables_set_arena(targets->tables, tracer_arena(targets->tracer));
	targets_keep_common(targets);
}

void targets_kernel_gone(struct targets *targets)
{
	target_table_each_ever(targets->table, drop_spans, targets);
	targets_drop_common(targets);
	tables_set_arena(targets->tables, NULL);
}
