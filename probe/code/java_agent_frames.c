// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/java_agent_frames.h"

#include <errno.h>
#include <stdlib.h>

#include "code/code_java.h"
#include "runtime/jvm.h"
#include "java/files/jvmfile.h"

/* Code that had gone this long ago is forgotten; longer than a window lasts. */
#define KEPT_NS (120 * NS_PER_S)

/*
 * Steps of search for all VMs in a window, on the loop: a VM can make each address cost a thousand.
 */
#define STEPS_MAX (1U << 24)

bool agent_frames_is(const struct target *target)
{
	const struct jvm *jvm = target_jvm(target);

	/* A VM that has only begun may still become readable. */
	return target->jvmfile && jvm && jvm->runtime.error && jvm->runtime.error != -EAGAIN;
}

/* ---- reading on ---- */

struct reading_on {
	struct job job;
	struct jvmfile *file;
	uint64_t now_ns;
};

static void jvmfile_job_run(struct job *job)
{
	const struct reading_on *mine = (struct reading_on *)job;

	if (mine->now_ns > KEPT_NS)
		jvmfile_forget(mine->file, mine->now_ns - KEPT_NS);
	jvmfile_update(mine->file); /* what can't be read isn't found */
}

static void free_reading(struct job *job)
{
	struct reading_on *mine = (struct reading_on *)job;

	jvmfile_unref(mine->file);
	free(mine);
}

static void read_on(const struct target *target, struct worker *worker)
{
	struct reading_on *mine = calloc(1, sizeof(*mine));

	if (!mine)
		return;
	mine->job =
		(struct job){.run = jvmfile_job_run, .free = free_reading, .whose = target->whose};
	mine->file = jvmfile_ref(target->jvmfile);
	mine->now_ns = loop_now_ns();
	worker_submit(worker, &mine->job);
}

void agent_frames_open(const struct target *target, struct worker *worker)
{
	if (agent_frames_is(target))
		read_on(target, worker);
}

struct each_told {
	struct worker *worker;
	uint32_t count;
};

static void count_target(void *arg, struct target *target)
{
	struct each_told *each = arg;

	each->count += agent_frames_is(target);
}

static void visit_target(void *arg, struct target *target)
{
	const struct each_told *each = arg;

	if (!agent_frames_is(target))
		return;
	jvmfile_allow(target->jvmfile, STEPS_MAX / each->count);
	read_on(target, each->worker);
}

bool agent_frames_read_on(const struct target_table *table, struct worker *worker)
{
	struct each_told each = {.worker = worker};

	target_table_each_ever(table, count_target, &each);
	target_table_each_ever(table, visit_target, &each);
	return each.count;
}

/* ---- stacks ---- */

int agent_frames_pair(const struct target *target, const struct stack *stack, uint64_t word,
		      uint64_t until_ns, uint64_t pair[2])
{
	bool is_return = word >> FRAME_KIND_SHIFT == FRAME_NATIVE_RETURN;
	uint64_t address = word & FRAME_ADDRESS;
	struct jvmfile_found found;

	if (!target_is_alive(target) && target->ended_ns < until_ns)
		until_ns = target->ended_ns;
	if (until_ns < stack->time_ns)
		until_ns = stack->time_ns;
	int r = jvmfile_find(target->jvmfile, address - is_return, stack->time_ns, until_ns,
			     &found);
	if (r == 0)
		java_told_pair(pair, address, is_return, &found);
	return r;
}

static bool is_native(uint64_t word)
{
	return word >> FRAME_KIND_SHIFT == FRAME_NATIVE ||
	       word >> FRAME_KIND_SHIFT == FRAME_NATIVE_RETURN;
}

void agent_frames_want(struct code_cache *codes, const struct target_table *table,
		       const struct stack *stack, const uint64_t *words, uint64_t until_ns)
{
	struct target *target = target_table_find(table, stack->key.tgid, stack->target_id);
	uint64_t pair[2];
	struct code code;

	if (!target || target->state == TARGET_REJECTED || !agent_frames_is(target))
		return;
	for (size_t i = 0; i < stack->words_count; i++) {
		uint64_t address = words[i] & FRAME_ADDRESS;

		if (is_native(words[i]) &&
		    address_space_find(target->space, address, stack->time_ns, &code) == 0 &&
		    code.place == CODE_JIT &&
		    agent_frames_pair(target, stack, words[i], until_ns, pair) == 0)
			codes_want_java(codes, target, pair);
	}
}
