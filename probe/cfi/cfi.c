// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cfi/cfi_entry.h"

#define ADDRESSES_MAX (UINT64_C(1) << 30) /* from the lowest address to the highest */
#define FUNCTIONS_MAX (4u * 1024 * 1024)
#define ROWS_MAX      (16u * 1024 * 1024)
#define STEPS_MAX     (2 * ROWS_MAX) /* rows, including those equal to the row before */

/* Fewer bytes than this between two functions are padding, which keeps the rule before it: padding
 * never runs, and a row for it would cost two rows each time. */
#define PADDING_BYTES 16

static const struct cfi_machine machine_x86_64 = {
	.sp = 7,
	.fp = 6,
	.bx = CFI_BX_X86_64,
	.link = CFI_NO_REGISTER,
	.pc = 16,
	.registers = 16,
	.word = 8,
};

/* Source: System V ABI, Intel386 supplement, table 2.14. Rules have x86-64's numbers. */
static const struct cfi_machine machine_i386 = {
	.sp = 4,
	.fp = 5,
	.bx = CFI_BX_X86_64,
	.link = CFI_NO_REGISTER,
	.pc = 8,
	.registers = 8,
	.word = 4,
	.numbers = (const uint8_t[]){0, 2, 1, CFI_BX_X86_64, 7, 6, 4, 5},
};

static const struct cfi_machine machine_arm64 = {
	.sp = 31,
	.fp = 29,
	.bx = CFI_NO_REGISTER,
	.link = 30,
	.pc = CFI_NO_REGISTER,
	.registers = 32,
	.word = 8,
	.negates_ra = true,
};

/* Packs a function into 8 bytes, as there may be millions; keys sort by the functions' addresses.
 */
static uint64_t function_key(uint64_t start, uint32_t offset)
{
	return start << 32 | offset;
}

struct cfi_reading {
	const struct elf_image *image;
	struct cfi_stats *stats;
	struct cfi_section section;
	struct cfi_cies cies;
	uint64_t low;	/* the lowest address in an executable segment */
	uint64_t *keys; /* one a function: (start - low) << 32 | the FDE's offset */
	size_t count;
	row_sink sink;
	void *arg;
	uint64_t steps;
	struct rule last; /* the last rule that the sink got */
};

static void reading_done(struct cfi_reading **reading)
{
	if (*reading) {
		cfi_section_done(&(*reading)->section);
		free((*reading)->keys);
	}
	free(*reading);
}

static const struct elf_segment *segment_of(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segments_count; i++) {
		if (address - image->segments[i].address < image->segments[i].file_bytes)
			return &image->segments[i];
	}
	return NULL;
}

static bool is_in_segment(const struct elf_image *image, const struct cfi_function *function)
{
	const struct elf_segment *segment = segment_of(image, function->start);

	return segment && function->end - segment->address <= segment->file_bytes;
}

static int add_key(struct cfi_reading *reading, size_t *room, uint64_t key)
{
	if (reading->count == FUNCTIONS_MAX)
		return -EFBIG;
	if (reading->count == *room) {
		size_t more = *room ? *room + *room / 2 : 1024;
		uint64_t *keys = reallocarray(reading->keys, more, sizeof(*keys));

		if (!keys)
			return -ENOMEM;
		reading->keys = keys;
		*room = more;
	}
	reading->keys[reading->count++] = key;
	return 0;
}

