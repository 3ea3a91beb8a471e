// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares rows that are made from code (probe/flow) with those of CFI, for each instruction of a
 * file's functions. `flow_compare [-v] FILE …` prints a line for each file:
 *
 *	FILE functions N large N odd N instructions N reached N claimed N equal N differ N
 *	rbp_lost N ms N
 *
 * large, odd: functions that are refused. instructions: of functions that a call enters, without
 * what fills up between them. reached: some way leads there. claimed: a row was made. equal: CFI
 * says the same of the CFA and of where the caller's rbp is; differ: CFI says something else;
 * rbp_lost: CFI knows where rbp is, and the row doesn't. The rest of the claimed can't be compared.
 * -v: the first difference of each function.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "cfi/cfi.h"
#include "cfi/cfi_ranges.h"
#include "flow/flow.h"
#include "flow/flow_state.h"

struct row {
	uint64_t address;
	struct rule rule;
};

/* Instructions of functions that aren't refused. */
struct counts {
	uint64_t reached, claimed, equal, differ, rbp_lost;
};

struct file {
	const char *path;
	int fd;
	struct elf_image image;
	struct row *rows;
	size_t count, room;
	bool verbose, told;
	uint64_t functions, large, odd, instructions;
	struct counts counts;
	double ms;
};

static int keep_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct file *file = arg;

	if (file->count == file->room) {
		file->room = file->room ? file->room * 2 : 1024;
		file->rows = reallocarray(file->rows, file->room, sizeof(*file->rows));
		if (!file->rows)
			return -ENOMEM;
	}
	file->rows[file->count++] = (struct row){address, *rule};
	return 0;
}

static const struct rule *row_at(const struct file *file, uint64_t address)
{
	size_t low = 0, high = file->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->rows[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &file->rows[low - 1].rule : NULL;
}

static int read_linked(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct file *file = arg;
	const struct elf_image *image = &file->image;

	for (size_t i = 0; i < image->segments_count + image->data_count; i++) {
		const struct elf_segment *segment =
			i < image->segments_count ? &image->segments[i]
						  : &image->data[i - image->segments_count];

		if (address - segment->address < segment->file_bytes &&
		    bytes <= segment->file_bytes - (address - segment->address))
			return elf_pread(file->fd, to, bytes,
					 segment->file_offset + (address - segment->address));
	}
	return -EIO;
}

/* ---- one instruction ---- */

static const uint8_t processors[17] = {0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15, 0xff};

static bool has_slot(const struct flow_state *state, struct value at, struct value value)
{
	for (int i = 0; i < FLOW_SLOTS; i++) {
		if (state->slots[i].at.kind != VALUE_UNKNOWN &&
		    value_is_equal(state->slots[i].at, at) &&
		    value_is_equal(state->slots[i].value, value))
			return true;
	}
	return false;
}

enum verdict { EQUAL, DIFFERENT, RBP_LOST, INCOMPARABLE };

static enum verdict compare_cfa(const struct flow_state *state, const struct rule *theirs)
{
	if (theirs->kind != RULE_CFA || theirs->cfa_reg > 15 || theirs->cfa_index)
		return INCOMPARABLE;
	struct value base = state->regs[processors[theirs->cfa_reg]];

	if (!theirs->cfa_deref) {
		if (base.kind != VALUE_CFA)
			return INCOMPARABLE;
		return base.offset == -theirs->cfa_offset ? EQUAL : DIFFERENT;
	}
	if (base.kind != VALUE_CFA && base.kind != VALUE_ALIGNED)
		return INCOMPARABLE;
	base.offset += theirs->cfa_offset;
	struct value cfa = {.kind = VALUE_CFA, .offset = -theirs->cfa_post};

	return has_slot(state, base, cfa) ? EQUAL : INCOMPARABLE;
}

static enum verdict compare_fp(const struct flow_state *state, const struct rule *ours,
			       const struct rule *theirs)
{
	struct value entry = {.kind = VALUE_ENTRY, .reg = FLOW_RBP};

	if (value_is_equal(state->regs[FLOW_RBP], entry))
		return EQUAL; /* wherever else it may be */
	if (theirs->fp.kind == SAVED_SAME)
		return DIFFERENT;
	if (ours->fp.kind == SAVED_LOST)
		return theirs->fp.kind == SAVED_LOST ? EQUAL : RBP_LOST;
	if (theirs->fp.kind != SAVED_AT_CFA)
		return EQUAL;
	struct value at = {.kind = VALUE_CFA, .offset = theirs->fp.offset};

	return has_slot(state, at, entry) || ours->fp.kind == SAVED_AT_REG ? EQUAL : DIFFERENT;
}

static int compare(void *arg, uint64_t address, unsigned bytes, const struct flow_state *state)
{
	struct file *file = arg;
	struct rule ours;
	const struct rule *theirs = row_at(file, address);

	(void)bytes;
	flow_rule(state, &ours);
	file->counts.reached++;
	if (ours.kind == RULE_NONE || !theirs)
		return 0;
	file->counts.claimed++;
	enum verdict verdict = compare_cfa(state, theirs);

	if (verdict == EQUAL)
		verdict = compare_fp(state, &ours, theirs);
	file->counts.equal += verdict == EQUAL;
	file->counts.rbp_lost += verdict == RBP_LOST;
	file->counts.differ += verdict == DIFFERENT;
	if ((verdict == DIFFERENT || verdict == RBP_LOST) && file->verbose && !file->told) {
		file->told = true;
		printf("  %" PRIx64 ": ours r%u%+d fp %d%+d, theirs r%u%+d fp %d%+d\n", address,
		       ours.cfa_reg, ours.cfa_offset, ours.fp.kind, ours.fp.offset, theirs->cfa_reg,
		       theirs->cfa_offset, theirs->fp.kind, theirs->fp.offset);
	}
	return 0;
}

/* ---- one function ---- */

static uint64_t count_instructions(const uint8_t *code, size_t bytes)
{
	ZydisDecoder decoder;
	uint64_t count = 0, filling = 0;
	size_t at = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (at < bytes) {
		ZydisDecodedInstruction is;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at,
								bytes - at, &is))) {
			at++;
			continue;
		}
		filling = is.mnemonic == ZYDIS_MNEMONIC_NOP ? filling + 1 : 0;
		count++;
		at += is.length;
	}
	return count - filling;
}

