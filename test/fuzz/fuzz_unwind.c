// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes as a process: its registers, memory, mappings and the arena, good or damaged. Whatever they
 * are, a walk ends, reads nothing outside of what is its own (ASan), and says what it came to.
 */
#include "fuzz.h"

#include "unit/walk/walk_maker.h"

#include "base/hash.h"

#define PIECE	    0x10000ULL
#define CODE	    0x400000ULL
#define CODE_BYTES  0x4000
#define STACK	    0x7ff000
#define STACK_BYTES 0x2000
#define SITE	    64 /* bytes of code between places that calls return to */
#define ROWS	    24
#define ARENA	    (MAKER_CHUNKS * CHUNK_WORDS)

static const uint8_t *input;
static size_t input_bytes;
static uint64_t seed; /* of what follows the input; 0: nothing does */

static bool has_more(void)
{
	return input_bytes || seed;
}

/* The next `bytes` of the input; behind its end zeros, or what a short input makes up. */
static uint64_t take(size_t bytes)
{
	uint64_t value = 0;
	size_t has = bytes < input_bytes ? bytes : input_bytes;

	if (!has && seed) {
		seed = hash_bytes(seed, &seed, sizeof(seed)) | 1;
		return bytes < 8 ? seed >> (64 - 8 * bytes) : seed;
	}
	memcpy(&value, input, has);
	input += has;
	input_bytes -= has;
	return value;
}

/* Mostly somewhere near what there is. */
static uint64_t take_address(void)
{
	switch (take(1) % 8) {
	case 0:
		return take(8);
	case 1:
		return 0;
	case 2:
		return CODE + (take(1) & 1) * PIECE + take(2) % CODE_BYTES;
	case 3:
	case 4:
		return CODE + (take(1) & 1) * PIECE + take(1) % (CODE_BYTES / SITE) * SITE;
	case 5:
		return STACK + take(2) % STACK_BYTES;
	default:
		return STACK + take(2) % (STACK_BYTES / 8) * 8;
	}
}

static uint32_t take_word_number(void)
{
	uint32_t near_end = CHUNK_WORDS * (1 + take(1) % MAKER_CHUNKS);

	switch (take(1) % 4) {
	case 0:
		return (uint32_t)take(4);
	case 1:
		return near_end - (uint32_t)take(1);
	default:
		return MAKER_TABLE + (uint32_t)take(2);
	}
}

/* ---- a process ---- */

static struct rule signal_rule(void)
{
	return (struct rule){
		.kind = RULE_CFA,
		.cfa_reg = ARCH_SP,
		.cfa_offset = ARCH_CONTEXT_SP,
		.cfa_deref = true,
		.signal = true,
		.ra = {.kind = SAVED_AT_REG, .offset = ARCH_CONTEXT_PC},
		.fp = {.kind = SAVED_AT_REG, .offset = ARCH_CONTEXT + 80},
	};
}

static struct rule take_rule(void)
{
	uint64_t bits = take(1) & 15 ? take(4) : 0;
	struct rule rule = {.kind = bits % 8 < 5 ? RULE_CFA : bits % 4};

	if (rule.kind == RULE_FRAMES && bits >> 31)
		rule.kind = RULE_LUAJIT;

