/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare-unwind FILE [KINDS]: replays a recording of `perf record --call-graph dwarf,65528`
 * through our unwinder and through elfutils'. Prints one line of numbers, then the most common
 * kinds of difference. Exit status 0: at least 99.5 % of the samples gave the same frames; 1:
 * fewer; 2: the file can't be used.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

#define NEEDED_PPM 995000

struct oracle {
	struct layouts layouts;
	struct comparison comparison;
	int failed;
};

static void on_map(void *arg, const struct perf_map *map)
{
	struct oracle *oracle = arg;
	int r = layout_map(&oracle->layouts, map);

	if (r < 0)
		oracle->failed = r;
}

static void on_fork(void *arg, uint32_t pid, uint32_t parent)
{
	struct oracle *oracle = arg;
	int r = layout_fork(&oracle->layouts, pid, parent);

	if (r < 0)
		oracle->failed = r;
}

static void on_exec(void *arg, uint32_t pid)
{
	struct oracle *oracle = arg;

	layout_exec(&oracle->layouts, pid);
}

static void on_sample(void *arg, const struct perf_sample *sample)
{
	struct oracle *oracle = arg;
	struct layout *layout = layouts_get(&oracle->layouts, sample->pid);

	if (layout)
		compare_sample(&oracle->comparison, layout, sample);
}

static void print_kinds(const struct comparison *comparison, size_t max)
{
	for (size_t i = 0; i < comparison->kinds_count && i < max; i++) {
		const struct kind *kind = &comparison->kinds[i];

		printf("  %" PRIu64 " × %s\n%s", kind->count, kind->name,
		       kind->example ? kind->example : "");
	}
	if (comparison->kinds_count > max)
		printf("  and %zu other kinds\n", comparison->kinds_count - max);
}

/* Which samples count: those that both could walk as far as the stack goes. */
static uint64_t same_ppm(const struct comparison *comparison)
{
	uint64_t same = comparison->outcomes[OUTCOME_WHOLE] + comparison->outcomes[OUTCOME_SAME];

	return comparison->compared ? same * 1000000 / comparison->compared : 0;
}

static void print_numbers(const struct oracle *oracle, const struct perf_stats *stats)
{
	const struct comparison *comparison = &oracle->comparison;
	unsigned refused = 0;

	for (const struct layout *layout = oracle->layouts.first; layout; layout = layout->next)
		if (layout->reference)
			refused += reference_refused(layout->reference);
	printf("samples=%" PRIu64 " no_user=%" PRIu64 " not_64bit=%" PRIu64 " lost=%" PRIu64
	       " compared=%" PRIu64 " in_kernel=%" PRIu64 " frames=%" PRIu64 " same_ppm=%" PRIu64
	       " ours_whole=%" PRIu64 " reference_whole=%" PRIu64 " other_stack=%" PRIu64
	       " refused=%u",
	       stats->samples, stats->no_user, stats->not_64bit, stats->lost, comparison->compared,
	       comparison->in_kernel, comparison->frames, same_ppm(comparison),
	       comparison->ours_whole, comparison->reference_whole, comparison->other_stack,
	       refused);
	for (enum outcome outcome = 0; outcome < OUTCOME_COUNT; outcome++)
		printf(" outcome%u=%" PRIu64, outcome, comparison->outcomes[outcome]);
	putchar('\n');
	for (enum outcome outcome = 0; outcome < OUTCOME_COUNT; outcome++)
		if (comparison->outcomes[outcome])
			printf("  %s: %" PRIu64 "\n", outcome_name(outcome),
			       comparison->outcomes[outcome]);
}

int main(int argc, char **argv)
{
	struct oracle oracle = {0};
	const struct perf_sink sink = {on_map, on_fork, on_exec, on_sample, &oracle};
	struct perf_stats stats;
	int r;

	if (argc < 2) {
		fputs("usage: compare-unwind FILE [KINDS]\n", stderr);
		return 2;
	}
	r = perf_data_read(argv[1], &sink, &stats);
	if (!r)
		r = oracle.comparison.no_memory ? -ENOMEM : oracle.failed;
	if (r < 0) {
		fprintf(stderr, "compare-unwind: %s: %s\n", argv[1], strerror(-r));
	} else {
		comparison_sort(&oracle.comparison);
		print_numbers(&oracle, &stats);
		print_kinds(&oracle.comparison, argc > 2 ? strtoul(argv[2], NULL, 10) : 10);
	}
	r = r < 0 ? 2 : same_ppm(&oracle.comparison) < NEEDED_PPM;
	comparison_done(&oracle.comparison);
	layouts_done(&oracle.layouts);
	return r;
}
