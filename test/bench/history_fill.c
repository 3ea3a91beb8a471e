// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fills a folder with the windows of a busy host, made up, as history keeps them, and reads ranges
 * of them: what test/bench/history.py measures. Each window has stacks of a fixed set, the common
 * ones in nearly each of them, the rare ones in few. Prints one line of JSON.
 * usage: history_fill FOLDER DAYS STACKS_A_WINDOW
 */
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "history/history_anomalies.h"
#include "history/history_store.h"

#define UNIVERSE      20000 /* distinct stacks of the host */
#define PROCESSES     60
#define DEPTH	      24
#define FUNCTIONS     6000
#define WINDOW_NS     (30 * (int64_t)NS_PER_S)
#define HOUR_WINDOWS  120
#define READING_NODES (2u << 20)
#define NAMES_MAX     (64u << 20)

static uint64_t seed = 88172645463325252u;

static uint64_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "history_fill: %s\n", what);
	exit(EXIT_FAILURE);
}

static uint32_t make_child(struct tree *tree, uint32_t parent, enum frame_type type,
			   const char *name)
{
	int64_t node = tree_child(tree, parent, type, name, strlen(name));

	if (node < 0)
		fail("a tree is full");
	return (uint32_t)node;
}

/* Adds stack `number` of the host: stacks of a process have their first frames in common. */
static void add_stack(struct tree *tree, uint64_t number, uint64_t weight)
{
	uint64_t process = number % PROCESSES, path = number * 2654435761u;
	char name[96];

	snprintf(name, sizeof(name), "[%" PRIu64 "]service-%" PRIu64, 1000 + process, process % 20);
	uint32_t node = make_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, name);
	for (unsigned depth = 0; depth < DEPTH; depth++) {
		/* The first half by the process, then by ever more of the number. */
		uint64_t shared = depth < DEPTH / 2 ? process : path % (2u << (depth - DEPTH / 2));
		uint64_t function = (shared * 31 + depth * 977 + process * 131) % FUNCTIONS;

		snprintf(name, sizeof(name),
			 "namespace_%" PRIu64 "::Handler::process_request_%" PRIu64, function % 97,
			 function);
		node = make_child(tree, node, FRAME_TYPE_NATIVE, name);
	}
	tree_add(tree, node, weight);
	tree_add_events(tree, node, weight);
}

static double keep_seconds; /* CPU time for windows, from a tree to the disk */

