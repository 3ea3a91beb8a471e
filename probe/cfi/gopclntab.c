// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts about Go on x86-64 (its calling convention, cmd/compile/abi-internal.md, and the assembler
 * in cmd/internal/obj/x86/obj6.go):
 *
 * - The table's steps are exact for every instruction, in assembly too, except in functions that
 *   write the stack pointer (below). CFA = sp + delta + 8.
 * - A function that has a frame and calls others saves rbp right below the return address, at
 *   CFA - 16. In compiled code, and in assembly with a declared frame, the assembler adds that;
 *   assembly without one (NOFRAME) may save rbp or not. The table doesn't tell, so the instruction
 *   that made the frame is read. If that instruction saves rbp, the rule says so; else the caller's
 *   rbp is lost. (A Go function doesn't need rbp to find its caller, but the functions of the next
 *   paragraph do, and C.)
 * - In a function without a frame rbp is the caller's: Go's own rules forbid changing rbp without
 *   saving it, as Go's runtime walks frame pointers too.
 *
 * Functions that write the stack pointer switch to another stack: systemstack, asmcgocall, mcall,
 * cgocallback, calls of the vDSO. They have a frame, so rbp points to the saved rbp, on the stack
 * that the function was called on, whichever stack sp is on. CFA = rbp + 16 leads back as long as
 * callees save rbp, which is why the rules record it. (Go's runtime ensures that since 1.21; before
 * that, systemstack and asmcgocall had no frame.) The rule has `signal`, as only then may the
 * caller's stack lie below this one. The caller's pc is then looked up unchanged, which does no
 * harm: the rule behind a call is the rule at the call. Three functions differ:
 * - mcall never returns to its caller, which may run elsewhere meanwhile. mcall pushes on the
 *   scheduler's stack; from there on mcall is the root.
 * - morestack and gogo have no frame. Once sp is written, the way back is in the goroutine's data,
 *   which no rule expresses: unsupported.
 */
#include "cfi/gopclntab.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/pclntab.h"

#define ROWS_MAX (64U << 20)
#define CODE_MAX 1024 /* bytes of a function without a frame that are searched for writes to sp */

/* DWARF's register numbers. */
#define RBP 6
#define RSP 7

enum how {
	HOW_STEPS,
	HOW_ROOT,
	HOW_SWITCH, /* writes the stack pointer */
	HOW_MCALL,
	HOW_MORESTACK,
	HOW_INTERRUPTED, /* made to look as if called by the function that a signal interrupted */
	HOW_SIGRETURN,	 /* signal handlers return to it; the kernel's saved state is above it */
};

/* Functions known by name, as flags don't tell how to unwind them, or not in all formats. */
static const struct {
	const char *name;
	enum how how;
} known[] = {
	{"_rt0_amd64", HOW_ROOT},
	{"_rt0_amd64_linux", HOW_ROOT},
	{"runtime.asmcgocall", HOW_SWITCH},
	{"runtime.asyncPreempt", HOW_INTERRUPTED},
	{"runtime.cgocallback", HOW_SWITCH},
	{"runtime.goexit", HOW_ROOT},
	{"runtime.gogo", HOW_SWITCH},
	{"runtime.mcall", HOW_MCALL},
	{"runtime.morestack", HOW_MORESTACK},
	{"runtime.mstart", HOW_ROOT},
	{"runtime.nanotime1", HOW_SWITCH},
	{"runtime.rt0_go", HOW_ROOT},
	{"runtime.sigpanic", HOW_INTERRUPTED},
	{"runtime.sigreturn", HOW_SIGRETURN},
	{"runtime.sigreturn__sigaction", HOW_SIGRETURN},
	{"runtime.sigtramp", HOW_STEPS}, /* a root in Go's flags, but returns as others do */
	{"runtime.systemstack", HOW_SWITCH},
	{"runtime.walltime", HOW_SWITCH},
	{"runtime.walltime1", HOW_SWITCH},
};

struct pclntab_reader {
	struct pclntab *table;
	const struct elf_image *image;
	row_sink sink;
	void *arg;
	struct cfi_stats *stats;
	struct rule last;
	uint64_t last_address;
	bool begun;
};

/* A function's frame. Addresses are those from which a statement holds; UINT64_MAX: nowhere. */
struct go_frame {
	enum how how;
	uint64_t saved;	    /* the caller's rbp is at CFA - 16 */
	uint64_t pointed;   /* rbp points to CFA - 16 */
	uint64_t written;   /* the stack pointer may lead elsewhere */
	uint8_t return_reg; /* holds the popped return address where delta is -8; 0: none */
};

