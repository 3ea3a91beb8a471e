/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user's half of a stack: unwind_user() walks from the given registers and pushes frames, leaf
 * first. For each frame the unwinder looks up the row of its code in the unwind tables:
 *
 *	pc -> mapping (span) -> row -> CFA -> return address, caller's fp	(lookup.h)
 *
 * Code without CFI is walked by its frame pointer (an interrupted leaf also by the top of the
 * stack) where that is plausible. A frame without a known caller ends the walk, with its cause.
 *
 * Each frame is a call of the global function unwind_step(), which the verifier checks once,
 * however many frames there may be.
 */
#pragma once

#include "bpf/hotspot/hotspot_walk.h"
#include "bpf/unwind/unwind_luajit.h"
#include "bpf/unwind/unwind_rows.h"

int is_made_root(uint32_t level);
int unwind_step(uint32_t level);
int memo_read(uint32_t level, uint32_t number);
int unwind_begin(uint32_t level);
int unwind_is_known(uint32_t level);
int unwind_start(uint32_t level);
int unwind_steps(uint32_t level, uint32_t first);

static __always_inline int caller_by_special(struct walk *walk, uint32_t row)
{
	switch (row & ROW_SPECIAL_MASK) {
	case SPECIAL_NONE:
		return caller_bare(walk->level, false);
	case SPECIAL_FRAMES:
		return caller_bare(walk->level, true);
	case SPECIAL_END:
		return STEP_END;
	case SPECIAL_PLT:
		walk->row = row;
		return caller_of_plt(walk->level);
	default:
		return TRUNCATED_RULE;
	}
}

static __always_inline int find_caller(struct walk *walk, struct caller *caller)
{
	uint64_t address = walk->pc - !(walk->known & WALK_EXACT);
	uint32_t row;

	switch (span_kind(&walk->span)) {
	case SPAN_TABLE:
		break;
	case SPAN_PENDING:
		return TRUNCATED_TABLE_PENDING;
	case SPAN_BARE:
		if (walk->span.what & SPAN_LUAJIT && luajit_made_it(walk->level))
			return caller_of_luajit(walk->level, true) ? STEP_ON : TRUNCATED_RULE;
		return caller_bare(walk->level, true);
	case SPAN_HOTSPOT:
		return caller_of_java(walk, caller);
	default:
		return TRUNCATED_NO_TABLE;
	}
	row = walk->row;
	if (!walk->row_known) {
		row = row_find(walk->level, address);
		if (!(walk->known & WALK_EXACT)) /* leaves are many */
			place_learn(walk, address, row);
	}
	if (row == ROW_LUAJIT)
		return caller_of_luajit(walk->level, false) ? STEP_ON : TRUNCATED_RULE;
	switch (row >> ROW_KIND_SHIFT & ROW_KIND_MASK) {
	case ROW_SP:
	case ROW_FP:
		return caller_by_row(walk, row, caller);
	case ROW_RULE:
		return caller_by_rule(walk->level, row & ROW_PAYLOAD);
	default:
		return caller_by_special(walk, row);
	}
}

/* The row of a function's first instruction. */
#define ROW_ENTRY (ROW_SP << ROW_KIND_SHIFT | ARCH_ENTRY_WORDS)

/* Checks whether the found caller is plausible, and makes walk->span its mapping. Returns STEP_ON,
 * STEP_END, or why the walk ends. */
static __always_inline int check_caller(struct walk *walk, struct caller *caller)
{
	bool exact = caller->known & WALK_EXACT;
	bool leaf = walk->known & WALK_EXACT; /* a leaf's return address may be in a register */

	if (!exact)
		caller->pc = arch_code_address(caller->pc);
	if (!caller->pc)
		return STEP_END;
	if (!caller->may_be_below && (caller->sp < walk->sp || (caller->sp == walk->sp && !leaf)))
		return TRUNCATED_ORDER;
	walk->row_known = 0;
	if (!place_is_known(walk, caller->pc - !exact) && !span_find(walk, caller->pc - !exact)) {
		uint64_t address = true_return(walk, caller);

		exact = BOUND(caller->known) & WALK_EXACT; /* else it is kept on the stack */
		if (!address || !span_find(walk, address - !exact))
			return TRUNCATED_ADDRESS;
		caller->pc = address;
	}
	if (walk->unsure && !exact && !is_behind_call(walk, caller->pc))
		return TRUNCATED_FRAME_POINTER;
	return STEP_ON;
}

#define FUNCTION_ALIGNMENT 16

/*
 * Returns whether the current frame is a function that nobody called: makecontext() and its kin put
 * the address of a function's first instruction where a return address lies, and no return address
 * above. The byte before that address belongs to no function, or to another one.
 */