static double cpu_seconds(void)
{
	return (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
}

/* Adds a window; returns the frames that it has. */
static size_t add_window(struct history_store *store, int64_t from, unsigned stacks)
{
	struct history_head head = {.from = from,
				    .until = from + WINDOW_NS,
				    .covered_ns = (uint64_t)WINDOW_NS,
				    .squares_ms2 = 30000u * 30000u,
				    .windows = 1,
				    .period_ns = 10000000,
				    .processes = PROCESSES};
	struct frames_columns columns;
	struct buf payload = BUF_INIT(HISTORY_PAYLOAD_MAX);
	struct tree *tree;

	if (tree_new(&tree, READING_NODES, NAMES_MAX) < 0)
		fail("no memory");
	for (unsigned i = 0; i < stacks; i++) {
		/* Zipf: how often a stack comes goes down with its number. */
		double part = (double)(random_number() >> 11) / (double)(UINT64_C(1) << 53);
		uint64_t weight = 1 + random_number() % 30;

		add_stack(tree, (uint64_t)(pow(UNIVERSE, part) - 1), weight);
		head.weight += weight;
	}
	head.samples = head.events = head.weight;
	size_t nodes = tree_count(tree);
	double began = cpu_seconds();
	if (frames_columns_make(&columns, tree, TREE_ROOT, HISTORY_PAYLOAD_MAX) < 0 ||
	    history_pack(&payload, &head, &columns, NULL, 0) < 0 ||
	    history_store_add(store, "oncpu", &head, &payload) < 0)
		fail("a window can't be added");
	keep_seconds += cpu_seconds() - began;
	frames_columns_done(&columns);
	buf_done(&payload);
	tree_free(tree);
	return nodes;
}

static double seconds_since(uint64_t began_ns)
{
	return (double)(clock_ns(CLOCK_MONOTONIC) - began_ns) / 1e9;
}

/* Reads a range into a tree. Prints how long it took and the most memory that it had. */
static void read_range(struct history_store *store, const char *name, int64_t from, int64_t until)
{
	struct history_range range = {from, until};
	struct blend blend = {0};
	uint64_t damaged = 0, began_ns = clock_ns(CLOCK_MONOTONIC);
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;

	if (tree_new(&blend.tree, READING_NODES, NAMES_MAX) < 0 ||
	    history_store_blend(store, "oncpu", &range, HISTORY_HOUR, &blend, &damaged) < 0)
		fail("a range can't be read");
	printf("\"%s\": {\"seconds\": %.6f, \"bytes\": %zu, \"windows\": %" PRIu64
	       ", \"frames\": %zu, \"weight\": %" PRIu64 ", \"damaged\": %" PRIu64 "}, ",
	       name, seconds_since(began_ns), mallinfo2().uordblks + mallinfo2().hblkhd - before,
	       blend.sum.windows, tree_count(blend.tree) - 1, blend.weight, damaged);
	tree_free(blend.tree);
}

/* Compares two ranges. Prints how long it took. */
static void compare_ranges(struct history_store *store, int64_t until, int64_t length)
{
	struct functions *functions;
	uint64_t damaged = 0, began_ns = clock_ns(CLOCK_MONOTONIC);

	if (functions_new(&functions) < 0)
		fail("no memory");
	for (int side = 0; side < HISTORY_SIDES; side++) {
		int64_t end = side == HISTORY_AFTER ? until : until - length;
		struct history_range range = {end - length, end};
		struct blend blend = {.functions = functions, .side = side};

		if (history_store_blend(store, "oncpu", &range, HISTORY_HOUR, &blend, &damaged) < 0)
			fail("a range can't be read");
	}
	printf("\"compared\": {\"seconds\": %.6f, \"functions\": %zu}, ", seconds_since(began_ns),
	       functions_count(functions));
	functions_free(functions);
}

/* The last ten minutes beside the hour before, by process, as /anomalies does. */
static void find_anomalies(struct history_store *store, int64_t until)
{
	struct functions *functions;
	struct history_anomalies anomalies;
	struct history_span spans[HISTORY_SIDES];
	uint64_t damaged = 0, began_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t middle = until - 20 * WINDOW_NS;
	struct history_range ranges[HISTORY_SIDES] = {
		[HISTORY_BEFORE] = {middle - 120 * WINDOW_NS, middle},
		[HISTORY_AFTER] = {middle, until},
	};

	if (functions_new(&functions) < 0)
		fail("no memory");
	for (int side = 0; side < HISTORY_SIDES; side++) {
		struct blend blend = {.functions = functions, .by_process = true, .side = side};

		if (history_store_blend(store, "oncpu", &ranges[side], HISTORY_WINDOW, &blend,
					&damaged) < 0)
			fail("a range can't be read");
		spans[side] = (struct history_span){
			.length = blend.length, .squares = blend.squares, .noise = 1};
	}
	if (history_anomalies_make(functions, spans, &anomalies) < 0)
		fail("no memory");
	printf("\"anomalies\": {\"seconds\": %.6f, \"processes\": %" PRIu64
	       ", \"functions\": %" PRIu64 ", \"found\": %zu}, ",
	       seconds_since(began_ns), anomalies.processes, anomalies.functions, anomalies.count);
	history_anomalies_done(&anomalies);
	functions_free(functions);
}

static void print_levels(const struct history_store *store)
{
	static const char *const names[] = {"windows", "blocks", "hours"};
	uint64_t bytes[HISTORY_LEVELS] = {0};

	for (size_t i = 0; i < history_files_count(store->files); i++) {
		const struct history_file *file = history_files_at(store->files, (uint32_t)i);

		bytes[file->level] += file->bytes;
	}
	for (int level = 0; level < HISTORY_LEVELS; level++)
		printf("\"%s\": %" PRIu64 ", ", names[level], bytes[level]);
}

int main(int argc, char **argv)
{
	struct history_store store = {.limits = {.days = 7}};
	struct why why;
	size_t frames = 0;

	if (argc != 4)
		fail("usage: history_fill FOLDER DAYS STACKS_A_WINDOW");
	if (history_store_open(&store, argv[1], &why) < 0)
		fail(why.text);
	int64_t day = 86400 * (int64_t)NS_PER_S, now = (int64_t)clock_ns(CLOCK_REALTIME);
	long windows = strtol(argv[2], NULL, 10) * 2880;
	int64_t first = (now - windows * WINDOW_NS) / WINDOW_NS * WINDOW_NS, until = first;
	double settle_seconds = 0;
	for (long i = 0; i < windows; i++) {
		frames += add_window(&store, until, (unsigned)strtol(argv[3], NULL, 10));
		until += WINDOW_NS;
		if (i % HOUR_WINDOWS != HOUR_WINDOWS - 1)
			continue;
		double began = cpu_seconds();
		history_store_settle(&store);
		settle_seconds += cpu_seconds() - began;
		if (history_files_trim(store.files, &store.limits, true, until))
			history_index_forget(&store.index, store.files);
	}
	printf("{\"made_windows\": %ld, \"frames_a_window\": %zu, \"keep_ms\": %.3f, "
	       "\"settle_ms\": %.3f, ",
	       windows, frames / (size_t)windows, 1e3 * keep_seconds / (double)windows,
	       1e3 * settle_seconds / (double)windows);
	print_levels(&store);
	malloc_trim(0);
	read_range(&store, "hour", until - day / 24, until);
	read_range(&store, "day", until - day, until);
	/* Its edges lie within blocks. */
	read_range(&store, "odd_day", until - day - 17 * WINDOW_NS, until - 17 * WINDOW_NS);
	read_range(&store, "week", first, until);
	compare_ranges(&store, until, 3600 * (int64_t)NS_PER_S);
	find_anomalies(&store, until);
	printf("\"files\": %zu}\n", history_files_count(store.files));
	history_store_done(&store);
	return 0;
}