	if (rule.kind == RULE_UNSUPPORTED)
		rule.unsupported = UNSUPPORTED_RA;
	if (rule.kind == RULE_PLT)
		rule.plt_from = bits >> 8 & 15;
	if (rule.kind != RULE_CFA)
		return rule;
	if (bits >> 12 == 0)
		return signal_rule();
	rule.cfa_reg = bits >> 3 & 1 ? bits >> 4 & 15 : bits >> 4 & 1 ? ARCH_FP : ARCH_SP;
	rule.cfa_offset = (int32_t)(bits >> 8 & 31) * 8;
	rule.ra = (struct saved){.kind = SAVED_AT_CFA, .offset = -8};
	if (bits >> 13 & 1)
		rule.fp = (struct saved){.kind = SAVED_AT_CFA, .offset = -16};
	if (bits >> 14 & 3) /* as most rows are */
		return rule;
	rule.cfa_deref = bits >> 16 & 1;
	rule.signal = bits >> 17 & 1;
	rule.cfa_post = rule.cfa_deref ? (int32_t)(bits >> 18 & 63) - 16 : 0;
	rule.fp.kind = bits >> 24 & 3;
	rule.bx = (struct saved){.kind = bits >> 26 & 3, .offset = (int8_t)take(1)};
	rule.ra = (struct saved){.kind = bits >> 28 & 3, .offset = (int8_t)take(1)};
	if (rule.ra.kind == SAVED_LOST)
		rule.ra.reg = bits >> 18 & 15;
	else if (rule.cfa_deref)
		rule.cfa_index = bits >> 30 ? take(1) & 15 : 0;
	return rule;
}

/* A small table that the packer made. */
static struct span take_table(uint64_t start, uint32_t place)
{
	struct maker_row rows[ROWS];
	uint64_t address = start;
	size_t count = 0;

	while (count < ROWS && address < start + CODE_BYTES) {
		rows[count++] = (struct maker_row){address, take_rule()};
		address += 1 + (take(2) & 0x7ff);
	}
	return maker_table(start, CODE_BYTES, rows, count, place);
}

static struct span take_span(void)
{
	uint64_t start = take_address();

	return (struct span){
		.start = start,
		.end = start + take(3),
		.base = take(1) & 1 ? start : take_address(),
		.index = take_word_number(),
		.what = (uint32_t)take(4),
	};
}

static void take_spans(void)
{
	uint64_t how = take(1);

	maker_span(take_table(CODE, MAKER_TABLE));
	if (how & 1)
		maker_span(take_table(CODE + PIECE, CHUNK_WORDS - (uint32_t)take(1)));
	else
		maker_span((struct span){CODE + PIECE, CODE + PIECE + CODE_BYTES, 0, 0,
					 (uint32_t)SPAN_BARE << SPAN_KIND_SHIFT |
						 (how & 64 ? SPAN_LUAJIT : 0)});
	maker.overlaps = (how >> 1 & 3) || (how >> 3 & 7) < 2;
	for (uint64_t more = how >> 1 & 3; more; more--)
		maker_span(take_span());
	if ((how >> 3 & 7) == 0) /* told wrong */
		maker.walk->spans_count = (uint32_t)take(4);
	if ((how >> 3 & 7) == 1)
		maker.walk->spans = take_word_number() & ~1U;
}

/* What a call left, or a function's first and last instructions. */
static void take_site(uint64_t at)
{
	static const char *const places[] = {"\x55", "\xc3", "\xf3\x0f\x1e\xfa\x55",
					     "\x48\x89\xe5"};
	uint64_t how = take(1);

	if ((how & 3) < 2)
		maker_call(at, how & 1 ? take_address() : at + 8);
	else if ((how & 3) == 2)
		maker_poke(at - 2, "\xff\xd0", 2);
	if (how & 4)
		maker_poke(at, places[how >> 3 & 3], strlen(places[how >> 3 & 3]));
}

static void damage_word(uint32_t word)
{
	if (word - MAKER_SPANS < maker.spans_count * SPAN_WORDS)
		maker.overlaps = true;
	maker_word(word, (uint32_t)take(4));
}

static void take_memory(void)
{
	uint8_t *stack = maker_memory(STACK, STACK_BYTES);

	for (uint64_t at = SITE; at < CODE_BYTES && has_more(); at += SITE) {
		take_site(CODE + at);
		take_site(CODE + PIECE + at);
	}
	for (uint64_t count = take(1) / 16; count && has_more(); count--) {
		uint64_t how = take(1), address = CODE + (how & 1 ? PIECE : 0);

		address += 8 + take(2) % (CODE_BYTES - 16);
		if (how & 2)
			maker_call(address, take_address());
		else
			maker_put(address - 8, take(8));
	}
	for (uint64_t count = take(1) / 16; count && has_more(); count--)
		damage_word(take_word_number() % ARENA);
	if (take(1) & 1) { /* frames alike all over */
		uint64_t words[4] = {take_address(), take_address(), take_address(),
				     take_address()};

		for (size_t at = 0; at < STACK_BYTES; at += sizeof(words))
			memcpy(stack + at, words, sizeof(words));
	}
	for (size_t at = 0; at < STACK_BYTES && has_more(); at += 8) {
		uint64_t word = take_address();

		memcpy(stack + at, &word, sizeof(word));
	}
}

