/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of code objects (bpf/shared/code_copy.h). Code objects that no walk has seen in this
 * window are noted while the frames are walked, and copied after the walk: the functions of the
 * walk are deeply nested already.
 *
 * Bounds: CODE_COPIES_MAX copies of a walk, CODE_BUDGET_BYTES of a CPU in a window, none while the
 * ring is half full; and no code object twice, in whichever window. A code object that isn't copied
 * is read by the daemon, as long as the object exists.
 */
#pragma once

#include "bpf/unwind/unwind_env.h"

#define PYTHON_UNSEEN 16U /* bit of struct python_walk.flags: an object is to be read soon */

#if defined(__bpf__) && !defined(WALKS_OTHERS)
#define COPIES_CODE
#endif

#ifdef COPIES_CODE

#define CODE_BUDGET_BYTES (64ULL << 20)
#define CODE_SENT	  4096 /* a power of two */
#define CODE_PAGE	  4096U

int python_copy(uint32_t level, uint32_t number);
int python_copies(uint32_t level);

/* Hashes of the code objects that were sent; a new entry replaces the one with the same hash. */
uint64_t codes_sent[CODE_SENT];

_Static_assert(sizeof(struct code_copying) <= sizeof(struct walk), "it lies in a walk's place");

static __always_inline struct code_copying *code_copying_at(uint32_t level)
{
	uint32_t at = CODE_COPYING_AT + level;

	return (struct code_copying *)bpf_map_lookup_elem(&walks, &at);
}

/* Notes a code object that is to be copied after the walk. */
static __always_inline void python_note(const struct walk *walk, uint64_t code, uint64_t sum)
{
	uint32_t level = walk->level;
	struct code_copying *copying = code_copying_at(level);
	uint32_t n;

	if (!copying)
		return;
	n = copying->count++;
	if (n >= CODE_COPIES_MAX)
		return;
	copying->codes[n] = code;
	copying->sums[n] = sum;
}

/* Returns a word of the copied code object. */
static __always_inline uint64_t code_word(const struct code_copy *copy, uint32_t offset)
{
	return copy->object[offset / 8 & (CODE_OBJECT_WORDS - 1)];
}

/* Copies the first bytes of a str, whatever its length; if the mapping ends before, the bytes up to
 * the page's end. Returns the number of bytes. */
static __always_inline uint32_t code_text(uint8_t to[CODE_TEXT_BYTES], uint64_t from)
{
	uint32_t rest = CODE_PAGE - (from & (CODE_PAGE - 1));

	if (!read_user(to, CODE_TEXT_BYTES, from))
		return CODE_TEXT_BYTES;
	if (rest >= CODE_TEXT_BYTES || read_user(to, rest, from))
		return 0;
	return rest;
}

static __always_inline void code_names(struct code_copy *copy, const struct cpython *at)
{
	uint64_t name = code_word(copy, at->code_name), qualname = name;
	uint64_t file = code_word(copy, at->code_filename);

	if (at->code_qualname != CPYTHON_NO)
		qualname = code_word(copy, at->code_qualname);
	copy->at[CODE_PART_NAME] = name;
	copy->at[CODE_PART_QUALNAME] = qualname;
	copy->at[CODE_PART_FILE] = file;
	copy->bytes[CODE_PART_NAME] = code_text(copy->name, name);
	copy->bytes[CODE_PART_QUALNAME] =
		qualname == name ? 0 : code_text(copy->qualname, qualname);
	copy->bytes[CODE_PART_FILE] = code_text(copy->file, file);
}

/* Copies the line table of the code object. Returns its bytes; 0: it is too long or can't be
 * read. */
static __always_inline uint64_t code_lines(struct code_copy *copy, const struct cpython *at)
{
	uint64_t lines = code_word(copy, at->code_lines), bytes;

	copy->at[CODE_PART_LINES] = lines;
	copy->bytes[CODE_PART_LINES] = 0;
	if (read_user(&bytes, sizeof(bytes), lines + at->bytes_length) || bytes > CODE_LINES_BYTES)
		return 0;
	bytes += at->bytes_data;
	if (bytes > CODE_LINES_BYTES || read_user(copy->lines, bytes, lines))
		return 0;
	copy->bytes[CODE_PART_LINES] = bytes;
	return bytes;
}

static __always_inline bool code_has_room(struct code_copying *copying, uint64_t window)
{
	if (copying->window != window) {
		copying->window = window;
		copying->bytes = 0;
	}
	return copying->bytes < CODE_BUDGET_BYTES &&
	       bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) <
		       bpf_ringbuf_query(&stacks, BPF_RB_RING_SIZE) / 2;
}

/* Copies and sends the code object with that number in the notes. Counts it in `whole` if nothing
 * of it has to be read any more. Returns 0. */
__noinline int python_copy(uint32_t level, uint32_t number)
{
	struct walk *walk = walk_at(level);
	struct code_copying *copying = code_copying_at(level);
	struct code_copy *copy;
	uint64_t code, sum, hash, lines, bytes;
	uint64_t *sent;

	if (!walk || !copying || number >= CODE_COPIES_MAX)
		return 0;
	code = copying->codes[number];
	sum = copying->sums[number];
	hash = hash_word(hash_word(walk->head.target_id, code), sum);
	sent = &codes_sent[hash & (CODE_SENT - 1)];
	if (*sent == hash || !code_has_room(copying, walk->head.window))
		return 0;
	copy = &copying->copy;
	if (read_user(copy->object, sizeof(copy->object), code))
		return 0;
	copy->address = code & FRAME_ADDRESS;
	copy->tgid = walk->head.key.tgid;
	copy->kind = CODE_COPY_KIND;
	copy->target_id = walk->head.target_id;
	copy->sum = sum >> 32;
	copy->at[CODE_PART_OBJECT] = code;
	copy->bytes[CODE_PART_OBJECT] = sizeof(copy->object);
	code_names(copy, &walk->python.at);
	lines = code_lines(copy, &walk->python.at);
	bytes = CODE_COPY_LEAST + lines;
	if (bytes > sizeof(*copy) || bpf_ringbuf_output(&stacks, copy, bytes, BPF_RB_NO_WAKEUP))
		return 0;
	copying->bytes += bytes;
	*sent = hash;
	if (lines && copy->bytes[CODE_PART_NAME] == CODE_TEXT_BYTES &&
	    copy->bytes[CODE_PART_FILE] == CODE_TEXT_BYTES)
		copying->whole++; /* kept in memory, so the verifier doesn't follow each number */
	return 0;
}

/* Copies all code objects that were noted. If each copy is whole, clears PYTHON_UNSEEN: the daemon
 * needn't hurry. */
__noinline int python_copies(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct code_copying *copying = code_copying_at(level);
	uint32_t count;

	if (!walk || !copying)
		return 0;
	count = copying->count;
	copying->count = copying->whole = 0;
	for (uint32_t i = 0; i < CODE_COPIES_MAX; i++) {
		if (i >= count)
			break;
		python_copy(level, i);
	}
	if (copying->whole == count)
		walk->python.flags &= ~PYTHON_UNSEEN;
	return 0;
}

#else

static __always_inline void python_note(const struct walk *walk, uint64_t code, uint64_t sum)
{
	(void)walk;
	(void)code;
	(void)sum;
}

#endif
