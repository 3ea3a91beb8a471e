/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pushes Java frames: hotspot_arrive() looks up what the current pc belongs to, which becomes
 * hotspot.blob, pushes the frame's word, and puts the detail where the details wait.
 *
 *	nmethod, stub	FRAME_JAVA, FRAME_JAVA_RETURN: the pc, of a deoptimized frame the original
 *	interpreter	FRAME_JAVA_METHOD if fp is an interpreted frame; else as a stub
 */
#pragma once

#include "bpf/hotspot/hotspot_blob.h"

#define HOTSPOT_BCP 13 /* in interpreted code r13 has the bytecode pointer */

int hotspot_interpreted(uint32_t level, uint64_t fp, uint64_t sp);
int hotspot_arrive(uint32_t level);

static __always_inline bool hotspot_in(uint64_t address, uint64_t from, uint64_t to)
{
	return address - from < to - from;
}

static __always_inline bool hotspot_in_interpreter(const struct walk *walk, uint64_t address)
{
	return hotspot_in(address, walk->hotspot.at.interpreter_from,
			  walk->hotspot.at.interpreter_to);
}

/* Returns whether an address means that the VM has moved the frames above to the heap. */
static __always_inline bool hotspot_is_frozen(const struct walk *walk, uint64_t address)
{
	return hotspot_in(address, walk->hotspot.at.frozen_from, walk->hotspot.at.frozen_to);
}

/* Returns the address of a word of an interpreted frame. */
static __always_inline uint64_t hotspot_slot(uint64_t fp, int8_t words)
{
	return fp + (uint64_t)((int64_t)words * ARCH_WORD);
}

/* Pushes a frame and its detail. Returns false if there is no room. */
static __always_inline bool hotspot_push(struct walk *walk, enum frame_kind kind, uint64_t address,
					 uint32_t bci, uint32_t id)
{
	uint64_t detail = hotspot_detail(FRAME_JAVA_DETAIL, bci, id);
	uint32_t n;

	if (!walk_push(walk, kind, address))
		return false;
	n = BOUND(walk->hotspot.details);
	if (n >= PYTHON_WORDS_MAX) /* there is more room for details than for native words */
		return false;
	walk->words[PYTHON_AT + n] = detail;
	walk->hotspot.details = n + 1;
	walk->hotspot.pushed = walk->head.words_count;
	walk->head.key.hash = hash_word(walk->head.key.hash, detail);
	return true;
}

/* Returns whether fp is a complete interpreted frame: sp, where the frame of its callee begins,
 * lies below all of its parts. Then sets hotspot.method, .bcp and .sender; the caller looks up
 * whether that is a method. */
__noinline int hotspot_interpreted(uint32_t level, uint64_t fp, uint64_t sp)
{
	struct walk *walk = walk_at(level);
	struct hotspot_walk *java;

	if (!walk)
		return 0;
	java = &walk->hotspot;
	if (fp & (ARCH_WORD - 1) || hotspot_slot(fp, java->at.frame_bcp) < sp ||
	    hotspot_slot(fp, java->at.frame_bcp) > fp || fp - sp > HOTSPOT_FRAME_BYTES ||
	    !read_word(walk, hotspot_slot(fp, java->at.frame_bcp), &java->bcp) ||
	    !read_word(walk, hotspot_slot(fp, java->at.frame_method), &java->method) ||
	    !read_word(walk, hotspot_slot(fp, java->at.frame_sender), &java->sender))
		return 0;
	return java->sender > fp && java->sender - fp < HOTSPOT_FRAME_BYTES &&
	       !(java->sender & (ARCH_WORD - 1));
}

static __always_inline bool hotspot_is_interpreted(struct walk *walk, uint64_t fp, uint64_t sp)
{
	return hotspot_interpreted(walk->level, fp, sp) &&
	       hotspot_method_find(walk->level, walk->hotspot.method);
}

static __always_inline uint32_t hotspot_bci(const struct hotspot_blob *method, uint64_t bcp)
{
	uint64_t bci = bcp - method->code;

	return bci < method->frame_words ? bci : HOTSPOT_BCI_NONE;
}

static __always_inline int hotspot_arrive_interpreted(struct walk *walk, bool exact)
{
	struct hotspot_walk *java = &walk->hotspot;
	uint64_t bcp;
	uint32_t bci = HOTSPOT_BCI_NONE;

	if (!(walk->known & WALK_FP) || !hotspot_is_interpreted(walk, walk->fp, walk->sp)) {
		if (!exact)
			return TRUNCATED_JAVA;
		java->blob = (struct hotspot_blob){.kind = HOTSPOT_INTERPRETER};
		return hotspot_push(walk, FRAME_JAVA, walk->pc, HOTSPOT_BCI_NONE, 0)
			       ? 0
			       : TRUNCATED_DEPTH;
	}
	java->blob = java->found;
	if (exact && !reg_value(walk, HOTSPOT_BCP, &bcp))
		bci = hotspot_bci(&java->blob, bcp);
	if (bci == HOTSPOT_BCI_NONE)
		bci = hotspot_bci(&java->blob, java->bcp);
	return hotspot_push(walk, FRAME_JAVA_METHOD, java->blob.from, bci, java->blob.id)
		       ? 0
		       : TRUNCATED_DEPTH;
}

/* Returns whether an address is a deopt handler of the blob, to which deoptimized frames return. */
static __always_inline bool hotspot_is_deopt(const struct hotspot_blob *blob, uint64_t address)
{
	return address == blob->deopt[0] || address == blob->deopt[1];
}

/* Restores the pc of a deoptimized frame: its return address is the deopt handler of its nmethod,
 * and the frame itself holds the original one. */
static __always_inline void hotspot_undo_deopt(struct walk *walk)
{
	const struct hotspot_blob *blob = &walk->hotspot.blob;
	uint64_t pc;

	if (hotspot_is_deopt(blob, walk->pc) && blob->orig_pc < HOTSPOT_FRAME_BYTES &&
	    read_word(walk, walk->sp + blob->orig_pc, &pc) && pc > blob->code && pc < blob->to)
		walk->pc = pc;
}

/* Pushes the current frame. Returns 0, or why the walk ends. */
__noinline int hotspot_arrive(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct hotspot_blob *blob;
	bool exact;
	uint64_t at;

	if (!walk)
		return TRUNCATED_JAVA;
	memo_void(walk);
	exact = walk->known & WALK_EXACT;
	at = walk->pc - !exact;
	blob = &walk->hotspot.blob;
	walk->hotspot.callee =
		walk->hotspot.pushed == walk->head.words_count ? blob->kind : HOTSPOT_NONE;
	blob->kind = HOTSPOT_NONE;
	if (hotspot_in_interpreter(walk, at))
		return hotspot_arrive_interpreted(walk, exact);
	if (!exact && hotspot_is_frozen(walk, walk->pc))
		return TRUNCATED_FROZEN;
	if (hotspot_blob_find(level, at)) {
		*blob = walk->hotspot.found;
		if (!exact)
			hotspot_undo_deopt(walk);
		return hotspot_push(walk, exact ? FRAME_JAVA : FRAME_JAVA_RETURN, walk->pc,
				    HOTSPOT_BCI_NONE, blob->id)
			       ? 0
			       : TRUNCATED_DEPTH;
	}
	if (exact) /* the thread is here, whatever code this is */
		return walk_push(walk, FRAME_NATIVE, walk->pc) ? 0 : TRUNCATED_DEPTH;
	return TRUNCATED_JAVA;
}
