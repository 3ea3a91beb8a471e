// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "flow/flow_state.h"
#include "flow/maker.h"

#define FUNCTION_ALIGNMENT 16
#define SHORT_BYTES	   4096 /* of a function */
#define CALLEE_BYTES	   4096
#define CALLEES_DEEP	   3
#define PLANTED_BYTES	   64 /* from an address on that a library planted */

static const struct rule root = {.kind = RULE_END};

/* ---- the runs ---- */

static int read_linked(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct maker *maker = arg;
	const struct elf_image *image = maker->image;

	for (size_t i = 0; i < image->segments_count + image->data_count; i++) {
		const struct elf_segment *segment =
			i < image->segments_count ? &image->segments[i]
						  : &image->data[i - image->segments_count];
		uint64_t at = address - segment->address;

		if (at < segment->file_bytes && bytes <= segment->file_bytes - at)
			return elf_pread(maker->fd, to, bytes, segment->file_offset + at);
	}
	return -EIO;
}

static int add_run(struct maker *maker, uint64_t from, uint64_t to, const struct rule *rule)
{
	struct made_rows *made = maker->made;

	if (made->count == maker->room) {
		size_t room = maker->room ? maker->room * 2 : 256;

		if (room > MADE_RUNS_MAX && made->count < MADE_RUNS_MAX)
			room = MADE_RUNS_MAX;
		struct made_run *runs = room <= MADE_RUNS_MAX
						? reallocarray(made->runs, room, sizeof(*runs))
						: NULL;

		if (!runs)
			return room <= MADE_RUNS_MAX ? -ENOMEM : -EFBIG;
		made->runs = runs;
		maker->room = room;
	}
	made->runs[made->count++] = (struct made_run){from, to, *rule};
	return 0;
}

static int keep_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct maker *maker = arg;
	struct made_rows *made = maker->made;

	if (made->count > maker->first && !made->runs[made->count - 1].to)
		made->runs[made->count - 1].to = address;
	return rule->kind == RULE_NONE ? 0 : add_run(maker, address, 0, rule);
}

/* A program's first function has no caller, whatever it does with the stack. */
static int keep_root(void *arg, uint64_t address, unsigned bytes, const struct flow_state *state)
{
	(void)state;
	return add_run(arg, address, address + bytes, &root);
}

static bool maker_is_late(void *arg)
{
	const struct maker *maker = arg;

	return clock_ns(CLOCK_THREAD_CPUTIME_ID) > maker->end_ns;
}

static bool is_in_run(const struct made_run *run, uint64_t address)
{
	return address - run->from < run->to - run->from;
}

/* Returns whether the function that begins with that run has one for the address. */
static bool has_run(const struct made_rows *made, size_t first, uint64_t address)
{
	for (size_t i = first; i < made->count; i++) {
		if (is_in_run(&made->runs[i], address))
			return true;
	}
	return false;
}

bool maker_has(const struct maker *maker, uint64_t address)
{
	const struct made_run *runs = maker->made->runs;
	size_t behind = PARTITION_POINT(at, maker->sorted, runs[at].from <= address);

	return (behind && is_in_run(&runs[behind - 1], address)) ||
	       has_run(maker->made, maker->sorted, address);
}

/* ---- calls that never come back ---- */

static bool call_ends(void *arg, uint64_t target);

/* Returns whether no way leads from that function to a return. */
static bool never_returns(struct maker *maker, uint64_t target)
{
	_cleanup_free_ uint8_t *code = malloc(CALLEE_BYTES);
	struct flow_function function = {
		.code = code,
		.bytes = CALLEE_BYTES, /* who goes further may return */
		.address = target,
		.read = read_linked,
		.is_late = maker_is_late,
		.ends = maker->depth < CALLEES_DEEP ? call_ends : NULL,
		.arg = maker,
	};
	struct flow_result result;

	if (!code || read_linked(maker, target, code, CALLEE_BYTES) < 0)
		return false;
	maker->depth++;
	int r = flow_visit_all(&function, NULL, NULL, &result);
	maker->depth--;
	return r == 0 && !result.returns;
}

static bool call_ends(void *arg, uint64_t target)
{
	struct maker *maker = arg;
	struct callee *known = &maker->callees[(target ^ target >> 12) % CALLEES];

	/* Who was asked deeper in calls of calls knew less. */
	if (known->target == target && (known->ends || known->depth <= maker->depth))
		return known->ends;
	bool says = never_returns(maker, target);

	*known = (struct callee){target, says, maker->depth};
	return says;
}

/* ---- one function ---- */

static void note_call(void *arg, uint64_t target)
{
	struct maker *maker = arg;

	if (maker->called_count < CALLED_MAX)
		maker->called[maker->called_count++] = target;
}

static void want_called(struct maker *maker)
{
	for (size_t i = 0; i < maker->called_count && !maker->is_ahead; i++)
		maker_want(maker, maker->called[i]);
}

/* Returns whether what was followed from a begin is a function. A jump may lead into the middle of
 * one, as the address of a label does: then a return tells, or that the address is a function's,
 * and nothing leads away. */
static bool is_function(enum begin_kind kind, uint64_t begin, const struct flow_result *result)
{
	bool is_whole = kind == BEGIN_TAKEN && begin % FUNCTION_ALIGNMENT == 0 && !result->leaves;

	return !result->is_odd && (kind < BEGIN_TAKEN || result->returns_as_called || is_whole);
}

