// SPDX-License-Identifier: GPL-2.0-or-later
#include "luajit/luajit_rows.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SP	       7 /* DWARF numbers */
#define WORD	       8
#define FRAME_BYTES    80
#define CODE_MIN       4096u /* of the interpreter; it has some 16 KiB */
#define CODE_MAX       (256u * 1024)
#define LOADS_MIN      4  /* that read the state's address from the frame */
#define STORE_DISTANCE 16 /* bytes from where the state's frame is restored to where it is left */

/* Instructions of the interpreter. */
struct mark {
	const char *bytes;
	size_t count;
};

#define MARK(bytes)                                                                                \
	{                                                                                          \
		bytes, sizeof(bytes) - 1                                                           \
	}

/* push rbp; push rbx; push r15; push r14; sub rsp, 40 */
static const struct mark enters = MARK("\x55\x53\x41\x57\x41\x56\x48\x83\xec\x28");
/* the same without the first, which a callback's own code has done */
static const struct mark calls_back = MARK("\x53\x41\x57\x41\x56\x48\x83\xec\x28");
/* add rsp, 40; pop r14; pop r15; pop rbx; pop rbp */
static const struct mark leaves = MARK("\x48\x83\xc4\x28\x41\x5e\x41\x5f\x5b\x5d");
/* mov rbp, [rsp + 0x10] */
static const struct mark loads_state = MARK("\x48\x8b\x6c\x24\x10");
/* mov [rbp + 0x50], rsp; or r15, which is rsp + 1: the frame is the state's newest from there on */
static const struct mark tells_state[] = {MARK("\x48\x89\x65\x50"), MARK("\x4c\x89\x7d\x50")};
/* mov [rbp + 0x50], rcx: it is no longer */
static const struct mark untells_state = MARK("\x48\x89\x4d\x50");

/* Where in a mark the frame's size changes, and the words from sp to the CFA from there on. */
struct step {
	uint8_t at, words;
};

static const struct step entering[] = {{0, 1}, {1, 2}, {2, 3}, {4, 4}, {6, 5}, {10, 10}};
static const struct step called_back[] = {{0, 2}, {1, 3}, {3, 4}, {5, 5}, {9, 10}};
static const struct step leaving[] = {{4, 5}, {6, 4}, {8, 3}, {9, 2}, {10, 1}};

/* The interpreter's code, and where its rows have come to. */
struct luajit_code {
	struct luajit_rows *rows;
	const uint8_t *code;
	size_t bytes, at;
	bool is_shown;	    /* the state knows the frame here: it can be searched for */
	struct rule before; /* the last row that was given */
};

static bool is_mark(const struct luajit_code *of, size_t at, const struct mark *mark)
{
	return of->bytes - at >= mark->count &&
	       memcmp(of->code + at, mark->bytes, mark->count) == 0;
}

static bool has_mark(const struct luajit_code *of, size_t at, const struct mark *mark, size_t bytes)
{
	for (size_t end = at + bytes; at < end && at < of->bytes; at++) {
		if (is_mark(of, at, mark))
			return true;
	}
	return false;
}

static size_t count_marks(const struct luajit_code *of, const struct mark *mark)
{
	size_t count = 0;

	for (size_t at = 0; at < of->bytes; at++)
		count += is_mark(of, at, mark);
	return count;
}

/* A frame of so many words, which has rbp below the return address, and rbx below that, if it has
 * them. */
static struct rule rule_of_frame(unsigned words)
{
	struct rule rule;

	memset(&rule, 0, sizeof(rule)); /* rules are compared by their bytes */
	rule.kind = RULE_CFA;
	rule.cfa_reg = SP;
	rule.cfa_offset = (int32_t)words * WORD;
	rule.ra = (struct saved){.kind = SAVED_AT_CFA, .offset = -WORD};
	if (words > 1)
		rule.fp = (struct saved){.kind = SAVED_AT_CFA, .offset = -2 * WORD};
	if (words > 2)
		rule.bx = (struct saved){.kind = SAVED_AT_CFA, .offset = -3 * WORD};
	return rule;
}

static int give_row(struct luajit_code *of, size_t at, const struct rule *rule)
{
	if (at >= of->bytes || rule_is_equal(&of->before, rule))
		return 0;
	of->before = *rule;
	return of->rows->sink(of->rows->arg, of->rows->from + at, rule);
}

static int give_search(struct luajit_code *of, size_t at)
{
	struct rule rule;

	memset(&rule, 0, sizeof(rule));
	rule.kind = RULE_LUAJIT;
	return give_row(of, at, &rule);
}

static int give_frame(struct luajit_code *of, size_t at, unsigned words)
{
	const struct rule rule = rule_of_frame(words);

	return give_row(of, at, &rule);
}

static int give_steps(struct luajit_code *of, const struct step *steps, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = give_frame(of, of->at + steps[i].at, steps[i].words);
	return r;
}

