/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process made by hand for the unwinder: its memory, mappings, tables and registers. What
 * bpf/unwind/unwind_env.h wants is here, so a program includes this once. x86-64.
 *
 * Each chunk of the arena and each piece of memory is an allocation of its own: a step outside is
 * one that ASan sees.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "bpf/stack/unwind.h"
#include "unwind/image_pack.h"

#define MAKER_CHUNKS  4
#define MAKER_PIECES  32
#define MAKER_SPANS   16 /* word of the arena where the spans begin */
#define MAKER_TABLE   4096
#define MAKER_MACHINE 62 /* EM_X86_64 */
#define MAKER_NARROW  3	 /* EM_386 */
#define MAKER_RETURNS 4

struct maker_piece {
	uint64_t start, bytes;
	uint8_t *data;
};

/* A row, as a linker would place it. */
struct maker_row {
	uint64_t address;
	struct rule rule;
};

static struct {
	struct walk *walk;
	struct memo *memos; /* of one level */
	struct chunk *chunks[MAKER_CHUNKS];
	struct maker_piece pieces[MAKER_PIECES];
	size_t pieces_count;
	uint32_t spans_count;
	uint64_t reads; /* of memory */
	bool narrow;	/* a 32-bit process */
	bool overlaps;	/* spans lie over each other, as none that are told do: any is found */
	/* What the task's probes hide: true return addresses by sp at the entry; the kernel's page;
	 * the instruction that is executed at place[0] in it and stands at place[1]. */
	uint64_t returns[MAKER_RETURNS][2], page, place[2];
	struct user_regs regs;
} maker;

struct walk *walk_at(uint32_t level)
{
	return level == 0 ? maker.walk : NULL;
}

struct memo *memo_at(uint32_t number)
{
	return number < MEMO_SLOTS ? &maker.memos[number] : NULL;
}

const struct chunk *chunk_of(uint32_t word)
{
	uint32_t number = word >> CHUNK_WORDS_SHIFT;

	return number < MAKER_CHUNKS ? maker.chunks[number] : NULL;
}

static inline uint8_t *maker_memory(uint64_t address, uint64_t bytes)
{
	for (size_t i = 0; i < maker.pieces_count; i++) {
		const struct maker_piece *piece = &maker.pieces[i];
		uint64_t offset = address - piece->start;

		if (offset < piece->bytes && bytes <= piece->bytes - offset)
			return piece->data + offset;
	}
	return NULL;
}

long read_user(void *to, uint32_t bytes, uint64_t from)
{
	const uint8_t *memory = maker_memory(from, bytes);

	maker.reads++;
	if (!memory)
		return -1;
	memcpy(to, memory, bytes);
	return 0;
}

uint64_t probed_return(uint32_t level, uint64_t stack, uint32_t slack)
{
	for (size_t i = 0; i < MAKER_RETURNS; i++) {
		const uint64_t *one = maker.returns[i];

		if (!one[0] || one[0] - stack > slack)
			continue;
		walk_at(level)->probed_stack = one[0];
		return one[1];
	}
	return 0;
}

uint64_t probed_place(uint32_t level, uint64_t pc)
{
	uint64_t offset = pc - maker.place[0];

	(void)level;
	if (!maker.page || pc - maker.page >= 4096)
		return 0;
	return maker.place[0] && offset < 16 ? maker.place[1] + offset : PROBES_PAGE;
}

static inline void *maker_new(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		abort();
	return memory;
}

static inline void maker_done(void)
{
	for (size_t i = 0; i < MAKER_CHUNKS; i++)
		free(maker.chunks[i]);
	for (size_t i = 0; i < maker.pieces_count; i++)
		free(maker.pieces[i].data);
	free(maker.walk);
	free(maker.memos);
	memset(&maker, 0, sizeof(maker));
}

/* A process with nothing in it. */
static inline void maker_begin(void)
{
	maker_done();
	maker.walk = maker_new(sizeof(*maker.walk));
	maker.memos = maker_new(MEMO_SLOTS * sizeof(*maker.memos));
	for (size_t i = 0; i < MAKER_CHUNKS; i++)
		maker.chunks[i] = maker_new(sizeof(*maker.chunks[i]));
	maker.walk->spans = MAKER_SPANS;
	maker.walk->head.target_id = 1;
	maker.walk->head.window = 1;
	maker.walk->tid = 1;
	maker.regs.wide = true;
}

static inline void maker_map(uint64_t start, uint64_t bytes)
{
	if (maker.pieces_count == MAKER_PIECES)
		abort();
	maker.pieces[maker.pieces_count++] =
		(struct maker_piece){start, bytes, maker_new((size_t)bytes)};
}

static inline void maker_poke(uint64_t address, const void *bytes, size_t count)
{
	uint8_t *memory = maker_memory(address, count);

	if (!memory)
		abort();
	memcpy(memory, bytes, count);
}

