/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kind/loss_names.h"

#define STACK_BYTES_MAX (8 << 20) /* farther from the stack pointer is no stack */
#define RED_ZONE_BYTES	128	  /* below the stack pointer, of a function's own */
#define UNKNOWN_BYTE	0xfd
#define CALL_BYTE	0xe8
#define EXAMPLE_FRAMES	4 /* shown before the place where walks part, and behind it */

struct walk {
	uint64_t frames[COMPARE_FRAMES_MAX];
	size_t count;
	const char *end; /* why it isn't whole; NULL: it is */
	uint64_t missed; /* what it could not read first; 0: it could */
};

static const char *const outcome_names[OUTCOME_COUNT] = {
	[OUTCOME_WHOLE] = "same, whole",
	[OUTCOME_SAME] = "same, not whole",
	[OUTCOME_OURS_LONGER] = "elfutils' ends early",
	[OUTCOME_REFERENCE_LONGER] = "ours ends early",
	[OUTCOME_OURS_WRONG_END] = "ours ends early, unmarked",
	[OUTCOME_OURS_PAST_END] = "ours goes on past the end",
	[OUTCOME_DIFFERENT] = "different",
	[OUTCOME_CUT] = "cut by the recording",
	[OUTCOME_NO_STACK] = "no stack recorded",
	[OUTCOME_NO_REFERENCE] = "unknown to elfutils",
};

const char *outcome_name(enum outcome outcome)
{
	return outcome_names[outcome];
}

static bool is_compared(enum outcome outcome)
{
	return outcome < OUTCOME_CUT;
}

static size_t common_frames(const struct walk *ours, const struct walk *theirs)
{
	size_t i = 0;

	while (i < ours->count && i < theirs->count && ours->frames[i] == theirs->frames[i])
		i++;
	return i;
}

/* What lies in no code is no frame. libdw goes on from there by the frame pointer, whatever it is.
 */
static void end_outside_code(const struct layout *layout, struct walk *walk)
{
	for (size_t i = 1; i < walk->count; i++)
		if (layout_find(layout, walk->frames[i] - 1) < 0) {
			walk->count = i;
			walk->end = "leads out of code";
		}
}

/*
 * The stack goes on behind what perf recorded of it; or a register that is back from the stack,
 * popped in an epilogue, is said to be saved below the stack pointer: CFI has it so, and perf
 * records nothing there.
 */
static bool is_cut(const struct perf_sample *sample, const struct walk *theirs)
{
	uint64_t start = sample->regs[DWARF_SP], end = start + sample->stack_bytes;

	if (!theirs->end || !theirs->missed)
		return false;
	return start - theirs->missed <= RED_ZONE_BYTES ||
	       theirs->missed - (end - 7) < STACK_BYTES_MAX;
}

static enum outcome judge(const struct perf_sample *sample, const struct walk *ours,
			  const struct walk *theirs)
{
	size_t same = common_frames(ours, theirs);

	if (same < ours->count && same < theirs->count)
		return OUTCOME_DIFFERENT;
	if (is_cut(sample, theirs) && (ours->end || ours->count > theirs->count))
		return OUTCOME_CUT;
	if (same == ours->count && same == theirs->count)
		return ours->end || theirs->end ? OUTCOME_SAME : OUTCOME_WHOLE;
	if (same == theirs->count)
		return theirs->end ? OUTCOME_OURS_LONGER : OUTCOME_OURS_PAST_END;
	return ours->end ? OUTCOME_REFERENCE_LONGER : OUTCOME_OURS_WRONG_END;
}

static void print_address(FILE *out, struct layout *layout, uint64_t address, bool exact)
{
	ssize_t number = layout_find(layout, address);
	uint64_t distance;
	const char *name;

	if (number < 0) {
		fprintf(out, "%#lx (not mapped)", address);
		return;
	}
	name = reference_name(layout->reference, exact ? address : address - 1, &distance);
	fprintf(out, "%s+%#lx", mapped_file_name(layout->files[number]),
		address - layout_bias(layout, (size_t)number));
	if (*name)
		fprintf(out, " (%s+%#lx)", name, distance + !exact);
}