/* Returns how many bytes the jump or return has that stands behind a frame that was left; 0: there
 * is none. */
static size_t bytes_of_exit(const struct luajit_code *of, size_t at)
{
	if (at >= of->bytes)
		return 0;
	return of->code[at] == 0xc3 ? 1 : of->code[at] == 0xeb ? 2 : of->code[at] == 0xe9 ? 5 : 0;
}

/* Gives the rows that begin in the instruction at of->at, if it is one of the marks, and goes
 * behind it. */
static int give_next(struct luajit_code *of)
{
	int r = 0;

	if (is_mark(of, of->at, &enters)) {
		r = give_steps(of, entering, ARRAY_SIZE(entering));
		of->is_shown = false;
		of->at += enters.count;
		return r;
	}
	if (is_mark(of, of->at, &calls_back)) {
		r = give_steps(of, called_back, ARRAY_SIZE(called_back));
		of->is_shown = false; /* a function of C tells the state */
		of->at += calls_back.count;
		return r;
	}
	if (is_mark(of, of->at, &leaves)) {
		r = give_steps(of, leaving, ARRAY_SIZE(leaving));
		of->at += leaves.count;
		of->at += bytes_of_exit(of, of->at);
		return r ? r : give_search(of, of->at);
	}
	if (is_mark(of, of->at, &untells_state) &&
	    has_mark(of, of->at, &leaves, untells_state.count + STORE_DISTANCE)) {
		of->at += untells_state.count;
		return give_frame(of, of->at, FRAME_BYTES / WORD);
	}
	for (size_t i = 0; i < ARRAY_SIZE(tells_state) && !of->is_shown; i++) {
		if (!is_mark(of, of->at, &tells_state[i]))
			continue;
		of->is_shown = true;
		of->at += tells_state[i].count;
		return give_search(of, of->at);
	}
	of->at++;
	return 0;
}

static bool has_odd_exit(const struct luajit_code *of)
{
	for (size_t at = 0; at < of->bytes; at++) {
		if (is_mark(of, at, &leaves) && !bytes_of_exit(of, at + leaves.count))
			return true;
	}
	return false;
}

static bool is_interpreter(const struct luajit_code *of)
{
	return !has_odd_exit(of) && count_marks(of, &enters) >= 2 &&
	       count_marks(of, &leaves) >= 1 && count_marks(of, &tells_state[0]) >= 1 &&
	       count_marks(of, &loads_state) >= LOADS_MIN;
}

static int give_interpreter(struct luajit_code *of)
{
	of->is_shown = true;
	int r = give_search(of, 0);
	while (r == 0 && of->at < of->bytes)
		r = give_next(of);
	return r;
}

/* Gives the row that is held, which ends before `to`. */
static int give_held(struct luajit_rows *rows, uint64_t to)
{
	uint64_t offset, bytes = to - rows->from;
	struct luajit_code of = {.rows = rows};

	if (!rows->holds)
		return 0;
	rows->holds = false;
	if (bytes < CODE_MIN || bytes > CODE_MAX ||
	    !elf_segment_offset(rows->image->segments, rows->image->segments_count, rows->from,
				&offset))
		return rows->sink(rows->arg, rows->from, &rows->rule);
	_cleanup_free_ uint8_t *code = malloc(bytes);
	if (!code)
		return -ENOMEM;
	int r = elf_pread(rows->fd, code, bytes, offset);
	if (r == -EIO) /* the segment ends before the row does */
		return rows->sink(rows->arg, rows->from, &rows->rule);
	if (r < 0)
		return r;
	of.code = code;
	of.bytes = bytes;
	if (!is_interpreter(&of))
		return rows->sink(rows->arg, rows->from, &rows->rule);
	rows->found = true;
	return give_interpreter(&of);
}

/* What the CFI of the interpreter says. */
static bool is_interpreters(const struct rule *rule)
{
	struct rule expected = rule_of_frame(FRAME_BYTES / WORD);

	expected.bx = rule->bx;
	return rule_is_equal(rule, &expected);
}

void luajit_rows_begin(struct luajit_rows *rows, int fd, const struct elf_image *image,
		       row_sink sink, void *arg)
{
	*rows = (struct luajit_rows){.fd = fd, .image = image, .sink = sink, .arg = arg};
}

int luajit_rows_take(void *arg, uint64_t address, const struct rule *rule)
{
	struct luajit_rows *rows = arg;
	int r = give_held(rows, address);

	if (r)
		return r;
	if (rows->image->machine != EM_X86_64 || !is_interpreters(rule))
		return rows->sink(rows->arg, address, rule);
	rows->holds = true;
	rows->from = address;
	rows->rule = *rule;
	return 0;
}

int luajit_rows_end(struct luajit_rows *rows)
{
	return give_held(rows, rows->from); /* a function is behind the interpreter, or padding */
}