static int emit_row(struct pclntab_reader *reader, uint64_t address, const struct rule *rule)
{
	if (reader->begun && rule_is_equal(rule, &reader->last))
		return 0;
	if (reader->stats->rows >= ROWS_MAX)
		return -EFBIG;
	reader->begun = true;
	reader->last = *rule;
	reader->last_address = address;
	reader->stats->rows++;
	if (rule->kind == RULE_UNSUPPORTED)
		reader->stats->unsupported[rule->unsupported]++;
	return reader->sink(reader->arg, address, rule);
}

static int emit_kind(struct pclntab_reader *reader, uint64_t address, enum rule_kind kind)
{
	struct rule rule;

	memset(&rule, 0, sizeof(rule));
	rule.kind = kind;
	return emit_row(reader, address, &rule);
}

static enum how how_of(struct pclntab_reader *reader, const struct pclntab_function *function)
{
	char name[64];

	pclntab_name(reader->table, function, name, sizeof(name));
	if (strncmp(name, "runtime.", 8) == 0 || name[0] == '_') {
		char *suffix = strstr(name, ".abi0");

		if (suffix)
			*suffix = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			if (strcmp(name, known[i].name) == 0)
				return known[i].how;
		}
	}
	if (function->flags & PCLNTAB_TOP)
		return HOW_ROOT;
	return function->flags & PCLNTAB_SP_WRITE ? HOW_SWITCH : HOW_STEPS;
}

/*
 * Finds out how a function saves rbp. `at` is the address behind the instruction that made the
 * frame of `delta` bytes:
 *	push %rbp	then mov %rsp,%rbp				since Go 1.21; delta 8
 *	sub $n,%rsp	then mov %rbp,n-8(%rsp), lea n-8(%rsp),%rbp	before; delta n
 * The mov and lea of the second form have two lengths, and a third if n - 8 is 0.
 */
static void find_saved(struct pclntab_reader *reader, uint64_t start, uint64_t at, int64_t delta,
		       struct go_frame *frame)
{
	uint8_t before[2] = {0}, code[16] = {0};
	size_t had = at - start < 2 ? (size_t)(at - start) : 2;
	int32_t distance;

	/* At the end of a segment there may be fewer bytes; then the code isn't of these forms. */
	if (pclntab_code(reader->table, at - had, before + 2 - had, had) < 0 ||
	    pclntab_code(reader->table, at, code, sizeof(code)) < 0)
		return;
	if (delta == 8 && before[1] == 0x55) {
		bool points = memcmp(code, "\x48\x89\xe5", 3) == 0;

		if (!points && before[0] == 0x41) /* push %r13, perhaps */
			return;
		frame->saved = at;
		frame->pointed = points ? at + 3 : UINT64_MAX;
	} else if (delta == 8 && memcmp(code, "\x48\x89\x2c\x24", 4) == 0) {
		frame->saved = at + 4;
		if (memcmp(code + 4, "\x48\x8d\x2c\x24", 4) == 0)
			frame->pointed = at + 8;
	} else if (memcmp(code, "\x48\x89\x6c\x24", 4) == 0 && (int8_t)code[4] == delta - 8) {
		frame->saved = at + 5;
		if (memcmp(code + 5, "\x48\x8d\x6c\x24", 4) == 0 && code[9] == code[4])
			frame->pointed = at + 10;
	} else if (memcmp(code, "\x48\x89\xac\x24", 4) == 0) {
		memcpy(&distance, code + 4, sizeof(distance));
		if (distance != delta - 8)
			return;
		frame->saved = at + 8;
		if (memcmp(code + 8, "\x48\x8d\xac\x24", 4) == 0 &&
		    memcmp(code + 12, code + 4, sizeof(distance)) == 0)
			frame->pointed = at + 16;
	}
}

/*
 * Returns the address behind the first byte of the first instruction that may write the stack
 * pointer (mov from memory or a register, lea, and); UINT64_MAX if there is none; the function's
 * start if its code is too long or can't be read. The bytes may be the end of another instruction:
 * that costs a stack marked as truncated, never a wrong stack.
 */
