// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/made_rows.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cfi/no_cfi_regions.h"
#include "flow/begins.h"
#include "flow/flow_state.h"

#define NEAR_BYTES_MAX	   (16u << 20) /* of code, of a file in which callers are looked for */
#define FUNCTION_ALIGNMENT 16
#define ACTIVE_MAX	   16	/* functions that share code; more: nothing is known */
#define SHORT_BYTES	   4096 /* of a function */
#define CALLED_MAX	   256	/* of a function */
#define CALLEES		   4096 /* that are remembered */
#define CALLEE_BYTES	   4096
#define CALLEES_DEEP	   3
#define GAPS_MAX	   (1u << 20)

static const struct rule none = {.kind = RULE_NONE};
static const struct rule root = {.kind = RULE_END};
static const struct rule frames = {.kind = RULE_FRAMES};

/* A function, and whether it never returns. */
struct callee {
	uint64_t target;
	bool ends;
	unsigned depth; /* of calls, at which that was found out */
};

/* Code of which the file says nothing: [from, to). */
struct gap {
	uint64_t from, to;
};

struct maker {
	struct made_rows *made;
	int fd;
	const struct elf_image *image;
	uint8_t *code;	  /* FLOW_BYTES_MAX */
	size_t room;	  /* of made->runs */
	size_t sorted;	  /* of made->runs, from the first on, by address */
	size_t first;	  /* the first run of the function */
	struct gap *gaps; /* by address */
	size_t gaps_count, gaps_room;
	uint64_t *begun; /* the begins of new functions; MADE_WANTED_MAX */
	size_t begun_count;
	struct callee callees[CALLEES];
	uint64_t until_ns; /* CPU time of the thread, for functions that weren't asked for */
	unsigned depth;
	bool asks_ends;		     /* whether calls never come back is asked */
	uint64_t called[CALLED_MAX]; /* by the function */
	size_t called_count;
	uint64_t *wanted, *more; /* now, sorted, and next; MADE_WANTED_MAX */
	size_t more_count;
};

void made_rows_done(struct made_rows *made)
{
	free(made->runs);
	free(made->left);
	*made = (struct made_rows){0};
}

/* ---- code without rows ---- */

static int open_gap(struct maker *maker, uint64_t from)
{
	if (maker->gaps_count == maker->gaps_room) {
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
	size_t low = 0, high = maker->gaps_count;

	while (low < high) { /* the first gap behind the address */
		size_t middle = low + (high - low) / 2;

		if (maker->gaps[middle].from <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < maker->gaps[low - 1].to;
}

/* ---- the runs ---- */

static int read_linked(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct maker *maker = arg;
	const struct elf_image *image = maker->image;

	for (size_t i = 0; i < image->segments_count + image->data_count; i++) {
		const struct elf_segment *segment =
			i < image->segments_count ? &image->segments[i]
						  : &image->data[i - image->segments_count];
		uint64_t at = address - segment->address;

		if (at < segment->file_bytes && bytes <= segment->file_bytes - at)
			return elf_pread(maker->fd, to, bytes, segment->file_offset + at);
	}
	return -EIO;
}

static int add_run(struct maker *maker, uint64_t from, uint64_t to, const struct rule *rule)
{
	struct made_rows *made = maker->made;

	if (made->count == maker->room) {
		size_t room = maker->room ? maker->room * 2 : 256;
		struct made_run *runs = room <= MADE_RUNS_MAX
						? reallocarray(made->runs, room, sizeof(*runs))
						: NULL;

		if (!runs)
			return room <= MADE_RUNS_MAX ? -ENOMEM : -EFBIG;
		made->runs = runs;
		maker->room = room;
	}
	made->runs[made->count++] = (struct made_run){from, to, *rule};
	return 0;
}

static int keep_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct maker *maker = arg;
	struct made_rows *made = maker->made;

	if (made->count > maker->first && !made->runs[made->count - 1].to)
		made->runs[made->count - 1].to = address;
	return rule->kind == RULE_NONE ? 0 : add_run(maker, address, 0, rule);
}

/* A program's first function has no caller, whatever it does with the stack. */
static int keep_root(void *arg, uint64_t address, unsigned bytes, const struct flow_state *state)
{
	(void)state;
	return add_run(arg, address, address + bytes, &root);
}

static bool has_no_time(const struct maker *maker)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) > maker->until_ns;
}

static bool is_in_run(const struct made_run *run, uint64_t address)
{
	return address - run->from < run->to - run->from;
}

/* Returns whether the function that begins with that run has one for the address. */
static bool has_run(const struct made_rows *made, size_t first, uint64_t address)
{
	for (size_t i = first; i < made->count; i++) {
		if (is_in_run(&made->runs[i], address))
			return true;
	}
	return false;
}

