// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/made_rows.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "cfi/no_cfi_regions.h"
#include "elf/code_refs.h"
#include "flow/maker.h"
#include "proc/symbol_lookup.h"

#define NEAR_BYTES_MAX (16u << 20)    /* of code, of a file in which callers are looked for */
#define CPU_MAX_NS     (NS_PER_S / 2) /* of a call; what isn't looked at by then is refused */
#define GAPS_MAX       (1u << 20)

void made_rows_done(struct made_rows *made)
{
	free(made->runs);
	free(made->left);
	*made = (struct made_rows){0};
}

/* ---- code without rows ---- */

static int open_gap(struct maker *maker, uint64_t from)
{
	if (!maker->gaps || maker->gaps_count == maker->gaps_room) {
		size_t room = maker->gaps_room ? maker->gaps_room * 2 : 64;
		struct gap *gaps =
			room <= GAPS_MAX ? reallocarray(maker->gaps, room, sizeof(*gaps)) : NULL;

		if (!gaps)
			return room <= GAPS_MAX ? -ENOMEM : -EFBIG;
		maker->gaps = gaps;
		maker->gaps_room = room;
	}
	maker->gaps[maker->gaps_count++] = (struct gap){from, UINT64_MAX};
	return 0;
}

static int note_gap(void *arg, uint64_t address, const struct rule *rule)
{
	struct maker *maker = arg;
	struct gap *last = maker->gaps_count ? &maker->gaps[maker->gaps_count - 1] : NULL;
	bool is_gap = rule->kind == RULE_NONE || rule->kind == RULE_FRAMES;

	if (last && last->to == UINT64_MAX && !is_gap)
		last->to = address;
	else if (is_gap && (!last || last->to != UINT64_MAX))
		return open_gap(maker, address);
	return 0;
}

static int find_gaps(struct maker *maker)
{
	struct cfi_stats stats = {0};
	int r = open_gap(maker, 0);

	if (r == 0)
		r = no_cfi_regions_read(maker->fd, maker->image, note_gap, maker, &stats);
	return r == -ENOENT ? 0 : r;
}

static bool is_in_gap(const struct maker *maker, uint64_t address)
{
	size_t behind = PARTITION_POINT(at, maker->gaps_count, maker->gaps[at].from <= address);

	return behind && address < maker->gaps[behind - 1].to;
}

/* ---- which functions ---- */

void maker_want(struct maker *maker, uint64_t address)
{
	if (maker->more_count < MADE_WANTED_MAX && is_in_gap(maker, address) &&
	    !maker_has(maker, address))
		maker->more[maker->more_count++] = address;
}

static bool has_no_time(const struct maker *maker)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) > maker->until_ns;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static int compare_runs(const void *a, const void *b)
{
	const struct made_run *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return left->to < right->to ? -1 : left->to > right->to;
}

static void free_maker(struct maker **at)
{
	struct maker *maker = *at;

	if (!maker)
		return;
	free(maker->code);
	free(maker->gaps);
	free(maker->begun);
	free(maker->wanted);
	free(maker->more);
	free(maker);
}

/* Makes the rows of the functions that hold the addresses. Ends before the last if they weren't
 * asked for, and there is no time; *done says how many were looked at. */
static int make_functions(struct maker *maker, const uint64_t *wanted, size_t count, bool asked,
			  size_t *done)
{
	_cleanup_free_ struct begins *begins = calloc(count + 1, sizeof(*begins));

	if (!begins)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		begins[i].wanted = wanted[i];
	maker->begun_count = 0;
	int r = count ? begins_find(maker->fd, maker->image, begins, count) : 0;
	for (size_t i = 0; maker->is_ahead && i + 1 < count; i++) {
		if (begins[i].end > wanted[i + 1])
			begins[i].end = wanted[i + 1]; /* where another one begins */
	}
	for (*done = 0; r == 0 && *done < count; ++*done) {
		if (!asked && has_no_time(maker))
			break;
		r = maker_make(maker, &begins[*done], asked);
	}
	struct made_rows *made = maker->made;
	if (made->count)
		qsort(made->runs, made->count, sizeof(*made->runs), compare_runs);
	maker->sorted = made->count;
	return r;
}

static int want_caller(void *arg, uint64_t site)
{
	maker_want(arg, site);
	return 0;
}

/* Wants those functions that call the new ones, and those that these call, where they have no CFI
 * either: they are the next to be on a stack. In a large file looking for callers takes too long.
 */
static int want_near(struct maker *maker)
{
	int r = 0;

	qsort(maker->begun, maker->begun_count, sizeof(*maker->begun), compare_addresses);
	if (elf_code_bytes(maker->image) <= NEAR_BYTES_MAX && maker->begun_count)
		r = begins_callers(maker->fd, maker->image, maker->begun, maker->begun_count,
				   want_caller, maker);
	return r;
}

/* Sorts what is wanted next, and leaves out what is there twice. */
static size_t take_near(struct maker *maker)
{
	size_t kept = 0;

	qsort(maker->more, maker->more_count, sizeof(*maker->more), compare_addresses);
	for (size_t i = 0; i < maker->more_count; i++) {
		if (!kept || maker->wanted[kept - 1] != maker->more[i])
			maker->wanted[kept++] = maker->more[i];
	}
	maker->more_count = 0;
	return kept;
}