__noinline int is_made_root(uint32_t level)
{
	struct walk *walk = walk_at(level);

	if (!walk || walk->known & WALK_EXACT || walk->pc & (FUNCTION_ALIGNMENT - 1) ||
	    !span_search(level, walk->pc) || span_kind(&walk->span) != SPAN_TABLE ||
	    is_behind_call(walk, walk->pc) || row_find(level, walk->pc) != ROW_ENTRY)
		return 0;
	walk_name_exactly(walk);
	return 1;
}

/* Ends the walk. A frame that had to be confirmed and wasn't is removed. */
static __always_inline int walk_end(struct walk *walk, int why)
{
	if (walk->unsure && why != STEP_END) {
		walk->head.words_count = walk->unsure - 1;
		walk->head.key.hash = walk->unsure_hash;
		walk->hotspot.details = walk->unsure_details;
		why = TRUNCATED_FRAME_POINTER;
	}
	walk->head.truncated = why == STEP_END ? TRUNCATED_NOT : why;
	return 1;
}

/* Pushes the current frame, which lies in walk->span. Returns 0, or why the walk ends. */
static __always_inline int push_frame(struct walk *walk)
{
	bool exact = walk->known & WALK_EXACT;

	if (span_kind(&walk->span) == SPAN_HOTSPOT && hotspot_of(walk))
		return hotspot_arrive(walk->level);
	return walk_push(walk, exact ? FRAME_NATIVE : FRAME_NATIVE_RETURN, walk->pc)
		       ? 0
		       : TRUNCATED_DEPTH;
}

/* Goes on to the caller. Returns 1 if the walk has ended. */
__noinline int unwind_step(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct caller *caller;
	int r;

	if (!walk)
		return 1;
	caller = &walk->caller;
	*caller = (struct caller){};
	r = find_caller(walk, caller);
	if (!r)
		r = check_caller(walk, caller);
	if (r)
		return walk_end(walk, r != STEP_END && is_made_root(level) ? STEP_END : r);
	walk->unsure = caller->unsure ? walk->head.words_count + 1 : 0;
	walk->unsure_hash = walk->head.key.hash;
	walk->unsure_details = walk->hotspot.details;
	walk->known = caller->known;
	walk->pc = caller->pc;
	walk->sp = caller->sp;
	walk->fp = caller->fp;
	walk->bx = caller->bx;
	walk->context = caller->context;
	r = push_frame(walk);
	return r ? walk_end(walk, r) : 0;
}

/* Returns the place of the walk's memo. MEMO_BY_PLACE: a thread has one for each place from which
 * it comes, as its system calls take turns; at samples, whose pc always differs, it has one. */
static __always_inline uint32_t memo_hash(const struct walk *walk)
{
#ifdef MEMO_BY_PLACE
	return walk->tid ^ walk->pc >> 3 ^ walk->sp >> 5;
#else
	return walk->tid;
#endif
}

/* Begins the walk at the registers walk->user. Returns 0 if the code can't be walked: ARM's 32-bit
 * code. */
__noinline int unwind_begin(uint32_t level)
{
	struct walk *walk = walk_at(level);
	const struct user_regs *regs;

	if (!walk)
		return 0;
	regs = &walk->user;
	for (int i = 0; i < ARCH_REGS; i++)
		walk->gpr[i] = regs->gpr[i];
	walk->known = WALK_EXACT | WALK_REGS | WALK_FP | WALK_BX;
	walk->pc = regs->pc;
	walk->sp = regs->gpr[ARCH_SP];
	walk->fp = regs->gpr[ARCH_FP];
	walk->bx = regs->gpr[ARCH_BX];
	walk->word = regs->wide ? ARCH_WORD : sizeof(uint32_t);
	walk->memo = walk->level * MEMO_SLOTS + (memo_hash(walk) & (MEMO_SLOTS - 1));
	walk->used = 0;
	walk->context = 0;
	walk->unsure = 0;
	walk->luajit_before = 0;
	walk->luajit_left = LUAJIT_LOOKS;
	walk->window_bytes = 0;
	walk->span.start = walk->span.end = 0;
	walk->row_known = 0;
	return regs->wide || ARCH_WALKS_NARROW;
}

#define MEMO_READ 16 /* words read by one call; divides MEMO_WORDS */

/* Reads MEMO_READ words of the memo again, from word `first` on, which the memo has, and adds them
 * to walk->words_hash. Returns 0 if a word can't be read any more. */