static void print_walk(FILE *out, const char *whose, struct layout *layout, const struct walk *walk,
		       size_t same)
{
	size_t i = same > EXAMPLE_FRAMES ? same - EXAMPLE_FRAMES : 0;
	size_t end = same + EXAMPLE_FRAMES < walk->count ? same + EXAMPLE_FRAMES : walk->count;

	fprintf(out, "      %s: %zu frames, %s", whose, walk->count,
		walk->end ? walk->end : "whole");
	if (walk->end && walk->missed)
		fprintf(out, ", %#lx could not be read", walk->missed);
	fputc('\n', out);
	for (; i < end; i++) {
		fprintf(out, "        %c%3zu ", i < same ? '=' : ' ', i);
		print_address(out, layout, walk->frames[i], i == 0);
		fputc('\n', out);
	}
}

static char *example_of(struct layout *layout, const struct perf_sample *sample,
			const struct walk *ours, const struct walk *theirs)
{
	size_t same = common_frames(ours, theirs), bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	fprintf(out, "      process %u, pc %#lx sp %#lx bp %#lx, %lu bytes of stack%s\n",
		sample->pid, sample->regs[DWARF_PC], sample->regs[DWARF_SP], sample->regs[6],
		sample->stack_bytes, sample->in_kernel ? ", in the kernel" : "");
	print_walk(out, "elfutils", layout, theirs, same);
	print_walk(out, "ours", layout, ours, same);
	fclose(out);
	return text;
}

/* A kind: what became of it, in which function the walks part, and what both say of the end. */
static char *kind_name(struct layout *layout, enum outcome outcome, const struct walk *ours,
		       const struct walk *theirs)
{
	size_t same = common_frames(ours, theirs), bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &bytes);
	uint64_t last, distance;
	ssize_t number;

	if (!out)
		return NULL;
	last = same ? ours->frames[same - 1] - (same > 1) : 0;
	number = layout_find(layout, last);
	fprintf(out, "%s after %s", outcome_name(outcome),
		number < 0 ? "unmapped" : mapped_file_name(layout->files[number]));
	if (number >= 0)
		fprintf(out, ":%s", reference_name(layout->reference, last, &distance));
	fprintf(out, "%s; elfutils: %s; ours: %s", same == 1 ? " (leaf)" : "",
		theirs->end ? theirs->end : "whole", ours->end ? ours->end : "whole");
	fclose(out);
	return text;
}

static void count_kind(struct comparison *comparison, struct layout *layout, enum outcome outcome,
		       const struct perf_sample *sample, const struct walk *ours,
		       const struct walk *theirs)
{
	_cleanup_free_ char *name = kind_name(layout, outcome, ours, theirs);
	struct kind *grown;

	for (size_t i = 0; name && i < comparison->kinds_count; i++)
		if (strcmp(comparison->kinds[i].name, name) == 0) {
			comparison->kinds[i].count++;
			return;
		}
	grown = reallocarray(comparison->kinds, comparison->kinds_count + 1, sizeof(*grown));
	if (!grown || !name) {
		comparison->no_memory = true;
		if (grown)
			comparison->kinds = grown;
		return;
	}
	comparison->kinds = grown;
	grown[comparison->kinds_count++] = (struct kind){
		.name = TAKE_PTR(name),
		.example = example_of(layout, sample, ours, theirs),
		.count = 1,
	};
}

/*
 * The live unwinder reads a piece of the stack at a time. It may begin below the stack pointer or
 * end behind what was recorded: what isn't known of it is a number that is no address, and neither
 * an end nor a frame can be made of that.
 */
