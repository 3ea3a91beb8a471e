// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/code_refs.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define PIECE_BYTES   65536
#define LONGEST_BYTES 8	  /* of what is looked at from one byte on */
#define PADDING_MAX   256 /* bytes that are skipped */
#define ALIGNMENT     16

/* ---- x86 ---- */

#define CALL	    0xe8
#define JUMP	    0xe9
#define JUMP_SHORT  0xeb
#define CALL_BYTES  5

#define NUMBER	    0xb8 /* and the seven behind it: mov reg, number */
#define NUMBERS	    8
#define NUMBER_LONG 0xc7

/* lea reg, [rip + distance] */
#define LEA	   0x8d
#define LEA_BYTES  7
#define REX_W	   0x48
#define REX_WR	   0x4c
#define MODRM_MASK 0xc7
#define MODRM_RIP  0x05

/* Behind these code doesn't go on; behind a call it may not. */
#define RET	  0xc3
#define TRAP	  0xcc /* int3, which fills up */
#define NOP	  0x90
#define HALT	  0xf4
#define INDIRECT  0xff /* jmp reg */
#define JUMP_REG  0xe0
#define UNDEFINED 0x0f /* ud2 */
#define UD2	  0x0b

struct code_window {
	const uint8_t *bytes;
	size_t count;  /* bytes there are */
	size_t starts; /* where instructions are looked for */
	uint64_t address;
	uint64_t mask; /* of addresses */
	unsigned kinds;
	bool is_looked_at[256]; /* x86: first bytes of instructions of these kinds */
	uint64_t end_ns;
	code_ref_sink sink;
	void *arg;
};

static uint64_t distant_address(const struct code_window *window, uint64_t end, const uint8_t *at)
{
	int32_t distance;

	memcpy(&distance, at, sizeof(distance));
	return (end + (uint64_t)(int64_t)distance) & window->mask;
}

static int meet_x86(const struct code_window *window, size_t i)
{
	const uint8_t *at = window->bytes + i;
	uint64_t site = window->address + i;
	size_t left = window->count - i;
	uint32_t number;

	switch (*at) {
	case CALL:
	case JUMP:
		if (left < CALL_BYTES)
			return 0;
		return window->sink(window->arg, site,
				    distant_address(window, site + CALL_BYTES, at + 1),
				    *at == CALL ? CODE_CALL : CODE_JUMP);
	case REX_W:
	case REX_WR:
		if (left < LEA_BYTES || at[1] != LEA || (at[2] & MODRM_MASK) != MODRM_RIP)
			return 0;
		return window->sink(window->arg, site,
				    distant_address(window, site + LEA_BYTES, at + 3),
				    CODE_ADDRESS);
	default:
		/* mov reg, number */
		if (left < LEA_BYTES)
			return 0;
		memcpy(&number, at + 1 + (*at == NUMBER_LONG), sizeof(number));
		return window->sink(window->arg, site, number, CODE_NUMBER);
	}
}

static void choose_opcodes(bool is_looked_at[256], unsigned kinds)
{
	is_looked_at[CALL] = kinds & 1u << CODE_CALL;
	is_looked_at[JUMP] = kinds & 1u << CODE_JUMP;
	is_looked_at[REX_W] = is_looked_at[REX_WR] = kinds & 1u << CODE_ADDRESS;
	is_looked_at[NUMBER_LONG] = kinds & 1u << CODE_NUMBER;
	for (unsigned i = 0; i < NUMBERS; i++)
		is_looked_at[NUMBER + i] = kinds & 1u << CODE_NUMBER;
}

static int scan_x86(const struct code_window *window)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < window->starts; i++) {
		if (window->is_looked_at[window->bytes[i]])
			r = meet_x86(window, i);
	}
	return r;
}

/* ---- arm64 ---- */