__noinline int memo_read(uint32_t level, uint32_t first)
{
	struct walk *walk = walk_at(level);
	const struct memo *memo = walk ? memo_at(walk->memo) : NULL;
	uint64_t hash, word;
	uint32_t left;

	if (!memo || first > MEMO_WORDS - MEMO_READ)
		return 0;
	hash = walk->words_hash;
	left = memo->count - first; /* of which the verifier needs no bounds */
	for (uint32_t i = 0; i < MEMO_READ && i < left; i++) {
		if (!window_word(walk, walk->sp + memo->at[first + i] * ARCH_WORD, &word))
			return 0;
		hash = hash_word(hash, word);
	}
	walk->words_hash = hash;
	return 1;
}

/* Returns whether the walk that has begun would repeat the thread's last walk; memo_at(walk->memo)
 * then has the result. */
__noinline int unwind_is_known(uint32_t level)
{
	struct walk *walk = walk_at(level);
	const struct memo *memo = walk ? memo_at(walk->memo) : NULL;

	if (!memo || !memo_fits(walk, memo))
		return 0;
	walk->words_hash = 0;
	for (uint32_t i = 0; i < MEMO_WORDS && i < memo->count; i += MEMO_READ) {
		if (!memo_read(level, i))
			return 0;
	}
	return walk->words_hash == memo->words_hash;
}

/* If pc is in the kernel's page for probes (bpf/unwind/uretprobe_stack.h), sets the registers to
 * those of the program: at the instruction that is executed there for another place, or right after
 * a probed return. Returns false if pc isn't there, or these registers can't be found. */
static __always_inline bool leave_probe(struct walk *walk)
{
	uint64_t address = probed_place(walk->level, walk->pc), stack = walk->sp;
	uint32_t words;

	if (!address || walk_is_narrow(walk)) /* returns of 32-bit code lie in other words */
		return false;
	memo_void(walk);
	if (address != PROBES_PAGE) {
		walk->pc = address;
		return true;
	}
	stack -= ARCH_ENTRY_WORDS * ARCH_WORD;
	address = probed_return(walk->level, stack, ARCH_PROBE_WORDS * ARCH_WORD);
	if (address) {
		stack = walk->probed_stack;
	} else { /* the kernel has removed the call from its list already */
		if (read_user(walk->code, sizeof(walk->code), walk->pc))
			return false;
		words = arch_words_until_return(walk->code);
		if (words > ARCH_PROBE_WORDS)
			return false;
		stack = walk->sp + words * ARCH_WORD;
		if (read_user(&address, sizeof(address), stack))
			return false;
	}
	walk->pc = arch_code_address(address);
	walk->sp = stack + ARCH_ENTRY_WORDS * ARCH_WORD;
	return true;
}

/* Pushes the first frame. Returns false if the walk can't go on. */
static __always_inline bool unwind_leaf(struct walk *walk)
{
	bool exact = walk->known & WALK_EXACT, found = span_find(walk, walk->pc);

	if (!found && exact && leave_probe(walk))
		found = span_find(walk, walk->pc);
	hotspot_begin(walk);
	if (found) {
		walk->head.truncated = push_frame(walk);
		if (walk->head.truncated)
			return false;
	} else {
		walk_push(walk, exact ? FRAME_NATIVE : FRAME_NATIVE_RETURN, walk->pc);
	}
	walk->head.truncated = TRUNCATED_DEPTH;
	if (!found)
		walk->head.truncated =
			walk->spans_count ? TRUNCATED_ADDRESS : TRUNCATED_TABLE_PENDING;
	return found;
}

#define UNWIND_STEPS 64 /* steps of one call of unwind_steps(); divides USER_FRAMES_MAX */

_Static_assert(USER_FRAMES_MAX % UNWIND_STEPS == 0, "steps end with the limit");

/* Pushes the first frame. Returns 0 if the walk can't go on. */
__noinline int unwind_start(uint32_t level)
{
	struct walk *walk = walk_at(level);

	if (!walk)
		return 0;
	memo_begin(walk);
	return unwind_leaf(walk);
}

/* Does several steps, of which the first has that number. Returns 0 if the walk has ended. */
__noinline int unwind_steps(uint32_t level, uint32_t first)
{
	struct walk *walk = walk_at(level);
	uint32_t left;

	if (!walk || first >= walk->frames_max)
		return 0;
	left = walk->frames_max - first;
	for (uint32_t i = 0; i < UNWIND_STEPS; i++) {
		if (i >= left || unwind_step(level))
			return 0;
	}
	return 1;
}

/* Walks to the root. The verifier walks a loop for each count: two short loops, one of them in a
 * global function, are less work for it than a long one. (The outer loop is no function of its own:
 * old kernels count 32 bytes of stack for each nested call, and the chain is long.) */
static __always_inline void unwind_user(struct walk *walk)
{
	if (unwind_start(walk->level)) {
		for (uint32_t i = 0; i < USER_FRAMES_MAX; i += UNWIND_STEPS) {
			if (!unwind_steps(walk->level, i))
				break;
		}
	}
	memo_end(walk);
}
