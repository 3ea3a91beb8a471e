// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/image_pack.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "unwind/image_row.h"

#define RULES_MAX     ROW_PAYLOAD
#define ADDRESSES_MAX (UINT64_C(1) << 30)
#define NO_BLOCK      UINT32_MAX
#define ROW_NONE      ((uint32_t)ROW_SPECIAL << ROW_KIND_SHIFT | SPECIAL_NONE)

struct packer {
	const struct row_format *format;
	uint64_t low, next;	/* addresses: of the first block; the lowest that may come */
	uint64_t rows, seed;	/* of the hash tables: the file's author can't know the seed */
	bool tracks_bx, has_bx; /* has_bx: the processor has the register */

	uint32_t *words; /* the index, then blocks */
	size_t count, room;
	uint32_t blocks;
	uint32_t open;	   /* the block whose rows arrive; NO_BLOCK: none yet */
	size_t open_at;	   /* the word of that block's head */
	uint32_t row;	   /* the last row */
	uint32_t *found;   /* hash table of the words where distinct blocks begin; 0: free slot */
	size_t found_mask; /* slots - 1; there are at least twice as many slots as blocks */

	struct table_rule *rules;
	size_t rules_count, rules_room;
	uint32_t *rules_found; /* hash table of rules' numbers + 1; 0: free slot */
	size_t rules_mask;
};

static void free_packer(struct packer *packer)
{
	free(packer->words);
	free(packer->found);
	free(packer->rules);
	free(packer->rules_found);
	free(packer);
}

void packer_free(struct packer **packer)
{
	if (*packer)
		free_packer(*packer);
	*packer = NULL;
}

/* Sets the lowest address and the number of blocks from there on. */
static int find_blocks(struct packer *packer, const struct elf_image *elf)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < elf->segments_count; i++) {
		uint64_t start = elf->segments[i].address, end;

		if (__builtin_add_overflow(start, elf->segments[i].file_bytes, &end))
			return -EBADMSG;
		low = start < low ? start : low;
		high = end > high ? end : high;
	}
	if (high <= low)
		return -ENOENT;
	if (high - low > ADDRESSES_MAX)
		return -EFBIG;
	low &= ~(uint64_t)(BLOCK_BYTES - 1);
	packer->low = packer->next = low;
	packer->blocks = (uint32_t)((high - low + BLOCK_BYTES - 1) >> BLOCK_SHIFT);
	return 0;
}

int packer_new(struct packer **ret, const struct elf_image *elf, bool tracks_bx)
{
	const struct row_format *format = row_format_of(elf->machine);
	_cleanup_(packer_free) struct packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return -ENOMEM;
	if (!format || elf->wide == format->narrow)
		return -ENOENT;
	int r = find_blocks(packer, elf);
	if (r < 0)
		return r;
	packer->format = format;
	packer->has_bx = elf->machine == EM_X86_64 || elf->machine == EM_386;
	packer->tracks_bx = tracks_bx;
	packer->seed = hash_seed();
	packer->open = NO_BLOCK;
	packer->row = ROW_NONE;
	packer->count = packer->blocks;
	packer->room = packer->blocks + (size_t)4096;
	packer->words = calloc(packer->room, sizeof(*packer->words));
	packer->found_mask = 1023;
	while (packer->found_mask < (size_t)packer->blocks * 2)
		packer->found_mask = packer->found_mask * 2 + 1;
	packer->found = calloc(packer->found_mask + 1, sizeof(*packer->found));
	packer->rules_room = 64;
	packer->rules = calloc(packer->rules_room, sizeof(*packer->rules));
	packer->rules_mask = 127;
	packer->rules_found = calloc(packer->rules_mask + 1, sizeof(*packer->rules_found));
	if (!packer->words || !packer->found || !packer->rules || !packer->rules_found)
		return -ENOMEM;
	*ret = TAKE_PTR(packer);
	return 0;
}

static int add_word(struct packer *packer, uint32_t word)
{
	if (packer->count == packer->room) {
		size_t room = packer->room + packer->room / 4;
		uint32_t *words = reallocarray(packer->words, room, sizeof(*words));

		if (!words)
			return -ENOMEM;
		packer->words = words;
		packer->room = room;
	}
	packer->words[packer->count++] = word;
	return 0;
}

static size_t block_bytes(const uint32_t *block)
{
	return (1 + (size_t)(block[0] >> ROW_ADDRESS_SHIFT)) * sizeof(*block);
}

/* Ends the open block; if an equal block is there already, the index leads to that one. */
static void close_block(struct packer *packer)
{
	const uint32_t *block = packer->words + packer->open_at;
	size_t bytes = block_bytes(block), slot;

	if (block[0] == ROW_NONE) { /* no other rows follow: the index has 0 */
		packer->count = packer->open_at;
		return;
	}
	slot = hash_bytes(packer->seed, block, bytes) & packer->found_mask;
	for (; packer->found[slot]; slot = (slot + 1) & packer->found_mask) {
		const uint32_t *other = packer->words + packer->found[slot];

		if (other[0] == block[0] && memcmp(other, block, bytes) == 0) {
			packer->count = packer->open_at;
			packer->words[packer->open] = packer->found[slot];
			return;
		}
	}
	packer->found[slot] = (uint32_t)packer->open_at;
	packer->words[packer->open] = (uint32_t)packer->open_at;
}