#define ARM_BYTES      4
#define ARM_BL	       0x94000000
#define ARM_B	       0x14000000
#define ARM_B_MASK     0xfc000000
#define ARM_ADRP       0x90000000
#define ARM_ADRP_MASK  0x9f000000
#define ARM_ADD	       0x91000000 /* add x, x, number */
#define ARM_ADD_MASK   0xffc00000
#define ARM_RET	       0xd65f03c0
#define ARM_NOP	       0xd503201f
#define ARM_PAGE       4096
#define ARM_PAGE_SHIFT 12

/* The low `bits` bits as a signed number. */
static int64_t signed_bits(uint64_t value, unsigned bits)
{
	return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static uint32_t word_at(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* adrp x, page; add x, x, number */
static int meet_adrp(const struct code_window *window, uint64_t site, uint32_t word, uint32_t next)
{
	uint32_t reg = word & 0x1f;
	uint64_t pages = (word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
	uint64_t page = (site & ~(uint64_t)(ARM_PAGE - 1)) +
			((uint64_t)signed_bits(pages, 21) << ARM_PAGE_SHIFT);

	if ((next & ARM_ADD_MASK) != ARM_ADD || (next >> 5 & 0x1f) != reg)
		return 0;
	return window->sink(window->arg, site, page + (next >> 10 & 0xfff), CODE_ADDRESS);
}

static int scan_arm64(const struct code_window *window)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < window->starts && window->count - i >= ARM_BYTES;
	     i += ARM_BYTES) {
		uint32_t word = word_at(window->bytes + i);
		uint64_t site = window->address + i;
		uint32_t branch = word & ARM_B_MASK;

		enum code_ref kind = branch == ARM_BL ? CODE_CALL : CODE_JUMP;

		if ((branch == ARM_BL || branch == ARM_B) && window->kinds & 1u << kind)
			r = window->sink(window->arg, site,
					 site + (uint64_t)signed_bits(word, 26) * ARM_BYTES, kind);
		else if (window->kinds & 1u << CODE_ADDRESS && (word & ARM_ADRP_MASK) == ARM_ADRP &&
			 window->count - i >= 2 * ARM_BYTES)
			r = meet_adrp(window, site, word, word_at(window->bytes + i + ARM_BYTES));
	}
	return r;
}

/* ---- both ---- */

static bool is_arm64(const struct elf_image *image)
{
	return image->machine == EM_AARCH64;
}

static bool is_x86(const struct elf_image *image)
{
	return image->machine == EM_X86_64 || image->machine == EM_386;
}

static int scan_segment(int fd, const struct elf_image *image, const struct elf_segment *segment,
			uint8_t *bytes, struct code_window *window)
{
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < segment->file_bytes; at += PIECE_BYTES) {
		uint64_t left = segment->file_bytes - at;
		uint64_t more = PIECE_BYTES + LONGEST_BYTES;

		if (window->end_ns && clock_ns(CLOCK_THREAD_CPUTIME_ID) > window->end_ns)
			return -ETIME;

		window->count = left < more ? (size_t)left : (size_t)more;
		window->starts = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
		window->address = segment->address + at;
		r = elf_pread(fd, bytes, window->count, segment->file_offset + at);
		if (r == 0)
			r = is_arm64(image) ? scan_arm64(window) : scan_x86(window);
	}
	return r;
}

int code_refs_scan(int fd, const struct elf_image *image, unsigned kinds, code_ref_sink sink,
		   void *arg, uint64_t end_ns)
{
	_cleanup_free_ uint8_t *bytes = malloc(PIECE_BYTES + LONGEST_BYTES);
	struct code_window window = {.bytes = bytes,
				     .mask = image->wide ? UINT64_MAX : UINT32_MAX,
				     .kinds = kinds,
				     .sink = sink,
				     .arg = arg,
				     .end_ns = end_ns};
	int r = bytes ? 0 : -ENOMEM;

	if (!is_arm64(image) && !is_x86(image))
		return 0;
	choose_opcodes(window.is_looked_at, kinds);
	for (size_t i = 0; r == 0 && i < image->segments_count; i++)
		r = scan_segment(fd, image, &image->segments[i], bytes, &window);
	return r;
}