static bool is_made(const struct maker *maker, uint64_t address)
{
	const struct made_run *runs = maker->made->runs;
	size_t low = 0, high = maker->sorted;

	while (low < high) { /* the first run behind the address */
		size_t middle = low + (high - low) / 2;

		if (runs[middle].from <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return (low && is_in_run(&runs[low - 1], address)) ||
	       has_run(maker->made, maker->sorted, address);
}

/* ---- calls that never come back ---- */

static bool call_ends(void *arg, uint64_t target);

/* Returns whether no way leads from that function to a return. */
static bool never_returns(struct maker *maker, uint64_t target)
{
	_cleanup_free_ uint8_t *code = malloc(CALLEE_BYTES);
	struct flow_function function = {
		.code = code,
		.bytes = CALLEE_BYTES, /* who goes further may return */
		.address = target,
		.ends = maker->depth < CALLEES_DEEP ? call_ends : NULL,
		.arg = maker,
	};
	struct flow_result result;

	if (!code || read_linked(maker, target, code, CALLEE_BYTES) < 0)
		return false;
	maker->depth++;
	int r = flow_visit_all(&function, NULL, NULL, &result);
	maker->depth--;
	return r == 0 && !result.returns;
}

static bool call_ends(void *arg, uint64_t target)
{
	struct maker *maker = arg;
	struct callee *known = &maker->callees[(target ^ target >> 12) % CALLEES];

	/* Who was asked deeper in calls of calls knew less. */
	if (known->target == target && (known->ends || known->depth <= maker->depth))
		return known->ends;
	bool says = never_returns(maker, target);

	*known = (struct callee){target, says, maker->depth};
	return says;
}

/* ---- one function ---- */

static void want_more(struct maker *maker, uint64_t address)
{
	if (maker->more_count < MADE_WANTED_MAX && is_in_gap(maker, address) &&
	    !is_made(maker, address))
		maker->more[maker->more_count++] = address;
}

static void note_call(void *arg, uint64_t target)
{
	struct maker *maker = arg;

	if (maker->called_count < CALLED_MAX)
		maker->called[maker->called_count++] = target;
}

static void want_called(struct maker *maker)
{
	for (size_t i = 0; i < maker->called_count; i++)
		want_more(maker, maker->called[i]);
}

/* Returns whether what was followed from a begin is a function. A jump may lead into the middle of
 * one, as the address of a label does: then a return tells, or that the address is a function's,
 * and nothing leads away. */
static bool is_function(enum begin_kind kind, uint64_t begin, const struct flow_result *result)
{
	bool is_whole = kind == BEGIN_TAKEN && begin % FUNCTION_ALIGNMENT == 0 && !result->leaves;

	return !result->is_odd && (kind < BEGIN_TAKEN || result->returns_as_called || is_whole);
}

/* Makes the rows of the function that begins there, as far as its first `bytes` bytes. */
static int follow_bytes(struct maker *maker, const struct begins *one, uint64_t begin,
			uint64_t bytes, struct flow_result *result)
{
	uint64_t most = one->end - begin < FLOW_BYTES_MAX ? one->end - begin : FLOW_BYTES_MAX;
	struct flow_function function = {
		.code = maker->code,
		.bytes = bytes < most ? bytes : most,
		.beyond = bytes < most ? most - bytes : 0,
		.address = begin,
		.read = read_linked,
		.ends = maker->asks_ends ? call_ends : NULL,
		.calls = note_call,
		.arg = maker,
	};

	maker->called_count = 0;
	maker->first = maker->made->count;
	if (read_linked(maker, begin, maker->code, function.bytes) < 0)
		return -EIO;
	return begin == maker->image->entry ? flow_visit_all(&function, keep_root, maker, result)
					    : flow_rows(&function, keep_row, maker, result);
}

/* Most functions are short. */
static int follow_whole(struct maker *maker, const struct begins *one, uint64_t begin,
			struct flow_result *result)
{
	size_t count = maker->made->count;
	uint64_t bytes = SHORT_BYTES;
	int r = follow_bytes(maker, one, begin, bytes, result);

	while (r == 0 && result->is_longer) {
		maker->made->count = count;
		bytes *= 8;
		r = follow_bytes(maker, one, begin, bytes, result);
	}
	return r;
}

/* Makes the rows of the function that begins there, if it is one and holds the address. */
static int try_begin(struct maker *maker, const struct begins *one, enum begin_kind kind,
		     uint64_t begin)
{
	struct made_rows *made = maker->made;
	size_t count = made->count;
	struct flow_result result;

	if (begin > one->wanted || one->wanted - begin >= FLOW_BYTES_MAX)
		return 0;
	maker->asks_ends = false;
	int r = follow_whole(maker, one, begin, &result);
	if (r == 0 &&
	    !is_function(kind, begin,
			 &result)) { /* it may go on behind a call that never comes back */
		made->count = count;
		maker->asks_ends = true;
		r = follow_whole(maker, one, begin, &result);
	}
	if (r == 0 && (begin == maker->image->entry || is_function(kind, begin, &result)) &&
	    has_run(made, maker->first, one->wanted)) {
		made->functions++;
		if (maker->begun_count < MADE_WANTED_MAX)
			maker->begun[maker->begun_count++] = begin;
		want_called(maker);
		return 1;
	}
	made->count = count;
	return r == -ENOMEM ? r : 0;
}

static int make_function(struct maker *maker, const struct begins *one, bool asked)
{
	int r = 0;

	if (is_made(maker, one->wanted))
		return 0; /* by another address of the function */
	for (enum begin_kind kind = 0; kind < BEGIN_KINDS; kind++) {
		for (unsigned i = 0; r == 0 && i < one->of[kind].count; i++)
			r = try_begin(maker, one, kind, one->of[kind].at[i]);
	}
	maker->made->refused += asked && r == 0;
	return r < 0 ? r : 0;
}

/* ---- all ---- */

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

/* The runs that hold some place. */
struct active {
	const struct made_run *runs[ACTIVE_MAX];
	size_t count;
	uint64_t crowded_to; /* up to there are more, and nothing is known */
};

static void drop_ended(struct active *active, uint64_t at)
{
	size_t kept = 0;

	for (size_t i = 0; i < active->count; i++) {
		if (active->runs[i]->to > at)
			active->runs[kept++] = active->runs[i];
	}
	active->count = kept;
}

static void add_active(struct active *active, const struct made_run *run)
{
	if (active->count < ACTIVE_MAX)
		active->runs[active->count++] = run;
	else if (run->to > active->crowded_to)
		active->crowded_to = run->to;
}

/* Returns the end of the stretch from `at` on, where the same runs are active. */
static uint64_t stretch_end(const struct active *active, uint64_t at, uint64_t next)
{
	uint64_t end = next;

	if (active->crowded_to > at && active->crowded_to < end)
		end = active->crowded_to;
	for (size_t i = 0; i < active->count; i++) {
		if (active->runs[i]->to < end)
			end = active->runs[i]->to;
	}
	return end;
}

static const struct rule *agreed_rule(const struct active *active, uint64_t at)
{
	const struct rule *rule = &active->runs[0]->rule;

	for (size_t i = 1; i < active->count; i++) {
		if (!rule_is_equal(rule, &active->runs[i]->rule))
			return &none;
	}
	return at < active->crowded_to ? &none : rule;
}

static int append_run(struct made_rows *to, size_t *room, uint64_t from, uint64_t end,
		      const struct rule *rule)
{
	struct made_run *last = to->count ? &to->runs[to->count - 1] : NULL;

	if (last && last->to == from && rule_is_equal(&last->rule, rule)) {
		last->to = end;
		return 0;
	}
	if (to->count == *room) {
		struct made_run *runs = reallocarray(to->runs, *room * 2 + 64, sizeof(*runs));

		if (!runs)
			return -ENOMEM;
		to->runs = runs;
		*room = *room * 2 + 64;
	}
	to->runs[to->count++] = (struct made_run){from, end, *rule};
	return 0;
}

/* Parts runs that lie over each other: two functions may share code. Where they say the same it is
 * known; where they don't it is known that nothing is: such a run has RULE_NONE. */
static int part_runs(struct made_rows *made)
{
	struct made_rows parted = {0};
	struct active active = {0};
	size_t next = 0, room = 0;
	uint64_t at = 0;
	int r = 0;

	while (r == 0 && (next < made->count || active.count)) {
		if (!active.count)
			at = made->runs[next].from;
		while (next < made->count && made->runs[next].from <= at)
			add_active(&active, &made->runs[next++]);
		uint64_t end = stretch_end(&active, at,
					   next < made->count ? made->runs[next].from : UINT64_MAX);
		r = append_run(&parted, &room, at, end, agreed_rule(&active, at));
		at = end;
		drop_ended(&active, at);
	}
	free(made->runs);
	made->runs = parted.runs;
	made->count = parted.count;
	return r;
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
	for (*done = 0; r == 0 && *done < count; ++*done) {
		if (!asked && has_no_time(maker))
			break;
		r = make_function(maker, &begins[*done], asked);
	}
	struct made_rows *made = maker->made;
	if (made->count)
		qsort(made->runs, made->count, sizeof(*made->runs), compare_runs);
	maker->sorted = made->count;
	return r;
}

static int want_caller(void *arg, uint64_t site)
{
	want_more(arg, site);
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

static int make_near(struct maker *maker, const struct made_wanted *wanted)
{
	size_t count = wanted->near_count < MADE_WANTED_MAX ? wanted->near_count : MADE_WANTED_MAX;
	size_t done = 0;
	int r = want_near(maker);

	for (size_t i = 0; i < count; i++)
		want_more(maker, wanted->near[i]);
	count = take_near(maker);
	while (r == 0 && count && maker->made->functions < MADE_WANTED_MAX) {
		if (has_no_time(maker))
			return leave_rest(maker, maker->wanted, count);
		r = make_functions(maker, maker->wanted, count, false, &done);
		for (size_t i = done; i < count; i++)
			want_more(maker, maker->wanted[i]);
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
	maker->code = malloc(FLOW_BYTES_MAX);
	maker->begun = calloc(MADE_WANTED_MAX, sizeof(*maker->begun));
	maker->wanted = calloc(MADE_WANTED_MAX, sizeof(*maker->wanted));
	maker->more = calloc(MADE_WANTED_MAX, sizeof(*maker->more));
	if (!maker->code || !maker->begun || !maker->wanted || !maker->more)
		return -ENOMEM;
	if (r == 0)
		r = make_functions(maker, wanted->asked, wanted->asked_count, true, &done);
	return r ? r : make_near(maker, wanted);
}

int made_rows_read(struct made_rows *made, int fd, const struct elf_image *image,
		   const struct made_wanted *wanted)
{
	_cleanup_(free_maker) struct maker *maker = calloc(1, sizeof(*maker));

	free(TAKE_PTR(made->left));
	made->left_count = 0;
	if (image->machine != EM_X86_64 || (!wanted->asked_count && !wanted->near_count))
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
		r = part_runs(made);
	if (r < 0)
		made_rows_done(made);
	return r;
}

/* ---- beside the file's rows ---- */

struct overlay {
	const struct made_rows *made;
	size_t next; /* the first run that doesn't end before `from` */
	row_sink sink;
	void *arg;
	bool open; /* the row in force says nothing of the code */
	uint64_t from;
	struct rule rule;
	uint64_t rows; /* given in addition */
};

static int add_row(struct overlay *overlay, uint64_t address, const struct rule *rule)
{
	overlay->rows++;
	return overlay->sink(overlay->arg, address, rule);
}

/* Gives the rows from overlay->from, where the file says nothing, to `until`. */
static int fill_gap(struct overlay *overlay, uint64_t until)
{
	const struct made_rows *made = overlay->made;
	uint64_t at = overlay->from;
	int r = 0;

	overlay->open = false;
	while (overlay->next < made->count && made->runs[overlay->next].to <= at)
		overlay->next++;
	for (size_t i = overlay->next;
	     r == 0 && i < made->count && made->runs[i].from < until && at < until; i++) {
		const struct made_run *run = &made->runs[i];

		if (run->rule.kind == RULE_NONE)
			continue;
		if (run->from > at)
			r = add_row(overlay, at, &overlay->rule);
		if (r == 0)
			r = add_row(overlay, run->from > at ? run->from : at, &run->rule);
		at = run->to;
	}
	return r || at >= until ? r : add_row(overlay, at, &overlay->rule);
}

static int pass_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct overlay *overlay = arg;
	int r = overlay->open ? fill_gap(overlay, address) : 0;

	if (r || (rule->kind != RULE_NONE && rule->kind != RULE_FRAMES))
		return r ? r : overlay->sink(overlay->arg, address, rule);
	overlay->open = true;
	overlay->from = address;
	overlay->rule = *rule;
	overlay->rows--; /* it was counted, and comes later */
	return 0;
}

/* The rows of a file that has none. */
static int give_bare(struct overlay *overlay, const struct elf_image *image)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < image->segments_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		overlay->rows += 2;
		r = pass_row(overlay, segment->address, &frames);
		if (r == 0)
			r = pass_row(overlay, segment->address + segment->file_bytes, &none);
	}
	return r;
}

int made_rows_give(const struct made_rows *made, int fd, const struct elf_image *image,
		   row_sink sink, void *arg, struct cfi_stats *stats)
{
	struct overlay overlay = {.made = made, .sink = sink, .arg = arg};
	uint64_t first = image->segments_count ? image->segments[0].address : 0;

	/* the code before the file's first row */
	overlay.open = image->segments_count > 0;
	overlay.from = first;
	overlay.rule = none;
	int r = no_cfi_regions_read(fd, image, pass_row, &overlay, stats);
	if (r == -ENOENT) {
		overlay.open = false;
		r = give_bare(&overlay, image);
	}
	if (r == 0 && overlay.open)
		r = fill_gap(&overlay, UINT64_MAX);
	stats->rows += overlay.rows;
	return r;
}