static int compare_function(void *arg, const struct cfi_range *piece)
{
	struct file *file = arg;
	size_t bytes = piece->to - piece->from;
	_cleanup_free_ uint8_t *code = malloc(bytes + 1);
	struct timespec begin, end;

	if (!piece->callable || !bytes || bytes > 1 << 26)
		return 0;
	if (!code)
		return -ENOMEM;
	if (read_linked(file, piece->from, code, bytes) < 0)
		return 0;
	struct flow_function function = {
		.code = code,
		.bytes = bytes,
		.address = piece->from,
		.read = read_linked,
		.arg = file,
	};
	struct flow_result result;
	struct counts before = file->counts;
	uint64_t count = count_instructions(code, bytes);

	file->functions++;
	file->instructions += count;
	file->told = false;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	int r = flow_visit_all(&function, compare, file, &result);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	file->ms += (double)(end.tv_sec - begin.tv_sec) * 1e3 +
		    (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
	if (r == -EFBIG) {
		file->large++;
		return 0;
	}
	file->odd += result.is_odd;
	if (result.is_odd) {
		struct counts all = file->counts;

		file->counts = before;
		file->counts.reached = all.reached;
	}
	if (file->verbose && result.is_odd)
		printf("  %" PRIx64 ": odd\n", piece->from);
	if (file->verbose && file->counts.claimed - before.claimed < count * 9 / 10)
		printf("  %" PRIx64 ": %" PRIu64 " instructions, %" PRIu64 " reached, %" PRIu64
		       " claimed\n",
		       piece->from, count, file->counts.reached - before.reached,
		       file->counts.claimed - before.claimed);
	return r;
}

static void compare_file(struct file *file)
{
	struct cfi_stats stats = {0};
	int r = elf_read(file->fd, &file->image);

	if (r == 0)
		r = cfi_read(file->fd, &file->image, keep_row, file, &stats);
	uint64_t *addresses = calloc(file->count + 1, sizeof(*addresses));
	for (size_t i = 0; i < file->count; i++)
		addresses[i] = file->rows[i].address;
	if (r == 0)
		r = cfi_ranges_at(file->fd, &file->image, addresses, file->count, compare_function,
				  file);
	free(addresses);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", file->path, strerror(-r));
	else
		printf("%s functions %" PRIu64 " large %" PRIu64 " odd %" PRIu64
		       " instructions %" PRIu64 " reached %" PRIu64 " claimed %" PRIu64
		       " equal %" PRIu64 " differ %" PRIu64 " rbp_lost %" PRIu64 " ms %.0f\n",
		       file->path, file->functions, file->large, file->odd, file->instructions,
		       file->counts.reached, file->counts.claimed, file->counts.equal,
		       file->counts.differ, file->counts.rbp_lost, file->ms);
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;

	for (int i = verbose ? 2 : 1; i < argc; i++) {
		struct file file = {.path = argv[i], .verbose = verbose};

		file.fd = open(argv[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (file.fd < 0)
			continue;
		compare_file(&file);
		close(file.fd);
		free(file.rows);
	}
	return 0;
}
