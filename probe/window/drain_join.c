// SPDX-License-Identifier: GPL-2.0-or-later
/* Joins a window's counts with its stacks, piece by piece, and has them named. */
#include "window/drain_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kind/kind.h"

/*
 * Times from a window's end, after which names wait no longer for other users' files to be read
 * (and drain_read.c). A request may have to wait for two windows of others and then for its own:
 * others' are shorter when somebody waits for their end.
 */
#define NAMES_NS       (1000 * NS_PER_MS)
#define NAMES_BRIEF_NS (500 * NS_PER_MS)
#define NAMES_MIN_NS                                                                               \
	(300 * NS_PER_MS) /* of this for files, however long VMs have taken to tell                \
			   */

#define AHEAD	    16
#define AHEAD_BYTES 384 /* of a stack: struct stack and some 35 words */

static void naming_free(struct job *job)
{
	struct naming_job *naming = (struct naming_job *)job;

	batch_free(naming->batch);
	free(naming);
}

void drain_free_naming(struct drain *drain)
{
	struct naming_job *naming = TAKE_PTR(drain->naming);

	if (naming)
		naming_free(&naming->job);
}

static bool has_read_enough(void *arg)
{
	const struct drain *drain = arg;
	uint64_t until_ns = drain->swapped_ns + (drain->waiting ? NAMES_BRIEF_NS : NAMES_NS);
	uint64_t least_ns = drain->reads_ns + NAMES_MIN_NS;

	return drain_has_waited(drain, until_ns > least_ns ? until_ns : least_ns);
}

static void naming_run(struct job *job)
{
	struct naming_job *naming = (struct naming_job *)job;

	const struct drain_setup *setup = &naming->drain->setup;

	batch_name(naming->batch, setup->symbolizer, setup->stack_cache, naming->until,
		   &naming->result);
}

static void lose_batch(struct drain *drain, const struct batch *batch)
{
	uint64_t events[PROBE_COUNT] = {0};

	batch_events(batch, events);
	for (uint32_t probe = 0; probe < PROBE_COUNT; probe++)
		drain_lose(drain, probe, LOST_READ_FAILED, events[probe]);
}

static void naming_done(struct job *job, bool finished)
{
	struct naming_job *naming = (struct naming_job *)job;
	struct drain *drain = naming->drain;

	if (!finished) /* no thread could be started */
		lose_batch(drain, naming->batch);
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		for (int i = 0; i < TRUNCATED_COUNT; i++)
			drain->stats.truncated[probe][i] += naming->result.truncated[probe][i];
	}
	drain->stats.refused += naming->result.refused;
	drain->stats.unrecorded += naming->result.unrecorded;
	drain->stats.inline_unknown += naming->result.inline_unknown;
	drain->stats.untold += naming->result.untold;
	drain_ended(drain);
}

/* Submits the naming of the batch, when the files are read. */
static void name_batch(void *arg)
{
	struct drain *drain = arg;

	worker_submit(drain->setup.bulk, &TAKE_PTR(drain->naming)->job);
}

static void count_walk(struct target *target, const struct stack *stack,
		       const struct batch_added *added, uint64_t events)
{
	target->truncated[added->truncated] += events;
	if (added->inline_unknown)
		target->inline_unknown += events;
	if (target_is_from_code(target, stack, (const uint64_t *)(stack + 1)))
		target->from_code += events;
}

/* Keeps what is needed of a stack in the next window: a thread that is still blocked there is
 * counted then as well, and so is what goes on of a process that has ended: its pages that are
 * still to be written. */
static void carry_waiting(struct drain *drain, const struct counted *counted,
			  const struct stack *stack, struct target *target)
{
	target->awaited_ns = drain->swapped_ns;
	if (window_carry(drain->window, stack, drain->ended_window + 1) < 0)
		drain_lose(drain, counted->key.stack.probe, LOST_STACK_MISSING,
			   counted->count.waiting);
}