static uint64_t find_written(struct pclntab_reader *reader, const struct pclntab_function *function)
{
	uint64_t bytes = function->end - function->start;
	uint8_t code[CODE_MAX];

	if (bytes > sizeof(code) ||
	    pclntab_code(reader->table, function->start, code, (size_t)bytes) < 0)
		return function->start;
	for (size_t i = 0; i + 2 < bytes; i++) {
		uint8_t rex = code[i], opcode = code[i + 1], operands = code[i + 2];
		bool to_rsp = (rex & 0xfc) == 0x48 && (operands & 0x38) == 0x20;

		if ((to_rsp && (opcode == 0x8b || opcode == 0x8d)) ||
		    ((rex & 0xfb) == 0x48 && opcode == 0x89 && (operands & 0xc7) == 0xc4) ||
		    (rex == 0x48 && (opcode == 0x81 || opcode == 0x83) && operands == 0xe4))
			return function->start + i + 1;
	}
	return UINT64_MAX;
}

/* Finds the pop %r8…%r15 that keeps the return address in a register: around vfork() a function
 * does so (pop %r12), as the child overwrites the return address on the stack. */
static void find_popped(struct pclntab_reader *reader, uint64_t at, struct go_frame *frame)
{
	uint8_t code[2];

	if (pclntab_code(reader->table, at - 2, code, sizeof(code)) == 0 && code[0] == 0x41 &&
	    (code[1] & 0xf8) == 0x58)
		frame->return_reg = 8 + (code[1] & 7);
}

static void find_frame(struct pclntab_reader *reader, const struct pclntab_function *function,
		       struct go_frame *frame)
{
	struct pclntab_step step = pclntab_steps(reader->table, function);

	*frame = (struct go_frame){how_of(reader, function), UINT64_MAX, UINT64_MAX, UINT64_MAX, 0};
	while (pclntab_next(reader->table, function, &step) > 0) {
		if (step.delta > 0) {
			find_saved(reader, function->start, step.from, step.delta, frame);
			break;
		}
		if (step.delta == -8)
			find_popped(reader, step.from, frame);
	}
	if (frame->how == HOW_MCALL || frame->how == HOW_MORESTACK ||
	    (frame->how == HOW_SWITCH && frame->pointed == UINT64_MAX))
		frame->written = find_written(reader, function);
}

static void make_rule(const struct go_frame *frame, uint64_t address, int64_t delta,
		      struct rule *rule)
{
	bool switches = frame->how == HOW_SWITCH || frame->how == HOW_MCALL;

	memset(rule, 0, sizeof(*rule));
	if (address >= frame->written && frame->how != HOW_SWITCH) {
		rule->kind = RULE_END;
		return;
	}
	rule->kind = RULE_UNSUPPORTED;
	if (address >= frame->written) {
		rule->unsupported = UNSUPPORTED_CFA_EXPRESSION;
		return;
	}
	bool popped = delta == -8 && frame->return_reg;
	if ((delta < 0 && !popped) || delta > INT32_MAX - 8) {
		rule->unsupported = UNSUPPORTED_CFA_OFFSET;
		return;
	}
	rule->kind = RULE_CFA;
	rule->cfa_reg = RSP;
	rule->cfa_offset = (int32_t)delta + 8;
	rule->signal = frame->how == HOW_INTERRUPTED;
	rule->ra = popped ? (struct saved){.kind = SAVED_LOST, .reg = frame->return_reg}
			  : (struct saved){.kind = SAVED_AT_CFA, .offset = -8};
	if (switches && delta >= 8 && address >= frame->pointed) {
		rule->cfa_reg = RBP;
		rule->cfa_offset = 16;
		rule->signal = true; /* the caller's stack may lie below */
	}
	if (delta > 0 && frame->saved == UINT64_MAX)
		rule->fp.kind = SAVED_LOST;
	else if (delta >= 8 && address >= frame->saved)
		rule->fp = (struct saved){.kind = SAVED_AT_CFA, .offset = -16};
}

/* Gives the rows of one step, in parts: `saved`, `pointed`, `written` may begin within a step. */
static int read_step(struct pclntab_reader *reader, const struct go_frame *frame,
		     const struct pclntab_step *step)
{
	const uint64_t parts[] = {frame->saved, frame->pointed, frame->written};
	uint64_t at = step->from;
	int r = 0;

	while (r == 0 && at < step->to) {
		uint64_t next = step->to;
		struct rule rule;

		make_rule(frame, at, step->delta, &rule);
		r = emit_row(reader, at, &rule);
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			if (parts[i] > at && parts[i] < next)
				next = parts[i];
		}
		at = next;
	}
	return r;
}