/* Reads `bytes` bytes from `address` on. */
static bool read_code(int fd, const struct elf_image *image, uint64_t address, uint8_t *to,
		      size_t bytes)
{
	for (size_t i = 0; i < image->segments_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t skip = address - segment->address;

		if (skip < segment->file_bytes && bytes <= segment->file_bytes - skip)
			return elf_pread(fd, to, bytes, segment->file_offset + skip) == 0;
	}
	return false;
}

/* Returns the bytes from `address` on to the end of its segment. */
static uint64_t code_left(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segments_count; i++) {
		uint64_t skip = address - image->segments[i].address;

		if (skip < image->segments[i].file_bytes)
			return image->segments[i].file_bytes - skip;
	}
	return 0;
}

static bool begins_segment(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segments_count; i++) {
		if (image->segments[i].address == address)
			return true;
	}
	return false;
}

static bool ends_x86(const uint8_t before[CALL_BYTES])
{
	uint8_t last = before[CALL_BYTES - 1], second = before[CALL_BYTES - 2];

	return last == RET || last == TRAP || last == NOP || last == HALT || before[0] == JUMP ||
	       before[0] == CALL || second == JUMP_SHORT || (second == UNDEFINED && last == UD2) ||
	       (second == INDIRECT && (last & 0xf8) == JUMP_REG);
}

bool code_refs_may_begin(int fd, const struct elf_image *image, uint64_t address)
{
	uint8_t before[CALL_BYTES];

	if (is_arm64(image) && address % ARM_BYTES)
		return false;
	if (is_arm64(image) || address % ALIGNMENT == 0 || begins_segment(image, address))
		return true;
	return read_code(fd, image, address - sizeof(before), before, sizeof(before)) &&
	       ends_x86(before);
}

/* Returns the bytes of the padding instruction at `code`, of which `left` are known; 0: it is none.
 * nop with a memory operand has 3 to 8 bytes and prefixes before. */
static size_t padding_x86(const uint8_t *code, size_t left)
{
	static const uint8_t bytes_of_modrm[] = {[0] = 3, [1] = 4, [2] = 7};
	size_t prefixes = 0;

	while (prefixes < left && (code[prefixes] == 0x66 || code[prefixes] == 0x2e))
		prefixes++;
	if (prefixes == 0 && left && code[0] == TRAP)
		return 1;
	if (prefixes < left && code[prefixes] == NOP)
		return prefixes + 1;
	if (left - prefixes < 3 || code[prefixes] != 0x0f || code[prefixes + 1] != 0x1f)
		return 0;
	uint8_t modrm = code[prefixes + 2];
	if (modrm >> 6 == 3)
		return 0;
	return prefixes + bytes_of_modrm[modrm >> 6] + ((modrm & 7) == 4);
}

static size_t padding_arm64(const uint8_t *code, size_t left)
{
	if (left < ARM_BYTES)
		return 0;
	uint32_t word = word_at(code);
	return word == ARM_NOP || word == 0 ? ARM_BYTES : 0;
}

uint64_t code_refs_skip_padding(int fd, const struct elf_image *image, uint64_t address)
{
	uint8_t code[PADDING_MAX];
	uint64_t rest = code_left(image, address);
	size_t left = rest < sizeof(code) ? (size_t)rest : sizeof(code), at = 0, bytes;

	if ((!is_arm64(image) && !is_x86(image)) || !read_code(fd, image, address, code, left))
		return address;
	do {
		bytes = is_arm64(image) ? padding_arm64(code + at, left - at)
					: padding_x86(code + at, left - at);
		at += bytes;
	} while (bytes && at < left);
	return at < left ? address + at : address;
}