static inline void maker_put(uint64_t address, uint64_t word)
{
	maker_poke(address, &word, sizeof(word));
}

/* `call target`, of which the return address is `address`. */
static inline void maker_call(uint64_t address, uint64_t target)
{
	uint32_t distance = (uint32_t)(target - address);
	uint8_t code[5] = {0xe8};

	memcpy(code + 1, &distance, sizeof(distance));
	maker_poke(address - sizeof(code), code, sizeof(code));
}

static inline void maker_word(uint32_t word, uint32_t value)
{
	uint32_t chunk = word >> CHUNK_WORDS_SHIFT;

	if (chunk >= MAKER_CHUNKS)
		abort();
	maker.chunks[chunk]->words[word & (CHUNK_WORDS - 1)] = value;
}

/* Mappings are told by address. */
static inline void maker_span(struct span span)
{
	uint32_t words[SPAN_WORDS];

	memcpy(words, &span, sizeof(words));
	for (uint32_t i = 0; i < SPAN_WORDS; i++)
		maker_word(maker.walk->spans + maker.spans_count * SPAN_WORDS + i, words[i]);
	maker.walk->spans_count = ++maker.spans_count;
}

static inline void maker_code(uint64_t start, uint64_t bytes, enum span_kind kind)
{
	maker_map(start, bytes);
	maker_span(
		(struct span){start, start + bytes, start, 0, (uint32_t)kind << SPAN_KIND_SHIFT});
}

/* Puts a table of these rows at word `place` of the arena, of code at [start, + bytes), and tells
 * what its mapping's span is, where it was linked for. */
static inline struct span maker_table(uint64_t start, uint64_t bytes, const struct maker_row *rows,
				      size_t count, uint32_t place)
{
	uint16_t machine = maker.narrow ? MAKER_NARROW : MAKER_MACHINE;
	struct elf_image elf = {.wide = !maker.narrow, .machine = machine, .segments_count = 1};
	struct table_image image = {.machine = machine};
	_cleanup_(packer_free) struct packer *packer = NULL;
	struct span span = {.start = start, .end = start + bytes};
	bool tracks_bx = false;
	uint32_t *words;
	size_t room;

	for (size_t i = 0; i < count; i++)
		tracks_bx |= rows[i].rule.cfa_reg == ARCH_BX;
	elf.segments[0] = (struct elf_segment){0, bytes, start};
	if (packer_new(&packer, &elf, tracks_bx))
		abort();
	for (size_t i = 0; i < count; i++) {
		if (packer_row(packer, rows[i].address, &rows[i].rule))
			abort();
	}
	if (packer_finish(packer, &image))
		abort();
	room = image_room(&image);
	words = maker_new(room * sizeof(*words));
	span.index = image_place(&image, place, words);
	span.base = image.low;
	span.what = (uint32_t)SPAN_TABLE << SPAN_KIND_SHIFT | image.blocks |
		    (image.tracks_bx ? SPAN_TRACKS_BX : 0);
	for (size_t i = 0; i < room; i++)
		maker_word(place + (uint32_t)i, words[i]);
	free(words);
	image_done(&image);
	return span;
}

/* Spans of that number (struct target_value); 0: nothing is known of them. */
static inline void maker_walk_as(uint32_t number)
{
	struct walk *walk = maker.walk;

	memset(walk->words, 0, sizeof(walk->words)); /* of a longer walk before */
	walk->head.key.hash = 0;
	walk->head.words_count = 0;
	walk->hotspot.details = 0;
	walk->frames_max = USER_FRAMES_MAX;
	walk->head.truncated = TRUNCATED_NOT;
	walk->spans_number = number;
	walk->user = maker.regs;
	if (unwind_begin(walk->level))
		unwind_user(walk);
}

/* Walks from maker.regs: what is known of places changes nothing. Returns the cause (enum
 * truncation). */
static inline unsigned maker_walk(void)
{
	static uint32_t number;
	const struct walk *walk = maker.walk;
	uint64_t hashes[2], reads = maker.reads;
	unsigned causes[2];

	number++;
	for (int i = 0; i < 2; i++) {
		maker_walk_as(number);
		hashes[i] = walk->head.key.hash;
		causes[i] = walk->head.truncated;
	}
	maker.reads = reads;
	maker_walk_as(0);
	for (int i = 0; i < 2 && !maker.overlaps; i++) {
		if (hashes[i] != walk->head.key.hash || causes[i] != walk->head.truncated)
			abort();
	}
	return walk->head.truncated;
}

/* Whether the thread's last walk would be the same again. */
static inline bool maker_is_known(void)
{
	maker.walk->user = maker.regs;
	return unwind_begin(maker.walk->level) && unwind_is_known(maker.walk->level);
}