/* Returns whether it is a function although no stack had it: a call's opcode may be another
 * instruction's bytes. */
static bool is_sure(enum begin_kind kind, const struct flow_result *result)
{
	return kind == BEGIN_NAMED || result->returns_as_called;
}

/* Makes the rows of the function that begins there, as far as its first `bytes` bytes. */
static int follow_bytes(struct maker *maker, const struct begins *one, uint64_t begin,
			uint64_t bytes, struct flow_result *result)
{
	uint64_t most = one->end - begin < FLOW_BYTES_MAX ? one->end - begin : FLOW_BYTES_MAX;
	struct flow_function function = {
		.code = maker->code,
		.bytes = bytes < most ? bytes : most,
		.beyond = bytes < most ? most - bytes : 0,
		.address = begin,
		.read = read_linked,
		.ends = maker->asks_ends ? call_ends : NULL,
		.is_late = maker_is_late,
		.calls = note_call,
		.arg = maker,
	};

	maker->called_count = 0;
	maker->first = maker->made->count;
	if (read_linked(maker, begin, maker->code, function.bytes) < 0)
		return -EIO;
	return begin == maker->image->entry ? flow_visit_all(&function, keep_root, maker, result)
					    : flow_rows(&function, keep_row, maker, result);
}

/* Most functions are short. */
static int follow_whole(struct maker *maker, const struct begins *one, uint64_t begin,
			struct flow_result *result)
{
	size_t count = maker->made->count;
	uint64_t bytes = SHORT_BYTES;
	int r = follow_bytes(maker, one, begin, bytes, result);

	while (r == 0 && result->is_longer) {
		maker->made->count = count;
		bytes *= 8;
		r = follow_bytes(maker, one, begin, bytes, result);
	}
	return r;
}

/* Makes the rows of the function that begins there, if it is one and holds the address. */
static int try_begin(struct maker *maker, const struct begins *one, enum begin_kind kind,
		     uint64_t begin)
{
	struct made_rows *made = maker->made;
	size_t count = made->count;
	struct flow_result result;

	if (begin > one->wanted || one->wanted - begin >= FLOW_BYTES_MAX ||
	    (maker->is_ahead && begin != one->wanted))
		return 0;
	maker->is_root = false;
	maker->asks_ends = maker->is_ahead;
	int r = follow_whole(maker, one, begin, &result);
	if (r == 0 && !maker->asks_ends && !is_function(kind, begin, &result)) {
		made->count = count; /* it may go on behind a call that never comes back */
		maker->asks_ends = true;
		r = follow_whole(maker, one, begin, &result);
	}
	if (r == 0 && begin == maker->image->entry && !result.returns_as_called) {
		made->count = count;
		maker->is_root = true;
		r = follow_whole(maker, one, begin, &result);
	}
	if (r == 0 && (maker->is_root || is_function(kind, begin, &result)) &&
	    (!maker->is_ahead || is_sure(kind, &result)) &&
	    has_run(made, maker->first, one->wanted)) {
		made->functions++;
		if (maker->begun_count < MADE_WANTED_MAX)
			maker->begun[maker->begun_count++] = begin;
		want_called(maker);
		return 1;
	}
	made->count = count;
	return r == -ENOMEM ? r : 0;
}

/* ---- the bottom of a coroutine ---- */

/*
 * Libraries of coroutines put an address onto a new stack that the first function would return to.
 * boost.context's make_fcontext has it behind the jump to that function (jmp reg), and from there
 * it calls exit(): each way ends in a trap. Whoever is called "from there" has no caller.
 */
static int try_planted(struct maker *maker, uint64_t wanted)
{
	uint64_t address = wanted + 1;
	uint8_t before[FLOW_JUMP_BYTES];
	struct flow_function function = {
		.code = maker->code,
		.bytes = PLANTED_BYTES,
		.address = address,
		.read = read_linked,
		.is_late = maker_is_late,
		.ends = call_ends,
		.arg = maker,
	};
	struct made_rows *made = maker->made;
	struct flow_result result;
	size_t count = made->count;

	if (read_linked(maker, address - sizeof(before), before, sizeof(before)) < 0 ||
	    read_linked(maker, address, maker->code, PLANTED_BYTES) < 0 ||
	    !flow_ends_in_jump(before))
		return 0;
	int r = add_run(maker, wanted, address, &root);
	if (r == 0)
		r = flow_visit_all(&function, keep_root, maker, &result);
	if (r == 0 && result.stops && !result.returns && !result.breaks && !result.asks_kernel) {
		made->functions++;
		return 1;
	}
	made->count = count;
	return r == -ENOMEM ? r : 0;
}

int maker_make(struct maker *maker, const struct begins *one, bool asked)
{
	int r = 0;

	if (maker_has(maker, one->wanted))
		return 0; /* by another address of the function */
	for (enum begin_kind kind = 0; kind < BEGIN_KINDS; kind++) {
		for (unsigned i = 0; r == 0 && i < one->of[kind].count && !maker_is_late(maker);
		     i++)
			r = try_begin(maker, one, kind, one->of[kind].at[i]);
	}
	if (r == 0 && asked)
		r = try_planted(maker, one->wanted);
	maker->made->refused += asked && r == 0;
	return r < 0 ? r : 0;
}