/*
 * Gives the row of runtime.sigreturn. The kernel put {struct ucontext, siginfo} above the return
 * address that leads here: rsp points to the ucontext, in which the registers begin at byte 40
 * (arch/x86/include/uapi/asm/sigcontext.h). Handlers return to the function's first byte, and
 * callers are looked up at the byte before a return address, so the row includes that byte if it is
 * filler.
 */
static int read_sigreturn(struct pclntab_reader *reader, const struct pclntab_function *function)
{
	struct rule rule;
	uint8_t before;

	memset(&rule, 0, sizeof(rule));
	rule.kind = RULE_CFA;
	rule.signal = true;
	rule.cfa_reg = RSP;
	rule.cfa_deref = true;
	rule.cfa_offset = 160;
	rule.ra = (struct saved){.kind = SAVED_AT_REG, .offset = 168};
	rule.fp = (struct saved){.kind = SAVED_AT_REG, .offset = 120};
	bool filled = reader->begun && reader->last_address < function->start - 1 &&
		      pclntab_code(reader->table, function->start - 1, &before, 1) == 0 &&
		      before == 0xcc;
	return emit_row(reader, function->start - filled, &rule);
}

/* Gives a function's rows. Behind the last step is only filler, which never runs: the last rule may
 * hold there. */
static int read_function(struct pclntab_reader *reader, const struct pclntab_function *function)
{
	struct pclntab_step step = pclntab_steps(reader->table, function);
	struct go_frame frame;
	int r;

	if (!function->steps)
		return emit_kind(reader, function->start, RULE_NONE);
	find_frame(reader, function, &frame);
	if (frame.how == HOW_ROOT)
		return emit_kind(reader, function->start, RULE_END);
	if (frame.how == HOW_SIGRETURN)
		return read_sigreturn(reader, function);
	while ((r = pclntab_next(reader->table, function, &step)) > 0) {
		r = read_step(reader, &frame, &step);
		if (r != 0)
			return r;
	}
	if (r == 0)
		return 0;
	reader->stats->broken++;
	return emit_kind(reader, step.to, RULE_NONE);
}

static bool is_code(const struct elf_image *image, const struct pclntab_function *function)
{
	for (size_t i = 0; i < image->segments_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t distance = function->start - segment->address;

		if (distance < segment->file_bytes)
			return function->end - function->start <= segment->file_bytes - distance;
	}
	return false;
}

static int read_functions(struct pclntab_reader *reader)
{
	uint32_t count = pclntab_count(reader->table);
	struct cfi_stats *stats = reader->stats;
	uint64_t end = 0; /* of the functions read so far */
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		struct pclntab_function function;

		if (pclntab_function(reader->table, i, &function) < 0 ||
		    !is_code(reader->image, &function)) {
			stats->broken++;
			continue;
		}
		if (function.start < end) {
			stats->overlapping++;
			continue;
		}
		if (reader->begun && function.start > end)
			r = emit_kind(reader, end, RULE_NONE);
		if (r == 0)
			r = read_function(reader, &function);
		stats->functions++;
		end = function.end;
	}
	if (r == 0 && reader->begun)
		r = emit_kind(reader, end, RULE_NONE);
	return r != 0 || reader->begun ? r : -EBADMSG;
}

int gopclntab_range(int fd, const struct elf_image *image, uint64_t *start, uint64_t *end)
{
	struct pclntab_function first, last;
	struct pclntab *table = NULL;
	int r = pclntab_open(&table, fd, image);

	if (r < 0)
		return r;
	if (pclntab_function(table, 0, &first) < 0 || !is_code(image, &first) ||
	    pclntab_function(table, pclntab_count(table) - 1, &last) < 0 || !is_code(image, &last))
		r = -EBADMSG;
	pclntab_free(table);
	if (r < 0)
		return r;
	*start = first.start;
	*end = last.end;
	return *start < *end ? 0 : -EBADMSG;
}

int gopclntab_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
		   struct cfi_stats *stats)
{
	struct pclntab_reader reader = {.image = image, .sink = sink, .arg = arg, .stats = stats};

	*stats = (struct cfi_stats){0};
	int r = pclntab_open(&reader.table, fd, image);
	if (r < 0)
		return r;
	r = read_functions(&reader);
	pclntab_free(reader.table);
	return r;
}
