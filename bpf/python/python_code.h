/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code objects that a walk meets, and their sums. Each sum is read once in a walk, for functions
 * recur.
 *
 * A sum has the hash of the object's name, which lies elsewhere. Where code objects have a number
 * of their own (co_version), an object whose words are those of an earlier walk has the same name:
 * so a window's later walks read the object alone. The proof of that is a hash of the words, the
 * process and the window. Each interpreter numbers its own code objects, so the process must have
 * one only.
 *
 * The daemon reads names from the process. Code that exec() made may be gone within milliseconds: a
 * code object that no stack had in this window is copied (python_copy.h); if it can't be copied,
 * the stack wakes the daemon at once. A table of hashes remembers the code objects that were seen;
 * a new entry replaces the one with the same hash.
 */
#pragma once

#include "bpf/python/python_copy.h"

#define PYTHON_SEEN 4096 /* a power of two */

/* struct python_walk.flags */
#define PYTHON_STARTED 1U
#define PYTHON_ALONE   2U  /* the process has one interpreter */
#define PYTHON_MEMO    4U  /* the current state is the one of the memo */
#define PYTHON_OPEN    8U  /* the caller of the last frame isn't known yet */
#define PYTHON_UNSURE  32U /* the newest loop may have no frame yet (python_state.h) */

/* Result of a step besides enum python_end: the walk goes on. */
#define PYTHON_ON PYTHON_END_COUNT

_Static_assert(PYTHON_CODE_WORDS + CPYTHON_CODE_WORDS <= PYTHON_STATE_WORDS, "a sum stays inside");

int python_code(uint32_t level, uint64_t code);

uint64_t python_seen[PYTHON_SEEN];

/* Returns a field of the words that were read last. The offset is masked: so an offset of the
 * daemon needs no proof. */
static __always_inline uint64_t python_word(const struct python_walk *python, uint32_t offset)
{
	return python->words[offset / 8 & (PYTHON_STATE_WORDS - 1)];
}

/* Reads words into python->words. Returns false if they can't be read. */
static __always_inline bool python_read(struct python_walk *python, uint32_t words, uint64_t from)
{
	if (words > PYTHON_STATE_WORDS)
		return false;
	return read_user(python->words, words * sizeof(uint64_t), from) == 0;
}

/* Returns whether the last walks in this buffer, of the same process in the same window, had the
 * code object: python_seen is colder memory. */
static __always_inline bool python_saw(const struct python_walk *python,
				       const struct python_sum *known, uint64_t code)
{
	uint64_t differs = (known->code ^ code) | (known->sum ^ python->sum) >> 32;

	return !differs && python->number - (uint32_t)known->sum <= python->number - python->since;
}

/* Marks a code object as seen in this window. If it is new, notes it for copying. */
static __always_inline void python_see(struct walk *walk, uint64_t code, uint64_t sum)
{
	uint64_t hash = hash_word(walk->head.target_id ^ walk->head.window << 48, code);
	uint64_t *seen;

	hash = hash_word(hash, sum);
	seen = &python_seen[hash & (PYTHON_SEEN - 1)];
	if (*seen == hash)
		return;
	*seen = hash;
	walk->python.flags |= PYTHON_UNSEEN;
	python_note(walk, code, sum);
}

/* Returns whether the sum of the code object is known in this walk, and makes it python.sum. */
static __always_inline bool python_knows(struct python_walk *python, uint64_t code)
{
	const struct python_sum *known = &python->sums[hash_word(0, code) & (PYTHON_SUMS - 1)];

	if (python->code == code)
		return true;
	if (known->code != code || (uint32_t)known->sum != python->number)
		return false;
	python->code = code;
	python->sum = known->sum;
	return true;
}

/* Returns the first words of a file's name; NULL: they can't be read. The last name is kept:
 * functions of one module follow each other. */
static __always_inline const uint64_t *python_file(struct python_walk *python, uint64_t file)
{
	if (file && python->file == file)
		return python->file_words;
	python->file = 0;
	if (read_user(python->file_words, sizeof(python->file_words),
		      file + python->at.unicode_hash - 8))
		return NULL;
	python->file = file;
	return python->file_words;
}

/* Returns the proof of the code object whose words were read last and have that sum; 0: it has no
 * number, or it may be another interpreter's. */
static __always_inline uint32_t python_proof(const struct python_walk *python, uint64_t words_sum)
{
	uint32_t version =
		python_word(python, python->at.code_version) >> python->at.code_version % 8 * 8;

	if (!python->at.code_version || !version || !(python->flags & PYTHON_ALONE))
		return 0;
	return hash_word(words_sum, python->context) >> 32;
}

/* Reads what the sum has besides the words of the object, the name's hash and in old versions the
 * file's name, and adds these to *sum. Returns false if the name can't be read. */
static __always_inline bool python_read_names(struct python_walk *python, uint64_t *sum)
{
	uint64_t name_hash, file_at = python_word(python, python->at.code_file);
	const uint64_t *file;

	if (read_user(&name_hash, sizeof(name_hash),
		      python_word(python, python->at.code_name) + python->at.unicode_hash))
		return false;
	*sum = hash_word(*sum, name_hash);
	if (!python->at.code_file)
		return true;
	file = python_file(python, file_at);
	/* A short name may lie at the end of the mapping: then the sum is without the name. */
	if (file)
		*sum = cpython_file_sum(*sum, file, &python->at);
	return true;
}

/* Reads the sum of the code object into python.sum. Returns PYTHON_ON, or why the walk ends. */
__noinline int python_code(uint32_t level, uint64_t code)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;
	struct python_sum *known;
	uint32_t first, slot, proof, known_proof;
	uint64_t sum;

	if (!walk)
		return PYTHON_MEMORY;
	python = &walk->python;
	slot = hash_word(0, code) & (PYTHON_SUMS - 1);
	known_proof = BOUND(python->proofs[slot]); /* cold: on its way while the object is read */
	if (!python_read(python, python->code_words, code))
		return PYTHON_MEMORY;
	if (python_word(python, python->at.object_type) != python->at.code_type)
		return PYTHON_DAMAGED;
	first = python->at.code_sum_at / 8 & (PYTHON_CODE_WORDS - 1);
	sum = cpython_words_sum(&python->words[first], python->at.code_sum_words);
	known = &python->sums[slot];
	proof = python_proof(python, sum);
	if (proof && known->code == code && known_proof == proof) {
		python->sum = cpython_frame_word(known->sum, python->number);
	} else {
		if (!python_read_names(python, &sum))
			return PYTHON_MEMORY;
		python->sum = cpython_frame_word(sum, python->number);
		if (!python_saw(python, known, code))
			python_see(walk, code, sum);
	}
	python->code = code;
	known->code = code;
	known->sum = python->sum;
	python->proofs[slot] = proof;
	return PYTHON_ON;
}