/* Joins a count with its stack. `wanting`: by probe. */
static void join_one(struct drain *drain, const struct counted *counted, const struct stack *stack,
		     const uint32_t *wanting)
{
	const struct target_table *table = targets_table(drain->setup.targets);
	const struct stack_key *key = &counted->key.stack;
	bool counts =
		key->probe >= PROBE_COUNT || kind_counts_events(key->probe, counted->key.part);
	uint64_t events = counts ? counted->count.events : 0;
	uint64_t samples = counts ? counted->count.samples : 0;
	struct target *target =
		stack ? target_table_find(table, key->tgid, stack->target_id) : NULL;
	struct batch_added added = {0};

	if (key->probe < PROBE_COUNT && wanting[key->probe] &&
	    !targets_of_thread(drain->setup.targets, wanting[key->probe], (pid_t)counted->key.tid))
		return; /* other threads were asked for */
	if (key->probe >= PROBE_COUNT || !stack) {
		drain_lose(drain, key->probe, LOST_STACK_MISSING, events);
		return;
	}
	if (!target && target_table_was_rejected(table, key->tgid, stack->target_id)) {
		drain->stats.unwanted[key->probe] += samples;
		return;
	}
	if (!target) {
		drain_lose(drain, key->probe, LOST_PROCESS_UNKNOWN, events);
		return;
	}
	uint32_t bits = targets_subscribers(drain->setup.targets, target, key->probe) &
			targets_of_thread(drain->setup.targets, wanting[key->probe],
					  (pid_t)counted->key.tid);
	if (counted->count.waiting)
		carry_waiting(drain, counted, stack, target);
	struct counted weighed = *counted;
	weighed.count.weight = kind_weight(key->probe, counted->key.part, counted->count.weight);
	if (!weighed.count.weight && !(events && kind_get(key->probe)->counts_empty))
		return;
	if (!bits && target->match.unnamed) {
		drain_lose(drain, key->probe, LOST_CONTAINER_UNKNOWN, events);
		return;
	}
	/* What it holds may be shown later, once it is decided on. */
	if (!bits && (target->match.unread | target->match.pending) & 1u << key->probe)
		drain_lose(drain, key->probe, LOST_PROCESS_UNKNOWN, events);
	else if (!bits)
		drain->stats.unwanted[key->probe] += samples;
	bits &= ~drain->setup.told_by_others(drain->setup.arg, target, key->probe);
	/* A subscriber that began in the middle of the window may ask what is held of it. */
	if (!bits && !kind_get(key->probe)->holds)
		return;
	const uint64_t *words = (const uint64_t *)(stack + 1);
	const struct stack *shown = stack;
	struct stack whole;

	if (kind_get(key->probe)->at_switch &&
	    scheduler_frames_complete(drain->scheduler, stack, words, &whole, &words))
		shown = &whole;
	if (batch_add(drain->naming->batch, shown, words, target, bits, &weighed,
		      drain->setup.files, &added) < 0)
		drain_lose(drain, key->probe, LOST_READ_FAILED, events);
	else if (bits)
		count_walk(target, stack, &added, events);
}

/* Finds a stack, and has its first words on their way from memory while others are looked at:
 * counts have no order, so each stack lies in cold memory. */
static const struct stack *find_ahead(const struct drain *drain, const struct stack_key *key)
{
	const struct stack *stack = window_find(drain->window, drain->ended_window, key);

	for (size_t at = 64; stack && at < AHEAD_BYTES; at += 64)
		__builtin_prefetch((const char *)stack + at);
	return stack;
}

/* Joins some counts, until their stacks have so many words. */
static bool join_some(void *arg)
{
	struct drain *drain = arg;
	uint32_t wanting[PROBE_COUNT];
	size_t count, words = 0;
	const struct counted *counted = window_counts_list(drain->counts, &count);

	/* A subscriber may have gone since the last piece, and its number be another one's. */
	for (int probe = 0; probe < PROBE_COUNT; probe++)
		wanting[probe] = drain->setup.wanting(drain->setup.arg, drain->ended_window, probe);
	while (drain->at < count && words < DRAIN_PIECE_WORDS) {
		const struct stack *stacks[AHEAD];
		size_t some = count - drain->at < AHEAD ? count - drain->at : AHEAD;

		for (size_t i = 0; i < some; i++)
			stacks[i] = find_ahead(drain, &counted[drain->at + i].key.stack);
		for (size_t i = 0; i < some; i++) {
			join_one(drain, &counted[drain->at++], stacks[i], wanting);
			words += 4 + (stacks[i] ? stacks[i]->words_count : 0);
		}
	}
	return drain->at < count;
}

static void all_joined(void *arg)
{
	struct drain *drain = arg;

	window_counts_clear(drain->counts);
	drain->setup.add_sinks(drain->setup.arg, drain->naming->batch, drain->ended_window);
	drain->reads_ns = loop_now_ns();
	symbol_files_read(drain->setup.files, has_read_enough, name_batch, drain);
}

/* Counts what couldn't be read, or found no memory. */
static void lose_uncounted(struct drain *drain)
{
	uint64_t events[PROBE_COUNT] = {0};

	window_counts_lost(drain->counts, events);
	for (uint32_t probe = 0; probe < PROBE_COUNT; probe++)
		drain_lose(drain, probe, LOST_READ_FAILED, events[probe]);
	if (drain->counts_error == 0 || drain->dropped)
		return;
	log_error("a window's counts can't be read and are lost: %s",
		  strerror(-drain->counts_error));
	drain_lose(drain, LOSERS_ALL, LOST_READ_FAILED,
		   window_count(drain->window, drain->ended_window));
}

static void lose_counted(struct drain *drain)
{
	size_t count;
	const struct counted *counted = window_counts_list(drain->counts, &count);

	log_error("no memory to read a window: its samples are lost");
	for (size_t i = 0; i < count; i++)
		drain_lose(drain, counted[i].key.stack.probe, LOST_READ_FAILED,
			   counted[i].count.events);
	window_counts_clear(drain->counts);
}

void drain_join(struct drain *drain)
{
	struct naming_job *naming = calloc(1, sizeof(*naming));
	size_t count;

	lose_uncounted(drain);
	if (!naming || batch_new(&naming->batch) < 0) {
		lose_counted(drain);
		free(naming);
		drain_ended(drain);
		return;
	}
	naming->job = (struct job){
		.run = naming_run, .done = naming_done, .free = naming_free, .unlimited = true};
	naming->drain = drain;
	naming->until = drain->time;
	batch_set_end(naming->batch, drain->swapped_ns);
	symbol_files_begin(drain->setup.files);
	drain->naming = naming;
	drain->stats.windows++;
	window_counts_list(drain->counts, &count);
	drain->stats.window_stacks = count;
	drain->at = 0;
	pieces_begin(&drain->pieces, join_some, all_joined);
}