static int leave_rest(struct maker *maker, const uint64_t *rest, size_t count)
{
	struct made_rows *made = maker->made;

	if (!count)
		return 0;
	made->left = reallocarray(NULL, count, sizeof(*made->left));
	if (!made->left)
		return -ENOMEM;
	memcpy(made->left, rest, count * sizeof(*made->left));
	made->left_count = count;
	return 0;
}

/* ---- ahead of the first stack ---- */

/* Wants an address that may be none of code. Returns 1 if there is no room for more. */
static int want_ahead(struct maker *maker, uint64_t address)
{
	const struct elf_image *image = maker->image;
	uint64_t offset;

	if (!elf_segment_offset(image->segments, image->segments_count, address, &offset))
		return 0;
	if (maker->more_count == MADE_WANTED_MAX) {
		size_t kept = take_near(maker); /* each once */

		memcpy(maker->more, maker->wanted, kept * sizeof(*maker->more));
		maker->more_count = kept;
		if (kept > MADE_WANTED_MAX / 4 * 3)
			return 1;
	}
	maker_want(maker, address);
	return 0;
}

/* What a call's opcode seems to lead to. */
static int want_target(void *arg, uint64_t site, uint64_t target, enum code_ref kind)
{
	struct maker *maker = arg;

	(void)site;
	(void)kind;
	if (!is_in_gap(maker, target) || !code_refs_may_begin(maker->fd, maker->image, target))
		return 0;
	return want_ahead(maker, target);
}

static int want_symbol(void *arg, const Elf64_Sym *symbol)
{
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF)
		return 0;
	return want_ahead(arg, symbol->st_value);
}

/* (Of what a file calls in others nobody knows whether it comes back: where its functions have no
 * symbols, one might seem to go on in the next.) */
static int want_all(struct maker *maker)
{
	const struct elf_image *image = maker->image;
	bool calls_others = image->dynsym.symbols.bytes || image->dynamic.bytes;
	int r = symbols_each(maker->fd, &image->dynsym.symbols, want_symbol, maker);

	if (r == 0)
		r = symbols_each(maker->fd, &image->symtab.symbols, want_symbol, maker);
	if (r == 0 && !calls_others)
		r = code_refs_scan(maker->fd, image, 1u << CODE_CALL, want_target, maker,
				   maker->until_ns);
	return r == -ETIME || r == -EFBIG || r > 0 ? 0 : r;
}

static int make_ahead(struct maker *maker)
{
	int r = want_all(maker);
	size_t done;

	maker->is_ahead = true;
	maker->end_ns = maker->until_ns;
	return r ? r : make_functions(maker, maker->wanted, take_near(maker), false, &done);
}

static int make_near(struct maker *maker, const struct made_wanted *wanted)
{
	size_t count = wanted->near_count < MADE_WANTED_MAX ? wanted->near_count : MADE_WANTED_MAX;
	size_t done = 0;
	int r = want_near(maker);

	for (size_t i = 0; i < count; i++)
		maker_want(maker, wanted->near[i]);
	count = take_near(maker);
	while (r == 0 && count && maker->made->functions < MADE_WANTED_MAX) {
		if (has_no_time(maker))
			return leave_rest(maker, maker->wanted, count);
		r = make_functions(maker, maker->wanted, count, false, &done);
		for (size_t i = done; i < count; i++)
			maker_want(maker, maker->wanted[i]);
		if (r == 0)
			r = want_near(maker);
		count = take_near(maker);
	}
	return r;
}

static int make_all(struct maker *maker, const struct made_wanted *wanted)
{
	size_t done;
	int r = find_gaps(maker);

	maker->until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + wanted->cpu_ns;
	maker->end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + CPU_MAX_NS;
	maker->code = malloc(FLOW_BYTES_MAX);
	maker->begun = calloc(MADE_WANTED_MAX, sizeof(*maker->begun));
	maker->wanted = calloc(MADE_WANTED_MAX, sizeof(*maker->wanted));
	maker->more = calloc(MADE_WANTED_MAX, sizeof(*maker->more));
	if (!maker->code || !maker->begun || !maker->wanted || !maker->more)
		return -ENOMEM;
	if (r == 0)
		r = make_functions(maker, wanted->asked, wanted->asked_count, true, &done);
	if (r == 0)
		r = wanted->all ? make_ahead(maker) : make_near(maker, wanted);
	return r;
}

int made_rows_read(struct made_rows *made, int fd, const struct elf_image *image,
		   const struct made_wanted *wanted)
{
	_cleanup_(free_maker) struct maker *maker = calloc(1, sizeof(*maker));

	free(TAKE_PTR(made->left));
	made->left_count = 0;
	if (image->machine != EM_X86_64 ||
	    (!wanted->asked_count && !wanted->near_count && !wanted->all))
		return 0;
	int r = maker ? 0 : -ENOMEM;
	if (r == 0) {
		maker->made = made;
		maker->fd = fd;
		maker->image = image;
		maker->sorted = maker->room = made->count;
		r = make_all(maker, wanted);
	}
	if (r == 0)
		r = made_part(made);
	if (r < 0)
		made_rows_done(made);
	return r;
}