static int read_pieces(void *arg, void *to, size_t bytes, uint64_t address)
{
	struct moment *moment = arg;
	ssize_t number = layout_find(moment->layout, address);
	uint64_t missed = moment->missed;
	uint8_t *byte = to;
	bool known = false;

	if (moment_read(arg, to, bytes, address) == 0)
		return 0;
	if (number >= 0 && moment->layout->files[number]->fd < 0) {
		memset(to, CALL_BYTE, bytes);
		known = true;
	}
	for (size_t i = 0; i < bytes && number < 0; i++) {
		uint64_t below = moment->sample->regs[DWARF_SP] - (address + i);

		if (moment_read(arg, &byte[i], 1, address + i) == 0)
			known = true;
		else
			byte[i] = UNKNOWN_BYTE;
		known = known || below <= RED_ZONE_BYTES;
	}
	moment->missed = known ? missed : address;
	return known ? 0 : -EFAULT;
}

static void walk_ours(struct walk *walk, struct moment *moment)
{
	struct replay replay = {
		.maps = moment->layout->maps,
		.maps_count = moment->layout->count,
		.read = read_pieces,
		.arg = moment,
	};
	unsigned why;

	memcpy(replay.regs, moment->sample->regs, sizeof(replay.regs));
	moment->missed = 0;
	walk->count = replay_walk(&replay, walk->frames, COMPARE_FRAMES_MAX, &why);
	walk->end = why ? truncation_name((enum truncation)why) : NULL;
	walk->missed = moment->missed;
}

static void walk_theirs(struct walk *walk, struct moment *moment)
{
	moment->missed = 0;
	walk->count = reference_walk(moment->layout->reference, moment, walk->frames,
				     COMPARE_FRAMES_MAX, &walk->end);
	walk->missed = moment->missed;
}

/* Ours went over to a stack that isn't the sample's: Go's programs have one for the runtime. */
static bool is_other_stack(const struct perf_sample *sample, const struct walk *ours)
{
	uint64_t start = sample->regs[DWARF_SP];

	return ours->end && strcmp(ours->end, truncation_name(TRUNCATED_MEMORY)) == 0 &&
	       (ours->missed < start - RED_ZONE_BYTES ||
		ours->missed >= start + sample->stack_bytes);
}

void compare_sample(struct comparison *comparison, struct layout *layout,
		    const struct perf_sample *sample)
{
	struct moment moment = {.sample = sample, .layout = layout};
	struct walk ours, theirs;
	enum outcome outcome;

	if (!sample->stack_bytes) {
		comparison->outcomes[OUTCOME_NO_STACK]++;
		return;
	}
	if (!layout->reference)
		layout->reference = reference_new(layout);
	if (!layout->reference) {
		comparison->outcomes[OUTCOME_NO_REFERENCE]++;
		return;
	}
	walk_theirs(&theirs, &moment);
	walk_ours(&ours, &moment);
	end_outside_code(layout, &theirs);
	end_outside_code(layout, &ours);
	outcome = judge(sample, &ours, &theirs);
	comparison->outcomes[outcome]++;
	if (is_compared(outcome)) {
		comparison->compared++;
		comparison->in_kernel += sample->in_kernel;
		comparison->ours_whole += !ours.end;
		comparison->reference_whole += !theirs.end;
		comparison->other_stack += is_other_stack(sample, &ours);
		comparison->frames += theirs.count;
	}
	if (outcome != OUTCOME_WHOLE)
		count_kind(comparison, layout, outcome, sample, &ours, &theirs);
}

static int compare_kinds(const void *a, const void *b)
{
	const struct kind *left = a, *right = b;

	return left->count == right->count  ? strcmp(left->name, right->name)
	       : left->count < right->count ? 1
					    : -1;
}

void comparison_sort(struct comparison *comparison)
{
	if (comparison->kinds_count)
		qsort(comparison->kinds, comparison->kinds_count, sizeof(*comparison->kinds),
		      compare_kinds);
}

void comparison_done(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->kinds_count; i++) {
		free(comparison->kinds[i].name);
		free(comparison->kinds[i].example);
	}
	free(comparison->kinds);
}