/* What probes hide: return addresses, the first frame. */
static void take_probes(void)
{
	uint64_t how = take(1);

	for (size_t i = 0; i < (how & 3); i++) {
		maker.returns[i][0] = take_address();
		maker.returns[i][1] = take_address();
	}
	if (how & 4)
		maker.page = how & 8 ? maker.regs.pc - (how >> 4) : take_address();
	if (how & 64 && maker.page) {
		maker.place[0] = maker.page;
		maker.place[1] = take_address();
	}
}

static void take_process(void)
{
	maker_begin();
	maker_map(CODE, CODE_BYTES);
	maker_map(CODE + PIECE, CODE_BYTES);
	maker_map(STACK, STACK_BYTES);
	maker.regs.pc = take_address();
	for (int i = 0; i < ARCH_REGS; i++)
		maker.regs.gpr[i] = take_address();
	take_spans();
	take_memory();
	take_probes();
}

/* ---- what must hold ---- */

static void check_frames(void)
{
	const struct walk *walk = maker.walk;
	uint32_t count = walk->head.words_count;

	demand(count >= 1 && count <= USER_FRAMES_MAX + 1); /* the interrupted one, its callers */
	demand(maker.page || walk->words[0] == ((uint64_t)FRAME_NATIVE << FRAME_KIND_SHIFT |
						(maker.regs.pc & FRAME_ADDRESS)));
	for (uint32_t i = 1; i < count; i++) {
		uint64_t kind = walk->words[i] >> FRAME_KIND_SHIFT;

		demand(kind == FRAME_NATIVE || kind == FRAME_NATIVE_RETURN);
	}
	for (uint32_t i = count; i <= USER_FRAMES_MAX; i++)
		if (walk->words[i] != 0) /* one frame that wasn't confirmed */
			demand(i == count && walk->head.truncated == TRUNCATED_FRAME_POINTER);
}

static void check_cause(unsigned why)
{
	switch (why) {
	case TRUNCATED_NOT:
	case TRUNCATED_FRAME_POINTER:
	case TRUNCATED_MEMORY:
	case TRUNCATED_TABLE_PENDING:
	case TRUNCATED_NO_TABLE:
	case TRUNCATED_RULE:
	case TRUNCATED_REGISTER:
	case TRUNCATED_ADDRESS:
	case TRUNCATED_ORDER:
	case TRUNCATED_JAVA: /* a span that says it is a VM's */
		break;
	case TRUNCATED_DEPTH:
		demand(maker.walk->head.words_count >= USER_FRAMES_MAX);
		break;
	default:
		abort();
	}
}

/* What is known is what a walk comes to. */
static void check_known(void)
{
	const struct memo *memo = memo_at(maker.walk->memo);
	uint64_t user_hash = memo->user_hash;
	uint32_t truncated = memo->truncated;

	if (!maker_is_known())
		return;
	demand(maker_walk() == truncated);
	demand(maker.walk->head.key.hash == user_hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	input = data;
	input_bytes = bytes;
	seed = 0;
	if (take(1) & 1)
		seed = hash_bytes(1, data, bytes) | 1;
	take_process();
	check_cause(maker_walk());
	check_frames();
	check_known();
	for (int changes = 0; changes < 4 && has_more(); changes++) {
		maker_put(STACK + take(2) % (STACK_BYTES / 8) * 8, take_address());
		check_known();
		maker_walk();
	}
	maker_done();
	return 0;
}
