// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Encodes folded text (bench/lib/folded_input.py: process, thread, functions) as pprof, beside zlib
 * alone over what was in it. Functions are in sixteen files, and called from a few places each.
 * Prints one line of JSON.
 * usage: pprof_encode FILE ROUNDS
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "output/pprof/gzip.h"
#include "output/format/output.h"

#define NODES_MAX   (16u << 20)
#define NAMES_MAX   (256u << 20)
#define MODULES	    16
#define CALL_PLACES 4
#define ROUNDS_MAX  100

static struct module modules[MODULES];
static char paths[MODULES][64];
static uint8_t ids[MODULES][20];
static uint64_t stacks;

static const struct pprof_shape shape = {
	.values = {{"samples", "count", PPROF_WEIGHT}, {"cpu", "nanoseconds", PPROF_PERIODS}},
	.period_type = "cpu",
	.period_unit = "nanoseconds"};
static const struct profile_meta meta = {
	.pprof = &shape, .period_ns = 10101010, .from = 1, .until = 31};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "pprof_encode: %s\n", what);
	exit(EXIT_FAILURE);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void make_modules(void)
{
	for (size_t i = 0; i < MODULES; i++) {
		int len = snprintf(paths[i], sizeof(paths[i]), "/usr/lib/libpart-%zu.so", i);

		memset(ids[i], (int)i + 1, sizeof(ids[i]));
		modules[i] = (struct module){.path = paths[i],
					     .path_len = (size_t)len,
					     .build_id = ids[i],
					     .build_id_len = sizeof(ids[i]),
					     .from = 0x1000,
					     .to = 0x2000000,
					     .file_offset = 0x1000};
	}
}

static uint32_t add_frame(struct tree *tree, uint32_t parent, const char *name, size_t len,
			  unsigned depth)
{
	struct frame frame = {.type = depth == 0   ? FRAME_TYPE_PROCESS
				      : depth == 1 ? FRAME_TYPE_THREAD
						   : FRAME_TYPE_NATIVE,
			      .name = name,
			      .name_len = len};

	if (depth > 1) {
		uint64_t hash = hash_bytes(1, name, len);

		frame.module = &modules[hash % MODULES];
		frame.address = 0x1000 + hash % 0x100000 * 16 + parent % CALL_PLACES;
	}
	int64_t node = tree_child_with(tree, parent, &frame);
	if (node < 0)
		fail("the tree is full");
	return (uint32_t)node;
}

static void add_stack(struct tree *tree, char *line)
{
	char *count = strrchr(line, ' '), *name, *rest = line;
	uint32_t node = TREE_ROOT;
	unsigned depth = 0;

	if (!count)
		fail("a line without a number");
	*count++ = '\0';
	while ((name = strsep(&rest, ";")))
		node = add_frame(tree, node, name, strlen(name), depth++);
	tree_add(tree, node, strtoull(count, NULL, 10));
	stacks++;
}

static struct tree *read_tree(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t capacity = 0;
	char *line = NULL;
	struct tree *tree;

	if (!file || tree_new(&tree, NODES_MAX, NAMES_MAX) < 0)
		fail(path);
	while (getline(&line, &capacity, file) > 0)
		add_stack(tree, line);
	free(line);
	fclose(file);
	return tree;
}

static struct buf encode(const struct tree *tree)
{
	struct buf out = BUF_INIT(SIZE_MAX);

	if (pprof_write(tree, TREE_ROOT, &meta, &out) < 0)
		fail("no pprof");
	return out;
}

/* As the daemon packs it, all at once. */
static size_t pack(const struct buf *text)
{
	struct buf out = BUF_INIT(SIZE_MAX);
	struct gzip gzip;

	if (gzip_begin(&gzip, &out) < 0)
		fail("no memory");
	gzip_add(&gzip, text->data, text->len);
	if (gzip_end(&gzip) < 0)
		fail("no memory");
	size_t bytes = out.len;
	buf_done(&out);
	return bytes;
}

static struct buf unpack(const struct buf *packed)
{
	struct buf text = BUF_INIT(SIZE_MAX);
	z_stream stream = {.next_in = (const Bytef *)packed->data, .avail_in = (uInt)packed->len};
	int r = inflateInit2(&stream, 15 + 16);

	while (r == Z_OK) {
		char *room = buf_reserve(&text, 1 << 20);

		if (!room)
			fail("no memory");
		stream.next_out = (Bytef *)room;
		stream.avail_out = 1 << 20;
		r = inflate(&stream, Z_NO_FLUSH);
		text.len += (1 << 20) - stream.avail_out;
	}
	inflateEnd(&stream);
	if (r != Z_STREAM_END)
		fail("it can't be unpacked");
	return text;
}

/* A line of /proc/self/status, in bytes. */
static uint64_t memory(const char *what)
{
	FILE *file = fopen("/proc/self/status", "r");
	uint64_t kb = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, what, strlen(what)) == 0)
			kb = strtoull(line + strlen(what), NULL, 10);
	}
	if (!file || !kb)
		fail("no /proc/self/status");
	fclose(file);
	return kb * 1024;
}

/* The most that encoding has beside the tree: in a process of its own, the peak begun anew. */
static uint64_t peak_bytes(const struct tree *tree)
{
	uint64_t bytes = 0;
	int ends[2];

	fflush(stdout);
	if (pipe(ends) < 0)
		fail("no pipe");
	if (fork() == 0) {
		FILE *refs = fopen("/proc/self/clear_refs", "w");

		if (!refs || fputs("5", refs) < 0 || fclose(refs) != 0)
			fail("no peak");
		uint64_t before = memory("VmRSS:");
		encode(tree);
		bytes = memory("VmHWM:") - before;
		_exit(write(ends[1], &bytes, sizeof(bytes)) != sizeof(bytes));
	}
	close(ends[1]);
	if (read(ends[0], &bytes, sizeof(bytes)) != sizeof(bytes))
		fail("no peak");
	close(ends[0]);
	wait(NULL);
	return bytes;
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	double ours[ROUNDS_MAX], alone[ROUNDS_MAX];

	if (rounds < 1 || rounds > ROUNDS_MAX)
		fail("usage: pprof_encode FILE ROUNDS");
	make_modules();
	struct tree *tree = read_tree(argv[1]);
	malloc_trim(0);
	uint64_t peak = peak_bytes(tree);
	struct buf packed = encode(tree), text = unpack(&packed);
	for (size_t i = 0; i < rounds; i++) {
		double start = cpu_seconds();
		struct buf again = encode(tree);
		double middle = cpu_seconds();

		buf_done(&again);
		double then = cpu_seconds();
		pack(&text);
		alone[i] = cpu_seconds() - then;
		ours[i] = middle - start;
	}
	printf("{\"stacks\": %" PRIu64 ", \"bytes\": %zu, \"packed\": %zu, \"peak\": %" PRIu64
	       ", \"seconds\": %.4f, \"gzip_seconds\": %.4f}\n",
	       stacks, text.len, packed.len, peak, median(ours, rounds), median(alone, rounds));
	buf_done(&packed);
	buf_done(&text);
	tree_free(tree);
	return 0;
}