/* Collects the functions' keys, in the order of the FDEs in the section. */
static int collect_keys(struct cfi_reading *reading)
{
	size_t offset = 0, room = 0;
	struct cfi_entry entry;
	struct cfi_function function;

	while (cfi_section_next(&reading->section, &offset, &entry)) {
		const struct cfi_cie *cie;

		if (entry.is_cie)
			continue;
		cie = cfi_cie_at(&reading->cies, entry.cie);
		if (!cie || !cfi_function_read(&reading->section, cie, &entry, &function) ||
		    !is_in_segment(reading->image, &function)) {
			reading->stats->broken++;
			continue;
		}
		int r = add_key(reading, &room,
				function_key(function.start - reading->low, entry.offset));
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static void sort_keys(struct cfi_reading *reading)
{
	for (size_t i = 1; i < reading->count; i++) {
		if (reading->keys[i - 1] > reading->keys[i]) {
			qsort(reading->keys, reading->count, sizeof(*reading->keys), compare_keys);
			return;
		}
	}
}

static int hand_on(void *arg, uint64_t address, const struct rule *rule)
{
	struct cfi_reading *reading = arg;
	struct cfi_stats *stats = reading->stats;

	if (reading->steps++ == STEPS_MAX || stats->rows == ROWS_MAX)
		return -EFBIG;
	if (rule_is_equal(rule, &reading->last))
		return 0;
	stats->rows++;
	if (rule->kind == RULE_UNSUPPORTED)
		stats->unsupported[rule->unsupported]++;
	reading->last = *rule;
	return reading->sink(reading->arg, address, rule);
}

/* Gives the sink a row without CFI that begins at `end`, where the covered code ends. */
static int hand_on_gap(struct cfi_reading *reading, uint64_t end)
{
	static const struct rule none = {.kind = RULE_NONE};

	return hand_on(reading, end, &none);
}

static bool is_padding(const struct elf_image *image, uint64_t from, uint64_t to)
{
	return to - from < PADDING_BYTES && segment_of(image, from) == segment_of(image, to);
}

static int run_functions(struct cfi_reading *reading)
{
	uint64_t end = reading->low;
	struct cfi_function function;
	struct cfi_entry entry;
	int r = 0;

	for (size_t i = 0; i < reading->count && r == 0; i++) {
		const struct cfi_cie *cie = NULL;

		if (cfi_section_at(&reading->section, (uint32_t)reading->keys[i], &entry))
			cie = cfi_cie_at(&reading->cies, entry.cie);
		if (!cie || !cfi_function_read(&reading->section, cie, &entry, &function)) {
			reading->stats->broken++; /* the budget for CIEs is spent */
			continue;
		}
		if (function.start < end) {
			reading->stats->overlapping++;
			continue;
		}
		reading->stats->functions++;
		if (!is_padding(reading->image, end, function.start))
			r = hand_on_gap(reading, end);
		if (r == 0)
			r = cfi_run(cie, &function, &reading->section.bases, hand_on, reading);
		end = function.end;
	}
	return r ? r : hand_on_gap(reading, end);
}

static int read_one(struct cfi_reading *reading, int fd, bool debug)
{
	int r = cfi_section_read(&reading->section, fd, reading->image, debug);

	if (r < 0)
		return r;
	cfi_cies_init(&reading->cies, &reading->section, reading->cies.machine);
	r = collect_keys(reading);
	if (r < 0)
		return r;
	return reading->count ? 0 : -ENOENT;
}

const struct cfi_machine *cfi_machine_of(const struct elf_image *image)
{
	if (!image->wide)
		return image->machine == EM_386 ? &machine_i386 : NULL;
	return image->machine == EM_X86_64    ? &machine_x86_64
	       : image->machine == EM_AARCH64 ? &machine_arm64
					      : NULL;
}

static int find_low(struct cfi_reading *reading)
{
	const struct elf_image *image = reading->image;
	uint64_t high = 0;

	reading->low = UINT64_MAX;
	for (size_t i = 0; i < image->segments_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->address > UINT64_MAX - segment->file_bytes)
			return -EBADMSG;
		if (segment->address < reading->low)
			reading->low = segment->address;
		if (segment->address + segment->file_bytes > high)
			high = segment->address + segment->file_bytes;
	}
	return high - reading->low > ADDRESSES_MAX ? -EFBIG : 0;
}

int cfi_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
	     struct cfi_stats *stats)
{
	const struct cfi_machine *machine = cfi_machine_of(image);

	*stats = (struct cfi_stats){0};
	if (!machine || !image->segments_count)
		return -ENOENT;
	_cleanup_(reading_done) struct cfi_reading *reading = calloc(1, sizeof(*reading));
	if (!reading)
		return -ENOMEM;
	reading->image = image;
	reading->stats = stats;
	reading->sink = sink;
	reading->arg = arg;
	reading->cies.machine = machine;
	int r = find_low(reading);
	if (r < 0)
		return r;
	r = read_one(reading, fd, false);
	if (r == -ENOENT) {
		cfi_section_done(&reading->section);
		r = read_one(reading, fd, true);
	}
	if (r < 0)
		return r;
	sort_keys(reading);
	return run_functions(reading);
}