/* Opens a block; blocks that are skipped only get the row in force. */
static int open_block(struct packer *packer, uint32_t block)
{
	while (packer->open != block) {
		if (packer->open != NO_BLOCK)
			close_block(packer);
		packer->open++; /* NO_BLOCK: to 0 */
		if (packer->open == packer->blocks)
			return 0;
		packer->open_at = packer->count;
		int r = add_word(packer, packer->row);
		if (r < 0)
			return r;
	}
	return 0;
}

static uint64_t hash_rule(const struct packer *packer, const struct table_rule *rule)
{
	return hash_bytes(packer->seed, rule, sizeof(*rule));
}

static int grow_rules(struct packer *packer)
{
	size_t room = packer->rules_room * 2, mask = packer->rules_mask * 2 + 1;
	struct table_rule *rules;
	uint32_t *found;

	if (packer->rules_count == RULES_MAX)
		return -EFBIG;
	rules = reallocarray(packer->rules, room, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	packer->rules = rules;
	packer->rules_room = room;
	found = calloc(mask + 1, sizeof(*found));
	if (!found)
		return -ENOMEM;
	for (size_t i = 0; i < packer->rules_count; i++) {
		size_t slot = hash_rule(packer, &rules[i]) & mask;

		while (found[slot])
			slot = (slot + 1) & mask;
		found[slot] = (uint32_t)i + 1;
	}
	free(packer->rules_found);
	packer->rules_found = found;
	packer->rules_mask = mask;
	return 0;
}

/* Sets *row to an equal rule that is there already, or to a new one. */
static int add_rule(struct packer *packer, const struct rule *rule, uint32_t *row)
{
	struct table_rule packed;
	size_t slot;

	if (packer->rules_count == packer->rules_room || packer->rules_count == RULES_MAX) {
		int r = grow_rules(packer);

		if (r < 0)
			return r;
	}
	rule_pack(rule, &packed);
	slot = hash_rule(packer, &packed) & packer->rules_mask;
	for (; packer->rules_found[slot]; slot = (slot + 1) & packer->rules_mask) {
		uint32_t number = packer->rules_found[slot] - 1;

		if (memcmp(&packer->rules[number], &packed, sizeof(packed)) == 0) {
			*row = row_of_rule(number);
			return 0;
		}
	}
	packer->rules[packer->rules_count++] = packed;
	packer->rules_found[slot] = (uint32_t)packer->rules_count;
	*row = row_of_rule((uint32_t)packer->rules_count - 1);
	return 0;
}

static int pack_rule(struct packer *packer, const struct rule *rule, uint32_t *row)
{
	struct rule plain;

	if (packer->has_bx && !packer->tracks_bx && rule->kind == RULE_CFA) {
		if (rule->cfa_reg == CFI_BX_X86_64)
			return PACKER_WANTS_BX;
		plain = *rule;
		plain.bx = (struct saved){.kind = SAVED_SAME};
		rule = &plain;
	}
	return row_pack(packer->format, rule, row) ? 0 : add_rule(packer, rule, row);
}

int packer_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct packer *packer = arg;
	uint64_t offset = address - packer->low;
	uint32_t in_block = offset & (BLOCK_BYTES - 1), row;

	if (address < packer->next || offset >> BLOCK_SHIFT > packer->blocks)
		return -EINVAL;
	packer->next = address + 1;
	int r = pack_rule(packer, rule, &row);
	if (r != 0 || row == packer->row || offset >> BLOCK_SHIFT == packer->blocks)
		return r;
	r = open_block(packer, (uint32_t)(offset >> BLOCK_SHIFT));
	if (r < 0)
		return r;
	packer->row = row;
	packer->rows++;
	if (in_block == 0) {
		packer->words[packer->open_at] = row;
		return 0;
	}
	packer->words[packer->open_at] += 1U << ROW_ADDRESS_SHIFT;
	return add_word(packer, in_block << ROW_ADDRESS_SHIFT | row);
}

/* Puts the rules before the index, the first rule next to the index. */
static int put_rules(struct packer *packer)
{
	size_t before = packer->rules_count * RULE_WORDS;
	uint32_t *words = reallocarray(packer->words, before + packer->count, sizeof(*words));

	if (!words)
		return -ENOMEM;
	packer->words = words;
	memmove(words + before, words, packer->count * sizeof(*words));
	for (size_t i = 0; i < packer->rules_count; i++)
		memcpy(words + before - (i + 1) * RULE_WORDS, &packer->rules[i],
		       sizeof(packer->rules[i]));
	packer->count += before;
	return 0;
}

int packer_finish(struct packer *packer, struct table_image *image)
{
	int r = open_block(packer, packer->blocks);

	if (r < 0)
		return r;
	r = put_rules(packer);
	if (r < 0)
		return r;
	if (packer->count > (size_t)CHUNKS_MAX / 2 * CHUNK_WORDS)
		return -EFBIG; /* no arena is so large */
	image->words = TAKE_PTR(packer->words);
	image->count = packer->count;
	image->index = (uint32_t)(packer->rules_count * RULE_WORDS);
	image->blocks = packer->blocks;
	image->low = packer->low;
	image->tracks_bx = packer->tracks_bx;
	image->stats.rows = packer->rows;
	return 0;
}
